//! Golden layouts of `opencode`; the facts are those of `opencode.md` and `opencode.json`.

use super::*;
use crate::harnesses::Size;
use crate::harnesses::tests::{
    call, calls_return, context, instructions, long_shell_out, read, shell_out, tell, tell_action,
};
use crate::tools::action::{
    ChangeKind, DelegateOut, Entry, FileChange, FoundOut, GrepLine, GrepOut, ListOut, Outcome,
    Pass, ReadOut, ShellStatus, StepStatus, ToolError, Unique,
};
use serde_json::json;

const GPT: &str = "gpt-5.5";

fn told(call: ToolCall, outcome: Outcome) -> String {
    tell(&Opencode, call, outcome).0
}

fn edit() -> ToolCall {
    let arguments = json!({"filePath": "a.py", "oldString": "x", "newString": "y"});
    call("edit", arguments)
}

fn file() -> ToolCall {
    call("read", json!({"filePath": "a.py"}))
}

fn bash() -> ToolCall {
    call("bash", json!({"command": "make"}))
}

/// Facts, `tool_sets`: a GPT model has `apply_patch` in place of `edit` and `write`.
#[test]
fn a_gpt_model_patches() {
    let offered = |model: &str| {
        let cx = Context {
            model: model.into(),
            ..context(Size::Full)
        };
        let start = Opencode.begin(&cx);
        let names: Vec<String> = start.tools.into_iter().map(|tool| tool.name).collect();
        let left_out: Vec<String> = start.left_out.into_iter().map(|(name, _)| name).collect();
        (names, left_out)
    };
    let facts: Value = serde_json::from_str(include_str!(
        "../../tests/fixtures/harness-facts/opencode.json"
    ))
    .expect("the fixture is JSON");
    for (model, set) in [("qwen3-coder:30b", "build"), (GPT, "gpt_family")] {
        let (names, left_out) = offered(model);
        let wanted: Vec<&str> = facts["tool_sets"][set]
            .as_array()
            .expect("names")
            .iter()
            .filter_map(Value::as_str)
            .filter(|name| !left_out.iter().any(|left| left == name))
            .collect();
        assert_eq!(names, wanted, "{model}");
    }
    assert!(offered(GPT).1.contains(&"edit".into()));
    for model in ["gpt-oss:20b", "gpt-4.1", "glm-4.6"] {
        assert!(offered(model).0.contains(&"edit".into()), "{model}");
    }
    let cx = Context {
        model: GPT.into(),
        ..context(Size::Full)
    };
    let start = Opencode.begin(&cx);
    assert!(start.system.contains("*** Begin Patch") && !start.system.contains("`edit`"));
    let patch = start.tools.first().expect("a tool");
    let recorded = &facts["tools_gpt_family"][0]["parameters"]["properties"];
    assert_eq!(
        patch.schema()["properties"]["patchText"]["type"],
        recorded["patchText"]["type"]
    );
}

/// Facts, `limits`: 2000 lines and 51,200 bytes from line 1; folders are listed.
#[test]
fn reads_are_read() {
    let expected = |first, lines| {
        Ok(Action::Read(Read {
            first,
            or_list: true,
            ..Read::new("a.py", Some(lines), 51_200)
        }))
    };
    assert_eq!(super::action(&file()), expected(1, 2000));
    let part = json!({"filePath": "a.py", "offset": 7, "limit": 5});
    assert_eq!(super::action(&call("read", part)), expected(7, 5));
    let zero = json!({"filePath": "a.py", "offset": 0, "limit": 0});
    assert_eq!(super::action(&call("read", zero)), expected(1, 2000));
    assert_eq!(
        super::action(&call("read", json!({"filePath": "a.PNG"}))),
        Ok(Action::ViewImage {
            path: "a.PNG".into()
        })
    );
}

/// Facts, 5: no read-before-edit rule; an empty `oldString` makes a file; 120,000 ms.
#[test]
fn deeds_are_read() {
    assert!(matches!(
        read(&Opencode, edit()),
        Ok(Action::Edit {
            unique: Unique::Require,
            read_first: false,
            may_create: true,
            ..
        })
    ));
    let Ok(Action::Shell(shell)) = read(&Opencode, bash()) else {
        panic!()
    };
    assert_eq!(shell.time_limit, Some(Duration::from_secs(120)));
    assert!(!shell.background && !shell.cwd_persists);
    assert!(matches!(
        read(&Opencode, call("grep", json!({"pattern": "x"}))),
        Ok(Action::Grep(Grep {
            ignore_case: false,
            limit: 100,
            ..
        }))
    ));
    let todos = json!({"todos": [
        {"content": "look", "status": "completed", "priority": "high"},
        {"content": "stop", "status": "cancelled", "priority": "low"}]});
    let Ok(Action::Plan { steps, .. }) = read(&Opencode, call("todowrite", todos)) else {
        panic!()
    };
    assert_eq!(steps.len(), 1);
    assert_eq!(steps[0].status, StepStatus::Completed);
    let task = |role: &str| {
        let arguments = json!({"description": "d", "prompt": "p", "subagent_type": role});
        read(&Opencode, call("task", arguments))
    };
    assert_eq!(
        task("explore"),
        Ok(Action::Delegate(Delegate {
            role: "explore".into(),
            title: "d".into(),
            prompt: "p".into(),
            read_only: true,
        }))
    );
    let error = task("plumber").expect_err("no such role").to_string();
    assert!(error.contains("general or explore"));
}

/// Every call has an action, and every action its call.
#[test]
fn calls_return_to_themselves() {
    let mut calls = vec![
        bash(),
        call(
            "bash",
            json!({"command": "ls", "timeout": 5000, "workdir": "src"}),
        ),
        edit(),
        call(
            "edit",
            json!({"filePath": "a", "oldString": "x", "newString": "", "replaceAll": true}),
        ),
        call("glob", json!({"pattern": "*.py", "path": "src"})),
        call(
            "grep",
            json!({"pattern": "x", "path": "src", "include": "*.py"}),
        ),
        file(),
        call("read", json!({"filePath": "a", "offset": 3, "limit": 9})),
        call("read", json!({"filePath": "a.png"})),
        call(
            "task",
            json!({"description": "d", "prompt": "p", "subagent_type": "general"}),
        ),
        call(
            "task",
            json!({"description": "d", "prompt": "p", "subagent_type": "explore"}),
        ),
        call(
            "todowrite",
            json!({"todos": [{"content": "x", "status": "pending", "priority": "low"}]}),
        ),
        call("write", json!({"content": "x\n", "filePath": "a"})),
    ];
    calls_return(&Opencode, "qwen3", &calls, &[]);
    calls.retain(|call| !["edit", "write"].contains(&call.name.as_str()));
    calls.push(call("apply_patch", json!({"patchText": "*** Begin Patch"})));
    calls_return(&Opencode, GPT, &calls, &[]);
}

/// Actions of other agents, as far as this surface has them.
#[test]
fn other_actions_find_a_call() {
    let write = |action| Opencode.write(&action);
    let list = Action::List {
        path: "src".into(),
        ignore: Vec::new(),
        respect_ignore: true,
        limit: 100,
    };
    assert_eq!(write(list), Some(("read", json!({"filePath": "src"}))));
    let grep = Grep {
        ignore_case: true,
        ..Grep::new("x", 9)
    };
    assert_eq!(
        write(Action::Grep(grep)),
        Some(("grep", json!({"pattern": "(?i)x"})))
    );
    let append = Action::Write {
        path: "a".into(),
        content: "x".into(),
        rule: WriteRule {
            append: true,
            ..WriteRule::default()
        },
    };
    assert_eq!(write(append), None);
    assert_eq!(write(Action::UndoEdit { path: "a".into() }), None);
}

fn out() -> ReadOut {
    ReadOut {
        path: "/w/a.py".into(),
        text: "x\n\ty\n".into(),
        first: 9,
        lines: 2,
        total: 30,
        cut: false,
        repeated: false,
    }
}

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

fn change(kind: ChangeKind) -> FileChange {
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
    assert!(told(call("task", arguments), report(None)).contains("task_id had no effect"));
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

/// Facts, 3: base prompt, `<env>`, then the instruction files by their absolute paths.
#[test]
fn the_system_prompt_is_in_order() {
    let mut cx = context(Size::Full);
    cx.instructions = instructions();
    let system = Opencode.begin(&cx).system;
    assert!(system.contains(
        "\n<env>\n  Working directory: /home/ada/projects/shop\n  Workspace root folder: /home/ada/projects/shop\n  Is directory a git repo: yes\n  Platform: Linux 6.8.0\n  Today's date: 2025-03-01\n</env>\nInstructions from: /home/ada/x/AGENTS.md\nBe kind.\nInstructions from: /home/ada/projects/shop/AGENTS.md\nUse tabs."
    ));
}

/// Facts, `tool_sets`: what a nested agent has.
#[test]
fn nested_agents_have_their_roles() {
    let cx = Context {
        depth: 1,
        ..context(Size::Full)
    };
    let names = |role| -> Vec<String> {
        let tools = Opencode.child(role, &cx).tools;
        tools.into_iter().map(|tool| tool.name).collect()
    };
    assert_eq!(names("explore"), ["bash", "glob", "grep", "read"]);
    assert!(names("general").contains(&"edit".into()));
    assert!(!names("general").contains(&"task".into()));
    let explore = Opencode.child("explore", &cx).system;
    assert!(explore.starts_with("You search a code base") && explore.contains("<env>"));
    assert!(!explore.contains("# Tone"));
    let general = Opencode.child("general", &cx).system;
    assert!(general.contains("your last message"));
}

/// Facts, 3: reminders are tagged.
#[test]
fn notices_are_reminders() {
    let items = Opencode.notice(&mut State::default(), &Notice::Planning(true));
    let text = items[0].text();
    assert!(text.starts_with("<system-reminder>\n") && text.ends_with("\n</system-reminder>"));
}

/// Facts, 7: the headings of a summary.
#[test]
fn a_summary_has_its_headings() {
    let ask = Opencode.compact(&context(Size::Full)).ask;
    for heading in [
        "Objective",
        "Important Details",
        "Work State",
        "Completed",
        "Active",
        "Blocked",
        "Next Move",
        "Relevant Files",
    ] {
        assert!(ask.contains(&format!("# {heading}\n")), "{heading}");
    }
}
