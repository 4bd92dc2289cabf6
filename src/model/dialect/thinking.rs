//! Thinking that stands in the text of a reply between tags.

use super::position::lines;
use super::{after, before};

/// Opening and closing tags, by model family.
pub(super) const TAGS: &[(&str, &str)] = &[
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("[THINK]", "[/THINK]"),
    ("<seed:think>", "</seed:think>"),
    ("<|channel>thought", "<channel|>"),
    ("<|channel|>analysis<|message|>", "<|end|>"),
];

/// Headers of harmony's last message, longer ones first. The answer follows.
pub(super) const HEADERS: [&str; 2] = [
    "<|start|>assistant<|channel|>final<|message|>",
    "<|channel|>final<|message|>",
];

/// How harmony's headers read when a server takes their tokens away.
const BARE: &str = "analysis";
const BARE_ENDS: [&str; 2] = ["assistantfinal", "assistantcommentary to="];

/// Splits thinking off a text: (thinking, what remains). `None`: there is none.
///
/// A text that begins with an opening tag is thinking up to the closing tag, or to its end when
/// that is missing. A closing tag without an opening one ends thinking that the prompt began. A
/// tag in a fence or in a span of code is not one.
pub fn split_thinking(text: &str) -> Option<(String, String)> {
    let mut thoughts = Vec::new();
    let mut rest = text;
    while let Some((thought, remains)) = split(rest, thoughts.is_empty()) {
        thoughts.push(thought.trim());
        rest = remains.trim_start();
    }
    thoughts.retain(|t| !t.is_empty());
    let found = rest.len() != text.len();
    found.then(|| (thoughts.join("\n"), rest.to_owned()))
}

fn split(text: &str, first: bool) -> Option<(&str, &str)> {
    let start = text.trim_start();
    if let Some(answer) = HEADERS.iter().find_map(|h| start.strip_prefix(h)) {
        let ends = ["<|return|>", "<|end|>"];
        let cut = ends
            .iter()
            .find_map(|end| answer.trim_end().strip_suffix(end));
        return Some(("", cut.unwrap_or(answer)));
    }
    if first
        && let Some(inside) = start.strip_prefix(BARE)
        && let Some((at, end)) = BARE_ENDS
            .iter()
            .find_map(|end| Some((inside.find(end)?, *end)))
    {
        // The header of a call belongs to the call.
        let from = if end == BARE_ENDS[0] {
            at + end.len()
        } else {
            at
        };
        return Some((before(inside, at), after(inside, from)));
    }
    for (open, close) in TAGS {
        if let Some(inside) = start.strip_prefix(open) {
            let at = inside.find(close).unwrap_or(inside.len());
            let remains = after(inside, at);
            return Some((
                before(inside, at),
                remains.strip_prefix(close).unwrap_or(""),
            ));
        }
    }
    if !first {
        return None;
    }
    TAGS.iter().find_map(|(open, close)| {
        let at = text.find(close)?;
        let thought = before(text, at);
        let lone = !thought.contains(open) && stands_free(text, at);
        lone.then(|| (thought, after(text, at + close.len())))
    })
}

/// True outside fences and spans of code.
fn stands_free(text: &str, at: usize) -> bool {
    let line = lines(text, 0).take_while(|l| l.start <= at).last();
    line.is_some_and(|line| {
        let lead = before(line.text, at - line.start);
        line.fence.is_none() && lead.matches('`').count().is_multiple_of(2)
    })
}
