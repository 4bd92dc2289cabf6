//! `interpreter mcp-server`: a client speaks to it, and a scripted model does the work.
#![cfg(unix)]

mod support;

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, PipeWriter, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use support::script::*;
use support::{Agent, Running};

const SOON: Duration = Duration::from_secs(30);

/// A client of the server.
struct Client {
    to: Box<dyn Write>,
    from: Receiver<Value>,
    /// Messages that came while another one was waited for.
    kept: Vec<Value>,
    last: u64,
}

fn reader(out: ChildStdout) -> Receiver<Value> {
    let (sender, from) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(out).lines() {
            let line = line.expect("UTF-8");
            // Nothing but messages is on standard output.
            let message: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"));
            if sender.send(message).is_err() {
                break;
            }
        }
    });
    from
}

impl Client {
    fn of(running: &mut Running, to: PipeWriter, capabilities: Value) -> Self {
        let out = running.child.stdout.take().expect("stdout");
        Client::new(Box::new(to), out, capabilities)
    }

    fn new(to: Box<dyn Write>, out: ChildStdout, capabilities: Value) -> Self {
        let mut client = Client {
            to,
            from: reader(out),
            kept: Vec::new(),
            last: 0,
        };
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": {"name": "t", "version": "1"}});
        let id = client.ask("initialize", hello);
        assert_eq!(client.answer(id)["result"]["protocolVersion"], "2025-06-18");
        client.tell("notifications/initialized", json!({}));
        client
    }

    fn send(&mut self, message: Value) {
        writeln!(self.to, "{message}").expect("it listens");
    }

    fn tell(&mut self, method: &str, params: Value) {
        self.send(json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    fn ask(&mut self, method: &str, params: Value) -> u64 {
        self.last += 1;
        let id = self.last;
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    fn call(&mut self, tool: &str, arguments: Value) -> u64 {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// The next message for which `test` holds.
    fn next(&mut self, test: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.kept.iter().position(&test) {
            return self.kept.remove(at);
        }
        let end = Instant::now() + SOON;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let message = self.from.recv_timeout(left).expect("a message in time");
            if test(&message) {
                return message;
            }
            self.kept.push(message);
        }
    }

    fn answer(&mut self, id: u64) -> Value {
        self.next(|m| m["id"] == id && m.get("method").is_none())
    }

    /// The result of a call.
    fn result(&mut self, tool: &str, arguments: Value) -> Value {
        let id = self.call(tool, arguments);
        self.answer(id)["result"].clone()
    }
}

/// A running server and its client.
fn start(steps: Vec<Step>, capabilities: Value, config: &str) -> (Running, Client) {
    let (agent, to) = Agent::new().model(steps).config(config).open_stdin();
    let mut running = agent.start(&["mcp-server"], None);
    let client = Client::of(&mut running, to, capabilities);
    (running, client)
}

/// The server once more, in the home of an earlier one.
fn again(home: &Path) -> (Child, Client) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_interpreter"))
        .arg("mcp-server")
        .current_dir(home.join("ws"))
        .env("INTERPRETER_HOME", home.join("home"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let to = child.stdin.take().expect("stdin");
    let out = child.stdout.take().expect("stdout");
    (child, Client::new(Box::new(to), out, json!({})))
}

#[test]
fn it_says_what_it_is_and_has() {
    let (running, mut client) = start(vec![], json!({}), "");
    let id = client.ask(
        "initialize",
        json!({"protocolVersion": "1999-01-01", "capabilities": {}}),
    );
    let hello = client.answer(id)["result"].clone();
    assert_eq!(hello["protocolVersion"], "2025-11-25");
    assert_eq!(hello["serverInfo"]["name"], "interpreter");
    let id = client.ask("tools/list", json!({}));
    let tools = client.answer(id)["result"]["tools"].clone();
    let names: Vec<&str> = tools
        .as_array()
        .expect("tools")
        .iter()
        .filter_map(|t| t["name"].as_str())
        .collect();
    assert_eq!(names, ["interpreter", "interpreter-reply"]);
    for tool in tools.as_array().expect("tools") {
        assert_eq!(
            tool["outputSchema"]["required"],
            json!(["threadId", "content"])
        );
        for kind in ["$ref", "anyOf", "oneOf"] {
            assert!(!tool["inputSchema"].to_string().contains(kind));
        }
    }
    for (method, code) in [("server/discover", -32601), ("resources/list", -32601)] {
        let id = client.ask(method, json!({}));
        assert_eq!(client.answer(id)["error"]["code"], code, "{method}");
    }
    let id = client.ask("ping", json!({}));
    assert_eq!(client.answer(id)["result"], json!({}));
    client.to.write_all(b"not JSON\n").expect("written");
    assert_eq!(
        client.next(|m| m["id"].is_null() && m.get("error").is_some())["error"]["code"],
        -32700
    );
    drop(client);
    running.finish().expect_exit(0);
}

#[test]
fn a_session_begins_and_goes_on_also_after_a_restart() {
    let steps = script![
        write("a.txt", "1\n"),
        say("first"),
        say("second"),
        say("third")
    ];
    let (running, mut client) = start(steps, json!({}), "harness_guidance = false\n");
    let first = client.result(
        "interpreter",
        json!({"prompt": "one", "sandbox": "workspace-write", "developer-instructions": "zebra-9"}),
    );
    assert_eq!(first["content"], json!([{"type": "text", "text": "first"}]));
    assert_eq!(first["structuredContent"]["content"], "first");
    let thread = first["structuredContent"]["threadId"].clone();
    let second = client.result(
        "codex-reply",
        json!({"prompt": "two", "conversationId": thread}),
    );
    assert_eq!(
        second["structuredContent"],
        json!({"threadId": thread, "content": "second"})
    );
    drop(client);
    let run = running.finish().expect_exit(0).expect_file("a.txt", "1\n");
    assert!(run.request_text(1).contains("zebra-9"));
    let (mut child, mut client) = again(run.home.path());
    let third = client.result(
        "interpreter-reply",
        json!({"prompt": "three", "threadId": thread}),
    );
    assert_eq!(
        third["structuredContent"],
        json!({"threadId": thread, "content": "third"})
    );
    let text = run.request_text(4);
    assert!(
        ["one", "two", "three"]
            .iter()
            .all(|word| text.contains(word))
    );
    drop(client);
    assert!(child.wait().expect("it ends").success());
}

#[test]
fn wrong_arguments_are_told_before_any_request() {
    let (running, mut client) = start(vec![], json!({}), "");
    for (tool, arguments, part) in [
        ("interpreter", json!({}), "prompt is missing"),
        ("interpreter", json!({"prompt": 5}), "prompt is a string"),
        (
            "interpreter",
            json!({"prompt": "x", "sandbox": "none"}),
            "sandbox",
        ),
        (
            "interpreter",
            json!({"prompt": "x", "cwd": "/no/such/folder"}),
            "/no/such/folder",
        ),
        (
            "interpreter",
            json!({"prompt": "x", "profile": "nope"}),
            "nope",
        ),
        (
            "interpreter-reply",
            json!({"prompt": "x"}),
            "threadId is missing",
        ),
        (
            "interpreter-reply",
            json!({"prompt": "x", "threadId": "0199-none"}),
            "0199-none",
        ),
        ("other", json!({"prompt": "x"}), "there is no tool"),
    ] {
        let result = client.result(tool, arguments.clone());
        assert_eq!(result["isError"], true, "{arguments}");
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        assert!(text.contains(part), "{arguments}: {text}");
    }
    drop(client);
    running.finish().expect_exit(0).expect_requests(0);
}

/// Approvals go to a client that can ask, and both forms of its answer are heard.
#[test]
fn a_client_that_can_ask_is_asked() {
    for (answer, runs) in [
        (json!({"decision": "approved"}), true),
        (json!({"action": "accept"}), true),
        (json!({"action": "accept", "content": {}}), true),
        (json!({"decision": "denied"}), false),
        (json!({"action": "decline"}), false),
        (json!({"action": "cancel"}), false),
    ] {
        let steps = script![run("rm -rf old.txt"), say("done")];
        let (running, mut client) = start(steps, json!({"elicitation": {}}), "");
        let ws = running.home.path().join("ws/old.txt");
        std::fs::write(&ws, "x").expect("a file");
        let id = client.call(
            "interpreter",
            json!({"prompt": "x", "approval-policy": "on-request"}),
        );
        let question = client.next(|m| m["method"] == "elicitation/create");
        let params = &question["params"];
        assert_eq!(
            params["requestedSchema"],
            json!({"type": "object", "properties": {}})
        );
        assert_eq!(params["codex_elicitation"], "exec-approval");
        assert!(
            params["codex_command"]
                .to_string()
                .contains("rm -rf old.txt")
        );
        assert_eq!(params["codex_mcp_tool_call_id"], id);
        client.send(json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}));
        let result = client.answer(id)["result"].clone();
        assert_eq!(result["structuredContent"]["content"], "done");
        assert_eq!(params["threadId"], result["structuredContent"]["threadId"]);
        assert_eq!(ws.exists(), !runs, "{answer}");
        drop(client);
        running.finish().expect_exit(0);
    }
}

/// Where nobody can be asked, the call goes on without: it never hangs.
#[test]
fn a_client_that_cannot_ask_is_not_waited_for() {
    let steps = script![run("rm -rf old.txt"), say("done")];
    let (running, mut client) = start(steps, json!({}), "");
    let ws = running.home.path().join("ws/old.txt");
    std::fs::write(&ws, "x").expect("a file");
    let result = client.result(
        "interpreter",
        json!({"prompt": "x", "approval-policy": "on-request"}),
    );
    assert_eq!(result["structuredContent"]["content"], "done");
    assert!(ws.exists());
    drop(client);
    running.finish().expect_exit(0);
}

#[test]
fn a_cancelled_call_stops_and_is_not_answered() {
    let steps = script![say("late").after(Duration::from_secs(60)), say("next")];
    let (running, mut client) = start(steps, json!({}), "");
    let id = client.call("interpreter", json!({"prompt": "x"}));
    running.wait_for_requests(1);
    let ping = client.ask("ping", json!({}));
    client.answer(ping);
    client.tell(
        "notifications/cancelled",
        json!({"requestId": id, "reason": "enough"}),
    );
    let next = client.result("interpreter", json!({"prompt": "y"}));
    assert_eq!(next["structuredContent"]["content"], "next");
    assert!(!client.kept.iter().any(|m| m["id"] == id));
    // The scripted server notices it at its next look.
    let end = Instant::now() + Duration::from_secs(10);
    while running.server.clients_that_left() == 0 {
        assert!(Instant::now() < end, "the model server was not let go");
        std::thread::sleep(Duration::from_millis(10));
    }
    drop(client);
    running.finish().expect_exit(0);
}

/// Calls run side by side, with signs of life for the one that asked for them.
#[test]
fn calls_run_side_by_side_with_signs_of_life() {
    let steps = script![say("one").after(Duration::from_secs(4)), say("two")];
    let (running, mut client) = start(steps, json!({}), "");
    let slow = client.ask(
        "tools/call",
        json!({"name": "codex", "arguments": {"prompt": "slow"}, "_meta": {"progressToken": "t7"}}),
    );
    running.wait_for_requests(1);
    let quick = client.call("interpreter", json!({"prompt": "quick"}));
    let second = client.answer(quick);
    assert_eq!(second["result"]["structuredContent"]["content"], "two");
    assert_eq!(
        client.answer(slow)["result"]["structuredContent"]["content"],
        "one"
    );
    let progress: Vec<&Value> = client
        .kept
        .iter()
        .filter(|m| m["method"] == "notifications/progress")
        .collect();
    assert!(progress.len() >= 2, "{progress:?}");
    let numbers: Vec<u64> = progress
        .iter()
        .filter_map(|m| m["params"]["progress"].as_u64())
        .collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
    assert!(
        progress
            .iter()
            .all(|m| m["params"]["progressToken"] == "t7")
    );
    drop(client);
    running.finish().expect_exit(0);
}

#[test]
fn the_end_of_its_input_ends_it_in_the_middle_of_a_turn() {
    let steps = script![say("late").after(Duration::from_secs(60))];
    let (running, mut client) = start(steps, json!({}), "");
    client.call("interpreter", json!({"prompt": "x"}));
    running.wait_for_requests(1);
    let began = Instant::now();
    drop(client);
    running.finish().expect_exit(0);
    assert!(
        began.elapsed() < Duration::from_secs(4),
        "{:?}",
        began.elapsed()
    );
}

/// The failure of a model is an error of the call, with the session to go on with.
#[test]
fn a_failure_of_the_model_is_told() {
    let steps = script![fail(400, "{\"error\": {\"message\": \"broken-3\"}}")];
    let (running, mut client) = start(steps, json!({}), "");
    let result = client.result("interpreter", json!({"prompt": "x"}));
    assert_eq!(result["isError"], true);
    assert!(
        result["content"][0]["text"]
            .as_str()
            .is_some_and(|t| t.contains("broken-3"))
    );
    assert!(result["structuredContent"]["threadId"].is_string());
    drop(client);
    running.finish().expect_exit(0);
}
