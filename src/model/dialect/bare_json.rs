//! A call as plain JSON, alone or in a fence: the way of the Qwen2.5-Coder family.

use super::position::{self, Line};
use super::{Cx, Form, Piece, Trouble, after, before, shape};
use crate::model::arguments::{json, names};

pub(super) const FORM: Form = Form {
    name: "bare-json",
    openers: &[],
    ends: &[],
    find,
};

/// How many places of a text are tried, and how far a broken call is searched for a name.
const TRIES: usize = 64;
const HEAD: usize = 400;

fn find(text: &str, from: usize, cx: &Cx) -> Option<Piece> {
    position::lines(text, from)
        .filter_map(|line| start(text, &line))
        .take(TRIES)
        .find_map(|(start, at, fenced)| piece(text, start, at, fenced, cx))
}

/// Where JSON begins that may be a call: at the beginning of a fence, or of a line outside one.
fn start(text: &str, line: &Line) -> Option<(usize, usize, bool)> {
    let at = if line.opens {
        let (_, label) = line.fence?;
        if !position::may_hold_call(label) {
            return None;
        }
        line.start + line.text.len()
    } else if line.fence.is_none() {
        line.start
    } else {
        return None;
    };
    let rest = after(text, at);
    let json = rest.trim_start();
    let begins = match json.strip_prefix('[') {
        Some(items) => items.trim_start().starts_with('{'),
        None => json.starts_with('{'),
    };
    // A line that is blank belongs to the next one.
    let here = line.opens || line.text.trim_start().starts_with(['{', '[']);
    (begins && here).then_some((line.start, at + rest.len() - json.len(), line.opens))
}

fn piece(text: &str, start: usize, at: usize, fenced: bool, cx: &Cx) -> Option<Piece> {
    let mut calls = Vec::new();
    let mut end = at;
    while let Some(read) = json::read(after(text, end), false) {
        let Some(found) = shape::calls(&read.value, cx.tools) else {
            break;
        };
        calls.extend(found);
        end += read.end;
        let rest = after(text, end);
        let next = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ';' || c == ',');
        if !next.starts_with('{') {
            break;
        }
        end += rest.len() - next.len();
    }
    let mut trouble = None;
    if calls.is_empty() {
        // Perhaps only its last braces are missing; the fence or the end of the text says where.
        let rest = after(text, at);
        if json::read(rest, false).is_some() {
            return None;
        }
        let close = rest.rfind("\n```").filter(|_| fenced);
        let body = before(rest, close.unwrap_or(rest.len()));
        end = at + body.len();
        let complete = close.is_some() || cx.whole;
        let value = json::read(body.trim_end(), complete).map(|read| read.value);
        match value.map(|value| shape::calls(&value, cx.tools)) {
            Some(found) => calls = found?,
            None if !names_a_tool(body, cx) => return None,
            None if complete => {
                let why = "its JSON is broken, perhaps by a quote inside a string";
                trouble = Some(Trouble::Unreadable(why.into()));
            }
            None => trouble = Some(Trouble::Cut),
        }
    }
    Some(Piece {
        span: start..position::skip_noise(text, end, fenced),
        calls,
        trouble,
        tagged: false,
    })
}

/// True when a text that is no JSON begins like a call of an offered tool.
fn names_a_tool(body: &str, cx: &Cx) -> bool {
    let head = body.chars().take(HEAD).collect::<String>();
    let Some(at) = head.find("\"name\"") else {
        return false;
    };
    let value = after(&head, at + 6).trim_start_matches([':', ' ', '\n']);
    let name = value.strip_prefix('"').and_then(|v| v.split('"').next());
    name.is_some_and(|name| names::resolve(name, cx.tools).is_some())
}
