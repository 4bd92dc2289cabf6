//! `<｜tool▁call▁begin｜>…<｜tool▁sep｜>…`: DeepSeek V3, R1 and V3.1, in the wide characters of
//! its tokens or in ASCII.

use super::parts::{eat, eat_all, json_at, word};
use super::{Cx, Form, Piece, Written, after, before, position};

pub(super) const FORM: Form = Form {
    name: "deepseek",
    openers: &OPENERS,
    ends: &[],
    find,
};

const OPENERS: [&str; 4] = [
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁call▁begin｜>",
    "<|tool_calls_begin|>",
    "<|tool_call_begin|>",
];
const ENDS: [&str; 2] = ["<｜tool▁call▁end｜>", "<|tool_call_end|>"];

fn find(text: &str, from: usize, cx: &Cx) -> Option<Piece> {
    let mut from = from;
    loop {
        let spot = position::tag(text, from, &OPENERS)?;
        from = spot.end;
        let at = eat_all(text, spot.start, &["<|tool_calls_begin|>"]);
        let Some((word_before, at)) = eat(text, at, "<|tool_call_begin|>")
            .and_then(|at| word(text, at))
            .and_then(|(word, at)| Some((word, eat(text, at, "<|tool_sep|>")?)))
        else {
            continue;
        };
        // V3 writes the kind of call before the separator and fences the JSON; V3.1 writes the
        // name there.
        let named = match eat(text, at, "{") {
            Some(_) => Some((word_before, at)),
            None => word(text, at),
        };
        let Some((name, at)) = named else {
            continue;
        };
        let at = eat_all(text, at, &["```json", "```"]);
        let (end, value) = json_at(text, at, &ENDS, cx.whole);
        let raw = after(before(text, end), spot.start);
        let call = value.map(|value| Written::tagged(name, value.to_string(), raw));
        let end = eat(text, end, "```").unwrap_or(end);
        let end = position::skip_noise(text, end, spot.fenced);
        return Some(Piece::tagged(spot.start..end, call));
    }
}
