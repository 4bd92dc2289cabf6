//! What calls mean.

use super::*;

/// facts: Shell: 60 seconds by default, 300 at most, a day in the background; then it is killed.
#[test]
fn commands_are_read() {
    let limit = |arguments| match read(&KimiCli, call("Shell", arguments)) {
        Ok(Action::Shell(shell)) => {
            assert_eq!(shell.on_timeout, OnTimeout::Kill);
            (
                shell.time_limit.map(|limit| limit.as_secs()),
                shell.background,
            )
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(limit(make()), (Some(60), false));
    assert_eq!(
        limit(json!({"command": "make", "timeout": 900})),
        (Some(300), false)
    );
    assert_eq!(
        limit(json!({"command": "make", "timeout": 900, "run_in_background": true})),
        (Some(900), true)
    );
}

/// facts: StrReplaceFile: one edit or a list, each on the text after the ones before it; the
/// first place, or all. No file has to be read first.
#[test]
fn edits_are_read() {
    let of = |edit: Value| {
        let arguments = json!({"path": "a", "edit": edit});
        match read(&KimiCli, call("StrReplaceFile", arguments)) {
            Ok(Action::Edit {
                edits,
                base: Base::Evolving,
                unique,
                read_first: false,
                may_create: false,
                ..
            }) => Ok((edits.len(), unique)),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error.to_string()),
        }
    };
    assert_eq!(of(json!({"old": "x", "new": ""})), Ok((1, Unique::First)));
    let all = json!({"old": "x", "new": "", "replace_all": true});
    assert_eq!(of(json!([all, all])), Ok((2, Unique::All)));
    let first = json!({"old": "x", "new": "", "replace_all": false});
    assert_eq!(
        of(json!([first, {"old": "y", "new": "z"}])),
        Ok((2, Unique::First))
    );
    assert!(of(json!([first, all])).is_err_and(|why| why.contains("two calls")));
    assert!(of(json!([])).is_err());
    let why = of(json!({"from": "x"})).expect_err("no old text");
    assert!(why.contains("\"old\": string, \"new\": string"), "{why}");
    let write = call(
        "WriteFile",
        json!({"path": "a", "content": "", "mode": "append"}),
    );
    assert!(matches!(
        read(&KimiCli, write),
        Ok(Action::Write { rule, .. }) if rule.append && !rule.read_first
    ));
}

/// facts: Glob: 1 000 at most; folders unless `include_dirs` is false; ignored files are found.
#[test]
fn globs_are_read() {
    let glob = |arguments| match read(&KimiCli, call("Glob", arguments)) {
        Ok(Action::Glob(glob)) => glob,
        other => panic!("{other:?}"),
    };
    let plain = glob(json!({"pattern": "**/*.py"}));
    assert_eq!((plain.limit, plain.folders), (1000, true));
    assert_eq!(plain.ignored, Ignored::IfNothingElse);
    assert!(!glob(json!({"pattern": "*", "include_dirs": false})).folders);
}

/// facts: TaskOutput waits only with `block`, 30 seconds by default.
#[test]
fn looks_at_tasks_are_read() {
    let wait = |arguments| match read(&KimiCli, call("TaskOutput", arguments)) {
        Ok(Action::ShellWait { wait, .. }) => wait.as_secs(),
        other => panic!("{other:?}"),
    };
    assert_eq!(wait(json!({"task_id": "bash-00000001", "timeout": 9})), 0);
    assert_eq!(wait(json!({"task_id": "bash-00000001", "block": true})), 30);
    let long = json!({"task_id": "bash-00000001", "block": true, "timeout": 99_999});
    assert_eq!(wait(long), 3600);
}

/// All but ExitPlanMode, whose plan stands in the reply.
#[test]
fn calls_come_back_from_their_actions() {
    let calls: Vec<ToolCall> = [
        (
            "Agent",
            json!({"description": "d", "prompt": "p", "subagent_type": "explore"}),
        ),
        (
            "AskUserQuestion",
            json!({"questions": [{"question": "Which?",
                    "options": [{"label": "A", "description": "a"}, {"label": "B"}]}]}),
        ),
        ("SetTodoList", json!({})),
        ("SetTodoList", json!({"todos": []})),
        (
            "SetTodoList",
            json!({"todos": [{"title": "look", "status": "in_progress"}]}),
        ),
        ("Shell", make()),
        (
            "Shell",
            json!({"command": "serve", "timeout": 900, "run_in_background": true}),
        ),
        ("TaskList", json!({})),
        ("TaskOutput", json!({"task_id": "bash-00000003"})),
        (
            "TaskOutput",
            json!({"task_id": "bash-00000003", "block": true, "timeout": 9}),
        ),
        ("TaskStop", json!({"task_id": "bash-00000003"})),
        (
            "ReadFile",
            json!({"path": "a", "line_offset": 3, "n_lines": 5}),
        ),
        ("FetchURL", json!({"url": "https://example.org/a"})),
        ("Glob", json!({"pattern": "**/*.py", "directory": "src"})),
        ("Glob", json!({"pattern": "*", "include_dirs": false})),
        (
            "Grep",
            json!({"pattern": "x", "output_mode": "content", "-B": 1, "-A": 1, "type": "py"}),
        ),
        (
            "WriteFile",
            json!({"path": "a", "content": "x", "mode": "append"}),
        ),
        ("StrReplaceFile", edit()),
        (
            "StrReplaceFile",
            json!({"path": "a", "edit": [{"old": "x", "new": "y", "replace_all": true},
                    {"old": "y", "new": "z", "replace_all": true}]}),
        ),
        ("EnterPlanMode", json!({})),
    ]
    .map(|(name, arguments)| call(name, arguments))
    .into();
    calls_return(&KimiCli, "kimi-k2", &calls, &["ExitPlanMode"]);
    let any = Action::ShellWait {
        id: None,
        wait: Duration::ZERO,
        all: true,
    };
    assert_eq!(KimiCli.write(&any), None);
    let elsewhere = Action::Shell(Shell {
        dir: Some("my dir".into()),
        ..Shell::new("ls", Duration::from_secs(60))
    });
    let written = json!({"command": "cd 'my dir' && ls"});
    assert_eq!(KimiCli.write(&elsewhere), Some(("Shell", written)));
}

/// facts: background finish.
#[test]
fn the_end_of_a_task_is_a_notification() {
    let notice = Notice::JobEnded {
        id: 2,
        command: "serve".into(),
        code: Some(1),
        file: Some("/o/2.txt".into()),
    };
    assert_eq!(
        KimiCli.notice(&mut State::default(), &notice)[0].text(),
        "<notification id=\"task:bash-00000002:failed\" category=\"task\" type=\"task.failed\" source_kind=\"background_task\" source_id=\"bash-00000002\">\nTitle: Background task failed\nSeverity: error\nTask ID: bash-00000002\nStatus: failed\nCommand: serve\nExit code: 1\n<task-notification>\nIts output is in /o/2.txt\n</task-notification>\n</notification>"
    );
}
