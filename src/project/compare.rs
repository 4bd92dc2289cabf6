//! Files before and after a change: what `/diff` shows.

use super::git;
use super::undo::scan;
use crate::cancel::Cancel;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::Path;

/// A file that is read to be compared.
const MOST_FILE: u64 = 16 << 20;
/// The most files that are compared.
const MOST: usize = 5_000;

/// What stands at a path, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Side {
    /// Nothing.
    Nothing,
    /// A file with this content.
    File(Vec<u8>),
    /// A symbolic link to this.
    Link(String),
    /// A folder.
    Folder,
    /// A file whose content is not known, and why.
    Unknown(&'static str),
}

impl Side {
    /// Its text; `None` for what is none: a binary file, a link, a folder, an unknown content.
    pub fn text(&self) -> Option<&str> {
        match self {
            Side::Nothing => Some(""),
            Side::File(bytes) => std::str::from_utf8(bytes)
                .ok()
                .filter(|t| !t.contains('\0')),
            _ => None,
        }
    }

    /// What stands at a path now.
    pub fn now(path: &Path) -> Side {
        let Ok(meta) = path.symlink_metadata() else {
            return Side::Nothing;
        };
        if meta.is_symlink() {
            let to = fs::read_link(path).unwrap_or_default();
            return Side::Link(to.to_string_lossy().into_owned());
        }
        if meta.is_dir() {
            return Side::Folder;
        }
        if !meta.is_file() || meta.len() > MOST_FILE {
            return Side::Unknown("too large to compare");
        }
        fs::read(path).map_or(Side::Unknown("unreadable"), Side::File)
    }
}

/// One changed path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compared {
    /// The path as it is shown.
    pub path: String,
    /// What was there.
    pub before: Side,
    /// What is there.
    pub after: Side,
    /// Permissions before and after, where they differ.
    pub modes: Option<(u32, u32)>,
}

/// The changes of a git work tree against its last commit, untracked files included; `None` where
/// there is no repository, or none that can be read. Nothing of the repository is run: no filter,
/// no external diff. The second value is how many files are left out.
pub fn work_tree(cwd: &Path, cancel: &Cancel) -> Option<(Vec<Compared>, usize)> {
    let facts = git::facts(cwd)?;
    let (top, dir) = git::folders(cwd)?;
    let tree = match &facts.commit {
        Some(commit) => git::objects::tree(&dir, commit, cancel)?,
        None => HashMap::new(),
    };
    let index = git::index::read(&dir).unwrap_or_default();
    let mut paths: BTreeSet<String> = scan::files(&top, cancel).into_iter().collect();
    paths.extend(tree.keys().chain(index.keys()).cloned());
    let mut changed: BTreeMap<String, Side> = BTreeMap::new();
    let mut left_out = 0;
    for path in paths {
        if cancel.is_cancelled() {
            break;
        }
        let at = top.join(&path);
        let (was, tracked) = (tree.get(&path), index.get(&path));
        if let (Ok(meta), Some(was), Some(tracked)) = (at.symlink_metadata(), was, tracked) {
            let same_mode =
                tracked.mode == was.mode && is_executable(&meta) == (was.mode & 0o100 != 0);
            if tracked.object == was.object && same_mode && tracked.is_untouched(&meta) {
                continue;
            }
        }
        let now = match Side::now(&at) {
            Side::Folder => Side::Nothing,
            now => now,
        };
        // A submodule or a sparse file is no change.
        let nothing =
            now == Side::Nothing && (was.is_none() || tracked.is_some_and(|t| t.is_skipped));
        if nothing {
            continue;
        }
        if changed.len() >= MOST {
            left_out += 1;
        } else {
            changed.insert(path, now);
        }
    }
    let wanted: Vec<&str> = changed
        .keys()
        .filter_map(|path| tree.get(path).map(|was| was.object.as_str()))
        .collect();
    let contents = git::objects::contents(&dir, &wanted, cancel);
    let one = |(path, after): (String, Side)| {
        let was = tree.get(&path);
        let before = match was.map(|was| (was, contents.get(&was.object))) {
            None => Side::Nothing,
            Some((_, None)) => Side::Unknown("not in git's objects"),
            Some((was, Some(bytes))) if was.mode & 0o170_000 == 0o120_000 => {
                Side::Link(String::from_utf8_lossy(bytes).into_owned())
            }
            Some((_, Some(bytes))) => Side::File(bytes.clone()),
        };
        let modes = was.and_then(|was| modes(was.mode, &top.join(&path)));
        let is_same = before == after || is_with_other_ends(&before, &after);
        (!is_same || modes.is_some()).then_some(Compared {
            path,
            before,
            after,
            modes,
        })
    };
    Some((changed.into_iter().filter_map(one).collect(), left_out))
}

/// The permissions of a commit and of the disk, where one may be run and the other not.
fn modes(was: u32, path: &Path) -> Option<(u32, u32)> {
    let meta = path.symlink_metadata().ok().filter(|m| m.is_file())?;
    let (was, is) = (
        was & 0o777,
        if is_executable(&meta) { 0o755 } else { 0o644 },
    );
    (cfg!(unix) && was != 0 && was != is).then_some((was, is))
}

fn is_executable(meta: &fs::Metadata) -> bool {
    super::undo::manifest::mode(meta) & 0o100 != 0
}

/// Git may have written other line ends than it keeps.
fn is_with_other_ends(before: &Side, after: &Side) -> bool {
    match (before.text(), after.text()) {
        (Some(kept), Some(now)) => !kept.contains("\r\n") && now.replace("\r\n", "\n") == kept,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::git::run_in;

    #[test]
    fn changes_against_the_last_commit_without_running_anything() {
        let dir = tempfile::tempdir().unwrap();
        let git = |args: &[&str]| run_in(dir.path(), args);
        // A machine without git has no work tree.
        if git(&["init", "-q"]).is_none() {
            return;
        }
        let write = |name: &str, text: &str| {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("kept.txt", "kept\n");
        write("sub/changed.txt", "old\n");
        write("gone.txt", "gone\n");
        write("ends.txt", "a\nb\n");
        write(".gitignore", "ignored\n");
        git(&["add", "."]).unwrap();
        git(&["commit", "-qm", "x"]).unwrap();
        git(&["config", "filter.f.clean", "touch trapped; cat"]).unwrap();
        write("sub/changed.txt", "new\n");
        fs::remove_file(dir.path().join("gone.txt")).unwrap();
        write("untracked.txt", "fresh\n");
        write("ignored", "no\n");
        write("ends.txt", "a\r\nb\r\n");
        write(".gitattributes", "* filter=f\n");
        let (found, left) = work_tree(&dir.path().join("sub"), &Cancel::new()).unwrap();
        assert_eq!(left, 0);
        let file = |text: &str| Side::File(text.into());
        let found: Vec<_> = found
            .into_iter()
            .map(|f| (f.path, f.before, f.after))
            .collect();
        assert_eq!(
            found,
            [
                (".gitattributes".into(), Side::Nothing, file("* filter=f\n")),
                ("gone.txt".into(), file("gone\n"), Side::Nothing),
                ("sub/changed.txt".into(), file("old\n"), file("new\n")),
                ("untracked.txt".into(), Side::Nothing, file("fresh\n")),
            ]
        );
        assert!(!dir.path().join("trapped").exists());
    }
}
