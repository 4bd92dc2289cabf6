//! The bytes of a terminal as keys.

/// One key, or what a terminal sends like one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Char(char),
    /// A block of text that was pasted, with plain line ends.
    Paste(String),
    /// Enter.
    Enter,
    /// Alt+Enter: a new line in the same message.
    NewLine,
    /// Backspace.
    Backspace,
    /// Ctrl+W or Alt+Backspace: the last word goes.
    DeleteWord,
    /// Ctrl+U: everything goes.
    DeleteAll,
    /// Arrow up.
    Up,
    /// Esc alone.
    Escape,
    /// Ctrl+Z.
    Suspend,
    /// The window got (true) or lost the focus.
    Focus(bool),
    /// Anything else.
    Other,
}

const PASTE: &[u8] = b"\x1b[200~";
const PASTE_END: &[u8] = b"\x1b[201~";
/// The longest sequence that a key sends; what is longer is none.
const LONGEST: usize = 32;
/// The most bytes of a paste.
const MOST_PASTED: usize = 4 << 20;

/// Takes bytes as they come, and gives whole keys.
#[derive(Debug, Default)]
pub struct Decoder {
    rest: Vec<u8>,
    /// Inside a pasted block.
    pasted: Option<Vec<u8>>,
}

impl Decoder {
    /// The keys that are complete with these bytes.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.rest.extend_from_slice(bytes);
        let mut keys = Vec::new();
        let mut at = 0;
        while let Some((key, length)) = self.next(at) {
            at += length;
            keys.extend(key);
        }
        self.rest.drain(..at);
        keys
    }

    /// Nothing follows: what looked like the beginning of a sequence was a key of its own.
    pub fn settle(&mut self) -> Vec<Key> {
        if self.pasted.is_some() || self.rest.is_empty() {
            return Vec::new();
        }
        let rest = std::mem::take(&mut self.rest);
        match rest.as_slice() {
            [0x1b] => vec![Key::Escape],
            _ => vec![Key::Other],
        }
    }

    /// The key at `at`, if it is complete, and its bytes.
    fn next(&mut self, at: usize) -> Option<(Option<Key>, usize)> {
        let bytes = self.rest.get(at..).filter(|b| !b.is_empty())?;
        if let Some(block) = &mut self.pasted {
            return match find(bytes, PASTE_END) {
                Some(end) => {
                    block.extend_from_slice(&bytes[..end]);
                    let text = plain(block);
                    self.pasted = None;
                    Some((Some(Key::Paste(text)), end + PASTE_END.len()))
                }
                None => {
                    // The end mark may be cut in two.
                    let sure = bytes.len().saturating_sub(PASTE_END.len() - 1);
                    let kept = sure.min(MOST_PASTED.saturating_sub(block.len()));
                    block.extend_from_slice(&bytes[..kept]);
                    (sure > 0).then_some((None, sure))
                }
            };
        }
        let key = |key, length| Some((Some(key), length));
        match bytes {
            [0x1b, ..] if bytes.starts_with(PASTE) => {
                self.pasted = Some(Vec::new());
                Some((None, PASTE.len()))
            }
            [0x1b] => None,
            [0x1b, b'\r' | b'\n', ..] => key(Key::NewLine, 2),
            [0x1b, 0x7f | 0x08, ..] => key(Key::DeleteWord, 2),
            [0x1b, b'O', last, ..] => key(arrow(*last), 3),
            [0x1b, b'O'] => None,
            [0x1b, b'[', ..] => control_sequence(bytes),
            [0x1b, 0x1b, ..] => key(Key::Escape, 1),
            [0x1b, ..] => {
                let (_, length) = character(&bytes[1..])?;
                key(Key::Other, 1 + length)
            }
            [b'\r' | b'\n', ..] => key(Key::Enter, 1),
            [0x7f | 0x08, ..] => key(Key::Backspace, 1),
            [0x17, ..] => key(Key::DeleteWord, 1),
            [0x15, ..] => key(Key::DeleteAll, 1),
            [0x1a, ..] => key(Key::Suspend, 1),
            [b'\t', ..] => key(Key::Char(' '), 1),
            [0x00..0x20, ..] => key(Key::Other, 1),
            _ => {
                let (c, length) = character(bytes)?;
                key(c.map_or(Key::Other, Key::Char), length)
            }
        }
    }
}

/// `ESC [`, parameters, and a final byte.
fn control_sequence(bytes: &[u8]) -> Option<(Option<Key>, usize)> {
    let end = bytes[2..].iter().position(|b| (0x40..=0x7e).contains(b));
    let Some(end) = end else {
        // Too long to be one: the bytes are dropped.
        return (bytes.len() > LONGEST).then_some((Some(Key::Other), bytes.len()));
    };
    let (last, plain) = (bytes[2 + end], end == 0);
    let key = match last {
        b'I' if plain => Key::Focus(true),
        b'O' if plain => Key::Focus(false),
        // Enter with a modifier, as terminals with extended keys send it.
        b'u' if bytes[2..].starts_with(b"13;") => Key::NewLine,
        b'~' if bytes[2..].starts_with(b"27;") && bytes[..2 + end].ends_with(b";13") => {
            Key::NewLine
        }
        last => arrow(last),
    };
    Some((Some(key), 3 + end))
}

fn arrow(last: u8) -> Key {
    match last {
        b'A' => Key::Up,
        _ => Key::Other,
    }
}

/// The character at the beginning, `None` in it for bytes that are none; nothing when it is not
/// complete.
fn character(bytes: &[u8]) -> Option<(Option<char>, usize)> {
    let bytes = &bytes[..bytes.len().min(4)];
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(e) if e.valid_up_to() > 0 => std::str::from_utf8(&bytes[..e.valid_up_to()]).ok()?,
        Err(e) => return e.error_len().map(|n| (None, n)),
    };
    let c = text.chars().next()?;
    Some((Some(c), c.len_utf8()))
}

fn plain(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes)
        .replace("\r\n", "\n")
        .replace('\r', "\n")
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|w| w == what)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The keys of pieces that come one after the other.
    fn keys(pieces: &[&[u8]]) -> Vec<Key> {
        let mut decoder = Decoder::default();
        pieces.iter().flat_map(|p| decoder.push(p)).collect()
    }

    #[test]
    fn sequences_of_xterm_are_one_key_each() {
        assert_eq!(
            keys(&[b"\x1b[A\x1bOA\x1b[1;5C"]),
            [Key::Up, Key::Up, Key::Other]
        );
        assert_eq!(
            keys(&[b"\x1b[I\x1b[O"]),
            [Key::Focus(true), Key::Focus(false)]
        );
        assert_eq!(
            keys(&[b"\x1b[13;2u\x1b[27;2;13~"]),
            [Key::NewLine, Key::NewLine]
        );
        assert_eq!(keys(&[b"\x1bb\x03"]), [Key::Other, Key::Other]);
    }

    #[test]
    fn bytes_that_come_in_pieces_are_put_together() {
        assert_eq!(
            keys(&[b"\xc3", b"\xbc", b"\x1b", b"[", b"A"]),
            [Key::Char('ü'), Key::Up]
        );
        let pasted = keys(&[b"\x1b[20", b"0~one\rtw", b"o\x1b[2", b"01~x"]);
        assert_eq!(pasted, [Key::Paste("one\ntwo".into()), Key::Char('x')]);
        assert_eq!(keys(&[b"\xffa"]), [Key::Other, Key::Char('a')]);
    }

    #[test]
    fn an_escape_is_a_key_when_nothing_follows() {
        let mut decoder = Decoder::default();
        assert_eq!(decoder.push(b"\x1b"), []);
        assert_eq!(decoder.settle(), [Key::Escape]);
        assert_eq!(decoder.settle(), []);
    }

    #[test]
    fn a_paste_of_5000_lines_is_one_key() {
        let text = "a line of text\n".repeat(5_000);
        let mut decoder = Decoder::default();
        let bytes = format!("\x1b[200~{text}\x1b[201~");
        let keys: Vec<Key> = bytes
            .as_bytes()
            .chunks(1_000)
            .flat_map(|c| decoder.push(c))
            .collect();
        assert_eq!(keys, [Key::Paste(text)]);
    }
}
