//! The sessions on disk: which there are, which one is meant, and the end of one.

use super::StoreError;
use super::paths::{Home, canonical};
use super::rollout::{Writer, first_record};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The most session files that are looked at.
const MAX_SESSIONS: usize = 100_000;

/// A stored session, known by its file's name alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Its file.
    pub path: PathBuf,
    /// Its id.
    pub id: String,
    /// When it was written last.
    pub modified: SystemTime,
}

/// All sessions, the one written last first. No file is opened.
pub fn list(home: &Home) -> Vec<Stored> {
    let mut found = Vec::new();
    for year in folders(&home.sessions()) {
        for month in folders(&year) {
            for day in folders(&month) {
                let entries = fs::read_dir(day).into_iter().flatten().flatten();
                for entry in entries {
                    if found.len() == MAX_SESSIONS {
                        break;
                    }
                    let name = entry.file_name();
                    let id = name.to_str().and_then(id_of).map(str::to_owned);
                    let meta = entry.metadata().ok().filter(|m| m.is_file());
                    if let (Some(id), Some(modified)) = (id, meta.and_then(|m| m.modified().ok())) {
                        found.push(Stored {
                            path: entry.path(),
                            id,
                            modified,
                        });
                    }
                }
            }
        }
    }
    // The name holds the time of the beginning, which decides between equal times.
    found.sort_by(|a, b| (b.modified, &b.path).cmp(&(a.modified, &a.path)));
    found
}

/// The folders in a folder whose names are numbers, the highest first.
fn folders(path: &Path) -> Vec<PathBuf> {
    const MOST: usize = 10_000;
    let entries = fs::read_dir(path)
        .into_iter()
        .flatten()
        .take(MOST)
        .flatten();
    let number = |e: &fs::DirEntry| {
        let name = e.file_name();
        let name = name.to_str()?;
        name.bytes().all(|b| b.is_ascii_digit()).then(|| e.path())
    };
    let mut found: Vec<PathBuf> = entries.filter_map(|e| number(&e)).collect();
    found.sort_by(|a, b| b.cmp(a));
    found
}

/// The id in `rollout-YYYY-MM-DDThh-mm-ss-ID.jsonl`.
fn id_of(name: &str) -> Option<&str> {
    const TIME: usize = "YYYY-MM-DDThh-mm-ss-".len();
    let rest = name.strip_prefix("rollout-")?.strip_suffix(".jsonl")?;
    rest.get(TIME..).filter(|id| !id.is_empty())
}

/// The session of that id, or the only one whose id begins so.
pub fn find(home: &Home, wanted: &str) -> Result<Stored, StoreError> {
    const SHOWN: usize = 5;
    let id = wanted.trim().to_lowercase();
    let mut found: Vec<Stored> = list(home)
        .into_iter()
        .filter(|s| !id.is_empty() && s.id.to_lowercase().starts_with(&id))
        .collect();
    if let Some(exact) = found.iter().position(|s| s.id.to_lowercase() == id) {
        return Ok(found.swap_remove(exact));
    }
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => Err(StoreError::NoSession {
            wanted: wanted.to_owned(),
            folder: home.sessions(),
        }),
        _ => Err(StoreError::Ambiguous {
            wanted: wanted.to_owned(),
            found: found.into_iter().take(SHOWN).map(|s| s.id).collect(),
        }),
    }
}

/// The session written last; with `cwd`, of those that began in that folder. Only first lines are
/// read.
pub fn last(home: &Home, cwd: Option<&Path>) -> Option<Stored> {
    let cwd = cwd.map(canonical);
    // A folder whose name is not UTF-8 stands in the file with replacements.
    let lossy = cwd
        .as_ref()
        .map(|cwd| PathBuf::from(cwd.to_string_lossy().into_owned()))
        .unwrap_or_default();
    list(home).into_iter().find(|stored| match &cwd {
        None => true,
        Some(cwd) => first_record(&stored.path)
            .and_then(|r| Some(PathBuf::from(r.get("payload")?.get("cwd")?.as_str()?)))
            .is_some_and(|began| canonical(&began) == *cwd || began == lossy),
    })
}

/// Removes a session with its saved outputs and the files kept for undo.
///
/// # Errors
/// [`StoreError::Busy`] while a process writes it, or when something of it cannot be removed.
pub fn remove(home: &Home, session: &Stored) -> Result<(), StoreError> {
    // Its lock says whether it is in use. Windows removes no file that is open, so it is let go.
    drop(Writer::append_to(&session.path)?);
    for folder in [home.outputs(&session.id), home.undo(&session.id)] {
        match fs::remove_dir_all(&folder) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                return Err(StoreError::write(&folder, &e));
            }
            _ => {}
        }
    }
    // Last, so that a session whose rest could not be removed is still listed.
    fs::remove_file(&session.path).map_err(|e| StoreError::write(&session.path, &e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::rollout::{self, tests::home};
    use std::fs::OpenOptions;
    use std::time::Duration;

    /// The same, written last at that second.
    fn session(home: &Home, id: &str, second: u8, cwd: &Path) -> PathBuf {
        let path = rollout::tests::session(home, id, second, cwd);
        let age = Duration::from_secs(1_000_000 + u64::from(second));
        let file = OpenOptions::new().append(true).open(&path).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + age).unwrap();
        path
    }

    #[test]
    fn sessions_are_found_by_prefix_and_by_folder() {
        let (dir, home) = home();
        assert_eq!(list(&home), []);
        assert_eq!(last(&home, None), None);
        assert!(!home.path().exists());
        let here = dir.path();
        session(&home, "0199aa-1", 1, here);
        session(&home, "0199ab-2", 3, here);
        session(&home, "0199b", 2, Path::new("/elsewhere"));
        fs::write(home.sessions().join("2026/01/02/notes.txt"), "").unwrap();
        let ids: Vec<String> = list(&home).into_iter().map(|s| s.id).collect();
        assert_eq!(ids, ["0199ab-2", "0199b", "0199aa-1"]);

        assert_eq!(find(&home, "0199AA").unwrap().id, "0199aa-1");
        assert_eq!(find(&home, "0199b").unwrap().id, "0199b");
        assert!(
            matches!(find(&home, "0199a"), Err(StoreError::Ambiguous { found, .. }) if found.len() == 2)
        );
        assert!(matches!(
            find(&home, "ffff"),
            Err(StoreError::NoSession { .. })
        ));
        assert!(matches!(
            find(&home, " "),
            Err(StoreError::NoSession { .. })
        ));

        assert_eq!(last(&home, None).unwrap().id, "0199ab-2");
        assert_eq!(
            last(&home, Some(Path::new("/elsewhere"))).unwrap().id,
            "0199b"
        );
        assert_eq!(last(&home, Some(Path::new("/nowhere"))), None);
    }

    #[test]
    fn a_session_is_removed_with_all_that_belongs_to_it() {
        let (dir, home) = home();
        session(&home, "aa", 1, dir.path());
        let other = session(&home, "ab", 2, dir.path());
        for folder in [home.outputs("aa"), home.undo("aa"), home.outputs("ab")] {
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("1.txt"), "x").unwrap();
        }
        let found = find(&home, "aa").unwrap();
        let writer = Writer::append_to(&found.path).unwrap();
        assert_eq!(
            remove(&home, &found),
            Err(StoreError::Busy(found.path.clone()))
        );
        assert!(home.outputs("aa").exists() && found.path.exists());
        drop(writer);
        remove(&home, &found).unwrap();
        assert!(!found.path.exists() && !home.outputs("aa").exists() && !home.undo("aa").exists());
        assert!(other.exists() && home.outputs("ab").join("1.txt").exists());
    }
}
