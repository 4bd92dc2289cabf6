//! `call:NAME{key:value}` between tokens, with a token of their own around strings: Gemma 4 and
//! FunctionGemma. Gemma 3 writes [`pythonic`](super::pythonic) calls.

use super::parts::{eat, eat_all, word};
use super::{Cx, Form, Piece, Trouble, Written, after, before, position};
use crate::model::arguments::json;
use serde_json::{Map, Value};

pub(super) const FORM: Form = Form {
    name: "gemma",
    openers: &OPENERS,
    ends: &ENDS,
    find,
};

const OPENERS: [&str; 2] = ["<|tool_call>", "<start_function_call>"];
const ENDS: [&str; 2] = ["<tool_call|>", "<end_function_call>"];
/// Texts that stand at both sides of a string. The last two are not the family's own.
const QUOTES: [&str; 4] = ["<|\"|>", "<escape>", "\"", "'"];
const DEPTH: usize = 16;

fn find(text: &str, from: usize, cx: &Cx) -> Option<Piece> {
    let mut from = from;
    loop {
        let spot = position::tag(text, from, &OPENERS)?;
        from = spot.end;
        let start = eat_all(text, spot.end, &["call:"]);
        let Some((name, at)) = word(text, start).filter(|_| start > spot.end) else {
            continue;
        };
        let mut reader = Reader { text, at };
        let (end, call) = match reader.value(DEPTH) {
            Some(value @ Value::Object(_)) => {
                let end = reader.at;
                let raw = after(before(text, end), spot.start);
                (end, Ok(Written::tagged(name, value.to_string(), raw)))
            }
            _ if cx.whole => {
                let why = "its arguments do not read {key:value}";
                (text.len(), Err(Trouble::Unreadable(why.into())))
            }
            _ => (text.len(), Err(Trouble::Cut)),
        };
        let end = position::skip_noise(text, end, spot.fenced);
        return Some(Piece::tagged(spot.start..end, call));
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl Reader<'_> {
    fn eat(&mut self, token: &str) -> bool {
        match eat(self.text, self.at, token) {
            Some(end) => {
                self.at = end;
                true
            }
            None => false,
        }
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        let depth = depth.checked_sub(1)?;
        if self.eat("{") {
            let mut object = Map::new();
            while !self.eat("}") {
                let key = match self.string() {
                    Some(key) => key,
                    None => {
                        let (key, end) = word(self.text, self.at)?;
                        // The name's own characters include the colon that ends it.
                        let length = key.find(':').unwrap_or(key.len());
                        self.at = end - key.len() + length;
                        before(key, length).to_owned()
                    }
                };
                if !self.eat(":") {
                    return None;
                }
                let value = self.value(depth)?;
                object.insert(key, value);
                if !self.eat(",") && eat(self.text, self.at, "}").is_none() {
                    return None;
                }
            }
            return Some(Value::Object(object));
        }
        if self.eat("[") {
            let mut items = Vec::new();
            while !self.eat("]") {
                items.push(self.value(depth)?);
                if !self.eat(",") && eat(self.text, self.at, "]").is_none() {
                    return None;
                }
            }
            return Some(Value::Array(items));
        }
        if let Some(text) = self.string() {
            return Some(text.into());
        }
        self.bare()
    }

    /// A string, up to the next of the text that began it. What stands inside is never changed.
    fn string(&mut self) -> Option<String> {
        let quote = QUOTES
            .iter()
            .find(|q| eat(self.text, self.at, q).is_some())?;
        let start = eat(self.text, self.at, quote)?;
        if *quote == "\"" {
            let read = json::read(after(self.text, start - 1), false)?;
            self.at = start - 1 + read.end;
            return read.value.as_str().map(str::to_owned);
        }
        let length = after(self.text, start).find(quote)?;
        self.at = start + length + quote.len();
        self.text.get(start..start + length).map(str::to_owned)
    }

    /// A number, `true`, `false` or `null`. A bare word is text that lost its marks, and where it
    /// ends is a guess.
    fn bare(&mut self) -> Option<Value> {
        let rest = after(self.text, self.at);
        let length = rest.find([',', '}', ']', '<', '\n'])?;
        let value = serde_json::from_str(before(rest, length).trim()).ok()?;
        self.at += length;
        Some(value)
    }
}
