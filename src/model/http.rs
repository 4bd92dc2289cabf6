//! Requests to model servers: one try on one worker thread, retries, idle limit, cancellation.
//!
//! [`stream`] is the only way in which a prompt leaves the program. A worker thread sends the
//! request on an agent of its own and passes on raw bytes ([`exchange`]); the caller's thread cuts
//! them into frames, lets the wire decode them, and watches the stop flag. To stop, it drops the
//! exchange, which closes the socket, so that the server stops generating.

mod address;
mod classify;
mod connect;
mod exchange;
mod optional;
mod page;
mod proxy;
mod retry;
mod side;
#[cfg(test)]
mod tests;
mod tls;

pub(in crate::model) use classify::one_line;
pub use classify::{classify, in_event, in_stream};
pub use connect::{agent_for, proxy};
pub use page::{Page, PageError, get_page};
pub use side::{Answer, get_json, post_form, post_json};

use super::provider::Provider;
use super::sse::{Frame, Frames};
use super::wire::Parts;
use super::{Decoder, Delta, Framing, ModelError, Reply, Request, Wire};
use crate::cancel::Cancel;
use address::{address, shown};
use exchange::{Exchange, Failure, Head, Message, Order};
use retry::{Lost, Retries, Stage};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often a wait looks at the stop flag.
const POLL: Duration = Duration::from_millis(40);
/// How often a person is told that nothing has come.
const SAY_WAITING: Duration = Duration::from_secs(10);
/// The most bytes of one reply, and of the body of an error.
const MAX_REPLY: usize = 256 << 20;
const MAX_ERROR: usize = 1 << 20;
/// How long the end of an answer may take once its last frame is read.
const FAREWELL: Duration = Duration::from_millis(50);
/// How long the body of an error may take.
const ERROR_LIMIT: Duration = Duration::from_secs(10);

/// What the reader of a stream wants next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// More.
    Go,
    /// End the stream on purpose; what was read so far is the reply, with
    /// [`Finish::Cut`](super::Finish::Cut).
    Cut,
}

/// Sends one request and streams its reply to `on`.
///
/// Retries what may pass by itself and says so with [`Delta::Retry`]: everything streamed before
/// that is void. There is no limit on the whole, only the provider's idle limit.
///
/// # Errors
/// The last error once the retries are used up, an error that no retry can mend, or
/// [`ModelError::Interrupted`].
pub fn stream(
    provider: &Provider,
    request: &Request,
    cancel: &Cancel,
    on: &mut dyn FnMut(Delta) -> Flow,
) -> Result<Reply, ModelError> {
    let mut call = Call::new(provider, request)?;
    let (mut renewed, mut dropped) = (false, 0);
    let mut listener = Listener::new(on);
    let mut retries = Retries::new(provider);
    loop {
        let lost = match call.attempt(cancel, &mut listener) {
            Ok(reply) => return Ok(reply),
            Err(lost) => lost,
        };
        // A token may end before its time; a fresh one is tried once.
        if matches!(lost.error, ModelError::Status { status: 401, .. }) && !renewed {
            renewed = true;
            if call.sign(provider, true)? {
                continue;
            }
        }
        // A field that the request can do without, refused by name.
        if dropped < optional::MOST && call.drop_refused(&lost.error) {
            dropped += 1;
            continue;
        }
        let Some(retry) = retries.next(&lost) else {
            return Err(lost.error);
        };
        let told = match retry.quiet {
            true => Flow::Go,
            false => listener.tell(Delta::Retry {
                attempt: retry.attempt,
                of: retry.of,
                why: lost.error.to_string(),
            }),
        };
        if told == Flow::Cut || pause(retry.wait, cancel, &mut listener)? == Flow::Cut {
            return Ok(call.decoder().cut());
        }
    }
}

/// Waits between two tries.
fn pause(wait: Duration, cancel: &Cancel, listener: &mut Listener) -> Result<Flow, ModelError> {
    let until = Instant::now() + wait;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if cancel.is_cancelled() {
            return Err(ModelError::Interrupted);
        }
        if left.is_zero() {
            return Ok(Flow::Go);
        }
        if listener.tick() == Flow::Cut {
            return Ok(Flow::Cut);
        }
        std::thread::sleep(left.min(POLL));
    }
}

/// A request, ready to be sent any number of times.
struct Call<'a> {
    request: &'a Request<'a>,
    wire: &'static dyn Wire,
    /// Where it goes and to which model.
    place: optional::Place,
    body: Parts,
    order: Order,
    /// The address without query and password, for errors.
    url: String,
    idle: Option<Duration>,
}

impl<'a> Call<'a> {
    fn new(provider: &Provider, request: &'a Request<'a>) -> Result<Self, ModelError> {
        let wire = provider.wire.wire();
        let url = address(&provider.base_url, wire.path(), &provider.query);
        let accept = match wire.framing() {
            Framing::Sse => "text/event-stream",
            Framing::Ndjson => "application/x-ndjson",
        };
        let mut headers = provider.headers.clone();
        let ours = [("content-type", "application/json"), ("accept", accept)];
        for (name, value) in wire.headers().iter().chain(&ours) {
            if !headers.iter().any(|(n, _)| n.eq_ignore_ascii_case(name)) {
                headers.push(((*name).to_owned(), (*value).to_owned()));
            }
        }
        let place = (provider.base_url.clone(), request.model.to_owned());
        let mut body = wire.parts(request);
        optional::strip(&place, &mut body.frame);
        let mut call = Call {
            request,
            wire,
            place,
            url: shown(&url),
            order: Order {
                url,
                headers,
                body: None,
                local: provider.local.is_some(),
                ca_file: provider.ca_file.clone(),
                limit: None,
                far: false,
            },
            idle: provider.idle_limit,
            body,
        };
        call.write();
        call.sign(provider, false)?;
        Ok(call)
    }

    /// Writes the body out.
    fn write(&mut self) {
        self.order.body = Some(Arc::from(self.body.bytes()));
    }

    /// Takes away the optional field that the server has refused. False when it is not about one.
    fn drop_refused(&mut self, error: &ModelError) -> bool {
        let dropped = optional::drop_refused(&self.place, error, &mut self.body.frame).is_some();
        if dropped {
            self.write();
        }
        dropped
    }

    /// Puts the key in force into the headers, a fresh one when the last one was `refused`. False
    /// when the key is one that never changes.
    fn sign(&mut self, provider: &Provider, refused: bool) -> Result<bool, ModelError> {
        let Some(renewal) = &provider.renewal else {
            return Ok(false);
        };
        renewal
            .apply(&mut self.order.headers, refused)
            .map_err(|message| ModelError::NoKey { message })?;
        Ok(true)
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        self.wire.decoder(self.request.tools)
    }

    /// One try, from connecting to the last frame.
    fn attempt(&self, cancel: &Cancel, listener: &mut Listener) -> Result<Reply, Lost> {
        let started = Instant::now();
        listener.first_token = None;
        listener.pieces = 0;
        let mut stage = Stage::Asked;
        let mut reply = self
            .receive(cancel, listener, &mut stage)
            .map_err(|error| Lost {
                error: error.locate(&self.url, self.request.model),
                stage,
            })?;
        let first = listener.first_token.map(|at| at.duration_since(started));
        reply.timing.first_token = first;
        reply.timing.total = started.elapsed();
        reply.timing.pieces = listener.pieces;
        Ok(reply)
    }

    fn receive(
        &self,
        cancel: &Cancel,
        listener: &mut Listener,
        stage: &mut Stage,
    ) -> Result<Reply, ModelError> {
        if cancel.is_cancelled() {
            return Err(ModelError::Interrupted);
        }
        let mut decoder = self.decoder();
        let mut order = self.order.clone();
        let mut followed = 0;
        let (exchange, head) = loop {
            let exchange = Exchange::start(order.clone()).map_err(unreachable)?;
            let head = match self.hear(&exchange, cancel, listener)? {
                None => return Ok(decoder.cut()),
                Some(Message::Head(head)) => head,
                Some(Message::Failed(failure)) => return Err(not_reached(failure, stage)),
                Some(Message::Bytes(_) | Message::End) => {
                    return Err(ModelError::broken("an answer without a head"));
                }
            };
            match redirect(&order.url, &head, true)? {
                None => break (exchange, head),
                Some(_) if followed == REDIRECTS => {
                    return Err(ModelError::broken("it redirects in a circle"));
                }
                Some(url) => (order.url, followed) = (url, followed + 1),
            }
        };
        if let Some(how) = &head.packed {
            *stage = Stage::Never;
            return Err(packed(how));
        }
        if !(200..300).contains(&head.status) {
            let until = Instant::now() + ERROR_LIMIT;
            match head.should_retry {
                Some(true) => *stage = Stage::Urged,
                Some(false) => *stage = Stage::Never,
                None => {}
            }
            let body = side::drain(&exchange, cancel, MAX_ERROR, until)?.bytes;
            return Err(side::refusal(&self.url, &head, &body, self.request.model));
        }
        *stage = Stage::Streaming;
        let mut frames = Frames::new(self.wire.framing());
        let mut ready = Vec::new();
        let mut size = 0;
        let end = loop {
            match self.hear(&exchange, cancel, listener)? {
                None => return Ok(decoder.cut()),
                Some(Message::Bytes(bytes)) => {
                    size += bytes.len();
                    if size > MAX_REPLY || frames.push(&bytes, &mut ready).is_err() {
                        *stage = Stage::Never;
                        return Err(ModelError::broken("it is longer than any reply may be"));
                    }
                    if feed(decoder.as_mut(), &mut ready, listener)? == Flow::Cut {
                        return Ok(decoder.cut());
                    }
                    if decoder.is_done() {
                        // Leaves the server time to end its answer in good order.
                        let until = Instant::now() + FAREWELL;
                        side::drain(&exchange, cancel, MAX_ERROR, until).ok();
                        return decoder.finish();
                    }
                }
                Some(Message::Failed(failure)) => break Some(failure.why()),
                Some(Message::End | Message::Head(_)) => break None,
            }
        };
        if frames.end(&mut ready).is_err() {
            *stage = Stage::Never;
            return Err(ModelError::broken("it is longer than any reply may be"));
        }
        match feed(decoder.as_mut(), &mut ready, listener) {
            Ok(Flow::Go) => {}
            Ok(Flow::Cut) => return Ok(decoder.cut()),
            // The last line of a connection that broke may be half a line: the break is the cause.
            Err(ModelError::Broken { .. }) if end.is_some() => {}
            Err(error) => return Err(error),
        }
        decoder.finish().map_err(|error| match (error, end) {
            (ModelError::Broken { url, why }, Some(cause)) => ModelError::Broken {
                url,
                why: format!("{why} ({cause})"),
            },
            (error, _) => error,
        })
    }

    /// The next message; `None` when the listener wants no more.
    fn hear(
        &self,
        exchange: &Exchange,
        cancel: &Cancel,
        listener: &mut Listener,
    ) -> Result<Option<Message>, ModelError> {
        let since = Instant::now();
        loop {
            let message = exchange.next(POLL);
            // First: what a cancelled connection says about its end is no answer.
            if cancel.is_cancelled() {
                return Err(ModelError::Interrupted);
            }
            if message.is_some() {
                return Ok(message);
            }
            if let Some(limit) = self.idle.filter(|limit| since.elapsed() >= *limit) {
                let url = self.url.clone();
                return Err(ModelError::Idle { url, limit });
            }
            if listener.tick() == Flow::Cut {
                return Ok(None);
            }
        }
    }
}

/// Decodes the frames that are ready and tells the listener what they brought.
fn feed(
    decoder: &mut dyn Decoder,
    ready: &mut Vec<Frame>,
    listener: &mut Listener,
) -> Result<Flow, ModelError> {
    let mut deltas = Vec::new();
    for frame in ready.drain(..) {
        if frame.data.starts_with('<') {
            return Err(classify("", 200, &frame.data, None, ""));
        }
        let fed = decoder.feed(&frame, &mut deltas);
        for delta in deltas.drain(..) {
            if listener.tell(delta) == Flow::Cut {
                return Ok(Flow::Cut);
            }
        }
        fed?;
        if decoder.is_done() {
            break;
        }
    }
    Ok(Flow::Go)
}

/// Whoever reads the stream, and when it last heard something.
struct Listener<'a> {
    on: &'a mut dyn FnMut(Delta) -> Flow,
    /// When something was last worth telling.
    heard: Instant,
    /// When it was last told that nothing comes.
    told: Instant,
    first_token: Option<Instant>,
    pieces: u32,
}

impl<'a> Listener<'a> {
    fn new(on: &'a mut dyn FnMut(Delta) -> Flow) -> Self {
        let now = Instant::now();
        Listener {
            on,
            heard: now,
            told: now,
            first_token: None,
            pieces: 0,
        }
    }

    fn tell(&mut self, delta: Delta) -> Flow {
        let now = Instant::now();
        match delta {
            // The silence goes on over a retry.
            Delta::Retry { .. } | Delta::Waiting(_) => {}
            Delta::Progress { .. } => (self.heard, self.told) = (now, now),
            _ => {
                (self.heard, self.told) = (now, now);
                self.first_token.get_or_insert(now);
                self.pieces = self.pieces.saturating_add(1);
            }
        }
        (self.on)(delta)
    }

    /// Says about every ten seconds that nothing comes.
    fn tick(&mut self) -> Flow {
        if self.told.elapsed() < SAY_WAITING {
            return Flow::Go;
        }
        self.told = Instant::now();
        self.tell(Delta::Waiting(self.heard.elapsed()))
    }
}

/// An answer that is packed although we said that we take none.
fn packed(how: &str) -> ModelError {
    ModelError::broken(format!(
        "it is packed with {} although nothing packed was asked for; switch compression off in the server, or in the proxy before it",
        classify::one_line(how)
    ))
}

fn unreachable(why: String) -> ModelError {
    ModelError::Unreachable {
        url: String::new(),
        why,
    }
}

/// The error of a try that got no answer, and how far it came.
fn not_reached(failure: Failure, stage: &mut Stage) -> ModelError {
    *stage = match failure {
        Failure::Refused(_) => Stage::Refused,
        Failure::Never(_) | Failure::Tls(_) => Stage::Never,
        Failure::Connect(_) | Failure::Broke(_) => Stage::Asked,
    };
    match failure {
        Failure::Broke(why) => ModelError::broken(why),
        Failure::Tls(why) => ModelError::Tls {
            url: String::new(),
            why,
        },
        other => unreachable(other.why()),
    }
}

/// The most redirects that one request follows.
const REDIRECTS: u32 = 3;

/// Where a redirect leads, if the answer is one. It is followed only within the same scheme, host
/// and port, and only as it was sent: elsewhere it would carry the key and the prompt to a host that
/// nobody named.
///
/// # Errors
/// A redirect to anywhere else, as a sentence that names it.
fn redirect(url: &str, head: &Head, has_body: bool) -> Result<Option<String>, ModelError> {
    if !(300..400).contains(&head.status) {
        return Ok(None);
    }
    let location = head.location.as_deref().unwrap_or("another address");
    let keeps = match has_body {
        true => matches!(head.status, 307 | 308),
        false => matches!(head.status, 301 | 302 | 307 | 308),
    };
    if let Some(next) = address::within_origin(url, location).filter(|_| keeps) {
        return Ok(Some(next));
    }
    Err(ModelError::Status {
        url: shown(url),
        status: head.status,
        message: format!(
            "it redirects to {}; set base_url to the address that is meant",
            classify::one_line(&shown(location))
        ),
        retry_after: None,
    })
}
