//! Lines of bounded length from a stream that nobody vouches for.

use std::io::{self, BufRead, BufReader, Read};

/// One line as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// A whole line without its end (`\n` or `\r\n`), never blank.
    Whole(Vec<u8>),
    /// A line above the limit; its beginning, at most [`KEPT`] bytes. The rest was skipped.
    TooLong(Vec<u8>),
}

/// How much of a line that is too long is kept, to say what it was.
const KEPT: usize = 200;

/// Reads a stream line by line.
#[derive(Debug)]
pub struct Lines<R> {
    stream: BufReader<R>,
    most: usize,
}

impl<R: Read> Lines<R> {
    /// The lines of `stream`, each of at most `most` bytes.
    pub fn new(stream: R, most: usize) -> Self {
        let stream = BufReader::new(stream);
        Self { stream, most }
    }

    /// The next line that is not blank, or `None` at the end. The last line needs no end.
    ///
    /// # Errors
    /// What the stream says; a read that was interrupted is done again.
    pub fn next_line(&mut self) -> io::Result<Option<Line>> {
        loop {
            let mut line = Vec::new();
            let mut too_long = false;
            let ended = loop {
                let bytes = match self.stream.fill_buf() {
                    Ok([]) => break true,
                    Ok(bytes) => bytes,
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                    Err(e) => return Err(e),
                };
                let end = bytes.iter().position(|b| *b == b'\n');
                let part = &bytes[..end.unwrap_or(bytes.len())];
                too_long |= line.len() + part.len() > self.most;
                if !too_long {
                    line.extend_from_slice(part);
                } else {
                    let room = KEPT.saturating_sub(line.len()).min(part.len());
                    line.extend_from_slice(&part[..room]);
                }
                let used = end.map_or(bytes.len(), |at| at + 1);
                self.stream.consume(used);
                if end.is_some() {
                    break false;
                }
            };
            if too_long {
                line.truncate(KEPT);
                return Ok(Some(Line::TooLong(line)));
            }
            if line.iter().any(|b| !b.is_ascii_whitespace()) {
                if line.last() == Some(&b'\r') {
                    line.pop();
                }
                return Ok(Some(Line::Whole(line)));
            }
            if ended {
                return Ok(None);
            }
        }
    }
}
