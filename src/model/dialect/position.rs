//! Where a call stands in a text, and what that says: a call that is meant, or one that is shown.

use super::{Cx, Group, Surroundings, Trouble, Written, after, before};
use crate::model::arguments::keys;
use crate::words;
use serde_json::Value;

/// Labels of a fence that may hold a call. In a fence of any other language it is an example.
const CALL_FENCES: &[&str] = &[
    "",
    "json",
    "jsonc",
    "json5",
    "xml",
    "tool",
    "tool_call",
    "tool_calls",
    "tool_use",
    "tool_code",
    "function",
    "function_call",
];

/// Tags that end a call.
pub(super) const CLOSERS: [&str; 8] = [
    "</tool_call>",
    "</tool_calls>",
    "</tools>",
    "</function_call>",
    "</function_calls>",
    "</function>",
    "</toolcall>",
    "[END_TOOL_REQUEST]",
];

/// Tokens that end a message and that some servers let through.
pub(super) const ENDS: [&str; 4] = ["<|im_end|>", "<|endoftext|>", "<|eot_id|>", "</s>"];

/// Words near a call that make it an example.
const SIGNS: &[&str] = &[
    "e.g.",
    "for example",
    "for instance",
    "an example",
    "you could call",
    "you can call",
    "you would call",
    "would look like",
    "looks like",
    "like this",
    "format:",
    "the format",
    "this format",
    "following format",
    "syntax",
    "schema",
];

/// What a person says who wants to see a call or data, not an action.
const ASKED_TO_SHOW: &[&str] = &[
    "example call",
    "example of a call",
    "example of a tool",
    "example tool",
    "example json",
    "json example",
    "api example",
    "sample call",
    "show me a tool call",
    "show me the tool call",
    "tool call format",
    "tool call look",
    "show me a function call",
    "function call look",
    "answer in json",
    "answer with json",
    "reply in json",
    "reply with json",
    "respond in json",
    "respond with json",
    "as a json object",
    "json only",
    "only json",
];

/// Words that, next to one of [`SHOWING`], ask for a call that is not run. Alone they speak of
/// something else: "fix it, but do not run the tests".
const NOT_TO_RUN: &[&str] = &[
    "don't run",
    "do not run",
    "dont run",
    "without running",
    "don't execute",
    "do not execute",
];
const SHOWING: &[&str] = &["example", "sample", "show me", " call "];

/// Parts of values that stand for something still to be filled in.
const PLACEHOLDERS: &[&str] = &["path/to/", "your_file", "your-file", "example.com"];

/// The longest beginning of a call that no form can recognise yet, in bytes.
const TORN: usize = 80;

/// How far before a call its signs are looked for, in bytes.
const NEAR: usize = 240;

/// The most sentences of a lead-in.
const LEAD_IN: usize = 2;

/// The verdict on a group of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// Meant to run.
    Strong,
    /// Only good enough for what changes nothing.
    Weak,
    /// More prose follows it.
    Surrounded,
    /// An example or a quotation.
    Text,
}

/// Judges a group by what stands around it.
pub(super) fn judge(group: &Group, text: &str, cx: &Cx, around: &Surroundings) -> Standing {
    let lead = before(text, group.span.start);
    let tail = after(text, group.span.end).trim();
    let between = group.between.iter().filter_map(|r| text.get(r.clone()));
    let prose = between.chain([words::tail(lead, NEAR)]);
    let user = around.user_texts.last().copied().unwrap_or_default();
    let calls = || group.pieces.iter().flat_map(|piece| piece.calls.iter());
    if prose.clone().any(|p| has_any(p, SIGNS))
        || group
            .between
            .iter()
            .any(|r| is_or(text.get(r.clone()).unwrap_or_default()))
        || has_any(words::head(tail, NEAR / 2), SIGNS)
        || has_any(user, ASKED_TO_SHOW)
        || has_any(user, NOT_TO_RUN) && has_any(user, SHOWING)
        || calls().any(|call| has_placeholder(&call.arguments))
        || is_quoted(calls(), around)
    {
        return Standing::Text;
    }
    // Where the stream was cut, the beginning of a next copy may hang on.
    let begun = tail.find(['<', '`', '{', '[']).unwrap_or(tail.len());
    let torn = !cx.whole && is_lead_in(before(tail, begun)) && tail.len() - begun <= TORN;
    if !tail.is_empty() && !torn {
        return Standing::Surrounded;
    }
    if lead.trim().is_empty() {
        return Standing::Strong;
    }
    let tagged = group.pieces.iter().all(|piece| piece.tagged);
    let long = if tagged {
        // Where such tags are the subject of the work, they occur in prose.
        speaks_of_tags(around)
    } else {
        !is_lead_in(lead)
    };
    let guessed = calls().any(|call| call.guessed);
    let broken = group
        .pieces
        .iter()
        .any(|piece| matches!(piece.trouble, Some(Trouble::Unreadable(_))));
    if long || guessed || broken && !tagged {
        Standing::Weak
    } else {
        Standing::Strong
    }
}

/// True for at most two sentences.
pub(super) fn is_lead_in(prose: &str) -> bool {
    let mut sentences = 0;
    for line in prose.lines() {
        let mut words = false;
        let mut chars = line.chars().peekable();
        while let Some(c) = chars.next() {
            words |= c.is_alphanumeric();
            // A dot inside `hello.py` ends no sentence; the end of a line ends one.
            let next = chars.peek();
            let ends =
                matches!(c, '.' | '!' | '?' | ':') && next.is_some_and(|n| n.is_whitespace());
            if words && (ends || next.is_none()) {
                sentences += 1;
                words = false;
            }
        }
    }
    sentences <= LEAD_IN && prose.len() <= 600
}

fn is_or(prose: &str) -> bool {
    let first = prose.split_whitespace().next().unwrap_or_default();
    let first = first.trim_matches(|c: char| !c.is_alphanumeric());
    ["or", "alternatively", "otherwise"]
        .iter()
        .any(|word| first.eq_ignore_ascii_case(word))
}

fn has_any(text: &str, words: &[&str]) -> bool {
    let text = text.to_lowercase();
    words.iter().any(|word| text.contains(word))
}

/// True when a short value is still to be filled in: `<path>`, `...`, `path/to/file`. Text of a
/// file may hold such words.
fn has_placeholder(arguments: &str) -> bool {
    let Ok(Value::Object(object)) = serde_json::from_str::<Value>(arguments) else {
        return false;
    };
    object.iter().any(|(key, value)| {
        let text = value.as_str().unwrap_or_default().trim();
        let tag = text.strip_prefix('<').and_then(|t| t.strip_suffix('>'));
        let word = |t: &str| t.chars().all(|c| c.is_alphanumeric() || " _-".contains(c));
        let short = text.len() <= 120 && !text.contains('\n') && !keys::is_file_text(key);
        matches!(text, "..." | "…")
            || short && (tag.is_some_and(word) || PLACEHOLDERS.iter().any(|p| text.contains(p)))
    })
}

/// True when the same call stands in the user's words or in a tool result: the model quotes it,
/// or a file tries to make it act.
fn is_quoted<'c>(calls: impl Iterator<Item = &'c Written>, around: &Surroundings) -> bool {
    let texts = around.user_texts.iter().chain(around.tool_texts);
    let texts = texts.map(|text| squash(text)).collect::<Vec<_>>();
    calls
        .map(|call| squash(&call.raw))
        .any(|call| call.len() > 8 && texts.iter().any(|text| text.contains(&call)))
}

/// A text without blanks, line ends and escapes of such, so that another layout is still the same.
fn squash(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\\' {
            chars.next_if(|c| matches!(c, 'n' | 't' | 'r'));
        } else if !c.is_whitespace() {
            out.push(c);
        }
    }
    out
}

fn speaks_of_tags(around: &Surroundings) -> bool {
    around
        .tool_texts
        .iter()
        .any(|text| text.contains("<tool_call>") || text.contains("<function="))
}

/// A line of a text with what it is part of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'t> {
    pub start: usize,
    pub text: &'t str,
    /// The fence that it is in: where that begins, and its label.
    pub fence: Option<(usize, &'t str)>,
    /// It is the first line of a fence.
    pub opens: bool,
}

/// The lines of a text from a place on that is outside any fence.
pub(super) fn lines(text: &str, from: usize) -> impl Iterator<Item = Line<'_>> {
    let mut fence: Option<(usize, &str)> = None;
    let mut start = from;
    after(text, from).split_inclusive('\n').map(move |line| {
        let at = start;
        start += line.len();
        let mut this = Line {
            start: at,
            text: line,
            fence,
            opens: false,
        };
        if let Some(label) = line.trim().strip_prefix("```") {
            match fence {
                Some(_) if label.trim_matches('`').is_empty() => fence = None,
                Some(_) => {}
                // Opened and closed on one line, it is a span of code.
                None if label.contains('`') => {}
                None => {
                    fence = Some((at, label.trim()));
                    this.fence = fence;
                    this.opens = true;
                }
            }
        }
        this
    })
}

/// True for the label of a fence that may hold a call.
pub(super) fn may_hold_call(label: &str) -> bool {
    CALL_FENCES.iter().any(|l| label.eq_ignore_ascii_case(l))
}

/// A tag that begins a call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spot {
    /// Where the call begins: at the fence, when the tag is the first thing in it.
    pub start: usize,
    /// The end of the tag.
    pub end: usize,
    pub opener: &'static str,
    /// It stands in a fence.
    pub fenced: bool,
}

/// The next of these tags that stands where a call may stand: not in a span of code, a quotation,
/// a diff, or a fence of another language.
pub(super) fn tag(text: &str, from: usize, openers: &[&'static str]) -> Option<Spot> {
    lines(text, from).find_map(|line| {
        let fence = line.fence.filter(|_| !line.opens);
        if line.opens || fence.is_some_and(|(_, label)| !may_hold_call(label)) {
            return None;
        }
        let (at, opener) = openers
            .iter()
            .filter_map(|o| Some((line.text.find(o)?, *o)))
            .min()?;
        let lead = before(line.text, at);
        if lead.matches('`').count() % 2 == 1 || lead.trim_start().starts_with(['>', '+', '-']) {
            return None;
        }
        let at = line.start + at;
        let first = fence.is_some_and(|(start, label)| {
            let inside = after(before(text, at), start);
            inside.trim_start_matches('`').trim() == label
        });
        Some(Spot {
            start: fence.filter(|_| first).map_or(at, |(start, _)| start),
            end: at + opener.len(),
            opener,
            fenced: fence.is_some(),
        })
    })
}

/// Where a tag that directly precedes `at` begins, if it is one of these.
pub(super) fn outer(text: &str, at: usize, openers: &[&str]) -> Option<usize> {
    let lead = before(text, at).trim_end();
    let opener = openers.iter().find(|o| lead.ends_with(**o))?;
    Some(lead.len() - opener.len())
}

/// What follows a JSON value at `at`, past white space and a surplus closer.
pub(super) fn after_json(text: &str, at: usize) -> &str {
    after(text, at).trim_start_matches(|c: char| c.is_whitespace() || "}];,".contains(c))
}

/// The end of what belongs to a call that ends at `at`: closing tags, separators, the end of its
/// fence, end-of-message tokens.
pub(super) fn skip_noise(text: &str, at: usize, fenced: bool) -> usize {
    let mut at = at;
    let mut fence = fenced;
    loop {
        let rest = after(text, at);
        let blank = rest.len() - rest.trim_start().len();
        let rest = rest.trim_start();
        let token = CLOSERS
            .iter()
            .chain(&ENDS)
            .find(|token| rest.starts_with(**token))
            .map(|token| token.len())
            .or_else(|| rest.starts_with([';', ',', '}', ']']).then_some(1))
            .or_else(|| {
                rest.starts_with("```")
                    .then(|| std::mem::take(&mut fence).then_some(3))?
            });
        match token {
            Some(length) => at += blank + length,
            None => return at,
        }
    }
}
