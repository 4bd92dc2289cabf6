//! Replies that are no answer and no step: empty, cut, too long, without one valid call.

use super::{Next, Progress};
use crate::agent::event::{EndReason, Event, Frontend};
use crate::agent::guard::Cut;
use crate::agent::session::Session;
use crate::harnesses::{CallError, Notice};
use crate::model::{Assistant, Finish, Reply};
use crate::words;

/// Replies without text and calls that are tolerated: asked again once as it was, once with a nudge.
const EMPTY_REPLIES: u32 = 2;
/// The same for replies that thought until their end; each may take minutes.
const ENDLESS_THOUGHTS: u32 = 1;
/// Replies in a row whose calls were all invalid; then the turn ends.
const INVALID_REPLIES: u32 = 5;
/// Bytes of a text that repeats itself that go into the transcript.
const KEPT: usize = 400;

impl Session {
    /// Nothing came. A task that is not done is reminded of; else ask once more as it was, once with
    /// a nudge, once with the reply held in shape where the server can do that, then give up.
    pub(super) fn empty_reply(
        &mut self,
        reply: &Reply,
        p: &mut Progress,
        front: &mut dyn Frontend,
    ) -> Next {
        // Silence after the reminder leaves the answer that was reminded of.
        if p.check.is_reminded() && !p.last_text.trim().is_empty() {
            return Next::End(EndReason::Done, p.last_text.clone());
        }
        if p.check.has_acted()
            && let Some(words) = self.reminder(p, false)
        {
            self.tell(&words, front);
            return Next::Again;
        }
        p.empty += 1;
        self.faults += 1;
        let thoughts = reply.assistant.reasoning.iter();
        let endless = matches!(reply.finish, Finish::Length | Finish::Cut)
            && thoughts.map(|r| r.text.len()).sum::<usize>() > 0;
        let tolerated = if endless {
            ENDLESS_THOUGHTS
        } else {
            EMPTY_REPLIES
        };
        if p.empty > tolerated && !endless && self.hold_after_silence(front) {
            return Next::Again;
        }
        if p.empty > tolerated {
            return Next::End(EndReason::NoAnswer, String::new());
        }
        let (said, hint) = match endless {
            true => (
                "the model thought until the reply was full and gave no answer; asking once more",
                Some(
                    "Your last reply was all thinking, until there was no room for anything else. Think in a few sentences at most, then call a tool or answer.",
                ),
            ),
            false => (
                "the model gave no text and no call; asking again",
                (p.empty == tolerated).then_some(
                    "Your last reply was empty. Call a tool now, or answer in a sentence.",
                ),
            ),
        };
        front.event(&Event::Warning(said.into()));
        if let Some(hint) = hint {
            let nudge = Notice::Nudge(hint.into());
            self.show_once = self.harness.notice(&mut self.state, &nudge);
        }
        Next::Again
    }

    /// A reply that we cut, and that holds no call.
    pub(super) fn cut_reply(
        &mut self,
        mut assistant: Assistant,
        cut: Cut,
        p: &mut Progress,
    ) -> Next {
        p.requeries += 1;
        self.faults += 1;
        if p.requeries > super::REQUERIES {
            return Next::End(
                EndReason::Failed(
                    "the model repeats itself; try another model, or a higher temperature".into(),
                ),
                p.last_text.clone(),
            );
        }
        assistant.text = words::head(&assistant.text, KEPT).to_owned();
        // What was cut may have been inside a call, which is gone then.
        if !assistant.text.trim().is_empty() {
            self.push_reply(assistant);
        }
        let why = match cut {
            Cut::Calls => "Your reply held far too many calls, so it was cut",
            Cut::TooLong => "Your reply was far too long, so it was cut",
            Cut::Call | Cut::Text | Cut::HeldBack => {
                "You were repeating yourself, so your reply was cut"
            }
        };
        let nudge = Notice::Nudge(format!(
            "{why} and nothing in it was done. Take the next step, or answer in a sentence. If a file needs a long repetition, let a command write it."
        ));
        let items = self.harness.notice(&mut self.state, &nudge);
        self.push_all(items);
        Next::Again
    }

    /// An answer that the limit cut: the model is asked once to go on. `None` when it was asked
    /// before, so that the answer stands as it is.
    pub(super) fn go_on(
        &mut self,
        assistant: &Assistant,
        p: &mut Progress,
        front: &mut dyn Frontend,
    ) -> Option<Next> {
        if p.went_on {
            front.event(&Event::Warning(
                "the answer reached the limit of a reply twice, and its end is missing".into(),
            ));
            return None;
        }
        p.went_on = true;
        p.first_part = Some(assistant.text.clone());
        front.event(&Event::Warning(
            "the answer reached the limit of a reply; asking the model to go on".into(),
        ));
        self.push_reply(assistant.clone());
        let nudge = Notice::Nudge(
            "Your reply reached its limit and was cut. Go on exactly where it stopped and repeat nothing, or call the tool that comes next.".into(),
        );
        let items = self.harness.notice(&mut self.state, &nudge);
        self.push_all(items);
        Some(Next::Again)
    }

    /// Counts replies in a row that hold nothing but invalid calls; the end of the turn when there
    /// are too many.
    pub(super) fn count_invalid(
        &self,
        last: Option<&CallError>,
        p: &mut Progress,
    ) -> Option<EndReason> {
        let Some(error) = last else {
            p.invalid = 0;
            return None;
        };
        p.invalid += 1;
        (p.invalid >= INVALID_REPLIES).then(|| {
            let error = error.to_string();
            EndReason::Failed(format!(
                "the model made invalid tool calls in {INVALID_REPLIES} replies in a row, the last one because of this: {}; try another model, or another harness with --harness",
                words::head(error.lines().next().unwrap_or_default(), 200).trim_end_matches('.')
            ))
        })
    }
}

/// An answer in two parts. A model that was asked to go on may also begin again.
pub(super) fn joined(first: &str, second: &str) -> String {
    let beginning: String = first.trim_start().chars().take(40).collect();
    match second.trim_start().starts_with(&beginning) {
        true => second.to_owned(),
        false => format!("{first}{second}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_part_is_added_unless_it_begins_again() {
        assert_eq!(
            joined("One, two, thr", "ee, four."),
            "One, two, three, four."
        );
        let again = "One, two, three, four, five, six, seven, eight.";
        assert_eq!(joined(&again[..44], again), again);
    }
}
