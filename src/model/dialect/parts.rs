//! What several forms are made of: tokens, names, JSON values.

use super::{Trouble, after, before};
use crate::model::arguments::json;
use serde_json::Value;

/// MiniMax-M3 puts this before each of its tags.
const FILLER: &str = "]<]minimax[>[";

/// The longest name of a tool, in bytes.
const LONGEST_NAME: usize = 128;

/// Where the text after `token` begins, when that is what stands at `at` past white space. The
/// token is in ASCII; the wide bars and low blanks of DeepSeek's tokens count as `|` and `_`.
pub(super) fn eat(text: &str, at: usize, token: &str) -> Option<usize> {
    let rest = after(text, at);
    let mut start = at + rest.len() - rest.trim_start().len();
    if after(text, start).starts_with(FILLER) {
        start += FILLER.len();
    }
    let mut chars = after(text, start).char_indices();
    for wanted in token.chars() {
        let (_, c) = chars.next()?;
        let c = match c {
            '｜' => '|',
            '▁' => '_',
            c => c,
        };
        if c != wanted {
            return None;
        }
    }
    Some(start + after(text, start).len() - chars.as_str().len())
}

/// Where the text after as many of these tokens as stand there begins.
pub(super) fn eat_all(text: &str, at: usize, tokens: &[&str]) -> usize {
    let mut at = at;
    while let Some(end) = tokens.iter().find_map(|token| eat(text, at, token)) {
        at = end;
    }
    at
}

/// The name at `at`, past white space, and where the text after it begins.
pub(super) fn word(text: &str, at: usize) -> Option<(&str, usize)> {
    let rest = after(text, at);
    let start = at + rest.len() - rest.trim_start().len();
    let rest = after(text, start);
    let part = |c: char| c.is_ascii_alphanumeric() || "_-.:".contains(c);
    let end = rest.find(|c: char| !part(c)).unwrap_or(rest.len());
    (1..=LONGEST_NAME)
        .contains(&end)
        .then(|| (before(rest, end), start + end))
}

/// The first of these texts from `at` on: where it begins and where it ends.
pub(super) fn next_of(text: &str, at: usize, wanted: &[&str]) -> Option<(usize, usize)> {
    let rest = after(text, at);
    wanted
        .iter()
        .filter_map(|w| rest.find(w).map(|found| (at + found, at + found + w.len())))
        .min()
}

/// The JSON value at `at`, and where the text after it begins. Closers that are missing are added
/// where one of `ends` or the end of the whole text says that nothing more comes.
pub(super) fn json_at(
    text: &str,
    at: usize,
    ends: &[&str],
    whole: bool,
) -> (usize, Result<Value, Trouble>) {
    let rest = after(text, at);
    let start = at + rest.len() - rest.trim_start().len();
    if let Some(read) = json::read(after(text, start), false) {
        return (start + read.end, Ok(read.value));
    }
    let end = next_of(text, start, ends).map(|(end, _)| end);
    let complete = end.is_some() || whole;
    let end = end.unwrap_or(text.len());
    let body = after(before(text, end), start).trim_end();
    let value = json::read(body, complete).map(|read| read.value);
    let trouble = if complete {
        Trouble::Unreadable("its JSON is broken".into())
    } else {
        Trouble::Cut
    };
    (end, value.ok_or(trouble))
}

/// A value without exactly one line end at each side.
pub(super) fn trim_line_ends(value: &str) -> &str {
    let value = value
        .strip_prefix("\r\n")
        .or_else(|| value.strip_prefix('\n'))
        .unwrap_or(value);
    value
        .strip_suffix("\r\n")
        .or_else(|| value.strip_suffix('\n'))
        .unwrap_or(value)
}
