//! The person in the editor: shown what happens, and asked.

mod asking;

use super::calls;
use super::handle::Handle;
use super::updates::{THOUGHTS, Updates, WORDS};
use crate::agent::event::{Answer, EndReason, Event, Frontend, Question};
use crate::agent::permissions::Permissions;
use crate::cli::render::sanitize::{one_line, sanitize};
use crate::tools::action::{Action, AskedQuestion, Outcome};
use crate::words::tail;
use asking::why;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often the output of a running command is shown anew.
const OUTPUT: Duration = Duration::from_millis(250);
/// The most bytes of it, from its end.
const LIVE: usize = 8 << 10;

/// What an editor said that it can do.
#[derive(Debug, Clone, Copy, Default)]
pub struct Client {
    /// It shows notices.
    pub notices: bool,
    /// It shows that the conversation was summarised.
    pub compaction: bool,
    /// It fills in forms.
    pub forms: bool,
    /// It gives the text of a file as it has it, unsaved words and all.
    pub reads: bool,
    /// It writes a file, and shows that.
    pub writes: bool,
}

impl Client {
    /// From the capabilities of `initialize`.
    pub fn of(capabilities: &Value) -> Self {
        let has = |path: &str| capabilities.pointer(path).is_some_and(Value::is_object);
        let is_true = |path: &str| capabilities.pointer(path) == Some(&Value::Bool(true));
        Client {
            notices: has("/session/notices"),
            compaction: has("/session/compaction"),
            forms: has("/elicitation/form"),
            reads: is_true("/fs/readTextFile"),
            writes: is_true("/fs/writeTextFile"),
        }
    }
}

/// A call that is shown and has not ended.
struct Open {
    /// Its id in the editor.
    id: String,
    /// The output so far, and when it was shown.
    output: String,
    shown: Instant,
}

/// The front end of one session.
pub struct Front {
    /// What the editor is told.
    pub updates: Updates,
    handle: Arc<Handle>,
    client: Client,
    cwd: PathBuf,
    /// The first part of the ids of calls, which no other opening of this session has.
    prefix: String,
    calls: u64,
    /// Calls that run, by the action's number.
    open: HashMap<u64, Open>,
    /// A call that was asked about and has not begun.
    asked: Option<(Action, String)>,
    window: u32,
    /// Why the last turn ended, as the protocol has it.
    pub end: Option<EndReason>,
}

impl Front {
    /// Of a session that is open.
    pub fn new(updates: Updates, handle: Arc<Handle>, client: Client, cwd: PathBuf) -> Self {
        let unique = uuid::Uuid::now_v7().simple().to_string();
        Front {
            updates,
            handle,
            client,
            cwd,
            prefix: tail(&unique, 8).to_owned(),
            calls: 0,
            open: HashMap::new(),
            asked: None,
            window: 0,
            end: None,
        }
    }

    /// An id for a call.
    pub fn next_call(&mut self) -> String {
        self.calls += 1;
        format!("call-{}-{}", self.prefix, self.calls)
    }

    /// Something to know that is no word of the model: a notice where the editor shows such, else a
    /// line on standard error.
    pub fn notice(&mut self, severity: &str, text: &str) {
        match self.client.notices {
            true => {
                let (title, more) = text.split_once(": ").unwrap_or((text, ""));
                let mut notice = json!({"severity": severity, "title": one_line(title)});
                if !more.is_empty() {
                    notice["description"] = json!(more);
                }
                self.updates.send("notice", notice);
            }
            false => super::log(text),
        }
    }

    /// A summary took the place of the conversation.
    fn compacted(&mut self, summary: &str) {
        let update = json!({
            "compactionId": self.next_call(), "status": "completed",
            "summary": [{"type": "text", "text": sanitize(summary)}],
        });
        self.updates.send("compaction_update", update);
    }

    /// A new call, as it is before it begins.
    fn show(&mut self, action: &Action, status: &str) -> String {
        let id = self.next_call();
        let mut call = json!({
            "toolCallId": id, "title": calls::title(action), "kind": calls::kind(action), "status": status,
            "locations": calls::locations(action, &self.cwd),
        });
        let content = calls::preview(action, &self.cwd);
        // A command is its title already, and its place is that of its output.
        match content.is_empty() || matches!(action, Action::Shell(_)) {
            true => call["rawInput"] = json!(action),
            // What would change is there once and need not be told again.
            false => call["content"] = json!(content),
        }
        self.updates.send("tool_call", call);
        id
    }

    fn started(&mut self, number: u64, action: &Action) {
        if !calls::is_shown(action) {
            return;
        }
        let asked = self.asked.take_if(|(asked, _)| asked == action);
        let id = match asked {
            Some((_, id)) => {
                let fields = json!({"toolCallId": id, "status": "in_progress"});
                self.updates.send("tool_call_update", fields);
                id
            }
            None => self.show(action, "in_progress"),
        };
        let call = Open {
            id,
            output: String::new(),
            shown: Instant::now(),
        };
        self.open.insert(number, call);
    }

    fn output(&mut self, number: u64, text: &str) {
        let Some(call) = self.open.get_mut(&number) else {
            return;
        };
        call.output.push_str(text);
        if call.output.len() > 2 * LIVE {
            call.output = tail(&call.output, LIVE).to_owned();
        }
        if call.shown.elapsed() < OUTPUT {
            return;
        }
        call.shown = Instant::now();
        let content = [calls::fenced("console", tail(&call.output, LIVE))];
        let fields = json!({"toolCallId": call.id, "content": content});
        self.updates.send("tool_call_update", fields);
    }

    fn finished(&mut self, number: u64, outcome: &Outcome) {
        let Some(call) = self.open.remove(&number) else {
            return;
        };
        let end = calls::ended(outcome);
        let mut fields = json!({"toolCallId": call.id, "status": end.status});
        let parts = [
            ("content", end.content.map(Value::from)),
            ("locations", end.locations.map(Value::from)),
            ("rawOutput", end.raw),
        ];
        for (key, value) in parts {
            if let Some(value) = value {
                fields[key] = value;
            }
        }
        self.updates.send("tool_call_update", fields);
    }

    /// Nothing stays open behind the end of a turn.
    fn close_calls(&mut self) {
        let asked = self.asked.take().map(|(_, id)| id);
        let mut open: Vec<(u64, Open)> = self.open.drain().collect();
        open.sort_by_key(|(number, _)| *number);
        for id in open.into_iter().map(|(_, call)| call.id).chain(asked) {
            let fields = json!({"toolCallId": id, "status": "failed"});
            self.updates.send("tool_call_update", fields);
        }
    }
}

impl Frontend for Front {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Session(info) => self.window = info.window.0,
            Event::Warning(text) => self.notice("warning", text),
            Event::Note(text) => self.notice("info", text),
            Event::Text(text) => self.updates.piece(WORDS, text),
            Event::Reasoning(text) => self.updates.piece(THOUGHTS, text),
            Event::Retry { attempt, of, why } => {
                self.updates.broke_off();
                self.notice("warning", &format!("try {attempt} of {of}: {why}"));
            }
            Event::Replied {
                text,
                reasoning,
                usage,
                ..
            } => {
                self.updates.replied(text, reasoning);
                if let Some(usage) = usage {
                    let used = usage.input + usage.output;
                    let size = u64::from(self.window).max(used);
                    self.updates.send("usage_update", json!({"used": used, "size": size}));
                }
            }
            Event::Started { id, action } => self.started(*id, action),
            Event::Output { id, text } => self.output(*id, text),
            Event::Finished { id, outcome, .. } => self.finished(*id, outcome),
            Event::Plan(steps) => {
                let entries = calls::plan(steps);
                self.updates.send("plan", json!({"entries": entries}));
            }
            Event::Elided {
                results,
                before,
                after,
            } => self.notice("info", &format!("{results} old tool results were left out to make room: {before} to {after} tokens")),
            Event::Compacted { summary, .. } if self.client.compaction => self.compacted(summary),
            Event::Compacted { before, after, .. } => self.notice("info", &format!("the conversation was summarised to make room: {before} to {after} tokens")),
            Event::TurnDone(end) => {
                self.close_calls();
                self.updates.flush();
                self.end = Some(end.reason.clone());
            }
            Event::Phase(_) | Event::Waiting(_) => self.updates.flush(),
            Event::TurnStarted
            | Event::Requested { .. }
            | Event::Progress { .. }
            | Event::Repaired { .. } => {}
            Event::BadCall { call, error } => {
                let id = self.next_call();
                let title = call.as_ref().map_or("a call", |c| c.name.as_str());
                let content = [calls::words(&error.to_string())];
                let fields = json!({"toolCallId": id, "title": title, "kind": "other", "status": "failed", "content": content});
                self.updates.send("tool_call", fields);
            }
        }
    }

    fn ask(&mut self, question: &Question) -> Answer {
        let action = &question.action;
        let id = self.show(action, "pending");
        self.asked = Some((action.clone(), id.clone()));
        let mut content = vec![calls::words(&why(question))];
        content.extend(calls::preview(action, &question.cwd));
        let call = json!({
            "toolCallId": id, "title": calls::title(action), "kind": calls::kind(action), "status": "pending",
            "content": content, "locations": calls::locations(action, &question.cwd),
        });
        let options = [
            ("accept", "Allow", "allow_once"),
            ("acceptForSession", "Allow for this session", "allow_always"),
            ("decline", "Do not allow", "reject_once"),
        ];
        match self.choose(call, &options).as_deref() {
            None => Answer::Stop,
            Some("accept") => Answer::Yes,
            Some("acceptForSession") => Answer::YesForSession,
            Some(_) => Answer::No(None),
        }
    }

    fn confirm(&mut self, question: &str) -> bool {
        let id = self.next_call();
        let title = one_line(question);
        let call = json!({"toolCallId": id, "title": title, "kind": "other", "status": "pending"});
        self.updates.send("tool_call", call.clone());
        let options = [("yes", "Yes", "allow_once"), ("no", "No", "reject_once")];
        let yes = self.choose(call, &options).as_deref() == Some("yes");
        let status = if yes { "completed" } else { "failed" };
        let fields = json!({"toolCallId": id, "status": status});
        self.updates.send("tool_call_update", fields);
        yes
    }

    fn questions(&mut self, questions: &[AskedQuestion]) -> Option<Vec<Vec<String>>> {
        match self.client.forms {
            true => self.form(questions),
            false => questions.iter().map(|q| self.pick(q)).collect(),
        }
    }

    fn interactive(&self) -> bool {
        true
    }

    fn wished(&mut self, now: &Permissions) -> Option<Permissions> {
        self.handle.wished(now)
    }
}
