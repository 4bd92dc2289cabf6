//! `pi`: the surface of pi, four tools and a short prompt.

mod results;

use super::format::args::{Args, always, object, timeout, unless};
use super::format::{documents, is_picture, prompt, skills, surface, told};
use super::{CallError, CompactPlan, Context, Done, Harness, Item, Notice, Start, State};
use crate::model::ToolCall;
use crate::tools::action::{Action, Base, Pass, Read, Replace, Shell, Unique, WriteRule};
use serde_json::Value;
use std::fmt::Write;
use std::time::Duration;

/// The harness of pi.
pub struct Pi;

const SYSTEM: &str = include_str!("system.md");
const TOOLS: &str = include_str!("tools.json");

/// The most lines and bytes of one read.
const READ_LINES: usize = 2000;
const READ_BYTES: usize = 51_200;
/// How long a command may take unless the call says otherwise. The original waits for ever, also
/// for a server that was started by mistake.
const TIMEOUT: Duration = Duration::from_secs(600);

/// What a model is asked before its conversation is cut. The headings are those of the original.
const SUMMARY: &str = "The conversation is about to be cut, and only what you write now stays of it. Do not call a tool. Answer with this element alone, at most {words} words in all, facts and no prose:

<summary>
## Goal
what the user wants
## Constraints & Preferences
what the user asked to be kept to
## Progress
### Done
### In Progress
### Blocked
## Key Decisions
what was decided, and why
## Next Steps
in their order
## Critical Context
paths, commands, errors and facts that are needed to go on
</summary>";

const LEFT_OUT: &[(&str, &str)] = &[
    ("grep", "off in the original too; bash takes its place"),
    ("find", "off in the original too; bash takes its place"),
    ("ls", "off in the original too; bash takes its place"),
];

impl Harness for Pi {
    fn id(&self) -> &'static str {
        "pi"
    }

    fn about(&self) -> &'static str {
        "pi: four tools and a short prompt, for models that need little guidance and small windows"
    }

    fn begin(&self, cx: &Context) -> Start {
        Start {
            system: system(cx),
            ..surface::start(TOOLS, "", LEFT_OUT, cx)
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
        let text = told(notice);
        vec![Item::user(text)]
    }

    fn compact(&self, _: &Context) -> CompactPlan {
        CompactPlan {
            ask: SUMMARY.into(),
            element: Some("summary"),
            lead: "The conversation before this point was left out to make room. This is a summary of it:",
            acknowledge: None,
            go_on: None,
            keeps_words: false,
        }
    }
}

/// The prompt, the project's context, and at its very end the day and the folder. A text of the
/// user's own takes the place of the prompt and of that end.
fn system(cx: &Context) -> String {
    let mut text = cx
        .system_override
        .clone()
        .unwrap_or_else(|| prompt(SYSTEM, cx, &[], &[]));
    if !cx.instructions.is_empty() {
        text.push_str("\n\n# Project Context");
    }
    for document in documents(&cx.instructions) {
        let (path, words) = (document.path.display(), document.text.trim_end());
        let _ = write!(text, "\n\n## {path}\n\n{words}");
    }
    if !cx.skills.is_empty() {
        let _ = write!(
            text,
            "\n\nSkills tell how a kind of task is done here. When one fits, read its file with the read tool before you begin; its paths count from its folder.\n\n{}",
            skills::available(cx, true)
        );
    }
    if let Some(words) = &cx.developer_instructions {
        let _ = write!(text, "\n\n{words}");
    }
    if cx.system_override.is_none() {
        let (date, cwd) = (&cx.date, cx.cwd.display());
        let _ = write!(text, "\n\nDate: {date}\nWorking folder: {cwd}");
    }
    text
}

fn action(call: &ToolCall) -> Result<Action, CallError> {
    let args = Args::of(call, TOOLS)?;
    match call.name.as_str() {
        "read" => {
            let path = args.need_filled("path")?;
            if is_picture(&path) {
                return Ok(Action::ViewImage { path });
            }
            let lines = args.size("limit").unwrap_or(READ_LINES).min(READ_LINES);
            Ok(Action::Read(Read {
                first: args.size("offset").unwrap_or(1),
                ..Read::new(path, Some(lines), READ_BYTES)
            }))
        }
        "bash" => {
            let limit = args
                .positive("timeout")
                .map_or(TIMEOUT, Duration::from_secs);
            Ok(Action::Shell(Shell::new(
                args.need_filled("command")?,
                limit,
            )))
        }
        "edit" => Ok(Action::Edit {
            path: args.need_filled("path")?,
            edits: edits(&args)?,
            base: Base::Original,
            unique: Unique::Require,
            passes: Pass::ALL.to_vec(),
            read_first: false,
            may_create: false,
        }),
        "write" => Ok(Action::Write {
            path: args.need_filled("path")?,
            content: args.need("content")?,
            rule: WriteRule::default(),
        }),
        name => Err(surface::unknown(TOOLS, name)),
    }
}

fn edits(args: &Args) -> Result<Vec<Replace>, CallError> {
    let mut edits = Vec::new();
    for (at, entry) in args.list("edits").iter().enumerate() {
        let text = |key: &str| match entry.get(key).and_then(Value::as_str) {
            Some(text) => Ok(text.to_owned()),
            None => Err(args.wrong(format!("\"edits[{at}].{key}\" must be a string"))),
        };
        let (old, new) = (text("oldText")?, text("newText")?);
        if old.is_empty() {
            return Err(args.wrong(format!(
                "\"edits[{at}].oldText\" is empty; give the text that stands there, or use write for a whole file"
            )));
        }
        edits.push(Replace { old, new });
    }
    if edits.is_empty() {
        return Err(args.wrong("\"edits\" must be a list with a replacement"));
    }
    Ok(edits)
}

/// The call of an action; `None`: this surface has none.
fn write(action: &Action) -> Option<(&'static str, Value)> {
    match action {
        Action::Read(read) if !read.from_end => {
            let limit = read.lines.and_then(|lines| unless(READ_LINES, lines));
            let arguments = object([
                ("path", always(read.path.as_str())),
                ("offset", unless(1, read.first)),
                ("limit", limit),
            ]);
            Some(("read", arguments))
        }
        Action::ViewImage { path } => Some(("read", object([("path", always(path.as_str()))]))),
        Action::Shell(shell) if !shell.background && shell.dir.is_none() => {
            let arguments = object([
                ("command", always(shell.command.as_str())),
                (
                    "timeout",
                    timeout(shell).and_then(|limit| unless(TIMEOUT.as_secs(), limit.as_secs())),
                ),
            ]);
            Some(("bash", arguments))
        }
        Action::Edit {
            path,
            edits,
            base,
            unique: Unique::Require,
            ..
        } if *base == Base::Original || edits.len() == 1 => {
            let edits = edits
                .iter()
                .map(|edit| {
                    object([
                        ("oldText", always(edit.old.as_str())),
                        ("newText", always(edit.new.as_str())),
                    ])
                })
                .collect();
            let arguments = object([("path", always(path.as_str())), ("edits", Some(edits))]);
            Some(("edit", arguments))
        }
        Action::Write {
            path,
            content,
            rule,
        } if !rule.append => {
            let arguments = object([
                ("path", always(path.as_str())),
                ("content", always(content.as_str())),
            ]);
            Some(("write", arguments))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
