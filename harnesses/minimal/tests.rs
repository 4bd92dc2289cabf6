//! Golden layouts of `minimal`: what the original sends.

use super::*;
use crate::harnesses::Size;
use crate::harnesses::tests::{call, calls_return, context, instructions, read, shell_out, tell};
use crate::tools::action::{
    ChangeKind, FileChange, Outcome, Pass, Read, ReadOut, ShellStatus, ToolError, Unique, WriteRule,
};
use serde_json::json;

fn bash() -> ToolCall {
    call("bash", json!({"command": "make"}))
}

fn edit(arguments: serde_json::Value) -> ToolCall {
    call("str_replace_editor", arguments)
}

/// "bash": seconds, 120 by default and 300 at most; only the folder persists.
#[test]
fn bash_is_read() {
    let limit = |arguments| match read(&Minimal, call("bash", arguments)) {
        Ok(Action::Shell(shell)) => {
            assert!(shell.cwd_persists);
            shell.time_limit
        }
        other => panic!("{other:?}"),
    };
    let seconds = |n| Some(Duration::from_secs(n));
    assert_eq!(limit(json!({"command": "make"})), seconds(120));
    assert_eq!(limit(json!({"command": "make", "timeout": 5})), seconds(5));
    assert_eq!(
        limit(json!({"command": "make", "timeout": 9999})),
        seconds(300)
    );
    assert_eq!(
        limit(json!({"command": "make", "timeout": -1})),
        seconds(120)
    );
}

/// "str_replace_editor": what each command needs.
#[test]
fn editor_commands_are_read() {
    let view = |range| {
        let call = edit(json!({"command": "view", "path": "a", "view_range": range}));
        match read(&Minimal, call) {
            Ok(Action::Read(Read { first, lines, .. })) => Some((first, lines)),
            _ => None,
        }
    };
    assert_eq!(view(json!(null)), Some((1, None)));
    assert_eq!(view(json!([5, 9])), Some((5, Some(5))));
    assert_eq!(view(json!([5])), Some((5, None)));
    assert_eq!(view(json!([5, -1])), Some((5, None)));
    assert_eq!(view(json!([5, 3])), None);

    let create = json!({"command": "create", "path": "a", "file_text": ""});
    assert!(matches!(
        read(&Minimal, edit(create)),
        Ok(Action::Write {
            rule: WriteRule {
                read_first: true,
                must_be_new: false,
                append: false
            },
            ..
        })
    ));
    let replace = json!({"command": "str_replace", "path": "a", "old_str": "x", "new_str": ""});
    assert!(matches!(
        read(&Minimal, edit(replace)),
        Ok(Action::Edit {
            unique: Unique::Require,
            read_first: false,
            may_create: false,
            ..
        })
    ));
    let insert = json!({"command": "insert", "path": "a", "insert_line": 0, "new_str": "x"});
    assert!(matches!(
        read(&Minimal, edit(insert)),
        Ok(Action::Insert { after: 0, .. })
    ));
    for wrong in [
        json!({"command": "create", "path": "a"}),
        json!({"command": "str_replace", "path": "a", "old_str": "x"}),
        json!({"command": "insert", "path": "a", "new_str": "x"}),
        json!({"command": "delete", "path": "a"}),
        json!({"command": "view", "path": ""}),
    ] {
        assert!(
            matches!(
                read(&Minimal, edit(wrong.clone())),
                Err(CallError::BadArgument { .. })
            ),
            "{wrong}"
        );
    }
}

/// "bash": empty output, and failures marked as such.
#[test]
fn commands_are_told() {
    let told = |output, status| tell(&Minimal, bash(), shell_out("make", output, status));
    assert_eq!(
        told("", ShellStatus::Exited(0)),
        (
            "<system>Command executed successfully.</system>".into(),
            false
        )
    );
    assert_eq!(told("ok\n", ShellStatus::Exited(0)), ("ok\n".into(), false));
    assert_eq!(
        told("bad\n", ShellStatus::Exited(2)),
        ("bad\nExit code: 2".into(), true)
    );
    assert_eq!(
        told("half", ShellStatus::TimedOut),
        (
            "half\nThe command was stopped after 1 seconds.".into(),
            true
        )
    );
}

/// "str_replace_editor": `{n}<TAB>{line}`.
#[test]
fn views_are_numbered() {
    let view = edit(json!({"command": "view", "path": "a.py", "view_range": [9, 10]}));
    let out = ReadOut {
        path: "/w/a.py".into(),
        text: "x\n\ty\n".into(),
        first: 9,
        lines: 2,
        total: 30,
        cut: false,
        repeated: false,
    };
    assert_eq!(
        tell(&Minimal, view.clone(), Outcome::Read(out.clone())),
        ("9\tx\n10\t\ty\n".into(), false)
    );
    let cut = ReadOut { cut: true, ..out };
    assert!(
        tell(&Minimal, view, Outcome::Read(cut))
            .0
            .ends_with("[Lines 9-10 of 30. For more, view again with view_range [11, 30].]")
    );
}

/// "str_replace_editor": a line with the path, and the failure classes.
#[test]
fn edits_are_told() {
    let replace =
        edit(json!({"command": "str_replace", "path": "a", "old_str": "x", "new_str": "y"}));
    let change = FileChange {
        path: "/w/a".into(),
        shown: "a".into(),
        kind: ChangeKind::Update,
        moved_to: None,
        before: None,
        after: None,
        places: 1,
        lines: Some((3, 4)),
        matched_by: Some(Pass::Indentation),
    };
    let (text, is_error) = tell(&Minimal, replace.clone(), Outcome::Changed(vec![change]));
    assert!(text.starts_with("Edited /w/a (lines 3-4). ") && text.contains("indentation"));
    assert!(!is_error);

    let ambiguous = ToolError::Ambiguous {
        path: "a".into(),
        index: 0,
        lines: vec![3, 8],
    };
    let (text, is_error) = tell(&Minimal, replace, Outcome::Failed(ambiguous));
    assert!(text.contains("3, 8") && is_error);
    let create = edit(json!({"command": "create", "path": "a", "file_text": "x"}));
    let exists = ToolError::Exists { path: "a".into() };
    let (text, is_error) = tell(&Minimal, create, Outcome::Failed(exists));
    assert!(text.contains("a exists already") && text.contains("str_replace") && is_error);
}

/// "Prompt and placement": AGENTS.md as messages of the user.
#[test]
fn instructions_are_user_messages() {
    let mut cx = context(Size::Full);
    cx.instructions = instructions();
    assert_eq!(
        Minimal.begin(&cx).opening,
        [
            Item::user("Instructions from ~/x/AGENTS.md:\n\nBe kind."),
            Item::user("Instructions from AGENTS.md:\n\nUse tabs.\n"),
        ]
    );
}

/// Every call has an action, and every action its call.
#[test]
fn calls_return_to_themselves() {
    let calls = [
        bash(),
        call("bash", json!({"command": "make", "timeout": 5})),
        edit(json!({"command": "view", "path": "a"})),
        edit(json!({"command": "view", "path": "a", "view_range": [5, 9]})),
        edit(json!({"command": "view", "path": "a", "view_range": [5]})),
        edit(json!({"command": "create", "path": "a", "file_text": "x\n"})),
        edit(json!({"command": "str_replace", "path": "a", "old_str": "x", "new_str": ""})),
        edit(json!({"command": "insert", "path": "a", "insert_line": 0, "new_str": "x"})),
        edit(json!({"command": "undo_edit", "path": "a"})),
    ];
    calls_return(&Minimal, "qwen3", &calls, &[]);
    let elsewhere = Shell {
        dir: Some("web".into()),
        ..Shell::new("make", Duration::from_secs(9))
    };
    assert_eq!(Minimal.write(&Action::Shell(elsewhere)), None);
}
