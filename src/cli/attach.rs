//! Pictures that a message names: `@shot.png`, or a path that a terminal wrote for a dropped file.

use crate::model::Part;
use crate::tools::image;
use std::path::{Path, PathBuf};

/// The most pictures of one message.
const MOST: usize = 10;
/// Endings of the pictures that can be shown.
const ENDINGS: &[&str] = &["png", "jpg", "jpeg", "gif", "webp"];

/// The pictures that a message names, and a sentence for each that is there but cannot be shown.
/// The words stay as they are.
pub fn pictures(text: &str, cwd: &Path) -> (Vec<Part>, Vec<String>) {
    let (mut parts, mut troubles) = (Vec::new(), Vec::new());
    let mut named = Vec::new();
    for path in words(text).iter().filter_map(|word| path(word, cwd)) {
        // What is no file is no picture either, but perhaps an address or an example.
        if named.len() < MOST && !named.contains(&path) && path.is_file() {
            named.push(path);
        }
    }
    for path in named {
        match image::read(&path) {
            Ok(part) => parts.push(part),
            Err(why) => troubles.push(why),
        }
    }
    (parts, troubles)
}

/// The path of a picture that a word names. Without an `@` it must be a whole path, as terminals
/// write it for a dropped file.
fn path(word: &str, cwd: &Path) -> Option<PathBuf> {
    let word = word.trim_end_matches(['?', '!', '.', ',', ';', ':', ')']);
    let (mentioned, path) = match word.strip_prefix('@') {
        Some(path) => (true, path.to_owned()),
        None => match word.strip_prefix("file://") {
            Some(address) => (true, unescaped(address)),
            None => (false, word.to_owned()),
        },
    };
    let ending = path.rsplit_once('.')?.1.to_ascii_lowercase();
    if !ENDINGS.contains(&ending.as_str()) {
        return None;
    }
    let whole = match path.strip_prefix("~/") {
        Some(rest) => std::env::home_dir()?.join(rest),
        None => PathBuf::from(path),
    };
    (mentioned || whole.is_absolute()).then(|| cwd.join(whole))
}

/// The `%20` of an address.
fn unescaped(address: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = address.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|h| std::str::from_utf8(h).ok());
        match hex.and_then(|h| u8::from_str_radix(h, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The words of a text, where quotes and backslashes keep spaces inside of a word.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut quote) = (String::new(), None);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            // A quote in the middle of a word is an apostrophe.
            ('"' | '\'', None) if word.is_empty() || word == "@" => quote = Some(c),
            ('\\', None) if cfg!(unix) && chars.peek() == Some(&' ') => {
                word.push(' ');
                chars.next();
            }
            (c, None) if c.is_whitespace() => words.push(std::mem::take(&mut word)),
            ('\n', Some(_)) => {
                quote = None;
                words.push(std::mem::take(&mut word));
            }
            (c, _) => word.push(c),
        }
    }
    words.push(word);
    words.retain(|w| !w.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n and so on";

    #[test]
    fn named_and_dropped_pictures_are_read() {
        let dir = tempfile::tempdir().expect("a folder");
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("shot.png"), PNG).expect("written");
        std::fs::write(at("my shot.PNG"), PNG).expect("written");
        std::fs::write(at("fake.png"), "text").expect("written");
        let count = |text: &str| {
            let (parts, troubles) = pictures(text, dir.path());
            (parts.len(), troubles.len())
        };
        let whole = |name: &str| at(name).display().to_string();
        assert_eq!(count("what is @shot.png?"), (1, 0));
        assert_eq!(count("what is on @shot.png @shot.png ?"), (1, 0));
        assert_eq!(count("see shot.png and @none.png"), (0, 0));
        assert_eq!(count("see @\"my shot.PNG\" now"), (1, 0));
        assert_eq!(count(&format!("'{}' ", whole("my shot.PNG"))), (1, 0));
        assert_eq!(count(&whole("my shot.PNG").replace(' ', "\\ ")), (1, 0));
        assert_eq!(
            count(&format!(
                "file://{}",
                whole("my shot.PNG").replace(' ', "%20")
            )),
            (1, 0)
        );
        assert_eq!(count("it's @fake.png that's wrong"), (0, 1));
    }
}
