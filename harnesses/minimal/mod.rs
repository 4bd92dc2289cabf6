//! `minimal`: Open Interpreter's own two-tool surface, a shell and an editor.

mod results;

use super::format::args::{Args, always, object, timeout, unless};
use super::format::editor::Editor;
use super::format::{documents, prompt, skills, surface, told};
use super::{CallError, Context, Done, Harness, Item, Notice, Start, State};
use crate::model::ToolCall;
use crate::tools::action::{Action, OnTimeout, Shell, ShellKind};
use serde_json::Value;
use std::time::Duration;

/// The harness for models that call tools but were trained in no agent that we know.
pub struct Minimal;

const SYSTEM: &str = include_str!("system.md");
const TOOLS: &str = include_str!("tools.json");

/// Seconds of a command by default, and at most.
const TIMEOUT: (u64, u64) = (120, 300);
const EDITOR: Editor = Editor {
    view_bytes: 64 * 1024,
    lists: false,
    deletes: false,
    // Kinder than the original: small models send whole files.
    overwrites: true,
};

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
        let text = told(notice);
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
        .chain(Some(skills::block(cx, "open its file")).filter(|text| !text.is_empty()))
        .map(Item::user)
        .collect()
}

fn action(call: &ToolCall) -> Result<Action, CallError> {
    let args = Args::of(call, TOOLS)?;
    match call.name.as_str() {
        "bash" => bash(&args),
        "str_replace_editor" => EDITOR.action(&args),
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
        other => Some(("str_replace_editor", EDITOR.write(other)?)),
    }
}

#[cfg(test)]
mod tests;
