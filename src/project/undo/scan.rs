//! Looking at a folder: what is in it now, with the contents of what changed since the last look.

use super::manifest::{Entry, Manifest, Stamp, State, Unkept, mode, nanoseconds};
use super::objects::{Content, Objects};
use crate::cancel::Cancel;
use crate::project::git;
use crate::store::StoreError;
use ignore::{DirEntry, WalkBuilder};
use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// The most bytes of one file.
pub const MOST_FILE: u64 = 1 << 20;
/// The most bytes of all files whose content is kept by us.
pub const MOST_ALL: u64 = 200 << 20;
/// The most entries of a folder.
pub const MOST_ENTRIES: usize = 100_000;
/// How long a look may take.
const TIME: Duration = Duration::from_secs(15);
/// A file that was written so shortly before a look is read again at the next one: the clock of
/// some file systems has no finer steps.
const FRESH: i64 = 2_000_000_000;
/// What version control keeps for itself.
const VERSION_CONTROL: [&str; 4] = [".git", ".hg", ".svn", ".jj"];

/// A look at a folder.
pub struct Scan<'a> {
    /// The folder, canonical.
    pub root: &'a Path,
    /// Folders of ours that are passed over.
    pub skip: &'a [PathBuf],
    /// The last look, if there was one.
    pub before: Option<&'a Manifest>,
    /// Where contents go.
    pub objects: &'a mut Objects,
    /// Ends it early.
    pub cancel: &'a Cancel,
}

impl Scan<'_> {
    /// What is there. A look that is stopped, takes too long or meets too much is not whole.
    ///
    /// # Errors
    /// When contents cannot be stored.
    pub fn run(mut self) -> Result<Manifest, StoreError> {
        let mut found = Found {
            now: Manifest {
                time: nanoseconds(SystemTime::now()),
                is_whole: true,
                also: self.before.map(|b| b.also.clone()).unwrap_or_default(),
                ..Manifest::default()
            },
            tracked: self.tracked(),
            ..Found::default()
        };
        let until = Instant::now() + TIME;
        let skip = self.skip.to_vec();
        let walk = walk(self.root, move |e| !skip.iter().any(|s| s == e.path()));
        for entry in walk.flatten().filter(|e| e.depth() > 0) {
            let too_much = found.now.entries.len() >= MOST_ENTRIES;
            if too_much || self.cancel.is_cancelled() || Instant::now() >= until {
                found.now.is_whole = false;
                break;
            }
            let Some(key) = key(self.root, entry.path()) else {
                found.now.unnamed += 1;
                continue;
            };
            if let Ok(meta) = entry.metadata() {
                self.look(key, entry.path(), &meta, &mut found)?;
            }
        }
        // The walk does not meet what is ignored: neither what git tracks all the same, nor what
        // was there before, nor what our own tools change.
        let tracked = found.tracked.keys();
        let known = self.before.map(|b| b.entries.keys()).into_iter().flatten();
        let missed: Vec<String> = tracked
            .chain(known)
            .chain(&found.now.also)
            .filter(|path| !found.now.entries.contains_key(*path))
            .cloned()
            .collect();
        for key in missed {
            if Instant::now() >= until + TIME {
                found.now.is_whole = false;
                break;
            }
            let path = self.root.join(&key);
            if let Ok(meta) = path.symlink_metadata() {
                self.look(key, &path, &meta, &mut found)?;
            }
        }
        self.leave_to_git(&mut found)?;
        self.objects.flush()?;
        Ok(found.now)
    }

    /// What stands at those paths of the last look that the walk does not meet and that it has no
    /// entry for.
    ///
    /// # Errors
    /// When contents cannot be stored.
    pub fn also(mut self) -> Result<Vec<(String, Entry)>, StoreError> {
        let Some(before) = self.before else {
            return Ok(Vec::new());
        };
        let mut found = Found::default();
        for key in before
            .also
            .iter()
            .filter(|k| !before.entries.contains_key(*k))
        {
            let path = self.root.join(key);
            if let Ok(meta) = path.symlink_metadata() {
                self.look(key.clone(), &path, &meta, &mut found)?;
            }
        }
        self.objects.flush()?;
        Ok(found.now.entries.into_iter().collect())
    }

    /// The files that git tracks in the folder, unless they are known from the last look.
    fn tracked(&mut self) -> HashMap<String, git::index::Tracked> {
        let read = || {
            let (top, dir) = git::folders(self.root)?;
            Some((top, git::index::read(&dir)?))
        };
        if self.objects.git.is_none() || self.before.is_some_and(|b| b.is_whole) {
            return HashMap::new();
        }
        let Some((top, index)) = read() else {
            return HashMap::new();
        };
        let below = |(path, tracked)| Some((key(self.root, &top.join::<String>(path))?, tracked));
        index.into_iter().filter_map(below).collect()
    }

    fn look(
        &mut self,
        key: String,
        path: &Path,
        meta: &Metadata,
        found: &mut Found,
    ) -> Result<(), StoreError> {
        let stamp = Stamp::of(meta);
        let entry = |state| Entry { state, stamp };
        if meta.is_dir() {
            let stamp = Stamp::default();
            let state = State::Folder;
            found.now.entries.insert(key, Entry { state, stamp });
            return Ok(());
        }
        if meta.is_symlink() {
            // A target that is not UTF-8 could not be stored.
            if let Some(to) = fs::read_link(path)
                .ok()
                .and_then(|t| t.to_str().map(str::to_owned))
            {
                found.now.entries.insert(key, entry(State::Link(to)));
            }
            return Ok(());
        }
        if !meta.is_file() {
            return Ok(());
        }
        if let Some(before) = self.before
            && let Some(old) = before.entries.get(&key)
            && old.stamp == stamp
            && stamp.written.max(stamp.changed) < before.time - FRESH
        {
            if matches!(
                old.state,
                State::File {
                    content: Content::Own(_),
                    ..
                }
            ) {
                found.kept += stamp.size;
            }
            found.now.entries.insert(key, old.clone());
            return Ok(());
        }
        if let Some(tracked) = found.tracked.get(&key)
            && stamp.size <= MOST_FILE
            && tracked.is_untouched(meta)
        {
            found.in_git.push((
                key,
                tracked.object.clone(),
                entry(State::Folder),
                mode(meta),
            ));
            return Ok(());
        }
        let state = self.read(path, meta, found)?;
        found.now.entries.insert(key, entry(state));
        Ok(())
    }

    /// What a file holds, kept if there is room for it.
    fn read(
        &mut self,
        path: &Path,
        meta: &Metadata,
        found: &mut Found,
    ) -> Result<State, StoreError> {
        let stamp = Stamp::of(meta);
        let unkept = |why| State::Unkept { why, stamp };
        if stamp.size > MOST_FILE {
            return Ok(unkept(Unkept::Large));
        }
        if found.kept + stamp.size > MOST_ALL {
            return Ok(unkept(Unkept::Full));
        }
        let Some(bytes) = read(path) else {
            return Ok(unkept(Unkept::Unreadable));
        };
        found.kept += bytes.len() as u64;
        Ok(State::File {
            content: self.objects.put(&bytes)?,
            mode: mode(meta),
        })
    }

    /// Leaves the content of untouched tracked files to git's objects. One whose object is missing
    /// or has another size, since a filter stands between the two, is kept by us.
    fn leave_to_git(&mut self, found: &mut Found) -> Result<(), StoreError> {
        let files = std::mem::take(&mut found.in_git);
        let sizes = match self.objects.git.as_deref() {
            Some(dir) if !files.is_empty() => {
                let names: Vec<&str> = files.iter().map(|f| f.1.as_str()).collect();
                git::objects::sizes(dir, &names, self.cancel)
            }
            _ => HashMap::new(),
        };
        for (key, object, mut entry, mode) in files {
            let path = self.root.join(&key);
            if sizes.get(&object) == Some(&entry.stamp.size) {
                let content = Content::Git(object);
                entry.state = State::File { content, mode };
            } else if let Ok(meta) = path.symlink_metadata() {
                entry.state = self.read(&path, &meta, found)?;
            } else {
                continue;
            }
            found.now.entries.insert(key, entry);
        }
        Ok(())
    }
}

/// What is in a folder and is not ignored, as far as `wanted` goes into it.
fn walk(root: &Path, wanted: impl Fn(&DirEntry) -> bool + Send + Sync + 'static) -> ignore::Walk {
    WalkBuilder::new(root)
        .hidden(false)
        .require_git(false)
        .filter_entry(move |e| {
            let name = e.file_name().to_str();
            !name.is_some_and(|n| VERSION_CONTROL.contains(&n)) && wanted(e)
        })
        .build()
}

/// The files of a git work tree that are not ignored, without those of repositories in it.
pub fn files(root: &Path, cancel: &Cancel) -> Vec<String> {
    let own = |e: &DirEntry| e.depth() == 0 || !e.path().join(".git").exists();
    walk(root, own)
        .take_while(|_| !cancel.is_cancelled())
        .flatten()
        .filter(|e| e.file_type().is_some_and(|t| !t.is_dir()))
        .take(MOST_ENTRIES)
        .filter_map(|e| key(root, e.path()))
        .collect()
}

/// What was found so far.
#[derive(Default)]
struct Found {
    now: Manifest,
    tracked: HashMap<String, git::index::Tracked>,
    /// Bytes of the contents that we keep.
    kept: u64,
    /// Files that git may keep: path, object, an entry without its state, permissions.
    in_git: Vec<(String, String, Entry, u32)>,
}

/// What stands at a path now, without keeping its content; `None`: nothing.
pub fn state_of(path: &Path) -> Option<State> {
    let meta = path.symlink_metadata().ok()?;
    let stamp = Stamp::of(&meta);
    if meta.is_dir() {
        return Some(State::Folder);
    }
    if meta.is_symlink() {
        let to = fs::read_link(path).ok()?;
        return Some(State::Link(to.to_string_lossy().into_owned()));
    }
    Some(match (stamp.size > MOST_FILE, read(path)) {
        (true, _) => State::Unkept {
            why: Unkept::Large,
            stamp,
        },
        (_, None) => State::Unkept {
            why: Unkept::Unreadable,
            stamp,
        },
        (_, Some(bytes)) => State::File {
            content: Content::of(&bytes),
            mode: mode(&meta),
        },
    })
}

/// The bytes of a file; `None` when it cannot be read or grew too large meanwhile.
fn read(path: &Path) -> Option<Vec<u8>> {
    use std::io::Read;
    let file = crate::project::open_regular(path).ok()?;
    // Of a file behind `take` the size is not known, and reading would begin with a few bytes.
    let size = file.metadata().map_or(0, |meta| meta.len()).min(MOST_FILE);
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
    file.take(MOST_FILE + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= MOST_FILE).then_some(bytes)
}

/// The path as a manifest has it; `None` for one that is not UTF-8 or outside.
pub fn key(root: &Path, path: &Path) -> Option<String> {
    path.strip_prefix(root).ok()?.to_str().map(str::to_owned)
}
