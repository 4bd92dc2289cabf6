//! The transcript as strict servers want it: no two user messages in a row, results directly
//! after their calls, pictures only where a person speaks.

use super::super::{Assistant, Item, Part, ToolResult};
use std::borrow::Cow;

/// One message of a request.
#[derive(Debug)]
pub enum Turn<'a> {
    /// What a person or the program says: neighbouring user and developer items in one.
    User(Vec<Piece<'a>>),
    /// A reply. Empty ones are left out: they are tries that broke off.
    Assistant(&'a Assistant),
    /// The answer to one call: its text.
    Result(&'a ToolResult, Cow<'a, str>),
}

/// A stretch of text or a picture. Two texts never stand side by side.
#[derive(Debug, PartialEq)]
pub enum Piece<'a> {
    /// Text.
    Text(Cow<'a, str>),
    /// A picture in base64.
    Image {
        /// For example `image/png`.
        media_type: &'a str,
        /// The bytes.
        data: &'a str,
    },
}

/// Lays the items out as turns. What an item becomes never depends on later items, save that a
/// later user item may be added to the last user turn.
pub fn turns<'a>(items: &[&'a Item]) -> Vec<Turn<'a>> {
    let mut turns: Vec<Turn<'a>> = Vec::new();
    // Pictures of tool results wait until the last result of the reply, since nothing may come
    // between results.
    let mut pictures: Vec<Piece<'a>> = Vec::new();
    for &item in items {
        if !matches!(item, Item::ToolResult(_)) {
            say(&mut turns, std::mem::take(&mut pictures));
        }
        match item {
            Item::Developer { text } if text.is_empty() => {}
            Item::Developer { text } => say(&mut turns, vec![Piece::Text(clean(text))]),
            Item::User { content } => say(&mut turns, pieces(content)),
            Item::Assistant(reply) => {
                if !reply.text.is_empty() || !reply.calls.is_empty() {
                    turns.push(Turn::Assistant(reply));
                }
            }
            Item::ToolResult(result) => {
                if let [Part::Text { text }] = &result.content[..] {
                    turns.push(Turn::Result(result, clean(text)));
                    continue;
                }
                let (texts, images): (Vec<_>, Vec<_>) = pieces(&result.content)
                    .into_iter()
                    .partition(|piece| matches!(piece, Piece::Text(_)));
                if !images.is_empty() {
                    let lead = format!("Image from the result of `{}`:", result.name);
                    pictures.push(Piece::Text(lead.into()));
                    pictures.extend(images);
                }
                turns.push(Turn::Result(result, text_of(&texts, "\n")));
            }
        }
    }
    say(&mut turns, pictures);
    turns
}

/// The texts among `pieces`, joined; a single one is not copied.
pub fn text_of<'a>(pieces: &[Piece<'a>], between: &str) -> Cow<'a, str> {
    let mut texts = pieces.iter().filter_map(|piece| match piece {
        Piece::Text(text) => Some(text),
        Piece::Image { .. } => None,
    });
    let Some(first) = texts.next() else {
        return Cow::Borrowed("");
    };
    let mut all = first.clone();
    for text in texts {
        let all = all.to_mut();
        all.push_str(between);
        all.push_str(text);
    }
    all
}

/// Adds to the last user turn, or begins one.
fn say<'a>(turns: &mut Vec<Turn<'a>>, pieces: Vec<Piece<'a>>) {
    if pieces.is_empty() {
        return;
    }
    let Some(Turn::User(said)) = turns.last_mut() else {
        turns.push(Turn::User(pieces));
        return;
    };
    for piece in pieces {
        match (said.last_mut(), piece) {
            (Some(Piece::Text(before)), Piece::Text(text)) => {
                let before = before.to_mut();
                before.push_str("\n\n");
                before.push_str(&text);
            }
            (_, piece) => said.push(piece),
        }
    }
}

/// The parts of one item; texts side by side are joined by a line end.
fn pieces(content: &[Part]) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    for part in content {
        match (pieces.last_mut(), part) {
            (_, Part::Text { text }) if text.is_empty() => {}
            (Some(Piece::Text(before)), Part::Text { text }) => {
                let before = before.to_mut();
                before.push('\n');
                before.push_str(&clean(text));
            }
            (_, Part::Text { text }) => pieces.push(Piece::Text(clean(text))),
            (_, Part::Image { media_type, data }) => pieces.push(Piece::Image { media_type, data }),
        }
    }
    pieces
}

/// Without NUL, which ends a text in some servers and is refused by others.
fn clean(text: &str) -> Cow<'_, str> {
    match text.contains('\0') {
        true => Cow::Owned(text.replace('\0', "")),
        false => Cow::Borrowed(text),
    }
}
