//! Why a provider cannot be used.

use super::BUILTIN;
use crate::model::WireApi;
use crate::words::nearest;
use std::fmt;

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
    /// A variable that is a part of the address is not set.
    MissingPart {
        /// The provider.
        id: String,
        /// The variable to set.
        variable: String,
        /// The address with its variables.
        address: String,
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
    /// Its key comes from a sign-in, and nobody signed in.
    NotLoggedIn {
        /// The provider.
        id: String,
    },
    /// The key cannot be had.
    Auth {
        /// The provider.
        id: String,
        /// Why.
        why: String,
        /// It comes from a command of the config, not from a sign-in.
        command: bool,
    },
}

impl fmt::Display for ProviderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProviderError::Unknown { id, known } => {
                let near = nearest(id, known.iter().map(String::as_str));
                let near = near
                    .map(|n| format!("did you mean {n}? "))
                    .unwrap_or_default();
                let local: Vec<_> = BUILTIN.iter().map(|b| b.id).collect();
                write!(
                    f,
                    "no model provider is called `{id}`; {near}Use {}, one of {} hosted ones (`interpreter models --providers` lists them), or add [model_providers.{id}] with its base_url to config.toml",
                    local.join(", "),
                    known.len().saturating_sub(local.len())
                )
            }
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
            ProviderError::MissingPart {
                id,
                variable,
                address,
            } => write!(
                f,
                "the address of provider {id} is {address} and {variable} is not set; set that variable, or base_url in [model_providers.{id}]"
            ),
            ProviderError::MissingKey { id, variable, help } => {
                write!(
                    f,
                    "provider {id} needs a key and {variable} is not set; set that variable, or run `interpreter login {id}`"
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
            ProviderError::NotLoggedIn { id } => write!(
                f,
                "nobody is signed in at provider {id}; run `interpreter login {id}`"
            ),
            ProviderError::Auth {
                id,
                why,
                command: true,
            } => write!(
                f,
                "the auth command of provider {id} gave no key: {why}; run it by hand to see why"
            ),
            ProviderError::Auth { id, why, .. } => {
                write!(f, "the key of provider {id} cannot be had: {why}")
            }
        }
    }
}

impl std::error::Error for ProviderError {}
