//! The entries of a conversation, in neutral terms.

use super::WireApi;
use serde::{Deserialize, Serialize};
use serde_json::Value;

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
