//! `<tool_call>{"name": …, "arguments": …}</tool_call>`: Hermes, Qwen2.5, Qwen3 and many
//! fine-tunes, with the tags that they confuse it with.

use super::position::{self, CLOSERS};
use super::{Cx, Form, Piece, Trouble, after, before, shape};
use crate::model::arguments::json;

pub(super) const FORM: Form = Form {
    name: "tagged-json",
    openers: &OPENERS,
    ends: &[],
    find,
};

/// Tags that begin a call. `function_xml` may stand inside them too.
pub(super) const OPENERS: [&str; 7] = [
    "<tool_call>",
    "<tool_calls>",
    "<tools>",
    "<function_call>",
    "<function_calls>",
    "<toolcall>",
    "[TOOL_REQUEST]",
];

fn find(text: &str, from: usize, cx: &Cx) -> Option<Piece> {
    let mut from = from;
    loop {
        let spot = position::tag(text, from, &OPENERS)?;
        from = spot.end;
        let rest = after(text, spot.end);
        let skipped = rest.len() - payload(rest).len();
        let body = payload(rest);
        if !body.starts_with(['{', '[']) {
            let markup = ["<function=", "<function name=", "<invoke name="];
            let markup = markup.iter().any(|m| body.starts_with(m));
            if is_whole_message(text, spot.start) && !markup {
                return Some(foreign(text, spot.start));
            }
            continue;
        }
        let start = spot.end + skipped;
        let mut piece = read(text, start, true, cx);
        // Qwen2.5-Coder sometimes repeats the list of tools from its prompt before its call. The
        // list belongs to the piece but is no call.
        if spot.opener == "<tools>" && piece.calls.is_empty() {
            piece.trouble = None;
        }
        let inner_fence = rest.trim_start().starts_with("```");
        let fenced = spot.fenced || inner_fence;
        let end = position::skip_noise(text, piece.span.end, fenced);
        return Some(Piece {
            span: spot.start..end,
            ..piece
        });
    }
}

/// True when the message is one block in tags from here to its end.
fn is_whole_message(text: &str, start: usize) -> bool {
    before(text, start).trim().is_empty() && CLOSERS.iter().any(|c| text.trim_end().ends_with(c))
}

/// A message in the tags of a call that holds neither JSON nor parameters.
fn foreign(text: &str, start: usize) -> Piece {
    let why = "it holds no JSON object with a tool's name and its arguments";
    Piece {
        span: start..text.len(),
        calls: Vec::new(),
        trouble: Some(Trouble::Unreadable(why.into())),
        tagged: true,
    }
}

/// The text of the first value: white space and a fence are skipped.
fn payload(text: &str) -> &str {
    let text = text.trim_start();
    match text.strip_prefix("```") {
        Some(inner) => inner
            .trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_')
            .trim_start(),
        None => text,
    }
}

/// Reads the JSON values at `start`, up to a closing tag or the end of the text. `closes`: the form
/// has a closing tag, and without it a call may go on where the text was cut.
pub(super) fn read(text: &str, start: usize, closes: bool, cx: &Cx) -> Piece {
    let mut piece = Piece {
        span: start..start,
        calls: Vec::new(),
        trouble: None,
        tagged: true,
    };
    let mut values = Vec::new();
    while let Some(read) = json::read(after(text, piece.span.end), false) {
        piece.span.end += read.end;
        values.push(read.value);
        let rest = after(text, piece.span.end);
        let next = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ';' || c == ',');
        if !next.starts_with('{') {
            break;
        }
        piece.span.end += rest.len() - next.len();
    }
    if values.is_empty() {
        // Perhaps only its last braces are missing; the closing tag or the end says where.
        let rest = after(text, start);
        let close = CLOSERS.iter().filter_map(|c| rest.find(c)).min();
        let body = before(rest, close.unwrap_or(rest.len()));
        piece.span.end = start + body.len();
        let complete = close.is_some() || cx.whole;
        match json::read(body.trim_end(), complete) {
            Some(read) => values.push(read.value),
            None if complete => {
                piece.trouble = Some(Trouble::Unreadable("its JSON is broken".into()));
            }
            None => piece.trouble = Some(Trouble::Cut),
        }
    }
    let closed = CLOSERS
        .iter()
        .any(|c| position::after_json(text, piece.span.end).starts_with(c));
    if closes && !closed && !cx.whole && piece.trouble.is_none() {
        piece.trouble = Some(Trouble::Cut);
        return piece;
    }
    let alone = values.len() == 1;
    for value in values {
        match shape::calls(&value, cx.tools) {
            Some(calls) => piece.calls.extend(calls),
            None => {
                let why = "it is not an object with a tool's name and its arguments";
                piece.trouble = Some(Trouble::Unreadable(why.into()));
            }
        }
    }
    if alone {
        piece.calls.iter_mut().for_each(|call| call.parallel = true);
    }
    piece
}
