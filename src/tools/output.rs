//! What a command prints: read by a thread, held in bounded memory, kept whole in a file.

use super::action::Output;
use super::marker::Marker;
use crate::store::paths::private_file;
use crate::words::head;
use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{PipeReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use uuid::Uuid;

/// Bytes held of an output: half for its beginning, half for its end.
const HELD: usize = 1 << 20;
/// Above this many bytes the whole output goes to a file, however much room there is.
const FILE_FROM: usize = 30 << 10;
/// The most bytes of such a file.
const FILE_LIMIT: usize = 64 << 20;
/// The most bytes of live output that wait for somebody to look.
const LIVE: usize = 64 << 10;

/// The output of a running command, filled by a thread until its end.
pub struct Stream(Arc<Mutex<Capture>>);

impl Stream {
    /// Begins to read. The thread ends with the last writer of the pipe, or, if that outlives
    /// the command, with its first output after the stream was dropped.
    pub fn read(mut pipe: PipeReader, capture: Capture) -> Self {
        let shared = Arc::new(Mutex::new(capture));
        let theirs = Arc::downgrade(&shared);
        std::thread::spawn(move || {
            let mut buffer = vec![0; 64 << 10];
            loop {
                let read = match pipe.read(&mut buffer) {
                    Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                    read => read.unwrap_or(0),
                };
                let Some(capture) = theirs.upgrade() else {
                    return;
                };
                let mut capture = lock(&capture);
                if read == 0 {
                    capture.finish();
                    return;
                }
                capture.push(&buffer[..read]);
            }
        });
        Stream(shared)
    }

    /// What came since the last look, for a person who watches; nothing that the model loses.
    pub fn live(&self) -> String {
        std::mem::take(&mut lock(&self.0).live)
    }

    /// Waits until everything is read, but not longer than `limit`.
    pub fn drain(&self, limit: Duration) {
        let until = Instant::now() + limit;
        while !lock(&self.0).ended && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// From now on the whole output goes to one file, which is there at once, and what
    /// [`Stream::take`] gave is held for [`Stream::all`], too.
    pub fn keep(&self) {
        lock(&self.0).keep();
    }

    /// Everything since the last call.
    pub fn take(&self) -> Output {
        lock(&self.0).take()
    }

    /// Everything since the beginning, if it is kept; the next [`Stream::take`] gives what comes
    /// after it.
    pub fn all(&self) -> Output {
        lock(&self.0).all()
    }

    /// The file that the output is kept in.
    pub fn file(&self) -> Option<PathBuf> {
        lock(&self.0).whole.path()
    }

    /// What the hidden end marker said.
    pub fn marked(&self) -> Option<String> {
        lock(&self.0).marker.as_ref()?.found()
    }
}

fn lock(shared: &Mutex<Capture>) -> MutexGuard<'_, Capture> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A text that is there at once, held and kept as the output of a command is.
pub fn kept(text: &str, room: usize, folder: &Path) -> Output {
    let mut capture = Capture::new(room, folder, None);
    capture.push(text.as_bytes());
    capture.finish();
    capture.take()
}

/// Collects the bytes of one command.
pub struct Capture {
    marker: Option<Marker>,
    /// Bytes of a character that is not complete yet.
    partial: Vec<u8>,
    live: String,
    unread: HeadTail,
    /// What was read and what was not, of an output that is kept.
    kept: Option<HeadTail>,
    whole: Whole,
    ended: bool,
}

impl Capture {
    /// `room`: the bytes that the model will see; `folder`: where a larger output goes.
    pub fn new(room: usize, folder: &Path, marker: Option<Marker>) -> Self {
        Capture {
            marker,
            partial: Vec::new(),
            live: String::new(),
            unread: HeadTail::default(),
            kept: None,
            whole: Whole {
                folder: folder.to_path_buf(),
                from: room.min(FILE_FROM),
                file: None,
                left: FILE_LIMIT,
            },
            ended: false,
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        match &mut self.marker {
            Some(marker) => {
                let plain = marker.filter(bytes);
                self.decode(&plain, false);
            }
            None => self.decode(bytes, false),
        }
    }

    fn finish(&mut self) {
        let rest = self.marker.as_mut().map_or(Vec::new(), Marker::rest);
        self.decode(&rest, true);
        self.ended = true;
    }

    /// Bytes to text: what is not UTF-8 and zero bytes become visible signs, because the text
    /// goes into JSON and into a file that has to be readable as text.
    fn decode(&mut self, bytes: &[u8], last: bool) {
        let mut all = std::mem::take(&mut self.partial);
        all.extend_from_slice(bytes);
        let whole = if last { all.len() } else { complete(&all) };
        let text = String::from_utf8_lossy(&all[..whole]).replace('\0', "\u{2400}");
        self.partial = all[whole..].to_vec();
        if text.is_empty() {
            return;
        }
        self.live.push_str(&text);
        if self.live.len() > LIVE {
            let from = self.live.ceil_char_boundary(self.live.len() - LIVE);
            self.live.drain(..from);
        }
        self.whole.push(&self.unread, &text);
        self.unread.push(&text);
        if let Some(kept) = &mut self.kept {
            kept.push(&text);
        }
    }

    fn keep(&mut self) {
        if self.kept.is_none() {
            self.whole.open(&self.unread);
            self.kept = Some(self.unread.clone());
        }
    }

    fn take(&mut self) -> Output {
        let unread = std::mem::take(&mut self.unread);
        Output {
            bytes: unread.total,
            text: unread.text(),
            file: match self.kept {
                Some(_) => self.whole.path(),
                None => self.whole.close(),
            },
        }
    }

    fn all(&mut self) -> Output {
        let unread = self.take();
        match &self.kept {
            Some(kept) => Output {
                bytes: kept.total,
                text: kept.clone().text(),
                file: unread.file,
            },
            None => unread,
        }
    }
}

/// How many bytes at the beginning are complete characters, or broken beyond repair.
fn complete(bytes: &[u8]) -> usize {
    let tail = bytes.len().saturating_sub(3);
    for (at, byte) in bytes.iter().enumerate().skip(tail).rev() {
        let needs = match byte {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            0x80..=0xbf => continue,
            _ => break,
        };
        if bytes.len() - at < needs {
            return at;
        }
        break;
    }
    bytes.len()
}

/// The beginning and the end of a text of any length.
#[derive(Default, Clone)]
struct HeadTail {
    head: String,
    head_full: bool,
    tail: VecDeque<u8>,
    total: u64,
}

impl HeadTail {
    fn push(&mut self, text: &str) {
        self.total += text.len() as u64;
        let mut rest = text;
        if !self.head_full {
            let first = head(text, HELD / 2 - self.head.len());
            self.head.push_str(first);
            rest = &text[first.len()..];
            self.head_full = !rest.is_empty();
        }
        self.tail.extend(rest.as_bytes());
        let over = self.tail.len().saturating_sub(HELD / 2);
        self.tail.drain(..over);
    }

    fn text(mut self) -> String {
        let bytes = self.tail.make_contiguous();
        let start = bytes.iter().take_while(|b| **b & 0xc0 == 0x80).count();
        let tail = String::from_utf8_lossy(&bytes[start..]);
        let left_out = self.total - (self.head.len() + tail.len()) as u64;
        if left_out > 0 {
            self.head
                .push_str(&format!("\n[{left_out} bytes left out]\n"));
        }
        self.head + &tail
    }
}

/// The file that holds the whole of an output once it is large, or is kept.
struct Whole {
    folder: PathBuf,
    from: usize,
    file: Option<(PathBuf, File)>,
    /// Bytes that may still be written; 0 also after a failure.
    left: usize,
}

impl Whole {
    /// Takes the next text, after everything that `so_far` holds.
    fn push(&mut self, so_far: &HeadTail, text: &str) {
        if so_far.total as usize + text.len() > self.from {
            self.open(so_far);
        }
        self.write(text);
    }

    /// Makes the file, if there is none, with everything that `so_far` holds.
    fn open(&mut self, so_far: &HeadTail) {
        if self.file.is_some() || self.left == 0 {
            return;
        }
        self.file = create(&self.folder);
        if self.file.is_none() {
            self.left = 0;
        }
        self.write(&so_far.head);
    }

    fn path(&self) -> Option<PathBuf> {
        self.file.as_ref().map(|(path, _)| path.clone())
    }

    fn write(&mut self, text: &str) {
        let Some((path, file)) = &mut self.file else {
            return;
        };
        if self.left == 0 {
            return;
        }
        let part = head(text, self.left);
        self.left -= part.len();
        let mut written = file.write_all(part.as_bytes());
        if part.len() < text.len() {
            self.left = 0;
            written = written.and_then(|()| file.write_all(b"\n[the rest was not kept]\n"));
        }
        if written.is_err() {
            // Half a file would pass for a whole one.
            let _ = fs::remove_file(path);
            self.file = None;
            self.left = 0;
        }
    }

    fn close(&mut self) -> Option<PathBuf> {
        self.left = FILE_LIMIT;
        self.file.take().map(|(path, _)| path)
    }
}

/// A new file that only its owner can read.
fn create(folder: &Path) -> Option<(PathBuf, File)> {
    let path = folder.join(format!("output-{}.txt", Uuid::now_v7()));
    let file = private_file(&path, true).ok()?;
    Some((path, file))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capture(room: usize, folder: &Path, pieces: &[&[u8]]) -> Capture {
        let mut capture = Capture::new(room, folder, None);
        for piece in pieces {
            capture.push(piece);
        }
        capture.finish();
        capture
    }

    #[test]
    fn bytes_become_text_wherever_they_are_cut() {
        let nowhere = Path::new("/nonexistent");
        for (pieces, want) in [
            (vec![&b"caf\xc3"[..], b"\xa9\n"], "café\n"),
            (vec![b"\xf0\x9f", b"\x98", b"\x80"], "😀"),
            (vec![b"a\xff", b"b\0c"], "a\u{fffd}b\u{2400}c"),
            (vec![b"a\xe2\x82"], "a\u{fffd}"),
        ] {
            let out = capture(1000, nowhere, &pieces).take();
            assert_eq!(out.text, want);
            assert_eq!(out.file, None);
        }
    }

    #[test]
    fn a_large_output_is_held_in_part_and_kept_whole() {
        let dir = tempfile::tempdir().expect("a folder");
        let lines: Vec<String> = (0..400_000).map(|i| format!("{i:07}\n")).collect();
        let all = lines.concat();
        let mut capture = capture(2000, dir.path(), &[b"first\n", all.as_bytes()]);
        let out = capture.take();
        assert_eq!(out.bytes, 6 + 3_200_000);
        assert!(out.text.starts_with("first\n0000000\n"));
        assert!(out.text.ends_with("0399999\n"));
        let left_out = 6 + 3_200_000 - HELD;
        assert!(
            out.text
                .contains(&format!("\n[{left_out} bytes left out]\n"))
        );
        let file = out.file.expect("a file");
        assert_eq!(
            fs::read_to_string(&file).expect("text"),
            format!("first\n{all}")
        );
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = file.metadata().expect("there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        assert_eq!(capture.all().text, "", "nothing that was taken is held");
        capture.push(b"next");
        let next = capture.take();
        assert_eq!(
            (next.text.as_str(), next.bytes, next.file),
            ("next", 4, None)
        );
    }

    #[test]
    fn a_kept_output_has_one_file_from_the_beginning() {
        let dir = tempfile::tempdir().expect("a folder");
        let mut capture = Capture::new(2000, dir.path(), None);
        capture.push(b"one\n");
        capture.keep();
        let first = capture.take();
        let file = first.file.clone().expect("a file");
        let written = || fs::read_to_string(&file).expect("text");
        assert_eq!((first.text.as_str(), written()), ("one\n", "one\n".into()));
        capture.push(b"two\n");
        assert_eq!(written(), "one\ntwo\n", "it grows as the output comes");
        let all = capture.all();
        assert_eq!((all.text.as_str(), all.bytes), ("one\ntwo\n", 8));
        assert_eq!(all.file, first.file);
        assert_eq!(capture.take().text, "", "all of it was looked at");
        // More than is held: head and tail of the whole, not of the last part.
        capture.push(&b"x".repeat(3 * HELD));
        capture.push(b"end");
        let all = capture.all();
        assert!(all.text.starts_with("one\ntwo\nxxx") && all.text.ends_with("xend"));
        assert!(all.text.len() < HELD + 100);
        assert_eq!(all.bytes as usize, 8 + 3 * HELD + 3);
        assert_eq!(written().len(), 8 + 3 * HELD + 3);
    }
}
