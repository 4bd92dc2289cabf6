//! Fields that a server refuses by name: the request is sent again without them, and they are
//! left out from then on.

use crate::model::ModelError;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

/// Fields that a request can do without.
const OPTIONAL: [&str; 22] = [
    "stream_options",
    "max_completion_tokens",
    "max_tokens",
    "max_output_tokens",
    "parallel_tool_calls",
    "prompt_cache_key",
    "reasoning_effort",
    "reasoning",
    "thinking",
    "enable_thinking",
    "output_config",
    "include",
    "store",
    "tool_stream",
    "tool_choice",
    "temperature",
    "top_p",
    "top_k",
    "seed",
    "stop",
    "cache_prompt",
    "return_progress",
];

/// Words of a server that does not know a field, or not here.
const REFUSALS: [&str; 13] = [
    "unsupported",
    "not support",
    "unknown",
    "unrecognized",
    "unexpected",
    "not permitted",
    "not allowed",
    "cannot find field",
    "not recognized",
    "no longer",
    "deprecated",
    "is not available",
    "invalid parameter",
];

/// The most fields that one request may lose.
pub(super) const MOST: usize = 4;

/// Where and which model.
pub(super) type Place = (String, String);

static LEARNT: LazyLock<Mutex<HashMap<Place, Vec<&'static str>>>> = LazyLock::new(Mutex::default);

fn learnt() -> std::sync::MutexGuard<'static, HashMap<Place, Vec<&'static str>>> {
    LEARNT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes away what this server has refused for this model before.
pub(super) fn strip(place: &Place, body: &mut Map<String, Value>) {
    for field in learnt().get(place).into_iter().flatten() {
        take(field, body);
    }
}

/// The field that the error is about, taken from the body and remembered; `None` when it is about
/// anything else.
pub(super) fn drop_refused(
    place: &Place,
    error: &ModelError,
    body: &mut Map<String, Value>,
) -> Option<&'static str> {
    let ModelError::Status {
        status: 400 | 422,
        message,
        ..
    } = error
    else {
        return None;
    };
    let field = refused(message, body)?;
    take(field, body);
    learnt().entry(place.clone()).or_default().push(field);
    Some(field)
}

/// The limit of a reply has two names, of which a server wants one.
fn take(field: &str, body: &mut Map<String, Value>) {
    let other = match field {
        "max_tokens" => "max_completion_tokens",
        "max_completion_tokens" => "max_tokens",
        _ => "",
    };
    let Some(value) = body.shift_remove(field) else {
        return;
    };
    // Only the chat wire has both.
    if !other.is_empty() && !body.contains_key("system") {
        body.entry(other).or_insert(value);
    }
}

/// The optional field of `body` that a message names as the culprit: the one that is named first.
fn refused(message: &str, body: &Map<String, Value>) -> Option<&'static str> {
    let lower = message.to_lowercase();
    if !REFUSALS.iter().any(|word| lower.contains(word)) {
        return None;
    }
    let named = OPTIONAL.iter().filter(|field| body.contains_key(**field));
    let found = named.filter_map(|field| Some((position(&lower, field)?, *field)));
    found.min().map(|(_, field)| field)
}

/// Where `word` stands in `text` as a word of its own.
fn position(text: &str, word: &str) -> Option<usize> {
    let inside = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(word)
        .find(|(at, _)| {
            let before = text[..*at].chars().next_back();
            let after = text[at + word.len()..].chars().next();
            !before.is_some_and(inside) && !after.is_some_and(inside)
        })
        .map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn body() -> Map<String, Value> {
        let body = json!({"model": "m", "max_tokens": 5, "stream_options": {}, "reasoning_effort": "low",
            "prompt_cache_key": "k", "temperature": 0.5, "messages": []});
        body.as_object().unwrap().clone()
    }

    /// Words of OpenAI, Mistral, Gemini, Anthropic, Groq and vLLM.
    #[test]
    fn the_field_that_a_server_names_is_found() {
        for (message, field) in [
            (
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
                Some("max_tokens"),
            ),
            (
                "Unsupported value: 'temperature' does not support 0.5 with this model.",
                Some("temperature"),
            ),
            (
                "Extra inputs are not permitted: stream_options",
                Some("stream_options"),
            ),
            (
                "Invalid JSON payload received. Unknown name \"prompt_cache_key\": Cannot find field.",
                Some("prompt_cache_key"),
            ),
            (
                "property 'reasoning_effort' is unsupported",
                Some("reasoning_effort"),
            ),
            ("reasoning is not supported", None),
            ("messages: unknown role", None),
            ("temperature must be between 0 and 1", None),
            ("model `m` is unsupported", None),
        ] {
            assert_eq!(refused(message, &body()), field, "{message}");
        }
    }

    #[test]
    fn what_was_refused_once_is_left_out_from_then_on() {
        let place = ("http://optional.test".to_owned(), "m".to_owned());
        let error = |message: &str| ModelError::Status {
            url: String::new(),
            status: 400,
            message: message.into(),
            retry_after: None,
        };
        let mut first = body();
        let refusal = error("Unsupported parameter: 'max_tokens'");
        assert_eq!(
            drop_refused(&place, &refusal, &mut first),
            Some("max_tokens")
        );
        assert_eq!(
            (first.get("max_tokens"), &first["max_completion_tokens"]),
            (None, &json!(5))
        );
        let mut second = body();
        strip(&place, &mut second);
        assert_eq!(second, first);
        let mut elsewhere = body();
        strip(
            &("http://other.test".to_owned(), "m".to_owned()),
            &mut elsewhere,
        );
        assert_eq!(elsewhere, body());
        assert_eq!(drop_refused(&place, &error("bad key"), &mut first), None);
    }
}
