//! Golden layouts of `claude-code`, and what the whole family shares: what the original sends, by
//! tests/fixtures/harness-facts/claude-code.json and the notes on it.

use super::*;
use crate::harnesses::tests::{
    call, context, instructions, long_shell_out, read, reply, shell_out, tell, tell_action,
};
use crate::harnesses::{Input, Size};
use crate::tools::action::{
    AskedQuestion, Base, ChangeKind, CountOut, Delegate, DelegateOut, Escalation, FileChange,
    FoundOut, Grep, GrepLine, GrepOut, GrepWant, Outcome, Output, Pass, PlanStep, Read, ReadOut,
    Replace, Shell, ShellOut, ShellStatus, StepStatus, ToolError, Unique, WriteRule,
};
use serde_json::json;
use std::time::Duration;

fn told(call: ToolCall, outcome: Outcome) -> String {
    tell(&ClaudeCode, call, outcome).0
}

fn bash(arguments: Value) -> ToolCall {
    call("Bash", arguments)
}

fn make() -> ToolCall {
    bash(json!({"command": "make"}))
}

fn edit() -> ToolCall {
    let arguments = json!({"file_path": "a.py", "old_string": "x", "new_string": "y"});
    call("Edit", arguments)
}

fn person() -> Context {
    Context {
        interactive: true,
        ..context(Size::Full)
    }
}

/// Read: offset from 1, 0 like 1; 2000 lines; a picture is shown.
#[test]
fn reads_are_read() {
    let stretch = |arguments| match read(&ClaudeCode, call("Read", arguments)) {
        Ok(Action::Read(Read { first, lines, .. })) => (first, lines),
        other => panic!("{other:?}"),
    };
    assert_eq!(stretch(json!({"file_path": "a"})), (1, Some(2000)));
    assert_eq!(
        stretch(json!({"file_path": "a", "offset": 0})),
        (1, Some(2000))
    );
    assert_eq!(
        stretch(json!({"file_path": "a", "offset": 10, "limit": 5})),
        (10, Some(5))
    );
    assert_eq!(
        read(&ClaudeCode, call("Read", json!({"file_path": "a.PNG"}))),
        Ok(Action::ViewImage {
            path: "a.PNG".into()
        })
    );
}

/// Bash: 120,000 ms, at most 600,000; into the background at the limit, unless it sleeps; the
/// folder persists.
#[test]
fn commands_are_read() {
    let shell = |arguments| match read(&ClaudeCode, bash(arguments)) {
        Ok(Action::Shell(shell)) => shell,
        other => panic!("{other:?}"),
    };
    let seconds = |n| Some(Duration::from_secs(n));
    let plain = shell(json!({"command": "make"}));
    assert_eq!(plain.time_limit, seconds(120));
    assert_eq!(plain.on_timeout, OnTimeout::Background);
    assert!(plain.cwd_persists && plain.escalate.is_none());
    let long = shell(json!({"command": "sleep 900", "timeout": 900_000}));
    assert_eq!(long.time_limit, seconds(600));
    assert_eq!(long.on_timeout, OnTimeout::Kill);
    let server = shell(json!({"command": "serve", "run_in_background": true}));
    assert_eq!((server.time_limit, server.background), (None, true));
    let outside = shell(
        json!({"command": "curl x", "description": "Fetch x", "dangerouslyDisableSandbox": true}),
    );
    assert_eq!(
        outside.escalate.and_then(|wish| wish.justification),
        Some("Fetch x".into())
    );
}

/// Grep: files by default, 250 of them, 0 for all.
#[test]
fn searches_are_read() {
    let grep = |arguments| match read(&ClaudeCode, call("Grep", arguments)) {
        Ok(Action::Grep(query)) => query,
        other => panic!("{other:?}"),
    };
    let plain = grep(json!({"pattern": "x"}));
    assert_eq!(
        (plain.want, plain.limit, plain.skip),
        (GrepWant::Files, 250, 0)
    );
    let all = grep(
        json!({"pattern": "x", "head_limit": 0, "offset": 3, "-C": 2, "-A": 5, "-i": true,
        "type": "py", "glob": "*.py", "multiline": true, "output_mode": "content"}),
    );
    assert_eq!(
        (all.want, all.context, all.skip),
        (GrepWant::Lines, (2, 5), 3)
    );
    assert!(all.limit >= 20_000 && all.ignore_case && all.multiline);
    assert_eq!(all.file_type.as_deref(), Some("py"));
    assert_eq!(
        grep(json!({"pattern": "x", "output_mode": "count"})).want,
        GrepWant::Counts
    );
}

/// TaskOutput, TaskStop: by the id that Bash gave; shell_id is the old name.
#[test]
fn tasks_are_read() {
    let task = |name, arguments| read(&ClaudeCode, call(name, arguments));
    let wait = |ms| {
        Ok(Action::ShellWait {
            id: Some(3),
            wait: Duration::from_millis(ms),
            all: true,
        })
    };
    let output = |block, timeout| {
        task(
            "TaskOutput",
            json!({"task_id": "bash_3", "block": block, "timeout": timeout}),
        )
    };
    assert_eq!(output(true, 30_000), wait(30_000));
    assert_eq!(output(true, 9_000_000), wait(600_000));
    assert_eq!(output(false, 30_000), wait(0));
    for key in ["task_id", "shell_id"] {
        assert_eq!(
            task("TaskStop", json!({key: "bash_3"})),
            Ok(Action::ShellStop { id: 3 })
        );
    }
    assert!(task("TaskStop", json!({"task_id": "the server"})).is_err());
}

/// Agent: general-purpose by default; Explore and Plan only look.
#[test]
fn delegation_is_read() {
    let part = |kind: Option<&str>| {
        let mut arguments =
            json!({"description": "find it", "prompt": "Find x.", "run_in_background": true});
        if let Some(kind) = kind {
            arguments["subagent_type"] = kind.into();
        }
        match read(&ClaudeCode, call("Agent", arguments)) {
            Ok(Action::Delegate(part)) => (part.role, part.read_only),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(part(None), ("general-purpose".into(), false));
    assert_eq!(part(Some("Explore")), ("Explore".into(), true));
    assert_eq!(part(Some("Plan")), ("Plan".into(), true));
    assert_eq!(part(Some("code-reviewer")), ("code-reviewer".into(), false));
}

/// ExitPlanMode has no plan argument: the plan is the text of the reply.
#[test]
fn the_plan_is_the_text_of_the_reply() {
    let leave = || vec![call("ExitPlanMode", json!({}))];
    let step = |text: &str| ClaudeCode.read(&State::default(), &reply(text, leave()));
    assert_eq!(
        step("1. Do it.\n"),
        Step::Act(vec![Ok(Action::Mode {
            planning: false,
            plan: "1. Do it.".into()
        })])
    );
    let Step::Act(actions) = step(" ") else {
        panic!()
    };
    assert!(matches!(&actions[0], Err(CallError::Refused(why)) if why.contains("ExitPlanMode")));
    let step = ClaudeCode.read(
        &State::default(),
        &reply("", vec![call("EnterPlanMode", json!({}))]),
    );
    assert_eq!(
        step,
        Step::Act(vec![Ok(Action::Mode {
            planning: true,
            plan: String::new()
        })])
    );
}

/// AskUserQuestion: 1 to 4 questions.
#[test]
fn questions_are_read_and_answers_told() {
    let question = |text: &str| {
        json!({"question": text, "header": "Which", "multiSelect": true,
            "options": [{"label": "A", "description": "the first"}, {"label": "B", "description": ""}]})
    };
    let ask = |questions: Vec<Value>| call("AskUserQuestion", json!({"questions": questions}));
    let Ok(Action::Ask { questions }) = read(&ClaudeCode, ask(vec![question("A or B?")])) else {
        panic!()
    };
    assert_eq!(
        questions,
        [AskedQuestion {
            id: None,
            header: "Which".into(),
            question: "A or B?".into(),
            options: vec![
                ("A".into(), "the first".into()),
                ("B".into(), String::new())
            ],
            several: true,
        }]
    );
    assert!(read(&ClaudeCode, ask(vec![])).is_err());
    assert!(read(&ClaudeCode, ask(vec![question("x"); 5])).is_err());
    let answers = vec![vec!["A".into(), "B".into()]];
    assert_eq!(
        told(ask(vec![question("A or B?")]), Outcome::Answered(answers)),
        "The user answered: \"A or B?\"=\"A, B\". Go on with that in mind."
    );
}

fn read_out(text: &str, first: usize, total: usize) -> Outcome {
    Outcome::Read(ReadOut {
        path: "/w/a.py".into(),
        text: text.into(),
        first,
        lines: text.lines().count(),
        total,
        cut: false,
        repeated: false,
    })
}

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

pub fn change(kind: ChangeKind) -> FileChange {
    FileChange {
        path: "/w/a.py".into(),
        shown: "a.py".into(),
        kind,
        moved_to: None,
        before: None,
        after: Some("y\n".into()),
        places: 1,
        lines: Some((1, 1)),
        matched_by: None,
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

fn running(output: &str, file: Option<&str>) -> Outcome {
    Outcome::Shell(ShellOut {
        job: None,
        command: "serve".into(),
        dir: "/w".into(),
        output: Output {
            text: output.into(),
            bytes: output.len() as u64,
            file: file.map(Into::into),
        },
        status: ShellStatus::Running { id: 2, pid: 77 },
        wall: Duration::ZERO,
        fence: None,
    })
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

fn found(paths: &[&str], total: usize) -> Outcome {
    Outcome::Found(FoundOut {
        root: "/w".into(),
        paths: paths.iter().map(Into::into).collect(),
        total,
    })
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

fn todos(status: &str) -> ToolCall {
    let todo = json!({"content": "Look", "status": status, "activeForm": "Looking"});
    call("TodoWrite", json!({"todos": [todo]}))
}

/// TodoWrite: a fixed sentence; after 10 stale steps a reminder at the end of a result, once for
/// each list.
#[test]
fn stale_todos_are_told_once() {
    let mut state = ClaudeCode.begin(&context(Size::Full)).state;
    let done = |call: ToolCall, outcome: Outcome| Done {
        result: read(&ClaudeCode, call.clone()).map(|action| (action, outcome)),
        call: Some(call),
        notes: Vec::new(),
    };
    let write = |state: &mut State, status| {
        let done = done(todos(status), Outcome::Planned);
        if let Ok((Action::Plan { steps, .. }, _)) = &done.result {
            state.plan = steps.clone();
        }
        let text = ClaudeCode.results(state, &[done], 4000)[0].text();
        assert!(text.contains("todo list was saved"));
    };
    let steps = |state: &mut State, count: usize| -> Vec<String> {
        let ok = || shell_out("make", "ok\n", ShellStatus::Exited(0));
        (0..count)
            .map(|_| ClaudeCode.results(state, &[done(make(), ok())], 4000)[0].text())
            .collect()
    };
    write(&mut state, "in_progress");
    let texts = steps(&mut state, 25);
    for (at, text) in texts.iter().enumerate() {
        if at == 9 {
            assert!(text.starts_with("ok\n\n<system-reminder>\n"), "{text}");
            assert!(text.contains("\n1. [in_progress] Look\n</system-reminder>"));
        } else {
            assert_eq!(text, "ok", "{at}");
        }
    }
    write(&mut state, "in_progress");
    assert!(steps(&mut state, 10)[9].contains("<system-reminder>"));
    // Nothing is left to do, so there is nothing to remind of.
    write(&mut state, "completed");
    assert_eq!(steps(&mut state, 12).join(""), "ok".repeat(12));
    // Where there is no such tool there is no reminder.
    let mut tiny = ClaudeCode.begin(&context(Size::Tiny)).state;
    assert_eq!(steps(&mut tiny, 12).join(""), "ok".repeat(12));
}

/// Agent: the last words, then a block with the id and `<usage>`; a note for an empty answer.
#[test]
fn delegation_is_told() {
    let agent = |background| {
        call(
            "Agent",
            json!({"description": "d", "prompt": "p", "run_in_background": background}),
        )
    };
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
    let text = told(agent(false), out("It is in a.py:3.\n"));
    assert!(
        text.starts_with("It is in a.py:3.\nagentId: agent_4 ("),
        "{text}"
    );
    assert!(text.ends_with(usage));
    assert!(told(agent(false), out(" ")).starts_with('('));
    assert!(told(agent(true), out("x")).contains("did not run in the background"));
}

/// Plan mode: no edits until ExitPlanMode is approved; told in tags of the program.
#[test]
fn plan_mode_is_told() {
    let mut state = ClaudeCode.begin(&person()).state;
    let notice = |state: &mut State, on| {
        let items = ClaudeCode.notice(state, &Notice::Planning(on));
        items.iter().map(Item::text).collect::<String>()
    };
    let text = notice(&mut state, true);
    assert!(text.starts_with("<system-reminder>\n") && text.contains("call ExitPlanMode"));
    assert!(notice(&mut state, false).contains("ended"));
    // Where nobody can be asked there is no such tool.
    let mut alone = ClaudeCode.begin(&context(Size::Full)).state;
    assert!(!notice(&mut alone, true).contains("ExitPlanMode"));
    let enter = call("EnterPlanMode", json!({}));
    assert!(told(enter, Outcome::ModeSet).contains("ExitPlanMode"));
    let action = Action::Mode {
        planning: false,
        plan: "x".into(),
    };
    let leave = call("ExitPlanMode", json!({}));
    let text = tell_action(&ClaudeCode, leave, action, Outcome::ModeSet).0;
    assert!(text.contains("agreed to the plan"));
}

/// First user message: a reminder with `# claudeMd`, then `# currentDate`; nothing of it in the
/// system prompt.
#[test]
fn the_opening_is_in_order() {
    let mut cx = context(Size::Full);
    cx.instructions = instructions();
    let start = ClaudeCode.begin(&cx);
    let [Item::User { .. }] = start.opening.as_slice() else {
        panic!("{:?}", start.opening)
    };
    let text = start.opening[0].text();
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
    assert!(text.starts_with("<system-reminder>\n") && text.ends_with("\n</system-reminder>"));
    assert!(at("# claudeMd\n") < at("Contents of ~/x/AGENTS.md:\n\nBe kind."));
    assert!(at("Be kind.") < at("Contents of AGENTS.md:\n\nUse tabs."));
    assert!(at("Use tabs.") < at("# currentDate\n"));
    assert!(text.contains("2025-03-01") && !start.system.contains("2025-03-01"));
    assert!(start.system.contains("yes, on the branch main"));
    let input = Input::text("x");
    let items = ClaudeCode.user(&mut start.state.clone(), &input);
    assert_eq!(items, [Item::user("x")]);
}

/// Subagents: no questions, no plan mode, no TaskOutput; an explorer does not write; an `<env>`
/// block and a line about the model.
#[test]
fn children_see_their_part() {
    let cx = Context {
        depth: 1,
        ..person()
    };
    let names = |start: &Start| -> Vec<String> {
        start.tools.iter().map(|tool| tool.name.clone()).collect()
    };
    let general = ClaudeCode.child("general-purpose", &cx);
    assert_eq!(
        names(&general),
        [
            "Bash",
            "Edit",
            "Glob",
            "Grep",
            "Read",
            "TaskStop",
            "TodoWrite",
            "Write"
        ]
    );
    let explorer = ClaudeCode.child("Explore", &cx);
    assert_eq!(
        names(&explorer),
        ["Bash", "Glob", "Grep", "Read", "TaskStop", "TodoWrite"]
    );
    let planner = ClaudeCode.child("plan", &cx);
    let systems = [&general.system, &explorer.system, &planner.system];
    for system in systems {
        assert!(system.contains("<env>\nWorking directory: /home/ada/projects/shop\n"));
        assert!(system.ends_with("qwen3-coder:30b."));
        assert!(!system.contains("%%") && !system.contains("{git"));
    }
    assert!(systems[0] != systems[1] && systems[1] != systems[2]);
    assert!(explorer.left_out.iter().any(|(name, _)| name == "Write"));
    assert_eq!(ClaudeCode.child("code-reviewer", &cx), general);
}

/// Everything that a call can ask for is written as that call.
#[test]
fn what_is_written_is_read_the_same() {
    for action in actions() {
        let (name, arguments) = ClaudeCode.write(&action).expect("a tool for it");
        assert_eq!(
            read(&ClaudeCode, call(name, arguments)),
            Ok(action),
            "{name}"
        );
        let offered = ClaudeCode.begin(&person()).tools;
        assert!(offered.iter().any(|tool| tool.name == name), "{name}");
    }
    let other = Action::UndoEdit { path: "a".into() };
    assert_eq!(ClaudeCode.write(&other), None);
    // Steps of another agent have ids, and commands a folder.
    let step = PlanStep {
        text: "Look".into(),
        status: StepStatus::Pending,
        id: Some("1".into()),
    };
    let plan = Action::Plan {
        steps: vec![step],
        explanation: None,
    };
    let todo = json!({"content": "Look", "status": "pending", "activeForm": "Look"});
    let written = ClaudeCode.write(&plan);
    assert_eq!(written, Some(("TodoWrite", json!({"todos": [todo]}))));
    let there = Shell {
        dir: Some("it's".into()),
        ..Shell::new("ls", Duration::from_secs(120))
    };
    let expected = json!({"command": r"(cd 'it'\''s' && ls)"});
    assert_eq!(
        ClaudeCode.write(&Action::Shell(there)),
        Some(("Bash", expected))
    );
}

/// One action for each tool of the family, as its calls ask for it.
pub fn actions() -> Vec<Action> {
    let shell = Shell {
        on_timeout: OnTimeout::Background,
        cwd_persists: true,
        ..Shell::new("make", Duration::from_secs(300))
    };
    let edit = |unique| Action::Edit {
        path: "a".into(),
        edits: vec![Replace {
            old: "x".into(),
            new: "y".into(),
        }],
        base: Base::Original,
        unique,
        passes: Pass::ALL.to_vec(),
        read_first: true,
        may_create: true,
    };
    vec![
        Action::Read(Read {
            first: 7,
            ..Read::new("a", Some(20), 75_000)
        }),
        Action::ViewImage {
            path: "a.png".into(),
        },
        Action::Write {
            path: "a".into(),
            content: "x".into(),
            rule: WriteRule {
                read_first: true,
                ..WriteRule::default()
            },
        },
        edit(Unique::Require),
        edit(Unique::All),
        Action::Glob {
            pattern: "*.py".into(),
            path: Some("src".into()),
            limit: 100,
        },
        Action::Grep(Grep {
            want: GrepWant::Files,
            ..Grep::new("x", 250)
        }),
        Action::Grep(Grep {
            path: Some("src".into()),
            include: Some("*.py".into()),
            file_type: Some("py".into()),
            ignore_case: true,
            multiline: true,
            context: (1, 2),
            skip: 3,
            ..Grep::new("x", 20_000)
        }),
        Action::Grep(Grep {
            want: GrepWant::Counts,
            ..Grep::new("x", 9)
        }),
        Action::Shell(shell.clone()),
        Action::Shell(Shell {
            escalate: Some(Escalation {
                justification: Some("May I?".into()),
                prefix: Vec::new(),
            }),
            ..shell.clone()
        }),
        Action::Shell(Shell {
            time_limit: None,
            background: true,
            cwd_persists: false,
            ..shell
        }),
        Action::ShellWait {
            id: Some(2),
            wait: Duration::from_secs(5),
            all: true,
        },
        Action::ShellWait {
            id: Some(2),
            wait: Duration::ZERO,
            all: true,
        },
        Action::ShellStop { id: 2 },
        Action::Plan {
            steps: vec![PlanStep {
                text: "Look".into(),
                status: StepStatus::InProgress,
                id: None,
            }],
            explanation: None,
        },
        Action::Mode {
            planning: true,
            plan: String::new(),
        },
        Action::Mode {
            planning: false,
            plan: "Do it.".into(),
        },
        Action::Ask {
            questions: vec![AskedQuestion {
                id: None,
                header: "Which".into(),
                question: "A or B?".into(),
                options: vec![("A".into(), "a".into()), ("B".into(), "b".into())],
                several: false,
            }],
        },
        Action::Delegate(Delegate {
            role: "Explore".into(),
            title: "find it".into(),
            prompt: "Find x.".into(),
            read_only: true,
        }),
    ]
}
