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
    /// Links, and what is missing and has to stay so.
    pub watched: Vec<PathBuf>,
}

impl Nested {
    /// Looks for them, in nearer folders first.
    pub fn find(root: &Path) -> Self {
        let mut found = Self::default();
        for entry in entries(root).into_iter().take(MOST) {
            let store = if entry.is_symlink() {
                let store = entry.canonicalize().ok();
                found.watched.push(entry);
                store
            } else if entry.is_dir() {
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
        }
        found
    }

    fn add(&mut self, store: &Path) {
        for name in SEALED {
            self.seal(store.join(name));
        }
        self.add_pointers(store);
        // Work trees of it, which may be anywhere, are led by a folder each.
        let trees = fs::read_dir(store.join("worktrees")).into_iter().flatten();
        for tree in trees.flatten().take(MOST) {
            if tree.file_type().is_ok_and(|t| t.is_dir()) {
                self.add_pointers(&tree.path());
            }
        }
    }

    fn add_pointers(&mut self, folder: &Path) {
        for pointer in POINTERS.map(|name| folder.join(name)) {
            if pointer.exists() {
                self.seal(pointer);
            } else {
                self.watched.push(pointer);
            }
        }
    }

    /// A mount on a link would lie on what it leads to, and leave the link itself to be replaced.
    fn seal(&mut self, path: PathBuf) {
        if path.is_symlink() {
            self.sealed.extend(path.canonicalize().ok());
            self.watched.push(path);
        } else {
            self.sealed.push(path);
        }
    }
}

/// Every `.git` below the root but its own, and every repository that has no work tree. Links are not
/// followed.
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
            let is_repository = git
                .symlink_metadata()
                .is_ok_and(|meta| meta.is_file() || git.join("HEAD").symlink_metadata().is_ok());
            if is_repository {
                found.push(git);
            }
        }
        if folder.join("HEAD").is_file()
            && ["objects", "refs"].iter().all(|n| folder.join(n).is_dir())
        {
            found.push(folder);
            continue;
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
        fs::create_dir_all(root.join("bare/objects")).unwrap();
        fs::create_dir_all(root.join("bare/refs")).unwrap();
        fs::write(root.join("bare/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::create_dir(root.join("m")).unwrap();
        fs::write(root.join("m/.git"), "gitdir: ../.git/modules/m\n").unwrap();
        fs::write(root.join("a/b/.git/commondir"), ".\n").unwrap();
        fs::create_dir_all(root.join("a/b/.git/worktrees/t")).unwrap();
        fs::write(root.join("a/b/.git/worktrees/t/commondir"), "../..\n").unwrap();
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
                "a/b/.git/worktrees/t/commondir",
                "bare/config",
                "bare/hooks",
                "m/.git",
            ]
        );
        assert_eq!(found.watched.len(), 6);
        assert!(
            found
                .watched
                .contains(&root.join("a/b/.git/config.worktree"))
        );
    }

    #[cfg(unix)]
    #[test]
    fn links_are_watched_and_what_they_lead_to_is_sealed() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for store in ["stores/a", "stores/b", "b/.git"] {
            fs::create_dir_all(root.join(store).join("hooks")).unwrap();
            fs::write(root.join(store).join("HEAD"), "ref: refs/heads/main\n").unwrap();
            fs::write(root.join(store).join("config"), "").unwrap();
        }
        fs::create_dir(root.join("a")).unwrap();
        symlink("../stores/a", root.join("a/.git")).unwrap();
        fs::remove_file(root.join("b/.git/config")).unwrap();
        symlink("../../stores/b/config", root.join("b/.git/config")).unwrap();
        let found = Nested::find(&root);
        for sealed in [
            "stores/a/config",
            "stores/a/hooks",
            "stores/b/config",
            "b/.git/hooks",
        ] {
            assert!(found.sealed.contains(&root.join(sealed)), "{sealed}");
        }
        for watched in ["a/.git", "b/.git/config", "stores/a/commondir"] {
            assert!(found.watched.contains(&root.join(watched)), "{watched}");
        }
        assert!(!found.sealed.contains(&root.join("b/.git/config")));
    }
}
