//! The conversation: a list of neutral items that only grows.
//!
//! The one change that an item ever sees is elision, when old tool results give way to a line
//! each. It is made in one step, recorded, and shown.

use crate::harnesses::Start;
use crate::model::{Item, Part};
use serde::{Deserialize, Serialize};

/// Results below this many bytes are not worth a line of their own.
const SMALL_RESULT: usize = 400;
/// The results of the last so many replies are never elided: the model is working with them.
const FRESH_REPLIES: usize = 2;
/// A picture is counted as this many bytes, which is what servers take it for.
const IMAGE_BYTES: usize = 3_000;
/// Names, roles and markup around each item.
const ITEM_OVERHEAD: usize = 24;

/// The items of a session, each with its size.
#[derive(Debug, Clone, Default)]
pub struct Transcript {
    items: Vec<Item>,
    sizes: Vec<usize>,
    /// Which items answer what the model did. A harness without tools answers as the user.
    answers: Vec<bool>,
    bytes: usize,
}

/// Tool results that were replaced, by their place in the transcript.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Elision {
    /// Place and the line that stands there now.
    pub lines: Vec<(usize, String)>,
}

impl Transcript {
    /// Adds an item at the end.
    pub fn push(&mut self, item: Item) {
        let is_answer = matches!(item, Item::ToolResult(_));
        self.add(item, is_answer);
    }

    /// Adds an answer to what the model did, whatever form it has.
    pub fn push_answer(&mut self, item: Item) {
        self.add(item, true);
    }

    fn add(&mut self, item: Item, is_answer: bool) {
        let size = item_bytes(&item);
        self.bytes += size;
        self.sizes.push(size);
        self.answers.push(is_answer);
        self.items.push(item);
    }

    /// True for an item that answers what the model did.
    pub fn is_answer(&self, at: usize) -> bool {
        self.answers.get(at).copied().unwrap_or(false)
    }

    /// All items in order.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// Bytes of all items, markup included: what the token estimate is made from.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Replaces every large result but the newest ones by a line that says what it was.
    /// `None` when there is nothing to gain.
    pub fn elide(&mut self) -> Option<Elision> {
        let fresh = self
            .items
            .iter()
            .enumerate()
            .rev()
            .filter(|(_, item)| matches!(item, Item::Assistant(_)))
            .nth(FRESH_REPLIES - 1)
            .map_or(0, |(at, _)| at);
        let lines: Vec<(usize, String)> = self.items[..fresh]
            .iter()
            .enumerate()
            .filter(|(at, _)| self.answers[*at] && self.sizes[*at] > SMALL_RESULT)
            .map(|(at, item)| {
                let of = match item {
                    Item::ToolResult(r) => format!(" of {}", r.name),
                    _ => String::new(),
                };
                let size = self.sizes[at];
                (at, format!("[old result{of} left out to save room: {size} bytes; ask again if you need it]"))
            })
            .collect();
        if lines.is_empty() {
            return None;
        }
        let elision = Elision { lines };
        self.apply(&elision);
        Some(elision)
    }

    /// Makes the replacements of a recorded elision again.
    pub fn apply(&mut self, elision: &Elision) {
        for (at, line) in &elision.lines {
            let content = match self.items.get_mut(*at) {
                Some(Item::ToolResult(result)) => Some(&mut result.content),
                Some(Item::User { content }) if self.answers[*at] => Some(content),
                _ => None,
            };
            if let Some(content) = content {
                *content = vec![Part::text(line)];
                let size = item_bytes(&self.items[*at]);
                self.bytes = self.bytes - self.sizes[*at] + size;
                self.sizes[*at] = size;
            }
        }
    }
}

/// The size of what stands before the first word of the user, as the estimate counts it.
pub fn start_bytes(start: &Start) -> usize {
    start.system.len()
        + serde_json::to_string(&start.tools).map_or(0, |t| t.len())
        + start.opening.iter().map(item_bytes).sum::<usize>()
}

/// The size of one item as the estimate counts it.
pub fn item_bytes(item: &Item) -> usize {
    let parts = |content: &[Part]| {
        content
            .iter()
            .map(|p| p.as_text().map_or(IMAGE_BYTES, str::len))
            .sum::<usize>()
    };
    ITEM_OVERHEAD
        + match item {
            Item::Developer { text } => text.len(),
            Item::User { content } => parts(content),
            Item::Assistant(a) => {
                let calls: usize = a
                    .calls
                    .iter()
                    .map(|c| c.name.len() + c.arguments.len() + ITEM_OVERHEAD)
                    .sum();
                let thinking: usize = a.reasoning.iter().map(|r| r.text.len()).sum();
                a.text.len() + calls + thinking
            }
            Item::ToolResult(r) => parts(&r.content),
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Assistant, CallKind, ToolCall, ToolResult};

    fn exchange(t: &mut Transcript, n: usize, size: usize) {
        let call = ToolCall {
            id: format!("c{n}"),
            name: "read".into(),
            arguments: "{}".into(),
            kind: CallKind::Function,
            recovered: false,
        };
        t.push(Item::Assistant(Assistant {
            calls: vec![call],
            ..Assistant::default()
        }));
        t.push(Item::ToolResult(ToolResult {
            call_id: format!("c{n}"),
            name: "read".into(),
            content: vec![Part::text("x".repeat(size))],
            is_error: false,
            kind: CallKind::Function,
        }));
    }

    #[test]
    fn elision_takes_old_large_results_and_nothing_else() {
        let mut t = Transcript::default();
        t.push(Item::user("the task, which must stay"));
        exchange(&mut t, 1, 5_000);
        exchange(&mut t, 2, 100);
        exchange(&mut t, 3, 5_000);
        exchange(&mut t, 4, 5_000);
        let before = t.bytes();
        let elision = t.elide().expect("the first result is old and large");
        assert_eq!(
            elision.lines.iter().map(|(at, _)| *at).collect::<Vec<_>>(),
            [2]
        );
        assert_eq!(t.items()[0].text(), "the task, which must stay");
        assert!(t.items()[2].text().contains("old result of read"));
        assert_eq!(t.items()[8].text().len(), 5_000);
        assert!(t.bytes() < before - 4_000);
        assert_eq!(t.bytes(), t.items().iter().map(item_bytes).sum::<usize>());
        assert!(t.elide().is_none(), "a second pass has nothing to gain");
    }

    #[test]
    fn answers_of_a_harness_without_tools_are_elided_and_words_of_the_user_are_not() {
        let mut t = Transcript::default();
        t.push(Item::user("x".repeat(1_000)));
        for _ in 0..3 {
            t.push(Item::Assistant(Assistant {
                text: "```sh\nls\n```".into(),
                ..Assistant::default()
            }));
            t.push_answer(Item::user("y".repeat(1_000)));
        }
        let elision = t.elide().expect("one answer is old");
        assert_eq!(
            elision.lines.iter().map(|(at, _)| *at).collect::<Vec<_>>(),
            [2]
        );
    }
}
