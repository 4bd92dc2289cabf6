//! The same file operations where the system offers no way to open a folder from another one.
//! Each link on the way is looked for first; a command that swaps one in meanwhile is not caught.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

/// Opens a file for reading.
pub fn open(path: &Path) -> io::Result<File> {
    no_links(path)?;
    File::open(path)
}

/// Writes a new file beside `path` and moves it there; on failure it is removed again.
pub fn replace(path: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    no_links(path)?;
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    fs::create_dir_all(folder)?;
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let beside = folder.join(format!(".interpreter-{}-{number}.tmp", std::process::id()));
    let mut file = File::create_new(&beside)?;
    let done = fill(&mut file).and_then(|()| file.sync_all());
    drop(file);
    let done = done.and_then(|()| fs::rename(&beside, path));
    if done.is_err() {
        let _ = fs::remove_file(&beside);
    }
    done
}

/// Removes a file or link.
pub fn remove(path: &Path) -> io::Result<()> {
    no_links(path)?;
    fs::remove_file(path)
}

fn no_links(path: &Path) -> io::Result<()> {
    if path.ancestors().any(Path::is_symlink) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "the path goes through a link",
        ));
    }
    Ok(())
}
