//! Small side requests to a server, behind a trait so that tests answer from literal JSON.

use crate::cancel::Cancel;
use crate::model::http;
use crate::model::provider::{Provider, server_root, with_query};
use crate::model::{ModelError, WireApi};
use serde_json::Value;
use std::time::Duration;

/// How long a probe may take. A server on this machine or network that is up answers in less.
pub(super) const PROBE: Duration = Duration::from_millis(1500);
/// How long a list or a description may take.
pub(super) const QUERY: Duration = Duration::from_secs(20);
/// How long a server may load a model.
pub(super) const LOAD: Duration = Duration::from_secs(300);

/// A server that can be asked. Paths begin at its root, before `/v1`.
pub(super) trait Ask: Sync {
    fn get(&self, path: &str, limit: Duration) -> Result<Value, ModelError>;
    fn post(&self, path: &str, body: &Value, limit: Duration) -> Result<Value, ModelError>;
}

/// The server of a provider, asked over the network.
pub(super) struct Server<'a> {
    provider: &'a Provider,
    headers: Vec<(String, String)>,
    cancel: &'a Cancel,
}

impl<'a> Server<'a> {
    pub fn new(provider: &'a Provider, cancel: &'a Cancel) -> Self {
        let mut headers = provider.headers.clone();
        if provider.wire == WireApi::Messages {
            // This API answers no request, not even for its list, without its version header.
            let fixed = provider.wire.wire().headers();
            headers.extend(fixed.iter().map(|(n, v)| (n.to_string(), v.to_string())));
        }
        Server {
            provider,
            headers,
            cancel,
        }
    }

    fn url(&self, path: &str) -> String {
        let url = format!("{}{path}", server_root(&self.provider.base_url));
        with_query(&url, &self.provider.query)
    }
}

impl Ask for Server<'_> {
    fn get(&self, path: &str, limit: Duration) -> Result<Value, ModelError> {
        let ca_file = self.provider.ca_file.as_deref();
        http::get_json(&self.url(path), &self.headers, ca_file, limit, self.cancel)
    }

    fn post(&self, path: &str, body: &Value, limit: Duration) -> Result<Value, ModelError> {
        let ca_file = self.provider.ca_file.as_deref();
        let url = self.url(path);
        http::post_json(&url, &self.headers, body, ca_file, limit, self.cancel)
    }
}

/// True when an error means that the server does not know the path. LM Studio says so with status
/// 200 and an error in the body.
pub(super) fn is_absent(error: &ModelError) -> bool {
    matches!(
        error,
        ModelError::NoModel { .. }
            | ModelError::Status {
                status: 200 | 404 | 405 | 501,
                ..
            }
    )
}

/// A text at a JSON pointer, empty ones left out.
pub(super) fn text(value: &Value, pointer: &str) -> Option<String> {
    let text = value.pointer(pointer)?.as_str()?;
    (!text.is_empty()).then(|| text.to_string())
}

/// A positive number of tokens at a JSON pointer.
pub(super) fn tokens(value: &Value, pointer: &str) -> Option<u32> {
    let n = value.pointer(pointer)?.as_u64().filter(|n| *n > 0)?;
    Some(u32::try_from(n).unwrap_or(u32::MAX))
}

/// The entries of a list at a JSON pointer.
pub(super) fn entries<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value
        .pointer(pointer)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// Whether a list of words at a JSON pointer holds `word`; `None` when there is no list.
pub(super) fn lists(value: &Value, pointer: &str, word: &str) -> Option<bool> {
    let list = value.pointer(pointer)?.as_array()?;
    Some(list.iter().any(|w| w.as_str() == Some(word)))
}
