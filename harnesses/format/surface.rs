//! The tool surface of a harness, read from its `tools.json`.
//!
//! An entry is `{"name", "description", "short"?, "from"?, "parameters"}`. `short` replaces the
//! description below size full; `from` is the smallest size that shows the tool (default `tiny`).
//! Descriptions of properties are shown from compact on; names, types and order never change.
//! An entry without `parameters` takes free text in the grammar of the harness.

use super::fill_facts;
use crate::harnesses::{CallError, Context, Size};
use crate::model::{ToolInput, ToolSpec};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Entry {
    name: String,
    description: String,
    short: Option<String>,
    #[serde(default = "tiny")]
    from: Size,
    parameters: Option<Value>,
}

fn tiny() -> Size {
    Size::Tiny
}

fn entries(json: &str) -> Vec<Entry> {
    serde_json::from_str(json).expect("tools.json is part of the program and read by its tests")
}

/// The tools of that surface that are shown at the session's size, and the names of the others.
/// `grammar` is that of the freeform tools.
pub fn tools(json: &str, grammar: &str, cx: &Context) -> (Vec<ToolSpec>, Vec<String>) {
    let (shown, hidden): (Vec<_>, Vec<_>) = entries(json)
        .into_iter()
        .partition(|entry| cx.size >= entry.from);
    let tools = shown.into_iter().map(|entry| {
        let words = entry
            .short
            .filter(|_| cx.size < Size::Full)
            .unwrap_or(entry.description);
        let input = match entry.parameters {
            Some(mut schema) => {
                if cx.size == Size::Tiny {
                    strip(&mut schema);
                }
                ToolInput::Function(schema)
            }
            None => ToolInput::Freeform {
                grammar: grammar.to_owned(),
            },
        };
        ToolSpec {
            name: entry.name,
            description: fill_facts(&words, cx, &[]),
            input,
        }
    });
    (
        tools.collect(),
        hidden.into_iter().map(|entry| entry.name).collect(),
    )
}

/// Takes the descriptions out of a schema. A property that is itself named `description` stays.
fn strip(schema: &mut Value) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    object.shift_remove("description");
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        properties.values_mut().for_each(strip);
    }
    if let Some(items) = object.get_mut("items") {
        strip(items);
    }
}

/// How a call of `tool` looks: `{"path": string, "limit"?: number}`.
pub fn expected(json: &str, tool: &str) -> String {
    entries(json)
        .into_iter()
        .find(|entry| entry.name == tool)
        .and_then(|entry| entry.parameters)
        .map_or_else(|| "free text".into(), |schema| shape(&schema))
}

/// The error for a tool that this surface does not have.
pub fn unknown(json: &str, name: &str) -> CallError {
    CallError::UnknownTool {
        name: name.to_owned(),
        available: entries(json).into_iter().map(|entry| entry.name).collect(),
        nearest: Vec::new(),
    }
}

fn shape(schema: &Value) -> String {
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let values: Vec<String> = values.iter().map(Value::to_string).collect();
        return values.join(" | ");
    }
    if let Some(items) = schema.get("items") {
        return format!("[{}]", shape(items));
    }
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return schema
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or("any")
            .to_owned();
    };
    let required = schema.get("required").and_then(Value::as_array);
    let fields: Vec<String> = properties
        .iter()
        .map(|(name, schema)| {
            let must = required.is_some_and(|list| list.iter().any(|r| r == name));
            let mark = if must { "" } else { "?" };
            format!("\"{name}\"{mark}: {}", shape(schema))
        })
        .collect();
    format!("{{{}}}", fields.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_shape_is_short() {
        let schema = json!({"type": "object", "properties": {
            "plan": {"type": "array", "items": {"type": "object", "properties": {
                "status": {"type": "string", "enum": ["a", "b"]}}, "required": ["status"]}},
            "why": {"type": "string"}}, "required": ["plan"]});
        assert_eq!(
            shape(&schema),
            r#"{"plan": [{"status": "a" | "b"}], "why"?: string}"#
        );
    }

    #[test]
    fn stripping_keeps_a_property_named_description() {
        let mut schema = json!({"description": "x", "properties": {
            "description": {"type": "string", "description": "y"}}});
        strip(&mut schema);
        assert_eq!(
            schema,
            json!({"properties": {"description": {"type": "string"}}})
        );
    }
}
