//! Ollama's own API: `/api/tags` (installed), `/api/ps` (loaded) and `/api/show` (one model).

use super::ModelInfo;
use super::ask::{Ask, QUERY, entries, lists, text, tokens};
use super::memory::kv_bytes_per_token;
use crate::model::ModelError;
use serde_json::{Value, json};
use std::thread;

/// How many models are described for a list, and how many at a time.
const DESCRIBED: usize = 64;
const AT_ONCE: usize = 8;

/// One model: what it is and whether it is loaded, asked at the same time.
pub(super) fn describe(ask: &dyn Ask, model: &str) -> Result<ModelInfo, ModelError> {
    let (shown, running) = thread::scope(|s| {
        let running = s.spawn(|| ask.get("/api/ps", QUERY));
        let shown = ask.post("/api/show", &json!({"model": model}), QUERY);
        (shown, running.join())
    });
    let mut info = read_show(model, &shown?);
    // Builds before 0.1.33 have no `/api/ps`; what they do not say stays unknown.
    if let Ok(Ok(running)) = running {
        read_running(&mut info, &running);
    }
    Ok(info)
}

/// Everything that is installed. Models that the list itself does not describe are asked for.
pub(super) fn models(ask: &dyn Ask) -> Result<Vec<ModelInfo>, ModelError> {
    let (tags, running) = thread::scope(|s| {
        let running = s.spawn(|| ask.get("/api/ps", QUERY));
        (ask.get("/api/tags", QUERY), running.join())
    });
    let mut models: Vec<ModelInfo> = entries(&tags?, "/models")
        .iter()
        .filter_map(read_tag)
        .collect();
    let unknown = |m: &&mut ModelInfo| {
        let vague = m.tools.is_none() || m.trained_window.is_none();
        !m.cloud && (vague || m.generates && m.kv_bytes_per_token.is_none())
    };
    let mut vague: Vec<&mut ModelInfo> =
        models.iter_mut().filter(unknown).take(DESCRIBED).collect();
    for group in vague.chunks_mut(AT_ONCE) {
        thread::scope(|s| {
            for info in group {
                s.spawn(move || {
                    let shown = ask.post("/api/show", &json!({"model": info.id}), QUERY);
                    if let Ok(shown) = shown {
                        let old = std::mem::take(*info);
                        **info = read_show(&old.id, &shown);
                        info.bytes = old.bytes.or(info.bytes);
                        info.trained_window = info.trained_window.or(old.trained_window);
                        info.tools = info.tools.or(old.tools);
                    }
                });
            }
        });
    }
    if let Ok(Ok(running)) = running {
        models.iter_mut().for_each(|m| read_running(m, &running));
    }
    Ok(models)
}

/// True when both name the same model: a name without a tag means `:latest`.
pub(super) fn same_name(a: &str, b: &str) -> bool {
    a.strip_suffix(":latest").unwrap_or(a) == b.strip_suffix(":latest").unwrap_or(b)
}

fn is_cloud(name: &str, value: &Value) -> bool {
    name.ends_with(":cloud")
        || name.ends_with("-cloud")
        || text(value, "/remote_host").is_some()
        || text(value, "/remote_model").is_some()
}

/// What `/api/tags` and `/api/show` have in common.
fn read_common(name: &str, value: &Value) -> ModelInfo {
    ModelInfo {
        id: name.to_string(),
        parameters: text(value, "/details/parameter_size"),
        quantization: text(value, "/details/quantization_level"),
        family: text(value, "/details/family").map(|f| f.to_lowercase()),
        tools: lists(value, "/capabilities", "tools"),
        thinking: lists(value, "/capabilities", "thinking"),
        vision: lists(value, "/capabilities", "vision"),
        cloud: is_cloud(name, value),
        generates: lists(value, "/capabilities", "completion").unwrap_or(true),
        ..Default::default()
    }
}

fn read_tag(tag: &Value) -> Option<ModelInfo> {
    let name = text(tag, "/name").or_else(|| text(tag, "/model"))?;
    Some(ModelInfo {
        bytes: tag.get("size").and_then(Value::as_u64),
        trained_window: tokens(tag, "/details/context_length"),
        ..read_common(&name, tag)
    })
}

fn read_show(name: &str, shown: &Value) -> ModelInfo {
    let mut info = read_common(name, shown);
    let Some(facts) = shown.get("model_info") else {
        return info;
    };
    if let Some(arch) = text(facts, "/general.architecture") {
        info.trained_window = tokens(facts, &format!("/{arch}.context_length"));
        info.family = info.family.or(Some(arch.to_lowercase()));
    }
    info.kv_bytes_per_token = kv_bytes_per_token(facts);
    info.bytes = facts
        .get("general.parameter_count")
        .and_then(Value::as_u64)
        .zip(info.quantization.as_deref().and_then(bits_per_weight))
        .map(|(count, bits)| (count as f64 * bits / 8.0) as u64);
    info.configured_window = text(shown, "/parameters").as_deref().and_then(num_ctx);
    info
}

/// `num_ctx` in the `parameters` text: one `name   value` a line.
fn num_ctx(parameters: &str) -> Option<u32> {
    parameters.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let value = (words.next() == Some("num_ctx")).then(|| words.next())??;
        value.parse().ok().filter(|n| *n > 0)
    })
}

/// The usual size of a weight for a quantisation's name: `Q4_K_M` takes a little over 4.8 bits,
/// `MXFP4` 4.25, `F16` 16.
fn bits_per_weight(name: &str) -> Option<f64> {
    let name = name.to_uppercase();
    let digits: String = name
        .chars()
        .skip_while(|c| !c.is_ascii_digit())
        .take_while(char::is_ascii_digit)
        .collect();
    let bits = digits
        .parse::<f64>()
        .ok()
        .filter(|b| (1.0..=32.0).contains(b))?;
    Some(if name.starts_with("MXFP") {
        bits + 0.25
    } else if name.starts_with('F') || name.starts_with("BF") {
        bits
    } else {
        // Scales and the larger types of some layers.
        bits + 0.85
    })
}

fn read_running(info: &mut ModelInfo, running: &Value) {
    let mine = entries(running, "/models").iter().find(|m| {
        ["/name", "/model"]
            .iter()
            .any(|key| text(m, key).is_some_and(|name| same_name(&name, &info.id)))
    });
    if let Some(mine) = mine {
        info.loaded = true;
        info.loaded_window = tokens(mine, "/context_length");
        let bytes = |key: &str| mine.get(key).and_then(Value::as_u64);
        info.graphics_percent = bytes("size_vram")
            .zip(bytes("size").filter(|size| *size > 0))
            .map(|(graphics, size)| graphics.saturating_mul(100) / size);
    }
}
