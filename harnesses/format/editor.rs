//! `str_replace_editor`: one tool with five commands, for the agents that have it.

use super::args::{Args, whole};
use crate::harnesses::CallError;
use crate::tools::action::{Action, Base, Pass, Read, Replace, Unique, WriteRule};
use serde_json::{Value, json};

/// How the editors of agents differ.
#[derive(Debug, Clone, Copy)]
pub struct Editor {
    /// The most bytes of one view; the room of the session is usually less.
    pub view_bytes: usize,
    /// `view` of a folder lists it.
    pub lists: bool,
    /// `str_replace` without `new_str` deletes.
    pub deletes: bool,
    /// `create` writes over a file that was read; else it makes new ones only.
    pub overwrites: bool,
}

impl Editor {
    /// What a call asks for.
    ///
    /// # Errors
    /// What is wrong with it, for the model.
    pub fn action(&self, args: &Args) -> Result<Action, CallError> {
        let path = args.need_filled("path")?;
        match args.need("command")?.as_str() {
            "view" => {
                let (first, lines) = view_range(args)?;
                Ok(Action::Read(Read {
                    first,
                    or_list: self.lists,
                    ..Read::new(path, lines, self.view_bytes)
                }))
            }
            "create" => Ok(Action::Write {
                path,
                content: args.need("file_text")?,
                rule: WriteRule {
                    read_first: self.overwrites,
                    must_be_new: !self.overwrites,
                    append: false,
                },
            }),
            "str_replace" => Ok(Action::Edit {
                path,
                edits: vec![Replace {
                    old: args.need("old_str")?,
                    new: match args.value("new_str") {
                        None | Some(Value::Null) if self.deletes => String::new(),
                        _ => args.need("new_str")?,
                    },
                }],
                base: Base::Original,
                unique: Unique::Require,
                passes: Pass::ALL.to_vec(),
                read_first: false,
                may_create: false,
            }),
            "insert" => Ok(Action::Insert {
                path,
                after: args
                    .whole("insert_line")
                    .and_then(|line| usize::try_from(line).ok())
                    .ok_or_else(|| {
                        args.wrong("\"insert_line\" must be a line number, 0 for the top")
                    })?,
                text: args.need("new_str")?,
            }),
            "undo_edit" => Ok(Action::UndoEdit { path }),
            other => Err(args.wrong(format!(
                "\"command\" is \"{other}\" but must be view, create, str_replace, insert or undo_edit"
            ))),
        }
    }

    /// The arguments of the call that asks for this; `None` when no command does.
    pub fn write(&self, action: &Action) -> Option<Value> {
        match action {
            Action::Read(read) if !read.from_end => {
                let mut call = json!({"command": "view", "path": read.path});
                if read.first > 1 || read.lines.is_some() {
                    let last = read
                        .lines
                        .map(|lines| read.first.saturating_add(lines.max(1) - 1));
                    call["view_range"] = match last {
                        Some(last) => json!([read.first, last]),
                        None => json!([read.first, -1]),
                    };
                }
                Some(call)
            }
            Action::List { path, .. } if self.lists => {
                Some(json!({"command": "view", "path": path}))
            }
            Action::Write {
                path,
                content,
                rule,
            } if !rule.append => {
                Some(json!({"command": "create", "path": path, "file_text": content}))
            }
            Action::Edit {
                path,
                edits,
                unique,
                ..
            } if *unique != Unique::All => match edits.as_slice() {
                [edit] => Some(json!({
                    "command": "str_replace", "path": path, "old_str": edit.old, "new_str": edit.new
                })),
                _ => None,
            },
            Action::Insert { path, after, text } => Some(json!({
                "command": "insert", "path": path, "new_str": text, "insert_line": after
            })),
            Action::UndoEdit { path } => Some(json!({"command": "undo_edit", "path": path})),
            _ => None,
        }
    }
}

/// First line and number of lines. One number reads to the end, and so does a last line of -1.
fn view_range(args: &Args) -> Result<(usize, Option<usize>), CallError> {
    let range: Vec<i64> = args.list("view_range").iter().filter_map(whole).collect();
    let first = range.first().copied().unwrap_or(1).max(1);
    let last = range.get(1).copied().filter(|last| *last != -1);
    if last.is_some_and(|last| last < first) {
        return Err(args.wrong("\"view_range\" must be [first, last] with last not before first"));
    }
    let size = |n: i64| usize::try_from(n).unwrap_or(usize::MAX);
    Ok((
        size(first),
        last.map(|last| size(last - first).saturating_add(1)),
    ))
}
