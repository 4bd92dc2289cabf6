//! File operations that follow no link on the way: each folder is opened from the one above it.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path};
use std::sync::atomic::{AtomicU32, Ordering};

/// How a folder on the way is opened. `O_PATH` needs no right to list it.
#[cfg(target_os = "linux")]
const FOLDER: i32 = libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
#[cfg(not(target_os = "linux"))]
const FOLDER: i32 = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;

/// Opens a file for reading. A pipe in its place does not block.
pub fn open(path: &Path) -> io::Result<File> {
    let (folder, name) = parent(path, false)?;
    let flags = libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC;
    Ok(File::from(open_at(folder.as_raw_fd(), name, flags, 0)?))
}

/// Writes a new file beside `path` and moves it there; on failure it is removed again.
pub fn replace(path: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let (folder, name) = parent(path, true)?;
    let old = old_file(folder.as_raw_fd(), name)?;
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let beside = format!(".interpreter-{}-{number}.tmp", std::process::id());
    let beside = OsStr::new(&beside);

    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    let mode = if old.is_some() { 0o600 } else { 0o666 };
    let mut file = File::from(open_at(folder.as_raw_fd(), beside, flags, mode)?);
    let done = fill(&mut file)
        .and_then(|()| old.as_ref().map_or(Ok(()), |old| take_over(&file, old)))
        .and_then(|()| file.sync_all())
        .and_then(|()| rename_at(folder.as_raw_fd(), beside, name));
    if done.is_err() {
        let _ = unlink_at(folder.as_raw_fd(), beside);
    }
    done
}

/// Removes a file or link.
pub fn remove(path: &Path) -> io::Result<()> {
    let (folder, name) = parent(path, false)?;
    unlink_at(folder.as_raw_fd(), name)
}

/// The open folder of a path, made if it is missing and wanted, and the last name.
fn parent(path: &Path, make: bool) -> io::Result<(OwnedFd, &OsStr)> {
    let invalid = || io::Error::new(io::ErrorKind::InvalidInput, "not an absolute plain path");
    let name = path.file_name().ok_or_else(invalid)?;
    let mut folder = open_at(libc::AT_FDCWD, OsStr::new("/"), FOLDER, 0)?;
    let mut parts = path.parent().ok_or_else(invalid)?.components();
    if parts.next() != Some(Component::RootDir) {
        return Err(invalid());
    }
    for part in parts {
        let Component::Normal(part) = part else {
            return Err(invalid());
        };
        let next = match open_at(folder.as_raw_fd(), part, FOLDER, 0) {
            Err(e) if make && e.kind() == io::ErrorKind::NotFound => {
                make_at(folder.as_raw_fd(), part)?;
                open_at(folder.as_raw_fd(), part, FOLDER, 0)?
            }
            other => other?,
        };
        folder = next;
    }
    Ok((folder, name))
}

/// The regular file that is there now.
fn old_file(folder: RawFd, name: &OsStr) -> io::Result<Option<libc::stat>> {
    let name = c_name(name)?;
    // SAFETY: the structure is plain numbers; it and the name outlive the call.
    let (result, stat) = unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        let flags = libc::AT_SYMLINK_NOFOLLOW;
        let result = libc::fstatat(folder, name.as_ptr(), &mut stat, flags);
        (result, stat)
    };
    if result < 0 {
        let error = io::Error::last_os_error();
        return match error.kind() {
            io::ErrorKind::NotFound => Ok(None),
            _ => Err(error),
        };
    }
    if stat.st_mode & libc::S_IFMT == libc::S_IFREG {
        return Ok(Some(stat));
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        "not a regular file",
    ))
}

/// Gives a new file the owner and mode of the old one. Without the right to the first, the bits
/// that would run it as its owner are left out.
fn take_over(file: &File, old: &libc::stat) -> io::Result<()> {
    let now = file.metadata()?;
    let mut mode = old.st_mode & 0o7777;
    if (now.uid(), now.gid()) != (old.st_uid, old.st_gid) {
        // SAFETY: no memory is involved; the descriptor is open.
        let done = unsafe { libc::fchown(file.as_raw_fd(), old.st_uid, old.st_gid) };
        if done < 0 {
            mode &= 0o777;
        }
    }
    // SAFETY: as above.
    result(unsafe { libc::fchmod(file.as_raw_fd(), mode) })
}

fn c_name(name: &OsStr) -> io::Result<CString> {
    CString::new(name.as_bytes()).map_err(|e| io::Error::new(io::ErrorKind::InvalidInput, e))
}

fn result(value: libc::c_int) -> io::Result<()> {
    if value < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

fn open_at(folder: RawFd, name: &OsStr, flags: i32, mode: libc::c_uint) -> io::Result<OwnedFd> {
    let name = c_name(name)?;
    // SAFETY: the name outlives the call; the descriptor that comes back is owned by nobody else.
    unsafe {
        let fd = libc::openat(folder, name.as_ptr(), flags, mode);
        result(fd)?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

fn make_at(folder: RawFd, name: &OsStr) -> io::Result<()> {
    let name = c_name(name)?;
    // SAFETY: the name outlives the call.
    match result(unsafe { libc::mkdirat(folder, name.as_ptr(), 0o777) }) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

fn rename_at(folder: RawFd, from: &OsStr, to: &OsStr) -> io::Result<()> {
    let (from, to) = (c_name(from)?, c_name(to)?);
    // SAFETY: the names outlive the call.
    result(unsafe { libc::renameat(folder, from.as_ptr(), folder, to.as_ptr()) })
}

fn unlink_at(folder: RawFd, name: &OsStr) -> io::Result<()> {
    let name = c_name(name)?;
    // SAFETY: the name outlives the call.
    result(unsafe { libc::unlinkat(folder, name.as_ptr(), 0) })
}
