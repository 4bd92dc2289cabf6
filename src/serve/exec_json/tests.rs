use super::*;
use crate::tools::action::Delegate;
use std::time::Duration;

fn lines(events: &[Event]) -> Vec<Value> {
    let mut out = Vec::new();
    let mut json = ExecJson::new(&mut out);
    events.iter().for_each(|e| json.event(e));
    String::from_utf8(out)
        .expect("JSON is UTF-8")
        .lines()
        .map(|l| serde_json::from_str(l).expect("each line is JSON"))
        .collect()
}

fn end(reason: EndReason) -> Event {
    let usage = Usage {
        input: 10,
        cached: Some(4),
        cache_write: 0,
        output: 3,
        reasoning: 1,
    };
    Event::TurnDone(TurnEnd {
        reason,
        answer: "done".into(),
        requests: 1,
        usage,
        cost: Default::default(),
        took: Duration::from_millis(1500),
    })
}

#[test]
fn a_plain_turn_has_the_lines_of_the_protocol() {
    let replied = Event::Replied {
        text: "done".into(),
        reasoning: String::new(),
        usage: None,
        timing: Timing::default(),
    };
    let lines = lines(&[Event::TurnStarted, replied, end(EndReason::Done)]);
    assert_eq!(lines[0], json!({"type": "turn.started"}));
    assert_eq!(
        lines[1],
        json!({"type": "item.completed", "item": {"id": "item_0", "type": "agent_message", "text": "done"}})
    );
    assert_eq!(
        lines[2]["usage"],
        json!({"input_tokens": 10, "cached_input_tokens": 4, "cache_write_input_tokens": 0, "output_tokens": 3, "reasoning_output_tokens": 1})
    );
}

#[test]
fn a_failed_turn_says_so_in_its_last_line() {
    let lines = lines(&[Event::TurnStarted, end(EndReason::Failed("boom".into()))]);
    assert_eq!(lines[1], json!({"type": "error", "message": "boom"}));
    assert_eq!(
        lines[2],
        json!({"type": "turn.failed", "error": {"message": "boom"}})
    );
}

#[test]
fn a_nested_agent_is_a_call_of_the_protocol_and_a_look_is_none() {
    let part = Delegate {
        role: "explore".into(),
        title: "look".into(),
        prompt: "find x".into(),
        read_only: true,
        ..Delegate::default()
    };
    let out = |failure: Option<&str>| {
        Outcome::Delegated(DelegateOut {
            id: 3,
            text: "x is here".into(),
            failure: failure.map(String::from),
            actions: 1,
            tokens: 10,
            took: Duration::ZERO,
        })
    };
    let events = |id, action: Action, outcome| {
        [
            Event::Started {
                id,
                action: action.clone(),
            },
            Event::Finished {
                id,
                action,
                outcome,
                took: Duration::ZERO,
            },
        ]
    };
    let mut all = Vec::new();
    all.extend(events(1, Action::Delegate(part.clone()), out(None)));
    all.extend(events(2, Action::ShellList, Outcome::Jobs(vec![])));
    all.extend(events(3, Action::PlanRead, Outcome::Plan(vec![])));
    all.extend(events(
        4,
        Action::Delegate(part.clone()),
        out(Some("no answer")),
    ));
    all.extend(events(5, Action::Delegate(part), Outcome::Interrupted));
    let lines = lines(&all);
    let item = |n: usize, id: &str, names: Value, states: Value, status: &str| {
        assert_eq!(
            lines[n]["item"],
            json!({"id": id, "type": "collab_tool_call", "tool": "spawn_agent", "sender_thread_id": "",
                "receiver_thread_ids": names, "prompt": "find x", "agents_states": states, "status": status})
        );
    };
    item(0, "item_0", json!([]), json!({}), "in_progress");
    let done = json!({"agent-3": {"status": "completed", "message": "x is here"}});
    item(1, "item_0", json!(["agent-3"]), done, "completed");
    let failed = json!({"agent-3": {"status": "errored", "message": "no answer"}});
    item(3, "item_1", json!(["agent-3"]), failed, "failed");
    item(5, "item_2", json!([]), json!({}), "failed");
    assert_eq!(lines.len(), 6);
}

#[test]
fn a_command_starts_and_completes_under_one_id() {
    let shell = Shell::new("echo 'a'; exit 7", Duration::from_secs(1));
    let out = crate::tools::action::ShellOut {
        command: shell.command.clone(),
        dir: "/".into(),
        job: None,
        output: crate::tools::action::Output {
            text: "a\n".into(),
            bytes: 2,
            file: None,
        },
        status: ShellStatus::Exited(7),
        wall: Duration::ZERO,
        fence: None,
        back_in: None,
    };
    let action = Action::Shell(shell);
    let lines = lines(&[
        Event::Started {
            id: 1,
            action: action.clone(),
        },
        Event::Finished {
            id: 1,
            action,
            outcome: Outcome::Shell(out),
            took: Duration::ZERO,
        },
    ]);
    let command = "/bin/bash -lc 'echo '\\''a'\\''; exit 7'";
    assert_eq!(
        lines[0]["item"],
        json!({"id": "item_0", "type": "command_execution", "command": command, "aggregated_output": "", "exit_code": null, "status": "in_progress"})
    );
    assert_eq!(
        lines[1]["item"],
        json!({"id": "item_0", "type": "command_execution", "command": command, "aggregated_output": "a\n", "exit_code": 7, "status": "failed"})
    );
}
