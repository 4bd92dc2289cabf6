//! Nested agents: what their calls mean, and how they are told.

use super::{EXPLORE, GENERAL};
use crate::harnesses::CallError;
use crate::harnesses::format::agents::{reference, title};
use crate::harnesses::format::args::{Args, always, object};
use crate::harnesses::format::{job_id, job_number};
use crate::tools::action::{Action, AgentOut, AgentState, AgentWant, Delegate, DelegateOut};
use serde_json::{Value, json};
use std::fmt::Write;

/// What the ids begin with.
const WORD: &str = "agent";

/// The agent that an id names; anything else is taken for a name.
fn named(id: &str) -> String {
    match id.trim().starts_with(WORD) {
        true => job_number(WORD, id).map_or_else(|| id.to_owned(), |number| number.to_string()),
        false => reference(WORD, id),
    }
}

fn id(agent: &str) -> String {
    agent
        .parse()
        .map_or_else(|_| agent.to_owned(), |number| job_id(WORD, number))
}

/// agent.
pub fn begin(args: &Args) -> Result<Action, CallError> {
    let role = args
        .filled("subagent_type")
        .unwrap_or_else(|| GENERAL.into());
    if ![GENERAL, EXPLORE].contains(&role.as_str()) {
        return Err(CallError::Refused(format!(
            "There is no agent \"{role}\" here. Use {GENERAL}, or {EXPLORE} for a search."
        )));
    }
    Ok(Action::Delegate(Delegate {
        read_only: role == EXPLORE,
        role,
        title: args.filled("description").unwrap_or_default(),
        prompt: args.need_filled("prompt")?,
        later: args.flag("run_in_background") == Some(true),
        ..Delegate::default()
    }))
}

/// send_message: an agent goes on with what it knows.
pub fn send(args: &Args) -> Result<Action, CallError> {
    let prompt = args.need_filled("message")?;
    Ok(Action::Delegate(Delegate {
        title: title(&prompt),
        prompt,
        agent: Some(named(&args.need_filled("task_id")?)),
        ..Delegate::default()
    }))
}

/// task_stop of an agent; `None`: the id is that of a command.
pub fn stop(task: &str) -> Option<Action> {
    task.trim().starts_with(WORD).then(|| Action::Agents {
        agents: vec![named(task)],
        want: AgentWant::Close,
    })
}

/// The call of a part for an agent.
pub fn write(part: &Delegate) -> (&'static str, Value) {
    if let Some(agent) = &part.agent {
        let arguments = json!({"task_id": id(agent), "message": part.prompt});
        return ("send_message", arguments);
    }
    let role = if part.read_only { EXPLORE } else { GENERAL };
    let arguments = object([
        ("description", always(part.title.as_str())),
        ("prompt", always(part.prompt.as_str())),
        ("subagent_type", always(role)),
        ("run_in_background", part.later.then_some(true.into())),
    ]);
    ("agent", arguments)
}

/// The call that ends an agent.
pub fn write_stop(agents: &[String], want: AgentWant) -> Option<(&'static str, Value)> {
    let first = agents.first().filter(|_| want == AgentWant::Close)?;
    Some(("task_stop", json!({"task_id": id(first)})))
}

/// The report as it is.
pub fn report(out: &DelegateOut) -> String {
    let mut text = match out.text.trim() {
        "" => "(The agent wrote no report. Look at what it did yourself.)".to_owned(),
        text => text.to_owned(),
    };
    if let Some(why) = &out.failure {
        let _ = write!(text, "\n\nThe agent ended early: {why}");
    }
    text
}

/// An agent that was begun in the background, or ended.
pub fn stands(action: &Action, agents: &[AgentOut]) -> String {
    let closes = matches!(action, Action::Agents { .. });
    let one = |agent: &AgentOut| match closes {
        true => format!("Stopped {}.", job_id(WORD, agent.id)),
        false => format!(
            "Background agent started with id {}. It works after your next reply; you are told when it is done, with its report.",
            job_id(WORD, agent.id)
        ),
    };
    agents.iter().map(one).collect::<Vec<_>>().join("\n")
}

/// That an agent in the background is done.
pub fn done(agent: &AgentOut) -> String {
    let id = job_id(WORD, agent.id);
    match &agent.state {
        AgentState::Done(out) => format!(
            "The background agent {id} is done; send_message tells it more. Its report:\n\n{}",
            report(out)
        ),
        AgentState::Waiting | AgentState::Closed => format!("The background agent {id} was ended."),
    }
}
