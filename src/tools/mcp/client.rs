//! The protocol over a transport: handshake, the list of tools, calls.

mod list;

use super::ask::Ask;
use super::transport::{Inbox, McpError, Transport};
use crate::cancel::Cancel;
use crate::jsonrpc::{Fault, code};
use serde_json::{Map, Value, json};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

pub use list::Offer;

/// The revision that we ask for; any that a server answers with is taken.
const ASKED: &str = "2025-11-25";
/// The revision without a handshake.
const STATELESS: &str = "2026-07-28";
/// What a server answers to a version that it does not speak.
const UNSUPPORTED_VERSION: i64 = -32022;
/// The most bytes of a server's instructions that are kept.
const MOST_INSTRUCTIONS: usize = 2_000;
/// The most times that a stateless server may ask back within one call.
const MOST_ROUNDS: usize = 10;
/// How long a notification may take.
const NOTICE: Duration = Duration::from_secs(5);
/// How often a wait looks at its flag.
const LOOK: Duration = Duration::from_millis(50);
/// Progress puts the limit of a call off, but never beyond so many times the limit.
const HARD_CAP: u32 = 12;

/// What a server says while a call runs.
pub enum Live {
    /// How far it is, in a line.
    Progress(String),
    /// It asks the person something.
    Ask(Ask),
}

/// One server, after its handshake.
pub struct Client {
    transport: Arc<dyn Transport>,
    inbox: Arc<Inbox>,
    capabilities: Value,
    state: Mutex<State>,
}

#[derive(Debug, Clone, Default)]
struct State {
    /// `None`: stateless.
    version: Option<String>,
    about: Value,
    instructions: Option<String>,
}

/// The limits of one exchange.
#[derive(Clone, Copy)]
pub(super) struct Limits<'a> {
    pub time: Duration,
    pub cancel: &'a Cancel,
}

impl Client {
    /// Shakes hands. `asks`: a person can be asked.
    pub(super) fn connect(
        transport: Arc<dyn Transport>,
        inbox: Arc<Inbox>,
        asks: bool,
        limits: Limits,
    ) -> Result<Self, McpError> {
        let mut capabilities = json!({"roots": {}});
        if asks {
            capabilities["elicitation"] = json!({});
        }
        let client = Client {
            transport,
            inbox,
            capabilities,
            state: Mutex::default(),
        };
        client
            .shake_hands(limits)
            .map_err(|e| client.explained(e))?;
        Ok(client)
    }

    fn shake_hands(&self, limits: Limits) -> Result<(), McpError> {
        self.transport.agreed(None);
        let params = json!({
            "protocolVersion": ASKED, "capabilities": self.capabilities, "clientInfo": client_info(),
        });
        let answer = self.plain("initialize", params, &[], limits);
        let answer = match answer {
            Ok(answer) => answer,
            Err(McpError::Fault(fault)) => return self.go_stateless(fault, limits),
            Err(other) => return Err(other),
        };
        let version = answer.get("protocolVersion").and_then(Value::as_str);
        let version = version.unwrap_or(ASKED).to_owned();
        self.transport.agreed(Some(&version));
        self.transport
            .notify("notifications/initialized", Value::Null, NOTICE)?;
        self.transport.listen();
        self.keep(Some(version), &answer);
        Ok(())
    }

    /// A server that knows no handshake, or no version of it.
    fn go_stateless(&self, fault: Fault, limits: Limits) -> Result<(), McpError> {
        let data = fault.data.as_ref();
        let supported = data
            .and_then(|d| d.get("supported"))
            .and_then(Value::as_array);
        let speaks = supported.map(|s| s.iter().any(|v| v == STATELESS));
        let may = match speaks {
            Some(speaks) => speaks,
            None => matches!(fault.code, UNSUPPORTED_VERSION | code::METHOD_NOT_FOUND),
        };
        if !may {
            return Err(McpError::Fault(fault));
        }
        self.transport.agreed(Some(STATELESS));
        let answer = self.request("server/discover", json!({}), limits);
        match answer {
            Ok(answer) => self.keep(None, &answer),
            // It may speak the revision and not know this method.
            Err(McpError::Fault(_)) if speaks == Some(true) => self.keep(None, &Value::Null),
            Err(_) => return Err(McpError::Fault(fault)),
        }
        Ok(())
    }

    fn keep(&self, version: Option<String>, answer: &Value) {
        let instructions = answer.get("instructions").and_then(Value::as_str);
        let instructions = instructions.map(|t| crate::words::head(t.trim(), MOST_INSTRUCTIONS));
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = State {
            version,
            about: answer.get("serverInfo").cloned().unwrap_or_default(),
            instructions: instructions.filter(|t| !t.is_empty()).map(str::to_owned),
        };
    }

    fn state(&self) -> State {
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// How the server says that its tools are to be used, at most 2 kB.
    pub fn instructions(&self) -> Option<String> {
        self.state().instructions
    }

    /// The server's name and version, and the revision that is spoken.
    pub fn about(&self) -> String {
        let state = self.state();
        let part = |key: &str| {
            let text = state
                .about
                .get(key)
                .and_then(Value::as_str)
                .unwrap_or_default();
            crate::words::head(text, 100).to_owned()
        };
        let version = state.version.as_deref().unwrap_or(STATELESS);
        let text = format!("{} {}", part("name"), part("version"));
        format!("{} (MCP {version})", text.trim())
    }

    /// True once after the server said that its tools changed.
    pub fn take_stale(&self) -> bool {
        self.inbox.take_stale()
    }

    /// It can be asked no more.
    pub fn is_closed(&self) -> bool {
        self.transport.is_closed()
    }

    /// Ends the connection, and the server where it is ours.
    pub fn close(&self) {
        self.transport.close();
    }

    /// Calls a tool. `live` gets what the server says meanwhile; the time that the person takes for
    /// an answer does not count.
    pub(super) fn call(
        &self,
        tool: &Offer,
        arguments: &Map<String, Value>,
        limits: Limits,
        live: &mut dyn FnMut(Live),
    ) -> Result<Value, McpError> {
        let mut params = json!({"name": tool.name, "arguments": arguments});
        for _ in 0..MOST_ROUNDS {
            let headers = match self.state().version {
                Some(_) => Vec::new(),
                None => super::schema::headers(tool, arguments),
            };
            let once = || self.exchange("tools/call", params.clone(), &headers, limits, live);
            let result = self.in_a_session(limits, once)?;
            if result.get("resultType").and_then(Value::as_str) != Some("input_required") {
                return Ok(result);
            }
            params["inputResponses"] = self.responses(&result, live);
            params["requestState"] = result.get("requestState").cloned().unwrap_or_default();
        }
        Err(McpError::Other(format!(
            "it asked back more than {MOST_ROUNDS} times"
        )))
    }

    /// The answers to what a stateless server wants to know before it goes on.
    fn responses(&self, result: &Value, live: &mut dyn FnMut(Live)) -> Value {
        let mut answers = Map::new();
        let requests = result.get("inputRequests").and_then(Value::as_object);
        for (key, request) in requests.into_iter().flatten() {
            let (sender, answer) = std::sync::mpsc::channel();
            let listener = self.inbox.listen();
            let method = request
                .get("method")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let params = request.get("params").cloned().unwrap_or_default();
            let reply = move |result: Result<Value, Fault>| {
                let _ = sender.send(result);
            };
            self.inbox.request(method, params, Box::new(reply));
            while let Ok(said) = listener.try_recv() {
                live(said);
            }
            self.inbox.deaf();
            let answer = answer.recv_timeout(LOOK).ok().and_then(Result::ok);
            answers.insert(key.clone(), answer.unwrap_or(json!({"action": "decline"})));
        }
        answers.into()
    }

    /// A request within a session; one that the server has forgotten begins anew, once.
    fn request(&self, method: &str, params: Value, limits: Limits) -> Result<Value, McpError> {
        self.in_a_session(limits, || self.plain(method, params.clone(), &[], limits))
    }

    fn in_a_session(
        &self,
        limits: Limits,
        mut once: impl FnMut() -> Result<Value, McpError>,
    ) -> Result<Value, McpError> {
        match once() {
            Err(McpError::SessionGone) => {
                self.shake_hands(limits)?;
                once()
            }
            other => other,
        }
    }

    /// A request during which nobody listens.
    fn plain(
        &self,
        method: &str,
        params: Value,
        headers: &[(String, String)],
        limits: Limits,
    ) -> Result<Value, McpError> {
        self.exchange(method, params, headers, limits, &mut |_| {})
    }

    /// Sends a request and waits for its answer.
    fn exchange(
        &self,
        method: &str,
        mut params: Value,
        headers: &[(String, String)],
        limits: Limits,
        live: &mut dyn FnMut(Live),
    ) -> Result<Value, McpError> {
        let is_call = method == "tools/call";
        let is_stateless = self.state().version.is_none() && method != "initialize";
        let mut headers = headers.to_vec();
        let mut meta = Map::new();
        if is_call {
            // Servers send progress only to who asks for it.
            meta.insert(
                "progressToken".into(),
                uuid::Uuid::now_v7().to_string().into(),
            );
        }
        if is_stateless {
            let key = |name: &str| format!("io.modelcontextprotocol/{name}");
            meta.insert(key("protocolVersion"), STATELESS.into());
            meta.insert(key("clientCapabilities"), self.capabilities.clone());
            meta.insert(key("clientInfo"), client_info());
            headers.push(("Mcp-Method".into(), method.into()));
        }
        if !meta.is_empty() {
            params["_meta"] = meta.into();
        }
        let listener = self.inbox.listen();
        let done = self.wait(method, params, &headers, limits, &listener, live);
        self.inbox.deaf();
        done
    }

    fn wait(
        &self,
        method: &str,
        params: Value,
        headers: &[(String, String)],
        limits: Limits,
        listener: &Receiver<Live>,
        live: &mut dyn FnMut(Live),
    ) -> Result<Value, McpError> {
        let mut waiting = self.transport.ask(method, params, headers)?;
        let began = Instant::now();
        let cap = limits.time.saturating_mul(HARD_CAP);
        // Time that does not count, and when the last sign of life came.
        let (mut paused, mut sign) = (Duration::ZERO, Duration::ZERO);
        let end = loop {
            if let Some(answer) = waiting.poll(LOOK) {
                return answer;
            }
            while let Ok(said) = listener.try_recv() {
                let from = Instant::now();
                if let Live::Progress(_) = &said {
                    sign = began.elapsed().saturating_sub(paused);
                }
                live(said);
                paused += from.elapsed();
            }
            let passed = began.elapsed().saturating_sub(paused);
            if limits.cancel.is_cancelled() {
                break McpError::Cancelled;
            }
            if passed.saturating_sub(sign) >= limits.time || passed >= cap {
                break McpError::TimedOut(limits.time);
            }
        };
        // A handshake is never cancelled.
        if method != "initialize" && !self.transport.cancels_by_closing() {
            let reason = match end {
                McpError::Cancelled => "the user stopped it",
                _ => "it took too long",
            };
            let params = json!({"requestId": waiting.id(), "reason": reason});
            let _ =
                self.transport
                    .notify("notifications/cancelled", params, Duration::from_secs(1));
        }
        Err(end)
    }

    /// An error with what the server wrote beside it.
    pub(super) fn explained(&self, error: McpError) -> McpError {
        let trouble = self.transport.trouble();
        match error {
            McpError::Closed(_) | McpError::TimedOut(_) if !trouble.is_empty() => {
                McpError::Closed(format!("{error}; it wrote: {trouble}"))
            }
            other => other,
        }
    }

    /// What it wrote to its standard error last.
    pub(super) fn trouble(&self) -> String {
        self.transport.trouble()
    }
}

fn client_info() -> Value {
    json!({"name": "interpreter", "title": "Interpreter", "version": env!("CARGO_PKG_VERSION")})
}
