//! How what came of a call is told.

use super::*;

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
            searched: 12,
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
