//! What the two agents of Moonshot AI have in common: the arguments of their calls, how a session
//! and a nested agent begin, background tasks, and the words around them.

pub mod agents;
pub mod calls;
pub mod opening;
pub mod results;
pub mod tasks;
#[cfg(test)]
pub mod tests;
pub mod written;

use super::{planning, user_parts};
use crate::harnesses::{CallError, Done, Harness, Input, Item, Notice, Reply, State, Step};
use crate::model::Part;
use crate::tools::action::{Action, OnTimeout, PlanStep, StepStatus};
use std::fmt::Write;

/// The note of [`State`] that stands before the first words of the user, once.
const BEFORE: &str = "before";
/// The note that follows the first words of the user as a reminder, once.
const AFTER: &str = "after";
/// The counter that is there when a command in the background could not be looked after.
const NO_TASKS: &str = "no_tasks";
/// The counter that is there when planning cannot be ended by a call, since the tool for it is not
/// offered.
const NO_PLAN: &str = "no_plan";
/// The counter of replies since the planning began or was recalled at length.
const PLANNING: &str = "planning";

/// Words of the program to the model.
pub fn reminder(text: &str) -> String {
    format!("<system-reminder>\n{text}\n</system-reminder>")
}

/// A remark of the program inside a result.
pub fn remark(text: &str) -> String {
    format!("<system>{text}</system>")
}

/// The items of one message of the user: what has to come before it, the message, and reminders as
/// messages of their own.
pub fn user(state: &mut State, input: &Input) -> Vec<Item> {
    let mut content = user_parts(input);
    if let Some(before) = state.notes.remove(BEFORE) {
        content.insert(0, Part::text(before));
    }
    let mut items = vec![Item::User { content }];
    items.extend(
        state
            .notes
            .remove(AFTER)
            .map(|text| Item::user(reminder(&text))),
    );
    if plans(state) {
        items.push(plan_reminder(state, true));
    }
    items
}

/// What a reply asks for. Three things need more than the call: the plan that is put before the
/// user stands in the words of the reply, since there is no plan file; a plan without any words
/// is the todo list; and an agent without task tools cannot leave a command in the background.
pub fn read(harness: &dyn Harness, state: &State, reply: &Reply) -> Step {
    let calls = &reply.assistant.calls;
    if calls.is_empty() {
        return Step::Done;
    }
    let words = reply.assistant.text.trim();
    let actions = calls.iter().map(|call| {
        let action = harness.action(call)?;
        match action {
            Action::Mode {
                planning: false,
                plan,
            } => submitted(plan, words, &state.plan),
            Action::Shell(mut shell) if state.counters.contains_key(NO_TASKS) => {
                shell.background = false;
                shell.on_timeout = OnTimeout::Kill;
                Ok(Action::Shell(shell))
            }
            other => Ok(other),
        }
    });
    Step::Act(actions.collect())
}

/// The end of planning with the plan in it; `options` are the ways to choose from.
fn submitted(options: String, words: &str, steps: &[PlanStep]) -> Result<Action, CallError> {
    let mut plan = match words {
        "" => listed(steps, "- "),
        words => words.to_owned(),
    };
    if plan.is_empty() {
        return Err(CallError::Refused(
            "There is no plan yet. Write the plan as the text of your reply, and call ExitPlanMode at its end."
                .into(),
        ));
    }
    if !options.is_empty() {
        let _ = write!(plan, "\n\n{options}");
    }
    Ok(Action::Mode {
        planning: false,
        plan,
    })
}

/// The name of a status in these agents.
pub fn status_name(status: StepStatus) -> &'static str {
    match status {
        StepStatus::Completed => "done",
        other => other.name(),
    }
}

/// The steps of a plan, one a line: `{before}[{status}] {text}`.
pub fn listed(steps: &[PlanStep], before: &str) -> String {
    let lines: Vec<String> = steps
        .iter()
        .map(|step| format!("{before}[{}] {}", status_name(step.status), step.text))
        .collect();
    lines.join("\n")
}

/// True while the agent works on a plan that it can put before the user.
fn plans(state: &State) -> bool {
    state.planning && !state.counters.contains_key(NO_PLAN)
}

/// The reminder that planning is still on, at length or in a few words.
fn plan_reminder(state: &mut State, long: bool) -> Item {
    if !long {
        return Item::user(reminder(
            "Planning is still on: look around and change nothing; end it with ExitPlanMode.",
        ));
    }
    state.counters.insert(PLANNING.into(), 0);
    Item::user(reminder(&format!(
        "{} When the plan is ready, write it as the text of your reply and call ExitPlanMode.",
        planning(true)
    )))
}

/// Counts a reply while planning is on, and gives the reminder that is due: the long one every
/// `long` replies, the short one every `short`.
pub fn after_reply(state: &mut State, short: u64, long: u64) -> Option<Item> {
    if !plans(state) {
        state.counters.remove(PLANNING);
        return None;
    }
    let count = state.counters.entry(PLANNING.into()).or_default();
    *count += 1;
    let count = *count;
    if count >= long {
        Some(plan_reminder(state, true))
    } else {
        count
            .is_multiple_of(short)
            .then(|| plan_reminder(state, false))
    }
}

/// How something that happened by itself is told; `ended` lays out the end of a command.
pub fn notice(state: &mut State, notice: &Notice, ended: fn(&tasks::Ended) -> String) -> Vec<Item> {
    let item = match notice {
        Notice::JobEnded {
            id,
            command,
            code,
            file,
        } => Item::user(ended(&tasks::Ended {
            id: *id,
            command,
            code: *code,
            file: file.as_deref(),
        })),
        Notice::Planning(true) if plans(state) => plan_reminder(state, true),
        Notice::AgentDone(agent) => Item::user(agents::notice(agent)),
        Notice::Planning(on) => Item::user(reminder(planning(*on))),
        Notice::Nudge(text) => Item::user(reminder(text)),
    };
    vec![item]
}

/// True when one of the calls set the todo list.
pub fn set_todos(done: &[Done]) -> bool {
    done.iter()
        .any(|done| matches!(done.result, Ok((Action::Plan { .. }, _))))
}
