//! A server at an address, spoken to by streamable HTTP: a POST a message, answered by one JSON
//! object or by a stream of events.

mod events;
mod exchange;
mod refused;
mod standing;

use super::transport::{Inbox, McpError, Transport, Waiting};
use crate::jsonrpc::Message;
use crate::model::http::agent_for as agent;
use serde_json::Value;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use ureq::Agent;
use ureq::http::Uri;

/// The most bytes of one answer or event.
const MOST_BYTES: usize = 64 << 20;
/// The most times that a broken stream is taken up again.
const MOST_RESUMES: u32 = 100;
/// The wait before that, when the server does not say.
const RETRY: Duration = Duration::from_secs(1);
/// The longest that a server may let us wait.
const MOST_RETRY: Duration = Duration::from_secs(60);
/// How long the good-bye may take.
const GOODBYE: Duration = Duration::from_secs(1);

/// A server at an address.
pub(super) struct Http(Arc<Shared>);

struct Shared {
    url: String,
    /// What the user configured; may hold a token, so there is no `Debug`.
    headers: Vec<(String, String)>,
    inbox: Arc<Inbox>,
    last_id: AtomicU64,
    /// The id and the version that the handshake gave.
    session: Mutex<Session>,
    /// The standing stream on which the server may ask and tell.
    standing: Mutex<Option<Agent>>,
}

#[derive(Default, Clone)]
struct Session {
    id: Option<String>,
    version: Option<String>,
}

impl Http {
    /// A server that was not spoken to yet.
    ///
    /// # Errors
    /// When the address is none.
    pub fn new(
        url: &str,
        headers: Vec<(String, String)>,
        inbox: Arc<Inbox>,
    ) -> Result<Self, McpError> {
        let uri: Option<Uri> = url.parse().ok();
        let is_web = uri.is_some_and(|u| {
            matches!(u.scheme_str(), Some("http" | "https")) && u.host().is_some()
        });
        if !is_web {
            return Err(McpError::Other(format!(
                "its url {url:?} is no http or https address"
            )));
        }
        Ok(Http(Arc::new(Shared {
            url: url.to_owned(),
            headers,
            inbox,
            last_id: AtomicU64::new(0),
            session: Mutex::default(),
            standing: Mutex::default(),
        })))
    }
}

impl Transport for Http {
    fn ask(
        &self,
        method: &str,
        params: Value,
        headers: &[(String, String)],
    ) -> Result<Box<dyn Waiting>, McpError> {
        let id = self.0.last_id.fetch_add(1, Ordering::SeqCst) + 1;
        let message = Message::Request {
            id: id.into(),
            method: method.to_owned(),
            params,
        };
        let agent = agent(&self.0.url, false, None).map_err(McpError::Other)?;
        let (sender, answer) = channel();
        let (shared, worker, headers) = (self.0.clone(), agent.clone(), headers.to_vec());
        let begins = method == "initialize";
        thread::Builder::new()
            .name("mcp request".into())
            .spawn(move || {
                let answer = shared.exchange(&worker, &message, id, &headers, begins);
                let _ = sender.send(answer);
            })
            .map_err(|e| McpError::Other(format!("no thread could be started: {e}")))?;
        Ok(Box::new(Exchange { id, agent, answer }))
    }

    fn notify(&self, method: &str, params: Value, limit: Duration) -> Result<(), McpError> {
        let method = method.to_owned();
        self.0.send(Message::Notification { method, params }, limit)
    }

    fn agreed(&self, version: Option<&str>) {
        let mut session = self
            .0
            .session
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        session.version = version.map(str::to_owned);
        if version.is_none() {
            session.id = None;
        }
    }

    fn listen(&self) {
        // Without a session a server cannot know whom it would talk to.
        let Some(id) = self.0.now().id else { return };
        let Ok(agent) = agent(&self.0.url, false, None) else {
            return;
        };
        self.0.hang_up(Some(agent.clone()));
        let shared = self.0.clone();
        // Without it the server is heard during calls alone.
        let _ = thread::Builder::new()
            .name("mcp stream".into())
            .spawn(move || shared.stand(&agent, &id));
    }

    fn close(&self) {
        let session = self.0.now();
        if session.id.is_none() {
            return;
        }
        self.agreed(None);
        self.0.hang_up(None);
        let Ok(agent) = agent(&self.0.url, false, Some(GOODBYE)) else {
            return;
        };
        let worker = agent.clone();
        let (sender, done) = channel::<()>();
        let (url, headers) = (self.0.url.clone(), self.0.all_headers(&session, &[]));
        let spawned = thread::Builder::new()
            .name("mcp good-bye".into())
            .spawn(move || {
                let request = headers
                    .iter()
                    .fold(worker.delete(&url), |r, (k, v)| r.header(k, v));
                // Servers that keep no sessions say 405.
                let _ = request.call();
                drop(sender);
            });
        if spawned.is_ok() {
            let _ = done.recv_timeout(GOODBYE);
        }
        agent.shutdown();
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        self.close();
    }
}

/// A request on its thread.
struct Exchange {
    id: u64,
    agent: Agent,
    answer: Receiver<Result<Value, McpError>>,
}

impl Waiting for Exchange {
    fn id(&self) -> u64 {
        self.id
    }

    fn poll(&mut self, limit: Duration) -> Option<Result<Value, McpError>> {
        match self.answer.recv_timeout(limit) {
            Ok(answer) => Some(answer),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                let why = "the request's thread ended early".to_owned();
                Some(Err(McpError::Closed(why)))
            }
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.agent.clone().shutdown();
    }
}

impl Shared {
    fn now(&self) -> Session {
        self.session
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn all_headers(&self, session: &Session, more: &[(String, String)]) -> Vec<(String, String)> {
        let mut all = self.headers.clone();
        let mut add = |name: &str, value: &str| all.push((name.to_owned(), value.to_owned()));
        if let Some(version) = &session.version {
            add("MCP-Protocol-Version", version);
        }
        if let Some(id) = &session.id {
            add("MCP-Session-Id", id);
        }
        all.extend_from_slice(more);
        all
    }
}
