//! Calls that did not come as they should: found in text, put right, quoted in an error of the
//! server; and the stronger ways to get them when a model or a server cannot do better.

use super::event::{EndReason, Event, Frontend};
use super::guard::MOST_CALLS;
use super::record::ToolMode;
use super::session::Session;
use super::turn::{Next, Progress, REQUERIES};
use crate::harnesses::{CallError, Notice};
use crate::model::arguments::settle;
use crate::model::dialect::{self, Finding, Surroundings};
use crate::model::prompted::Prompted;
use crate::model::provider::LocalServer;
use crate::model::{
    Assistant, Finish, Item, ModelError, Reasoning, Reply, Request, Timing, ToolCall, WireApi,
    constrained,
};
use crate::sandbox::Strength;
use crate::words;
use std::collections::VecDeque;

/// How many items back a quoted call is looked for.
const AROUND: usize = 8;
/// So many broken calls in a row, or so many in a session that could not be run at all, and the
/// server is asked to hold the answers in shape. A call that was repaired does not count: it cost
/// no request, and large models are better off with their own form.
const FAULTS: u32 = 2;
const FAULTS_IN_ALL: u64 = 3;
/// The kind under which the latter are counted.
const NOT_RUN: &str = "not-run";

impl Session {
    /// Looks for calls written as text, where the harness has tools and the server saw none.
    pub(super) fn recover(
        &mut self,
        reply: &mut Reply,
        p: &mut Progress,
        front: &mut dyn Frontend,
    ) -> Option<Next> {
        if self.start.tools.is_empty() || !reply.assistant.calls.is_empty() {
            return None;
        }
        let tools = &self.start.tools;
        match self.with_surroundings(p, front, |around| dialect::recover(tools, reply, around)) {
            Finding::Nothing => None,
            Finding::Calls(found) => {
                // What was asked for in the prompt is no repair.
                let asked = self.tool_mode == ToolMode::Prompted && found.form == "function-xml";
                if !asked {
                    let text = format!(
                        "a call was taken from the text of the reply ({})",
                        found.form
                    );
                    self.repaired(found.form, text, front);
                }
                self.text_form = Some(found.form);
                reply.assistant.text = found.text;
                if let Some(thinking) = found.reasoning {
                    reply.assistant.reasoning = vec![Reasoning {
                        text: thinking,
                        wire: self.provider.wire,
                        ..Reasoning::default()
                    }];
                    reply.assistant.reasoning.retain(|r| !r.text.is_empty());
                }
                reply.assistant.calls = found.calls;
                if asked {
                    // Held text of a recovered call is dropped, and so is that of this one.
                    p.held.clear();
                    reply
                        .assistant
                        .calls
                        .iter_mut()
                        .for_each(|c| c.recovered = false);
                }
                None
            }
            Finding::Fault { text_for_model } => {
                p.requeries += 1;
                if p.requeries > REQUERIES {
                    return None;
                }
                p.corrected = true;
                self.faults += 1;
                let text =
                    "the reply looks like a tool call that cannot be run; the model was told";
                self.repaired(NOT_RUN, text.into(), front);
                self.push_reply(reply.assistant.clone());
                let items = self
                    .harness
                    .notice(&mut self.state, &Notice::Nudge(text_for_model));
                self.push_all(items);
                self.one_more_fault(p, front);
                Some(Next::Again)
            }
        }
    }

    /// What a call in text may stand next to, for the length of a call of `look`.
    fn with_surroundings<T>(
        &self,
        p: &Progress,
        front: &dyn Frontend,
        look: impl FnOnce(&Surroundings) -> T,
    ) -> T {
        let texts = |wanted: fn(&Item) -> bool| {
            let newest = self.transcript.items().iter().rev().filter(|i| wanted(i));
            let mut texts = newest.take(AROUND).map(Item::text).collect::<Vec<_>>();
            texts.reverse();
            texts
        };
        let users = texts(|i| matches!(i, Item::User { .. }));
        let results = texts(|i| matches!(i, Item::ToolResult(_)));
        let fenced = || !matches!(self.workbench.sandbox().strength(), Strength::Nothing(_));
        look(&Surroundings {
            user_texts: &users.iter().map(String::as_str).collect::<Vec<_>>(),
            tool_texts: &results.iter().map(String::as_str).collect::<Vec<_>>(),
            enforced: p.corrected || self.is_fenced() && fenced(),
            interactive: front.interactive(),
        })
    }

    /// Makes every call valid: an offered name, JSON arguments, an id; and drops copies.
    pub(super) fn settle_calls(
        &mut self,
        reply: &mut Reply,
        faults: &mut Vec<Option<CallError>>,
        notes: &mut Vec<Vec<String>>,
        front: &mut dyn Frontend,
    ) {
        let mut settled_calls: Vec<ToolCall> = Vec::new();
        let mut queue: VecDeque<_> = std::mem::take(&mut reply.assistant.calls).into();
        let tools = self.callable().into_owned();
        while let Some(call) = queue.pop_front() {
            let call = self.with_shown_name(call, &tools);
            let settled = settle(call, &tools, &reply.finish);
            let same =
                |c: &ToolCall| c.name == settled.call.name && c.arguments == settled.call.arguments;
            if settled_calls.iter().any(same) {
                let text = format!(
                    "a second copy of one {} call was dropped",
                    settled.call.name
                );
                self.repaired("copy", text, front);
                continue;
            }
            if let Some(kind) = settled.repaired {
                self.repaired(kind, format!("{}: {kind}", settled.call.name), front);
            }
            if settled_calls.len() == MOST_CALLS {
                if let Some(last) = notes.last_mut() {
                    last.push(format!("Only the first {MOST_CALLS} calls of your reply were done. Look at their results, then send what is still needed."));
                }
                let text = format!(
                    "only the first {MOST_CALLS} calls of the reply are done; the model was told"
                );
                self.repaired("too many calls", text, front);
                break;
            }
            let mut call = settled.call;
            // An id pairs a call with its result: it must be there and be the only one.
            if call.id.is_empty() || settled_calls.iter().any(|c| c.id == call.id) {
                call.id = ToolCall::fresh_id();
            }
            for (at, more) in settled.more.into_iter().enumerate() {
                queue.insert(at, more);
            }
            faults.push(settled.fault);
            notes.push(settled.notes);
            settled_calls.push(call);
        }
        reply.assistant.calls = settled_calls;
    }

    /// The server could not read what its own model wrote. What it quotes is taken when it can
    /// mean one call only; else the model gets a hint and another try.
    pub(super) fn bad_call(
        &mut self,
        raw: Option<String>,
        message: String,
        p: &mut Progress,
        front: &mut dyn Frontend,
    ) -> Next {
        let tools = &self.start.tools;
        let named = message
            .split_once("for \"")
            .and_then(|(_, rest)| rest.split('"').next());
        let call = raw.as_ref().and_then(|raw| {
            self.with_surroundings(p, front, |around| {
                dialect::from_raw(tools, raw, named, around).filter(|call| {
                    let harmless = crate::model::arguments::names::read_only(call);
                    harmless || around.enforced || around.interactive
                })
            })
        });
        if let Some(call) = call {
            let text = format!("a {} call was taken from the server's error", call.name);
            self.repaired("server-error", text, front);
            let reply = Reply {
                assistant: Assistant {
                    calls: vec![call],
                    ..Assistant::default()
                },
                finish: Finish::Stop,
                usage: None,
                timing: Timing::default(),
            };
            return self.read_reply(reply, p, front);
        }
        p.requeries += 1;
        self.faults += 1;
        if p.requeries >= REQUERIES {
            let error = ModelError::BadCall { raw, message };
            return Next::End(EndReason::Failed(error.to_string()), String::new());
        }
        let text =
            "the model produced a broken tool call that its server could not read; asking again";
        front.event(&Event::Warning(text.into()));
        let hint = format!(
            "Your last tool call could not be read ({}). Send it again as one complete call with valid JSON arguments.",
            crate::model::arguments::harmless(&message, 200)
        );
        self.show_once = self.harness.notice(&mut self.state, &Notice::Nudge(hint));
        self.one_more_fault(p, front);
        Next::Again
    }

    /// Counts a repair and shows it.
    pub(super) fn repaired(&mut self, kind: &str, text: String, front: &mut dyn Frontend) {
        self.repairs += 1;
        let of_model = self.repair_kinds.entry(self.model.clone()).or_default();
        *of_model.entry(kind.into()).or_default() += 1;
        *self.turn_repairs.entry(kind.into()).or_default() += 1;
        front.event(&Event::Repaired {
            kind: kind.into(),
            text,
        });
    }

    /// Says at the end of a turn what was repaired in it, and what that comes to for this model.
    pub(super) fn tell_repairs(&mut self, front: &mut dyn Frontend) {
        let turn = std::mem::take(&mut self.turn_repairs);
        if turn.is_empty() {
            return;
        }
        let kinds = turn.iter().map(|(kind, n)| format!("{kind} {n}"));
        let kinds = kinds.collect::<Vec<_>>().join(", ");
        let all = self
            .repair_kinds
            .get(&self.model)
            .map_or(0, |k| k.values().sum());
        front.event(&Event::Note(format!(
            "repaired calls of {}: {kinds} ({all} in this session)",
            self.model
        )));
    }

    /// The text form of a request, where the server takes no tools.
    pub(super) fn prompted(&self, request: &Request) -> Option<Prompted> {
        let prompted = self.tool_mode == ToolMode::Prompted && !self.start.tools.is_empty();
        prompted.then(|| Prompted::new(request.system, &self.start.tools, &request.items))
    }

    /// Goes on without the server's tools, once. False when that is how it is done already.
    pub(super) fn go_prompted(&mut self, message: &str, front: &mut dyn Frontend) -> bool {
        if self.tool_mode == ToolMode::Prompted || self.start.tools.is_empty() {
            return false;
        }
        front.event(&Event::Warning(format!(
            "the server takes no tools for {} ({}): they are described in the prompt from here on, so the whole prompt is read again",
            self.model,
            words::head(message, 200)
        )));
        self.set_tool_mode(ToolMode::Prompted);
        self.record_state();
        true
    }

    /// Says how tools are offered, where it is not the usual way.
    pub(super) fn mode_note(&self) -> Option<String> {
        match self.tool_mode {
            ToolMode::Prompted if self.info.resumed && !self.start.tools.is_empty() => {
                Some("tools are described in the prompt: the server takes none".into())
            }
            ToolMode::Constrained => Some("answers are held in shape by a JSON schema".into()),
            _ => None,
        }
    }

    /// One more call that could not be run. When that happens too often, the answers are held in
    /// shape, on servers that can do that.
    pub(super) fn one_more_fault(&mut self, p: &mut Progress, front: &mut dyn Frontend) {
        p.faults += 1;
        let counts = self.repair_kinds.get(&self.model);
        let in_all = counts.and_then(|kinds| kinds.get(NOT_RUN)).copied();
        let often = p.faults >= FAULTS || in_all >= Some(FAULTS_IN_ALL);
        if !often || !self.can_constrain() {
            return;
        }
        self.constrain("calls went wrong again", front);
        self.show_once.clear();
        let items = self
            .harness
            .notice(&mut self.state, &Notice::Nudge(constrained::HOW.into()));
        self.push_all(items);
        self.record_state();
    }

    /// After a reminder a model that writes its calls as text is made to call: it would rather tell
    /// of a run than make one (seen with a 1.5B model in two of three runs).
    pub(super) fn hold_after_reminder(&mut self, front: &mut dyn Frontend) {
        let as_text = self
            .repair_kinds
            .get(&self.model)
            .is_some_and(|kinds| !kinds.is_empty());
        // One that has not called anything yet may not know how.
        if (as_text || self.steps == 0) && self.can_constrain() {
            self.set_tool_mode(ToolMode::Constrained);
            self.constrained_once = true;
            let text = "the model tells of steps that it does not take: its next reply is held in the shape of a call";
            self.repaired("constrained", text.into(), front);
        }
    }

    /// The last try with a model that stays silent: its next reply is held in the shape of a call or
    /// of an answer with words. False where the server cannot do that, or did it in this turn.
    pub(super) fn hold_after_silence(&mut self, front: &mut dyn Frontend) -> bool {
        if !self.can_constrain() {
            return false;
        }
        self.set_tool_mode(ToolMode::Constrained);
        self.call_schema = Some(constrained::schema(&self.start.tools, true));
        self.constrained_once = true;
        self.show_once = self.harness.notice(
            &mut self.state,
            &Notice::Nudge(constrained::HOW_ONCE.into()),
        );
        let text =
            "the model stays silent: its next reply is held in the shape of a call or an answer";
        self.repaired("constrained", text.into(), front);
        true
    }

    /// The server cannot hold an answer in shape: from here on none is. llama.cpp makes no grammar of
    /// some schemas beside the one of its own templates. False when none was held.
    pub(super) fn let_go_of_shape(&mut self, error: &ModelError, front: &mut dyn Frontend) -> bool {
        let ModelError::Status { message, .. } = error else {
            return false;
        };
        if self.tool_mode != ToolMode::Constrained {
            return false;
        }
        self.shape_refused = true;
        self.set_tool_mode(ToolMode::Native);
        // For one reply, the model was told nothing of the shape.
        if !std::mem::take(&mut self.constrained_once) {
            let nudge =
                "Answers in that JSON form are over. Call the tools as you were told at the start.";
            let items = self
                .harness
                .notice(&mut self.state, &Notice::Nudge(nudge.into()));
            self.push_all(items);
        }
        self.record_state();
        let why = message.trim_end_matches('.');
        front.event(&Event::Warning(format!(
            "the server cannot hold answers in shape ({why}); going on without"
        )));
        true
    }

    /// The server can hold answers in shape, and does not do so yet.
    fn can_constrain(&self) -> bool {
        let can = match self.provider.wire {
            WireApi::Ollama => true,
            WireApi::Chat => self.provider.local == Some(LocalServer::LlamaServer),
            _ => false,
        };
        can && !self.shape_refused
            && self.tool_mode == ToolMode::Native
            && !self.start.tools.is_empty()
    }

    fn constrain(&mut self, why: &str, front: &mut dyn Frontend) {
        self.set_tool_mode(ToolMode::Constrained);
        let text = format!("{why}: answers are held in shape by a JSON schema from here on");
        self.repaired("constrained", text, front);
    }

    /// The one reply that was held in shape is over.
    pub(super) fn let_go_once(&mut self) {
        if std::mem::take(&mut self.constrained_once) {
            self.set_tool_mode(ToolMode::Native);
        }
    }

    /// A step was taken, so the answers may end the task too.
    pub(super) fn may_end(&mut self) {
        self.let_go_once();
        if self.tool_mode == ToolMode::Constrained {
            self.call_schema = Some(constrained::schema(&self.start.tools, true));
        }
    }

    /// Reads an answer that was held in shape.
    pub(super) fn decode_constrained(&self, reply: &mut Reply, p: &mut Progress) {
        if self.tool_mode == ToolMode::Constrained && constrained::decode(reply) {
            // The JSON of the answer was held back; its words are shown instead.
            p.held.clone_from(&reply.assistant.text);
        }
    }
}
