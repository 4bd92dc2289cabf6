//! A conversation: its settings, harness, model, tools and file; the owner of the transcript.

mod recording;
mod request;

use super::approval::Judge;
use super::budget::Budget;
use super::connect::Connection;
use super::cost::Cost;
use super::event::{Event, Frontend, Phase, SessionInfo};
use super::guard::CallGuard;
use super::hooks::Hooked;
use super::mcp::McpServers;
use super::notify::Notify;
use super::open::ShellEnvironment;
use super::pending::Pending;
use super::record::{Restored, ToolMode};
use super::reports::Reports;
use super::schema::AnswerSchema;
use super::subagent::NestedAgents;
use super::tokens::{Counter, Size};
use super::transcript::{Mark, Transcript, item_size};
use super::undo::Keeper;
use crate::cancel::Cancel;
use crate::harnesses::{Context, Harness, Notice, Start, State};
use crate::model::catalog::Prices;
use crate::model::provider::{LocalServer, Provider};
use crate::model::{Assistant, Item, Sampling, Usage};
use crate::project::hooks::Hooks;
use crate::project::skills::Skills;
use crate::project::undo::Undo;
use crate::store::log::Log;
use crate::store::models::ModelFile;
use crate::store::rollout::Writer;
use crate::tools::Workbench;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// One conversation with one model.
pub struct Session {
    pub(super) info: SessionInfo,
    pub(super) provider: Provider,
    pub(super) model: String,
    pub(super) harness: &'static dyn Harness,
    pub(super) context: Context,
    pub(super) start: Start,
    pub(super) state: State,
    pub(super) transcript: Transcript,
    pub(super) budget: Budget,
    pub(super) workbench: Workbench,
    pub(super) judge: Judge,
    pub(super) calls: CallGuard,
    pub(super) cancel: Cancel,
    pub(super) max_steps: Option<u32>,
    pub(super) usage: Usage,
    pub(super) cost: Cost,
    /// What the model costs, where the tables know it.
    pub(super) prices: Option<Prices>,
    pub(super) tool_mode: ToolMode,
    /// [`ToolMode::Constrained`] ends with the next reply that acts or answers.
    pub(super) constrained_once: bool,
    /// The form of an answer in [`ToolMode::Constrained`].
    pub(super) call_schema: Option<Value>,
    /// The server refused to hold an answer in shape.
    pub(super) shape_refused: bool,
    /// The server cannot read this model's calls, so they come as text.
    pub(super) raw_calls: bool,
    pub(super) repairs: u64,
    /// Repaired calls by model and kind, over the whole session.
    pub(super) repair_kinds: BTreeMap<String, BTreeMap<String, u64>>,
    /// Those of the running turn.
    pub(super) turn_repairs: BTreeMap<String, u64>,
    /// The form of the latest call that was found in text.
    pub(super) text_form: Option<&'static str>,
    /// The server has to load the model before it can answer.
    pub(super) is_cold: bool,
    pub(super) requests: u64,
    pub(super) steps: u64,
    pub(super) faults: u64,
    pub(super) actions: u64,
    pub(super) show_once: Vec<Item>,
    pub(super) log: Log,
    /// The first trouble of the session's file in this turn; said once.
    pub(super) store_trouble: Option<String>,
    /// Judges the counts that the server reports.
    pub(super) reports: Reports,
    /// The user knows that the cache was lost.
    pub(super) told_cold: bool,
    /// Requests for summaries so far.
    pub(super) summaries: u32,
    /// The number of the reply before which the last summary was made.
    pub(super) summarised_at: Option<u64>,
    pub(super) next_reply: u64,
    /// The server counts a prompt before it is sent.
    pub(super) can_count: bool,
    pub(super) learnt: ModelFile,
    pub(super) store: Option<Writer>,
    /// Those that do parts of the task.
    pub(super) agents: NestedAgents,
    pub(super) window_request: Option<u32>,
    pub(super) sampling: Sampling,
    /// The sampling values are not the user's own.
    pub(super) may_vary: bool,
    /// The model repeats itself, so the next reply is drawn more freely.
    pub(super) is_stuck: bool,
    pub(super) effort: Option<String>,
    /// Nothing may be changed in this turn.
    pub(super) read_only: bool,
    /// The name that the user gave the session.
    pub(super) title: Option<String>,
    /// Which call of the reply is being done.
    pub(super) asks_about: usize,
    /// A question that an earlier run of the program did not get answered.
    pub(super) pending: Option<Pending>,
    pub(super) schema: Option<Arc<AnswerSchema>>,
    /// Whether the model thinks, where its server says so.
    pub(super) thinks: Option<bool>,
    /// What commands get as their environment.
    pub(super) shell_environment: ShellEnvironment,
    /// Permissions that changed while the turn ran; the model is not told yet.
    pub(super) untold: Option<String>,
    /// The next request asks for the answer in that shape.
    pub(super) is_shaping: bool,
    pub(super) last_state: Value,
    /// The way back from what the turns change.
    pub(super) keeper: Keeper,
    /// Programs that run at moments of the session.
    pub(super) hooked: Hooked,
    /// What the model can read by name.
    pub(super) skills: Skills,
    /// The program that is told of each turn.
    pub(super) notify: Notify,
    /// The servers of further tools.
    pub(super) mcp: McpServers,
    /// The model takes pictures, as far as is known.
    pub(super) vision: bool,
    /// The names of instruction files.
    pub(super) doc_names: Vec<String>,
}

/// Everything that a session is made of.
pub struct Parts {
    /// The id.
    pub id: String,
    /// Provider, model and window.
    pub connection: Connection,
    /// The harness.
    pub harness: &'static dyn Harness,
    /// What it knows.
    pub context: Context,
    /// The tools.
    pub workbench: Workbench,
    /// The approvals.
    pub judge: Judge,
    /// The stop flag.
    pub cancel: Cancel,
    /// The session's file; `None` for one that is not kept.
    pub store: Option<Writer>,
    /// Where what is learnt about models is kept.
    pub learnt: ModelFile,
    /// Errors and sizes.
    pub log: Log,
    /// A stored session to go on with.
    pub restored: Option<Restored>,
    /// The limit of steps of a turn.
    pub max_steps: Option<u32>,
    /// The user's limit for one tool result, in tokens.
    pub result_limit: Option<u32>,
    /// Sampling values.
    pub sampling: Sampling,
    /// They are not the user's own, so that a model that repeats itself may get others.
    pub may_vary: bool,
    /// Reasoning effort.
    pub effort: Option<String>,
    /// A schema for the answer.
    pub schema: Option<Arc<AnswerSchema>>,
    /// What commands get as their environment.
    pub shell_environment: ShellEnvironment,
    /// What the turns change; `None` for a session that is not kept.
    pub undo: Option<Undo>,
    /// Programs that run at moments of the session.
    pub hooks: Hooks,
    /// What the model can read by name.
    pub skills: Skills,
    /// The program that is told of each turn: its words; empty for none.
    pub notify: Vec<String>,
    /// The servers of further tools, started.
    pub(super) mcp: McpServers,
    /// The names by which a folder's instructions are found.
    pub doc_names: Vec<String>,
}

/// How often things happened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests that asked the model for a reply.
    pub requests: u64,
    /// Replies with at least one action.
    pub steps: u64,
    /// Calls that were repaired or taken from text.
    pub repairs: u64,
    /// Calls that could not be understood, and replies that had to be asked for again.
    pub faults: u64,
}

impl Session {
    /// Puts a session together and writes its beginning down.
    pub fn new(parts: Parts) -> Self {
        let restored = parts.restored.unwrap_or_default();
        let resumed = !restored.id.is_empty();
        let start = restored
            .start
            .unwrap_or_else(|| begin(parts.harness, &parts.context));
        let state = if resumed {
            restored.memory.harness
        } else {
            start.state.clone()
        };
        let connection = parts.connection;
        let is_cold = connection.is_cold();
        let counter = counter(&parts.learnt, &connection.model, &start);
        let policy = parts.workbench.sandbox().policy();
        let info = SessionInfo {
            id: parts.id,
            resumed,
            cwd: parts.context.cwd.clone(),
            provider: (
                connection.provider.name.clone(),
                connection.provider.base_url.clone(),
            ),
            model: connection.model.clone(),
            wire: connection.provider.wire.name(),
            harness: (parts.harness.id(), parts.context.size.name()),
            window: (connection.window.tokens, connection.window.source.clone()),
            sandbox: policy.mode,
            approval: parts.judge.approval.name(),
            network: policy.network,
            file: parts.store.as_ref().map(|s| s.path().to_owned()),
        };
        let mut workbench = parts.workbench;
        *workbench.memory_mut() = restored.files;
        let mut budget = Budget::of(connection.window.tokens, parts.result_limit, counter);
        let listed = connection.info.listed.as_ref();
        budget.limit_reply(listed.and_then(|m| m.output));
        let mut session = Session {
            budget,
            reports: Reports::new(connection.provider.is_llama_server()),
            told_cold: false,
            summaries: 0,
            summarised_at: None,
            can_count: can_count(&connection.provider),
            learnt: parts.learnt,
            info,
            provider: connection.provider,
            model: connection.model,
            harness: parts.harness,
            context: parts.context,
            start,
            state,
            transcript: restored.transcript,
            workbench,
            judge: parts.judge,
            calls: CallGuard::default(),
            cancel: parts.cancel,
            max_steps: parts.max_steps,
            usage: restored.memory.usage,
            cost: restored.memory.cost,
            prices: connection.info.listed.as_ref().map(|m| m.prices),
            tool_mode: ToolMode::Native,
            constrained_once: false,
            call_schema: None,
            shape_refused: false,
            raw_calls: restored.memory.raw_calls,
            repairs: 0,
            repair_kinds: restored.memory.repairs,
            turn_repairs: BTreeMap::new(),
            text_form: None,
            is_cold,
            requests: 0,
            steps: 0,
            faults: 0,
            actions: 0,
            show_once: Vec::new(),
            log: parts.log,
            store_trouble: None,
            store: parts.store,
            agents: NestedAgents::default(),
            next_reply: restored.next_reply,
            window_request: connection.window.request,
            sampling: parts.sampling,
            may_vary: parts.may_vary,
            is_stuck: false,
            effort: parts.effort,
            read_only: false,
            title: restored.title,
            asks_about: 0,
            pending: None,
            schema: parts.schema,
            thinks: connection.info.thinking,
            shell_environment: parts.shell_environment,
            untold: None,
            is_shaping: false,
            last_state: Value::Null,
            keeper: Keeper::new(parts.undo),
            hooked: Hooked::new(parts.hooks, resumed),
            skills: parts.skills,
            notify: Notify::new(parts.notify),
            mcp: parts.mcp,
            vision: connection.info.vision != Some(false),
            doc_names: parts.doc_names,
        };
        // The mode belongs to the model that it was found for.
        let same = restored.context.is_some_and(|c| c.model == session.model);
        let mode = match restored.memory.tool_mode {
            _ if connection.prompted => ToolMode::Prompted,
            mode if same => mode,
            _ => ToolMode::Native,
        };
        if mode != ToolMode::Native {
            session.set_tool_mode(mode);
        }
        if resumed {
            let asked = restored.asked.and_then(|call| {
                let action = session.harness.action(&call).ok()?;
                Some((call, action))
            });
            match asked {
                Some((call, action)) => {
                    session.pending = Some(Pending::new(call, action, restored.added));
                }
                None => {
                    for item in restored.added {
                        session.record_item(&item, Mark::Answer);
                    }
                }
            }
        } else {
            session.record_beginning();
        }
        session
    }

    /// What the session is.
    pub fn info(&self) -> &SessionInfo {
        &self.info
    }

    /// The window and its use.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// The tools, for a front end that runs the user's own commands or stops jobs.
    pub fn workbench(&mut self) -> &mut Workbench {
        &mut self.workbench
    }

    /// Tokens of the session so far.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// What the session cost so far.
    pub fn cost(&self) -> Cost {
        self.cost
    }

    /// What happened since the session was opened.
    pub fn counts(&self) -> Counts {
        Counts {
            requests: self.requests,
            steps: self.steps,
            repairs: self.repairs,
            faults: self.faults,
        }
    }

    /// The skills.
    pub fn skills(&self) -> &Skills {
        &self.skills
    }

    /// Nothing was said in it yet.
    pub fn is_new(&self) -> bool {
        self.transcript.items().is_empty()
    }

    /// The stop flag.
    pub fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// Tells the front end what the session is.
    pub fn announce(&self, front: &mut dyn Frontend) {
        front.event(&Event::Session(Box::new(self.info.clone())));
        if let Some(text) = self.hooks_in_words() {
            front.event(&Event::Note(text));
        }
        if let Some(text) = self.mode_note() {
            front.event(&Event::Note(text));
        }
    }

    /// The file into which the middle of a long input went, and the text that stands for it.
    pub fn fit_input(&self, text: String) -> Result<(String, Option<PathBuf>), std::io::Error> {
        super::input::fit(text, self.budget.task_bytes(), self.workbench.outputs())
    }

    /// Adds items at the end, on disk first.
    pub(super) fn push_all(&mut self, items: Vec<Item>) {
        self.push_marked(items, Mark::Plain);
    }

    /// Adds items of one kind at the end, on disk first.
    pub(super) fn push_marked(&mut self, items: Vec<Item>, mark: Mark) {
        for item in items {
            self.record_item(&item, mark);
            self.transcript.push(item, mark);
        }
    }

    /// Adds the model's reply.
    pub(super) fn push_reply(&mut self, assistant: Assistant) {
        self.push_all(vec![Item::Assistant(assistant)]);
        self.next_reply += 1;
    }

    /// The session has a file.
    pub(super) fn is_kept(&self) -> bool {
        self.store.is_some()
    }

    /// Tells the model about background commands that ended; a nested agent did not start them.
    pub(super) fn tell_ended_jobs(&mut self) {
        if self.context.depth > 0 {
            return;
        }
        for job in self.workbench.ended_jobs() {
            let notice = Notice::JobEnded {
                id: job.id,
                command: job.command,
                code: job.code,
                file: job.file,
            };
            let items = self.harness.notice(&mut self.state, &notice);
            self.push_all(items);
        }
    }

    /// The phase in which the next request begins.
    pub(super) fn first_phase(&self) -> Phase {
        match self.is_cold {
            true => Phase::Loading,
            false => Phase::Reading,
        }
    }
}

/// The beginning of a conversation in that harness, to be frozen.
pub(super) fn begin(harness: &dyn Harness, context: &Context) -> Start {
    Start {
        skills: context.skills.clone(),
        ..harness.begin(context)
    }
}

/// Counts the prompts of a session with this model and beginning.
pub(super) fn counter(learnt: &ModelFile, model: &str, start: &Start) -> Counter {
    let known = learnt.get(model);
    let known = known.and_then(|entry| serde_json::from_value(entry).ok());
    Counter::new(fixed_size(start), known)
}

/// The server counts a prompt before it is sent.
pub(super) fn can_count(provider: &Provider) -> bool {
    let counting = [Some(LocalServer::LlamaServer), Some(LocalServer::Vllm)];
    counting.contains(&provider.local)
}

/// The size of everything before the first word of the user.
pub(super) fn fixed_size(start: &Start) -> Size {
    let tools = serde_json::to_string(&start.tools).unwrap_or_default();
    let opening = start.opening.iter().map(item_size).sum();
    Size::of(&start.system) + Size::of(&tools) + opening
}
