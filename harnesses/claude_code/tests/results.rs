//! How what came of a call is told.

use super::*;

/// Read: `{n}<TAB>{line}`, number flush left, joined by newline, no header or footer; an over-limit
/// whole read says `PARTIAL view`; an empty file and an offset past the end are notices.
#[test]
fn files_are_told() {
    let whole = || call("Read", json!({"file_path": "a.py"}));
    assert_eq!(told(whole(), read_out("x\n y\n", 1, 2)), "1\tx\n2\t y");
    let part = call(
        "Read",
        json!({"file_path": "a.py", "offset": 9, "limit": 2}),
    );
    assert_eq!(told(part, read_out("x\ny\n", 9, 30)), "9\tx\n10\ty");
    let text = told(whole(), read_out("x\ny\n", 1, 30));
    let (lines, notice) = text.split_once("\n\n").expect("a notice");
    assert_eq!(lines, "1\tx\n2\ty");
    assert!(
        notice.contains("PARTIAL view") && notice.contains("30") && notice.contains("offset 3")
    );
    let text = told(whole(), read_out("", 1, 0));
    assert!(text.starts_with("<system-reminder>\n") && text.contains("empty"));
    let past = Outcome::Failed(ToolError::PastEnd {
        path: "a.py".into(),
        line: 90,
        total: 30,
    });
    let (text, is_error) = tell(&ClaudeCode, whole(), past);
    assert!(text.starts_with("<system-reminder>\n") && text.contains("30 lines"));
    assert!(!is_error);
}

/// A file that is missing: an error that names the working folder.
#[test]
fn a_missing_file_is_told_with_the_folder() {
    let cx = context(Size::Full);
    let mut state = ClaudeCode.begin(&cx).state;
    let call = call("Read", json!({"file_path": "/work/a.py"}));
    let missing = ToolError::NotFound {
        path: "/work/a.py".into(),
        instead: Some("src/a.py".into()),
    };
    let done = Done {
        result: read(&ClaudeCode, call.clone()).map(|action| (action, Outcome::Failed(missing))),
        call: Some(call),
        notes: Vec::new(),
    };
    let text = ClaudeCode.results(&mut state, &[done], 4000)[0].text();
    assert!(text.starts_with("<tool_use_error>") && text.ends_with("</tool_use_error>"));
    for part in ["src/a.py", "/home/ada/projects/shop"] {
        assert!(text.contains(part), "{text}");
    }
}

/// Edit: one sentence with the path, and a parenthesis that no re-read is needed; `replace_all` says
/// that all occurrences changed. Write: created, or updated; no diff.
#[test]
fn changes_are_told() {
    let changed = |kind| Outcome::Changed(vec![change(kind)]);
    let current = "(Its state is known; no need to read it again.)";
    assert_eq!(
        tell(&ClaudeCode, edit(), changed(ChangeKind::Update)),
        (format!("The file /w/a.py was updated. {current}"), false)
    );
    let all =
        json!({"file_path": "a.py", "old_string": "x", "new_string": "y", "replace_all": true});
    let text = told(call("Edit", all), changed(ChangeKind::Update));
    assert!(
        text.contains("/w/a.py") && text.contains("All occurrences") && text.ends_with(current)
    );
    let write = || call("Write", json!({"file_path": "a.py", "content": "y\n"}));
    assert_eq!(
        told(write(), changed(ChangeKind::Add)),
        format!("File created at: /w/a.py {current}")
    );
    assert_eq!(
        told(write(), changed(ChangeKind::Update)),
        format!("The file /w/a.py was written anew. {current}")
    );
    let loose = FileChange {
        matched_by: Some(Pass::Indentation),
        ..change(ChangeKind::Update)
    };
    assert!(told(edit(), Outcome::Changed(vec![loose])).contains("another indentation"));
}

/// Edit: the classes of failure, wrapped and marked; N matches name N, suggest replace_all, and
/// echo the string.
#[test]
fn edit_failures_are_told() {
    let path = || "a.py".to_owned();
    for (error, parts) in [
        (
            ToolError::NotRead { path: path() },
            ["a.py has not been read", "Read it first"],
        ),
        (
            ToolError::ChangedSince { path: path() },
            ["was changed since", "Read it again"],
        ),
        (
            ToolError::NoMatch {
                path: path(),
                index: 0,
                near: Some("7: z".into()),
            },
            ["7: z", "\nString: x"],
        ),
        (
            ToolError::Ambiguous {
                path: path(),
                index: 0,
                lines: vec![3, 8],
            },
            ["2 times, at lines 3, 8", "replace_all to true.\nString: x"],
        ),
        (ToolError::Identical { path: path() }, ["the same", "a.py"]),
        (
            ToolError::NotFound {
                path: path(),
                instead: None,
            },
            ["a.py does not exist", "."],
        ),
    ] {
        let (text, is_error) = tell(&ClaudeCode, edit(), Outcome::Failed(error));
        assert!(is_error);
        assert!(
            text.starts_with("<tool_use_error>") && text.ends_with("</tool_use_error>"),
            "{text}"
        );
        for part in parts {
            assert!(text.contains(part), "{text}");
        }
    }
}

/// Bash: the output trimmed, without a header; `(Bash completed with no output)`; `Exit code {n}`
/// before the output of a failure; exit code 1 of a search is no failure.
#[test]
fn commands_are_told() {
    let run = |command: &str, output, status| {
        tell(
            &ClaudeCode,
            bash(json!({"command": command})),
            shell_out(command, output, status),
        )
    };
    let told = |text: &str, is_error| (text.to_owned(), is_error);
    assert_eq!(
        run("make", "\nbuilt\nwell\n\n", ShellStatus::Exited(0)),
        told("built\nwell", false)
    );
    assert_eq!(
        run("true", "", ShellStatus::Exited(0)),
        told("(Bash completed with no output)", false)
    );
    assert_eq!(
        run("make", "no rule\n", ShellStatus::Exited(2)),
        told("Exit code 2\nno rule", true)
    );
    assert_eq!(
        run("make", "", ShellStatus::Signaled(9)),
        told("Exit code 137", true)
    );
    for command in [
        "grep x a",
        "cd a && rg 'x|y'",
        "diff a b",
        "test -f a",
        "git diff a",
    ] {
        assert!(!run(command, "", ShellStatus::Exited(1)).1, "{command}");
    }
    assert!(run("git push", "", ShellStatus::Exited(1)).1);
    assert!(run("grep x a", "", ShellStatus::Exited(2)).1);
    let (text, is_error) = run("make", "half\n", ShellStatus::TimedOut);
    assert!(is_error && text.contains("120 s") && text.ends_with("\nhalf"));
}

/// A patch in the shell is applied by the program itself.
#[test]
fn a_patch_in_the_shell_is_told() {
    let patch = || Action::Patch {
        text: String::new(),
        form: crate::tools::action::PatchForm::Codex,
        dir: None,
    };
    let changed = Outcome::Changed(vec![change(ChangeKind::Add)]);
    let (text, is_error) = tell_action(&ClaudeCode, make(), patch(), changed);
    assert!(!is_error && text.ends_with("\nA a.py"));
    let failed = Outcome::Failed(ToolError::BadPatch { why: "bad".into() });
    assert_eq!(
        tell_action(&ClaudeCode, make(), patch(), failed),
        ("Exit code 1\nbad".into(), true)
    );
}

/// Above 30,000 characters: where it is saved and a preview of 2,000; a failure shows head and tail
/// of 10,000.
#[test]
fn long_output_is_cut() {
    let Outcome::Shell(failed) = long_shell_out("make") else {
        unreachable!()
    };
    let done = |out: ShellOut| Done {
        call: Some(make()),
        result: Ok((
            read(&ClaudeCode, make()).expect("good"),
            Outcome::Shell(out),
        )),
        notes: Vec::new(),
    };
    let good = ShellOut {
        status: ShellStatus::Exited(0),
        ..failed.clone()
    };
    let text = ClaudeCode.result(&done(good), 100_000).text();
    let (top, preview) = text
        .split_once("\n\nPreview (first 2KB):\n")
        .expect("a preview");
    assert!(top.starts_with("<persisted-output>\n") && top.contains("/home/ada/x/outputs/1.txt"));
    let head = preview.split("\n...\n").next().expect("a head");
    assert!(head.starts_with("line number 1\n") && head.len() <= 2000);
    assert!(head.lines().all(|line| line.starts_with("line number ")));
    assert!(preview.contains("error: the middle broke"));
    assert!(preview.ends_with("line number 3000\n</persisted-output>"));

    let text = ClaudeCode.result(&done(failed), 100_000).text();
    assert!(text.starts_with("Exit code 3\nline number 1\n") && text.ends_with("line number 3000"));
    assert!(text.len() < 10_500, "{}", text.len());
}

/// Background: id and output file at once, also after a timeout; a `<task-notification>` at the
/// end, with the id of the call.
#[test]
fn background_commands_are_told() {
    let start = || bash(json!({"command": "serve", "run_in_background": true}));
    let text = told(start(), running("", Some("/o/2.txt")));
    assert!(text.contains("ID: bash_2") && text.contains("/o/2.txt") && !text.contains("kill"));
    let text = told(make(), running("half\n", Some("/o/2.txt")));
    assert!(text.contains("after 120 s") && text.contains("bash_2") && text.ends_with("\nhalf"));

    let mut state = State::default();
    let done = Done {
        result: read(&ClaudeCode, start()).map(|action| (action, running("", None))),
        call: Some(start()),
        notes: Vec::new(),
    };
    ClaudeCode.results(&mut state, &[done], 4000);
    let ended = Notice::JobEnded {
        id: 2,
        command: "serve".into(),
        code: Some(1),
        file: Some("/o/2.txt".into()),
    };
    let expected = "<task-notification>\n<task-id>bash_2</task-id>\n<tool-use-id>call_1</tool-use-id>\n<output-file>/o/2.txt</output-file>\n<status>failed</status>\n<summary>The background command `serve` ended with exit code 1.</summary>\n</task-notification>";
    assert_eq!(
        ClaudeCode.notice(&mut state, &ended),
        [Item::user(expected)]
    );
    assert_eq!(state, State::default());
}

/// TaskOutput: five elements with blank lines between. TaskStop: a JSON object.
#[test]
fn tasks_are_told() {
    let look = |block| {
        call(
            "TaskOutput",
            json!({"task_id": "bash_2", "block": block, "timeout": 1000}),
        )
    };
    let expected = |retrieval: &str, status: &str, output: &str| {
        format!(
            "<retrieval_status>{retrieval}</retrieval_status>\n\n<task_id>bash_2</task_id>\n\n<task_type>local_bash</task_type>\n\n<status>{status}</status>\n\n<output>\n{output}\n</output>"
        )
    };
    assert_eq!(
        told(
            look(true),
            shell_out("serve", "ok\n", ShellStatus::Exited(0))
        ),
        expected("success", "completed", "ok")
    );
    assert_eq!(
        told(look(true), running("half\n", None)),
        expected("timeout", "running", "half")
    );
    assert_eq!(
        told(look(false), running("", None)),
        expected("not_ready", "running", "")
    );
    let failed = told(
        look(true),
        shell_out("serve", "bad\n", ShellStatus::Exited(3)),
    );
    assert_eq!(failed, expected("success", "failed", "Exit code 3\nbad"));
    let text = told(
        call("TaskStop", json!({"task_id": "bash_2"})),
        shell_out("serve", "", ShellStatus::Signaled(15)),
    );
    let stopped: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(stopped["task_id"], "bash_2");
    assert_eq!(stopped["task_type"], "local_bash");
    assert_eq!(stopped["command"], "serve");
    assert!(stopped["message"].is_string());
}

/// Glob: paths, one truncation line, `No files found`. Grep: `Found {n} files`; `path:line:text`;
/// counts and their total; `No matches found`.
#[test]
fn searches_are_told() {
    let glob = || call("Glob", json!({"pattern": "*.py"}));
    assert_eq!(
        told(glob(), found(&["/w/b.py", "/w/a.py"], 2)),
        "b.py\na.py"
    );
    let text = told(glob(), found(&["/w/b.py"], 3));
    assert!(text.starts_with("b.py\n(") && text.lines().count() == 2);
    assert_eq!(told(glob(), found(&[], 0)), "No files found");

    let grep = |mode: &str, more: Value| {
        let mut arguments = json!({"pattern": "x", "output_mode": mode});
        for (key, value) in more.as_object().into_iter().flatten() {
            arguments[key] = value.clone();
        }
        call("Grep", arguments)
    };
    let files = || grep("files_with_matches", json!({"path": "src"}));
    assert_eq!(
        told(files(), found(&["/w/b.py", "/w/a.py"], 2)),
        "Found 2 files\nsrc/b.py\nsrc/a.py"
    );
    let text = told(files(), found(&["/w/b.py"], 9));
    assert!(text.contains("\n\n[Showing results with pagination = limit: 1"));
    assert_eq!(told(files(), found(&[], 0)), "No files found");

    let line = |number, text: &str, is_match| GrepLine {
        path: "/w/a.py".into(),
        number,
        text: text.into(),
        is_match,
    };
    let lines = |lines, total, cut| {
        Outcome::Matches(GrepOut {
            root: "/w".into(),
            lines,
            total,
            cut,
            searched: 12,
        })
    };
    let one = || vec![line(3, "x = 1", true)];
    assert_eq!(
        told(grep("content", json!({})), lines(one(), 1, false)),
        "a.py:3:x = 1"
    );
    assert_eq!(
        told(
            grep("content", json!({"-n": false})),
            lines(one(), 1, false)
        ),
        "a.py:x = 1"
    );
    let around = vec![line(2, "a", false), line(3, "x", true), line(9, "x", true)];
    assert_eq!(
        told(grep("content", json!({"-B": 1})), lines(around, 2, false)),
        "a.py-2-a\na.py:3:x\n--\na.py:9:x"
    );
    let text = told(grep("content", json!({"offset": 4})), lines(one(), 5, true));
    assert!(text.contains("[Showing results with pagination = limit: 1, offset: 4"));
    assert_eq!(
        told(grep("content", json!({})), lines(Vec::new(), 0, false)),
        "No matches found"
    );
    let counted = Outcome::Counted(CountOut {
        root: "/w".into(),
        files: vec![("/w/a.py".into(), 2), ("/w/b.py".into(), 1)],
        total_files: 2,
        total: 3,
    });
    assert_eq!(
        told(grep("count", json!({})), counted),
        "a.py:2\nb.py:1\n\nFound 3 matching lines in 2 files."
    );
}

/// Agent: the last words, then a block with the id and `<usage>`; a note for an empty answer.
#[test]
fn delegation_is_told() {
    let agent = || call("Agent", json!({"description": "d", "prompt": "p"}));
    let out = |text: &str| {
        Outcome::Delegated(DelegateOut {
            id: 4,
            text: text.into(),
            failure: None,
            actions: 7,
            tokens: 1200,
            took: Duration::from_millis(2500),
        })
    };
    let usage = "<usage>total_tokens: 1200\ntool_uses: 7\nduration_ms: 2500</usage>";
    let text = told(agent(), out("It is in a.py:3.\n"));
    assert!(
        text.starts_with("It is in a.py:3.\nagentId: agent_4 ("),
        "{text}"
    );
    assert!(text.ends_with(usage));
    assert!(told(agent(), out(" ")).starts_with('('));
}
