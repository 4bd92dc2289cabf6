//! A session on disk: append-only JSON Lines, one file per session.
//!
//! A line is `{"timestamp":…,"type":…,"payload":…}`. The store knows no types; it keeps whole
//! lines whole. A kill at any moment leaves at most one torn line at the end, which reading skips
//! and the next writer closes.

use super::StoreError;
use super::paths::{Home, private_file};
use jiff::{Timestamp, Zoned};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The most bytes of one line; a longer one is skipped when it is read.
const MAX_LINE: usize = 32 << 20;
/// The most bytes of a file that are read.
const MAX_FILE: u64 = 1 << 30;
/// The most bytes that [`pick`] reads at each end of a file.
const MOST_PICKED: u64 = 8 << 20;
/// How much is read at a time.
const PIECE: usize = 1 << 16;
/// The first record stands within so many lines; before it may stand what others wrote.
const FIRST_LINES: usize = 8;

/// A record with the time of now (UTC, milliseconds).
pub fn record(kind: &str, payload: Value) -> Value {
    let now = Timestamp::now()
        .strftime("%Y-%m-%dT%H:%M:%S.%3fZ")
        .to_string();
    json!({"timestamp": now, "type": kind, "payload": payload})
}

/// The one writer of a session. Holds an advisory lock on the file while it lives.
#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
    file: File,
    /// The file may end in the middle of a line.
    torn: bool,
}

impl Writer {
    /// A new session. `time` is its beginning, for the file's name.
    pub fn create(home: &Home, id: &str, time: &Zoned) -> Result<Writer, StoreError> {
        let path = home.rollout(id, time);
        let file = private_file(&path, true)?;
        Writer::lock(path, file)
    }

    /// A new file of records outside the folder of sessions.
    pub fn at(path: &Path) -> Result<Writer, StoreError> {
        Writer::lock(path.to_owned(), private_file(path, true)?)
    }

    /// Goes on with a session. Fails with [`StoreError::Busy`] while another process writes it.
    pub fn append_to(path: &Path) -> Result<Writer, StoreError> {
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .open(path)
            .map_err(|e| StoreError::write(path, &e))?;
        let mut writer = Writer::lock(path.to_owned(), file)?;
        writer.torn = writer.ends_torn().map_err(|e| StoreError::read(path, &e))?;
        Ok(writer)
    }

    fn lock(path: PathBuf, file: File) -> Result<Writer, StoreError> {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => return Err(StoreError::Busy(path)),
            // Some network file systems have no locks; a session there is worth more than its lock.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        Ok(Writer {
            path,
            file,
            torn: false,
        })
    }

    fn ends_torn(&mut self) -> io::Result<bool> {
        if self.file.metadata()?.len() == 0 {
            return Ok(false);
        }
        let mut last = [0];
        self.file.seek(SeekFrom::End(-1))?;
        self.file.read_exact(&mut last)?;
        Ok(last != *b"\n")
    }

    /// The session's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends whole lines in one write. After it the lines survive the end of this process; after
    /// [`Writer::sync`] also that of the machine.
    pub fn append(&mut self, records: &[Value]) -> Result<(), StoreError> {
        let mut text = String::new();
        if self.torn {
            text.push('\n');
        }
        for record in records {
            text.push_str(&record.to_string());
            text.push('\n');
        }
        // Until the write is known to be whole it may have left a part of a line.
        self.torn = true;
        self.file
            .write_all(text.as_bytes())
            .map_err(|e| StoreError::write(&self.path, &e))?;
        self.torn = false;
        Ok(())
    }

    /// Waits until the lines are on the disk.
    pub fn sync(&self) -> Result<(), StoreError> {
        self.file
            .sync_data()
            .map_err(|e| StoreError::write(&self.path, &e))
    }
}

/// All records of a session, and a warning if lines were skipped: torn ones, too long ones, and
/// what is not a record.
pub fn read(path: &Path) -> Result<(Vec<Value>, Vec<String>), StoreError> {
    read_since(path, "", &[])
}

/// The same without the records of the types `dropped` before the last one of the type `restart`.
/// Those are not parsed: of a long session they are nearly everything.
pub fn read_since(
    path: &Path,
    restart: &str,
    dropped: &[&str],
) -> Result<(Vec<Value>, Vec<String>), StoreError> {
    let failed = |e: io::Error| StoreError::read(path, &e);
    let file = File::open(path).map_err(failed)?;
    let mut reader = BufReader::with_capacity(PIECE, file.take(MAX_FILE));
    // Each line with its number; the first so many stay whatever comes.
    let (mut lines, mut kept) = (Vec::new(), 0);
    let mut number = 0;
    while let Some(line) = next_line(&mut reader).map_err(failed)? {
        number += 1;
        if !restart.is_empty() && line.as_deref().and_then(kind_of) == Some(restart) {
            let stays = |line: &(usize, Option<Vec<u8>>)| {
                let kind = line.1.as_deref().and_then(kind_of);
                !kind.is_some_and(|kind| dropped.contains(&kind))
            };
            let tail: Vec<_> = lines.drain(kept..).filter(stays).collect();
            lines.extend(tail);
            kept = lines.len();
        }
        lines.push((number, line));
    }
    let mut records = Vec::new();
    let mut skipped = Vec::new();
    for (number, line) in lines {
        match line.as_deref().map(serde_json::from_slice::<Value>) {
            Some(Ok(value)) if is_record(&value) => records.push(value),
            _ if line.as_ref().is_some_and(|l| l.trim_ascii().is_empty()) => {}
            _ => skipped.push(number),
        }
    }
    let mut warnings = Vec::new();
    if let [first, ..] = skipped.as_slice() {
        let (lines, they) = match skipped.len() {
            1 => ("1 line".to_owned(), format!("line {first}")),
            n => (format!("{n} lines"), format!("the first is line {first}")),
        };
        warnings.push(format!(
            "{lines} of the session {} could not be read and were skipped ({they})",
            path.display()
        ));
    }
    if reader.get_ref().limit() == 0 {
        warnings.push(format!(
            "the session {} is larger than {} MiB; the rest was not read",
            path.display(),
            MAX_FILE >> 20
        ));
    }
    Ok((records, warnings))
}

/// The last record of this type that can be read as a `T`. No other is parsed.
pub fn last_of<T: DeserializeOwned>(path: &Path, kind: &str) -> Result<Option<T>, StoreError> {
    let failed = |e: io::Error| StoreError::read(path, &e);
    let file = File::open(path).map_err(failed)?;
    let mut reader = BufReader::with_capacity(PIECE, file.take(MAX_FILE));
    let mut last = None;
    while let Some(line) = next_line(&mut reader).map_err(failed)? {
        let line = line.unwrap_or_default();
        // What others wrote has its type in another place.
        if kind_of(&line).is_none_or(|known| known == kind)
            && let Ok(mut value) = serde_json::from_slice::<Value>(&line)
            && value["type"] == kind
            && let Ok(payload) = T::deserialize(value["payload"].take())
        {
            last = Some(payload);
        }
    }
    Ok(last)
}

/// The records that `wanted` picks by their type and line, in their order; no other is parsed. Lines
/// that are no records are passed over. Of a file above [`MOST_PICKED`] only so much is read at both
/// ends.
pub fn pick(
    path: &Path,
    mut wanted: impl FnMut(&str, &[u8]) -> bool,
) -> Result<Vec<Value>, StoreError> {
    let failed = |e: io::Error| StoreError::read(path, &e);
    let mut file = File::open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    let mut records = Vec::new();
    let mut read = |file: &File| -> io::Result<()> {
        let mut reader = BufReader::with_capacity(PIECE, file.take(MOST_PICKED));
        while let Some(line) = next_line(&mut reader)? {
            let Some(line) = line else { continue };
            let known = kind_of(&line);
            if known.is_some_and(|kind| !wanted(kind, &line)) {
                continue;
            }
            let Ok(value) = serde_json::from_slice::<Value>(&line) else {
                continue;
            };
            let other = value["type"].as_str().filter(|_| known.is_none());
            if is_record(&value) && other.is_none_or(|kind| wanted(kind, &line)) {
                records.push(value);
            }
        }
        Ok(())
    };
    read(&file).map_err(failed)?;
    if length > MOST_PICKED {
        let rest = (length - MOST_PICKED).min(MOST_PICKED);
        file.seek(SeekFrom::Start(length - rest)).map_err(failed)?;
        read(&file).map_err(failed)?;
    }
    Ok(records)
}

/// The type of a line that was written here, from where it stands in it.
fn kind_of(line: &[u8]) -> Option<&str> {
    const TIME: usize = "{\"timestamp\":\"YYYY-MM-DDThh:mm:ss.mmmZ".len();
    let rest = line.get(TIME..)?.strip_prefix(b"\",\"type\":\"")?;
    let end = rest.iter().take(64).position(|b| *b == b'"')?;
    std::str::from_utf8(rest.get(..end)?).ok()
}

fn is_record(value: &Value) -> bool {
    value.get("type").is_some_and(Value::is_string) && value.get("payload").is_some()
}

/// The next line without its end; `Some(None)` for one that is too long, which is read past.
fn next_line(reader: &mut impl BufRead) -> io::Result<Option<Option<Vec<u8>>>> {
    let mut line = Vec::new();
    let most = MAX_LINE as u64 + 1;
    if reader.by_ref().take(most).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    } else if line.len() > MAX_LINE {
        reader.skip_until(b'\n')?;
        return Ok(Some(None));
    }
    Ok(Some(Some(line)))
}

/// The first record of a session, if one stands near the beginning.
pub fn first_record(path: &Path) -> Option<Value> {
    let file = File::open(path).ok()?;
    let mut reader = BufReader::new(file.take(MAX_LINE as u64));
    for _ in 0..FIRST_LINES {
        let line = next_line(&mut reader).ok()??;
        let record = line
            .and_then(|l| serde_json::from_slice(&l).ok())
            .filter(is_record);
        if record.is_some() {
            return record;
        }
    }
    None
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::fs;

    /// A home in a folder of its own.
    pub fn home() -> (tempfile::TempDir, Home) {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path().join("home"));
        (dir, home)
    }

    /// A session that begins in a second of its minute, with its first record alone.
    pub fn session(home: &Home, id: &str, second: u8, cwd: &Path) -> PathBuf {
        let time = format!("2026-01-02T03:04:{second:02}+00:00[UTC]")
            .parse()
            .unwrap();
        let mut writer = Writer::create(home, id, &time).unwrap();
        writer
            .append(&[record("session_meta", json!({"id": id, "cwd": cwd}))])
            .unwrap();
        writer.path().to_owned()
    }

    #[test]
    fn a_record_has_the_three_fields_in_order() {
        let line = record("event_msg", json!({"a": 1})).to_string();
        let time = line.strip_prefix("{\"timestamp\":\"").unwrap();
        assert_eq!(
            &time[23..],
            "Z\",\"type\":\"event_msg\",\"payload\":{\"a\":1}}"
        );
        assert!(time[..24].parse::<Timestamp>().is_ok(), "{line}");
    }

    #[test]
    fn a_torn_line_is_skipped_and_closed_by_the_next_writer() {
        let (_dir, home) = home();
        let path = session(&home, "aa", 1, Path::new("/w"));
        let torn = fs::read_to_string(&path).unwrap() + "{\"timestamp\":\"2026\",\"type\":\"resp";
        fs::write(&path, torn).unwrap();

        let (records, warnings) = read(&path).unwrap();
        assert_eq!(records.len(), 1);
        assert!(
            warnings[0].contains("1 line") && warnings[0].contains("line 2"),
            "{warnings:?}"
        );

        let mut writer = Writer::append_to(&path).unwrap();
        writer
            .append(&[record("a", json!(1)), record("b", json!(2))])
            .unwrap();
        writer.append(&[record("c", json!({}))]).unwrap();
        writer.sync().unwrap();
        let (records, warnings) = read(&path).unwrap();
        let kinds: Vec<&str> = records
            .iter()
            .map(|r| r["type"].as_str().unwrap())
            .collect();
        assert_eq!(kinds, ["session_meta", "a", "b", "c"]);
        assert_eq!(warnings.len(), 1);
    }

    #[test]
    fn foreign_lines_are_skipped_with_one_warning() {
        let (dir, _) = home();
        let path = dir.path().join("x.jsonl");
        let lines: [&[u8]; 6] = [
            b"not json",
            b"[1]",
            b"{\"type\":3,\"payload\":{}}",
            b"\xff\xfe",
            b"",
            b"{\"type\":\"t\",\"payload\":null}",
        ];
        fs::write(&path, lines.join(&b"\r\n"[..])).unwrap();
        let (records, warnings) = read(&path).unwrap();
        assert_eq!(records.len(), 1);
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].starts_with("4 lines"), "{warnings:?}");
    }

    #[test]
    fn a_line_that_is_too_long_is_read_past() {
        let (dir, _) = home();
        let path = dir.path().join("x.jsonl");
        let mut bytes = vec![b'x'; MAX_LINE + 1];
        bytes.extend_from_slice(b"\n{\"type\":\"t\",\"payload\":{}}\n");
        fs::write(&path, bytes).unwrap();
        let (records, warnings) = read(&path).unwrap();
        assert_eq!((records.len(), warnings.len()), (1, 1));
    }

    #[test]
    fn what_a_restart_replaces_is_not_parsed() {
        let (dir, _) = home();
        let path = dir.path().join("x.jsonl");
        let line = |kind: &str, n: u32| record(kind, json!({"n": n})).to_string();
        // Damaged where only a parser would notice.
        let torn = line("item", 2).replace("{\"n\"", "{n");
        let lines = [
            line("meta", 0),
            line("item", 1),
            torn.clone(),
            line("event", 3),
            line("restart", 4),
            line("item", 5),
            line("restart", 6),
            line("item", 7),
        ];
        fs::write(&path, lines.join("\n")).unwrap();
        let (records, warnings) = read_since(&path, "restart", &["item", "restart"]).unwrap();
        let left: Vec<u64> = records
            .iter()
            .map(|r| r["payload"]["n"].as_u64().unwrap())
            .collect();
        assert_eq!((left, warnings.len()), (vec![0, 3, 6, 7], 0));
        let (records, warnings) = read(&path).unwrap();
        assert_eq!((records.len(), warnings.len()), (7, 1));
    }

    #[test]
    fn the_last_record_of_a_type_counts_whoever_wrote_it() {
        #[derive(serde::Deserialize)]
        struct Payload {
            n: u32,
        }
        let (dir, _) = home();
        let path = dir.path().join("x.jsonl");
        let ours = record("turn", json!({"n": 1})).to_string();
        let foreign = r#"{"payload":{"n":2},"type":"turn"}"#;
        let other = record("turn", json!({"m": 3})).to_string();
        let text = [
            &ours,
            foreign,
            &other,
            &record("x", json!({"n": 4})).to_string(),
            "{",
        ];
        fs::write(&path, text.join("\n")).unwrap();
        let last = |kind: &str| last_of::<Payload>(&path, kind).unwrap().map(|p| p.n);
        assert_eq!((last("turn"), last("none")), (Some(2), None));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_one_sentence() {
        let mut writer = Writer::append_to(Path::new("/dev/full")).unwrap();
        let error = writer.append(&[record("a", json!({}))]).unwrap_err();
        assert!(
            error.to_string().ends_with("make room on the disk"),
            "{error}"
        );
    }

    #[test]
    fn records_are_picked_without_reading_the_others() {
        let (_dir, home) = home();
        let path = session(&home, "aa", 1, Path::new("/w"));
        let mut writer = Writer::append_to(&path).unwrap();
        writer
            .append(&[record("a", json!(1)), record("b", json!("x"))])
            .unwrap();
        let foreign = json!({"type": "a", "payload": 2, "timestamp": "x"});
        writer.append(&[foreign, json!({"no": "record"})]).unwrap();
        let picked = pick(&path, |kind, _| kind == "a").unwrap();
        let found: Vec<&Value> = picked.iter().map(|r| &r["payload"]).collect();
        assert_eq!(found, [&json!(1), &json!(2)]);
        let with_x = pick(&path, |_, line| line.windows(3).any(|w| w == b"\"x\"")).unwrap();
        assert_eq!(with_x.len(), 2);
        assert!(pick(&home.path().join("none"), |_, _| true).is_err());
    }

    #[test]
    fn two_writers_of_one_session_are_refused() {
        let (_dir, home) = home();
        let path = session(&home, "aa", 1, Path::new("/w"));
        let first = Writer::append_to(&path).unwrap();
        assert_eq!(
            Writer::append_to(&path).unwrap_err(),
            StoreError::Busy(path.clone())
        );
        drop(first);
        assert!(Writer::append_to(&path).is_ok());
    }
}
