//! Where the results of ZCode differ from those of its family.

use super::{FAMILY, PRIORITY};
use crate::harnesses::format::args::Args;
use crate::harnesses::format::claude::{REMIND_AFTER, folder, reminder, todo_words};
use crate::harnesses::format::skills;
use crate::harnesses::format::{answer, fit};
use crate::harnesses::{Done, Item, State};
use crate::tools::action::{Action, ChangeKind, Outcome, PlanStep, ReadOut, StepStatus, ToolError};
use serde_json::{Value, json};

/// The note of the todo list as the model wrote it, importance included.
const TODOS: &str = "todos";

/// The answers to a reply, then the reminders that belong to them.
pub fn items(state: &mut State, done: &[Done], room: usize) -> Vec<Item> {
    FAMILY.remember(state, done);
    let stale = FAMILY.stale(state, done);
    let mut items = Vec::new();
    for done in done {
        items.push(item(done, state, room));
        if let Some(todos) = new_list(done) {
            state
                .notes
                .insert(TODOS.into(), Value::from(todos).to_string());
        }
    }
    let planned = |done: &Done| {
        matches!(
            done.result,
            Ok((Action::Mode { planning: true, .. }, Outcome::ModeSet))
        )
    };
    if done.iter().any(planned) {
        items.push(Item::user(reminder(FAMILY.planning)));
        items.extend(todo_words(state).map(|words| Item::user(reminder(&words))));
    }
    let due = stale.is_some_and(|(before, after)| before / REMIND_AFTER < after / REMIND_AFTER);
    if let Some(text) = todo_words(state).filter(|_| due) {
        items.push(Item::Developer { text });
    }
    items
}

/// The answer to one call.
pub fn item(done: &Done, state: &State, room: usize) -> Item {
    if let Ok((action, outcome)) = &done.result
        && let Some((text, is_error)) = own(done, action, outcome, state)
    {
        return answer(done, fit(text, room), is_error, room);
    }
    FAMILY.item(done, folder(state).as_deref(), room)
}

/// What is told in words of its own, and whether it is an error.
fn own(done: &Done, action: &Action, outcome: &Outcome, state: &State) -> Option<(String, bool)> {
    let whole = !FAMILY.given(done, "offset") && !FAMILY.given(done, "limit");
    let text = match (action, outcome) {
        (Action::Read(_), Outcome::Read(out)) if out.repeated && whole => wasted(out),
        (Action::Write { .. }, Outcome::Changed(changes)) => {
            let change = changes.first()?;
            let verb = match change.kind {
                ChangeKind::Delete => return None,
                _ => "File created at",
            };
            format!(
                "{verb}: {} (Its state is known; no need to read it again.)",
                change.path.display()
            )
        }
        (_, Outcome::Skill(out)) => skills::content(out),
        (Action::Plan { steps, .. }, Outcome::Planned) => {
            let new = new_list(done).unwrap_or_else(|| list(steps));
            let old = list_of(state, &[]);
            json!({"oldTodos": old, "todos": new, "summary": summary(steps)}).to_string()
        }
        (_, Outcome::Plan(steps)) => json!({"todos": list_of(state, steps)}).to_string(),
        (Action::Mode { planning: true, .. }, Outcome::ModeSet) => {
            "Plan mode is on: look around, change nothing, and end with ExitPlanMode.".into()
        }
        (Action::Mode { plan, .. }, Outcome::ModeSet) => {
            format!(
                "The plan was submitted and the user agreed to it. Begin with the work.\n\n{plan}"
            )
        }
        // Only the rule about reading first is marked as an error of the tool's use.
        (
            Action::Edit { .. },
            Outcome::Failed(error @ (ToolError::NoMatch { .. } | ToolError::Ambiguous { .. })),
        ) => {
            let hint = match error {
                ToolError::Ambiguous { .. } => ", or set replace_all to true",
                _ => "",
            };
            return Some((format!("{error}{hint}"), true));
        }
        _ => return None,
    };
    Some((text, false))
}

fn wasted(out: &ReadOut) -> String {
    format!(
        "Wasted call: {} has not changed since you read it, and its text still stands above. To see a part again, give offset and limit.",
        out.path.display()
    )
}

/// The list as the call has it.
fn new_list(done: &Done) -> Option<Vec<Value>> {
    if !matches!(done.result, Ok((Action::Plan { .. }, Outcome::Planned))) {
        return None;
    }
    let args = Args::of(done.call.as_ref()?, FAMILY.tools).ok()?;
    Some(args.list("todos").to_vec())
}

/// The list as the model last wrote it, if it still is that of `steps`; else one made from them.
fn list_of(state: &State, steps: &[PlanStep]) -> Vec<Value> {
    let noted: Vec<Value> = state
        .notes
        .get(TODOS)
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    let same = steps.is_empty()
        || noted.len() == steps.len()
            && noted.iter().zip(steps).all(|(todo, step)| {
                todo["content"] == step.text.as_str() && todo["status"] == step.status.name()
            });
    if same { noted } else { list(steps) }
}

fn list(steps: &[PlanStep]) -> Vec<Value> {
    steps
        .iter()
        .map(|step| {
            json!({"content": step.text, "status": step.status.name(), "priority": PRIORITY})
        })
        .collect()
}

fn summary(steps: &[PlanStep]) -> Value {
    let count = |status| steps.iter().filter(|step| step.status == status).count();
    json!({
        "total": steps.len(),
        "pending": count(StepStatus::Pending),
        "inProgress": count(StepStatus::InProgress),
        "completed": count(StepStatus::Completed),
    })
}
