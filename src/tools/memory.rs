//! Which files the model has seen, and in which state.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// How many stretches of one file are remembered.
const STRETCHES: usize = 64;

/// What this session knows of files. A session stores what is new in it after each step, since the
/// whole grows with the session, and a resume takes the news in again.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FileMemory {
    /// By absolute path. Text, because a path that is not UTF-8 could not be stored.
    files: BTreeMap<String, Seen>,
    /// The paths that the next news are about.
    touched: BTreeSet<String>,
    /// The next news begin with [`FileMemory::forget_given`].
    given_forgotten: bool,
}

/// What became known of files in a step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FileNews {
    /// First of all, the stretches that the model was given are forgotten.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    given_forgotten: bool,
    /// What is known now; nothing for a file that is gone.
    files: BTreeMap<String, Option<Seen>>,
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
        let key = key(path);
        self.touched.insert(key.clone());
        let seen = self
            .files
            .entry(key)
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
        self.touched.insert(key(path));
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
        self.touched.insert(key(path));
        self.files.remove(&key(path));
    }

    /// Forgets which stretches the model was given, but not what it has read: after old results
    /// left the conversation, the same read has to give the text again.
    pub fn forget_given(&mut self) {
        for seen in self.files.values_mut() {
            seen.given.clear();
        }
        self.given_forgotten = true;
    }

    /// What is new since this was asked last; `None` when nothing is.
    pub fn news(&mut self) -> Option<FileNews> {
        let touched = std::mem::take(&mut self.touched);
        let given_forgotten = std::mem::take(&mut self.given_forgotten);
        let file = |path: String| {
            let seen = self.files.get(&path).cloned();
            (path, seen)
        };
        (given_forgotten || !touched.is_empty()).then(|| FileNews {
            given_forgotten,
            files: touched.into_iter().map(file).collect(),
        })
    }

    /// Takes in what was new in an earlier run.
    pub fn learn(&mut self, news: FileNews) {
        if news.given_forgotten {
            self.files.values_mut().for_each(|seen| seen.given.clear());
        }
        for (path, seen) in news.files {
            match seen {
                Some(seen) => self.files.insert(path, seen),
                None => self.files.remove(&path),
            };
        }
    }

    /// The same knowledge for a session whose file has none of it yet.
    pub fn all_new(&self) -> Self {
        FileMemory {
            touched: self.files.keys().cloned().collect(),
            ..self.clone()
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
        let mut resumed = FileMemory::default();
        hand_over(&mut memory, &mut resumed);
        let mut memory = resumed;
        assert_eq!(memory.standing(path, b"one"), Standing::Unchanged);
        assert_eq!(memory.standing(path, b"two"), Standing::Changed);
        assert!(memory.read(path, b"one", Some((1, 1))));
        assert!(!memory.read(path, b"two", Some((1, 1))), "another content");
        memory.forget_given();
        assert!(!memory.read(path, b"two", Some((1, 1))));
        assert_eq!(memory.standing(path, b"two"), Standing::Unchanged);
    }

    /// What is new in one, as it goes into a session file and comes out of it.
    fn hand_over(from: &mut FileMemory, to: &mut FileMemory) -> usize {
        let Some(news) = from.news() else { return 0 };
        let stored = serde_json::to_string(&news).expect("plain data");
        to.learn(serde_json::from_str(&stored).expect("its own text"));
        stored.len()
    }

    #[test]
    fn what_a_step_stores_does_not_grow_with_the_session() {
        let (mut memory, mut resumed) = (FileMemory::default(), FileMemory::default());
        let mut sizes = Vec::new();
        for step in 1000..2000 {
            memory.read(Path::new(&format!("/w/{step}.txt")), b"one", Some((1, 1)));
            sizes.push(hand_over(&mut memory, &mut resumed));
        }
        assert_eq!(sizes.first(), sizes.last());
        assert_eq!(memory.files, resumed.files);
        assert_eq!(memory.news(), None, "nothing happened since");

        memory.forget_given();
        memory.read(Path::new("/w/1000.txt"), b"one", Some((2, 3)));
        memory.wrote(Path::new("/w/1001.txt"), b"two");
        memory.forget(Path::new("/w/1002.txt"));
        hand_over(&mut memory, &mut resumed);
        assert_eq!(memory.files, resumed.files);
        assert_eq!(resumed.files.len(), 999);

        let mut fork = FileMemory::default();
        hand_over(&mut memory.all_new(), &mut fork);
        assert_eq!(fork.files, memory.files);
    }
}
