//! `[TOOL_CALLS]` before a list of JSON calls, or before `NAME[ARGS]{…}`: Mistral and Devstral.

use super::parts::{eat, json_at, word};
use super::{Cx, Form, Piece, Written, after, before, position, tagged_json};

pub(super) const FORM: Form = Form {
    name: "mistral",
    openers: &[TAG],
    ends: &[],
    find,
};

const TAG: &str = "[TOOL_CALLS]";

fn find(text: &str, from: usize, cx: &Cx) -> Option<Piece> {
    let mut from = from;
    loop {
        let spot = position::tag(text, from, &[TAG])?;
        from = spot.end;
        if ["{", "[{"].iter().any(|s| eat(text, spot.end, s).is_some()) {
            let gap = after(text, spot.end).len() - after(text, spot.end).trim_start().len();
            let mut piece = tagged_json::read(text, spot.end + gap, false, cx);
            piece.calls.iter_mut().for_each(|c| c.id = Some(id()));
            let end = position::skip_noise(text, piece.span.end, spot.fenced);
            return Some(Piece {
                span: spot.start..end,
                ..piece
            });
        }
        let Some((name, at)) = word(text, spot.end) else {
            continue;
        };
        let (given, at) = match eat(text, at, "[CALL_ID]").and_then(|at| word(text, at)) {
            Some((id, at)) => (Some(id.to_owned()), at),
            None => (None, at),
        };
        let at = match eat(text, at, "[ARGS]") {
            Some(at) => at,
            None if eat(text, at, "{").is_some() => at,
            None => continue,
        };
        let (end, value) = json_at(text, at, &[TAG], cx.whole);
        let raw = after(before(text, end), spot.start);
        let call = value.map(|value| Written {
            id: Some(given.unwrap_or_else(id)),
            ..Written::tagged(name, value.to_string(), raw)
        });
        let end = position::skip_noise(text, end, spot.fenced);
        return Some(Piece::tagged(spot.start..end, call));
    }
}

/// Some templates of this family take nothing but nine letters and digits.
fn id() -> String {
    let id = uuid::Uuid::now_v7().simple().to_string();
    id.chars().rev().take(9).collect()
}
