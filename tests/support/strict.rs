//! What a strict server refuses, per wire, and how to look into a request.

use serde_json::Value;
use std::collections::BTreeSet;

/// The tools of a request: name and schema, whatever the wire.
pub fn tools(body: &Value) -> Vec<(String, Value)> {
    let list = body["tools"].as_array().cloned().unwrap_or_default();
    list.iter()
        .map(|t| {
            let inner = if t["function"].is_object() {
                &t["function"]
            } else {
                t
            };
            let schema = if inner["parameters"].is_object() {
                &inner["parameters"]
            } else {
                &inner["input_schema"]
            };
            (
                inner["name"].as_str().unwrap_or_default().to_owned(),
                schema.clone(),
            )
        })
        .collect()
}

/// All strings of a request, for a search.
pub fn all_text(value: &Value) -> String {
    match value {
        Value::String(s) => s.clone(),
        Value::Array(list) => list.iter().map(all_text).collect::<Vec<_>>().join("\n"),
        Value::Object(map) => map.values().map(all_text).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

/// True when the last words of a request ask for a summary, in whichever harness.
pub fn asks_for_summary(path: &str, body: &Value) -> bool {
    let list = if path == "/v1/responses" {
        &body["input"]
    } else {
        &body["messages"]
    };
    let last = list.as_array().and_then(|l| l.last());
    let text = last.map(all_text).unwrap_or_default();
    [
        "conversation is about to be cut",
        "another model will take over",
    ]
    .iter()
    .any(|words| text.contains(words))
}

/// The conversation of a request as a sequence of parts, for the prefix rule: role and content of
/// each piece, cache marks aside. System text and tools come first.
pub fn parts(path: &str, body: &Value) -> Vec<String> {
    let mut out = vec![
        strip_marks(&body["system"]).to_string(),
        body["instructions"].to_string(),
        body["tools"].to_string(),
    ];
    let list = if path == "/v1/responses" {
        &body["input"]
    } else {
        &body["messages"]
    };
    for message in list.as_array().into_iter().flatten() {
        let role = message["role"]
            .as_str()
            .unwrap_or_else(|| message["type"].as_str().unwrap_or_default());
        match &message["content"] {
            Value::Array(content) => {
                out.extend(content.iter().map(|c| format!("{role} {}", strip_marks(c))))
            }
            // Neighbouring texts of one role are joined by the wire; a blank line divides them.
            Value::String(text) if role == "user" => {
                out.extend(text.split("\n\n").map(|t| format!("user {t}")))
            }
            _ => out.push(format!("{role} {message}")),
        }
        if message["content"].is_string() && role == "assistant" {
            out.push(format!("assistant calls {}", message["tool_calls"]));
        }
    }
    out
}

fn strip_marks(value: &Value) -> Value {
    let mut value = value.clone();
    match &mut value {
        Value::Array(list) => list.iter_mut().for_each(|v| *v = strip_marks(v)),
        Value::Object(map) => {
            map.remove("cache_control");
        }
        _ => {}
    }
    value
}

/// Refuses what the real servers of a wire refuse.
pub fn check(path: &str, body: &Value) -> Result<(), String> {
    for (name, schema) in tools(body) {
        let legal = !name.is_empty()
            && name.len() <= 64
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        if !legal {
            return Err(format!("tool name `{name}`"));
        }
        if !schema["properties"].is_object() && body["tools"][0]["type"] != "custom" {
            return Err(format!("tool `{name}` has no schema with properties"));
        }
    }
    match path {
        "/v1/responses" => responses(body),
        "/v1/messages" => messages(body),
        "/api/chat" => chat(body, true),
        _ => chat(body, false),
    }
}

fn chat(body: &Value, ollama: bool) -> Result<(), String> {
    let messages = body["messages"].as_array().ok_or("no messages")?;
    let mut open: Vec<String> = Vec::new();
    for (at, m) in messages.iter().enumerate() {
        let role = m["role"].as_str().unwrap_or_default();
        if (role == "system") != (at == 0 && messages[0]["role"] == "system") {
            return Err(format!("message {at} has role system"));
        }
        if !["system", "user", "assistant", "tool"].contains(&role) {
            return Err(format!("message {at} has role {role}"));
        }
        if role != "tool" && !open.is_empty() {
            return Err(format!("calls {open:?} have no result before message {at}"));
        }
        if ollama && !m["content"].is_string() {
            return Err(format!("message {at} has content that is not a string"));
        }
        match role {
            "tool" => {
                let id = m["tool_call_id"].as_str().unwrap_or_default();
                if open.first().map(String::as_str) != Some(id) {
                    return Err(format!("the result for {id} is out of order: {open:?}"));
                }
                open.remove(0);
            }
            "assistant" => {
                for call in m["tool_calls"].as_array().into_iter().flatten() {
                    let arguments = &call["function"]["arguments"];
                    let object = match arguments {
                        Value::String(text) if !ollama => {
                            serde_json::from_str::<Value>(text).is_ok_and(|v| v.is_object())
                        }
                        other => ollama && other.is_object(),
                    };
                    if !object {
                        return Err(format!("arguments {arguments} are not a JSON object"));
                    }
                    open.push(call["id"].as_str().unwrap_or_default().to_owned());
                }
                let empty = m["content"].as_str().is_none_or(str::is_empty);
                if empty && m["tool_calls"].as_array().is_none_or(Vec::is_empty) {
                    return Err(format!("message {at} of the assistant is empty"));
                }
            }
            "user" if at > 0 && messages[at - 1]["role"] == "user" => {
                return Err(format!("message {at} is a second user message in a row"));
            }
            _ => {}
        }
    }
    if !open.is_empty() {
        return Err(format!("calls {open:?} have no result"));
    }
    last_is(messages, &["user", "tool"])
}

fn responses(body: &Value) -> Result<(), String> {
    let input = body["input"].as_array().ok_or("no input")?;
    let mut open = BTreeSet::new();
    for item in input {
        if item.get("id").is_some() {
            return Err("an item has an id that this server never stored".into());
        }
        match item["type"].as_str().unwrap_or_default() {
            "function_call" => {
                let arguments = item["arguments"].as_str().unwrap_or_default();
                if !serde_json::from_str::<Value>(arguments).is_ok_and(|v| v.is_object()) {
                    return Err(format!("arguments {arguments} are not a JSON object"));
                }
                open.insert(item["call_id"].to_string());
            }
            "function_call_output" if !open.remove(&item["call_id"].to_string()) => {
                return Err("an output without its call".into());
            }
            "message" if !open.is_empty() => {
                return Err("a message between a call and its output".into());
            }
            _ => {}
        }
    }
    if open.is_empty() {
        Ok(())
    } else {
        Err(format!("no output for {open:?}"))
    }
}

fn messages(body: &Value) -> Result<(), String> {
    if !body["max_tokens"].is_u64() {
        return Err("max_tokens is missing".into());
    }
    let messages = body["messages"].as_array().ok_or("no messages")?;
    let mut open: Vec<String> = Vec::new();
    for (at, m) in messages.iter().enumerate() {
        let role = m["role"].as_str().unwrap_or_default();
        // Neighbouring messages of the user are legal; neighbouring ones of the assistant are not.
        let before = at.checked_sub(1).map_or("assistant", |n| {
            messages[n]["role"].as_str().unwrap_or_default()
        });
        if !["user", "assistant"].contains(&role)
            || (role == "assistant" && before == role)
            || (at == 0 && role != "user")
        {
            return Err(format!("message {at} has role {role}"));
        }
        let blocks = m["content"].as_array().cloned().unwrap_or_default();
        if blocks.is_empty() && m["content"].as_str().is_none_or(str::is_empty) {
            return Err(format!("message {at} is empty"));
        }
        let mut seen_text = false;
        for block in &blocks {
            match block["type"].as_str().unwrap_or_default() {
                "text" if block["text"].as_str().is_none_or(|t| t.trim().is_empty()) => {
                    return Err(format!("an empty text block in message {at}"));
                }
                "text" => seen_text = true,
                "tool_result" if seen_text => {
                    return Err(format!("a tool_result after text in message {at}"));
                }
                "tool_result" => {
                    let id = block["tool_use_id"].as_str().unwrap_or_default();
                    if !open.iter().any(|o| o == id) {
                        return Err(format!("a tool_result for {id}, which was not called"));
                    }
                    open.retain(|o| o != id);
                }
                "tool_use" => {
                    if !block["input"].is_object() {
                        return Err("a tool_use whose input is no object".into());
                    }
                    open.push(block["id"].as_str().unwrap_or_default().to_owned());
                }
                _ => {}
            }
        }
        if role == "user" && !open.is_empty() {
            return Err(format!("no tool_result for {open:?}"));
        }
    }
    last_is(messages, &["user"])
}

fn last_is(messages: &[Value], roles: &[&str]) -> Result<(), String> {
    let role = messages
        .last()
        .and_then(|m| m["role"].as_str())
        .unwrap_or_default();
    if roles.contains(&role) {
        Ok(())
    } else {
        Err(format!("the last message has role `{role}`"))
    }
}
