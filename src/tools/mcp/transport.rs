//! What both transports have in common: a request on its way, and what a server says meanwhile.

use super::ask::Ask;
use super::client::Live;
use crate::jsonrpc::{CallError, Fault};
use serde_json::{Value, json};
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Why a server did not do what it was asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum McpError {
    /// It answered with an error.
    Fault(Fault),
    /// No answer within this time.
    TimedOut(Duration),
    /// The user stopped it.
    Cancelled,
    /// It is gone, or cannot be reached, and why.
    Closed(String),
    /// It does not know our session any more: a new one must begin.
    SessionGone,
    /// It wants a login, and what to do about that.
    Login(String),
    /// Something else, in a sentence.
    Other(String),
}

impl fmt::Display for McpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            McpError::Fault(fault) => write!(f, "it answered with an error: {fault}"),
            McpError::TimedOut(limit) => {
                write!(f, "it did not answer within {} s", limit.as_secs_f32())
            }
            McpError::Cancelled => f.write_str("it was cancelled"),
            McpError::Closed(why) => f.write_str(why),
            McpError::SessionGone => f.write_str("it does not know this session any more"),
            McpError::Login(why) | McpError::Other(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for McpError {}

impl From<CallError> for McpError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Fault(fault) => McpError::Fault(fault),
            CallError::TimedOut(limit) => McpError::TimedOut(limit),
            CallError::Cancelled => McpError::Cancelled,
            CallError::Closed(why) => McpError::Closed(why),
        }
    }
}

/// A way to one server.
pub(super) trait Transport: Send + Sync {
    /// Sends a request. `headers` are for HTTP alone.
    fn ask(
        &self,
        method: &str,
        params: Value,
        headers: &[(String, String)],
    ) -> Result<Box<dyn Waiting>, McpError>;
    /// Sends a notification, waiting for `limit` at most.
    fn notify(&self, method: &str, params: Value, limit: Duration) -> Result<(), McpError>;
    /// The version that was agreed on; `None`: a new handshake begins.
    fn agreed(&self, _version: Option<&str>) {}
    /// The handshake is done: what the server says of its own accord may come from now on.
    fn listen(&self) {}
    /// Dropping a request is all that it takes to cancel it.
    fn cancels_by_closing(&self) -> bool {
        false
    }
    /// What the server wrote to its standard error last, or what else may explain a failure.
    fn trouble(&self) -> String {
        String::new()
    }
    /// It can be asked no more.
    fn is_closed(&self) -> bool {
        false
    }
    /// Ends the connection, and the server where it is ours.
    fn close(&self);
}

/// A request on its way. Dropped, nobody waits for it any more.
pub(super) trait Waiting: Send {
    /// Its number.
    fn id(&self) -> u64;
    /// The answer, if it comes within this time.
    fn poll(&mut self, limit: Duration) -> Option<Result<Value, McpError>>;
}

/// What a server says of its own accord: kept, answered, or passed on to who waits for a call.
#[derive(Debug)]
pub(super) struct Inbox {
    /// The session's folder, as the root that a server may ask for.
    root: Option<String>,
    live: Mutex<Option<Sender<Live>>>,
    stale: AtomicBool,
}

/// How the answer to a server's request goes back.
pub(super) type Reply = Box<dyn FnOnce(Result<Value, Fault>) + Send>;

impl Inbox {
    pub(super) fn new(root: &Path) -> Self {
        let root = root.is_absolute().then(|| file_uri(root));
        Inbox {
            root,
            live: Mutex::new(None),
            stale: AtomicBool::new(false),
        }
    }

    /// What comes from now on, for one call.
    pub(super) fn listen(&self) -> Receiver<Live> {
        let (sender, receiver) = channel();
        *self.live.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
        receiver
    }

    /// Nobody listens any more.
    pub(super) fn deaf(&self) {
        *self.live.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// True once after the server said that its tools changed.
    pub(super) fn take_stale(&self) -> bool {
        self.stale.swap(false, Ordering::SeqCst)
    }

    pub(super) fn notification(&self, method: &str, params: &Value) {
        match method {
            "notifications/tools/list_changed" => self.stale.store(true, Ordering::SeqCst),
            "notifications/progress" => {
                self.pass(Live::Progress(progress(params)));
            }
            _ => {}
        }
    }

    /// Answers a server's request, now, or once the person has. None is left unanswered: servers
    /// wait for it.
    pub(super) fn request(&self, method: &str, params: Value, reply: Reply) {
        match method {
            "ping" => reply(Ok(json!({}))),
            "roots/list" => reply(Ok(self.roots())),
            "elicitation/create" => {
                // Dropped on the way, it is declined.
                self.pass(Live::Ask(Ask::new(params, reply)));
            }
            other => reply(Err(Fault::no_method(other))),
        }
    }

    /// The answer to `roots/list`.
    pub(super) fn roots(&self) -> Value {
        let root = self.root.iter();
        let roots: Vec<_> = root
            .map(|uri| json!({"uri": uri, "name": "workspace"}))
            .collect();
        json!({ "roots": roots })
    }

    fn pass(&self, live: Live) {
        let listener = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(listener) = &*listener {
            let _ = listener.send(live);
        }
    }
}

/// `[3/10] reading`, in at most a line.
fn progress(params: &Value) -> String {
    const MOST: usize = 200;
    let number = |key: &str| params.get(key).and_then(Value::as_f64);
    let mut text = match (number("progress"), number("total")) {
        (Some(done), Some(total)) => format!("[{done}/{total}]"),
        (Some(done), None) => format!("[{done}]"),
        _ => String::new(),
    };
    if let Some(message) = params.get("message").and_then(Value::as_str) {
        text = format!("{text} {message}");
    }
    crate::words::head(text.trim(), MOST).replace(['\n', '\r'], " ")
}

/// A path as a `file` URI.
fn file_uri(path: &Path) -> String {
    let text = path.to_string_lossy().replace('\\', "/");
    let mut uri = String::from(if text.starts_with('/') {
        "file://"
    } else {
        "file:///"
    });
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' | b':' => {
                uri.push(char::from(byte));
            }
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri
}
