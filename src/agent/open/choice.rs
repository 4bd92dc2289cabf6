//! Which harness a session has, and in which size.

use super::is_flag;
use crate::agent::record::TurnContext;
use crate::config::Config;
use crate::harnesses::{self, Clues, Harness, Size};
use crate::model::WireApi;
use crate::model::provider::Provider;
use crate::words::nearest;

/// The harness that was named, on the command line, in the session or in the config.
pub(in crate::agent) fn named_harness(
    config: &Config,
    recorded: Option<&TurnContext>,
) -> Result<Option<&'static dyn Harness>, String> {
    let recorded = recorded
        .filter(|_| !is_flag(&config.harness.source))
        .map(|r| r.harness.clone());
    let Some(id) = recorded.or_else(|| config.harness.value.clone()) else {
        return Ok(None);
    };
    // An empty name pins the native harness, as users of the original know it.
    let id = if id.is_empty() { "native" } else { id.as_str() };
    known_harness(id).map(Some)
}

/// The harness that the config has for this model.
pub(super) fn own_harness(
    config: &Config,
    model: &str,
) -> Result<Option<&'static dyn Harness>, String> {
    let id = config.model_harness.get(model);
    id.map(|id| known_harness(id).map_err(|e| format!("model_harness of {model}: {e}")))
        .transpose()
}

/// Models for which the config has a harness that needs no tool calls.
pub(super) fn text_models(config: &Config) -> Vec<String> {
    let reads_text = |id: &str| harnesses::by_id(id).is_some_and(|h| h.reads_text());
    let rows = config.model_harness.iter();
    rows.filter(|(_, id)| reads_text(id))
        .map(|(model, _)| model.clone())
        .collect()
}

/// The harness of that id.
///
/// # Errors
/// A sentence that names the known ones.
pub fn known_harness(id: &str) -> Result<&'static dyn Harness, String> {
    harnesses::by_id(id).ok_or_else(|| {
        let known: Vec<_> = harnesses::ALL.iter().map(|h| h.id()).collect();
        let near = nearest(id, known.iter().copied())
            .map(|n| format!("did you mean {n}? "))
            .unwrap_or_default();
        format!(
            "there is no harness `{id}`; {near}known are {}",
            known.join(", ")
        )
    })
}

/// The harness for a model when none was named: what the config has for it, else that of its
/// family. `family` is what the server says.
///
/// # Errors
/// When the config names one that does not exist.
pub fn usual_harness(
    config: &Config,
    provider: &Provider,
    model: &str,
    family: Option<&str>,
) -> Result<&'static dyn Harness, String> {
    if let Some(own) = own_harness(config, model)? {
        return Ok(own);
    }
    let id = harnesses::for_model(Clues {
        model,
        family,
        provider_id: &provider.id,
        provider_name: &provider.name,
        base_url: &provider.base_url,
        messages: provider.wire == WireApi::Messages,
    });
    known_harness(id.unwrap_or(harnesses::GENERAL))
}

/// The size of a harness in a new session with so large a window.
pub(in crate::agent) fn size(config: &Config, window: u32) -> Size {
    let named = config.harness_size.as_deref().and_then(Size::from_name);
    named.unwrap_or_else(|| Size::for_window(window))
}
