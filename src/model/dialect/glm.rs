//! `<tool_call>NAME<arg_key>…</arg_key><arg_value>…</arg_value></tool_call>`: GLM 4.5 and later.

use super::parts::{eat, next_of, trim_line_ends, word};
use super::{Cx, Form, Piece, Trouble, Written, after, before, position};
use crate::model::arguments::names;
use serde_json::{Map, Value};

pub(super) const FORM: Form = Form {
    name: "glm",
    openers: &[],
    ends: &[CLOSE],
    find,
};

const OPEN: &str = "<tool_call>";
pub(super) const CLOSE: &str = "</tool_call>";
const KEY: &str = "<arg_key>";
const KEY_END: &str = "</arg_key>";
const VALUE: &str = "<arg_value>";
const VALUE_END: &str = "</arg_value>";

fn find(text: &str, from: usize, cx: &Cx) -> Option<Piece> {
    let mut from = from;
    loop {
        let spot = position::tag(text, from, &[OPEN])?;
        from = spot.end;
        let Some((name, at)) = word(text, spot.end) else {
            continue;
        };
        // The end of a tag is sometimes glued to the name.
        let at = eat(text, at, VALUE_END).unwrap_or(at);
        let pairs = eat(text, at, KEY).is_some();
        let alone = eat(text, at, CLOSE).is_some() || after(text, at).trim().is_empty();
        if !(pairs || alone && names::resolve(name, cx.tools).is_some()) {
            continue;
        }
        let close = next_of(text, at, &[CLOSE, OPEN]).map(|(close, _)| close);
        let (end, arguments) = match read(after(text, at), cx.whole) {
            Ok((arguments, length)) => {
                let closed = eat(text, at + length, CLOSE).is_some();
                let cut = !closed && !cx.whole;
                let arguments = if cut {
                    Err(Trouble::Cut)
                } else {
                    Ok(arguments)
                };
                (at + length, arguments)
            }
            Err(trouble) => (close.unwrap_or(text.len()), Err(trouble)),
        };
        let raw = after(before(text, end), spot.start);
        let call = arguments
            .map(|arguments| Written::tagged(name, Value::Object(arguments).to_string(), raw));
        let end = position::skip_noise(text, end, spot.fenced);
        return Some(Piece::tagged(spot.start..end, call));
    }
}

/// The pairs at the start of a text, and where they end.
fn read(text: &str, whole: bool) -> Result<(Map<String, Value>, usize), Trouble> {
    let mut arguments = Map::new();
    let mut at = 0;
    while let Some(start) = eat(text, at, KEY) {
        let unreadable = |why: &str| Err(Trouble::Unreadable(why.into()));
        let Some((end, next)) = next_of(text, start, &[KEY_END, VALUE]) else {
            return if whole {
                unreadable("a key has no value")
            } else {
                Err(Trouble::Cut)
            };
        };
        let key = after(before(text, end), start).trim();
        let next = if after(text, end).starts_with(VALUE) {
            end
        } else {
            next
        };
        let Some(start) = eat(text, next, VALUE).filter(|_| !key.is_empty()) else {
            return if whole || eat(text, next, KEY).is_some() {
                unreadable("keys and values do not pair up")
            } else {
                Err(Trouble::Cut)
            };
        };
        let Some((value, next)) = value(text, start, whole) else {
            return Err(Trouble::Cut);
        };
        arguments.insert(key.to_owned(), value.into());
        at = next;
    }
    Ok((arguments, at))
}

/// A value and where the text after its tag begins. It may itself hold the closing tag, so only
/// one that is followed by a further part of the call counts.
fn value(text: &str, start: usize, whole: bool) -> Option<(&str, usize)> {
    let mut from = start;
    while let Some((end, next)) = next_of(text, from, &[VALUE_END]) {
        let tail = after(text, next).trim_start();
        if tail.is_empty()
            || [KEY, CLOSE, OPEN, "```"]
                .iter()
                .any(|t| tail.starts_with(t))
        {
            return Some((trim_line_ends(after(before(text, end), start)), next));
        }
        from = next;
    }
    // Its tag is missing: it ends at the next part of the call.
    let end = next_of(text, start, &[KEY, CLOSE]).map(|(end, _)| end);
    let end = end.or(whole.then_some(text.len()))?;
    let value = after(before(text, end), start);
    let cut = value.find(VALUE_END).unwrap_or(value.len());
    Some((trim_line_ends(before(value, cut)), end))
}

/// The pairs in the tail of a tool's name: some servers leave the whole call in it.
pub(crate) fn argument_pairs(tail: &str) -> Option<Map<String, Value>> {
    let start = tail.find(KEY)?;
    let (pairs, _) = read(after(tail, start), true).ok()?;
    (!pairs.is_empty()).then_some(pairs)
}
