//! The input of a freeform tool: one text, whatever a model wraps it in.

use super::CallError;
use super::{Settled, json};
use crate::model::{CallKind, Finish, ToolCall};
use serde_json::Value;

/// The last line of a patch: a text that ends with it is whole.
const PATCH_END: &str = "*** End Patch";

/// Keys under which models send the text of a freeform tool.
const KEYS: &[&str] = &["input", "patch", "text", "content", "command", "arguments"];

/// Settles a call of a freeform tool: the plain text without JSON around it. Nothing is added.
pub(super) fn settle(call: ToolCall, finish: &Finish) -> Settled {
    let unwrapped = unwrap(&call.arguments, &call.name, *finish == Finish::Stop);
    let repaired = unwrapped.is_some() && call.kind == CallKind::Freeform;
    let text = unwrapped.unwrap_or_else(|| call.arguments.clone());
    let cut =
        matches!(finish, Finish::Length | Finish::Cut) && !text.trim_end().ends_with(PATCH_END);
    let call = ToolCall {
        arguments: text,
        kind: CallKind::Freeform,
        ..call
    };
    if cut {
        let tool = call.name.clone();
        return Settled::broken(call, CallError::CutOff { tool });
    }
    Settled {
        repaired: repaired.then_some("arguments"),
        ..Settled::sound(call)
    }
}

/// The text inside `{"input": "…"}`, `["apply_patch", "…"]`, `{"command": ["apply_patch", "…"]}`
/// or a JSON string; `None` when it is not wrapped.
fn unwrap(text: &str, tool: &str, complete: bool) -> Option<String> {
    if !text.trim_start().starts_with(['{', '[', '"']) {
        return None;
    }
    let read = json::read(text.trim(), complete)?;
    inner(&read.value, tool, 0)
}

fn inner(value: &Value, tool: &str, depth: usize) -> Option<String> {
    match value {
        Value::String(text) => Some(unwrap_again(text, tool, depth)),
        Value::Array(items) => match items.as_slice() {
            [Value::String(name), Value::String(text)] if name == tool => Some(text.clone()),
            [
                Value::String(shell),
                Value::String(flag),
                Value::String(script),
            ] if flag.starts_with('-') && shell.ends_with("sh") => Some(script.clone()),
            [one] if depth < 3 => inner(one, tool, depth + 1),
            _ => None,
        },
        Value::Object(object) if depth < 3 => {
            let (_, value) = object
                .iter()
                .find(|(key, _)| KEYS.contains(&key.as_str()))
                .or_else(|| object.iter().next().filter(|_| object.len() == 1))?;
            inner(value, tool, depth + 1)
        }
        _ => None,
    }
}

/// A text that is itself wrapped once more.
fn unwrap_again(text: &str, tool: &str, depth: usize) -> String {
    let wrapped = depth < 3 && text.trim_start().starts_with(['{', '[', '"']);
    wrapped
        .then(|| serde_json::from_str::<Value>(text).ok())
        .flatten()
        .and_then(|value| inner(&value, tool, depth + 1))
        .unwrap_or_else(|| text.to_owned())
}
