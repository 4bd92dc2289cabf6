//! llama.cpp's `llama-server`: one model, or a router over several.

use super::ask::{Ask, LOAD, PROBE, QUERY, entries, text, tokens};
use super::{ModelInfo, vllm};
use crate::cancel::Cancel;
use crate::model::ModelError;
use crate::model::provider::with_query;
use serde_json::Value;
use std::thread;
use std::time::{Duration, Instant};

/// The one model of a plain server, whatever `model` says, since such a server ignores the name;
/// or that model of a router, which loads it now if need be. A server that is still loading is
/// waited for.
pub(super) fn describe(
    ask: &dyn Ask,
    model: &str,
    cancel: &Cancel,
) -> Result<ModelInfo, ModelError> {
    let (props, list) = thread::scope(|s| {
        let list = s.spawn(|| ask.get("/v1/models", QUERY));
        (props(ask, cancel), list.join())
    });
    let (props, list) = (props?, list.ok().and_then(Result::ok).unwrap_or_default());
    if !is_router(&props) {
        return Ok(read_single(&props, &list));
    }
    let Some(entry) = entries(&list, "/data")
        .iter()
        .find(|m| text(m, "/id").as_deref() == Some(model))
    else {
        return Err(ModelError::NoModel {
            model: model.into(),
            message: "the router does not list it".into(),
        });
    };
    let path = with_query("/props", &[("model".into(), model.into())]);
    let mut info = read_entry(entry).unwrap_or_default();
    read_props(&mut info, &ask.get(&path, LOAD)?);
    info.loaded = true;
    Ok(info)
}

/// Tokens that the server has generated for the request that it works on; the least of several, and
/// nothing where it does not tell or does nothing.
pub(super) fn generated(ask: &dyn Ask) -> Option<u64> {
    let slots = ask.get("/slots", PROBE).ok()?;
    let busy = entries(&slots, "")
        .iter()
        .filter(|slot| slot.get("is_processing") == Some(&Value::Bool(true)));
    // Newer builds have a list with one entry, older ones an object.
    busy.filter_map(|slot| {
        let next = slot.get("next_token")?;
        let next = next.get(0).unwrap_or(next);
        next.get("n_decoded")?.as_u64()
    })
    .min()
}

/// The one model, or all of a router.
pub(super) fn models(ask: &dyn Ask, cancel: &Cancel) -> Result<Vec<ModelInfo>, ModelError> {
    let props = props(ask, cancel)?;
    let list = ask.get("/v1/models", QUERY)?;
    if is_router(&props) {
        let models = entries(&list, "/data").iter().filter_map(read_entry);
        return Ok(models.collect());
    }
    Ok(vec![read_single(&props, &list)])
}

/// `/props`, waited for while the server answers 503 because it loads its model.
fn props(ask: &dyn Ask, cancel: &Cancel) -> Result<Value, ModelError> {
    let deadline = Instant::now() + LOAD;
    loop {
        match ask.get("/props", QUERY) {
            Err(ModelError::Status { status: 503, .. }) if Instant::now() < deadline => {
                for _ in 0..5 {
                    if cancel.is_cancelled() {
                        return Err(ModelError::Interrupted);
                    }
                    thread::sleep(Duration::from_millis(50));
                }
            }
            answer => return answer,
        }
    }
}

/// A router has no window of its own: its bare `/props` reports 0.
fn is_router(props: &Value) -> bool {
    text(props, "/role").as_deref() == Some("router")
        || props.pointer("/default_generation_settings/n_ctx") == Some(&Value::from(0))
}

fn read_single(props: &Value, list: &Value) -> ModelInfo {
    let first = entries(list, "/data").first().and_then(vllm::read);
    let mut info = first.unwrap_or_else(|| ModelInfo {
        generates: true,
        ..Default::default()
    });
    if info.id.is_empty() {
        info.id = text(props, "/model_alias")
            .or_else(|| text(props, "/model_path"))
            .unwrap_or_else(|| "default".into());
    }
    info.id = short_name(&info.id).to_string();
    info.quantization = text(list, "/data/0/meta/ftype").or_else(|| text(props, "/model_ftype"));
    read_props(&mut info, props);
    info.loaded = true;
    info
}

/// Without an alias the server calls its model by the path of the file. Any name will do here, and
/// the file's own says more about the model than the folders around it.
fn short_name(id: &str) -> &str {
    match id.strip_suffix(".gguf") {
        Some(path) => path.rsplit(['/', '\\']).next().unwrap_or(path),
        None => id,
    }
}

/// An entry of a router's list.
fn read_entry(entry: &Value) -> Option<ModelInfo> {
    let mut info = vllm::read(entry)?;
    info.loaded = matches!(
        text(entry, "/status/value").as_deref(),
        Some("loaded" | "sleeping")
    );
    Some(info)
}

fn read_props(info: &mut ModelInfo, props: &Value) {
    let flag = |pointer: &str| props.pointer(pointer).and_then(Value::as_bool);
    // The window of one slot: `-np` divides what `-c` gave.
    let window = tokens(props, "/default_generation_settings/n_ctx");
    info.loaded_window = window.or(info.loaded_window);
    info.tools = flag("/chat_template_caps/supports_tools");
    info.vision = flag("/modalities/vision");
}
