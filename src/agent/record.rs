//! The lines of a session file: what each holds. How a conversation is read back from them stands
//! in [`restore()`].
//!
//! `session_meta`, `turn_context`, `response_item` and `event_msg` have the shapes that readers of
//! Codex rollouts know, and so has `compacted` (a prefix event). Beside them stand our own: `start`
//! (the frozen beginning), `state` (what is remembered, whole), `files` (what became known of files in a step) and `elided` (a
//! prefix event).

mod restore;
#[cfg(test)]
mod tests;

pub use restore::{Restored, parts, restore};

use super::transcript::{Mark, Transcript};
use crate::harnesses::State;
use crate::model::{Assistant, CallKind, Item, Part};
use crate::store::{StoreError, rollout};
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
    /// Tokens of the session so far.
    #[serde(default)]
    pub usage: crate::model::Usage,
    /// What it cost.
    #[serde(default)]
    pub cost: super::cost::Cost,
    /// How calls are sent and read.
    #[serde(default)]
    pub tool_mode: ToolMode,
    /// The server cannot read this model's calls, so they come as text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub raw_calls: bool,
    /// Repaired calls by model and kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub repairs: BTreeMap<String, BTreeMap<String, u64>>,
    /// Skills that the user turned on or off for the session.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub skills: BTreeMap<String, bool>,
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

/// The type of the message that says what the person is asked about, or that the answer is there.
const QUESTION: &str = "question";

/// The line before a question about that call of the latest reply is put, or after its answer.
pub fn question_line(call: Option<usize>) -> Value {
    line("event_msg", json!({"type": QUESTION, "call": call}))
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

/// What the last turn of a session ran with.
pub fn last_context(path: &Path) -> Option<TurnContext> {
    rollout::last_of(path, "turn_context").ok().flatten()
}

/// The lines that [`restore()`] needs: a compaction brings the conversation that takes the place of
/// everything before it. With warnings about lines that could not be read.
///
/// # Errors
/// When the file cannot be read.
pub fn lines_to_restore(path: &Path) -> Result<(Vec<Value>, Vec<String>), StoreError> {
    rollout::read_since(path, "compacted", &["response_item", "elided"])
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
