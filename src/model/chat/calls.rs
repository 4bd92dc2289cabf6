//! Tool calls on their way out and back: ids, arguments, freeform tools shown as functions.

use super::super::{CallKind, ToolCall, ToolSpec};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::borrow::Cow;

/// The longest id that every server takes.
const MAX_ID: usize = 64;

/// An id as every server takes it: letters, digits, `_` and `-`, at most 64 of them. Another id
/// becomes its usable beginning and a hash of the whole, so that two never become one. The ids of
/// Kimi K2 stay as they are: the model goes by them, and its servers take them.
pub fn safe_id(id: &str) -> Cow<'_, str> {
    let usable = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let numbered = |rest: &str| {
        let parts = rest.rsplit_once(':');
        parts.is_some_and(|(name, number)| {
            name.chars().all(usable) && number.chars().all(|c| c.is_ascii_digit())
        })
    };
    let kimi = id.strip_prefix("functions.").is_some_and(numbered);
    if !id.is_empty() && id.len() <= MAX_ID && (kimi || id.chars().all(usable)) {
        return Cow::Borrowed(id);
    }
    let hash = Sha256::digest(id.as_bytes());
    let hash: String = hash
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let start = id.chars().map(|c| if usable(c) { c } else { '_' });
    let start: String = start.take(MAX_ID - 1 - hash.len()).collect();
    Cow::Owned(format!("{start}_{hash}"))
}

/// An id for a call that came without one.
pub fn new_id() -> String {
    format!("call_{}", uuid::Uuid::now_v7().simple())
}

/// The arguments of a past call as a JSON object in text, which is what servers insist on. The
/// model's own bytes are kept wherever they are one, since the server's cache holds them.
pub fn arguments(call: &ToolCall) -> Cow<'_, str> {
    match call.kind {
        CallKind::Freeform => Cow::Owned(wrapped("input", &call.arguments)),
        CallKind::Function if call.arguments.trim().is_empty() => Cow::Borrowed("{}"),
        CallKind::Function => match serde_json::from_str::<Map<String, Value>>(&call.arguments) {
            Ok(_) => Cow::Borrowed(&call.arguments),
            Err(_) => Cow::Owned(wrapped("invalid_json", &call.arguments)),
        },
    }
}

fn wrapped(key: &str, text: &str) -> String {
    Value::from(Map::from_iter([(key.to_owned(), text.into())])).to_string()
}

/// A call as it was read, before it goes into a reply: freeform input is unwrapped, and a missing
/// or doubled id is made up.
pub fn finish(mut call: ToolCall, tools: &[ToolSpec], earlier: &[ToolCall]) -> ToolCall {
    if call.id.is_empty() || earlier.iter().any(|other| other.id == call.id) {
        call.id = new_id();
    }
    let spec = tools.iter().find(|tool| tool.name == call.name);
    if spec.is_some_and(|tool| tool.kind() == CallKind::Freeform) {
        call.kind = CallKind::Freeform;
        call.arguments = unwrapped(call.arguments);
    }
    call
}

/// The text of a freeform call: an object with `input`, a bare JSON string, or the text itself.
fn unwrapped(arguments: String) -> String {
    match serde_json::from_str::<Value>(&arguments) {
        Ok(Value::String(text)) => text,
        Ok(Value::Object(mut map)) => match map.remove("input") {
            Some(Value::String(text)) => text,
            _ => arguments,
        },
        _ => arguments,
    }
}

/// True when the arguments can be used: for calls of a stream that was cut.
pub fn is_complete(arguments: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(arguments).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_fit_everywhere_and_stay_apart() {
        assert_eq!(safe_id("call_a-1"), "call_a-1");
        assert_eq!(safe_id("functions.read:0"), "functions.read:0");
        let long = "x".repeat(400);
        for id in ["", "a.b", "a:b", "é", &long, &"x".repeat(401)] {
            let safe = safe_id(id);
            assert!(safe.len() <= 64, "{safe}");
            assert_eq!(safe_id(&safe), safe);
        }
        assert_ne!(safe_id("a.b"), safe_id("a:b"));
        assert_ne!(safe_id(&long), safe_id(&"x".repeat(401)));
        assert_ne!(new_id(), new_id());
    }

    #[test]
    fn history_is_always_a_json_object() {
        let call = |kind, arguments: &str| ToolCall {
            id: "1".into(),
            name: "t".into(),
            arguments: arguments.into(),
            kind,
            recovered: false,
        };
        let text = |kind, arguments| arguments_of(&call(kind, arguments));
        assert_eq!(
            text(CallKind::Function, "{ \"b\":1,\"a\" : 2}"),
            "{ \"b\":1,\"a\" : 2}"
        );
        assert_eq!(text(CallKind::Function, " "), "{}");
        assert_eq!(
            text(CallKind::Function, "{\"a\":"),
            r#"{"invalid_json":"{\"a\":"}"#
        );
        assert_eq!(text(CallKind::Function, "[1]"), r#"{"invalid_json":"[1]"}"#);
        assert_eq!(text(CallKind::Freeform, "*** x"), r#"{"input":"*** x"}"#);
    }

    fn arguments_of(call: &ToolCall) -> String {
        arguments(call).into_owned()
    }

    #[test]
    fn freeform_input_comes_in_three_forms() {
        for text in [r#"{"input":"a\nb"}"#, r#""a\nb""#, "a\nb"] {
            assert_eq!(unwrapped(text.to_owned()), "a\nb");
        }
    }
}
