//! One user turn: ask, read, approve, act, answer, until done.

mod act;
mod converse;
mod errors;
mod poor_replies;
mod reply;

pub(super) use reply::take_thinking;

use super::event::{EndReason, Event, Frontend, Phase, TurnEnd};
use super::guard::{CheckGuard, Cut, StreamGuard};
use super::hint::Whole;
use super::reports::Verdict as Count;
use super::session::Session;
use super::tokens::Size;
use super::transcript::Mark;
use crate::harnesses::{Harness, Input};
use crate::model::dialect::Holdback;
use crate::model::http::{self, Flow};
use crate::model::{Delta, Finish, Item, ModelError, Reply, ToolSpec, Usage};
use crate::sandbox::Mode;
use std::time::{Duration, Instant};

/// Times in a row that a harness, a server or a dialect may ask for another try.
pub(super) const REQUERIES: u32 = 3;
/// How often a phase that goes on is said again.
const SAY_PHASE: Duration = Duration::from_secs(1);

/// Counters of one turn.
#[derive(Default)]
pub(super) struct Progress {
    steps: u32,
    empty: u32,
    pub(super) requeries: u32,
    overflows: u32,
    /// The server refused thoughts of earlier replies, which were left out then.
    without_thoughts: bool,
    /// Why the last stream was cut.
    cut: Option<Cut>,
    /// Replies in a row that held nothing but invalid calls.
    invalid: u32,
    /// An answer that the limit cut was gone on with.
    went_on: bool,
    /// What came before the limit.
    first_part: Option<String>,
    /// The end of the reply's text that may have been markup, not shown yet.
    pub(super) held: String,
    /// Whether what was done was checked.
    check: CheckGuard,
    /// What the files of the task had before something was done.
    whole: Whole,
    /// A call as text was answered with a correction in this turn.
    pub(super) corrected: bool,
    /// Calls in a row that could not be run.
    pub(super) faults: u32,
    /// Text that may be the answer if nothing better comes.
    last_text: String,
}

/// What a step leaves to do.
pub(super) enum Next {
    /// Ask again.
    Again,
    /// The turn is over.
    End(EndReason, String),
}

impl Session {
    /// Runs one turn to its end. Never fails: what goes wrong is in the [`TurnEnd`].
    pub fn turn(&mut self, input: &Input, front: &mut dyn Frontend) -> TurnEnd {
        self.turn_on(input, Mark::Task, front)
    }

    /// The same for a message that is what `mark` says.
    pub(super) fn turn_on(
        &mut self,
        input: &Input,
        mark: Mark,
        front: &mut dyn Frontend,
    ) -> TurnEnd {
        self.settle_pending();
        self.whole_turn(front, Some(&input.text), |session, front| {
            session.work(input, mark, front)
        })
    }

    /// A turn around that work, which was asked for in these words; `None` when it goes on with the
    /// task of an earlier one.
    pub(super) fn whole_turn(
        &mut self,
        front: &mut dyn Frontend,
        words: Option<&str>,
        work: impl FnOnce(&mut Self, &mut dyn Frontend) -> (EndReason, String),
    ) -> TurnEnd {
        let began = Instant::now();
        front.event(&Event::TurnStarted);
        self.record_turn_context();
        match words {
            Some(words) => {
                self.record_turn_start();
                self.begin_undo(words);
                self.begin_notify(words);
            }
            None => {
                let task = self.task();
                self.begin_undo(&task);
                self.begin_notify(&task);
            }
        }
        self.hooks_begin_turn();
        let before = self.requests + u64::from(self.summaries);
        self.cost.begin_turn();
        let (reason, answer) = work(self, front);
        self.end_undo(front);
        self.record_state();
        self.tell_repairs(front);
        let end = TurnEnd {
            reason,
            answer,
            requests: u32::try_from(self.requests + u64::from(self.summaries) - before)
                .unwrap_or(u32::MAX),
            usage: self.usage,
            cost: self.cost,
            took: began.elapsed(),
        };
        self.record_turn_end(&end);
        if let Some(trouble) = self.store_trouble.take() {
            front.event(&Event::Warning(trouble));
        }
        if let Some(trouble) = self.notify(self.turn_id(), &end) {
            front.event(&Event::Warning(trouble));
        }
        front.event(&Event::TurnDone(end.clone()));
        end
    }

    /// Works on what the user said until it is done.
    pub(super) fn work(
        &mut self,
        input: &Input,
        mark: Mark,
        front: &mut dyn Frontend,
    ) -> (EndReason, String) {
        self.calls.reset();
        self.let_go_once();
        self.join_mcp(front);
        self.transcript.begin_turn();
        // A change to review is no prompt of the user.
        let prompt = (mark == Mark::Task).then_some(input.text.as_str());
        let (before, after) = match self.hooks_before(prompt, front) {
            Ok(texts) => texts,
            Err(end) => return end,
        };
        before.into_iter().for_each(|text| self.hook_says(text));
        let asked = self.with_schema(input);
        let items = self.harness.user(&mut self.state, &asked);
        self.push_marked(items, mark);
        if let Some(prompt) = prompt.filter(|_| self.context.depth == 0) {
            let named = self.skills_named(prompt);
            self.push_all(named);
        }
        after.into_iter().for_each(|text| self.hook_says(text));
        if self.context.depth == 0 {
            self.tell_undone();
        }
        self.steps(front)
    }

    /// Asks the model and does what it says until the task is done.
    pub(super) fn steps(&mut self, front: &mut dyn Frontend) -> (EndReason, String) {
        let mut progress = Progress::default();
        loop {
            match self.step(&mut progress, front) {
                Next::Again => {}
                Next::End(EndReason::Done, answer) if self.hooks_go_on(&answer, front) => {}
                Next::End(EndReason::Done, answer) => {
                    return self.shape(answer, &mut progress, front);
                }
                Next::End(reason, answer) => return (reason, answer),
            }
        }
    }

    /// One request and everything that its reply asks for.
    fn step(&mut self, p: &mut Progress, front: &mut dyn Frontend) -> Next {
        if self.cancel.is_cancelled() {
            return Next::End(EndReason::Interrupted, String::new());
        }
        self.tell_ended_jobs();
        self.follow_mcp(front);
        self.tell_permissions();
        if let Some(limit) = self.max_steps.filter(|limit| p.steps >= *limit) {
            return self.last_words(limit, p, front);
        }
        let show = std::mem::take(&mut self.show_once);
        let reply = match self.ask(&show, true, p, front) {
            Ok(reply) => reply,
            Err(error) => return self.after_error(error, show, p, front),
        };
        self.read_reply(reply, p, front)
    }

    /// Sends what there is and streams the answer to the front end.
    pub(super) fn ask(
        &mut self,
        show: &[Item],
        with_tools: bool,
        p: &mut Progress,
        front: &mut dyn Frontend,
    ) -> Result<Reply, ModelError> {
        self.make_room(show, front)?;
        self.requests += 1;
        let rest = self.rest(show);
        let tokens = self.budget.tokens(rest);
        let bytes = (self.budget.counter().fixed() + rest).bytes;
        let mut request = self.request(show, self.budget.reply_limit(rest));
        let offered: &[ToolSpec] = if with_tools { &self.start.tools } else { &[] };
        request.tools = offered;
        let prompted = self.prompted(&request);
        if let Some(prompted) = &prompted {
            prompted.put_into(&mut request);
        }
        front.event(&Event::Requested {
            bytes,
            tokens,
            window: self.budget.window(),
        });
        p.cut = None;
        let limit = request.max_output_tokens;
        let mut guard = StreamGuard::new(offered, limit);
        let mut held = Holdback::new(offered);
        let (mut phase, mut said) = (self.first_phase(), Instant::now());
        let (mut text, mut enough) = (ReplyText::default(), None);
        let may_hold_back = with_tools && self.may_be_held_back();
        front.event(&Event::Phase(phase));
        let mut on = |delta: Delta| {
            let now = Phase::of(&delta).unwrap_or(phase);
            if now != phase || said.elapsed() >= SAY_PHASE {
                (phase, said) = (now, Instant::now());
                front.event(&Event::Phase(phase));
            }
            let silent = matches!(delta, Delta::Waiting(_));
            if silent && may_hold_back && self.is_holding_back() {
                p.cut = Some(Cut::HeldBack);
                return Flow::Cut;
            }
            let looping = guard.watch(&delta);
            if let Some(end) = text.enough(self.harness, &delta) {
                enough = Some(end);
                return Flow::Cut;
            }
            show_delta(delta, &mut held, front);
            if looping.is_some() {
                p.cut = looping;
                return Flow::Cut;
            }
            Flow::Go
        };
        self.log.info(&format!(
            "request: {bytes} bytes, about {tokens} tokens of {}",
            self.budget.window()
        ));
        self.log
            .debug(|| self.provider.wire.wire().body(&request).to_string());
        let mut reply = http::stream(&self.provider, &request, &self.cancel, &mut on)
            .inspect_err(|e| self.log.error(&e.to_string()))?;
        if let Some(end) = enough {
            reply.assistant.text.truncate(end);
            reply.finish = Finish::Stop;
            let text = "the reply held more than one command; it ends with the first";
            self.repaired("first-command", text.into(), front);
        }
        // llama-server's `responses` ends a reply that the limit cut like any other.
        let is_full = |u: Usage| u.output == u64::from(limit);
        if reply.finish == Finish::Stop && reply.usage.is_some_and(is_full) {
            reply.finish = Finish::Length;
        }
        self.log.debug(|| format!("{:?}", reply.assistant));
        p.held = held.finish();
        self.is_cold = false;
        self.is_stuck = false;
        if let Some(cut) = p.cut {
            self.repaired("cut", format!("{}, so it was cut", cut.why()), front);
        }
        self.count(&reply, rest, front)?;
        p.overflows = 0;
        Ok(reply)
    }

    /// Learns from the server's own count of a prompt with `rest` after its beginning.
    ///
    /// # Errors
    /// [`ModelError::CutPrompt`] when the server read less than was sent.
    pub(super) fn count(
        &mut self,
        reply: &Reply,
        rest: Size,
        front: &mut dyn Frontend,
    ) -> Result<(), ModelError> {
        let Some(usage) = reply.usage else {
            return Ok(());
        };
        self.usage.input += usage.input;
        self.usage.output += usage.output;
        self.usage.reasoning += usage.reasoning;
        self.usage.cache_write += usage.cache_write;
        if let Some(cached) = usage.cached {
            self.usage.cached = Some(self.usage.cached.unwrap_or(0) + cached);
        }
        if !self.provider.is_local() {
            self.cost.add(self.prices.and_then(|p| p.cost(&usage)));
        }
        self.record_usage(usage, &reply.timing);
        match self.reports.judge(&usage, rest, &self.budget) {
            Count::Uncached => return Ok(()),
            Count::Cut { read, sent } => return Err(ModelError::CutPrompt { read, sent }),
            Count::Cold { cached, before } if self.provider.is_local() && !self.told_cold => {
                self.told_cold = true;
                front.event(&Event::Warning(format!(
                    "the server read the whole prompt anew: only {cached} tokens came from its cache, and the last prompt had {before}; likely causes: another program uses the same server, the model was loaded again, its template writes the date or old thinking into the prompt, or the model's attention (sliding window, recurrent) cannot go back"
                )));
            }
            Count::Cold { .. } | Count::Whole => {}
        }
        self.budget.learn(rest, usage.input);
        Ok(())
    }

    /// Commands run inside a fence in this session.
    pub(super) fn is_fenced(&self) -> bool {
        self.workbench.sandbox().policy().mode != Mode::DangerFullAccess
    }
}

/// The text of a reply so far, for a harness that takes one action a reply.
#[derive(Default)]
struct ReplyText(String);

impl ReplyText {
    /// Where the reply may end, if it may.
    fn enough(&mut self, harness: &dyn Harness, delta: &Delta) -> Option<usize> {
        match delta {
            Delta::Text(text) if harness.reads_text() => {
                self.0.push_str(text);
                text.contains(['`', '\n'])
                    .then(|| harness.enough(&self.0))?
            }
            Delta::Retry { .. } => {
                self.0.clear();
                None
            }
            _ => None,
        }
    }
}

/// Passes a delta on to the front end, holding back what may be markup.
fn show_delta(delta: Delta, held: &mut Holdback, front: &mut dyn Frontend) {
    match delta {
        Delta::Text(text) => {
            let text = held.push(&text);
            if !text.is_empty() {
                front.event(&Event::Text(text));
            }
        }
        Delta::Reasoning(text) => front.event(&Event::Reasoning(text)),
        Delta::Progress {
            processed, total, ..
        } => front.event(&Event::Progress { processed, total }),
        Delta::Waiting(time) => front.event(&Event::Waiting(time)),
        Delta::Retry { attempt, of, why } => {
            held.reset();
            front.event(&Event::Retry { attempt, of, why });
        }
        Delta::CallStart { .. } | Delta::CallArguments { .. } => {}
    }
}
