//! From a call to an action.

use super::{TOOLS, agents, canonical, git, map, pages, plan, programs, task_number};
use crate::harnesses::CallError;
use crate::harnesses::format::args::Args;
use crate::harnesses::format::{ask, skills, surface};
use crate::model::ToolCall;
use crate::tools::action::{
    Action, Base, Glob, Grep, Pass, PatchForm, PlanStep, Read, Replace, Shell, Unique, WriteRule,
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
/// The most tools that a search for tools gives back.
const FOUND: usize = 5;
/// What makes a query a glob.
pub const GLOB: [char; 4] = ['*', '?', '[', '{'];

/// What a call asks for; `plan` is the list that an item is added to or changed in.
pub fn action(call: &ToolCall, plan: &[PlanStep]) -> Result<Action, CallError> {
    let args = Args::of(call, TOOLS)?;
    match canonical(&call.name) {
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
        "exec_shell" => shell(&args, call.name == "task_shell_start"),
        "exec_shell_cancel" => cancel(&args),
        "exec_shell_interact" => interact(&args),
        "exec_shell_wait" => Ok(Action::ShellWait {
            id: Some(task(&args)?),
            wait: match args.flag("wait") {
                Some(true) => wait(&args, WAIT),
                None if call.name != "task_shell_wait" => wait(&args, WAIT),
                _ => Duration::ZERO,
            },
            all: false,
        }),
        "fetch_url" => pages::fetch(&args),
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
        "load_skill" => skills::call(&args, "name"),
        "project_map" => Ok(map::search()),
        "retrieve_tool_result" => retrieve(&args),
        "tool_search_tool_bm25" => Ok(Action::FindTools {
            query: args.need_filled("query")?,
            limit: FOUND,
        }),
        name => {
            if let Some(action) = agents::action(name, &args) {
                return action;
            }
            let command = match git::command(name, &args)? {
                Some(command) => Some((command, TIMEOUT.0)),
                // Tests may take their time.
                None => programs::command(name, &args)?.map(|command| (command, TIMEOUT.1)),
            };
            match command {
                Some((command, ms)) => Ok(Action::Shell(Shell::new(
                    command,
                    Duration::from_millis(ms),
                ))),
                None => Err(surface::unknown(TOOLS, name)),
            }
        }
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

/// A part of a long result, which is in the file that the result named.
fn retrieve(args: &Args) -> Result<Action, CallError> {
    let path = args.need_filled("ref")?;
    let around = args.size("context_lines").unwrap_or(1).min(5);
    if let Some(query) = args.filled("query") {
        let most = args.size("max_matches").unwrap_or(20).min(MATCHES);
        return Ok(Action::Grep(Grep {
            path: Some(path),
            ignore_case: true,
            context: (around, around),
            ..Grep::new(literal(&query), most)
        }));
    }
    // `lines` is written like 10-40.
    let lines = args.filled("lines");
    let lines = lines.as_deref().and_then(|lines| lines.split_once('-'));
    let parse = |text: &str| text.trim().parse::<usize>().ok();
    let first = lines.and_then(|(from, _)| parse(from));
    let first = first.or_else(|| args.size("start_line"));
    let last = lines.and_then(|(_, to)| parse(to));
    let last = last.or_else(|| args.size("end_line"));
    let count = args.size("line_count").unwrap_or(READ_LINES.0);
    let count = match (first, last) {
        (Some(first), Some(last)) => last.saturating_sub(first).saturating_add(1),
        _ => count,
    };
    let count = count.clamp(1, READ_LINES.1);
    let from_end = args.text("mode") == Some("tail") && first.is_none();
    Ok(Action::Read(Read {
        first: if from_end {
            count
        } else {
            first.unwrap_or(1).max(1)
        },
        from_end,
        ..Read::new(path, Some(count), READ_BYTES)
    }))
}

/// An expression that finds these very words.
fn literal(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if c.is_ascii_punctuation() {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// A command. One of the task tools always runs in the background.
fn shell(args: &Args, behind: bool) -> Result<Action, CallError> {
    let command = args.need_filled("command")?;
    let background = behind || args.flag("background").unwrap_or(false);
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
    Ok(Action::Glob(Glob {
        path: args.filled("path"),
        ..Glob::new(pattern, FILES.1)
    }))
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
