//! The way back: what the turns of a session changed in its folder, and how it was before.
//!
//! Before the first change of a turn the folder is looked at, and again at the end; the difference
//! is what the turn changed. A look costs a walk: only files whose size or time changed are read.
//! No git is needed, and git's index is not touched; where there is one, the contents of untouched
//! tracked files are left to git's objects.
//!
//! Covered are the files of the folder that are not ignored, up to a size each and in all, and
//! every file that one of our own file tools changes, wherever it is. Commits are not.

pub mod hunks;
mod journal;
pub mod manifest;
mod objects;
mod restore;
pub mod scan;
#[cfg(test)]
mod tests;

use super::changes::{FileDiff, Side};
use super::git;
use crate::cancel::Cancel;
use crate::store::StoreError;
use crate::store::paths::{Home, private_replace};
use crate::store::rollout::{self, Writer};
use ignore::gitignore::GitignoreBuilder;
use journal::{Journal, Line};
use manifest::{Change, Manifest, State, Unkept};
use objects::{Content, Objects};
use scan::Scan;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

pub use journal::{News, Turn, is_below};

/// The most bytes of one session; above it, its older turns are given up.
const MOST_SESSION: u64 = 512 << 20;
/// The most bytes of all sessions; above it, the oldest are removed.
const MOST_SESSIONS: u64 = 1 << 30;
/// How long a session can be undone.
const AGE: Duration = Duration::from_secs(14 * 24 * 3600);
/// How long a lock is waited for, and how often it is tried.
const LOCK: Duration = Duration::from_millis(500);
const TICK: Duration = Duration::from_millis(20);
/// The most sessions that are looked at.
const MOST_FOLDERS: usize = 1_000;
/// Names of the files of a session.
const JOURNAL: &str = "journal.jsonl";
const MANIFEST: &str = "manifest.json";
const OBJECTS: &str = "objects";

/// Why something cannot be undone. `Display` is a sentence.
#[derive(Debug)]
pub enum UndoError {
    /// There is nothing (left).
    Nothing,
    /// Files are not as the turn left them. Each with how the turn left it, and how it is.
    Changed(Vec<FileDiff>),
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
    fn file(path: &str, error: &io::Error) -> Self {
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

fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// The first names of a list.
fn listed(names: &[&str]) -> String {
    const SHOWN: usize = 5;
    match names.len() {
        n if n > SHOWN => format!("{} and {} more", names[..SHOWN].join(", "), n - SHOWN),
        _ => names.join(", "),
    }
}

/// What an undo or redo did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// The turn's number.
    pub turn: usize,
    /// What the user had asked for.
    pub title: String,
    /// The files that were put back: the path, and true when it is gone now.
    pub files: Vec<(String, bool)>,
    /// Files that could not be put back, since their content is not kept, and why.
    pub left: Vec<(String, &'static str)>,
}

/// Which way to go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Undo,
    Redo,
}

/// What the turns of one session changed in one folder.
#[derive(Debug)]
pub struct Undo {
    dir: PathBuf,
    root: PathBuf,
    skip: Vec<PathBuf>,
    objects: Objects,
    manifest: Option<Manifest>,
    journal: Journal,
    /// Bytes of the journal when it was read.
    seen: u64,
    /// Held while a turn changes things.
    writer: Option<Writer>,
}

impl Undo {
    /// That of the session whose files are in `dir`, for the folder `root`. Nothing is made before
    /// something changes. `skip` are folders of this program.
    pub fn open(dir: PathBuf, root: &Path, skip: Vec<PathBuf>) -> Self {
        let root = crate::store::paths::canonical(root);
        let mut undo = Undo {
            objects: Objects::open(dir.join(OBJECTS), git::folders(&root).map(|(_, dir)| dir)),
            dir,
            root,
            skip: skip
                .iter()
                .map(|p| crate::store::paths::canonical(p))
                .collect(),
            manifest: None,
            journal: Journal::default(),
            seen: 0,
            writer: None,
        };
        undo.refresh();
        undo
    }

    /// Those of all sessions that worked in this folder or one around it, the latest first.
    pub fn of_folder(home: &Home, cwd: &Path) -> Vec<Undo> {
        let cwd = crate::store::paths::canonical(cwd);
        let entries = fs::read_dir(home.all_undo()).into_iter().flatten();
        let mut found = Vec::new();
        for dir in entries.flatten().take(MOST_FOLDERS).map(|e| e.path()) {
            let journal = dir.join(JOURNAL);
            let Some(first) = rollout::first_record(&journal) else {
                continue;
            };
            let root = Journal::read(&[first]).root;
            let written = fs::metadata(&journal).and_then(|m| m.modified());
            if let Ok(written) = written
                && root.is_absolute()
                && cwd.starts_with(&root)
            {
                found.push((written, dir, root));
            }
        }
        found.sort_by(|a, b| b.cmp(a));
        let skip = vec![home.path().to_owned()];
        let open = |(_, dir, root): (_, _, PathBuf)| Undo::open(dir, &root, skip.clone());
        found.into_iter().map(open).collect()
    }

    /// The session's id.
    pub fn session(&self) -> &str {
        let name = self.dir.file_name().and_then(|n| n.to_str());
        name.unwrap_or_default()
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The turns that changed something, oldest first.
    pub fn turns(&self) -> &[Turn] {
        &self.journal.turns
    }

    /// True while a turn holds the journal.
    pub fn is_open(&self) -> bool {
        self.writer.is_some()
    }

    /// Takes in what another process added, for example `interpreter undo`.
    pub fn refresh(&mut self) {
        let path = self.dir.join(JOURNAL);
        let now = fs::metadata(&path).map_or(0, |m| m.len());
        if now != self.seen {
            let lines = rollout::read(&path).map_or(Vec::new(), |(lines, _)| lines);
            self.journal = Journal::read(&lines);
            self.seen = now;
        }
    }

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
        Ok(self.uncovered())
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
    fn end_torn(&mut self, writer: &mut Writer) -> Result<(), UndoError> {
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

    /// Puts back what the latest turn changed, of one file or folder if one is named (as in
    /// [`Undo::path_of`]).
    ///
    /// # Errors
    /// When there is nothing, when a file is not as the turn left it, or when something cannot be
    /// read or written.
    pub fn undo(&mut self, only: Option<&str>) -> Result<Moved, UndoError> {
        let mut writer = self.ready()?;
        let at = self.journal.last(only).ok_or(UndoError::Nothing)?;
        let turn = self.journal.turns.get(at).ok_or(UndoError::Nothing)?;
        let stands = |c: &&Change| !c.is_undone && is_below(&c.path, only);
        let changes: Vec<Change> = turn.changes.iter().filter(stands).cloned().collect();
        if turn.is_torn && only.is_none() {
            let paths = changes.into_iter().map(|c| c.path).collect();
            return Err(UndoError::Torn(paths));
        }
        self.travel(at, changes, Way::Undo, &mut writer)
    }

    /// Takes the latest undo back.
    ///
    /// # Errors
    /// As [`Undo::undo`].
    pub fn redo(&mut self) -> Result<Moved, UndoError> {
        let mut writer = self.ready()?;
        let (at, paths) = self
            .journal
            .undone
            .last()
            .cloned()
            .ok_or(UndoError::Nothing)?;
        let turn = self.journal.turns.get(at).ok_or(UndoError::Nothing)?;
        let is_of = |c: &&Change| paths.contains(&c.path);
        let changes: Vec<Change> = turn.changes.iter().filter(is_of).cloned().collect();
        self.travel(at, changes, Way::Redo, &mut writer)
    }

    fn travel(
        &mut self,
        at: usize,
        changes: Vec<Change>,
        way: Way,
        writer: &mut Writer,
    ) -> Result<Moved, UndoError> {
        let ends = |c: &Change| match way {
            Way::Undo => (c.after.clone(), c.before.clone()),
            Way::Redo => (c.before.clone(), c.after.clone()),
        };
        let all = changes
            .iter()
            .flat_map(|c| [c.before.as_ref(), c.after.as_ref()]);
        let contents = restore::contents(all, &mut self.objects);
        let (mut wanted, mut files) = (Vec::new(), Vec::new());
        let (mut left, mut conflicts) = (Vec::new(), Vec::new());
        for change in &changes {
            let (from, to) = ends(change);
            // Of folders it matters only what is in them.
            let is_folder = [&from, &to]
                .iter()
                .all(|s| matches!(s, None | Some(State::Folder)));
            let path = self.root.join(&change.path);
            if let Some(State::Unkept { why, .. }) = to {
                left.push((change.path.clone(), why.words()));
            } else if restore::holds(&path, from.as_ref(), &contents)
                || restore::holds(&path, to.as_ref(), &contents)
                || is_folder && path.is_dir() && !path.is_symlink()
            {
                if !is_folder {
                    files.push((change.path.clone(), to.is_none()));
                }
                wanted.push((change.path.clone(), to));
            } else {
                conflicts.push(FileDiff {
                    path: change.path.clone(),
                    before: side(from.as_ref(), &contents),
                    after: Side::now(&path),
                    modes: None,
                });
            }
        }
        if !conflicts.is_empty() {
            return Err(UndoError::Changed(conflicts));
        }
        restore::put(&self.root, &wanted, &mut self.objects)?;
        let paths: Vec<String> = changes.into_iter().map(|c| c.path).collect();
        let line = match way {
            Way::Undo => Line::Undo { turn: at, paths },
            Way::Redo => Line::Redo { turn: at, paths },
        };
        self.add(writer, line)?;
        self.look_again()?;
        let turn = self.journal.turns.get(at);
        Ok(Moved {
            turn: turn.map_or(0, |t| t.number),
            title: turn.map_or(String::new(), |t| t.title.clone()),
            files,
            left,
        })
    }

    /// Gives a file of a turn the content that is left after some of its hunks were dropped.
    /// `text` shows these, for the model.
    ///
    /// # Errors
    /// As [`Undo::undo`].
    pub fn drop_part(
        &mut self,
        turn: usize,
        path: &str,
        content: Option<&[u8]>,
        text: String,
    ) -> Result<(), UndoError> {
        let mut writer = self.ready()?;
        let of_turn = self.journal.turns.iter().position(|t| t.number == turn);
        let at = of_turn.ok_or(UndoError::Nothing)?;
        let change = self.journal.turns[at]
            .changes
            .iter()
            .find(|c| c.path == path);
        let change = change.cloned().ok_or(UndoError::Nothing)?;
        let sides = [change.before.as_ref(), change.after.as_ref()];
        let contents = restore::contents(sides.into_iter(), &mut self.objects);
        let full = self.root.join(path);
        if !restore::holds(&full, change.after.as_ref(), &contents) {
            return Err(UndoError::Changed(vec![FileDiff {
                path: path.to_owned(),
                before: side(change.after.as_ref(), &contents),
                after: Side::now(&full),
                modes: None,
            }]));
        }
        let mode = match (&change.after, &change.before) {
            (Some(State::File { mode, .. }), _) | (_, Some(State::File { mode, .. })) => *mode,
            _ => 0o644,
        };
        let after = match content {
            None => change.before.clone(),
            Some(bytes) => Some(State::File {
                content: self.objects.put(bytes)?,
                mode,
            }),
        };
        restore::put(
            &self.root,
            &[(path.to_owned(), after.clone())],
            &mut self.objects,
        )?;
        let path = path.to_owned();
        let line = Line::Drop {
            turn: at,
            path,
            after,
            text,
        };
        self.add(&mut writer, line)?;
        self.look_again()
    }

    /// The latest turn whose changes stand, and these as they can be shown.
    pub fn last_turn(&mut self) -> Option<(usize, Vec<FileDiff>)> {
        let at = self.journal.last(None)?;
        let turn = self.journal.turns.get(at)?;
        let number = turn.number;
        let changes: Vec<Change> = turn
            .changes
            .iter()
            .filter(|c| !c.is_undone)
            .cloned()
            .collect();
        let all = changes
            .iter()
            .flat_map(|c| [c.before.as_ref(), c.after.as_ref()]);
        let contents = restore::contents(all, &mut self.objects);
        let show = |c: &Change| diff_of(c, side(c.after.as_ref(), &contents), &contents);
        Some((number, changes.iter().filter_map(show).collect()))
    }

    /// What all turns changed and the disk still shows, for a folder without git.
    pub fn since_the_beginning(&mut self) -> Vec<FileDiff> {
        let mut first: std::collections::BTreeMap<String, Change> = Default::default();
        for change in self.journal.turns.iter().flat_map(|t| &t.changes) {
            first.entry(change.path.clone()).or_insert(change.clone());
        }
        let contents =
            restore::contents(first.values().map(|c| c.before.as_ref()), &mut self.objects);
        let show = |c: &Change| {
            let path = self.root.join(&c.path);
            let after = Change {
                after: scan::state_of(&path),
                ..c.clone()
            };
            let diff = diff_of(&after, Side::now(&path), &contents)?;
            (diff.before != diff.after || diff.modes.is_some()).then_some(diff)
        };
        first.values().filter_map(show).collect()
    }

    /// What the model does not know yet.
    pub fn news(&self) -> &[News] {
        &self.journal.news
    }

    /// The model was told.
    ///
    /// # Errors
    /// When that cannot be written down.
    pub fn told(&mut self) -> Result<(), UndoError> {
        let mut writer = self.lock()?;
        self.add(&mut writer, Line::Told)
    }

    /// A path as a person writes it, seen from `cwd`, in the form of the changes.
    pub fn path_of(&self, cwd: &Path, path: &str) -> String {
        let mut clean = PathBuf::new();
        for part in cwd.join(path).components() {
            match part {
                std::path::Component::CurDir => {}
                std::path::Component::ParentDir => {
                    clean.pop();
                }
                other => clean.push(other),
            }
        }
        let real = real(&clean);
        scan::key(&self.root, &real).unwrap_or_else(|| real.to_string_lossy().into_owned())
    }

    /// The journal, locked and read to its end, with no turn open.
    fn ready(&mut self) -> Result<Writer, UndoError> {
        if !self.dir.join(JOURNAL).exists() {
            return Err(UndoError::Nothing);
        }
        let mut writer = self.lock()?;
        self.end_torn(&mut writer)?;
        Ok(writer)
    }

    fn lock(&mut self) -> Result<Writer, UndoError> {
        let path = self.dir.join(JOURNAL);
        if path.exists() {
            let until = Instant::now() + LOCK;
            loop {
                match Writer::append_to(&path) {
                    // A process that is just being started holds a lock until it has its program.
                    Err(StoreError::Busy(_)) if Instant::now() < until => {
                        std::thread::sleep(TICK);
                    }
                    Err(error) => return Err(error.into()),
                    Ok(writer) => {
                        self.refresh();
                        return Ok(writer);
                    }
                }
            }
        }
        if let Some(all) = self.dir.parent() {
            age_out(all);
        }
        let mut writer = Writer::at(&path)?;
        let root = self.root.clone();
        self.add(&mut writer, Line::Root { root })?;
        Ok(writer)
    }

    fn add(&mut self, writer: &mut Writer, line: Line) -> Result<(), UndoError> {
        let record = line.record();
        writer.append(std::slice::from_ref(&record))?;
        let time = record["timestamp"].as_str().unwrap_or_default();
        self.journal.apply(line, time);
        self.seen = fs::metadata(writer.path()).map_or(0, |m| m.len());
        Ok(())
    }

    fn look(&mut self, cancel: &Cancel) -> Result<Manifest, UndoError> {
        let before = self.manifest();
        let scan = Scan {
            root: &self.root,
            skip: &self.skip,
            before: before.as_ref(),
            objects: &mut self.objects,
            cancel,
        };
        let now = scan.run();
        self.manifest = before;
        Ok(now?)
    }

    /// What was put back is no change of the next turn.
    fn look_again(&mut self) -> Result<(), UndoError> {
        let now = self.look(&Cancel::new())?;
        self.keep_manifest(now)
    }

    /// The last look, from memory or disk.
    fn manifest(&mut self) -> Option<Manifest> {
        self.manifest.take().or_else(|| {
            let text = fs::read(self.dir.join(MANIFEST)).ok()?;
            serde_json::from_slice(&text).ok()
        })
    }

    fn keep_manifest(&mut self, manifest: Manifest) -> Result<(), UndoError> {
        self.objects.flush()?;
        let text = serde_json::to_vec(&manifest).unwrap_or_default();
        private_replace(&self.dir.join(MANIFEST), &text)?;
        self.manifest = Some(manifest);
        Ok(())
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

/// The path with the links on the way to it, and its own, resolved as far as it exists.
fn real(path: &Path) -> PathBuf {
    for above in path.ancestors() {
        if let Ok(real) = fs::canonicalize(above) {
            let rest = path.strip_prefix(above).unwrap_or(Path::new(""));
            return if rest.as_os_str().is_empty() {
                real
            } else {
                real.join(rest)
            };
        }
    }
    path.to_owned()
}

type Contents = std::collections::HashMap<Content, Vec<u8>>;

/// A change as it is shown; `None` for one of folders alone.
fn diff_of(change: &Change, after: Side, contents: &Contents) -> Option<FileDiff> {
    let before = side(change.before.as_ref(), contents);
    let is_plain = |side: &Side| matches!(side, Side::Nothing | Side::Folder);
    let mode = |state: &Option<State>| match state {
        Some(State::File { mode, .. }) => Some(*mode),
        _ => None,
    };
    let modes = mode(&change.before).zip(mode(&change.after));
    (!is_plain(&before) || !is_plain(&after)).then(|| FileDiff {
        path: change.path.clone(),
        before,
        after,
        modes: modes.filter(|(was, is)| was != is),
    })
}

fn side(state: Option<&State>, contents: &Contents) -> Side {
    match state {
        None => Side::Nothing,
        Some(State::Folder) => Side::Folder,
        Some(State::Link(to)) => Side::Link(to.clone()),
        Some(State::Unkept { why, .. }) => Side::Unknown(why.words()),
        Some(State::File { content, .. }) => match contents.get(content) {
            Some(bytes) => Side::File(bytes.clone()),
            None => Side::Unknown("its content is gone"),
        },
    }
}

/// Removes what is too old, and the oldest where all take too much. What is in use stays.
fn age_out(all: &Path) {
    let entries = fs::read_dir(all).into_iter().flatten().flatten();
    let mut found: Vec<(SystemTime, u64, PathBuf)> = entries
        .take(MOST_FOLDERS)
        .filter_map(|e| {
            let dir = e.path();
            let written = fs::metadata(dir.join(JOURNAL)).and_then(|m| m.modified());
            let size = |name: &str| fs::metadata(dir.join(name)).map_or(0, |m| m.len());
            Some((written.ok()?, size(OBJECTS) + size(MANIFEST), dir))
        })
        .collect();
    found.sort_by(|a, b| b.0.cmp(&a.0));
    let (now, mut bytes) = (SystemTime::now(), 0);
    for (written, size, dir) in found {
        bytes += size;
        let is_old = now.duration_since(written).is_ok_and(|age| age > AGE);
        if (is_old || bytes > MOST_SESSIONS) && Writer::append_to(&dir.join(JOURNAL)).is_ok() {
            let _ = fs::remove_dir_all(&dir);
        }
    }
}
