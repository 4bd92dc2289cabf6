//! Empty folders that stand in for protected names that do not exist, so that there is something
//! to mount over.
//!
//! Commands that run side by side share them, and the last one removes them: taking one away while
//! another command has its mount on it would lift that mount too. A lock on the folder tells who
//! still needs it, and an unusual mode tells ours from a real folder, also after a crash.

use super::sys;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Sticky, and writable by nobody: the mode of a placeholder from the moment it exists.
const MODE: u32 = 0o1555;

/// The placeholders that one command holds.
pub struct Placeholders(Vec<(PathBuf, File)>);

impl Placeholders {
    /// Makes or shares one for each path that does not exist. A path where this process may not
    /// make one stays absent, since the command may make nothing there either.
    pub fn make(paths: &[PathBuf]) -> Result<Self, String> {
        // SAFETY: no memory is involved. The mode above is meant exactly.
        let old = unsafe { libc::umask(0) };
        let made: Result<_, _> = paths.iter().filter_map(|p| hold(p).transpose()).collect();
        // SAFETY: as above.
        unsafe { libc::umask(old) };
        made.map(Self)
    }
}

/// Tries a few times, because another command may remove the folder between two steps.
fn hold(path: &Path) -> Result<Option<(PathBuf, File)>, String> {
    for _ in 0..100 {
        match fs::DirBuilder::new().mode(MODE).create(path) {
            Ok(()) => {}
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            Err(e)
                if matches!(
                    e.kind(),
                    ErrorKind::PermissionDenied
                        | ErrorKind::ReadOnlyFilesystem
                        | ErrorKind::NotFound
                ) =>
            {
                return Ok(None);
            }
            Err(e) => {
                return Err(format!(
                    "{} could not be protected by an empty folder: {e}",
                    path.display()
                ));
            }
        }
        if !is_placeholder(path) {
            return Ok(None);
        }
        if let Ok(folder) = File::open(path)
            && sys::try_lock(folder.as_raw_fd(), false)
            && is_same(path, &folder)
        {
            return Ok(Some((path.to_owned(), folder)));
        }
    }
    Err(format!(
        "{} could not be protected, because other commands keep making and removing it",
        path.display()
    ))
}

impl Drop for Placeholders {
    fn drop(&mut self) {
        for (path, folder) in &self.0 {
            let last = sys::try_lock(folder.as_raw_fd(), true);
            if last && is_placeholder(path) && is_same(path, folder) {
                // Fails if something is in it, and then it has to stay.
                let _ = fs::remove_dir(path);
            }
        }
    }
}

fn is_placeholder(path: &Path) -> bool {
    path.symlink_metadata()
        .is_ok_and(|m| m.is_dir() && m.mode() & 0o1777 == MODE)
}

fn is_same(path: &Path, open: &File) -> bool {
    let (Ok(there), Ok(here)) = (path.symlink_metadata(), open.metadata()) else {
        return false;
    };
    (there.dev(), there.ino()) == (here.dev(), here.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_holder_removes_and_a_real_folder_stays() {
        let dir = tempfile::tempdir().unwrap();
        let (absent, real) = (dir.path().join(".git"), dir.path().join(".agents"));
        fs::create_dir(&real).unwrap();
        let paths = [absent.clone(), real.clone()];
        let first = Placeholders::make(&paths).unwrap();
        let second = Placeholders::make(&paths).unwrap();
        drop(first);
        assert!(absent.is_dir());
        drop(second);
        assert!(!absent.exists() && real.is_dir());
    }
}
