//! Calls held in shape by the server: each answer is a JSON object that a schema allows.
//!
//! For models too small to keep to any form of a call. Tools and history stay as they are, so the
//! server's cache holds.

use super::{CallKind, Finish, Reply, ToolCall, ToolSpec};
use serde_json::{Map, Value, json};

/// The name under which the model ends the task.
pub const ANSWER: &str = "final_answer";

/// What the model is told once, when its answers begin to be held in shape.
pub const HOW: &str = "From now on answer with one JSON object: {\"name\": TOOL, \"arguments\": {…}}. When the task is done, use the name final_answer with {\"text\": \"…\"}.";

/// The same for one reply.
pub const HOW_ONCE: &str = "Answer with one JSON object: {\"name\": TOOL, \"arguments\": {…}} for the next step, or, when the task is done, {\"name\": \"final_answer\", \"arguments\": {\"text\": \"…\"}} with a sentence about what was done.";

/// The schema of an answer: one of the tools with its own arguments, or with `may_end` the final
/// answer. A small model takes the way out when it is offered one before its first step.
pub fn schema(tools: &[ToolSpec], may_end: bool) -> Value {
    let answer = json!({
        "type": "object",
        "properties": {"text": {"type": "string", "minLength": 1}},
        "required": ["text"],
    });
    let tools = tools
        .iter()
        .map(|tool| (tool.name.as_str(), outline(&tool.schema())));
    let end = may_end.then_some((ANSWER, answer));
    let choices = tools.chain(end).map(|(name, arguments)| {
        json!({
            "type": "object",
            "properties": {"name": {"const": name}, "arguments": arguments},
            "required": ["name", "arguments"],
            "additionalProperties": false,
        })
    });
    json!({"anyOf": choices.collect::<Vec<_>>()})
}

/// A schema with nothing but what every server can turn into a grammar.
fn outline(schema: &Value) -> Value {
    let Some(object) = schema.as_object() else {
        return json!({});
    };
    let mut out = Map::new();
    for (key, value) in object {
        let kept = match (key.as_str(), value) {
            ("type" | "enum" | "required", _) => value.clone(),
            ("items", _) => outline(value),
            ("properties", Value::Object(inner)) => {
                let inner = inner.iter().map(|(k, v)| (k.clone(), outline(v)));
                Value::Object(inner.collect())
            }
            _ => continue,
        };
        out.insert(key.clone(), kept);
    }
    Value::Object(out)
}

/// Turns the JSON text of a reply into its call or its final answer. False when the reply is
/// nothing of the kind, or was cut.
pub fn decode(reply: &mut Reply) -> bool {
    let said = &mut reply.assistant;
    if !said.calls.is_empty() || reply.finish != Finish::Stop {
        return false;
    }
    let Ok(answer) = serde_json::from_str::<Value>(&said.text) else {
        return false;
    };
    let Some(name) = answer.get("name").and_then(Value::as_str) else {
        return false;
    };
    let arguments = answer.get("arguments").cloned().unwrap_or(json!({}));
    if name == ANSWER {
        let first = arguments.as_object().and_then(|a| a.values().next());
        let text = first.and_then(Value::as_str).unwrap_or_default();
        said.text = text.to_owned();
        return true;
    }
    said.calls = vec![ToolCall {
        id: String::new(),
        name: name.to_owned(),
        arguments: arguments.to_string(),
        kind: CallKind::Function,
        recovered: false,
    }];
    said.text.clear();
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::arguments::tests::tools;
    use crate::model::{Assistant, Timing};

    fn decoded(text: &str, finish: Finish) -> Option<Assistant> {
        let mut reply = Reply {
            assistant: Assistant {
                text: text.into(),
                ..Assistant::default()
            },
            finish,
            usage: None,
            timing: Timing::default(),
        };
        decode(&mut reply).then_some(reply.assistant)
    }

    #[test]
    fn an_answer_is_a_call_or_the_end() {
        let call = decoded(
            r#"{"name":"bash","arguments":{"command":"ls"}}"#,
            Finish::Stop,
        );
        let call = call.expect("a call");
        assert_eq!(call.calls[0].arguments, r#"{"command":"ls"}"#);
        assert_eq!(call.text, "");
        let end = decoded(
            r#"{"name":"final_answer","arguments":{"text":"Done."}}"#,
            Finish::Stop,
        );
        assert_eq!(end.expect("an answer").text, "Done.");
        assert_eq!(
            decoded(r#"{"name":"bash","arguments":{"#, Finish::Length),
            None
        );
        assert_eq!(decoded("Done.", Finish::Stop), None);
        let before = schema(&tools(), false);
        assert!(!before.to_string().contains(ANSWER));
        let schema = schema(&tools(), true);
        let choices = schema["anyOf"].as_array().expect("choices");
        assert_eq!(choices.len(), tools().len() + 1);
        assert_eq!(
            choices[0]["properties"],
            json!({
                "name": {"const": "read_file"},
                "arguments": {
                    "type": "object",
                    "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}},
                    "required": ["path"],
                },
            })
        );
        let end = &choices[choices.len() - 1]["properties"]["name"]["const"];
        assert_eq!(end, ANSWER);
    }
}
