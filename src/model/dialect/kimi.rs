//! `<|tool_call_begin|>functions.NAME:0<|tool_call_argument_begin|>{…}`: Kimi K2. Its ids are kept
//! in the history, since the model goes by them.

use super::parts::{eat, eat_all, json_at, word};
use super::{Cx, Form, Piece, Written, after, before, position};

pub(super) const FORM: Form = Form {
    name: "kimi",
    openers: &["<|tool_calls_section_begin|>"],
    ends: &[],
    find,
};

const OPENERS: [&str; 2] = ["<|tool_calls_section_begin|>", "<|tool_call_begin|>"];
const ENDS: [&str; 2] = ["<|tool_call_end|>", "<|tool_calls_section_end|>"];

fn find(text: &str, from: usize, cx: &Cx) -> Option<Piece> {
    let mut from = from;
    loop {
        let spot = position::tag(text, from, &OPENERS)?;
        from = spot.end;
        let at = eat_all(text, spot.start, &OPENERS);
        let Some((id, at)) = word(text, at)
            .and_then(|(id, at)| Some((id, eat(text, at, "<|tool_call_argument_begin|>")?)))
        else {
            continue;
        };
        let numbered = id.rsplit_once(':');
        let name = numbered.map_or(id, |(name, _)| name);
        let (end, value) = json_at(text, at, &ENDS, cx.whole);
        let raw = after(before(text, end), spot.start);
        let call = value.map(|value| Written {
            id: (id.starts_with("functions.") && numbered.is_some()).then(|| id.to_owned()),
            ..Written::tagged(name, value.to_string(), raw)
        });
        let end = position::skip_noise(text, end, spot.fenced);
        return Some(Piece::tagged(spot.start..end, call));
    }
}
