//! The one path gate of every file tool.
//!
//! A path from a model becomes a canonical one here or is refused, by the same rules as the fence
//! around commands. Whatever is then opened is reached folder by folder from the top, without
//! following any link, so that a command that runs meanwhile cannot bend the path after the check.

#[cfg(unix)]
mod beneath;
#[cfg(windows)]
#[path = "gate/plain.rs"]
mod beneath;
#[cfg(any(windows, test))]
mod names;
#[cfg(all(test, unix))]
mod tests;

use super::scope::{Scope, is_within};
use super::{Lift, Mode, Policy};
use std::fmt;
use std::fs::Metadata;
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};

/// Why a path is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateError {
    /// The path as it was asked for.
    pub path: String,
    /// The reason and the next step.
    pub why: String,
}

impl fmt::Display for GateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.why)
    }
}

impl std::error::Error for GateError {}

/// Decides over the paths of the file tools, and opens what it let through.
#[derive(Debug, Clone)]
pub struct Gate {
    scope: Scope,
    cwd: PathBuf,
    home: Option<PathBuf>,
}

impl Gate {
    /// A gate for a policy; relative paths start at `cwd`. The folders of the policy are resolved
    /// now, once.
    pub fn new(policy: &Policy, cwd: &Path) -> Self {
        let home = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
        Self {
            scope: Scope::new(policy),
            cwd: cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned()),
            home: std::env::var_os(home).map(PathBuf::from),
        }
    }

    /// The absolute form of a path as a model wrote it: `~` is the home folder, `.` and `..` are
    /// resolved by name alone, and the disk is not looked at.
    pub fn absolute(&self, path: &str) -> PathBuf {
        let home = self.home.as_ref();
        let below_home = path
            .strip_prefix("~/")
            .or_else(|| (path == "~").then_some(""));
        let joined = match (below_home, home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => self.cwd.join(path),
        };
        let mut clean = PathBuf::new();
        for part in joined.components() {
            match part {
                Component::CurDir => {}
                Component::ParentDir => {
                    clean.pop();
                }
                other => clean.push(other),
            }
        }
        clean
    }

    /// The canonical path of an existing file or folder that a tool may read.
    ///
    /// # Errors
    /// When it does not exist, is in this program's own home, would give away the memory or
    /// environment of a process, or is neither file nor folder.
    pub fn readable(&self, path: &str) -> Result<PathBuf, GateError> {
        let refuse = refusal(path);
        let wanted = self.checked(path)?;
        let real = wanted
            .canonicalize()
            .map_err(|e| refuse(cannot_reach(&e)))?;
        if self.scope.is_hidden(&real) {
            return Err(refuse(
                "it is in this program's own home or in a folder of deny_read, which tools may not read".to_owned(),
            ));
        }
        if is_process_secret(&real) {
            return Err(refuse(
                "it is the memory or environment of a process, which tools may not read".to_owned(),
            ));
        }
        let meta = real.metadata().map_err(|e| refuse(cannot_reach(&e)))?;
        must_be_plain(&meta).map_err(refuse)?;
        Ok(real)
    }

    /// The canonical path of a file that a tool may write, make or remove with this lift. What
    /// exists of it has its links resolved; the rest may be missing.
    ///
    /// # Errors
    /// When it is outside the writable folders, has a protected name, is in this program's own
    /// home, goes through a link to nothing, or is neither file nor folder.
    pub fn writable(&self, path: &str, lift: &Lift) -> Result<PathBuf, GateError> {
        let refuse = refusal(path);
        let real = real_target(&self.checked(path)?).map_err(&refuse)?;
        if let Ok(meta) = real.symlink_metadata() {
            must_be_plain(&meta).map_err(&refuse)?;
        }
        if self.scope.mode == Mode::DangerFullAccess {
            return Ok(real);
        }
        if self.scope.hidden.iter().any(|h| is_within(&real, h)) {
            return Err(refuse(
                "it is in this program's own home or in a folder of deny_read, which tools may not write".to_owned(),
            ));
        }
        if *lift == Lift::Everything {
            return Ok(real);
        }
        self.within_scope(&real, lift).map_err(refuse)?;
        Ok(real)
    }

    /// The innermost writable or protected folder around a path decides, as in the fence.
    fn within_scope(&self, real: &Path, lift: &Lift) -> Result<(), String> {
        let depth = |p: &PathBuf| p.components().count();
        let writable = self.scope.writable(lift);
        let open = writable
            .iter()
            .filter(|w| real.starts_with(w))
            .map(depth)
            .max();
        let sealed = self.scope.sealed(lift);
        let targets = sealed.links.iter().filter_map(|l| l.canonicalize().ok());
        let shut = sealed
            .paths
            .iter()
            .chain(&sealed.watched)
            .cloned()
            .chain(targets)
            .filter(|s| is_within(real, s))
            .max_by_key(depth);
        match (open, shut) {
            (None, _) if writable.is_empty() => Err(
                "it cannot be written, because the sandbox is read-only; ask for approval if it must be"
                    .to_owned(),
            ),
            (None, _) => Err(format!(
                "it is outside the folders that may be written ({}); use one of them, or ask for approval",
                list(&writable)
            )),
            (Some(open), Some(shut)) if depth(&shut) >= open => Err(format!(
                "it is protected: {} can make other programs run code, so tools may not write it; ask for approval if it must be",
                shut.display()
            )),
            _ => Ok(()),
        }
    }

    /// Reads a regular file of at most `limit` bytes. The path is one that [`Gate::readable`] gave.
    ///
    /// # Errors
    /// `FileTooLarge` above the limit, `InvalidInput` for anything but a regular file, and
    /// whatever the system says.
    pub fn read(&self, path: &Path, limit: u64) -> io::Result<Vec<u8>> {
        let file = beneath::open(path)?;
        let meta = file.metadata()?;
        if !meta.is_file() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "not a regular file",
            ));
        }
        let too_large = || {
            io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!("larger than {limit} bytes"),
            )
        };
        if meta.len() > limit {
            return Err(too_large());
        }
        // Some files of the kernel's have no size, and any file can grow.
        let mut bytes = Vec::new();
        file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limit {
            return Err(too_large());
        }
        Ok(bytes)
    }

    /// Makes a file have this content: all of it or, if anything fails, what it had before.
    /// Parent folders are made; mode and owner of an old file are kept. The path is one that
    /// [`Gate::writable`] gave.
    ///
    /// # Errors
    /// Whatever the system says. An old file is replaced, not written to, so other hard links to
    /// it keep the old content.
    pub fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        beneath::replace(path, |file| file.write_all(bytes))
    }

    /// Gives a file the mode of another one. Both paths are ones that the gate gave.
    ///
    /// # Errors
    /// Whatever the system says.
    pub fn copy_mode(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mode = beneath::open(from)?.metadata()?;
        let file = beneath::open(to)?;
        if mode.is_file() && file.metadata()?.is_file() {
            file.set_permissions(mode.permissions())?;
        }
        Ok(())
    }

    /// Removes a file, or a link itself. The path is one that [`Gate::writable`] gave.
    ///
    /// # Errors
    /// Whatever the system says.
    pub fn remove(&self, path: &Path) -> io::Result<()> {
        beneath::remove(path)
    }

    fn checked(&self, path: &str) -> Result<PathBuf, GateError> {
        if path.is_empty() || path.contains('\0') {
            return Err(refusal(path)(
                "it is not a path: it is empty or holds a NUL character".to_owned(),
            ));
        }
        let absolute = self.absolute(path);
        #[cfg(windows)]
        if let Some(why) = names::odd_path(&absolute, &self.scope.roots) {
            return Err(refusal(path)(format!("it cannot be judged: {why}")));
        }
        Ok(absolute)
    }
}

fn refusal(path: &str) -> impl Fn(String) -> GateError + '_ {
    move |why| GateError {
        path: path.replace('\0', "\\0"),
        why,
    }
}

fn cannot_reach(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => {
            "it does not exist; list the folder to see what is there".to_owned()
        }
        _ => format!("it cannot be reached: {error}"),
    }
}

fn list(paths: &[PathBuf]) -> String {
    let shown: Vec<_> = paths.iter().map(|p| p.display().to_string()).collect();
    shown.join(", ")
}

/// Links resolved as far as the path exists, then the missing rest.
fn real_target(wanted: &Path) -> Result<PathBuf, String> {
    for existing in wanted.ancestors() {
        match existing.symlink_metadata() {
            Ok(_) => {
                let rest = wanted.strip_prefix(existing).unwrap_or(Path::new(""));
                let real = existing.canonicalize().map_err(|_| {
                    format!(
                        "it goes through the symbolic link {}, which points to nothing; name the real place",
                        existing.display()
                    )
                })?;
                // Joining an empty rest would add a slash at the end.
                return Ok(if rest.as_os_str().is_empty() {
                    real
                } else {
                    real.join(rest)
                });
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(cannot_reach(&e)),
        }
    }
    Err("it is on no disk of this system".to_owned())
}

/// Reading from a pipe or device may never end, and writing to one may do anything.
fn must_be_plain(meta: &Metadata) -> Result<(), String> {
    if meta.is_file() || meta.is_dir() {
        Ok(())
    } else {
        Err("it is a device, pipe or socket, not a file".to_owned())
    }
}

/// Files of `/proc` that show what a process has in its memory or was given as environment.
fn is_process_secret(path: &Path) -> bool {
    const NAMES: [&str; 4] = ["environ", "mem", "auxv", "kcore"];
    path.starts_with("/proc")
        && path
            .file_name()
            .is_some_and(|name| NAMES.iter().any(|n| name == *n))
}
