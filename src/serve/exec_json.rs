//! JSON Lines for scripts and SDKs: the event protocol of `codex exec --json`.
//!
//! One JSON object a line on standard output and nothing else there. Extra facts of ours are
//! additional keys, which strict readers pass over.

use crate::agent::event::{Answer, EndReason, Event, Frontend, Question, SessionInfo, TurnEnd};
use crate::agent::metrics::{Metrics, seconds};
use crate::model::{Timing, Usage};
use crate::tools::action::{
    Action, ChangeKind, Delegate, DelegateOut, FileChange, Outcome, PlanStep, Shell, ShellStatus,
    StepStatus,
};
use crate::words::quote;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::Write;

/// Writes events as lines to `out`.
pub struct ExecJson<W: Write> {
    out: W,
    thread: String,
    next_item: u64,
    /// Items of running actions, by the action's number.
    open: HashMap<u64, String>,
    plan: Option<(String, Vec<PlanStep>)>,
    window: u32,
    /// The numbers of the latest request, and whether an item has told them.
    metrics: Option<(Value, bool)>,
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
            next_item: 0,
            open: HashMap::new(),
            plan: None,
            window: 0,
            metrics: None,
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
            Action::Delegate(part) => (
                "collab_tool_call",
                agent_fields(&self.thread, part, None, "in_progress"),
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
            (Action::Delegate(part), outcome) => {
                let item = self.open.remove(&id).unwrap_or_else(|| self.new_id());
                let (out, status) = match outcome {
                    Outcome::Delegated(out) if out.failure.is_none() => (Some(out), "completed"),
                    Outcome::Delegated(out) => (Some(out), "failed"),
                    _ => (None, "failed"),
                };
                let fields = agent_fields(&self.thread, part, out, status);
                self.item("item.completed", &item, "collab_tool_call", fields);
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
                if let Some((metrics, _)) = self.metrics.take() {
                    line["metrics"] = metrics;
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
            | Event::Repaired { .. }
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

/// A nested agent, which is no thread of its own: its name in the list of agents is its number.
fn agent_fields(thread: &str, part: &Delegate, out: Option<&DelegateOut>, status: &str) -> Value {
    let name = out.map(|out| format!("agent-{}", out.id));
    let mut states = serde_json::Map::new();
    if let (Some(name), Some(out)) = (&name, out) {
        let (status, message) = match &out.failure {
            None => ("completed", &out.text),
            Some(why) => ("errored", why),
        };
        states.insert(name.clone(), json!({"status": status, "message": message}));
    }
    let names: Vec<String> = name.into_iter().collect();
    json!({"tool": "spawn_agent", "sender_thread_id": thread, "receiver_thread_ids": names,
        "prompt": part.prompt, "agents_states": states, "status": status})
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn lines(events: &[Event]) -> Vec<Value> {
        let mut out = Vec::new();
        let mut json = ExecJson::new(&mut out);
        events.iter().for_each(|e| json.event(e));
        String::from_utf8(out)
            .expect("JSON is UTF-8")
            .lines()
            .map(|l| serde_json::from_str(l).expect("each line is JSON"))
            .collect()
    }

    fn end(reason: EndReason) -> Event {
        let usage = Usage {
            input: 10,
            cached: Some(4),
            cache_write: 0,
            output: 3,
            reasoning: 1,
        };
        Event::TurnDone(TurnEnd {
            reason,
            answer: "done".into(),
            requests: 1,
            usage,
            took: Duration::from_millis(1500),
        })
    }

    #[test]
    fn a_plain_turn_has_the_lines_of_the_protocol() {
        let replied = Event::Replied {
            text: "done".into(),
            reasoning: String::new(),
            usage: None,
            timing: Timing::default(),
        };
        let lines = lines(&[Event::TurnStarted, replied, end(EndReason::Done)]);
        assert_eq!(lines[0], json!({"type": "turn.started"}));
        assert_eq!(
            lines[1],
            json!({"type": "item.completed", "item": {"id": "item_0", "type": "agent_message", "text": "done"}})
        );
        assert_eq!(
            lines[2]["usage"],
            json!({"input_tokens": 10, "cached_input_tokens": 4, "cache_write_input_tokens": 0, "output_tokens": 3, "reasoning_output_tokens": 1})
        );
    }

    #[test]
    fn a_failed_turn_says_so_in_its_last_line() {
        let lines = lines(&[Event::TurnStarted, end(EndReason::Failed("boom".into()))]);
        assert_eq!(lines[1], json!({"type": "error", "message": "boom"}));
        assert_eq!(
            lines[2],
            json!({"type": "turn.failed", "error": {"message": "boom"}})
        );
    }

    #[test]
    fn a_nested_agent_is_a_call_of_the_protocol_and_a_look_is_none() {
        let part = Delegate {
            role: "explore".into(),
            title: "look".into(),
            prompt: "find x".into(),
            read_only: true,
        };
        let out = |failure: Option<&str>| {
            Outcome::Delegated(DelegateOut {
                id: 3,
                text: "x is here".into(),
                failure: failure.map(String::from),
                actions: 1,
                tokens: 10,
                took: Duration::ZERO,
            })
        };
        let events = |id, action: Action, outcome| {
            [
                Event::Started {
                    id,
                    action: action.clone(),
                },
                Event::Finished {
                    id,
                    action,
                    outcome,
                    took: Duration::ZERO,
                },
            ]
        };
        let mut all = Vec::new();
        all.extend(events(1, Action::Delegate(part.clone()), out(None)));
        all.extend(events(2, Action::ShellList, Outcome::Jobs(vec![])));
        all.extend(events(3, Action::PlanRead, Outcome::Plan(vec![])));
        all.extend(events(
            4,
            Action::Delegate(part.clone()),
            out(Some("no answer")),
        ));
        all.extend(events(5, Action::Delegate(part), Outcome::Interrupted));
        let lines = lines(&all);
        let item = |n: usize, id: &str, names: Value, states: Value, status: &str| {
            assert_eq!(
                lines[n]["item"],
                json!({"id": id, "type": "collab_tool_call", "tool": "spawn_agent", "sender_thread_id": "",
                    "receiver_thread_ids": names, "prompt": "find x", "agents_states": states, "status": status})
            );
        };
        item(0, "item_0", json!([]), json!({}), "in_progress");
        let done = json!({"agent-3": {"status": "completed", "message": "x is here"}});
        item(1, "item_0", json!(["agent-3"]), done, "completed");
        let failed = json!({"agent-3": {"status": "errored", "message": "no answer"}});
        item(3, "item_1", json!(["agent-3"]), failed, "failed");
        item(5, "item_2", json!([]), json!({}), "failed");
        assert_eq!(lines.len(), 6);
    }

    #[test]
    fn a_command_starts_and_completes_under_one_id() {
        let shell = Shell::new("echo 'a'; exit 7", Duration::from_secs(1));
        let out = crate::tools::action::ShellOut {
            command: shell.command.clone(),
            dir: "/".into(),
            job: None,
            output: crate::tools::action::Output {
                text: "a\n".into(),
                bytes: 2,
                file: None,
            },
            status: ShellStatus::Exited(7),
            wall: Duration::ZERO,
            fence: None,
        };
        let action = Action::Shell(shell);
        let lines = lines(&[
            Event::Started {
                id: 1,
                action: action.clone(),
            },
            Event::Finished {
                id: 1,
                action,
                outcome: Outcome::Shell(out),
                took: Duration::ZERO,
            },
        ]);
        let command = "/bin/bash -lc 'echo '\\''a'\\''; exit 7'";
        assert_eq!(
            lines[0]["item"],
            json!({"id": "item_0", "type": "command_execution", "command": command, "aggregated_output": "", "exit_code": null, "status": "in_progress"})
        );
        assert_eq!(
            lines[1]["item"],
            json!({"id": "item_0", "type": "command_execution", "command": command, "aggregated_output": "a\n", "exit_code": 7, "status": "failed"})
        );
    }
}
