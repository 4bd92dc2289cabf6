//! What a repository brings: instruction files, git facts, the first names in the folder. All of
//! it is data from outside: read within bounds, never run. Beside it, what a session changed in the
//! folder, and the way back.

pub mod compare;
pub mod git;
pub mod hooks;
pub mod instructions;
pub mod skills;
pub mod tree;
pub mod undo;

use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// AGENTS.md texts within their budget.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Instructions {
    /// The user's own, from the home folder, trimmed.
    pub global: Option<Document>,
    /// The project's, from its root down to the working folder.
    pub project: Vec<Document>,
}

impl Instructions {
    /// True when there is none.
    pub fn is_empty(&self) -> bool {
        self.global.is_none() && self.project.is_empty()
    }
}

/// One instruction file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// Where it is, absolute.
    pub path: PathBuf,
    /// The path to show: relative to the working folder where that is shorter.
    pub shown: String,
    /// Its text; when it was cut to the budget, the last line says so.
    pub text: String,
}

/// Opens a regular file, through symbolic links. A pipe or device is an error and is not waited
/// for, not even when it takes the place of a file in the meantime.
fn open_regular(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    let file = options.open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a regular file",
        ))
    }
}

/// A regular file as text, all of it.
///
/// # Errors
/// Unreadable, no regular file, more than `most` bytes, or not UTF-8.
pub fn read_whole(path: &Path, most: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    open_regular(path)?
        .take(most.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::other(format!("it has more than {most} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::other("it is not UTF-8 text"))
}

/// At most `most` bytes of a regular file as text, and whether that is all of it. Bytes that are
/// not UTF-8 are replaced; a character that the bound cuts is left out.
fn read_text(path: &Path, most: u64) -> io::Result<(String, bool)> {
    let mut bytes = Vec::new();
    open_regular(path)?
        .take(most.saturating_add(1))
        .read_to_end(&mut bytes)?;
    let whole = bytes.len() as u64 <= most;
    if !whole {
        bytes.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        if let Err(e) = std::str::from_utf8(&bytes)
            && e.error_len().is_none()
        {
            bytes.truncate(e.valid_up_to());
        }
    }
    Ok((String::from_utf8_lossy(&bytes).into_owned(), whole))
}
