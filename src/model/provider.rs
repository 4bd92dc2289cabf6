//! Where models are: built-in and configured providers, and how each is addressed.

mod address;
mod auth;
#[cfg(test)]
mod tests;

use super::WireApi;
use crate::config::{Config, ProviderEntry, Setting};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

pub(in crate::model) use address::normalise;
pub use address::{
    host, is_local, is_loopback, needs_look_up, ollama_host, port, server_root, with_query,
};
pub(in crate::model) use auth::output;

/// The kinds of local server that are built in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LocalServer {
    /// Ollama.
    Ollama,
    /// LM Studio.
    LmStudio,
    /// llama.cpp's `llama-server`.
    LlamaServer,
    /// vLLM.
    Vllm,
}

impl LocalServer {
    /// All kinds, in the order in which they are looked for.
    pub const ALL: [LocalServer; 4] = [
        LocalServer::Ollama,
        LocalServer::LmStudio,
        LocalServer::LlamaServer,
        LocalServer::Vllm,
    ];

    /// The id of its built-in provider.
    pub fn id(self) -> &'static str {
        match self {
            LocalServer::Ollama => "ollama",
            LocalServer::LmStudio => "lmstudio",
            LocalServer::LlamaServer => "llamacpp",
            LocalServer::Vllm => "vllm",
        }
    }

    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            LocalServer::Ollama => "Ollama",
            LocalServer::LmStudio => "LM Studio",
            LocalServer::LlamaServer => "llama-server",
            LocalServer::Vllm => "vLLM",
        }
    }
}

/// A provider that needs no entry in the config.
#[derive(Debug)]
pub struct Builtin {
    /// Its id.
    pub id: &'static str,
    /// Its name for people.
    pub name: &'static str,
    /// Where it is, unless the config or `OLLAMA_HOST` says otherwise.
    pub base_url: &'static str,
    /// The wire that suits it best.
    pub wire: WireApi,
    /// The kind of local server, if it is one.
    pub local: Option<LocalServer>,
    /// Variables that may hold its key, in order; none: it needs no key.
    pub env_keys: &'static [&'static str],
    /// Where to get a key.
    pub key_help: &'static str,
}

/// Every built-in provider.
pub const BUILTIN: [Builtin; 6] = [
    Builtin {
        id: "ollama",
        name: "Ollama",
        base_url: "http://127.0.0.1:11434",
        wire: WireApi::Ollama,
        local: Some(LocalServer::Ollama),
        env_keys: &[],
        key_help: "",
    },
    Builtin {
        id: "lmstudio",
        name: "LM Studio",
        base_url: "http://127.0.0.1:1234/v1",
        wire: WireApi::Chat,
        local: Some(LocalServer::LmStudio),
        env_keys: &[],
        key_help: "",
    },
    Builtin {
        id: "llamacpp",
        name: "llama.cpp",
        base_url: "http://127.0.0.1:8080/v1",
        wire: WireApi::Chat,
        local: Some(LocalServer::LlamaServer),
        env_keys: &[],
        key_help: "",
    },
    Builtin {
        id: "vllm",
        name: "vLLM",
        base_url: "http://127.0.0.1:8000/v1",
        wire: WireApi::Chat,
        local: Some(LocalServer::Vllm),
        env_keys: &[],
        key_help: "",
    },
    Builtin {
        id: "openai",
        name: "OpenAI",
        base_url: "https://api.openai.com/v1",
        wire: WireApi::Responses,
        local: None,
        env_keys: &["OPENAI_API_KEY", "CODEX_API_KEY"],
        key_help: "keys are made at https://platform.openai.com/api-keys",
    },
    Builtin {
        id: "anthropic",
        name: "Anthropic",
        base_url: "https://api.anthropic.com/v1",
        wire: WireApi::Messages,
        local: None,
        env_keys: &["ANTHROPIC_API_KEY"],
        key_help: "keys are made at https://console.anthropic.com/settings/keys",
    },
];

/// A provider, resolved: every value in force, the key included.
#[derive(Clone, PartialEq)]
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

/// Why a provider cannot be used, as a sentence with the next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderError {
    /// No provider has this id.
    Unknown {
        /// As asked for.
        id: String,
        /// Every id there is.
        known: Vec<String>,
    },
    /// The config entry has no `base_url`.
    NoBaseUrl {
        /// The provider.
        id: String,
    },
    /// The address is not one.
    BadUrl {
        /// The provider.
        id: String,
        /// As written.
        url: String,
    },
    /// No wire has this name.
    BadWire {
        /// The provider.
        id: String,
        /// As written.
        wire: String,
    },
    /// The variable with the key is not set.
    MissingKey {
        /// The provider.
        id: String,
        /// The variable to set.
        variable: String,
        /// Where to get a key.
        help: String,
    },
    /// A header, or a key that goes into one, holds characters that HTTP does not allow.
    BadHeader {
        /// The provider.
        id: String,
        /// The header; its value is not shown, since it may be a key.
        header: String,
    },
    /// The command that prints the key failed.
    Auth {
        /// The provider.
        id: String,
        /// Why.
        why: String,
    },
}

impl fmt::Display for ProviderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProviderError::Unknown { id, known } => write!(
                f,
                "no model provider is called `{id}`; use one of {}, or add [model_providers.{id}] with its base_url to config.toml",
                known.join(", ")
            ),
            ProviderError::NoBaseUrl { id } => write!(
                f,
                "[model_providers.{id}] has no base_url; add one, for example base_url = \"http://127.0.0.1:8080/v1\""
            ),
            ProviderError::BadUrl { id, url } => write!(
                f,
                "the address `{url}` of provider {id} is not a URL; write it as http://HOST:PORT/v1 or https://HOST/v1"
            ),
            ProviderError::BadWire { id, wire } => write!(
                f,
                "provider {id} has wire_api = \"{wire}\", which does not exist; use {}",
                WireApi::ALL.map(|(_, name)| name).join(", ")
            ),
            ProviderError::MissingKey { id, variable, help } => {
                write!(
                    f,
                    "provider {id} needs a key and {variable} is not set; set that variable"
                )?;
                if help.is_empty() {
                    Ok(())
                } else {
                    write!(f, " ({help})")
                }
            }
            ProviderError::BadHeader { id, header } => write!(
                f,
                "the header {header} of provider {id} holds characters that HTTP does not allow; check the key or http_headers for line ends and non-ASCII characters"
            ),
            ProviderError::Auth { id, why } => write!(
                f,
                "the auth command of provider {id} gave no key: {why}; run it by hand to see why"
            ),
        }
    }
}

impl std::error::Error for ProviderError {}

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
    let openai = config.openai_base_url.value.as_deref();
    from_entries(id, &config.model_providers, openai, env, chat_completions)
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
    let openai = config.openai_base_url.value.as_deref();
    let (builtin, entry) = entry(id, &config.model_providers)?;
    let address = base_address(id, &entry, builtin, openai, env)?;
    match port(&address) {
        Some(_) => Ok(address),
        None => Err(ProviderError::BadUrl {
            id: id.into(),
            url: address::without_user(&address),
        }),
    }
}

/// The built-in provider of that id and its entry in the config; one of them is there.
fn entry(
    id: &str,
    entries: &BTreeMap<String, Setting<ProviderEntry>>,
) -> Result<(Option<&'static Builtin>, ProviderEntry), ProviderError> {
    let builtin = BUILTIN.iter().find(|b| b.id == id);
    match entries.get(id) {
        Some(setting) => Ok((builtin, setting.value.clone())),
        None if builtin.is_some() => Ok((builtin, ProviderEntry::default())),
        None => {
            let known = BUILTIN.iter().map(|b| b.id.to_string());
            let own = entries
                .keys()
                .filter(|k| BUILTIN.iter().all(|b| b.id != *k));
            Err(ProviderError::Unknown {
                id: id.into(),
                known: known.chain(own.cloned()).collect(),
            })
        }
    }
}

fn from_entries(
    id: &str,
    entries: &BTreeMap<String, Setting<ProviderEntry>>,
    openai_base_url: Option<&str>,
    env: &dyn Fn(&str) -> Option<String>,
    chat_completions: bool,
) -> Result<Provider, ProviderError> {
    let (builtin, entry) = entry(id, entries)?;
    let wire = match &entry.wire_api {
        _ if chat_completions => WireApi::Chat,
        Some(name) => WireApi::from_name(name).ok_or_else(|| ProviderError::BadWire {
            id: id.into(),
            wire: name.clone(),
        })?,
        None => builtin.map_or(WireApi::Chat, |b| b.wire),
    };
    let local = builtin.and_then(|b| b.local);
    let address = base_address(id, &entry, builtin, openai_base_url, env)?;
    let base_url = normalise(&address, wire, local).ok_or_else(|| ProviderError::BadUrl {
        id: id.into(),
        url: address::without_user(&address),
    })?;
    let headers = auth::headers(id, &entry, builtin, &base_url, wire, env)?;
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
            .unwrap_or_else(|| builtin.map_or(id, |b| b.name).to_string()),
        base_url,
        wire,
        local,
        headers,
        query: entry.query_params.into_iter().collect(),
        request_retries: entry.request_max_retries.unwrap_or(4).min(100),
        stream_retries: entry.stream_max_retries.unwrap_or(5).min(100),
        idle_limit,
        extra_body: entry.extra_body,
    })
}

/// The address before it is normalised: the entry's, else `openai_base_url` or `OLLAMA_HOST`, else
/// the built-in one.
fn base_address(
    id: &str,
    entry: &ProviderEntry,
    builtin: Option<&Builtin>,
    openai_base_url: Option<&str>,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<String, ProviderError> {
    if let Some(url) = entry.base_url.as_deref().filter(|u| !u.trim().is_empty()) {
        return Ok(url.to_string());
    }
    let builtin = builtin.ok_or_else(|| ProviderError::NoBaseUrl { id: id.into() })?;
    let moved = match builtin.id {
        "openai" => openai_base_url.map(str::to_string),
        "ollama" => env("OLLAMA_HOST").map(|host| ollama_host(&host)),
        _ => None,
    };
    Ok(moved.unwrap_or_else(|| builtin.base_url.to_string()))
}
