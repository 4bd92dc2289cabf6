//! Nested agents that are begun now and looked at later.

use super::args::Args;
use crate::harnesses::CallError;
use serde_json::Value;

/// What an agent is told: the first of the `keys` that has words, or the texts of the list `items`.
///
/// # Errors
/// [`CallError::BadArgument`] when an item holds anything but text, since there is no way to pass it on.
pub fn message(args: &Args, keys: &[&str]) -> Result<Option<String>, CallError> {
    if let Some(words) = keys.iter().find_map(|key| args.filled(key)) {
        return Ok(Some(words));
    }
    let mut texts = Vec::new();
    for item in args.list("items") {
        let field = |key: &str| item.get(key).and_then(Value::as_str);
        match (field("text"), field("path")) {
            (Some(text), _) => texts.push(text.to_owned()),
            (None, Some(path)) => texts.push(path.to_owned()),
            (None, None) => {
                return Err(args.wrong(
                    "\"items\" takes entries with \"text\", or with the \"path\" of a file that the agent shall read",
                ));
            }
        }
    }
    let text = texts.join("\n");
    Ok((!text.trim().is_empty()).then_some(text))
}

/// The number of an agent from an id that begins with `word` and a separator, for example `agent-3`;
/// anything else is the name that it was given.
pub fn reference(word: &str, id: &str) -> String {
    let id = id.trim();
    let number = id
        .strip_prefix(word)
        .and_then(|rest| rest.strip_prefix(['-', '_']))
        .filter(|rest| rest.parse::<u32>().is_ok());
    number.unwrap_or(id).to_owned()
}

/// A title for the person: the first words of what an agent is told.
pub fn title(prompt: &str) -> String {
    super::clip(prompt.trim().lines().next().unwrap_or_default(), 60)
}
