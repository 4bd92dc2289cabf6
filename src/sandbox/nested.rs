//! Repositories inside the workspace that are not its own: what in them can make a later git run code.
//!
//! A command may commit in them, but not change their configuration or hooks. They are looked for
//! once, at the first command: one that is made later is the work of the session itself.

use super::scope::{git_folders, small_text};
use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

/// How deep below the workspace they are looked for.
const DEPTH: usize = 4;
/// The most folders that are looked into.
const MOST_FOLDERS: usize = 4000;
/// The most repositories.
const MOST: usize = 64;
/// Folders that are full and hold no work of anybody.
const PASSED_OVER: [&str; 3] = ["node_modules", "target", ".git"];

/// What stays as it is, whether or not it exists.
const SEALED: [&str; 2] = ["config", "hooks"];
/// What leads git to another configuration. Git cannot bear an empty stand-in for one, so where it
/// is missing it is looked for after a command.
const POINTERS: [&str; 2] = ["commondir", "config.worktree"];

/// The protected names of the nested repositories of a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Nested {
    /// Read-only, whether or not they exist.
    pub sealed: Vec<PathBuf>,
    /// Absent, and to stay so.
    pub absent: Vec<PathBuf>,
}

impl Nested {
    /// Looks for them, in nearer folders first.
    pub fn find(root: &Path) -> Self {
        let mut found = Self::default();
        let mut count = 0;
        for entry in entries(root) {
            let store = if entry.is_dir() {
                Some(entry)
            } else {
                // A submodule or work tree: the pointer, and the store behind it.
                let store = small_text(&entry)
                    .and(entry.parent())
                    .and_then(|tree| git_folders(tree).last());
                found.sealed.push(entry);
                store.map(|s| s.path)
            };
            if let Some(store) = store {
                found.add(&store);
            }
            count += 1;
            if count == MOST {
                break;
            }
        }
        found
    }

    fn add(&mut self, store: &Path) {
        self.sealed.extend(SEALED.map(|name| store.join(name)));
        for pointer in POINTERS.map(|name| store.join(name)) {
            let list = if pointer.exists() {
                &mut self.sealed
            } else {
                &mut self.absent
            };
            list.push(pointer);
        }
    }
}

/// Every `.git` below the root but its own. Links are not followed.
fn entries(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut todo = VecDeque::from([(root.to_owned(), 0)]);
    let mut looked_at = 0;
    while let Some((folder, depth)) = todo.pop_front() {
        looked_at += 1;
        if looked_at > MOST_FOLDERS {
            break;
        }
        if depth > 0 {
            let git = folder.join(".git");
            let is_repository = git.symlink_metadata().is_ok_and(|meta| {
                meta.is_file() || meta.is_dir() && git.join("HEAD").symlink_metadata().is_ok()
            });
            if is_repository {
                found.push(git);
            }
        }
        if depth == DEPTH || todo.len() > MOST_FOLDERS {
            continue;
        }
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if entry.file_type().is_ok_and(|t| t.is_dir())
                && !PASSED_OVER.iter().any(|p| name == *p)
            {
                todo.push_back((entry.path(), depth + 1));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repositories_below_are_found_and_the_own_one_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for store in [".git", "a/b/.git", ".git/modules/m", "node_modules/x/.git"] {
            fs::create_dir_all(root.join(store)).unwrap();
            fs::write(root.join(store).join("HEAD"), "ref: refs/heads/main\n").unwrap();
        }
        fs::create_dir_all(root.join("empty/.git")).unwrap();
        fs::create_dir(root.join("m")).unwrap();
        fs::write(root.join("m/.git"), "gitdir: ../.git/modules/m\n").unwrap();
        fs::write(root.join("a/b/.git/commondir"), ".\n").unwrap();
        let found = Nested::find(&root);
        let mut sealed: Vec<_> = found
            .sealed
            .iter()
            .map(|p| p.strip_prefix(&root).unwrap().to_str().unwrap())
            .collect();
        sealed.sort_unstable();
        assert_eq!(
            sealed,
            [
                ".git/modules/m/config",
                ".git/modules/m/hooks",
                "a/b/.git/commondir",
                "a/b/.git/config",
                "a/b/.git/hooks",
                "m/.git",
            ]
        );
        assert_eq!(found.absent.len(), 3);
        assert!(
            found
                .absent
                .contains(&root.join("a/b/.git/config.worktree"))
        );
    }
}
