//! A turn: a look at the folder before it and after it, and what is not the same.

use super::error::{UndoError, count, listed};
use super::journal::Line;
use super::manifest::{Change, Manifest, State, Unkept};
use super::objects::Content;
use super::scan::{self, Scan};
use super::{MANIFEST, MOST_SESSION, Undo, real};
use crate::cancel::Cancel;
use crate::store::rollout::Writer;
use ignore::gitignore::GitignoreBuilder;
use std::fs;
use std::path::{Path, PathBuf};

impl Undo {
    /// Looks at the folder before a turn changes something, once a turn. Gives what is not covered,
    /// in words, one a line; empty when all is.
    ///
    /// # Errors
    /// When our files cannot be written, or another process is at it.
    pub fn begin(&mut self, title: &str, cancel: &Cancel) -> Result<Vec<String>, UndoError> {
        if self.writer.is_some() {
            return Ok(Vec::new());
        }
        let mut writer = self.lock()?;
        self.end_torn(&mut writer)?;
        if self.objects.bytes() > MOST_SESSION {
            self.add(&mut writer, Line::Forget)?;
            self.objects.clear();
            self.manifest = None;
            let _ = fs::remove_file(self.dir.join(MANIFEST));
        }
        let manifest = self.look(cancel)?;
        self.keep_manifest(manifest)?;
        let title = title.to_owned();
        self.add(&mut writer, Line::Begin { title })?;
        self.writer = Some(writer);
        // A look that was stopped says nothing of the folder.
        match cancel.is_cancelled() {
            true => Ok(Vec::new()),
            false => Ok(self.uncovered()),
        }
    }

    /// Keeps files that a file tool is about to change and that the look did not meet. Absolute
    /// paths.
    ///
    /// # Errors
    /// When our files cannot be written.
    pub fn keep(&mut self, paths: &[PathBuf]) -> Result<(), UndoError> {
        let Some(mut manifest) = self.manifest.take() else {
            return Ok(());
        };
        let mut is_new = false;
        for path in paths {
            let real = real(path);
            let inside = scan::key(&self.root, &real);
            let Some(key) = inside.or_else(|| real.to_str().map(str::to_owned)) else {
                continue;
            };
            if !manifest.entries.contains_key(&key) {
                is_new |= manifest.also.insert(key);
            }
        }
        if is_new {
            let missed = Scan {
                root: &self.root,
                skip: &self.skip,
                before: Some(&manifest),
                objects: &mut self.objects,
                cancel: &Cancel::new(),
            };
            let entries = missed.also()?;
            for (key, entry) in entries {
                manifest.entries.entry(key).or_insert(entry);
            }
            self.keep_manifest(manifest)?;
        } else {
            self.manifest = Some(manifest);
        }
        Ok(())
    }

    /// Looks at the folder after a turn, and notes what it changed.
    ///
    /// # Errors
    /// When our files cannot be written.
    pub fn end(&mut self) -> Result<(), UndoError> {
        match self.writer.take() {
            Some(mut writer) => self.close(&mut writer, false),
            None => Ok(()),
        }
    }

    fn close(&mut self, writer: &mut Writer, torn: bool) -> Result<(), UndoError> {
        let before = self.manifest().unwrap_or_default();
        self.manifest = Some(before.clone());
        let mut after = self.look(&Cancel::new())?;
        let changes = self.settle(&before, &mut after);
        let is_same = before.entries == after.entries;
        if is_same {
            self.manifest = Some(before);
        } else {
            self.keep_manifest(after)?;
        }
        self.add(writer, Line::End { torn, changes })?;
        Ok(())
    }

    /// A turn that was cut off is ended now: what changed since is counted to it.
    pub(super) fn end_torn(&mut self, writer: &mut Writer) -> Result<(), UndoError> {
        match self.journal.open {
            Some(_) => self.close(writer, true),
            None => Ok(()),
        }
    }

    /// The changes between two looks, without those that are none.
    fn settle(&mut self, before: &Manifest, after: &mut Manifest) -> Vec<Change> {
        let mut changes = before.changes(after);
        // A tracked file that was only touched is read by us now, and is the same.
        let touched = |c: &Change| match (&c.before, &c.after) {
            (
                Some(State::File {
                    content: content @ Content::Git(_),
                    mode: was,
                }),
                Some(State::File {
                    content: Content::Own(_),
                    mode,
                }),
            ) if was == mode => Some(content.clone()),
            _ => None,
        };
        let in_git: Vec<Content> = changes.iter().filter_map(touched).collect();
        let contents = self.objects.get(in_git.iter());
        changes.retain(|c| {
            let was = touched(c).and_then(|content| Some(Content::of(contents.get(&content)?)));
            !matches!((was, &c.after), (Some(was), Some(State::File { content, .. })) if was == *content)
        });
        let ignored = self.were_ignored(before, &changes);
        changes.retain(|c| !ignored.contains(&c.path));
        changes
    }

    /// Files that seem new and were there, because an ignore file no longer names them.
    fn were_ignored(&mut self, before: &Manifest, changes: &[Change]) -> Vec<String> {
        let is_ignore_file = |path: &Path| {
            let name = path.file_name().and_then(|n| n.to_str());
            matches!(name, Some(".gitignore" | ".ignore"))
        };
        let mut ignored = Vec::new();
        for rules in changes
            .iter()
            .filter(|c| is_ignore_file(Path::new(&c.path)))
        {
            let Some(State::File { content, .. }) = &rules.before else {
                continue;
            };
            let text = self.objects.get([content].into_iter()).remove(content);
            let text = String::from_utf8_lossy(&text.unwrap_or_default()).into_owned();
            let folder = Path::new(&rules.path).parent().unwrap_or(Path::new(""));
            let mut builder = GitignoreBuilder::new("/");
            for line in text.lines() {
                let _ = builder.add_line(None, line);
            }
            let Ok(matcher) = builder.build() else {
                continue;
            };
            for change in changes.iter().filter(|c| c.before.is_none()) {
                let is_folder = change.after == Some(State::Folder);
                if let Ok(below) = Path::new(&change.path).strip_prefix(folder)
                    && !before.also.contains(&change.path)
                    && matcher
                        .matched_path_or_any_parents(Path::new("/").join(below), is_folder)
                        .is_ignore()
                {
                    ignored.push(change.path.clone());
                }
            }
        }
        ignored
    }

    /// What the last look does not cover.
    fn uncovered(&self) -> Vec<String> {
        let Some(manifest) = &self.manifest else {
            return Vec::new();
        };
        let mut told = Vec::new();
        if !manifest.is_whole {
            told.push("the folder is too large to be looked at as a whole, so only what file tools change can be undone".to_owned());
        }
        for why in [Unkept::Large, Unkept::Full, Unkept::Unreadable] {
            let is_it = |s: &State| matches!(s, State::Unkept { why: w, .. } if *w == why);
            let names: Vec<&str> = manifest
                .entries
                .iter()
                .filter(|(_, e)| is_it(&e.state))
                .map(|(path, _)| path.as_str())
                .collect();
            if !names.is_empty() {
                let files = count(names.len(), "file", "files");
                told.push(format!("{files} {} ({})", why.words(), listed(&names)));
            }
        }
        if manifest.unnamed > 0 {
            let names = count(manifest.unnamed, "name that is", "names that are");
            told.push(format!("{names} not UTF-8"));
        }
        told
    }
}
