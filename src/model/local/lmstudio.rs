//! LM Studio's own lists: `/api/v1/models` (0.4.0 and later) and `/api/v0/models` (0.3.6 and
//! later). It may answer unknown paths with 200, so the shape of the JSON decides.

use super::ask::{Ask, LOAD, QUERY, entries, is_absent, lists, text, tokens};
use super::{ModelInfo, vllm};
use crate::model::ModelError;
use serde_json::{Value, json};

/// All models, by the newest list that this server has.
pub(super) fn models(ask: &dyn Ask) -> Result<Vec<ModelInfo>, ModelError> {
    for (path, read) in [
        (
            "/api/v1/models",
            read_v1 as fn(&Value) -> Option<Vec<ModelInfo>>,
        ),
        ("/api/v0/models", read_v0),
    ] {
        match ask.get(path, QUERY) {
            Ok(value) => {
                if let Some(models) = read(&value) {
                    return Ok(models);
                }
            }
            Err(e) if is_absent(&e) => {}
            Err(e) => return Err(e),
        }
    }
    vllm::models(ask, "/v1/models")
}

/// Loads a model with a window of `window` tokens. Every loaded instance of it is unloaded first:
/// loading twice would keep both in memory. Gives back the window that the server then reports.
///
/// # Errors
/// When the server has no `/api/v1` (before 0.4.0), or the model does not fit into memory.
pub(super) fn load(ask: &dyn Ask, model: &str, window: u32) -> Result<u32, ModelError> {
    let list = ask.get("/api/v1/models", QUERY)?;
    let mine = entries(&list, "/models")
        .iter()
        .find(|m| text(m, "/key").as_deref() == Some(model));
    for instance in mine.map_or(&[][..], |m| entries(m, "/loaded_instances")) {
        if let Some(id) = text(instance, "/id") {
            ask.post("/api/v1/models/unload", &json!({"instance_id": id}), LOAD)?;
        }
    }
    let wish = json!({"model": model, "context_length": window, "echo_load_config": true});
    let loaded = ask.post("/api/v1/models/load", &wish, LOAD)?;
    Ok(tokens(&loaded, "/load_config/context_length").unwrap_or(window))
}

/// `{"models":[{"key", "type", …}]}`.
pub(super) fn read_v1(list: &Value) -> Option<Vec<ModelInfo>> {
    let models = list.get("models")?.as_array()?;
    let read = |m: &Value| {
        let instances = entries(m, "/loaded_instances");
        let flag = |name: &str| m.pointer(name).and_then(Value::as_bool);
        Some(ModelInfo {
            id: text(m, "/key")?,
            bytes: m.get("size_bytes").and_then(Value::as_u64),
            parameters: text(m, "/params_string"),
            quantization: text(m, "/quantization/name"),
            family: text(m, "/architecture").map(|a| a.to_lowercase()),
            trained_window: tokens(m, "/max_context_length"),
            // With several instances the server chooses; only the smallest window is sure.
            loaded_window: instances
                .iter()
                .filter_map(|i| tokens(i, "/config/context_length"))
                .min(),
            loaded: !instances.is_empty(),
            tools: flag("/capabilities/trained_for_tool_use"),
            thinking: m
                .get("capabilities")
                .map(|c| c.get("reasoning").is_some_and(|r| !r.is_null())),
            vision: flag("/capabilities/vision"),
            generates: text(m, "/type").as_deref() != Some("embedding"),
            ..Default::default()
        })
    };
    Some(models.iter().filter_map(read).collect())
}

/// `{"object":"list","data":[{"id", "type", "state", …}]}`. An entry without `state` belongs to a
/// plain OpenAI list.
pub(super) fn read_v0(list: &Value) -> Option<Vec<ModelInfo>> {
    let models = list.get("data")?.as_array()?;
    if !models.iter().all(|m| m.get("state").is_some()) {
        return None;
    }
    let read = |m: &Value| {
        let kind = text(m, "/type").unwrap_or_default();
        Some(ModelInfo {
            id: text(m, "/id")?,
            quantization: text(m, "/quantization"),
            family: text(m, "/arch").map(|a| a.to_lowercase()),
            trained_window: tokens(m, "/max_context_length"),
            loaded_window: tokens(m, "/loaded_context_length"),
            loaded: text(m, "/state").as_deref() == Some("loaded"),
            tools: lists(m, "/capabilities", "tool_use"),
            vision: Some(kind == "vlm"),
            generates: kind != "embeddings",
            ..Default::default()
        })
    };
    Some(models.iter().filter_map(read).collect())
}
