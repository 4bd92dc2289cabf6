//! JSON values as calls: the many keys and wrappers that models use.

use super::Written;
use crate::model::ToolSpec;
use crate::model::arguments::names;
use serde_json::{Map, Value};

/// Keys that hold the tool's name.
const NAMES: &[&str] = &[
    "name",
    "tool",
    "tool_name",
    "function",
    "function_name",
    "action",
    "recipient_name",
];

/// Keys that hold the arguments.
const ARGUMENTS: &[&str] = &[
    "arguments",
    "args",
    "parameters",
    "params",
    "input",
    "tool_input",
    "action_input",
    "kwargs",
];

/// How deep wrappers may be nested.
const DEPTH: usize = 4;

/// The calls that a value stands for; `None` when it is data.
pub(super) fn calls(value: &Value, tools: &[ToolSpec]) -> Option<Vec<Written>> {
    let mut calls = read(value, tools, DEPTH)?;
    if let [only] = calls.as_mut_slice() {
        only.raw = value.to_string();
    }
    Some(calls)
}

fn read(value: &Value, tools: &[ToolSpec], depth: usize) -> Option<Vec<Written>> {
    let depth = depth.checked_sub(1)?;
    match value {
        Value::Array(items) if !items.is_empty() => {
            let mut all = Vec::new();
            for item in items {
                all.extend(read(item, tools, depth)?);
            }
            all.iter_mut().for_each(|call| call.parallel = true);
            Some(all)
        }
        Value::Object(object) => {
            let wrapped = ["tool_calls", "function", "function_call", "tool_call"]
                .iter()
                .find_map(|key| object.get(*key).filter(|v| v.is_object() || v.is_array()));
            match wrapped {
                Some(inner) => read(inner, tools, depth),
                None => named(object, tools)
                    .or_else(|| keyed(object, tools))
                    .or_else(|| nameless(object, tools))
                    .map(|call| vec![call]),
            }
        }
        _ => None,
    }
}

/// `{"name": …, "arguments": …}`, or `{"tool": …}` with the arguments beside the name.
fn named(object: &Map<String, Value>, tools: &[ToolSpec]) -> Option<Written> {
    let (key, name) = NAMES
        .iter()
        .find_map(|key| Some((*key, object.get(*key)?.as_str()?)))?;
    let holder = ARGUMENTS.iter().find(|key| object.contains_key(**key));
    if let Some(arguments) = holder.and_then(|key| object.get(*key)) {
        return (!is_declaration(object, arguments)).then(|| Written {
            explicit: true,
            ..written(name, arguments)
        });
    }
    let tool = tools.iter().find(|t| t.name == name)?;
    let rest = object
        .iter()
        .filter(|(k, _)| {
            *k != key && !(*k == "type" && object.get("type") == Some(&"function".into()))
        })
        .map(|(k, v)| (k.clone(), v.clone()))
        .collect::<Map<_, _>>();
    let schema = tool.schema();
    rest.keys()
        .all(|k| {
            schema
                .pointer("/properties")
                .is_some_and(|p| p.get(k).is_some())
        })
        .then(|| written(name, &Value::Object(rest)))
}

/// The description of a tool, as in a list of tools, is not a call of it.
fn is_declaration(object: &Map<String, Value>, arguments: &Value) -> bool {
    arguments.get("type") == Some(&"object".into()) && arguments.get("properties").is_some()
        || object.contains_key("description") && arguments.get("properties").is_some()
}

/// `{"read_file": {"path": …}}`.
fn keyed(object: &Map<String, Value>, tools: &[ToolSpec]) -> Option<Written> {
    let (name, arguments) = object.iter().next().filter(|_| object.len() == 1)?;
    let offered = tools.iter().any(|t| t.name == *name);
    (offered && arguments.is_object()).then(|| Written {
        explicit: true,
        ..written(name, arguments)
    })
}

/// Arguments alone, when one single tool takes them and it only reads.
fn nameless(object: &Map<String, Value>, tools: &[ToolSpec]) -> Option<Written> {
    let mut fitting = tools.iter().filter(|tool| takes(tool, object));
    let tool = fitting.next().filter(|_| fitting.next().is_none())?;
    names::reads_only(&tool.name).then(|| Written {
        guessed: true,
        ..written(&tool.name, &Value::Object(object.clone()))
    })
}

/// True when a tool knows every key of `object`, and `object` has all that the tool must have.
pub(super) fn takes(tool: &ToolSpec, object: &Map<String, Value>) -> bool {
    let schema = tool.schema();
    let properties = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array);
    let mut needed = required.into_iter().flatten();
    properties.is_some_and(|p| object.keys().all(|k| p.contains_key(k)))
        && needed.all(|key| key.as_str().is_some_and(|key| object.contains_key(key)))
        && required.is_some_and(|r| !r.is_empty())
}

/// A call from its parts; a string of JSON stays as it is.
fn written(name: &str, arguments: &Value) -> Written {
    let arguments = match arguments {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    Written {
        id: None,
        name: name.to_owned(),
        raw: format!("{}{arguments}", Value::from(name)),
        arguments,
        parallel: false,
        explicit: false,
        guessed: false,
    }
}
