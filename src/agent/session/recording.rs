//! What a session writes into its file, as it happens.

use super::Session;
use crate::agent::event::{EndReason, TurnEnd};
use crate::agent::metrics::Metrics;
use crate::agent::record::{self, Memory, SandboxRecord, TurnContext};
use crate::agent::transcript::Mark;
use crate::model::{Item, Timing, Usage};
use serde_json::{Value, json};

impl Session {
    pub(in crate::agent) fn record(&mut self, lines: &[Value]) {
        if let Some(store) = &mut self.store
            && let Err(error) = store.append(lines)
        {
            self.log.error(&format!("session file: {error}"));
            self.store_trouble
                .get_or_insert(format!("{error}; until then this session may not resume"));
        }
    }

    pub(in crate::agent) fn record_item(&mut self, item: &Item, mark: Mark) {
        let lines = record::item_lines(item, self.next_reply, mark);
        self.record(&lines);
    }

    pub(in crate::agent) fn record_beginning(&mut self) {
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

    /// Takes the file of a session away in which nothing was said, so that no list is full of them.
    /// True when there was one. Nothing is kept from then on.
    pub fn forget_unsaid(&mut self) -> bool {
        if !self.is_new() || self.info.resumed || self.title.is_some() {
            return false;
        }
        let Some(store) = self.store.take() else {
            return false;
        };
        self.info.file = None;
        std::fs::remove_file(store.path()).is_ok()
    }

    /// That a turn begins.
    pub(in crate::agent) fn record_turn_start(&mut self) {
        self.record(&[record::line("event_msg", json!({"type": "task_started"}))]);
    }

    /// What the session runs with.
    pub(in crate::agent) fn record_turn_context(&mut self) {
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
    pub(in crate::agent) fn record_state(&mut self) {
        let memory = Memory {
            harness: self.state.clone(),
            usage: self.usage,
            cost: self.cost,
            tool_mode: self.tool_mode,
            raw_calls: self.raw_calls,
            repairs: self.repair_kinds.clone(),
            skills: self.skills.turned.clone(),
        };
        let value = serde_json::to_value(memory).unwrap_or(Value::Null);
        if value != self.last_state {
            self.record(&[record::line("state", &value)]);
            self.last_state = value;
        }
        if let Some(news) = self.workbench.memory_mut().news() {
            self.record(&[record::line("files", news)]);
        }
    }

    /// How the turn ended.
    pub(in crate::agent) fn record_turn_end(&mut self, end: &TurnEnd) {
        let message = match &end.reason {
            EndReason::Done | EndReason::StepLimit(_) => {
                json!({"type": "task_complete", "last_agent_message": end.answer})
            }
            EndReason::Interrupted => json!({"type": "turn_aborted", "reason": "interrupted"}),
            EndReason::NoAnswer => json!({"type": "turn_aborted", "reason": "no answer"}),
            EndReason::Failed(why) | EndReason::Refused(why) | EndReason::NoSandbox(why) => {
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

    /// What the server counted for one request, and how long it took.
    pub(in crate::agent) fn record_usage(&mut self, last: Usage, timing: &Timing) {
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
