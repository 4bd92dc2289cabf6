//! The agent as an MCP server on standard input and output: two tools, one that begins a session
//! and one that goes on with it.
//!
//! Names and shapes are those of `codex mcp-server`, so that its clients work unchanged. Calls run
//! side by side, each on a thread of its own; a session is on disk, so that a reply finds it also
//! after a restart. Nothing but messages goes to standard output.

mod approval;
mod call;

use crate::agent::event::Frontend;
use crate::agent::session::Session;
use crate::cancel::Cancel;
use crate::config::Overrides;
use crate::jsonrpc::{Call, Fault, Id, Incoming, Peer, Settings};
use serde_json::{Map, Value, json};
use std::collections::{HashMap, HashSet};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The revisions that a client may ask for, the one that it gets otherwise first.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// How long calls have to end when the client has left.
const LEAVE: Duration = Duration::from_millis(1_500);
/// The tools and the names that Codex gave them, which are taken but not listed.
const BEGIN: [&str; 2] = ["interpreter", "codex"];
const REPLY: [&str; 2] = ["interpreter-reply", "codex-reply"];

/// What a call wants of its session.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Settings on top of those of the server.
    pub overrides: Overrides,
    /// The working folder; a relative one counts from the server's.
    pub cwd: Option<PathBuf>,
    /// The id of the session to go on with.
    pub resume: Option<String>,
    /// A text in place of the system prompt.
    pub base_instructions: Option<String>,
}

/// Opens a session for a call. The error is a sentence.
pub type Opener =
    dyn Fn(&Wanted, &Cancel, &mut dyn Frontend) -> Result<Session, String> + Send + Sync;

/// What all calls share.
struct Server {
    open: Box<Opener>,
    /// The client said that its person can be asked.
    asks: AtomicBool,
    /// Running calls and how to stop them.
    running: Mutex<HashMap<Id, Cancel>>,
    /// Sessions at work.
    busy: Mutex<HashSet<String>>,
}

/// Serves until the client leaves or `cancel` is set; then all calls end.
pub fn serve(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    open: Box<Opener>,
    cancel: &Cancel,
) {
    let server = Arc::new(Server {
        open,
        asks: AtomicBool::new(false),
        running: Mutex::default(),
        busy: Mutex::default(),
    });
    let (left, end) = channel();
    let own = server.clone();
    let settings = Settings {
        batches: true,
        ..Settings::server("mcp")
    };
    let peer = Peer::start(input, output, settings, move |_, incoming| match incoming {
        Incoming::Call(call) => own.request(call),
        Incoming::Notification { method, params } => {
            if method == "notifications/cancelled" {
                own.stop(params.get("requestId"));
            }
        }
        Incoming::Noise(_) => {}
        Incoming::Closed(_) => {
            let _ = left.send(());
        }
    });
    while end.recv_timeout(Duration::from_millis(50)).is_err() && !cancel.is_cancelled() {}
    server.running().values().for_each(Cancel::cancel);
    let began = Instant::now();
    while !server.running().is_empty() && began.elapsed() < LEAVE {
        thread::sleep(Duration::from_millis(10));
    }
    peer.close("the server ends", Duration::from_millis(500));
}

impl Server {
    fn running(&self) -> MutexGuard<'_, HashMap<Id, Cancel>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn busy(&self) -> MutexGuard<'_, HashSet<String>> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a request, or begins the work that will. On the reader's thread: it never waits.
    fn request(self: &Arc<Self>, call: Call) {
        let answer = match call.method.as_str() {
            "initialize" => Ok(self.initialize(&call.params)),
            "ping" => Ok(json!({})),
            "tools/list" => Ok(json!({"tools": [begin_tool(), reply_tool()]})),
            "tools/call" => return self.begin(call),
            "logging/setLevel" => Ok(json!({})),
            // Also `server/discover`: who hears this goes on with `initialize`.
            other => Err(Fault::no_method(other)),
        };
        call.answer(answer);
    }

    fn initialize(&self, params: &Value) -> Value {
        let asked = params.get("protocolVersion").and_then(Value::as_str);
        let version = VERSIONS.iter().find(|v| Some(**v) == asked);
        let asks = params
            .pointer("/capabilities/elicitation")
            .is_some_and(Value::is_object);
        self.asks.store(asks, Ordering::SeqCst);
        json!({
            "protocolVersion": version.unwrap_or(&VERSIONS[0]),
            "capabilities": {"tools": {"listChanged": false}},
            "serverInfo": {"name": "interpreter", "title": "Interpreter", "version": env!("CARGO_PKG_VERSION")},
        })
    }

    fn stop(&self, id: Option<&Value>) {
        let running = self.running();
        let named = running
            .iter()
            .find(|(known, _)| Some(&known.to_value()) == id);
        if let Some((_, cancel)) = named {
            cancel.cancel();
        }
    }

    fn begin(self: &Arc<Self>, call: Call) {
        let cancel = Cancel::new();
        let id = call.id.clone();
        if self.running().insert(id.clone(), cancel.clone()).is_some() {
            return call.answer(Err(Fault::bad_params("a call with this id runs already")));
        }
        let own = self.clone();
        let spawned = thread::Builder::new()
            .name("mcp call".into())
            .spawn(move || {
                let result = own.work(&call, &cancel);
                own.running().remove(&call.id);
                match cancel.is_cancelled() {
                    // Who cancelled it waits for nothing.
                    true => call.forget(),
                    false => call.answer(Ok(result)),
                }
            });
        if spawned.is_err() {
            // The call was dropped with its thread, and so answered.
            self.running().remove(&id);
        }
    }

    /// What comes of a call, errors included: they are for the model that made it.
    fn work(&self, call: &Call, cancel: &Cancel) -> Value {
        let name = call
            .params
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let empty = Map::new();
        let arguments = call.params.get("arguments").and_then(Value::as_object);
        let arguments = arguments.unwrap_or(&empty);
        let read = if BEGIN.contains(&name) {
            begun(arguments)
        } else if REPLY.contains(&name) {
            replied(arguments)
        } else {
            Err(format!(
                "there is no tool {name:?}; there are {} and {}",
                BEGIN[0], REPLY[0]
            ))
        };
        let (mut wanted, prompt) = match read {
            Ok(read) => read,
            Err(why) => return failed(&why, None),
        };
        let asks = self.asks.load(Ordering::SeqCst);
        let has_policy = wanted
            .overrides
            .flags
            .iter()
            .any(|(key, ..)| *key == "approval_policy");
        if !asks && !has_policy {
            // Nobody hears a question, so none is asked.
            wanted
                .overrides
                .set("approval_policy", "never".into(), "no elicitation");
        }
        if let Some(id) = &wanted.resume
            && !self.busy().insert(id.clone())
        {
            return failed(
                "that session is at work; wait for its answer first",
                Some(id),
            );
        }
        let result = call::run(&self.open, &wanted, prompt, call, asks, cancel);
        if let Some(id) = &wanted.resume {
            self.busy().remove(id);
        }
        result
    }
}

/// An answer that is an error.
fn failed(why: &str, thread: Option<&str>) -> Value {
    let mut result = json!({"content": [{"type": "text", "text": why}], "isError": true});
    if let Some(thread) = thread {
        result["structuredContent"] = json!({"threadId": thread, "content": why});
    }
    result
}

/// The arguments of the tool that begins a session.
fn begun(arguments: &Map<String, Value>) -> Result<(Wanted, String), String> {
    let mut wanted = Wanted::default();
    let overrides = &mut wanted.overrides;
    for (name, key) in [
        ("model", "model"),
        ("harness", "harness"),
        ("approval-policy", "approval_policy"),
        ("sandbox", "sandbox_mode"),
        ("developer-instructions", "developer_instructions"),
    ] {
        if let Some(value) = text(arguments, name)? {
            overrides.set(key, value.into(), name);
        }
    }
    overrides.profile = text(arguments, "profile")?;
    match arguments.get("config") {
        None | Some(Value::Null) => {}
        Some(Value::Object(config)) => settings("", config, &mut overrides.sets),
        Some(_) => return Err("config is an object of settings".into()),
    }
    wanted.cwd = text(arguments, "cwd")?.map(PathBuf::from);
    wanted.base_instructions = text(arguments, "base-instructions")?;
    Ok((wanted, prompt(arguments)?))
}

/// The arguments of the tool that goes on with one.
fn replied(arguments: &Map<String, Value>) -> Result<(Wanted, String), String> {
    let id = match text(arguments, "threadId")? {
        Some(id) => Some(id),
        None => text(arguments, "conversationId")?,
    };
    let id = id.ok_or("threadId is missing: the session to go on with, from an earlier answer")?;
    let wanted = Wanted {
        resume: Some(id),
        ..Wanted::default()
    };
    Ok((wanted, prompt(arguments)?))
}

fn prompt(arguments: &Map<String, Value>) -> Result<String, String> {
    let prompt = text(arguments, "prompt")?.filter(|p| !p.trim().is_empty());
    prompt.ok_or_else(|| "prompt is missing: say what is to be done".into())
}

fn text(arguments: &Map<String, Value>, name: &str) -> Result<Option<String>, String> {
    match arguments.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(format!("{name} is a string")),
    }
}

/// Settings of a nested object as `-c` has them.
fn settings(prefix: &str, config: &Map<String, Value>, into: &mut Vec<String>) {
    for (name, value) in config {
        let key = format!("{prefix}{name}");
        match value {
            Value::Object(inner) => settings(&format!("{key}."), inner, into),
            Value::Null => {}
            // JSON's other values are TOML's too, apart from rare escapes in a text.
            Value::String(text) => into.push(format!("{key}={}", toml::Value::from(text.as_str()))),
            other => into.push(format!("{key}={other}")),
        }
    }
}

fn output_schema() -> Value {
    json!({"type": "object", "properties": {
        "threadId": {"type": "string", "description": "The session, to go on with it"},
        "content": {"type": "string", "description": "The last message of the agent"},
    }, "required": ["threadId", "content"]})
}

fn begin_tool() -> Value {
    let string = |about: &str| json!({"type": "string", "description": about});
    let one_of = |about: &str, values: &[&str]| json!({"type": "string", "description": about, "enum": values});
    json!({
        "name": BEGIN[0], "title": "Interpreter",
        "description": "Runs a coding agent on a task in a folder and gives back its last message.",
        "inputSchema": {"type": "object", "properties": {
            "prompt": string("The task"),
            "model": string("The model, if not the configured one"),
            "profile": string("The profile of the configuration"),
            "harness": string("The agent whose interface the model gets"),
            "cwd": string("The folder to work in; a relative one counts from the server's"),
            "approval-policy": one_of("When the person is asked", &["untrusted", "on-failure", "on-request", "never"]),
            "sandbox": one_of("What commands may do", &["read-only", "workspace-write", "danger-full-access"]),
            "config": {"type": "object", "description": "Further settings, as in the configuration file", "additionalProperties": true},
            "base-instructions": string("A text in place of the system prompt"),
            "developer-instructions": string("A text for the start of the session"),
            "compact-prompt": string("Accepted, without effect"),
        }, "required": ["prompt"]},
        "outputSchema": output_schema(),
    })
}

fn reply_tool() -> Value {
    json!({
        "name": REPLY[0], "title": "Interpreter reply",
        "description": "Goes on with a session of the interpreter tool, also one of an earlier run of this server.",
        "inputSchema": {"type": "object", "properties": {
            "prompt": {"type": "string", "description": "What to say next"},
            "threadId": {"type": "string", "description": "The session, from an earlier answer"},
            "conversationId": {"type": "string", "description": "The old name of threadId"},
        }, "required": ["prompt"]},
        "outputSchema": output_schema(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_become_flat_keys() {
        let config = json!({"sandbox_workspace_write": {"network_access": true, "writable_roots": ["/a"]},
            "model_context_window": 4096, "developer_instructions": "a \"b\"\nc", "x": null});
        let mut sets = Vec::new();
        settings("", config.as_object().unwrap(), &mut sets);
        let expected = [
            "sandbox_workspace_write.network_access=true",
            "sandbox_workspace_write.writable_roots=[\"/a\"]",
            "model_context_window=4096",
        ];
        assert_eq!(sets[..3], expected);
        let value: toml::Table = sets[3].parse().unwrap();
        assert_eq!(value["developer_instructions"].as_str(), Some("a \"b\"\nc"));
    }

    #[test]
    fn arguments_are_checked_before_anything_runs() {
        type Reader = fn(&Map<String, Value>) -> Result<(Wanted, String), String>;
        let read =
            |tool: Reader, value: Value| tool(value.as_object().unwrap()).map(|(_, prompt)| prompt);
        assert_eq!(
            read(begun, json!({"prompt": "x", "model": null})),
            Ok("x".into())
        );
        for bad in [
            json!({}),
            json!({"prompt": " "}),
            json!({"prompt": 3}),
            json!({"prompt": "x", "config": 1}),
            json!({"prompt": "x", "cwd": []}),
        ] {
            assert!(read(begun, bad.clone()).is_err(), "{bad}");
        }
        assert!(read(replied, json!({"prompt": "x"})).is_err());
        assert!(read(replied, json!({"prompt": "x", "conversationId": "a"})).is_ok());
    }
}
