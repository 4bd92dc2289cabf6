//! Nested agents that are begun now and looked at later: when they work, how they are told, and what
//! they know.
#![cfg(unix)]

mod support;

use serde_json::{Value, json};
use support::script::*;
use support::{Agent, Run};

fn native(steps: Vec<Step>) -> Run {
    Agent::new()
        .harness("native")
        .config("harness_guidance = false\n")
        .file("a.py", "x = 1\n")
        .model(steps)
        .run("Find x.")
        .expect_exit(0)
}

fn spawn(message: &str) -> Step {
    call("spawn_agent", json!({ "message": message }))
}

fn wait(ids: &[&str]) -> Step {
    call("wait_agent", json!({ "targets": ids }))
}

/// What was said to the model in a request, as text.
fn messages(run: &Run, n: usize) -> String {
    let body = &run.server.requests()[n - 1].body;
    let list = body.get("messages").or_else(|| body.get("input"));
    list.map(Value::to_string).unwrap_or_default()
}

/// An agent works when it is waited for, in a conversation of its own, and its answer comes in the
/// result: nothing is told twice.
#[test]
fn an_agent_works_when_it_is_waited_for() {
    let run = native(script![
        spawn("Look in a.py."),
        wait(&["agent-1"]),
        say("x is in line 1."),
        say("Found."),
    ]);
    let nested = messages(&run, 3);
    assert!(
        nested.contains("Look in a.py.") && !nested.contains("Find x."),
        "{nested}"
    );
    let last = messages(&run, 4);
    let answer = r#"{\"agent-1\":{\"completed\":\"x is in line 1.\"}}"#;
    assert!(last.contains(answer), "{last}");
    assert!(!last.contains("subagent_notification"), "{last}");
}

/// One that nobody waits for works after the calls of the next reply, and is told of.
#[test]
fn an_agent_that_nobody_waits_for_is_told_of() {
    let run = native(script![
        spawn("Look in a.py."),
        run("echo other work"),
        say("x is in line 1."),
        say("Found."),
    ]);
    let last = messages(&run, 4);
    let at = |part: &str| last.find(part).unwrap_or_else(|| panic!("{part}: {last}"));
    assert!(at("other work") < at("<subagent_notification>"));
    assert!(last.contains("x is in line 1."));
}

/// No turn ends while an agent has something to do.
#[test]
fn a_turn_does_not_end_before_its_agents() {
    let run = native(script![
        spawn("Look in a.py."),
        say("I have begun an agent."),
        say("x is in line 1."),
        say("It is in line 1."),
    ]);
    assert!(messages(&run, 4).contains("<subagent_notification>"));
    assert!(run.stdout.contains("It is in line 1."), "{}", run.stdout);
}

/// What is sent to an agent goes on in its conversation; one that forks knows that of the main one.
#[test]
fn an_agent_goes_on_with_what_it_knows() {
    let run = native(script![
        spawn("Look in a.py."),
        wait(&["agent-1"]),
        say("x is in line 1."),
        call(
            "send_input",
            json!({"target": "agent-1", "message": "Which value?"})
        ),
        wait(&["agent-1"]),
        say("It is 1."),
        call(
            "spawn_agent",
            json!({"message": "Check that.", "fork_context": true})
        ),
        wait(&["agent-2"]),
        say("Checked."),
        say("Done."),
    ]);
    let again = messages(&run, 6);
    for part in ["Look in a.py.", "x is in line 1.", "Which value?"] {
        assert!(again.contains(part), "{part}: {again}");
    }
    let forked = messages(&run, 9);
    assert!(
        forked.contains("Find x.") && forked.contains("Check that."),
        "{forked}"
    );
    // It begins with what the server has read already.
    let before = messages(&run, 7);
    let same = before.trim_end_matches(']');
    assert!(forked.starts_with(same), "{before}\n{forked}");
}

/// A closed agent takes nothing until it is taken up again; one that there is not is named.
#[test]
fn a_closed_agent_is_closed() {
    let send = |id: &str| call("send_input", json!({"target": id, "message": "More."}));
    let run = native(script![
        spawn("Look in a.py."),
        wait(&["agent-1"]),
        say("x is in line 1."),
        call("close_agent", json!({"target": "agent-1"})),
        send("agent-1"),
        call("resume_agent", json!({"id": "agent-1"})),
        send("agent-1"),
        wait(&["agent-1"]),
        say("More of x."),
        send("agent-7"),
        say("Done."),
    ]);
    assert!(messages(&run, 5).contains("previous_status"));
    assert!(messages(&run, 6).contains("closed"));
    assert!(messages(&run, 10).contains("More of x."));
    let last = messages(&run, 11);
    assert!(
        last.contains("agent with id agent-7 not found; there are: agent-1"),
        "{last}"
    );
}

/// Two agents of one reply work one after the other, in the order in which they were begun.
#[test]
fn agents_work_one_after_the_other() {
    let run = native(script![
        spawn("First part.").and(spawn("Second part.")),
        wait(&["agent-1", "agent-2"]),
        say("one"),
        say("two"),
        say("Done."),
    ]);
    assert!(messages(&run, 3).contains("First part."));
    assert!(messages(&run, 4).contains("Second part."));
    let last = messages(&run, 5);
    assert!(last.contains("one") && last.contains("two"), "{last}");
}

/// In other harnesses: a background agent, and a message to one that has answered.
#[test]
fn background_agents_are_told_in_the_words_of_their_harness() {
    for (harness, begin, more, told) in [
        (
            "claude-code",
            (
                "Agent",
                json!({"description": "look", "prompt": "Look.", "run_in_background": true}),
            ),
            ("SendMessage", json!({"to": "agent_1", "message": "More?"})),
            "<task-notification>",
        ),
        (
            "kimi-code",
            (
                "Agent",
                json!({"description": "look", "prompt": "Look.", "run_in_background": true}),
            ),
            (
                "Agent",
                json!({"description": "look", "prompt": "More?", "resume": "a00000001"}),
            ),
            "<notification id=",
        ),
        (
            "kimi-cli",
            (
                "Agent",
                json!({"description": "look", "prompt": "Look.", "run_in_background": true}),
            ),
            (
                "Agent",
                json!({"description": "look", "prompt": "More?", "resume": "a00000001"}),
            ),
            "<notification id=",
        ),
        (
            "qwen-code",
            (
                "agent",
                json!({"description": "look", "prompt": "Look.", "run_in_background": true}),
            ),
            (
                "send_message",
                json!({"task_id": "agent_00000001", "message": "More?"}),
            ),
            "background agent agent_00000001 is done",
        ),
        (
            "deepseek-tui",
            ("agent_open", json!({"prompt": "Look.", "name": "looker"})),
            ("agent_eval", json!({"name": "looker", "message": "More?"})),
            "<deepseek:subagent.done>",
        ),
    ] {
        let run = Agent::new()
            .harness(harness)
            .config("harness_guidance = false\n")
            .model(script![
                call(begin.0, begin.1),
                say("It works."),
                say("It is in a.py."),
                call(more.0, more.1),
                say("In line 1."),
                say("Done."),
            ])
            .run("Find x.")
            .expect_exit(0)
            .expect_requests(6);
        let fourth = messages(&run, 4);
        let plain = fourth.replace("\\u003c", "<");
        assert!(
            plain.contains(told) && plain.contains("It is in a.py."),
            "{harness}: {plain}"
        );
        let nested = messages(&run, 5);
        assert!(
            nested.contains("Look.") && nested.contains("More?"),
            "{harness}: {nested}"
        );
        assert!(messages(&run, 6).contains("In line 1."), "{harness}");
    }
}

/// An agent that is told which tools it has gets no others.
#[test]
fn an_agent_has_the_tools_that_it_is_given() {
    let run = Agent::new()
        .harness("deepseek-tui")
        .config("harness_guidance = false\n")
        .model(script![
            call(
                "agent_open",
                json!({"prompt": "Look.", "type": "custom", "allowed_tools": ["read_file", "list_dir"]}),
            ),
            call("agent_eval", json!({"name": "agent_00000001"})),
            say("In a.py."),
            call("agent_open", json!({"prompt": "Look.", "cwd": "/"})),
            say("Done."),
        ])
        .run("Find x.")
        .expect_exit(0);
    let names = support::strict::tools(&run.server.requests()[2].body);
    let names: Vec<String> = names.into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["list_dir", "read_file"]);
    assert!(messages(&run, 5).contains("starts in the session's folder"));
}
