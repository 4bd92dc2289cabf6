//! JSON Lines for scripts and SDKs: the event protocol of `codex exec --json`.
//!
//! One JSON object a line on standard output and nothing else there. Extra facts of ours are
//! additional keys, which strict readers pass over.

#[cfg(test)]
mod tests;

use crate::agent::approval::touched;
use crate::agent::event::{Answer, EndReason, Event, Frontend, Question, SessionInfo, TurnEnd};
use crate::agent::metrics::{Metrics, seconds};
use crate::model::{Timing, Usage};
use crate::tools::action::{
    Action, AgentOut, AgentState, AgentWant, ChangeKind, DelegateOut, FileChange, Mcp, Outcome,
    PlanStep, Shell, ShellStatus, StepStatus, ToolError,
};
use crate::words::quote;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::path::PathBuf;

/// Writes events as lines to `out`.
pub struct ExecJson<W: Write> {
    out: W,
    thread: String,
    cwd: PathBuf,
    next_item: u64,
    /// Items of running actions, by the action's number.
    open: HashMap<u64, String>,
    plan: Option<(String, Vec<PlanStep>)>,
    window: u32,
    /// The numbers of the latest request, and whether an item has told them.
    metrics: Option<(Value, bool)>,
    /// Repaired calls of the turn, by kind.
    repairs: BTreeMap<String, u64>,
    /// Warnings from before the session, which must be the first line.
    early: Option<Vec<String>>,
    /// Why a line could not be written: the first time.
    trouble: Option<String>,
}

impl<W: Write> ExecJson<W> {
    /// A writer that has said nothing yet.
    pub fn new(out: W) -> Self {
        ExecJson {
            out,
            thread: String::new(),
            cwd: PathBuf::new(),
            next_item: 0,
            open: HashMap::new(),
            plan: None,
            window: 0,
            metrics: None,
            repairs: BTreeMap::new(),
            early: Some(Vec::new()),
            trouble: None,
        }
    }

    /// Why lines are missing, when some could not be written.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    fn line(&mut self, value: &Value) {
        let mut bytes = value.to_string().into_bytes();
        bytes.push(b'\n');
        if let Err(error) = self.out.write_all(&bytes).and_then(|()| self.out.flush()) {
            self.trouble.get_or_insert(error.to_string());
        }
    }

    fn new_id(&mut self) -> String {
        let id = format!("item_{}", self.next_item);
        self.next_item += 1;
        id
    }

    /// One event about an item; `fields` follow its id and type.
    fn item(&mut self, event: &str, id: &str, kind: &str, fields: Value) {
        let mut item = serde_json::Map::new();
        item.insert("id".into(), json!(id));
        item.insert("type".into(), json!(kind));
        if let Value::Object(fields) = fields {
            item.extend(fields);
        }
        // A reply without text has its numbers at the first item of its calls.
        let untold = self.metrics.as_mut().filter(|(_, told)| !told);
        if let Some((metrics, told)) = untold.filter(|_| kind != "error") {
            item.insert("metrics".into(), metrics.clone());
            *told = true;
        }
        self.line(&json!({"type": event, "item": item}));
    }

    fn completed(&mut self, kind: &str, fields: Value) {
        let id = self.new_id();
        self.item("item.completed", &id, kind, fields);
    }

    fn session(&mut self, info: &SessionInfo) {
        self.window = info.window.0;
        self.thread = info.id.clone();
        self.cwd.clone_from(&info.cwd);
        self.line(&json!({
            "type": "thread.started", "thread_id": info.id, "model": info.model, "provider": info.provider.0,
            "harness": info.harness.0, "harness_size": info.harness.1, "context_window": info.window.0,
            "context_window_source": info.window.1, "sandbox": info.sandbox.name(), "approval_policy": info.approval,
        }));
        for text in self.early.take().unwrap_or_default() {
            self.warning(&text);
        }
    }

    fn warning(&mut self, text: &str) {
        match &mut self.early {
            Some(early) => early.push(text.to_owned()),
            None => self.completed("error", json!({"message": text})),
        }
    }

    fn replied(&mut self, text: &str, reasoning: &str, usage: Option<Usage>, timing: &Timing) {
        if !reasoning.trim().is_empty() {
            self.completed("reasoning", json!({"text": reasoning}));
        }
        if let Some(usage) = usage {
            let metrics = json!(Metrics::new(usage, timing, self.window));
            self.metrics = Some((metrics, false));
        }
        if !text.trim().is_empty() {
            self.completed("agent_message", json!({"text": text}));
        }
    }

    fn started(&mut self, id: u64, action: &Action) {
        // A file change is known only when it is done; its start is written with its end.
        let (kind, fields) = match action {
            Action::Shell(shell) => (
                "command_execution",
                command_fields(shell, "", None, "in_progress"),
            ),
            Action::Mcp(call) => ("mcp_tool_call", mcp_fields(call, None)),
            Action::Delegate(_) | Action::Agents { .. } => (
                "collab_tool_call",
                agent_fields(&self.thread, action, &[], "in_progress"),
            ),
            _ => return,
        };
        let item = self.new_id();
        self.item("item.started", &item, kind, fields);
        self.open.insert(id, item);
    }

    fn finished(&mut self, id: u64, action: &Action, outcome: &Outcome) {
        match (action, outcome) {
            (Action::Shell(shell), outcome) => {
                let item = self.open.remove(&id).unwrap_or_else(|| self.new_id());
                let (text, code, status) = match outcome {
                    Outcome::Shell(out) => match out.status {
                        ShellStatus::Exited(0) => (out.output.text.as_str(), Some(0), "completed"),
                        ShellStatus::Exited(code) => {
                            (out.output.text.as_str(), Some(code), "failed")
                        }
                        ShellStatus::Signaled(signal) => {
                            (out.output.text.as_str(), Some(128 + signal), "failed")
                        }
                        ShellStatus::TimedOut => (out.output.text.as_str(), Some(124), "failed"),
                        ShellStatus::Running { .. } => {
                            (out.output.text.as_str(), None, "completed")
                        }
                    },
                    Outcome::Refused { reason } => (reason.as_str(), None, "declined"),
                    Outcome::Skipped(why) => (why.as_str(), None, "declined"),
                    _ => ("", None, "failed"),
                };
                let text = text.to_owned();
                self.item(
                    "item.completed",
                    &item,
                    "command_execution",
                    command_fields(shell, &text, code, status),
                );
            }
            (Action::Mcp(call), outcome) => {
                let item = self.open.remove(&id).unwrap_or_else(|| self.new_id());
                let fields = mcp_fields(call, Some(outcome));
                self.item("item.completed", &item, "mcp_tool_call", fields);
            }
            (Action::Delegate(_) | Action::Agents { .. }, outcome) => {
                let item = self.open.remove(&id).unwrap_or_else(|| self.new_id());
                let (agents, status) = match outcome {
                    Outcome::Delegated(out) if out.failure.is_none() => {
                        (vec![state(out.id, Some(out))], "completed")
                    }
                    Outcome::Delegated(out) => (vec![state(out.id, Some(out))], "failed"),
                    Outcome::Agents(all) => {
                        let one = |agent: &AgentOut| match &agent.state {
                            AgentState::Done(out) => state(agent.id, Some(out)),
                            AgentState::Waiting | AgentState::Closed => state(agent.id, None),
                        };
                        (all.iter().map(one).collect(), "completed")
                    }
                    _ => (Vec::new(), "failed"),
                };
                let fields = agent_fields(&self.thread, action, &agents, status);
                self.item("item.completed", &item, "collab_tool_call", fields);
            }
            // What the tool refused changed nothing; this one may have been at it.
            (action, Outcome::Failed(ToolError::Other(_))) => {
                let changes: Vec<Value> = touched(action, &self.cwd)
                    .iter()
                    .map(|path| json!({"path": path.to_string_lossy(), "kind": "update"}))
                    .collect();
                if !changes.is_empty() {
                    let item = self.new_id();
                    let fields = |status: &str| json!({"changes": changes, "status": status});
                    self.item("item.started", &item, "file_change", fields("in_progress"));
                    self.item("item.completed", &item, "file_change", fields("failed"));
                }
            }
            (_, Outcome::Changed(changes)) => {
                let item = self.new_id();
                self.item(
                    "item.started",
                    &item,
                    "file_change",
                    change_fields(changes, "in_progress"),
                );
                self.item(
                    "item.completed",
                    &item,
                    "file_change",
                    change_fields(changes, "completed"),
                );
            }
            _ => {}
        }
    }

    fn plan(&mut self, steps: &[PlanStep]) {
        let fields = plan_fields(steps);
        match &mut self.plan {
            Some((id, old)) => {
                *old = steps.to_vec();
                let id = id.clone();
                self.item("item.updated", &id, "todo_list", fields);
            }
            None => {
                let id = self.new_id();
                self.item("item.started", &id, "todo_list", fields);
                self.plan = Some((id, steps.to_vec()));
            }
        }
    }

    fn turn_done(&mut self, end: &TurnEnd) {
        if let Some((id, steps)) = self.plan.take() {
            self.item("item.completed", &id, "todo_list", plan_fields(&steps));
        }
        match end.reason.failure() {
            // An interrupted turn ends without a last line, as the protocol has it.
            _ if end.reason == EndReason::Interrupted => {}
            Some(message) => {
                self.line(&json!({"type": "error", "message": message}));
                self.line(&json!({"type": "turn.failed", "error": {"message": message}}));
            }
            None => {
                let u = end.usage;
                let mut line = json!({"type": "turn.completed", "usage": {
                    "input_tokens": u.input, "cached_input_tokens": u.cached.unwrap_or(0),
                    "cache_write_input_tokens": u.cache_write, "output_tokens": u.output,
                    "reasoning_output_tokens": u.reasoning,
                }, "requests": end.requests, "seconds": seconds(end.took)});
                if let Some(cost) = end.cost.as_json() {
                    line["cost"] = cost;
                }
                if let Some((metrics, _)) = self.metrics.take() {
                    line["metrics"] = metrics;
                }
                if !self.repairs.is_empty() {
                    line["repairs"] = json!(std::mem::take(&mut self.repairs));
                }
                self.line(&line);
            }
        }
    }
}

impl<W: Write> Frontend for ExecJson<W> {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Session(info) => self.session(info),
            Event::Warning(text) => self.warning(text),
            Event::TurnStarted => self.line(&json!({"type": "turn.started"})),
            Event::Repaired { kind, .. } => *self.repairs.entry(kind.clone()).or_default() += 1,
            Event::Retry { attempt, of, why } => {
                self.line(&json!({"type": "error", "message": format!("Reconnecting... {attempt}/{of} ({why})")}));
            }
            Event::Replied {
                text,
                reasoning,
                usage,
                timing,
            } => self.replied(text, reasoning, *usage, timing),
            Event::Started { id, action } => self.started(*id, action),
            Event::Finished {
                id,
                action,
                outcome,
                ..
            } => self.finished(*id, action, outcome),
            Event::Plan(steps) => self.plan(steps),
            Event::Elided {
                results,
                before,
                after,
            } => {
                self.completed("error", json!({"message": format!("{results} old tool results were left out to make room: {before} to {after} tokens")}));
            }
            Event::Compacted {
                before,
                after,
                summary,
                ..
            } => {
                self.completed("error", json!({"message": format!("the conversation was summarised to make room: {before} to {after} tokens"),
                    "compaction": {"tokens_before": before, "tokens_after": after, "summary": summary}}));
            }
            Event::TurnDone(end) => self.turn_done(end),
            Event::Note(_)
            | Event::Requested { .. }
            | Event::Phase(_)
            | Event::Progress { .. }
            | Event::Waiting(_)
            | Event::Text(_)
            | Event::Reasoning(_)
            | Event::BadCall { .. }
            | Event::Output { .. } => {}
        }
    }

    fn ask(&mut self, _: &Question) -> Answer {
        Answer::No(None)
    }

    fn interactive(&self) -> bool {
        false
    }
}

fn command_fields(shell: &Shell, output: &str, code: Option<i32>, status: &str) -> Value {
    let line = format!("/bin/bash -lc {}", quote(&shell.command));
    json!({"command": line, "aggregated_output": output, "exit_code": code, "status": status})
}

/// A call of a tool of an MCP server. One that the tool calls failed keeps its result.
fn mcp_fields(call: &Mcp, outcome: Option<&Outcome>) -> Value {
    let (result, error, status) = match outcome {
        None => (Value::Null, Value::Null, "in_progress"),
        Some(Outcome::Mcp(out)) => {
            let mut result = json!({"content": out.content});
            if let Some(meta) = &out.meta {
                result["_meta"] = Value::clone(meta);
            }
            result["structured_content"] = json!(out.structured);
            let status = if out.is_error { "failed" } else { "completed" };
            (result, Value::Null, status)
        }
        Some(other) => {
            let why = match other {
                Outcome::Failed(why) => why.to_string(),
                Outcome::Refused { reason } | Outcome::Skipped(reason) => reason.clone(),
                _ => "interrupted".into(),
            };
            (Value::Null, json!({"message": why}), "failed")
        }
    };
    json!({"server": call.server, "tool": call.tool, "arguments": call.arguments,
        "result": result, "error": error, "status": status})
}

/// A nested agent, which is no thread of its own: its name in the list of agents is its number.
fn state(id: u32, out: Option<&DelegateOut>) -> (String, Value) {
    let (status, message) = match out {
        None => ("pending_init", None),
        Some(out) => match &out.failure {
            None => ("completed", Some(&out.text)),
            Some(why) => ("errored", Some(why)),
        },
    };
    let state = json!({"status": status, "message": message});
    (format!("agent-{id}"), state)
}

fn agent_fields(thread: &str, action: &Action, agents: &[(String, Value)], status: &str) -> Value {
    let (tool, prompt) = match action {
        Action::Delegate(part) if part.agent.is_some() => ("send_input", Some(&part.prompt)),
        Action::Delegate(part) => ("spawn_agent", Some(&part.prompt)),
        Action::Agents {
            want: AgentWant::Close,
            ..
        } => ("close_agent", None),
        _ => ("wait", None),
    };
    let names: Vec<&str> = agents.iter().map(|(name, _)| name.as_str()).collect();
    let states: serde_json::Map<String, Value> = agents.iter().cloned().collect();
    json!({"tool": tool, "sender_thread_id": thread, "receiver_thread_ids": names,
        "prompt": prompt, "agents_states": states, "status": status})
}

fn change_fields(changes: &[FileChange], status: &str) -> Value {
    let mut list: Vec<Value> = changes
        .iter()
        .map(|c| {
            let kind = match c.kind {
                ChangeKind::Add => "add",
                ChangeKind::Delete => "delete",
                ChangeKind::Update => "update",
            };
            json!({"path": c.path.to_string_lossy(), "kind": kind})
        })
        .collect();
    list.sort_by_key(|c| c["path"].to_string());
    json!({"changes": list, "status": status})
}

fn plan_fields(steps: &[PlanStep]) -> Value {
    let items: Vec<Value> = steps
        .iter()
        .map(|s| json!({"text": s.text, "completed": s.status == StepStatus::Completed}))
        .collect();
    json!({"items": items})
}
