//! `claude-code-bare`: the shape of Claude Code in its quiet mode for scripts: three tools and two
//! lines of prompt.

use super::format::claude::{Family, SkillList, context};
use super::format::prompt;
use super::{CallError, Context, Done, Harness, Item, Notice, Start, State};
use crate::model::ToolCall;
use crate::tools::action::{Action, OnTimeout};
use serde_json::Value;

/// The harness for DeepSeek models, and for small ones that many words confuse.
pub struct ClaudeCodeBare;

const SYSTEM: &str = include_str!("system.md");

const FAMILY: Family = Family {
    tools: include_str!("tools.json"),
    left_out: &[("ToolSearch", "all tools are always shown")],
    on_timeout: OnTimeout::Kill,
    lines: Some(2000),
    inline: 30_000,
    role: "general-purpose",
    planning: "",
    agents_later: false,
    tokens: "total_tokens",
    skills: SkillList::WithFiles,
    shows_count: true,
};

impl Harness for ClaudeCodeBare {
    fn id(&self) -> &'static str {
        "claude-code-bare"
    }

    fn about(&self) -> &'static str {
        "Claude Code without its long prompt: three tools, for DeepSeek and small models"
    }

    fn begin(&self, cx: &Context) -> Start {
        let branch = cx.git_branch.as_deref().unwrap_or("unknown");
        let system = || prompt(SYSTEM, cx, &[], &[("branch", branch)]);
        FAMILY.start(system, context(cx, false), cx)
    }

    fn action(&self, call: &ToolCall) -> Result<Action, CallError> {
        FAMILY.action(call)
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

    fn notice(&self, state: &mut State, notice: &Notice) -> Vec<Item> {
        vec![FAMILY.notice(state, notice)]
    }
}

#[cfg(test)]
mod tests;
