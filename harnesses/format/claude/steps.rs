//! What the agents of the family keep in mind from step to step: how long the todo list was left
//! alone, and which call started which background command.

use super::{Family, NOTE_SKILLS, SkillList, agents, numbered_plan, reminder, task_id};
use crate::harnesses::format::append;
use crate::harnesses::format::{planning, skills, surface};
use crate::harnesses::{Context, Done, Item, Notice, Start, State};
use crate::tools::action::{Action, Outcome, ShellStatus, StepStatus};
use std::fmt::Write;

/// Steps without a look at the todo list after which the model is reminded of it.
pub const REMIND_AFTER: u64 = 10;

/// The counter of those steps; only there when the todo list is on offer.
const STALE: &str = "steps_without_todos";
/// There when the tools of plan mode are on offer.
const PLAN_TOOLS: &str = "plan_tools";
/// The note of the working folder.
const CWD: &str = "cwd";

impl Family {
    /// The beginning of a session: the prompt, or the user's own in its place, then the developer's
    /// words.
    pub fn start(
        &self,
        system: impl FnOnce() -> String,
        opening: Vec<Item>,
        cx: &Context,
    ) -> Start {
        let mut system = cx.system_override.clone().unwrap_or_else(system);
        if let Some(words) = &cx.developer_instructions {
            let _ = write!(system, "\n\n{words}");
        }
        let mut start = Start {
            system,
            opening,
            ..surface::start(self.tools, "", self.left_out, cx)
        };
        if !cx.skills.is_empty() {
            match self.skills {
                SkillList::First => {
                    let list = format!(
                        "These skills can be read with the Skill tool:\n\n{}",
                        skills::lines(cx, false)
                    );
                    start.opening.insert(0, Item::user(super::reminder(&list)));
                }
                SkillList::WithFiles => {
                    let list = skills::block(cx, "read its file");
                    start.opening.insert(0, Item::user(list));
                }
                SkillList::AfterPrompt => {
                    let list = format!("Skills:\n{}", skills::lines(cx, false));
                    start.state.notes.insert(NOTE_SKILLS.into(), list);
                }
            }
        }
        for (tool, counter) in [("TodoWrite", STALE), ("ExitPlanMode", PLAN_TOOLS)] {
            if start.tools.iter().any(|offered| offered.name == tool) {
                start.state.counters.insert(counter.into(), 0);
            }
        }
        let cwd = cx.cwd.display().to_string();
        start.state.notes.insert(CWD.into(), cwd);
        start
    }

    /// The answers to a reply; a reminder of the todo list at the end of the last one, once for
    /// each state of the list.
    pub fn results(&self, state: &mut State, done: &[Done], room: usize) -> Vec<Item> {
        self.remember(state, done);
        let words = self
            .stale(state, done)
            .filter(|(before, after)| *before < REMIND_AFTER && REMIND_AFTER <= *after)
            .and_then(|_| todo_words(state))
            .map(|words| reminder(&words))
            .filter(|words| words.len() * 2 < room);
        let cwd = folder(state);
        let mut items: Vec<Item> = done
            .iter()
            .map(|done| self.item(done, cwd.as_deref(), room))
            .collect();
        if let (Some(words), Some(done), Some(last)) = (words, done.last(), items.last_mut()) {
            *last = self.item(done, cwd.as_deref(), room - words.len() - 2);
            append(last, &words);
        }
        items
    }

    /// Counts steps on which the todo list was left alone: how many before and after these.
    /// `None` when there is no such list.
    pub fn stale(&self, state: &mut State, done: &[Done]) -> Option<(u64, u64)> {
        let count = state.counters.get_mut(STALE)?;
        let mut before = *count;
        for done in done {
            match done.result {
                Ok((Action::Plan { .. } | Action::PlanRead, _)) => (before, *count) = (0, 0),
                _ => *count = count.saturating_add(1),
            }
        }
        Some((before, *count))
    }

    /// Keeps the ids of the calls that started background commands until these end.
    pub fn remember(&self, state: &mut State, done: &[Done]) {
        for done in done {
            match (&done.call, &done.result) {
                (Some(call), Ok((Action::Shell(_), Outcome::Shell(out)))) => {
                    if let ShellStatus::Running { id, .. } = out.status {
                        state.notes.insert(task_id(id), call.id.clone());
                    }
                }
                (Some(call), Ok((Action::Delegate(_), Outcome::Agents(agents)))) => {
                    agents::remember(state, &call.id, agents);
                }
                (_, Ok((Action::ShellStop { id }, Outcome::Shell(_)))) => {
                    state.notes.remove(&task_id(*id));
                }
                _ => {}
            }
        }
    }

    /// How something that happened by itself is told.
    pub fn notice(&self, state: &mut State, notice: &Notice) -> Item {
        Item::user(match notice {
            Notice::JobEnded {
                id,
                command,
                code,
                file,
            } => {
                let task = task_id(*id);
                let (status, how) = match code {
                    Some(0) => ("completed", "ended with exit code 0".to_owned()),
                    Some(code) => ("failed", format!("ended with exit code {code}")),
                    None => ("killed", "was stopped".to_owned()),
                };
                let mut text = format!("<task-notification>\n<task-id>{task}</task-id>\n");
                if let Some(call) = state.notes.remove(&task) {
                    let _ = writeln!(text, "<tool-use-id>{call}</tool-use-id>");
                }
                if let Some(file) = file {
                    let _ = writeln!(text, "<output-file>{}</output-file>", file.display());
                }
                let _ = write!(
                    text,
                    "<status>{status}</status>\n<summary>The background command `{command}` {how}.</summary>\n</task-notification>"
                );
                text
            }
            Notice::Planning(true) if state.counters.contains_key(PLAN_TOOLS) => {
                reminder(self.planning)
            }
            Notice::AgentDone(agent) => agents::notice(state, agent),
            Notice::Planning(on) => reminder(planning(*on)),
            Notice::Nudge(text) => reminder(text),
        })
    }

    /// True when this agent has a tool of that name, on offer or not.
    pub(super) fn has(&self, tool: &str) -> bool {
        surface::has(self.tools, tool)
    }
}

/// The working folder, for errors about paths.
pub fn folder(state: &State) -> Option<String> {
    state.notes.get(CWD).cloned()
}

/// A step of the user is one without a look at the todo list too. `None` when there is no list.
pub fn step(state: &mut State) -> Option<&mut u64> {
    let count = state.counters.get_mut(STALE)?;
    *count = count.saturating_add(1);
    Some(count)
}

/// What a model is told about a todo list that it left alone; `None` when all is done.
pub fn todo_words(state: &State) -> Option<String> {
    let plan = &state.plan;
    if plan.is_empty() {
        return Some(
            "TodoWrite was not used for a while. If the work has several steps, a todo list helps; if not, go on as you are. Do not mention this to the user."
                .into(),
        );
    }
    if plan.iter().all(|step| step.status == StepStatus::Completed) {
        return None;
    }
    Some(format!(
        "The todo list was not updated for a while. If it is out of date, set it right with TodoWrite; then go on. Do not mention this to the user. It says:\n{}",
        numbered_plan(plan)
    ))
}
