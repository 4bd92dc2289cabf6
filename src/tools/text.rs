//! A text file as bytes, and as the text that models see and matching works on.

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};
use std::time::{Duration, Instant};

/// The largest file that is read or edited as text, in bytes.
pub const LIMIT: u64 = 64 << 20;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// True when the bytes are not text: a zero byte within the first 8 KiB.
pub fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(8 << 10).any(|b| *b == 0)
}

/// The content of a text file with `\n` line ends, and what an edit must keep of its form.
#[derive(Debug, Clone, PartialEq)]
pub struct Text {
    /// The text: UTF-8, no byte order mark, every `\r\n` as `\n`.
    pub lf: String,
    bom: bool,
    ends: Ends,
}

#[derive(Debug, Clone, PartialEq)]
enum Ends {
    Lf,
    CrLf,
    /// For each line end, whether it is `\r\n`.
    Mixed(Vec<bool>),
}

impl Text {
    /// Reads the bytes of a file; `None` when they are not UTF-8 text.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        if is_binary(bytes) {
            return None;
        }
        let (bom, bytes) = bytes
            .strip_prefix(BOM)
            .map_or((false, bytes), |rest| (true, rest));
        let raw = std::str::from_utf8(bytes).ok()?;
        let crlf = raw.matches("\r\n").count();
        let ends = if crlf == 0 {
            Ends::Lf
        } else if crlf == raw.matches('\n').count() {
            Ends::CrLf
        } else {
            Ends::Mixed(
                raw.split_inclusive('\n')
                    .filter(|line| line.ends_with('\n'))
                    .map(|line| line.ends_with("\r\n"))
                    .collect(),
            )
        };
        let lf = to_lf(raw);
        Some(Text { lf, bom, ends })
    }

    /// The bytes of a file of this form with another text. Lines that are the same keep their
    /// ends; new lines get the ends that most lines have.
    pub fn encode(&self, text: &str) -> Vec<u8> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut out = if self.bom { BOM.to_vec() } else { Vec::new() };
        let crlf = match &self.ends {
            Ends::Lf => {
                out.extend_from_slice(text.as_bytes());
                return out;
            }
            Ends::CrLf => Vec::new(),
            Ends::Mixed(old) => self.carry(old, text),
        };
        for (i, line) in text.split_inclusive('\n').enumerate() {
            match line.strip_suffix('\n') {
                Some(body) => {
                    out.extend_from_slice(body.as_bytes());
                    let crlf = crlf.get(i).copied().unwrap_or(true);
                    out.extend_from_slice(if crlf { b"\r\n" } else { b"\n" });
                }
                None => out.extend_from_slice(line.as_bytes()),
            }
        }
        out
    }

    /// A text to be added to the file, with the line ends that most of its lines have. One that
    /// comes with `\r\n` stays as it is.
    pub fn with_ends(&self, text: &str) -> Vec<u8> {
        let crlf = match &self.ends {
            Ends::Lf => false,
            Ends::CrLf => true,
            Ends::Mixed(old) => mostly(old),
        };
        if crlf && !text.contains("\r\n") {
            text.replace('\n', "\r\n").into_bytes()
        } else {
            text.as_bytes().to_vec()
        }
    }

    /// The line ends for a new text when those of the old one are mixed.
    fn carry(&self, old: &[bool], text: &str) -> Vec<bool> {
        let most = mostly(old);
        let before: Vec<&str> = self.lf.split_inclusive('\n').collect();
        let after: Vec<&str> = text.split_inclusive('\n').collect();
        let mut ends = vec![most; after.len()];
        let deadline = Some(Instant::now() + Duration::from_secs(1));
        for op in capture_diff_slices_deadline(Algorithm::Myers, &before, &after, deadline) {
            if let DiffOp::Equal {
                old_index,
                new_index,
                len,
            } = op
            {
                for (end, was) in ends
                    .iter_mut()
                    .skip(new_index)
                    .zip(old.iter().skip(old_index))
                    .take(len)
                {
                    *end = *was;
                }
            }
        }
        ends
    }
}

/// True when most line ends are `\r\n`.
fn mostly(ends: &[bool]) -> bool {
    ends.iter().filter(|crlf| **crlf).count() * 2 > ends.len()
}

/// The text with every `\r\n` as `\n`.
pub fn to_lf(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// The number of the line in which a byte offset lies, from 1.
pub fn line_of(text: &str, offset: usize) -> usize {
    let end = offset.min(text.len());
    1 + text.as_bytes()[..end]
        .iter()
        .filter(|b| **b == b'\n')
        .count()
}

/// The first and last line of `after` that differ from `before`, from 1. For a pure deletion the
/// line that took its place; `None` when nothing differs or nothing is left.
pub fn changed_lines(before: &str, after: &str) -> Option<(usize, usize)> {
    if before == after || after.is_empty() {
        return None;
    }
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    let same = |(a, b): &(&&str, &&str)| a == b;
    let head = old.iter().zip(&new).take_while(same).count();
    let room = old.len().min(new.len()) - head;
    let tail = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take(room)
        .take_while(same)
        .count();
    let first = (head + 1).min(new.len());
    Some((first, (new.len() - tail).max(first)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_keeps_the_form_of_the_file() {
        let cases: [(&[u8], &str, &[u8]); 5] = [
            (b"a\nb", "a\nc", b"a\nc"),
            (b"a\r\nb\r\n", "a\nc\nb\n", b"a\r\nc\r\nb\r\n"),
            (b"\xef\xbb\xbfa\r\nb", "x\nb", b"\xef\xbb\xbfx\r\nb"),
            (b"a\r\nb\nc\nd\r\n", "a\nb\nnew\nd\n", b"a\r\nb\nnew\nd\r\n"),
            (b"a\r\nb\r\nc\n", "a\nnew\nb\nc\n", b"a\r\nnew\r\nb\r\nc\n"),
        ];
        for (file, text, want) in cases {
            let form = Text::decode(file).expect("text");
            assert_eq!(form.encode(text), want, "{file:?}");
            assert_eq!(form.encode(&form.lf.clone()), file, "{file:?}");
        }
    }

    #[test]
    fn other_bytes_are_no_text() {
        assert!(Text::decode(b"a\0b").is_none());
        assert!(Text::decode(b"caf\xe9\n").is_none());
    }

    #[test]
    fn the_changed_lines_are_found() {
        for (before, after, want) in [
            ("a\nb\nc\n", "a\nX\nc\n", Some((2, 2))),
            ("a\nb\n", "a\nb\nc\nd\n", Some((3, 4))),
            ("a\nb\nc\n", "a\nc\n", Some((2, 2))),
            ("a\nb\n", "a\n", Some((1, 1))),
            ("a\na\n", "a\na\na\n", Some((3, 3))),
            ("", "a\n", Some((1, 1))),
            ("a\n", "", None),
            ("a\n", "a\n", None),
        ] {
            assert_eq!(changed_lines(before, after), want, "{before:?} {after:?}");
        }
    }
}
