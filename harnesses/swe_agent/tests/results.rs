//! How what came of a call is told.

use super::*;

/// "Observation templates", default: a heading line, one fixed line for an empty output.
#[test]
fn observations_are_told() {
    let make = || bash("make");
    let out = |output, status| tell(&SweAgent, make(), shell_out("make", output, status)).0;
    assert_eq!(
        out("built\n", ShellStatus::Exited(2)),
        "OBSERVATION:\nbuilt\n[exit code 2]\n"
    );
    assert_eq!(
        out("built\n", ShellStatus::Exited(0)),
        "OBSERVATION:\nbuilt\n"
    );
    assert_eq!(
        out("", ShellStatus::Exited(0)),
        "OBSERVATION:\nThe command ran and printed nothing."
    );
    assert!(out("", ShellStatus::Exited(3)).ends_with("exit code 3."));
    let text = out("half", ShellStatus::TimedOut);
    assert!(text.starts_with("OBSERVATION:\nThe command `make` was stopped after 1 seconds."));
    assert!(text.ends_with("\nhalf"));
    let text = tell(&SweAgent, make(), long_shell_out("make")).0;
    assert!(text.starts_with("Observation: line number 1\n"));
    assert!(text.contains("<response clipped><NOTE>") && text.contains("</NOTE>\n"));
    assert!(text.ends_with("line number 3000\n[exit code 3]\n"));
}

/// "Observation templates", bash_only.
#[test]
fn observations_of_the_smaller_preset_are_told() {
    let mut small = state(Size::Tiny);
    let mut out = |outcome| {
        let action = read(&SweAgent, bash("make")).expect("a good call");
        told(&mut small, bash("make"), action, outcome)
    };
    assert_eq!(
        out(shell_out("make", "built\n", ShellStatus::Exited(0))),
        "<observation>\nbuilt\n</observation>"
    );
    assert_eq!(
        out(shell_out("make", "", ShellStatus::Exited(0))),
        "<warning>\nThe command ran and printed nothing.\n</warning>"
    );
    let text = out(long_shell_out("make"));
    for part in [
        "<warning>\nThe output was too long to show.",
        "</warning>\n<observation_head>\nline number 1\n",
        "</observation_head>\n<elided_chars>\n",
        "</elided_chars>\n<observation_tail>\n",
    ] {
        assert!(text.contains(part), "{part}");
    }
    assert!(text.ends_with("line number 3000\n[exit code 3]\n</observation_tail>"));
    assert!(text.len() < 11_000);
}

/// "str_replace_editor", view: a heading that names `cat -n`, numbers in six columns and a tab.
#[test]
fn views_are_told() {
    let out = ReadOut {
        path: "/w/a.py".into(),
        text: "x\ny\n".into(),
        first: 9,
        lines: 2,
        total: 30,
        cut: false,
        repeated: false,
    };
    assert_eq!(
        tell(&SweAgent, view(), Outcome::Read(out.clone())).0,
        "OBSERVATION:\nThis is `cat -n` of /w/a.py:\n     9\tx\n    10\ty\n"
    );
    let cut = ReadOut { cut: true, ..out };
    let text = tell(&SweAgent, view(), Outcome::Read(cut)).0;
    assert!(text.contains("<response clipped><NOTE>") && text.ends_with("</NOTE>"));
    assert!(text.contains("view_range [11, 30]"));
    let entry = |name: &str, is_dir| Entry {
        name: name.into(),
        is_dir,
        size: 1,
    };
    let listed = ListOut {
        path: "/w".into(),
        entries: vec![
            entry(".git", true),
            entry("src", true),
            entry("a.py", false),
        ],
        ignored: 0,
        more: 0,
    };
    let text = tell(&SweAgent, view(), Outcome::Listed(listed)).0;
    assert!(text.ends_with(":\n/w\n/w/src\n/w/a.py\n"), "{text}");
}

/// "str_replace_editor": a snippet of four lines around the change, and advice.
#[test]
fn edits_are_told() {
    let replace =
        || edit(json!({"command": "str_replace", "path": "a.py", "old_str": "x", "new_str": "y"}));
    let after: String = (1..=20).map(|n| format!("l{n}\n")).collect();
    let change = FileChange {
        path: "/w/a.py".into(),
        shown: "a.py".into(),
        kind: ChangeKind::Update,
        moved_to: None,
        before: None,
        after: Some(after),
        places: 1,
        lines: Some((10, 10)),
        matched_by: None,
    };
    let text = tell(&SweAgent, replace(), Outcome::Changed(vec![change.clone()])).0;
    let snippet: String = (6..=14).map(|n| format!("{n:>6}\tl{n}\n")).collect();
    assert_eq!(
        text,
        format!(
            "OBSERVATION:\nThe file /w/a.py was edited. This is `cat -n` of the part around it:\n{snippet}See whether it is as you want it, and edit again if not.\n"
        )
    );
    let new = FileChange {
        kind: ChangeKind::Add,
        ..change
    };
    let create = edit(json!({"command": "create", "path": "a.py", "file_text": "x"}));
    assert_eq!(
        tell(&SweAgent, create, Outcome::Changed(vec![new])).0,
        "OBSERVATION:\nThe file /w/a.py was created.\n"
    );

    let path = || "a.py".to_owned();
    for (call, error, part) in [
        (
            view(),
            ToolError::PastEnd {
                path: path(),
                line: 1,
                total: 30,
            },
            "[1, -1]",
        ),
        (
            replace(),
            ToolError::Exists { path: path() },
            "`create` is for new files",
        ),
        (
            replace(),
            ToolError::Ambiguous {
                path: path(),
                index: 0,
                lines: vec![3, 8],
            },
            "lines 3, 8",
        ),
        (
            replace(),
            ToolError::NoMatch {
                path: path(),
                index: 0,
                near: None,
            },
            "Nothing was replaced",
        ),
        (
            replace(),
            ToolError::NothingToUndo { path: path() },
            "nothing to undo",
        ),
    ] {
        let (text, is_error) = tell(&SweAgent, call, Outcome::Failed(error));
        assert!(
            text.starts_with("OBSERVATION:\n") && text.contains(part),
            "{text}"
        );
        assert!(is_error);
    }
}
