//! The conversation: a list of neutral items that only grows.
//!
//! The one change that an item ever sees is elision, when old tool results give way to a line
//! each. It is made in one step, recorded, and shown.

use super::tokens::Size;
use crate::model::{Item, Part};
use serde::{Deserialize, Serialize};

/// Results below this many bytes are not worth a line of their own.
const SMALL_RESULT: usize = 400;
/// The results of the last so many replies are never elided: the model is working with them.
pub const FRESH_REPLIES: usize = 2;
/// A picture is counted as this much, which is what servers take it for.
const IMAGE: Size = Size::new(3_000, 800);
/// Names, roles and markup around each item, and around each call.
const AROUND: Size = Size::new(24, 6);

/// What an item is to the conversation, beside its form.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mark {
    /// A reply, or words of the program.
    #[default]
    Plain,
    /// An answer to what the model did. A harness without tools answers as the user.
    Answer,
    /// Words of the user in an earlier turn.
    Words,
    /// Words of the user in the running turn: never dropped.
    Task,
    /// What the program gave the model to work on in the running turn, such as a change to review:
    /// kept like the task, and an old answer afterwards.
    Given,
}

impl Mark {
    /// What the running turn is about.
    pub fn is_task(self) -> bool {
        matches!(self, Mark::Task | Mark::Given)
    }

    /// In the form of a message of the user, now or earlier.
    pub fn is_said(self) -> bool {
        self.is_task() || self == Mark::Words
    }
}

/// The items of a session, each with its mark and size.
#[derive(Debug, Clone, Default)]
pub struct Transcript {
    items: Vec<Item>,
    sizes: Vec<Size>,
    marks: Vec<Mark>,
    size: Size,
}

/// Tool results that were replaced, by their place in the transcript.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Elision {
    /// Place and the line that stands there now.
    pub lines: Vec<(usize, String)>,
}

impl Transcript {
    /// Adds an item at the end. A tool result is an answer whatever it is marked as.
    pub fn push(&mut self, item: Item, mark: Mark) {
        let size = item_size(&item);
        let mark = match item {
            Item::ToolResult(_) => Mark::Answer,
            _ => mark,
        };
        self.size += size;
        self.sizes.push(size);
        self.marks.push(mark);
        self.items.push(item);
    }

    /// What that item is to the conversation.
    pub fn mark(&self, at: usize) -> Mark {
        self.marks.get(at).copied().unwrap_or_default()
    }

    /// A turn begins: what the user said before is no longer the running task.
    pub fn begin_turn(&mut self) {
        for mark in &mut self.marks {
            match mark {
                Mark::Task => *mark = Mark::Words,
                Mark::Given => *mark = Mark::Answer,
                Mark::Plain | Mark::Answer | Mark::Words => {}
            }
        }
    }

    /// All items in order.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// The size of all items, markup included.
    pub fn size(&self) -> Size {
        self.size
    }

    /// The items with their marks and sizes.
    pub fn entries(
        &self,
    ) -> impl DoubleEndedIterator<Item = (&Item, Mark, Size)> + ExactSizeIterator {
        let rows = self.items.iter().zip(&self.marks).zip(&self.sizes);
        rows.map(|((item, mark), size)| (item, *mark, *size))
    }

    /// The steps: the place of each reply and of what ends its answers.
    pub fn steps(&self) -> Vec<std::ops::Range<usize>> {
        let replies: Vec<usize> = (0..self.items.len())
            .filter(|at| matches!(self.items[*at], Item::Assistant(_)))
            .collect();
        let ends = replies.iter().skip(1).copied().chain([self.items.len()]);
        replies
            .iter()
            .zip(ends)
            .map(|(from, to)| *from..to)
            .collect()
    }

    /// All before the last reply, which may not be answered yet.
    pub fn before_last_reply(&self) -> Transcript {
        let last = self
            .steps()
            .pop()
            .map_or(self.items.len(), |step| step.start);
        let mut before = Transcript::default();
        for (item, mark, _) in self.entries().take(last) {
            before.push(item.clone(), mark);
        }
        before
    }

    /// Replaces every large result but those of the last `fresh` replies by a line that says what
    /// it was. `None` when there is nothing to gain.
    pub fn elide(&mut self, fresh: usize) -> Option<Elision> {
        let steps = self.steps();
        let end = match steps.len().checked_sub(fresh) {
            Some(at) => steps.get(at).map_or(self.items.len(), |step| step.start),
            None => 0,
        };
        let lines: Vec<(usize, String)> = self.items[..end]
            .iter()
            .enumerate()
            .filter(|(at, _)| self.marks[*at] == Mark::Answer && self.sizes[*at].bytes > SMALL_RESULT)
            .map(|(at, item)| {
                let of = match item {
                    Item::ToolResult(r) => format!(" of {}", r.name),
                    _ => String::new(),
                };
                let size = self.sizes[at].bytes;
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

    /// Takes the items of the oldest step away; false when there is none left.
    pub fn drop_oldest_step(&mut self) -> bool {
        let Some(step) = self.steps().into_iter().next() else {
            return false;
        };
        let old = std::mem::take(self);
        for (at, item) in old.items.into_iter().enumerate() {
            let mark = old.marks[at];
            if !step.contains(&at) || mark.is_said() {
                self.push(item, mark);
            }
        }
        true
    }

    /// Makes the replacements of a recorded elision again.
    pub fn apply(&mut self, elision: &Elision) {
        for (at, line) in &elision.lines {
            let content = match self.items.get_mut(*at) {
                Some(Item::ToolResult(result)) => Some(&mut result.content),
                Some(Item::User { content }) if self.marks[*at] == Mark::Answer => Some(content),
                _ => None,
            };
            if let Some(content) = content {
                *content = vec![Part::text(line)];
                let size = item_size(&self.items[*at]);
                self.size = self.size - self.sizes[*at] + size;
                self.sizes[*at] = size;
            }
        }
    }
}

/// The size of one item as the estimate counts it.
pub fn item_size(item: &Item) -> Size {
    let parts = |content: &[Part]| {
        content
            .iter()
            .map(|p| p.as_text().map_or(IMAGE, Size::of))
            .sum::<Size>()
    };
    AROUND
        + match item {
            Item::Developer { text } => Size::of(text),
            Item::User { content } => parts(content),
            Item::Assistant(a) => {
                let calls = a
                    .calls
                    .iter()
                    .map(|c| Size::of(&c.name) + Size::of(&c.arguments) + AROUND);
                let thinking = a.reasoning.iter().map(|r| Size::of(&r.text));
                Size::of(&a.text) + calls.sum() + thinking.sum()
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
        let reply = Assistant {
            calls: vec![call],
            ..Assistant::default()
        };
        t.push(Item::Assistant(reply), Mark::Plain);
        let result = ToolResult {
            call_id: format!("c{n}"),
            name: "read".into(),
            content: vec![Part::text("x".repeat(size))],
            is_error: false,
            kind: CallKind::Function,
        };
        t.push(Item::ToolResult(result), Mark::Plain);
    }

    #[test]
    fn elision_takes_old_large_results_and_nothing_else() {
        let mut t = Transcript::default();
        t.push(Item::user("the task, which must stay"), Mark::Task);
        exchange(&mut t, 1, 5_000);
        exchange(&mut t, 2, 100);
        exchange(&mut t, 3, 5_000);
        exchange(&mut t, 4, 5_000);
        let before = t.size();
        let elision = t
            .elide(FRESH_REPLIES)
            .expect("the first result is old and large");
        assert_eq!(
            elision.lines.iter().map(|(at, _)| *at).collect::<Vec<_>>(),
            [2]
        );
        assert_eq!(t.items()[0].text(), "the task, which must stay");
        assert!(t.items()[2].text().contains("old result of read"));
        assert_eq!(t.items()[8].text().len(), 5_000);
        assert!(t.size().bytes < before.bytes - 4_000);
        assert_eq!(t.size(), t.items().iter().map(item_size).sum());
        assert!(
            t.elide(FRESH_REPLIES).is_none(),
            "a second pass has nothing to gain"
        );
    }

    #[test]
    fn answers_of_a_harness_without_tools_are_elided_and_words_of_the_user_are_not() {
        let mut t = Transcript::default();
        t.push(Item::user("x".repeat(1_000)), Mark::Task);
        for _ in 0..3 {
            let reply = Assistant {
                text: "```sh\nls\n```".into(),
                ..Assistant::default()
            };
            t.push(Item::Assistant(reply), Mark::Plain);
            t.push(Item::user("y".repeat(1_000)), Mark::Answer);
        }
        let elision = t.elide(FRESH_REPLIES).expect("one answer is old");
        assert_eq!(
            elision.lines.iter().map(|(at, _)| *at).collect::<Vec<_>>(),
            [2]
        );
    }

    #[test]
    fn the_oldest_step_goes_with_its_results_and_without_the_users_words() {
        let mut t = Transcript::default();
        t.push(Item::user("first"), Mark::Words);
        exchange(&mut t, 1, 10);
        t.push(Item::user("second"), Mark::Task);
        exchange(&mut t, 2, 10);
        assert!(t.drop_oldest_step());
        assert_eq!(t.items()[0].text(), "first");
        assert_eq!(t.items()[1].text(), "second");
        assert_eq!((t.items().len(), t.steps().len()), (4, 1));
        assert_eq!(t.steps().first(), Some(&(2..4)));
        assert!(t.drop_oldest_step() && !t.drop_oldest_step());
        t.begin_turn();
        assert_eq!(t.mark(1), Mark::Words);
    }
}
