//! Where `zcode` differs from its family, by tests/fixtures/harness-facts/zcode.json and the notes
//! on it; the rest is tested in `claude-code`.

use super::*;
use crate::harnesses::Size;
use crate::harnesses::claude_code::tests::{actions, change};
use crate::harnesses::tests::{
    call, context, instructions, long_shell_out, read, shell_out, tell, tell_action,
};
use crate::tools::action::{
    ChangeKind, Delegate, DelegateOut, Outcome, Output, PlanStep, Read, ReadOut, Shell, ShellOut,
    ShellStatus, StepStatus, ToolError,
};
use serde_json::json;
use std::time::Duration;

fn person() -> Context {
    Context {
        interactive: true,
        ..context(Size::Full)
    }
}

fn done(call: ToolCall, outcome: Outcome) -> Done {
    Done {
        result: read(&ZCode, call.clone()).map(|action| (action, outcome)),
        call: Some(call),
        notes: Vec::new(),
    }
}

/// Tools: those of the fixed order that work here.
#[test]
fn the_tools_are_in_order() {
    let start = ZCode.begin(&person());
    let names: Vec<&str> = start.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "Agent",
            "AskUserQuestion",
            "Bash",
            "Edit",
            "EnterPlanMode",
            "ExitPlanMode",
            "Read",
            "TodoRead",
            "TodoWrite",
            "WebFetch",
            "Write",
            "SendMessage"
        ]
    );
}

/// Read: no default line limit; an unchanged full read again is a short note.
#[test]
fn reads_are_read_and_told() {
    let whole = || call("Read", json!({"file_path": "a.py"}));
    assert!(matches!(
        read(&ZCode, whole()),
        Ok(Action::Read(Read {
            first: 1,
            lines: None,
            ..
        }))
    ));
    let out = |repeated| {
        Outcome::Read(ReadOut {
            path: "/w/a.py".into(),
            text: "x\ny\n".into(),
            first: 1,
            lines: 2,
            total: 2,
            cut: false,
            repeated,
        })
    };
    assert_eq!(tell(&ZCode, whole(), out(false)).0, "1\tx\n2\ty");
    let (text, is_error) = tell(&ZCode, whole(), out(true));
    assert!(text.starts_with("Wasted call: /w/a.py") && !is_error);
    let part = call(
        "Read",
        json!({"file_path": "a.py", "offset": 1, "limit": 2}),
    );
    assert_eq!(tell(&ZCode, part, out(true)).0, "1\tx\n2\ty");
}

/// Edit: the rule about reading first is wrapped, not found and multiple are plain. Write: created,
/// for new and existing alike.
#[test]
fn changes_are_told() {
    let edit = || {
        let arguments = json!({"file_path": "a.py", "old_string": "x", "new_string": "y"});
        call("Edit", arguments)
    };
    let path = || "a.py".to_owned();
    for (error, wrapped) in [
        (ToolError::NotRead { path: path() }, true),
        (
            ToolError::NoMatch {
                path: path(),
                index: 0,
                near: None,
            },
            false,
        ),
        (
            ToolError::Ambiguous {
                path: path(),
                index: 0,
                lines: vec![3, 8],
            },
            false,
        ),
    ] {
        let (text, is_error) = tell(&ZCode, edit(), Outcome::Failed(error));
        assert!(is_error);
        assert_eq!(text.starts_with("<tool_use_error>"), wrapped, "{text}");
    }
    let write = || call("Write", json!({"file_path": "a.py", "content": "y\n"}));
    let texts = [ChangeKind::Add, ChangeKind::Update]
        .map(|kind| tell(&ZCode, write(), Outcome::Changed(vec![change(kind)])).0);
    assert!(texts[0].starts_with("File created at: /w/a.py ("));
    assert_eq!(texts[0], texts[1]);
}

/// Bash: blank head and tail lines go; above 64 KiB a `<persisted-output>` block with the size in
/// KB of 1024 and a preview cut at a line end; `Exit code {n}` before the output of a failure.
#[test]
fn commands_are_told() {
    let make = || call("Bash", json!({"command": "make"}));
    let out = |text, status| shell_out("make", text, status);
    assert_eq!(
        tell(&ZCode, make(), out("\n  built\n\n", ShellStatus::Exited(0))),
        ("  built".into(), false)
    );
    assert_eq!(
        tell(&ZCode, make(), out("", ShellStatus::Exited(0))).0,
        "(Bash completed with no output)"
    );
    assert_eq!(
        tell(&ZCode, make(), out("bad\n", ShellStatus::Exited(2))),
        ("Exit code 2\nbad".into(), true)
    );
    let Outcome::Shell(long) = long_shell_out("make") else {
        unreachable!()
    };
    // As much as is not too much.
    let good = |text: String| {
        Outcome::Shell(ShellOut {
            status: ShellStatus::Exited(0),
            output: Output {
                bytes: text.len() as u64,
                text,
                file: long.output.file.clone(),
            },
            ..long.clone()
        })
    };
    let told = |text: &str| {
        ZCode
            .result(&done(make(), good(text.to_owned())), 200_000)
            .text()
    };
    assert_eq!(told(&long.output.text), long.output.text.trim_end());
    let line = format!("{}\n", "x".repeat(63));
    let text = told(&line.repeat(2048));
    assert!(text.starts_with("<persisted-output>\nOutput too large (128.0KB). "));
    assert!(text.contains("/home/ada/x/outputs/1.txt\n\nPreview (first 2KB):\nxxx"));
    assert!(text.contains("\n...\n"));
}

/// TodoWrite: JSON {oldTodos, todos, summary}. TodoRead: JSON {todos}. Items keep their priority.
#[test]
fn todos_are_told() {
    let mut state = ZCode.begin(&context(Size::Full)).state;
    let todo = |status: &str| json!({"content": "Look", "status": status, "priority": "high"});
    let write = |state: &mut State, status: &str| -> Value {
        let call = call("TodoWrite", json!({"todos": [todo(status)]}));
        let done = done(call, Outcome::Planned);
        if let Ok((Action::Plan { steps, .. }, _)) = &done.result {
            state.plan = steps.clone();
        }
        let text = ZCode.results(state, &[done], 4000)[0].text();
        serde_json::from_str(&text).expect("JSON")
    };
    let count = |pending, at_work| json!({"total": 1, "pending": pending, "inProgress": at_work, "completed": 0});
    assert_eq!(
        write(&mut state, "pending"),
        json!({"oldTodos": [], "todos": [todo("pending")], "summary": count(1, 0)})
    );
    assert_eq!(
        write(&mut state, "in_progress"),
        json!({"oldTodos": [todo("pending")], "todos": [todo("in_progress")], "summary": count(0, 1)})
    );
    let look = |state: &mut State, steps: Vec<PlanStep>| -> Value {
        let done = done(call("TodoRead", json!({})), Outcome::Plan(steps));
        let text = ZCode.results(state, &[done], 4000)[0].text();
        serde_json::from_str(&text).expect("JSON")
    };
    let plan = state.plan.clone();
    assert_eq!(
        look(&mut state, plan),
        json!({"todos": [todo("in_progress")]})
    );
    let other = PlanStep {
        text: "Run".into(),
        status: StepStatus::Pending,
        id: None,
    };
    let expected = json!({"content": "Run", "status": "pending", "priority": "medium"});
    assert_eq!(look(&mut state, vec![other]), json!({"todos": [expected]}));
}

/// The stale-todo reminder: every 10 steps (results and messages of the user), as a message of its
/// own without tags after the results, with the numbered list.
#[test]
fn stale_todos_are_told_again() {
    let mut state = ZCode.begin(&context(Size::Full)).state;
    state.plan = vec![PlanStep {
        text: "Look".into(),
        status: StepStatus::InProgress,
        id: None,
    }];
    ZCode.user(&mut state, &Input::text("x"));
    let mut reminded = Vec::new();
    for step in 2..=35 {
        let make = call("Bash", json!({"command": "make"}));
        let outcome = shell_out("make", "ok\n", ShellStatus::Exited(0));
        let items = ZCode.results(&mut state, &[done(make, outcome)], 4000);
        assert_eq!(items[0].text(), "ok");
        if let Some(Item::Developer { text }) = items.get(1) {
            assert!(!text.contains("<system-reminder>"));
            assert!(text.ends_with("\n1. [in_progress] Look"));
            reminded.push(step);
        }
    }
    assert_eq!(reminded, [10, 20, 30]);
    // TodoRead resets as well.
    let look = done(
        call("TodoRead", json!({})),
        Outcome::Plan(state.plan.clone()),
    );
    assert_eq!(ZCode.results(&mut state, &[look], 4000).len(), 1);
    assert_eq!(*step(&mut state).expect("a counter"), 1);
}

/// EnterPlanMode: short guidance, then two blocks: the four phases, and the todo list.
/// ExitPlanMode: a line, a blank line, the plan.
#[test]
fn plan_mode_is_told() {
    let mut state = ZCode.begin(&person()).state;
    let enter = done(call("EnterPlanMode", json!({})), Outcome::ModeSet);
    let items = ZCode.results(&mut state, &[enter], 4000);
    assert_eq!(items.len(), 3);
    assert!(items[0].text().len() < 200);
    for item in &items[1..] {
        assert!(matches!(item, Item::User { .. }));
        assert!(item.text().starts_with("<system-reminder>\n"));
    }
    assert!(items[1].text().contains("\nPhase 4: call ExitPlanMode"));
    assert!(items[2].text().contains("todo list"));
    let leave = call("ExitPlanMode", json!({"plan": "1. Do it."}));
    let action = read(&ZCode, leave.clone()).expect("good");
    let text = tell_action(&ZCode, leave, action, Outcome::ModeSet).0;
    let (line, plan) = text.split_once("\n\n").expect("a blank line");
    assert!(line.contains("submitted") && plan == "1. Do it.");
}

/// Agent: `agentId: agent_{id}`, `<usage>` with subagent_tokens; Explore by default, whose tools are
/// Bash, Read and TodoWrite.
#[test]
fn delegation_is_read_and_told() {
    let agent = || call("Agent", json!({"description": "d", "prompt": "p"}));
    assert!(
        matches!(read(&ZCode, agent()), Ok(Action::Delegate(part)) if part.role == "Explore" && part.read_only)
    );
    let out = Outcome::Delegated(DelegateOut {
        id: 4,
        text: "Found.".into(),
        failure: Some("it ran out of steps".into()),
        actions: 7,
        tokens: 1200,
        took: Duration::from_millis(2500),
    });
    let text = tell(&ZCode, agent(), out).0;
    assert!(text.starts_with("Found.\n") && text.contains("ran out of steps\nagentId: agent_4 ("));
    assert!(
        text.ends_with("<usage>subagent_tokens: 1200\ntool_uses: 7\nduration_ms: 2500</usage>")
    );
    let cx = Context {
        depth: 1,
        ..person()
    };
    let child = ZCode.child("Explore", &cx);
    let names: Vec<&str> = child.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["Bash", "Read", "TodoWrite"]);
    assert!(child.system.contains("<env>\n"));
}

/// The date reminder is the first block of the first message; prompt sections in their order.
#[test]
fn the_opening_is_in_order() {
    let mut cx = person();
    cx.instructions = instructions();
    let start = ZCode.begin(&cx);
    let text = start.opening[0].text();
    assert!(text.starts_with("<system-reminder>\n") && text.contains("# currentDate\n"));
    assert!(text.contains("Use tabs."));
    let at = |part: &str| start.system.find(part).unwrap_or_else(|| panic!("{part}"));
    assert!(at("# Harness") < at("# Style"));
    assert!(at("# Style") < at("# Session-specific guidance"));
    assert!(at("# Session-specific guidance") < at("# Environment"));
    assert!(at("# Environment") < at("# Context management"));
}

/// Everything that a call can ask for is written as that call.
#[test]
fn what_is_written_is_read_the_same() {
    let offered = ZCode.begin(&person()).tools;
    let mut names = Vec::new();
    let more = Action::Delegate(Delegate {
        agent: Some("1".into()),
        title: "more".into(),
        prompt: "Look again.".into(),
        ..Delegate::default()
    });
    for action in actions().into_iter().chain([Action::PlanRead, more]) {
        let action = match action {
            Action::Shell(shell) => Action::Shell(Shell {
                on_timeout: OnTimeout::Kill,
                may_read: false,
                ..shell
            }),
            other => other,
        };
        if let Some((name, arguments)) = ZCode.write(&action) {
            assert_eq!(read(&ZCode, call(name, arguments)), Ok(action), "{name}");
            assert!(offered.iter().any(|tool| tool.name == name), "{name}");
            names.push(name);
        }
    }
    for tool in &offered {
        assert!(names.contains(&tool.name.as_str()), "{}", tool.name);
    }
}
