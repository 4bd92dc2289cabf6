//! The OpenAI Responses API: `POST {base}/responses`, as an event stream.
//!
//! The whole history goes out every time and nothing is stored at the server. Items carry no `id`,
//! since a server refuses ids that it never stored; `call_id` does the pairing.

mod decode;
mod slot;
#[cfg(test)]
mod tests;

use super::calls::{self, Ids};
use super::vendor::{Effort, nearest};
use super::{
    Assistant, CallKind, Decoder, Framing, Item, Part, Reasoning, Request, ToolInput, ToolResult,
    ToolSpec, Wire, WireApi, join_text,
};
use serde_json::{Value, json};

/// The wire.
pub struct Responses;

impl Wire for Responses {
    fn api(&self) -> WireApi {
        WireApi::Responses
    }

    fn path(&self) -> &'static str {
        "/responses"
    }

    fn body(&self, request: &Request) -> Value {
        let mut body = serde_json::Map::new();
        let mut put = |key: &str, value: Value| {
            body.insert(key.to_owned(), value);
        };
        put("model", request.model.into());
        if !request.system.is_empty() {
            put("instructions", request.system.into());
        }
        if !request.tools.is_empty() {
            let tools = request.tools.iter().map(|t| tool(t, request.local));
            put("tools", tools.collect());
            put("tool_choice", "auto".into());
            put("parallel_tool_calls", (!request.one_call).into());
        }
        put("input", input(request).into());
        put("max_output_tokens", request.max_output_tokens.into());
        put("store", false.into());
        put("stream", true.into());
        if let Some(effort) = request.reasoning_effort {
            let effort = match request.vendor.effort {
                Effort::Level(levels) | Effort::Switch(levels) if effort != "none" => {
                    nearest(effort, levels)
                }
                _ => effort,
            };
            put("reasoning", json!({"effort": effort}));
        }
        if let Some(schema) = request.schema {
            put(
                "text",
                json!({"format": {"type": "json_schema", "name": "answer", "schema": schema, "strict": true}}),
            );
        }
        let sampling = &request.sampling;
        if let Some(temperature) = sampling.temperature {
            put("temperature", temperature.into());
        }
        if let Some(top_p) = sampling.top_p {
            put("top_p", top_p.into());
        }
        if request.local {
            local_fields(request, &mut put);
        } else {
            put("include", json!(["reasoning.encrypted_content"]));
            if !request.cache_key.is_empty() {
                put("prompt_cache_key", request.cache_key.into());
            }
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

/// What llama.cpp's server takes beyond the API, because it hands unknown fields of this API on to
/// its chat completions: progress while it reads the prompt, more sampling, and the schema, which
/// it does not find in `text`.
fn local_fields(request: &Request, put: &mut impl FnMut(&str, Value)) {
    put("return_progress", true.into());
    let sampling = &request.sampling;
    if let Some(top_k) = sampling.top_k {
        put("top_k", top_k.into());
    }
    if let Some(seed) = sampling.seed {
        put("seed", seed.into());
    }
    if !sampling.stop.is_empty() {
        put("stop", sampling.stop.clone().into());
    }
    if let Some(schema) = request.schema {
        put(
            "response_format",
            json!({"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}),
        );
    }
}

/// A tool in the flat form of this API. `strict` is said aloud, since leaving it out means true.
fn tool(spec: &ToolSpec, local: bool) -> Value {
    match &spec.input {
        ToolInput::Freeform { grammar } if !local => json!({
            "type": "custom",
            "name": spec.name,
            "description": spec.description,
            "format": {"type": "grammar", "syntax": "lark", "definition": grammar},
        }),
        _ => json!({
            "type": "function",
            "name": spec.name,
            "description": spec.description,
            "parameters": spec.schema(),
            "strict": false,
        }),
    }
}

/// The history as input items. What one item becomes depends on earlier items alone.
fn input(request: &Request) -> Vec<Value> {
    let mut out = Vec::new();
    let mut ids = Ids::default();
    for item in &request.items {
        match item {
            Item::Developer { text } if text.is_empty() => {}
            Item::Developer { text } => {
                let content = [json!({"type": "input_text", "text": text})];
                out.push(json!({"type": "message", "role": "developer", "content": content}));
            }
            Item::User { content } => {
                let content = parts(content);
                if !content.is_empty() {
                    out.push(json!({"type": "message", "role": "user", "content": content}));
                }
            }
            Item::Assistant(reply) => assistant(reply, request.local, &mut ids, &mut out),
            Item::ToolResult(result) => out.push(tool_result(result, request.local, &mut ids)),
        }
    }
    out
}

/// Text and pictures; empty texts are left out.
fn parts(content: &[Part]) -> Vec<Value> {
    content
        .iter()
        .filter_map(|part| match part {
            Part::Text { text } if text.is_empty() => None,
            Part::Text { text } => Some(json!({"type": "input_text", "text": text})),
            Part::Image { media_type, data } => Some(json!({
                "type": "input_image",
                "image_url": format!("data:{media_type};base64,{data}"),
                "detail": "auto",
            })),
        })
        .collect()
}

/// Thinking, text, calls. A reply with neither text nor calls is left out whole, because servers
/// refuse thinking that nothing follows.
fn assistant<'a>(reply: &'a Assistant, local: bool, ids: &mut Ids<'a>, out: &mut Vec<Value>) {
    ids.next_reply();
    if reply.text.is_empty() && reply.calls.is_empty() {
        return;
    }
    if local {
        out.extend(local_reasoning(&reply.reasoning));
    } else {
        out.extend(reply.reasoning.iter().filter_map(hosted_reasoning));
    }
    if !reply.text.is_empty() {
        let content = [json!({"type": "output_text", "text": reply.text})];
        let mut message = json!({"type": "message", "role": "assistant", "content": content});
        if let (Some(phase), Some(fields), false) =
            (phase(&reply.reasoning), message.as_object_mut(), local)
        {
            fields.insert("phase".to_owned(), phase.clone());
        }
        out.push(message);
    }
    for call in &reply.calls {
        let call_id = ids.call(&call.id);
        out.push(if call.kind == CallKind::Freeform && !local {
            json!({
                "type": "custom_tool_call",
                "call_id": call_id,
                "name": call.name,
                "input": call.arguments,
            })
        } else {
            json!({
                "type": "function_call",
                "call_id": call_id,
                "name": call.name,
                "arguments": calls::object_text(call),
            })
        });
    }
}

/// Whether a message was a comment or the answer, as the provider said it: newer models go by it.
fn phase(reasoning: &[Reasoning]) -> Option<&Value> {
    let ours = reasoning.iter().filter(|r| r.wire == WireApi::Responses);
    ours.filter_map(|r| r.opaque.as_ref()?.get("phase")).next()
}

/// The provider's own item as it came, without its id. Thinking that has no encrypted form is of
/// no use to a hosted server, and refused by some.
fn hosted_reasoning(reasoning: &Reasoning) -> Option<Value> {
    encrypted(reasoning)?;
    let mut item = reasoning.opaque.clone()?;
    let fields = item.as_object_mut()?;
    fields.shift_remove("id");
    fields.shift_remove("status");
    Some(item)
}

/// The encrypted form of thinking that came over this wire.
fn encrypted(reasoning: &Reasoning) -> Option<&str> {
    let item = reasoning.opaque.as_ref()?;
    (reasoning.wire == WireApi::Responses)
        .then(|| item.get("encrypted_content")?.as_str())?
        .filter(|text| !text.is_empty())
}

/// All thinking of a reply as one item that both kinds of local server read: llama.cpp's takes the
/// first text of `content` and refuses an item without one, Ollama reads `encrypted_content`, where
/// it had put its thinking in the clear.
fn local_reasoning(reasoning: &[Reasoning]) -> Option<Value> {
    let texts: Vec<&str> = reasoning
        .iter()
        .map(|r| r.text.as_str())
        .filter(|t| !t.trim().is_empty())
        .collect();
    if texts.is_empty() {
        return None;
    }
    let text = texts.join("\n\n");
    Some(json!({
        "type": "reasoning",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": text}],
        "encrypted_content": text,
    }))
}

/// A result in the kind of its call: a plain string unless there are pictures.
fn tool_result<'a>(result: &'a ToolResult, local: bool, ids: &mut Ids<'a>) -> Value {
    let kind = if result.kind == CallKind::Freeform && !local {
        "custom_tool_call_output"
    } else {
        "function_call_output"
    };
    let has_picture = result.content.iter().any(|p| p.as_text().is_none());
    let output: Value = if has_picture {
        parts(&result.content).into()
    } else {
        join_text(&result.content).into()
    };
    json!({"type": kind, "call_id": ids.result(&result.call_id), "output": output})
}
