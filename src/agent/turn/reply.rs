//! A whole reply: decoded, acted on, or taken for the answer.

use super::{Next, Progress, REQUERIES, poor_replies};
use crate::agent::event::{EndReason, Event, Frontend};
use crate::agent::guard::{Complaint, Cut};
use crate::agent::session::Session;
use crate::agent::subagent::Worked;
use crate::harnesses::{self, CallError, Notice, Step};
use crate::model::arguments::runs_commands;
use crate::model::dialect;
use crate::model::{Finish, ModelError, Reasoning, Reply, WireApi};

impl Session {
    /// Decodes a reply, does what it asks for, and answers it.
    pub(in crate::agent) fn read_reply(
        &mut self,
        mut reply: Reply,
        p: &mut Progress,
        front: &mut dyn Frontend,
    ) -> Next {
        if p.cut == Some(Cut::HeldBack) || self.was_swallowed(&reply) {
            return self.read_calls_here(front);
        }
        take_thinking(&mut reply, self.provider.wire);
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
            .filter(|text| !text.is_empty())
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
            return Next::End(EndReason::Refused(why.to_owned()), reply.assistant.text);
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
            Step::Act(mut actions) => {
                let calls = reply.assistant.calls.iter();
                for (call, action) in calls.zip(&mut actions) {
                    if let Some(mcp) = self.mcp_action(call) {
                        *action = mcp;
                    }
                }
                self.state.counters.remove(harnesses::REQUERIES);
                p.empty = 0;
                p.requeries = 0;
                p.first_part = None;
                self.act(reply.assistant, actions, faults, notes, p, front)
            }
        }
    }

    /// The model answers instead of acting.
    pub(super) fn finish(
        &mut self,
        reply: Reply,
        p: &mut Progress,
        front: &mut dyn Frontend,
    ) -> Next {
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
        self.let_go_once();
        match self.agents_work(u64::MAX, front) {
            Worked::None => {}
            Worked::Done => return Next::Again,
            Worked::Stopped => return Next::End(EndReason::Interrupted, String::new()),
        }
        if let Some(words) = self.reminder(p, false) {
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

    /// What the model should be reminded of before it stops, where models hear hints. `submits`: it
    /// ends by an action of its harness and not with an answer.
    pub(super) fn reminder(&mut self, p: &mut Progress, submits: bool) -> Option<String> {
        if !self.guides() || self.read_only {
            return None;
        }
        let wants_change = self.wants_a_change();
        let lacks = self.lacks_a_file(&p.check);
        let mut complaint = p.check.complaint(&p.last_text, wants_change, lacks)?;
        let next = match complaint {
            Complaint::Lacking | Complaint::Failed | Complaint::Unchanged => {
                self.next_step(&p.check)
            }
            _ => None,
        };
        // Without a file to change, a task may be done by words alone; a submission is none.
        if complaint == Complaint::Unchanged && next.is_none() && !submits {
            complaint = p.check.complaint(&p.last_text, false, lacks)?;
        }
        p.check.has_told(complaint);
        let mut tools = self.start.tools.iter().map(|t| t.name.as_str());
        let shell = tools.find(|name| runs_commands(name));
        Some(complaint.words(shell, next.as_deref()))
    }

    pub(super) fn tell(&mut self, words: &str, front: &mut dyn Frontend) {
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
    pub(super) fn last_words(
        &mut self,
        limit: u32,
        p: &mut Progress,
        front: &mut dyn Frontend,
    ) -> Next {
        front.event(&Event::Warning(format!(
            "the limit of {limit} steps is reached (max_steps); asking for a last answer"
        )));
        let text = "The step limit of this task is reached, so no tool can be called any more. Say in a few sentences what is done and what is missing.";
        let items = self
            .harness
            .notice(&mut self.state, &Notice::Nudge(text.into()));
        // Shown in this request only: in the next turn, tools can be called again.
        self.reports.prefix_event();
        match self.ask(&items, false, p, front) {
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
}

/// Puts thinking that stands in the text of a reply where it belongs.
pub(in crate::agent) fn take_thinking(reply: &mut Reply, wire: WireApi) {
    if let Some((thinking, text)) = dialect::split_thinking(&reply.assistant.text) {
        reply.assistant.text = text;
        reply.assistant.reasoning.push(Reasoning {
            text: thinking,
            wire,
            ..Reasoning::default()
        });
    }
}
