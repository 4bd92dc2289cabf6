//! The second best protection, for systems without namespaces: what the protected names hold is
//! copied before a command and put back after it.
//!
//! While the command runs the damage exists, so this only ever counts as partial.

mod pinned;

use super::supervisor::failed;
use crate::sandbox::PROTECTED;
use pinned::{Pinned, move_aside, on_straight_way, result, unused};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The most that is copied.
const MOST_BYTES: u64 = 64 << 20;
/// The most files that are copied.
const MOST_FILES: usize = 20_000;

/// What in a folder of git's can make a later git run code. The rest changes with every commit,
/// and is not worth a copy.
const OF_GIT: [&str; 7] = [
    "config",
    "config.worktree",
    "commondir",
    "gitdir",
    "hooks",
    "info",
    "modules",
];
/// The same in the folder that it has for each work tree elsewhere.
const OF_WORK_TREE: [&str; 3] = ["commondir", "config.worktree", "gitdir"];
/// The most of those.
const MOST_TREES: usize = 64;

/// One guarded file.
#[derive(PartialEq, Eq)]
enum Content {
    File(Vec<u8>, u32),
    Link(PathBuf),
}

/// The state of the protected names before a command.
pub struct Snapshot {
    absent: Vec<PathBuf>,
    pinned: Pinned,
    /// The files and folders of which every file is guarded.
    watched: Vec<PathBuf>,
    files: BTreeMap<PathBuf, Content>,
}

impl Snapshot {
    /// Copies what has to be put back. `writable` are the folders in which the command may move things.
    pub fn take(sealed: &[PathBuf], writable: &[PathBuf]) -> Result<Self, String> {
        let (present, absent): (Vec<_>, Vec<_>) = sealed
            .iter()
            .cloned()
            .partition(|path| path.symlink_metadata().is_ok());
        let pinned = Pinned::open(sealed, writable)
            .map_err(|e| failed("open the folders of the protected names", &e))?;
        let watched: Vec<_> = present.iter().flat_map(|path| watched(path)).collect();
        let files = copy(&watched).map_err(|e| failed("copy the protected folders", &e))?;
        Ok(Self {
            absent,
            pinned,
            watched,
            files,
        })
    }

    /// Undoes every change. Gives a line for each, for the person. Nothing that the command started
    /// may run any more.
    pub fn put_back(self) -> Vec<String> {
        let mut done = self.pinned.put_back();
        for path in &self.absent {
            if path.symlink_metadata().is_ok() {
                let moved = on_straight_way(path).and_then(|()| move_aside(path));
                done.push(result(path, "was made and is moved aside", moved));
            }
        }
        for top in &self.watched {
            if top.symlink_metadata().is_err() {
                continue;
            }
            match on_straight_way(top).and_then(|()| list(top, true)) {
                Ok(now) => {
                    for path in now.iter().filter(|p| !self.files.contains_key(*p)) {
                        let removed = fs::remove_file(path);
                        done.push(result(path, "was made and is removed", removed));
                    }
                }
                Err(_) => {
                    let moved = on_straight_way(top).and_then(|()| move_aside(top));
                    done.push(result(top, "is too full and is moved aside", moved));
                }
            }
        }
        for (path, content) in &self.files {
            if read(path).ok().as_ref() != Some(content) {
                let written = write(path, content);
                done.push(result(path, "was changed and is put back", written));
            }
        }
        done
    }
}

/// What of a protected name is guarded, file by file.
fn watched(path: &Path) -> Vec<PathBuf> {
    let own = |name: &str| path.file_name().is_some_and(|n| n == name);
    let is_other = PROTECTED.iter().any(|name| *name != ".git" && own(name));
    if is_other || path.is_symlink() || !path.join("HEAD").is_file() {
        return vec![path.to_owned()];
    }
    let mut all: Vec<_> = OF_GIT.iter().map(|name| path.join(name)).collect();
    // Work trees elsewhere read their own folder here.
    let trees = fs::read_dir(path.join("worktrees")).into_iter().flatten();
    for tree in trees.flatten().take(MOST_TREES) {
        all.extend(OF_WORK_TREE.iter().map(|name| tree.path().join(name)));
    }
    all
}

/// Reads all files that are to be guarded.
fn copy(watched: &[PathBuf]) -> io::Result<BTreeMap<PathBuf, Content>> {
    let mut found = BTreeMap::new();
    let mut bytes = 0;
    for top in watched {
        for path in list(top, false)? {
            bytes += path.symlink_metadata()?.len();
            if bytes > MOST_BYTES {
                return Err(too_much());
            }
            let content =
                read(&path).map_err(|e| io::Error::other(format!("{}: {e}", path.display())))?;
            found.insert(path, content);
        }
    }
    Ok(found)
}

fn too_much() -> io::Error {
    io::Error::other("they hold too much to copy for every command")
}

/// All paths at and below `top` that are not folders, at most [`MOST_FILES`]. `unlock`: a folder that
/// was shut against its owner is opened, so that what is in it can be seen and removed.
fn list(top: &Path, unlock: bool) -> io::Result<Vec<PathBuf>> {
    // The objects of a submodule are named by their content, and stay out.
    let is_passed_over = |path: &Path| {
        top.file_name().is_some_and(|name| name == "modules")
            && path.file_name().is_some_and(|name| name == "objects")
    };
    let mut found = Vec::new();
    let mut todo = vec![top.to_owned()];
    while let Some(path) = todo.pop() {
        let Ok(meta) = path.symlink_metadata() else {
            continue;
        };
        if found.len() + todo.len() > MOST_FILES {
            return Err(too_much());
        }
        if !meta.is_dir() {
            found.push(path);
        } else if !is_passed_over(&path) {
            if unlock && meta.mode() & 0o700 != 0o700 {
                let mode = fs::Permissions::from_mode(meta.mode() & 0o7777 | 0o700);
                fs::set_permissions(&path, mode)?;
            }
            for entry in fs::read_dir(&path)?.take(MOST_FILES + 1) {
                todo.push(entry?.path());
            }
        }
    }
    Ok(found)
}

fn read(path: &Path) -> io::Result<Content> {
    let meta = path.symlink_metadata()?;
    if meta.is_symlink() {
        return Ok(Content::Link(fs::read_link(path)?));
    }
    if !meta.is_file() || meta.len() > MOST_BYTES {
        return Err(io::Error::other(
            "neither a file of sensible size nor a link",
        ));
    }
    Ok(Content::File(fs::read(path)?, meta.mode()))
}

/// Writes beside and renames, since the command may hold a hard link to what is there now.
fn write(path: &Path, content: &Content) -> io::Result<()> {
    on_straight_way(path)?;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    if path.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
        move_aside(path)?;
    }
    let beside = unused(path, ".put-back")?;
    match content {
        Content::Link(target) => std::os::unix::fs::symlink(target, &beside)?,
        Content::File(bytes, mode) => {
            let mut file = File::options()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&beside)?;
            file.write_all(bytes)?;
            file.set_permissions(fs::Permissions::from_mode(*mode))?;
        }
    }
    fs::rename(beside, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository(at: &Path, config: &str) {
        fs::create_dir_all(at.join("hooks")).unwrap();
        fs::write(at.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(at.join("config"), config).unwrap();
    }

    fn text(path: impl AsRef<Path>) -> String {
        fs::read_to_string(path).unwrap()
    }

    #[test]
    fn changes_to_protected_names_are_undone() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let git = root.join(".git");
        repository(&git, "good");
        let agents = root.join(".agents");
        let sealed = [git.clone(), agents.clone()];
        let snapshot = Snapshot::take(&sealed, std::slice::from_ref(&root)).unwrap();

        fs::rename(&git, root.join("elsewhere")).unwrap();
        fs::create_dir_all(git.join("hooks")).unwrap();
        fs::write(root.join("elsewhere/config"), "bad").unwrap();
        fs::write(root.join("elsewhere/hooks/pre-commit"), "bad").unwrap();
        fs::create_dir(&agents).unwrap();

        fs::remove_file(root.join("elsewhere/HEAD")).unwrap();
        fs::write(root.join("elsewhere/index"), "of git's own").unwrap();

        let lines = snapshot.put_back();
        assert_eq!(lines.len(), 4, "{lines:?}");
        assert_eq!(text(git.join("config")), "good");
        assert!(git.join("index").exists() && !git.join("hooks/pre-commit").exists());
        assert!(!agents.exists());
    }

    #[test]
    fn nothing_is_put_back_through_a_link_to_elsewhere() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let (temp, other) = (base.join("temp"), base.join("other"));
        let root = temp.join("work");
        for at in [
            &root.join("sub/.git"),
            &root.join(".git"),
            &other.join(".git"),
        ] {
            repository(at, "good");
        }
        repository(&other.join("sub/.git"), "of another");
        fs::write(other.join(".git/hooks/theirs"), "of another").unwrap();
        let sealed = [".agents", ".git", "sub/.git/config", "sub/.git/hooks"];
        let sealed = sealed.map(|name| root.join(name));
        let snapshot = Snapshot::take(&sealed, &[temp.clone(), root.clone()]).unwrap();

        fs::rename(root.join("sub"), root.join("moved")).unwrap();
        std::os::unix::fs::symlink(other.join("sub"), root.join("sub")).unwrap();
        fs::rename(&root, temp.join("gone")).unwrap();
        std::os::unix::fs::symlink(&other, &root).unwrap();
        fs::create_dir(other.join(".agents")).unwrap();

        let lines = snapshot.put_back();
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(root.join("sub").symlink_metadata().unwrap().is_dir());
        assert_eq!(text(root.join("sub/.git/config")), "good");
        assert_eq!(text(other.join("sub/.git/config")), "of another");
        assert!(other.join(".git/hooks/theirs").exists() && other.join(".agents").exists());
    }

    #[test]
    fn neither_taken_names_nor_shut_folders_keep_the_damage() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let git = root.join(".git");
        repository(&git, "good");
        fs::create_dir_all(git.join("worktrees/tree")).unwrap();
        fs::write(git.join("worktrees/tree/commondir"), "../..\n").unwrap();
        fs::create_dir_all(root.join(".agents/skills")).unwrap();
        fs::write(root.join(".agents/HEAD"), "of a clone").unwrap();
        let sealed = [".agents", ".codex", ".git"].map(|name| root.join(name));
        let snapshot = Snapshot::take(&sealed, std::slice::from_ref(&root)).unwrap();

        let id = std::process::id();
        fs::write(git.join(format!(".put-back-{id}")), "").unwrap();
        fs::create_dir_all(root.join(format!(".codex.untrusted-{id}/x"))).unwrap();
        fs::create_dir(root.join(".codex")).unwrap();
        fs::remove_file(git.join("config")).unwrap();
        fs::create_dir(git.join("config")).unwrap();
        fs::write(git.join("hooks/pre-commit"), "bad").unwrap();
        fs::write(git.join("worktrees/tree/commondir"), "bad").unwrap();
        fs::create_dir_all(root.join(".agents/skills/objects")).unwrap();
        fs::write(root.join(".agents/skills/objects/SKILL.md"), "bad").unwrap();
        for shut in [".git/hooks", ".git", ""] {
            fs::set_permissions(root.join(shut), fs::Permissions::from_mode(0o500)).unwrap();
        }

        let lines = snapshot.put_back();
        assert!(!lines.iter().any(|l| l.contains("failed")), "{lines:?}");
        assert_eq!(text(git.join("config")), "good");
        assert_eq!(text(git.join("worktrees/tree/commondir")), "../..\n");
        assert!(!git.join("hooks/pre-commit").exists() && !root.join(".codex").exists());
        assert!(!root.join(".agents/skills/objects/SKILL.md").exists());
    }
}
