//! Where models are: built-in and configured providers, and how each is addressed.

use super::WireApi;
use serde_json::{Map, Value};
use std::time::Duration;

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

/// A provider, resolved: every value in force, the key included.
#[derive(Clone, PartialEq)]
pub struct Provider {
    /// The id in the config.
    pub id: String,
    /// For people.
    pub name: String,
    /// Without a final slash.
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
