//! The system prompt with the context files at its end, and the two messages before the first
//! one of the user.

use crate::harnesses::format::{documents, fill, prompt};
use crate::harnesses::{Context, Size};
use crate::model::{Assistant, Item};
use std::fmt::Write;

const SYSTEM: &str = include_str!("system.md");

/// The most entries of the folder tree.
const TREE_ENTRIES: usize = 20;

/// Core prompt (or the user's own in its place), then the context files.
pub fn system(cx: &Context) -> String {
    let mut text = cx
        .system_override
        .clone()
        .unwrap_or_else(|| core_prompt(cx));
    let mut files: Vec<String> = documents(&cx.instructions)
        .map(|document| {
            format!(
                "--- Context from: {path} ---\n{}\n--- End of Context from: {path} ---",
                document.text.trim_end(),
                path = document.shown
            )
        })
        .collect();
    files.extend(cx.developer_instructions.iter().cloned());
    if !files.is_empty() {
        let _ = write!(text, "\n\n---\n\n{}", files.join("\n\n"));
    }
    text
}

fn core_prompt(cx: &Context) -> String {
    let notation = Notation::of(&cx.model);
    let file = cx.cwd.join("FILE").display().to_string();
    let read = notation.call("read_file", &[("file_path", &file)]);
    let edit = notation.call(
        "edit",
        &[
            ("file_path", &file),
            ("old_string", "    for i in range(1, len(items)):"),
            ("new_string", "    for i in range(len(items)):"),
        ],
    );
    let run = notation.call("run_shell_command", &[("command", "python3 -m pytest -q")]);
    prompt(
        SYSTEM,
        cx,
        &[],
        &[
            ("example_read", &read),
            ("example_edit", &edit),
            ("example_run", &run),
        ],
    )
}

/// How a call is written in the prompt's example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notation {
    /// `<function=NAME><parameter=KEY>` inside `<tool_call>`.
    Xml,
    /// JSON inside `<tool_call>`.
    Json,
    /// `[tool_call: NAME …]`.
    General,
}

impl Notation {
    /// The notation that a model was trained with. The original gives XML to every Qwen coder;
    /// Qwen2.5-Coder, whose chat template has JSON, gets JSON here.
    pub fn of(model: &str) -> Self {
        let model = model.to_lowercase();
        let after = |mark: &str| {
            model.match_indices("qwen").find_map(|(at, word)| {
                let rest = &model[at + word.len()..];
                let dash = rest.find('-')?;
                rest[dash..].starts_with(mark).then(|| &rest[..dash])
            })
        };
        match (after("-coder"), after("-vl")) {
            (Some(version), _) if version.starts_with('2') => Notation::Json,
            (Some(_), _) => Notation::Xml,
            (None, Some(_)) => Notation::Json,
            (None, None) => Notation::General,
        }
    }

    /// A call in this notation.
    pub fn call(self, name: &str, arguments: &[(&str, &str)]) -> String {
        match self {
            Notation::Xml => {
                let parameters: String = arguments
                    .iter()
                    .map(|(key, value)| format!("<parameter={key}>\n{value}\n</parameter>\n"))
                    .collect();
                format!("<tool_call>\n<function={name}>\n{parameters}</function>\n</tool_call>")
            }
            Notation::Json => {
                let map: serde_json::Map<String, serde_json::Value> = arguments
                    .iter()
                    .map(|(key, value)| ((*key).to_owned(), (*value).into()))
                    .collect();
                let call = serde_json::json!({"name": name, "arguments": map});
                format!("<tool_call>\n{call}\n</tool_call>")
            }
            Notation::General => {
                let words: String = arguments
                    .iter()
                    .map(|(key, value)| format!(" {key}={value:?}"))
                    .collect();
                format!("[tool_call: {name}{words}]")
            }
        }
    }
}

/// The environment, and the model's short answer to it.
pub fn items(cx: &Context) -> Vec<Item> {
    let mut text = fill(
        "This is the environment of this session.\nDate: {date}\nOperating system: {os}\nShell: {shell}\nWorking folder: {cwd}\n",
        &[
            ("date", &cx.date),
            ("os", &cx.os),
            ("shell", &cx.shell),
            ("cwd", &cx.cwd.display().to_string()),
        ],
    );
    text.push_str(&tree(cx));
    vec![
        Item::user(text.trim_end()),
        Item::Assistant(Assistant {
            text: "Ready.".into(),
            ..Assistant::default()
        }),
    ]
}

/// The first entries of the working folder, files before folders.
fn tree(cx: &Context) -> String {
    let limit = if cx.size == Size::Tiny {
        TREE_ENTRIES / 2
    } else {
        TREE_ENTRIES
    };
    let files = cx.tree.iter().filter(|(_, is_dir)| !is_dir);
    let folders = cx.tree.iter().filter(|(_, is_dir)| *is_dir);
    let shown: Vec<String> = files
        .chain(folders)
        .take(limit)
        .map(|(name, is_dir)| format!("{name}{}", if *is_dir { "/" } else { "" }))
        .collect();
    if shown.is_empty() {
        return "It is empty.\n".into();
    }
    let mut text = String::from("It holds:\n");
    let more = cx.tree.len() > shown.len();
    for (at, name) in shown.iter().enumerate() {
        let last = at + 1 == shown.len() && !more;
        let _ = writeln!(text, "{}{name}", if last { "└───" } else { "├───" });
    }
    if more {
        text.push_str("└───...\n");
    }
    text
}
