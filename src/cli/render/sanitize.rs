//! Model output is data: nothing of it reaches the terminal raw.

use std::borrow::Cow;
use std::fmt::Write;
use unicode_width::UnicodeWidthChar;

/// The most signs on one character. No writing has as many; a heap of them covers the lines around it.
const MOST_MARKS: usize = 8;

/// Makes control characters, escape sequences and direction marks visible. Line ends and tabs
/// stay; a carriage return before a line end goes.
pub fn sanitize(text: &str) -> Cow<'_, str> {
    shown(text, is_hidden)
}

/// The same for what a person is to agree to: characters that look like nothing, or like a space,
/// are made visible too.
pub fn reveal(text: &str) -> Cow<'_, str> {
    shown(text, |c| is_hidden(c) || is_blank(c))
}

fn shown(text: &str, hidden: fn(char) -> bool) -> Cow<'_, str> {
    let odd = || {
        let mut marks = 0;
        move |c| {
            marks = if is_mark(c) { marks + 1 } else { 0 };
            marks > MOST_MARKS || hidden(c)
        }
    };
    if !text.chars().any(odd()) {
        return Cow::Borrowed(text);
    }
    let mut is_odd = odd();
    let mut out = String::with_capacity(text.len() + 16);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' if chars.peek() == Some(&'\n') => {}
            // The caret form that every terminal user knows.
            '\0'..='\x1f' if hidden(c) => {
                out.push('^');
                out.push((c as u8 ^ 0x40) as char);
            }
            '\x7f' => out.push_str("^?"),
            c if is_odd(c) => {
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
        | '\u{fff0}'..='\u{fffb}' => true,
        // Tags and selectors, and what is kept for more of them.
        '\u{e0000}'..='\u{e0fff}' => true,
        // What takes no room, or the room of nothing.
        '\u{ad}'
        | '\u{34f}'
        | '\u{115f}'..='\u{1160}'
        | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{3164}'
        | '\u{ffa0}'
        | '\u{13430}'..='\u{1343f}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' => true,
        _ => false,
    }
}

/// Signs that are drawn onto the character before them.
fn is_mark(c: char) -> bool {
    !c.is_ascii() && c.width() == Some(0)
}

/// Characters that are seen as nothing or as a space, and are no space to a shell: soft hyphens,
/// fillers, variation selectors, spaces other than the common one.
fn is_blank(c: char) -> bool {
    matches!(c,
        '\u{a0}' | '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{1680}'
        | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{2000}'..='\u{200a}'
        | '\u{202f}' | '\u{205f}' | '\u{2800}' | '\u{3000}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}' | '\u{e0100}'..='\u{e01ef}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_nothing_is_revealed() {
        let text = "rm\u{a0}-rf\u{3164} /\u{ad}x\u{202e}";
        assert_eq!(reveal(text), "rm<U+00A0>-rf<U+3164> /<U+00AD>x<U+202E>");
        assert_eq!(reveal("plain ü text"), "plain ü text");
    }

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

    /// What published attacks on terminals and reviews used.
    #[test]
    fn no_byte_that_a_terminal_acts_on_is_left() {
        for (attack, shown) in [
            ("\x1b]0;title\x07", "^[]0;title^G"),
            ("\x1b]8;;http://x\x1b\\y", "^[]8;;http://x^[\\y"),
            ("\x1b]52;c;cm0=\x07", "^[]52;c;cm0=^G"),
            ("\x1bP$q\x1b\\", "^[P$q^[\\"),
            ("\u{90}x\u{9c}", "<U+0090>x<U+009C>"),
            ("ls\x08\x08rm", "ls^H^Hrm"),
            ("ok\r$ rm", "ok^M$ rm"),
            ("a\x7f\0", "a^?^@"),
            ("if a\u{2066} // x\u{2069}", "if a<U+2066> // x<U+2069>"),
            ("rm\u{200b}x\u{feff}", "rm<U+200B>x<U+FEFF>"),
            ("a\u{e0041}\u{e0120}b", "a<U+E0041><U+E0120>b"),
            ("a\u{ad}\u{3164}b", "a<U+00AD><U+3164>b"),
            ("a\u{fff0}\u{e0fff}b", "a<U+FFF0><U+E0FFF>b"),
            ("a\u{1bca0}b", "a<U+1BCA0>b"),
        ] {
            let clean = sanitize(attack);
            assert_eq!(clean, shown);
            let raw = |b: u8| b < 0x20 || b == 0x7f;
            assert!(!clean.bytes().any(raw), "{clean:?}");
        }
        // Every code point of the control sets, one by one.
        for code in (0..0x20).chain(0x7f..0xa0).filter(|c| ![9, 10].contains(c)) {
            let text = char::from_u32(code).expect("a character").to_string();
            let clean = sanitize(&text).into_owned();
            assert!(clean.len() > 1 && clean.is_ascii(), "{code:x}");
        }
    }

    #[test]
    fn a_heap_of_signs_covers_no_other_line() {
        let heap = format!("a{}b\u{301}", "\u{310}".repeat(10));
        let shown = format!("a{}<U+0310><U+0310>b\u{301}", "\u{310}".repeat(8));
        assert_eq!(sanitize(&heap), shown);
        assert_eq!(sanitize(&shown), shown);
        // Tibetan and Hindi as they are written.
        for text in ["བསྒྲུབས", "क्ष्म्यि"] {
            assert!(matches!(sanitize(text), Cow::Borrowed(t) if t == text));
        }
    }

    #[test]
    fn a_title_is_one_line() {
        assert_eq!(one_line("a\nb\tc"), "a⏎b c");
    }
}
