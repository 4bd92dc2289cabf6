//! `exec` as programs know it: every event, item and field, their order, and what options do.

mod support;

use serde_json::{Value, json};
use std::fs;
use support::script::*;
use support::{Agent, Run, WIRES, harnesses, strict};

/// The lines of standard output: one JSON object each, and nothing else.
fn events(run: &Run) -> Vec<Value> {
    assert!(run.stdout.ends_with('\n') || run.stdout.is_empty());
    let lines = run.stdout.split_terminator('\n');
    lines
        .map(|line| {
            let value: Value = serde_json::from_str(line).unwrap_or_else(|e| {
                panic!("{e}: {line:?}; stderr:\n{}", run.stderr);
            });
            assert!(value.is_object(), "{line}");
            value
        })
        .collect()
}

/// The kinds of the lines: of an item its event and type, and its id.
fn kinds(events: &[Value]) -> Vec<String> {
    let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
    events
        .iter()
        .map(|e| match e.get("item") {
            Some(item) => format!(
                "{} {} {}",
                text(&e["type"]).trim_start_matches("item."),
                text(&item["type"]),
                text(&item["id"]).trim_start_matches("item_")
            ),
            None => text(&e["type"]),
        })
        .collect()
}

/// An item without what is ours alone.
fn item(event: &Value) -> Value {
    let mut item = event["item"].clone();
    if let Some(map) = item.as_object_mut() {
        map.shift_remove("metrics");
    }
    item
}

fn plan(first: &str, second: &str) -> Step {
    let steps = json!([{"step": "look", "status": first}, {"step": "mend", "status": second}]);
    call("update_plan", json!({"plan": steps}))
}

const PATCH: &str = "*** Begin Patch\n*** Add File: new.txt\n+one\n*** Update File: a.txt\n@@\n-old\n+new\n*** Delete File: gone.txt\n*** End Patch";

#[test]
fn a_turn_is_told_item_by_item() {
    let agent = Agent::new()
        .harness("native")
        .args(["--json"])
        .file("a.txt", "old\n")
        .file("gone.txt", "x\n")
        .model(script![
            plan("in_progress", "pending")
                .with_reasoning("I must look.")
                .with_text("I look."),
            run("echo 'it'; exit 3"),
            call("apply_patch", json!({"input": PATCH})),
            plan("completed", "in_progress"),
            run("true"),
            say("Done.")
        ]);
    let root = agent.workspace().canonicalize().expect("a folder");
    let run = agent.run("go").expect_exit(0);
    let events = events(&run);
    let kinds = kinds(&events);
    let wanted = [
        "thread.started",
        "turn.started",
        "completed reasoning 0",
        "completed agent_message 1",
        "started todo_list 2",
        "started command_execution 3",
        "completed command_execution 3",
        "started file_change 4",
        "completed file_change 4",
        "updated todo_list 2",
        "started command_execution 5",
        "completed command_execution 5",
        "completed agent_message 6",
        "completed todo_list 2",
        "turn.completed",
    ];
    assert_eq!(kinds, wanted, "{}", run.stdout);
    let id = events[0]["thread_id"].as_str().expect("an id");
    let id = uuid_version(id);
    assert_eq!(id, 7);
    assert_eq!(
        item(&events[2]),
        json!({"id": "item_0", "type": "reasoning", "text": "I must look."})
    );
    assert_eq!(
        item(&events[3]),
        json!({"id": "item_1", "type": "agent_message", "text": "I look."})
    );
    let list = |look, mend| json!({"id": "item_2", "type": "todo_list", "items": [{"text": "look", "completed": look}, {"text": "mend", "completed": mend}]});
    assert_eq!(item(&events[4]), list(false, false));
    assert_eq!(item(&events[9]), list(true, false));
    assert_eq!(item(&events[13]), list(true, false));
    let command = |output: &str, code: Value, status: &str| json!({"id": "item_3", "type": "command_execution", "command": "/bin/bash -lc 'echo '\\''it'\\''; exit 3'", "aggregated_output": output, "exit_code": code, "status": status});
    assert_eq!(item(&events[5]), command("", Value::Null, "in_progress"));
    assert_eq!(item(&events[6]), command("it\n", json!(3), "failed"));
    let path = |name: &str| root.join(name).to_string_lossy().into_owned();
    let changes = json!([
        {"path": path("a.txt"), "kind": "update"},
        {"path": path("gone.txt"), "kind": "delete"},
        {"path": path("new.txt"), "kind": "add"}
    ]);
    for (at, status) in [(7, "in_progress"), (8, "completed")] {
        assert_eq!(
            item(&events[at]),
            json!({"id": "item_4", "type": "file_change", "changes": changes, "status": status})
        );
    }
    let usage = &events[14]["usage"];
    for key in [
        "input_tokens",
        "cached_input_tokens",
        "cache_write_input_tokens",
        "output_tokens",
        "reasoning_output_tokens",
    ] {
        assert!(usage[key].is_u64(), "{key}: {usage}");
    }
}

fn uuid_version(id: &str) -> u32 {
    assert_eq!(id.len(), 36, "{id}");
    id.chars().nth(14).and_then(|c| c.to_digit(16)).unwrap_or(0)
}

#[test]
fn a_plain_answer_has_four_lines_and_both_names_of_the_flag_give_them() {
    for flag in ["--json", "--experimental-json"] {
        let run = Agent::new()
            .args([flag])
            .model(script![say("hello")])
            .run("hi")
            .expect_exit(0);
        assert_eq!(
            kinds(&events(&run)),
            [
                "thread.started",
                "turn.started",
                "completed agent_message 0",
                "turn.completed"
            ]
        );
        assert!(
            run.stdout
                .starts_with("{\"type\":\"thread.started\",\"thread_id\":\"")
        );
    }
}

#[test]
fn a_resumed_thread_has_its_id_and_adds_up_its_tokens_and_a_fork_has_another() {
    let run = Agent::new()
        .args(["--json"])
        .model(script![
            say("one").usage(100, 10, 5),
            say("two").usage(200, 20, 7),
            say("three").usage(300, 30, 9)
        ])
        .run("first")
        .expect_exit(0);
    let first = events(&run);
    let id = first[0]["thread_id"].as_str().expect("an id").to_owned();
    // Where an SDK puts it: every option before the word, nothing after the id, the task piped in.
    let resume = ["exec", "--json", "--skip-git-repo-check", "resume", &id];
    let run = run.again_piped(&resume, "second").expect_exit(0);
    let second = events(&run);
    assert_eq!(second[0]["thread_id"], id.as_str());
    let usage = |lines: &[Value]| lines.last().expect("a line")["usage"].clone();
    assert_eq!(usage(&first)["input_tokens"], 100);
    assert_eq!(
        usage(&second),
        json!({"input_tokens": 300, "cached_input_tokens": 30, "cache_write_input_tokens": 0, "output_tokens": 12, "reasoning_output_tokens": 0})
    );
    let fork = ["exec", "--json", "--skip-git-repo-check", "fork", &id];
    let run = run.again_piped(&fork, "third").expect_exit(0);
    let third = events(&run);
    assert_ne!(third[0]["thread_id"], id.as_str());
    assert!(run.request_text(3).contains("first") && run.request_text(3).contains("second"));
}

#[test]
fn without_a_latest_thread_a_new_one_begins() {
    let agent = || {
        Agent::new()
            .args(["--json"])
            .model(script![say("one"), say("two")])
    };
    let line = ["exec", "--skip-git-repo-check", "resume", "--last"];
    let run = agent().start(&line, Some("first")).finish().expect_exit(0);
    let id = events(&run)[0]["thread_id"].clone();
    let line = [
        "exec",
        "--json",
        "--skip-git-repo-check",
        "resume",
        "--last",
    ];
    let run = run.again(&line, Some("second")).expect_exit(0);
    assert_eq!(events(&run)[0]["thread_id"], id);
    // A copy of nothing is a mistake.
    let line = ["exec", "--skip-git-repo-check", "fork", "--last"];
    agent()
        .start(&line, Some("first"))
        .finish()
        .expect_exit(1)
        .expect_requests(0);
}

/// How a run ended: its exit code and its last two lines.
fn end(steps: Vec<Step>, code: i32) -> (Run, Vec<Value>) {
    let run = Agent::new()
        .harness("minimal")
        .args(["--json"])
        .model(steps)
        .run("go")
        .expect_exit(code);
    let events = events(&run);
    (run, events)
}

#[test]
fn a_turn_that_fails_or_is_refused_says_so_in_its_last_line() {
    let (_, lines) = end(
        script![fail(400, "{\"error\":{\"message\":\"no such thing\"}}")],
        1,
    );
    let [.., error, failed] = &lines[..] else {
        panic!("{lines:?}");
    };
    let message = error["message"].as_str().expect("a message");
    assert!(message.contains("no such thing"), "{message}");
    assert_eq!(*error, json!({"type": "error", "message": message}));
    assert_eq!(
        *failed,
        json!({"type": "turn.failed", "error": {"message": message}})
    );
    // The provider withholds the answer.
    let refusal = [
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Well\"},\"finish_reason\":null}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"content_filter\"}]}\n\ndata: [DONE]\n\n",
    ];
    let (_, lines) = end(script![raw(&refusal)], 1);
    let last = lines.last().expect("a line");
    assert_eq!(last["type"], "turn.failed");
    let message = last["error"]["message"].as_str().expect("a message");
    assert!(message.contains("withheld"), "{message}");
    // Nothing at all came, three times.
    let (_, lines) = end(script![say(""), say(""), say("")], 1);
    assert_eq!(lines.last().expect("a line")["type"], "turn.failed");
}

#[test]
fn what_is_ours_alone_stands_in_keys_of_its_own() {
    // A call in the text, which is taken for one.
    let text = "<tool_call>\n{\"name\": \"run_shell_command\", \"arguments\": {\"command\": \"echo hi\"}}\n</tool_call>";
    let run = Agent::new()
        .harness("qwen-code")
        .args(["--json"])
        .model(script![say(text), say("done").usage(3_000, 10, 20)])
        .run("go")
        .expect_exit(0);
    let lines = events(&run);
    let (first, last) = (&lines[0], lines.last().expect("a line"));
    assert_eq!(first["context_window"], 32_768);
    assert_eq!(first["harness"], "qwen-code");
    assert_eq!(last["requests"], 2);
    assert_eq!(last["metrics"]["prompt_tokens"], 3_000);
    let repairs = last["repairs"].as_object().expect("repairs");
    assert_eq!(
        repairs.values().filter_map(Value::as_u64).sum::<u64>(),
        1,
        "{last}"
    );
}

#[test]
fn a_retry_is_told_and_the_turn_goes_on() {
    let (_, lines) = end(script![fail(503, "busy"), say("done")], 0);
    let notice = lines.iter().find(|l| l["type"] == "error");
    let message = notice.expect("a notice")["message"].as_str();
    let message = message.expect("text");
    assert!(message.starts_with("Reconnecting... 1/"), "{message}");
    assert_eq!(lines.last().expect("a line")["type"], "turn.completed");
}

#[test]
fn what_cannot_begin_prints_no_line() {
    let agent = || Agent::new().args(["--json"]).model(script![say("no")]);
    let exec = |agent: Agent, args: &[&str]| agent.start(args, Some("hi")).finish();
    let cases = [
        (exec(agent(), &["exec"]), 1, "--skip-git-repo-check"),
        (
            exec(
                agent(),
                &["exec", "--skip-git-repo-check", "resume", "0190-no"],
            ),
            1,
            "0190-no",
        ),
        (
            exec(agent(), &["exec", "--no-such-flag"]),
            2,
            "--no-such-flag",
        ),
        (exec(agent(), &["exec", "--full-auto"]), 2, "--full-auto"),
        (
            exec(agent(), &["exec", "--skip-git-repo-check", "-C", "nowhere"]),
            1,
            "nowhere",
        ),
        (
            exec(
                agent(),
                &[
                    "exec",
                    "--skip-git-repo-check",
                    "--output-schema",
                    "none.json",
                ],
            ),
            1,
            "none.json",
        ),
        (
            exec(
                agent().without_model().config("model = 3\n"),
                &["exec", "--skip-git-repo-check"],
            ),
            1,
            "model",
        ),
        (
            exec(
                agent(),
                &[
                    "exec",
                    "--skip-git-repo-check",
                    "-c",
                    "model_provider=\"nobody\"",
                ],
            ),
            1,
            "nobody",
        ),
        (
            agent()
                .stdin("")
                .start(&["exec", "--skip-git-repo-check"], None)
                .finish(),
            1,
            "no prompt",
        ),
    ];
    for (run, code, part) in cases {
        let run = run.expect_exit(code).expect_stderr(part);
        assert_eq!(run.stdout, "", "{part}");
        run.expect_requests(0);
    }
}

#[test]
fn the_last_message_goes_into_a_file_as_it_is() {
    for json in [false, true] {
        let agent = |steps| {
            let agent = Agent::new().args(["-o", "last.txt"]).model(steps);
            if json { agent.args(["--json"]) } else { agent }
        };
        agent(script![run("true").with_text("first"), say("the last")])
            .run("go")
            .expect_exit(0)
            .expect_file("last.txt", "the last");
        agent(script![fail(400, "{}")])
            .run("go")
            .expect_exit(1)
            .expect_file("last.txt", "");
    }
}

#[test]
fn pictures_are_a_list_and_stand_where_an_sdk_puts_them() {
    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n-one";
    let agent = || {
        Agent::new()
            .file("a.png", PNG)
            .file("b.png", PNG)
            .model(script![say("seen"), say("again")])
    };
    let pictures = |body: &Value| body.to_string().matches("data:image/png;base64").count();
    let run = agent()
        .args(["-i", "a.png,b.png", "--"])
        .run("what is it?")
        .expect_exit(0)
        .expect_request(1, |body| pictures(body) == 2);
    let id = run.session_file();
    let id = id
        .file_stem()
        .expect("a name")
        .to_string_lossy()
        .into_owned();
    let id = id["rollout-YYYY-MM-DDThh-mm-ss-".len()..].to_owned();
    let line = [
        "exec",
        "--json",
        "--skip-git-repo-check",
        "resume",
        &id,
        "--image",
        "a.png",
    ];
    run.again_piped(&line, "and now?")
        .expect_exit(0)
        .expect_request(2, |body| pictures(body) == 3);
}

#[test]
fn an_ephemeral_run_leaves_nothing_to_resume() {
    let run = Agent::new()
        .args(["--ephemeral", "--json"])
        .model(script![say("one"), say("two")])
        .run("hi")
        .expect_exit(0);
    let id = events(&run)[0]["thread_id"]
        .as_str()
        .expect("an id")
        .to_owned();
    assert!(!run.home.path().join("home/sessions").exists());
    run.again(
        &["exec", "--skip-git-repo-check", "resume", &id],
        Some("go on"),
    )
    .expect_exit(1)
    .expect_stderr(&id)
    .expect_requests(1);
}

#[test]
fn the_users_config_can_be_left_out() {
    let agent = || {
        Agent::new()
            .config("this is = = not toml\n")
            .with_provider_flags()
            .args(["-c", "model=\"mock\"", "-c", "model_provider=\"mock\""])
            .model(script![say("fine")])
    };
    agent().run("hi").expect_exit(1).expect_requests(0);
    agent()
        .args(["--ignore-user-config"])
        .run("hi")
        .expect_exit(0)
        .expect_stdout("fine\n");
}

#[test]
fn a_key_without_effect_can_be_an_error() {
    let agent = || {
        Agent::new()
            .config("no_such_key = 1\n")
            .model(script![say("fine")])
    };
    agent()
        .run("hi")
        .expect_exit(0)
        .expect_stderr("no_such_key");
    agent()
        .args(["--strict-config"])
        .run("hi")
        .expect_exit(1)
        .expect_stderr("no_such_key")
        .expect_requests(0);
}

#[cfg(target_os = "linux")]
#[test]
fn a_change_that_fails_while_it_is_written_is_told() {
    let patch = "*** Begin Patch\n*** Add File: full/new.txt\n+one\n*** End Patch";
    let agent = Agent::new()
        .harness("native")
        .args(["--json", "--yolo"])
        .model(script![
            call("apply_patch", json!({"input": patch})),
            say("no luck"),
            say("no luck")
        ]);
    // A folder that takes no files, whoever asks.
    std::os::unix::fs::symlink("/proc/1", agent.workspace().join("full")).expect("a link");
    let run = agent.run("go").expect_exit(0);
    let failed = events(&run)
        .iter()
        .filter(|e| e["item"]["status"] == "failed")
        .count();
    assert_eq!(failed, 1, "{}", run.stdout);
}

#[test]
fn settings_stand_before_and_after_the_subcommand_and_the_later_wins() {
    let agent = || Agent::new().model(script![say("fine")]);
    let effort = |run: Run, wanted: &str| {
        run.expect_exit(0)
            .expect_request(1, |body| body["reasoning_effort"] == wanted);
    };
    let low = "model_reasoning_effort=\"low\"";
    let high = "model_reasoning_effort=high";
    let line = ["-c", low, "exec", "--skip-git-repo-check"];
    effort(agent().start(&line, Some("hi")).finish(), "low");
    let line = ["-c", low, "exec", "--skip-git-repo-check", "--config", high];
    effort(agent().start(&line, Some("hi")).finish(), "high");
}

#[test]
fn options_of_the_sdk_are_taken_in_its_order() {
    let run = Agent::new()
        .model(script![say("one"), say("two")])
        .run("hi")
        .expect_exit(0);
    let id = run.session_file();
    let id = id
        .file_stem()
        .expect("a name")
        .to_string_lossy()
        .into_owned();
    let id = id["rollout-YYYY-MM-DDThh-mm-ss-".len()..].to_owned();
    fs::write(run.workspace().join("s.json"), "{}").expect("a file");
    let line = [
        "exec",
        "--experimental-json",
        "--config",
        "model_verbosity=\"low\"",
        "--config",
        "tools.list=[1, \"a\", {k = true}]",
        "--config",
        "openai_base_url=\"http://127.0.0.1:9/v1\"",
        "--model",
        "mock",
        "--sandbox",
        "read-only",
        "--cd",
        ".",
        "--add-dir",
        "..",
        "--skip-git-repo-check",
        "--output-schema",
        "s.json",
        "--cyber-access-program",
        "standard",
        "--config",
        "model_reasoning_effort=\"ultra\"",
        "--config",
        "sandbox_workspace_write.network_access=true",
        "--config",
        "web_search=\"live\"",
        "--config",
        "approval_policy=\"untrusted\"",
        "resume",
        &id,
    ];
    let run = run.again_piped(&line, "{\"go\": 1}").expect_exit(1);
    assert_eq!(events(&run)[0]["thread_id"], id.as_str());
    run.expect_request(2, |body| strict::all_text(body).contains("{\"go\": 1}"));
}

const SCHEMA: &str = r#"{"type":"object","properties":{"final":{"type":"string"}},"required":["final"],"additionalProperties":false}"#;

fn shaped(harness: &str, wire: &str, steps: Vec<Step>) -> Agent {
    Agent::new()
        .harness(harness)
        .wire(wire)
        .file("s.json", SCHEMA)
        .args(["--json", "--output-schema", "s.json"])
        .model(steps)
}

/// A request that lets the server shape its answer, on any wire.
fn shapes(body: &Value) -> bool {
    let places = [
        "/response_format",
        "/text/format",
        "/output_format",
        "/output_config/format",
        "/format",
    ];
    places.iter().any(|place| body.pointer(place).is_some())
}

#[test]
fn an_answer_that_follows_its_schema_costs_nothing_more() {
    for (harness, wire) in harnesses().flat_map(|h| WIRES.map(|w| (h, w))) {
        let right = "{\"final\": \"x\"}";
        let fenced = "```json\n{\"final\": \"x\"}\n```";
        let reads_text = !support::with_tools().any(|id| id == harness);
        for answer in [right, fenced] {
            // A fence is a command for what acts by text.
            if reads_text && answer == fenced {
                continue;
            }
            let run = shaped(
                harness,
                wire,
                script![
                    run("true").with_text("Sure, working on it."),
                    finish(harness, answer)
                ],
            )
            .run("give it")
            .expect_exit(0)
            .expect_requests(2);
            let messages: Vec<Value> = events(&run)
                .iter()
                .filter(|e| e["item"]["type"] == "agent_message")
                .map(|e| e["item"]["text"].clone())
                .collect();
            let first = messages[0].as_str().unwrap_or_default();
            assert!(
                first.starts_with("Sure, working on it."),
                "{harness} on {wire}: {first}"
            );
            let last = messages.last().and_then(Value::as_str).unwrap_or_default();
            // What ends a task by a command has it behind its answer.
            let last = last.split("\n```mswea").next();
            assert_eq!(last, Some(right), "{harness} on {wire}");
            for request in run.server.requests() {
                assert!(
                    !shapes(&request.body),
                    "{harness} on {wire} shapes each reply"
                );
            }
            assert!(run.request_text(1).contains("\"additionalProperties\""));
        }
    }
}

#[test]
fn an_answer_that_does_not_is_asked_for_once_more_in_shape() {
    for (harness, wire) in harnesses().flat_map(|h| WIRES.map(|w| (h, w))) {
        let run = shaped(
            harness,
            wire,
            script![
                run("true").with_text("Sure, working on it."),
                finish(harness, "The final is x."),
                say("{\"final\": \"x\"}")
            ],
        )
        .args(["-o", "last.txt"])
        .run("give it")
        .expect_exit(0)
        .expect_requests(3)
        .expect_file("last.txt", "{\"final\": \"x\"}");
        let lines = events(&run);
        assert_eq!(lines.last().expect("a line")["type"], "turn.completed");
        let requests = run.server.requests();
        assert!(!shapes(&requests[1].body), "{harness} on {wire}");
        assert!(
            shapes(&requests[2].body),
            "{harness} on {wire}: {}",
            requests[2].body
        );
        assert!(
            run.request_text(3).contains("not JSON"),
            "{harness} on {wire}"
        );
    }
}

#[test]
fn who_stays_with_prose_fails_after_one_more_try() {
    for harness in harnesses() {
        let run = shaped(
            harness,
            "chat",
            script![
                finish(harness, "The final is x."),
                say("{\"last\": \"x\"}"),
                say("{\"final\": \"x\"}")
            ],
        )
        .args(["-o", "last.txt"])
        .run("give it")
        .expect_exit(1)
        .expect_file("last.txt", "");
        let lines = events(&run);
        let last = lines.last().expect("a line");
        assert_eq!(last["type"], "turn.failed", "{harness}");
        let why = last["error"]["message"].as_str().expect("a message");
        assert!(
            why.contains("schema") && why.contains("final"),
            "{harness}: {why}"
        );
        let requests = run.server.requests().len();
        assert!((2..=3).contains(&requests), "{harness}: {requests}");
    }
}

#[test]
fn a_server_that_takes_no_schema_is_asked_without() {
    let run = shaped(
        "minimal",
        "chat",
        script![
            say("The final is x."),
            fail(
                400,
                "{\"error\":{\"message\":\"response_format is not known here\"}}"
            ),
            say("{\"final\": \"x\"}")
        ],
    )
    .run("give it")
    .expect_exit(0)
    .expect_requests(3);
    assert!(!shapes(&run.server.requests()[2].body));
}

#[test]
fn a_schema_that_is_none_is_named_before_anything_is_asked() {
    for text in [
        "[1]",
        "{\"type\": \"nothing\"}",
        "{\"$ref\": \"other.json\"}",
        "{",
    ] {
        let run = Agent::new()
            .file("s.json", text)
            .args(["--json", "--output-schema", "s.json"])
            .model(script![say("no")])
            .run("go")
            .expect_exit(1)
            .expect_stderr("s.json")
            .expect_requests(0);
        assert_eq!(run.stdout, "");
    }
}
