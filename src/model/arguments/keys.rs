//! Argument names: other agents' names for the same argument.

use super::names::{Class, class, normal};
use super::schema::has_property;
use serde_json::{Map, Value};

/// Names of one argument across agents. Whichever of them the schema has is the right one; the
/// others stand for it, earlier ones first.
const SYNONYMS: &[&[&str]] = &[
    &[
        "path",
        "file_path",
        "filepath",
        "file",
        "filename",
        "absolute_path",
        "target_file",
        "uri",
    ],
    &["command", "cmd", "script", "shell_command", "code", "input"],
    &["pattern", "query", "regex", "search"],
    &["content", "text", "contents", "data", "body", "file_text"],
    &["old", "old_string", "old_str", "old_text", "search", "find"],
    &[
        "new",
        "new_string",
        "new_str",
        "new_text",
        "replace",
        "replacement",
    ],
    &["limit", "lines", "max_lines", "n_lines", "head_limit"],
    &["offset", "start_line", "line_offset"],
];

/// Names that some models wrap around the whole arguments.
const WRAPPERS: &[&str] = &["parameters", "arguments", "input", "kwargs", "properties"];

/// Unknown arguments that only explain the call, so that leaving them out changes nothing.
const HARMLESS: &[&str] = &[
    "description",
    "explanation",
    "reason",
    "reasoning",
    "thought",
    "justification",
];

/// Takes the arguments out of a wrapper such as `{"parameters": {…}}`; `None`: there is none.
pub(super) fn unwrap(schema: &Value, object: &Map<String, Value>) -> Option<Map<String, Value>> {
    let (key, value) = object.iter().next().filter(|_| object.len() == 1)?;
    let wrapped = WRAPPERS.contains(&key.as_str()) && !has_property(schema, key);
    value.as_object().filter(|_| wrapped).cloned()
}

/// The key of `object` that stands for the absent schema key `wanted`, never a key that the
/// schema has itself. The flag says that it is another word, not another spelling.
pub(super) fn stand_in(
    tool: &str,
    schema: &Value,
    object: &Map<String, Value>,
    wanted: &str,
) -> Option<(String, bool)> {
    let free = || object.keys().filter(|k| !has_property(schema, k));
    if let Some(key) = free().find(|k| normal(k) == normal(wanted)) {
        return Some((key.clone(), false));
    }
    let row = SYNONYMS
        .iter()
        .filter(|row| row.contains(&normal(wanted).as_str()));
    row.flat_map(|row| row.iter())
        // `input` means too many things to stand for anything but a command.
        .filter(|word| **word != "input" || class(tool) == Some(Class::Shell))
        .find_map(|word| free().find(|k| normal(k) == *word))
        .map(|key| (key.clone(), true))
}

/// True when an unknown argument may be left out of a call that changes things.
pub(super) fn is_harmless(key: &str, value: &Value) -> bool {
    value.is_null() || value == "" || HARMLESS.contains(&normal(key).as_str())
}

/// True for an argument that holds text of a file, where anything may stand.
pub(crate) fn is_file_text(key: &str) -> bool {
    let key = normal(key);
    ["content", "old", "new"].iter().any(|first| {
        let row = SYNONYMS.iter().find(|row| row.first() == Some(first));
        row.is_some_and(|row| row.contains(&key.as_str()))
    })
}

/// True for an argument that names a file.
pub(super) fn is_path(key: &str) -> bool {
    SYNONYMS
        .first()
        .is_some_and(|row| row.contains(&normal(key).as_str()))
}

/// True for an argument that holds a command line, in a tool that runs one.
pub(super) fn is_command(tool: &str, key: &str) -> bool {
    class(tool) == Some(Class::Shell) && matches!(normal(key).as_str(), "command" | "cmd")
}
