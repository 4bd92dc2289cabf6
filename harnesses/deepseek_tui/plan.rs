//! The checklist and the plan. Both are the one plan that the agent loop keeps; items of a
//! checklist have numbers for ids.

use crate::harnesses::CallError;
use crate::harnesses::format::args::{self, Args};
use crate::tools::action::{Action, PlanStep, StepStatus};
use serde_json::{Value, json};

/// `checklist_write` and `update_plan`: the whole list.
pub fn set(args: &Args, list: &str, text: &str, numbers: bool) -> Result<Action, CallError> {
    if !args.value(list).is_some_and(Value::is_array) {
        return Err(args.wrong(format!("\"{list}\" must be a list")));
    }
    let mut steps = Vec::new();
    for (at, entry) in args.list(list).iter().enumerate() {
        let field = |key: &str| entry.get(key).and_then(Value::as_str);
        let Some(words) = field(text).filter(|words| !words.trim().is_empty()) else {
            return Err(args.wrong(format!("item {} has no \"{text}\"", at + 1)));
        };
        steps.push(PlanStep {
            text: words.to_owned(),
            status: status(args, field("status").unwrap_or("pending"))?,
            id: numbers.then(|| (at + 1).to_string()),
        });
    }
    Ok(Action::Plan {
        steps,
        explanation: args.filled("explanation"),
    })
}

/// `checklist_add`: one more item.
pub fn add(args: &Args, plan: &[PlanStep]) -> Result<Action, CallError> {
    let mut steps = numbered(plan);
    let status = status(args, args.text("status").unwrap_or("pending"))?;
    if status == StepStatus::InProgress {
        pause(&mut steps);
    }
    steps.push(PlanStep {
        text: args.need_filled("content")?,
        status,
        id: Some((steps.len() + 1).to_string()),
    });
    Ok(changed(steps))
}

/// `checklist_update`: another status of one item.
pub fn update(args: &Args, plan: &[PlanStep]) -> Result<Action, CallError> {
    let mut steps = numbered(plan);
    let status = status(args, &args.need("status")?)?;
    let id = args
        .whole("id")
        .ok_or_else(|| args.wrong("\"id\" must be the number of an item"))?;
    let at = usize::try_from(id).ok().and_then(|id| id.checked_sub(1));
    let Some(at) = at.filter(|at| *at < steps.len()) else {
        return Err(args.wrong(match steps.len() {
            0 => "the checklist is empty; set it with checklist_write".to_owned(),
            last => format!("there is no item {id}; the ids go from 1 to {last}"),
        }));
    };
    if status == StepStatus::InProgress {
        pause(&mut steps);
    }
    steps[at].status = status;
    Ok(changed(steps))
}

fn status(args: &Args, name: &str) -> Result<StepStatus, CallError> {
    args::status(name).ok_or_else(|| {
        args.wrong(format!(
            "the status \"{name}\" must be pending, in_progress or completed"
        ))
    })
}

fn changed(steps: Vec<PlanStep>) -> Action {
    Action::Plan {
        steps,
        explanation: None,
    }
}

/// The list with the ids that it is shown with.
fn numbered(plan: &[PlanStep]) -> Vec<PlanStep> {
    let steps = plan.iter().enumerate();
    steps
        .map(|(at, step)| PlanStep {
            id: Some((at + 1).to_string()),
            ..step.clone()
        })
        .collect()
}

/// Only one item is in progress.
fn pause(steps: &mut [PlanStep]) {
    for step in steps {
        if step.status == StepStatus::InProgress {
            step.status = StepStatus::Pending;
        }
    }
}

/// The share of items that are completed, in percent.
pub fn percent(steps: &[PlanStep]) -> usize {
    let done = count(steps, StepStatus::Completed);
    (done * 100 + steps.len() / 2)
        .checked_div(steps.len())
        .unwrap_or(0)
}

/// How many items have this status.
pub fn count(steps: &[PlanStep], status: StepStatus) -> usize {
    steps.iter().filter(|step| step.status == status).count()
}

/// The checklist as JSON.
pub fn checklist(steps: &[PlanStep]) -> Value {
    let items: Vec<Value> = steps
        .iter()
        .enumerate()
        .map(|(at, step)| json!({"id": at + 1, "content": step.text, "status": step.status.name()}))
        .collect();
    let at_work = steps
        .iter()
        .position(|step| step.status == StepStatus::InProgress);
    json!({
        "items": items,
        "completion_pct": percent(steps),
        "in_progress_id": at_work.map(|at| at + 1),
    })
}

/// The arguments of the call that sets this list, and its tool.
pub fn write(steps: &[PlanStep], explanation: Option<&str>) -> (&'static str, Value) {
    let with_ids = !steps.is_empty() && steps.iter().all(|step| step.id.is_some());
    let list = |key: &str| -> Vec<Value> {
        steps
            .iter()
            .map(|step| json!({key: step.text, "status": step.status.name()}))
            .collect()
    };
    match explanation {
        None if with_ids => ("checklist_write", json!({"todos": list("content")})),
        None => ("update_plan", json!({"plan": list("step")})),
        Some(why) => (
            "update_plan",
            json!({"explanation": why, "plan": list("step")}),
        ),
    }
}
