//! The plan in `.github/DESIGN.md` is that of the code: its floors, and the tests that it names.

use std::fs;
use std::path::{Path, PathBuf};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The floors from the top; modules of one row may use each other.
const FLOORS: [&[&str]; 6] = [
    &["cli", "serve"],
    &["agent"],
    &["harnesses"],
    &["tools", "model", "project"],
    &["config"],
    &["sandbox", "store", "jsonrpc", "cancel", "words"],
];

/// Every Rust file below a folder.
fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|e| e == "rs") {
            into.push(path);
        }
    }
}

fn all(folders: &[&str]) -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    for folder in folders {
        sources(&Path::new(ROOT).join(folder), &mut files);
    }
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).expect("text");
        (path, text)
    };
    files.into_iter().map(read).collect()
}

fn floor(module: &str) -> Option<usize> {
    FLOORS.iter().position(|row| row.contains(&module))
}

#[test]
fn an_import_never_points_up() {
    let mut seen = 0;
    for (path, text) in all(&["src", "harnesses"]) {
        let parts: Vec<_> = path
            .strip_prefix(ROOT)
            .expect("a file of ours")
            .iter()
            .map(|p| p.to_string_lossy().trim_end_matches(".rs").to_owned())
            .collect();
        let own = parts.iter().take(2).find_map(|p| floor(p));
        let Some(own) = own else { continue };
        for (at, _) in text.match_indices("crate::") {
            let rest = &text[at + "crate::".len()..];
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
            let used = &rest[..end.unwrap_or(rest.len())];
            if let Some(other) = floor(used) {
                seen += 1;
                let name = path.display();
                assert!(other >= own, "{name} uses crate::{used}, which is above it");
            }
        }
    }
    assert!(seen > 100, "the imports were not found");
}

#[test]
fn the_tests_that_the_design_names_exist() {
    let design = include_str!("../.github/DESIGN.md");
    let code: String = all(&["src", "harnesses", "tests"])
        .into_iter()
        .map(|(_, text)| text)
        .collect();
    let mut named = 0;
    for name in design.split('`').skip(1).step_by(2) {
        let is_test = name.matches('_').count() >= 3
            && name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        if is_test {
            named += 1;
            assert!(code.contains(&format!("fn {name}(")), "there is no {name}");
        }
    }
    assert!(named >= 12, "the design names the test of each promise");
}
