//! How what came of a call is told.

use super::*;

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
        searched: 12,
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
            "total_matches": 2, "files_searched": 12,
            "truncated": false,
        })
    );
    assert!(text.starts_with("{\n  \"matches\": ["));
}
