//! `claude-code`: the surface of Claude Code.

use super::format::claude::{Family, SkillList, compact_plan, context, git_state, reminder};
use super::format::prompt;
use super::{
    CallError, CompactPlan, Context, Document, Done, Harness, Item, Nested, Notice, Start, State,
    Step,
};
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
    agents_later: true,
    tokens: "total_tokens",
    skills: SkillList::First,
    shows_count: true,
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
    (
        "EnterWorktree",
        "a session keeps to one folder; Bash runs git worktree",
    ),
    ("ExitWorktree", "a session keeps to one folder"),
    (
        "LSP",
        "no language server is started; Grep finds names, and Bash runs the compiler",
    ),
    (
        "Monitor",
        "background commands and their output files take its place",
    ),
    ("PushNotification", "it needs a hosted account"),
    ("RemoteTrigger", "it needs a hosted account"),
    ("ScheduleWakeup", "nothing runs by the clock here"),
    ("TaskCreate", "TodoWrite takes its place"),
    ("TaskGet", "TodoWrite takes its place"),
    ("TaskList", "TodoWrite takes its place"),
    ("TaskUpdate", "TodoWrite takes its place"),
    (
        "WebSearch",
        "no search service is set up; WebFetch gets a page whose address is known",
    ),
    ("Workflow", "its scripts run agents side by side"),
    (
        "ListMcpResourcesTool",
        "resources of MCP servers are not read; their tools are offered",
    ),
    (
        "ReadMcpResourceTool",
        "resources of MCP servers are not read; their tools are offered",
    ),
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

    fn nested(&self, document: &Document) -> Option<Nested> {
        Some(Nested::InResult(reminder(&format!(
            "Contents of {}, instructions for what is in its folder:\n\n{}",
            document.shown,
            document.text.trim_end()
        ))))
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
