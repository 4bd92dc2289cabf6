//! A call as tags around raw values, whatever the tags are called.

use super::parts::{next_of, trim_line_ends};
use super::position::{self, CLOSERS};
use super::{Cx, Piece, Trouble, Written, after, before, tagged_json};
use crate::model::arguments::names;
use serde_json::{Map, Value};

/// The tags of one form.
pub(super) struct Syntax {
    /// They begin a call; the tool's name follows, bare or in quotes.
    pub openers: &'static [&'static str],
    /// Tags that may stand around the whole call.
    pub outer: &'static [&'static str],
    /// They begin a value; the argument's name follows.
    pub parameters: &'static [&'static str],
    /// They end a value.
    pub value_ends: &'static [&'static str],
    /// They end a call.
    pub closers: &'static [&'static str],
}

impl Syntax {
    /// The next call at or after a place.
    pub(super) fn find(&self, text: &str, from: usize, cx: &Cx) -> Option<Piece> {
        let mut from = from;
        loop {
            let spot = position::tag(text, from, self.openers)?;
            from = spot.end;
            let Some((name, body)) = header(text, spot.end) else {
                continue;
            };
            let outer = position::outer(text, spot.start, self.outer);
            // Alone it could be anything; inside a call's tag, or with a tool's name, it is a call.
            if outer.is_none() && names::resolve(name, cx.tools).is_none() {
                continue;
            }
            let (end, arguments) = self.arguments(text, body, cx);
            let raw = after(before(text, end), spot.start);
            let call = arguments.map(|arguments| Written::tagged(name, arguments, raw));
            let start = outer.unwrap_or(spot.start);
            let end = position::skip_noise(text, end, spot.fenced);
            return Some(Piece::tagged(start..end, call));
        }
    }

    /// Reads the parameters from `at` on. Gives the end of the call and its arguments as JSON.
    fn arguments(&self, text: &str, at: usize, cx: &Cx) -> (usize, Result<String, Trouble>) {
        let body = after(text, at);
        if body.trim_start().starts_with('{') {
            // Llama's variant: the arguments as JSON in the same tag.
            let close = next_of(text, at, self.closers).map(|(close, _)| close);
            let end = close.unwrap_or(text.len());
            let json = after(before(text, end), at).trim().to_owned();
            let cut = close.is_none() && !cx.whole;
            return (end, if cut { Err(Trouble::Cut) } else { Ok(json) });
        }
        let mut arguments = Map::new();
        let mut at = at;
        loop {
            let rest = after(text, at);
            let gap = rest.len() - rest.trim_start().len();
            let rest = rest.trim_start();
            let Some(opener) = self.parameters.iter().find(|p| rest.starts_with(**p)) else {
                at += gap;
                break;
            };
            let Some((key, value_at)) = header(text, at + gap + opener.len()) else {
                let why = "a parameter has no name".to_owned();
                return (text.len(), Err(Trouble::Unreadable(why)));
            };
            let Some((value, end)) = self.value(after(text, value_at)) else {
                let trouble = if cx.whole {
                    Trouble::Unreadable(format!("the parameter {key} is not closed"))
                } else {
                    Trouble::Cut
                };
                return (text.len(), Err(trouble));
            };
            at = value_at + end;
            if !insert(&mut arguments, key, value) {
                let why = format!("the parameter {key} is given twice with different values");
                return (at, Err(Trouble::Unreadable(why)));
            }
        }
        let closed = self.closers.iter().any(|c| after(text, at).starts_with(c));
        if !closed && !cx.whole {
            return (at, Err(Trouble::Cut));
        }
        (at, Ok(Value::Object(arguments).to_string()))
    }

    /// The raw value at the start of `rest`, and where the text after its closing tag begins.
    ///
    /// The value may itself hold the closing tag. Such a tag counts when what follows belongs to
    /// the form and when every opening tag inside the value has met its own closing tag.
    fn value<'t>(&self, rest: &'t str) -> Option<(&'t str, usize)> {
        let (mut opened, mut skipped, mut from) = (0, 0, 0);
        while let Some((at, end)) = next_of(rest, from, self.value_ends) {
            let inside = rest.get(from..at).unwrap_or_default();
            let begun = self.parameters.iter().map(|p| inside.matches(p).count());
            opened += begun.sum::<usize>();
            from = end;
            if opened <= skipped && self.goes_on(after(rest, from)) {
                return Some((trim_line_ends(before(rest, at)), self.closed(rest, from)));
            }
            skipped += 1;
        }
        // No such tag: the value ends at the last one before the next part of the call, or at that
        // part when its own tag is missing.
        let next = self
            .parameters
            .iter()
            .filter_map(|p| rest.find(&format!("\n{p}")))
            .chain(self.closers.iter().filter_map(|c| rest.find(c)))
            .min()?;
        let stretch = before(rest, next);
        let last = self.value_ends.iter().filter_map(|e| stretch.rfind(e));
        let end = last.max().unwrap_or(stretch.len());
        Some((trim_line_ends(before(rest, end)), next))
    }

    /// True when `rest` begins like the part of a call that comes after a value.
    fn goes_on(&self, rest: &str) -> bool {
        let rest = rest.trim_start();
        let lists = [self.value_ends, self.parameters, self.openers, self.closers];
        rest.is_empty()
            || rest.starts_with("```")
            || lists.into_iter().flatten().any(|t| rest.starts_with(t))
            || CLOSERS.iter().any(|c| rest.starts_with(c))
            || tagged_json::OPENERS.iter().any(|o| rest.starts_with(o))
    }

    /// Skips further copies of the closing tag, which some models double.
    fn closed(&self, rest: &str, from: usize) -> usize {
        let mut at = from;
        loop {
            let tail = after(rest, at);
            let gap = tail.len() - tail.trim_start().len();
            let tail = tail.trim_start();
            match self.value_ends.iter().find(|e| tail.starts_with(**e)) {
                Some(end) => at += gap + end.len(),
                None => return at,
            }
        }
    }
}

/// The name after an opener, and where the text after the `>` of its tag begins. Further
/// attributes may follow a name in quotes.
fn header(text: &str, at: usize) -> Option<(&str, usize)> {
    let rest = after(text, at);
    let end = rest.find(['>', '\n', '<'])?;
    let inside = before(rest, end).trim();
    let name = match inside.strip_prefix(['"', '\'']) {
        Some(name) => before(name, name.find(['"', '\'']).unwrap_or(name.len())),
        None => inside,
    };
    let closed = after(rest, end).starts_with('>');
    let word = !name.is_empty() && name.len() <= 128 && !name.contains(char::is_whitespace);
    (closed && word).then_some((name, at + end + 1))
}

/// Adds a value; of two for one key the non-empty one counts. False: they contradict each other.
fn insert(arguments: &mut Map<String, Value>, key: &str, value: &str) -> bool {
    match arguments.get(key).and_then(Value::as_str) {
        Some(old) if !old.is_empty() && !value.is_empty() && old != value => false,
        Some(_) if value.is_empty() => true,
        _ => {
            arguments.insert(key.to_owned(), value.into());
            true
        }
    }
}
