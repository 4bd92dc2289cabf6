//! From a call to an action.

use super::{TOOLS, git, plan, task_number};
use crate::harnesses::CallError;
use crate::harnesses::format::args::Args;
use crate::harnesses::format::{ask, surface};
use crate::model::ToolCall;
use crate::tools::action::{
    Action, Base, Grep, Pass, PatchForm, PlanStep, Read, Replace, Shell, Unique, WriteRule,
};
use crate::words::quote;
use serde_json::Value;
use std::time::Duration;

/// Lines of a read by default and at most, and its most bytes.
pub const READ_LINES: (usize, usize) = (200, 500);
pub const READ_BYTES: usize = 16 * 1024;
/// Milliseconds of a command by default, and at most.
pub const TIMEOUT: (u64, u64) = (120_000, 600_000);
/// Milliseconds to wait for a background command, and for what it says to an input.
pub const WAIT: u64 = 30_000;
pub const ANSWER: u64 = 1_000;
/// The most entries of a list.
const ENTRIES: usize = 500;
/// Matches of a search, and lines around each.
pub const MATCHES: usize = 100;
pub const AROUND: usize = 2;
/// Files of a search by name by default, and at most. All are looked for, since some are left out
/// only afterwards.
pub const FILES: (usize, usize) = (20, 200);
/// What makes a query a glob.
pub const GLOB: [char; 4] = ['*', '?', '[', '{'];

/// What a call asks for; `plan` is the list that an item is added to or changed in.
pub fn action(call: &ToolCall, plan: &[PlanStep]) -> Result<Action, CallError> {
    let args = Args::of(call, TOOLS)?;
    match call.name.as_str() {
        "apply_patch" => patch(&args),
        "checklist_add" => plan::add(&args, plan),
        "checklist_list" => Ok(Action::PlanRead),
        "checklist_update" => plan::update(&args, plan),
        "checklist_write" => plan::set(&args, "todos", "content", true),
        "update_plan" => plan::set(&args, "plan", "step", false),
        "edit_file" => Ok(Action::Edit {
            path: args.need_filled("path")?,
            edits: vec![Replace {
                old: args.need("search")?,
                new: args.need("replace")?,
            }],
            base: Base::Original,
            unique: Unique::All,
            passes: Pass::ALL.to_vec(),
            read_first: false,
            may_create: false,
        }),
        "exec_shell" => shell(&args),
        "exec_shell_cancel" => cancel(&args),
        "exec_shell_interact" => interact(&args),
        "exec_shell_wait" => Ok(Action::ShellWait {
            id: Some(task(&args)?),
            wait: match args.flag("wait") {
                Some(false) => Duration::ZERO,
                _ => wait(&args, WAIT),
            },
            all: false,
        }),
        "file_search" => files(&args),
        "grep_files" => Ok(Action::Grep(Grep {
            path: args.filled("path"),
            include: any_of(args.texts("include")),
            ignore_case: args.flag("case_insensitive").unwrap_or(false),
            context: {
                let around = args
                    .whole("context_lines")
                    .and_then(|n| usize::try_from(n).ok());
                let around = around.unwrap_or(AROUND).min(20);
                (around, around)
            },
            ..Grep::new(
                args.need_filled("pattern")?,
                args.size("max_results").unwrap_or(MATCHES).min(MATCHES),
            )
        })),
        "list_dir" => Ok(Action::List {
            path: args.filled("path").unwrap_or_else(|| ".".into()),
            ignore: Vec::new(),
            respect_ignore: false,
            limit: ENTRIES,
        }),
        "read_file" => Ok(Action::Read(Read {
            first: args.size("start_line").unwrap_or(1),
            ..Read::new(
                args.need_filled("path")?,
                Some(
                    args.size("max_lines")
                        .unwrap_or(READ_LINES.0)
                        .min(READ_LINES.1),
                ),
                READ_BYTES,
            )
        })),
        "request_user_input" => ask::read(&args),
        "write_file" => Ok(Action::Write {
            path: args.need_filled("path")?,
            content: args.need("content")?,
            rule: WriteRule::default(),
        }),
        name => match git::command(name, &args)? {
            Some(command) => Ok(Action::Shell(Shell::new(
                command,
                Duration::from_millis(TIMEOUT.0),
            ))),
            None => Err(surface::unknown(TOOLS, name)),
        },
    }
}

fn patch(args: &Args) -> Result<Action, CallError> {
    let Some(text) = args.filled("patch") else {
        return whole_file(args);
    };
    let form = match text.contains("*** Begin Patch") {
        true => PatchForm::Codex,
        false => PatchForm::Unified,
    };
    let names_a_file = text.lines().any(|line| line.starts_with("+++ "));
    let text = match args.filled("path") {
        Some(path) if form == PatchForm::Unified && !names_a_file => {
            format!("--- a/{path}\n+++ b/{path}\n{text}")
        }
        _ => text,
    };
    Ok(Action::Patch {
        text,
        form,
        dir: None,
    })
}

/// The form `changes`: the whole text of one file.
fn whole_file(args: &Args) -> Result<Action, CallError> {
    let text = |entry: &Value, key: &str| entry.get(key).and_then(Value::as_str).map(str::to_owned);
    match args.list("changes") {
        [] => Err(args.wrong("\"patch\" is missing; it must be a unified diff")),
        [one] => match (text(one, "path"), text(one, "content")) {
            (Some(path), Some(content)) if !path.trim().is_empty() => Ok(Action::Write {
                path,
                content,
                rule: WriteRule::default(),
            }),
            _ => Err(args.wrong("\"changes\" must hold {\"path\": string, \"content\": string}")),
        },
        _ => Err(args.wrong(
            "\"changes\" takes one file a call here; call write_file for each file, or send one unified diff as \"patch\"",
        )),
    }
}

fn shell(args: &Args) -> Result<Action, CallError> {
    let command = args.need_filled("command")?;
    let background = args.flag("background").unwrap_or(false);
    let limit = wait_most(args, TIMEOUT.0);
    // Its input is made by the command itself: what is run is what is shown and asked about.
    let input = args.text("stdin").filter(|input| !input.is_empty());
    let command = match input {
        Some(input) => format!("printf %s {} | {{\n{command}\n}}", quote(input)),
        None => command,
    };
    Ok(Action::Shell(Shell {
        dir: args.filled("cwd"),
        time_limit: (!background).then_some(limit),
        background,
        stdin: background && input.is_none(),
        ..Shell::new(command, limit)
    }))
}

/// The time under `timeout_ms`, or the default.
fn wait_most(args: &Args, default: u64) -> Duration {
    Duration::from_millis(
        args.positive("timeout_ms")
            .unwrap_or(default)
            .min(TIMEOUT.1),
    )
}

fn wait(args: &Args, default: u64) -> Duration {
    wait_most(args, default)
}

fn task(args: &Args) -> Result<u32, CallError> {
    let id = args.filled("task_id").or_else(|| args.filled("id"));
    id.as_deref().and_then(task_number).ok_or_else(|| {
        args.wrong("\"task_id\" must be an id that exec_shell gave, like shell_00000001")
    })
}

fn cancel(args: &Args) -> Result<Action, CallError> {
    let is_named = args
        .filled("task_id")
        .or_else(|| args.filled("id"))
        .is_some();
    match args.flag("all") {
        Some(true) if !is_named => Ok(Action::ShellList),
        _ => Ok(Action::ShellStop { id: task(args)? }),
    }
}

fn interact(args: &Args) -> Result<Action, CallError> {
    let input = ["input", "stdin", "data"]
        .into_iter()
        .find_map(|key| args.text(key));
    let close = args.flag("close_stdin").unwrap_or(false);
    Ok(Action::ShellInput {
        id: task(args)?,
        chars: match input {
            Some(text) if !text.is_empty() => text.to_owned(),
            // The byte that ends an input.
            _ if close => "\u{4}".into(),
            _ => String::new(),
        },
        wait: wait(args, ANSWER),
    })
}

fn files(args: &Args) -> Result<Action, CallError> {
    let query = args.need_filled("query")?;
    let query = query.trim();
    let pattern = match query.contains(GLOB) {
        true => query.to_owned(),
        false => format!("**/*{query}*"),
    };
    Ok(Action::Glob {
        pattern,
        path: args.filled("path"),
        limit: FILES.1,
    })
}

/// One glob for several.
fn any_of(mut globs: Vec<String>) -> Option<String> {
    globs.retain(|glob| !glob.trim().is_empty());
    match globs.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        several => Some(format!("{{{}}}", several.join(","))),
    }
}
