//! Small side requests: probes, model lists, token counts.

use super::super::ModelError;
use super::classify::classify;
use super::exchange::{Exchange, Failure, Head, Message, Order};
use super::{POLL, redirect, shown};
use crate::cancel::Cancel;
use serde_json::Value;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The most bytes of an answer.
const MAX_BODY: usize = 16 << 20;

/// Asks `url` for JSON and gives it back; tried once.
///
/// `limit` is for everything together, from the look-up to the last byte.
///
/// # Errors
/// [`ModelError::Unreachable`] when there is no whole answer in time, the error that the answer
/// means (also with status 200), or [`ModelError::Interrupted`].
pub fn get_json(
    url: &str,
    headers: &[(String, String)],
    limit: Duration,
    cancel: &Cancel,
) -> Result<Value, ModelError> {
    ask(url, headers.to_vec(), None, limit, cancel)
}

/// Like [`get_json`], with a body.
///
/// # Errors
/// The same.
pub fn post_json(
    url: &str,
    headers: &[(String, String)],
    body: &Value,
    limit: Duration,
    cancel: &Cancel,
) -> Result<Value, ModelError> {
    let mut headers = headers.to_vec();
    headers.push(("content-type".to_owned(), "application/json".to_owned()));
    let body = Arc::from(body.to_string().into_bytes());
    ask(url, headers, Some(body), limit, cancel)
}

fn ask(
    url: &str,
    headers: Vec<(String, String)>,
    body: Option<Arc<[u8]>>,
    limit: Duration,
    cancel: &Cancel,
) -> Result<Value, ModelError> {
    let shown = shown(url);
    let failed = |why: String| ModelError::Unreachable {
        url: shown.clone(),
        why,
    };
    let until = Instant::now() + limit;
    let order = Order {
        url: url.to_owned(),
        headers,
        body,
        local: false,
        limit: Some(limit),
    };
    let exchange = Exchange::start(order).map_err(|e| failed(e.to_string()))?;
    let head = match next(&exchange, cancel, until)? {
        Some(Message::Head(head)) => head,
        Some(Message::Failed(failure)) => return Err(failed(failure.why())),
        _ => return Err(failed(format!("no answer within {} ms", limit.as_millis()))),
    };
    if let Some(error) = redirect(&shown, &head) {
        return Err(error);
    }
    let body = drain(&exchange, cancel, MAX_BODY, until)?;
    if !(200..300).contains(&head.status) {
        return Err(refusal(&shown, &head, &body.bytes, ""));
    }
    if let Some(why) = body.lost {
        return Err(failed(why));
    }
    match serde_json::from_slice::<Value>(&body.bytes) {
        Ok(value) if value.get("error").is_none_or(Value::is_null) => Ok(value),
        _ => Err(refusal(&shown, &head, &body.bytes, "")),
    }
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
fn next(
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
            | Failure::Broke(why) => why,
        }
    }
}
