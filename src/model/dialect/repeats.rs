//! Noticing while a reply streams that the model writes the same call again and again.

use super::{Cx, FORMS, Form, glm, shape};
use crate::model::arguments::json;
use crate::model::{Delta, ToolSpec};
use std::collections::{BTreeMap, BTreeSet};

/// The characters with which openers end.
const OPENER_ENDS: &str = "=>[｜|;";

/// Calls without a new one among them that make a circle: as many as there are different ones, within these.
const SHORT_ROUND: usize = 2;
const LONG_ROUND: usize = 4;

/// A JSON value that grows character by character: where it ends.
#[derive(Debug, Default, Clone)]
pub(super) struct Braces {
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl Braces {
    /// Takes the next character; true when it closes the value.
    pub(super) fn push(&mut self, c: char) -> bool {
        if self.in_string {
            match c {
                _ if self.escaped => self.escaped = false,
                '\\' => self.escaped = true,
                '"' => self.in_string = false,
                _ => {}
            }
            return false;
        }
        match c {
            '"' if self.depth > 0 => self.in_string = true,
            '{' | '[' => self.depth += 1,
            '}' | ']' => {
                self.depth = self.depth.saturating_sub(1);
                return self.depth == 0;
            }
            _ => {}
        }
        false
    }
}

/// Counts how often the last complete call of a growing reply was written in a row, whether as
/// text or as structured calls. At the third copy the stream should be cut: a small model goes
/// on until its token limit.
pub struct Repeats<'t> {
    tools: &'t [ToolSpec],
    /// Text since the last complete call.
    text: String,
    /// Where a JSON value begins in `text`.
    json: Option<(usize, Braces)>,
    /// `text` holds the beginning of a call whose form ends with one of these texts.
    ends: Option<&'static [&'static str]>,
    structured: BTreeMap<usize, (String, String, Braces)>,
    last: Option<(String, String)>,
    copies: usize,
    /// The different calls of the reply.
    seen: BTreeSet<(String, String)>,
    /// Calls since the last new one.
    stale: usize,
    calls: usize,
}

impl<'t> Repeats<'t> {
    /// For a reply to a request that offered these tools.
    pub fn new(tools: &'t [ToolSpec]) -> Self {
        Repeats {
            tools,
            text: String::new(),
            json: None,
            ends: None,
            structured: BTreeMap::new(),
            last: None,
            copies: 0,
            seen: BTreeSet::new(),
            stale: 0,
            calls: 0,
        }
    }

    /// Takes the next delta and gives the number of identical copies so far: 0 before the first
    /// complete call.
    pub fn push(&mut self, delta: &Delta) -> usize {
        match delta {
            Delta::Text(text) if !self.tools.is_empty() => {
                text.chars().for_each(|c| self.character(c));
            }
            Delta::CallStart { index, name } => {
                let call = (name.clone(), String::new(), Braces::default());
                self.structured.insert(*index, call);
            }
            Delta::CallArguments { index, text } => self.arguments(*index, text),
            Delta::Retry { .. } => *self = Repeats::new(self.tools),
            _ => {}
        }
        self.copies
    }

    /// The reply goes round in a circle of calls: the latest ones were all made in it before. A test
    /// that is run again after each of several edits is no circle.
    pub fn goes_round(&self) -> bool {
        self.stale >= self.seen.len().clamp(SHORT_ROUND, LONG_ROUND)
    }

    /// The complete calls of the reply so far.
    pub fn calls(&self) -> usize {
        self.calls
    }

    fn arguments(&mut self, index: usize, text: &str) {
        let Some((name, whole, braces)) = self.structured.get_mut(&index) else {
            return;
        };
        let mut complete = Vec::new();
        for c in text.chars() {
            whole.push(c);
            if braces.push(c) {
                complete.push((name.clone(), std::mem::take(whole)));
            }
        }
        for (name, arguments) in complete {
            self.count(name, &arguments);
        }
    }

    fn count(&mut self, name: String, arguments: &str) {
        let arguments = match json::read(arguments.trim(), false) {
            Some(read) => read.value.to_string(),
            None => arguments.to_owned(),
        };
        self.calls += 1;
        let call = (name, arguments);
        self.stale = match self.seen.contains(&call) {
            true => self.stale + 1,
            false => 0,
        };
        self.seen.insert(call.clone());
        let call = Some(call);
        self.copies = if self.last == call {
            self.copies + 1
        } else {
            1
        };
        self.last = call;
    }

    fn character(&mut self, c: char) {
        let begins = matches!(c, '{' | '[') && self.json.is_none() && self.ends.is_none();
        if begins && self.at_beginning() {
            self.json = Some((self.text.len(), Braces::default()));
        }
        self.text.push(c);
        if let Some(ends) = self.ends {
            if ends.iter().any(|end| self.text.ends_with(end)) {
                self.block();
            }
            return;
        }
        if OPENER_ENDS.contains(c)
            && let Some(ends) = self.opened()
        {
            self.ends = Some(ends);
            self.json = None;
            return;
        }
        if c == '>' && self.text.ends_with(glm::CLOSE) {
            self.block();
            return;
        }
        if c == '`' && self.text.ends_with("\n```") {
            self.json = None;
            // The end of a fence must not look like the beginning of the next one.
            if self.text.trim() == "```" {
                self.text.clear();
            }
            return;
        }
        let closed = self.json.as_mut().is_some_and(|(_, braces)| braces.push(c));
        if closed && let Some((start, _)) = self.json.take() {
            self.value(start);
        }
    }

    /// How the call ends whose opener `text` ends with.
    fn opened(&self) -> Option<&'static [&'static str]> {
        let mut forms = FORMS.iter().filter(|form| !form.ends.is_empty());
        let opened = |form: &&&Form| form.openers.iter().any(|o| self.text.ends_with(o));
        forms.find(opened).map(|form| form.ends)
    }

    /// True where a value may begin: at the start of a line, or after a tag.
    fn at_beginning(&self) -> bool {
        let before = self.text.trim_end_matches([' ', '\t']);
        before.is_empty() || before.ends_with(['\n', '>', '}', ']', ';', ','])
    }

    fn value(&mut self, start: usize) {
        let Some(read) = json::read(self.text.get(start..).unwrap_or_default(), false) else {
            // Something else in brackets, for example a tag.
            return;
        };
        match shape::calls(&read.value, self.tools) {
            Some(calls) => {
                for call in calls {
                    self.count(call.name, &call.arguments);
                }
                self.text.clear();
            }
            // The arguments of a call whose name stands before them.
            None => self.block(),
        }
    }

    fn block(&mut self) {
        let cx = Cx {
            tools: self.tools,
            whole: true,
        };
        let calls = FORMS
            .iter()
            .filter_map(|form| (form.find)(&self.text, 0, &cx))
            .min_by_key(|piece| piece.span.start)
            .map(|piece| piece.calls);
        for call in calls.unwrap_or_default() {
            self.count(call.name, &call.arguments);
        }
        self.text.clear();
        self.ends = None;
    }
}
