//! Keys and headers of a provider.

use super::{Known, ProviderError, is_local};
use crate::cancel::Cancel;
use crate::config::{AuthCommand, ProviderEntry};
use crate::model::WireApi;
use crate::model::login::{self, LoginError};
use crate::store::auth::{AuthFile, Credential};
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};
use ureq::http::{HeaderName, HeaderValue, Uri};

/// The longest output of an auth command that is read, in bytes. Tokens are a few kilobytes.
const MAX_TOKEN: u64 = 64 * 1024;

/// The longest that an auth command may take, whatever the config says.
const LONGEST: Duration = Duration::from_secs(600);

/// The variable in which an SDK of Codex names itself; servers see it as the client.
const ORIGINATOR: &str = "CODEX_INTERNAL_ORIGINATOR_OVERRIDE";

/// What decides how requests are signed.
pub(super) struct Signing<'a> {
    pub id: &'a str,
    pub entry: &'a ProviderEntry,
    pub known: Option<&'a Known>,
    pub base_url: &'a str,
    pub wire: WireApi,
    pub home: Option<&'a Path>,
    pub env: &'a dyn Fn(&str) -> Option<String>,
}

/// The headers of a provider, and how the key among them is had again.
type Signed = (Vec<(String, String)>, Option<Renewal>);

/// A key, and how it is had again.
struct Key {
    text: String,
    source: Option<Source>,
}

/// Where a key that grows old comes from.
#[derive(Debug, Clone)]
enum Source {
    Command(AuthCommand),
    Tokens(PathBuf),
}

impl Signing<'_> {
    fn env(&self, name: &str) -> Option<String> {
        let value = (self.env)(name)?.trim().to_string();
        (!value.is_empty()).then_some(value)
    }

    /// Who asks, where an SDK of Codex says so and the config does not.
    fn originator(&self, configured: &[(String, String)]) -> Vec<(String, String)> {
        let Some(name) = self.env(ORIGINATOR) else {
            return Vec::new();
        };
        let own = |wanted: &str| {
            let mut names = configured.iter().map(|(n, _)| n);
            names.any(|n| n.eq_ignore_ascii_case(wanted))
        };
        let agent = format!("{name}/{} interpreter", env!("CARGO_PKG_VERSION"));
        let told = [("originator", name), ("user-agent", agent)];
        let told = told.into_iter().filter(|(n, v)| is_valid(n, v) && !own(n));
        told.map(|(n, v)| (n.to_owned(), v)).collect()
    }

    /// All headers: the key first, then who asks, then those of the config.
    pub(super) fn headers(&self) -> Result<Signed, ProviderError> {
        let entry = self.entry;
        let mut configured: Vec<(String, String)> =
            entry.http_headers.clone().into_iter().collect();
        for (header, variable) in &entry.env_http_headers {
            configured.extend(self.env(variable).map(|value| (header.clone(), value)));
        }
        // A credential that the user put among the headers stands in for the key.
        let has_credential = configured.iter().any(|(name, _)| {
            ["authorization", "x-api-key", "api-key"]
                .iter()
                .any(|known| name.eq_ignore_ascii_case(known))
        });
        let key = match has_credential {
            true => None,
            false => self.key()?,
        };
        let mut headers = Vec::new();
        let mut renewal = None;
        if let Some(key) = key {
            let is_token = matches!(key.source, Some(Source::Tokens(_)));
            let scheme = Scheme::of(self.base_url, self.wire, is_token);
            headers.push(scheme.header(&key.text));
            renewal = key
                .source
                .map(|source| Renewal::new(self.id, source, scheme, key.text));
        }
        headers.extend(self.originator(&configured));
        headers.extend(configured);
        match headers.iter().find(|(n, v)| !is_valid(n, v)) {
            Some((header, _)) => Err(ProviderError::BadHeader {
                id: self.id.into(),
                header: header.clone(),
            }),
            None => Ok((headers, renewal)),
        }
    }

    /// The key: from the auth command, the configured variable, the config itself, the usual
    /// variables, or what `interpreter login` kept. A known provider that was moved to a local
    /// address goes without.
    fn key(&self) -> Result<Option<Key>, ProviderError> {
        let entry = self.entry;
        let fixed = |text: String| Key { text, source: None };
        if let Some(auth) = &entry.auth {
            let text = token(auth).map_err(|why| self.failed(why))?;
            let source = Some(Source::Command(auth.clone()));
            return Ok(Some(Key { text, source }));
        }
        let inline = entry.experimental_bearer_token.as_deref().map(str::trim);
        let inline = inline.filter(|token| !token.is_empty()).map(str::to_owned);
        let own = entry.env_key.as_deref().filter(|v| !v.is_empty());
        let usual = self.known.map_or(&[][..], Known::env_keys);
        let of_environment = match own {
            Some(variable) => self.env(variable),
            None if inline.is_some() => None,
            // The later names are of programs that start this one, and say more than the shell.
            None => usual.iter().rev().find_map(|name| self.env(name)),
        };
        if let Some(text) = of_environment.or(inline) {
            return Ok(Some(fixed(text)));
        }
        if let Some(key) = self.stored()? {
            return Ok(Some(key));
        }
        let missing = |variable: &str, help: String| {
            Err(ProviderError::MissingKey {
                id: self.id.into(),
                variable: variable.into(),
                help,
            })
        };
        let help = || self.known.map_or_else(String::new, Known::help);
        match (own, usual.first()) {
            (Some(variable), _) => {
                let own = entry.env_key_instructions.clone();
                missing(variable, own.unwrap_or_else(help))
            }
            (None, Some(variable)) if !is_local(self.base_url) => missing(variable, help()),
            _ if entry.oauth.is_some() => Err(ProviderError::NotLoggedIn { id: self.id.into() }),
            _ => Ok(None),
        }
    }

    /// What `interpreter login` kept, renewed where it is old.
    fn stored(&self) -> Result<Option<Key>, ProviderError> {
        let Some(home) = self.home else {
            return Ok(None);
        };
        let stored = AuthFile::of(home).get(self.id);
        match stored.map_err(|e| self.failed(e.to_string()))? {
            None => Ok(None),
            Some(Credential::ApiKey { key }) => Ok(Some(Key {
                text: key.trim().to_owned(),
                source: None,
            })),
            Some(Credential::Tokens(tokens)) => {
                let source = Source::Tokens(home.to_owned());
                let text = match tokens.is_old(login::now()) {
                    false => tokens.access_token,
                    true => source
                        .fetch(self.id, &tokens.access_token)
                        .map_err(|why| self.failed(why))?,
                };
                Ok(Some(Key {
                    text,
                    source: Some(source),
                }))
            }
        }
    }

    fn failed(&self, why: String) -> ProviderError {
        ProviderError::Auth {
            id: self.id.into(),
            why,
            command: self.entry.auth.is_some(),
        }
    }
}

impl Source {
    /// A fresh key. `old` is the one that is no longer good.
    fn fetch(&self, id: &str, old: &str) -> Result<String, String> {
        let home = match self {
            Source::Command(auth) => return token(auth),
            Source::Tokens(home) => home,
        };
        let file = AuthFile::of(home);
        let locked = file.lock().map_err(|e| e.to_string())?;
        let again = || format!("run `interpreter login {id}` again");
        let tokens = match file.get(id).map_err(|e| e.to_string())? {
            Some(Credential::Tokens(tokens)) => tokens,
            Some(Credential::ApiKey { key }) => return Ok(key),
            None => return Err(format!("it was logged out; {}", again())),
        };
        // Another process has renewed it already.
        if tokens.access_token != old && !tokens.is_old(login::now()) {
            return Ok(tokens.access_token);
        }
        let cancel = Cancel::new();
        let fresh = login::renew(&tokens, &cancel).map_err(|e| match e {
            LoginError::Ended => format!("its sign-in has ended; {}", again()),
            e => e.to_string(),
        })?;
        file.put_locked(&locked, id, &Credential::Tokens(fresh.clone()))
            .map_err(|e| e.to_string())?;
        Ok(fresh.access_token)
    }
}

/// How a key stands in a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scheme {
    Bearer,
    XApiKey,
    ApiKey,
}

impl Scheme {
    /// `x-api-key` at Anthropic, but for its tokens, and `api-key` at Azure; else a bearer token.
    fn of(base_url: &str, wire: WireApi, is_token: bool) -> Self {
        let is_at = |domain: &str| is_host_of(base_url, domain);
        match wire {
            WireApi::Messages if is_at("anthropic.com") && !is_token => Scheme::XApiKey,
            WireApi::Messages if is_at("services.ai.azure.com") => Scheme::XApiKey,
            _ if is_at("openai.azure.com") || is_at("cognitiveservices.azure.com") => {
                Scheme::ApiKey
            }
            _ => Scheme::Bearer,
        }
    }

    fn header(self, key: &str) -> (String, String) {
        let (name, value) = match self {
            Scheme::Bearer => ("Authorization", format!("Bearer {key}")),
            Scheme::XApiKey => ("x-api-key", key.to_owned()),
            Scheme::ApiKey => ("api-key", key.to_owned()),
        };
        (name.to_owned(), value)
    }
}

/// A key that grows old while a session runs, and how it is had again. Clones share it.
#[derive(Clone)]
pub struct Renewal(Arc<Renewable>);

struct Renewable {
    id: String,
    source: Source,
    scheme: Scheme,
    state: Mutex<State>,
}

struct State {
    key: String,
    since: Instant,
}

impl Renewal {
    fn new(id: &str, source: Source, scheme: Scheme, key: String) -> Self {
        let since = Instant::now();
        Renewal(Arc::new(Renewable {
            id: id.to_owned(),
            source,
            scheme,
            state: Mutex::new(State { key, since }),
        }))
    }

    /// Puts the key in force among the headers. It is had again when it is old, or at once when
    /// `refused`: the server took the last one no longer.
    ///
    /// # Errors
    /// Why there is no fresh key, as a sentence.
    pub fn apply(&self, headers: &mut [(String, String)], refused: bool) -> Result<(), String> {
        let inner = &self.0;
        let mut state = inner
            .state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if refused || inner.is_old(&state) {
            let fresh = inner.source.fetch(&inner.id, &state.key);
            state.key = fresh.map_err(|why| {
                format!(
                    "the key of provider {} could not be renewed: {why}",
                    inner.id
                )
            })?;
            state.since = Instant::now();
        }
        let (name, value) = inner.scheme.header(&state.key);
        if !is_valid(&name, &value) {
            return Err(format!(
                "the key of provider {} holds characters that HTTP does not allow",
                inner.id
            ));
        }
        if let Some(header) = headers.iter_mut().find(|(n, _)| *n == name) {
            header.1 = value;
        }
        Ok(())
    }
}

impl Renewable {
    fn is_old(&self, state: &State) -> bool {
        match &self.source {
            Source::Command(auth) => {
                let interval = auth.refresh_interval_ms.unwrap_or(300_000);
                interval > 0 && state.since.elapsed() >= Duration::from_millis(interval)
            }
            Source::Tokens(home) => match AuthFile::of(home).get(&self.id) {
                Ok(Some(Credential::Tokens(tokens))) => tokens.is_old(login::now()),
                _ => false,
            },
        }
    }
}

/// The key is a secret.
impl fmt::Debug for Renewal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Renewal").field(&self.0.id).finish()
    }
}

/// Two are the same when they are clones.
impl PartialEq for Renewal {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// True when the URL's host is this domain or below it.
fn is_host_of(base_url: &str, domain: &str) -> bool {
    let uri = base_url.parse::<Uri>().ok();
    let host = uri.as_ref().and_then(Uri::host).unwrap_or_default();
    let above = host.strip_suffix(domain);
    above.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

fn is_valid(name: &str, value: &str) -> bool {
    HeaderName::from_bytes(name.as_bytes()).is_ok() && HeaderValue::from_str(value).is_ok()
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
