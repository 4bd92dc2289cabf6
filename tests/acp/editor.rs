//! An editor as a test drives it: asks, answers, and keeps what it was told.
#![allow(dead_code)] // Each test file uses its own part of this.

use crate::support::{Agent, Running};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, PipeWriter, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How long an answer may take.
const LIMIT: Duration = Duration::from_secs(30);

/// What the editor says to a request of the agent.
pub type Reply = fn(&Value) -> Option<Value>;

pub struct Editor {
    pub running: Running,
    /// `None` when the editor has left.
    pub stdin: Option<PipeWriter>,
    lines: Receiver<Value>,
    last: u64,
    /// Everything that the agent sent, in its order.
    pub told: Vec<Value>,
    /// How requests of the agent are answered; `None`: not at all.
    pub reply: Reply,
}

/// Allows everything once.
pub fn allow(_: &Value) -> Option<Value> {
    Some(json!({"outcome": {"outcome": "selected", "optionId": "accept"}}))
}

/// Forbids everything.
pub fn decline(_: &Value) -> Option<Value> {
    Some(json!({"outcome": {"outcome": "selected", "optionId": "decline"}}))
}

/// Says that the turn is being cancelled.
pub fn cancelled(_: &Value) -> Option<Value> {
    Some(json!({"outcome": {"outcome": "cancelled"}}))
}

/// Never answers.
pub fn silent(_: &Value) -> Option<Value> {
    None
}

impl Editor {
    /// Starts the agent and says hello.
    pub fn start(agent: Agent) -> Self {
        let mut editor = Editor::bare(agent);
        let hello = json!({"protocolVersion": 1, "clientCapabilities": {"fs": {"readTextFile": true, "writeTextFile": true}, "terminal": true}});
        let answer = editor.ask("initialize", hello);
        assert_eq!(answer["result"]["protocolVersion"], 1, "{answer}");
        editor
    }

    /// Starts the agent and says nothing.
    pub fn bare(agent: Agent) -> Self {
        let (agent, stdin) = agent.open_stdin();
        let mut running = agent.start(&["acp"], None);
        let out = running.child.stdout.take().expect("stdout");
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                let value = serde_json::from_str(&line)
                    .unwrap_or_else(|e| panic!("stdout holds {line:?}: {e}"));
                if send.send(value).is_err() {
                    return;
                }
            }
        });
        Editor {
            running,
            stdin: Some(stdin),
            lines,
            last: 0,
            told: Vec::new(),
            reply: allow,
        }
    }

    /// Writes a line.
    pub fn write(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("the editor is there");
        stdin.write_all(line.as_bytes()).expect("the agent reads");
        stdin.write_all(b"\n").expect("the agent reads");
    }

    /// Sends a request; gives its id.
    pub fn send(&mut self, method: &str, params: Value) -> u64 {
        self.last += 1;
        let id = self.last - 1;
        self.write(
            &json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string(),
        );
        id
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.write(&json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string());
    }

    /// The next message of the agent within the limit; requests of it are answered.
    pub fn next(&mut self, limit: Duration) -> Option<Value> {
        let message = match self.lines.recv_timeout(limit) {
            Ok(message) => message,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
        };
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        self.told.push(message.clone());
        let is_request = message.get("method").is_some() && message.get("id").is_some();
        if is_request && let Some(result) = (self.reply)(&message["params"]) {
            let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
            self.write(&answer.to_string());
        }
        Some(message)
    }

    /// Reads on until a message is what is wanted.
    pub fn until(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + LIMIT;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.next(left) {
                Some(message) if wanted(&message) => return message,
                Some(_) => {}
                None => panic!("{what} did not come; told: {:#?}", self.told),
            }
        }
    }

    /// The answer to a request.
    pub fn answer(&mut self, id: u64) -> Value {
        self.until("an answer", |m| m.get("method").is_none() && m["id"] == id)
    }

    /// Sends a request and gives its answer.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.answer(id)
    }

    /// A new session in the workspace.
    pub fn open(&mut self) -> String {
        let cwd = self.running.home.path().join("ws");
        let answer = self.ask("session/new", json!({"cwd": cwd, "mcpServers": []}));
        let id = answer["result"]["sessionId"].as_str();
        id.unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// Sends a prompt; gives the id of the request.
    pub fn begin(&mut self, session: &str, text: &str) -> u64 {
        let prompt = [json!({"type": "text", "text": text})];
        self.send(
            "session/prompt",
            json!({"sessionId": session, "prompt": prompt}),
        )
    }

    /// A whole turn; gives the answer.
    pub fn prompt(&mut self, session: &str, text: &str) -> Value {
        let id = self.begin(session, text);
        self.answer(id)
    }

    /// The updates of a session, since a place in [`Editor::told`].
    pub fn updates(&self, session: &str, from: usize) -> Vec<Value> {
        let of =
            |m: &&Value| m["method"] == "session/update" && m["params"]["sessionId"] == session;
        self.told[from..]
            .iter()
            .filter(of)
            .map(|m| m["params"]["update"].clone())
            .collect()
    }

    /// The whole text of one kind of piece.
    pub fn text(&self, session: &str, kind: &str, from: usize) -> String {
        let updates = self.updates(session, from);
        let pieces = updates.iter().filter(|u| u["sessionUpdate"] == kind);
        pieces
            .filter_map(|u| u["content"]["text"].as_str())
            .collect()
    }

    /// The next update of that kind.
    pub fn until_told(&mut self, kind: &str) -> Value {
        let is = |m: &Value| m["params"]["update"]["sessionUpdate"] == kind;
        let known = self.told.iter().rev().find(|m| is(m)).cloned();
        let message = known.unwrap_or_else(|| self.until(kind, is));
        message["params"]["update"].clone()
    }

    /// Leaves; gives the exit code and how long the agent took to go.
    pub fn leave(mut self) -> (i32, Duration) {
        self.stdin = None;
        let began = Instant::now();
        let run = self.running.finish();
        (run.code, began.elapsed())
    }
}

/// The reason for which a prompt ended.
pub fn stop(answer: &Value) -> &str {
    answer["result"]["stopReason"]
        .as_str()
        .unwrap_or_else(|| panic!("{answer}"))
}
