//! One message to the server and what comes back for it: a status, one JSON object, or a stream of
//! events that is followed to our answer.

use super::super::transport::{McpError, Reply};
use super::events::{Events, Place};
use super::{MOST_BYTES, MOST_RESUMES, MOST_RETRY, RETRY, Shared};
use crate::jsonrpc::{Fault, Id, Message};
use crate::model::http::agent_for as agent;
use serde_json::Value;
use std::io::{self, Read};
use std::sync::mpsc::channel;
use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use ureq::http::{HeaderMap, Response, Uri};
use ureq::{Agent, Body};

/// The most redirects.
const MOST_REDIRECTS: u32 = 5;

impl Shared {
    /// Sends something that has no answer.
    pub(super) fn send(&self, message: Message, limit: Duration) -> Result<(), McpError> {
        let session = self.now();
        let agent = agent(&self.url, false, Some(limit)).map_err(McpError::Other)?;
        let headers = self.all_headers(&session, &[]);
        let (sender, done) = channel();
        let (worker, url) = (agent.clone(), self.url.clone());
        thread::Builder::new()
            .name("mcp notification".into())
            .spawn(move || {
                let _ = sender.send(post(&worker, &url, &message, &headers));
            })
            .map_err(|e| McpError::Other(format!("no thread could be started: {e}")))?;
        let answer = done.recv_timeout(limit);
        agent.shutdown();
        let response = answer.map_err(|_| McpError::TimedOut(limit))??;
        match response.status().as_u16() {
            200..300 => Ok(()),
            _ => Err(self.refusal(response, &session)),
        }
    }

    /// One request, to its answer.
    pub(super) fn exchange(
        self: &Arc<Self>,
        agent: &Agent,
        message: &Message,
        id: u64,
        headers: &[(String, String)],
        begins: bool,
    ) -> Result<Value, McpError> {
        let session = self.now();
        let response = post(
            agent,
            &self.url,
            message,
            &self.all_headers(&session, headers),
        )?;
        if !response.status().is_success() {
            let refusal = self.refusal(response, &session);
            return Err(match refusal {
                McpError::Other(why) if begins => McpError::Other(format!(
                    "{why}; if it is an old server with two addresses (HTTP+SSE), it is not supported"
                )),
                other => other,
            });
        }
        if begins && let Some(id) = text(response.headers(), "mcp-session-id") {
            let id = id.to_owned();
            self.session
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .id = Some(id);
        }
        let kind = text(response.headers(), "content-type").unwrap_or_default();
        let kind = kind
            .split(';')
            .next()
            .unwrap_or_default()
            .trim()
            .to_ascii_lowercase();
        match kind.as_str() {
            "text/event-stream" => self.follow(agent, response, id),
            "application/json" => {
                let mut bytes = Vec::new();
                let body = response.into_body().into_reader();
                body.take(MOST_BYTES as u64)
                    .read_to_end(&mut bytes)
                    .map_err(broke)?;
                self.take(&bytes, id).unwrap_or_else(|| {
                    Err(McpError::Other(
                        "it answered with something else than our answer".into(),
                    ))
                })
            }
            _ => Err(McpError::Other(format!(
                "it answered with neither JSON nor an event stream ({})",
                if kind.is_empty() { "nothing" } else { &kind }
            ))),
        }
    }

    /// Reads events until our answer is among them, and takes up a stream that ended before.
    fn follow(
        self: &Arc<Self>,
        agent: &Agent,
        response: Response<Body>,
        id: u64,
    ) -> Result<Value, McpError> {
        let mut place = Place::default();
        let mut response = response;
        for _ in 0..MOST_RESUMES {
            let ended = match self.events(response, id, &mut place)? {
                Some(answer) => return answer,
                None => Instant::now(),
            };
            let Some(last) = &place.id else {
                return Err(McpError::Closed(
                    "its stream ended before the answer came".into(),
                ));
            };
            let session = self.now();
            let mut headers = self.all_headers(&session, &[]);
            headers.push(("Last-Event-ID".into(), last.clone()));
            let wait = place.retry.unwrap_or(RETRY).min(MOST_RETRY);
            thread::sleep(wait.saturating_sub(ended.elapsed()));
            let request = agent.get(&self.url).header("Accept", "text/event-stream");
            let request = headers.iter().fold(request, |r, (k, v)| r.header(k, v));
            response = request.call().map_err(|e| unreachable(&e))?;
            if !response.status().is_success() {
                return Err(self.refusal(response, &session));
            }
        }
        Err(McpError::Closed("its stream ended again and again".into()))
    }

    /// The events of one stream. `None`: it ended without our answer.
    pub(super) fn events(
        self: &Arc<Self>,
        response: Response<Body>,
        id: u64,
        place: &mut Place,
    ) -> Result<Option<Result<Value, McpError>>, McpError> {
        let mut stream = response.into_body().into_reader();
        let mut events = Events::default();
        let mut buffer = vec![0; 16 << 10];
        loop {
            let count = match stream.read(&mut buffer) {
                Ok(0) => return Ok(None),
                Ok(count) => count,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                // A stream that breaks is one that ended.
                Err(_) if place.id.is_some() => return Ok(None),
                Err(e) => return Err(broke(e)),
            };
            let Some(found) = events.push(buffer.get(..count).unwrap_or_default(), place) else {
                return Err(McpError::Other("it sent an event without an end".into()));
            };
            for data in found {
                if let Some(answer) = self.take(data.as_bytes(), id) {
                    return Ok(Some(answer));
                }
            }
        }
    }

    /// Takes what came; gives our answer if it is in it.
    fn take(self: &Arc<Self>, bytes: &[u8], id: u64) -> Option<Result<Value, McpError>> {
        let mut answer = None;
        for message in Message::read_all(bytes).unwrap_or_default() {
            match message {
                Ok(Message::Response { id: of, result }) if of.as_own() == Some(id) => {
                    answer = Some(result.map_err(McpError::Fault));
                }
                Ok(Message::Notification { method, params }) => {
                    self.inbox.notification(&method, &params);
                }
                Ok(Message::Request { id, method, params }) => {
                    let reply = self.reply(id);
                    self.inbox.request(&method, params, reply);
                }
                Ok(Message::Response { .. }) | Err(_) => {}
            }
        }
        answer
    }

    /// The answer to a request of the server is a POST of its own, which holds nobody up.
    fn reply(self: &Arc<Self>, id: Id) -> Reply {
        const LIMIT: Duration = Duration::from_secs(10);
        let shared = self.clone();
        Box::new(move |result: Result<Value, Fault>| {
            let spawned = thread::Builder::new()
                .name("mcp answer".into())
                .spawn(move || {
                    let _ = shared.send(Message::Response { id, result }, LIMIT);
                });
            drop(spawned);
        })
    }
}

/// Posts a message; follows a redirect that stays with the same server and keeps the method.
fn post(
    agent: &Agent,
    url: &str,
    message: &Message,
    headers: &[(String, String)],
) -> Result<Response<Body>, McpError> {
    let body = message.to_value().to_string();
    let mut url = url.to_owned();
    for _ in 0..=MOST_REDIRECTS {
        let request = agent
            .post(&url)
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream");
        let request = headers.iter().fold(request, |r, (k, v)| r.header(k, v));
        let response = request.send(body.as_bytes()).map_err(|e| unreachable(&e))?;
        if !matches!(response.status().as_u16(), 307 | 308) {
            return Ok(response);
        }
        let target = text(response.headers(), "location").unwrap_or_default();
        url = same_server(&url, target).ok_or_else(|| {
            McpError::Other(format!(
                "it sends us to {}, which is another server; put that address into its url if you trust it",
                crate::words::head(target, 200)
            ))
        })?;
    }
    Err(McpError::Other("it sends us round in a circle".into()))
}

/// Where a redirect leads, if it stays with the same scheme, host and port.
fn same_server(url: &str, target: &str) -> Option<String> {
    let from: Uri = url.parse().ok()?;
    let origin = format!("{}://{}", from.scheme_str()?, from.authority()?);
    if target.starts_with('/') && !target.starts_with("//") {
        return Some(format!("{origin}{target}"));
    }
    let to: Uri = target.parse().ok()?;
    let same = to.scheme_str()? == from.scheme_str()? && to.authority()? == from.authority()?;
    same.then(|| target.to_owned())
}

pub(super) fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn unreachable(error: &ureq::Error) -> McpError {
    McpError::Closed(format!("it cannot be reached: {error}"))
}

fn broke(error: io::Error) -> McpError {
    McpError::Closed(format!("the connection broke: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_stays_with_its_server() {
        let from = "http://127.0.0.1:8000/mcp";
        assert_eq!(
            same_server(from, "/mcp/").as_deref(),
            Some("http://127.0.0.1:8000/mcp/")
        );
        let to = "http://127.0.0.1:8000/other";
        assert_eq!(same_server(from, to).as_deref(), Some(to));
        for other in [
            "http://127.0.0.1:8001/mcp",
            "https://127.0.0.1:8000/mcp",
            "//evil/mcp",
            "http://evil/",
            "",
        ] {
            assert_eq!(same_server(from, other), None, "{other}");
        }
    }
}
