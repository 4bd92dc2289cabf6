//! How bytes reach a model, in neutral terms.
//!
//! Everything above this floor speaks [`Request`], [`Item`] and [`Reply`]; the four wires
//! ([`chat`], [`responses`], [`messages`], [`ollama`]) turn those into the JSON of one API and
//! back. A wire knows no harness and a harness knows no wire.

pub mod arguments;
mod calls;
pub mod chat;
pub mod dialect;
pub mod error;
pub mod http;
pub mod local;
mod measured;
pub mod messages;
pub mod ollama;
pub mod provider;
pub mod responses;
pub mod sampling;
pub mod sse;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::time::Duration;

pub use crate::config::Sampling;
pub use error::ModelError;

/// One piece of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    /// Plain text.
    Text {
        /// The text itself.
        text: String,
    },
    /// A picture, carried inside the request.
    Image {
        /// For example `image/png`.
        media_type: String,
        /// The bytes in base64, without a data-URL prefix.
        data: String,
    },
}

impl Part {
    /// A text part.
    pub fn text(text: impl Into<String>) -> Self {
        Part::Text { text: text.into() }
    }

    /// The text of a text part, and nothing for a picture.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Part::Text { text } => Some(text),
            Part::Image { .. } => None,
        }
    }
}

/// One entry of a conversation. A transcript is a list of these and only ever grows.
///
/// Two neighbouring [`Item::User`] or [`Item::Developer`] entries are allowed; a wire whose
/// servers want strict alternation joins them while it writes the request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Item {
    /// Words of the program, not of the person. The `responses` wire sends them under the
    /// `developer` role; the others as user text, since most local servers know no such role.
    Developer {
        /// The text.
        text: String,
    },
    /// Words of the person, or data placed where a person speaks.
    User {
        /// Text and pictures, in order.
        content: Vec<Part>,
    },
    /// One whole reply of the model.
    Assistant(Assistant),
    /// The answer to one tool call.
    ToolResult(ToolResult),
}

impl Item {
    /// A user item with one text part.
    pub fn user(text: impl Into<String>) -> Self {
        Item::User {
            content: vec![Part::text(text)],
        }
    }

    /// The text parts of this item joined by a line end, reasoning left out.
    pub fn text(&self) -> String {
        match self {
            Item::Developer { text } => text.clone(),
            Item::User { content } => join_text(content),
            Item::Assistant(a) => a.text.clone(),
            Item::ToolResult(r) => join_text(&r.content),
        }
    }
}

/// The text parts of `content`, joined by a line end.
pub fn join_text(content: &[Part]) -> String {
    content
        .iter()
        .filter_map(Part::as_text)
        .collect::<Vec<_>>()
        .join("\n")
}

/// What a model said in one reply.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Assistant {
    /// Thinking, kept apart from the text and sent back where the API wants it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasoning: Vec<Reasoning>,
    /// The visible text, exactly as the model wrote it.
    #[serde(default)]
    pub text: String,
    /// The tool calls, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolCall>,
}

/// One stretch of thinking.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Reasoning {
    /// The words; empty when only an opaque form exists.
    pub text: String,
    /// The signature of a `thinking` block on the `messages` wire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// The provider's own item, sent back byte for byte to the provider that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<Value>,
    /// Which wire made it, since no other wire can read `signature` and `opaque`.
    pub wire: WireApi,
}

/// One request of the model to do something.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The id that pairs it with its result. Never empty once it is in a transcript.
    pub id: String,
    /// The tool's name, as offered.
    pub name: String,
    /// A function's arguments as JSON text, or a freeform tool's input as it is.
    pub arguments: String,
    /// Function or freeform.
    #[serde(default)]
    pub kind: CallKind,
    /// True when it was found in the text of the reply instead of being sent as a call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub recovered: bool,
}

impl ToolCall {
    /// An id for a call that came without one, unique beyond the session.
    pub fn fresh_id() -> String {
        format!("call_{}", uuid::Uuid::now_v7().simple())
    }
}

/// How a tool takes its input.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallKind {
    /// JSON arguments that follow a schema.
    #[default]
    Function,
    /// One text, for example a patch.
    Freeform,
}

/// The answer to one [`ToolCall`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The id of the call.
    pub call_id: String,
    /// The name of the tool; some wires want it beside the id.
    pub name: String,
    /// What the model reads.
    pub content: Vec<Part>,
    /// True for an error, where the wire has a mark for one.
    #[serde(default)]
    pub is_error: bool,
    /// The kind of the call that it answers.
    #[serde(default)]
    pub kind: CallKind,
}

/// A tool as it is offered to the model. The order of `parameters` is kept as written, since a
/// changed order would change the prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Letters, digits, `_` and `-`, at most 64.
    pub name: String,
    /// What it does, in our own words.
    pub description: String,
    /// Its input.
    pub input: ToolInput,
}

/// The input that a tool takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolInput {
    /// JSON arguments; the value is a JSON Schema object.
    Function(Value),
    /// Free text in a grammar. A custom tool on `responses`; elsewhere a function with one
    /// required string `input`.
    Freeform {
        /// The grammar in Lark syntax, for servers that enforce it.
        grammar: String,
    },
}

impl ToolSpec {
    /// The JSON Schema of the arguments, also for a freeform tool shown as a function.
    pub fn schema(&self) -> Value {
        match &self.input {
            ToolInput::Function(schema) => schema.clone(),
            ToolInput::Freeform { .. } => serde_json::json!({
                "type": "object",
                "properties": {"input": {"type": "string"}},
                "required": ["input"],
                "additionalProperties": false,
            }),
        }
    }

    /// Whether calls of this tool carry JSON or free text.
    pub fn kind(&self) -> CallKind {
        match self.input {
            ToolInput::Function(_) => CallKind::Function,
            ToolInput::Freeform { .. } => CallKind::Freeform,
        }
    }
}

/// The four wire APIs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WireApi {
    /// OpenAI Chat Completions.
    #[default]
    Chat,
    /// OpenAI Responses.
    Responses,
    /// Anthropic Messages.
    Messages,
    /// Ollama's native `/api/chat`, the only one that can set the window there.
    Ollama,
}

impl WireApi {
    /// All wires with the names that the config uses.
    pub const ALL: [(WireApi, &'static str); 4] = [
        (WireApi::Chat, "chat"),
        (WireApi::Responses, "responses"),
        (WireApi::Messages, "messages"),
        (WireApi::Ollama, "ollama"),
    ];

    /// The name in the config.
    pub fn name(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(w, _)| *w == self)
            .map_or("chat", |(_, n)| n)
    }

    /// The wire of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, n)| *n == name).map(|(w, _)| *w)
    }

    /// The code of this wire.
    pub fn wire(self) -> &'static dyn Wire {
        match self {
            WireApi::Chat => &chat::Chat,
            WireApi::Responses => &responses::Responses,
            WireApi::Messages => &messages::Messages,
            WireApi::Ollama => &ollama::Ollama,
        }
    }
}

/// Everything that is sent in one request, in neutral terms. The transcript is borrowed, so that
/// making a request copies nothing but the bytes that go out.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// The model's name at this provider.
    pub model: &'a str,
    /// The system prompt, frozen for the session; may be empty.
    pub system: &'a str,
    /// The tools on offer, frozen for the session; empty for text-action harnesses.
    pub tools: &'a [ToolSpec],
    /// Opening items, transcript and what is shown once, in order.
    pub items: Vec<&'a Item>,
    /// The most tokens that the reply may have.
    pub max_output_tokens: u32,
    /// The window that the server shall use, where the wire can set it (Ollama's `num_ctx`).
    pub window: Option<u32>,
    /// Sampling that the user asked for. Absent values are left to the server.
    pub sampling: Sampling,
    /// `minimal`, `low`, `medium`, `high`, …; absent: the server's default.
    pub reasoning_effort: Option<&'a str>,
    /// A key that is the same for a whole session, for servers that route by it.
    pub cache_key: &'a str,
    /// A JSON Schema that the answer must follow.
    pub schema: Option<&'a Value>,
    /// True when the server is on the user's own machine or network and takes the extra fields
    /// of llama.cpp, vLLM and LM Studio; a hosted server refuses unknown fields.
    pub local: bool,
    /// Further top-level fields of the body, from the provider's entry in the config.
    pub extra: &'a Map<String, Value>,
}

impl Request<'_> {
    /// Lays the fields that the user configured over a body of ours: an object is merged into an
    /// object, null takes a field away, and anything else replaces it.
    fn add_extra(&self, body: &mut Map<String, Value>) {
        merge(body, self.extra);
    }
}

fn merge(body: &mut Map<String, Value>, extra: &Map<String, Value>) {
    for (key, value) in extra {
        match (body.get_mut(key), value) {
            (_, Value::Null) => {
                body.shift_remove(key);
            }
            (Some(Value::Object(ours)), Value::Object(theirs)) => merge(ours, theirs),
            (_, value) => {
                body.insert(key.clone(), value.clone());
            }
        }
    }
}

/// One step of a streamed reply.
#[derive(Debug, Clone, PartialEq)]
pub enum Delta {
    /// More visible text.
    Text(String),
    /// More thinking.
    Reasoning(String),
    /// A call begins. `index` counts from 0 within the reply.
    CallStart {
        /// Which call.
        index: usize,
        /// The tool's name, when it is known already.
        name: String,
    },
    /// More of a call's arguments.
    CallArguments {
        /// Which call.
        index: usize,
        /// The next piece of the JSON text.
        text: String,
    },
    /// The server tells how far it has read the prompt, in tokens.
    Progress {
        /// Tokens done, cached ones included.
        processed: u64,
        /// Tokens in all.
        total: u64,
        /// Tokens taken from the cache.
        cached: u64,
    },
    /// The request is sent again: the first try broke. Everything streamed so far is void.
    Retry {
        /// Which try this is, from 1.
        attempt: u32,
        /// The most tries there will be.
        of: u32,
        /// Why, in words.
        why: String,
    },
    /// Nothing came for a while; said about every ten seconds so that a person sees life.
    Waiting(Duration),
}

/// Why a reply ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// The model was done, with or without calls.
    Stop,
    /// The token limit cut it: its last call or word may be incomplete.
    Length,
    /// The provider withheld the answer; the text says why when it is known.
    Refused(String),
    /// We cut the stream ourselves, for example because the model repeated itself.
    Cut,
}

/// Token counts of one request, as the server reported them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the whole prompt, cached ones included.
    pub input: u64,
    /// Prompt tokens that came from the cache; `None` where the server does not say.
    pub cached: Option<u64>,
    /// Prompt tokens newly written into a cache that costs money.
    pub cache_write: u64,
    /// Tokens of the reply, thinking included.
    pub output: u64,
    /// Of these, thinking.
    pub reasoning: u64,
}

/// What the server measured itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// Loading the model.
    pub load: Option<Duration>,
    /// Reading the prompt.
    pub prompt: Option<Duration>,
    /// Writing the reply.
    pub output: Option<Duration>,
    /// From sending the request to the first text, thinking or call; ours.
    pub first_token: Option<Duration>,
    /// The whole request; ours.
    pub total: Duration,
    /// The pieces of text, thinking or call that the reply came in; ours.
    pub pieces: u32,
}

/// One complete reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// What the model said.
    pub assistant: Assistant,
    /// Why it ended.
    pub finish: Finish,
    /// Token counts, where the server gave any.
    pub usage: Option<Usage>,
    /// Times.
    pub timing: Timing,
}

/// How a stream is cut into frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// Server-sent events.
    Sse,
    /// One JSON object a line.
    Ndjson,
}

/// One wire API: pure translation, no input or output.
pub trait Wire: Sync {
    /// Which one it is.
    fn api(&self) -> WireApi;
    /// What is appended to the provider's base URL. The base of `chat`, `responses` and
    /// `messages` ends in `/v1`; that of `ollama` is the server's root.
    fn path(&self) -> &'static str;
    /// Headers that this API always wants, for example `anthropic-version`.
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
    /// The body of a streaming request. Deterministic: equal input gives equal bytes.
    fn body(&self, request: &Request) -> Value;
    /// How its stream is framed.
    fn framing(&self) -> Framing;
    /// A fresh reader of one reply to a request with these tools (a freeform tool shown as a
    /// function comes back as one and is unwrapped by the reader).
    fn decoder(&self, tools: &[ToolSpec]) -> Box<dyn Decoder>;
}

/// Reads the frames of one reply.
pub trait Decoder: Send {
    /// Takes one frame (the data of one event, or one line) and pushes what it brought.
    ///
    /// # Errors
    /// When the frame carries an error of the server, or is not what the API promises.
    fn feed(&mut self, frame: &sse::Frame, out: &mut Vec<Delta>) -> Result<(), ModelError>;
    /// True once the finish marker was seen and nothing more is needed.
    fn is_done(&self) -> bool;
    /// The whole reply. `timing` fields that only the caller knows are filled in by the caller.
    ///
    /// # Errors
    /// [`ModelError::Broken`] when the stream ended without its finish marker.
    fn finish(self: Box<Self>) -> Result<Reply, ModelError>;
    /// What was read so far, for a stream that we cut on purpose ([`Finish::Cut`]). A call whose
    /// arguments are not complete JSON is left out.
    fn cut(self: Box<Self>) -> Reply;
}
