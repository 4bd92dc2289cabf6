//! Typed access to the arguments of a settled call.

use crate::model::ToolCall;
use serde_json::{Map, Value};

/// The arguments of one call. Every getter gives `None` for an absent key and for a value of
/// another type; after [`super::settle`] the types are those of the schema.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Args(Map<String, Value>);

impl Args {
    /// Reads the arguments; anything but a JSON object reads as no arguments.
    pub fn parse(call: &ToolCall) -> Self {
        Args(serde_json::from_str(&call.arguments).unwrap_or_default())
    }

    /// The value as it is.
    pub fn value(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// A string.
    pub fn str(&self, key: &str) -> Option<&str> {
        self.value(key)?.as_str()
    }

    /// A whole number; `20.0` counts as one.
    pub fn int(&self, key: &str) -> Option<i64> {
        let value = self.value(key)?;
        value.as_i64().or_else(|| {
            let number = value.as_f64()?;
            // Every f64 of this range with no fraction has an exact i64.
            (number.fract() == 0.0 && number.abs() < 9e15).then_some(number as i64)
        })
    }

    /// Any number.
    pub fn number(&self, key: &str) -> Option<f64> {
        self.value(key)?.as_f64()
    }

    /// A boolean.
    pub fn bool(&self, key: &str) -> Option<bool> {
        self.value(key)?.as_bool()
    }

    /// A list of strings; `None` as well when one entry is no string.
    pub fn strings(&self, key: &str) -> Option<Vec<String>> {
        self.value(key)?
            .as_array()?
            .iter()
            .map(|v| v.as_str().map(String::from))
            .collect()
    }
}
