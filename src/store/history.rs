//! The prompts that a person typed, one JSON object a line: `session_id`, `ts` (seconds), `text`.

use super::StoreError;
use super::paths::{Home, private_file};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};

/// How much of the file's end is read.
const TAIL: u64 = 1 << 20;

/// Adds a prompt.
pub fn append(home: &Home, session: &str, text: &str) -> Result<(), StoreError> {
    let path = home.history_file();
    let line = json!({"session_id": session, "ts": Timestamp::now().as_second(), "text": text});
    private_file(&path, false)?
        .write_all(format!("{line}\n").as_bytes())
        .map_err(|e| StoreError::write(&path, &e))
}

/// The latest `most` prompts, oldest first. Lines that are not ours are skipped.
pub fn recent(home: &Home, most: usize) -> Result<Vec<String>, StoreError> {
    let path = home.history_file();
    let tail = || -> io::Result<Vec<u8>> {
        let mut file = File::open(&path)?;
        let start = file.metadata()?.len().saturating_sub(TAIL);
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        file.take(TAIL).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = match tail() {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(StoreError::read(&path, &e)),
    };
    let mut prompts: Vec<String> = bytes
        .split(|b| *b == b'\n')
        .rev()
        .filter_map(|line| serde_json::from_slice::<Value>(line).ok())
        .filter_map(|line| line.get("text")?.as_str().map(str::to_owned))
        .take(most)
        .collect();
    prompts.reverse();
    Ok(prompts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_come_back_oldest_first_and_torn_lines_are_skipped() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path().join("home"));
        assert_eq!(recent(&home, 5), Ok(Vec::new()));
        for text in ["one", "two\nlines", "three"] {
            append(&home, "s", text).unwrap();
        }
        let mut file = private_file(&home.history_file(), false).unwrap();
        file.write_all(b"{\"session_id\":\"s\",\"te").unwrap();
        assert_eq!(
            recent(&home, 2),
            Ok(vec!["two\nlines".to_owned(), "three".to_owned()])
        );
    }
}
