//! A tool as it is offered to a model.

use super::CallKind;
use serde::{Deserialize, Serialize};
use serde_json::Value;

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
