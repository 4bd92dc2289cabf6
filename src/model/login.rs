//! Signing in with a code on another device (RFC 8628), and renewing what it gave (RFC 6749).
//!
//! A provider names the addresses in `[model_providers.ID.oauth]`. Nothing is shown or opened
//! here: the caller gets the code and the address and shows them.

use super::ModelError;
use super::http::{self, Answer};
use super::provider::is_loopback;
use crate::cancel::Cancel;
use crate::config::DeviceLogin;
use crate::store::auth::Tokens;
use serde_json::{Map, Value};
use std::fmt;
use std::time::{Duration, Instant};

/// How long one request may take.
const REQUEST: Duration = Duration::from_secs(20);
/// How often is asked where the server does not say.
const INTERVAL: u64 = 5;
/// What `slow_down` adds, for good.
const SLOWER: Duration = Duration::from_secs(5);
/// The longest life of a code, whatever the server says.
const LONGEST: u64 = 3600;
/// How often a wait looks at the stop flag.
const POLL: Duration = Duration::from_millis(40);
/// Tries of a renewal that fails for a reason that may pass.
const TRIES: u32 = 3;

const DEVICE_GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// Why there are no tokens, as a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoginError {
    /// The config does not say enough, or something unsafe.
    Config(String),
    /// The server was not reached.
    Server(String),
    /// The person said no.
    Denied,
    /// The code ran out.
    Expired,
    /// The server refuses, for this reason.
    Refused(String),
    /// The refresh token is no longer good.
    Ended,
    /// The user stopped it.
    Interrupted,
}

impl fmt::Display for LoginError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoginError::Config(why) | LoginError::Server(why) => f.write_str(why),
            LoginError::Denied => f.write_str("the sign-in was denied on the other side"),
            LoginError::Expired => {
                f.write_str("the code ran out before anybody used it; begin again")
            }
            LoginError::Refused(why) => write!(f, "the server refuses the sign-in: {why}"),
            LoginError::Ended => f.write_str("the sign-in has ended; log in again"),
            LoginError::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for LoginError {}

/// What a person needs to agree, and what is asked with in the meantime.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    /// To be typed in.
    pub user_code: String,
    /// Where; an http or https address.
    pub uri: String,
    /// The same with the code in it.
    pub uri_complete: Option<String>,
    device_code: String,
    interval: Duration,
    life: Duration,
}

/// Asks for a code.
///
/// # Errors
/// When the addresses are unsafe, or the server is not reached or refuses.
pub fn begin(login: &DeviceLogin, cancel: &Cancel) -> Result<Code, LoginError> {
    safe("device_authorization_url", &login.device_authorization_url)?;
    safe("token_url", &login.token_url)?;
    let mut fields = vec![("client_id", login.client_id.as_str())];
    if let Some(scope) = login.scope.as_deref().filter(|s| !s.is_empty()) {
        fields.push(("scope", scope));
    }
    let answer = post(&login.device_authorization_url, &fields, cancel)?;
    if let Some(error) = error_of(&answer.fields) {
        return Err(LoginError::Refused(error));
    }
    let text = |key: &str| text(&answer.fields, key);
    let missing = || unexpected(&login.device_authorization_url, answer.status);
    let uri = text("verification_uri").or_else(|| text("verification_url"));
    let uri = uri.filter(|u| is_web(u)).ok_or_else(missing)?;
    let seconds = |key: &str, or: u64| number(&answer.fields, key).unwrap_or(or);
    Ok(Code {
        user_code: text("user_code").ok_or_else(missing)?,
        uri,
        uri_complete: text("verification_uri_complete").filter(|u| is_web(u)),
        device_code: text("device_code").ok_or_else(missing)?,
        interval: Duration::from_secs(seconds("interval", INTERVAL).min(LONGEST)),
        life: Duration::from_secs(seconds("expires_in", LONGEST).min(LONGEST)),
    })
}

/// Waits until a person has agreed, and gives the tokens.
///
/// # Errors
/// When the person says no, the code runs out, the server refuses, or the user stops it.
pub fn wait(login: &DeviceLogin, code: &Code, cancel: &Cancel) -> Result<Tokens, LoginError> {
    let until = Instant::now() + code.life;
    let mut interval = code.interval;
    let fields = [
        ("grant_type", DEVICE_GRANT),
        ("device_code", code.device_code.as_str()),
        ("client_id", login.client_id.as_str()),
    ];
    loop {
        pause(interval, until, cancel)?;
        let answer = match post(&login.token_url, &fields, cancel) {
            Ok(answer) => answer,
            // The network may come back before the code runs out.
            Err(LoginError::Server(_)) => {
                interval = (interval * 2).min(Duration::from_secs(60));
                continue;
            }
            Err(error) => return Err(error),
        };
        match text(&answer.fields, "error").as_deref() {
            None => return tokens(&login.token_url, &login.client_id, None, &answer),
            Some("authorization_pending") => {}
            Some("slow_down") => interval += SLOWER,
            Some("access_denied") => return Err(LoginError::Denied),
            Some("expired_token") => return Err(LoginError::Expired),
            Some(_) if answer.status >= 500 || answer.status == 429 => interval += SLOWER,
            Some(_) => {
                let why = error_of(&answer.fields).unwrap_or_default();
                return Err(LoginError::Refused(why));
            }
        }
    }
}

/// New tokens for old ones.
///
/// # Errors
/// [`LoginError::Ended`] when the server takes the refresh token no longer, or there is none.
pub fn renew(old: &Tokens, cancel: &Cancel) -> Result<Tokens, LoginError> {
    let refresh = old.refresh_token.as_deref().ok_or(LoginError::Ended)?;
    safe("token_url", &old.token_url)?;
    let fields = [
        ("grant_type", "refresh_token"),
        ("refresh_token", refresh),
        ("client_id", old.client_id.as_str()),
    ];
    let mut tried = 0;
    loop {
        tried += 1;
        let failed = match post(&old.token_url, &fields, cancel) {
            Ok(answer) if answer.status >= 500 || answer.status == 429 => {
                unexpected(&old.token_url, answer.status)
            }
            Ok(answer) => {
                return match (text(&answer.fields, "error").as_deref(), answer.status) {
                    (Some("invalid_grant"), _) | (_, 401 | 403) => Err(LoginError::Ended),
                    (Some(_), _) => Err(LoginError::Refused(
                        error_of(&answer.fields).unwrap_or_default(),
                    )),
                    (None, _) => tokens(&old.token_url, &old.client_id, Some(refresh), &answer),
                };
            }
            Err(error @ LoginError::Server(_)) => error,
            Err(error) => return Err(error),
        };
        if tried >= TRIES {
            return Err(failed);
        }
        let wait = Duration::from_millis(500) * tried;
        pause(wait, Instant::now() + wait * 2, cancel)?;
    }
}

/// Seconds since 1970.
pub fn now() -> i64 {
    jiff::Timestamp::now().as_second()
}

/// Tokens go over TLS, or stay on this machine.
fn safe(key: &str, url: &str) -> Result<(), LoginError> {
    if url.starts_with("https://") || (url.starts_with("http://") && is_loopback(url)) {
        return Ok(());
    }
    Err(LoginError::Config(format!(
        "oauth.{key} of the provider must be an https address, not `{url}`"
    )))
}

fn is_web(url: &str) -> bool {
    let web = url.starts_with("https://") || url.starts_with("http://");
    web && !url.chars().any(|c| c.is_whitespace() || c.is_control())
}

/// Waits `time`, but not beyond `until`, which is the end of the code.
fn pause(time: Duration, until: Instant, cancel: &Cancel) -> Result<(), LoginError> {
    let end = Instant::now() + time;
    loop {
        if cancel.is_cancelled() {
            return Err(LoginError::Interrupted);
        }
        let now = Instant::now();
        if now >= until {
            return Err(LoginError::Expired);
        }
        if now >= end {
            return Ok(());
        }
        std::thread::sleep(POLL.min(end - now));
    }
}

/// An answer of an authorisation server.
struct Told {
    status: u16,
    fields: Map<String, Value>,
}

/// Posts a form. GitHub answers with a form again unless JSON is asked for.
fn post(url: &str, fields: &[(&str, &str)], cancel: &Cancel) -> Result<Told, LoginError> {
    let Answer { status, body } =
        http::post_form(url, fields, REQUEST, cancel).map_err(|error| match error {
            ModelError::Interrupted => LoginError::Interrupted,
            error => LoginError::Server(error.to_string()),
        })?;
    match serde_json::from_str(&body) {
        Ok(Value::Object(fields)) => Ok(Told { status, fields }),
        // A gateway in front of the server has its own pages.
        _ => Err(unexpected(url, status)),
    }
}

fn unexpected(url: &str, status: u16) -> LoginError {
    LoginError::Server(format!(
        "{url} answered {status} and no sign-in; check the addresses under oauth of the provider"
    ))
}

fn text(fields: &Map<String, Value>, key: &str) -> Option<String> {
    let text = fields.get(key)?.as_str()?;
    (!text.is_empty()).then(|| text.to_owned())
}

/// A number, which some servers write as a text.
fn number(fields: &Map<String, Value>, key: &str) -> Option<u64> {
    let value = fields.get(key)?;
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// The server's error in one line.
fn error_of(fields: &Map<String, Value>) -> Option<String> {
    let name = text(fields, "error")?;
    let line = match text(fields, "error_description") {
        Some(more) => format!("{more} ({name})"),
        None => name,
    };
    Some(http::one_line(&line))
}

fn tokens(
    token_url: &str,
    client_id: &str,
    refresh: Option<&str>,
    answer: &Told,
) -> Result<Tokens, LoginError> {
    let access = text(&answer.fields, "access_token");
    let now = now();
    let life = number(&answer.fields, "expires_in").and_then(|s| i64::try_from(s).ok());
    Ok(Tokens {
        access_token: access.ok_or_else(|| unexpected(token_url, answer.status))?,
        refresh_token: text(&answer.fields, "refresh_token").or(refresh.map(str::to_owned)),
        issued_at: now,
        expires_at: life.map(|life| now.saturating_add(life)),
        token_url: token_url.to_owned(),
        client_id: client_id.to_owned(),
    })
}
