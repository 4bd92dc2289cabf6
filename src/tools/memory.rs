//! Which files the model has seen, and in which state.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::Path;

/// How many stretches of one file are remembered.
const STRETCHES: usize = 64;

/// What this session knows of files. Stored with the session and restored by a resume.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FileMemory {
    /// By absolute path. Text, because a path that is not UTF-8 could not be stored.
    files: BTreeMap<String, Seen>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Seen {
    bytes: u64,
    sha256: String,
    /// First line and number of lines of what the model was given of this state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    given: Vec<(usize, usize)>,
    /// The model changed it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    changed: bool,
}

/// What is known of a file that lies on the disk with a certain content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It was neither read nor written.
    Unknown,
    /// It is as the model last saw or wrote it.
    Unchanged,
    /// Somebody else changed it.
    Changed,
}

impl FileMemory {
    /// How a file with this content stands to what the model saw. The content decides, not the
    /// time stamp: a file that was only touched has not changed.
    pub fn standing(&self, path: &Path, content: &[u8]) -> Standing {
        match self.files.get(&key(path)) {
            None => Standing::Unknown,
            Some(seen) if seen.is(content) => Standing::Unchanged,
            Some(_) => Standing::Changed,
        }
    }

    /// Notes that the model read the file, and which stretch it was given: first line and number
    /// of lines; `None` when the stretch ends inside a line. True when it was given the same
    /// stretch of the same content before.
    pub fn read(&mut self, path: &Path, content: &[u8], stretch: Option<(usize, usize)>) -> bool {
        let seen = self
            .files
            .entry(key(path))
            .and_modify(|seen| {
                if !seen.is(content) {
                    let changed = seen.changed;
                    *seen = Seen::of(content);
                    seen.changed = changed;
                }
            })
            .or_insert_with(|| Seen::of(content));
        let Some(stretch) = stretch else {
            return false;
        };
        let repeated = seen.given.contains(&stretch);
        if !repeated {
            if seen.given.len() >= STRETCHES {
                seen.given.remove(0);
            }
            seen.given.push(stretch);
        }
        repeated
    }

    /// Notes that the model itself gave the file this content.
    pub fn wrote(&mut self, path: &Path, content: &[u8]) {
        let seen = Seen {
            changed: true,
            ..Seen::of(content)
        };
        self.files.insert(key(path), seen);
    }

    /// The files that the model read or changed, by absolute path, each with whether it changed it.
    pub fn files(&self) -> impl Iterator<Item = (&Path, bool)> {
        self.files
            .iter()
            .map(|(path, seen)| (Path::new(path), seen.changed))
    }

    /// Forgets a file that is gone.
    pub fn forget(&mut self, path: &Path) {
        self.files.remove(&key(path));
    }

    /// Forgets which stretches the model was given, but not what it has read: after old results
    /// left the conversation, the same read has to give the text again.
    pub fn forget_given(&mut self) {
        for seen in self.files.values_mut() {
            seen.given.clear();
        }
    }
}

impl Seen {
    fn of(content: &[u8]) -> Self {
        Seen {
            bytes: content.len() as u64,
            sha256: digest(content),
            given: Vec::new(),
            changed: false,
        }
    }

    fn is(&self, content: &[u8]) -> bool {
        self.bytes == content.len() as u64 && self.sha256 == digest(content)
    }
}

fn key(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The SHA-256 of a content, in hexadecimal.
pub(super) fn digest(content: &[u8]) -> String {
    Sha256::digest(content)
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resumed_session_knows_what_was_read() {
        let mut memory = FileMemory::default();
        let path = Path::new("/w/a.txt");
        assert_eq!(memory.standing(path, b"one"), Standing::Unknown);
        assert!(!memory.read(path, b"one", Some((1, 1))));
        let stored = serde_json::to_string(&memory).expect("plain data");
        let mut memory: FileMemory = serde_json::from_str(&stored).expect("its own text");
        assert_eq!(memory.standing(path, b"one"), Standing::Unchanged);
        assert_eq!(memory.standing(path, b"two"), Standing::Changed);
        assert!(memory.read(path, b"one", Some((1, 1))));
        assert!(!memory.read(path, b"two", Some((1, 1))), "another content");
        memory.forget_given();
        assert!(!memory.read(path, b"two", Some((1, 1))));
        assert_eq!(memory.standing(path, b"two"), Standing::Unchanged);
    }
}
