//! What is on disk in the user's home folder: sessions, prompts, logs, and which projects are
//! trusted.
//!
//! The store writes lines that it does not understand; what they mean is the agent's business.

pub mod auth;
pub mod belongings;
pub mod history;
pub mod log;
pub mod models;
pub mod paths;
pub mod rollout;
pub mod sessions;
pub mod trust;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// What can go wrong with files of our own. `Display` is a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreError {
    /// Neither `INTERPRETER_HOME` nor the user's folder is known.
    NoHome,
    /// A folder cannot be made, or a file not written.
    Write {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        why: String,
        /// What kind of reason it is.
        kind: io::ErrorKind,
    },
    /// A file cannot be read.
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        why: String,
    },
    /// Another process writes this session.
    Busy(PathBuf),
    /// No session of that id.
    NoSession {
        /// The id, or its beginning, as it was given.
        wanted: String,
        /// Where it was looked for.
        folder: PathBuf,
    },
    /// Several sessions whose ids begin like that.
    Ambiguous {
        /// The beginning that was given.
        wanted: String,
        /// Some of the ids.
        found: Vec<String>,
    },
}

impl StoreError {
    fn write(path: &Path, e: &io::Error) -> Self {
        StoreError::Write {
            path: path.to_owned(),
            why: e.to_string(),
            kind: e.kind(),
        }
    }

    fn read(path: &Path, e: &io::Error) -> Self {
        StoreError::Read {
            path: path.to_owned(),
            why: e.to_string(),
        }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoHome => f.write_str(
                "the home folder of the user is not known; set INTERPRETER_HOME to a folder for config and sessions",
            ),
            Self::Write { path, why, kind } => {
                write!(f, "{} cannot be written: {why}; ", path.display())?;
                f.write_str(match kind {
                    io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "make room on the disk",
                    _ => "set INTERPRETER_HOME to a folder that can be written, or use --ephemeral to keep no session",
                })
            }
            Self::Read { path, why } => write!(f, "{} cannot be read: {why}", path.display()),
            Self::Busy(path) => write!(
                f,
                "the session {} is in use by another interpreter; end that one first, or start a new session",
                path.display()
            ),
            Self::NoSession { wanted, folder } => write!(
                f,
                "there is no session `{wanted}` in {}; resume without a name lists them",
                folder.display()
            ),
            Self::Ambiguous { wanted, found } => write!(
                f,
                "several sessions begin with `{wanted}`: {}; give more of the id",
                found.join(", ")
            ),
        }
    }
}

impl std::error::Error for StoreError {}
