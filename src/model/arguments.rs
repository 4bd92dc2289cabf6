//! From what a model wrote as a tool call to a call that can be run, or to the error that tells
//! the model what to send instead.
//!
//! [`settle`] puts the name right ([`names`]), reads the arguments even when their JSON is a
//! little broken ([`json`]), and fits them to the tool's schema ([`fit`]). It never makes up a
//! value and never completes a text that the token limit cut.

mod error;
mod fit;
mod freeform;
pub(crate) mod json;
pub(crate) mod keys;
pub(crate) mod names;
mod schema;
#[cfg(test)]
pub(crate) mod tests;

use crate::model::{CallKind, Finish, ToolCall, ToolSpec};
use serde_json::{Map, Value};

pub use error::CallError;
pub use schema::expected;

/// The most characters of a broken call that are quoted back to the model.
const QUOTED: usize = 200;

/// A call after everything that can be put right was put right.
#[derive(Debug, Clone, PartialEq)]
pub struct Settled {
    /// The call with the name as offered and with valid arguments: a JSON object for a function
    /// (byte for byte as written when nothing had to change), the plain text for a freeform tool.
    pub call: ToolCall,
    /// Why it cannot be run; the call then stands in the history with its error.
    pub fault: Option<CallError>,
    /// Whole lines that begin with `note:`, one for each repair that changes the meaning.
    pub notes: Vec<String>,
    /// What kind of repair was needed, for counting: `name`, `json` or `arguments`.
    pub repaired: Option<&'static str>,
    /// Further calls that were written into the arguments of this one; already settled.
    pub more: Vec<ToolCall>,
}

impl Settled {
    fn sound(call: ToolCall) -> Self {
        Settled {
            call,
            fault: None,
            notes: Vec::new(),
            repaired: None,
            more: Vec::new(),
        }
    }

    fn broken(call: ToolCall, fault: CallError) -> Self {
        Settled {
            fault: Some(fault),
            ..Settled::sound(call)
        }
    }
}

/// True for a tool that runs commands, by its name.
pub fn runs_commands(name: &str) -> bool {
    names::class(name) == Some(names::Class::Shell)
}

/// Puts one call right. `finish` says whether the end of the call may be missing.
pub fn settle(call: ToolCall, tools: &[ToolSpec], finish: &Finish) -> Settled {
    let Some(found) = names::resolve(&call.name, tools) else {
        return unknown(call, tools);
    };
    let renamed = (found.tool.name != call.name).then_some("name");
    let named = ToolCall {
        name: found.tool.name.clone(),
        kind: found.tool.kind(),
        ..call.clone()
    };
    let mut settled = match found.tool.kind() {
        CallKind::Freeform => freeform::settle(named, finish),
        CallKind::Function => function(named, found.tool, finish),
    };
    if found.alias && settled.fault.is_some() {
        return unknown(call, tools);
    }
    if found.alias {
        let note = format!(
            "note: \"{}\" was read as \"{}\"",
            harmless(&call.name, 64),
            found.tool.name
        );
        settled.notes.insert(0, note);
    }
    settled.repaired = renamed.or(settled.repaired);
    settled
}

/// Settles a call of a function tool whose name is right.
fn function(call: ToolCall, tool: &ToolSpec, finish: &Finish) -> Settled {
    let schema = tool.schema();
    let read = match json::arguments(&call.arguments, *finish == Finish::Stop) {
        Ok(read) => read,
        Err(why) => {
            let fault = if matches!(finish, Finish::Length | Finish::Cut) {
                CallError::CutOff {
                    tool: tool.name.clone(),
                }
            } else {
                CallError::BadJson {
                    tool: tool.name.clone(),
                    why,
                    raw: harmless(&call.arguments, QUOTED),
                    expected: expected(&schema),
                }
            };
            let call = ToolCall {
                arguments: "{}".into(),
                ..call
            };
            return Settled::broken(call, fault);
        }
    };
    let mut pieces = read.objects.into_iter();
    let first = pieces.next().unwrap_or_default();
    let mut settled = one(&call, tool, &schema, first, read.repaired);
    if settled.fault.is_some() {
        return settled;
    }
    let mut left_out = false;
    for piece in pieces {
        let further = one(&call, tool, &schema, piece, true);
        let known = further.call.arguments == settled.call.arguments
            || settled
                .more
                .iter()
                .any(|c| c.arguments == further.call.arguments);
        if known {
            continue;
        }
        if further.fault.is_some() || !names::read_only(&further.call) {
            left_out = true;
            continue;
        }
        settled.more.push(ToolCall {
            id: ToolCall::fresh_id(),
            ..further.call
        });
    }
    if left_out {
        let note = "note: one call held several argument objects; only what could be run safely was run, send the others as calls of their own";
        settled.notes.push(note.into());
    }
    settled
}

/// Fits one arguments object to the schema. `rewritten`: the text differs from what was written.
fn one(
    call: &ToolCall,
    tool: &ToolSpec,
    schema: &Value,
    object: Map<String, Value>,
    rewritten: bool,
) -> Settled {
    let received = object
        .keys()
        .take(20)
        .map(|k| harmless(k, 64))
        .collect::<Vec<_>>();
    let plain = compact(&object);
    match fit::fit(&tool.name, schema, object) {
        Ok(fitted) => {
            let arguments = if fitted.changed || rewritten {
                compact(&fitted.object)
            } else {
                call.arguments.clone()
            };
            let repaired = if rewritten {
                Some("json")
            } else {
                fitted.changed.then_some("arguments")
            };
            Settled {
                notes: fitted.notes,
                repaired,
                ..Settled::sound(ToolCall {
                    arguments,
                    ..call.clone()
                })
            }
        }
        Err(why) => {
            let fault = CallError::BadArgument {
                tool: tool.name.clone(),
                why,
                received,
                expected: expected(schema),
            };
            let call = ToolCall {
                arguments: plain,
                ..call.clone()
            };
            Settled::broken(call, fault)
        }
    }
}

/// The answer to a name that no tool has. The call keeps a form that every server takes back.
fn unknown(call: ToolCall, tools: &[ToolSpec]) -> Settled {
    let fault = CallError::UnknownTool {
        name: harmless(&call.name, 64),
        available: tools.iter().map(|t| t.name.clone()).collect(),
        nearest: names::nearest(&call.name, tools),
    };
    let object = json::arguments(&call.arguments, false)
        .ok()
        .and_then(|read| read.objects.into_iter().next())
        .unwrap_or_default();
    let call = ToolCall {
        name: names::sendable(&call.name),
        kind: CallKind::Function,
        arguments: compact(&object),
        ..call
    };
    Settled::broken(call, fault)
}

fn compact(object: &Map<String, Value>) -> String {
    serde_json::to_string(object).unwrap_or_else(|_| "{}".into())
}

/// A quotation of at most `limit` characters in which nothing can act as a control token: those
/// would become special tokens in the next prompt and derail the model.
pub(crate) fn harmless(text: &str, limit: usize) -> String {
    const TOKENS: &[&str] = &[
        "<|",
        "<｜",
        "<tool",
        "</tool",
        "<function",
        "</function",
        "<think",
        "</think",
    ];
    let mut out = String::new();
    for (at, c) in text.char_indices().take(limit) {
        let rest = text.get(at..).unwrap_or_default();
        match c {
            '<' if TOKENS.iter().any(|t| rest.starts_with(t)) => out.push_str("&lt;"),
            '[' if rest.starts_with("[TOOL_") || rest.starts_with("[THINK]") => {
                out.push_str("&#91;")
            }
            c => out.push(c),
        }
    }
    if text.chars().nth(limit).is_some() {
        out.push('…');
    }
    out
}
