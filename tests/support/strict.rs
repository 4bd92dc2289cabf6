//! What a strict server refuses, per wire, and how to look into a request.

use serde_json::{Value, json};
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

/// The conversation of a request in words that are the same on every wire: who says what, calls with
/// their arguments, results. What a model thought is left out.
pub fn conversation(path: &str, body: &Value) -> Vec<String> {
    let list = match path {
        "/v1/responses" => &body["input"],
        _ => &body["messages"],
    };
    let mut out: Vec<String> = Vec::new();
    for message in list.as_array().into_iter().flatten() {
        said(message, &mut out);
    }
    out
}

fn said(message: &Value, out: &mut Vec<String>) {
    let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
    let call = |name: &Value, arguments: &Value| {
        let arguments = match arguments.as_str() {
            Some(text) => serde_json::from_str(text).unwrap_or_else(|_| json!({"input": text})),
            None => arguments.clone(),
        };
        format!("calls {} {arguments}", text(name))
    };
    match message["type"].as_str().unwrap_or_default() {
        "function_call" => return out.push(call(&message["name"], &message["arguments"])),
        "custom_tool_call" => {
            let input = json!({"input": message["input"]});
            return out.push(call(&message["name"], &input));
        }
        "function_call_output" | "custom_tool_call_output" => {
            return out.push(format!("gets {}", all_text(&message["output"])));
        }
        "reasoning" => return,
        _ => {}
    }
    let role = message["role"].as_str().unwrap_or_default();
    let mut speak = |words: &str| match role {
        "system" => {}
        _ if words.is_empty() => {}
        "tool" => out.push(format!("gets {words}")),
        "assistant" => out.push(format!("model: {words}")),
        // Neighbouring words of the person, and of the program, are one message on some wires.
        _ => match out.last_mut() {
            Some(last) if last.starts_with("person: ") => {
                last.push_str("\n\n");
                last.push_str(words);
            }
            _ => out.push(format!("person: {words}")),
        },
    };
    match &message["content"] {
        Value::String(words) => speak(words),
        Value::Array(blocks) => {
            for block in blocks {
                match block["type"].as_str().unwrap_or_default() {
                    "tool_use" => out.push(call(&block["name"], &block["input"])),
                    "tool_result" => out.push(format!("gets {}", all_text(&block["content"]))),
                    "thinking" => {}
                    _ => {
                        let words = text(&block["text"]);
                        said(&json!({"role": role, "content": words}), out);
                    }
                }
            }
        }
        _ => {}
    }
    for sent in message["tool_calls"].as_array().into_iter().flatten() {
        let function = &sent["function"];
        out.push(call(&function["name"], &function["arguments"]));
    }
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
        if !schema["properties"].is_object() && !custom_tools(body).contains(&name) {
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

/// The names of the custom tools of a request.
pub fn custom_tools(body: &Value) -> Vec<String> {
    let list = body["tools"].as_array().into_iter().flatten();
    let custom = list.filter(|t| t["type"] == "custom");
    custom
        .filter_map(|t| t["name"].as_str().map(str::to_owned))
        .collect()
}

/// Whose rules a hosted server has on the chat wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// OpenAI's, as most have them.
    Usual,
    /// DeepSeek's: the old name of the limit, and the thoughts of each reply with calls come back.
    DeepSeek,
}

/// What a hosted provider refuses beside: fields that are not in its API, thoughts without their
/// seal, calls of one kind answered in another, too many cache marks.
pub fn check_hosted(path: &str, body: &Value, api: Api) -> Result<(), String> {
    let known: &[&str] = match path {
        "/v1/responses" => &[
            "model",
            "instructions",
            "tools",
            "tool_choice",
            "parallel_tool_calls",
            "input",
            "max_output_tokens",
            "store",
            "stream",
            "include",
            "reasoning",
            "text",
            "prompt_cache_key",
            "temperature",
            "top_p",
        ],
        "/v1/messages" => &[
            "model",
            "max_tokens",
            "system",
            "tools",
            "messages",
            "stream",
            "thinking",
            "output_config",
            "temperature",
            "top_p",
            "top_k",
            "stop_sequences",
        ],
        _ if api == Api::DeepSeek => &[
            "model",
            "messages",
            "tools",
            "stream",
            "stream_options",
            "max_tokens",
            "temperature",
            "top_p",
            "stop",
            "thinking",
            "reasoning_effort",
            "response_format",
        ],
        _ => &[
            "model",
            "messages",
            "tools",
            "stream",
            "stream_options",
            "max_completion_tokens",
            "temperature",
            "top_p",
            "seed",
            "stop",
            "reasoning_effort",
            "response_format",
        ],
    };
    for key in body.as_object().ok_or("no object")?.keys() {
        if !known.contains(&key.as_str()) {
            return Err(format!("unknown field {key}"));
        }
    }
    if body["tools"].as_array().is_some_and(Vec::is_empty) {
        return Err("tools is empty".into());
    }
    match path {
        "/v1/responses" => hosted_responses(body),
        "/v1/messages" => hosted_messages(body),
        _ if api == Api::DeepSeek => deepseek(body),
        _ => Ok(()),
    }
}

fn deepseek(body: &Value) -> Result<(), String> {
    for message in body["messages"].as_array().into_iter().flatten() {
        if message["tool_calls"].is_array() && !message["reasoning_content"].is_string() {
            return Err("reasoning_content must come back beside calls".into());
        }
        if message.get("reasoning_details").is_some() {
            return Err("unknown field reasoning_details".into());
        }
    }
    Ok(())
}

fn hosted_responses(body: &Value) -> Result<(), String> {
    if body["store"] != false || body["include"][0] != "reasoning.encrypted_content" {
        return Err("the history would be kept, or thoughts would come without their seal".into());
    }
    let custom = custom_tools(body);
    let items = body["input"].as_array().ok_or("no input")?;
    let mut kinds = std::collections::HashMap::new();
    for (at, item) in items.iter().enumerate() {
        let id = item["call_id"].to_string();
        match item["type"].as_str().unwrap_or_default() {
            "reasoning" => {
                if item["encrypted_content"].as_str().is_none_or(str::is_empty) {
                    return Err("a thought without its seal".into());
                }
                let next = items
                    .get(at + 1)
                    .map(|i| i["type"].clone())
                    .unwrap_or_default();
                if !["message", "function_call", "custom_tool_call", "reasoning"]
                    .iter()
                    .any(|t| next == *t)
                {
                    return Err("a thought without its following item".into());
                }
            }
            "custom_tool_call" => drop(kinds.insert(id, "custom_tool_call_output")),
            "function_call" => {
                if custom.iter().any(|name| item["name"] == name.as_str()) {
                    return Err("a custom tool that was called as a function".into());
                }
                kinds.insert(id, "function_call_output");
            }
            kind @ ("custom_tool_call_output" | "function_call_output")
                if kinds.get(&id).is_some_and(|wanted| *wanted != kind) =>
            {
                return Err(format!("the output of {id} is of the wrong kind"));
            }
            _ => {}
        }
    }
    for tool in body["tools"].as_array().into_iter().flatten() {
        if tool["type"] == "function" && tool["strict"] != false {
            return Err("strict was not said".into());
        }
        if tool["type"] == "custom" && !tool["format"]["definition"].is_string() {
            return Err("a custom tool without its grammar".into());
        }
    }
    Ok(())
}

fn hosted_messages(body: &Value) -> Result<(), String> {
    let marks = body.to_string().matches("cache_control").count();
    if marks == 0 || marks > 4 {
        return Err(format!("{marks} blocks with cache_control"));
    }
    for message in body["messages"].as_array().into_iter().flatten() {
        for block in message["content"].as_array().into_iter().flatten() {
            if block["type"] == "thinking" && block["signature"].as_str().is_none_or(str::is_empty)
            {
                return Err("a thought without its signature".into());
            }
            if block["type"] == "thinking" && block.get("cache_control").is_some() {
                return Err("a cache mark on a thought".into());
            }
        }
    }
    Ok(())
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
            "custom_tool_call" => {
                if !item["input"].is_string() {
                    return Err("a custom call without its input".into());
                }
                open.insert(item["call_id"].to_string());
            }
            "custom_tool_call_output" if !open.remove(&item["call_id"].to_string()) => {
                return Err("an output without its custom call".into());
            }
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
