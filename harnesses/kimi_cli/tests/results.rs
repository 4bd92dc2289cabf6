//! How what came of a call is told.

use super::*;

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
