//! How a conversation is read back from the lines of its file.

use super::{Memory, QUESTION, TITLE, TurnContext, title};
use crate::agent::transcript::{Elision, Mark, Transcript};
use crate::harnesses::Start;
use crate::model::{Assistant, CallKind, Item, Part, Reasoning, ToolCall, ToolResult, join_text};
use crate::tools::{FileMemory, FileNews};
use serde::Deserialize;
use serde_json::Value;

/// What stands for the answer to a call that an abrupt end left open.
const MAYBE_RUN: &str = "The session ended before this call was answered. It may have run or not: look before you repeat it.";
/// The same where it is known.
const NOT_RUN: &str =
    "The session ended before this call was run; the user had not said whether it may be.";

/// A session as it was read back.
#[derive(Debug, Default)]
pub struct Restored {
    /// The id.
    pub id: String,
    /// What the last turn ran with.
    pub context: Option<TurnContext>,
    /// The frozen beginning.
    pub start: Option<Start>,
    /// The conversation, every call paired with a result.
    pub transcript: Transcript,
    /// What was remembered.
    pub memory: Memory,
    /// What was read and written.
    pub files: FileMemory,
    /// The number of the next reply.
    pub next_reply: u64,
    /// The name that the user gave it last.
    pub title: Option<String>,
    /// The call about which the person was asked at the end. It did not run.
    pub asked: Option<ToolCall>,
    /// Items that were added to pair what an abrupt end left open; not on disk yet.
    pub added: Vec<Item>,
}

/// Reads a session back. Lines that are not understood are passed over.
pub fn restore(lines: &[Value]) -> Restored {
    let mut out = Restored::default();
    let mut open: Option<(u64, Assistant)> = None;
    let mut asks_about = None;
    for line in lines {
        let payload = &line["payload"];
        let kind = line["type"].as_str().unwrap_or_default();
        if kind == "response_item" {
            asks_about = None;
            read_item(payload, &mut open, &mut out);
            continue;
        }
        close(&mut open, &mut out);
        match kind {
            "event_msg" if payload["type"] == "task_started" => out.transcript.begin_turn(),
            "event_msg" if payload["type"] == QUESTION => asks_about = payload["call"].as_u64(),
            "event_msg" if payload["type"] == TITLE => out.title = title(payload),
            "compacted" => {
                out.transcript = Transcript::default();
                for item in payload["replacement_history"]
                    .as_array()
                    .into_iter()
                    .flatten()
                {
                    read_item(item, &mut open, &mut out);
                }
                close(&mut open, &mut out);
            }
            "session_meta" if out.id.is_empty() => {
                out.id = payload["id"].as_str().unwrap_or_default().to_owned()
            }
            "turn_context" => {
                out.context = TurnContext::deserialize(payload)
                    .ok()
                    .or(out.context.take())
            }
            "start" => out.start = Start::deserialize(payload).ok().or(out.start.take()),
            "state" => out.memory = Memory::deserialize(payload).unwrap_or_default(),
            "files" => {
                if let Ok(news) = FileNews::deserialize(payload) {
                    out.files.learn(news);
                }
            }
            "elided" => {
                if let Ok(elision) = Elision::deserialize(payload) {
                    out.transcript.apply(&elision);
                }
            }
            _ => {}
        }
    }
    close(&mut open, &mut out);
    if let (Some(at), Some(Item::Assistant(reply))) = (asks_about, out.transcript.items().last()) {
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        out.asked = reply.calls.get(at).cloned();
    }
    pair(&mut out);
    out
}

/// Ends the reply that is being put together.
fn close(open: &mut Option<(u64, Assistant)>, out: &mut Restored) {
    if let Some((number, assistant)) = open.take() {
        out.next_reply = out.next_reply.max(number + 1);
        out.transcript.push(Item::Assistant(assistant), Mark::Plain);
    }
}

fn read_item(p: &Value, open: &mut Option<(u64, Assistant)>, out: &mut Restored) {
    let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
    let kind = p["type"].as_str().unwrap_or_default();
    let is_reply = match kind {
        "reasoning" | "function_call" | "custom_tool_call" => true,
        "message" => p["role"] == "assistant",
        _ => false,
    };
    if is_reply {
        let number = p["reply"].as_u64().unwrap_or(out.next_reply);
        if open.as_ref().is_some_and(|(n, _)| *n != number) {
            close(open, out);
        }
        let (_, a) = open.get_or_insert_with(|| (number, Assistant::default()));
        let call = |arguments: &Value, kind| ToolCall {
            id: text(&p["call_id"]),
            name: text(&p["name"]),
            arguments: text(arguments),
            kind,
            recovered: p["recovered"] == true,
        };
        match kind {
            "reasoning" => a.reasoning.push(Reasoning {
                text: text(&p["summary"][0]["text"]),
                signature: p["signature"].as_str().map(str::to_owned),
                opaque: Some(p["opaque"].clone()).filter(|v| !v.is_null()),
                wire: serde_json::from_value(p["wire"].clone()).unwrap_or_default(),
            }),
            "function_call" => a.calls.push(call(&p["arguments"], CallKind::Function)),
            "custom_tool_call" => a.calls.push(call(&p["input"], CallKind::Freeform)),
            _ => a.text.push_str(&join_text(&parts(&p["content"]))),
        }
        return;
    }
    close(open, out);
    let item = match kind {
        "message" if p["role"] == "developer" => Item::Developer {
            text: join_text(&parts(&p["content"])),
        },
        "message" => Item::User {
            content: parts(&p["content"]),
        },
        "function_call_output" | "custom_tool_call_output" => Item::ToolResult(ToolResult {
            call_id: text(&p["call_id"]),
            name: text(&p["name"]),
            content: match &p["output"] {
                Value::String(s) => vec![Part::text(s)],
                list => parts(list),
            },
            is_error: p["is_error"] == true,
            kind: if kind == "function_call_output" {
                CallKind::Function
            } else {
                CallKind::Freeform
            },
        }),
        _ => return,
    };
    out.transcript
        .push(item, Mark::deserialize(&p["mark"]).unwrap_or_default());
}

/// The content of a message.
pub fn parts(list: &Value) -> Vec<Part> {
    let one = |v: &Value| match v["image_url"].as_str() {
        Some(url) => {
            let (media, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
            Some(Part::Image {
                media_type: media.to_owned(),
                data: data.to_owned(),
            })
        }
        None => v["text"].as_str().map(Part::text),
    };
    list.as_array()
        .map(|l| l.iter().filter_map(one).collect())
        .unwrap_or_default()
}

/// Gives every call a result and drops results without a call: servers refuse both.
fn pair(out: &mut Restored) {
    let mut paired = Transcript::default();
    let mut waiting: Vec<ToolCall> = Vec::new();
    for (item, mark, _) in out.transcript.entries() {
        match item {
            Item::ToolResult(r) => {
                let Some(at) = waiting.iter().position(|c| c.id == r.call_id) else {
                    continue;
                };
                waiting.remove(at);
            }
            _ => settle_open(&mut waiting, None, &mut paired, &mut out.added),
        }
        if let Item::Assistant(a) = item {
            waiting.extend(a.calls.iter().cloned());
        }
        paired.push(item.clone(), mark);
    }
    let asked = out.asked.as_ref().map(|call| call.id.as_str());
    settle_open(&mut waiting, asked, &mut paired, &mut out.added);
    out.transcript = paired;
}

/// The calls before the one that was asked about may have run; it and those after it did not.
fn settle_open(
    waiting: &mut Vec<ToolCall>,
    asked: Option<&str>,
    paired: &mut Transcript,
    added: &mut Vec<Item>,
) {
    let mut is_open = false;
    for call in waiting.drain(..) {
        is_open |= asked == Some(call.id.as_str());
        let text = if is_open { NOT_RUN } else { MAYBE_RUN };
        let item = Item::ToolResult(ToolResult {
            call_id: call.id,
            name: call.name,
            content: vec![Part::text(text)],
            is_error: true,
            kind: call.kind,
        });
        paired.push(item.clone(), Mark::Answer);
        added.push(item);
    }
}
