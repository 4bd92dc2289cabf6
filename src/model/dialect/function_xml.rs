//! `<function=NAME><parameter=KEY>` with raw values: Qwen3-Coder and its relatives, the
//! surrounding `<tool_call>` present or not.

use super::position::{self, CLOSERS};
use super::{Cx, Form, Piece, Trouble, Written, after, before, tagged_json};
use crate::model::arguments::names;
use serde_json::{Map, Value};

pub(super) const FORM: Form = Form {
    name: "function-xml",
    openers: &OPENERS,
    find,
};

const OPENERS: [&str; 2] = ["<function=", "<function name="];
const PARAMETERS: [&str; 2] = ["<parameter=", "<parameter name="];
const VALUE_END: &str = "</parameter>";

fn find(text: &str, from: usize, cx: &Cx) -> Option<Piece> {
    let mut from = from;
    loop {
        let spot = position::tag(text, from, &OPENERS)?;
        from = spot.end;
        let Some((name, body)) = header(text, spot.end) else {
            continue;
        };
        let outer = position::outer(text, spot.start, &tagged_json::OPENERS);
        // Alone it could be anything; inside a call's tag, or with a tool's name, it is a call.
        if outer.is_none() && names::resolve(name, cx.tools).is_none() {
            continue;
        }
        let (end, written) = read(text, name, body, cx);
        let (calls, trouble) = match written {
            Ok(call) => {
                let raw = after(before(text, end), spot.start).trim_end().to_owned();
                (vec![Written { raw, ..call }], None)
            }
            Err(trouble) => (Vec::new(), Some(trouble)),
        };
        let start = outer.unwrap_or(spot.start);
        return Some(Piece {
            span: start..position::skip_noise(text, end, spot.fenced),
            calls,
            trouble,
            tagged: true,
        });
    }
}

/// The name after `<function=` or `<parameter=`, and where the text after its `>` begins.
fn header(text: &str, at: usize) -> Option<(&str, usize)> {
    let rest = after(text, at);
    let end = rest.find(['>', '\n', '<'])?;
    let name = before(rest, end).trim().trim_matches(['"', '\'']);
    let closed = after(rest, end).starts_with('>');
    let word = !name.is_empty() && name.len() <= 128 && !name.contains(char::is_whitespace);
    (closed && word).then_some((name, at + end + 1))
}

/// Reads the parameters from `at` on. Gives the end of the call and the call.
fn read(text: &str, name: &str, at: usize, cx: &Cx) -> (usize, Result<Written, Trouble>) {
    let written = |arguments| Written {
        name: name.to_owned(),
        arguments,
        raw: String::new(),
        parallel: true,
        explicit: true,
        guessed: false,
    };
    let body = after(text, at);
    if body.trim_start().starts_with('{') {
        // Llama's variant: the arguments as JSON in the same tag.
        let close = CLOSERS.iter().filter_map(|c| body.find(c)).min();
        let end = at + close.unwrap_or(body.len());
        let json = before(body, close.unwrap_or(body.len())).trim().to_owned();
        let cut = close.is_none() && !cx.whole;
        return (
            end,
            if cut {
                Err(Trouble::Cut)
            } else {
                Ok(written(json))
            },
        );
    }
    let mut arguments = Map::new();
    let mut at = at;
    loop {
        let rest = after(text, at);
        let gap = rest.len() - rest.trim_start().len();
        let rest = rest.trim_start();
        let Some(opener) = PARAMETERS.iter().find(|p| rest.starts_with(**p)) else {
            at += gap;
            break;
        };
        let Some((key, value_at)) = header(text, at + gap + opener.len()) else {
            let why = "a parameter has no name".to_owned();
            return (text.len(), Err(Trouble::Unreadable(why)));
        };
        let Some((value, end)) = value(after(text, value_at)) else {
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
    let closed = CLOSERS.iter().any(|c| after(text, at).starts_with(c));
    if !closed && !cx.whole {
        return (at, Err(Trouble::Cut));
    }
    (at, Ok(written(Value::Object(arguments).to_string())))
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

/// The raw value at the start of `rest`, and where the text after its closing tag begins.
///
/// The value may itself hold `</parameter>`. A closing tag counts when what follows belongs to
/// the form and when every `<parameter=` inside the value has met its own closing tag.
fn value(rest: &str) -> Option<(&str, usize)> {
    let mut opened = 0;
    let mut from = 0;
    for (skipped, (at, _)) in rest.match_indices(VALUE_END).enumerate() {
        let inside = rest.get(from..at).unwrap_or_default();
        opened += PARAMETERS
            .iter()
            .map(|p| inside.matches(p).count())
            .sum::<usize>();
        from = at + VALUE_END.len();
        if opened <= skipped && goes_on(after(rest, from)) {
            return Some((trim(before(rest, at)), closed(rest, from)));
        }
    }
    // No such tag: the value ends at the last one before the next part of the call, or at that
    // part when its own tag is missing.
    let next = PARAMETERS
        .iter()
        .filter_map(|p| rest.find(&format!("\n{p}")))
        .chain(CLOSERS.iter().filter_map(|c| rest.find(c)))
        .min()?;
    let stretch = before(rest, next);
    match stretch.rfind(VALUE_END) {
        Some(at) => Some((trim(before(rest, at)), next)),
        None => Some((trim(stretch), next)),
    }
}

/// True when `rest` begins like the part of a call that comes after a value.
fn goes_on(rest: &str) -> bool {
    let rest = rest.trim_start();
    rest.is_empty()
        || rest.starts_with(VALUE_END)
        || rest.starts_with("```")
        || PARAMETERS.iter().any(|p| rest.starts_with(p))
        || OPENERS.iter().any(|o| rest.starts_with(o))
        || CLOSERS.iter().any(|c| rest.starts_with(c))
        || tagged_json::OPENERS.iter().any(|o| rest.starts_with(o))
}

/// Skips further copies of the closing tag, which some models double.
fn closed(rest: &str, from: usize) -> usize {
    let mut at = from;
    while after(rest, at).trim_start().starts_with(VALUE_END) {
        let tail = after(rest, at);
        at += tail.len() - tail.trim_start().len() + VALUE_END.len();
    }
    at
}

/// Takes off exactly one line end at each side.
fn trim(value: &str) -> &str {
    let value = value
        .strip_prefix("\r\n")
        .or_else(|| value.strip_prefix('\n'))
        .unwrap_or(value);
    value
        .strip_suffix("\r\n")
        .or_else(|| value.strip_suffix('\n'))
        .unwrap_or(value)
}
