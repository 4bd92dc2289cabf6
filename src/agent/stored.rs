//! Stored sessions, as a person chooses among them: what each was about, where, with which model.
//!
//! The files are the truth: every one is looked at, and one that is no session is named.

use super::record::{self, TurnContext};
use super::session::Session;
use crate::cancel::Cancel;
use crate::harnesses::{self, Start};
use crate::model::join_text;
use crate::store::StoreError;
use crate::store::paths::{Home, canonical};
use crate::store::rollout::{self, Writer};
use crate::store::sessions;
use crate::words::head;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The first words of the user stand within so many items.
const FIRST_ITEMS: usize = 12;
/// Bytes of them that are kept.
const FIRST_WORDS: usize = 400;
/// The most bytes of a title.
const TITLE: usize = 200;
/// Records that are copied at once.
const BATCH: usize = 256;

/// A session that can be gone on with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Its file.
    pub path: PathBuf,
    /// Its id.
    pub id: String,
    /// The name that the user gave it.
    pub title: Option<String>,
    /// The first words of the user; empty when nothing was said yet.
    pub first: String,
    /// The working folder.
    pub cwd: PathBuf,
    /// The model that it had last; empty when nothing was said yet.
    pub model: String,
    /// When it was written last.
    pub modified: SystemTime,
}

impl Stored {
    /// What it is called: its name, else its first words.
    pub fn name(&self) -> &str {
        match &self.title {
            Some(title) => title,
            None if self.first.is_empty() => "(nothing said yet)",
            None => &self.first,
        }
    }
}

/// All sessions that can be read, the one written last first, and the files that cannot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shelf {
    /// The sessions.
    pub sessions: Vec<Stored>,
    /// What could not be read.
    pub unreadable: Vec<PathBuf>,
}

/// Looks at every session file. A stop leaves the rest out.
pub fn all(home: &Home, cancel: &Cancel) -> Shelf {
    let mut shelf = Shelf::default();
    for file in sessions::list(home) {
        if cancel.is_cancelled() {
            break;
        }
        match look(&file) {
            Some(stored) => shelf.sessions.push(stored),
            None => shelf.unreadable.push(file.path),
        }
    }
    shelf
}

impl Shelf {
    /// Those that began or went on in that folder.
    pub fn of_folder(&self, cwd: &Path) -> Vec<Stored> {
        let cwd = canonical(cwd);
        let here = |s: &&Stored| canonical(&s.cwd) == cwd;
        self.sessions.iter().filter(here).cloned().collect()
    }

    /// A sentence that names the unreadable ones; `None` when there are none.
    pub fn trouble(&self) -> Option<String> {
        const SHOWN: usize = 3;
        let names: Vec<String> = self
            .unreadable
            .iter()
            .take(SHOWN)
            .map(|p| p.display().to_string())
            .collect();
        let more = self.unreadable.len().saturating_sub(SHOWN);
        let more = match more {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        (!names.is_empty()).then(|| {
            format!(
                "no session can be read from {}{more}: damaged, or written by another program",
                names.join(", ")
            )
        })
    }
}

/// What one file tells.
fn look(file: &sessions::Stored) -> Option<Stored> {
    let mut items = 0;
    let records = rollout::pick(&file.path, |kind, line| match kind {
        "session_meta" | "turn_context" => true,
        "start" => items == 0,
        "response_item" => {
            items += 1;
            items <= FIRST_ITEMS
        }
        "event_msg" => record::may_name(line),
        _ => false,
    })
    .ok()?;
    let of = |kind: &'static str| records.iter().filter(move |r| r["type"] == kind);
    let meta = &of("session_meta").next()?["payload"];
    meta["id"].as_str().filter(|id| !id.is_empty())?;
    let contexts =
        || of("turn_context").filter_map(|r| TurnContext::deserialize(&r["payload"]).ok());
    let last = contexts().next_back();
    let began = meta["cwd"].as_str().map(PathBuf::from);
    let start = of("start").find_map(|r| Start::deserialize(&r["payload"]).ok());
    let harness = contexts().next().map(|c| c.harness);
    let mut titles = of("event_msg").map(|r| record::title(&r["payload"]));
    Some(Stored {
        path: file.path.clone(),
        id: file.id.clone(),
        title: titles.next_back().flatten(),
        first: of("response_item")
            .find_map(|r| first_words(&r["payload"], harness.as_deref(), start.as_ref()))
            .unwrap_or_default(),
        cwd: last
            .as_ref()
            .map(|c| c.cwd.clone())
            .or(began)
            .unwrap_or_default(),
        model: last.map(|c| c.model).unwrap_or_default(),
        modified: file.modified,
    })
}

/// The user's own words in an item, if it has some.
fn first_words(item: &Value, harness: Option<&str>, start: Option<&Start>) -> Option<String> {
    if item["role"] != "user" || item["mark"].is_null() {
        return None;
    }
    let text = join_text(&record::parts(&item["content"]));
    let harness = harness.and_then(harnesses::by_id);
    let own = match (harness, start) {
        (Some(harness), Some(start)) => harness.spoken(start, &text),
        _ => &text,
    };
    let own = own.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(head(&own, FIRST_WORDS).to_owned()).filter(|own| !own.is_empty())
}

/// The file of the session with that id, the beginning of one, or that name.
///
/// # Errors
/// When there is none, or more than one.
pub fn find(home: &Home, wanted: &str, cancel: &Cancel) -> Result<PathBuf, StoreError> {
    let by_id = sessions::find(home, wanted).map(|s| s.path);
    if !matches!(by_id, Err(StoreError::NoSession { .. })) {
        return by_id;
    }
    let wanted = wanted.trim().to_lowercase();
    let named = |s: &Stored| s.title.as_ref().is_some_and(|t| t.to_lowercase() == wanted);
    let sessions = all(home, cancel).sessions;
    let mut found: Vec<Stored> = sessions.into_iter().filter(named).collect();
    match found.len() {
        0 => by_id,
        1 => Ok(found.remove(0).path),
        _ => Err(StoreError::Ambiguous {
            wanted,
            found: found.into_iter().map(|s| s.id).collect(),
        }),
    }
}

/// A new session that begins as a copy of the one in `path`, which stays as it is.
///
/// # Errors
/// One sentence: it cannot be read, or the copy not written.
pub fn fork(home: &Home, path: &Path) -> Result<PathBuf, String> {
    let (mut records, _) = rollout::read(path).map_err(|e| e.to_string())?;
    let id = uuid::Uuid::now_v7().to_string();
    let meta = records.iter_mut().find(|r| r["type"] == "session_meta");
    let Some(meta) = meta.and_then(|r| r["payload"].as_object_mut()) else {
        return Err(format!(
            "{} is no session file: it has no session_meta line",
            path.display()
        ));
    };
    let old = meta.insert("id".into(), json!(id));
    meta.insert("forked_from_id".into(), old.unwrap_or(Value::Null));
    let mut writer = Writer::create(home, &id, &jiff::Zoned::now()).map_err(|e| e.to_string())?;
    let copied = records
        .chunks(BATCH)
        .try_for_each(|lines| writer.append(lines));
    match copied.and_then(|()| writer.sync()) {
        Ok(()) => Ok(writer.path().to_owned()),
        Err(why) => {
            let _ = std::fs::remove_file(writer.path());
            Err(why.to_string())
        }
    }
}

impl Session {
    /// The name that the user gave it.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// Gives it a name; an empty one takes it away.
    pub fn rename(&mut self, title: &str) {
        let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        let title = head(&title, TITLE);
        self.title = (!title.is_empty()).then(|| title.to_owned());
        let line = record::title_line(&self.info.id, title);
        self.record(&[line]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::transcript::Mark;
    use crate::model::Item;
    use std::fs;

    fn write(home: &Home, id: &str, cwd: &str, lines: &[Value]) -> PathBuf {
        let time = "2026-01-02T03:04:05+00:00[UTC]".parse().unwrap();
        let mut writer = Writer::create(home, id, &time).unwrap();
        let meta = record::line("session_meta", json!({"id": id, "cwd": cwd}));
        writer.append(&[meta]).unwrap();
        writer.append(lines).unwrap();
        writer.path().to_owned()
    }

    fn said(text: &str) -> Value {
        record::item_lines(&Item::user(text), 0, Mark::Task).remove(0)
    }

    #[test]
    fn a_session_tells_its_first_words_and_its_last_name() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path().join("home"));
        let long = "x ".repeat(1_000);
        let lines = [
            said("  fix the\nbug  "),
            record::title_line("aa", "one"),
            said(&long),
            record::title_line("aa", "The name"),
        ];
        let path = write(&home, "aa", "/w", &lines);
        write(&home, "bb", "/v", &[]);
        let broken = path.with_file_name("rollout-2026-01-02T03-04-06-cc.jsonl");
        fs::write(&broken, "no session\n").unwrap();
        let shelf = all(&home, &Cancel::new());
        assert_eq!(shelf.unreadable, [broken]);
        assert!(shelf.trouble().unwrap().contains("-cc.jsonl"));
        let by_id = |id: &str| shelf.sessions.iter().find(|s| s.id == id).unwrap();
        assert_eq!(by_id("aa").first, "fix the bug");
        assert_eq!(by_id("aa").name(), "The name");
        assert_eq!(by_id("bb").name(), "(nothing said yet)");
        assert_eq!(shelf.of_folder(Path::new("/w")).len(), 1);
        let cancel = Cancel::new();
        assert_eq!(find(&home, "the NAME", &cancel), Ok(path.clone()));
        assert_eq!(find(&home, "aa", &cancel), Ok(path));
        assert!(find(&home, "nobody", &cancel).is_err());
    }

    #[test]
    fn a_fork_is_a_copy_with_an_id_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path().join("home"));
        let path = write(&home, "aa", "/w", &[said("go")]);
        let before = fs::read(&path).unwrap();
        let copy = fork(&home, &path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), before);
        let (old, _) = rollout::read(&path).unwrap();
        let (new, _) = rollout::read(&copy).unwrap();
        assert_eq!(old[1..], new[1..]);
        let id = new[0]["payload"]["id"].as_str().unwrap();
        assert!(id != "aa" && copy.to_str().unwrap().contains(id));
        assert_eq!(new[0]["payload"]["forked_from_id"], "aa");
        assert_eq!(new[0]["payload"]["cwd"], "/w");
    }
}
