use super::text::uncoloured;
use super::*;
use crate::tools::action::{Base, ChangeKind, Output, Read, Shell, Unique};
use std::time::Duration;

fn edit(path: &str, old: &str, new: &str) -> Action {
    Action::Edit {
        path: path.into(),
        edits: vec![Replace {
            old: old.into(),
            new: new.into(),
        }],
        base: Base::Original,
        unique: Unique::Require,
        passes: Vec::new(),
        read_first: false,
        may_create: false,
    }
}

#[test]
fn a_call_has_the_words_of_the_protocol() {
    let shell = Action::Shell(Shell::new("cargo test", Duration::from_secs(1)));
    assert_eq!(
        (kind(&shell), title(&shell).as_str()),
        ("execute", "cargo test")
    );
    let read = Action::Read(Read {
        first: 10,
        ..Read::new("src/../a.rs", Some(5), 1_000)
    });
    assert_eq!(kind(&read), "read");
    assert_eq!(
        locations(&read, Path::new("/w")),
        [json!({"path": "/w/a.rs", "line": 10})]
    );
    assert_eq!(
        locations(&edit("/x/b.rs", "a", "b"), Path::new("/w")),
        [json!({"path": "/x/b.rs"})]
    );
}

#[test]
fn an_edit_is_shown_in_the_whole_file_where_it_can_be_foreseen() {
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::write(dir.path().join("a.txt"), "one\ntwo\n").expect("a file");
    let path = dir.path().join("a.txt").to_string_lossy().into_owned();
    assert_eq!(
        preview(&edit("a.txt", "two", "2"), dir.path()),
        [json!({"type": "diff", "path": path, "oldText": "one\ntwo\n", "newText": "one\n2\n"})]
    );
    assert_eq!(
        preview(&edit("a.txt", "three", "3"), dir.path()),
        [json!({"type": "diff", "path": path, "oldText": "three", "newText": "3"})]
    );
}

#[test]
fn a_change_is_a_comparison_and_a_deletion_an_empty_text() {
    let change = |before: Option<&str>, after: Option<&str>, kind| FileChange {
        path: "/w/a.txt".into(),
        shown: "a.txt".into(),
        kind,
        moved_to: None,
        before: before.map(String::from),
        after: after.map(String::from),
        places: 1,
        lines: Some((3, 4)),
        matched_by: None,
    };
    let outcome = Outcome::Changed(vec![
        change(None, Some("new\n"), ChangeKind::Add),
        change(Some("old\n"), None, ChangeKind::Delete),
    ]);
    let end = ended(&outcome);
    assert_eq!(end.status, "completed");
    let content = end.content.expect("content");
    assert_eq!(
        content[0],
        json!({"type": "diff", "path": "/w/a.txt", "oldText": null, "newText": "new\n"})
    );
    assert_eq!(content[1]["newText"], "");
    assert_eq!(
        end.locations.expect("places")[0],
        json!({"path": "/w/a.txt", "line": 3})
    );
}

#[test]
fn colours_go_and_other_letters_stay() {
    for (text, plain) in [
        ("\u{1b}[1;31mred\u{1b}[0m x", "red x"),
        ("a\u{1b}[2Kb\u{1b}", "ab"),
        ("\u{1b}]8;;https://x\x07link\u{1b}]8;;\x07.", "link."),
        ("\u{1b}]0;title\u{1b}\\after", "after"),
        ("\u{1b}(Bü", "ü"),
        ("[31m", "[31m"),
    ] {
        assert_eq!(uncoloured(text), plain, "{text:?}");
    }
}

#[test]
fn output_stands_in_a_fence_that_it_cannot_end_and_holds_nothing_raw() {
    let out = ShellOut {
        command: "x".into(),
        dir: "/".into(),
        job: None,
        output: Output {
            text: "\u{1b}[31m````\nred\u{1b}[0m\n".into(),
            bytes: 20,
            file: None,
        },
        status: ShellStatus::Exited(3),
        wall: Duration::ZERO,
        fence: None,
        back_in: None,
    };
    let end = ended(&Outcome::Shell(out));
    assert_eq!(end.status, "failed");
    let text = end.content.expect("content")[0]["content"]["text"].clone();
    assert_eq!(text, "`````console\n````\nred\nexit code 3\n`````");
    assert_eq!(end.raw.expect("raw")["exitCode"], 3);
}
