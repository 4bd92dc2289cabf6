//! The lines of a session file: what each holds, and how a conversation is read back from them.
//!
//! `session_meta`, `turn_context`, `response_item` and `event_msg` have the shapes that readers of
//! Codex rollouts know, and so has `compacted` (a prefix event). Beside them stand our own: `start`
//! (the frozen beginning), `state` (what harness and tools remember) and `elided` (a prefix event).

use super::transcript::{Elision, Mark, Transcript};
use crate::harnesses::{Start, State};
use crate::model::{Assistant, CallKind, Item, Part, Reasoning, ToolCall, ToolResult};
use crate::store::rollout;
use crate::tools::FileMemory;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What a session was begun or continued with; the payload of a `turn_context` line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnContext {
    /// The working folder.
    #[serde(serialize_with = "lossy")]
    pub cwd: PathBuf,
    /// The approval policy's name.
    pub approval_policy: String,
    /// The sandbox.
    pub sandbox_policy: SandboxRecord,
    /// The model.
    pub model: String,
    /// The provider's id.
    pub model_provider: String,
    /// Reasoning effort, when it was set.
    #[serde(default)]
    pub effort: Option<String>,
    /// The harness's id.
    pub harness: String,
    /// The harness's size.
    pub harness_size: String,
    /// The window in tokens.
    pub context_window: u32,
    /// The day, as in the prompt.
    pub current_date: String,
    /// The time zone, as in the prompt.
    pub timezone: String,
}

/// The sandbox as a `turn_context` line holds it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SandboxRecord {
    /// The mode's name.
    #[serde(rename = "type")]
    pub mode: String,
    /// Commands may use the network.
    pub network_access: bool,
    /// Writable folders beside the working folder.
    #[serde(serialize_with = "all_lossy")]
    pub writable_roots: Vec<PathBuf>,
}

/// A path as text. JSON has no other: what is not UTF-8 in it is replaced, and the line is kept.
fn lossy<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&path.to_string_lossy())
}

fn all_lossy<S: Serializer>(paths: &[PathBuf], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(paths.iter().map(|path| path.to_string_lossy()))
}

/// What is remembered beside the conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// The harness's own.
    pub harness: State,
    /// What was read and written.
    pub files: FileMemory,
    /// Tokens of the session so far.
    #[serde(default)]
    pub usage: crate::model::Usage,
    /// How calls are sent and read.
    #[serde(default)]
    pub tool_mode: ToolMode,
    /// Repaired calls by model and kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub repairs: BTreeMap<String, BTreeMap<String, u64>>,
}

/// How tools are offered and calls are read. A change is a prefix event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolMode {
    /// By the server's own means; calls that a model writes as text are recovered.
    #[default]
    Native,
    /// Described in the system prompt, called and answered as text: the server takes no tools.
    Prompted,
    /// As [`ToolMode::Native`], with each answer held in shape by a JSON Schema.
    Constrained,
}

/// The type of the message that names a session, as Codex calls it.
const TITLE: &str = "thread_name_updated";

/// The line that gives a session a name.
pub fn title_line(id: &str, title: &str) -> Value {
    line(
        "event_msg",
        json!({"type": TITLE, "thread_id": id, "thread_name": title}),
    )
}

/// The name in the payload of such a line; `None` where it takes the name away.
pub fn title(payload: &Value) -> Option<String> {
    let named = payload["type"] == TITLE;
    let name = payload["thread_name"].as_str().filter(|_| named)?.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

/// True for the line of a session file that may hold its name, without reading it.
pub fn may_name(line: &[u8]) -> bool {
    let wanted = TITLE.as_bytes();
    line.windows(wanted.len()).take(200).any(|w| w == wanted)
}

/// A line of that type, with the time.
pub fn line(kind: &str, payload: impl Serialize) -> Value {
    rollout::record(kind, serde_json::to_value(payload).unwrap_or(Value::Null))
}

/// The lines of one item.
pub fn item_lines(item: &Item, reply: u64, mark: Mark) -> Vec<Value> {
    item_payloads(item, reply, mark)
        .into_iter()
        .map(|p| line("response_item", p))
        .collect()
}

/// The payloads of one item. Those of one reply carry the same number, so that they are read back
/// as one. An item in the form of a user's message tells what it is.
fn item_payloads(item: &Item, reply: u64, mark: Mark) -> Vec<Value> {
    match item {
        Item::Developer { text } => vec![json!({
            "type": "message", "role": "developer", "content": [{"type": "input_text", "text": text}],
        })],
        Item::User { content } => {
            let mut message =
                json!({"type": "message", "role": "user", "content": input_parts(content)});
            if mark != Mark::Plain {
                message["mark"] = json!(mark);
            }
            vec![message]
        }
        Item::Assistant(a) => assistant_payloads(a, reply),
        Item::ToolResult(r) => {
            let output = match &r.content[..] {
                [Part::Text { text }] => json!(text),
                parts => json!(input_parts(parts)),
            };
            let kind = match r.kind {
                CallKind::Function => "function_call_output",
                CallKind::Freeform => "custom_tool_call_output",
            };
            vec![json!({
                "type": kind, "call_id": r.call_id, "output": output, "name": r.name, "is_error": r.is_error,
            })]
        }
    }
}

/// The line of a compaction: the summary, and the conversation that takes the place of the old
/// one. `first_reply` is the number of its first reply.
pub fn compacted_line(message: &str, history: &Transcript, first_reply: u64) -> Value {
    let mut reply = first_reply;
    let mut items = Vec::new();
    for (item, mark, _) in history.entries() {
        items.extend(item_payloads(item, reply, mark));
        reply += u64::from(matches!(item, Item::Assistant(_)));
    }
    line(
        "compacted",
        json!({"message": message, "replacement_history": items}),
    )
}

fn assistant_payloads(a: &Assistant, reply: u64) -> Vec<Value> {
    let mut out = Vec::new();
    for r in &a.reasoning {
        out.push(json!({
            "type": "reasoning", "summary": [{"type": "summary_text", "text": r.text}],
            "signature": r.signature, "opaque": r.opaque, "wire": r.wire, "reply": reply,
        }));
    }
    if !a.text.is_empty() {
        out.push(json!({
            "type": "message", "role": "assistant", "reply": reply,
            "content": [{"type": "output_text", "text": a.text}],
        }));
    }
    for c in &a.calls {
        let mut call = match c.kind {
            CallKind::Function => {
                json!({"type": "function_call", "call_id": c.id, "name": c.name, "arguments": c.arguments})
            }
            CallKind::Freeform => {
                json!({"type": "custom_tool_call", "call_id": c.id, "name": c.name, "input": c.arguments})
            }
        };
        call["reply"] = json!(reply);
        if c.recovered {
            call["recovered"] = json!(true);
        }
        out.push(call);
    }
    out
}

fn input_parts(content: &[Part]) -> Vec<Value> {
    content
        .iter()
        .map(|p| match p {
            Part::Text { text } => json!({"type": "input_text", "text": text}),
            Part::Image { media_type, data } => {
                json!({"type": "input_image", "image_url": format!("data:{media_type};base64,{data}")})
            }
        })
        .collect()
}

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
    /// The number of the next reply.
    pub next_reply: u64,
    /// The name that the user gave it last.
    pub title: Option<String>,
    /// Items that were added to pair what an abrupt end left open; not on disk yet.
    pub added: Vec<Item>,
}

/// Reads a session back. Lines that are not understood are passed over.
pub fn restore(lines: &[Value]) -> Restored {
    let mut out = Restored::default();
    let mut open: Option<(u64, Assistant)> = None;
    for line in lines {
        let payload = &line["payload"];
        let kind = line["type"].as_str().unwrap_or_default();
        if kind == "response_item" {
            read_item(payload, &mut open, &mut out);
            continue;
        }
        close(&mut open, &mut out);
        match kind {
            "event_msg" if payload["type"] == "task_started" => out.transcript.begin_turn(),
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
            "elided" => {
                if let Ok(elision) = Elision::deserialize(payload) {
                    out.transcript.apply(&elision);
                }
            }
            _ => {}
        }
    }
    close(&mut open, &mut out);
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
            _ => a
                .text
                .push_str(&crate::model::join_text(&parts(&p["content"]))),
        }
        return;
    }
    close(open, out);
    let item = match kind {
        "message" if p["role"] == "developer" => Item::Developer {
            text: crate::model::join_text(&parts(&p["content"])),
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

pub(super) fn parts(list: &Value) -> Vec<Part> {
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
            _ => settle_open(&mut waiting, &mut paired, &mut out.added),
        }
        if let Item::Assistant(a) = item {
            waiting.extend(a.calls.iter().cloned());
        }
        paired.push(item.clone(), mark);
    }
    settle_open(&mut waiting, &mut paired, &mut out.added);
    out.transcript = paired;
}

fn settle_open(waiting: &mut Vec<ToolCall>, paired: &mut Transcript, added: &mut Vec<Item>) {
    for call in waiting.drain(..) {
        let item = Item::ToolResult(ToolResult {
            call_id: call.id,
            name: call.name,
            content: vec![Part::text(
                "The session ended before this call was answered. It may have run or not: look before you repeat it.",
            )],
            is_error: true,
            kind: call.kind,
        });
        paired.push(item.clone(), Mark::Answer);
        added.push(item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::WireApi;

    fn call(id: &str) -> ToolCall {
        ToolCall {
            id: id.into(),
            name: "read".into(),
            arguments: "{ \"b\":1, \"a\": 2}".into(),
            kind: CallKind::Function,
            recovered: false,
        }
    }

    fn result(id: &str) -> Item {
        Item::ToolResult(ToolResult {
            call_id: id.into(),
            name: "read".into(),
            content: vec![Part::text("out")],
            is_error: false,
            kind: CallKind::Function,
        })
    }

    fn lines(items: &[Item]) -> Vec<Value> {
        items
            .iter()
            .enumerate()
            .flat_map(|(n, i)| item_lines(i, n as u64, Mark::Plain))
            .collect()
    }

    #[test]
    fn what_is_written_is_read_back_to_the_byte() {
        let reasoning = Reasoning {
            text: "hm".into(),
            signature: Some("s".into()),
            opaque: Some(json!({"z": 1, "a": 2})),
            wire: WireApi::Messages,
        };
        let freeform = ToolCall {
            kind: CallKind::Freeform,
            arguments: "*** Begin Patch".into(),
            ..call("c2")
        };
        let items = vec![
            Item::Developer {
                text: "rules".into(),
            },
            Item::User {
                content: vec![
                    Part::text("hi"),
                    Part::Image {
                        media_type: "image/png".into(),
                        data: "AAAA".into(),
                    },
                ],
            },
            Item::Assistant(Assistant {
                reasoning: vec![reasoning],
                text: "ok".into(),
                calls: vec![call("c1"), freeform],
            }),
            result("c1"),
            Item::ToolResult(ToolResult {
                call_id: "c2".into(),
                name: "read".into(),
                content: vec![],
                is_error: true,
                kind: CallKind::Freeform,
            }),
            Item::Assistant(Assistant {
                text: "one".into(),
                ..Assistant::default()
            }),
            Item::Assistant(Assistant {
                text: "two".into(),
                ..Assistant::default()
            }),
        ];
        let restored = restore(&lines(&items));
        assert_eq!(restored.transcript.items(), items);
        assert!(restored.added.is_empty());
        assert_eq!(restored.next_reply, 7);
    }

    #[test]
    fn a_kill_between_call_and_result_leaves_a_pair() {
        let items = vec![
            Item::user("go"),
            Item::Assistant(Assistant {
                calls: vec![call("c1"), call("c2")],
                ..Assistant::default()
            }),
            result("c1"),
        ];
        let restored = restore(&lines(&items));
        assert_eq!(restored.transcript.items().len(), 4);
        assert_eq!(restored.added.len(), 1);
        assert!(
            matches!(&restored.added[0], Item::ToolResult(r) if r.call_id == "c2" && r.is_error)
        );
    }

    #[test]
    fn a_result_without_a_call_is_dropped() {
        assert!(
            restore(&lines(&[Item::user("go"), result("c9")]))
                .transcript
                .items()
                .len()
                == 1
        );
    }

    #[test]
    fn elision_is_made_again() {
        let items = vec![
            Item::user("go"),
            Item::Assistant(Assistant {
                calls: vec![call("c1")],
                ..Assistant::default()
            }),
            result("c1"),
        ];
        let mut all = lines(&items);
        all.push(line(
            "elided",
            Elision {
                lines: vec![(2, "gone".into())],
            },
        ));
        assert_eq!(restore(&all).transcript.items()[2].text(), "gone");
    }

    #[test]
    fn a_compacted_conversation_takes_the_place_of_the_old_one() {
        let old = vec![
            Item::user("go"),
            Item::Assistant(Assistant {
                calls: vec![call("c1")],
                ..Assistant::default()
            }),
            result("c1"),
        ];
        let mut new = Transcript::default();
        new.push(Item::user("go"), Mark::Task);
        new.push(Item::user("what was done"), Mark::Plain);
        for id in ["c2", "c3"] {
            let reply = Assistant {
                calls: vec![call(id)],
                ..Assistant::default()
            };
            new.push(Item::Assistant(reply), Mark::Plain);
            new.push(result(id), Mark::Answer);
        }
        let mut all = lines(&old);
        all.push(compacted_line("what was done", &new, 7));
        all.extend(item_lines(&Item::user("more"), 9, Mark::Task));
        let restored = restore(&all);
        assert_eq!(&restored.transcript.items()[..6], new.items());
        assert_eq!(restored.transcript.items()[6].text(), "more");
        assert_eq!(restored.transcript.mark(0), Mark::Task);
        assert_eq!(restored.next_reply, 9);
        // The next turn makes it an earlier word of the user.
        all.push(line("event_msg", json!({"type": "task_started"})));
        assert_eq!(restore(&all).transcript.mark(0), Mark::Words);
    }
}
