use super::*;

#[test]
fn a_read_gives_lines_and_says_what_is_left() {
    let mut b = Bench::new()
        .file("a", "one\r\ntwo\r\nthree")
        .file("long", "é".repeat(100));
    let stretch = |first, lines, max_bytes| {
        Action::Read(Read {
            first,
            ..Read::new("a", lines, max_bytes)
        })
    };
    for (action, text, first, lines, cut) in [
        (stretch(1, None, 100), "one\ntwo\nthree", 1, 3, false),
        (stretch(2, Some(1), 100), "two\n", 2, 1, false),
        (stretch(3, Some(9), 100), "three", 3, 1, false),
        (stretch(1, None, 11), "one\ntwo\n", 1, 2, true),
        (stretch(1, None, 2), "on", 1, 1, true),
    ] {
        match b.run(action.clone()) {
            Outcome::Read(out) => assert_eq!(
                (out.text.as_str(), out.first, out.lines, out.total, out.cut),
                (text, first, lines, 3, cut),
                "{action:?}"
            ),
            other => panic!("{other:?}"),
        }
    }
    assert!(b.read_all("a").repeated);
    let past = ToolError::PastEnd {
        path: "a".into(),
        line: 4,
        total: 3,
    };
    assert_eq!(b.error(stretch(4, None, 100)), past);
    let room = b.bench.run(
        &read("long"),
        &Lift::Nothing,
        5,
        &Cancel::new(),
        &mut |_| {},
    );
    assert!(matches!(room, Outcome::Read(out) if out.text == "éé" && out.cut));
}

/// What `tail -n` and `tail -n | head -n` print.
#[test]
fn a_read_can_count_from_the_end() {
    let mut b = Bench::new()
        .file("a", "one\r\ntwo\r\nthree\r\nfour\r\n")
        .file("open", "one\ntwo")
        .file("empty", "");
    let last = |path: &str, first, lines, max_bytes| {
        Action::Read(Read {
            first,
            from_end: true,
            ..Read::new(path, lines, max_bytes)
        })
    };
    for (action, text, first, lines, total, cut) in [
        (last("a", 2, None, 100), "three\nfour\n", 3, 2, 4, false),
        (last("a", 1, None, 100), "four\n", 4, 1, 4, false),
        (last("a", 0, None, 100), "four\n", 4, 1, 4, false),
        (last("a", 3, Some(2), 100), "two\nthree\n", 2, 2, 4, false),
        (last("a", 9, Some(1), 100), "one\n", 1, 1, 4, false),
        (last("a", 2, None, 7), "three\n", 3, 1, 4, true),
        (last("open", 1, None, 100), "two", 2, 1, 2, false),
        (last("empty", 5, None, 100), "", 1, 0, 0, false),
    ] {
        match b.run(action.clone()) {
            Outcome::Read(out) => assert_eq!(
                (out.text.as_str(), out.first, out.lines, out.total, out.cut),
                (text, first, lines, total, cut),
                "{action:?}"
            ),
            other => panic!("{other:?}"),
        }
    }
    // The memory knows the lines, whichever way they were asked for.
    let same = b.run(Action::Read(Read {
        first: 3,
        ..Read::new("a", Some(2), 100)
    }));
    assert!(matches!(same, Outcome::Read(out) if out.repeated && out.first == 3));
    b.changed(write("a", "new\n", true));
}

/// What `ls -A` shows.
#[test]
fn a_folder_is_listed_where_the_harness_has_it_so() {
    let mut b = Bench::new()
        .file(".gitignore", "out\n")
        .file("out", "")
        .file("src/.hidden", "")
        .file("z", "");
    let list = |path: &str, first, lines| {
        Action::Read(Read {
            first,
            or_list: true,
            ..Read::new(path, lines, 10)
        })
    };
    let mut names = |action| match b.run(action) {
        Outcome::Listed(out) => {
            let names: Vec<String> = out.entries.into_iter().map(|e| e.name).collect();
            (names.join(" "), out.more)
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(
        names(list(".", 1, None)),
        ("src .gitignore out z".into(), 0)
    );
    assert_eq!(names(list("src", 0, None)), (".hidden".into(), 0));
    assert_eq!(names(list(".", 2, Some(1))), (".gitignore".into(), 2));
    assert_eq!(names(list(".", 9, None)), (String::new(), 0));
    assert!(matches!(b.run(list("z", 1, None)), Outcome::Read(_)));
    assert!(matches!(
        b.error(list("y", 1, None)),
        ToolError::NotFound { .. }
    ));
}

#[test]
fn what_is_added_comes_after_what_is_there() {
    let add = |path: &str, content: &str, read_first| Action::Write {
        path: path.into(),
        content: content.into(),
        rule: WriteRule {
            read_first,
            must_be_new: false,
            append: true,
        },
    };
    let mut b = Bench::new()
        .file("a", "one\n")
        .file("crlf", "one\r\n")
        .file("open", "one")
        .file("bytes", b"\xff\n");
    // A line that looks like one left out is meant as it stands: nothing is written over.
    let changes = b.changed(add("a", "# ... rest unchanged\n", false));
    let [change] = changes.as_slice() else {
        panic!("{changes:?}");
    };
    assert_eq!(
        (change.kind, change.before.as_deref(), change.lines),
        (ChangeKind::Update, Some("one\n"), Some((2, 2)))
    );
    assert_eq!(change.after.as_deref(), Some("one\n# ... rest unchanged\n"));
    assert_eq!(b.text("a"), "one\n# ... rest unchanged\n");
    b.changed(Action::UndoEdit { path: "a".into() });
    assert_eq!(b.text("a"), "one\n");
    b.changed(add("crlf", "two\nthree", false));
    assert_eq!(b.text("crlf"), "one\r\ntwo\r\nthree");
    b.changed(add("open", "two", false));
    assert_eq!(b.text("open"), "onetwo");
    b.changed(add("bytes", "x", false));
    let bytes = fs::read(b.dir.join("bytes")).expect("there");
    assert_eq!(bytes, b"\xff\nx");
    // A new file, of which the model knows all.
    assert_eq!(
        b.changed(add("new/f", "x\n", true))[0].kind,
        ChangeKind::Add
    );
    b.changed(add("new/f", "y\n", true));
    assert_eq!(b.text("new/f"), "x\ny\n");
    // The rule of the harness holds, and adding is no reading.
    let not_read = ToolError::NotRead { path: "a".into() };
    assert_eq!(b.error(add("a", "two\n", true)), not_read);
    b.changed(add("a", "two\n", false));
    assert_eq!(b.error(add("a", "two\n", true)), not_read);
    b.read_all("a");
    b.changed(add("a", "three\n", true));
    fs::write(b.dir.join("a"), "other\n").expect("written");
    let changed = ToolError::ChangedSince { path: "a".into() };
    assert_eq!(b.error(add("a", "four\n", true)), changed);
    b.changed(add("a", "four\n", false));
    assert_eq!(b.text("a"), "other\nfour\n");
    assert_eq!(b.error(write("a", "x", false)), changed);
}

#[test]
fn what_cannot_be_read_has_its_reason() {
    let mut b = Bench::new()
        .file("src/habits.py", "")
        .file("x/a.txt", "")
        .file("y/a.txt", "")
        .file("bin", b"\x7fELF\0")
        .file("latin", b"caf\xe9");
    let not_found = |path: &str, instead: Option<&str>| ToolError::NotFound {
        path: path.into(),
        instead: instead.map(String::from),
    };
    assert_eq!(
        b.error(read("tests/habits.py")),
        not_found("tests/habits.py", Some("src/habits.py"))
    );
    assert_eq!(
        b.error(read("a.txt")),
        not_found("a.txt", None),
        "not unique"
    );
    assert_eq!(
        b.error(read("src")),
        ToolError::IsFolder { path: "src".into() }
    );
    for path in ["bin", "latin"] {
        assert_eq!(b.error(read(path)), ToolError::Binary { path: path.into() });
    }
    assert_eq!(b.read_all("src/habits.py").total, 0);
    #[cfg(unix)]
    {
        let fifo = b.dir.join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status();
        assert!(made.is_ok_and(|s| s.success()));
        assert!(matches!(b.error(read("fifo")), ToolError::Denied { .. }));
    }
}

#[test]
fn a_write_never_loses_what_the_model_has_not_seen() {
    let mut b = Bench::new().file("a", "old\n");
    let not_read = ToolError::NotRead { path: "a".into() };
    let changed_since = ToolError::ChangedSince { path: "a".into() };
    assert_eq!(b.error(write("a", "new\n", true)), not_read);
    b.read_all("a");
    b.changed(write("a", "new\n", true));
    b.changed(write("a", "newer\n", true));
    fs::write(b.dir.join("a"), "the user's\nx\n").expect("written");
    assert_eq!(b.error(write("a", "new\n", true)), changed_since);
    assert_eq!(
        b.error(write("a", "new\n", false)),
        changed_since,
        "without the rule too"
    );
    // A unique edit applies, but does not make the rest of the file known.
    b.changed(edit("a", "x", "y"));
    assert_eq!(b.text("a"), "the user's\ny\n");
    assert_eq!(b.error(write("a", "new\n", false)), changed_since);
    let all = edits("a", &[("e", "E")], Base::Evolving, Unique::All);
    assert_eq!(
        b.error(all),
        changed_since,
        "several places in a changed file"
    );
    b.read_all("a");
    b.changed(write("a", "new\n", true));
    let must_be_new = Action::Write {
        path: "a".into(),
        content: "x".into(),
        rule: WriteRule {
            read_first: false,
            must_be_new: true,
            append: false,
        },
    };
    assert_eq!(b.error(must_be_new), ToolError::Exists { path: "a".into() });
    let added = b.changed(write("deep/er/b", "1\r\n2", true));
    assert_eq!(added[0].kind, ChangeKind::Add);
    assert_eq!(added[0].lines, Some((1, 2)));
    assert_eq!(b.text("deep/er/b"), "1\r\n2", "as it was sent");
}

#[test]
fn a_line_that_stands_for_text_left_out_is_not_written() {
    let old = "def f():\n    return 1\n\ndef g():\n    return 2\n";
    let mut b = Bench::new().file("a.py", old);
    for new in [
        "def f():\n    return 3\n# ... rest unchanged",
        "// … existing code …\n",
        "# The rest of the file...\n",
    ] {
        assert!(
            matches!(b.error(write("a.py", new, false)), ToolError::Other(_)),
            "{new}"
        );
        assert_eq!(b.text("a.py"), old);
    }
    b.changed(write("a.py", "def f(): ...\n# the previous one\n", false));
}

#[test]
fn an_edit_replaces_in_the_right_places() {
    let text = "a\nb\na\n";
    let identical = ToolError::Identical { path: "f".into() };
    for (action, want) in [
        (edit("f", "b", "c"), Ok("a\nc\na\n")),
        (
            edit("f", "a", "c"),
            Err(ToolError::Ambiguous {
                path: "f".into(),
                index: 0,
                lines: vec![1, 3],
            }),
        ),
        (
            edits("f", &[("a", "c")], Base::Evolving, Unique::First),
            Ok("c\nb\na\n"),
        ),
        (
            edits("f", &[("a", "c")], Base::Evolving, Unique::All),
            Ok("c\nb\nc\n"),
        ),
        (
            edits(
                "f",
                &[("b", "x"), ("x", "y")],
                Base::Evolving,
                Unique::Require,
            ),
            Ok("a\ny\na\n"),
        ),
        (
            edits(
                "f",
                &[("b", "x"), ("x", "y")],
                Base::Original,
                Unique::Require,
            ),
            Err(ToolError::NoMatch {
                path: "f".into(),
                index: 1,
                near: None,
            }),
        ),
        (
            edits(
                "f",
                &[("b\na", "2"), ("a\nb", "1")],
                Base::Original,
                Unique::Require,
            ),
            Err(ToolError::Other(
                "f was not changed: replacements 2 and 1 touch the same text; send them as one"
                    .into(),
            )),
        ),
        (
            edits(
                "f",
                &[("b\n", "2\n"), ("a\n2", "1")],
                Base::Original,
                Unique::Require,
            ),
            Err(ToolError::NoMatch {
                path: "f".into(),
                index: 1,
                near: Some("1| a\n2| b".into()),
            }),
        ),
        (edit("f", "b", "b"), Err(identical.clone())),
        (edit("f", "b", ""), Ok("a\n\na\n")),
        (
            edit("f", "", "x"),
            Err(ToolError::Exists { path: "f".into() }),
        ),
    ] {
        let mut b = Bench::new().file("f", text);
        let got = match b.run(action.clone()) {
            Outcome::Failed(error) => Err(error),
            _ => Ok(b.text("f")),
        };
        assert_eq!(got, want.map(String::from), "{action:?}");
        if got.is_err() {
            assert_eq!(b.text("f"), text, "a failed edit changes nothing");
        }
    }
}

#[test]
fn an_edit_tells_what_it_did() {
    let mut b = Bench::new().file("m.py", "def f():\n\tif x:\n\t\treturn 1\n");
    let change = b.changed(edit(
        "m.py",
        "    if x:\n        return 1",
        "    if x:\n        return 2",
    ));
    assert_eq!(b.text("m.py"), "def f():\n\tif x:\n\t\treturn 2\n");
    assert_eq!(change[0].matched_by, Some(Pass::Indentation));
    assert_eq!((change[0].places, change[0].lines), (1, Some((3, 3))));
    assert_eq!(change[0].path, b.dir.join("m.py"));
    b.changed(edit("new.txt", "", "content\n"));
    assert_eq!(b.text("new.txt"), "content\n");
}

#[cfg(unix)]
#[test]
fn an_edit_keeps_line_ends_and_mode() {
    use std::os::unix::fs::PermissionsExt;
    let mut b = Bench::new().file("run.sh", "\u{feff}a\r\nb\r\nlast");
    let path = b.dir.join("run.sh");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).expect("mine");
    b.changed(edit("run.sh", "a\nb", "a\nx\nb"));
    b.changed(Action::Insert {
        path: "run.sh".into(),
        after: 4,
        text: "end\n".into(),
    });
    assert_eq!(b.text("run.sh"), "\u{feff}a\r\nx\r\nb\r\nlast\r\nend");
    assert_eq!(
        path.metadata().expect("there").permissions().mode() & 0o777,
        0o750
    );
    b.changed(patch(
        "*** Update File: run.sh\n*** Move to: bin/go.sh\n@@\n-x\n+y",
    ));
    let moved = b.dir.join("bin/go.sh");
    assert_eq!(
        moved.metadata().expect("there").permissions().mode() & 0o777,
        0o750
    );
    assert!(!path.exists());
    assert_eq!(b.text("bin/go.sh"), "\u{feff}a\r\ny\r\nb\r\nlast\r\nend");
}

#[test]
fn lines_are_inserted() {
    for (file, after, text, want) in [
        ("a\nb\n", 0, "x", "x\na\nb\n"),
        ("a\nb\n", 1, "x\ny\n", "a\nx\ny\nb\n"),
        ("a\nb\n", 2, "x", "a\nb\nx\n"),
        ("a\nb", 2, "x", "a\nb\nx"),
        ("", 0, "x", "x\n"),
    ] {
        let mut b = Bench::new().file("f", file);
        b.changed(Action::Insert {
            path: "f".into(),
            after,
            text: text.into(),
        });
        assert_eq!(b.text("f"), want);
    }
}

#[test]
fn changes_are_taken_back_one_by_one() {
    let mut b = Bench::new().file("a", "1\n");
    let undo = |path: &str| Action::UndoEdit { path: path.into() };
    assert!(matches!(
        b.error(undo("a")),
        ToolError::NothingToUndo { .. }
    ));
    b.changed(edit("a", "1", "2"));
    b.changed(write("a", "3\n", false));
    b.changed(write("new", "x", false));
    b.changed(undo("a"));
    assert_eq!(b.text("a"), "2\n");
    b.changed(undo("a"));
    assert_eq!(b.text("a"), "1\n");
    assert!(matches!(
        b.error(undo("a")),
        ToolError::NothingToUndo { .. }
    ));
    assert_eq!(b.changed(undo("new"))[0].kind, ChangeKind::Delete);
    assert!(!b.dir.join("new").exists());
    b.changed(patch("*** Delete File: a"));
    assert_eq!(b.changed(undo("a"))[0].kind, ChangeKind::Add);
    assert_eq!(b.text("a"), "1\n");
    b.changed(edit("a", "1", "2"));
    fs::write(b.dir.join("a"), "user\n").expect("written");
    assert!(matches!(b.error(undo("a")), ToolError::ChangedSince { .. }));
    assert_eq!(b.text("a"), "user\n");
}

#[test]
fn a_patch_changes_all_its_files_or_none() {
    let mut b = Bench::new()
        .file("a", "1\n")
        .file("b", "1\n")
        .file("c", "1\n");
    let error = b.error(patch(
        "*** Update File: a\n@@\n-1\n+2\n*** Add File: n\n+x\n*** Update File: b\n@@\n-9\n+2",
    ));
    assert!(matches!(error, ToolError::PatchMismatch { path, .. } if path == "b"));
    assert_eq!(b.text("a"), "1\n");
    assert!(!b.dir.join("n").exists());
    let changes = b.changed(patch(
        "*** Update File: a\n@@\n-1\n+2\n*** Add File: n/m\n+x\n*** Delete File: b\n*** Update File: c\n*** Move to: d\n*** Update File: a\n@@\n-2\n+3",
    ));
    let told: Vec<_> = changes
        .iter()
        .map(|c| (c.shown.as_str(), c.kind, c.places, c.after.as_deref()))
        .collect();
    assert_eq!(
        told,
        [
            ("a", ChangeKind::Update, 2, Some("3\n")),
            ("n/m", ChangeKind::Add, 1, Some("x\n")),
            ("b", ChangeKind::Delete, 1, None),
            ("c", ChangeKind::Update, 0, Some("1\n")),
        ]
    );
    assert_eq!(changes[3].moved_to, Some((b.dir.join("d"), "d".into())));
    assert_eq!(
        (b.text("a"), b.text("n/m"), b.text("d")),
        ("3\n".into(), "x\n".into(), "1\n".into())
    );
    assert!(!b.dir.join("b").exists() && !b.dir.join("c").exists());
}

#[test]
fn a_patch_stays_inside_and_overwrites_nothing_unseen() {
    let mut b = Bench::new().file("a", "1\n");
    #[cfg(unix)]
    std::os::unix::fs::symlink("..", b.dir.join("up")).expect("a link");
    for path in ["../esc1", "up/esc2", "sub/../../esc3"] {
        if cfg!(unix) || !path.starts_with("up") {
            let error = b.error(patch(&format!("*** Add File: {path}\n+x")));
            assert!(matches!(error, ToolError::Denied { path: p, .. } if p == path));
        }
    }
    let moved = b.error(patch(
        "*** Update File: a\n*** Move to: ../esc4\n@@\n-1\n+2",
    ));
    assert!(matches!(moved, ToolError::Denied { path, .. } if path == "../esc4"));
    assert_eq!(b.text("a"), "1\n");
    let add = patch("*** Add File: a\n+2");
    assert_eq!(b.error(add.clone()), ToolError::Exists { path: "a".into() });
    b.read_all("a");
    assert_eq!(b.changed(add)[0].kind, ChangeKind::Update);
    fs::write(b.dir.join("a"), "user\n").expect("written");
    let gone = b.error(patch("*** Delete File: a"));
    assert_eq!(gone, ToolError::ChangedSince { path: "a".into() });
}

#[test]
fn a_patch_after_cd_is_relative_to_that_folder() {
    let mut b = Bench::new().file("sub/a", "1\n");
    let change = b.changed(Action::Patch {
        text: "*** Begin Patch\n*** Update File: a\n@@\n-1\n+2\n*** End Patch".into(),
        form: PatchForm::Codex,
        dir: Some("sub".into()),
    });
    assert_eq!(change[0].shown, "a");
    assert_eq!(b.text("sub/a"), "2\n");
}

#[test]
fn a_picture_is_known_by_its_bytes() {
    let mut b = Bench::new()
        .file("a.txt", b"\x89PNG\r\n\x1a\nrest")
        .file("b.png", "text");
    match b.run(Action::ViewImage {
        path: "a.txt".into(),
    }) {
        Outcome::Image {
            part: crate::model::Part::Image { media_type, data },
            ..
        } => assert_eq!(
            (media_type.as_str(), data.as_str()),
            ("image/png", "iVBORw0KGgpyZXN0")
        ),
        other => panic!("{other:?}"),
    }
    assert!(matches!(
        b.error(Action::ViewImage {
            path: "b.png".into()
        }),
        ToolError::Other(_)
    ));
}

#[test]
fn a_path_is_what_the_model_must_have_meant() {
    let b = Bench::new()
        .file("src/a.rs", "1\n2\n3\n")
        .file("@odd", "x")
        .file("b:7", "y");
    let meant = |path: &str| {
        let action = Action::Read(Read::new(path, None, 100));
        match b.bench.meant(action) {
            Action::Read(Read {
                path, first, lines, ..
            }) => (
                path.replace(&b.dir.display().to_string(), "DIR"),
                first,
                lines,
            ),
            other => panic!("{other:?}"),
        }
    };
    let same = |path: &str| (path.to_owned(), 1, None);
    assert_eq!(meant("@src/a.rs"), same("src/a.rs"));
    assert_eq!(meant("src/a.rs:"), same("src/a.rs"));
    assert_eq!(meant("src/a.rs:2-3"), ("src/a.rs".into(), 2, Some(2)));
    assert_eq!(meant("@src/a.rs:3"), ("src/a.rs".into(), 3, Some(1)));
    assert_eq!(meant("/workspace/src/a.rs"), same("DIR/src/a.rs"));
    assert_eq!(
        meant("/repo/src/a.rs:1-2"),
        ("DIR/src/a.rs".into(), 1, Some(2))
    );
    // What exists as it was written is meant as it was written, and nothing is made up.
    for path in [
        "@odd",
        "b:7",
        "src/a.rs",
        "src/none.rs:2",
        "@none",
        "/app/none",
        "/etc/src/a.rs",
        "src/a.rs:x",
        "src/a.rs:0",
        "",
    ] {
        assert_eq!(meant(path), same(path));
    }
}
