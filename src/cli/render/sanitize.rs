//! Model output is data: nothing of it reaches the terminal raw.

use std::borrow::Cow;
use std::fmt::Write;

/// Makes control characters, escape sequences and direction marks visible. Line ends and tabs
/// stay; a carriage return before a line end goes.
pub fn sanitize(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' if chars.peek() == Some(&'\n') => {}
            // The caret form that every terminal user knows.
            '\0'..='\x1f' if is_hidden(c) => {
                out.push('^');
                out.push((c as u8 ^ 0x40) as char);
            }
            '\x7f' => out.push_str("^?"),
            c if is_hidden(c) => {
                let _ = write!(out, "<U+{:04X}>", c as u32);
            }
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// One line of text: line ends and tabs are made visible too.
pub fn one_line(text: &str) -> String {
    sanitize(text).replace('\n', "⏎").replace('\t', " ")
}

/// Characters that a terminal acts on, or that change how the text around them is read.
fn is_hidden(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        c if c.is_control() => true,
        // Direction marks and overrides, invisible joiners and spaces, tags, variation fillers.
        '\u{061c}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}' => true,
        '\u{e0000}'..='\u{e007f}' => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_become_visible() {
        assert_eq!(sanitize("a\x1b[2Jb\x07"), "a^[[2Jb^G");
        assert_eq!(sanitize("\u{9b}31m"), "<U+009B>31m");
        assert_eq!(sanitize("safe\u{202e}fdp.exe"), "safe<U+202E>fdp.exe");
    }

    #[test]
    fn ordinary_text_is_not_touched() {
        for text in ["line\n\ttabbed", "grün — 日本語 🎉", ""] {
            assert!(matches!(sanitize(text), Cow::Borrowed(t) if t == text));
        }
        assert_eq!(sanitize("dos\r\nline"), "dos\nline");
        assert_eq!(sanitize("bar\rspoof"), "bar^Mspoof");
    }

    #[test]
    fn a_title_is_one_line() {
        assert_eq!(one_line("a\nb\tc"), "a⏎b c");
    }
}
