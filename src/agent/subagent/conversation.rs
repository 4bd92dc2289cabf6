//! One conversation of a session in the place of another: that of a nested agent for as long as it
//! works.

use super::{NestedAgent, file};
use crate::agent::budget::Budget;
use crate::agent::guard::CallGuard;
use crate::agent::mcp::is_mcp;
use crate::agent::record::ToolMode;
use crate::agent::reports::Reports;
use crate::agent::schema::AnswerSchema;
use crate::agent::session::{Session, fixed_size};
use crate::agent::tokens::Counter;
use crate::agent::transcript::Transcript;
use crate::harnesses::{Context, Start, State};
use crate::model::Item;
use crate::store::rollout::Writer;
use crate::tools::FileMemory;
use serde_json::Value;
use std::mem::{swap, take};
use std::path::PathBuf;
use std::sync::Arc;

/// The most steps of a nested agent.
const STEPS: u32 = 50;

/// What belongs to one conversation. The session holds that of the agent at work.
pub(super) struct Conversation {
    pub(super) context: Context,
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
    pub(super) read_only: bool,
    schema: Option<Arc<AnswerSchema>>,
    store: Option<Writer>,
    last_state: Value,
    /// Where the next command starts.
    pub(super) cwd: PathBuf,
    /// It has not worked yet.
    pub(super) is_new: bool,
}

impl Session {
    /// A conversation for an agent that begins. `tools` are the only ones that it gets, unless there
    /// are none.
    pub(super) fn conversation(&self, agent: &NestedAgent, tools: &[String]) -> Conversation {
        let context = Context {
            depth: self.context.depth + 1,
            ..self.context.clone()
        };
        let (mut start, transcript) = match agent.forked {
            // Byte for byte what the server has in its cache.
            true => (self.start.clone(), self.transcript.before_last_reply()),
            false => {
                let mut start = self.harness.child(&agent.role, &context);
                // It has the further tools that this one has.
                let further = self.start.tools.iter().filter(|t| is_mcp(&t.name));
                start.tools.extend(further.cloned());
                (start, Transcript::default())
            }
        };
        if start.tools.iter().any(|t| tools.contains(&t.name)) {
            start.tools.retain(|t| tools.contains(&t.name));
        }
        let state = match agent.forked {
            true => self.state.clone(),
            false => start.state.clone(),
        };
        let counter = Counter::new(fixed_size(&start), self.budget.counter().learnt());
        let store = self
            .is_kept()
            .then(|| Writer::at(&file(self.workbench.outputs(), agent.id)).ok());
        Conversation {
            budget: self.budget.resized(self.budget.window(), counter),
            reports: Reports::new(self.provider.is_llama_server()),
            context,
            start,
            state,
            transcript,
            calls: CallGuard::default(),
            memory: match agent.forked {
                true => self.workbench.memory().all_new(),
                false => FileMemory::default(),
            },
            tool_mode: ToolMode::Native,
            constrained_once: false,
            call_schema: None,
            text_form: None,
            show_once: Vec::new(),
            summarised_at: None,
            next_reply: 0,
            max_steps: Some(self.max_steps.map_or(STEPS, |most| most.min(STEPS))),
            read_only: false,
            schema: None,
            store: store.flatten(),
            last_state: Value::Null,
            cwd: self.workbench.cwd().to_owned(),
            is_new: true,
        }
    }

    /// Puts the other conversation in the place of this one.
    pub(super) fn exchange(&mut self, other: &mut Conversation) {
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
        let cwd = self.workbench.cwd().to_owned();
        self.workbench.set_cwd(take(&mut other.cwd));
        other.cwd = cwd;
        // What one of them read, the other has not seen.
        swap(self.workbench.memory_mut(), &mut other.memory);
    }
}
