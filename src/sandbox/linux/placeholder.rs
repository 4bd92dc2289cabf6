//! Empty folders that stand in for protected names that do not exist, so that there is something
//! to mount over.
//!
//! Commands that run side by side share them, and the last one removes them: taking one away while
//! another command has its mount on it would lift that mount too. A lock on the folder tells who
//! still needs it, and an unusual mode tells ours from a real folder, also after a crash.

use super::sys;
use std::fs::{self, File, Metadata};
use std::io::ErrorKind;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

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

/// How long one is tried for: a command that removes it may be kept from the processor meanwhile.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(1);

/// Tries again when another command removes the folder between two steps.
fn hold(path: &Path) -> Result<Option<(PathBuf, File)>, String> {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
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
        match path.symlink_metadata() {
            Ok(there) if !is_placeholder(&there) => return Ok(None),
            // Gone already: to take it for a real one would leave the name unprotected.
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            _ => {
                if let Ok(folder) = File::open(path)
                    && sys::try_lock(folder.as_raw_fd(), false)
                    && is_same(path, &folder)
                {
                    return Ok(Some((path.to_owned(), folder)));
                }
            }
        }
        thread::sleep(PAUSE);
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
            let ours = || path.symlink_metadata().is_ok_and(|m| is_placeholder(&m));
            if last && ours() && is_same(path, folder) {
                // Fails if something is in it, and then it has to stay.
                let _ = fs::remove_dir(path);
            }
        }
    }
}

fn is_placeholder(there: &Metadata) -> bool {
    there.is_dir() && there.mode() & 0o1777 == MODE
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

    #[test]
    fn commands_that_begin_and_end_side_by_side_all_hold_it() {
        let dir = tempfile::tempdir().unwrap();
        let name = dir.path().join(".agents");
        let work = || {
            for _ in 0..2_000 {
                let held = Placeholders(hold(&name).unwrap().into_iter().collect());
                assert_eq!(held.0.len(), 1, "it was taken for a real folder");
                assert!(name.is_dir(), "it was removed while it was held");
            }
        };
        thread::scope(|s| (0..4).for_each(|_| drop(s.spawn(work))));
        assert!(!name.exists());
    }
}
