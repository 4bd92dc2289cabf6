//! Keys and headers of a provider.

use super::{Builtin, ProviderError, is_local};
use crate::config::{AuthCommand, ProviderEntry};
use crate::model::WireApi;
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};
use ureq::http::{HeaderName, HeaderValue, Uri};

/// The longest output of an auth command that is read, in bytes. Tokens are a few kilobytes.
const MAX_TOKEN: u64 = 64 * 1024;

/// The longest that an auth command may take, whatever the config says.
const LONGEST: Duration = Duration::from_secs(600);

/// All headers of a provider: the key first, then those of the config.
pub(super) fn headers(
    id: &str,
    entry: &ProviderEntry,
    builtin: Option<&Builtin>,
    base_url: &str,
    wire: WireApi,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<(String, String)>, ProviderError> {
    let env = |name: &str| {
        env(name)
            .map(|v| v.trim().to_string())
            .filter(|v| !v.is_empty())
    };
    let mut configured: Vec<(String, String)> = entry.http_headers.clone().into_iter().collect();
    for (header, variable) in &entry.env_http_headers {
        configured.extend(env(variable).map(|value| (header.clone(), value)));
    }
    // A credential that the user put among the headers stands in for the key.
    let has_credential = configured.iter().any(|(name, _)| {
        name.eq_ignore_ascii_case("authorization") || name.eq_ignore_ascii_case("x-api-key")
    });
    let key = if has_credential {
        None
    } else {
        key(id, entry, builtin, base_url, &env)?
    };
    let mut headers = Vec::new();
    if let Some(key) = key {
        headers.push(if wire == WireApi::Messages && is_anthropic(base_url) {
            ("x-api-key".to_string(), key)
        } else {
            ("Authorization".to_string(), format!("Bearer {key}"))
        });
    }
    headers.extend(configured);
    match headers.iter().find(|(n, v)| !is_valid(n, v)) {
        Some((header, _)) => Err(ProviderError::BadHeader {
            id: id.into(),
            header: header.clone(),
        }),
        None => Ok(headers),
    }
}

fn is_anthropic(base_url: &str) -> bool {
    base_url.parse::<Uri>().is_ok_and(|uri| {
        uri.host()
            .is_some_and(|h| h == "anthropic.com" || h.ends_with(".anthropic.com"))
    })
}

fn is_valid(name: &str, value: &str) -> bool {
    HeaderName::from_bytes(name.as_bytes()).is_ok() && HeaderValue::from_str(value).is_ok()
}

/// The key: from the auth command, the configured variable, the config itself, or the built-in
/// variables. A built-in provider that was moved to a local address goes without.
fn key(
    id: &str,
    entry: &ProviderEntry,
    builtin: Option<&Builtin>,
    base_url: &str,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<String>, ProviderError> {
    if let Some(auth) = &entry.auth {
        return token(auth)
            .map(Some)
            .map_err(|why| ProviderError::Auth { id: id.into(), why });
    }
    let inline = entry.experimental_bearer_token.clone();
    let inline = inline.filter(|token| !token.trim().is_empty());
    let missing = |variable: &str, help: &str| ProviderError::MissingKey {
        id: id.into(),
        variable: variable.into(),
        help: help.into(),
    };
    if let Some(variable) = entry.env_key.as_deref().filter(|v| !v.is_empty()) {
        let help = entry.env_key_instructions.as_deref();
        return match env(variable).or(inline) {
            Some(key) => Ok(Some(key)),
            None => Err(missing(variable, help.unwrap_or_default())),
        };
    }
    let builtin_key = || {
        let names = builtin.map_or(&[][..], |b| b.env_keys);
        names.iter().find_map(|name| env(name))
    };
    match (inline.or_else(builtin_key), builtin) {
        (Some(key), _) => Ok(Some(key)),
        (None, Some(b)) if !is_local(base_url) => match b.env_keys.first() {
            Some(variable) => Err(missing(variable, b.key_help)),
            None => Ok(None),
        },
        (None, _) => Ok(None),
    }
}

/// Runs the command that prints a key.
fn token(auth: &AuthCommand) -> Result<String, String> {
    let limit = Duration::from_millis(auth.timeout_ms.unwrap_or(5_000)).min(LONGEST);
    let mut command = Command::new(&auth.command);
    command.args(&auth.args);
    if let Some(cwd) = &auth.cwd {
        command.current_dir(cwd);
    }
    let text = output(command, limit)?;
    match text.trim() {
        "" => Err("it printed nothing".into()),
        key => Ok(key.to_string()),
    }
}

/// What a short helper program prints, at most [`MAX_TOKEN`] bytes and for at most `limit`.
pub(in crate::model) fn output(mut command: Command, limit: Duration) -> Result<String, String> {
    let deadline = Instant::now() + limit;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| e.to_string())?;
    let Some(stdout) = child.stdout.take() else {
        return Err("its output cannot be read".into());
    };
    let (send, receive) = mpsc::channel();
    // A descendant may keep the pipe open for ever, so the reader is left behind at the limit.
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = stdout.take(MAX_TOKEN).read_to_end(&mut bytes);
        let _ = send.send(read.map(|_| bytes));
    });
    let too_slow = || format!("it took longer than {} ms", limit.as_millis());
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < deadline => thread::sleep(Duration::from_millis(5)),
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(too_slow());
            }
            Err(e) => return Err(e.to_string()),
        }
    };
    let left = deadline.saturating_duration_since(Instant::now());
    let bytes = receive
        .recv_timeout(left)
        .map_err(|_| too_slow())?
        .map_err(|e| e.to_string())?;
    if !status.success() {
        return Err(format!("it failed with {status}"));
    }
    String::from_utf8(bytes).map_err(|_| "its output is not UTF-8".into())
}
