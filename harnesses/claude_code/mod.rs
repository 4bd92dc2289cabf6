//! `claude-code`: the surface of Claude Code.

use super::format::claude::{Family, compact_plan, context, git_state};
use super::format::prompt;
use super::{CallError, CompactPlan, Context, Done, Harness, Item, Notice, Start, State, Step};
use crate::model::{Reply, ToolCall};
use crate::tools::action::{Action, OnTimeout};
use serde_json::Value;

/// The harness for Claude models.
pub struct ClaudeCode;

const SYSTEM: &str = include_str!("system.md");

const FAMILY: Family = Family {
    tools: include_str!("tools.json"),
    left_out: LEFT_OUT,
    on_timeout: OnTimeout::Background,
    lines: Some(2000),
    inline: 30_000,
    role: "general-purpose",
    planning: PLANNING,
    tokens: "total_tokens",
};

/// What a model is told in plan mode.
const PLANNING: &str = "Plan mode is on. Change nothing until the user has agreed to a plan: no edits, no commands that change anything.
1. Look around: Read, Grep, Glob, or Explore agents for a broad search.
2. Ask with AskUserQuestion what only the user can know.
3. Write the plan as text: what changes in which files, in which order, and how it is checked.
4. In the same reply call ExitPlanMode; the user then agrees to this text or not.
End your turn only with AskUserQuestion or ExitPlanMode.";

const LEFT_OUT: &[(&str, &str)] = &[
    ("CronCreate", "nothing runs by the clock here"),
    ("CronDelete", "nothing runs by the clock here"),
    ("CronList", "nothing runs by the clock here"),
    ("EnterWorktree", "no worktrees yet"),
    ("ExitWorktree", "no worktrees yet"),
    ("LSP", "no language servers yet"),
    (
        "Monitor",
        "background commands and their output files take its place",
    ),
    ("NotebookEdit", "no notebooks yet"),
    ("PushNotification", "it needs a hosted account"),
    ("RemoteTrigger", "it needs a hosted account"),
    ("ScheduleWakeup", "nothing runs by the clock here"),
    ("SendMessage", "a nested agent ends with its answer"),
    ("Skill", "no skills yet"),
    ("TaskCreate", "TodoWrite takes its place"),
    ("TaskGet", "TodoWrite takes its place"),
    ("TaskList", "TodoWrite takes its place"),
    ("TaskUpdate", "TodoWrite takes its place"),
    ("ToolSearch", "all tools are always shown"),
    ("WebFetch", "no web access yet"),
    ("WebSearch", "no web access yet"),
    ("Workflow", "no workflows yet"),
    ("ListMcpResourcesTool", "no MCP resources yet"),
    ("ReadMcpResourceTool", "no MCP resources yet"),
];

impl Harness for ClaudeCode {
    fn id(&self) -> &'static str {
        "claude-code"
    }

    fn about(&self) -> &'static str {
        "Claude Code: for Claude models, and for models trained on its transcripts"
    }

    fn begin(&self, cx: &Context) -> Start {
        let person: &[&str] = if cx.interactive { &["person"] } else { &[] };
        let git = git_state(cx);
        let system = || prompt(SYSTEM, cx, person, &[("git_state", &git)]);
        FAMILY.start(system, context(cx, true), cx)
    }

    fn action(&self, call: &ToolCall) -> Result<Action, CallError> {
        FAMILY.action(call)
    }

    fn read(&self, _: &State, reply: &Reply) -> Step {
        FAMILY.read(reply)
    }

    fn result(&self, done: &Done, room: usize) -> Item {
        FAMILY.item(done, None, room)
    }

    fn results(&self, state: &mut State, done: &[Done], room: usize) -> Vec<Item> {
        FAMILY.results(state, done, room)
    }

    fn write(&self, action: &Action) -> Option<(&'static str, Value)> {
        FAMILY.write(action)
    }

    fn child(&self, role: &str, cx: &Context) -> Start {
        FAMILY.child(role, cx)
    }

    fn notice(&self, state: &mut State, notice: &Notice) -> Vec<Item> {
        vec![FAMILY.notice(state, notice)]
    }

    fn compact(&self, _: &Context) -> CompactPlan {
        compact_plan()
    }
}

#[cfg(test)]
pub(crate) mod tests;
