//! The folders that lead to what is guarded, and that a command could have moved, replaced or shut.
//!
//! What is put back is reached by its path. So first every folder on the way has to be the one that it
//! was: a link in the place of one would lead the helper, which no fence holds, to somewhere else.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What an owner needs in a folder to change what is in it.
const OWNER: u32 = 0o700;

/// One folder, held open so that it is found again wherever it was moved to.
struct Folder {
    path: PathBuf,
    open: File,
    mode: u32,
    /// It is guarded itself, so that its mode stays as it is.
    guarded: bool,
}

/// The folders on the way, outer ones first.
pub struct Pinned(Vec<Folder>);

impl Pinned {
    /// Opens the guarded folders, and those above each guarded path that lie in a writable one.
    pub fn open(guarded: &[PathBuf], writable: &[PathBuf]) -> io::Result<Self> {
        let mut wanted = BTreeMap::new();
        for path in guarded {
            let above = path.ancestors().skip(1);
            let within = above.filter(|a| writable.iter().any(|w| a.starts_with(w)));
            wanted.extend(within.map(|a| (a.to_owned(), false)));
        }
        wanted.extend(guarded.iter().map(|path| (path.clone(), true)));
        let mut folders = Vec::new();
        for (path, guarded) in wanted {
            let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW;
            let file = File::options().read(true).custom_flags(flags).open(&path);
            match file {
                Ok(open) => folders.push(Folder {
                    mode: open.metadata()?.mode() & 0o7777,
                    path,
                    open,
                    guarded,
                }),
                // It is no folder, or a link: what is guarded of it is its content.
                Err(e)
                    if matches!(
                        e.kind(),
                        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                    ) => {}
                Err(e) => return Err(io::Error::other(format!("{}: {e}", path.display()))),
            }
        }
        Ok(Self(folders))
    }

    /// Moves every folder back to its place and opens what was shut. Gives a line for each change.
    pub fn put_back(&self) -> Vec<String> {
        let mut done = Vec::new();
        for folder in &self.0 {
            let path = &folder.path;
            if !is_same(path, &folder.open) {
                let moved = on_straight_way(path).and_then(|()| bring_home(path, &folder.open));
                done.push(result(path, "was replaced and is put back", moved));
            }
            let mode = path.symlink_metadata().map_or(0, |m| m.mode() & 0o7777);
            let changed = mode != folder.mode && (folder.guarded || mode & OWNER != OWNER);
            if changed && is_same(path, &folder.open) {
                let set = fs::set_permissions(path, fs::Permissions::from_mode(folder.mode));
                done.push(result(
                    path,
                    "was given another mode and has its own again",
                    set,
                ));
            }
        }
        done
    }
}

/// The line for a change that was undone, or not.
pub fn result(path: &Path, what: &str, done: io::Result<()>) -> String {
    match done {
        Ok(()) => format!("{} {what}", path.display()),
        Err(e) => format!("{} {what}, which failed: {e}", path.display()),
    }
}

/// An error when a link leads to this path, whose folder was canonical before the command. What does
/// not exist leads nowhere.
pub fn on_straight_way(path: &Path) -> io::Result<()> {
    let above = path.ancestors().skip(1);
    for folder in above.filter(|a| a.symlink_metadata().is_ok()).take(1) {
        if folder.canonicalize()? != folder {
            let why = format!("{} leads somewhere else now", folder.display());
            return Err(io::Error::other(why));
        }
    }
    Ok(())
}

/// Renames something that must not stay, without looking into it.
pub fn move_aside(path: &Path) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // A name that is already as long as one may be.
    let name: String = name.chars().take(40).collect();
    fs::rename(path, unused(path, &format!("{name}.untrusted"))?)
}

/// A path beside `path` that nothing has: the command may have made what could be guessed.
pub fn unused(path: &Path, name: &str) -> io::Result<PathBuf> {
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |d| d.as_nanos());
    (0..1000)
        .map(|number| path.with_file_name(format!("{name}-{now:x}-{number}")))
        .find(|free| free.symlink_metadata().is_err())
        .ok_or_else(|| io::Error::other("every name beside it is taken"))
}

fn is_same(path: &Path, open: &File) -> bool {
    let (Ok(there), Ok(here)) = (path.symlink_metadata(), open.metadata()) else {
        return false;
    };
    (there.dev(), there.ino()) == (here.dev(), here.ino())
}

/// Moves an open folder back to its name, wherever it is now.
fn bring_home(path: &Path, open: &File) -> io::Result<()> {
    if path.symlink_metadata().is_ok() {
        move_aside(path)?;
    }
    if open.metadata()?.nlink() == 0 {
        // It was deleted: only the guarded files can be made again.
        return fs::create_dir(path);
    }
    let now = fs::read_link(format!("/proc/self/fd/{}", open.as_raw_fd()))?;
    fs::rename(now, path)
}
