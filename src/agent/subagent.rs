//! A nested agent: a part of the task, done in a conversation of its own.
//!
//! It has the tools, the sandbox, the approvals and the server of the session, and runs after what
//! the main agent does, never beside it: a local server has one model and one cache. What it
//! thinks and reads stays in its own transcript; only its answer comes back.

use super::budget::Budget;
use super::event::{Answer, EndReason, Event, Frontend, Question};
use super::guard::CallGuard;
use super::record::ToolMode;
use super::reports::Reports;
use super::session::{Session, fixed_size};
use super::tokens::Counter;
use super::transcript::{Mark, Transcript};
use crate::harnesses::{Context, Input, Start, State};
use crate::model::Item;
use crate::store::rollout::Writer;
use crate::tools::FileMemory;
use crate::tools::action::{Delegate, DelegateOut, Outcome};
use serde_json::Value;
use std::mem::{swap, take};
use std::time::Instant;

/// The most steps of a nested agent.
const STEPS: u32 = 50;

/// What belongs to one conversation. The session holds that of the agent at work.
struct Conversation {
    context: Context,
    start: Start,
    state: State,
    transcript: Transcript,
    budget: Budget,
    reports: Reports,
    calls: CallGuard,
    memory: FileMemory,
    tool_mode: ToolMode,
    constrained_once: bool,
    call_schema: Option<Value>,
    text_form: Option<&'static str>,
    show_once: Vec<Item>,
    summarised_at: Option<u64>,
    next_reply: u64,
    max_steps: Option<u32>,
    read_only: bool,
    schema: Option<Value>,
    store: Option<Writer>,
    last_state: Value,
}

impl Session {
    /// Lets a nested agent do a part of the task.
    pub(super) fn delegate(&mut self, part: &Delegate, front: &mut dyn Frontend) -> Outcome {
        if self.context.depth > 0 {
            return Outcome::Refused {
                reason: "A nested agent cannot start another one; do this part yourself.".into(),
            };
        }
        let began = Instant::now();
        self.delegates += 1;
        let id = self.delegates;
        let before = (self.usage.input + self.usage.output, self.steps);
        let mode = self.tool_mode;
        let cwd = self.workbench.cwd().to_owned();
        let mut other = self.nested(part, id);
        self.exchange(&mut other);
        self.set_tool_mode(mode);
        self.record_beginning();
        let input = Input::text(part.prompt.clone());
        let (reason, answer) = self.work(&input, Mark::Task, &mut Nested(front));
        self.record_state();
        self.exchange(&mut other);
        self.workbench.set_cwd(cwd);
        // The nested agent's prompts took the place of this one's in the server's cache.
        self.reports.prefix_event();
        // A stop of the person, at a question of the nested agent too, is one of the whole turn.
        if reason == EndReason::Interrupted {
            return Outcome::Interrupted;
        }
        Outcome::Delegated(DelegateOut {
            id,
            text: answer,
            failure: reason.failure(),
            actions: u32::try_from(self.steps - before.1).unwrap_or(u32::MAX),
            tokens: self.usage.input + self.usage.output - before.0,
            took: began.elapsed(),
        })
    }

    fn nested(&self, part: &Delegate, id: u32) -> Conversation {
        let context = Context {
            depth: self.context.depth + 1,
            ..self.context.clone()
        };
        let start = self.harness.child(&part.role, &context);
        let state = start.state.clone();
        let counter = Counter::new(fixed_size(&start), self.budget.counter().learnt());
        let store = self.is_kept().then(|| {
            let file = self.workbench.outputs().join(format!("agent-{id}.jsonl"));
            Writer::at(&file).ok()
        });
        Conversation {
            budget: self.budget.resized(self.budget.window(), counter),
            reports: Reports::new(self.provider.is_llama_server()),
            context,
            start,
            state,
            transcript: Transcript::default(),
            calls: CallGuard::default(),
            memory: FileMemory::default(),
            tool_mode: ToolMode::Native,
            constrained_once: false,
            call_schema: None,
            text_form: None,
            show_once: Vec::new(),
            summarised_at: None,
            next_reply: 0,
            max_steps: Some(self.max_steps.map_or(STEPS, |most| most.min(STEPS))),
            // It cannot end a planning that it did not begin.
            read_only: part.read_only || self.read_only || self.state.planning,
            schema: None,
            store: store.flatten(),
            last_state: Value::Null,
        }
    }

    fn exchange(&mut self, other: &mut Conversation) {
        swap(&mut self.context, &mut other.context);
        swap(&mut self.start, &mut other.start);
        swap(&mut self.state, &mut other.state);
        swap(&mut self.transcript, &mut other.transcript);
        swap(&mut self.budget, &mut other.budget);
        swap(&mut self.reports, &mut other.reports);
        swap(&mut self.calls, &mut other.calls);
        swap(&mut self.tool_mode, &mut other.tool_mode);
        swap(&mut self.constrained_once, &mut other.constrained_once);
        swap(&mut self.call_schema, &mut other.call_schema);
        swap(&mut self.text_form, &mut other.text_form);
        swap(&mut self.show_once, &mut other.show_once);
        swap(&mut self.summarised_at, &mut other.summarised_at);
        swap(&mut self.next_reply, &mut other.next_reply);
        swap(&mut self.max_steps, &mut other.max_steps);
        swap(&mut self.read_only, &mut other.read_only);
        swap(&mut self.schema, &mut other.schema);
        swap(&mut self.store, &mut other.store);
        swap(&mut self.last_state, &mut other.last_state);
        // What one of them read, the other has not seen.
        let memory = self.workbench.memory().clone();
        self.workbench.set_memory(take(&mut other.memory));
        other.memory = memory;
    }
}

/// Shows the deeds of a nested agent, and keeps its words to itself.
struct Nested<'a>(&'a mut dyn Frontend);

impl Frontend for Nested<'_> {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Session(_)
            | Event::TurnStarted
            | Event::TurnDone(_)
            | Event::Text(_)
            | Event::Reasoning(_)
            | Event::Replied { .. }
            | Event::Plan(_) => {}
            other => self.0.event(other),
        }
    }

    fn ask(&mut self, question: &Question) -> Answer {
        self.0.ask(question)
    }

    fn confirm(&mut self, question: &str) -> bool {
        self.0.confirm(question)
    }

    fn interactive(&self) -> bool {
        self.0.interactive()
    }
}
