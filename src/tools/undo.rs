//! What the session's own changes replaced, so that they can be taken back.

use super::memory::digest;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// The most changes that are kept.
const STEPS: usize = 200;
/// The most bytes that are kept.
const BYTES: usize = 64 << 20;

/// The last changes of all files, oldest first. It lives as long as the process.
#[derive(Debug, Default)]
pub struct Undo {
    steps: VecDeque<Change>,
    bytes: usize,
}

/// One change of one file.
#[derive(Debug)]
pub struct Change {
    path: PathBuf,
    /// What was there; `None`: no file.
    pub before: Option<Vec<u8>>,
    /// The digest of what the change left; `None`: no file.
    after: Option<String>,
}

impl Change {
    /// True when the file is still as the change left it.
    pub fn stands(&self, now: Option<&[u8]>) -> bool {
        self.after == now.map(digest)
    }
}

impl Undo {
    /// Keeps what a change replaced.
    pub fn push(&mut self, path: &Path, before: Option<Vec<u8>>, after: Option<&[u8]>) {
        self.bytes += before.as_ref().map_or(0, Vec::len);
        self.steps.push_back(Change {
            path: path.to_path_buf(),
            before,
            after: after.map(digest),
        });
        while self.steps.len() > STEPS || self.bytes > BYTES {
            let Some(oldest) = self.steps.pop_front() else {
                break;
            };
            self.bytes -= oldest.before.map_or(0, |b| b.len());
        }
    }

    /// The last change of a file.
    pub fn last(&self, path: &Path) -> Option<&Change> {
        self.steps.iter().rev().find(|c| c.path == path)
    }

    /// Takes the last change of a file off, after it was taken back.
    pub fn pop(&mut self, path: &Path) {
        if let Some(at) = self.steps.iter().rposition(|c| c.path == path)
            && let Some(change) = self.steps.remove(at)
        {
            self.bytes -= change.before.map_or(0, |b| b.len());
        }
    }
}
