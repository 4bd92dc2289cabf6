//! One output item of a reply while it arrives.

use crate::model::{CallKind, ToolCall, calls};
use serde_json::Value;
use std::collections::HashSet;

/// What an output item is to us.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Message,
    Reasoning,
    Function,
    Custom,
    Other,
}

impl Kind {
    pub(super) fn of(item: &Value) -> Self {
        match item.get("type").and_then(Value::as_str) {
            Some("message") => Kind::Message,
            Some("reasoning") => Kind::Reasoning,
            Some("function_call") => Kind::Function,
            Some("custom_tool_call") => Kind::Custom,
            _ => Kind::Other,
        }
    }
}

/// One output item while it arrives.
pub(super) struct Slot {
    pub(super) kind: Kind,
    pub(super) index: Option<u64>,
    /// The item's own id, or else its call id.
    pub(super) id: Option<String>,
    /// Visible text, thinking, or the input of a call.
    pub(super) text: String,
    pub(super) refusal: String,
    pub(super) name: String,
    pub(super) call_id: String,
    /// Which call of the reply this is.
    pub(super) call: usize,
    /// The provider's own item, for thinking that goes back encrypted.
    pub(super) opaque: Option<Value>,
    /// Of a message: comment or final answer.
    pub(super) phase: Option<Value>,
    pub(super) done: bool,
}

impl Slot {
    pub(super) fn is_call(&self) -> bool {
        matches!(self.kind, Kind::Function | Kind::Custom)
    }

    /// True for a call that may be run although the stream ended early.
    pub(super) fn is_whole(&self) -> bool {
        match self.kind {
            Kind::Custom => self.done,
            _ if self.text.trim().is_empty() => self.done,
            _ => calls::is_complete(&self.text),
        }
    }

    pub(super) fn into_call(self, freeform: &HashSet<String>) -> ToolCall {
        if self.kind == Kind::Function {
            return calls::received(self.call_id, self.name, self.text, freeform);
        }
        ToolCall {
            id: self.call_id,
            name: self.name,
            arguments: self.text,
            kind: CallKind::Freeform,
            recovered: false,
        }
    }
}
