use super::support::script::*;
use super::support::server::{Kind, Server};
use super::support::terminal::Terminal;
use super::support::{Agent, WIRES, strict, with_tools};
use super::{got, is_gone, log_file, server, tools};
use crate::script;
use serde_json::{Value, json};
use std::time::Duration;

const NAME: &str = "mcp__demo__add";

/// Every harness that offers tools, and every wire, has the tools of a server behind its own.
#[test]
fn a_tool_of_a_server_works_in_every_harness_and_wire() {
    let wires = WIRES.iter().cycle();
    for (harness, wire) in with_tools().zip(wires) {
        let run = Agent::new()
            .harness(harness)
            .wire(wire)
            .config(&server("demo", &[], ""))
            .model(script![
                call(NAME, json!({"a": 2, "b": 40})),
                finish(harness, "done"),
                finish(harness, "done")
            ])
            .run("add them")
            .expect_exit(0);
        assert!(
            run.request_text(2).contains("the sum is 42"),
            "{harness} on {wire}"
        );
        let names = tools(&run, 1);
        assert!(names.contains(&NAME.to_owned()), "{harness}: {names:?}");
        assert!(!names.iter().any(|n| n.contains("task_only")), "{harness}");
        assert_eq!(names, tools(&run, 2), "{harness}");
        // The structured form says the same again.
        assert!(!run.request_text(2).contains("\"total\""), "{harness}");
        let call = &got(&log_file(&run, "demo"), "tools/call")[0]["params"];
        assert_eq!(call["arguments"], json!({"a": 2, "b": 40}), "{harness}");
        assert!(
            run.request_text(1).contains("zebra-11"),
            "{harness}: instructions"
        );
    }
}

/// A harness without tools calls them as commands.
#[test]
fn a_harness_without_tools_calls_them_as_commands() {
    let run = Agent::new()
        .harness("mini-swe-agent")
        .config(&server("demo", &[], ""))
        .model(script![
            run("mcp__demo__add '{\"a\": 2, \"b\": 40}'"),
            finish("mini-swe-agent", "done")
        ])
        .run("add them")
        .expect_exit(0);
    assert!(run.request_text(1).contains("mcp__demo__add"));
    assert!(run.request_text(2).contains("the sum is 42"));
    assert_eq!(got(&log_file(&run, "demo"), "tools/call").len(), 1);
}

#[test]
fn the_handshake_is_that_of_the_protocol() {
    let run = Agent::new()
        .config(&server("demo", &[], ""))
        .model(script![say("done")])
        .run("hi")
        .expect_exit(0);
    let log = log_file(&run, "demo");
    let first = &got(&log, "initialize")[0];
    assert_eq!(first["params"]["protocolVersion"], "2025-11-25");
    assert_eq!(first["params"]["capabilities"], json!({"roots": {}}));
    assert_eq!(first["params"]["clientInfo"]["name"], "interpreter");
    assert_eq!(got(&log, "notifications/initialized").len(), 1);
    assert_eq!(got(&log, "tools/list").len(), 1);
}

/// Names and schemas that some API or grammar maker refuses.
#[test]
fn odd_tools_are_shown_in_a_form_that_every_server_takes() {
    let run = Agent::new()
        .config(&server("demo", &["--pages"], ""))
        .model(script![say("done")])
        .run("hi")
        .expect_exit(0);
    let all = strict::tools(&run.server.requests()[0].body);
    let schema = |name: &str| all.iter().find(|(n, _)| n == name).map(|(_, s)| s.clone());
    let odd = all
        .iter()
        .find(|(n, _)| n.starts_with("mcp__demo__odd_name_x_"));
    assert!(odd.is_some_and(|(n, _)| n.len() <= 64), "{all:?}");
    assert_eq!(
        schema("mcp__demo__union"),
        Some(
            json!({"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "string"}}})
        )
    );
    assert_eq!(
        schema("mcp__demo__no_schema"),
        Some(json!({"type": "object", "properties": {}}))
    );
    assert_eq!(got(&log_file(&run, "demo"), "tools/list").len(), 18);
}

#[test]
fn noise_and_a_full_stderr_lose_nothing() {
    let run = Agent::new()
        .config(&server("demo", &["--noise", "--chatty"], ""))
        .model(script![call("mcp__demo__ping", json!({})), say("done")])
        .run("hi")
        .expect_exit(0);
    assert!(run.request_text(2).contains("pong"));
}

/// User case O25.
#[test]
fn one_bad_server_is_named_and_the_others_work() {
    let bad = "[mcp_servers.bad]\ncommand = \"sh\"\nargs = [\"-c\", \"echo boom-77 >&2; echo $$ > ../bad.pid; sleep 600\"]\n";
    let run = Agent::new()
        .config(&format!("{bad}{}", server("good", &[], "")))
        .model(script![say("done")])
        .run("hi")
        .expect_exit(0)
        .expect_requests(1);
    assert!(run.took < Duration::from_secs(15), "{:?}", run.took);
    assert!(tools(&run, 1).contains(&"mcp__good__ping".to_owned()));
    let said: Vec<&str> = run.stderr.lines().filter(|l| l.contains("bad")).collect();
    assert!(
        said.len() == 1 && said[0].contains("boom-77"),
        "{}",
        run.stderr
    );
    let pid = std::fs::read_to_string(run.workspace().join("../bad.pid")).expect("it ran");
    assert!(is_gone(pid.trim()));
}

#[test]
fn a_server_that_fails_is_told_with_what_it_wrote_and_a_required_one_ends_the_run() {
    let broken =
        "[mcp_servers.x]\ncommand = \"sh\"\nargs = [\"-c\", \"echo no-good-5 >&2; exit 1\"]\n";
    let agent = |more: &str| {
        Agent::new()
            .config(&format!("{broken}{more}"))
            .model(script![say("done")])
    };
    let run = agent("").run("hi").expect_exit(0);
    let said = run.stderr.lines().find(|l| l.contains("MCP server x"));
    assert!(
        said.is_some_and(|l| l.contains("no-good-5")),
        "{}",
        run.stderr
    );
    let run = agent("required = true\n")
        .run("hi")
        .expect_exit(1)
        .expect_requests(0);
    let said = run
        .stderr
        .lines()
        .find(|l| l.contains("required MCP server x"));
    assert!(
        said.is_some_and(|l| l.contains("no-good-5")),
        "{}",
        run.stderr
    );
    let missing = "[mcp_servers.x]\ncommand = \"no-such-program-9\"\n[mcp_servers.\"a b\"]\ncommand = \"sh\"\n[mcp_servers.off]\ncommand = \"sh\"\nenabled = false\n";
    let run = Agent::new()
        .config(missing)
        .model(script![say("done")])
        .run("hi")
        .expect_exit(0);
    for part in ["no such program", "a name has letters"] {
        assert!(run.stderr.contains(part), "{}", run.stderr);
    }
    assert!(!run.stderr.contains("off"), "{}", run.stderr);
}

/// A server that is there only after the first request joins by the next, where nobody will say more.
#[test]
fn a_late_server_joins() {
    let run = Agent::new()
        .config(&server("demo", &["--late", "go"], ""))
        .model(script![
            run("touch go; sleep 3"),
            call("mcp__demo__ping", json!({})),
            say("done")
        ])
        .run("hi")
        .expect_exit(0)
        .expect_stderr("has not answered yet");
    assert!(!tools(&run, 1).contains(&"mcp__demo__ping".to_owned()));
    assert!(tools(&run, 2).contains(&"mcp__demo__ping".to_owned()));
    assert!(run.request_text(3).contains("pong"));
    assert!(
        run.stderr.contains("the tools of MCP servers changed"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_list_that_changed_is_read_again() {
    let run = Agent::new()
        .config(&server("demo", &[], ""))
        .model(script![
            call("mcp__demo__change", json!({})),
            call("mcp__demo__added", json!({})),
            say("done")
        ])
        .run("hi")
        .expect_exit(0);
    assert!(!tools(&run, 1).contains(&"mcp__demo__added".to_owned()));
    assert!(tools(&run, 2).contains(&"mcp__demo__added".to_owned()));
    assert!(run.request_text(3).contains("this is added"));
    // It breaks the prompt, which is told and stored.
    assert!(
        run.stderr.contains("the tools of MCP servers changed"),
        "{}",
        run.stderr
    );
    let stored = std::fs::read_to_string(run.session_file()).expect("the session");
    let starts = stored.lines().filter(|l| l.contains("\"type\":\"start\""));
    let with_added = starts.filter(|l| l.contains("mcp__demo__added"));
    assert_eq!(with_added.count(), 1);
}

/// Where a person says more, a late server joins at the beginning of the next turn, and no request
/// of the running one changes.
#[test]
fn a_late_server_joins_at_the_next_turn() {
    let steps = script![
        run("touch go; sleep 3"),
        say("one"),
        call("mcp__demo__ping", json!({})),
        say("two")
    ];
    let model = Server::start(Kind::LlamaServer, 32_768, steps);
    let config = format!(
        "approval_policy = \"never\"\n{}",
        server("demo", &["--late", "go"], "")
    );
    let mut t = Terminal::on(model, &config, Some("go"));
    t.wait_for("has not answered yet");
    t.wait_for("one");
    t.wait_for_prompt();
    t.types("more\r");
    t.wait_for("the tools of MCP servers changed");
    t.wait_for("two");
    let has = |n: usize| {
        let all = strict::tools(&t.server.requests()[n].body);
        all.iter().any(|(name, _)| name == "mcp__demo__ping")
    };
    assert_eq!([0, 1, 2, 3].map(has), [false, false, true, true]);
    t.types("/exit\r");
}

#[test]
fn results_of_every_kind_reach_the_model_in_bounds() {
    let run = Agent::new()
        .config(&server("demo", &[], ""))
        .model(script![
            call("mcp__demo__picture", json!({})),
            call("mcp__demo__big", json!({})),
            call("mcp__demo__fail", json!({})),
            call("mcp__demo__odd.name/x", json!({})),
            say("done")
        ])
        .run("hi")
        .expect_exit(0);
    assert!(run.request_text(2).contains("[one](demo://1)"));
    let big = run.request_text(3);
    assert!(big.len() < 120_000 && big.contains("line 0 ") && big.contains("line 39999"));
    let path = big
        .split("the whole text is in ")
        .nth(1)
        .and_then(|p| p.split(' ').next());
    let whole = std::fs::read_to_string(path.expect("a path")).expect("the file");
    assert!(whole.contains("line 20000 "));
    assert!(run.request_text(4).contains("it went wrong"));
    assert!(run.request_text(5).contains("odd indeed"));
    assert!(!run.stderr.contains('\u{1b}'), "raw output on the terminal");
}

/// Nobody can be asked in `exec`: what may change things runs only where the user has said so.
#[test]
fn what_may_change_things_asks_unless_the_user_has_said_so() {
    let touch = |path: &str| call("mcp__demo__touch", json!({ "path": path }));
    let run = |more: &str, args: &[&str]| {
        let mut agent = Agent::new()
            .config(&server("demo", &[], more))
            .model(script![touch("a.txt"), say("done")]);
        for arg in args {
            agent = agent.args([*arg]);
        }
        agent.run("hi").expect_exit(0)
    };
    let refused = run("", &[]).expect_no_file("a.txt");
    assert!(refused.request_text(2).contains("did not run"));
    run("default_tools_approval_mode = \"approve\"\n", &[]).expect_file("a.txt", "");
    run(
        "[mcp_servers.demo.tools.touch]\napproval_mode = \"approve\"\n",
        &[],
    )
    .expect_file("a.txt", "");
    run("", &["--yolo"]).expect_file("a.txt", "");
    run("default_tools_approval_mode = \"prompt\"\n", &["--yolo"]).expect_no_file("a.txt");
    let without = run("disabled_tools = [\"touch\"]\n", &[]).expect_no_file("a.txt");
    assert!(!tools(&without, 1).contains(&"mcp__demo__touch".to_owned()));
    let only = run("enabled_tools = [\"ping\"]\n", &[]);
    let further = tools(&only, 1)
        .into_iter()
        .filter(|t| t.starts_with("mcp__"));
    assert_eq!(further.collect::<Vec<_>>(), ["mcp__demo__ping"]);
}

#[test]
fn a_call_that_takes_too_long_is_cancelled_and_told() {
    let run = Agent::new()
        .config(&server("demo", &[], "tool_timeout_sec = 1\n"))
        .model(script![
            call("mcp__demo__slow", json!({"seconds": 60})).and(call("mcp__demo__ping", json!({}))),
            say("done")
        ])
        .run("hi")
        .expect_exit(0);
    // Progress puts the limit off, but only so far.
    assert!(run.took < Duration::from_secs(30), "{:?}", run.took);
    assert!(run.request_text(2).contains("did not answer within 1 s"));
    assert!(run.request_text(2).contains("pong"));
    let log = log_file(&run, "demo");
    let call = &got(&log, "tools/call")[0];
    assert_eq!(
        got(&log, "notifications/cancelled")[0]["params"]["requestId"],
        call["id"]
    );
    assert!(call["params"]["_meta"]["progressToken"].is_string());
}

#[test]
fn an_interrupt_cancels_the_call() {
    let run = Agent::new()
        .config(&server("demo", &[], ""))
        .model(script![
            call("mcp__demo__slow", json!({"seconds": 60})),
            say("done")
        ])
        .start(&["exec", "--skip-git-repo-check"], Some("hi"));
    run.wait_for_requests(1);
    let log = run.home.path().join("demo.log");
    let end = std::time::Instant::now() + Duration::from_secs(10);
    while got(&log, "tools/call").is_empty() && std::time::Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20));
    }
    run.signal(2);
    let run = run.finish();
    assert_eq!(run.code, 130, "{}", run.stderr);
    assert_eq!(
        got(&log_file(&run, "demo"), "notifications/cancelled").len(),
        1
    );
}

#[test]
fn a_server_that_dies_is_told_with_its_last_words_and_started_again_once() {
    let run = Agent::new()
        .config(&server("demo", &[], ""))
        .model(script![
            call("mcp__demo__die", json!({})),
            call("mcp__demo__ping", json!({})),
            call("mcp__demo__die", json!({"n": 1})),
            call("mcp__demo__add", json!({"a": 1, "b": 1})),
            say("done")
        ])
        .run("hi")
        .expect_exit(0);
    assert!(
        run.request_text(2).contains("die-42"),
        "{}",
        run.request_text(2)
    );
    assert!(run.request_text(3).contains("pong"));
    assert!(!run.request_text(5).contains("the sum is"));
    assert_eq!(got(&log_file(&run, "demo"), "initialize").len(), 2);
}

/// Nothing is left, whatever ends us.
#[test]
fn no_process_is_left() {
    for signal in [None, Some(15), Some(9)] {
        let run = Agent::new()
            .config(&server("demo", &["--child"], ""))
            .model(script![
                call("mcp__demo__slow", json!({"seconds": 3})),
                say("done")
            ])
            .start(&["exec", "--skip-git-repo-check"], Some("hi"));
        run.wait_for_requests(1);
        if let Some(signal) = signal {
            run.signal(signal);
        }
        let run = run.finish();
        let pids = std::fs::read_to_string(run.workspace().join("../demo.log.pids")).expect("pids");
        for pid in pids.split(' ') {
            assert!(is_gone(pid), "{pid} after {signal:?}");
        }
    }
}

/// A server sees little of our environment: what it is given, and what every program needs.
#[test]
fn a_server_gets_its_variables_and_no_others() {
    let run = Agent::new()
        .env("SECRET_KEY", "s3")
        .env("NAMED", "n4")
        .env("TOKEN", "t5")
        .config(&server(
            "demo",
            &[],
            "env = { A = \"1\", B = \"env:TOKEN\" }\nenv_vars = [\"NAMED\"]\n",
        ))
        .model(script![
            call("mcp__demo__environment", json!({})),
            say("done")
        ])
        .run("hi")
        .expect_exit(0);
    let text = run.request_text(2);
    for (part, there) in [
        ("\"A\": \"1\"", true),
        ("t5", true),
        ("n4", true),
        ("\"HOME\"", true),
        ("s3", false),
    ] {
        assert_eq!(text.contains(part), there, "{part}");
    }
    let run = Agent::new()
        .config(&server("demo", &[], "env = { B = \"env:NOT_SET_7\" }\n"))
        .model(script![say("done")])
        .run("hi")
        .expect_exit(0);
    assert!(run.stderr.contains("NOT_SET_7"), "{}", run.stderr);
}

/// Where they would take more than a tenth of the window, tools are found and not shown.
#[test]
fn many_tools_are_found_on_demand() {
    let run = Agent::new()
        .config(&server("demo", &["--many", "60"], ""))
        .model(script![
            call("find_tools", json!({"query": "many 33"})),
            call(
                "call_tool",
                json!({"name": "mcp__demo__many_33", "arguments": {"p1": "x"}})
            ),
            // Some models call what they found by its name.
            call("mcp__demo__many_7", json!({})),
            call("find_tools", json!({"query": "zzz"})),
            say("done")
        ])
        .run("hi")
        .expect_exit(0);
    let further: Vec<String> = tools(&run, 1)
        .into_iter()
        .filter(|t| t.contains("tool") || t.contains("mcp"))
        .collect();
    assert_eq!(further, ["find_tools", "call_tool"]);
    assert_eq!(tools(&run, 1), tools(&run, 5));
    assert!(run.request_text(2).contains("mcp__demo__many_33"));
    assert!(run.request_text(3).contains("this is many_33"));
    assert!(run.request_text(4).contains("this is many_7"));
    assert!(run.request_text(5).contains("No tool fits"));
}

/// Without tools of its own a harness has the two as commands.
#[test]
fn many_tools_are_found_by_commands() {
    let run = Agent::new()
        .harness("mini-swe-agent")
        .config(&server("demo", &["--many", "60"], ""))
        .model(script![
            run("find_tools '{\"query\": \"many 33\"}'"),
            run("call_tool '{\"name\": \"mcp__demo__many_33\", \"arguments\": {\"p1\": \"x\"}}'"),
            finish("mini-swe-agent", "done")
        ])
        .run("hi")
        .expect_exit(0);
    assert!(!run.request_text(1).contains("many_33"));
    assert!(run.request_text(2).contains("mcp__demo__many_33"));
    assert!(run.request_text(3).contains("this is many_33"));
    let call = &got(&log_file(&run, "demo"), "tools/call")[0]["params"];
    assert_eq!(call["arguments"], json!({"p1": "x"}));
}

#[test]
fn a_stateless_server_is_spoken_to_in_its_way() {
    let run = Agent::new()
        .config(&server("demo", &["--stateless"], ""))
        .model(script![call("mcp__demo__ping", json!({})), say("done")])
        .run("hi")
        .expect_exit(0);
    assert!(run.request_text(2).contains("pong"));
    let log = log_file(&run, "demo");
    let meta = &got(&log, "tools/call")[0]["params"]["_meta"];
    assert_eq!(
        meta["io.modelcontextprotocol/protocolVersion"],
        "2026-07-28"
    );
    assert!(meta["io.modelcontextprotocol/clientCapabilities"].is_object());
    assert_eq!(got(&log, "notifications/initialized").len(), 0);
}

/// A stateless server asks in its answer: the call is made again with what was answered and with
/// the server's own words untouched, as often as it may.
#[test]
fn a_stateless_server_asks_back_in_its_answer() {
    let config = server("demo", &["--stateless"], "");
    let run = Agent::new()
        .config(&config)
        .model(script![
            call("mcp__demo__ask", json!({})),
            call("mcp__demo__ask_on", json!({})),
            say("done")
        ])
        .run("hi")
        .expect_exit(0);
    let answer = run.request_text(2);
    assert!(answer.contains("state state-81"), "{answer}");
    // Nobody can be asked here.
    assert!(
        answer.contains("\"action\": \"decline\"") && answer.contains("file://"),
        "{answer}"
    );
    assert!(
        run.request_text(3)
            .contains("asked back more than 10 times"),
        "{}",
        run.request_text(3)
    );
    let calls = got(&log_file(&run, "demo"), "tools/call");
    assert_eq!(calls.len(), 12);
    assert_ne!(calls[0]["id"], calls[1]["id"]);
    assert!(calls[0]["params"].get("inputResponses").is_none());
    assert_eq!(calls[1]["params"]["requestState"], "state-81");

    let steps = script![call("mcp__demo__ask", json!({})), say("all done")];
    let model = Server::start(Kind::LlamaServer, 32_768, steps);
    let mut t = Terminal::on(model, &config, Some("go"));
    t.wait_for("Which colour?");
    t.types("blue\n");
    t.wait_for("Send this to");
    t.types("y");
    t.wait_for("all done");
    let text = strict::all_text(&t.server.requests()[1].body);
    assert!(
        text.contains("\"action\": \"accept\"") && text.contains("blue"),
        "{text}"
    );
    t.types("/exit\r");
}

#[test]
fn the_lines_of_exec_tell_of_a_call() {
    let run = Agent::new()
        .config(&server("demo", &[], ""))
        .args(["--json"])
        .model(script![
            call("mcp__demo__add", json!({"a": 1, "b": 2})),
            call("mcp__demo__fail", json!({})),
            call("mcp__demo__touch", json!({"path": "x"})),
            say("done")
        ])
        .run("hi")
        .expect_exit(0);
    let lines = run
        .stdout
        .lines()
        .map(|l| serde_json::from_str::<Value>(l).expect("JSON"));
    let items: Vec<Value> = lines
        .filter(|l| l["item"]["type"] == "mcp_tool_call")
        .collect();
    assert_eq!(items.len(), 6);
    assert_eq!(items[0]["type"], "item.started");
    let started = json!({"server": "demo", "tool": "add", "arguments": {"a": 1, "b": 2}, "result": null, "error": null, "status": "in_progress"});
    for (key, value) in started.as_object().expect("an object") {
        assert_eq!(&items[0]["item"][key], value, "{key}");
    }
    let done = &items[1]["item"];
    assert_eq!(
        done["result"]["content"],
        json!([{"type": "text", "text": "the sum is 3"}])
    );
    assert_eq!(done["result"]["structured_content"], json!({"total": 3}));
    assert_eq!(done["result"]["_meta"], json!({"took": 7}));
    assert_eq!(
        (&done["status"], &done["error"]),
        (&json!("completed"), &Value::Null)
    );
    let failed = &items[3]["item"];
    assert!(failed["status"] == "failed" && failed["result"]["content"].is_array());
    let refused = &items[5]["item"];
    assert!(refused["status"] == "failed" && refused["result"].is_null());
    assert!(
        refused["error"]["message"]
            .as_str()
            .is_some_and(|m| m.contains("did not run"))
    );
}

/// A resumed session sends the same tools, so that its prompt is not read again.
#[test]
fn a_resumed_session_has_the_same_tools() {
    let run = Agent::new()
        .config(&server("demo", &[], ""))
        .model(script![
            call("mcp__demo__ping", json!({})),
            say("one"),
            say("two")
        ])
        .run("hi")
        .expect_exit(0);
    let before = tools(&run, 2);
    let run = run
        .again(
            &["exec", "resume", "--last", "--skip-git-repo-check"],
            Some("more"),
        )
        .expect_exit(0);
    assert_eq!(tools(&run, 3), before);
    assert!(!run.stderr.contains("read again"), "{}", run.stderr);
}

/// A person is asked before a tool that may change things, and by a server that asks.
#[test]
fn a_person_is_asked() {
    let steps = script![
        call("mcp__demo__touch", json!({"path": "a.txt"})),
        call("mcp__demo__ask", json!({})),
        say("all done")
    ];
    let model = Server::start(Kind::LlamaServer, 32_768, steps);
    let mut t = Terminal::on(model, &server("demo", &[], ""), None);
    t.wait_for_prompt();
    let status = t.says("/mcp");
    assert!(status.contains("demo"), "{status}");
    t.types("go\r");
    t.wait_for("may change things");
    t.types("y\n");
    t.wait_for("Which colour?");
    t.types("blue\n");
    t.wait_for("Send this to demo?");
    t.types("y");
    t.wait_for("all done");
    assert!(t.has_file());
    let requests = t.server.requests();
    let text = strict::all_text(&requests[2].body);
    assert!(text.contains("blue") && text.contains("accept"), "{text}");
    let log = t.home.path().join("demo.log");
    assert_eq!(
        got(&log, "initialize")[0]["params"]["capabilities"],
        json!({"roots": {}, "elicitation": {}})
    );
    t.types("/exit\r");
}

/// The servers of a project count only once the user trusts it.
#[test]
fn a_project_brings_servers_only_when_it_is_trusted() {
    let start = |trusted: bool| {
        let agent = Agent::new();
        let place = agent.workspace().canonicalize().expect("the workspace");
        let trust = match trusted {
            true => format!(
                "[projects.{:?}]\ntrust_level = \"trusted\"\n",
                place.display().to_string()
            ),
            false => String::new(),
        };
        agent
            .git()
            .config(&trust)
            .file(
                ".openinterpreter/config.toml",
                server("demo", &[], "default_tools_approval_mode = \"approve\"\n"),
            )
            .model(script![
                call("mcp__demo__touch", json!({"path": "a.txt"})),
                say("done")
            ])
            .run("hi")
            .expect_exit(0)
            .expect_no_file("a.txt")
    };
    assert!(tools(&start(true), 1).contains(&"mcp__demo__ping".to_owned()));
    let untrusted = start(false);
    assert!(!tools(&untrusted, 1).iter().any(|t| t.starts_with("mcp__")));
    assert!(!log_file(&untrusted, "demo").exists());
}
