//! Where models are: built-in and configured providers, and how each is addressed.

mod address;
mod auth;
mod error;
mod local;
#[cfg(test)]
mod tests;

use super::WireApi;
use super::catalog::{Catalog, Hosted};
use crate::config::{Config, ProviderEntry};
use crate::store::auth::AuthFile;
use serde_json::{Map, Value};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use address::{
    host, is_local, is_loopback, is_near, join, needs_look_up, ollama_host, origin, port,
    server_root, with_query,
};
pub(in crate::model) use address::{normalise, percent_encoded};
pub use auth::Renewal;
pub(in crate::model) use auth::output;
pub use error::ProviderError;
pub use local::{BUILTIN, Builtin, LocalServer};

/// What is known of a provider without the config.
#[derive(Debug, Clone)]
enum Known {
    Local(&'static Builtin),
    Hosted(Hosted),
}

impl Known {
    /// Local servers come first: for them the table of hosted ones is never read.
    fn of(id: &str, home: Option<&Path>) -> Option<Known> {
        let local = BUILTIN.iter().find(|b| b.id == id).map(Known::Local);
        local.or_else(|| Catalog::of(home).provider(id).map(Known::Hosted))
    }

    fn name(&self) -> &str {
        match self {
            Known::Local(b) => b.name,
            Known::Hosted(h) => &h.name,
        }
    }

    fn wire(&self) -> WireApi {
        match self {
            Known::Local(b) => b.wire,
            Known::Hosted(h) => h.wire,
        }
    }

    fn local(&self) -> Option<LocalServer> {
        match self {
            Known::Local(b) => Some(b.local),
            Known::Hosted(_) => None,
        }
    }

    fn address(&self, wire: WireApi) -> &str {
        match self {
            Known::Local(b) => b.base_url,
            Known::Hosted(h) => h.address(wire).unwrap_or(&h.base_url),
        }
    }

    /// Variables that may hold its key, in order; none: it needs no key.
    fn env_keys(&self) -> &[String] {
        match self {
            Known::Local(_) => &[],
            Known::Hosted(h) => &h.env_keys,
        }
    }

    /// Where to get a key.
    fn help(&self) -> String {
        match self {
            Known::Hosted(h) if !h.help.is_empty() => format!("keys: {}", h.help),
            _ => String::new(),
        }
    }
}

/// A provider, resolved: every value in force, the key included.
#[derive(Clone, Default, PartialEq)]
pub struct Provider {
    /// The id in the config.
    pub id: String,
    /// For people.
    pub name: String,
    /// Without a final slash. The path of the wire is appended to it.
    pub base_url: String,
    /// The wire to use.
    pub wire: WireApi,
    /// The kind of local server, when it is one of the built-in ones.
    pub local: Option<LocalServer>,
    /// Headers of every request, the key included.
    pub headers: Vec<(String, String)>,
    /// How the key among the headers is had again when it grows old.
    pub renewal: Option<Renewal>,
    /// Certificates of authorities to trust, in PEM, in place of the usual ones.
    pub ca_file: Option<PathBuf>,
    /// Added to every URL.
    pub query: Vec<(String, String)>,
    /// Tries of a request that fails before it begins to answer.
    pub request_retries: u32,
    /// Tries of a stream that breaks off.
    pub stream_retries: u32,
    /// The longest time without a byte; `None`: no limit, for local servers.
    pub idle_limit: Option<Duration>,
    /// Further top-level fields of every body.
    pub extra_body: Map<String, Value>,
}

impl Provider {
    /// True for llama.cpp's own server.
    pub fn is_llama_server(&self) -> bool {
        self.local == Some(LocalServer::LlamaServer)
    }

    /// True when the server is on the user's own machine or network.
    pub fn is_local(&self) -> bool {
        self.local.is_some() || is_local(&self.base_url)
    }
}

/// Header values, query values and the user part of the address may be secrets and are not shown.
impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |pairs: &[(String, String)]| -> Vec<String> {
            pairs.iter().map(|(name, _)| format!("{name}: …")).collect()
        };
        f.debug_struct("Provider")
            .field("id", &self.id)
            .field("name", &self.name)
            .field("base_url", &address::without_user(&self.base_url))
            .field("wire", &self.wire)
            .field("local", &self.local)
            .field("headers", &names(&self.headers))
            .field("query", &names(&self.query))
            .field("request_retries", &self.request_retries)
            .field("stream_retries", &self.stream_retries)
            .field("idle_limit", &self.idle_limit)
            .field("extra_body", &self.extra_body.keys().collect::<Vec<_>>())
            .finish()
    }
}

/// The provider of that id with everything that the config and the environment say about it.
/// `chat_completions` forces the `chat` wire. An auth command is run here, within its time limit.
///
/// # Errors
/// When the id is unknown, its entry is incomplete or wrong, or its key is missing.
pub fn resolve(
    id: &str,
    config: &Config,
    env: &dyn Fn(&str) -> Option<String>,
    chat_completions: bool,
) -> Result<Provider, ProviderError> {
    resolve_on(id, config, env, chat_completions.then_some(WireApi::Chat))
}

/// The same on this wire, whatever the config and the tables say; `None`: as they say.
///
/// # Errors
/// The same.
pub fn resolve_on(
    id: &str,
    config: &Config,
    env: &dyn Fn(&str) -> Option<String>,
    forced: Option<WireApi>,
) -> Result<Provider, ProviderError> {
    let (known, entry) = entry(id, config)?;
    let known = known.as_ref();
    let wire = wire(id, &entry, known, forced)?;
    let local = known.and_then(Known::local);
    let address = base_address(id, &entry, known, wire, config, env)?;
    let base_url = normalise(&address, wire, local).ok_or_else(|| ProviderError::BadUrl {
        id: id.into(),
        url: address::without_user(&address),
    })?;
    let sign = auth::Signing {
        id,
        entry: &entry,
        known,
        base_url: &base_url,
        wire,
        home: config.home.as_deref(),
        env,
    };
    let (headers, renewal) = sign.headers()?;
    let own_network = local.is_some() || is_local(&base_url);
    let idle_limit = match entry.stream_idle_timeout_ms {
        // Zero would end every stream at once; it is read as "no limit".
        Some(0) => None,
        Some(ms) => Some(Duration::from_millis(ms)),
        None if own_network => None,
        None => Some(Duration::from_secs(300)),
    };
    Ok(Provider {
        id: id.into(),
        name: entry
            .name
            .unwrap_or_else(|| known.map_or(id, Known::name).to_string()),
        base_url,
        wire,
        local,
        headers,
        renewal,
        ca_file: entry.ca_file,
        query: entry.query_params.into_iter().collect(),
        request_retries: entry.request_max_retries.unwrap_or(4).min(100),
        stream_retries: entry.stream_max_retries.unwrap_or(5).min(100),
        idle_limit,
        extra_body: entry.extra_body,
    })
}

/// The address of the provider of that id and nothing else: no key is needed, no command runs.
///
/// # Errors
/// When the id is unknown, or its address is missing or none.
pub fn address_of(
    id: &str,
    config: &Config,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<String, ProviderError> {
    let (known, entry) = entry(id, config)?;
    let wire = wire(id, &entry, known.as_ref(), None)?;
    let address = base_address(id, &entry, known.as_ref(), wire, config, env)?;
    match port(&address) {
        Some(_) => Ok(address),
        None => Err(ProviderError::BadUrl {
            id: id.into(),
            url: address::without_user(&address),
        }),
    }
}

/// True when there is such a provider, in the config or the tables.
pub fn exists(id: &str, config: &Config) -> bool {
    entry(id, config).is_ok()
}

/// The variables that may hold the key of a provider, in order.
pub fn key_variables(id: &str, config: &Config) -> Vec<String> {
    let Ok((known, entry)) = entry(id, config) else {
        return Vec::new();
    };
    match entry.env_key.filter(|v| !v.is_empty()) {
        Some(variable) => vec![variable],
        None if entry.experimental_bearer_token.is_some() => Vec::new(),
        None => known.map_or_else(Vec::new, |k| k.env_keys().to_vec()),
    }
}

/// The hosted providers of the tables that there is a key for: in a variable, or kept by
/// `interpreter login`.
pub fn with_key(config: &Config, env: &dyn Fn(&str) -> Option<String>) -> Vec<Hosted> {
    let home = config.home.as_deref();
    let stored = home.map(|h| AuthFile::of(h).all().unwrap_or_default());
    let stored = stored.unwrap_or_default();
    let is_set = |name: &String| env(name).is_some_and(|v| !v.trim().is_empty());
    let all = Catalog::of(home).providers();
    all.into_iter()
        .filter(|h| stored.contains_key(&h.id) || h.env_keys.iter().any(is_set))
        .collect()
}

/// What is known of the provider of that id, and its entry in the config; one of them is there.
fn entry(id: &str, config: &Config) -> Result<(Option<Known>, ProviderEntry), ProviderError> {
    let entries = &config.model_providers;
    let known = Known::of(id, config.home.as_deref());
    match entries.get(id) {
        Some(setting) => Ok((known, setting.value.clone())),
        None if known.is_some() => Ok((known, ProviderEntry::default())),
        None => {
            let hosted = Catalog::of(config.home.as_deref()).providers();
            let local = BUILTIN.iter().map(|b| b.id.to_string());
            let own = entries.keys().cloned();
            let hosted = hosted.into_iter().map(|h| h.id);
            Err(ProviderError::Unknown {
                id: id.into(),
                known: local.chain(own).chain(hosted).collect(),
            })
        }
    }
}

/// The wire in force: the forced one, that of the config, or that of the tables.
fn wire(
    id: &str,
    entry: &ProviderEntry,
    known: Option<&Known>,
    forced: Option<WireApi>,
) -> Result<WireApi, ProviderError> {
    match &entry.wire_api {
        _ if forced.is_some() => Ok(forced.unwrap_or_default()),
        Some(name) => WireApi::from_name(name).ok_or_else(|| ProviderError::BadWire {
            id: id.into(),
            wire: name.clone(),
        }),
        None => Ok(known.map_or(WireApi::Chat, Known::wire)),
    }
}

/// The address before it is normalised: the entry's, else `openai_base_url` or `OLLAMA_HOST`, else
/// the known one of that wire with the variables in it filled in.
fn base_address(
    id: &str,
    entry: &ProviderEntry,
    known: Option<&Known>,
    wire: WireApi,
    config: &Config,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<String, ProviderError> {
    if let Some(url) = entry.base_url.as_deref().filter(|u| !u.trim().is_empty()) {
        return Ok(url.to_string());
    }
    let known = known.ok_or_else(|| ProviderError::NoBaseUrl { id: id.into() })?;
    let moved = match id {
        "openai" => config.openai_base_url.value.clone(),
        "ollama" => env("OLLAMA_HOST").map(|host| ollama_host(&host)),
        _ => None,
    };
    match moved {
        Some(url) => Ok(url),
        None => filled_in(id, known.address(wire), env),
    }
}

/// The address with the values of the variables that stand in it as `${NAME}`.
fn filled_in(
    id: &str,
    address: &str,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<String, ProviderError> {
    let mut out = String::new();
    let mut rest = address;
    while let Some((before, after)) = rest.split_once("${") {
        let (name, after) = after.split_once('}').unwrap_or((after, ""));
        let value = env(name).map(|v| v.trim().to_owned());
        let value = value.filter(|v| !v.is_empty());
        out.push_str(before);
        out.push_str(&value.ok_or_else(|| ProviderError::MissingPart {
            id: id.into(),
            variable: name.into(),
            address: address.into(),
        })?);
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}
