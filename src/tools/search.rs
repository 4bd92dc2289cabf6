//! Looking around: list and glob, with the rules of `.gitignore` and its kind.

use super::Workbench;
use super::action::{Entry, FoundOut, ListOut, Outcome, ToolError};
use super::walk::{NamePattern, Walk, split_base};
use crate::cancel::Cancel;
use ignore::{DirEntry, WalkBuilder};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The most entries that one walk looks at.
pub(super) const ENTRIES: usize = 200_000;
/// The longest time that one walk takes.
pub(super) const TIME: Duration = Duration::from_secs(10);
/// The same for the search of a file that an error message could name.
const NAME_ENTRIES: usize = 20_000;
const NAME_TIME: Duration = Duration::from_secs(1);

impl Workbench {
    pub(super) fn list(
        &mut self,
        shown: &str,
        ignore: &[String],
        respect_ignore: bool,
        limit: usize,
        cancel: &Cancel,
    ) -> Result<Outcome, ToolError> {
        let root = self.existing(shown)?;
        if !root.is_dir() {
            return Err(ToolError::NotFolder { path: shown.into() });
        }
        let unwanted: Vec<NamePattern> = ignore
            .iter()
            .map(|p| NamePattern::new(p))
            .collect::<Result<_, _>>()?;
        let visible = |respect: bool| -> BTreeSet<OsString> {
            let mut builder = self.walker(&root, respect);
            Walk::new(builder.max_depth(Some(1)), ENTRIES, TIME, cancel)
                .filter(|e| e.depth() == 1)
                .map(|e| e.file_name().to_os_string())
                .collect()
        };
        let all = visible(false);
        let kept = if respect_ignore {
            visible(true)
        } else {
            all.clone()
        };
        let mut entries: Vec<Entry> = kept
            .iter()
            .filter(|name| !unwanted.iter().any(|p| p.matches(Path::new(name))))
            .map(|name| {
                let path = root.join(name);
                let meta = path.metadata().or_else(|_| path.symlink_metadata());
                Entry {
                    name: name.to_string_lossy().into_owned(),
                    is_dir: meta.as_ref().is_ok_and(|m| m.is_dir()),
                    size: meta.map_or(0, |m| m.len()),
                }
            })
            .collect();
        if cancel.is_cancelled() {
            return Ok(Outcome::Interrupted);
        }
        entries.sort_by(|a, b| b.is_dir.cmp(&a.is_dir).then_with(|| a.name.cmp(&b.name)));
        let more = entries.len().saturating_sub(limit);
        entries.truncate(limit);
        Ok(Outcome::Listed(ListOut {
            path: root,
            entries,
            ignored: all.len() - kept.len(),
            more,
        }))
    }

    pub(super) fn glob(
        &mut self,
        pattern: &str,
        path: Option<&str>,
        limit: usize,
        cancel: &Cancel,
    ) -> Result<Outcome, ToolError> {
        let (base, rest) = split_base(pattern);
        let root = match (base, path) {
            (Some(base), _) => self.existing(&base)?,
            (None, path) => self.existing(path.unwrap_or("."))?,
        };
        if !root.is_dir() {
            return Err(ToolError::NotFolder {
                path: path.unwrap_or(pattern).into(),
            });
        }
        let wanted = NamePattern::new(rest)?;
        let mut found = Vec::new();
        let builder = self.walker(&root, true);
        let mut walk = Walk::new(&builder, ENTRIES, TIME, cancel);
        for entry in walk.by_ref() {
            let relative = entry.path().strip_prefix(&root).unwrap_or(entry.path());
            if is_file(&entry) && wanted.matches(relative) {
                found.push((changed(&entry), entry.into_path()));
            }
        }
        if cancel.is_cancelled() {
            return Ok(Outcome::Interrupted);
        }
        if walk.stopped && found.is_empty() {
            return Err(gave_up(&root));
        }
        Ok(Outcome::Found(newest_first(root, found, 0, limit)))
    }

    /// A file of the workspace has the base name of that path, wherever it lies; true as well when
    /// there is too much to be looked at.
    pub fn has_file_named(&self, path: &str) -> bool {
        let never = Cancel::new();
        let builder = self.walker(&self.cwd, true);
        let mut walk = Walk::new(&builder, NAME_ENTRIES, NAME_TIME, &never);
        let name = Path::new(path).file_name().unwrap_or_default();
        walk.by_ref().any(|e| e.file_name() == name && is_file(&e)) || walk.stopped
    }

    /// The only file of the workspace with the base name of a path that does not exist.
    pub(super) fn only_file_named(&self, path: &str) -> Option<PathBuf> {
        let name = Path::new(path).file_name()?;
        let builder = self.walker(&self.cwd, true);
        let never = Cancel::new();
        let mut walk = Walk::new(&builder, NAME_ENTRIES, NAME_TIME, &never);
        let mut found = walk
            .by_ref()
            .filter(|e| e.file_name() == name && is_file(e));
        let first = found.next()?.into_path();
        let alone = found.next().is_none();
        (alone && !walk.stopped).then_some(first)
    }

    /// A walk over a folder in the order of names. `.git` is never entered, nor what the policy
    /// keeps from the tools.
    pub(super) fn walker(&self, root: &Path, respect_ignore: bool) -> WalkBuilder {
        let policy = self.setup.sandbox.policy();
        let hidden: Vec<PathBuf> = policy
            .own_homes
            .iter()
            .filter(|home| !root.starts_with(home))
            .flat_map(|home| [Some(home.clone()), home.canonicalize().ok()])
            .flatten()
            .collect();
        let mut builder = WalkBuilder::new(root);
        builder
            .standard_filters(false)
            .parents(respect_ignore)
            .ignore(respect_ignore)
            .git_ignore(respect_ignore)
            .git_global(respect_ignore)
            .git_exclude(respect_ignore)
            .require_git(false)
            .follow_links(false)
            .sort_by_file_name(|a, b| a.cmp(b))
            .filter_entry(move |entry| {
                entry.depth() == 0
                    || (entry.file_name() != ".git" && !hidden.iter().any(|h| h == entry.path()))
            });
        builder
    }
}

/// When a file was last changed.
pub(super) fn changed(entry: &DirEntry) -> Option<SystemTime> {
    entry.metadata().ok()?.modified().ok()
}

/// Files by the time of their last change, `skip` of them left out and at most `limit` given.
pub(super) fn newest_first(
    root: PathBuf,
    mut found: Vec<(Option<SystemTime>, PathBuf)>,
    skip: usize,
    limit: usize,
) -> FoundOut {
    found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    FoundOut {
        root,
        total: found.len(),
        paths: found
            .into_iter()
            .skip(skip)
            .take(limit)
            .map(|(_, path)| path)
            .collect(),
    }
}

pub(super) fn is_file(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|t| t.is_file())
}

/// The error of a search that came to its limit before it found anything.
pub(super) fn gave_up(root: &Path) -> ToolError {
    ToolError::Other(format!(
        "the search of {} found nothing in {} seconds or {ENTRIES} entries and stopped; name a folder further down",
        root.display(),
        TIME.as_secs()
    ))
}
