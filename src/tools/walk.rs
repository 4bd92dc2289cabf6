//! Walks over folders that end, and globs for what they meet.

use super::action::ToolError;
use crate::cancel::Cancel;
use globset::{Glob, GlobBuilder, GlobMatcher};
use ignore::{DirEntry, WalkBuilder};
use std::path::Path;
use std::time::{Duration, Instant};

/// A walk with an end: by entries, by time, by cancellation. Entries that cannot be read are
/// passed over.
pub struct Walk<'a> {
    inner: ignore::Walk,
    left: usize,
    until: Instant,
    cancel: &'a Cancel,
    /// It ended before everything was seen.
    pub stopped: bool,
}

impl<'a> Walk<'a> {
    /// Begins a walk that looks at so many entries and takes so long at most.
    pub fn new(builder: &WalkBuilder, entries: usize, time: Duration, cancel: &'a Cancel) -> Self {
        Walk {
            inner: builder.build(),
            left: entries,
            until: Instant::now() + time,
            cancel,
            stopped: false,
        }
    }
}

impl Iterator for Walk<'_> {
    type Item = DirEntry;

    fn next(&mut self) -> Option<DirEntry> {
        loop {
            let entry = self.inner.next()?;
            if self.left == 0 || self.cancel.is_cancelled() || Instant::now() >= self.until {
                self.stopped = true;
                return None;
            }
            self.left -= 1;
            if let Ok(entry) = entry {
                return Some(entry);
            }
        }
    }
}

/// A glob for paths below a folder. Without a slash it is about the base name at any depth.
pub struct NamePattern {
    glob: GlobMatcher,
    base_name: bool,
}

impl NamePattern {
    /// Reads a glob.
    pub fn new(pattern: &str) -> Result<Self, ToolError> {
        let bare = pattern.strip_prefix("./").unwrap_or(pattern);
        let bare = bare.trim_end_matches('/');
        let build = |p: &str| -> Result<Glob, globset::Error> {
            GlobBuilder::new(p).literal_separator(true).build()
        };
        let glob = build(bare).map_err(|e| ToolError::BadPattern {
            pattern: pattern.into(),
            why: e.kind().to_string(),
        })?;
        Ok(NamePattern {
            glob: glob.compile_matcher(),
            base_name: !bare.contains('/'),
        })
    }

    /// True for a path relative to the folder.
    pub fn matches(&self, relative: &Path) -> bool {
        if self.base_name {
            relative.file_name().is_some_and(|n| self.glob.is_match(n))
        } else {
            self.glob.is_match(relative)
        }
    }
}

/// An absolute glob as its folder and the rest; a relative one has no folder of its own.
pub fn split_base(pattern: &str) -> (Option<String>, &str) {
    if !Path::new(pattern).is_absolute() && !pattern.starts_with("~/") {
        return (None, pattern);
    }
    let special = pattern.find(['*', '?', '[', '{']).unwrap_or(pattern.len());
    match pattern[..special].rfind('/') {
        Some(0) => (Some("/".into()), &pattern[1..]),
        Some(slash) => (Some(pattern[..slash].into()), &pattern[slash + 1..]),
        None => (None, pattern),
    }
}
