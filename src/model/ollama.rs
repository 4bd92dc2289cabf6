//! Ollama's native `/api/chat`: the only wire there that can set the window, and the one that
//! shows errors in mid-stream.

use super::calls::{self, Ids};
use super::chat::encode::{thinking, tools};
use super::chat::turns::{Piece, Turn, text_of, turns};
use super::http::classify;
use super::sse::Frame;
use super::{
    Assistant, Decoder, Delta, Finish, Framing, ModelError, Reasoning, Reply, Request, Timing,
    ToolCall, ToolSpec, Usage, Wire, WireApi,
};
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::time::Duration;

/// The `ollama` wire.
pub struct Ollama;

impl Wire for Ollama {
    fn api(&self) -> WireApi {
        WireApi::Ollama
    }

    fn path(&self) -> &'static str {
        "/api/chat"
    }

    fn body(&self, request: &Request) -> Value {
        let mut body = Map::new();
        body.insert("model".into(), request.model.into());
        body.insert("messages".into(), messages(request).into());
        if !request.tools.is_empty() {
            body.insert("tools".into(), tools(request.tools));
        }
        body.insert("stream".into(), true.into());
        // A prompt that does not fit is an error, not a prompt without its beginning. Both are
        // always the same, since a change of `shift` loads the model anew.
        body.insert("truncate".into(), false.into());
        body.insert("shift".into(), false.into());
        if let Some(effort) = request.reasoning_effort {
            body.insert("think".into(), think(request.model, effort));
        }
        if let Some(schema) = request.schema {
            body.insert("format".into(), schema.clone());
        }
        body.insert("options".into(), options(request));
        request.add_extra(&mut body);
        body.into()
    }

    fn framing(&self) -> Framing {
        Framing::Ndjson
    }

    fn decoder(&self, tools: &[ToolSpec]) -> Box<dyn Decoder> {
        Box::new(Reader::new(tools))
    }
}

/// gpt-oss ignores booleans and always thinks; every other model takes a boolean, and only newer
/// servers take a level.
fn think(model: &str, effort: &str) -> Value {
    let off = matches!(effort, "none" | "minimal");
    if !model.contains("gpt-oss") {
        return (!off).into();
    }
    match effort {
        _ if off => "low".into(),
        "low" | "medium" => effort.into(),
        _ => "high".into(),
    }
}

/// Without a limit the server would write up to ten windows full, hence `num_predict`.
fn options(request: &Request) -> Value {
    let sampling = &request.sampling;
    let mut options = Map::new();
    let all = [
        ("num_ctx", request.window.map(Value::from)),
        ("num_predict", Some(request.max_output_tokens.into())),
        ("temperature", sampling.temperature.map(Value::from)),
        ("top_p", sampling.top_p.map(Value::from)),
        ("top_k", sampling.top_k.map(Value::from)),
        ("seed", sampling.seed.map(Value::from)),
        (
            "stop",
            (!sampling.stop.is_empty()).then(|| json!(sampling.stop)),
        ),
    ];
    for (key, value) in all {
        if let Some(value) = value {
            options.insert(key.into(), value);
        }
    }
    options.into()
}

fn messages(request: &Request) -> Vec<Value> {
    let mut messages = Vec::new();
    if !request.system.is_empty() {
        messages.push(json!({"role": "system", "content": request.system}));
    }
    let mut ids = Ids::for_chat();
    for turn in turns(&request.items) {
        messages.push(match turn {
            Turn::User(pieces) => user(&pieces),
            Turn::Assistant(reply) => assistant(reply, &mut ids),
            // Older servers read the name, newer ones the id.
            Turn::Result(result, text) => json!({
                "role": "tool",
                "content": text,
                "tool_name": result.name,
                "tool_call_id": ids.result(&result.call_id),
            }),
        });
    }
    messages
}

fn user(pieces: &[Piece]) -> Value {
    let images = pieces.iter().filter_map(|piece| match piece {
        Piece::Image { data, .. } => Some(Value::from(*data)),
        Piece::Text(_) => None,
    });
    let images: Vec<Value> = images.collect();
    let mut message = json!({"role": "user", "content": text_of(pieces, "\n\n")});
    if !images.is_empty() {
        message["images"] = images.into();
    }
    message
}

fn assistant<'a>(reply: &'a Assistant, ids: &mut Ids<'a>) -> Value {
    ids.next_reply();
    let mut message = json!({"role": "assistant", "content": reply.text});
    let thinking = thinking(&reply.reasoning);
    if !thinking.is_empty() {
        message["thinking"] = thinking.into();
    }
    if !reply.calls.is_empty() {
        let calls = reply.calls.iter().map(|call| {
            json!({
                "id": ids.call(&call.id),
                "function": {"name": call.name, "arguments": calls::object(call)},
            })
        });
        message["tool_calls"] = calls.collect();
    }
    message
}

/// The reader of one reply. Calls come whole, in any line, the last one included.
struct Reader {
    freeform: HashSet<String>,
    text: String,
    thinking: String,
    calls: Vec<ToolCall>,
    finish: Option<Finish>,
    usage: Option<Usage>,
    timing: Timing,
}

impl Reader {
    fn new(tools: &[ToolSpec]) -> Self {
        Reader {
            freeform: calls::freeform_names(tools),
            text: String::new(),
            thinking: String::new(),
            calls: Vec::new(),
            finish: None,
            usage: None,
            timing: Timing::default(),
        }
    }

    fn message(&mut self, message: &Value, out: &mut Vec<Delta>) {
        let text = |key: &str| message.get(key).and_then(Value::as_str).unwrap_or_default();
        let (thinking, content) = (text("thinking"), text("content"));
        if !thinking.is_empty() {
            self.thinking.push_str(thinking);
            out.push(Delta::Reasoning(thinking.to_owned()));
        }
        if !content.is_empty() {
            self.text.push_str(content);
            out.push(Delta::Text(content.to_owned()));
        }
        let calls = message.get("tool_calls").and_then(Value::as_array);
        for call in calls.into_iter().flatten() {
            self.call(call, out);
        }
    }

    fn call(&mut self, call: &Value, out: &mut Vec<Delta>) {
        let text = |path: &str| {
            call.pointer(path)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let arguments = match call.pointer("/function/arguments") {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Null) | None => "{}".to_owned(),
            Some(value) => value.to_string(),
        };
        let (index, name) = (self.calls.len(), text("/function/name"));
        out.push(Delta::CallStart {
            index,
            name: name.clone(),
        });
        out.push(Delta::CallArguments {
            index,
            text: arguments.clone(),
        });
        let call = calls::received(text("/id"), name, arguments, &self.freeform);
        self.calls.push(call);
    }

    /// The last line: why it ended, counts, and durations in nanoseconds.
    fn done(&mut self, line: &Value) {
        let number = |key: &str| line.get(key).and_then(Value::as_u64);
        let duration = |key: &str| number(key).map(Duration::from_nanos);
        self.finish = Some(match line.get("done_reason").and_then(Value::as_str) {
            Some("length") => Finish::Length,
            _ => Finish::Stop,
        });
        // A prompt count that is missing must not read as an empty prompt.
        self.usage = number("prompt_eval_count").map(|input| Usage {
            input,
            cached: None,
            cache_write: 0,
            output: number("eval_count").unwrap_or(0),
            reasoning: 0,
        });
        self.timing.load = duration("load_duration");
        self.timing.prompt = duration("prompt_eval_duration");
        self.timing.output = duration("eval_duration");
    }

    fn reply(mut self, finish: Finish) -> Reply {
        calls::distinct_ids(&mut self.calls);
        let reasoning = (!self.thinking.is_empty()).then(|| Reasoning {
            text: self.thinking,
            signature: None,
            opaque: None,
            wire: WireApi::Ollama,
        });
        Reply {
            assistant: Assistant {
                reasoning: reasoning.into_iter().collect(),
                text: self.text,
                calls: self.calls,
            },
            finish,
            usage: self.usage,
            timing: self.timing,
        }
    }
}

impl Decoder for Reader {
    fn feed(&mut self, frame: &Frame, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        let line = frame.json()?;
        if line.get("error").is_some_and(|error| !error.is_null()) {
            return Err(classify("", 200, &frame.data, None, ""));
        }
        if let Some(message) = line.get("message") {
            self.message(message, out);
        }
        if line.get("done").and_then(Value::as_bool) == Some(true) {
            self.done(&line);
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.finish.is_some()
    }

    fn finish(mut self: Box<Self>) -> Result<Reply, ModelError> {
        match self.finish.take() {
            Some(finish) => Ok(self.reply(finish)),
            None => Err(ModelError::broken("it ended without its last line")),
        }
    }

    fn cut(self: Box<Self>) -> Reply {
        self.reply(Finish::Cut)
    }
}

#[cfg(test)]
mod tests;
