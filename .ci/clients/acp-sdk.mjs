// The real SDK of the Agent Client Protocol as an editor, against model.py. Every line in both directions goes into a
// file, which acp-schema.py then holds against the official schema.
//
// usage: acp-sdk.mjs BINARY MODULES PORT SCRATCH RECORD      prints a line a check; exits with 1 if one fails
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const [binary, modules, port, scratch, record] = process.argv.slice(2);
const acp = await import(pathToFileURL(path.join(modules, "@agentclientprotocol/sdk/dist/v1/stable/acp.js")).href);
const M = acp.methods;

const work = path.join(scratch, "work");
const home = path.join(scratch, "home");
fs.mkdirSync(work, { recursive: true });
fs.mkdirSync(home, { recursive: true });
fs.writeFileSync(path.join(home, "config.toml"), `
model = "mock"
model_provider = "mock"
harness = "qwen-code"
model_context_window = 32768
harness_guidance = false
approval_policy = "untrusted"
[model_providers.mock]
name = "mock"
base_url = "http://127.0.0.1:${port}/v1"
wire_api = "chat"
`);
const program = (...steps) => `Do this. PROGRAM ${JSON.stringify(steps)}`;
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const text = (t) => [{ type: "text", text: t }];

let failures = 0;
async function check(name, what) {
  try {
    await what();
    console.log(`ok   acp-sdk: ${name}`);
  } catch (error) {
    failures += 1;
    console.log(`FAIL acp-sdk: ${name}: ${error.stack ?? JSON.stringify(error)}`);
  }
}

// The SDK complains on standard error about what its types do not take.
const complaints = [];
console.error = (...words) => complaints.push(words.map((w) => (typeof w === "string" ? w : JSON.stringify(w))).join(" "));

const child = spawn(binary, ["acp"], { env: { PATH: process.env.PATH, HOME: scratch, INTERPRETER_HOME: home, SHELL: "/bin/bash" } });
let stderr = "";
child.stderr.on("data", (data) => { stderr += data; });
const out = fs.openSync(record, "a");
function recorder(direction) {
  let rest = "";
  return new TransformStream({
    transform(chunk, controller) {
      rest += Buffer.from(chunk).toString("utf8");
      const lines = rest.split("\n");
      rest = lines.pop();
      for (const line of lines) fs.writeSync(out, JSON.stringify({ direction, line }) + "\n");
      controller.enqueue(chunk);
    },
  });
}
const toAgent = recorder("client");
toAgent.readable.pipeTo(Writable.toWeb(child.stdin)).catch(() => {});
const fromAgent = Readable.toWeb(child.stdout).pipeThrough(recorder("agent"));

const updates = [];
const asked = [];
let answer = (params) => ({ outcome: { outcome: "selected", optionId: params.options.find((o) => o.kind === "allow_once").optionId } });
const of = (id, from = 0) => updates.slice(from).filter((u) => u.sessionId === id).map((u) => u.update);
const said = (id, from = 0, kind = "agent_message_chunk") => of(id, from).filter((u) => u.sessionUpdate === kind).map((u) => u.content.text).join("");

// Files that are open here, with what is not saved yet.
const open = new Map();
const files = [];

const app = acp.client({ name: "check" })
  .onRequest(M.client.fs.readTextFile, async ({ params }) => {
    files.push(["read", params.path]);
    return { content: open.get(params.path) ?? fs.readFileSync(params.path, "utf8") };
  })
  .onRequest(M.client.fs.writeTextFile, async ({ params }) => {
    files.push(["write", params.path]);
    open.delete(params.path);
    fs.writeFileSync(params.path, params.content);
    return {};
  })
  .onRequest(M.client.session.requestPermission, async ({ params }) => { asked.push(params); return answer(params); })
  .onRequest(M.client.elicitation.create, async ({ params }) => ({ action: "accept", content: Object.fromEntries(Object.keys(params.requestedSchema.properties).map((k) => [k, "green"])) }))
  .onNotification(M.client.session.update, ({ params }) => { updates.push(params); });

await app.connectWith(acp.ndJsonStream(toAgent.writable, fromAgent), async (agent) => {
  // Updates before an answer may be handed over behind it.
  const ask = async (method, params) => {
    const answer = await agent.request(method, params);
    await sleep(20);
    return answer;
  };
  const fresh = async (extra = {}) => (await ask(M.agent.session.new, { cwd: work, mcpServers: [], ...extra })).sessionId;
  const prompt = (sessionId, t) => ask(M.agent.session.prompt, { sessionId, prompt: text(t) });

  await check("initialize", async () => {
    const hello = await ask(M.agent.initialize, {
      protocolVersion: acp.PROTOCOL_VERSION,
      clientCapabilities: { fs: { readTextFile: true, writeTextFile: true }, terminal: true, session: { notices: {}, compaction: {}, configOptions: { boolean: {} } }, elicitation: { form: {} } },
      clientInfo: { name: "check", version: "1" },
    });
    assert.equal(hello.protocolVersion, 1);
    assert.equal(hello.agentCapabilities.loadSession, true);
    assert.deepEqual(hello.authMethods, []);
  });

  await check("unsaved text counts, and a change goes through the editor", async () => {
    const file = path.join(work, "open.txt");
    fs.writeFileSync(file, "saved\n");
    open.set(file, "unsaved\n");
    const result = await prompt(await fresh(), program(
      { call: ["read_file", { file_path: file }] },
      { call: ["edit", { file_path: file, old_string: "unsaved", new_string: "changed" }] },
      { say: "ok" },
    ));
    assert.equal(result.stopReason, "end_turn");
    assert.equal(fs.readFileSync(file, "utf8"), "changed\n");
    assert.deepEqual(files.at(-1), ["write", file]);
    assert.ok(files.some(([deed, of]) => deed === "read" && of === file));
    asked.length = 0;
  });

  await check("a summary is shown as one", async () => {
    const id = await fresh();
    const count = program({ call: ["run_shell_command", { command: "seq 1 3000", description: "count" }] }, { say: "counted" });
    for (const task of [count, count, program({ say: "one" })]) await prompt(id, task);
    const from = updates.length;
    assert.equal((await prompt(id, "/compact")).stopReason, "end_turn");
    const told = of(id, from).find((u) => u.sessionUpdate === "compaction_update");
    assert.equal(told?.status, "completed", JSON.stringify(of(id, from)));
    asked.length = 0;
  });

  let first;
  await check("a turn with thoughts, plan, calls, a question and a comparison", async () => {
    fs.writeFileSync(path.join(work, "a.txt"), "one\nold\n");
    first = await fresh();
    const from = updates.length;
    const result = await prompt(first, program(
      { call: ["todo_write", { todos: [{ id: "1", content: "mend", status: "in_progress" }] }], think: "hm" },
      { call: ["read_file", { file_path: path.join(work, "a.txt") }] },
      { call: ["edit", { file_path: path.join(work, "a.txt"), old_string: "old", new_string: "new" }] },
      { call: ["run_shell_command", { command: "touch b.txt; ls", description: "look" }] },
      { say: "It is done." },
    ));
    assert.equal(result.stopReason, "end_turn");
    const list = of(first, from);
    assert.equal(said(first, from), "It is done.");
    assert.equal(said(first, from, "agent_thought_chunk"), "hm");
    assert.ok(list.some((u) => u.sessionUpdate === "plan"));
    assert.ok(list.some((u) => u.sessionUpdate === "usage_update"));
    const diff = { type: "diff", path: path.join(work, "a.txt"), oldText: "one\nold\n", newText: "one\nnew\n" };
    assert.deepEqual(list.filter((u) => u.status === "completed" && u.content?.[0].type === "diff").map((u) => u.content[0]), [diff]);
    assert.ok(asked.length >= 2);
    assert.ok(asked.every((q) => q.sessionId === first && q.toolCall.title && q.options.length === 3));
    assert.equal(fs.readFileSync(path.join(work, "a.txt"), "utf8"), "one\nnew\n");
  });

  await check("questions of the model are a form", async () => {
    const id = await fresh();
    const from = updates.length;
    const questions = [{ question: "Which colour?", header: "Colour", options: [{ label: "red", description: "warm" }, { label: "green", description: "" }], multiSelect: false }];
    const result = await prompt(id, program({ call: ["ask_user_question", { questions }] }, { say: "ok" }));
    assert.equal(result.stopReason, "end_turn");
    assert.equal(said(id, from), "ok");
  });

  await check("a refusal of the person is told to the model, and the turn goes on", async () => {
    const before = answer;
    answer = () => ({ outcome: { outcome: "selected", optionId: "decline" } });
    const from = updates.length;
    const result = await prompt(first, program({ call: ["run_shell_command", { command: "touch never.txt", description: "x" }] }, { say: "as you wish" }));
    answer = before;
    assert.equal(result.stopReason, "end_turn");
    assert.ok(said(first, from).startsWith("as you wish"));
    assert.ok(!fs.existsSync(path.join(work, "never.txt")));
    const ends = of(first, from).filter((u) => u.sessionUpdate === "tool_call_update").map((u) => u.status);
    assert.equal(ends.at(-1), "failed");
  });

  await check("a cancel ends the turn, and no word of it comes later", async () => {
    for (const step of [{ wait: 20 }, { say: Array.from({ length: 300 }, (_, n) => `word-${n}`).join(" "), gap: 0.05 }, { call: ["run_shell_command", { command: "true; sleep 20", description: "x" }] }]) {
      const from = updates.length;
      const turn = prompt(first, program(step));
      await sleep(600);
      const began = Date.now();
      await agent.notify(M.agent.session.cancel, { sessionId: first });
      assert.equal((await turn).stopReason, "cancelled", `${JSON.stringify(step).slice(0, 80)}: ${JSON.stringify(of(first, from)).slice(-1500)}`);
      assert.ok(Date.now() - began < 3000, `${Date.now() - began} ms`); // some 30 ms on a machine that is not busy
      const after = updates.length;
      await sleep(300);
      assert.equal(updates.length, after, "an update behind the answer");
      const open = new Map();
      for (const u of of(first, from)) if (u.toolCallId) open.set(u.toolCallId, u.status ?? open.get(u.toolCallId));
      for (const status of open.values()) assert.equal(status, "failed");
      assert.equal((await prompt(first, program({ say: "fresh" }))).stopReason, "end_turn");
    }
  });

  await check("a fault of the model is an error with its words", async () => {
    await assert.rejects(prompt(first, program({ status: 400, error: "no such thing" })), (error) => error.code === -32603 && /no such thing/.test(error.message));
  });

  await check("modes and options", async () => {
    const id = await fresh();
    await ask(M.agent.session.setMode, { sessionId: id, modeId: "full-access" });
    const before = asked.length;
    await prompt(id, program({ call: ["run_shell_command", { command: "touch free.txt", description: "x" }] }, { say: "ok" }));
    assert.equal(asked.length, before, "full access asks");
    assert.ok(fs.existsSync(path.join(work, "free.txt")));
    const set = async (configId, value) => (await ask(M.agent.session.setConfigOption, { sessionId: id, configId, value })).configOptions.find((o) => o.id === configId).currentValue;
    assert.equal(await set("mode", "read-only"), "read-only");
    assert.equal(await set("reasoning_effort", "low"), "low");
    assert.equal(await set("harness", "minimal"), "minimal");
    assert.equal(await set("model", "other"), "other");
    await assert.rejects(ask(M.agent.session.setMode, { sessionId: id, modeId: "yolo" }), (error) => error.code === -32602);
    assert.equal((await prompt(id, program({ say: "still here" }))).stopReason, "end_turn");
  });

  await check("list, close, load and resume", async () => {
    const list = await ask(M.agent.session.list, { cwd: work });
    const row = list.sessions.find((s) => s.sessionId === first);
    assert.ok(row && row.title.startsWith("Do this."));
    await ask(M.agent.session.close, { sessionId: first });
    await assert.rejects(prompt(first, "there?"), (error) => error.code === -32002);
    let from = updates.length;
    const loaded = await ask(M.agent.session.load, { sessionId: first, cwd: work, mcpServers: [] });
    assert.equal(loaded.modes.currentModeId, "workspace-write");
    assert.ok(said(first, from, "user_message_chunk").startsWith("Do this."));
    assert.ok(said(first, from).startsWith("It is done."));
    assert.ok(of(first, from).some((u) => u.sessionUpdate === "plan"));
    assert.equal((await prompt(first, program({ say: "loaded" }))).stopReason, "end_turn");
    await ask(M.agent.session.close, { sessionId: first });
    from = updates.length;
    await ask(M.agent.session.resume, { sessionId: first, cwd: work, mcpServers: [] });
    assert.equal(said(first, from, "user_message_chunk"), "");
    assert.equal((await prompt(first, program({ say: "resumed" }))).stopReason, "end_turn");
  });

  await check("sessions work side by side and nothing crosses", async () => {
    const ids = await Promise.all(Array.from({ length: 4 }, () => fresh()));
    const from = updates.length;
    const began = Date.now();
    const turns = ids.map((id, n) => prompt(id, program({ call: ["run_shell_command", { command: `sleep 1; echo mark-${n}`, description: "x" }] }, { say: `I am ${n}.`, gap: 0.1 })));
    for (const turn of await Promise.all(turns)) assert.equal(turn.stopReason, "end_turn");
    assert.ok(Date.now() - began < 5000, `one after the other: ${Date.now() - began} ms`);
    ids.forEach((id, n) => {
      assert.equal(said(id, from), `I am ${n}.`);
      const own = JSON.stringify(of(id, from));
      for (const other of [0, 1, 2, 3]) assert.equal(own.includes(`mark-${other}`), other === n);
    });
  });

  await check("a session with servers and further folders", async () => {
    const extra = path.join(scratch, "extra");
    fs.mkdirSync(extra, { recursive: true });
    const broken = [{ name: "my server", command: "/no/such/server", args: [], env: [{ name: "A", value: "b" }] }];
    const id = await fresh({ additionalDirectories: [extra], mcpServers: broken });
    await ask(M.agent.session.setMode, { sessionId: id, modeId: "workspace-write" });
    assert.equal((await prompt(id, program({ call: ["run_shell_command", { command: `echo x > ${extra}/x.txt`, description: "x" }] }, { say: "ok" }))).stopReason, "end_turn");
    assert.ok(fs.existsSync(path.join(extra, "x.txt")));
  });
});

await check("the agent leaves when the editor does", async () => {
  const began = Date.now();
  child.stdin.end();
  const code = await new Promise((done) => (child.exitCode === null ? child.once("exit", done) : done(child.exitCode)));
  assert.equal(code, 0, stderr);
  assert.ok(Date.now() - began < 1500);
});
await check("the SDK has nothing to complain about", async () => assert.deepEqual(complaints, []));
process.exit(failures ? 1 : 0);
