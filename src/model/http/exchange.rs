//! One request on one worker thread, seen from the caller's side as a channel of messages.

use super::connect;
use super::tls;
use std::cell::Cell;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime};
use ureq::http::HeaderMap;
use ureq::{Agent, Body};

/// Bytes of one read, and how many reads may wait for the caller: together the most that one
/// exchange holds in memory.
const CHUNK: usize = 16 << 10;
const QUEUE: usize = 64;

/// What goes out.
/// No `Debug`: its headers hold the key.
#[derive(Clone)]
pub(super) struct Order {
    /// With the query.
    pub url: String,
    pub headers: Vec<(String, String)>,
    /// `None`: a GET.
    pub body: Option<Arc<[u8]>>,
    /// The server is a local one, whatever its address.
    pub local: bool,
    /// Certificates of authorities to trust, in PEM, in place of the usual ones.
    pub ca_file: Option<PathBuf>,
    /// A limit of look-up and connecting that is shorter than the usual one.
    pub limit: Option<Duration>,
    /// The server must not turn out to be on this machine or its network.
    pub far: bool,
}

/// What comes back, in this order: a head, bytes, and an end; a failure ends it at any point.
#[derive(Debug)]
pub(super) enum Message {
    Head(Head),
    Bytes(Vec<u8>),
    End,
    Failed(Failure),
}

/// Status line and the headers that matter.
#[derive(Debug)]
pub(super) struct Head {
    pub status: u16,
    pub retry_after: Option<Duration>,
    /// `x-should-retry`: what the server thinks of another try, whatever the status.
    pub should_retry: Option<bool>,
    /// Where a redirect points.
    pub location: Option<String>,
    /// How the body is packed, although nobody asked for that.
    pub packed: Option<String>,
    /// What the body is.
    pub content_type: Option<String>,
}

/// Why there is no answer, or no more of it.
#[derive(Debug)]
pub(super) enum Failure {
    /// Nothing listens there.
    Refused(String),
    /// The server was not reached, for another reason.
    Connect(String),
    /// The request cannot be sent at all: a bad address or header.
    Never(String),
    /// The certificate, or something else of TLS, is wrong.
    Tls(String),
    /// The connection broke.
    Broke(String),
}

/// A request on its way. Dropping it closes the connection at once, so that the server stops; one
/// over TLS whose answer was read to its end stays open for the next request, since a new one
/// costs two round trips.
pub(super) struct Exchange {
    agent: Agent,
    messages: Receiver<Message>,
    /// What the connection is good for, where it may be used again.
    way: Option<Way>,
    ended: Cell<bool>,
}

/// Connections of the same way are alike.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Way {
    origin: String,
    local: bool,
    ca_file: Option<PathBuf>,
}

impl Way {
    fn of(order: &Order) -> Option<Way> {
        let uri = order.url.parse::<ureq::http::Uri>().ok();
        let authority = uri?.authority()?.to_string();
        (connect::is_tls(&order.url) && !order.far).then(|| Way {
            origin: authority,
            local: order.local,
            ca_file: order.ca_file.clone(),
        })
    }
}

/// Agents with a connection that waits; each serves one request at a time.
static IDLE: Mutex<Vec<(Way, Agent)>> = Mutex::new(Vec::new());

/// The most of them.
const MOST_IDLE: usize = 4;

fn idle() -> MutexGuard<'static, Vec<(Way, Agent)>> {
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Exchange {
    /// Sends `order` from a thread of its own.
    ///
    /// # Errors
    /// Why it cannot be sent at all.
    pub fn start(order: Order) -> Result<Exchange, String> {
        let way = Way::of(&order);
        let waiting = way.as_ref().and_then(|way| {
            let mut idle = idle();
            let at = idle.iter().position(|(w, _)| w == way)?;
            Some(idle.swap_remove(at).1)
        });
        let agent = match waiting {
            Some(agent) => agent,
            None => connect::agent(&order)?,
        };
        let (sender, messages) = sync_channel(QUEUE);
        let worker = agent.clone();
        thread::Builder::new()
            .name("model request".to_owned())
            .spawn(move || run(&worker, &order, &sender))
            .map_err(|e| e.to_string())?;
        Ok(Exchange {
            agent,
            messages,
            way,
            ended: Cell::new(false),
        })
    }

    /// The next message, or `None` when nothing came within `wait`.
    pub fn next(&self, wait: Duration) -> Option<Message> {
        match self.messages.recv_timeout(wait) {
            Ok(message) => {
                self.ended.set(matches!(message, Message::End));
                Some(message)
            }
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                let why = "the request's thread ended early".to_owned();
                Some(Message::Failed(Failure::Broke(why)))
            }
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        match self.way.take().filter(|_| self.ended.get()) {
            Some(way) => {
                let mut idle = idle();
                if idle.len() >= MOST_IDLE {
                    idle.remove(0);
                }
                idle.push((way, self.agent.clone()));
            }
            None => self.agent.clone().shutdown(),
        }
    }
}

/// The worker. A send that fails means that the caller has gone: then it ends too.
fn run(agent: &Agent, order: &Order, sender: &SyncSender<Message>) {
    let last = match request(agent, order) {
        Err(error) => Message::Failed(failure(error)),
        Ok(response) => {
            let (parts, body) = response.into_parts();
            let head = Head {
                status: parts.status.as_u16(),
                retry_after: retry_after(&parts.headers),
                should_retry: text(&parts.headers, "x-should-retry")
                    .and_then(|v| v.trim().parse().ok()),
                location: text(&parts.headers, "location").map(str::to_owned),
                packed: text(&parts.headers, "content-encoding")
                    .map(str::trim)
                    .filter(|e| !e.is_empty() && !e.eq_ignore_ascii_case("identity"))
                    .map(str::to_owned),
                content_type: text(&parts.headers, "content-type").map(str::to_owned),
            };
            if sender.send(Message::Head(head)).is_err() {
                return;
            }
            match read(body, sender) {
                Some(last) => last,
                None => return,
            }
        }
    };
    let _ = sender.send(last);
}

fn request(agent: &Agent, order: &Order) -> Result<ureq::http::Response<Body>, ureq::Error> {
    match &order.body {
        None => {
            let request = agent.get(&order.url);
            let with = |r: ureq::RequestBuilder<_>, (k, v): &(String, String)| r.header(k, v);
            order.headers.iter().fold(request, with).call()
        }
        Some(body) => {
            let request = agent.post(&order.url);
            let with = |r: ureq::RequestBuilder<_>, (k, v): &(String, String)| r.header(k, v);
            order.headers.iter().fold(request, with).send(&body[..])
        }
    }
}

/// Passes the body on; `None` when the caller has gone.
fn read(body: Body, sender: &SyncSender<Message>) -> Option<Message> {
    let mut reader = body.into_reader();
    let mut buffer = vec![0; CHUNK];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Some(Message::End),
            Ok(n) => sender.send(Message::Bytes(buffer[..n].to_vec())).ok()?,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Some(Message::Failed(Failure::Broke(e.to_string()))),
        }
    }
}

fn failure(error: ureq::Error) -> Failure {
    use ureq::{Error, Timeout};
    let why = error.to_string();
    match error {
        Error::Io(e) => match e.kind() {
            io::ErrorKind::ConnectionRefused => Failure::Refused("connection refused".to_owned()),
            io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::UnexpectedEof => {
                Failure::Broke(format!("the connection closed before an answer: {e}"))
            }
            io::ErrorKind::InvalidData if tls::is_about(&why) => Failure::Tls(tls::explain(&why)),
            io::ErrorKind::InvalidData => Failure::Never(e.to_string()),
            _ => Failure::Connect(e.to_string()),
        },
        Error::Timeout(Timeout::Resolve) => {
            Failure::Connect("the name look-up took too long".to_owned())
        }
        Error::Timeout(_) => Failure::Connect("connecting took too long".to_owned()),
        Error::HostNotFound => Failure::Connect("no such host".to_owned()),
        Error::ConnectProxyFailed(why) => Failure::Connect(refused_by_proxy(&why)),
        Error::ConnectionFailed => Failure::Connect(why),
        Error::Rustls(_) | Error::Tls(_) | Error::Pem(_) => Failure::Tls(tls::explain(&why)),
        Error::Protocol(_) => Failure::Broke(format!("the answer is not HTTP: {why}")),
        _ => Failure::Never(why),
    }
}

/// What a proxy says instead of connecting us.
fn refused_by_proxy(why: &str) -> String {
    let hint = match why.contains("407") {
        true => {
            "; it wants a name and a password: write http://USER:PASSWORD@HOST:PORT into HTTPS_PROXY"
        }
        false => "; check HTTPS_PROXY, or name the host in NO_PROXY",
    };
    format!(
        "the proxy does not connect: {}{hint}",
        super::classify::one_line(why)
    )
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// `retry-after-ms`, else `retry-after` as seconds or as a date. Zero and the past are no wait.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = match text(headers, "retry-after-ms").and_then(|v| v.trim().parse::<f64>().ok()) {
        Some(ms) => ms / 1000.0,
        None => {
            let value = text(headers, "retry-after")?.trim();
            match value.parse::<f64>() {
                Ok(seconds) => seconds,
                Err(_) => {
                    let then = jiff::fmt::rfc2822::parse(value).ok()?.timestamp();
                    let now = jiff::Timestamp::try_from(SystemTime::now()).ok()?;
                    then.duration_since(now).as_secs_f64()
                }
            }
        }
    };
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|wait| !wait.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_that_a_server_asks_for() {
        let wait = |name: &'static str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            retry_after(&headers)
        };
        assert_eq!(
            wait("retry-after", "2.5"),
            Some(Duration::from_millis(2500))
        );
        assert_eq!(
            wait("retry-after-ms", "120"),
            Some(Duration::from_millis(120))
        );
        assert_eq!(wait("retry-after", "0"), None);
        assert_eq!(wait("retry-after", "soon"), None);
        assert_eq!(wait("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT"), None);
        let future = wait("retry-after", "Fri, 21 Oct 2157 07:28:00 GMT");
        assert!(future.is_some_and(|w| w > Duration::from_secs(3600)));
    }
}
