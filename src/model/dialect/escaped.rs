//! A whole call whose markup was escaped: `&lt;tool_call&gt;…`.

use super::{Cx, FORMS, Form, Piece, Written, after, before, position};

pub(super) const FORM: Form = Form {
    name: "escaped",
    openers: &OPENERS,
    ends: &["&lt;/tool_call&gt;", "&lt;/function&gt;", "&lt;/invoke&gt;"],
    find,
};

const OPENERS: [&str; 3] = ["&lt;tool_call&gt;", "&lt;function=", "&lt;invoke name="];
const ENTITIES: [(&str, char); 5] = [
    ("&lt;", '<'),
    ("&gt;", '>'),
    ("&amp;", '&'),
    ("&quot;", '"'),
    ("&#39;", '\''),
];

fn find(text: &str, from: usize, cx: &Cx) -> Option<Piece> {
    let spot = position::tag(text, from, &OPENERS)?;
    let (decoded, places) = decode(after(text, spot.start))?;
    let forms = FORMS.iter().filter(|form| form.name != FORM.name);
    let piece = forms
        .filter_map(|form| (form.find)(&decoded, 0, cx))
        .min_by_key(|piece| piece.span.start)
        .filter(|piece| piece.span.start == 0)?;
    let end = places.get(piece.span.end).copied();
    let end = end.map_or(text.len(), |at| spot.start + at);
    // As it was written, so that it is found again where it is quoted.
    let raw = after(before(text, end), spot.start).trim_end();
    let calls = piece.calls.into_iter().map(|call| Written {
        raw: raw.to_owned(),
        ..call
    });
    Some(Piece {
        span: spot.start..end,
        calls: calls.collect(),
        ..piece
    })
}

/// One level of entities decoded, and for each byte of the outcome where it came from. `None` for
/// a text that holds raw markup too: there an entity stands for itself.
fn decode(text: &str) -> Option<(String, Vec<usize>)> {
    let mut out = String::new();
    let mut places = Vec::new();
    let mut at = 0;
    while let Some(c) = after(text, at).chars().next() {
        let entity = ENTITIES
            .iter()
            .find(|(e, _)| after(text, at).starts_with(e));
        let (length, c) = match entity {
            Some((entity, c)) => (entity.len(), *c),
            None if matches!(c, '<' | '>' | '&') => return None,
            None => (c.len_utf8(), c),
        };
        out.push(c);
        places.resize(out.len(), at);
        at += length;
    }
    Some((out, places))
}
