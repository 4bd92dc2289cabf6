//! Reading a stream of the Responses API.
//!
//! The reply is built from `response.output_item.done`; where a server leaves those out, from the
//! deltas, and from the `output` of the last event.

use super::slot::{Kind, Slot};
use crate::model::{
    Assistant, Decoder, Delta, Finish, ModelError, Reasoning, Reply, Timing, ToolSpec, Usage,
    WireApi, calls, http, measured, sse,
};
use serde_json::Value;
use std::collections::HashSet;

/// The most output items of one reply.
const MAX_ITEMS: usize = 1_000;

/// Reads one reply.
pub(super) struct Reader {
    freeform: HashSet<String>,
    slots: Vec<Slot>,
    finish: Option<Finish>,
    usage: Option<Usage>,
    timing: Timing,
}

impl Reader {
    pub(super) fn new(tools: &[ToolSpec]) -> Self {
        Reader {
            freeform: calls::freeform_names(tools),
            slots: Vec::new(),
            finish: None,
            usage: None,
            timing: Timing::default(),
        }
    }

    /// The slot that an event speaks of; a new one if there is none. Some servers send no
    /// `output_index`, some change an item's id from event to event.
    fn slot(
        &mut self,
        kind: Kind,
        event: &Value,
        item: &Value,
        out: &mut Vec<Delta>,
    ) -> Result<usize, ModelError> {
        let index = event.get("output_index").and_then(Value::as_u64);
        let id = string(event, "item_id").or_else(|| own_id(item));
        let open = self.slots.iter().rposition(|s| {
            s.kind == kind
                && !s.done
                && match (index, s.index, &id, &s.id) {
                    (Some(a), Some(b), _, _) => a == b,
                    (_, _, Some(a), Some(b)) => a == b,
                    _ => true,
                }
        });
        // A whole item that is told once more: a proxy may send events twice.
        let again = || {
            let known = |s: &Slot| {
                s.kind == kind && index.is_some() && s.index == index && id.is_some() && s.id == id
            };
            self.slots.iter().position(known)
        };
        match open.or_else(again) {
            Some(at) => Ok(at),
            None => self.open(kind, index, id, item, out),
        }
    }

    fn open(
        &mut self,
        kind: Kind,
        index: Option<u64>,
        id: Option<String>,
        item: &Value,
        out: &mut Vec<Delta>,
    ) -> Result<usize, ModelError> {
        if self.slots.len() >= MAX_ITEMS {
            return Err(ModelError::broken(format!(
                "it has more than {MAX_ITEMS} output items"
            )));
        }
        let call = self.slots.iter().filter(|s| s.is_call()).count();
        let slot = Slot {
            kind,
            index,
            id,
            text: String::new(),
            refusal: String::new(),
            name: string(item, "name").unwrap_or_default(),
            call_id: string(item, "call_id").unwrap_or_default(),
            call,
            opaque: None,
            phase: None,
            done: false,
        };
        if slot.is_call() {
            out.push(Delta::CallStart {
                index: call,
                name: slot.name.clone(),
            });
        }
        self.slots.push(slot);
        Ok(self.slots.len() - 1)
    }

    /// Adds `text` to a slot that is not whole yet, and tells it.
    fn add(&mut self, at: usize, text: &str, out: &mut Vec<Delta>) {
        let (earlier, rest) = self.slots.split_at_mut(at);
        let Some(slot) = rest.first_mut().filter(|s| !s.done && !text.is_empty()) else {
            return;
        };
        let begins = slot.text.is_empty();
        let follows = |kind| earlier.iter().any(|s| s.kind == kind && !s.text.is_empty());
        match slot.kind {
            Kind::Message => {
                if begins && follows(Kind::Message) {
                    out.push(Delta::Text("\n\n".to_owned()));
                }
                out.push(Delta::Text(text.to_owned()));
            }
            Kind::Reasoning => {
                if begins && follows(Kind::Reasoning) {
                    out.push(Delta::Reasoning("\n\n".to_owned()));
                }
                out.push(Delta::Reasoning(text.to_owned()));
            }
            Kind::Function | Kind::Custom => out.push(Delta::CallArguments {
                index: slot.call,
                text: text.to_owned(),
            }),
            Kind::Other => return,
        }
        slot.text.push_str(text);
    }

    /// Takes a whole item. Its text counts; what the deltas did not bring of it is told now.
    fn complete(&mut self, at: usize, item: &Value, out: &mut Vec<Delta>) {
        let whole = match Kind::of(item) {
            Kind::Message => texts(item.get("content"), "output_text", "text", ""),
            Kind::Reasoning => {
                let raw = texts(item.get("content"), "reasoning_text", "text", "\n\n");
                if raw.is_empty() {
                    texts(item.get("summary"), "summary_text", "text", "\n\n")
                } else {
                    raw
                }
            }
            Kind::Function => match item.get("arguments") {
                Some(Value::String(text)) => text.clone(),
                Some(value @ Value::Object(_)) => value.to_string(),
                _ => String::new(),
            },
            Kind::Custom => string(item, "input").unwrap_or_default(),
            Kind::Other => String::new(),
        };
        let rest = self
            .slots
            .get(at)
            .and_then(|s| whole.strip_prefix(s.text.as_str()))
            .map(str::to_owned);
        if let Some(rest) = rest {
            self.add(at, &rest, out);
        }
        let Some(slot) = self.slots.get_mut(at) else {
            return;
        };
        if !whole.is_empty() {
            slot.text = whole;
        }
        let refusal = texts(item.get("content"), "refusal", "refusal", "\n");
        if !refusal.is_empty() {
            slot.refusal = refusal;
        }
        if let Some(name) = string(item, "name") {
            slot.name = name;
        }
        if let Some(call_id) = string(item, "call_id") {
            slot.call_id = call_id;
        }
        let encrypted = string(item, "encrypted_content").is_some_and(|e| !e.is_empty());
        slot.opaque = (slot.kind == Kind::Reasoning && encrypted).then(|| item.clone());
        slot.phase = item.get("phase").filter(|p| p.is_string()).cloned();
        slot.done = true;
    }

    /// The last event: what it brings that was not known yet, and how the reply ended.
    fn end(
        &mut self,
        event: &str,
        response: &Value,
        out: &mut Vec<Delta>,
    ) -> Result<(), ModelError> {
        let status = response.get("status").and_then(Value::as_str);
        match response.get("error") {
            Some(error) if !error.is_null() => return Err(http::in_stream(error)),
            _ if event == "response.failed" || status == Some("failed") => {
                let error = serde_json::json!({"code": "server_error", "message": "the response failed without a reason"});
                return Err(http::in_stream(&error));
            }
            _ => {}
        }
        let output = response.get("output").and_then(Value::as_array);
        for (i, item) in output.into_iter().flatten().enumerate() {
            let kind = Kind::of(item);
            let id = own_id(item);
            let known = self
                .slots
                .iter()
                .position(|s| id.is_some() && s.id == id)
                .or_else(|| self.slots.iter().position(|s| s.index == Some(i as u64)))
                .or_else(|| (i < self.slots.len()).then_some(i))
                .filter(|at| self.slots.get(*at).is_some_and(|s| s.kind == kind));
            let at = match known {
                Some(at) if self.slots.get(at).is_some_and(|s| s.done) => continue,
                Some(at) => at,
                None => self.open(kind, Some(i as u64), id, item, out)?,
            };
            self.complete(at, item, out);
        }
        self.usage = response.get("usage").and_then(usage);
        let reason = response
            .pointer("/incomplete_details/reason")
            .and_then(Value::as_str);
        let refusal = self.slots.iter().find(|s| !s.refusal.is_empty());
        self.finish = Some(match (reason, refusal) {
            (Some("max_output_tokens"), _) => Finish::Length,
            (Some("content_filter"), _) => Finish::Refused("content_filter".to_owned()),
            (_, Some(slot)) => Finish::Refused(slot.refusal.clone()),
            // llama.cpp's server calls a reply complete also when the token limit cut it.
            _ if self.last_call_is_cut() => Finish::Length,
            _ => Finish::Stop,
        });
        Ok(())
    }

    fn last_call_is_cut(&self) -> bool {
        self.slots
            .last()
            .is_some_and(|s| s.kind == Kind::Function && calls::is_cut_off(&s.text))
    }

    fn reply(self, finish: Finish, whole_calls_only: bool) -> Reply {
        let mut assistant = Assistant::default();
        for slot in self.slots {
            match slot.kind {
                Kind::Message if !slot.text.is_empty() => {
                    assistant
                        .reasoning
                        .extend(slot.phase.map(|phase| Reasoning {
                            opaque: Some(serde_json::json!({"phase": phase})),
                            wire: WireApi::Responses,
                            ..Reasoning::default()
                        }));
                    if !assistant.text.is_empty() {
                        assistant.text.push_str("\n\n");
                    }
                    assistant.text.push_str(&slot.text);
                }
                Kind::Reasoning if !slot.text.is_empty() || slot.opaque.is_some() => {
                    assistant.reasoning.push(Reasoning {
                        text: slot.text,
                        signature: None,
                        opaque: slot.opaque,
                        wire: WireApi::Responses,
                    });
                }
                Kind::Function | Kind::Custom if !whole_calls_only || slot.is_whole() => {
                    assistant.calls.push(slot.into_call(&self.freeform));
                }
                _ => {}
            }
        }
        calls::distinct_ids(&mut assistant.calls);
        Reply {
            assistant,
            finish,
            usage: self.usage,
            timing: self.timing,
        }
    }
}

impl Decoder for Reader {
    fn feed(&mut self, frame: &sse::Frame, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        let data = frame.data.trim();
        if data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        let event = frame.json()?;
        if let Some(error) = http::in_event(&event) {
            return Err(error);
        }
        out.extend(measured::progress(&event));
        measured::timings(&event, &mut self.timing);
        let null = Value::Null;
        let item = event.get("item").unwrap_or(&null);
        let delta = event.get("delta").and_then(Value::as_str).unwrap_or("");
        let name = event
            .get("type")
            .and_then(Value::as_str)
            .or(frame.event.as_deref())
            .unwrap_or("");
        let grows = match name {
            "response.output_text.delta" => Kind::Message,
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                Kind::Reasoning
            }
            "response.function_call_arguments.delta" => Kind::Function,
            "response.custom_tool_call_input.delta" => Kind::Custom,
            "response.refusal.delta" => {
                let at = self.slot(Kind::Message, &event, item, out)?;
                if let Some(slot) = self.slots.get_mut(at) {
                    slot.refusal.push_str(delta);
                }
                return Ok(());
            }
            "response.reasoning_summary_part.added" => {
                let at = self.slot(Kind::Reasoning, &event, item, out)?;
                if self.slots.get(at).is_some_and(|s| !s.text.is_empty()) {
                    self.add(at, "\n\n", out);
                }
                return Ok(());
            }
            "response.output_item.added" => {
                self.slot(Kind::of(item), &event, item, out)?;
                return Ok(());
            }
            "response.output_item.done" => {
                let at = self.slot(Kind::of(item), &event, item, out)?;
                self.complete(at, item, out);
                return Ok(());
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                return self.end(name, event.get("response").unwrap_or(&null), out);
            }
            // A server that answers a streaming request with one plain object.
            _ if event.get("object").and_then(Value::as_str) == Some("response") => {
                return self.end(name, &event, out);
            }
            _ => return Ok(()),
        };
        let at = self.slot(grows, &event, item, out)?;
        self.add(at, delta, out);
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.finish.is_some()
    }

    fn finish(mut self: Box<Self>) -> Result<Reply, ModelError> {
        match self.finish.take() {
            Some(finish) => Ok(self.reply(finish, false)),
            None => Err(ModelError::broken("it ended before response.completed")),
        }
    }

    fn cut(self: Box<Self>) -> Reply {
        self.reply(Finish::Cut, true)
    }
}

fn string(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().map(str::to_owned)
}

/// An item's id; the call id where a server sends no other.
fn own_id(item: &Value) -> Option<String> {
    string(item, "id").or_else(|| string(item, "call_id"))
}

/// The texts of all parts of one type, joined.
fn texts(parts: Option<&Value>, part_type: &str, key: &str, between: &str) -> String {
    parts
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter(|p| p.get("type").and_then(Value::as_str) == Some(part_type))
        .filter_map(|p| p.get(key)?.as_str())
        .collect::<Vec<_>>()
        .join(between)
}

/// Here `input_tokens` counts the cached ones too.
fn usage(usage: &Value) -> Option<Usage> {
    let number = |path: &str| usage.pointer(path).and_then(Value::as_u64);
    Some(Usage {
        input: number("/input_tokens")?,
        cached: number("/input_tokens_details/cached_tokens"),
        cache_write: number("/input_tokens_details/cache_write_tokens").unwrap_or(0),
        output: number("/output_tokens").unwrap_or(0),
        reasoning: number("/output_tokens_details/reasoning_tokens").unwrap_or(0),
    })
}
