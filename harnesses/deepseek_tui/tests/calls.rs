//! What calls ask for, and which call asks for an action.

use super::*;
use crate::harnesses::deepseek_tui::calls as ours;

/// The limits, against the recorded facts; and names that need no escape on the wire.
#[test]
fn constants_are_the_recorded_ones() {
    let facts = facts();
    let limits = &facts["request"]["limits"];
    assert_eq!(limits["read_default_lines"], ours::READ_LINES.0);
    assert_eq!(limits["read_max_lines"], ours::READ_LINES.1);
    assert_eq!(limits["read_window_bytes"], ours::READ_BYTES);
    assert_eq!(limits["shell_timeout_ms"], ours::TIMEOUT.0);
    assert_eq!(limits["shell_timeout_max_ms"], ours::TIMEOUT.1);
    assert_eq!(limits["shell_wait_default_ms"], ours::WAIT);
    assert_eq!(limits["grep_max_results"], ours::MATCHES);
    assert_eq!(limits["grep_context_lines_default"], ours::AROUND);
    for tool in DeepseekTui.begin(&context(Size::Full)).tools {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        assert!(tool.name.chars().all(plain), "{}", tool.name);
    }
}

/// read_file: 200 lines by default, 500 at most; exec_shell: milliseconds.
#[test]
fn reads_and_commands_are_read() {
    let stretch = |arguments| match action("read_file", arguments) {
        Action::Read(Read {
            first,
            lines,
            max_bytes,
            ..
        }) => (first, lines, max_bytes),
        other => panic!("{other:?}"),
    };
    assert_eq!(stretch(json!({"path": "a"})), (1, Some(200), 16_384));
    assert_eq!(
        stretch(json!({"path": "a", "start_line": 9, "max_lines": 900})),
        (9, Some(500), 16_384)
    );
    let shell = |arguments| match action("exec_shell", arguments) {
        Action::Shell(shell) => shell,
        other => panic!("{other:?}"),
    };
    let plain = shell(json!({"command": "make", "timeout_ms": 9_000_000, "cwd": "src"}));
    assert_eq!(plain.time_limit, Some(Duration::from_secs(600)));
    assert_eq!(plain.dir.as_deref(), Some("src"));
    let server = shell(json!({"command": "serve", "background": true}));
    assert!(server.background && server.stdin && server.time_limit.is_none());
    let fed = shell(json!({"command": "sort", "stdin": "b\na\n"}));
    assert_eq!(fed.command, "printf %s 'b\na\n' | {\nsort\n}");
}

/// edit_file replaces all; apply_patch takes a diff, `changes`, and Codex's form.
#[test]
fn changes_are_read() {
    let edit = action(
        "edit_file",
        json!({"path": "a", "search": "x", "replace": "y"}),
    );
    assert!(matches!(
        edit,
        Action::Edit {
            unique: Unique::All,
            read_first: false,
            ..
        }
    ));
    let diff = "@@ -1 +1 @@\n-x\n+y\n";
    assert_eq!(
        action("apply_patch", json!({"path": "a", "patch": diff})),
        Action::Patch {
            text: format!("--- a/a\n+++ b/a\n{diff}"),
            form: PatchForm::Unified,
            dir: None
        }
    );
    let codex = "*** Begin Patch\n*** Delete File: a\n*** End Patch";
    assert!(matches!(
        action("apply_patch", json!({"patch": codex})),
        Action::Patch {
            form: PatchForm::Codex,
            ..
        }
    ));
    let one = json!({"changes": [{"path": "a", "content": "x"}]});
    assert!(matches!(action("apply_patch", one), Action::Write { .. }));
    for wrong in [
        json!({}),
        json!({"changes": [{"path": "a"}]}),
        json!({"changes": [{"path": "a", "content": ""}, {"path": "b", "content": ""}]}),
    ] {
        let result = read(&DeepseekTui, call("apply_patch", wrong));
        assert!(matches!(result, Err(CallError::BadArgument { .. })));
    }
}

/// The git tools only read.
#[test]
fn git_tools_are_commands() {
    let command = |name: &str, arguments| match action(name, arguments) {
        Action::Shell(shell) => shell.command,
        other => panic!("{other:?}"),
    };
    for (name, arguments, expected) in [
        (
            "git_status",
            json!({}),
            "git --no-pager status --short --branch",
        ),
        (
            "git_diff",
            json!({"path": "my src", "cached": true}),
            "git --no-pager diff --unified=3 --cached -- 'my src'",
        ),
        (
            "git_log",
            json!({"author": "Ada; rm -rf /"}),
            "git --no-pager log --max-count=20 --date=short '--format=%h %ad %an: %s' '--author=Ada; rm -rf /'",
        ),
        (
            "git_show",
            json!({"rev": "HEAD~1", "patch": false}),
            "git --no-pager show --stat --unified=3 'HEAD~1'",
        ),
    ] {
        assert_eq!(command(name, arguments), expected);
    }
    let wrong = read(&DeepseekTui, call("git_show", json!({"rev": "--output=x"})));
    assert!(matches!(wrong, Err(CallError::BadArgument { .. })));
}

/// run_tests and the like are commands.
#[test]
fn programs_are_commands() {
    let command = |name: &str, arguments| match action(name, arguments) {
        Action::Shell(shell) => shell.command,
        other => panic!("{other:?}"),
    };
    for (name, arguments, expected) in [
        ("run_tests", json!({}), "cargo test"),
        (
            "run_tests",
            json!({"all_features": true, "args": "-p core 'a test'"}),
            "cargo test --all-features -p core 'a test'",
        ),
        ("js_execution", json!({"code": "1 > 0"}), "node -e '1 > 0'"),
        (
            "image_ocr",
            json!({"path": "a b.png"}),
            "tesseract 'a b.png' stdout",
        ),
    ] {
        assert_eq!(command(name, arguments), expected);
    }
}

/// agent_open: the types and their aliases; explore, plan and review write nothing.
#[test]
fn roles_have_other_names() {
    let role = |name: &str| {
        let open = json!({"prompt": "p", "type": name, "allowed_tools": ["read_file"]});
        match action("agent_open", open) {
            Action::Delegate(part) => (part.role, part.read_only),
            other => panic!("{other:?}"),
        }
    };
    for (name, expected, looks) in [
        ("general", "general", false),
        ("worker", "general", false),
        ("explore", "explore", true),
        ("planning", "plan", true),
        ("code-review", "review", true),
        ("builder", "implementer", false),
        ("tester", "verifier", false),
        ("custom", "custom", false),
    ] {
        assert_eq!(role(name), (expected.to_owned(), looks), "{name}");
    }
}

/// The searches, and the tools for background commands.
#[test]
fn searches_and_tasks_are_read() {
    assert!(matches!(
        action("grep_files", json!({"pattern": "x", "include": ["*.py", "*.rs"]})),
        Action::Grep(Grep { include: Some(glob), context: (2, 2), limit: 100, .. }) if glob == "{*.py,*.rs}"
    ));
    let glob = |query: &str| match action("file_search", json!({"query": query})) {
        Action::Glob(Glob { pattern, .. }) => pattern,
        other => panic!("{other:?}"),
    };
    assert_eq!(glob("main"), "**/*main*");
    assert_eq!(glob("src/*.rs"), "src/*.rs");
    let id = "shell_0000000a";
    assert_eq!(
        action("exec_shell_wait", json!({"task_id": id, "wait": false})),
        Action::ShellWait {
            id: Some(10),
            wait: Duration::ZERO,
            all: false
        }
    );
    assert_eq!(
        action("exec_shell_cancel", json!({"id": id})),
        Action::ShellStop { id: 10 }
    );
    assert_eq!(
        action("exec_shell_cancel", json!({"all": true})),
        Action::ShellList
    );
    let typed = |arguments| match action("exec_shell_interact", arguments) {
        Action::ShellInput { chars, .. } => chars,
        other => panic!("{other:?}"),
    };
    assert_eq!(typed(json!({"task_id": id, "data": "y\n"})), "y\n");
    assert_eq!(typed(json!({"task_id": id, "close_stdin": true})), "\u{4}");
}

/// Items are added and changed from the list that the loop keeps, call by call.
#[test]
fn items_are_changed_in_the_list() {
    let mut state = State::default();
    let Action::Plan { steps, .. } = action(
        "checklist_add",
        json!({"content": "look", "status": "in_progress"}),
    ) else {
        panic!()
    };
    state.plan = steps;
    let calls = vec![
        call("checklist_add", json!({"content": "act"})),
        call(
            "checklist_update",
            json!({"id": 2, "status": "in_progress"}),
        ),
        call("checklist_update", json!({"id": 7, "status": "completed"})),
    ];
    let Step::Act(actions) = DeepseekTui.read(&state, &reply("", calls.clone())) else {
        panic!()
    };
    let [Ok(_), Ok(second @ Action::Plan { steps, .. }), Err(error)] = actions.as_slice() else {
        panic!("{actions:?}")
    };
    let list: Vec<_> = steps
        .iter()
        .map(|step| (step.text.as_str(), step.status))
        .collect();
    assert_eq!(
        list,
        [
            ("look", StepStatus::Pending),
            ("act", StepStatus::InProgress)
        ]
    );
    assert!(error.to_string().contains("the ids go from 1 to 2"));
    let done = Done {
        call: Some(calls[1].clone()),
        result: Ok((second.clone(), Outcome::Planned)),
        notes: Vec::new(),
    };
    let text = DeepseekTui.results(&mut state, &[done], 4_000)[0].text();
    assert!(
        text.starts_with("Updated todo #2 to in_progress\n{"),
        "{text}"
    );
}

/// What is written is read as what it was written from, for every tool with an action of its own.
#[test]
fn written_calls_are_read_back() {
    let id = "shell_00000003";
    let calls = [
        call("apply_patch", json!({"patch": DIFF})),
        call("checklist_list", json!({})),
        call(
            "checklist_write",
            json!({"todos": [{"content": "a", "status": "pending"}]}),
        ),
        call(
            "edit_file",
            json!({"path": "a", "search": "x", "replace": "y"}),
        ),
        call(
            "exec_shell",
            json!({"command": "make", "timeout_ms": 5000, "cwd": "src"}),
        ),
        call(
            "exec_shell",
            json!({"command": "serve", "background": true}),
        ),
        call("exec_shell_cancel", json!({"task_id": id})),
        call("exec_shell_cancel", json!({"all": true})),
        call(
            "exec_shell_interact",
            json!({"task_id": id, "input": "y\n"}),
        ),
        call(
            "exec_shell_interact",
            json!({"task_id": id, "close_stdin": true}),
        ),
        call("exec_shell_wait", json!({"task_id": id, "wait": false})),
        call("exec_shell_wait", json!({"task_id": id, "timeout_ms": 9})),
        call("fetch_url", json!({"url": "https://example.org/a"})),
        call(
            "fetch_url",
            json!({"url": "http://example.org", "format": "raw", "timeout_ms": 9}),
        ),
        call("file_search", json!({"query": "main", "path": "src"})),
        call("file_search", json!({"query": "*.py"})),
        call(
            "grep_files",
            json!({"pattern": "x", "include": ["*.py", "*.rs"], "context_lines": 0}),
        ),
        call(
            "grep_files",
            json!({"pattern": "x", "path": "a", "case_insensitive": true, "max_results": 5}),
        ),
        call("list_dir", json!({})),
        call("list_dir", json!({"path": "src"})),
        call("read_file", json!({"path": "a"})),
        call(
            "read_file",
            json!({"path": "a", "start_line": 9, "max_lines": 3}),
        ),
        call(
            "request_user_input",
            json!({"questions": [{"header": "h", "id": "i", "question": "q",
            "options": [{"label": "a", "description": "b"}, {"label": "c", "description": "d"}]}]}),
        ),
        call(
            "update_plan",
            json!({"explanation": "e", "plan": [{"step": "a", "status": "completed"}]}),
        ),
        call("write_file", json!({"path": "a", "content": "x"})),
        call("agent_close", json!({"name": "agent_00000001"})),
        call("agent_eval", json!({"name": "agent_00000001"})),
        call(
            "agent_eval",
            json!({"name": "look", "message": "Look again.", "block": false}),
        ),
        call(
            "agent_open",
            json!({"name": "look", "prompt": "Look.", "type": "explore", "cwd": "src", "fork_context": true}),
        ),
        call(
            "agent_open",
            json!({"prompt": "Look.", "type": "custom", "allowed_tools": ["read_file"]}),
        ),
        call("tool_agent", json!({"name": "look", "prompt": "Look."})),
        call("tool_search_tool_bm25", json!({"query": "blame"})),
    ];
    // The others ask for what one of these asks for.
    let but = ["git_diff", "git_status"];
    calls_return(&DeepseekTui, "deepseek-v3", &calls, &but);
    let status = action("git_status", json!({}));
    let (name, arguments) = DeepseekTui.write(&status).expect("a command");
    assert_eq!((name, action(name, arguments)), ("exec_shell", status));
}
