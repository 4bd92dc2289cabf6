//! What calls ask for, and which call asks for an action.

use super::*;

/// facts: Bash: seconds; 60 by default, 300 at most, 600 and 86,400 in the background; a command
/// that takes too long goes on in the background.
#[test]
fn commands_are_read() {
    let limit = |arguments| match read(&KimiCode, call("Bash", arguments)) {
        Ok(Action::Shell(shell)) => (
            shell.time_limit.map(|limit| limit.as_secs()),
            shell.background,
            shell.on_timeout == OnTimeout::Background,
        ),
        other => panic!("{other:?}"),
    };
    assert_eq!(limit(make()), (Some(60), false, true));
    let with = |more: &str| {
        let text = format!("{{\"command\": \"make\", {more}}}");
        limit(serde_json::from_str(&text).expect("JSON"))
    };
    assert_eq!(with("\"timeout\": 90"), (Some(90), false, true));
    assert_eq!(with("\"timeout\": 90000"), (Some(300), false, true));
    assert_eq!(
        with("\"run_in_background\": true"),
        (Some(600), true, false)
    );
    assert_eq!(
        with("\"run_in_background\": true, \"timeout\": 90000"),
        (Some(86_400), true, false)
    );
    assert_eq!(
        with("\"run_in_background\": true, \"disable_timeout\": true"),
        (None, true, false)
    );
}

/// facts: stale guard of Edit and Write; Edit wants one place or `replace_all`.
#[test]
fn changes_are_read() {
    assert!(matches!(
        read(&KimiCode, call("Edit", edit())),
        Ok(Action::Edit {
            unique: Unique::Require,
            read_first: true,
            may_create: false,
            ..
        })
    ));
    let all = json!({"path": "a", "old_string": "x", "new_string": "", "replace_all": true});
    assert!(matches!(
        read(&KimiCode, call("Edit", all)),
        Ok(Action::Edit {
            unique: Unique::All,
            ..
        })
    ));
    let empty = json!({"path": "a", "old_string": "", "new_string": "x"});
    let error = read(&KimiCode, call("Edit", empty)).expect_err("nothing to replace");
    assert!(error.to_string().contains("Write"));
    for (mode, append) in [("overwrite", false), ("append", true)] {
        let arguments = json!({"path": "a", "content": "", "mode": mode});
        let Ok(Action::Write { rule, .. }) = read(&KimiCode, call("Write", arguments)) else {
            panic!("a write")
        };
        assert_eq!((rule.read_first, rule.append), (true, append));
    }
}

/// All but ExitPlanMode, whose plan stands in the reply.
#[test]
fn calls_come_back_from_their_actions() {
    let calls: Vec<ToolCall> = [
        (
            "Agent",
            json!({"prompt": "p", "description": "d", "subagent_type": "plan"}),
        ),
        (
            "AskUserQuestion",
            json!({"questions": [{"question": "Which?", "header": "H", "multi_select": true,
                    "options": [{"label": "A", "description": "a"}, {"label": "B"}]}]}),
        ),
        ("Bash", make()),
        (
            "Bash",
            json!({"command": "make", "cwd": "src", "timeout": 90}),
        ),
        (
            "Bash",
            json!({"command": "serve", "run_in_background": true}),
        ),
        (
            "Bash",
            json!({"command": "serve", "run_in_background": true, "disable_timeout": true}),
        ),
        ("Edit", edit()),
        (
            "Edit",
            json!({"path": "a", "old_string": "x", "new_string": "", "replace_all": true}),
        ),
        ("EnterPlanMode", json!({})),
        ("FetchURL", json!({"url": "https://example.org/a"})),
        ("Glob", json!({"pattern": "*.py", "path": "src"})),
        (
            "Glob",
            json!({"pattern": "*", "include_ignored": true, "include_dirs": true}),
        ),
        ("Grep", json!({"pattern": "x"})),
        ("Grep", json!({"pattern": "x", "include_ignored": true})),
        (
            "Grep",
            json!({"pattern": "x", "path": "a", "glob": "*.py", "type": "py", "-i": true,
                    "output_mode": "content", "-A": 1, "-B": 2, "head_limit": 9, "offset": 3,
                    "multiline": true}),
        ),
        (
            "Grep",
            json!({"pattern": "x", "output_mode": "count_matches"}),
        ),
        ("Read", json!({"path": "a"})),
        (
            "Read",
            json!({"path": "a", "line_offset": -20, "n_lines": 5}),
        ),
        ("TaskList", json!({})),
        ("TaskOutput", json!({"task_id": "bash-00000003"})),
        ("TaskStop", json!({"task_id": "bash-00000003"})),
        ("TodoList", json!({})),
        ("TodoList", json!({"todos": []})),
        (
            "TodoList",
            json!({"todos": [{"title": "look", "status": "done"}]}),
        ),
        ("WaitFor", json!({"timeout": 30})),
        (
            "WaitFor",
            json!({"timeout": 600, "task_id": "bash-00000003"}),
        ),
        ("Write", json!({"path": "a", "content": "x\n"})),
        (
            "Write",
            json!({"path": "a", "content": "x\n", "mode": "append"}),
        ),
    ]
    .map(|(name, arguments)| call(name, arguments))
    .into();
    calls_return(&KimiCode, "kimi-k2", &calls, &["ExitPlanMode"]);
    let insert = Action::Insert {
        path: path(),
        after: 0,
        text: "x".into(),
    };
    assert_eq!(KimiCode.write(&insert), None);
}
