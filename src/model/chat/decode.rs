//! From the stream of Chat Completions to a [`Reply`].
//!
//! Thinking comes as `reasoning_content` (DeepSeek, llama.cpp, Kimi, GLM), `reasoning` (Ollama,
//! newer vLLM, OpenRouter, Groq) or `reasoning_details`. The name `reasoning` is kept in
//! [`Reasoning::opaque`], since those servers want it back under the same name.

use super::super::calls;
use super::super::http::classify;
use super::super::measured;
use super::super::sse::Frame;
use super::super::{
    Assistant, Decoder, Delta, Finish, ModelError, Reasoning, Reply, Timing, ToolCall, ToolSpec,
    Usage, WireApi,
};
use serde_json::Value;
use std::collections::HashSet;

/// The reader of one reply.
pub struct Reader {
    freeform: HashSet<String>,
    text: String,
    thinking: String,
    /// The thinking came as `reasoning`.
    named_reasoning: bool,
    /// `reasoning_details` of all deltas, put together.
    details: Vec<Value>,
    refusal: String,
    calls: Vec<Partial>,
    finish: Option<Finish>,
    usage: Option<Usage>,
    timing: Timing,
    /// A piece of the reply came.
    began: bool,
    /// A chunk with usage and no choice came after that: the last one of a reply.
    counted: bool,
    /// `[DONE]` came.
    closed: bool,
}

/// A call as far as it came.
#[derive(Debug, Default)]
struct Partial {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    /// What the provider wants back beside the call.
    extra: Option<Value>,
}

impl Partial {
    /// Its arguments have come and nothing of them is missing.
    fn is_whole(&self) -> bool {
        !self.arguments.trim().is_empty() && calls::is_complete(&self.arguments)
    }
}

impl Reader {
    pub fn new(tools: &[ToolSpec]) -> Self {
        Reader {
            freeform: calls::freeform_names(tools),
            text: String::new(),
            thinking: String::new(),
            named_reasoning: false,
            details: Vec::new(),
            refusal: String::new(),
            calls: Vec::new(),
            finish: None,
            usage: None,
            timing: Timing::default(),
            began: false,
            counted: false,
            closed: false,
        }
    }

    fn chunk(&mut self, chunk: &Value, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        out.extend(measured::progress(chunk));
        let choices = chunk.get("choices").and_then(Value::as_array);
        let choice = choices.and_then(|list| list.first());
        if let Some(choice) =
            choice.filter(|c| c.get("index").is_none_or(|i| i.as_u64() == Some(0)))
        {
            self.choice(choice, out)?;
        }
        let inner = choice.and_then(|choice| choice.get("usage"));
        for usage in [inner, chunk.get("usage")].into_iter().flatten() {
            if let Some(usage) = read_usage(usage) {
                self.usage = Some(usage);
                self.counted |= choice.is_none() && self.began;
            }
        }
        let cached = measured::timings(chunk, &mut self.timing);
        if let Some(usage) = &mut self.usage {
            usage.cached = usage.cached.or(cached);
        }
        Ok(())
    }

    fn choice(&mut self, choice: &Value, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        // `message` is the whole reply of a server that does not stream.
        let delta = choice.get("delta").or_else(|| choice.get("message"));
        if let Some(delta) = delta.filter(|d| d.is_object()) {
            self.began = true;
            self.delta(delta, out);
        }
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) {
            if matches!(reason, "error" | "network_error") {
                let why = format!("the server ended it with `{reason}`");
                return Err(ModelError::broken(why));
            }
            self.finish = Some(self.read_finish(reason));
            self.began = true;
        }
        Ok(())
    }

    /// An unknown reason counts as a plain end.
    fn read_finish(&self, reason: &str) -> Finish {
        match reason {
            "length" | "max_tokens" | "model_context_window_exceeded" => Finish::Length,
            "content_filter" | "sensitive" if self.refusal.is_empty() => {
                Finish::Refused(reason.to_owned())
            }
            _ if !self.refusal.is_empty() => Finish::Refused(self.refusal.clone()),
            _ => Finish::Stop,
        }
    }

    fn delta(&mut self, delta: &Value, out: &mut Vec<Delta>) {
        if let Some(Value::Array(details)) = delta.get("reasoning_details") {
            details
                .iter()
                .for_each(|d| add_detail(&mut self.details, d));
        }
        let (thinking, named) = thinking_of(delta);
        if !thinking.is_empty() {
            self.named_reasoning |= named;
            self.think(thinking, out);
        }
        if let Some(content) = delta.get("content") {
            self.content(content, out);
        }
        if let Some(refusal) = delta.get("refusal").and_then(Value::as_str) {
            self.refusal.push_str(refusal);
        }
        match delta.get("tool_calls") {
            Some(Value::Array(list)) => {
                for (place, fragment) in list.iter().enumerate() {
                    // Without an index, the place in a list of several tells the calls apart.
                    let place = (list.len() > 1).then_some(place as u64);
                    self.fragment(fragment, place, out);
                }
            }
            Some(one @ Value::Object(_)) => self.fragment(one, None, out),
            _ => {}
        }
        // What calls were before there were tools.
        if let Some(function) = delta.get("function_call").filter(|f| f.is_object()) {
            self.function("", None, function, out);
        }
    }

    fn think(&mut self, text: String, out: &mut Vec<Delta>) {
        self.thinking.push_str(&text);
        out.push(Delta::Reasoning(text));
    }

    /// A string; or parts, of which Mistral also makes `thinking` ones.
    fn content(&mut self, content: &Value, out: &mut Vec<Delta>) {
        match content {
            Value::String(text) if !text.is_empty() => {
                self.text.push_str(text);
                out.push(Delta::Text(text.clone()));
            }
            Value::Array(parts) => parts.iter().for_each(|part| self.content(part, out)),
            Value::Object(part) => {
                if let Some(thinking) = part.get("thinking") {
                    let text = text_in(thinking);
                    if !text.is_empty() {
                        self.think(text, out);
                    }
                } else if let Some(text @ Value::String(_)) = part.get("text") {
                    self.content(text, out);
                }
            }
            _ => {}
        }
    }

    fn fragment(&mut self, fragment: &Value, place: Option<u64>, out: &mut Vec<Delta>) {
        let id = fragment
            .get("id")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let index = fragment.get("index").and_then(Value::as_u64).or(place);
        if let Some(function) = fragment.get("function") {
            self.function(id, index, function, out);
        }
        if let (Some(extra), Some(call)) = (fragment.get("extra_content"), self.calls.last_mut())
            && !extra.is_null()
        {
            call.extra = Some(extra.clone());
        }
    }

    fn function(&mut self, id: &str, index: Option<u64>, function: &Value, out: &mut Vec<Delta>) {
        let name = function
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let arguments = match function.get("arguments") {
            Some(Value::String(text)) => text.clone(),
            Some(whole @ (Value::Object(_) | Value::Array(_))) => whole.to_string(),
            _ => String::new(),
        };
        let at = match self.find(id, index, name, &arguments) {
            Some(at) => at,
            None => {
                self.calls.push(Partial {
                    index,
                    id: id.to_owned(),
                    ..Partial::default()
                });
                self.calls.len() - 1
            }
        };
        let Some(call) = self.calls.get_mut(at) else {
            return;
        };
        if call.id.is_empty() {
            call.id.push_str(id);
        }
        if call.name.is_empty() && !name.is_empty() {
            out.push(Delta::CallStart {
                index: at,
                name: name.to_owned(),
            });
        }
        // A name in a later fragment repeats the first one, or goes on with it.
        if call.arguments.is_empty() && call.name != name {
            call.name.push_str(name);
        }
        // The same whole call once more says nothing new.
        let again = arguments == call.arguments && calls::is_complete(&arguments);
        if !arguments.is_empty() && !again {
            call.arguments.push_str(&arguments);
            out.push(Delta::CallArguments {
                index: at,
                text: arguments,
            });
        }
    }

    /// The call that a fragment goes on with, or `None` for a new one.
    fn find(&self, id: &str, index: Option<u64>, name: &str, arguments: &str) -> Option<usize> {
        let same_id = |call: &Partial| id.is_empty() || call.id.is_empty() || call.id == id;
        let at = match index {
            Some(_) => self.calls.iter().rposition(|call| call.index == index)?,
            None if id.is_empty() => self.calls.len().checked_sub(1)?,
            None => self.calls.iter().rposition(|call| call.id == id)?,
        };
        let call = self.calls.get(at)?;
        // Complete arguments cannot go on: with a name beside them, they are the next call's.
        let next = !name.is_empty() && !arguments.trim().is_empty() && call.is_whole();
        // Servers that give every call one id and one index tell two calls apart by nothing else.
        let other = arguments.trim_start().starts_with('{') && arguments != call.arguments;
        let same = !id.is_empty() && call.id == id && !other;
        (same_id(call) && (!next || same)).then_some(at)
    }

    fn reply(self, finish: Finish) -> Reply {
        let mut done: Vec<ToolCall> = Vec::new();
        let mut extras: Vec<Option<Value>> = Vec::new();
        for call in self.calls {
            if call.name.is_empty() && call.arguments.is_empty() {
                continue;
            }
            if finish == Finish::Cut && !call.is_whole() {
                continue;
            }
            extras.push(call.extra);
            done.push(calls::received(
                call.id,
                call.name,
                call.arguments,
                &self.freeform,
            ));
        }
        calls::distinct_ids(&mut done);
        let opaque = match self.details.is_empty() {
            false => Some(serde_json::json!({"reasoning_details": self.details})),
            true => self.named_reasoning.then(|| "reasoning".into()),
        };
        let told = !self.thinking.is_empty() || !self.details.is_empty();
        let mut reasoning: Vec<Reasoning> = Vec::new();
        reasoning.extend(told.then_some(Reasoning {
            text: self.thinking,
            signature: None,
            opaque,
            wire: WireApi::Chat,
        }));
        for (call, extra) in done.iter().zip(extras) {
            reasoning.extend(extra.map(|extra| Reasoning {
                opaque: Some(serde_json::json!({"call_id": call.id, "extra_content": extra})),
                wire: WireApi::Chat,
                ..Reasoning::default()
            }));
        }
        Reply {
            assistant: Assistant {
                reasoning,
                text: self.text,
                calls: done,
            },
            finish,
            usage: self.usage,
            timing: self.timing,
        }
    }
}

impl Decoder for Reader {
    fn feed(&mut self, frame: &Frame, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        let data = frame.data.trim();
        if data == "[DONE]" {
            self.closed = true;
            return Ok(());
        }
        let chunk = frame.json()?;
        let named = frame.event.as_deref() == Some("error");
        if named || chunk.get("error").is_some_and(|error| !error.is_null()) {
            return Err(classify("", 200, data, None, ""));
        }
        self.chunk(&chunk, out)
    }

    fn is_done(&self) -> bool {
        self.closed || (self.finish.is_some() && self.counted)
    }

    fn finish(mut self: Box<Self>) -> Result<Reply, ModelError> {
        // `[DONE]` or the counts close a reply too; Ollama's hidden errors have neither.
        let closed = self.began && (self.closed || self.counted);
        match self.finish.take() {
            Some(finish) => Ok(self.reply(finish)),
            None if closed => Ok(self.reply(Finish::Stop)),
            None => Err(ModelError::broken("it ended without a finish reason")),
        }
    }

    fn cut(self: Box<Self>) -> Reply {
        self.reply(Finish::Cut)
    }
}

/// Adds a piece of `reasoning_details`: a piece of the same entry as the last one goes on with it.
fn add_detail(details: &mut Vec<Value>, piece: &Value) {
    let same = |a: &Value| {
        piece.get("index").is_some()
            && ["index", "type", "id"]
                .iter()
                .all(|k| a.get(*k) == piece.get(*k))
    };
    let (Some(last), Some(piece_fields)) = (
        details
            .last_mut()
            .filter(|a| same(a))
            .and_then(Value::as_object_mut),
        piece.as_object(),
    ) else {
        details.push(piece.clone());
        return;
    };
    for (key, value) in piece_fields {
        match (last.get_mut(key), value) {
            (Some(Value::String(text)), Value::String(more))
                if ["text", "summary", "data"].contains(&key.as_str()) =>
            {
                text.push_str(more);
            }
            (_, Value::Null) => {}
            _ => drop(last.insert(key.clone(), value.clone())),
        }
    }
}

/// The thinking in a delta, from one field only (some servers send it twice), and whether that
/// field was `reasoning`.
fn thinking_of(delta: &Value) -> (String, bool) {
    let text = |key: &str| delta.get(key).map(text_in).unwrap_or_default();
    let content = text("reasoning_content");
    if !content.is_empty() {
        return (content, false);
    }
    let plain = text("reasoning");
    if !plain.is_empty() {
        return (plain, true);
    }
    (text("reasoning_details"), false)
}

/// The text of a string, of a part (`text`, `summary`, `thinking`), or of a list of these.
fn text_in(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(list) => list.iter().map(text_in).collect(),
        Value::Object(part) => ["text", "summary", "thinking"]
            .iter()
            .find_map(|key| part.get(*key))
            .map(text_in)
            .unwrap_or_default(),
        _ => String::new(),
    }
}

/// Token counts; `None` when there are none in it. Cached tokens are part of `prompt_tokens`.
fn read_usage(usage: &Value) -> Option<Usage> {
    let number = |path: &str| usage.pointer(path).and_then(Value::as_u64);
    let input = number("/prompt_tokens");
    let output = number("/completion_tokens");
    if input.unwrap_or(0) == 0 && output.unwrap_or(0) == 0 {
        return None;
    }
    Some(Usage {
        input: input.unwrap_or(0),
        cached: number("/prompt_tokens_details/cached_tokens")
            .or_else(|| number("/cached_tokens"))
            .or_else(|| number("/prompt_cache_hit_tokens")),
        cache_write: number("/prompt_tokens_details/cache_write_tokens").unwrap_or(0),
        output: output.unwrap_or(0),
        reasoning: number("/completion_tokens_details/reasoning_tokens").unwrap_or(0),
    })
}

#[cfg(test)]
pub(super) mod tests;
