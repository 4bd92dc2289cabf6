//! How what came of a call is told.

use super::*;

/// read_file: raw when whole and short; else in `<file>` with numbers; past the end is no error.
#[test]
fn files_are_told() {
    let out = ReadOut {
        path: "/w/a.py".into(),
        text: "x\ny\n".into(),
        first: 1,
        lines: 2,
        total: 2,
        cut: false,
        repeated: false,
    };
    let whole = || json!({"path": "a.py"});
    assert_eq!(
        told("read_file", whole(), Outcome::Read(out.clone())),
        "x\ny\n"
    );
    let part = ReadOut {
        first: 9,
        total: 30,
        ..out.clone()
    };
    assert_eq!(
        told(
            "read_file",
            json!({"path": "a.py", "start_line": 9, "max_lines": 2}),
            Outcome::Read(part)
        ),
        "<file path=\"/w/a.py\" total_lines=\"30\" shown_lines=\"9-10\" truncated=\"true\" next_start_line=\"11\">\n     9│ x\n    10│ y\n[TRUNCATED] 20 more lines; go on with start_line=11\n</file>"
    );
    assert_eq!(
        told(
            "read_file",
            json!({"path": "a.py", "start_line": 1}),
            Outcome::Read(out)
        ),
        "<file path=\"/w/a.py\" total_lines=\"2\" shown_lines=\"1-2\" truncated=\"false\">\n     1│ x\n     2│ y\n</file>"
    );
    let past = ToolError::PastEnd {
        path: "a.py".into(),
        line: 90,
        total: 30,
    };
    let (text, is_error) = tell(
        &DeepseekTui,
        call("read_file", json!({"path": "a.py", "start_line": 90})),
        Outcome::Failed(past),
    );
    assert!(!is_error && text.contains("\n[NO CONTENT] ") && text.ends_with("\n</file>"));
}

/// write_file, edit_file, apply_patch: the diff, then a line; failures begin with `Error: `.
#[test]
fn changes_are_told() {
    let write = || json!({"path": "a.py", "content": "x\nz\n"});
    let edit = || json!({"path": "a.py", "search": "y", "replace": "z"});
    let outcome = |change| Outcome::Changed(vec![change]);
    assert_eq!(
        told("write_file", write(), outcome(change())),
        format!("{DIFF}Wrote 4 bytes to /w/a.py")
    );
    let new = FileChange {
        kind: ChangeKind::Add,
        before: None,
        ..change()
    };
    assert_eq!(
        told("write_file", write(), outcome(new)),
        "Created /w/a.py (4 bytes)"
    );
    let same = FileChange {
        before: Some("x\nz\n".into()),
        ..change()
    };
    assert_eq!(
        told("write_file", write(), outcome(same)),
        "(no changes)\nWrote 4 bytes to /w/a.py"
    );
    assert_eq!(
        told("edit_file", edit(), outcome(change())),
        format!("{DIFF}Replaced 1 occurrence in /w/a.py")
    );
    let many = FileChange {
        places: 3,
        ..change()
    };
    let text = told("edit_file", edit(), outcome(many));
    assert!(text.contains("Replaced 3 occurrences in /w/a.py\nWarning: "));
    let patch = json!({"patch": DIFF});
    assert_eq!(
        told("apply_patch", patch.clone(), outcome(change())),
        "Applied 1 hunk(s) to 1 file(s)\nFiles: /w/a.py"
    );
    let path = || "a.py".to_owned();
    for (name, arguments, error) in [
        (
            "edit_file",
            edit(),
            ToolError::NoMatch {
                path: path(),
                index: 0,
                near: None,
            },
        ),
        ("edit_file", edit(), ToolError::Identical { path: path() }),
        (
            "apply_patch",
            patch,
            ToolError::BadPatch {
                why: "line 1 is odd".into(),
            },
        ),
        (
            "read_file",
            json!({"path": "a.py"}),
            ToolError::NotFound {
                path: path(),
                instead: None,
            },
        ),
    ] {
        let (text, is_error) = tell(&DeepseekTui, call(name, arguments), Outcome::Failed(error));
        assert!(is_error && text.starts_with("Error: "), "{text}");
    }
}

/// exec_shell, foreground.
#[test]
fn commands_are_told() {
    let out = |output, status| tell(&DeepseekTui, run(), shell_out("make", output, status));
    assert_eq!(
        out("built\n", ShellStatus::Exited(0)),
        ("built".into(), false)
    );
    assert_eq!(out("", ShellStatus::Exited(0)).0, "(no output)");
    assert_eq!(
        out("bad\n", ShellStatus::Exited(2)),
        (
            "Error: Command failed (exit code: Some(2))\n\nSTDOUT:\nbad".into(),
            true
        )
    );
    assert!(
        out("", ShellStatus::Signaled(9))
            .0
            .contains("(exit code: None)")
    );
    let text = out("half", ShellStatus::TimedOut).0;
    assert!(text.starts_with("Error: Command timed out after 1500ms") && text.ends_with("half"));
    let text = tell(&DeepseekTui, run(), long_shell_out("make")).0;
    let body = text.strip_prefix("Error: Command failed (exit code: Some(3))\n\nSTDOUT:\n");
    assert!(
        body.is_some_and(|body| body.starts_with("line number 1\n")),
        "{text}"
    );
    assert!(text.contains("\n[Output truncated: ") && text.contains("/home/ada/x/outputs/1.txt"));
    assert!(text.ends_with("line number 3000") && text.len() < 30_600);
    let wish = json!({"command": "make", "tty": true});
    let text = told(
        "exec_shell",
        wish,
        shell_out("make", "ok", ShellStatus::Exited(0)),
    );
    assert_eq!(
        text,
        "ok\n[There is no terminal here; the command ran without one.]"
    );
}

/// exec_shell, background: the id; waits tell what is new.
#[test]
fn tasks_are_told() {
    let running = |output| shell_out("serve", output, ShellStatus::Running { id: 10, pid: 7 });
    let start = json!({"command": "serve", "background": true});
    let text = told("exec_shell", start, running(""));
    assert_eq!(
        text.lines().next(),
        Some("Background task started: shell_0000000a")
    );
    let wait = || json!({"task_id": "shell_0000000a"});
    assert_eq!(
        told("exec_shell_wait", wait(), running("up\n")),
        "up\n\n[shell_0000000a is still running]"
    );
    assert!(told("exec_shell_wait", wait(), running("")).starts_with("(no new output)"));
    let ended = shell_out("serve", "", ShellStatus::Signaled(15));
    assert_eq!(
        tell(&DeepseekTui, call("exec_shell_cancel", wait()), ended),
        ("Cancelled shell_0000000a (`serve`).".into(), false)
    );
    let job = JobOut {
        id: 10,
        command: "serve".into(),
        status: ShellStatus::Running { id: 10, pid: 7 },
        age: Duration::ZERO,
    };
    let text = told(
        "exec_shell_cancel",
        json!({"all": true}),
        Outcome::Jobs(vec![
            job.clone(),
            JobOut {
                id: 11,
                status: ShellStatus::Exited(0),
                ..job
            },
        ]),
    );
    assert!(text.ends_with("\nshell_0000000a: `serve`"), "{text}");
}

/// list_dir, file_search, grep_files: JSON over several lines.
#[test]
fn searches_are_told() {
    let entry = |name: &str, is_dir| Entry {
        name: name.into(),
        is_dir,
        size: 1,
    };
    let listed = Outcome::Listed(ListOut {
        path: "/w".into(),
        entries: vec![entry("src", true)],
        ignored: 0,
        more: 0,
    });
    assert_eq!(
        told("list_dir", json!({}), listed),
        "[\n  {\n    \"name\": \"src\",\n    \"is_dir\": true\n  }\n]"
    );

    let found = Outcome::Found(FoundOut {
        root: "/w".into(),
        paths: ["/w/x/domain.py", "/w/main.lock", "/w/src/main.py"]
            .map(Into::into)
            .to_vec(),
        total: 3,
    });
    let search = json!({"query": "main", "extensions": [".py"], "exclude": ["x/**"]});
    let text = told("file_search", search, found);
    let list: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(list.as_array().map(Vec::len), Some(1), "{text}");
    assert_eq!(list[0]["path"], "/w/src/main.py");
    assert_eq!(list[0]["name"], "main.py");
    assert!(list[0]["score"].as_f64().is_some_and(|score| score > 0.9));

    let line = |number, text: &str, is_match| GrepLine {
        path: "/w/a.py".into(),
        number,
        text: text.into(),
        is_match,
    };
    let out = GrepOut {
        root: "/w".into(),
        lines: vec![
            line(2, "b", false),
            line(3, "x = 1", true),
            line(4, "d", false),
            line(5, "e", false),
            line(6, "f", false),
            line(7, "x = 2", true),
        ],
        total: 2,
        cut: false,
        searched: 12,
    };
    let text = told("grep_files", json!({"pattern": "x"}), Outcome::Matches(out));
    let found: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(
        found,
        json!({
            "matches": [
                {"file": "/w/a.py", "line_number": 3, "line": "x = 1", "context_before": ["b"], "context_after": ["d", "e"]},
                {"file": "/w/a.py", "line_number": 7, "line": "x = 2", "context_before": ["e", "f"], "context_after": []},
            ],
            "total_matches": 2, "files_searched": 12,
            "truncated": false,
        })
    );
    assert!(text.starts_with("{\n  \"matches\": ["));
}

/// checklist_* and update_plan: a header, then JSON.
#[test]
fn plans_are_told() {
    let todos = || {
        json!({"todos": [
            {"content": "look", "status": "completed"},
            {"content": "act", "status": "in_progress"},
        ]})
    };
    let text = told("checklist_write", todos(), Outcome::Planned);
    let (head, list) = text.split_once('\n').expect("two parts");
    assert_eq!(head, "Todo list updated (2 items, 50% complete)");
    assert_eq!(
        serde_json::from_str::<Value>(list).expect("JSON"),
        json!({
            "items": [
                {"id": 1, "content": "look", "status": "completed"},
                {"id": 2, "content": "act", "status": "in_progress"},
            ],
            "completion_pct": 50,
            "in_progress_id": 2,
        })
    );
    let plan = json!({"explanation": "new", "plan": [{"step": "look", "status": "pending"}]});
    let text = told("update_plan", plan, Outcome::Planned);
    let (head, list) = text.split_once('\n').expect("two parts");
    assert_eq!(
        head,
        "Plan updated: 1 pending, 0 in progress, 0 completed (0% done)"
    );
    assert_eq!(
        serde_json::from_str::<Value>(list).expect("JSON"),
        json!({"explanation": "new", "items": [{"step": "look", "status": "pending"}]})
    );
    let steps = match action("checklist_write", todos()) {
        Action::Plan { steps, .. } => steps,
        other => panic!("{other:?}"),
    };
    let text = told("checklist_list", json!({}), Outcome::Plan(steps));
    assert!(text.starts_with("Todo list (2 items, 50% complete)\n{\n"));
}

/// request_user_input: the answers by id, as the original's engine hands them back.
#[test]
fn answers_are_told() {
    let asked = json!({"questions": [{
        "header": "Lang", "id": "lang", "question": "Which one?",
        "options": [{"label": "Rust", "description": "fast"}, {"label": "Go", "description": "small"}],
    }]});
    let text = told(
        "request_user_input",
        asked.clone(),
        Outcome::Answered(vec![vec!["Go".into()]]),
    );
    assert_eq!(
        serde_json::from_str::<Value>(&text).expect("JSON"),
        json!({"answers": [{"id": "lang", "label": "Go", "value": "Go"}]})
    );
    let text = told(
        "request_user_input",
        asked,
        Outcome::Answered(vec![vec!["C".into()]]),
    );
    assert!(text.contains("\"Other\"") && text.contains("\"C\""));
}
