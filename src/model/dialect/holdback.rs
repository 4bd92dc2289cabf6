//! What of a streaming reply may be shown already.

use super::position::{self, CLOSERS, ENDS, FURTHER_CLOSERS};
use super::repeats::Braces;
use super::{FORMS, after, before, glm, pythonic, thinking};
use crate::model::ToolSpec;

/// How much prose after a call is held until it is clear that the call was only shown. A short
/// lead-in to a next call may stand there.
const PROSE: usize = 240;

/// How far after a tag its JSON may begin.
const HEAD: usize = 200;

/// A line of a fence longer than this is no fence.
const FENCE_LINE: usize = 40;

/// Holds back text that may be a call or a tag of thinking, and lets go of it when it turns out
/// to be text.
#[derive(Debug)]
pub struct Holdback {
    tools: Tools,
    held: String,
    place: Place,
    state: State,
    /// Something visible was let through.
    begun: bool,
    /// White space after thinking is dropped.
    trim: bool,
}

/// Where in its line and fence the next character stands.
#[derive(Debug, Clone, Default)]
struct Place {
    /// The beginning of the line, at most [`FENCE_LINE`] bytes and a character.
    line: String,
    /// An odd number of backticks stood in the line: a span of code.
    in_code: bool,
    /// In a fence; true when it may hold a call.
    fence: Option<bool>,
}

/// The names of the tools on offer.
#[derive(Debug, Clone, Default)]
struct Tools(Vec<String>);

/// How a call ends.
#[derive(Debug, Clone, PartialEq)]
enum Ends {
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
    fn find(&self, text: &str) -> Option<usize> {
        let end = |end: &str| text.find(end).map(|at| at + end.len());
        match self {
            Ends::Json => None,
            Ends::At(ends) => ends.iter().filter_map(|e| end(e)).min(),
            Ends::With(text) => end(text),
        }
    }

    fn longest(&self) -> usize {
        match self {
            Ends::Json => 0,
            Ends::At(ends) => ends.iter().map(|e| e.len()).max().unwrap_or(0),
            Ends::With(text) => text.len(),
        }
    }
}

#[derive(Debug)]
enum State {
    Text,
    Thinking,
    /// A JSON value from `held[at]` on, read up to `seen`.
    Json {
        seen: usize,
        braces: Braces,
    },
    /// A call with tags around its values, read up to `seen`.
    Tags {
        seen: usize,
        ends: Ends,
    },
    /// The call ended at `held[at]`.
    After {
        at: usize,
    },
}

/// The first thing in a text that is not plainly text.
#[derive(Debug, PartialEq)]
enum Spot {
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
enum Payload {
    Unclear,
    At(usize, Ends),
    None,
}

impl Payload {
    /// As the verdict on a place where a call would begin.
    fn spot(self) -> Spot {
        match self {
            Payload::Unclear => Spot::Unclear(0),
            Payload::At(at, ends) => Spot::Call(0, at, ends),
            Payload::None => Spot::None,
        }
    }
}

impl Holdback {
    /// For a reply to a request that offered these tools. Without any, only tags of thinking are
    /// held back.
    pub fn new(tools: &[ToolSpec]) -> Self {
        Holdback {
            tools: Tools(tools.iter().map(|t| t.name.clone()).collect()),
            held: String::new(),
            place: Place::default(),
            state: State::Text,
            begun: false,
            trim: false,
        }
    }

    /// Begins anew: the reply is sent again.
    pub fn reset(&mut self) {
        let tools = std::mem::take(&mut self.tools);
        *self = Holdback {
            tools,
            ..Holdback::new(&[])
        };
    }

    /// Takes the next piece of the reply and gives what may be shown now.
    pub fn push(&mut self, text: &str) -> String {
        self.held.push_str(text);
        let mut shown = String::new();
        while self.step(&mut shown) {}
        shown
    }

    /// Ends the reply and gives what was held. To be called only when no call was found in the
    /// reply: then it was text.
    pub fn finish(&mut self) -> String {
        let held = std::mem::take(&mut self.held);
        match std::mem::replace(&mut self.state, State::Text) {
            State::Thinking => String::new(),
            _ => held,
        }
    }

    /// One transition; false when more text is needed.
    fn step(&mut self, shown: &mut String) -> bool {
        match &mut self.state {
            State::Text => self.text(shown),
            State::Thinking => self.thinking(),
            State::Json { seen, braces } => {
                let from = *seen;
                for (at, c) in after(&self.held, from).char_indices() {
                    if braces.push(c) {
                        self.state = State::After { at: from + at + 1 };
                        return true;
                    }
                }
                *seen = self.held.len();
                false
            }
            State::Tags { seen, ends } => match ends.find(after(&self.held, *seen)) {
                Some(at) => {
                    let at = *seen + at;
                    self.state = State::After { at };
                    true
                }
                None => {
                    let from = self.held.len().saturating_sub(ends.longest());
                    *seen = self.held.floor_char_boundary(from).max(*seen);
                    false
                }
            },
            State::After { at } => {
                let at = *at;
                self.after(at, shown)
            }
        }
    }

    fn text(&mut self, shown: &mut String) -> bool {
        if self.trim {
            let blank = self.held.len() - self.held.trim_start().len();
            self.held.drain(..blank);
            self.trim = self.held.is_empty();
        }
        let spot = self.place.spot(&self.held, &self.tools, !self.begun);
        match spot {
            Spot::None => {
                self.release(self.held.len(), shown);
                false
            }
            Spot::Unclear(at) => {
                self.release(at, shown);
                false
            }
            Spot::Call(at, payload, ends) => {
                self.release(at, shown);
                self.enter(payload - at, ends);
                true
            }
            Spot::Think(at, end) => {
                self.release(at, shown);
                self.held.drain(..end - at);
                self.state = State::Thinking;
                true
            }
            Spot::ThinkEnd(at, end) => {
                self.release(at, shown);
                self.held.drain(..end - at);
                self.trim = true;
                true
            }
        }
    }

    /// Begins to hold a call whose payload begins at `seen`.
    fn enter(&mut self, seen: usize, ends: Ends) {
        self.state = match ends {
            Ends::Json => State::Json {
                seen,
                braces: Braces::default(),
            },
            ends => State::Tags { seen, ends },
        };
    }

    fn thinking(&mut self) -> bool {
        let close = thinking::TAGS
            .iter()
            .filter_map(|(_, close)| Some((self.held.find(close)?, close.len())))
            .min();
        match close {
            Some((at, length)) => {
                self.held.drain(..at + length);
                self.state = State::Text;
                self.trim = true;
                true
            }
            None => {
                // Only the beginning of a closing tag can still matter.
                let keep = self.held.len().saturating_sub(16);
                self.held.drain(..self.held.floor_char_boundary(keep));
                false
            }
        }
    }

    /// After a call: another one may follow, a little prose before it too; more prose makes text
    /// of everything held.
    fn after(&mut self, at: usize, shown: &mut String) -> bool {
        let end = position::skip_noise(&self.held, at, true);
        let rest = after(&self.held, end);
        match Place::default().spot(rest, &self.tools, false) {
            Spot::Call(_, payload, ends) => {
                self.enter(end + payload, ends);
                true
            }
            _ if position::is_lead_in(rest) && rest.len() <= PROSE => false,
            _ => {
                self.release(end, shown);
                self.state = State::Text;
                true
            }
        }
    }

    fn release(&mut self, upto: usize, shown: &mut String) {
        let text = before(&self.held, upto);
        self.place.feed(text);
        self.begun |= !text.trim().is_empty();
        shown.push_str(text);
        self.held.drain(..upto);
    }
}

impl Place {
    fn feed(&mut self, text: &str) {
        for c in text.chars() {
            if c != '\n' {
                self.in_code ^= c == '`';
                if self.line.len() <= FENCE_LINE {
                    self.line.push(c);
                }
                continue;
            }
            if let Some(label) = self.line.trim().strip_prefix("```") {
                self.fence = match self.fence {
                    Some(_) if label.trim_matches('`').is_empty() => None,
                    None if !label.contains('`') => Some(position::may_hold_call(label.trim())),
                    same => same,
                };
            }
            self.line.clear();
            self.in_code = false;
        }
    }

    /// Looks for the first thing that is not plainly text. `start`: nothing was shown yet.
    fn spot(&self, text: &str, tools: &Tools, start: bool) -> Spot {
        let mut place = self.clone();
        let mut start = start;
        for (at, c) in text.char_indices() {
            let rest = after(text, at);
            let spot = place.look(rest, c, tools, start);
            match spot {
                Spot::None => {}
                Spot::Unclear(_) => return Spot::Unclear(at),
                Spot::Call(_, payload, ends) => return Spot::Call(at, at + payload, ends),
                Spot::Think(_, end) => return Spot::Think(at, at + end),
                Spot::ThinkEnd(_, end) => return Spot::ThinkEnd(at, at + end),
            }
            start &= c.is_whitespace();
            place.feed(before(rest, c.len_utf8()));
        }
        Spot::None
    }

    /// What begins exactly here.
    fn look(&self, rest: &str, c: char, tools: &Tools, start: bool) -> Spot {
        let fresh = self.line.trim().is_empty();
        let special = "`<[{]&".contains(c) || fresh && c.is_ascii_alphabetic();
        if !special || self.in_code || self.fence == Some(false) {
            return Spot::None;
        }
        if c == '`' {
            return if fresh && self.fence.is_none() && !tools.0.is_empty() {
                self.fence_at(rest, tools)
            } else {
                Spot::None
            };
        }
        if self.fence.is_none() {
            for (open, close) in thinking::TAGS {
                if start && rest.starts_with(open) {
                    return Spot::Think(0, open.len());
                }
                if rest.starts_with(close) {
                    return Spot::ThinkEnd(0, close.len());
                }
                if start && open.starts_with(rest) || close.starts_with(rest) {
                    return Spot::Unclear(0);
                }
            }
            if let Some(header) = thinking::HEADERS.iter().find(|h| rest.starts_with(**h)) {
                return Spot::ThinkEnd(0, header.len());
            }
        }
        let quoted = self.line.trim_start().starts_with(['>', '+', '-']);
        if tools.0.is_empty() || quoted {
            return Spot::None;
        }
        let spot = tools.opener(rest);
        if spot != Spot::None {
            return spot;
        }
        // End tokens of a message are never shown.
        if !c.is_ascii_alphabetic()
            && CLOSERS
                .iter()
                .chain(&FURTHER_CLOSERS)
                .chain(&ENDS)
                .any(|t| t.starts_with(rest) && t.len() > rest.len())
        {
            return Spot::Unclear(0);
        }
        if fresh && self.fence.is_none() && matches!(c, '{' | '[') {
            return tools.payload(rest, 0).spot();
        }
        Spot::None
    }

    /// A fence that may hold a call.
    fn fence_at(&self, rest: &str, tools: &Tools) -> Spot {
        if "```".starts_with(rest) {
            return Spot::Unclear(0);
        }
        let Some(label) = rest.strip_prefix("```") else {
            return Spot::None;
        };
        let Some((label, body)) = label.split_once('\n') else {
            return if rest.len() <= FENCE_LINE {
                Spot::Unclear(0)
            } else {
                Spot::None
            };
        };
        if label.trim() == pythonic::FENCE && !body.trim_start().starts_with(['{', '[']) {
            return Spot::Call(0, 4 + label.len(), Ends::At(&["\n```"]));
        }
        if !position::may_hold_call(label.trim()) {
            return Spot::None;
        }
        tools.payload(rest, 4 + label.len()).spot()
    }
}

impl Tools {
    /// What an opener of some form at the start of `rest` begins.
    fn opener(&self, rest: &str) -> Spot {
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
    fn payload(&self, text: &str, from: usize) -> Payload {
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
