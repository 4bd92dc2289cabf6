//! How hooks are told of tools: by the names and fields that users of Codex and Claude Code know.

use crate::model::join_text;
use crate::tools::action::{Action, ChangeKind, Glob, Outcome};
use crate::tools::mcp::shown_name;
use serde_json::{Value, json};
use std::borrow::Cow;

/// A tool as hooks know it.
pub(super) struct Tool {
    pub name: Cow<'static, str>,
    /// The further names that a matcher may have.
    pub others: Vec<&'static str>,
    pub input: Value,
}

impl Tool {
    /// All of its names.
    pub fn names(&self) -> Vec<&str> {
        let others = self.others.iter().copied();
        std::iter::once(&*self.name).chain(others).collect()
    }
}

/// What hooks are told of an action; `None` for one that they do not see.
pub(super) fn tool(action: &Action) -> Option<Tool> {
    let tool = |name, others: &[&'static str], input| {
        Some(Tool {
            name: Cow::Borrowed(name),
            others: others.to_vec(),
            input,
        })
    };
    match action {
        Action::Shell(shell) => tool("Bash", &[], json!({ "command": shell.command })),
        Action::Patch { text, .. } => tool(
            "apply_patch",
            &["Edit", "Write"],
            json!({ "command": text }),
        ),
        Action::Write { path, content, .. } => tool(
            "Write",
            &["apply_patch"],
            json!({ "file_path": path, "content": content }),
        ),
        Action::Edit { path, edits, .. } => {
            let pairs = edits
                .iter()
                .map(|e| json!({ "old_string": e.old, "new_string": e.new }));
            let mut input = json!({ "file_path": path });
            match edits.as_slice() {
                [one] => {
                    input["old_string"] = json!(one.old);
                    input["new_string"] = json!(one.new);
                }
                _ => input["edits"] = pairs.collect(),
            }
            tool("Edit", &["apply_patch"], input)
        }
        Action::Insert { path, after, text } => tool(
            "Edit",
            &["apply_patch"],
            json!({ "file_path": path, "insert_line": after, "new_string": text }),
        ),
        Action::EditCell(edit) => tool(
            "NotebookEdit",
            &["Edit", "apply_patch"],
            json!({ "notebook_path": edit.path, "cell_id": edit.cell, "new_source": edit.source,
                "cell_type": edit.kind, "edit_mode": edit.mode }),
        ),
        Action::UndoEdit { path } => tool(
            "Edit",
            &["apply_patch"],
            json!({ "file_path": path, "undo": true }),
        ),
        Action::Read(read) => tool("Read", &[], json!({ "file_path": read.path })),
        Action::List { path, .. } => tool("LS", &[], json!({ "path": path })),
        Action::Glob(Glob { pattern, path, .. }) => {
            tool("Glob", &[], json!({ "pattern": pattern, "path": path }))
        }
        Action::Fetch(fetch) => tool("WebFetch", &[], json!({ "url": fetch.url })),
        Action::Grep(grep) => tool(
            "Grep",
            &[],
            json!({ "pattern": grep.pattern, "path": grep.path }),
        ),
        Action::Mcp(call) => Some(Tool {
            name: Cow::Owned(shown_name(&call.server, &call.tool)),
            others: Vec::new(),
            input: call.arguments.clone(),
        }),
        _ => None,
    }
}

/// The action that a hook put in the place of this one; `None` where that is not possible.
pub(super) fn changed(action: &Action, command: String) -> Option<Action> {
    let mut changed = action.clone();
    match &mut changed {
        Action::Shell(shell) => shell.command = command,
        Action::Patch { text, .. } => *text = command,
        _ => return None,
    }
    Some(changed)
}

/// What came of it, as text.
pub(super) fn response(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Shell(shell) => shell.output.text.clone(),
        Outcome::Read(read) => read.text.clone(),
        Outcome::Cells(out) => out.text(),
        Outcome::Changed(files) => {
            let mut text = "Success. Updated the following files:\n".to_owned();
            for file in files {
                let letter = match file.kind {
                    ChangeKind::Add => 'A',
                    ChangeKind::Delete => 'D',
                    ChangeKind::Update => 'M',
                };
                text.push_str(&format!("{letter} {}\n", file.shown));
            }
            text
        }
        Outcome::Found(found) => {
            let paths = found.paths.iter().map(|p| p.display().to_string());
            paths.collect::<Vec<_>>().join("\n")
        }
        Outcome::Listed(list) => {
            let names = list.entries.iter().map(|e| e.name.clone());
            names.collect::<Vec<_>>().join("\n")
        }
        Outcome::Matches(found) => {
            let lines = found
                .lines
                .iter()
                .map(|l| format!("{}:{}:{}", l.path.display(), l.number, l.text));
            lines.collect::<Vec<_>>().join("\n")
        }
        Outcome::Mcp(out) => join_text(&out.parts),
        Outcome::Failed(error) => error.to_string(),
        _ => String::new(),
    }
}
