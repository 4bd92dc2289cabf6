//! What a local server is, what it has, and the window that it will really use.

use super::provider::LocalServer;

/// A model as a server describes it. What it does not tell is `None`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelInfo {
    /// The name to ask for.
    pub id: String,
    /// Size of the weights in bytes.
    pub bytes: Option<u64>,
    /// For example `30.5B`.
    pub parameters: Option<String>,
    /// For example `Q4_K_M`.
    pub quantization: Option<String>,
    /// Model family or architecture, lower case.
    pub family: Option<String>,
    /// The window that it was trained for.
    pub trained_window: Option<u32>,
    /// The window that the model's own parameters ask for (Ollama's `num_ctx`).
    pub configured_window: Option<u32>,
    /// The window of the loaded instance.
    pub loaded_window: Option<u32>,
    /// It is in memory now.
    pub loaded: bool,
    /// It can call tools.
    pub tools: Option<bool>,
    /// It can think.
    pub thinking: Option<bool>,
    /// It can see pictures.
    pub vision: Option<bool>,
    /// It runs somewhere else although the local server lists it.
    pub cloud: bool,
    /// It makes text (false for an embedding model).
    pub generates: bool,
    /// Bytes of cache per token of window at 16 bits, when it can be computed.
    pub kv_bytes_per_token: Option<u64>,
}

/// A server that answered a probe.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// What it is, judged by the shape of its answer.
    pub server: LocalServer,
    /// The base URL for [`super::provider::Provider`].
    pub base_url: String,
    /// Its version, if it told.
    pub version: Option<String>,
}

/// The window of a session, and how it was learnt.
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    /// Tokens that prompt and reply may have together.
    pub tokens: u32,
    /// Where the number comes from, in a few words: `model_context_window in the config`.
    pub source: String,
    /// What to send as `num_ctx` with every request, on the wire that can.
    pub request: Option<u32>,
    /// Something that the user should know: a reload, a window below the need.
    pub notice: Option<String>,
}
