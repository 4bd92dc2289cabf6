//! `native`: the surface of the Codex CLI. One shell tool that yields, a patch tool, a plan.

mod agents;
mod opening;
mod results;
mod write;

use super::format::args::{self, Args};
use super::format::{ask, planning, prompt, surface};
use super::{CallError, CompactPlan, Context, Done, Harness, Input, Item, Notice, Start, State};
use crate::model::{CallKind, Part, ToolCall};
use crate::tools::action::{Action, Escalation, OnTimeout, PatchForm, PlanStep, Shell, ShellKind};
use serde_json::Value;
use std::time::Duration;

/// The harness for GPT models.
pub struct Native;

const SYSTEM: &str = include_str!("system.md");
const TOOLS: &str = include_str!("tools.json");
const GRAMMAR: &str = include_str!("apply_patch.lark");

/// How long a command is waited for by default, and the bounds of what a call may ask, in ms.
const YIELD: (u64, u64, u64) = (10_000, 250, 30_000);
/// The same for a look at a running command without input.
const POLL: (u64, u64, u64) = (10_000, 5_000, 300_000);
/// What a terminal sends for Ctrl-C.
const INTERRUPT: &str = "\u{3}";

/// What a model is asked before its conversation is cut.
const HAND_OVER: &str = "The context is nearly full and another model will take over. Do not call a tool now. Write the notes that it needs, in plain text and at most {words} words: where the work stands and what was decided, what the user wants to be kept to, which files, commands and results matter, and what is left to do, step by step.";

const LEFT_OUT: &[(&str, &str)] = &[
    ("shell_command", "exec_command takes its place"),
    (
        "get_goal",
        "a goal lets the original go on over many turns by itself; here a turn ends with its answer",
    ),
    (
        "create_goal",
        "a goal lets the original go on over many turns by itself; here a turn ends with its answer",
    ),
    (
        "update_goal",
        "a goal lets the original go on over many turns by itself; here a turn ends with its answer",
    ),
    ("tool_search", "all tools are always shown"),
    (
        "web_search",
        "is run by the server of the original, which has a search service",
    ),
    (
        "list_mcp_resources",
        "resources of MCP servers are not read; their tools are offered",
    ),
    (
        "list_mcp_resource_templates",
        "resources of MCP servers are not read; their tools are offered",
    ),
    (
        "read_mcp_resource",
        "resources of MCP servers are not read; their tools are offered",
    ),
];

impl Harness for Native {
    fn id(&self) -> &'static str {
        "native"
    }

    fn about(&self) -> &'static str {
        "Codex CLI: for GPT and gpt-oss models"
    }

    fn begin(&self, cx: &Context) -> Start {
        Start {
            system: cx
                .system_override
                .clone()
                .unwrap_or_else(|| prompt(SYSTEM, cx, &[], &[])),
            opening: opening::items(cx),
            ..surface::start(TOOLS, GRAMMAR, LEFT_OUT, cx)
        }
    }

    fn user(&self, _: &mut State, input: &Input) -> Vec<Item> {
        let mut content = Vec::new();
        for (index, image) in input.images.iter().enumerate() {
            content.push(Part::text(format!("<image name=[Image #{}]>", index + 1)));
            content.push(image.clone());
            content.push(Part::text("</image>"));
        }
        content.push(Part::text(input.text.clone()));
        vec![Item::User { content }]
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

    fn notice(&self, _: &mut State, notice: &Notice) -> Vec<Item> {
        let text = match notice {
            Notice::JobEnded {
                id, command, code, ..
            } => format!(
                "The command of session ID {id} (`{command}`) has ended{}. write_stdin shows its last output.",
                code.map_or_else(String::new, |code| format!(" with code {code}"))
            ),
            Notice::AgentDone(agent) => return vec![Item::user(agents::notice(agent))],
            Notice::Planning(on) => planning(*on).into(),
            Notice::Nudge(text) => text.clone(),
        };
        vec![Item::Developer { text }]
    }

    fn compact(&self, _: &Context) -> CompactPlan {
        CompactPlan {
            ask: HAND_OVER.into(),
            element: None,
            lead: "Another model worked on this task before you and left these notes. Build on them instead of doing its work again:",
            acknowledge: None,
            go_on: None,
            keeps_words: true,
        }
    }
}

fn action(call: &ToolCall) -> Result<Action, CallError> {
    if call.name == "apply_patch" && call.kind == CallKind::Freeform {
        return Ok(patch(call.arguments.clone()));
    }
    let args = Args::of(call, TOOLS)?;
    match call.name.as_str() {
        "exec_command" => exec_command(&args),
        "write_stdin" => write_stdin(&args),
        "update_plan" => update_plan(&args),
        "request_user_input" => ask::read(&args),
        "apply_patch" => Ok(patch(args.need_filled("input")?)),
        "view_image" => Ok(Action::ViewImage {
            path: args.need_filled("path")?,
        }),
        name => agents::action(name, &args).unwrap_or_else(|| Err(surface::unknown(TOOLS, name))),
    }
}

fn patch(text: String) -> Action {
    Action::Patch {
        text,
        form: PatchForm::Codex,
        dir: None,
    }
}

/// The milliseconds under `yield_time_ms`, or the default, within the bounds.
fn wait(args: &Args, (default, least, most): (u64, u64, u64)) -> Duration {
    let ms = args
        .whole("yield_time_ms")
        .map_or(default, |ms| u64::try_from(ms).unwrap_or(0));
    Duration::from_millis(ms.clamp(least, most))
}

fn exec_command(args: &Args) -> Result<Action, CallError> {
    let login = args.flag("login").unwrap_or(true);
    let escalate =
        (args.text("sandbox_permissions") == Some("require_escalated")).then(|| Escalation {
            justification: args.filled("justification"),
            prefix: args.texts("prefix_rule"),
        });
    Ok(Action::Shell(Shell {
        command: args.need_filled("cmd")?,
        dir: args.filled("workdir"),
        shell: match args.filled("shell") {
            Some(program) => ShellKind::Named { program, login },
            None => ShellKind::User { login },
        },
        time_limit: Some(wait(args, YIELD)),
        on_timeout: OnTimeout::Background,
        background: false,
        cwd_persists: false,
        cwd_inside: false,
        may_read: false,
        stdin: args.flag("tty").unwrap_or(false),
        env: Vec::new(),
        escalate,
    }))
}

fn write_stdin(args: &Args) -> Result<Action, CallError> {
    let id = args
        .whole("session_id")
        .and_then(|id| u32::try_from(id).ok())
        .ok_or_else(|| args.wrong("\"session_id\" must be the number that exec_command named"))?;
    let chars = args.text("chars").unwrap_or_default();
    // Without a terminal the byte itself would only be read as input.
    if chars == INTERRUPT {
        return Ok(Action::ShellStop { id });
    }
    Ok(Action::ShellInput {
        id,
        chars: chars.to_owned(),
        wait: wait(args, if chars.is_empty() { POLL } else { YIELD }),
    })
}

fn update_plan(args: &Args) -> Result<Action, CallError> {
    let steps = args
        .list("plan")
        .iter()
        .map(|entry| {
            let text = entry.get("step")?.as_str()?.to_owned();
            let status = args::status(entry.get("status")?.as_str()?)?;
            Some(PlanStep {
                text,
                status,
                id: None,
            })
        })
        .collect::<Option<Vec<_>>>()
        .filter(|steps| !steps.is_empty() || args.value("plan").is_some_and(|v| v.is_array()))
        .ok_or_else(|| {
            args.wrong("\"plan\" must be a list of {\"step\": string, \"status\": pending, in_progress or completed}")
        })?;
    Ok(Action::Plan {
        steps,
        explanation: args.filled("explanation"),
    })
}

#[cfg(test)]
mod tests;
