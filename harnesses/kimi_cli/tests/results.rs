//! How what came of a call is told.

use super::*;

/// facts: ReadFile: the status first, always in the plural; numbers in six columns.
#[test]
fn files_are_told() {
    let arguments = || json!({"path": "a.py"});
    assert_eq!(
        parts("ReadFile", arguments(), read_out("x\ny\n", 1, 2)),
        [
            "<system>2 lines read from file starting from line 1. Total lines in file: 2. End of file reached.</system>",
            "     1\tx\n     2\ty\n"
        ]
    );
    let one = json!({"path": "a.py", "line_offset": 9, "n_lines": 1});
    assert_eq!(
        parts("ReadFile", one, read_out("x\n", 9, 20))[0],
        "<system>1 lines read from file starting from line 9. Total lines in file: 20.</system>"
    );
    let past = ToolError::PastEnd {
        path: "a.py".into(),
        line: 90,
        total: 30,
    };
    assert_eq!(
        parts("ReadFile", arguments(), Outcome::Failed(past)),
        ["<system>No lines read from file. Total lines in file: 30.</system>"]
    );
    let missing = ToolError::NotFound {
        path: "a.py".into(),
        instead: None,
    };
    let (text, is_error) = tell(
        &KimiCli,
        call("ReadFile", arguments()),
        Outcome::Failed(missing),
    );
    assert!(is_error && text.starts_with("<system>ERROR: \"a.py\" does not exist."));
    assert!(text.ends_with("</system>"));
}

/// facts: WriteFile, StrReplaceFile: a status and no output.
#[test]
fn changes_are_told() {
    let write = |mode: &str| json!({"path": "a.py", "content": "x\n", "mode": mode});
    for (mode, kind, verb) in [
        ("overwrite", ChangeKind::Update, "overwritten"),
        ("overwrite", ChangeKind::Add, "created"),
        ("append", ChangeKind::Update, "appended to"),
    ] {
        assert_eq!(
            parts("WriteFile", write(mode), changed(kind, 0, "grün\n")),
            [format!(
                "<system>a.py was {verb}. Current size: 6 bytes.</system>"
            )]
        );
    }
    assert_eq!(
        parts("StrReplaceFile", edit(), changed(ChangeKind::Update, 2, "")),
        ["<system>a.py was edited: 1 edit(s) applied, 2 total replacement(s).</system>"]
    );
    // The first of several places is taken, which is said.
    let Outcome::Changed(mut several) = changed(ChangeKind::Update, 1, "") else {
        panic!("a change")
    };
    several[0].before = Some("x\ny\nx\n".into());
    assert_eq!(
        parts("StrReplaceFile", edit(), Outcome::Changed(several)),
        [
            "<system>a.py was edited: 1 edit(s) applied, 1 total replacement(s). An old text stood at lines 1, 3; the first of them was replaced.</system>"
        ]
    );
    let none = ToolError::NoMatch {
        path: "a.py".into(),
        index: 0,
        near: Some("7: z".into()),
    };
    let text = told("StrReplaceFile", edit(), Outcome::Failed(none));
    assert!(text.starts_with("<system>ERROR: ") && text.contains("7: z"));
}

/// facts: Shell: status before output; failures and the time limit as errors.
#[test]
fn commands_are_told() {
    let out = |output, status| shell_out("make", output, status);
    assert_eq!(
        parts("Shell", make(), out("built\n", ShellStatus::Exited(0))),
        ["<system>Command executed successfully.</system>", "built\n"]
    );
    assert_eq!(
        parts("Shell", make(), out("", ShellStatus::Exited(0))),
        ["<system>Command executed successfully.</system>"]
    );
    assert_eq!(
        parts("Shell", make(), out("half", ShellStatus::Exited(2))),
        [
            "<system>ERROR: Command failed with exit code: 2.</system>",
            "half"
        ]
    );
    assert_eq!(
        parts("Shell", make(), out("half", ShellStatus::TimedOut)),
        [
            "<system>ERROR: Command killed by timeout (60s)</system>",
            "half"
        ]
    );
    let parts = parts("Shell", make(), long_shell_out("make"));
    assert!(
        parts[0].starts_with("<system>ERROR: Command failed with exit code: 3. The output was cut")
    );
    assert!(parts[0].contains("/home/ada/x/outputs/1.txt"));
    assert!(parts[1].contains("\n[...truncated]\n"));
}

/// facts: Shell in the background, TaskOutput, TaskList, TaskStop.
#[test]
fn tasks_are_told() {
    let arguments =
        json!({"command": "serve", "run_in_background": true, "description": "Serve it"});
    let lines = parts("Shell", arguments, running(""));
    assert!(lines[0].starts_with("<system>"));
    assert!(lines[1].starts_with(
        "task_id: bash-00000002\nkind: bash\nstatus: running\ndescription: Serve it\ncommand: serve\nautomatic_notification: true\n"
    ));
    assert_eq!(lines[1].matches("\nnext_step: ").count(), 3);
    assert!(lines[1].contains("\nhuman_shell_hint: "));
    let id = json!({"task_id": "bash-00000002"});
    let look = &parts("TaskOutput", id.clone(), running("up\n"))[1];
    assert!(look.starts_with("retrieval_status: not_ready\ntask_id: bash-00000002\nkind: bash\n"));
    assert!(look.ends_with("\n\n[output]\nup\n"));
    let wait = json!({"task_id": "bash-00000002", "block": true});
    assert!(parts("TaskOutput", wait, running(""))[1].starts_with("retrieval_status: timeout\n"));
    let ended = shell_out("serve", "", ShellStatus::Exited(1));
    let look = &parts("TaskOutput", id.clone(), ended)[1];
    assert!(look.starts_with("retrieval_status: success\n"));
    assert!(look.contains("\nstatus: failed\n") && look.contains("\nexit_code: 1\n"));
    let job = |id| JobOut {
        id,
        command: "serve".into(),
        status: ShellStatus::Running { id, pid: 0 },
        age: Duration::from_secs(9),
    };
    assert_eq!(
        told("TaskList", json!({}), Outcome::Jobs(vec![job(1), job(2)])),
        "active_background_tasks: 2\n\n[1]\ntask_id: bash-00000001\nkind: bash\nstatus: running\ncommand: serve\nage_s: 9\n\n[2]\ntask_id: bash-00000002\nkind: bash\nstatus: running\ncommand: serve\nage_s: 9"
    );
    assert!(told("TaskList", json!({}), Outcome::Jobs(Vec::new())).ends_with("[no tasks]"));
    let stopped = shell_out("serve", "", ShellStatus::Signaled(15));
    assert!(told("TaskStop", id, stopped).contains("status: killed"));
}

/// facts: Glob: sorted by path, the status in front. Grep: `./` below the working folder, page and
/// totals in the status.
#[test]
fn searches_are_told() {
    let found = |paths: &[&str], total| {
        Outcome::Found(FoundOut {
            root: "/w".into(),
            paths: paths.iter().map(PathBuf::from).collect(),
            total,
        })
    };
    assert_eq!(
        parts(
            "Glob",
            json!({"pattern": "*.py"}),
            found(&["/w/b.py", "/w/a.py"], 2)
        ),
        [
            "<system>Found 2 matches for pattern `*.py`.</system>",
            "a.py\nb.py"
        ]
    );
    let line = GrepLine {
        path: "/w/a.py".into(),
        number: 3,
        text: "x".into(),
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
    let content = |path: &str| json!({"pattern": "x", "path": path, "output_mode": "content"});
    assert_eq!(
        parts("Grep", content("."), out(vec![line.clone()], 1)),
        ["./a.py:3:x"]
    );
    assert_eq!(
        parts("Grep", content("/w"), out(vec![line.clone()], 1)),
        ["a.py:3:x"]
    );
    let paged = parts("Grep", content("."), out(vec![line], 9));
    assert!(paged[0].starts_with("<system>Shown: 1 of 9 results; offset 1 "));
    assert_eq!(paged[1], "./a.py:3:x");
    assert_eq!(
        parts("Grep", json!({"pattern": "x"}), found(&[], 0)),
        ["<system>No matches found.</system>"]
    );
    let counted = Outcome::Counted(CountOut {
        root: "/w".into(),
        files: vec![("/w/a.py".into(), 2)],
        total_files: 1,
        total: 2,
    });
    let arguments = json!({"pattern": "x", "output_mode": "count_matches"});
    assert_eq!(
        parts("Grep", arguments, counted),
        [
            "<system>Found 2 matching lines in 1 files.</system>",
            "./a.py:2"
        ]
    );
}

/// facts: SetTodoList.
#[test]
fn todos_are_told() {
    let todos = json!({"todos": [{"title": "look", "status": "done"}]});
    assert_eq!(
        parts("SetTodoList", todos, Outcome::Planned),
        ["<system>Todo list updated</system>", "Todo list updated"]
    );
    let steps = vec![PlanStep {
        text: "look".into(),
        status: StepStatus::Completed,
        id: None,
    }];
    assert_eq!(
        told("SetTodoList", json!({}), Outcome::Plan(steps)),
        "Current todo list:\n- [done] look"
    );
    assert_eq!(
        told("SetTodoList", json!({}), Outcome::Plan(Vec::new())),
        "Todo list is empty."
    );
}

/// facts: AskUserQuestion: a dismissed question is no error.
#[test]
fn answers_are_told() {
    let ask = || json!({"questions": [{"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]}]});
    assert_eq!(
        told(
            "AskUserQuestion",
            ask(),
            Outcome::Answered(vec![vec!["B".into()]])
        ),
        r#"{"answers":{"Which?":"B"}}"#
    );
    for outcome in [
        Outcome::Answered(vec![Vec::new()]),
        Outcome::Refused {
            reason: "nobody is there".into(),
        },
    ] {
        let (text, is_error) = tell(&KimiCli, call("AskUserQuestion", ask()), outcome);
        assert!(!is_error && text.starts_with(r#"{"answers":{},"note":""#));
    }
}

/// facts: Agent, ExitPlanMode.
#[test]
fn agents_and_plans_are_told() {
    let out = DelegateOut {
        id: 3,
        text: "Done.".into(),
        failure: None,
        actions: 2,
        tokens: 100,
        took: Duration::ZERO,
    };
    assert_eq!(
        parts(
            "Agent",
            json!({"description": "d", "prompt": "p"}),
            Outcome::Delegated(out)
        ),
        [
            "agent_id: a00000003\nresumed: false\nactual_subagent_type: coder\nstatus: completed\n\n[summary]\nDone."
        ]
    );
    let action = Action::Mode {
        planning: false,
        plan: "Do it.".into(),
    };
    let exit = call("ExitPlanMode", json!({}));
    let text = tell_action(&KimiCli, exit, action, Outcome::ModeSet).0;
    assert!(text.ends_with("\n\n## Approved Plan:\nDo it."));
}
