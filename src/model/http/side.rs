//! Small side requests: probes, model lists, token counts.

use super::super::ModelError;
use super::address::shown;
use super::classify::classify;
use super::exchange::{Exchange, Failure, Head, Message, Order};
use super::{POLL, REDIRECTS, packed, redirect};
use crate::cancel::Cancel;
use crate::model::provider::percent_encoded;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The most bytes of an answer.
const MAX_BODY: usize = 16 << 20;

/// Asks `url` for JSON and gives it back; tried once.
///
/// `ca_file` holds the authorities to trust in place of the usual ones. `limit` is for everything
/// together, from the look-up to the last byte.
///
/// # Errors
/// [`ModelError::Unreachable`] when there is no whole answer in time, the error that the answer
/// means (also with status 200), or [`ModelError::Interrupted`].
pub fn get_json(
    url: &str,
    headers: &[(String, String)],
    ca_file: Option<&Path>,
    limit: Duration,
    cancel: &Cancel,
) -> Result<Value, ModelError> {
    ask(url, headers.to_vec(), None, ca_file, limit, cancel)
}

/// Like [`get_json`], with a body.
///
/// # Errors
/// The same.
pub fn post_json(
    url: &str,
    headers: &[(String, String)],
    body: &Value,
    ca_file: Option<&Path>,
    limit: Duration,
    cancel: &Cancel,
) -> Result<Value, ModelError> {
    let mut headers = headers.to_vec();
    headers.push(("content-type".to_owned(), "application/json".to_owned()));
    let body = Arc::from(body.to_string().into_bytes());
    ask(url, headers, Some(body), ca_file, limit, cancel)
}

/// An answer as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The body; what is not UTF-8 in it is replaced.
    pub body: String,
}

/// Posts a form and gives the answer back whatever its status; tried once.
///
/// # Errors
/// [`ModelError::Unreachable`] when there is no whole answer in time, a redirect, or
/// [`ModelError::Interrupted`].
pub fn post_form(
    url: &str,
    fields: &[(&str, &str)],
    limit: Duration,
    cancel: &Cancel,
) -> Result<Answer, ModelError> {
    let headers = [
        ("content-type", "application/x-www-form-urlencoded"),
        ("accept", "application/json"),
    ];
    let headers = headers.map(|(n, v)| (n.to_owned(), v.to_owned())).to_vec();
    let pairs = fields.iter().map(|(name, value)| {
        let value = percent_encoded(value);
        format!("{}={value}", percent_encoded(name))
    });
    let body = pairs.collect::<Vec<_>>().join("&").into_bytes();
    let (head, bytes) = exchange(url, headers, Some(Arc::from(body)), None, limit, cancel)?;
    Ok(Answer {
        status: head.status,
        body: String::from_utf8_lossy(&bytes).into_owned(),
    })
}

fn ask(
    url: &str,
    headers: Vec<(String, String)>,
    body: Option<Arc<[u8]>>,
    ca_file: Option<&Path>,
    limit: Duration,
    cancel: &Cancel,
) -> Result<Value, ModelError> {
    let (head, bytes) = exchange(url, headers, body, ca_file, limit, cancel)?;
    let refused = || refusal(&shown(url), &head, &bytes, "");
    if !(200..300).contains(&head.status) {
        return Err(refused());
    }
    match serde_json::from_slice::<Value>(&bytes) {
        Ok(value) if value.get("error").is_none_or(Value::is_null) => Ok(value),
        _ => Err(refused()),
    }
}

/// One request and its whole answer. The body of an error may be cut short.
fn exchange(
    url: &str,
    headers: Vec<(String, String)>,
    body: Option<Arc<[u8]>>,
    ca_file: Option<&Path>,
    limit: Duration,
    cancel: &Cancel,
) -> Result<(Head, Vec<u8>), ModelError> {
    let shown = shown(url);
    let failed = |why: String| ModelError::Unreachable {
        url: shown.clone(),
        why,
    };
    let until = Instant::now() + limit;
    let mut order = Order {
        url: url.to_owned(),
        headers,
        body,
        local: false,
        ca_file: ca_file.map(Path::to_owned),
        limit: Some(limit),
        far: false,
    };
    for _ in 0..=REDIRECTS {
        let exchange = Exchange::start(order.clone()).map_err(failed)?;
        let head = match next(&exchange, cancel, until)? {
            Some(Message::Head(head)) => head,
            Some(Message::Failed(Failure::Tls(why))) => {
                return Err(ModelError::Tls { url: shown, why });
            }
            Some(Message::Failed(failure)) => return Err(failed(failure.why())),
            _ => return Err(failed(format!("no answer within {} ms", limit.as_millis()))),
        };
        if let Some(url) = redirect(&order.url, &head, order.body.is_some())? {
            order.url = url;
            continue;
        }
        if let Some(how) = &head.packed {
            return Err(packed(how).locate(&shown, ""));
        }
        let body = drain(&exchange, cancel, MAX_BODY, until)?;
        return match body.lost {
            Some(why) if (200..300).contains(&head.status) => Err(failed(why)),
            _ => Ok((head, body.bytes)),
        };
    }
    Err(failed("it redirects in a circle".into()))
}

/// The error that an answer means.
pub(super) fn refusal(url: &str, head: &Head, body: &[u8], model: &str) -> ModelError {
    let body = String::from_utf8_lossy(body);
    classify(url, head.status, &body, head.retry_after, model)
}

/// A body, as far as it came.
#[derive(Debug, Default)]
pub(super) struct Drained {
    pub bytes: Vec<u8>,
    /// Why it is not whole.
    pub lost: Option<String>,
}

/// Reads a whole body, at most `max` bytes and not beyond `until`.
///
/// # Errors
/// Only [`ModelError::Interrupted`]; otherwise what came is given back.
pub(super) fn drain(
    exchange: &Exchange,
    cancel: &Cancel,
    max: usize,
    until: Instant,
) -> Result<Drained, ModelError> {
    let mut body = Drained::default();
    while body.lost.is_none() {
        match next(exchange, cancel, until)? {
            Some(Message::Bytes(bytes)) if body.bytes.len() + bytes.len() <= max => {
                body.bytes.extend_from_slice(&bytes);
            }
            Some(Message::Bytes(_)) => {
                body.lost = Some(format!("the answer is larger than {max} bytes"))
            }
            Some(Message::Failed(failure)) => body.lost = Some(failure.why()),
            Some(Message::Head(_) | Message::End) => break,
            None => body.lost = Some("the answer has no end".to_owned()),
        }
    }
    Ok(body)
}

/// The next message, or `None` once `until` is over.
pub(super) fn next(
    exchange: &Exchange,
    cancel: &Cancel,
    until: Instant,
) -> Result<Option<Message>, ModelError> {
    loop {
        if cancel.is_cancelled() {
            return Err(ModelError::Interrupted);
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        if let Some(message) = exchange.next(left.min(POLL)) {
            return Ok(Some(message));
        }
    }
}

impl Failure {
    /// The reason in words.
    pub(super) fn why(self) -> String {
        match self {
            Failure::Refused(why)
            | Failure::Connect(why)
            | Failure::Never(why)
            | Failure::Tls(why)
            | Failure::Broke(why) => why,
        }
    }
}
