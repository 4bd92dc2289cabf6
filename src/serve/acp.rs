//! The Agent Client Protocol, version 1: the agent inside an editor.
//!
//! One thread reads and never waits, one writes, and each session has a thread of its own, so that
//! several work at once. Standard output carries the protocol alone.

mod calls;
mod files;
mod front;
mod handle;
mod opening;
mod options;
mod prompt;
mod replay;
mod updates;
mod worker;

use crate::cancel::Cancel;
use crate::cli::args::Options;
use crate::cli::commands::session::Setup;
use crate::cli::render::sanitize::one_line;
use crate::cli::signals::Signals;
use crate::cli::{Failure, exit};
use crate::jsonrpc::{Call, Fault, Id, Incoming, Peer, Settings};
use crate::sandbox::Offline;
use crate::store::paths::canonical;
use front::Client;
use handle::{Handle, Job};
use opening::Begin;
use options::Choice;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// The version of the protocol.
const VERSION: u64 = 1;
/// How often a signal is looked for.
const TICK: Duration = Duration::from_millis(50);
/// How long sessions may take to stop when the editor has left.
const LEAVE: Duration = Duration::from_millis(800);
/// Sessions of one answer to `session/list`.
const PAGE: usize = 50;

/// Error codes of this protocol beside those of JSON-RPC.
mod code {
    pub use crate::jsonrpc::code::{INTERNAL, INVALID_REQUEST};
    /// A key is missing.
    pub const AUTH_REQUIRED: i64 = -32000;
    /// There is no such session.
    pub const NOT_FOUND: i64 = -32002;
}

/// Serves an editor on standard input and output until it leaves.
///
/// # Errors
/// One sentence, before anything is served.
pub fn run(options: &Options, signals: &Signals) -> Result<u8, Failure> {
    let mut setup = Setup::load(options)?;
    // Before any thread starts.
    setup.hold_offline(None)?;
    let server = Arc::new(Server {
        options: options.clone(),
        offline: setup.offline,
        client: Mutex::default(),
        sessions: Mutex::default(),
        threads: AtomicUsize::new(0),
        stop: Cancel::new(),
    });
    let (left, leave) = mpsc::channel();
    let receiver = server.clone();
    let incoming = move |_: &Peer, what: Incoming| match what {
        Incoming::Call(call) => receiver.call(call),
        Incoming::Notification { method, params } => receiver.notified(&method, &params),
        Incoming::Noise(head) => log(&format!("not understood: {head}")),
        Incoming::Closed(_) => {
            let _ = left.send(());
        }
    };
    let settings = Settings::server("acp");
    let peer = Peer::start(io::stdin(), io::stdout(), settings, incoming);
    while leave.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
        if signals.cancel.is_cancelled() {
            break;
        }
    }
    server.leave();
    peer.close("the program ends", LEAVE);
    Ok(
        match (signals.is_terminated(), signals.cancel.is_cancelled()) {
            (true, _) => exit::TERMINATED,
            (false, true) => exit::INTERRUPTED,
            (false, false) => exit::OK,
        },
    )
}

/// What all sessions share.
struct Server {
    /// The flags of the command line.
    options: Options,
    /// How `--offline` holds.
    offline: Option<Offline>,
    client: Mutex<Client>,
    /// The open sessions by id.
    sessions: Mutex<HashMap<String, Arc<Handle>>>,
    /// Threads of sessions.
    threads: AtomicUsize,
    /// The editor has left.
    stop: Cancel,
}

impl Server {
    fn sessions(&self) -> MutexGuard<'_, HashMap<String, Arc<Handle>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the editor can do.
    fn client(&self) -> Client {
        *self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A session is open. False when it is so already.
    fn add(&self, id: &str, handle: &Arc<Handle>) -> bool {
        let mut sessions = self.sessions();
        if sessions.contains_key(id) {
            return false;
        }
        sessions.insert(id.to_owned(), handle.clone());
        true
    }

    fn session(&self, params: &Value) -> Result<Arc<Handle>, Fault> {
        let id = params["sessionId"].as_str().unwrap_or_default();
        let known = self.sessions().get(id).cloned();
        known.ok_or_else(|| {
            let why = format!("there is no open session {id:?}; open it with session/new, session/load or session/resume");
            Fault::new(code::NOT_FOUND, why)
        })
    }

    /// Stops everything and waits a moment, so that what runs ends in order.
    fn leave(&self) {
        self.stop.cancel();
        for (_, handle) in self.sessions().drain() {
            handle.cancel.cancel();
            handle.add(Job::End);
        }
        let began = Instant::now();
        while self.threads.load(Ordering::SeqCst) > 0 && began.elapsed() < LEAVE {
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Answers a request, or gives it to who does.
    fn call(self: &Arc<Self>, call: Call) {
        let params = call.params.clone();
        let answer = match call.method.as_str() {
            "initialize" => Ok(self.initialize(&params)),
            "authenticate" => Err(Fault::bad_params(
                "no authentication is needed here; keys are read from the environment",
            )),
            "session/new" | "session/load" | "session/resume" => return self.open(call, &params),
            "session/list" => return self.list(call, params),
            "session/prompt" => match (self.session(&params), params["prompt"].as_array()) {
                (Ok(session), Some(blocks)) => return session.prompt(call, blocks.clone()),
                (Err(fault), _) => Err(fault),
                (_, None) => Err(Fault::bad_params("prompt must be a list of content blocks")),
            },
            "session/set_mode" => self.set_mode(&call, &params),
            "session/set_config_option" => match self.set(&call, &params) {
                Ok(Some((session, choice, value))) => {
                    return session.add(Job::Set(call, choice, value));
                }
                Ok(None) => self
                    .session(&params)
                    .map(|s| json!({"configOptions": s.choices().options()})),
                Err(fault) => Err(fault),
            },
            // Of older editors, which have no options.
            "session/set_model" => match (self.session(&params), params["modelId"].as_str()) {
                (Ok(session), Some(model)) => {
                    return session.add(Job::Set(call, Choice::Model, model.to_owned()));
                }
                (Err(fault), _) => Err(fault),
                (_, None) => Err(Fault::bad_params("modelId must be a string")),
            },
            "session/close" => {
                let id = params["sessionId"].as_str().unwrap_or_default();
                match self.sessions().remove(id) {
                    Some(session) => {
                        session.stop();
                        return session.add(Job::Close(call));
                    }
                    None => Err(Fault::new(
                        code::NOT_FOUND,
                        format!("there is no open session {id:?}"),
                    )),
                }
            }
            "session/delete" => match params["sessionId"].as_str() {
                None => Err(Fault::bad_params("sessionId must be a string")),
                Some(id) => {
                    let open = self.sessions().remove(id);
                    match open {
                        // Its thread writes the file, and removes it when it is free.
                        Some(session) => {
                            session.stop();
                            return session.add(Job::Delete(call));
                        }
                        None => Setup::load(&self.options)
                            .map_err(|why| Fault::new(code::INTERNAL, why))
                            .and_then(|setup| opening::deleted(&setup.home, id)),
                    }
                }
            },
            method => Err(Fault::no_method(method)),
        };
        call.answer(answer);
    }

    fn notified(&self, method: &str, params: &Value) {
        match method {
            "session/cancel" => {
                if let Ok(session) = self.session(params) {
                    session.stop();
                }
            }
            "$/cancel_request" => {
                let id = match &params["requestId"] {
                    Value::Number(n) => Id::Number(n.clone()),
                    Value::String(text) => Id::Text(text.clone()),
                    _ => return,
                };
                let sessions: Vec<_> = self.sessions().values().cloned().collect();
                sessions
                    .iter()
                    .filter(|s| s.runs(&id))
                    .for_each(|s| s.stop());
            }
            _ => {}
        }
    }

    fn initialize(&self, params: &Value) -> Value {
        let client = Client::of(&params["clientCapabilities"]);
        *self.client.lock().unwrap_or_else(PoisonError::into_inner) = client;
        json!({
            "protocolVersion": VERSION,
            "agentCapabilities": {
                "loadSession": true,
                "promptCapabilities": {"image": true, "audio": false, "embeddedContext": true},
                "mcpCapabilities": {"http": true, "sse": false},
                "sessionCapabilities": {"list": {}, "resume": {}, "close": {}, "delete": {}, "additionalDirectories": {}},
            },
            "authMethods": [],
            "agentInfo": {"name": "interpreter", "title": "Interpreter", "version": env!("CARGO_PKG_VERSION")},
        })
    }

    /// A new session, or a stored one.
    fn open(self: &Arc<Self>, call: Call, params: &Value) {
        let begin = match begin(&call.method, params) {
            Ok(begin) => begin,
            Err(fault) => return call.answer(Err(fault)),
        };
        let open = begin
            .id
            .as_ref()
            .and_then(|id| self.sessions().get(id).cloned());
        match open {
            // It is open here already, and its file is written by its thread.
            Some(session) if begin.replay => session.add(Job::Replay(call)),
            Some(session) => {
                let choices = session.choices();
                call.answer(Ok(
                    json!({"modes": choices.modes(), "configOptions": choices.options()}),
                ));
            }
            None => worker::spawn(self, begin, call),
        }
    }

    fn set_mode(&self, call: &Call, params: &Value) -> Result<Value, Fault> {
        let session = self.session(params)?;
        let id = params["modeId"].as_str().unwrap_or_default();
        let mode = options::mode(id).ok_or_else(|| unknown("mode", id))?;
        let choices = session.choose_mode(mode);
        self.tell(
            call,
            params,
            "config_option_update",
            json!({"configOptions": choices.options()}),
        );
        Ok(json!({}))
    }

    /// A mode is chosen at once; gives what the session's thread has to do.
    fn set(
        &self,
        call: &Call,
        params: &Value,
    ) -> Result<Option<(Arc<Handle>, Choice, String)>, Fault> {
        let session = self.session(params)?;
        let id = params["configId"].as_str().unwrap_or_default();
        let choice = Choice::by_id(id).ok_or_else(|| unknown("option", id))?;
        let value = params["value"].as_str();
        let value = value.ok_or_else(|| Fault::bad_params("value must be a string"))?;
        if choice != Choice::Mode {
            return Ok(Some((session, choice, value.to_owned())));
        }
        let mode = options::mode(value).ok_or_else(|| unknown("mode", value))?;
        session.choose_mode(mode);
        self.tell(
            call,
            params,
            "current_mode_update",
            json!({"currentModeId": options::mode_id(mode)}),
        );
        Ok(None)
    }

    /// Tells the editor what follows from a request of its own.
    fn tell(&self, call: &Call, params: &Value, tag: &str, mut update: Value) {
        update["sessionUpdate"] = json!(tag);
        let update = json!({"sessionId": params["sessionId"], "update": update});
        let _ = call.peer().notify("session/update", update);
    }

    /// Lists the stored sessions on a thread, since every file is looked at.
    fn list(self: &Arc<Self>, call: Call, params: Value) {
        let server = self.clone();
        let listing = thread::Builder::new().name("acp list".into());
        let spawned = listing.spawn(move || {
            let answer = server.listed(&params);
            call.answer(answer);
        });
        if let Err(why) = spawned {
            log(&format!("no thread for a list: {why}"));
        }
    }

    fn listed(&self, params: &Value) -> Result<Value, Fault> {
        let setup = Setup::load(&self.options).map_err(|why| Fault::new(code::INTERNAL, why))?;
        let shelf = crate::agent::stored::all(&setup.home, &self.stop);
        let folder = params["cwd"]
            .as_str()
            .map(|cwd| canonical(&PathBuf::from(cwd)));
        let first = match params["cursor"].as_str() {
            None => 0,
            Some(cursor) => cursor
                .parse()
                .map_err(|_| Fault::bad_params("this cursor is none of ours"))?,
        };
        let all: Vec<_> = shelf
            .sessions
            .iter()
            .filter(|s| folder.as_ref().is_none_or(|f| canonical(&s.cwd) == *f))
            .collect();
        let page = all.iter().skip(first).take(PAGE);
        let sessions: Vec<Value> = page
            .map(|s| {
                let mut row = json!({"sessionId": s.id, "cwd": s.cwd.to_string_lossy(), "updatedAt": time(s.modified)});
                if s.title.is_some() || !s.first.is_empty() {
                    row["title"] = json!(one_line(s.name()));
                }
                row
            })
            .collect();
        let mut answer = json!({"sessions": sessions});
        if first.saturating_add(PAGE) < all.len() {
            answer["nextCursor"] = json!((first + PAGE).to_string());
        }
        Ok(answer)
    }
}

fn begin(method: &str, params: &Value) -> Result<Begin, Fault> {
    let cwd = opening::folder(&params["cwd"], "cwd")?;
    let folders = params["additionalDirectories"]
        .as_array()
        .into_iter()
        .flatten();
    let folders = folders.map(|folder| opening::folder(folder, "each of additionalDirectories"));
    let id = match method {
        "session/new" => None,
        _ => {
            let id = params["sessionId"].as_str();
            Some(
                id.ok_or_else(|| Fault::bad_params("sessionId must be a string"))?
                    .to_owned(),
            )
        }
    };
    Ok(Begin {
        id,
        replay: method == "session/load",
        cwd,
        folders: folders.collect::<Result<_, _>>()?,
        servers: params["mcpServers"].as_array().cloned().unwrap_or_default(),
    })
}

fn unknown(what: &str, id: &str) -> Fault {
    Fault::bad_params(format!("there is no {what} {id:?}"))
}

/// A time as the protocol has it.
fn time(time: SystemTime) -> String {
    jiff::Timestamp::try_from(time)
        .map(|t| t.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
        .unwrap_or_default()
}

/// A line on standard error, which editors keep in a log.
fn log(text: &str) {
    let _ = writeln!(io::stderr(), "interpreter acp: {}", one_line(text));
}
