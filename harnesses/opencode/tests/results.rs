//! How what came of a call is told.

use super::*;

/// Facts, "read": layout, footers, long lines, folders.
#[test]
fn reads_are_told() {
    assert_eq!(
        told(file(), Outcome::Read(out())),
        "<path>/w/a.py</path>\n<type>file</type>\n<content>\n9: x\n10: \ty\n\n(Showing lines 9-10 of 30. Use offset=11 to continue.)\n</content>"
    );
    let footer = |out: ReadOut| {
        let text = told(file(), Outcome::Read(out));
        text.rsplit_once("\n\n")
            .map(|(_, footer)| footer.to_owned())
            .expect("a blank line")
    };
    let end = ReadOut { first: 29, ..out() };
    assert_eq!(footer(end), "(End of file - total 30 lines)\n</content>");
    let text = "0123456789 0123456789 0123456789 0123456789\n".repeat(200);
    let cut = ReadOut {
        text,
        first: 1,
        lines: 200,
        total: 5000,
        cut: true,
        ..out()
    };
    assert_eq!(
        footer(cut.clone()),
        "(Output capped at 28 KB. Showing lines 1-200. Use offset=201 to continue.)\n</content>"
    );
    // With room for them, all 50 KB.
    let done = Done {
        call: Some(file()),
        result: Ok((read(&Opencode, file()).expect("good"), Outcome::Read(cut))),
        notes: Vec::new(),
    };
    let text = Opencode.result(&done, 100_000).text();
    assert!(text.contains("(Output capped at 50 KB. Showing lines 1-200. Use offset=201"));
    let text = Opencode.result(&done, 4_000).text();
    assert!(text.contains("Use offset=") && text.len() <= 4_000);
    assert!(!text.contains("200: "));

    let long = ReadOut {
        text: "x".repeat(2001),
        first: 1,
        lines: 1,
        total: 1,
        ..out()
    };
    let text = told(file(), Outcome::Read(long));
    assert!(text.contains("1: xxx") && text.contains("x... (line truncated to 2000 chars)\n"));
    let empty = ReadOut {
        text: String::new(),
        first: 1,
        lines: 0,
        total: 0,
        ..out()
    };
    assert!(told(file(), Outcome::Read(empty)).contains("(End of file - total 0 lines)"));

    let entry = |name: &str, is_dir| Entry {
        name: name.into(),
        is_dir,
        size: 1,
    };
    let folder = |more| {
        Outcome::Listed(ListOut {
            path: "/w".into(),
            entries: vec![entry("src", true), entry("a.py", false)],
            ignored: 0,
            more,
        })
    };
    let part = call("read", json!({"filePath": ".", "offset": 3, "limit": 2}));
    assert!(
        told(part, folder(5))
            .ends_with("\n\n(Showing entries 3-4 of 9. Use offset=5 to continue.)\n</entries>")
    );
    assert_eq!(
        told(file(), folder(0)),
        "<path>/w</path>\n<type>directory</type>\n<entries>\nsrc/\na.py\n\n(2 entries)\n</entries>"
    );
}

/// Facts, "read": missing files and offsets past the end.
#[test]
fn failed_reads_are_told() {
    let missing = ToolError::NotFound {
        path: "b.py".into(),
        instead: Some("src/b.py".into()),
    };
    assert_eq!(
        tell(&Opencode, file(), Outcome::Failed(missing)),
        (
            "File not found: b.py\n\nDid you mean this one?\nsrc/b.py".into(),
            true
        )
    );
    let past = ToolError::PastEnd {
        path: "a.py".into(),
        line: 90,
        total: 30,
    };
    let text = told(file(), Outcome::Failed(past));
    assert!(text.contains("90") && text.contains("30"));
}

/// Facts, "edit", "write", "apply_patch": one sentence, no snippet; files of a patch.
#[test]
fn changes_are_told() {
    let changed = |kind| Outcome::Changed(vec![change(kind)]);
    assert_eq!(
        told(edit(), changed(ChangeKind::Update)),
        "The edit was applied."
    );
    let loose = FileChange {
        matched_by: Some(Pass::Indentation),
        ..change(ChangeKind::Update)
    };
    assert!(told(edit(), Outcome::Changed(vec![loose])).contains("indented like the file"));
    let write = call("write", json!({"filePath": "a.py", "content": "y\n"}));
    assert_eq!(
        told(write, changed(ChangeKind::Add)),
        "The file was written."
    );
    let patch = || call("apply_patch", json!({"patchText": "*** Begin Patch"}));
    let text = told(patch(), changed(ChangeKind::Add));
    assert_eq!(text.lines().nth(1), Some("A a.py"));
    // The same patch through the shell.
    let action = read(&Opencode, patch()).expect("a patch");
    assert_eq!(
        tell_action(&Opencode, bash(), action, changed(ChangeKind::Add)).0,
        text
    );
    let mismatch = ToolError::PatchMismatch {
        path: "a.py".into(),
        absolute: "/w/a.py".into(),
        expected: "x = 1".into(),
        near: None,
    };
    let text = told(patch(), Outcome::Failed(mismatch));
    assert!(text.starts_with("apply_patch verification failed: ") && text.ends_with("\nx = 1"));
}

/// Facts, "edit": the classes of failure, each with the next step.
#[test]
fn failed_edits_are_told() {
    let path = || "a.py".to_owned();
    for (error, part) in [
        (
            ToolError::NoMatch {
                path: path(),
                index: 0,
                near: Some("7: z".into()),
            },
            "7: z",
        ),
        (
            ToolError::Ambiguous {
                path: path(),
                index: 0,
                lines: vec![3, 8],
            },
            "lines 3, 8; add surrounding lines to make it unique, or set replaceAll to true",
        ),
        (ToolError::Identical { path: path() }, "the same"),
        (ToolError::Exists { path: path() }, "exists already"),
        (ToolError::IsFolder { path: path() }, "is a folder"),
        (
            ToolError::NotFound {
                path: path(),
                instead: None,
            },
            "File a.py not found\n\n",
        ),
    ] {
        let (text, is_error) = tell(&Opencode, edit(), Outcome::Failed(error));
        assert!(is_error && text.contains(part), "{text}");
    }
}

/// Facts, "bash": merged output, `(no output)`, the timeout in `<shell_metadata>`; beyond the
/// original, the exit code there as well.
#[test]
fn commands_are_told() {
    let out = |output, status| tell(&Opencode, bash(), shell_out("make", output, status));
    let expected = |text: &str| (text.to_owned(), false);
    assert_eq!(out("built\n", ShellStatus::Exited(0)), expected("built"));
    assert_eq!(out("", ShellStatus::Exited(0)), expected("(no output)"));
    assert_eq!(
        out("bad\n", ShellStatus::Exited(2)),
        expected("bad\n\n<shell_metadata>\nThe command ended with exit code 2.\n</shell_metadata>")
    );
    let (text, _) = out("half", ShellStatus::TimedOut);
    assert!(text.starts_with("half\n\n<shell_metadata>\n"));
    assert!(text.contains("120000 ms") && text.ends_with("\n</shell_metadata>"));
    let missing = ToolError::NotFound {
        path: "web".into(),
        instead: None,
    };
    assert!(told(bash(), Outcome::Failed(missing)).starts_with("NotFound: "));
}

/// Facts, "bash": above 2000 lines the tail stays, behind a mark and the file of the whole.
#[test]
fn the_tail_of_a_long_output_stays() {
    let done = Done {
        call: Some(bash()),
        result: Ok((
            read(&Opencode, bash()).expect("a command"),
            long_shell_out("make"),
        )),
        notes: Vec::new(),
    };
    let text = Opencode.result(&done, 100_000).text();
    assert!(text.starts_with(
        "...output truncated...\n\nFull output saved to: /home/ada/x/outputs/1.txt\n\n"
    ));
    assert!(text.contains("error: the middle broke"));
    assert!(text.contains("line number 1001\n") && !text.contains("line number 1000\n"));
    assert!(text.contains("line number 3000\n\n<shell_metadata>\n") && text.contains("code 3."));
}

/// Facts, "grep" and "glob".
#[test]
fn searches_are_told() {
    let line = |path: &str, number| GrepLine {
        path: path.into(),
        number,
        text: "x = 1".into(),
        is_match: true,
    };
    let lines = || vec![line("/w/a", 3), line("/w/a", 4), line("/w/b", 1)];
    let out = |lines, total, cut| {
        Outcome::Matches(GrepOut {
            root: "/w".into(),
            lines,
            total,
            cut,
            searched: 12,
        })
    };
    let grep = || call("grep", json!({"pattern": "x"}));
    let body = "/w/a:\n  Line 3: x = 1\n  Line 4: x = 1\n\n/w/b:\n  Line 1: x = 1";
    assert_eq!(
        told(grep(), out(lines(), 3, false)),
        format!("Found 3 matches\n{body}")
    );
    let text = told(grep(), out(lines(), 250, true));
    assert!(text.starts_with(&format!(
        "Found 3 matches (more matches available)\n{body}\n\n("
    )));
    assert_eq!(told(grep(), out(Vec::new(), 0, false)), "No files found");

    let found = |paths: &[&str], total| {
        Outcome::Found(FoundOut {
            root: "/w".into(),
            paths: paths.iter().map(Into::into).collect(),
            total,
        })
    };
    let glob = || call("glob", json!({"pattern": "*"}));
    assert_eq!(told(glob(), found(&["/w/b", "/w/a"], 2)), "/w/b\n/w/a");
    assert!(told(glob(), found(&["/w/b"], 300)).starts_with("/w/b\n\n("));
    assert_eq!(told(glob(), found(&[], 0)), "No files found");
}

/// Facts, "todowrite" and "task".
#[test]
fn plans_and_tasks_are_told() {
    let todos = json!({"todos": [{"content": "x", "status": "pending", "priority": "low"}]});
    assert_eq!(
        told(call("todowrite", todos), Outcome::Planned),
        "[\n  {\n    \"content\": \"x\",\n    \"status\": \"pending\",\n    \"priority\": \"low\"\n  }\n]"
    );
    let report = |failure: Option<&str>| {
        Outcome::Delegated(DelegateOut {
            id: 4,
            text: "It is in a.py.".into(),
            failure: failure.map(str::to_owned),
            actions: 3,
            tokens: 900,
            took: Duration::from_secs(2),
        })
    };
    let arguments = json!({"description": "d", "prompt": "p", "subagent_type": "explore"});
    let task = || call("task", arguments.clone());
    assert_eq!(
        told(task(), report(None)),
        "<task id=\"ses_4\" state=\"completed\">\n<task_result>\nIt is in a.py.\n</task_result>\n</task>"
    );
    let text = told(task(), report(Some("It reached its limit of steps.")));
    assert!(text.contains("state=\"error\"") && text.contains("limit of steps"));
    let mut arguments = arguments.clone();
    arguments["task_id"] = "ses_3".into();
    assert!(matches!(
        read(&Opencode, call("task", arguments)),
        Ok(Action::Delegate(part)) if part.agent.as_deref() == Some("3")
    ));
}

/// Facts, "Bad calls": the tool, `SchemaError(…\n  at ["path"]).`, then how to send it.
#[test]
fn misfits_are_told() {
    let done = |call: ToolCall| Done {
        result: Err(read(&Opencode, call.clone()).expect_err("a bad call")),
        call: Some(call),
        notes: Vec::new(),
    };
    let text = Opencode
        .result(&done(call("edit", json!({}))), 4_000)
        .text();
    assert!(text.starts_with(
        "The arguments of the edit tool do not fit: SchemaError(missing \"filePath\"\n  at [\"filePath\"]).\n"
    ));
    assert!(text.contains("Expected: {\"filePath\": string, "));
    let text = Opencode
        .result(&done(call("look", json!({}))), 4_000)
        .text();
    assert!(text.contains("look") && text.contains("bash"));
}
