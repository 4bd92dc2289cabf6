//! `qwen-code`: the surface of Qwen Code.

mod agents;
mod opening;
mod pages;
mod results;
mod write;

use super::format::args::{self, Args};
use super::format::edit::SNAKE;
use super::format::{ask, job_id, job_number, planning, skills, surface};
use super::{CallError, CompactPlan, Context, Done, Harness, Item, Notice, Start, State};
use crate::model::ToolCall;
use crate::tools::action::{Action, Glob, Grep, PlanStep, Read, Shell, WriteRule};
use serde_json::Value;
use std::time::Duration;

/// The harness for Qwen models.
pub struct QwenCode;

const TOOLS: &str = include_str!("tools.json");

/// The most lines and characters of one read.
const READ_LINES: usize = 1000;
const READ_BYTES: usize = 25_000;
/// Milliseconds of a command by default, and at most.
const TIMEOUT: (u64, u64) = (120_000, 600_000);
/// A command that begins by sleeping so many seconds is refused.
const SLEEP_SECONDS: f64 = 2.0;
/// The most entries of a list, and files of a glob.
const ENTRIES: usize = 100;
/// The most matches of a search; the original bounds only their bytes.
const MATCHES: usize = 2000;

/// What a model is asked before its conversation is cut. The keys are those of the original.
const SNAPSHOT: &str = "The conversation is about to be cut, and only what you write now stays of it. Do not call a tool. Answer with this element alone, at most {words} words in all, facts and no prose:

<state_snapshot>
<overall_goal>what the user wants, in a sentence</overall_goal>
<key_knowledge>build and test commands, constraints, what was found out</key_knowledge>
<file_system_state>files that were read, changed or made, and what is in them that matters</file_system_state>
<recent_actions>the last steps and what came of them</recent_actions>
<current_plan>the steps, each done, in progress or to do</current_plan>
</state_snapshot>";

/// The roles of `agent`.
const GENERAL: &str = "general-purpose";
const EXPLORE: &str = "Explore";
/// What an agent of the role `Explore` has, in the order of the original.
const EXPLORE_TOOLS: [&str; 8] = [
    "read_file",
    "grep_search",
    "glob",
    "run_shell_command",
    "list_directory",
    "web_fetch",
    "todo_write",
    "skill",
];

const LEFT_OUT: &[(&str, &str)] = &[
    ("tool_search", "all tools are always shown"),
    (
        "monitor",
        "background commands and their output files take its place",
    ),
];

impl Harness for QwenCode {
    fn id(&self) -> &'static str {
        "qwen-code"
    }

    fn about(&self) -> &'static str {
        "Qwen Code: for Qwen and QwQ models, and for models of no known family"
    }

    fn begin(&self, cx: &Context) -> Start {
        let mut start = Start {
            system: opening::system(cx),
            opening: opening::items(cx),
            ..surface::start(TOOLS, "", LEFT_OUT, cx)
        };
        // The list stands in the tool's own description.
        if let Some(tool) = start.tools.iter_mut().find(|t| t.name == "skill") {
            tool.description.push('\n');
            tool.description.push_str(&skills::available(cx, false));
        }
        start
    }

    fn action(&self, call: &ToolCall) -> Result<Action, CallError> {
        action(call)
    }

    fn result(&self, done: &Done, room: usize) -> Item {
        results::item(done, room)
    }

    fn write(&self, action: &Action) -> Option<(&'static str, Value)> {
        write::call(action)
    }

    fn child(&self, role: &str, cx: &Context) -> Start {
        let mut start = self.begin(cx);
        if role == EXPLORE {
            surface::keep_only(&mut start, &EXPLORE_TOOLS, "an Explore agent only looks");
        }
        start
    }

    fn notice(&self, _: &mut State, notice: &Notice) -> Vec<Item> {
        let text = match notice {
            Notice::JobEnded {
                id, command, code, ..
            } => format!(
                "The background command {} (`{command}`) {}.",
                task_id(*id),
                code.map_or_else(
                    || "was stopped".to_owned(),
                    |code| format!("ended with exit code {code}")
                )
            ),
            Notice::AgentDone(agent) => agents::done(agent),
            Notice::Planning(on) => planning(*on).into(),
            Notice::Nudge(text) => text.clone(),
        };
        vec![Item::user(reminder(&text))]
    }

    fn compact(&self, _: &Context) -> CompactPlan {
        CompactPlan {
            ask: SNAPSHOT.into(),
            element: Some("state_snapshot"),
            lead: "The conversation before this point was replaced by this snapshot:",
            acknowledge: Some("I have the snapshot and go on from there."),
            go_on: Some("Go on with the task."),
            keeps_words: false,
        }
    }
}

/// Words of the program to the model.
fn reminder(text: &str) -> String {
    format!("<system-reminder>\n{text}\n</system-reminder>")
}

/// The id of a background command, and the number behind it.
fn task_id(id: u32) -> String {
    job_id("bg", id)
}

fn task_number(id: &str) -> Option<u32> {
    job_number("bg", id)
}

fn action(call: &ToolCall) -> Result<Action, CallError> {
    let args = Args::of(call, TOOLS)?;
    match call.name.as_str() {
        "task_stop" => {
            let id = args.need_filled("task_id")?;
            if let Some(action) = agents::stop(&id) {
                return Ok(action);
            }
            let id = task_number(&id).ok_or_else(|| {
                args.wrong(
                    "\"task_id\" must be an id that run_shell_command gave, like bg_00000001",
                )
            })?;
            Ok(Action::ShellStop { id })
        }
        "list_directory" => Ok(Action::List {
            path: args.need_filled("path")?,
            ignore: args.texts("ignore"),
            respect_ignore: args
                .value("file_filtering_options")
                .and_then(|options| options.get("respect_git_ignore"))
                .and_then(Value::as_bool)
                .unwrap_or(true),
            limit: ENTRIES,
        }),
        "read_file" => Ok(Action::Read(Read {
            // Counted from 0 in the call, from 1 in the action.
            first: args.size("offset").unwrap_or(0).saturating_add(1),
            ..Read::new(
                args.need_filled("file_path")?,
                args.size("limit")
                    .or(Some(READ_LINES))
                    .map(|n| n.min(READ_LINES)),
                READ_BYTES,
            )
        })),
        "grep_search" => Ok(Action::Grep(Grep {
            path: args.filled("path"),
            include: args.filled("glob"),
            ignore_case: true,
            ..Grep::new(
                args.need_filled("pattern")?,
                args.size("limit").unwrap_or(MATCHES).min(MATCHES),
            )
        })),
        "glob" => Ok(Action::Glob(Glob {
            path: args.filled("path"),
            ..Glob::new(args.need_filled("pattern")?, ENTRIES)
        })),
        "edit" => SNAKE.action(&args),
        "write_file" => Ok(Action::Write {
            path: args.need_filled("file_path")?,
            content: args.need("content")?,
            rule: WriteRule {
                read_first: true,
                must_be_new: false,
                append: false,
            },
        }),
        "run_shell_command" => shell(&args),
        "agent" => agents::begin(&args),
        "send_message" => agents::send(&args),
        "ask_user_question" => ask::read(&args),
        "exit_plan_mode" => Ok(Action::Mode {
            planning: false,
            plan: args.need_filled("plan")?,
        }),
        "todo_write" => todos(&args),
        "skill" => skills::call(&args, "skill"),
        "web_fetch" => pages::fetch(&args),
        name => Err(surface::unknown(TOOLS, name)),
    }
}

fn shell(args: &Args) -> Result<Action, CallError> {
    let command = args.need_filled("command")?;
    let background = args.flag("is_background").unwrap_or(false);
    if !background && leading_sleep(&command).is_some_and(|seconds| seconds >= SLEEP_SECONDS) {
        return Err(CallError::Refused(
            "A command may not begin by sleeping for 2 seconds or more. To wait for something, start it with is_background and test for it, for example with `curl --retry`; else leave the sleep out."
                .into(),
        ));
    }
    let ms = args.positive("timeout").unwrap_or(TIMEOUT.0).min(TIMEOUT.1);
    Ok(Action::Shell(Shell {
        dir: args.filled("directory"),
        time_limit: (!background).then_some(Duration::from_millis(ms)),
        background,
        ..Shell::new(command, Duration::from_millis(ms))
    }))
}

/// How many seconds a command sleeps before anything else.
fn leading_sleep(command: &str) -> Option<f64> {
    let rest = command.trim_start().strip_prefix("sleep")?;
    let word = rest
        .strip_prefix(char::is_whitespace)?
        .split_whitespace()
        .next()?
        .trim_end_matches([';', '&']);
    let (number, unit) = match word.find(|c: char| c.is_ascii_alphabetic()) {
        Some(at) => word.split_at(at),
        None => (word, "s"),
    };
    let factor = match unit {
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * factor)
}

fn todos(args: &Args) -> Result<Action, CallError> {
    let wrong = |why: String| Err(args.wrong(why));
    if !args.value("todos").is_some_and(Value::is_array) {
        return wrong("\"todos\" must be a list".into());
    }
    let mut steps = Vec::new();
    for (at, entry) in args.list("todos").iter().enumerate() {
        let text = |key: &str| entry.get(key).and_then(Value::as_str);
        let Some(content) = text("content").filter(|content| !content.trim().is_empty()) else {
            return wrong(format!("todo {} has no \"content\"", at + 1));
        };
        let name = text("status").unwrap_or_default();
        let Some(status) = args::status(name) else {
            return wrong(format!(
                "todo {} has the status \"{name}\"; it must be pending, in_progress or completed",
                at + 1
            ));
        };
        steps.push(PlanStep {
            text: content.to_owned(),
            status,
            id: Some(text("id").map_or_else(|| (at + 1).to_string(), str::to_owned)),
        });
    }
    Ok(Action::Plan {
        steps,
        explanation: None,
    })
}

#[cfg(test)]
mod tests;
