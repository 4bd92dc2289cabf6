//! The Anthropic Messages API: `POST {base}/messages`, as an event stream.
//!
//! User and assistant alternate strictly, so neighbouring items of one side become one message.
//! A reply's calls are answered in the very next user message, results before any text.

mod decode;
#[cfg(test)]
mod tests;
mod thinking;

use super::calls::{self, Ids};
use super::{
    Assistant, Decoder, Framing, Item, Part, Reasoning, Request, ToolResult, ToolSpec, Wire,
    WireApi, join_text,
};
use serde_json::{Value, json};

/// The wire.
pub struct Messages;

impl Wire for Messages {
    fn api(&self) -> WireApi {
        WireApi::Messages
    }

    fn path(&self) -> &'static str {
        "/messages"
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("anthropic-version", "2023-06-01")]
    }

    fn body(&self, request: &Request) -> Value {
        let mut body = serde_json::Map::new();
        let mut put = |key: &str, value: Value| {
            body.insert(key.to_owned(), value);
        };
        put("model", request.model.into());
        put("max_tokens", request.max_output_tokens.into());
        if !is_blank(request.system) {
            put(
                "system",
                if request.local {
                    request.system.into()
                } else {
                    let mut block = json!({"type": "text", "text": request.system});
                    mark(&mut block);
                    json!([block])
                },
            );
        }
        if !request.tools.is_empty() {
            put("tools", request.tools.iter().map(tool).collect());
        }
        put("messages", messages(request).into());
        put("stream", true.into());
        let mut output = serde_json::Map::new();
        let (asked, most) = (request.reasoning_effort, request.max_output_tokens);
        if let Some(level) = thinking::put(request.model, asked, most, request.local, &mut body) {
            output.insert("effort".to_owned(), level.into());
        }
        let mut put = |key: &str, value: Value| {
            body.insert(key.to_owned(), value);
        };
        if let Some(schema) = request.schema {
            output.insert(
                "format".to_owned(),
                json!({"type": "json_schema", "schema": schema}),
            );
        }
        if !output.is_empty() {
            put("output_config", output.into());
        }
        let sampling = &request.sampling;
        if let Some(temperature) = sampling.temperature {
            put("temperature", temperature.into());
        }
        if let Some(top_p) = sampling.top_p {
            put("top_p", top_p.into());
        }
        if let Some(top_k) = sampling.top_k {
            put("top_k", top_k.into());
        }
        if !sampling.stop.is_empty() {
            put("stop_sequences", sampling.stop.clone().into());
        }
        request.add_extra(&mut body);
        Value::Object(body)
    }

    fn framing(&self) -> Framing {
        Framing::Sse
    }

    fn decoder(&self, tools: &[ToolSpec]) -> Box<dyn Decoder> {
        Box::new(decode::Reader::new(tools))
    }
}

fn tool(spec: &ToolSpec) -> Value {
    json!({
        "name": spec.name,
        "description": spec.description,
        "input_schema": spec.schema(),
    })
}

/// Lets the server keep everything up to this block. Not content: the rule that a request begins
/// with the one before sets these marks aside.
fn mark(block: &mut Value) {
    if let Some(fields) = block.as_object_mut() {
        fields.insert("cache_control".to_owned(), json!({"type": "ephemeral"}));
    }
}

/// Servers refuse text blocks without a visible character.
fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// A message while it grows.
struct Message {
    role: &'static str,
    blocks: Vec<Value>,
}

/// The history as messages.
fn messages(request: &Request) -> Vec<Value> {
    let mut out: Vec<Message> = Vec::new();
    let mut ids = Ids::default();
    for item in &request.items {
        match item {
            Item::Developer { text } => {
                add_user(&mut out, &[Part::text(text.as_str())], request.local);
            }
            Item::User { content } => add_user(&mut out, content, request.local),
            Item::Assistant(reply) => {
                let blocks = assistant(reply, keeps_unsigned(request), &mut ids);
                if !blocks.is_empty() {
                    message(&mut out, "assistant").blocks.extend(blocks);
                }
            }
            Item::ToolResult(result) => add_result(&mut out, tool_result(result, &mut ids)),
        }
    }
    if !request.local {
        // The end of the newest user message is kept for the next request, the one before it is
        // where the last request ended: a look-up reaches only 20 blocks back from a mark.
        for message in out.iter_mut().rev().filter(|m| m.role == "user").take(2) {
            message.blocks.last_mut().map(mark);
        }
    }
    out.into_iter()
        .map(|m| json!({"role": m.role, "content": m.blocks}))
        .collect()
}

/// The last message, if it is of this role; else a new one.
fn message<'a>(out: &'a mut Vec<Message>, role: &'static str) -> &'a mut Message {
    if out.last().is_none_or(|m| m.role != role) {
        out.push(Message {
            role,
            blocks: Vec::new(),
        });
    }
    let last = out.len() - 1;
    &mut out[last]
}

/// Text and pictures of a user or developer item.
///
/// On a local server they never share a message with tool results: llama.cpp's server would put
/// them between a call and its result. Nor do two texts touch, since Ollama joins blocks with
/// nothing between.
fn add_user(out: &mut Vec<Message>, content: &[Part], local: bool) {
    let mut blocks = content.iter().filter_map(block).peekable();
    if blocks.peek().is_none() {
        return;
    }
    let ends_in = |kind: &str| {
        let last = out.last().filter(|m| m.role == "user")?.blocks.last()?;
        Some(last["type"] == kind)
    };
    if local && ends_in("tool_result") == Some(true) {
        out.push(Message {
            role: "user",
            blocks: blocks.collect(),
        });
        return;
    }
    let touches = local && ends_in("text") == Some(true);
    let mut blocks: Vec<Value> = blocks.collect();
    if touches && let Some(Value::String(text)) = blocks.first_mut().and_then(|b| b.get_mut("text"))
    {
        text.insert(0, '\n');
    }
    message(out, "user").blocks.extend(blocks);
}

/// A result goes before all texts of the message that answers the calls.
fn add_result(out: &mut Vec<Message>, result: Value) {
    let blocks = &mut message(out, "user").blocks;
    let at = blocks
        .iter()
        .rposition(|b| b["type"] == "tool_result")
        .map_or(0, |i| i + 1);
    blocks.insert(at, result);
}

fn block(part: &Part) -> Option<Value> {
    match part {
        Part::Text { text } if is_blank(text) => None,
        Part::Text { text } => Some(json!({"type": "text", "text": text})),
        Part::Image { media_type, data } => Some(json!({
            "type": "image",
            "source": {"type": "base64", "media_type": media_type, "data": data},
        })),
    }
}

/// Thinking, text, calls. A reply with neither text nor calls is left out whole.
fn assistant<'a>(reply: &'a Assistant, keeps_unsigned: bool, ids: &mut Ids<'a>) -> Vec<Value> {
    ids.next_reply();
    if is_blank(&reply.text) && reply.calls.is_empty() {
        return Vec::new();
    }
    let mut blocks: Vec<Value> = reply
        .reasoning
        .iter()
        .filter_map(|r| thinking(r, keeps_unsigned))
        .collect();
    if !is_blank(&reply.text) {
        blocks.push(json!({"type": "text", "text": reply.text}));
    }
    for call in &reply.calls {
        blocks.push(json!({
            "type": "tool_use",
            "id": ids.call(&call.id),
            "name": call.name,
            "input": calls::object(call),
        }));
    }
    blocks
}

/// Only Claude signs its thinking, and takes none that it did not sign; the others want their
/// unsigned thinking back.
fn keeps_unsigned(request: &Request) -> bool {
    request.local || !request.model.to_lowercase().contains("claude")
}

fn thinking(reasoning: &Reasoning, keeps_unsigned: bool) -> Option<Value> {
    if reasoning.wire != WireApi::Messages {
        return None;
    }
    if let Some(redacted) = &reasoning.opaque {
        return Some(redacted.clone());
    }
    match &reasoning.signature {
        Some(signature) if keeps_unsigned || !signature.is_empty() => Some(json!({
            "type": "thinking",
            "thinking": reasoning.text,
            "signature": signature,
        })),
        None if keeps_unsigned && !is_blank(&reasoning.text) => Some(json!({
            "type": "thinking",
            "thinking": reasoning.text,
        })),
        _ => None,
    }
}

/// A result. The mark for an error is refused beside pictures, and on an empty result.
fn tool_result<'a>(result: &'a ToolResult, ids: &mut Ids<'a>) -> Value {
    let has_picture = result.content.iter().any(|p| p.as_text().is_none());
    let text = join_text(&result.content);
    let is_error = result.is_error && !has_picture && !is_blank(&text);
    let content: Value = if has_picture {
        result.content.iter().filter_map(block).collect()
    } else {
        text.into()
    };
    let mut out = json!({
        "type": "tool_result",
        "tool_use_id": ids.result(&result.call_id),
        "content": content,
    });
    if is_error && let Some(fields) = out.as_object_mut() {
        fields.insert("is_error".to_owned(), true.into());
    }
    out
}
