//! What goes when the window fills, and in which order.
//!
//! First the large results of old steps give way to a line each, in one step. If that leaves too
//! little, the model writes a summary, and a new conversation begins with the user's words of the
//! running task, the summary, the plan, the files in work and the last steps. Both are prefix
//! events: recorded, shown, and rare, since each costs the server's cache.

use super::event::{Event, Frontend};
use super::record;
use super::session::Session;
use super::tokens::Size;
use super::transcript::{FRESH_REPLIES, Mark, Transcript, item_size};
use crate::harnesses::{CompactPlan, Facts};
use crate::model::dialect::{self, Finding, Surroundings};
use crate::model::http::{self, Flow};
use crate::model::{Delta, Item, ModelError, Reply, ToolSpec};
use crate::words::head;

/// Replies that must lie between two summaries.
const APART: u64 = 2;
/// A summary must be able to free this share of the window, in parts of 1,000: where the prompt
/// still fits, and where it does not.
const WORTH: (u64, u64) = (100, 40);
/// The least that a summary may have, in tokens.
const LEAST_SUMMARY: u32 = 128;
/// Bytes of one call in the list that stands in for a summary.
const CALL_GIST: usize = 160;

/// Estimated tokens of the prompt before and after.
pub type Sizes = (u64, u64);

impl Session {
    /// Makes sure that the next request fits; an error that names the sizes when it cannot.
    pub(super) fn make_room(
        &mut self,
        show: &[Item],
        front: &mut dyn Frontend,
    ) -> Result<(), ModelError> {
        if self.fits_exactly(show) || self.shrink(show, false, front)? {
            return Ok(());
        }
        let prompt = self.budget.tokens(self.rest(show));
        let fixed = self.budget.tokens(Size::default());
        let (reserve, window) = (self.budget.reply_reserve(), self.budget.window());
        Err(ModelError::NoRoom {
            message: format!(
                "it has about {prompt} tokens ({fixed} of them system prompt and tools), {reserve} are kept for the reply, and the window holds {window}; load the model with a larger window, or start a shorter task"
            ),
        })
    }

    /// Makes the conversation shorter after the server refused it as too long. False when nothing
    /// can be left out.
    ///
    /// # Errors
    /// [`ModelError::Interrupted`], or what went wrong with the request for a summary.
    pub(super) fn after_overflow(
        &mut self,
        show: &[Item],
        told: (Option<u64>, Option<u64>),
        front: &mut dyn Frontend,
    ) -> Result<bool, ModelError> {
        self.learn_overflow(self.rest(show), told, front);
        let before = self.transcript.size();
        let fits = self.shrink(show, true, front)?;
        Ok(fits && self.transcript.size().pieces < before.pieces)
    }

    /// Takes in what an overflow tells about prompt and window.
    fn learn_overflow(
        &mut self,
        rest: Size,
        (prompt, window): (Option<u64>, Option<u64>),
        front: &mut dyn Frontend,
    ) {
        if let Some(prompt) = prompt {
            self.budget.learn(rest, prompt);
        }
        // A server that names no number is at least not larger than what it refused.
        let window = window.unwrap_or_else(|| self.budget.tokens(rest));
        if self.budget.cap_window(window) {
            front.event(&Event::Warning(format!(
                "the server refused the prompt as too long: its window holds {window} tokens, not {}; this session goes on with that",
                self.info.window.0
            )));
        }
    }

    /// Elides, summarises, and at last elides everything. True when the request fits then.
    fn shrink(
        &mut self,
        show: &[Item],
        refused: bool,
        front: &mut dyn Frontend,
    ) -> Result<bool, ModelError> {
        let elided = self.elide(FRESH_REPLIES, front);
        let free = self.budget.free(self.rest(show));
        let fits = free >= 0 && (elided || !refused);
        if fits && free >= self.budget.least_free() as i64 {
            return Ok(true);
        }
        let worth = if fits { WORTH.0 } else { WORTH.1 };
        let kept = self.last_steps();
        if self.is_summary_due()
            && self.gain(&kept) * 1_000 >= u64::from(self.budget.window()) * worth
        {
            match self.hooks_before_compact("auto", front) {
                Some(why) => front.event(&Event::Warning(format!(
                    "a PreCompact hook stopped the summary: {why}"
                ))),
                None => {
                    if self.replace_history(&kept, front)?.is_some() {
                        self.hooks_after_compact("auto", front);
                    }
                }
            }
        }
        if !self.budget.fits(self.rest(show)) {
            self.elide(0, front);
        }
        Ok(self.budget.fits(self.rest(show)))
    }

    /// Replaces old tool results by a line each. False when there was nothing to gain.
    fn elide(&mut self, fresh: usize, front: &mut dyn Frontend) -> bool {
        let before = self.budget.tokens(self.rest(&[]));
        let Some(elision) = self.transcript.elide(fresh) else {
            return false;
        };
        self.record(&[record::line("elided", &elision)]);
        self.prefix_event();
        let after = self.budget.tokens(self.rest(&[]));
        front.event(&Event::Elided {
            results: elision.lines.len(),
            before,
            after,
        });
        true
    }

    /// What left the conversation must be given again when it is asked for again.
    pub(super) fn prefix_event(&mut self) {
        self.workbench.memory_mut().forget_given();
        self.state.instructed.clear();
        self.reports.prefix_event();
    }

    /// Summarises the conversation because the user wants it. Gives the estimated tokens of the
    /// prompt before and after.
    ///
    /// # Errors
    /// A sentence: there is nothing to summarise, or the request for the summary failed.
    pub fn compact(&mut self, front: &mut dyn Frontend) -> Result<Sizes, String> {
        let kept = self.last_steps();
        if self.gain(&kept) == 0 {
            return Err("there is nothing to compact yet".into());
        }
        if let Some(why) = self.hooks_before_compact("manual", front) {
            return Err(format!("a PreCompact hook stopped it: {why}"));
        }
        let sizes = self
            .replace_history(&kept, front)
            .map_err(|e| e.to_string())?;
        self.record_state();
        if sizes.is_some() {
            self.hooks_after_compact("manual", front);
        }
        sizes.ok_or_else(|| "a summary would be no shorter than the conversation".into())
    }

    /// Enough happened since the last summary for another one.
    fn is_summary_due(&self) -> bool {
        self.summarised_at
            .is_none_or(|at| self.next_reply >= at + APART)
    }

    /// Tokens that would go: all but the user's words of the running task and the kept steps.
    fn gain(&self, kept: &Transcript) -> u64 {
        let task = self.transcript.entries().filter(|(_, m, _)| m.is_task());
        let stays = task.map(|(_, _, size)| size).sum::<Size>() + kept.size();
        self.budget.counter().part(self.transcript.size() - stays)
    }

    /// The newest steps that fit into their share, whole; of the very last one at least the call.
    fn last_steps(&self) -> Transcript {
        let most = self.budget.recent_tokens();
        let newest_words = self
            .transcript
            .entries()
            .rposition(|(_, m, _)| m.is_said())
            .map_or(0, |at| at + 1);
        let all: Vec<_> = self.transcript.entries().collect();
        let take = |from: usize| {
            let mut kept = Transcript::default();
            for (item, mark, _) in all.get(from..).unwrap_or_default() {
                kept.push((*item).clone(), *mark);
            }
            kept
        };
        let mut from = all.len();
        for step in self.transcript.steps().into_iter().rev() {
            let size: Size = all[step.start..].iter().map(|(_, _, size)| *size).sum();
            if step.start < newest_words || self.budget.counter().part(size) > most {
                if from == all.len() && step.start >= newest_words {
                    let mut kept = take(step.start);
                    kept.elide(0);
                    if self.budget.counter().part(kept.size()) <= most {
                        return kept;
                    }
                }
                break;
            }
            from = step.start;
        }
        take(from)
    }

    /// Asks for a summary and begins the conversation anew with it. `None` when that would not
    /// make it shorter.
    fn replace_history(
        &mut self,
        kept: &Transcript,
        front: &mut dyn Frontend,
    ) -> Result<Option<Sizes>, ModelError> {
        let before = self.budget.tokens(self.rest(&[]));
        let plan = self.harness.compact(&self.context);
        let most = self.budget.summary_bytes();
        front.event(&Event::Note(
            "making room: the model is asked for a summary of the conversation".into(),
        ));
        let asked = self.ask_for_summary(&plan, front)?;
        let written = asked.is_some();
        let summary = asked.unwrap_or_else(|| self.list_of_steps(kept, most));
        let history = self.lay_out(&plan, &summary, kept);
        self.summarised_at = Some(self.next_reply);
        if history.size().pieces >= self.transcript.size().pieces {
            return Ok(None);
        }
        self.record(&[record::compacted_line(&summary, &history, self.next_reply)]);
        self.next_reply += history.steps().len() as u64;
        self.summarised_at = Some(self.next_reply);
        self.transcript = history;
        self.prefix_event();
        let after = self.budget.tokens(self.rest(&[]));
        front.event(&Event::Compacted {
            before,
            after,
            summary,
            written,
        });
        Ok(Some((before, after)))
    }

    /// The new conversation.
    fn lay_out(&self, plan: &CompactPlan, summary: &str, kept: &Transcript) -> Transcript {
        let mut history = Transcript::default();
        let mut room = if plan.keeps_words {
            self.budget.words_tokens()
        } else {
            0
        };
        // Of what the user said before, the newest words that fit, in their order.
        let mut words: Vec<(&Item, Mark)> = Vec::new();
        for (item, mark, size) in self.transcript.entries().rev() {
            let cost = self.budget.counter().part(size);
            match mark {
                Mark::Task | Mark::Given => words.push((item, mark)),
                Mark::Words if cost <= room => {
                    room -= cost;
                    words.push((item, mark));
                }
                Mark::Words => room = 0,
                _ => {}
            }
        }
        for (item, mark) in words.into_iter().rev() {
            history.push(item.clone(), mark);
        }
        let cwd = self.workbench.cwd();
        let mut files: Vec<(String, bool)> = self
            .workbench
            .memory()
            .files()
            .map(|(path, changed)| {
                let shown = path.strip_prefix(cwd).unwrap_or(path);
                (shown.display().to_string(), changed)
            })
            .collect();
        files.sort_by_key(|(_, changed)| !changed);
        let facts = Facts {
            plan: &self.state.plan,
            files,
        };
        let in_turn =
            self.transcript.entries().last().is_some_and(
                |(item, ..)| !matches!(item, Item::Assistant(a) if a.calls.is_empty()),
            );
        let more = in_turn || !kept.items().is_empty();
        for item in plan.items(summary, &facts, more) {
            history.push(item, Mark::Plain);
        }
        for (item, mark, _) in kept.entries() {
            history.push(item.clone(), mark);
        }
        history
    }

    /// The model's own summary; `None` when it wrote none, or its server took no such request.
    fn ask_for_summary(
        &mut self,
        plan: &CompactPlan,
        front: &mut dyn Frontend,
    ) -> Result<Option<String>, ModelError> {
        let most = self.budget.summary_bytes();
        let question = Item::user(plan.question(most));
        let asked = item_size(&question);
        let room = |budget: &super::budget::Budget, sent: &Transcript| {
            let used = budget.tokens(sent.size() + asked);
            u64::from(budget.window())
                .saturating_sub(used)
                .min(budget.reply_reserve().into()) as u32
        };
        // Only what is sent gets shorter: the steps that are kept stay whole.
        let mut sent = self.transcript.clone();
        let least = LEAST_SUMMARY.max(self.budget.counter().part(Size::new(most, most / 4)) as u32);
        if room(&self.budget, &sent) < least {
            sent.elide(0);
        }
        while room(&self.budget, &sent) < least {
            if !sent.drop_oldest_step() {
                return Ok(None);
            }
        }
        let rest = sent.size() + asked;
        let cancel = self.cancel.clone();
        let mut request = self.request(&[], room(&self.budget, &sent));
        request.schema = None;
        let opening = self.start.opening.iter();
        request.items = opening.chain(sent.items()).chain([&question]).collect();
        let prompted = self.prompted(&request);
        if let Some(prompted) = &prompted {
            prompted.put_into(&mut request);
        }
        let mut on = |delta: Delta| {
            match delta {
                Delta::Progress {
                    processed, total, ..
                } => front.event(&Event::Progress { processed, total }),
                Delta::Waiting(time) => front.event(&Event::Waiting(time)),
                Delta::Retry { attempt, of, why } => {
                    front.event(&Event::Retry { attempt, of, why })
                }
                _ => {}
            }
            Flow::Go
        };
        let answer = http::stream(&self.provider, &request, &cancel, &mut on);
        self.summaries += 1;
        let reply = match answer {
            Ok(reply) => reply,
            // Without a summary it goes on as well; nothing is sent twice for one.
            Err(ModelError::Overflow { prompt, window, .. }) => {
                self.learn_overflow(rest, (prompt, window), front);
                return Ok(None);
            }
            Err(ModelError::BadCall { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        self.count(&reply, rest, front)?;
        let text = prose(reply, &self.start.tools);
        let summary = plan.summary(&text, most);
        Ok((!summary.is_empty()).then_some(summary))
    }

    /// What stands in for a summary that the model did not write: the last calls, a line each.
    fn list_of_steps(&self, kept: &Transcript, most: usize) -> String {
        let replies = self
            .transcript
            .items()
            .iter()
            .filter_map(|item| match item {
                Item::Assistant(a) => Some(a),
                _ => None,
            });
        let gone = replies.clone().count().saturating_sub(kept.steps().len());
        let mut lines: Vec<String> = Vec::new();
        let mut bytes = 0;
        for reply in replies.take(gone).collect::<Vec<_>>().into_iter().rev() {
            let calls = reply
                .calls
                .iter()
                .map(|c| format!("{} {}", c.name, c.arguments));
            let text = Some(reply.text.clone()).filter(|t| !t.trim().is_empty());
            let gist = text
                .into_iter()
                .chain(calls)
                .collect::<Vec<_>>()
                .join(" · ");
            let gist = gist.split_whitespace().collect::<Vec<_>>().join(" ");
            let line = format!("- {}", head(&gist, CALL_GIST));
            bytes += line.len() + 1;
            if bytes > most {
                break;
            }
            lines.push(line);
        }
        lines.push("The last steps, without their results:".into());
        lines.reverse();
        lines.join("\n")
    }
}

/// The words of a reply without its thinking and without calls, which are never run here.
fn prose(mut reply: Reply, tools: &[ToolSpec]) -> String {
    if let Some((_, text)) = dialect::split_thinking(&reply.assistant.text) {
        reply.assistant.text = text;
    }
    let around = Surroundings {
        user_texts: &[],
        tool_texts: &[],
        enforced: true,
        interactive: false,
    };
    if reply.assistant.calls.is_empty()
        && let Finding::Calls(found) = dialect::recover(tools, &reply, &around)
    {
        return found.text;
    }
    reply.assistant.text
}
