//! Calls in Python's syntax: `[read_file(path='a.rs'), bash(command="ls")]` (Llama 3.2 and 4,
//! Olmo 3, LFM2), and one a line in a `tool_code` fence (Gemma 3).
//!
//! Only keyword arguments with literal values are read. Anything else would have to be run to
//! know what it means.

use super::parts::{eat, word};
use super::position::{self, Line};
use super::{Cx, Form, Piece, Written, after, before};
use crate::model::arguments::names;
use serde_json::{Map, Number, Value};

pub(super) const FORM: Form = Form {
    name: "pythonic",
    openers: &[],
    ends: &[],
    find,
};

/// The fence of Gemma 3.
pub(super) const FENCE: &str = "tool_code";
const MOST_CALLS: usize = 32;
const DEPTH: usize = 16;

fn find(text: &str, from: usize, cx: &Cx) -> Option<Piece> {
    position::lines(text, from)
        .find_map(|line| in_fence(text, &line, cx).or_else(|| list(text, &line, cx)))
}

fn list(text: &str, line: &Line, cx: &Cx) -> Option<Piece> {
    let fence = line
        .fence
        .is_some_and(|(_, label)| !position::may_hold_call(label));
    if fence || line.opens || !line.text.trim_start().starts_with('[') {
        return None;
    }
    let (calls, end) = calls(text, line.start, cx)?;
    let fence = line.fence.filter(|(start, label)| {
        let inside = after(before(text, line.start), *start);
        inside.trim_start_matches('`').trim() == *label
    });
    let start = fence.map_or(line.start, |(start, _)| start);
    Some(Piece {
        span: start..position::skip_noise(text, end, fence.is_some()),
        calls,
        trouble: None,
        tagged: false,
    })
}

fn in_fence(text: &str, line: &Line, cx: &Cx) -> Option<Piece> {
    let label = line.fence.map(|(_, label)| label);
    if !line.opens || label != Some(FENCE) {
        return None;
    }
    let mut calls = Vec::new();
    let mut at = line.start + line.text.len();
    while let Some((call, end)) = call(text, at, cx).filter(|_| calls.len() < MOST_CALLS) {
        calls.push(call);
        at = end;
    }
    let end = eat(text, at, "```").filter(|_| !calls.is_empty())?;
    Some(Piece {
        span: line.start..position::skip_noise(text, end, false),
        calls,
        trouble: None,
        tagged: false,
    })
}

/// The list of calls at `at`, all of offered tools, and where it ends.
pub(super) fn calls(text: &str, at: usize, cx: &Cx) -> Option<(Vec<Written>, usize)> {
    let mut at = eat(text, at, "[")?;
    let mut calls = Vec::new();
    while calls.len() < MOST_CALLS {
        let (call, end) = call(text, at, cx)?;
        calls.push(call);
        if let Some(end) = eat(text, end, "]") {
            return Some((calls, end));
        }
        at = eat(text, end, ",")?;
    }
    None
}

/// `NAME(key=literal, …)` of an offered tool. Gemma prints what its call gives back.
fn call(text: &str, at: usize, cx: &Cx) -> Option<(Written, usize)> {
    let printed = eat(text, at, "print(");
    let (name, end) = word(text, printed.unwrap_or(at))?;
    names::resolve(name, cx.tools)?;
    let start = end - name.len();
    let mut reader = Literals {
        text,
        at: eat(text, end, "(")?,
    };
    let mut arguments = Map::new();
    while !reader.eat(")") {
        let (key, end) = word(text, reader.at)?;
        reader.at = end;
        if !reader.eat("=") {
            return None;
        }
        let value = reader.value(DEPTH)?;
        if arguments.insert(key.to_owned(), value).is_some() {
            return None;
        }
        if !reader.eat(",") && eat(text, reader.at, ")").is_none() {
            return None;
        }
    }
    let raw = after(before(text, reader.at), start);
    let call = Written::tagged(name, Value::Object(arguments).to_string(), raw);
    if printed.is_some() && !reader.eat(")") {
        return None;
    }
    Some((call, reader.at))
}

/// Reads Python's literals.
struct Literals<'t> {
    text: &'t str,
    at: usize,
}

impl Literals<'_> {
    fn eat(&mut self, token: &str) -> bool {
        let end = eat(self.text, self.at, token);
        self.at = end.unwrap_or(self.at);
        end.is_some()
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        let depth = depth.checked_sub(1)?;
        if self.eat("[") {
            let mut items = Vec::new();
            while !self.eat("]") {
                items.push(self.value(depth)?);
                self.divider("]")?;
            }
            return Some(items.into());
        }
        if self.eat("{") {
            let mut object = Map::new();
            while !self.eat("}") {
                let key = self.string()?;
                if !self.eat(":") {
                    return None;
                }
                object.insert(key, self.value(depth)?);
                self.divider("}")?;
            }
            return Some(object.into());
        }
        self.string().map(Value::from).or_else(|| self.bare())
    }

    /// A comma, or the closer, which is left for the caller.
    fn divider(&mut self, closer: &str) -> Option<()> {
        (self.eat(",") || eat(self.text, self.at, closer).is_some()).then_some(())
    }

    fn bare(&mut self) -> Option<Value> {
        let rest = after(self.text, self.at).trim_start();
        let length = rest.find([',', ')', ']', '}'])?;
        let value = match before(rest, length).trim() {
            "True" | "true" => Value::Bool(true),
            "False" | "false" => Value::Bool(false),
            "None" | "null" => Value::Null,
            number => Value::Number(serde_json::from_str::<Number>(number).ok()?),
        };
        self.at = self.text.len() - rest.len() + length;
        Some(value)
    }

    /// A string in one of the four kinds of quotes, its escapes decoded.
    fn string(&mut self) -> Option<String> {
        let quote = ["\"\"\"", "'''", "\"", "'"]
            .into_iter()
            .find(|q| eat(self.text, self.at, q).is_some())?;
        let start = eat(self.text, self.at, quote)?;
        let rest = after(self.text, start);
        let mut out = String::new();
        let mut chars = rest.char_indices();
        while let Some((at, c)) = chars.next() {
            if after(rest, at).starts_with(quote) {
                self.at = start + at + quote.len();
                return Some(out);
            }
            match c {
                '\\' => escape(&mut chars, &mut out)?,
                '\n' if quote.len() == 1 => return None,
                c => out.push(c),
            }
        }
        None
    }
}

/// Decodes what follows a backslash. Python leaves an unknown escape as it stands.
fn escape(chars: &mut std::str::CharIndices, out: &mut String) -> Option<()> {
    let (_, c) = chars.next()?;
    let digits = match c {
        'x' => 2,
        'u' => 4,
        'U' => 8,
        c => {
            match c {
                '\n' => {}
                'n' => out.push('\n'),
                't' => out.push('\t'),
                'r' => out.push('\r'),
                '\\' | '\'' | '"' => out.push(c),
                c => out.extend(['\\', c]),
            }
            return Some(());
        }
    };
    let mut code = 0;
    for _ in 0..digits {
        let (_, digit) = chars.next()?;
        code = code * 16 + digit.to_digit(16)?;
    }
    out.push(char::from_u32(code)?);
    Some(())
}
