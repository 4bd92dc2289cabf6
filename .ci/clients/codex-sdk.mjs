// The real SDK of Codex with this program in the place of its binary, against model.py.
//
// usage: codex-sdk.mjs BINARY SDK_FOLDER PORT LOG SCRATCH     prints a line a check; exits with 1 if one fails
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [binary, modules, port, log, scratch] = process.argv.slice(2);
const { Codex } = await import(pathToFileURL(path.join(modules, "@openai/codex-sdk/dist/index.js")).href);

const work = path.join(scratch, "work");
const home = path.join(scratch, "home");
fs.mkdirSync(work, { recursive: true });
fs.mkdirSync(home, { recursive: true });
const baseUrl = `http://127.0.0.1:${port}/v1`;
const env = { PATH: process.env.PATH, HOME: scratch, INTERPRETER_HOME: home, SHELL: "/bin/bash" };
const provider = { model_provider: "mock", harness: "native", harness_guidance: false, model_context_window: 32768, model_providers: { mock: { name: "mock", base_url: baseUrl, wire_api: "responses", supports_websockets: false } } };
const codex = new Codex({ codexPathOverride: binary, env, config: provider });
const thread = { model: "mock", workingDirectory: work, skipGitRepoCheck: true };
const program = (...steps) => `Do this. PROGRAM ${JSON.stringify(steps)}`;
const run = (command) => ({ call: ["exec_command", { cmd: command }] });
const requests = () => fs.readFileSync(log, "utf8").trim().split("\n").filter(Boolean).map((line) => JSON.parse(line));
const alive = (marker) => fs.readdirSync("/proc").filter((pid) => /^\d+$/.test(pid)).some((pid) => {
  try { return fs.readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(marker); } catch { return false; }
});
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

let failures = 0;
async function check(name, what) {
  try {
    await what();
    console.log(`ok   codex-sdk: ${name}`);
  } catch (error) {
    failures += 1;
    console.log(`FAIL codex-sdk: ${name}: ${error.stack}`);
  }
}

await check("run", async () => {
  const t = codex.startThread(thread);
  assert.equal(t.id, null);
  const turn = await t.run(program(run("echo hi > made.txt; cat made.txt"), { say: "All done." }));
  assert.match(t.id, /^[0-9a-f]{8}-[0-9a-f]{4}-7/);
  assert.equal(turn.finalResponse, "All done.");
  assert.deepEqual(turn.items.map((i) => i.type), ["command_execution", "agent_message"]);
  assert.equal(turn.items[0].aggregated_output, "hi\n");
  assert.equal(turn.items[0].status, "completed");
  assert.ok(turn.usage.input_tokens > 1000);
  assert.equal(turn.usage.output_tokens, 20);
  assert.equal(turn.usage.cache_write_input_tokens, 0);
  assert.equal(fs.readFileSync(path.join(work, "made.txt"), "utf8"), "hi\n");
});

await check("runStreamed gives the events in their order", async () => {
  const patch = "*** Begin Patch\n*** Add File: p.txt\n+x\n*** End Patch";
  const plan = { call: ["update_plan", { plan: [{ step: "one", status: "in_progress" }] }] };
  const { events } = await codex.startThread(thread).runStreamed(program(plan, { call: ["apply_patch", { input: patch }] }, { say: "ok" }));
  const seen = [];
  for await (const event of events) seen.push(event.item ? `${event.type} ${event.item.type}` : event.type);
  assert.deepEqual(seen, [
    "thread.started", "turn.started", "item.started todo_list", "item.started file_change", "item.completed file_change",
    "item.completed agent_message", "item.completed todo_list", "turn.completed",
  ]);
});

await check("a second turn and resumeThread go on with the same thread", async () => {
  const t = codex.startThread(thread);
  await t.run(program({ say: "first answer" }));
  const id = t.id;
  const second = await t.run(program({ say: "second answer" }));
  assert.equal(t.id, id);
  assert.equal(second.finalResponse, "second answer");
  const other = new Codex({ codexPathOverride: binary, env, config: provider });
  const resumed = other.resumeThread(id, thread);
  const third = await resumed.run(program({ say: "third answer" }));
  assert.equal(resumed.id, id);
  assert.equal(third.finalResponse, "third answer");
  const last = JSON.stringify(requests().at(-1).body.input);
  for (const text of ["first answer", "second answer"]) {
    assert.ok(last.includes(`"type":"output_text","text":"${text}"`), `no ${text} in ${last}`);
  }
});

await check("an unknown thread is refused", async () => {
  await assert.rejects(codex.resumeThread("0190ffff-0000-7000-8000-000000000000", thread).run("hi"), /exited with code 1/);
});

await check("outputSchema shapes the last message alone", async () => {
  const outputSchema = { type: "object", properties: { final: { type: "string" } }, required: ["final"], additionalProperties: false };
  const before = requests().length;
  const turn = await codex.startThread(thread).run(program(run("true"), { say: "The final is x." }, { say: '{"final":"x"}' }), { outputSchema });
  assert.deepEqual(JSON.parse(turn.finalResponse), { final: "x" });
  const formats = requests().slice(before).map((r) => r.body.text?.format);
  assert.deepEqual(formats.map((f) => f?.schema ?? null), [null, null, outputSchema]);
  await assert.rejects(codex.startThread(thread).run(program({ say: "prose" }, { say: "prose again" }), { outputSchema }), /schema/);
});

await check("images", async () => {
  const png = path.join(scratch, "a.png");
  fs.writeFileSync(png, Buffer.from("89504e470d0a1a0a2d6f6e65", "hex"));
  const input = [{ type: "text", text: "look" }, { type: "local_image", path: png }, { type: "text", text: program({ say: "seen" }) }];
  const t = codex.startThread(thread);
  const turn = await t.run(input);
  assert.equal(turn.finalResponse, "seen");
  assert.equal(JSON.stringify(requests().at(-1).body.input).split("data:image/png;base64,").length, 2);
  assert.ok(JSON.stringify(requests().at(-1).body.input).includes("look\\n\\nDo this."));
  await t.run(input);
  assert.equal(JSON.stringify(requests().at(-1).body.input).split("data:image/png;base64,").length, 3);
});

await check("an abort ends the run, its command and what that started", async () => {
  const marker = `86${process.pid}`;
  const controller = new AbortController();
  const { events } = await codex.startThread(thread).runStreamed(program(run(`(setsid sleep ${marker} &); sleep ${marker}`), { say: "no" }), { signal: controller.signal });
  const began = { at: 0 };
  await assert.rejects(async () => {
    for await (const event of events) {
      if (event.type === "item.started") {
        while (!alive(`sleep\0${marker}`)) await sleep(20);
        began.at = Date.now();
        controller.abort();
      }
    }
  }, /abort/i);
  while (alive(`sleep\0${marker}`)) {
    assert.ok(Date.now() - began.at < 1500, "a command lives on");
    await sleep(20);
  }
  const done = new AbortController();
  done.abort();
  await assert.rejects(codex.startThread(thread).run("hi", { signal: done.signal }), /abort/i);
});

await check("a failed turn rejects with its reason", async () => {
  await assert.rejects(codex.startThread(thread).run(program({ status: 400, error: "no such thing" })), /no such thing/);
  const seen = [];
  await assert.rejects(async () => {
    const { events } = await codex.startThread(thread).runStreamed(program({ status: 400, error: "no such thing" }));
    for await (const event of events) seen.push(event.type);
  }, /exited with code 1/);
  assert.deepEqual(seen.slice(-2), ["error", "turn.failed"]);
});

await check("no repository and no flag for that is refused", async () => {
  const before = requests().length;
  const { skipGitRepoCheck, ...strict } = thread;
  await assert.rejects(codex.startThread(strict).run("hi"), /skip-git-repo-check/);
  assert.equal(requests().length, before);
});

await check("config overrides and every option of a thread", async () => {
  const extra = path.join(scratch, "extra");
  fs.mkdirSync(extra, { recursive: true });
  const config = { ...provider, model_reasoning_effort: "low", sandbox_workspace_write: { exclude_slash_tmp: true }, tools: { list: [1, "a", { k: true }], none: {} } };
  const c = new Codex({ codexPathOverride: binary, env, config, configOverrides: ["developer_instructions=Be brief"] });
  const t = c.startThread({
    ...thread, sandboxMode: "workspace-write", additionalDirectories: [extra], modelReasoningEffort: "high", networkAccessEnabled: false,
    webSearchMode: "disabled", approvalPolicy: "on-request", threadSource: "check",
  });
  const turn = await t.run(program(run(`echo 1 > ${extra}/in.txt; echo 2 > ${home}/out.txt`), { say: "ok" }, { say: "ok" }));
  assert.equal(turn.finalResponse, "ok");
  const body = requests().at(-1).body;
  assert.equal(body.reasoning.effort, "high");
  assert.ok(JSON.stringify(body).includes("Be brief"));
  assert.ok(fs.existsSync(path.join(extra, "in.txt")));
  assert.ok(!fs.existsSync(path.join(home, "out.txt")));
});

await check("baseUrl and apiKey move the built-in provider", async () => {
  const bare = path.join(scratch, "bare");
  fs.mkdirSync(bare, { recursive: true });
  const own = { ...env, INTERPRETER_HOME: bare, OPENAI_API_KEY: "of-the-shell" };
  const c = new Codex({ codexPathOverride: binary, env: own, baseUrl, apiKey: "a-key", config: { harness: "native" } });
  const turn = await c.startThread(thread).run(program({ say: "moved" }));
  assert.equal(turn.finalResponse, "moved");
  const { headers } = requests().at(-1);
  assert.equal(headers.authorization, "Bearer a-key");
  assert.equal(headers.originator, "codex_sdk_ts");
  assert.match(headers["user-agent"], /^codex_sdk_ts\//);
});

await check("a bare name is looked up in the PATH of the child, and it gets the given variables alone", async () => {
  const folder = path.join(scratch, "bin");
  fs.mkdirSync(folder, { recursive: true });
  fs.symlinkSync(binary, path.join(folder, "interpreter"));
  process.env.OF_THE_PARENT = "leaks-77";
  const c = new Codex({ codexPathOverride: "interpreter", env: { ...env, PATH: `${folder}:${process.env.PATH}`, GIVEN: "given-78" }, config: provider });
  const turn = await c.startThread(thread).run(program(run("env"), { say: "by name" }));
  assert.equal(turn.finalResponse, "by name");
  assert.ok(turn.items[0].aggregated_output.includes("GIVEN=given-78"));
  assert.ok(!turn.items[0].aggregated_output.includes("leaks-77"));
});

await check("items of all kinds: thoughts, a tool of an MCP server, a change", async () => {
  const server = path.join(path.dirname(new URL(import.meta.url).pathname), "../../tests/support/mcp_server.py");
  const config = { ...provider, mcp_servers: { it: { command: "python3", args: [server, path.join(scratch, "mcp.log")], required: true } } };
  const c = new Codex({ codexPathOverride: binary, env, config });
  const patch = "*** Begin Patch\n*** Add File: q.txt\n+x\n*** End Patch";
  const turn = await c.startThread(thread).run(program(
    { call: ["mcp__it__add", { a: 40, b: 2 }], think: "hm" }, { call: ["apply_patch", { input: patch }] }, { say: "all" },
  ));
  assert.deepEqual(turn.items.map((i) => i.type), ["reasoning", "mcp_tool_call", "file_change", "agent_message"]);
  const [thought, call, change] = turn.items;
  assert.equal(thought.text, "hm");
  assert.deepEqual([call.server, call.tool, call.arguments, call.status], ["it", "add", { a: 40, b: 2 }, "completed"]);
  assert.deepEqual(call.result.content, [{ type: "text", text: "the sum is 42" }]);
  assert.deepEqual(call.result.structured_content, { total: 42 });
  assert.deepEqual([change.status, change.changes[0].kind], ["completed", "add"]);
});

await check("usage is that of the thread, and a thread is found from any folder", async () => {
  const t = codex.startThread(thread);
  const first = await t.run(program({ say: "a" }));
  const other = path.join(scratch, "elsewhere");
  fs.mkdirSync(other, { recursive: true });
  const second = await codex.resumeThread(t.id, { ...thread, workingDirectory: other }).run(program(run("pwd"), { say: "b" }));
  assert.ok(second.usage.input_tokens > first.usage.input_tokens + 1000, JSON.stringify([first.usage, second.usage]));
  assert.equal(second.usage.output_tokens, 30);
  assert.equal(second.items[0].aggregated_output.trim(), fs.realpathSync(other));
});

await check("every policy, effort and search mode of the SDK is taken, and nothing is asked", async () => {
  const one = (options, turn) => codex.startThread({ ...thread, ...options }).run(program(run("rm -rf gone"), { say: "ok" }), turn);
  for (const approvalPolicy of ["never", "on-request", "on-failure", "untrusted"]) {
    assert.equal((await one({ approvalPolicy })).finalResponse, "ok", approvalPolicy);
  }
  for (const modelReasoningEffort of ["minimal", "low", "medium", "high", "xhigh", "max", "ultra", "persistent"]) {
    assert.equal((await one({ modelReasoningEffort })).finalResponse, "ok", modelReasoningEffort);
  }
  for (const webSearchMode of ["disabled", "cached", "live"]) assert.equal((await one({ webSearchMode })).finalResponse, "ok", webSearchMode);
  for (const sandboxMode of ["read-only", "workspace-write", "danger-full-access"]) assert.equal((await one({ sandboxMode })).finalResponse, "ok", sandboxMode);
  assert.equal((await one({ webSearchEnabled: true, networkAccessEnabled: true }, { cyberAccessProgram: "standard" })).finalResponse, "ok");
});

await check("a schema and further options reach a resumed turn", async () => {
  const t = codex.startThread({ ...thread, sandboxMode: "read-only" });
  await t.run(program({ say: "a" }));
  const outputSchema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
  const turn = await t.run(program(run("echo 1 > no.txt"), { say: '{"n":1}' }), { outputSchema });
  assert.deepEqual(JSON.parse(turn.finalResponse), { n: 1 });
  assert.ok(!fs.existsSync(path.join(work, "no.txt")));
});

await check("who stops reading ends the run, and a long prompt to nobody breaks nothing", async () => {
  const marker = `85${process.pid}`;
  const { events } = await codex.startThread(thread).runStreamed(program(run(`sleep ${marker}`), { say: "no" }));
  for await (const event of events) {
    if (event.type !== "item.started") continue;
    while (!alive(`sleep\0${marker}`)) await sleep(20);
    break;
  }
  const began = Date.now();
  while (alive(`sleep\0${marker}`)) {
    assert.ok(Date.now() - began < 1500, "a command lives on");
    await sleep(20);
  }
  const long = "x".repeat(2 << 20);
  await assert.rejects(codex.resumeThread("0190ffff-0000-7000-8000-000000000000", thread).run(long), /exited with code 1/);
  await assert.rejects(codex.startThread(thread).run(""), /exited with code 1/);
});

process.exit(failures ? 1 : 0);
