//! A conversation: its settings, harness, model, tools and file; the owner of the transcript.

use super::approval::Judge;
use super::budget::Budget;
use super::connect::Connection;
use super::event::{EndReason, Event, Frontend, Phase, SessionInfo, TurnEnd};
use super::guard::CallGuard;
use super::metrics::Metrics;
use super::record::{self, Memory, Restored, SandboxRecord, ToolMode, TurnContext};
use super::reports::Reports;
use super::tokens::{Counter, Size};
use super::transcript::{Mark, Transcript, item_size};
use super::undo::Keeper;
use crate::cancel::Cancel;
use crate::harnesses::{Context, Harness, Notice, Start, State};
use crate::model::provider::{LocalServer, Provider};
use crate::model::{Assistant, Item, Request, Sampling, Timing, Usage};
use crate::model::{constrained, local, prompted};
use crate::project::undo::Undo;
use crate::store::log::Log;
use crate::store::models::ModelFile;
use crate::store::rollout::Writer;
use crate::tools::Workbench;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A count is asked for when the estimate is within this part of the window from the limit.
const NEAR_LIMIT: u32 = 10;

/// The temperature for a model that repeats itself: at a low one it would do so for ever.
const STUCK: f64 = 0.8;

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
    pub(super) tool_mode: ToolMode,
    /// [`ToolMode::Constrained`] ends with the next call.
    pub(super) constrained_once: bool,
    /// The form of an answer in [`ToolMode::Constrained`].
    pub(super) call_schema: Option<Value>,
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
    /// Nested agents so far.
    pub(super) delegates: u32,
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
    pub(super) schema: Option<Value>,
    pub(super) last_state: Value,
    /// The way back from what the turns change.
    pub(super) keeper: Keeper,
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
    pub schema: Option<Value>,
    /// What the turns change; `None` for a session that is not kept.
    pub undo: Option<Undo>,
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
            .unwrap_or_else(|| parts.harness.begin(&parts.context));
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
        workbench.set_memory(restored.memory.files);
        let mut session = Session {
            budget: Budget::of(connection.window.tokens, parts.result_limit, counter),
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
            tool_mode: ToolMode::Native,
            constrained_once: false,
            call_schema: None,
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
            delegates: 0,
            next_reply: restored.next_reply,
            window_request: connection.window.request,
            sampling: parts.sampling,
            may_vary: parts.may_vary,
            is_stuck: false,
            effort: parts.effort,
            read_only: false,
            title: restored.title,
            schema: parts.schema,
            last_state: Value::Null,
            keeper: Keeper::new(parts.undo),
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
            for item in restored.added {
                session.record_item(&item, Mark::Answer);
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

    /// What happened since the session was opened.
    pub fn counts(&self) -> Counts {
        Counts {
            requests: self.requests,
            steps: self.steps,
            repairs: self.repairs,
            faults: self.faults,
        }
    }

    /// The stop flag.
    pub fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// Tells the front end what the session is.
    pub fn announce(&self, front: &mut dyn Frontend) {
        front.event(&Event::Session(Box::new(self.info.clone())));
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

    /// What the next prompt has after its fixed beginning.
    pub(super) fn rest(&self, show: &[Item]) -> Size {
        self.transcript.size() + show.iter().map(item_size).sum()
    }

    /// True when the next request fits. Where the estimate is near the limit, a server that can
    /// count is asked once.
    pub(super) fn fits_exactly(&mut self, show: &[Item]) -> bool {
        let rest = self.rest(show);
        let near = u64::from(self.budget.window() / NEAR_LIMIT);
        if self.can_count && self.budget.free(rest).unsigned_abs() <= near {
            let mut request = self.request(show, self.budget.reply_limit(rest));
            let prompted = self.prompted(&request);
            if let Some(prompted) = &prompted {
                prompted.put_into(&mut request);
            }
            match local::count(&self.provider, &request, &self.cancel) {
                Some(tokens) => self.budget.learn(rest, tokens),
                None => self.can_count = false,
            }
        }
        self.budget.fits(rest)
    }

    /// The next request.
    pub(super) fn request<'a>(&'a self, show: &'a [Item], max_output_tokens: u32) -> Request<'a> {
        Request {
            model: &self.model,
            system: &self.start.system,
            tools: &self.start.tools,
            items: self
                .start
                .opening
                .iter()
                .chain(self.transcript.items())
                .chain(show)
                .collect(),
            max_output_tokens,
            window: self.window_request,
            sampling: self.sampling_now(),
            reasoning_effort: self.effort.as_deref(),
            cache_key: &self.info.id,
            schema: self.call_schema.as_ref().or(self.schema.as_ref()),
            local: self.provider.is_local(),
            extra: &self.provider.extra_body,
        }
    }

    /// The sampling values of the next request.
    fn sampling_now(&self) -> Sampling {
        let mut sampling = self.sampling.clone();
        if self.is_stuck && self.may_vary && self.provider.is_local() {
            sampling.temperature = Some(sampling.temperature.unwrap_or_default().max(STUCK));
        }
        sampling
    }

    /// Sends tools and reads calls in this way from now on.
    pub(super) fn set_tool_mode(&mut self, mode: ToolMode) {
        self.tool_mode = mode;
        let tools = &self.start.tools;
        self.call_schema =
            (mode == ToolMode::Constrained).then(|| constrained::schema(tools, false));
        if mode == ToolMode::Prompted && !tools.is_empty() {
            let system = prompted::system_text(&self.start.system, tools);
            let opening: Size = self.start.opening.iter().map(item_size).sum();
            self.budget.begin_with(Size::of(&system) + opening);
            self.reports.prefix_event();
        }
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

    pub(super) fn record(&mut self, lines: &[Value]) {
        if let Some(store) = &mut self.store
            && let Err(error) = store.append(lines)
        {
            self.log.error(&format!("session file: {error}"));
            self.store_trouble
                .get_or_insert(format!("{error}; until then this session may not resume"));
        }
    }

    fn record_item(&mut self, item: &Item, mark: Mark) {
        let lines = record::item_lines(item, self.next_reply, mark);
        self.record(&lines);
    }

    pub(super) fn record_beginning(&mut self) {
        let meta = json!({
            "id": self.info.id, "cwd": self.info.cwd.to_string_lossy(), "originator": "interpreter", "depth": self.context.depth,
            "cli_version": env!("CARGO_PKG_VERSION"), "model_provider": self.provider.id,
            "base_instructions": {"text": self.start.system},
            "git": {"branch": self.context.git_branch},
        });
        let lines = [
            record::line("session_meta", meta),
            record::line("start", &self.start),
        ];
        self.record(&lines);
    }

    /// What the turn runs with, and that it begins.
    pub(super) fn record_turn_start(&mut self) {
        self.record_turn_context();
        self.record(&[record::line("event_msg", json!({"type": "task_started"}))]);
    }

    /// What the session runs with.
    pub(super) fn record_turn_context(&mut self) {
        let context = self.turn_context();
        self.record(&[record::line("turn_context", context)]);
    }

    fn turn_context(&self) -> TurnContext {
        // Not those of the moment: a review runs in a narrower fence of its own.
        let writable = self.context.sandbox.writable.iter();
        TurnContext {
            cwd: self.info.cwd.clone(),
            approval_policy: self.info.approval.into(),
            sandbox_policy: SandboxRecord {
                mode: self.info.sandbox.name().into(),
                network_access: self.info.network,
                writable_roots: writable.skip(1).cloned().collect(),
            },
            model: self.model.clone(),
            model_provider: self.provider.id.clone(),
            effort: self.effort.clone(),
            harness: self.harness.id().into(),
            harness_size: self.context.size.name().into(),
            context_window: self.budget.window(),
            current_date: self.context.date.clone(),
            timezone: self.context.timezone.clone(),
        }
    }

    /// What is remembered, when it changed.
    pub(super) fn record_state(&mut self) {
        let memory = Memory {
            harness: self.state.clone(),
            files: self.workbench.memory().clone(),
            usage: self.usage,
            tool_mode: self.tool_mode,
            repairs: self.repair_kinds.clone(),
        };
        let value = serde_json::to_value(memory).unwrap_or(Value::Null);
        if value != self.last_state {
            self.record(&[record::line("state", &value)]);
            self.last_state = value;
        }
    }

    /// How the turn ended.
    pub(super) fn record_turn_end(&mut self, end: &TurnEnd) {
        let message = match &end.reason {
            EndReason::Done | EndReason::StepLimit(_) => {
                json!({"type": "task_complete", "last_agent_message": end.answer})
            }
            EndReason::Interrupted => json!({"type": "turn_aborted", "reason": "interrupted"}),
            EndReason::NoAnswer => json!({"type": "turn_aborted", "reason": "no answer"}),
            EndReason::Failed(why) | EndReason::NoSandbox(why) => {
                json!({"type": "turn_aborted", "reason": why})
            }
        };
        self.record(&[record::line("event_msg", message)]);
        if let Some(ratios) = self.budget.counter().learnt() {
            self.learnt.put(&self.model, json!(ratios));
        }
        if let Some(store) = &self.store {
            // A turn is worth a wait for the disk; a single item is not.
            let _ = store.sync();
        }
    }

    /// The phase in which the next request begins.
    pub(super) fn first_phase(&self) -> Phase {
        match self.is_cold {
            true => Phase::Loading,
            false => Phase::Reading,
        }
    }

    /// What the server counted for one request, and how long it took.
    pub(super) fn record_usage(&mut self, last: Usage, timing: &Timing) {
        let counts = |u: Usage| {
            json!({
                "input_tokens": u.input, "cached_input_tokens": u.cached.unwrap_or(0), "output_tokens": u.output,
                "reasoning_output_tokens": u.reasoning, "total_tokens": u.input + u.output,
            })
        };
        let info = json!({
            "total_token_usage": counts(self.usage), "last_token_usage": counts(last),
            "model_context_window": self.budget.window(),
            "metrics": Metrics::new(last, timing, self.budget.window()),
        });
        self.record(&[record::line(
            "event_msg",
            json!({"type": "token_count", "info": info}),
        )]);
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
