//! From a [`Request`] to the body of Chat Completions.

use super::super::calls::{self, Ids};
use super::super::vendor::Thinking;
use super::super::wire::Parts;
use super::super::{Assistant, Reasoning, Request, ToolSpec, Vendor, WireApi};
use super::turns::{Piece, Turn, text_of, turns};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The body of a streaming request as a value.
pub fn body(request: &Request) -> Value {
    serde_json::from_slice(&parts(request).bytes()).unwrap_or_default()
}

/// The body of a streaming request.
pub fn parts(request: &Request) -> Parts {
    let mut body = Map::new();
    body.insert("model".into(), request.model.into());
    body.insert("messages".into(), Value::Null);
    if !request.tools.is_empty() {
        body.insert("tools".into(), tools_for(request));
        // llama-server still shows the tools to the model then, and passes on what it writes.
        if request.raw_calls {
            body.insert("tool_choice".into(), "none".into());
        }
        if request.vendor.tool_stream {
            body.insert("tool_stream".into(), true.into());
        }
    }
    body.insert("stream".into(), true.into());
    if !request.vendor.counts_unasked {
        body.insert("stream_options".into(), json!({"include_usage": true}));
    }
    // Local servers know only the old name, hosted reasoning models only the new one, and none
    // takes both.
    let limit = if request.vendor.max_tokens {
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
            "response_format",
            request
                .schema
                .map(|schema| response_format(schema, request)),
        ),
    ];
    for (key, value) in optional {
        if let Some(value) = value {
            body.insert(key.into(), value);
        }
    }
    if let Some(effort) = request.reasoning_effort {
        request.vendor.put_effort(effort, request.model, &mut body);
    }
    if request.vendor.cache_key && !request.cache_key.is_empty() {
        body.insert("prompt_cache_key".into(), request.cache_key.into());
    }
    if request.local {
        body.insert("cache_prompt".into(), true.into());
        body.insert("return_progress".into(), true.into());
        if !request.tools.is_empty() {
            body.insert("parallel_tool_calls".into(), (!request.one_call).into());
        }
    }
    request.add_extra(&mut body);
    Parts::with_text(body, "messages", messages(request))
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

/// The tools in the nested form, with the schemas that the provider understands.
fn tools_for(request: &Request) -> Value {
    let mut list = tools(request.tools);
    for tool in list.as_array_mut().into_iter().flatten() {
        if let Some(schema) = tool.pointer_mut("/function/parameters") {
            *schema = request.vendor.schema(schema.take());
        }
    }
    list
}

fn response_format(schema: &Value, request: &Request) -> Value {
    if !request.vendor.answers_in_schema {
        return json!({"type": "json_object"});
    }
    json!({
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": schema, "strict": true},
    })
}

/// The messages as the text of a JSON array. Most are of a few plain kinds, which are written
/// without a tree of values in between: a long session has thousands, in each request anew.
fn messages(request: &Request) -> Vec<u8> {
    let mut out = vec![b'['];
    if !request.system.is_empty() {
        said("system", request.system, &mut out);
    }
    let vendor = request.vendor;
    let mut ids = match vendor.nine_character_ids {
        true => Ids::of_nine(),
        false => Ids::for_chat(),
    };
    let mut after_result = false;
    for turn in turns(&request.items) {
        if vendor.needs_word_after_results && after_result && matches!(turn, Turn::User(_)) {
            said("assistant", "Noted.", &mut out);
        }
        after_result = matches!(turn, Turn::Result(..));
        match turn {
            Turn::User(pieces) => user(&pieces, &mut out),
            Turn::Assistant(reply) if is_plain(reply, vendor) => {
                plain(reply, request.local, &mut ids, &mut out);
            }
            Turn::Assistant(reply) => {
                let message = assistant(reply, request.local, vendor, &mut ids);
                separate(&mut out);
                write(&message, &mut out);
            }
            // A plain string: Ollama loses the id of a result whose content is an array.
            Turn::Result(result, content) => {
                separate(&mut out);
                out.extend_from_slice(br#"{"role":"tool","tool_call_id":"#);
                write(&ids.result(&result.call_id), &mut out);
                out.extend_from_slice(br#","content":"#);
                write(&content, &mut out);
                out.push(b'}');
            }
        }
    }
    out.push(b']');
    out
}

/// What stands before an element of an array.
fn separate(out: &mut Vec<u8>) {
    if out.last() != Some(&b'[') {
        out.push(b',');
    }
}

fn write(value: &impl Serialize, out: &mut Vec<u8>) {
    // Writing to a Vec cannot fail.
    let _ = serde_json::to_writer(out, value);
}

fn said(role: &str, content: &str, out: &mut Vec<u8>) {
    separate(out);
    out.extend_from_slice(br#"{"role":"#);
    write(&role, out);
    out.extend_from_slice(br#","content":"#);
    write(&content, out);
    out.push(b'}');
}

fn user(pieces: &[Piece], out: &mut Vec<u8>) {
    let is_text = |piece: &Piece| matches!(piece, Piece::Text(_));
    if pieces.iter().all(is_text) {
        return said("user", &text_of(pieces, "\n\n"), out);
    }
    separate(out);
    write(&json!({"role": "user", "content": content(pieces)}), out);
}

/// True for a reply that has nothing beside its text and its calls.
fn is_plain(reply: &Assistant, vendor: &Vendor) -> bool {
    match vendor.thinking {
        Thinking::FieldBesideCalls => false,
        Thinking::Nothing => reply.reasoning.iter().all(|r| r.opaque.is_none()),
        Thinking::Parts | Thinking::Field => reply.reasoning.is_empty(),
    }
}

fn plain<'a>(reply: &'a Assistant, local: bool, ids: &mut Ids<'a>, out: &mut Vec<u8>) {
    ids.next_reply();
    separate(out);
    out.extend_from_slice(br#"{"role":"assistant","content":"#);
    write(&words(reply, local), out);
    if !reply.calls.is_empty() {
        out.extend_from_slice(br#","tool_calls":["#);
        for call in &reply.calls {
            separate(out);
            out.extend_from_slice(br#"{"id":"#);
            write(&ids.call(&call.id), out);
            out.extend_from_slice(br#","type":"function","function":{"name":"#);
            write(&call.name, out);
            out.extend_from_slice(br#","arguments":"#);
            write(&calls::object_text(call), out);
            out.extend_from_slice(b"}}");
        }
        out.push(b']');
    }
    out.push(b'}');
}

/// Calls without words: templates of local servers want a text, hosted servers null.
fn words(reply: &Assistant, local: bool) -> Option<&str> {
    (local || !reply.text.is_empty()).then_some(reply.text.as_str())
}

/// Text and pictures. Without pictures it is a plain string: arrays lead some models to answer in
/// JSON, and Ollama makes one message of each part.
fn content(pieces: &[Piece]) -> Value {
    let part = |piece: &Piece| match piece {
        Piece::Text(text) => json!({"type": "text", "text": text}),
        Piece::Image { media_type, data } => json!({
            "type": "image_url",
            "image_url": {"url": format!("data:{media_type};base64,{data}")},
        }),
    };
    pieces.iter().map(part).collect()
}

fn assistant<'a>(reply: &'a Assistant, local: bool, vendor: &Vendor, ids: &mut Ids<'a>) -> Value {
    ids.next_reply();
    let mut message = Map::new();
    message.insert("role".into(), "assistant".into());
    message.insert("content".into(), words(reply, local).into());
    put_thinking(reply, vendor, &mut message);
    if !reply.calls.is_empty() {
        let calls = reply.calls.iter().map(|call| {
            let mut sent = json!({
                "id": ids.call(&call.id),
                "type": "function",
                "function": {"name": call.name, "arguments": calls::object_text(call)},
            });
            if let (Some(extra), Some(fields)) =
                (extra_of(&reply.reasoning, &call.id), sent.as_object_mut())
            {
                fields.insert("extra_content".into(), extra.clone());
            }
            sent
        });
        message.insert("tool_calls".into(), calls.collect());
    }
    message.into()
}

/// Thinking goes back as the provider takes it.
fn put_thinking(reply: &Assistant, vendor: &Vendor, message: &mut Map<String, Value>) {
    let text = thinking(&reply.reasoning);
    match vendor.thinking {
        Thinking::Nothing => {}
        Thinking::Parts if text.is_empty() => {}
        Thinking::Parts => {
            let mut parts =
                vec![json!({"type": "thinking", "thinking": [{"type": "text", "text": text}]})];
            if !reply.text.is_empty() {
                parts.push(json!({"type": "text", "text": reply.text}));
            }
            message.insert("content".into(), parts.into());
        }
        Thinking::Field | Thinking::FieldBesideCalls => {
            let empty_too =
                vendor.thinking == Thinking::FieldBesideCalls && !reply.calls.is_empty();
            if let Some(details) = details_of(&reply.reasoning) {
                message.insert("reasoning_details".into(), details.clone());
            } else if !text.is_empty() || empty_too {
                message.insert(thinking_key(&reply.reasoning).into(), text.into());
            }
        }
    }
}

/// The `reasoning_details` of a reply, which go back as they came.
fn details_of(reasoning: &[Reasoning]) -> Option<&Value> {
    of_chat(reasoning).find_map(|opaque| opaque.get("reasoning_details"))
}

/// What came beside a call and goes back beside it: the signature of Gemini's thoughts.
fn extra_of<'a>(reasoning: &'a [Reasoning], call_id: &str) -> Option<&'a Value> {
    let is_of = |opaque: &&Value| opaque.get("call_id").and_then(Value::as_str) == Some(call_id);
    of_chat(reasoning).find(is_of)?.get("extra_content")
}

fn of_chat(reasoning: &[Reasoning]) -> impl Iterator<Item = &Value> {
    let ours = reasoning.iter().filter(|r| r.wire == WireApi::Chat);
    ours.filter_map(|r| r.opaque.as_ref())
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
