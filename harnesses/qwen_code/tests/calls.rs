//! What calls mean.

use super::*;

/// read_file: offset from 0, 1000 lines, 25,000 characters.
#[test]
fn read_file_is_read() {
    let stretch = |arguments| match read(&QwenCode, call("read_file", arguments)) {
        Ok(Action::Read(Read {
            first,
            lines,
            max_bytes,
            ..
        })) => (first, lines, max_bytes),
        other => panic!("{other:?}"),
    };
    assert_eq!(stretch(json!({"file_path": "a"})), (1, Some(1000), 25_000));
    assert_eq!(
        stretch(json!({"file_path": "a", "offset": 10, "limit": 5})),
        (11, Some(5), 25_000)
    );
}

/// edit and write_file: read first; `replace_all`; an empty old text makes a file.
#[test]
fn changes_are_read() {
    assert!(matches!(
        read(&QwenCode, edit()),
        Ok(Action::Edit {
            unique: Unique::Require,
            read_first: true,
            may_create: true,
            ..
        })
    ));
    let all = json!({"file_path": "a", "old_string": "x", "new_string": "", "replace_all": true});
    assert!(matches!(
        read(&QwenCode, call("edit", all)),
        Ok(Action::Edit {
            unique: Unique::All,
            ..
        })
    ));
    let write = call("write_file", json!({"file_path": "a", "content": ""}));
    assert!(matches!(
        read(&QwenCode, write),
        Ok(Action::Write {
            rule: WriteRule {
                read_first: true,
                must_be_new: false,
                append: false
            },
            ..
        })
    ));
}

/// run_shell_command: 120,000 ms by default, 600,000 at most; leading sleeps are refused.
#[test]
fn commands_are_read() {
    let limit = |arguments| match read(&QwenCode, run(arguments)) {
        Ok(Action::Shell(shell)) => (shell.time_limit, shell.background),
        other => panic!("{other:?}"),
    };
    let seconds = |n| Some(Duration::from_secs(n));
    assert_eq!(limit(json!({"command": "make"})), (seconds(120), false));
    assert_eq!(
        limit(json!({"command": "make", "timeout": 9_000_000})),
        (seconds(600), false)
    );
    assert_eq!(
        limit(json!({"command": "sleep 9", "is_background": true})),
        (None, true)
    );
    for (command, refused) in [
        ("sleep 2", true),
        ("sleep 5; curl x", true),
        ("sleep 1m && x", true),
        ("sleep 0.5 && x", false),
        ("sleepy 5", false),
        ("make; sleep 9", false),
    ] {
        let result = read(&QwenCode, run(json!({"command": command})));
        assert_eq!(
            matches!(result, Err(CallError::Refused(_))),
            refused,
            "{command}"
        );
    }
}

/// list_directory, grep_search, glob: limits and defaults; task_stop by id.
#[test]
fn searches_are_read() {
    let list = json!({"path": ".", "ignore": ["*.pyc"],
        "file_filtering_options": {"respect_git_ignore": false}});
    assert_eq!(
        read(&QwenCode, call("list_directory", list)),
        Ok(Action::List {
            path: ".".into(),
            ignore: vec!["*.pyc".into()],
            respect_ignore: false,
            limit: 100,
        })
    );
    assert!(matches!(
        read(
            &QwenCode,
            call("grep_search", json!({"pattern": "x", "limit": 3}))
        ),
        Ok(Action::Grep(Grep {
            ignore_case: true,
            limit: 3,
            path: None,
            include: None,
            ..
        }))
    ));
    assert!(matches!(
        read(&QwenCode, call("glob", json!({"pattern": "*.py"}))),
        Ok(Action::Glob(Glob {
            limit: 100,
            path: None,
            ..
        }))
    ));
    let stop = |id: &str| read(&QwenCode, call("task_stop", json!({"task_id": id})));
    assert_eq!(stop(&task_id(26)), Ok(Action::ShellStop { id: 26 }));
    assert_eq!(stop("26"), Ok(Action::ShellStop { id: 26 }));
    assert!(stop("the server").is_err());
}

/// Every call has an action, and every action its call.
#[test]
fn calls_return_to_themselves() {
    let calls = [
        call("task_stop", json!({"task_id": "bg_0000001a"})),
        call(
            "web_fetch",
            json!({"url": "https://example.org/a", "prompt": "What?", "format": "text"}),
        ),
        call("list_directory", json!({"path": "."})),
        call(
            "list_directory",
            json!({"path": "src", "ignore": ["*.pyc"],
                "file_filtering_options": {"respect_git_ignore": false}}),
        ),
        call("read_file", json!({"file_path": "a"})),
        call(
            "read_file",
            json!({"file_path": "a", "offset": 4, "limit": 9}),
        ),
        call("grep_search", json!({"pattern": "x"})),
        call(
            "grep_search",
            json!({"pattern": "x", "glob": "*.py", "path": "src", "limit": 3}),
        ),
        call("glob", json!({"pattern": "*.py", "path": "src"})),
        edit(),
        call(
            "edit",
            json!({"file_path": "a", "old_string": "x", "new_string": "", "replace_all": true}),
        ),
        call("write_file", json!({"file_path": "a", "content": "x\n"})),
        run(json!({"command": "make"})),
        run(json!({"command": "make", "timeout": 9000, "directory": "web"})),
        run(json!({"command": "serve", "is_background": true})),
        call(
            "todo_write",
            json!({"todos": [{"content": "x", "status": "pending", "id": "a"}]}),
        ),
        call(
            "agent",
            json!({"description": "d", "prompt": "p", "subagent_type": "Explore"}),
        ),
        call(
            "agent",
            json!({"description": "d", "prompt": "p", "run_in_background": true}),
        ),
        call("task_stop", json!({"task_id": "agent_0000001a"})),
        call(
            "send_message",
            json!({"task_id": "agent_0000001a", "message": "Look again."}),
        ),
        question(),
        call("exit_plan_mode", json!({"plan": "First this."})),
    ];
    calls_return(&QwenCode, "qwen3", &calls, &[]);
}
