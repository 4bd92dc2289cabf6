//! `minimal`: Open Interpreter's own two-tool surface, a shell and an editor.

mod results;

use super::format::args::{Args, always, object, timeout, unless, whole};
use super::format::{documents, job_ended, planning, prompt, surface};
use super::{CallError, Context, Done, Harness, Item, Notice, Start, State};
use crate::model::ToolCall;
use crate::tools::action::{
    Action, Base, OnTimeout, Pass, Read, Replace, Shell, ShellKind, Unique, WriteRule,
};
use serde_json::{Value, json};
use std::time::Duration;

/// The harness for models that call tools but were trained in no agent that we know.
pub struct Minimal;

const SYSTEM: &str = include_str!("system.md");
const TOOLS: &str = include_str!("tools.json");

/// Seconds of a command by default, and at most.
const TIMEOUT: (u64, u64) = (120, 300);
/// Most bytes of one view; the room of the session is usually less.
const VIEW_BYTES: usize = 64 * 1024;

impl Harness for Minimal {
    fn id(&self) -> &'static str {
        "minimal"
    }

    fn about(&self) -> &'static str {
        "two tools, a shell and an editor: for models that many tools confuse"
    }

    fn begin(&self, cx: &Context) -> Start {
        Start {
            system: cx
                .system_override
                .clone()
                .unwrap_or_else(|| prompt(SYSTEM, cx, &[], &[])),
            opening: opening(cx),
            ..surface::start(TOOLS, "", &[], cx)
        }
    }

    fn action(&self, call: &ToolCall) -> Result<Action, CallError> {
        action(call)
    }

    fn result(&self, done: &Done, room: usize) -> Item {
        results::item(done, room)
    }

    fn write(&self, action: &Action) -> Option<(&'static str, Value)> {
        write(action)
    }

    fn notice(&self, _: &mut State, notice: &Notice) -> Vec<Item> {
        let text = match notice {
            Notice::JobEnded { command, code, .. } => job_ended(command, *code),
            Notice::Planning(on) => planning(*on).into(),
            Notice::Nudge(text) => text.clone(),
        };
        vec![Item::user(text)]
    }
}

/// Developer words and AGENTS.md, each a message of the user. The original drops AGENTS.md.
fn opening(cx: &Context) -> Vec<Item> {
    cx.developer_instructions
        .iter()
        .cloned()
        .chain(
            documents(&cx.instructions).map(|document| {
                format!("Instructions from {}:\n\n{}", document.shown, document.text)
            }),
        )
        .map(Item::user)
        .collect()
}

fn action(call: &ToolCall) -> Result<Action, CallError> {
    let args = Args::of(call, TOOLS)?;
    match call.name.as_str() {
        "bash" => bash(&args),
        "str_replace_editor" => editor(&args),
        name => Err(surface::unknown(TOOLS, name)),
    }
}

fn bash(args: &Args) -> Result<Action, CallError> {
    let seconds = args.positive("timeout").unwrap_or(TIMEOUT.0).min(TIMEOUT.1);
    Ok(Action::Shell(Shell {
        shell: ShellKind::User { login: false },
        on_timeout: OnTimeout::Kill,
        cwd_persists: true,
        ..Shell::new(args.need_filled("command")?, Duration::from_secs(seconds))
    }))
}

fn editor(args: &Args) -> Result<Action, CallError> {
    let path = args.need_filled("path")?;
    match args.need("command")?.as_str() {
        "view" => {
            let (first, lines) = view_range(args)?;
            Ok(Action::Read(Read {
                first,
                ..Read::new(path, lines, VIEW_BYTES)
            }))
        }
        "create" => Ok(Action::Write {
            path,
            content: args.need("file_text")?,
            rule: WriteRule {
                read_first: false,
                must_be_new: true,
                append: false,
            },
        }),
        "str_replace" => Ok(Action::Edit {
            path,
            edits: vec![Replace {
                old: args.need("old_str")?,
                new: args.need("new_str")?,
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

/// The call of an action; `None`: this surface has none.
fn write(action: &Action) -> Option<(&'static str, Value)> {
    match action {
        Action::Shell(shell) if !shell.background && shell.dir.is_none() => {
            let limit = timeout(shell).map(|limit| limit.as_secs());
            let arguments = object([
                ("command", always(shell.command.as_str())),
                ("timeout", limit.and_then(|limit| unless(TIMEOUT.0, limit))),
            ]);
            Some(("bash", arguments))
        }
        Action::Read(read) if !read.from_end => {
            let last = read.lines.map_or(-1, |lines| {
                let last = read.first.saturating_add(lines).saturating_sub(1);
                i64::try_from(last).unwrap_or(-1)
            });
            let whole = read.first <= 1 && last == -1;
            let range = (!whole).then(|| Value::from(vec![json!(read.first), json!(last)]));
            edit("view", &read.path, [("view_range", range)])
        }
        Action::Write {
            path,
            content,
            rule,
        } if !rule.append => edit("create", path, [("file_text", always(content.as_str()))]),
        Action::Edit {
            path,
            edits,
            unique: Unique::Require,
            ..
        } => {
            let [one] = edits.as_slice() else {
                return None;
            };
            edit(
                "str_replace",
                path,
                [
                    ("old_str", always(one.old.as_str())),
                    ("new_str", always(one.new.as_str())),
                ],
            )
        }
        Action::Insert { path, after, text } => edit(
            "insert",
            path,
            [
                ("new_str", always(text.as_str())),
                ("insert_line", always(*after)),
            ],
        ),
        Action::UndoEdit { path } => edit("undo_edit", path, []),
        _ => None,
    }
}

/// A call of the editor.
fn edit<const N: usize>(
    command: &str,
    path: &str,
    more: [(&str, Option<Value>); N],
) -> Option<(&'static str, Value)> {
    let first = [("command", always(command)), ("path", always(path))];
    Some(("str_replace_editor", object(first.into_iter().chain(more))))
}

#[cfg(test)]
mod tests;
