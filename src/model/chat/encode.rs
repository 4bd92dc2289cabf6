//! From a [`Request`] to the body of Chat Completions.

use super::super::calls::{self, Ids};
use super::super::{Assistant, Reasoning, Request, ToolSpec, WireApi};
use super::turns::{Piece, Turn, text_of, turns};
use serde_json::{Map, Value, json};

/// The body of a streaming request.
pub fn body(request: &Request) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), request.model.into());
    body.insert("messages".into(), messages(request).into());
    if !request.tools.is_empty() {
        body.insert("tools".into(), tools(request.tools));
    }
    body.insert("stream".into(), true.into());
    body.insert("stream_options".into(), json!({"include_usage": true}));
    // Local servers know only the old name, hosted reasoning models only the new one, and none
    // takes both.
    let limit = if request.local {
        "max_tokens"
    } else {
        "max_completion_tokens"
    };
    if !["max_tokens", "max_completion_tokens"]
        .iter()
        .any(|k| request.extra.contains_key(*k))
    {
        body.insert(limit.into(), request.max_output_tokens.into());
    }
    let sampling = &request.sampling;
    let optional = [
        ("temperature", sampling.temperature.map(Value::from)),
        ("top_p", sampling.top_p.map(Value::from)),
        ("top_k", sampling.top_k.map(Value::from)),
        ("seed", sampling.seed.map(Value::from)),
        (
            "stop",
            (!sampling.stop.is_empty()).then(|| json!(sampling.stop)),
        ),
        (
            "reasoning_effort",
            request.reasoning_effort.map(Value::from),
        ),
        ("response_format", request.schema.map(response_format)),
    ];
    for (key, value) in optional {
        if let Some(value) = value {
            body.insert(key.into(), value);
        }
    }
    if request.local {
        body.insert("cache_prompt".into(), true.into());
        body.insert("return_progress".into(), true.into());
        if !request.tools.is_empty() {
            body.insert("parallel_tool_calls".into(), true.into());
        }
    }
    request.add_extra(&mut body);
    body.into()
}

/// The tools in the nested form, which Ollama's own API shares.
pub fn tools(tools: &[ToolSpec]) -> Value {
    let one = |tool: &ToolSpec| {
        json!({
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.schema(),
            },
        })
    };
    tools.iter().map(one).collect()
}

fn response_format(schema: &Value) -> Value {
    json!({
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": schema, "strict": true},
    })
}

fn messages(request: &Request) -> Vec<Value> {
    let mut messages = Vec::new();
    if !request.system.is_empty() {
        messages.push(json!({"role": "system", "content": request.system}));
    }
    let mut ids = Ids::for_chat();
    for turn in turns(&request.items) {
        messages.push(match turn {
            Turn::User(pieces) => json!({"role": "user", "content": content(&pieces)}),
            Turn::Assistant(reply) => assistant(reply, request.local, &mut ids),
            // A plain string: Ollama loses the id of a result whose content is an array.
            Turn::Result(result, text) => json!({
                "role": "tool",
                "tool_call_id": ids.result(&result.call_id),
                "content": text,
            }),
        });
    }
    messages
}

/// A plain string when there are no pictures: arrays lead some models to answer in JSON, and
/// Ollama makes one message of each part.
fn content(pieces: &[Piece]) -> Value {
    if !pieces
        .iter()
        .any(|piece| matches!(piece, Piece::Image { .. }))
    {
        return text_of(pieces, "\n\n").into();
    }
    let part = |piece: &Piece| match piece {
        Piece::Text(text) => json!({"type": "text", "text": text}),
        Piece::Image { media_type, data } => json!({
            "type": "image_url",
            "image_url": {"url": format!("data:{media_type};base64,{data}")},
        }),
    };
    pieces.iter().map(part).collect()
}

fn assistant(reply: &Assistant, local: bool, ids: &mut Ids) -> Value {
    ids.next_reply();
    let mut message = Map::new();
    message.insert("role".into(), "assistant".into());
    // Calls without words: templates of local servers want a text, hosted servers null.
    let content = match reply.text.is_empty() && !local {
        true => Value::Null,
        false => reply.text.as_str().into(),
    };
    message.insert("content".into(), content);
    let thinking = thinking(&reply.reasoning);
    if !thinking.is_empty() {
        message.insert(thinking_key(&reply.reasoning).into(), thinking.into());
    }
    if !reply.calls.is_empty() {
        let calls = reply.calls.iter().map(|call| {
            json!({
                "id": ids.call(&call.id),
                "type": "function",
                "function": {"name": call.name, "arguments": calls::object_text(call)},
            })
        });
        message.insert("tool_calls".into(), calls.collect());
    }
    message.into()
}

/// All thinking of a reply in one text.
pub fn thinking(reasoning: &[Reasoning]) -> String {
    let texts = reasoning.iter().map(|r| r.text.as_str());
    texts
        .filter(|text| !text.is_empty())
        .collect::<Vec<_>>()
        .join("\n\n")
}

/// Thinking goes back under the name that it came under; see [`super::decode`].
fn thinking_key(reasoning: &[Reasoning]) -> &str {
    let ours = reasoning.iter().filter(|r| r.wire == WireApi::Chat);
    let mut names = ours.filter_map(|r| r.opaque.as_ref()?.as_str());
    names
        .next()
        .filter(|name| *name == "reasoning")
        .unwrap_or("reasoning_content")
}

#[cfg(test)]
pub(super) mod tests;
