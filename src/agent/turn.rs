//! One user turn: ask, read, approve, act, answer, until done.

mod act;
mod converse;
mod poor_replies;

use super::event::{EndReason, Event, Frontend, Phase, TurnEnd};
use super::guard::{CheckGuard, Complaint, Cut, StreamGuard};
use super::reports::Verdict as Count;
use super::session::Session;
use super::tokens::Size;
use super::transcript::Mark;
use crate::harnesses::{self, CallError, Harness, Input, Notice, Step};
use crate::model::arguments::runs_commands;
use crate::model::dialect::{self, Holdback};
use crate::model::http::{self, Flow};
use crate::model::{Delta, Finish, Item, ModelError, Reasoning, Reply, ToolSpec, Usage};
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
        let began = Instant::now();
        front.event(&Event::TurnStarted);
        self.record_turn_start();
        let before = self.requests + u64::from(self.summaries);
        self.begin_undo(&input.text);
        let (reason, answer) = self.work(input, mark, front);
        self.end_undo(front);
        self.record_state();
        self.tell_repairs(front);
        let end = TurnEnd {
            reason,
            answer,
            requests: u32::try_from(self.requests + u64::from(self.summaries) - before)
                .unwrap_or(u32::MAX),
            usage: self.usage,
            took: began.elapsed(),
        };
        self.record_turn_end(&end);
        if let Some(trouble) = self.store_trouble.take() {
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
        let items = self.harness.user(&mut self.state, input);
        self.transcript.begin_turn();
        self.push_marked(items, mark);
        if self.context.depth == 0 {
            self.tell_undone();
        }
        let mut progress = Progress::default();
        loop {
            match self.step(&mut progress, front) {
                Next::Again => {}
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
    fn ask(
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
        front.event(&Event::Phase(phase));
        let mut on = |delta: Delta| {
            let now = Phase::of(&delta).unwrap_or(phase);
            if now != phase || said.elapsed() >= SAY_PHASE {
                (phase, said) = (now, Instant::now());
                front.event(&Event::Phase(phase));
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

    /// What to do when a request failed.
    fn after_error(
        &mut self,
        error: ModelError,
        show: Vec<Item>,
        p: &mut Progress,
        front: &mut dyn Frontend,
    ) -> Next {
        let sentence = error.to_string();
        match error {
            ModelError::Interrupted => Next::End(EndReason::Interrupted, String::new()),
            // Tried once more with a shorter conversation, if there is anything to leave out.
            ModelError::Overflow { prompt, window, .. } if p.overflows == 0 => {
                p.overflows += 1;
                match self.after_overflow(&show, (prompt, window), front) {
                    Ok(true) => {
                        self.show_once = show;
                        Next::Again
                    }
                    Ok(false) => Next::End(EndReason::Failed(sentence), String::new()),
                    Err(other) => self.after_error(other, show, p, front),
                }
            }
            ModelError::NoTools { message } if self.go_prompted(&message, front) => Next::Again,
            ModelError::BadCall { raw, message } => self.bad_call(raw, message, p, front),
            _ => Next::End(EndReason::Failed(sentence), String::new()),
        }
    }

    /// Decodes a reply, does what it asks for, and answers it.
    pub(super) fn read_reply(
        &mut self,
        mut reply: Reply,
        p: &mut Progress,
        front: &mut dyn Frontend,
    ) -> Next {
        if let Some((thinking, text)) = dialect::split_thinking(&reply.assistant.text) {
            reply.assistant.text = text;
            reply.assistant.reasoning.push(Reasoning {
                text: thinking,
                wire: self.provider.wire,
                ..Reasoning::default()
            });
        }
        self.decode_constrained(&mut reply, p);
        let mut faults: Vec<Option<CallError>> = Vec::new();
        let mut notes: Vec<Vec<String>> = Vec::new();
        if let Some(next) = self.recover(&mut reply, p, front) {
            return next;
        }
        self.settle_calls(&mut reply, &mut faults, &mut notes, front);
        if let (Some(cut), Some(last)) = (p.cut, notes.last_mut()) {
            last.push(format!(
                "Your reply was cut after this call, because {}. What came after it was not done.",
                cut.why()
            ));
        }
        let assistant = &reply.assistant;
        if !p.held.is_empty() && !assistant.calls.iter().any(|c| c.recovered) {
            front.event(&Event::Text(std::mem::take(&mut p.held)));
        }
        let thinking = assistant
            .reasoning
            .iter()
            .map(|r| r.text.as_str())
            .collect::<Vec<_>>()
            .join("\n");
        front.event(&Event::Replied {
            text: assistant.text.clone(),
            reasoning: thinking.clone(),
            usage: reply.usage,
            timing: reply.timing,
        });
        if let Finish::Refused(why) = &reply.finish {
            let why = if why.is_empty() {
                "the provider gave no reason"
            } else {
                why
            };
            return Next::End(
                EndReason::Failed(format!("the provider withheld the answer: {why}")),
                reply.assistant.text,
            );
        }
        if assistant.text.trim().is_empty() && assistant.calls.is_empty() {
            // Thoughts without an end are asked about in other words than a call that was cut.
            if let Some(cut) = p.cut
                && thinking.is_empty()
            {
                return self.cut_reply(reply.assistant, cut, p);
            }
            return self.empty_reply(&reply, p, front);
        }
        if !assistant.text.trim().is_empty() {
            p.last_text = assistant.text.clone();
        }
        match self.harness.read(&self.state, &reply) {
            Step::Requery { show, keep } => {
                p.requeries += 1;
                self.faults += 1;
                *self
                    .state
                    .counters
                    .entry(harnesses::REQUERIES.into())
                    .or_default() += 1;
                if p.requeries > REQUERIES {
                    return Next::End(EndReason::Failed("the model did not answer in the form that this harness needs; try another with --harness".into()), p.last_text.clone());
                }
                self.push_all(keep);
                self.show_once = show;
                self.record_state();
                Next::Again
            }
            Step::Stop(why) => Next::End(EndReason::Failed(why), p.last_text.clone()),
            Step::Done => self.finish(reply, p, front),
            Step::Act(actions) => {
                self.state.counters.remove(harnesses::REQUERIES);
                p.empty = 0;
                p.requeries = 0;
                p.first_part = None;
                self.act(reply.assistant, actions, faults, notes, p, front)
            }
        }
    }

    /// The model answers instead of acting.
    fn finish(&mut self, reply: Reply, p: &mut Progress, front: &mut dyn Frontend) -> Next {
        if let Some(cut) = p.cut {
            return self.cut_reply(reply.assistant, cut, p);
        }
        if reply.finish == Finish::Length
            && let Some(next) = self.go_on(&reply.assistant, p, front)
        {
            return next;
        }
        if let Some(first) = p.first_part.take() {
            p.last_text = poor_replies::joined(&first, &p.last_text);
        }
        self.push_reply(reply.assistant);
        if let Some(words) = self.reminder(p) {
            self.tell(&words, front);
            return Next::Again;
        }
        let reason = if p.last_text.trim().is_empty() {
            EndReason::NoAnswer
        } else {
            EndReason::Done
        };
        Next::End(reason, p.last_text.clone())
    }

    /// What the model should be reminded of before it stops. Only on a local server, where a
    /// request costs nothing and models are small, and only with `harness_guidance`.
    fn reminder(&mut self, p: &mut Progress) -> Option<String> {
        if !self.provider.is_local() || !self.context.guidance || self.read_only {
            return None;
        }
        let wants_change = self.wants_a_change();
        let mut complaint = p.check.complaint(&p.last_text, wants_change)?;
        let next = match complaint {
            Complaint::Failed | Complaint::Unchanged => self.next_step(&p.check),
            _ => None,
        };
        // Without a file to change, a task may be done by words alone.
        if complaint == Complaint::Unchanged && next.is_none() {
            complaint = p.check.complaint(&p.last_text, false)?;
        }
        p.check.has_told(complaint);
        let mut tools = self.start.tools.iter().map(|t| t.name.as_str());
        let shell = tools.find(|name| runs_commands(name));
        Some(complaint.words(shell, next.as_deref()))
    }

    fn tell(&mut self, words: &str, front: &mut dyn Frontend) {
        front.event(&Event::Repaired {
            kind: "reminder".into(),
            text: "the model wants to stop early; it was reminded".into(),
        });
        let items = self
            .harness
            .notice(&mut self.state, &Notice::Nudge(words.into()));
        self.push_all(items);
        self.hold_after_reminder(front);
    }

    /// The step limit is reached: one more request, without tools, for what is known so far.
    fn last_words(&mut self, limit: u32, p: &mut Progress, front: &mut dyn Frontend) -> Next {
        front.event(&Event::Warning(format!(
            "the limit of {limit} steps is reached (max_steps); asking for a last answer"
        )));
        let text = "The step limit of this task is reached, so no tool can be called any more. Say in a few sentences what is done and what is missing.";
        let items = self
            .harness
            .notice(&mut self.state, &Notice::Nudge(text.into()));
        self.push_all(items);
        self.reports.prefix_event();
        match self.ask(&[], false, p, front) {
            Ok(mut reply) => {
                reply.assistant.calls.clear();
                let answer = reply.assistant.text.clone();
                front.event(&Event::Replied {
                    text: answer.clone(),
                    reasoning: String::new(),
                    usage: reply.usage,
                    timing: reply.timing,
                });
                if !answer.is_empty() {
                    self.push_reply(reply.assistant);
                }
                Next::End(EndReason::StepLimit(limit), answer)
            }
            Err(ModelError::Interrupted) => Next::End(EndReason::Interrupted, String::new()),
            Err(_) => Next::End(EndReason::StepLimit(limit), p.last_text.clone()),
        }
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
