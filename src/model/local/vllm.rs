//! `/v1/models`: all that vLLM has, and what every other server has at least.

use super::ModelInfo;
use super::ask::{Ask, QUERY, entries, text, tokens};
use crate::model::ModelError;
use serde_json::Value;

/// The names under which servers tell the window in this list: vLLM and SGLang, llama.cpp,
/// OpenRouter, Groq.
const WINDOWS: [&str; 4] = [
    "/max_model_len",
    "/meta/n_ctx",
    "/context_length",
    "/context_window",
];

/// All models of the list at `path`.
pub(super) fn models(ask: &dyn Ask, path: &str) -> Result<Vec<ModelInfo>, ModelError> {
    let list = ask.get(path, QUERY)?;
    Ok(entries(&list, "/data").iter().filter_map(read).collect())
}

/// One entry.
pub(super) fn read(entry: &Value) -> Option<ModelInfo> {
    let window = WINDOWS.iter().find_map(|key| tokens(entry, key));
    Some(ModelInfo {
        id: text(entry, "/id")?,
        bytes: entry.pointer("/meta/size").and_then(Value::as_u64),
        trained_window: tokens(entry, "/meta/n_ctx_train"),
        loaded_window: window,
        // vLLM serves nothing that is not in memory; of other servers the list does not say.
        loaded: text(entry, "/owned_by").as_deref() == Some("vllm"),
        generates: true,
        ..Default::default()
    })
}
