//! A log of errors and sizes, bounded, without the contents of prompts, files or replies.

use super::paths::private_file;
use jiff::Timestamp;
use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// The size at which the log begins anew; one older file is kept.
const MAX_BYTES: u64 = 5 << 20;
/// The most bytes of one line; of one with contents.
const MAX_LINE: usize = 2 << 10;
const MAX_DEBUG_LINE: usize = 64 << 10;

/// A log file. A log that cannot be written never stops the run.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    debug: bool,
    /// The open file and its size; opened by the first line.
    file: Mutex<Option<(File, u64)>>,
}

impl Log {
    /// The log `interpreter.log` in `folder`. Nothing is created before the first line. With
    /// `debug`, contents are logged as well.
    pub fn new(folder: impl Into<PathBuf>, debug: bool) -> Log {
        Log {
            path: folder.into().join("interpreter.log"),
            debug,
            file: Mutex::new(None),
        }
    }

    /// Something failed.
    pub fn error(&self, text: &str) {
        self.line("error", text, MAX_LINE);
    }

    /// A fact without contents: sizes, times, choices.
    pub fn info(&self, text: &str) {
        self.line("info", text, MAX_LINE);
    }

    /// Contents, made only when `--debug` asks for them.
    pub fn debug(&self, text: impl FnOnce() -> String) {
        if self.debug {
            self.line("debug", &text(), MAX_DEBUG_LINE);
        }
    }

    fn line(&self, level: &str, text: &str, most: usize) {
        let end = text
            .char_indices()
            .map(|(i, c)| i + c.len_utf8())
            .take_while(|e| *e <= most);
        let text = &text[..end.last().unwrap_or(0)];
        let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%3fZ");
        let pid = std::process::id();
        // Escaped, so that an entry is a line, whatever is in it.
        let line = format!("{now} {pid} {level} {}\n", text.escape_debug());
        let mut slot = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let full = |size: u64| size + line.len() as u64 > MAX_BYTES;
        if slot.as_ref().is_none_or(|(_, size)| full(*size)) {
            *slot = None;
            if fs::metadata(&self.path).is_ok_and(|m| full(m.len())) {
                let _ = fs::rename(&self.path, self.path.with_extension("log.1"));
            }
            let opened = private_file(&self.path, false).ok();
            *slot = opened.map(|f| {
                let size = f.metadata().map_or(0, |m| m.len());
                (f, size)
            });
        }
        if let Some((file, size)) = slot.as_mut() {
            let _ = file.write_all(line.as_bytes());
            *size += line.len() as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_one_line_and_contents_need_debug() {
        let dir = tempfile::tempdir().unwrap();
        let log = Log::new(dir.path().join("log"), false);
        assert!(!dir.path().join("log").exists());
        log.debug(|| panic!("contents are not even made"));
        log.error("one\ntwo \u{1b}[31m");
        log.info(&"ä".repeat(4000));
        let text = fs::read_to_string(dir.path().join("log/interpreter.log")).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(
            lines[0].ends_with(" error one\\ntwo \\u{1b}[31m"),
            "{}",
            lines[0]
        );
        assert!(lines[1].len() < 2 * MAX_LINE);
    }

    #[test]
    fn a_full_log_is_set_aside() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("interpreter.log");
        fs::write(&path, vec![b'x'; MAX_BYTES as usize]).unwrap();
        Log::new(dir.path(), false).info("new");
        assert!(fs::metadata(&path).unwrap().len() < 100);
        assert_eq!(
            fs::metadata(dir.path().join("interpreter.log.1"))
                .unwrap()
                .len(),
            MAX_BYTES
        );
    }
}
