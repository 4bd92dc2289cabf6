//! Golden layouts of `kimi-code`: what the original sends.

use super::*;
use crate::harnesses::format::kimi::tests::{changed, read_out};
use crate::harnesses::tests::{
    call, calls_return, context, instructions, long_shell_out, read, shell_out, tell, tell_action,
};
use crate::harnesses::{Size, tests::reply};
use crate::tools::action::{
    ChangeKind, CountOut, DelegateOut, FoundOut, GrepLine, GrepOut, JobOut, Outcome, Output,
    PatchForm, PlanStep, ShellOut, ShellStatus, StepStatus, ToolError, Unique,
};
use std::path::PathBuf;

const ERROR: &str = "<system>ERROR: Tool execution failed.</system>\n";

fn told(name: &str, arguments: Value, outcome: Outcome) -> String {
    tell(&KimiCode, call(name, arguments), outcome).0
}

fn failed(name: &str, arguments: Value, error: ToolError) -> String {
    let (text, is_error) = tell(&KimiCode, call(name, arguments), Outcome::Failed(error));
    assert!(is_error);
    text.strip_prefix(ERROR).expect("the mark of errors").into()
}

fn path() -> String {
    "a.py".into()
}

fn edit() -> Value {
    json!({"path": "a.py", "old_string": "x", "new_string": "y"})
}

fn make() -> Value {
    json!({"command": "make"})
}

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
        ("Glob", json!({"pattern": "*.py", "path": "src"})),
        ("Grep", json!({"pattern": "x"})),
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

fn running(output: &str) -> Outcome {
    Outcome::Shell(ShellOut {
        job: None,
        command: "serve".into(),
        dir: "/w".into(),
        output: Output {
            text: output.into(),
            bytes: output.len() as u64,
            file: Some("/o/2.txt".into()),
        },
        status: ShellStatus::Running { id: 2, pid: 77 },
        wall: Duration::from_millis(1500),
        fence: None,
    })
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

fn found(paths: &[&str], total: usize) -> Outcome {
    Outcome::Found(FoundOut {
        root: "/w".into(),
        paths: paths.iter().map(PathBuf::from).collect(),
        total,
    })
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

fn step(text: &str, status: StepStatus) -> PlanStep {
    PlanStep {
        text: text.into(),
        status,
        id: None,
    }
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

/// facts: `todo_reminder`: after ten replies without a change, with the numbered list.
#[test]
fn a_forgotten_todo_list_is_recalled() {
    let mut state = State {
        plan: vec![
            step("look", StepStatus::Completed),
            step("mend", StepStatus::InProgress),
        ],
        ..State::default()
    };
    let mut results = |done: &[Done]| KimiCode.results(&mut state, done, 1_000);
    let set = Done {
        call: Some(call("TodoList", json!({"todos": []}))),
        result: Ok((
            Action::Plan {
                steps: Vec::new(),
                explanation: None,
            },
            Outcome::Planned,
        )),
        notes: Vec::new(),
    };
    for _ in 0..5 {
        assert!(results(&[]).is_empty());
    }
    assert_eq!(results(&[set]).len(), 1);
    for round in 0..2 {
        for _ in 0..9 {
            assert!(results(&[]).is_empty(), "{round}");
        }
        let text = results(&[])[0].text();
        assert!(text.starts_with("<system-reminder>\n"));
        assert!(text.ends_with("\n\n1. [done] look\n2. [in_progress] mend\n</system-reminder>"));
    }
    state.plan.clear();
    for _ in 0..30 {
        assert!(KimiCode.results(&mut state, &[], 1_000).is_empty());
    }
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
    let agent = |more: &str| {
        let text = format!(
            "{{\"prompt\": \"p\", \"description\": \"d\", \"subagent_type\": \"explore\"{more}}}"
        );
        serde_json::from_str::<Value>(&text).expect("JSON")
    };
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
        told("Agent", agent(""), Outcome::Delegated(out.clone())),
        expected
    );
    let text = told(
        "Agent",
        agent(", \"run_in_background\": true"),
        Outcome::Delegated(out.clone()),
    );
    assert!(
        text.starts_with(expected) && text.contains("\n<system>run_in_background has no effect")
    );
    let broken = DelegateOut {
        failure: Some("the server is gone".into()),
        ..out
    };
    let text = told("Agent", agent(""), Outcome::Delegated(broken));
    assert!(text.starts_with(ERROR) && text.ends_with("\nsubagent error: the server is gone"));
}

/// EnterPlanMode: a numbered way to go; ExitPlanMode: the plan that was agreed to.
#[test]
fn planning_is_told() {
    let text = told("EnterPlanMode", json!({}), Outcome::ModeSet);
    assert!(text.contains("\n1. ") && text.contains("\n4. ") && text.contains("ExitPlanMode"));
    let Step::Act(mut actions) = KimiCode.read(
        &State::default(),
        &reply("Do it.", vec![call("ExitPlanMode", json!({}))]),
    ) else {
        panic!("a call is an action")
    };
    let action = actions.pop().expect("one").expect("a plan");
    let text = tell_action(
        &KimiCode,
        call("ExitPlanMode", json!({})),
        action,
        Outcome::ModeSet,
    )
    .0;
    assert!(text.ends_with("\n\n## Approved Plan:\nDo it."));
}

/// facts: background completion: one element with title, severity, a sentence and the output.
#[test]
fn the_end_of_a_task_is_a_notification() {
    let ended = |code, file: Option<&str>| {
        let notice = Notice::JobEnded {
            id: 2,
            command: "serve".into(),
            code,
            file: file.map(PathBuf::from),
        };
        let items = KimiCode.notice(&mut State::default(), &notice);
        assert_eq!(items.len(), 1);
        items[0].text()
    };
    assert_eq!(
        ended(Some(0), Some("/o/2.txt")),
        "<notification id=\"task:bash-00000002:completed\" category=\"task\" type=\"task.completed\" source_kind=\"background_task\" source_id=\"bash-00000002\">\nTitle: Background process completed\nSeverity: info\n`serve` ended with exit code 0.\n<output-file path=\"/o/2.txt\">\nIts output is in /o/2.txt\n</output-file>\n</notification>"
    );
    assert!(ended(Some(1), None).contains("type=\"task.failed\""));
    assert!(ended(None, None).contains("Title: Background process killed\nSeverity: warning\n"));
}

/// facts: Placement: AGENTS.md between seven backticks near the end of the prompt; the prompt of
/// the user; then a reminder as a message of its own.
#[test]
fn the_opening_is_in_order() {
    let mut cx = context(Size::Full);
    cx.instructions = instructions();
    let start = KimiCode.begin(&cx);
    assert!(start.opening.is_empty());
    assert!(start.system.contains(
        "\n\n```````\n<!-- From: /home/ada/x/AGENTS.md -->\nBe kind.\n\n<!-- From: /home/ada/projects/shop/AGENTS.md -->\nUse tabs.\n```````\n\n# Ultimate Reminders\n"
    ));
    assert!(
        start
            .system
            .contains("```\n├── src/\n├── tests/\n├── README.md\n└── setup.py\n```\n")
    );
    let mut state = start.state;
    let items = KimiCode.user(&mut state, &Input::text("Go."));
    assert_eq!(items[0], Item::user("Go."));
    assert!(
        items[1]
            .text()
            .starts_with("<system-reminder>\nNobody can be asked")
    );
    cx.tree = (0..40).map(|n| (format!("f{n}"), false)).collect();
    let system = KimiCode.begin(&cx).system;
    assert_eq!(system.matches("── f").count(), 30);
    assert!(system.contains("\n└── ... and 10 more\n```"));
}
