//! Golden layouts of `pi`; the facts are those of `pi.md` and `pi.json`.

use super::*;
use crate::harnesses::Size;
use crate::harnesses::tests::{
    call, calls_return, context, instructions, long_shell_out, read, shell_out, tell,
};
use crate::tools::action::{
    ChangeKind, FileChange, Outcome, Output, ReadOut, ShellStatus, ToolError,
};
use serde_json::json;

fn told(call: ToolCall, outcome: Outcome) -> String {
    tell(&Pi, call, outcome).0
}

fn bash() -> ToolCall {
    call("bash", json!({"command": "make"}))
}

fn file() -> ToolCall {
    call("read", json!({"path": "a.py"}))
}

fn edit(count: usize) -> ToolCall {
    let edits: Vec<Value> = (0..count)
        .map(|n| json!({"oldText": format!("x{n}"), "newText": "y"}))
        .collect();
    call("edit", json!({"path": "a.py", "edits": edits}))
}

/// Facts, 3: 2000 lines, 50 KB, from line 1; all edits against the original; seconds.
#[test]
fn calls_are_read() {
    let stretch = |arguments| match read(&Pi, call("read", arguments)) {
        Ok(Action::Read(read)) => (read.first, read.lines, read.max_bytes),
        other => panic!("{other:?}"),
    };
    assert_eq!(stretch(json!({"path": "a"})), (1, Some(2000), 51_200));
    assert_eq!(
        stretch(json!({"path": "a", "offset": 7, "limit": 9999})),
        (7, Some(2000), 51_200)
    );
    let Ok(Action::Edit {
        edits,
        base: Base::Original,
        unique: Unique::Require,
        read_first: false,
        may_create: false,
        ..
    }) = read(&Pi, edit(2))
    else {
        panic!()
    };
    assert_eq!(edits.len(), 2);
    let limit = |arguments| match read(&Pi, call("bash", arguments)) {
        Ok(Action::Shell(shell)) => shell.time_limit,
        other => panic!("{other:?}"),
    };
    let seconds = |n| Some(Duration::from_secs(n));
    assert_eq!(limit(json!({"command": "make", "timeout": 5})), seconds(5));
    // The original has no limit; every wait of ours has one.
    assert_eq!(limit(json!({"command": "make"})), seconds(600));
}

/// Facts, "edit": an empty list and an empty text are errors.
#[test]
fn bad_edits_are_explained() {
    for (edits, part) in [
        (json!([]), "\"edits\" must be a list"),
        (
            json!([{"oldText": "", "newText": "x"}]),
            "\"edits[0].oldText\" is empty",
        ),
        (
            json!([{"oldText": "x"}]),
            "\"edits[0].newText\" must be a string",
        ),
    ] {
        let call = call("edit", json!({"path": "a", "edits": edits}));
        let error = read(&Pi, call).expect_err("a bad call").to_string();
        assert!(error.contains(part), "{error}");
    }
}

/// Every call has an action, and every action its call.
#[test]
fn calls_return_to_themselves() {
    let calls = [
        file(),
        call("read", json!({"path": "a", "offset": 3, "limit": 9})),
        call("read", json!({"path": "a.png"})),
        bash(),
        call("bash", json!({"command": "make", "timeout": 5})),
        edit(1),
        edit(3),
        call("write", json!({"path": "a", "content": "x\n"})),
    ];
    calls_return(&Pi, "qwen3", &calls, &[]);
    let elsewhere = Shell {
        dir: Some("web".into()),
        ..Shell::new("make", TIMEOUT)
    };
    assert_eq!(Pi.write(&Action::Shell(elsewhere)), None);
    let all = Action::Edit {
        path: "a".into(),
        edits: vec![Replace {
            old: "x".into(),
            new: "y".into(),
        }],
        base: Base::Original,
        unique: Unique::All,
        passes: Vec::new(),
        read_first: false,
        may_create: false,
    };
    assert_eq!(Pi.write(&all), None);
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

/// Facts, "read": raw text and the two footers.
#[test]
fn reads_are_told() {
    let whole = ReadOut {
        first: 1,
        total: 2,
        ..out()
    };
    assert_eq!(told(file(), Outcome::Read(whole)), "x\n\ty\n");
    assert_eq!(
        told(file(), Outcome::Read(out())),
        "x\n\ty\n\n[Showing lines 9-10 of 30. Use offset=11 to continue.]"
    );
    let own = call("read", json!({"path": "a.py", "offset": 9, "limit": 2}));
    assert_eq!(
        told(own, Outcome::Read(out())),
        "x\n\ty\n\n[20 more lines in file. Use offset=11 to continue.]"
    );
    // Whole lines, also where the room is what ends it.
    let many = ReadOut {
        text: "0123456789\n".repeat(1000),
        first: 1,
        lines: 1000,
        total: 1000,
        ..out()
    };
    let done = Done {
        call: Some(file()),
        result: Ok((read(&Pi, file()).expect("good"), Outcome::Read(many))),
        notes: Vec::new(),
    };
    let text = Pi.result(&done, 1_400).text();
    assert!(text.ends_with("\n\n[Showing lines 1-100 of 1000. Use offset=101 to continue.]"));
    assert!(text.starts_with(&"0123456789\n".repeat(100)));
    let line = ReadOut {
        text: "x".repeat(500),
        first: 1,
        lines: 1,
        total: 1,
        cut: true,
        ..out()
    };
    assert!(
        told(file(), Outcome::Read(line)).ends_with("x\n\n[The rest of this line is left out.]")
    );
}

/// Facts, "read": the errors carry the names of the original's runtime; an offset past the end
/// names the total.
#[test]
fn failed_reads_are_told() {
    let failed = |error| tell(&Pi, file(), Outcome::Failed(error));
    let missing = ToolError::NotFound {
        path: "a.py".into(),
        instead: None,
    };
    let (text, is_error) = failed(missing.clone());
    assert!(text.starts_with("ENOENT: a.py does not exist") && is_error);
    let folder = ToolError::IsFolder { path: "src".into() };
    assert!(failed(folder).0.starts_with("EISDIR: "));
    let past = ToolError::PastEnd {
        path: "a.py".into(),
        line: 90,
        total: 30,
    };
    assert!(failed(past).0.contains("30 lines"));
    assert!(
        told(edit(1), Outcome::Failed(missing))
            .starts_with("Could not edit a.py. Error code: ENOENT. ")
    );
}

/// Facts, "bash": `(no output)`, the exit code, the timeout.
#[test]
fn commands_are_told() {
    let out = |output, status| tell(&Pi, bash(), shell_out("make", output, status));
    assert_eq!(
        out("built\n", ShellStatus::Exited(0)),
        ("built".into(), false)
    );
    assert_eq!(
        out("", ShellStatus::Exited(0)),
        ("(no output)".into(), false)
    );
    assert_eq!(
        out("bad\n", ShellStatus::Exited(2)),
        ("bad\n\nCommand exited with code 2".into(), true)
    );
    assert_eq!(
        out("half", ShellStatus::TimedOut),
        ("half\n\nCommand timed out after 1 seconds".into(), true)
    );
}

/// Facts, "bash": of a long output the tail stays, then its range and the file of the whole.
#[test]
fn the_tail_of_a_long_output_stays() {
    let tell = |outcome, room| {
        let done = Done {
            call: Some(bash()),
            result: Ok((read(&Pi, bash()).expect("a command"), outcome)),
            notes: Vec::new(),
        };
        Pi.result(&done, room).text()
    };
    let text = tell(long_shell_out("make"), 100_000);
    assert!(text.contains("error: the middle broke"));
    assert!(text.contains("line number 1001\n") && !text.contains("line number 1000\n"));
    assert!(text.ends_with(
        "line number 3000\n\n[Showing lines 1001-3000 of 3000. Full output: /home/ada/x/outputs/1.txt]\n\nCommand exited with code 3"
    ));
    let Outcome::Shell(mut partly) = shell_out("make", "", ShellStatus::Exited(0)) else {
        panic!()
    };
    partly.output = Output {
        text: "line\n".repeat(3000),
        bytes: 9_000_000,
        file: Some("/o/1.txt".into()),
    };
    assert!(
        tell(Outcome::Shell(partly), 100_000)
            .ends_with("line\n\n[Showing the last 2000 lines. Full output: /o/1.txt]")
    );
}

/// Facts, "edit" and "write".
#[test]
fn changes_are_told() {
    let change = FileChange {
        path: "/w/a.py".into(),
        shown: "a.py".into(),
        kind: ChangeKind::Update,
        moved_to: None,
        before: None,
        after: None,
        places: 2,
        lines: Some((3, 4)),
        matched_by: None,
    };
    let changed = |change: &FileChange| Outcome::Changed(vec![change.clone()]);
    assert_eq!(
        told(edit(2), changed(&change)),
        "Successfully replaced 2 block(s) in a.py."
    );
    let write = call("write", json!({"path": "a.py", "content": "äx\n"}));
    assert_eq!(
        told(write, changed(&change)),
        "Successfully wrote 4 bytes to a.py"
    );
    let loose = FileChange {
        matched_by: Some(Pass::Indentation),
        ..change
    };
    assert!(told(edit(1), changed(&loose)).contains("a.py. The old text matched with another"));
}

/// Facts, "edit": not found, several places, no change.
#[test]
fn failed_edits_are_told() {
    let path = || "a.py".to_owned();
    let missing = ToolError::NoMatch {
        path: path(),
        index: 1,
        near: Some("7: z".into()),
    };
    let (text, is_error) = tell(&Pi, edit(2), Outcome::Failed(missing.clone()));
    assert!(text.starts_with("replacement 2: ") && text.contains("7: z") && is_error);
    assert!(told(edit(1), Outcome::Failed(missing)).starts_with("the text to replace is not in"));
    let several = ToolError::Ambiguous {
        path: path(),
        index: 0,
        lines: vec![3, 8],
    };
    assert!(told(edit(1), Outcome::Failed(several)).contains("2 times, at lines 3, 8"));
    let same = ToolError::Identical { path: path() };
    assert!(told(edit(1), Outcome::Failed(same)).contains("the same"));
}

/// Facts, 3: unknown tools and bad arguments.
#[test]
fn misfits_are_told() {
    let text = |call: ToolCall| {
        let done = Done {
            result: Err(read(&Pi, call.clone()).expect_err("a bad call")),
            call: Some(call),
            notes: Vec::new(),
        };
        Pi.result(&done, 4_000).text()
    };
    assert!(text(call("grep", json!({}))).starts_with("Tool grep not found\n"));
    let wrong = text(call("edit", json!({"path": "a"})));
    assert!(wrong.starts_with(
        "Validation failed for tool \"edit\":\n  - edits: \"edits\" must be a list with a replacement\n\nReceived arguments:\n{\n  \"path\": \"a\"\n}\n\n"
    ));
    let long = json!({"content": "x".repeat(9000)});
    assert!(text(call("write", long)).len() < 1_000);
}

/// Facts, 2: the project's context under a heading, then the day and the folder as the last lines.
#[test]
fn the_system_prompt_is_in_order() {
    let mut cx = context(Size::Full);
    cx.instructions = instructions();
    let system = Pi.begin(&cx).system;
    assert!(system.ends_with(
        "\n\n# Project Context\n\n## /home/ada/x/AGENTS.md\n\nBe kind.\n\n## /home/ada/projects/shop/AGENTS.md\n\nUse tabs.\n\nDate: 2025-03-01\nWorking folder: /home/ada/projects/shop"
    ));
}

/// Facts, 4: the sections of a summary, and its element.
#[test]
fn a_summary_has_its_headings() {
    let plan = Pi.compact(&context(Size::Full));
    for heading in [
        "Goal",
        "Constraints & Preferences",
        "Progress",
        "Done",
        "In Progress",
        "Blocked",
        "Key Decisions",
        "Next Steps",
        "Critical Context",
    ] {
        assert!(plan.ask.contains(&format!("# {heading}\n")), "{heading}");
    }
    assert_eq!(
        plan.summary("ok <summary>\n## Goal\nx\n</summary>", 900),
        "<summary>\n## Goal\nx\n</summary>"
    );
}
