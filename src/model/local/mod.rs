//! What a local server is, what it has, and the window that it will really use.

mod ask;
mod choose;
mod count;
mod detect;
mod fit;
mod llama_server;
mod lmstudio;
mod memory;
mod ollama;
#[cfg(test)]
mod tests;
mod vllm;
mod window;

use super::ModelError;
use super::WireApi;
use super::catalog::Listed;
use super::provider::{LocalServer, Provider, server_root};
use crate::cancel::Cancel;
use ask::{Ask, Server, is_absent};
use std::time::Duration;

pub use choose::{check, choose, install_command};
pub use count::count;
pub use detect::{adopt, detect, identify, recognise};
pub use fit::{Fit, Room, fit, room};
pub use memory::{Memory, free_memory};
pub use window::{to_load, window};

/// A model as a server describes it. What it does not tell is `None`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelInfo {
    /// The name to ask for. A server that holds one model and ignores names tells its own.
    pub id: String,
    /// Size of the weights in bytes; reckoned from their number and quantisation where the server
    /// tells only these.
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
    /// How much of the loaded model is in the memory of graphics cards, in percent.
    pub graphics_percent: Option<u64>,
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
    /// What the tables of hosted models say about it.
    pub listed: Option<Listed>,
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

/// Tokens that llama-server has generated so far for the reply that it works on; `None` where it
/// does not tell.
pub fn generated(provider: &Provider, cancel: &Cancel) -> Option<u64> {
    llama_server::generated(&Server::new(provider, cancel))
}

/// All models of a provider's server. A server that is still loading is waited for.
///
/// # Errors
/// When the server does not answer, or answers with an error.
pub fn models(provider: &Provider, cancel: &Cancel) -> Result<Vec<ModelInfo>, ModelError> {
    list(&Server::new(provider, cancel), provider, cancel)
}

/// Asks for the list that every server has, once and for at most `limit`: is anybody there?
///
/// # Errors
/// What the server, or the way to it, said instead.
pub fn reach(provider: &Provider, limit: Duration, cancel: &Cancel) -> Result<(), ModelError> {
    let server = Server::new(provider, cancel);
    server.get(list_path(provider), limit).map(|_| ())
}

/// True when the server answers the path of the provider's wire as one that it does not know. The
/// request is empty, so that one who knows it refuses it at once.
pub fn lacks_wire(provider: &Provider, cancel: &Cancel) -> bool {
    let server = Server::new(provider, cancel);
    let root = server_root(&provider.base_url);
    let version = provider.base_url.strip_prefix(root).unwrap_or_default();
    let path = format!("{version}{}", provider.wire.wire().path());
    match server.post(&path, &serde_json::json!({}), ask::QUERY) {
        Err(ModelError::NoModel { .. }) => true,
        Err(ModelError::Status { status, .. }) => matches!(status, 404 | 405 | 501),
        _ => false,
    }
}

/// One model, in one round trip where the server allows (two requests at the same time). Nothing
/// is asked of a hosted provider. A router of llama-server loads the model here, which may take
/// minutes.
///
/// # Errors
/// [`ModelError::NoModel`] with the command that installs it and the nearest names; else when the
/// server does not answer, or answers with an error.
pub fn describe(
    provider: &Provider,
    model: &str,
    cancel: &Cancel,
) -> Result<ModelInfo, ModelError> {
    let server = Server::new(provider, cancel);
    look_up(&server, provider, model, cancel)
}

/// Loads a model of LM Studio with a window of `tokens`, in place of any loaded instance of it, and
/// describes it again. Takes as long as loading takes, at most five minutes.
///
/// # Errors
/// When the server is older than 0.4.0, or cannot load the model so.
pub fn load(
    provider: &Provider,
    info: &ModelInfo,
    tokens: u32,
    cancel: &Cancel,
) -> Result<ModelInfo, ModelError> {
    let window = lmstudio::load(&Server::new(provider, cancel), &info.id, tokens)?;
    Ok(ModelInfo {
        loaded: true,
        loaded_window: Some(window),
        ..info.clone()
    })
}

/// The kind of server, which a configured provider tells by its wire if at all.
fn kind(provider: &Provider) -> Option<LocalServer> {
    match (provider.local, provider.wire) {
        (None, WireApi::Ollama) => Some(LocalServer::Ollama),
        (local, _) => local,
    }
}

/// Where the OpenAI-style list is, from the server's root.
fn list_path(provider: &Provider) -> &'static str {
    if provider.wire == WireApi::Ollama || provider.base_url.ends_with("/v1") {
        "/v1/models"
    } else {
        "/models"
    }
}

fn list(ask: &dyn Ask, provider: &Provider, cancel: &Cancel) -> Result<Vec<ModelInfo>, ModelError> {
    match kind(provider) {
        Some(LocalServer::Ollama) => ollama::models(ask),
        Some(LocalServer::LmStudio) => lmstudio::models(ask),
        Some(LocalServer::LlamaServer) => llama_server::models(ask, cancel),
        Some(LocalServer::Vllm) | None => vllm::models(ask, list_path(provider)),
    }
}

fn look_up(
    ask: &dyn Ask,
    provider: &Provider,
    model: &str,
    cancel: &Cancel,
) -> Result<ModelInfo, ModelError> {
    let bare = || ModelInfo {
        id: model.into(),
        generates: true,
        ..Default::default()
    };
    let kind = kind(provider);
    let described = match kind {
        Some(LocalServer::Ollama) => ollama::describe(ask, model),
        Some(LocalServer::LlamaServer) => llama_server::describe(ask, model, cancel),
        Some(LocalServer::LmStudio | LocalServer::Vllm) => {
            return pick(&list(ask, provider, cancel)?, model, kind);
        }
        None if !provider.is_local() => return Ok(bare()),
        // An unknown server may take names that it does not list, or have no list.
        None => {
            return match list(ask, provider, cancel) {
                Ok(models) => Ok(models
                    .into_iter()
                    .find(|m| m.id == model)
                    .unwrap_or_else(bare)),
                Err(e) if is_absent(&e) => Ok(bare()),
                Err(e) => Err(e),
            };
        }
    };
    match described {
        Err(e) if is_absent(&e) => pick(&list(ask, provider, cancel)?, model, kind),
        other => other,
    }
}

/// The model of that name in a list; whether it can call tools is the caller's question.
fn pick(
    models: &[ModelInfo],
    model: &str,
    kind: Option<LocalServer>,
) -> Result<ModelInfo, ModelError> {
    match check(models, model, kind) {
        Ok(info) => Ok(info.clone()),
        Err(ModelError::NoTools { message }) => models
            .iter()
            .find(|m| ollama::same_name(&m.id, model))
            .cloned()
            .ok_or(ModelError::NoTools { message }),
        Err(e) => Err(e),
    }
}
