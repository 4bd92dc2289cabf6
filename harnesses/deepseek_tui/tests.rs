//! Golden layouts of `deepseek-tui`: what the original sends. Facts: deepseek-tui.md.

use super::*;
use crate::harnesses::tests::{
    call, calls_return, context, instructions, long_shell_out, read, reply, shell_out, tell,
};
use crate::harnesses::{CallError, Size};
use crate::tools::action::{
    ChangeKind, Entry, FileChange, FoundOut, Grep, GrepLine, GrepOut, JobOut, ListOut, PatchForm,
    Read, ReadOut, ShellStatus, StepStatus, ToolError, Unique,
};
use serde_json::json;
use std::time::Duration;

fn facts() -> Value {
    serde_json::from_str(include_str!(
        "../../tests/fixtures/harness-facts/deepseek-tui.json"
    ))
    .expect("the fixture is JSON")
}

fn action(name: &str, arguments: Value) -> Action {
    read(&DeepseekTui, call(name, arguments)).expect("a good call")
}

fn told(name: &str, arguments: Value, outcome: Outcome) -> String {
    tell(&DeepseekTui, call(name, arguments), outcome).0
}

fn run() -> ToolCall {
    call("exec_shell", json!({"command": "make"}))
}

fn change() -> FileChange {
    FileChange {
        path: "/w/a.py".into(),
        shown: "a.py".into(),
        kind: ChangeKind::Update,
        moved_to: None,
        before: Some("x\ny\n".into()),
        after: Some("x\nz\n".into()),
        places: 1,
        lines: Some((2, 2)),
        matched_by: None,
    }
}

const DIFF: &str = "--- a/w/a.py\n+++ b/w/a.py\n@@ -1,2 +1,2 @@\n x\n-y\n+z\n";

/// The limits, against the recorded facts; and names that need no escape on the wire.
#[test]
fn constants_are_the_recorded_ones() {
    let facts = facts();
    let limits = &facts["request"]["limits"];
    assert_eq!(limits["read_default_lines"], calls::READ_LINES.0);
    assert_eq!(limits["read_max_lines"], calls::READ_LINES.1);
    assert_eq!(limits["read_window_bytes"], calls::READ_BYTES);
    assert_eq!(limits["shell_timeout_ms"], calls::TIMEOUT.0);
    assert_eq!(limits["shell_timeout_max_ms"], calls::TIMEOUT.1);
    assert_eq!(limits["shell_wait_default_ms"], calls::WAIT);
    assert_eq!(limits["grep_max_results"], calls::MATCHES);
    assert_eq!(limits["grep_context_lines_default"], calls::AROUND);
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

/// The searches, and the tools for background commands.
#[test]
fn searches_and_tasks_are_read() {
    assert!(matches!(
        action("grep_files", json!({"pattern": "x", "include": ["*.py", "*.rs"]})),
        Action::Grep(Grep { include: Some(glob), context: (2, 2), limit: 100, .. }) if glob == "{*.py,*.rs}"
    ));
    let glob = |query: &str| match action("file_search", json!({"query": query})) {
        Action::Glob { pattern, .. } => pattern,
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
            "total_matches": 2,
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

/// update_plan: in plan mode it ends the turn.
#[test]
fn a_plan_in_the_planning_mode_ends_the_turn() {
    let plan = json!({"plan": [{"step": "look", "status": "pending"}, {"step": "act", "status": "pending"}]});
    let given = action("update_plan", plan.clone());
    let Action::Plan { steps, .. } = &given else {
        panic!()
    };
    let over = |planning| {
        let mut state = State {
            planning,
            plan: steps.clone(),
            ..State::default()
        };
        let done = Done {
            call: Some(call("update_plan", plan.clone())),
            result: Ok((given.clone(), Outcome::Planned)),
            notes: Vec::new(),
        };
        DeepseekTui.results(&mut state, &[done], 4_000);
        let over = DeepseekTui.is_over(&state);
        DeepseekTui.user(&mut state, &Input::text("Yes."));
        assert_eq!(DeepseekTui.is_over(&state), None);
        over
    };
    assert_eq!(over(true).as_deref(), Some("1. look\n2. act"));
    assert_eq!(over(false), None);
}

/// One system message: instructions before the project, the environment after it.
#[test]
fn the_prompt_is_in_order() {
    let mut cx = context(Size::Full);
    cx.instructions = instructions();
    cx.developer_instructions = Some("Answer in German.".into());
    let start = DeepseekTui.begin(&cx);
    assert!(start.opening.is_empty());
    let places: Vec<Option<usize>> = [
        "\n## Mode\n",
        "<project_instructions source=\"AGENTS.md\">\nUse tabs.\n</project_instructions>",
        "## Project Context Pack\n<project_context_pack>\n{\n  \"project_name\": \"shop\"",
        "## Environment\n- platform: Linux 6.8.0 x86_64\n- shell: bash\n- pwd: /home/ada/projects/shop",
        "Answer in German.",
    ]
    .iter()
    .map(|part| start.system.find(part))
    .collect();
    assert!(
        places.iter().all(Option::is_some) && places.is_sorted(),
        "{places:?}"
    );
}

/// turn_meta stands before the words, is stored with them, and comes again when other files are
/// at work.
#[test]
fn turn_meta_is_made_once_a_change() {
    let start = DeepseekTui.begin(&context(Size::Full));
    let mut state = start.state.clone();
    let say = |state: &mut State, text: &str| DeepseekTui.user(state, &Input::text(text))[0].text();
    let first = say(&mut state, "Fix it.");
    assert_eq!(
        first,
        "<turn_meta>\nLocal date: 2025-03-01\nWorkspace: /home/ada/projects/shop\nKey files: README.md, setup.py\n</turn_meta>\n\nFix it."
    );
    assert_eq!(DeepseekTui.spoken(&start, &first), "Fix it.");
    assert_eq!(say(&mut state, "More."), "More.");
    for name in ["a.py", "b.py", "a.py"] {
        let out = ReadOut {
            path: format!("/home/ada/projects/shop/{name}").into(),
            text: "x\n".into(),
            first: 1,
            lines: 1,
            total: 1,
            cut: false,
            repeated: false,
        };
        let call = call("read_file", json!({"path": name}));
        let result = Ok((
            action("read_file", json!({"path": name})),
            Outcome::Read(out),
        ));
        let done = Done {
            call: Some(call),
            result,
            notes: Vec::new(),
        };
        DeepseekTui.results(&mut state, &[done], 4_000);
    }
    let text = say(&mut state, "And now?");
    assert!(
        text.starts_with("<turn_meta>\nActive paths: a.py, b.py\n"),
        "{text}"
    );
    assert!(text.ends_with("</turn_meta>\n\nAnd now?"));
    assert_eq!(say(&mut state, "Go on."), "Go on.");
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
    ];
    // The others ask for what one of these asks for.
    let but = [
        "checklist_add",
        "checklist_update",
        "git_diff",
        "git_log",
        "git_show",
        "git_status",
    ];
    calls_return(&DeepseekTui, "deepseek-v3", &calls, &but);
    let status = action("git_status", json!({}));
    let (name, arguments) = DeepseekTui.write(&status).expect("a command");
    assert_eq!((name, action(name, arguments)), ("exec_shell", status));
}
