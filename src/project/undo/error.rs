//! Why something cannot be undone.

use crate::project::compare::Compared;
use crate::store::StoreError;
use std::fmt;
use std::io;

/// Why something cannot be undone. `Display` is a sentence.
#[derive(Debug)]
pub enum UndoError {
    /// There is nothing (left).
    Nothing,
    /// Files are not as the turn left them. Each with how the turn left it, and how it is.
    Changed(Vec<Compared>),
    /// The turn was cut off, so that its changes cannot be told from those of others: these paths.
    Torn(Vec<String>),
    /// The content of this file is gone.
    Gone(String),
    /// A file cannot be written or removed.
    File {
        /// The path.
        path: String,
        /// The system's reason.
        why: String,
    },
    /// Our own files are in trouble.
    Store(StoreError),
}

impl UndoError {
    pub(super) fn file(path: &str, error: &io::Error) -> Self {
        UndoError::File {
            path: path.to_owned(),
            why: error.to_string(),
        }
    }
}

impl From<StoreError> for UndoError {
    fn from(error: StoreError) -> Self {
        UndoError::Store(error)
    }
}

impl fmt::Display for UndoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("there is nothing to take back"),
            Self::Changed(files) => {
                let names: Vec<&str> = files.iter().map(|d| d.path.as_str()).collect();
                write!(
                    f,
                    "nothing was put back: {} changed since ({}); put that aside first, or name the other files one by one",
                    count(files.len(), "file has", "files have"),
                    listed(&names)
                )
            }
            Self::Torn(paths) => {
                let names: Vec<&str> = paths.iter().map(String::as_str).collect();
                write!(
                    f,
                    "nothing was put back: the turn was cut off, so that what you changed since cannot be told from what it changed ({}); name each file that shall be put back",
                    listed(&names)
                )
            }
            Self::Gone(path) => write!(
                f,
                "nothing was put back: the earlier content of {path} is gone; name the other files one by one"
            ),
            Self::File { path, why } => write!(
                f,
                "{path} cannot be put back: {why}; the files before it were, so mend that and try again"
            ),
            Self::Store(StoreError::Busy(_)) => {
                f.write_str("a turn of this session is under way; wait for its end, or stop it")
            }
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for UndoError {}

pub(super) fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// The first names of a list.
pub(super) fn listed(names: &[&str]) -> String {
    const SHOWN: usize = 5;
    match names.len() {
        n if n > SHOWN => format!("{} and {} more", names[..SHOWN].join(", "), n - SHOWN),
        _ => names.join(", "),
    }
}
