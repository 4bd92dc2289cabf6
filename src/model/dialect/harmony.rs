//! `<|channel|>commentary to=functions.NAME <|constrain|>json<|message|>{…}<|call|>`: gpt-oss,
//! when its server lets the header of a message through, whole or without its tokens.

use super::parts::{eat, json_at, word};
use super::{Cx, Form, Piece, Trouble, Written, after, before, position};
use crate::model::arguments::names;

pub(super) const FORM: Form = Form {
    name: "harmony",
    openers: &OPENERS,
    ends: &[],
    find,
};

const OPENERS: [&str; 6] = [
    "<|start|>assistant",
    "<|channel|>commentary",
    "<|channel|>analysis",
    "assistantcommentary to=functions.",
    "commentary to=functions.",
    "analysis to=functions.",
];
const ENDS: [&str; 3] = ["<|call|>", "<|end|>", "<|return|>"];

/// What a header is made of beside the recipient.
const HEADER: [&str; 9] = [
    "<|start|>",
    "<|channel|>",
    "<|constrain|>",
    "<|message|>",
    "assistant",
    "commentary",
    "analysis",
    "json",
    "code",
];

fn find(text: &str, from: usize, cx: &Cx) -> Option<Piece> {
    let mut from = from;
    loop {
        let spot = position::tag(text, from, &OPENERS)?;
        from = spot.end;
        let mut recipient = None;
        let mut at = spot.start;
        loop {
            if let Some(end) = HEADER.iter().find_map(|part| eat(text, at, part)) {
                at = end;
            } else if let Some((name, end)) = eat(text, at, "to=").and_then(|at| word(text, at)) {
                recipient = Some(name);
                at = end;
            } else {
                break;
            }
        }
        let Some(name) = recipient else {
            continue;
        };
        // Without its tokens the kind of the body is glued to the name.
        let name = match name.strip_suffix("json") {
            Some(short) if names::resolve(name, cx.tools).is_none() => short,
            _ => name,
        };
        let call = if eat(text, at, "{").is_some() {
            let (end, value) = json_at(text, at, &ENDS, cx.whole);
            at = end;
            let raw = after(before(text, end), spot.start);
            value.map(|value| Written::tagged(name, value.to_string(), raw))
        } else if cx.whole {
            at = text.len();
            Err(Trouble::Unreadable("its body is not JSON".into()))
        } else {
            at = text.len();
            Err(Trouble::Cut)
        };
        let end = position::skip_noise(text, at, spot.fenced);
        return Some(Piece::tagged(spot.start..end, call));
    }
}
