//! The second best protection, for systems without namespaces: what the protected names hold is
//! copied before a command and put back after it.
//!
//! While the command runs the damage exists, so this only ever counts as partial.

use super::supervisor::failed;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
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

/// One guarded file.
#[derive(PartialEq, Eq)]
enum Content {
    File(Vec<u8>, u32),
    Link(PathBuf),
}

/// The state of the protected names before a command.
pub struct Snapshot {
    absent: Vec<PathBuf>,
    /// Open, so that a folder that was moved away is found again.
    present: Vec<(PathBuf, File)>,
    /// The files and folders under `present` of which every file is guarded.
    watched: Vec<PathBuf>,
    files: BTreeMap<PathBuf, Content>,
}

impl Snapshot {
    /// Copies what has to be put back.
    pub fn take(sealed: &[PathBuf]) -> Result<Self, String> {
        let (mut present, mut absent) = (Vec::new(), Vec::new());
        let mut watched = Vec::new();
        for path in sealed {
            match File::open(path) {
                Ok(file) => present.push((path.clone(), file)),
                Err(e) if e.kind() == io::ErrorKind::NotFound => absent.push(path.clone()),
                Err(e) => return Err(failed(&format!("copy {}", path.display()), &e)),
            }
            if path.join("HEAD").is_file() {
                watched.extend(OF_GIT.iter().map(|name| path.join(name)));
            } else {
                watched.push(path.clone());
            }
        }
        let files = copy(&watched).map_err(|e| failed("copy the protected folders", &e))?;
        Ok(Self {
            absent,
            present,
            watched,
            files,
        })
    }

    /// Undoes every change. Gives a line for each, for the person.
    pub fn put_back(self) -> Vec<String> {
        let mut done = Vec::new();
        for path in &self.absent {
            if path.symlink_metadata().is_ok() {
                done.push(result(
                    path,
                    "was made and is moved aside",
                    move_aside(path),
                ));
            }
        }
        for (path, open) in &self.present {
            if !is_same(path, open) {
                let moved = bring_home(path, open);
                done.push(result(path, "was replaced and is put back", moved));
            }
        }
        for top in &self.watched {
            match list(top) {
                Ok(now) => {
                    for path in now.iter().filter(|p| !self.files.contains_key(*p)) {
                        let removed = fs::remove_file(path);
                        done.push(result(path, "was made and is removed", removed));
                    }
                }
                Err(_) => {
                    done.push(result(
                        top,
                        "is too full and is moved aside",
                        move_aside(top),
                    ));
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

fn result(path: &Path, what: &str, done: io::Result<()>) -> String {
    match done {
        Ok(()) => format!("{} {what}", path.display()),
        Err(e) => format!("{} {what}, which failed: {e}", path.display()),
    }
}

/// Reads all files that are to be guarded.
fn copy(watched: &[PathBuf]) -> io::Result<BTreeMap<PathBuf, Content>> {
    let mut found = BTreeMap::new();
    let mut bytes = 0;
    for top in watched {
        for path in list(top)? {
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

/// All paths at and below `top` that are not folders, at most [`MOST_FILES`].
fn list(top: &Path) -> io::Result<Vec<PathBuf>> {
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
        } else if path.file_name().is_none_or(|name| name != "objects") {
            // The objects of a submodule are named by their content, and stay out.
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

fn is_same(path: &Path, open: &File) -> bool {
    let (Ok(there), Ok(here)) = (path.symlink_metadata(), open.metadata()) else {
        return false;
    };
    (there.dev(), there.ino()) == (here.dev(), here.ino())
}

/// Renames something that must not stay, without looking into it.
fn move_aside(path: &Path) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let id = std::process::id();
    fs::rename(path, path.with_file_name(format!("{name}.untrusted-{id}")))
}

/// Moves an open folder back to its name, wherever it is now.
fn bring_home(path: &Path, open: &File) -> io::Result<()> {
    if path.symlink_metadata().is_ok() {
        move_aside(path)?;
    }
    let now = fs::read_link(format!("/proc/self/fd/{}", open.as_raw_fd()))?;
    if open.metadata()?.nlink() == 0 {
        // It was deleted: only the guarded files can be made again.
        return if open.metadata()?.is_dir() {
            fs::create_dir(path)
        } else {
            Ok(())
        };
    }
    fs::rename(now, path)
}

/// Writes beside and renames, since the command may hold a hard link to what is there now.
fn write(path: &Path, content: &Content) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let beside = path.with_file_name(format!(".put-back-{}", std::process::id()));
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

    #[test]
    fn changes_to_protected_names_are_undone() {
        let dir = tempfile::tempdir().unwrap();
        let git = dir.path().join(".git");
        fs::create_dir_all(git.join("hooks")).unwrap();
        fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(git.join("config"), "good").unwrap();
        let agents = dir.path().join(".agents");
        let snapshot = Snapshot::take(&[git.clone(), agents.clone()]).unwrap();

        fs::rename(&git, dir.path().join("elsewhere")).unwrap();
        fs::create_dir_all(git.join("hooks")).unwrap();
        fs::write(dir.path().join("elsewhere/config"), "bad").unwrap();
        fs::write(dir.path().join("elsewhere/hooks/pre-commit"), "bad").unwrap();
        fs::create_dir(&agents).unwrap();

        fs::remove_file(dir.path().join("elsewhere/HEAD")).unwrap();
        fs::write(dir.path().join("elsewhere/index"), "of git's own").unwrap();

        let lines = snapshot.put_back();
        assert_eq!(lines.len(), 4, "{lines:?}");
        assert_eq!(fs::read_to_string(git.join("config")).unwrap(), "good");
        assert!(git.join("index").exists() && !git.join("hooks/pre-commit").exists());
        assert!(!agents.exists());
    }
}
