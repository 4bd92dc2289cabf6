//! A session in a terminal: what a person types, and the signals that reach it.
#![cfg(unix)]

mod support;

use std::time::Duration;
use support::script::*;
use support::server::{Kind, Server};
use support::terminal::Terminal;

const QUESTION: &str = "your answer (no): ";

fn asks() -> Vec<Step> {
    script![
        write("a.txt", "x\n").after(Duration::from_millis(700)),
        say("all done")
    ]
}

#[test]
fn yes_is_an_answer() {
    let mut t = Terminal::start(asks(), Some("go"));
    t.wait_for(QUESTION);
    t.types("y");
    t.wait_for("all done");
    assert!(t.has_file());
    t.wait_for("› ");
    t.types("/exit\r");
    assert_eq!(t.exit_code(), Some(0));
}

#[test]
fn what_was_typed_before_a_question_does_not_answer_it() {
    let mut t = Terminal::start(asks(), Some("go"));
    t.wait_for("harness qwen-code");
    t.types("y\n");
    t.wait_for(QUESTION);
    std::thread::sleep(Duration::from_millis(300));
    assert!(!t.screen().contains("all done") && !t.has_file());
    t.types("n\n");
    t.wait_for("all done");
    assert!(!t.has_file());
}

#[test]
fn an_interrupt_at_a_question_stops_the_turn_and_the_session_goes_on() {
    let mut t = Terminal::start(asks(), Some("go"));
    t.wait_for(QUESTION);
    t.signal(libc::SIGINT);
    t.wait_for("interrupted");
    assert!(!t.has_file());
    t.wait_for("› ");
    t.types("again\r");
    t.wait_for("all done");
    t.types("/exit\r");
    assert_eq!(t.exit_code(), Some(0));
}

/// The rule is shown as it would be saved, can be shortened, and counts from then on.
#[test]
fn always_saves_the_rule_that_is_shown() {
    let steps = script![
        run("touch one.txt"),
        run("touch two.txt"),
        say("all done"),
        run("touch three.txt"),
        say("all done")
    ];
    let mut t = Terminal::start(steps, Some("go"));
    t.wait_for(QUESTION);
    t.types("a");
    t.wait_for("prefix_rule(pattern=[\"touch\", \"one.txt\"], decision=\"allow\", sandboxed=True)");
    // What is no beginning of the command cannot be saved.
    t.types("x\r");
    t.wait_for("the command does not begin so");
    // Back to the question, and again.
    t.types("\x1b");
    std::thread::sleep(Duration::from_millis(100));
    t.types("a");
    std::thread::sleep(Duration::from_millis(100));
    t.types("\x17\r");
    t.wait_for("all done");
    let ws = t.home.path().join("ws");
    assert!(ws.join("one.txt").is_file() && ws.join("two.txt").is_file());
    assert_eq!(t.screen().matches(QUESTION).count(), 2, "{}", t.screen());
    let saved = std::fs::read_to_string(t.home.path().join("home/rules/default.rules"));
    assert_eq!(
        saved.expect("the file").trim(),
        "prefix_rule(pattern=[\"touch\"], decision=\"allow\", sandboxed=True)"
    );
    // It counts in later sessions.
    t.wait_for_prompt();
    t.types("/exit\r");
    let mut t = t.again(&["touch three.txt"]);
    t.wait_for("all done");
    t.types("/exit\r");
    assert!(t.home.path().join("ws/three.txt").is_file());
    assert!(!t.screen().contains(QUESTION), "{}", t.screen());
}

/// Who stops at the question of a nested agent, or at a plan, stops the whole turn.
#[test]
fn a_stop_inside_a_nested_agent_or_at_a_plan_ends_the_turn() {
    let part = serde_json::json!({"description": "a part", "prompt": "write it"});
    let nested = script![
        call("agent", part),
        write("a.txt", "x\n"),
        say("went on all the same")
    ];
    let mut t = Terminal::start(nested, Some("go"));
    t.wait_for(QUESTION);
    t.types("x\n");
    t.wait_for("interrupted");
    t.wait_for("› ");
    assert_eq!(t.server.requests().len(), 2);
    assert!(!t.has_file() && !t.screen().contains("went on"));

    let plan = serde_json::json!({"plan": "Write a.txt."});
    let planned = script![call("exit_plan_mode", plan), say("went on all the same")];
    let mut t = Terminal::start(planned, None);
    t.wait_for("› ");
    t.types("/plan on\r");
    t.wait_for("planning is on");
    t.types("go\r");
    t.wait_for("Shall it be carried out?");
    std::thread::sleep(Duration::from_millis(300));
    t.types("x\n");
    t.wait_for("interrupted");
    assert_eq!(t.server.requests().len(), 1);
}

#[test]
fn a_request_to_end_is_heard_at_a_question_and_at_the_prompt() {
    for signal in [libc::SIGTERM, libc::SIGHUP] {
        let mut t = Terminal::start(asks(), Some("go"));
        t.wait_for(QUESTION);
        t.signal(signal);
        assert_eq!(t.exit_code(), Some(143));
        assert!(!t.has_file());
        let mut t = Terminal::start(asks(), None);
        t.wait_for("› ");
        t.signal(signal);
        assert_eq!(t.exit_code(), Some(143));
    }
}

/// A session that asks nothing, with a first turn behind it.
fn session(steps: Vec<Step>) -> Terminal {
    let server = Server::start(Kind::LlamaServer, 32_768, steps);
    let config = "approval_policy = \"never\"\n";
    let t = Terminal::on(server, config, Some("the word is albatross"));
    t.wait_for_prompt();
    t
}

/// The row of a table that begins with that name.
fn row<'a>(table: &'a str, name: &str) -> &'a str {
    table
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .unwrap_or_else(|| panic!("no `{name}` in\n{table}"))
        .trim()
}

#[test]
fn status_tells_what_the_session_is() {
    let mut t = session(script![say("one").usage(2_000, 0, 10)]);
    let status = t.says("/status");
    let port = t.server.port();
    let model = format!("mock at http://127.0.0.1:{port}/v1 (chat wire)");
    assert_eq!(row(&status, "model"), model);
    let window = row(&status, "window");
    assert_eq!(window, "32,768 tokens (reported by llama-server)");
    assert_eq!(row(&status, "harness"), "qwen-code, full");
    assert!(row(&status, "sandbox").starts_with("workspace-write ("));
    assert_eq!(row(&status, "asks"), "never");
    assert!(std::path::Path::new(row(&status, "session")).is_file());
    assert_eq!(row(&status, "tokens"), "2,000 in, 10 out");
    // A name that is nearly right is found.
    assert!(t.says("/statsu").contains("did you mean /status?"));
    assert!(t.says("/help").contains("/compact"));
}

#[test]
fn context_tells_what_fills_the_window() {
    let tokens = |table: &str, name: &str| -> u64 {
        let number = row(table, name).split_whitespace().next();
        let number = number.map(|n| n.replace(',', ""));
        number.and_then(|n| n.parse().ok()).expect("a number")
    };
    let words = "for n in {1..300}; do echo the answer to request $n came in time; done";
    let mut t = session(script![run(words), say("one"), say("two")]);
    let first = t.says("/context");
    let parts: u64 = first
        .lines()
        .filter(|line| line.contains('%'))
        .map(|line| tokens(&first, line.split("  ").next().expect("a name")))
        .sum();
    assert_eq!(parts, 32_768, "{first}");
    assert_eq!(tokens(&first, "window"), 32_768);
    let used = 32_768 - tokens(&first, "free") - tokens(&first, "reserve");
    // What the server would be sent; it counts four bytes as a token.
    let sent = t.server.requests()[1].bytes as u64 / 4;
    assert!(
        (sent * 7 / 10..sent * 14 / 10).contains(&used),
        "{used} of {sent}"
    );
    t.says("and more");
    let second = t.says("/context");
    assert!(tokens(&second, "free") < tokens(&first, "free"), "{second}");
}

#[test]
fn compact_goes_on_from_a_summary() {
    let mut steps: Vec<Step> = (1..6).map(|n| run(&format!("seq {n} 2000"))).collect();
    steps.extend([say("one"), say("two")]);
    let server = Server::start(Kind::LlamaServer, 32_768, steps);
    server.summarise_with("<state_snapshot>the numbers were counted</state_snapshot>");
    let config = "approval_policy = \"never\"\n";
    let mut t = Terminal::on(server, config, None);
    t.wait_for_prompt();
    assert!(t.says("/compact").contains("nothing to compact"));
    t.says("the word is albatross");
    let shown = t.says("/compact");
    assert!(shown.contains("summarised by the model"), "{shown}");
    assert!(shown.contains("tokens won"), "{shown}");
    let shown = t.says("and now the word is pelican");
    assert!(shown.contains("two"), "{shown}");
    let requests = t.server.requests();
    // Six for the first task, the summary, and the second task.
    assert_eq!(requests.len(), 8);
    let text = support::strict::all_text(&requests[7].body);
    assert!(text.contains("the numbers were counted") && text.contains("pelican"));
    assert!(!text.contains("seq 1 2000"), "the old call is still there");
    assert!(requests[7].bytes + 8_000 < requests[5].bytes);
}

#[test]
fn another_harness_in_mid_session() {
    let mut t = session(script![
        run("echo first-output"),
        say("one"),
        run("echo second-output"),
        say("two"),
        say("three")
    ]);
    let list = t.says("/harness");
    let all: Vec<&str> = support::harnesses().collect();
    let listed = list
        .lines()
        .filter_map(|line| line.get(2..)?.split(' ').next());
    let listed: Vec<&str> = listed.filter(|id| all.contains(id)).collect();
    assert_eq!(listed, all, "{list}");
    assert!(list.contains("* qwen-code"), "{list}");
    assert!(t.says("/harness minima").contains("did you mean minimal?"));
    assert!(
        t.says("/harness qwen-code")
            .contains("is qwen-code already")
    );
    assert!(
        t.says("/harness minimal")
            .contains("the harness is minimal now")
    );
    assert!(t.says("/harness").contains("* minimal"));
    assert_eq!(row(&t.says("/status"), "harness"), "minimal, full");
    assert!(t.says("and now the word is pelican").contains("two"));
    let requests = t.server.requests();
    assert_eq!(requests.len(), 4);
    let body = &requests[2].body;
    let tools = support::strict::tools(body);
    let names: Vec<&str> = tools.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["bash", "str_replace_editor"]);
    let text = support::strict::all_text(body);
    for word in ["albatross", "first-output", "one", "pelican"] {
        assert!(text.contains(word), "no {word}");
    }
    // The old call stands in the name that the new tool has.
    let messages = body["messages"].as_array().expect("messages");
    let mut calls = messages
        .iter()
        .filter_map(|m| m["tool_calls"].as_array())
        .flatten();
    let call = &calls.next().expect("the old call")["function"];
    assert_eq!(call["name"], "bash");
    assert!(
        call["arguments"]
            .as_str()
            .is_some_and(|a| a.contains("echo first-output"))
    );
    assert!(!text.contains("run_shell_command"));
    // And the prompt only grows from here.
    t.says("more");
    let requests = t.server.requests();
    for pair in requests[2..].windows(2) {
        let parts = |r: &support::server::Recorded| support::strict::parts(&r.path, &r.body);
        let (old, new) = (parts(&pair[0]), parts(&pair[1]));
        assert_eq!(old[..], new[..old.len()]);
    }
}

/// LM Studio has loaded the model with a window that is too small.
fn small() -> Terminal {
    let server = Server::start(Kind::LmStudio, 4_096, script![say("done")]);
    let t = Terminal::on(server, "approval_policy = \"never\"\n", Some("hi"));
    t.wait_for("  [y] yes  [n] no: ");
    t
}

fn loads(t: &Terminal) -> Vec<String> {
    let paths = t.server.paths();
    let moved = paths.iter().filter(|p| p.ends_with("load"));
    moved
        .map(|p| p.rsplit('/').next().expect("a name").to_owned())
        .collect()
}

#[test]
fn a_person_is_asked_before_a_model_is_loaded_again() {
    let mut t = small();
    assert!(loads(&t).is_empty(), "before the answer");
    t.types("y\n");
    t.wait_for("done");
    // Twice in memory would be once too often.
    assert_eq!(loads(&t), ["unload", "load"]);
    t.wait_for("window 32,768");
    let mut t = small();
    t.types("n\n");
    t.wait_for("done");
    assert!(loads(&t).is_empty());
    t.wait_for("window 4,096");
}

#[test]
fn an_interrupt_at_the_question_about_loading_leaves() {
    for (signal, code) in [(libc::SIGINT, 130), (libc::SIGTERM, 143)] {
        let mut t = small();
        t.signal(signal);
        assert_eq!(t.exit_code(), Some(code));
        assert!(loads(&t).is_empty() && t.server.requests().is_empty());
    }
}
