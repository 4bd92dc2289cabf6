//! `<|python_tag|>` before JSON or a list of calls in Python's syntax: Llama 3.

use super::parts::eat;
use super::{Cx, Form, Piece, Trouble, after, position, pythonic, tagged_json};

pub(super) const FORM: Form = Form {
    name: "llama",
    openers: &[TAG],
    ends: &[],
    find,
};

const TAG: &str = "<|python_tag|>";

fn find(text: &str, from: usize, cx: &Cx) -> Option<Piece> {
    let spot = position::tag(text, from, &[TAG])?;
    let json = ["{", "[{"].iter().any(|s| eat(text, spot.end, s).is_some());
    let piece = if json {
        let gap = after(text, spot.end).len() - after(text, spot.end).trim_start().len();
        tagged_json::read(text, spot.end + gap, false, cx)
    } else if let Some((calls, end)) = pythonic::calls(text, spot.end, cx) {
        Piece {
            span: spot.end..end,
            calls,
            trouble: None,
            tagged: true,
        }
    } else if cx.whole {
        let why = "it is Python code, not the call of a tool";
        Piece::tagged(spot.start..text.len(), Err(Trouble::Unreadable(why.into())))
    } else {
        Piece::tagged(spot.start..text.len(), Err(Trouble::Cut))
    };
    let end = position::skip_noise(text, piece.span.end, spot.fenced);
    Some(Piece {
        span: spot.start..end,
        ..piece
    })
}
