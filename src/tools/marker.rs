//! A word at the end of a command's output through which its shell tells where it ended.

use uuid::Uuid;

/// A word in the output that neither the model nor a person sees: what stands between it and a
/// record separator is told to the program.
pub struct Marker {
    start: Vec<u8>,
    held: Vec<u8>,
    found: Option<Vec<u8>>,
    /// The end of the found text has not come yet.
    open: bool,
}

/// The longest text after a marker, in bytes: a path.
const MARKED: usize = 4 << 10;
const SEPARATOR: u8 = 0x1e;

impl Marker {
    /// A marker with a word that no output holds by chance.
    pub fn new() -> (Self, String) {
        let word = Uuid::now_v7().simple().to_string();
        let mut start = vec![SEPARATOR];
        start.extend_from_slice(word.as_bytes());
        let marker = Marker {
            start,
            held: Vec::new(),
            found: None,
            open: false,
        };
        (marker, word)
    }

    /// The text after the marker, once all of it came.
    pub fn found(&self) -> Option<String> {
        let found = self.found.as_ref().filter(|_| !self.open)?;
        Some(String::from_utf8_lossy(found).into_owned())
    }

    /// The bytes without marker and text; what could be its beginning is held back.
    pub fn filter(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut plain = Vec::with_capacity(bytes.len());
        for &byte in bytes {
            if self.open {
                let text = self.found.get_or_insert_default();
                if byte == SEPARATOR || text.len() >= MARKED {
                    self.open = false;
                } else {
                    text.push(byte);
                }
                continue;
            }
            if self.held.is_empty() && byte != SEPARATOR {
                plain.push(byte);
                continue;
            }
            self.held.push(byte);
            if !self.start.starts_with(&self.held) {
                // Another separator may begin the marker anew.
                self.held.pop();
                plain.append(&mut self.held);
                if byte == SEPARATOR {
                    self.held.push(byte);
                } else {
                    plain.push(byte);
                }
            } else if self.held.len() == self.start.len() {
                self.held.clear();
                self.found = Some(Vec::new());
                self.open = true;
            }
        }
        plain
    }

    /// What was held back, when nothing more comes.
    pub fn rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_marker_is_taken_out_wherever_it_is_cut() {
        let (_, word) = Marker::new();
        let text = format!("a\x1eb\x1e\x1e{word}/tmp/x y\x1ez").into_bytes();
        for cut in 0..text.len() {
            let mut marker = Marker::new().0;
            marker.start = [&[SEPARATOR], word.as_bytes()].concat();
            let mut plain = marker.filter(&text[..cut]);
            plain.extend(marker.filter(&text[cut..]));
            plain.extend(marker.rest());
            assert_eq!(plain, b"a\x1eb\x1ez");
            assert_eq!(marker.found().as_deref(), Some("/tmp/x y"));
        }
    }
}
