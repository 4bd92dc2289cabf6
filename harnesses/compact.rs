//! How a conversation that outgrew its window begins anew: what a harness asks the model to write
//! down, and what stands in front of the steps that are kept.

use super::{Item, PlanStep};
use crate::model::Assistant;
use crate::tools::action::StepStatus;
use crate::words::head;
use std::fmt::Write;

/// The most files that are named.
const FILES: usize = 30;

/// How a harness compacts a conversation. One layout serves all: the words of the user, then one
/// message with summary, plan and files, then what the fields add, then the last steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactPlan {
    /// What the model is asked, as the last message of the old conversation.
    pub ask: String,
    /// The element of the reply that is the summary; without one, or where the model left it out,
    /// the whole reply.
    pub element: Option<&'static str>,
    /// What stands before the summary.
    pub lead: &'static str,
    /// What the model is made to say after the summary.
    pub acknowledge: Option<&'static str>,
    /// What the user is made to say after that.
    pub go_on: Option<&'static str>,
    /// Keep what the user said in earlier turns, as far as there is room.
    pub keeps_words: bool,
}

/// What is known beside the summary.
#[derive(Debug, Clone, Default)]
pub struct Facts<'a> {
    /// The plan as last set.
    pub plan: &'a [PlanStep],
    /// Files that were changed, then files that were read, as they are shown to the model.
    pub files: Vec<(String, bool)>,
}

impl CompactPlan {
    /// The plan of a harness whose original has none of its own. `with_tools` tells whether the
    /// model is used to answer with calls or with commands.
    pub fn general(with_tools: bool) -> Self {
        let no_action = if with_tools {
            "Do not call a tool"
        } else {
            "Do not give a command"
        };
        CompactPlan {
            ask: format!(
                "The conversation is about to be cut to make room. {no_action} now. Write down, in plain text and at most {{words}} words, what is needed to go on without the rest: what was done and found out, which files matter and what was changed in them, what still fails, and the next step."
            ),
            element: None,
            lead: "The earlier part of this conversation was left out to make room. What it came to:",
            acknowledge: None,
            go_on: None,
            keeps_words: false,
        }
    }

    /// The question, with room for so many bytes of summary.
    pub fn question(&self, bytes: usize) -> String {
        // Six bytes a word, rounded to a number that reads as a limit.
        let words = (bytes / 6 / 10 * 10).max(40);
        self.ask.replace("{words}", &words.to_string())
    }

    /// The summary in a reply of the model, at most `bytes` long.
    pub fn summary(&self, reply: &str, bytes: usize) -> String {
        let inner = self.element.and_then(|name| {
            let from = reply.find(&format!("<{name}>"))?;
            let end = format!("</{name}>");
            let to = reply[from..]
                .find(&end)
                .map_or(reply.len(), |at| from + at + end.len());
            reply.get(from..to)
        });
        let text = inner.unwrap_or(reply).trim();
        head(text, bytes).to_owned()
    }

    /// What comes after the words of the user and before the kept steps. `more` tells whether
    /// such steps follow, or the model is to go on at once.
    pub fn items(&self, summary: &str, facts: &Facts, more: bool) -> Vec<Item> {
        let mut text = format!("{}\n\n{summary}", self.lead);
        if !facts.plan.is_empty() {
            text.push_str("\n\nThe plan:");
            for step in facts.plan {
                let mark = match step.status {
                    StepStatus::Completed => "done",
                    StepStatus::InProgress => "in progress",
                    StepStatus::Pending => "to do",
                };
                let _ = write!(text, "\n- [{mark}] {}", step.text);
            }
        }
        for (title, changed) in [
            ("Files changed so far:", true),
            ("Files read so far:", false),
        ] {
            let names: Vec<&str> = facts
                .files
                .iter()
                .filter(|(_, c)| *c == changed)
                .map(|(name, _)| name.as_str())
                .take(FILES)
                .collect();
            if !names.is_empty() {
                let _ = write!(text, "\n\n{title} {}", names.join(", "));
            }
        }
        let mut items = vec![Item::user(text)];
        if let Some(words) = self.acknowledge {
            items.push(Item::Assistant(Assistant {
                text: words.into(),
                ..Assistant::default()
            }));
            if let Some(words) = self.go_on.filter(|_| more) {
                items.push(Item::user(words));
            }
        }
        items
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ALL, tests::context};
    use super::*;
    use crate::harnesses::Size;

    #[test]
    fn the_summary_is_the_element_or_the_whole_reply() {
        let plan = CompactPlan {
            element: Some("state_snapshot"),
            ..CompactPlan::general(true)
        };
        let reply =
            "let me see\n<state_snapshot>\n<overall_goal>x</overall_goal>\n</state_snapshot> bye";
        assert_eq!(
            plan.summary(reply, 1_000),
            "<state_snapshot>\n<overall_goal>x</overall_goal>\n</state_snapshot>"
        );
        assert_eq!(
            plan.summary("a <state_snapshot>\ncut off", 1_000),
            "<state_snapshot>\ncut off"
        );
        assert_eq!(plan.summary("  plain words ", 1_000), "plain words");
        assert_eq!(plan.summary("äöü", 3), "ä");
    }

    #[test]
    fn every_harness_asks_and_names_plan_and_files() {
        for harness in ALL {
            let plan = harness.compact(&context(Size::Full));
            assert!(
                plan.question(1_200).contains("200 words"),
                "{}",
                harness.id()
            );
            assert!(!plan.question(1_200).contains("{words}"));
            let steps = [PlanStep {
                text: "write the test".into(),
                status: StepStatus::InProgress,
                id: None,
            }];
            let facts = Facts {
                plan: &steps,
                files: vec![("a.py".into(), true), ("b.py".into(), false)],
            };
            let items = plan.items("all went well", &facts, true);
            let text = items[0].text();
            for part in [
                "all went well",
                "[in progress] write the test",
                "changed so far: a.py",
                "read so far: b.py",
            ] {
                assert!(text.contains(part), "{}: {text}", harness.id());
            }
            // What comes next may be a reply, so these cannot end with one.
            assert!(
                matches!(items.last(), Some(Item::User { .. })),
                "{}",
                harness.id()
            );
        }
    }
}
