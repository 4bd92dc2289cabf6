//! How a call begins and ends in a text that still comes.

use crate::model::dialect::{FORMS, after, glm};

/// How far after a tag its JSON may begin.
const HEAD: usize = 200;

/// The names of the tools on offer.
#[derive(Debug, Clone, Default)]
pub(super) struct Tools(pub(super) Vec<String>);

/// How a call ends.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Ends {
    /// With its JSON value.
    Json,
    /// With one of these texts.
    At(&'static [&'static str]),
    /// With this text.
    With(String),
}

impl Ends {
    fn of(ends: &'static [&'static str]) -> Self {
        if ends.is_empty() {
            Ends::Json
        } else {
            Ends::At(ends)
        }
    }

    /// Where the first of them ends in a text.
    pub(super) fn find(&self, text: &str) -> Option<usize> {
        let end = |end: &str| text.find(end).map(|at| at + end.len());
        match self {
            Ends::Json => None,
            Ends::At(ends) => ends.iter().filter_map(|e| end(e)).min(),
            Ends::With(text) => end(text),
        }
    }

    pub(super) fn longest(&self) -> usize {
        match self {
            Ends::Json => 0,
            Ends::At(ends) => ends.iter().map(|e| e.len()).max().unwrap_or(0),
            Ends::With(text) => text.len(),
        }
    }
}

/// The first thing in a text that is not plainly text.
#[derive(Debug, PartialEq)]
pub(super) enum Spot {
    None,
    /// It takes more text to tell.
    Unclear(usize),
    /// A call, where its payload begins, and how it ends.
    Call(usize, usize, Ends),
    /// A tag that begins thinking, and its end.
    Think(usize, usize),
    /// A lone tag that ends thinking.
    ThinkEnd(usize, usize),
}

/// What follows the opening of a call.
pub(super) enum Payload {
    Unclear,
    At(usize, Ends),
    None,
}

impl Payload {
    /// As the verdict on a place where a call would begin.
    pub(super) fn spot(self) -> Spot {
        match self {
            Payload::Unclear => Spot::Unclear(0),
            Payload::At(at, ends) => Spot::Call(0, at, ends),
            Payload::None => Spot::None,
        }
    }
}

impl Tools {
    /// What an opener of some form at the start of `rest` begins.
    pub(super) fn opener(&self, rest: &str) -> Spot {
        let mut unclear = false;
        for form in FORMS {
            for opener in form.openers {
                if rest.starts_with(opener) {
                    let outer = form.name == "tagged-json";
                    return match outer {
                        true => self.payload(rest, opener.len()),
                        false => value_after(rest, opener.len(), Ends::of(form.ends)),
                    }
                    .spot();
                }
                unclear |= opener.starts_with(rest);
            }
        }
        if let Some(inner) = rest.strip_prefix('<') {
            for name in &self.0 {
                if inner
                    .strip_prefix(name.as_str())
                    .is_some_and(|r| r.starts_with('>'))
                {
                    return Spot::Call(0, name.len() + 2, Ends::With(format!("</{name}>")));
                }
                unclear |= name.starts_with(inner) || inner == name;
            }
        }
        if unclear {
            Spot::Unclear(0)
        } else {
            Spot::None
        }
    }

    /// Looks from `from` on, past white space, a fence and tags, for what a call consists of.
    pub(super) fn payload(&self, text: &str, from: usize) -> Payload {
        let mut at = from;
        loop {
            let rest = after(text, at);
            at += rest.len() - rest.trim_start().len();
            let rest = rest.trim_start();
            if rest.is_empty() || rest.len() < 3 && "```".starts_with(rest) {
                return Payload::Unclear;
            }
            if let Some(inner) = rest.strip_prefix("```") {
                at += 3 + inner.len()
                    - inner
                        .trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_')
                        .len();
                continue;
            }
            if rest.starts_with('<') || rest.starts_with("[T") {
                return match self.opener(rest) {
                    Spot::Call(_, payload, ends) => Payload::At(at + payload, ends),
                    Spot::Unclear(_) => Payload::Unclear,
                    _ => Payload::None,
                };
            }
            if from > 0 && rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
                return in_tag(rest, at);
            }
            let next = after(rest, 1).trim_start().chars().next();
            return match (rest.chars().next(), next) {
                (Some('{' | '['), None) => Payload::Unclear,
                (Some('{'), Some(c)) if "\"'{“".contains(c) || c.is_alphabetic() => {
                    Payload::At(at, Ends::Json)
                }
                (Some('['), Some('{')) => Payload::At(at, Ends::Json),
                (Some('['), Some(_)) => self.list(after(rest, 1).trim_start(), at),
                _ => Payload::None,
            };
        }
    }

    /// The rest of a list that begins with a call in Python's syntax.
    fn list(&self, inner: &str, at: usize) -> Payload {
        for name in &self.0 {
            if inner
                .strip_prefix(name.as_str())
                .is_some_and(|r| r.starts_with('('))
            {
                return Payload::At(at, Ends::At(&[")]"]));
            }
            if name.starts_with(inner) {
                return Payload::Unclear;
            }
        }
        Payload::None
    }
}

/// A word after `<tool_call>`: GLM's name of a tool, or prose.
fn in_tag(rest: &str, at: usize) -> Payload {
    let part = |c: char| c.is_ascii_alphanumeric() || "_-.:".contains(c);
    let tail = rest.trim_start_matches(part).trim_start();
    let follows = ["<arg_key>", "</arg_value>", glm::CLOSE];
    if follows.iter().any(|t| tail.starts_with(t)) {
        Payload::At(at, Ends::At(glm::FORM.ends))
    } else if follows.iter().any(|t| t.starts_with(tail)) {
        Payload::Unclear
    } else {
        Payload::None
    }
}

/// The payload after an opener at which a call surely begins.
fn value_after(text: &str, from: usize, ends: Ends) -> Payload {
    if ends != Ends::Json {
        return Payload::At(from, ends);
    }
    let head = after(text, from);
    let array = head.trim_start().strip_prefix('[').map(str::trim_start);
    if array.is_some_and(|items| items.starts_with('{')) {
        return Payload::At(from + head.len() - head.trim_start().len(), Ends::Json);
    }
    match head.find('{') {
        Some(at) if at <= HEAD => Payload::At(from + at, Ends::Json),
        None if head.len() <= HEAD => Payload::Unclear,
        _ => Payload::None,
    }
}
