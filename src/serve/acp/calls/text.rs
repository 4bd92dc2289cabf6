//! Texts in a call: bounded, and without what would act in a terminal.

use crate::cli::render::sanitize::sanitize;
use crate::words::{head, tail};
use serde_json::{Value, json};

/// The most bytes of a text that one call shows.
const SHOWN: usize = 32 << 10;

/// A text in a call.
pub fn words(text: &str) -> Value {
    json!({"type": "content", "content": {"type": "text", "text": shown(text)}})
}

/// Lines as they are, in a block that none of them can end.
pub fn fenced(label: &str, text: &str) -> Value {
    let text = shown(text);
    let longest = text.split(|c| c != '`').map(str::len).max();
    let fence = "`".repeat(longest.unwrap_or(0).max(2) + 1);
    words_raw(&format!(
        "{fence}{label}\n{}\n{fence}",
        text.trim_end_matches('\n')
    ))
}

pub(super) fn words_raw(text: &str) -> Value {
    json!({"type": "content", "content": {"type": "text", "text": text}})
}

pub(super) fn list(lines: impl Iterator<Item = String>) -> Value {
    let mut text = String::new();
    for line in lines {
        text.push_str(&line);
        text.push('\n');
        if text.len() > SHOWN {
            break;
        }
    }
    match text.is_empty() {
        true => words_raw("nothing"),
        false => fenced("", &text),
    }
}

/// Without the sequences that colour a terminal, which an editor would show as letters.
pub(super) fn uncoloured(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\u{1b}' {
            out.push(c);
            continue;
        }
        match chars.next() {
            // Parameters, and a letter that ends them.
            Some('[') => {
                chars.find(|c| ('\x40'..='\x7e').contains(c));
            }
            // A title or a link, up to a bell or a backslash after another escape.
            Some(']') => {
                let mut before = ' ';
                chars.find(|c| {
                    let ends = *c == '\x07' || (before, *c) == ('\u{1b}', '\\');
                    before = *c;
                    ends
                });
            }
            Some('(' | ')') => {
                chars.next();
            }
            _ => {}
        }
    }
    out
}

/// Without control characters, and head and tail of what is too long.
pub(super) fn shown(text: &str) -> String {
    let text = uncoloured(text);
    let text = sanitize(&text);
    match text.len() > SHOWN {
        false => text.into_owned(),
        true => format!(
            "{}\n[{} bytes are left out here]\n{}",
            head(&text, SHOWN / 2),
            text.len() - SHOWN,
            tail(&text, SHOWN / 2)
        ),
    }
}
