//! Reading a tool's JSON Schema.

use serde_json::Value;
use std::collections::BTreeSet;

/// How deep a schema is shown to a model.
const SHOWN_DEPTH: usize = 3;

/// The schema as a model reads it best: `{"path": string, "limit"?: number}`.
pub fn expected(schema: &Value) -> String {
    show(schema, SHOWN_DEPTH)
}

fn show(schema: &Value, depth: usize) -> String {
    if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
        return choices
            .iter()
            .map(Value::to_string)
            .collect::<Vec<_>>()
            .join(" | ");
    }
    let shown = choices(schema)
        .iter()
        .filter(|choice| types(choice) != ["null"])
        .map(|choice| show(choice, depth))
        .collect::<BTreeSet<_>>();
    if !shown.is_empty() {
        return shown.into_iter().collect::<Vec<_>>().join(" | ");
    }
    let kinds = types(schema);
    match kinds.as_slice() {
        [] if schema.get("properties").is_none() => "any".into(),
        [] | ["object"] => show_object(schema, depth),
        ["array"] => match schema.get("items") {
            Some(items) => format!("[{}]", show(items, depth)),
            None => "array".into(),
        },
        kinds => kinds.join(" | "),
    }
}

fn show_object(schema: &Value, depth: usize) -> String {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return "object".into();
    };
    if depth == 0 {
        return "object".into();
    }
    let fields = properties
        .iter()
        .map(|(key, property)| {
            let mark = if is_required(schema, key) { "" } else { "?" };
            format!("\"{key}\"{mark}: {}", show(property, depth - 1))
        })
        .collect::<Vec<_>>();
    format!("{{{}}}", fields.join(", "))
}

/// The types that a value may have; empty when the schema does not say.
pub(super) fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => {
            let mut all = Vec::new();
            for choice in choices(schema) {
                let kinds = types(choice);
                if kinds.is_empty() {
                    return kinds;
                }
                all.extend(
                    kinds
                        .into_iter()
                        .filter(|kind| !all.contains(kind))
                        .collect::<Vec<_>>(),
                );
            }
            all
        }
    }
}

/// The schemas of which a value must fit one; empty when there is no such choice.
pub(super) fn choices(schema: &Value) -> &[Value] {
    schema
        .get("anyOf")
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// True when the object must have this key.
pub(super) fn is_required(schema: &Value, key: &str) -> bool {
    required(schema).any(|k| k == key)
}

/// The keys that the object must have.
pub(crate) fn required(schema: &Value) -> impl Iterator<Item = &str> {
    schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

/// True when the schema knows this key.
pub(crate) fn has_property(schema: &Value, key: &str) -> bool {
    schema.get("properties").and_then(|p| p.get(key)).is_some()
}
