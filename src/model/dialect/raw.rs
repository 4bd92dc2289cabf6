//! What a model wrote when its server could read it no more than that: the text that an error
//! message quotes.

use super::parts::json_at;
use super::{Finding, Surroundings, Trouble, Written, in_text, settle, shape};
use crate::model::arguments::names;
use crate::model::{Finish, ToolCall, ToolSpec};
use serde_json::Value;

/// The call in a text that a server quotes in its error, when there is exactly one reading: a
/// wrapper names the tool, or one tool alone takes these arguments. `hint` is the name that the
/// error itself gives. A text that was cut is never completed.
pub fn from_raw(
    tools: &[ToolSpec],
    raw: &str,
    hint: Option<&str>,
    around: &Surroundings,
) -> Option<ToolCall> {
    let call = match json_at(raw, 0, &[], false) {
        // A surplus closer after the value is the usual fault; words are another text.
        (end, Ok(value))
            if raw
                .get(end..)?
                .trim_matches([']', '}', ' ', '\n', ';'])
                .is_empty() =>
        {
            by_shape(&value, tools, hint)?
        }
        (_, Err(Trouble::Unreadable(_) | Trouble::Cut) | Ok(_)) => {
            return match in_text(tools, raw, &Finish::Cut, around) {
                Finding::Calls(found) if found.calls.len() == 1 => found.calls.into_iter().next(),
                _ => None,
            };
        }
    };
    let settled = settle(&call, tools);
    (settled.fault.is_none() && settled.more.is_empty()).then_some(settled.call)
}

fn by_shape(value: &Value, tools: &[ToolSpec], hint: Option<&str>) -> Option<Written> {
    let named = |name: &str| Written::tagged(name, value.to_string(), "");
    if let Some(found) = hint.and_then(|hint| names::resolve(hint, tools)) {
        return Some(named(&found.tool.name));
    }
    if let Some(calls) = shape::calls(value, tools)
        && let [call] = calls.as_slice()
        && !call.guessed
    {
        return Some(call.clone());
    }
    let object = value.as_object().filter(|object| !object.is_empty())?;
    let mut fitting = tools.iter().filter(|tool| shape::takes(tool, object));
    let tool = fitting.next().filter(|_| fitting.next().is_none())?;
    Some(named(&tool.name))
}
