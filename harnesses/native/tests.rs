//! Golden layouts of `native`: what the original sends.

use super::*;
use crate::harnesses::tests::{
    call, calls_return, context, instructions, long_shell_out, read, shell_out, tell, tell_action,
};
use crate::harnesses::{Size, State};
use crate::tools::action::{ChangeKind, FileChange, Outcome, PatchForm, ShellStatus, ToolError};
use serde_json::json;

fn exec() -> ToolCall {
    call("exec_command", json!({"cmd": "make"}))
}

fn patch_call() -> ToolCall {
    ToolCall {
        arguments: "*** Begin Patch\n*** Delete File: a\n*** End Patch".into(),
        kind: CallKind::Freeform,
        ..call("apply_patch", json!(null))
    }
}

fn change(shown: &str, kind: ChangeKind) -> FileChange {
    FileChange {
        path: format!("/w/{shown}").into(),
        shown: shown.into(),
        kind,
        moved_to: None,
        before: None,
        after: None,
        places: 1,
        lines: None,
        matched_by: None,
    }
}

/// Yields after 10 s, 0.25 to 30 s; `-lc` by default.
#[test]
fn exec_command_is_read() {
    let Ok(Action::Shell(shell)) = read(&Native, exec()) else {
        panic!()
    };
    assert_eq!(shell.command, "make");
    assert_eq!(shell.shell, ShellKind::User { login: true });
    assert_eq!(shell.time_limit, Some(Duration::from_secs(10)));
    assert_eq!(shell.on_timeout, OnTimeout::Background);
    assert_eq!((shell.stdin, shell.escalate), (false, None));

    let arguments = json!({"cmd": "npm i", "workdir": "web", "shell": "zsh", "login": false,
        "tty": true, "yield_time_ms": 900000, "sandbox_permissions": "require_escalated",
        "justification": "May I install?", "prefix_rule": ["npm", "i"]});
    let Ok(Action::Shell(shell)) = read(&Native, call("exec_command", arguments)) else {
        panic!()
    };
    assert_eq!(shell.dir.as_deref(), Some("web"));
    assert_eq!(
        shell.shell,
        ShellKind::Named {
            program: "zsh".into(),
            login: false
        }
    );
    assert_eq!(shell.time_limit, Some(Duration::from_secs(30)));
    assert!(shell.stdin);
    assert_eq!(
        shell.escalate,
        Some(Escalation {
            justification: Some("May I install?".into()),
            prefix: vec!["npm".into(), "i".into()],
        })
    );
}

/// Polls wait 5 to 300 s.
#[test]
fn write_stdin_is_read() {
    let input = |arguments| read(&Native, call("write_stdin", arguments));
    assert_eq!(
        input(json!({"session_id": 7, "chars": "y\n", "yield_time_ms": 1})),
        Ok(Action::ShellInput {
            id: 7,
            chars: "y\n".into(),
            wait: Duration::from_millis(250),
        })
    );
    assert_eq!(
        input(json!({"session_id": 7.0, "yield_time_ms": 1})),
        Ok(Action::ShellInput {
            id: 7,
            chars: String::new(),
            wait: Duration::from_secs(5),
        })
    );
    assert_eq!(
        input(json!({"session_id": 7, "chars": "\u{3}"})),
        Ok(Action::ShellStop { id: 7 })
    );
    assert!(input(json!({"session_id": -1})).is_err());
}

#[test]
fn plans_and_patches_are_read() {
    let plan = json!({"plan": [{"step": "look", "status": "completed"}], "explanation": "why"});
    assert_eq!(
        read(&Native, call("update_plan", plan)),
        Ok(Action::Plan {
            steps: vec![PlanStep {
                text: "look".into(),
                status: crate::tools::action::StepStatus::Completed,
                id: None,
            }],
            explanation: Some("why".into()),
        })
    );
    assert!(
        read(
            &Native,
            call("update_plan", json!({"plan": [{"step": "x"}]}))
        )
        .is_err()
    );
    assert!(read(&Native, call("update_plan", json!({}))).is_err());
    assert_eq!(
        read(&Native, patch_call()),
        Ok(Action::Patch {
            text: patch_call().arguments,
            form: PatchForm::Codex,
            dir: None,
        })
    );
}

/// Finished, and still running.
#[test]
fn commands_are_told() {
    let (text, is_error) = tell(
        &Native,
        exec(),
        shell_out("make", "built\n", ShellStatus::Exited(2)),
    );
    let (id, rest) = text.split_once('\n').expect("lines");
    let id = id.strip_prefix("Chunk ID: ").expect("an id");
    assert!(id.len() == 6 && id.bytes().all(|b| b.is_ascii_hexdigit()));
    assert_eq!(
        rest,
        "Wall time: 1.5000 seconds\nProcess exited with code 2\nOriginal token count: 2\nOutput:\nbuilt\n"
    );
    assert!(!is_error);

    let running = ShellStatus::Running { id: 5, pid: 99 };
    let (text, _) = tell(&Native, exec(), shell_out("make", "", running));
    assert!(text.ends_with(
        "seconds\nProcess running with session ID 5\nOriginal token count: 0\nOutput:\n"
    ));
}

/// The truncated form; `max_output_tokens` bounds it.
#[test]
fn long_output_is_cut_in_the_middle() {
    let asked = call(
        "exec_command",
        json!({"cmd": "make", "max_output_tokens": 500}),
    );
    let (text, _) = tell(&Native, asked, long_shell_out("make"));
    let output = text.split_once("Output:\n").expect("an output").1;
    assert!(output.starts_with("Warning: truncated output (original token count: "));
    assert!(output.contains("\nTotal output lines: 3000\n\nline number 1\n"));
    assert!(output.contains(" tokens truncated…"));
    assert!(output.ends_with("line number 3000\n"));
    assert!(output.len() < 2_400, "{}", output.len());
}

/// Patch success, also for a patch that came through the shell.
#[test]
fn patches_are_told() {
    let mut moved = change("old.py", ChangeKind::Update);
    moved.moved_to = Some(("/w/new.py".into(), "new.py".into()));
    let outcome = Outcome::Changed(vec![
        change("a.py", ChangeKind::Add),
        change("b.py", ChangeKind::Delete),
        moved,
    ]);
    let expected = "Exit code: 0\nWall time: 0 seconds\nOutput:\nThe patch was applied to these files:\nA a.py\nD b.py\nM new.py\n";
    assert_eq!(
        tell(&Native, patch_call(), outcome.clone()),
        (expected.to_owned(), false)
    );
    let action = read(&Native, patch_call()).expect("a patch");
    assert_eq!(
        tell_action(&Native, exec(), action, outcome),
        (expected.to_owned(), false)
    );
}

/// The failures of a patch.
#[test]
fn patch_failures_are_told() {
    let mismatch = ToolError::PatchMismatch {
        path: "a.py".into(),
        absolute: "/w/a.py".into(),
        expected: "x = 1".into(),
        near: Some("3: x = 2".into()),
    };
    let (text, is_error) = tell(&Native, patch_call(), Outcome::Failed(mismatch));
    assert_eq!(
        text,
        "apply_patch verification failed: these lines are not in /w/a.py:\nx = 1\nThe most similar lines are:\n3: x = 2"
    );
    assert!(is_error);

    let denied = ToolError::Denied {
        path: "../x".into(),
        why: "it is outside the workspace".into(),
    };
    assert_eq!(
        tell(&Native, patch_call(), Outcome::Failed(denied)).0,
        "patch rejected: ../x: it is outside the workspace"
    );
    let bad = ToolError::BadPatch {
        why: "line 2 is no hunk header".into(),
    };
    assert_eq!(
        tell(&Native, patch_call(), Outcome::Failed(bad)).0,
        "apply_patch verification failed: line 2 is no hunk header"
    );
}

/// `Plan updated`, unknown tool, bad arguments.
#[test]
fn short_answers_are_told() {
    let plan = call("update_plan", json!({"plan": []}));
    assert_eq!(
        tell(&Native, plan, Outcome::Planned),
        ("Plan updated".to_owned(), false)
    );
    let told = |error: CallError| {
        let done = Done {
            call: Some(call("grep", json!({}))),
            result: Err(error),
            notes: Vec::new(),
        };
        Native.results(&mut State::default(), &[done], 4000)[0].text()
    };
    let error = read(&Native, call("grep", json!({}))).expect_err("no such tool");
    assert!(told(error).starts_with("unsupported call: grep\n"));
    let error = read(&Native, call("exec_command", json!({}))).expect_err("no command");
    assert!(told(error).starts_with(
        "failed to parse function arguments: exec_command: missing \"cmd\". Received keys: none. Expected: {\"cmd\": string, "
    ));
}

/// The order of the first request, and where AGENTS.md stands in it.
#[test]
fn the_opening_is_in_order() {
    let mut cx = context(Size::Full);
    cx.instructions = instructions();
    cx.developer_instructions = Some("Answer in German.".into());
    let opening = Native.begin(&cx).opening;
    let [Item::Developer { text }, Item::User { content }] = opening.as_slice() else {
        panic!("{opening:?}");
    };
    assert!(text.starts_with("Answer in German.\n\n<permissions instructions>\n"));
    assert!(text.contains("`workspace-write`") && text.contains("`/tmp`"));
    let [
        Part::Text { text: agents },
        Part::Text { text: environment },
    ] = content.as_slice()
    else {
        panic!("{content:?}");
    };
    assert_eq!(
        agents,
        "# AGENTS.md instructions for /home/ada/projects/shop\n\n<INSTRUCTIONS>\nBe kind.\n\n--- project-doc ---\n\nUse tabs.\n\n</INSTRUCTIONS>"
    );
    assert!(environment.starts_with(
        "<environment_context>\n  <cwd>/home/ada/projects/shop</cwd>\n  <shell>bash</shell>\n  <current_date>2025-03-01</current_date>\n  <timezone>Europe/Vienna</timezone>\n  <filesystem><workspace_roots>"
    ));
    cx.sandbox.approval = "never".into();
    let Item::Developer { text } = &Native.begin(&cx).opening[0] else {
        panic!()
    };
    assert!(text.contains("Do not send `sandbox_permissions`"));
}

/// Every call has an action, and every action its call.
#[test]
fn calls_return_to_themselves() {
    let calls = [
        exec(),
        call(
            "exec_command",
            json!({"cmd": "npm i", "workdir": "web", "shell": "zsh", "login": false, "tty": true,
                "yield_time_ms": 900, "sandbox_permissions": "require_escalated",
                "justification": "May I install?", "prefix_rule": ["npm", "i"]}),
        ),
        call("write_stdin", json!({"session_id": 7})),
        call(
            "write_stdin",
            json!({"session_id": 7, "chars": "y\n", "yield_time_ms": 900}),
        ),
        call("write_stdin", json!({"session_id": 7, "chars": "\u{3}"})),
        call(
            "update_plan",
            json!({"plan": [{"step": "look", "status": "completed"}], "explanation": "why"}),
        ),
        question(),
        call("apply_patch", json!({"input": "*** Begin Patch"})),
        call("view_image", json!({"path": "a.png"})),
        call("close_agent", json!({"target": "agent-1"})),
        call("resume_agent", json!({"id": "agent-1"})),
        call(
            "send_input",
            json!({"target": "agent-1", "message": "Look again."}),
        ),
        call(
            "spawn_agent",
            json!({"message": "Look.", "fork_context": true}),
        ),
        call("wait_agent", json!({"targets": ["agent-1", "agent-2"]})),
    ];
    calls_return(&Native, "gpt-5.5", &calls, &[]);
    // What another agent ran to the end says nothing here about its shell and its limit.
    let make = Shell::new("make", Duration::from_secs(120));
    assert_eq!(
        Native.write(&Action::Shell(make)),
        Some(("exec_command", json!({"cmd": "make"})))
    );
}

fn question() -> ToolCall {
    call(
        "request_user_input",
        json!({"questions": [{"header": "Database", "id": "db", "question": "Which one?",
            "options": [{"label": "SQLite", "description": "a file"}]}]}),
    )
}

/// request_user_input: only where a person is; the answers by their ids.
#[test]
fn questions_are_told() {
    let answers = Outcome::Answered(vec![vec!["SQLite".into()]]);
    assert_eq!(
        tell(&Native, question(), answers),
        (
            "{\"answers\":{\"db\":{\"answers\":[\"SQLite\"]}}}".to_owned(),
            false
        )
    );
    let alone = Native.begin(&context(Size::Full));
    assert!(
        alone
            .left_out
            .iter()
            .any(|(name, _)| name == "request_user_input")
    );
}
