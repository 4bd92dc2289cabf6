//! `Action: NAME` and `Action Input: {…}` on lines of their own: the ReAct prompts. Words like
//! these occur in prose, so only tools that read are taken from them.

use super::parts::{eat, json_at, word};
use super::{Cx, Form, Piece, Written, after, before, position};
use crate::model::arguments::names;

pub(super) const FORM: Form = Form {
    name: "react",
    openers: &[ACTION],
    ends: &[],
    find,
};

const ACTION: &str = "Action:";

fn find(text: &str, from: usize, cx: &Cx) -> Option<Piece> {
    position::lines(text, from).find_map(|line| {
        let free = line.fence.is_none() && line.text.trim_start().starts_with(ACTION);
        let at = eat(text, line.start, ACTION).filter(|_| free)?;
        let (name, at) = word(text, at)?;
        let at = eat(text, at, "Action Input:")?;
        names::resolve(name, cx.tools)?;
        let (end, value) = json_at(text, at, &["\nObservation:"], cx.whole);
        // What follows an observation is the model's own invention.
        let end = match eat(text, end, "Observation:") {
            Some(_) => text.len(),
            None => end,
        };
        let raw = after(before(text, end), line.start);
        let call = Written {
            parallel: false,
            guessed: true,
            ..Written::tagged(name, value.ok()?.to_string(), raw)
        };
        Some(Piece {
            tagged: false,
            ..Piece::tagged(line.start..position::skip_noise(text, end, false), Ok(call))
        })
    })
}
