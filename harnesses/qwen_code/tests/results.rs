//! How what came of a call is told.

use super::*;

/// read_file: whole, partial, repeated, cut, past the end.
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
    let whole = || call("read_file", json!({"file_path": "a.py"}));
    assert_eq!(told(whole(), Outcome::Read(out.clone())), "x\ny\n");
    let part = ReadOut {
        first: 5,
        total: 30,
        ..out.clone()
    };
    let again = || {
        call(
            "read_file",
            json!({"file_path": "a.py", "offset": 4, "limit": 2}),
        )
    };
    let expected = "Showing lines 5-6 of 30 total lines.\n\n---\n\nx\ny\n";
    assert_eq!(told(again(), Outcome::Read(part.clone())), expected);
    let repeated = ReadOut {
        repeated: true,
        ..part
    };
    assert_eq!(told(again(), Outcome::Read(repeated)), expected);
    let repeated = ReadOut {
        repeated: true,
        ..out.clone()
    };
    let text = told(whole(), Outcome::Read(repeated));
    assert!(text.starts_with("[/w/a.py has not changed") && text.ends_with(']'));
    let cut = ReadOut {
        text: "xxx".into(),
        lines: 1,
        cut: true,
        ..out
    };
    assert_eq!(
        told(whole(), Outcome::Read(cut)),
        "Showing lines 1-1 of 2 total lines.\n\n---\n\nxxx... [truncated]"
    );
    let past = ToolError::PastEnd {
        path: "a.py".into(),
        line: 90,
        total: 30,
    };
    assert_eq!(
        told(again(), Outcome::Failed(past)),
        "Showing lines 90-30 of 30 total lines.\n\n---\n\n"
    );
    let missing = ToolError::NotFound {
        path: "tests/a.py".into(),
        instead: Some("a.py".into()),
    };
    assert_eq!(
        told(whole(), Outcome::Failed(missing)),
        "File not found: tests/a.py. Did you mean a.py?"
    );
}

/// edit: the changed lines with four around them.
#[test]
fn edits_are_told() {
    let after: String = (1..=20).map(|n| format!("l{n}\n")).collect();
    let change = FileChange {
        path: "/w/a.py".into(),
        shown: "a.py".into(),
        kind: ChangeKind::Update,
        moved_to: None,
        before: None,
        after: Some(after),
        places: 1,
        lines: Some((10, 10)),
        matched_by: None,
    };
    assert_eq!(
        tell(&QwenCode, edit(), Outcome::Changed(vec![change.clone()])),
        (
            "/w/a.py was updated. Showing lines 6-14 of 20 from the edited file:\n\n---\n\nl6\nl7\nl8\nl9\nl10\nl11\nl12\nl13\nl14".into(),
            false
        )
    );
    let write = || call("write_file", json!({"file_path": "a.py", "content": ""}));
    let new = FileChange {
        kind: ChangeKind::Add,
        ..change.clone()
    };
    assert_eq!(
        told(write(), Outcome::Changed(vec![new.clone()])),
        "Created the new file /w/a.py."
    );
    assert_eq!(
        told(edit(), Outcome::Changed(vec![new])),
        "Created the new file /w/a.py."
    );
    assert_eq!(
        told(write(), Outcome::Changed(vec![change])),
        "Wrote /w/a.py anew."
    );
}

/// edit: the classes of failure, each with the next step.
#[test]
fn edit_failures_are_told() {
    let path = || "a.py".to_owned();
    for (error, parts) in [
        (
            ToolError::NotRead { path: path() },
            ["has not been read", "read_file"],
        ),
        (
            ToolError::ChangedSince { path: path() },
            ["was changed", "read_file"],
        ),
        (
            ToolError::NoMatch {
                path: path(),
                index: 0,
                near: Some("7: z".into()),
            },
            ["Edit failed: ", "7: z"],
        ),
        (
            ToolError::Ambiguous {
                path: path(),
                index: 0,
                lines: vec![3, 8],
            },
            ["2 times, at lines 3, 8", "replace_all"],
        ),
        (
            ToolError::Identical { path: path() },
            ["Edit failed: ", "the same"],
        ),
    ] {
        let (text, is_error) = tell(&QwenCode, edit(), Outcome::Failed(error));
        assert!(is_error);
        for part in parts {
            assert!(text.contains(part), "{text}");
        }
    }
}

/// run_shell_command: seven labelled lines.
#[test]
fn commands_are_told() {
    let make = || run(json!({"command": "make"}));
    let out = |output, status| shell_out("make", output, status);
    assert_eq!(
        tell(&QwenCode, make(), out("built\n", ShellStatus::Exited(2))),
        (
            "Command: make\nDirectory: (root)\nOutput: built\nError: (none)\nExit Code: 2\nSignal: (none)\nProcess Group PGID: (none)".into(),
            false
        )
    );
    assert_eq!(
        told(
            run(json!({"command": "make", "directory": "/w"})),
            out("", ShellStatus::Signaled(9))
        ),
        "Command: make\nDirectory: /w\nOutput: (empty)\nError: (none)\nExit Code: (none)\nSignal: 9\nProcess Group PGID: (none)"
    );
    let text = told(make(), out("half", ShellStatus::TimedOut));
    assert!(text.starts_with("Command timed out after 120000ms") && text.ends_with("half"));
    let action = Action::Patch {
        text: String::new(),
        form: PatchForm::Codex,
        dir: None,
    };
    let text = tell_action(&QwenCode, make(), action, Outcome::Changed(Vec::new())).0;
    assert!(text.starts_with("Command: make\nDirectory: (root)\nOutput: The patch was applied"));
}

/// A large output: five lines, then head and tail, 20 to 80.
#[test]
fn long_output_is_cut() {
    let text = told(run(json!({"command": "make"})), long_shell_out("make"));
    let output = text.split_once("Output: ").expect("labels").1;
    let lines: Vec<&str> = output.lines().collect();
    assert!(lines[0].contains("too large"));
    assert!(lines[1].contains("/home/ada/x/outputs/1.txt"));
    assert!(lines[2].contains("read_file"));
    assert!(lines[4].to_lowercase().contains("truncated part"));
    assert_eq!(lines[5], "line number 1");
    assert!(text.contains("\n\n---\n... [CONTENT TRUNCATED] ...\n---\n\n"));
    assert!(text.contains("line number 200\n") && !text.contains("line number 201\n"));
    assert!(text.contains("line number 2201\n") && !text.contains("line number 2200\n"));
    assert!(text.contains("\nExit Code: 3\n"));
}

/// run_shell_command: a background command has an id, a pid and a file.
#[test]
fn background_commands_are_told() {
    let outcome = Outcome::Shell(ShellOut {
        command: "serve".into(),
        dir: "/w".into(),
        job: None,
        output: Output {
            text: String::new(),
            bytes: 0,
            file: Some("/o/2.txt".into()),
        },
        status: ShellStatus::Running { id: 2, pid: 77 },
        wall: Duration::ZERO,
        fence: None,
    });
    let text = told(
        run(json!({"command": "serve", "is_background": true})),
        outcome,
    );
    assert!(text.contains("\nid: bg_00000002\npid: 77\noutput file: /o/2.txt\n"));
    let stop = call("task_stop", json!({"task_id": "bg_00000002"}));
    let outcome = shell_out("serve", "", ShellStatus::Signaled(15));
    assert_eq!(told(stop, outcome), "Stopped bg_00000002 (`serve`).");
}

/// grep_search, glob, list_directory.
#[test]
fn searches_are_told() {
    let line = |number, text: &str| GrepLine {
        path: "/w/a.py".into(),
        number,
        text: text.into(),
        is_match: true,
    };
    let out = |lines, total| {
        Outcome::Matches(GrepOut {
            root: "/w".into(),
            lines,
            total,
            cut: false,
            searched: 12,
        })
    };
    let grep = |arguments| call("grep_search", arguments);
    assert_eq!(
        told(
            grep(json!({"pattern": "x"})),
            out(vec![line(3, "x = 1")], 1)
        ),
        "Found 1 match for pattern \"x\" in the workspace directory:\n---\n/w/a.py:3:x = 1\n"
    );
    assert_eq!(
        told(
            grep(json!({"pattern": "x", "path": "src", "glob": "*.py", "limit": 2})),
            out(vec![line(3, "x"), line(4, "x")], 5)
        ),
        "Found 5 matches for pattern \"x\" in path \"src\" (filter: \"*.py\"):\n---\n/w/a.py:3:x\n/w/a.py:4:x\n---\n[3 lines truncated] ..."
    );
    assert_eq!(
        told(grep(json!({"pattern": "x"})), out(Vec::new(), 0)),
        "No line matches the pattern \"x\" in the workspace directory."
    );

    let found = Outcome::Found(FoundOut {
        root: "/w".into(),
        paths: vec!["/w/b.py".into(), "/w/a.py".into()],
        total: 3,
    });
    assert_eq!(
        told(call("glob", json!({"pattern": "*.py"})), found),
        "Found 3 file(s) matching \"*.py\" in the workspace directory, sorted by modification time (newest first):\n---\n/w/b.py\n/w/a.py\n---\n[1 files truncated] ..."
    );

    let entry = |name: &str, is_dir| Entry {
        name: name.into(),
        is_dir,
        size: 1,
    };
    let listed = Outcome::Listed(ListOut {
        path: "/w".into(),
        entries: vec![entry("src", true), entry("a.py", false)],
        ignored: 2,
        more: 0,
    });
    assert_eq!(
        told(call("list_directory", json!({"path": "."})), listed),
        "Listed 2 item(s) in /w:\n---\n[DIR] src\na.py\n\n(2 git-ignored)"
    );
}

/// todo_write: a sentence, a blank line, a reminder with the list as compact JSON.
#[test]
fn todos_are_read_and_told() {
    let todos = call(
        "todo_write",
        json!({"todos": [{"content": "look", "status": "in_progress", "id": "1"}]}),
    );
    let Ok(Action::Plan { steps, .. }) = read(&QwenCode, todos.clone()) else {
        panic!()
    };
    assert_eq!(steps[0].status, StepStatus::InProgress);
    let text = told(todos, Outcome::Planned);
    let (first, reminder) = text.split_once("\n\n").expect("a blank line");
    assert!(!first.is_empty());
    assert!(reminder.starts_with("<system-reminder>\n"));
    assert!(reminder.ends_with(
        "[{\"content\":\"look\",\"status\":\"in_progress\",\"id\":\"1\"}]\n</system-reminder>"
    ));
    let wrong = call(
        "todo_write",
        json!({"todos": [{"content": "x", "status": "later"}]}),
    );
    let error = read(&QwenCode, wrong)
        .expect_err("no such status")
        .to_string();
    assert!(error.contains("pending, in_progress or completed"));
}

/// ask_user_question and exit_plan_mode: only where a person is.
#[test]
fn questions_and_plans_are_told() {
    assert_eq!(
        read(&QwenCode, question()),
        Ok(Action::Ask {
            questions: vec![AskedQuestion {
                id: None,
                header: "Database".into(),
                question: "Which one?".into(),
                options: vec![
                    ("SQLite".into(), "a file".into()),
                    ("Postgres".into(), "a server".into())
                ],
                several: true,
            }]
        })
    );
    let answers = Outcome::Answered(vec![vec!["SQLite".into(), "in memory".into()]]);
    assert_eq!(
        told(question(), answers),
        "The user answered:\n\n**Database**: SQLite, in memory"
    );
    let plan = call("exit_plan_mode", json!({"plan": "First this."}));
    assert!(told(plan, Outcome::ModeSet).starts_with("The user agreed"));
    let empty = call("ask_user_question", json!({"questions": []}));
    assert!(read(&QwenCode, empty).is_err());
    let alone = QwenCode.begin(&context(Size::Full));
    for name in ["ask_user_question", "exit_plan_mode"] {
        assert!(alone.tools.iter().all(|tool| tool.name != name));
        assert!(alone.left_out.iter().any(|(left, _)| left == name));
    }
}

/// agent: the final text of the agent, nothing around it; facts, `subagent_Explore`.
#[test]
fn agents_are_told_and_have_their_roles() {
    let report = |text: &str, failure: Option<&str>| {
        Outcome::Delegated(DelegateOut {
            id: 1,
            text: text.into(),
            failure: failure.map(str::to_owned),
            actions: 3,
            tokens: 900,
            took: Duration::from_secs(2),
        })
    };
    let agent = || call("agent", json!({"description": "d", "prompt": "p"}));
    assert_eq!(told(agent(), report("In a.py.", None)), "In a.py.");
    let text = told(agent(), report("In a.py.", Some("It was stopped.")));
    assert!(text.starts_with("In a.py.\n\n") && text.contains("It was stopped."));
    let other = json!({"description": "d", "prompt": "p", "subagent_type": "statusline-setup"});
    let error = read(&QwenCode, call("agent", other)).expect_err("no such agent");
    assert!(error.to_string().contains("general-purpose"));

    let mut cx = Context {
        depth: 1,
        ..context(Size::Full)
    };
    cx.sandbox.network = true;
    let names = |role| -> Vec<String> {
        let tools = QwenCode.child(role, &cx).tools;
        tools.into_iter().map(|tool| tool.name).collect()
    };
    // There are no skills here.
    assert_eq!(names("Explore"), EXPLORE_TOOLS[..7]);
    let general = names("general-purpose");
    assert!(general.contains(&"edit".into()) && !general.contains(&"agent".into()));
    assert!(
        QwenCode
            .child("Explore", &cx)
            .system
            .contains("your last message")
    );
}
