//! The way back: what the turns of a session changed in its folder, and how it was before.
//!
//! Before the first change of a turn the folder is looked at, and again at the end; the difference
//! is what the turn changed. A look costs a walk: only files whose size or time changed are read.
//! No git is needed, and git's index is not touched; where there is one, the contents of untouched
//! tracked files are left to git's objects.
//!
//! Covered are the files of the folder that are not ignored, up to a size each and in all, and
//! every file that one of our own file tools changes, wherever it is. Commits are not.

mod error;
pub mod hunks;
mod journal;
pub mod manifest;
mod objects;
mod restore;
pub mod scan;
mod show;
#[cfg(test)]
mod tests;
mod travel;
mod turns;

use super::git;
use crate::cancel::Cancel;
use crate::store::StoreError;
use crate::store::paths::{Home, private_replace};
use crate::store::rollout::{self, Writer};
use journal::{Journal, Line};
use manifest::Manifest;
use objects::Objects;
use scan::Scan;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

pub use error::UndoError;
pub use journal::{News, Turn, is_below};
pub use travel::Moved;

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

    /// Takes in what another process added, for example `interpreter undo`.
    pub fn refresh(&mut self) {
        let path = self.dir.join(JOURNAL);
        let now = fs::metadata(&path).map_or(0, |m| m.len());
        if now != self.seen {
            let lines = rollout::read(&path).map_or(Vec::new(), |(lines, _)| lines);
            self.journal = Journal::read(&lines);
            self.seen = now;
            self.manifest = None;
            self.objects.reload();
        }
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
    found.sort_by_key(|found| std::cmp::Reverse(found.0));
    let (now, mut bytes) = (SystemTime::now(), 0);
    for (written, size, dir) in found {
        bytes += size;
        let is_old = now.duration_since(written).is_ok_and(|age| age > AGE);
        if (is_old || bytes > MOST_SESSIONS) && Writer::append_to(&dir.join(JOURNAL)).is_ok() {
            let _ = fs::remove_dir_all(&dir);
        }
    }
}
