//! `zcode`: the surface of Z.AI's ZCode, a relative of Claude Code.

mod results;

use super::format::claude::{
    Family, NOTE_SKILLS, SkillList, compact_plan, context, git_state, step, todos,
};
use super::format::prompt;
use super::{
    CallError, CompactPlan, Context, Done, Harness, Input, Item, Notice, Start, State, Step,
};
use crate::model::{Reply, ToolCall};
use crate::tools::action::{Action, OnTimeout};
use serde_json::Value;

/// The harness for GLM models.
pub struct ZCode;

const SYSTEM: &str = include_str!("system.md");

const FAMILY: Family = Family {
    tools: include_str!("tools.json"),
    left_out: LEFT_OUT,
    on_timeout: OnTimeout::Kill,
    lines: None,
    inline: 64 * 1024,
    role: "Explore",
    planning: PLANNING,
    agents_later: false,
    tokens: "subagent_tokens",
    skills: SkillList::AfterPrompt,
    shows_count: false,
};

/// What a model is told in plan mode.
const PLANNING: &str = "Plan mode is on. Change nothing until the user has agreed to a plan: no edits, no commands that change anything.
Phase 1, explore: up to three Explore agents, or Read and Bash with grep and find.
Phase 2, design: weigh the ways to do it and choose one.
Phase 3, review: read what the plan touches once more; ask with AskUserQuestion what only the user can know.
Phase 4: call ExitPlanMode with the plan: what changes in which files, in which order, and how it is checked.
End your turn only with AskUserQuestion or ExitPlanMode.";

const LEFT_OUT: &[(&str, &str)] = &[(
    "ReadSessionContext",
    "other sessions are not shown to a model",
)];

/// The importance of an item that has none of its own.
const PRIORITY: &str = "medium";

impl Harness for ZCode {
    fn id(&self) -> &'static str {
        "zcode"
    }

    fn about(&self) -> &'static str {
        "ZCode: for GLM models"
    }

    fn begin(&self, cx: &Context) -> Start {
        let person: &[&str] = if cx.interactive { &["person"] } else { &[] };
        let git = git_state(cx);
        let system = || prompt(SYSTEM, cx, person, &[("git_state", &git)]);
        FAMILY.start(system, context(cx, true), cx)
    }

    fn user(&self, state: &mut State, input: &Input) -> Vec<Item> {
        // A message of the user counts as a step without the todo list.
        step(state);
        let mut items = vec![Item::User {
            content: super::format::user_parts(input),
        }];
        items.extend(state.notes.remove(NOTE_SKILLS).map(Item::user));
        items
    }

    fn action(&self, call: &ToolCall) -> Result<Action, CallError> {
        FAMILY.action(call)
    }

    fn read(&self, _: &State, reply: &Reply) -> Step {
        FAMILY.read(reply)
    }

    fn result(&self, done: &Done, room: usize) -> Item {
        results::item(done, &State::default(), room)
    }

    fn results(&self, state: &mut State, done: &[Done], room: usize) -> Vec<Item> {
        results::items(state, done, room)
    }

    fn write(&self, action: &Action) -> Option<(&'static str, Value)> {
        match action {
            Action::Plan { steps, .. } => {
                Some(("TodoWrite", todos(steps, |_| ("priority", PRIORITY))))
            }
            action => FAMILY.write(action),
        }
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
mod tests;
