//! How what came of a call is told.

use super::*;

/// facts: Read: no padding, no line end behind the last; then the note.
#[test]
fn files_are_told() {
    let arguments = || json!({"path": "a.py"});
    assert_eq!(
        told("Read", arguments(), read_out("x\ny\n", 1, 2)),
        "1\tx\n2\ty\n<system>2 lines read from file starting from line 1. Total lines in file: 2. End of file reached.</system>"
    );
    // A number of lines that is met in full has no word on the end.
    assert_eq!(
        told(
            "Read",
            json!({"path": "a.py", "line_offset": 9, "n_lines": 1}),
            read_out("x\n", 9, 9)
        ),
        "9\tx\n<system>1 line read from file starting from line 9. Total lines in file: 9.</system>"
    );
    let long: String = (1..=1000).map(|_| "x\n").collect();
    let text = told("Read", arguments(), read_out(&long, 1, 1500));
    assert!(text.contains("1000 lines read") && text.contains(" Max 1000 lines reached"));
    let wide = format!("short\n{}\n", "x".repeat(2500));
    let text = told("Read", arguments(), read_out(&wide, 1, 2));
    assert!(
        text.contains("x...\n<system>") && text.contains(" Lines [2] were truncated.</system>")
    );
    let past = ToolError::PastEnd {
        path: path(),
        line: 90,
        total: 30,
    };
    assert_eq!(
        tell(&KimiCode, call("Read", arguments()), Outcome::Failed(past)),
        (
            "<system>Tool output is empty.</system>\n<system>No lines read from file. Total lines in file: 30.</system>".into(),
            false
        )
    );
    let missing = ToolError::NotFound {
        path: path(),
        instead: Some("src/a.py".into()),
    };
    assert_eq!(
        failed("Read", arguments(), missing),
        "\"a.py\" does not exist. Did you mean \"src/a.py\"?"
    );
    let folder = ToolError::IsFolder { path: "src".into() };
    assert!(failed("Read", arguments(), folder).starts_with("\"src\" is not a file."));
}

/// A read that does not fit says how far it came, and where to go on.
#[test]
fn a_long_read_ends_at_a_line() {
    let text: String = (1..=900)
        .map(|n| format!("line {n} {}\n", "x".repeat(90)))
        .collect();
    let told = told("Read", json!({"path": "a.py"}), read_out(&text, 1, 900));
    assert!(told.len() <= 30_000);
    let (body, note) = told.split_once("\n<system>").expect("a note");
    let last = body.lines().count();
    assert!(note.starts_with(&format!("{last} lines read")));
    assert!(note.ends_with(&format!(
        "bytes reached; go on with line_offset {}.</system>",
        last + 1
    )));
}

/// facts: Edit, Write: one line each; bytes are those of the content.
#[test]
fn changes_are_told() {
    assert_eq!(
        told("Edit", edit(), changed(ChangeKind::Update, 1, "")),
        "Replaced 1 occurrence in a.py"
    );
    assert_eq!(
        told("Edit", edit(), changed(ChangeKind::Update, 3, "")),
        "Replaced 3 occurrences in a.py"
    );
    for (mode, verb) in [("overwrite", "Wrote"), ("append", "Appended")] {
        let arguments = json!({"path": "a.py", "content": "grün\n", "mode": mode});
        assert_eq!(
            told("Write", arguments, changed(ChangeKind::Add, 0, "")),
            format!("{verb} 6 bytes to a.py")
        );
    }
}

/// facts: Edit: 0 matches, several matches, old equal to new; the two cases of the stale guard.
#[test]
fn edit_failures_are_told() {
    for (error, parts) in [
        (
            ToolError::NotRead { path: path() },
            ["\"a.py\" has not been read by this agent yet", "Read it"],
        ),
        (
            ToolError::ChangedSince { path: path() },
            ["\"a.py\" was modified on disk since", "Read it again"],
        ),
        (
            ToolError::NoMatch {
                path: path(),
                index: 0,
                near: Some("7: z".into()),
            },
            ["7: z", "Read it again"],
        ),
        (
            ToolError::Ambiguous {
                path: path(),
                index: 0,
                lines: vec![3, 8],
            },
            ["2 times, at lines 3, 8", "replace_all"],
        ),
        (ToolError::Identical { path: path() }, ["the same", "a.py"]),
    ] {
        let text = failed("Edit", edit(), error);
        for part in parts {
            assert!(text.contains(part), "{text}");
        }
    }
}

/// facts: Bash: exit 0 with and without output, exit n with and without output, timeout.
#[test]
fn commands_are_told() {
    let out = |output, status| shell_out("make", output, status);
    assert_eq!(
        told("Bash", make(), out("built\n", ShellStatus::Exited(0))),
        "built\n"
    );
    assert_eq!(
        told("Bash", make(), out("", ShellStatus::Exited(0))),
        "Command executed successfully."
    );
    assert_eq!(
        tell(
            &KimiCode,
            call("Bash", make()),
            out("half", ShellStatus::Exited(2))
        ),
        (
            format!("{ERROR}half\nCommand failed with exit code: 2."),
            true
        )
    );
    assert_eq!(
        told("Bash", make(), out("", ShellStatus::Exited(1))),
        format!("{ERROR}Process exited with code 1\nCommand failed with exit code: 1.")
    );
    assert_eq!(
        told("Bash", make(), out("half\n", ShellStatus::TimedOut)),
        format!("{ERROR}half\nCommand killed by timeout (60s)")
    );
    let action = Action::Patch {
        text: String::new(),
        form: PatchForm::Codex,
        dir: None,
    };
    let text = tell_action(
        &KimiCode,
        call("Bash", make()),
        action,
        Outcome::Changed(Vec::new()),
    )
    .0;
    assert!(text.starts_with("The patch was applied to these files:"));
}

/// facts: Bash: a cut output, its marker, and the block that tells where the whole is.
#[test]
fn long_output_is_cut() {
    let text = told("Bash", make(), long_shell_out("make"));
    assert!(text.starts_with(&format!("{ERROR}line number 1\n")));
    assert!(text.contains("\n[...truncated]\n") && text.contains("line number 3000\n"));
    let (_, block) = text
        .split_once("\n\n[Full output saved]\n")
        .expect("the block");
    assert!(text.contains("\nCommand failed with exit code: 3. "));
    assert!(block.starts_with("output_path: /home/ada/x/outputs/1.txt\noutput_size_bytes: "));
    assert!(block.contains("\nnext_step: "));
}

/// facts: Bash: the background block, with what was seen of a command that took too long.
#[test]
fn background_commands_are_told() {
    let arguments =
        json!({"command": "serve", "run_in_background": true, "description": "Serve it"});
    let text = told("Bash", arguments, running(""));
    assert!(text.starts_with(
        "task_id: bash-00000002\npid: 77\ndescription: Serve it\nstatus: running\nautomatic_notification: true\nnext_step: "
    ));
    assert!(
        text.lines()
            .last()
            .is_some_and(|line| line.starts_with("human_shell_hint: "))
    );
    let text = told("Bash", json!({"command": "serve"}), running("up\n"));
    assert!(text.contains("\ndescription: serve\n"));
    assert!(text.ends_with("\n\nforeground_output:\nup\n"));
}

/// facts: TaskOutput, WaitFor, TaskList, TaskStop.
#[test]
fn tasks_are_told() {
    let id = || json!({"task_id": "bash-00000002"});
    assert_eq!(
        told("TaskOutput", id(), running("up\n")),
        "retrieval_status: not_ready\ntask_id: bash-00000002\nkind: process\nstatus: running\ncommand: serve\noutput_path: /o/2.txt\noutput_size_bytes: 3\noutput_truncated: false\n\n[output]\nup\n"
    );
    let wait = || json!({"task_id": "bash-00000002", "timeout": 30});
    let (text, is_error) = tell(
        &KimiCode,
        call("WaitFor", wait()),
        shell_out("serve", "down\n", ShellStatus::Exited(3)),
    );
    assert!(!is_error);
    assert_eq!(
        text,
        "wait_status: completed\ntask_id: bash-00000002\nwaited_ms: 1500\ntimeout_ms: 30000\n\n[finished]\ntask_id: bash-00000002\nkind: process\nstatus: failed\ncommand: serve\nexit_code: 3\noutput_size_bytes: 5\noutput_truncated: false\n\n[output]\ndown\n"
    );
    let text = told("WaitFor", wait(), running("up\n"));
    assert!(text.starts_with("wait_status: timed_out\ntask_id: bash-00000002\n"));
    assert!(text.contains("\n\n[running]\ntask_id: bash-00000002\n"));
    // Whichever ended first has a number of its own.
    let Outcome::Shell(mut first) = shell_out("make", "built\n", ShellStatus::Exited(0)) else {
        panic!("a command")
    };
    first.job = Some(5);
    let text = told("WaitFor", json!({"timeout": 30}), Outcome::Shell(first));
    assert!(text.starts_with("wait_status: completed\ntask_id: bash-00000005\n"));
    let text = told("WaitFor", json!({"timeout": 30}), Outcome::Jobs(Vec::new()));
    assert!(text.starts_with("wait_status: no_tasks\nwaited_ms: 0\ntimeout_ms: 30000\n\n"));
    let job = |id, status| JobOut {
        id,
        command: "serve".into(),
        status,
        age: Duration::from_secs(9),
    };
    let jobs = || {
        let running = |id| job(id, ShellStatus::Running { id, pid: 77 });
        Outcome::Jobs(vec![running(1), job(2, ShellStatus::Exited(0)), running(3)])
    };
    let text = told("WaitFor", json!({"timeout": 30}), jobs());
    assert!(text.starts_with("wait_status: timed_out\nwaited_ms: 30000\ntimeout_ms: 30000\n\n[running]\ntask_id: bash-00000001\n"));
    let row = |id| {
        format!(
            "task_id: bash-0000000{id}\nkind: process\nstatus: running\ncommand: serve\npid: 77\nage_s: 9"
        )
    };
    assert_eq!(
        told("TaskList", json!({}), jobs()),
        format!("active_background_tasks: 2\n{}\n---\n{}", row(1), row(3))
    );
    let all = told(
        "TaskList",
        json!({"active_only": false, "limit": 2}),
        jobs(),
    );
    assert!(
        all.starts_with("background_tasks: 3\n")
            && all.ends_with("status: completed\ncommand: serve\nage_s: 9")
    );
    assert_eq!(
        told("TaskList", json!({}), Outcome::Jobs(Vec::new())),
        "active_background_tasks: 0"
    );
    assert_eq!(
        told(
            "TaskStop",
            id(),
            shell_out("serve", "", ShellStatus::Signaled(15))
        ),
        "task_id: bash-00000002\nstatus: killed\ncommand: serve"
    );
}

/// facts: Glob: relative paths; the line on what is missing comes before them.
#[test]
fn globs_are_told() {
    let glob = || json!({"pattern": "*.py"});
    assert_eq!(
        told("Glob", glob(), found(&["/w/b.py", "/w/src/a.py"], 2)),
        "b.py\nsrc/a.py"
    );
    let text = told("Glob", glob(), found(&["/w/b.py"], 300));
    assert!(text.starts_with("Shown: 1 of 300 files") && text.ends_with("\nb.py"));
    assert_eq!(told("Glob", glob(), found(&[], 0)), "No matches found");
    let ignored = json!({"pattern": "*.py", "include_ignored": true});
    let text = told("Glob", ignored, found(&["/w/b.py"], 1));
    assert!(text.starts_with("b.py\n<system>include_ignored has no effect here"));
}

/// facts: Grep: the three modes, context, groups, pages.
#[test]
fn searches_are_told() {
    let line = |number, text: &str, is_match| GrepLine {
        path: "/w/a.py".into(),
        number,
        text: text.into(),
        is_match,
    };
    let matches = |lines, total| {
        Outcome::Matches(GrepOut {
            root: "/w".into(),
            lines,
            total,
            cut: false,
            searched: 12,
        })
    };
    let lines = || {
        vec![
            line(3, "x = 1", true),
            line(4, "y", false),
            line(9, "x", true),
        ]
    };
    let content = |more: &str| {
        let text = format!("{{\"pattern\": \"x\", \"output_mode\": \"content\"{more}}}");
        serde_json::from_str::<Value>(&text).expect("JSON")
    };
    assert_eq!(
        told("Grep", content(", \"-A\": 1"), matches(lines(), 2)),
        "a.py:3:x = 1\na.py-4-y\n--\na.py:9:x"
    );
    assert_eq!(
        told(
            "Grep",
            content(", \"-n\": false"),
            matches(vec![line(3, "x", true)], 1)
        ),
        "a.py:x"
    );
    let text = told(
        "Grep",
        content(", \"offset\": 4"),
        matches(vec![line(3, "x", true)], 9),
    );
    assert!(text.starts_with("a.py:3:x\nShown: 1 of 9 results; offset 5 "));
    assert_eq!(
        told("Grep", json!({"pattern": "x"}), matches(Vec::new(), 0)),
        "No non-sensitive matches found"
    );
    assert_eq!(
        told(
            "Grep",
            json!({"pattern": "x", "path": "/w"}),
            found(&["/w/a.py"], 1)
        ),
        "/w/a.py"
    );
    let counted = Outcome::Counted(CountOut {
        root: "/w/src".into(),
        files: vec![("/w/src/a.py".into(), 2), ("/w/src/b.py".into(), 1)],
        total_files: 5,
        total: 12,
    });
    let arguments = json!({"pattern": "x", "path": "src", "output_mode": "count_matches"});
    let text = told("Grep", arguments, counted);
    assert!(
        text.starts_with("Found 12 matching lines in 5 files.\nShown: 2 of 5 results; offset 2 ")
    );
    assert!(text.ends_with("\nsrc/a.py:2\nsrc/b.py:1"));
}

/// facts: TodoList: written, read and cleared.
#[test]
fn todos_are_told() {
    let todos = json!({"todos": [{"title": "look", "status": "done"}, {"title": "mend", "status": "in_progress"}]});
    let text = told("TodoList", todos, Outcome::Planned);
    assert!(text.starts_with(
        "Todo list updated.\nCurrent todo list:\n  [done] look\n  [in_progress] mend\n\n"
    ));
    let steps = vec![step("look", StepStatus::Pending)];
    assert_eq!(
        told("TodoList", json!({}), Outcome::Plan(steps)),
        "Current todo list:\n  [pending] look"
    );
    assert_eq!(
        told(
            "TodoList",
            json!({"todos": null}),
            Outcome::Plan(Vec::new())
        ),
        "Todo list is empty."
    );
    assert!(told("TodoList", json!({"todos": []}), Outcome::Planned).contains("is empty"));
    let wrong = json!({"todos": [{"title": "x", "status": "later"}]});
    let error = read(&KimiCode, call("TodoList", wrong)).expect_err("no such status");
    assert!(error.to_string().contains("pending, in_progress or done"));
}

/// facts: AskUserQuestion: JSON with the answers; without one, an error.
#[test]
fn answers_are_told() {
    let ask = || {
        json!({"questions": [
            {"question": "Which?", "options": [{"label": "A"}, {"label": "B"}], "multi_select": true},
            {"question": "When?", "options": [{"label": "now"}, {"label": "later"}]}]})
    };
    let given = vec![vec!["A".into(), "B".into()], vec!["now".into()]];
    assert_eq!(
        told("AskUserQuestion", ask(), Outcome::Answered(given)),
        r#"{"answers":{"Which?":"A, B","When?":"now"}}"#
    );
    let none = Outcome::Answered(vec![Vec::new(), Vec::new()]);
    assert!(told("AskUserQuestion", ask(), none).starts_with(ERROR));
}

/// facts: Agent: key lines, then the summary.
#[test]
fn agents_are_told() {
    let agent = || json!({"prompt": "p", "description": "d", "subagent_type": "explore"});
    let out = DelegateOut {
        id: 3,
        text: "It is in a.py.".into(),
        failure: None,
        actions: 2,
        tokens: 100,
        took: Duration::from_secs(2),
    };
    let expected = "agent_id: a00000003\nactual_subagent_type: explore\nstatus: completed\n\n[summary]\nIt is in a.py.";
    assert_eq!(
        told("Agent", agent(), Outcome::Delegated(out.clone())),
        expected
    );
    let broken = DelegateOut {
        failure: Some("the server is gone".into()),
        ..out
    };
    let text = told("Agent", agent(), Outcome::Delegated(broken));
    assert!(text.starts_with(ERROR) && text.ends_with("\nsubagent error: the server is gone"));
}
