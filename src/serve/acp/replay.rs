//! A stored conversation, shown again from its first word to its last.
//!
//! It is read from the session's file and not from the transcript, since what was summarised or
//! left out to make room is part of what the person saw.

use super::calls;
use super::front::Front;
use super::updates::{THOUGHTS, USER, WORDS};
use crate::agent::record::{self, Restored};
use crate::agent::transcript::Mark;
use crate::harnesses::{self, Harness, Start, State, Step};
use crate::model::{Assistant, Finish, Item, Part, Reply, Timing, ToolResult, join_text};
use crate::tools::action::{Action, PlanStep};
use serde_json::{Value, json};
use std::path::Path;

/// Shows everything that the lines of a session's file tell.
pub fn replay(lines: &[Value], front: &mut Front, cwd: &Path) {
    let mut show = Show {
        front,
        cwd,
        harness: None,
        start: Start::default(),
        open: Vec::new(),
        plan: None,
    };
    for part in parts(lines) {
        show.part(part);
    }
    show.end();
}

/// The conversation between one summary and the next, as it was before each.
fn parts(lines: &[Value]) -> impl Iterator<Item = Restored> {
    let is = |line: &Value, kind: &str| line["type"] == kind;
    lines
        .split(move |line| is(line, "compacted"))
        .map(move |part| {
            let told = part.iter().filter(|line| !is(line, "elided"));
            record::restore(&told.cloned().collect::<Vec<_>>())
        })
}

struct Show<'a> {
    front: &'a mut Front,
    cwd: &'a Path,
    harness: Option<&'static dyn Harness>,
    start: Start,
    /// Calls without a result: the model's id, the editor's, and what was shown of each.
    open: Vec<(String, String, Vec<Value>)>,
    plan: Option<Vec<PlanStep>>,
}

impl Show<'_> {
    fn part(&mut self, part: Restored) {
        if let Some(context) = &part.context {
            self.harness = harnesses::by_id(&context.harness).or(self.harness);
        }
        if let Some(start) = part.start {
            self.start = start;
        }
        for (item, mark, _) in part.transcript.entries() {
            match item {
                Item::User { content } if mark.is_said() => self.said(content),
                Item::User { content } if mark == Mark::Answer => {
                    self.answered(&join_text(content))
                }
                Item::Assistant(reply) => self.replied(reply),
                Item::ToolResult(result) => self.result(result),
                Item::User { .. } | Item::Developer { .. } => {}
            }
        }
    }

    fn said(&mut self, content: &[Part]) {
        self.fail_open();
        let text = join_text(content);
        let own = match self.harness {
            Some(harness) => harness.spoken(&self.start, &text),
            None => &text,
        };
        for part in content {
            if let Part::Image { media_type, data } = part {
                let image = json!({"type": "image", "mimeType": media_type, "data": data});
                self.front.updates.send(USER, json!({"content": image}));
            }
        }
        if !own.trim().is_empty() {
            self.front.updates.message(USER, own);
        }
    }

    fn replied(&mut self, reply: &Assistant) {
        self.fail_open();
        for thought in reply.reasoning.iter().filter(|r| !r.text.trim().is_empty()) {
            self.front.updates.message(THOUGHTS, &thought.text);
        }
        if !reply.text.trim().is_empty() {
            self.front.updates.message(WORDS, &reply.text);
        }
        let whole = Reply {
            assistant: reply.clone(),
            finish: Finish::Stop,
            usage: None,
            timing: Timing::default(),
        };
        let step = self.harness.map(|h| h.read(&State::default(), &whole));
        let actions = match step {
            Some(Step::Act(actions)) => actions,
            _ => Vec::new(),
        };
        if reply.calls.is_empty() {
            for action in actions.into_iter().flatten() {
                self.called(String::new(), &action);
            }
            return;
        }
        for (at, call) in reply.calls.iter().enumerate() {
            match actions.get(at) {
                Some(Ok(action)) => self.called(call.id.clone(), action),
                _ => {
                    let id = self.front.next_call();
                    let fields = json!({"toolCallId": id, "title": call.name, "kind": "other", "status": "pending"});
                    self.front.updates.send("tool_call", fields);
                    self.open.push((call.id.clone(), id, Vec::new()));
                }
            }
        }
    }

    fn called(&mut self, call: String, action: &Action) {
        match action {
            Action::Plan { steps, .. } => self.plan = Some(steps.clone()),
            Action::Finish { text } if !text.trim().is_empty() => {
                self.front.updates.message(WORDS, text);
            }
            action if !calls::is_shown(action) => {}
            action => {
                let id = self.front.next_call();
                let content = calls::foreseen(action, self.cwd);
                let fields = json!({
                    "toolCallId": id, "title": calls::title(action), "kind": calls::kind(action), "status": "pending",
                    "locations": calls::locations(action, self.cwd), "content": content,
                });
                self.front.updates.send("tool_call", fields);
                let is_edit = calls::kind(action) == "edit";
                self.open
                    .push((call, id, if is_edit { content } else { Vec::new() }));
            }
        }
    }

    fn result(&mut self, result: &ToolResult) {
        let found = self
            .open
            .iter()
            .position(|(call, ..)| *call == result.call_id);
        let Some(at) = found else { return };
        let (_, id, shown) = self.open.remove(at);
        self.ended(&id, shown, result.is_error, &join_text(&result.content));
    }

    /// The answer to what a reply without calls did.
    fn answered(&mut self, text: &str) {
        for (_, id, shown) in std::mem::take(&mut self.open) {
            self.ended(&id, shown, false, text);
        }
    }

    /// A change is its comparison; of anything else the answer is shown.
    fn ended(&mut self, id: &str, shown: Vec<Value>, is_error: bool, text: &str) {
        let content = match shown.is_empty() || is_error {
            true => vec![calls::fenced("", text)],
            false => shown,
        };
        let status = if is_error { "failed" } else { "completed" };
        let fields = json!({"toolCallId": id, "status": status, "content": content});
        self.front.updates.send("tool_call_update", fields);
    }

    fn fail_open(&mut self) {
        for (_, id, _) in std::mem::take(&mut self.open) {
            let fields = json!({"toolCallId": id, "status": "failed"});
            self.front.updates.send("tool_call_update", fields);
        }
    }

    fn end(mut self) {
        self.fail_open();
        if let Some(plan) = &self.plan {
            let entries = calls::plan(plan);
            self.front.updates.send("plan", json!({"entries": entries}));
        }
    }
}
