//! The first names in the working folder, so that a model knows where it is.

use ignore::WalkBuilder;
use std::collections::BTreeSet;
use std::path::Path;

/// The most entries that are named.
pub const MAX: usize = 20;
/// The most entries of a folder that are looked at.
const SEEN: usize = 50_000;

/// The first [`MAX`] entries of a folder in the order of their names: the name, and whether it is
/// a folder. Hidden entries and those that ignore files name are left out, as are names that are
/// not text. A folder that cannot be read has none.
pub fn entries(cwd: &Path) -> Vec<(String, bool)> {
    let walk = WalkBuilder::new(cwd)
        .max_depth(Some(1))
        .require_git(false)
        .build();
    let mut first = BTreeSet::new();
    for entry in walk.take(SEEN).flatten().filter(|e| e.depth() == 1) {
        let Some(name) = entry.file_name().to_str() else {
            continue;
        };
        // A line end in a name would let a file speak in the prompt.
        if name.contains(char::is_control) {
            continue;
        }
        let is_dir = entry.file_type().is_some_and(|t| t.is_dir());
        first.insert((name.to_string(), is_dir));
        if first.len() > MAX {
            first.pop_last();
        }
    }
    first.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn names_in_order_without_the_ignored() {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["target", "src", ".hidden"] {
            fs::create_dir(dir.path().join(folder)).unwrap();
        }
        for file in ["b.txt", "a.log", "README.md", "src/inner.rs", "bad\nname"] {
            // Windows refuses the last one.
            let _ = fs::write(dir.path().join(file), "");
        }
        fs::write(dir.path().join(".gitignore"), "target/\n*.log\n").unwrap();
        let expected = [("README.md", false), ("b.txt", false), ("src", true)];
        assert_eq!(
            entries(dir.path()),
            expected.map(|(n, d)| (n.to_string(), d))
        );
        assert!(entries(&dir.path().join("none")).is_empty());
    }

    #[test]
    fn only_the_first_of_many() {
        let dir = tempfile::tempdir().unwrap();
        for n in (0..40).rev() {
            fs::write(dir.path().join(format!("f{n:02}")), "").unwrap();
        }
        let names: Vec<String> = entries(dir.path()).into_iter().map(|(n, _)| n).collect();
        assert_eq!(names.len(), MAX);
        assert_eq!((names[0].as_str(), names[19].as_str()), ("f00", "f19"));
    }
}
