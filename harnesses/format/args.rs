//! Typed access to the arguments of a call.

use super::surface;
use crate::harnesses::CallError;
use crate::model::ToolCall;
use crate::tools::action::{OnTimeout, Shell, StepStatus};
use serde_json::{Map, Value};
use std::time::Duration;

/// The arguments of one call, with what is needed to say what is wrong with them.
#[derive(Debug)]
pub struct Args<'a> {
    tool: &'a str,
    map: Map<String, Value>,
    surface: &'static str,
}

impl<'a> Args<'a> {
    /// The arguments of `call`; `surface` is the harness's `tools.json`.
    ///
    /// # Errors
    /// [`CallError::BadJson`] when they are not a JSON object.
    pub fn of(call: &'a ToolCall, surface: &'static str) -> Result<Self, CallError> {
        match serde_json::from_str(&call.arguments) {
            Ok(map) => Ok(Args {
                tool: &call.name,
                map,
                surface,
            }),
            Err(error) => Err(CallError::BadJson {
                tool: call.name.clone(),
                why: error.to_string(),
                raw: call.arguments.chars().take(200).collect(),
                expected: surface::expected(surface, &call.name),
            }),
        }
    }

    /// The text under `key`.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.map.get(key)?.as_str()
    }

    /// The text under `key`, unless it is blank.
    pub fn filled(&self, key: &str) -> Option<String> {
        self.text(key)
            .filter(|text| !text.trim().is_empty())
            .map(str::to_owned)
    }

    /// The text under `key`, which may be empty.
    ///
    /// # Errors
    /// [`CallError::BadArgument`] when it is missing or not a text.
    pub fn need(&self, key: &str) -> Result<String, CallError> {
        match self.map.get(key) {
            Some(Value::String(text)) => Ok(text.clone()),
            Some(_) => Err(self.wrong(format!("\"{key}\" must be a string"))),
            None => Err(self.wrong(format!("missing \"{key}\""))),
        }
    }

    /// The text under `key`, which may not be blank.
    ///
    /// # Errors
    /// [`CallError::BadArgument`] when it is missing, blank or not a text.
    pub fn need_filled(&self, key: &str) -> Result<String, CallError> {
        let text = self.need(key)?;
        if text.trim().is_empty() {
            return Err(self.wrong(format!("\"{key}\" is empty")));
        }
        Ok(text)
    }

    /// The number under `key`, without its fraction.
    pub fn whole(&self, key: &str) -> Option<i64> {
        whole(self.map.get(key)?)
    }

    /// The number under `key`, when it is greater than 0.
    pub fn positive(&self, key: &str) -> Option<u64> {
        u64::try_from(self.whole(key)?).ok().filter(|n| *n > 0)
    }

    /// The number under `key` as a size, when it is greater than 0.
    pub fn size(&self, key: &str) -> Option<usize> {
        let number = self.positive(key)?;
        Some(usize::try_from(number).unwrap_or(usize::MAX))
    }

    /// The yes or no under `key`.
    pub fn flag(&self, key: &str) -> Option<bool> {
        self.map.get(key)?.as_bool()
    }

    /// The texts under `key`; empty when there are none.
    pub fn texts(&self, key: &str) -> Vec<String> {
        self.list(key)
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect()
    }

    /// The values under `key`; empty when it is not a list.
    pub fn list(&self, key: &str) -> &[Value] {
        self.map
            .get(key)
            .and_then(Value::as_array)
            .map_or(&[], Vec::as_slice)
    }

    /// Any value under `key`.
    pub fn value(&self, key: &str) -> Option<&Value> {
        self.map.get(key)
    }

    /// The error that says what is wrong and how a call looks.
    pub fn wrong(&self, why: impl Into<String>) -> CallError {
        CallError::BadArgument {
            tool: self.tool.to_owned(),
            why: why.into(),
            received: self.map.keys().cloned().collect(),
            expected: surface::expected(self.surface, self.tool),
        }
    }
}

/// A number without its fraction.
pub fn whole(value: &Value) -> Option<i64> {
    // A float-to-integer cast saturates, so no number is out of reach.
    value
        .as_i64()
        .or_else(|| value.as_f64().map(|number| number as i64))
}

/// The status of that name, in the spellings that models use.
pub fn status(name: &str) -> Option<StepStatus> {
    match name.to_lowercase().replace([' ', '-'], "_").as_str() {
        "pending" | "todo" | "not_started" | "open" => Some(StepStatus::Pending),
        "in_progress" | "active" | "doing" | "started" => Some(StepStatus::InProgress),
        "completed" | "complete" | "done" | "finished" => Some(StepStatus::Completed),
        _ => None,
    }
}

/// The arguments of a call: those pairs that have a value, in this order.
pub fn object<'a>(pairs: impl IntoIterator<Item = (&'a str, Option<Value>)>) -> Value {
    pairs
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value?)))
        .collect::<Map<_, _>>()
        .into()
}

/// A value that every call of this kind has.
pub fn always(value: impl Into<Value>) -> Option<Value> {
    Some(value.into())
}

/// A value that a call leaves out where it is the usual one.
pub fn unless<T: PartialEq + Into<Value>>(usual: T, value: T) -> Option<Value> {
    (value != usual).then(|| value.into())
}

/// The time after which a command is killed. The time after which one goes on in the background is
/// no timeout.
pub fn timeout(shell: &Shell) -> Option<Duration> {
    shell
        .time_limit
        .filter(|_| shell.on_timeout == OnTimeout::Kill)
}

/// A number of milliseconds for a call.
pub fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
