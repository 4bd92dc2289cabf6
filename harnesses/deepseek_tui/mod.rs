//! `deepseek-tui`: the surface of DeepSeek-TUI, with those of its 84 tools that work here.
//!
//! The names of the original are escaped on the wire where they hold anything but letters, digits
//! and `_`. No tool that is offered here has such a name.

mod agents;
mod calls;
mod git;
mod map;
mod opening;
mod pages;
mod plan;
mod programs;
mod results;
mod searches;
mod write;

use super::format::args::Args;
use super::format::{job_ended, job_id, job_number, planning, surface, user_parts};
use super::{CallError, Context, Done, Harness, Input, Item, Notice, Start, State, Step};
use crate::model::{Part, Reply, ToolCall};
use crate::tools::action::{Action, Outcome, PlanStep};
use serde_json::Value;

/// The harness for models that are used with DeepSeek-TUI.
pub struct DeepseekTui;

const TOOLS: &str = include_str!("tools.json");

/// The folder of the session, so that paths are told below it.
const NOTE_CWD: &str = "cwd";
/// Set when a plan was given in the planning mode: the turn is over, for the user to read it.
const PLANNED: &str = "planned";

const SEARCH: &str = "no search service is set up";
const ACCOUNT: &str = "no account of the user is known; exec_shell runs gh";
const BESIDE: &str = "agents and tasks that run beside the turn; there are none here";
const LEFT_OUT: &[(&str, &str)] = &[
    ("task_create", BESIDE),
    ("task_list", BESIDE),
    ("task_read", BESIDE),
    ("task_cancel", BESIDE),
    (
        "task_gate_run",
        "notes a check in a task that runs beside the turn; exec_shell runs the check",
    ),
    (
        "recall_archive",
        "the session's file is no archive of cycles",
    ),
    (
        "diagnostics",
        "workspace, system and shell stand in the prompt",
    ),
    (
        "validate_data",
        "a parser of JSON and TOML is at hand in the shell: exec_shell runs python3 -m json.tool",
    ),
    ("fim_edit", "needs an endpoint that fills in text"),
    ("review", "asks a second model"),
    ("rlm_open", "no sessions over a model in code"),
    ("rlm_eval", "no sessions over a model in code"),
    ("rlm_configure", "no sessions over a model in code"),
    ("rlm_close", "no sessions over a model in code"),
    ("rlm_session_objects", "no sessions over a model in code"),
    ("handle_read", "no sessions over a model in code"),
    ("revert_turn", "the user takes turns back, with /undo"),
    ("note", "no notebook; AGENTS.md holds what should last"),
    (
        "notify",
        "the user chooses a program that is told of each turn (notify in the config)",
    ),
    ("web_search", SEARCH),
    ("web.run", SEARCH),
    ("finance", "no service for prices is set up"),
    ("github_issue_context", ACCOUNT),
    ("github_pr_context", ACCOUNT),
    ("github_comment", ACCOUNT),
    ("github_close_issue", ACCOUNT),
    ("github_close_pr", ACCOUNT),
    ("pr_attempt_record", BESIDE),
    ("pr_attempt_list", BESIDE),
    ("pr_attempt_read", BESIDE),
    ("pr_attempt_preflight", BESIDE),
    ("automation_create", BESIDE),
    ("automation_list", BESIDE),
    ("automation_read", BESIDE),
    ("automation_update", BESIDE),
    ("automation_pause", BESIDE),
    ("automation_resume", BESIDE),
    ("automation_run", BESIDE),
    ("automation_delete", BESIDE),
];

impl Harness for DeepseekTui {
    fn id(&self) -> &'static str {
        "deepseek-tui"
    }

    fn about(&self) -> &'static str {
        "DeepSeek-TUI: for DeepSeek models that are used to it; their default is claude-code-bare"
    }

    fn begin(&self, cx: &Context) -> Start {
        let mut start = surface::start(TOOLS, "", LEFT_OUT, cx);
        start.system = opening::system(cx);
        opening::prepare(cx, &mut start.state);
        let cwd = cx.cwd.display().to_string();
        start.state.notes.insert(NOTE_CWD.into(), cwd);
        start
    }

    fn user(&self, state: &mut State, input: &Input) -> Vec<Item> {
        state.counters.remove(PLANNED);
        let mut content = user_parts(input);
        if let Some(meta) = opening::turn_meta(state) {
            content.pop();
            content.push(Part::text(format!("{meta}{}", input.text)));
        }
        vec![Item::User { content }]
    }

    fn spoken<'a>(&self, _: &'a Start, text: &'a str) -> &'a str {
        opening::without_meta(text)
    }

    fn action(&self, call: &ToolCall) -> Result<Action, CallError> {
        calls::action(call, &[])
    }

    /// One item of the checklist is added or changed from the list as the calls before it leave it.
    fn read(&self, state: &State, reply: &Reply) -> Step {
        let mut plan: Vec<PlanStep> = state.plan.clone();
        let mut actions = Vec::new();
        for call in &reply.assistant.calls {
            let action = calls::action(call, &plan);
            if let Ok(Action::Plan { steps, .. }) = &action {
                plan.clone_from(steps);
            }
            actions.push(action);
        }
        match actions.is_empty() {
            true => Step::Done,
            false => Step::Act(actions),
        }
    }

    fn result(&self, done: &Done, room: usize) -> Item {
        results::item(done, "", room)
    }

    fn results(&self, state: &mut State, done: &[Done], room: usize) -> Vec<Item> {
        let cwd = state.notes.get(NOTE_CWD).cloned().unwrap_or_default();
        for done in done {
            match &done.result {
                Ok((_, Outcome::Read(out))) => {
                    opening::touch(state, &results::shown(&out.path, &cwd));
                }
                Ok((_, Outcome::Changed(changes))) => {
                    for change in changes {
                        let moved = change.moved_to.as_ref();
                        let path = moved.map_or(&change.path, |(to, _)| to);
                        opening::touch(state, &results::shown(path, &cwd));
                    }
                }
                Ok((_, Outcome::Planned)) if state.planning && is_call(done, "update_plan") => {
                    state.counters.insert(PLANNED.into(), 1);
                }
                _ => {}
            }
        }
        done.iter()
            .map(|done| results::item(done, &cwd, room))
            .collect()
    }

    fn write(&self, action: &Action) -> Option<(&'static str, Value)> {
        write::call(action)
    }

    fn notice(&self, _: &mut State, notice: &Notice) -> Vec<Item> {
        let text = match notice {
            Notice::JobEnded {
                id, command, code, ..
            } => format!(
                "{} Its id is {}; exec_shell_wait shows its last output.",
                job_ended(command, *code),
                task_id(*id)
            ),
            Notice::AgentDone(agent) => agents::notice(agent),
            Notice::Planning(on) => planning(*on).into(),
            Notice::Nudge(text) => text.clone(),
        };
        vec![Item::user(text)]
    }

    fn is_over(&self, state: &State) -> Option<String> {
        state.counters.get(PLANNED)?;
        let lines: Vec<String> = state
            .plan
            .iter()
            .enumerate()
            .map(|(at, step)| format!("{}. {}", at + 1, step.text))
            .collect();
        Some(lines.join("\n"))
    }
}

fn is_call(done: &Done, name: &str) -> bool {
    let call = done.call.as_ref();
    call.is_some_and(|call| canonical(&call.name) == name)
}

/// The name of a tool that has several.
fn canonical(name: &str) -> &str {
    match name {
        "todo_write" => "checklist_write",
        "todo_add" => "checklist_add",
        "todo_update" => "checklist_update",
        "todo_list" => "checklist_list",
        "exec_wait" | "task_shell_wait" => "exec_shell_wait",
        "exec_interact" => "exec_shell_interact",
        "task_shell_start" => "exec_shell",
        "tool_search_tool_regex" => "tool_search_tool_bm25",
        other => other,
    }
}

/// The arguments of the call behind a result.
fn arguments(done: &Done) -> Option<Args<'_>> {
    Args::of(done.call.as_ref()?, TOOLS).ok()
}

/// The id of a background command, and the number behind it.
fn task_id(id: u32) -> String {
    job_id("shell", id)
}

fn task_number(id: &str) -> Option<u32> {
    job_number("shell", id)
}

#[cfg(test)]
mod tests;
