//! What a folder held at one moment: every file by its path, and what is known of it.

use super::objects::Content;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;

/// What stands at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// A file.
    File {
        /// What is in it.
        content: Content,
        /// Its permissions.
        mode: u32,
    },
    /// A symbolic link to this.
    Link(String),
    /// A folder.
    Folder,
    /// A file whose content is not kept.
    Unkept {
        /// Why.
        why: Unkept,
        /// Its size, and when it was written: all that tells it from another one.
        stamp: Stamp,
    },
}

/// Why a content is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unkept {
    /// The file is too large.
    Large,
    /// All files together are too large.
    Full,
    /// It cannot be read.
    Unreadable,
}

impl Unkept {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Unkept::Large => "above 1 MiB",
            Unkept::Full => "beyond 200 MiB in all",
            Unkept::Unreadable => "unreadable",
        }
    }
}

/// Size, and times in nanoseconds, by which a change of a file is noticed without reading it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// Bytes.
    pub size: u64,
    /// When it was written.
    pub written: i64,
    /// When anything about it was changed, where the system tells.
    pub changed: i64,
}

impl Stamp {
    /// That of a file.
    pub fn of(meta: &Metadata) -> Self {
        #[cfg(unix)]
        let changed = {
            use std::os::unix::fs::MetadataExt;
            meta.ctime()
                .saturating_mul(1_000_000_000)
                .saturating_add(meta.ctime_nsec())
        };
        #[cfg(not(unix))]
        let changed = 0;
        Stamp {
            size: meta.len(),
            written: meta.modified().map_or(0, nanoseconds),
            changed,
        }
    }
}

/// Nanoseconds since 1970.
pub fn nanoseconds(time: std::time::SystemTime) -> i64 {
    let since = time.duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |d| i64::try_from(d.as_nanos()).unwrap_or(i64::MAX))
}

/// The permissions of a file.
pub fn mode(meta: &Metadata) -> u32 {
    #[cfg(unix)]
    return std::os::unix::fs::PermissionsExt::mode(&meta.permissions()) & 0o7777;
    #[cfg(not(unix))]
    return if meta.permissions().readonly() {
        0o444
    } else {
        0o644
    };
}

/// A path of a manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// What is there.
    pub state: State,
    /// How it looked.
    pub stamp: Stamp,
}

/// A folder at one moment. Paths are relative to it; those of files elsewhere are absolute.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// When it was begun, in nanoseconds. A file that was written shortly before may change again
    /// without looking different.
    pub time: i64,
    /// All of the folder was seen: a path that is missing here was not there.
    pub is_whole: bool,
    /// How many names are not UTF-8 and were passed over.
    pub unnamed: usize,
    /// Paths that are looked at although the walk does not meet them: ignored ones and those of
    /// other folders that a file tool was about to change.
    pub also: BTreeSet<String>,
    /// What was there.
    pub entries: BTreeMap<String, Entry>,
}

/// A path that is not as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The path as the manifest has it.
    pub path: String,
    /// What was there; `None`: nothing.
    pub before: Option<State>,
    /// What is there now.
    pub after: Option<State>,
    /// It was taken back.
    #[serde(skip)]
    pub is_undone: bool,
}

impl Manifest {
    /// What a path held.
    pub fn state(&self, path: &str) -> Option<&State> {
        self.entries.get(path).map(|e| &e.state)
    }

    /// What is not the same in `later`, by path.
    pub fn changes(&self, later: &Manifest) -> Vec<Change> {
        let paths: BTreeSet<&String> = self.entries.keys().chain(later.entries.keys()).collect();
        let differs = |path: &&String| self.state(path) != later.state(path);
        // What was not looked for before is not new.
        let is_known = |path: &&String| {
            self.is_whole || self.entries.contains_key(*path) || self.also.contains(*path)
        };
        paths
            .into_iter()
            .filter(differs)
            .filter(is_known)
            .map(|path| Change {
                path: path.clone(),
                before: self.state(path).cloned(),
                after: later.state(path).cloned(),
                is_undone: false,
            })
            .collect()
    }
}
