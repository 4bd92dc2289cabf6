//! The tool surface of a harness, read from its `tools.json`.
//!
//! An entry is `{"name", "description", "short"?, "from"?, "parameters"}`. `short` replaces the
//! description below size full; `from` is the smallest size that shows the tool (default `tiny`).
//! Descriptions of properties are shown from compact on; names, types and order never change.
//! An entry without `parameters` takes free text in the grammar of the harness.

use super::fill_facts;
use crate::harnesses::{CallError, Context, Size};
use crate::model::arguments;
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
        .map_or_else(|| "free text".into(), |schema| arguments::expected(&schema))
}

/// The error for a tool that this surface does not have.
pub fn unknown(json: &str, name: &str) -> CallError {
    CallError::UnknownTool {
        name: name.to_owned(),
        available: entries(json).into_iter().map(|entry| entry.name).collect(),
        nearest: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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
