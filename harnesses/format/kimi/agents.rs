//! Nested agents: what their calls mean, and how they are told. One in the background is a task.

use super::results::Told;
use super::tasks::keys;
use crate::harnesses::CallError;
use crate::harnesses::format::agents::title;
use crate::harnesses::format::args::{Args, always, object};
use crate::tools::action::{Action, AgentOut, AgentState, AgentWant, Delegate, DelegateOut};
use serde_json::{Value, json};

/// The roles of a nested agent; the first is the default.
const ROLES: [&str; 3] = ["coder", "explore", "plan"];

/// The id of an agent, and that of the task in which it works in the background.
fn agent_id(number: u32) -> String {
    format!("a{number:08x}")
}

fn task_id(number: u32) -> String {
    format!("agent-{number:08x}")
}

/// The agent that an id of either kind names.
fn named(id: &str) -> Option<String> {
    let id = id.trim();
    let digits = id.strip_prefix("agent-").or_else(|| id.strip_prefix('a'))?;
    let number = u32::from_str_radix(digits, 16).ok()?;
    Some(number.to_string())
}

/// What a call about a task wants of an agent; `None`: it is about a command.
pub fn task(args: &Args, want: AgentWant) -> Option<Action> {
    let id = args.filled("task_id")?;
    Some(Action::Agents {
        agents: vec![named(&id)?],
        want,
    })
}

/// Agent.
pub fn delegate(args: &Args) -> Result<Action, CallError> {
    let resumed = args.filled("resume");
    let role = args
        .filled("subagent_type")
        .unwrap_or_else(|| ROLES[0].into());
    if !ROLES.contains(&role.as_str()) {
        return Err(args.wrong("\"subagent_type\" must be coder, explore or plan"));
    }
    let prompt = args.need_filled("prompt")?;
    Ok(Action::Delegate(Delegate {
        read_only: role != ROLES[0],
        role,
        title: match args.text("description") {
            None if resumed.is_some() => title(&prompt),
            _ => args.need("description")?,
        },
        prompt,
        agent: resumed.map(|id| named(&id).unwrap_or(id)),
        later: args.flag("run_in_background") == Some(true),
        ..Delegate::default()
    }))
}

/// The call of a part for an agent. The role of another harness becomes the one that may do as much.
pub fn written(part: &Delegate) -> Value {
    let role = match ROLES.iter().find(|role| **role == part.role) {
        Some(role) => role,
        None if part.read_only => "explore",
        None => "coder",
    };
    let agent = part.agent.as_ref();
    let agent = agent.map(|id| id.parse().map_or_else(|_| id.clone(), agent_id));
    object([
        ("prompt", always(part.prompt.as_str())),
        ("description", always(part.title.as_str())),
        ("subagent_type", always(role)),
        ("resume", agent.map(Value::from)),
        ("run_in_background", part.later.then_some(true.into())),
    ])
}

/// The call that looks after an agent in the background.
pub fn written_task(agents: &[String], want: AgentWant) -> Option<(&'static str, Value)> {
    let first = agents.first()?;
    let id = first.parse().map_or_else(|_| first.clone(), task_id);
    match want {
        AgentWant::Answer => Some(("TaskOutput", json!({ "task_id": id }))),
        AgentWant::Close => Some(("TaskStop", json!({ "task_id": id }))),
        AgentWant::Reopen => None,
    }
}

/// What an agent said.
fn summary(out: &DelegateOut) -> &str {
    match out.text.trim() {
        "" => "The agent ended without an answer.",
        text => text,
    }
}

fn status(out: &DelegateOut) -> &'static str {
    match out.failure {
        Some(_) => "failed",
        None => "completed",
    }
}

fn failure(out: &DelegateOut) -> Option<String> {
    let why = out.failure.as_ref()?;
    Some(format!("subagent error: {why}"))
}

/// The result of an agent that was waited for. `resumed` is the line that tells whether it was
/// taken up again, where there is one.
pub fn told(part: &Delegate, out: &DelegateOut, resumed: bool) -> Told {
    let head = keys([
        ("agent_id", Some(agent_id(out.id))),
        ("resumed", resumed.then(|| part.agent.is_some().to_string())),
        ("actual_subagent_type", Some(part.role.clone())),
        ("status", Some(status(out).into())),
    ]);
    Told {
        output: format!("{head}\n\n[summary]\n{}", summary(out)),
        remark: failure(out).unwrap_or_default(),
        is_error: out.failure.is_some(),
    }
}

/// How agents in the background stand.
pub fn all(action: &Action, all: &[AgentOut]) -> Told {
    let want = match action {
        Action::Agents { want, .. } => Some(*want),
        _ => None,
    };
    match all.first() {
        Some(agent) => stands(agent, want),
        None => Told::output("There is no agent."),
    }
}

fn stands(agent: &AgentOut, want: Option<AgentWant>) -> Told {
    let (status, done) = match (&agent.state, want) {
        (_, Some(AgentWant::Close)) | (AgentState::Closed, _) => ("killed", None),
        (AgentState::Waiting, _) => ("running", None),
        (AgentState::Done(out), _) => (status(out), Some(out)),
    };
    let runs = status == "running";
    let head = keys([
        ("task_id", Some(task_id(agent.id))),
        ("kind", Some("agent".into())),
        ("agent_id", Some(agent_id(agent.id))),
        ("actual_subagent_type", Some(agent.role.clone())),
        ("status", Some(status.into())),
        ("automatic_notification", runs.then(|| "true".into())),
        (
            "next_step",
            runs.then(|| {
                "Go on with other work. It works after your next reply, and you are told.".into()
            }),
        ),
        (
            "output_path",
            agent.file.as_ref().map(|file| file.display().to_string()),
        ),
    ]);
    match done {
        None => Told::output(head),
        Some(out) => Told {
            output: format!("{head}\n\n[output]\n{}", summary(out)),
            remark: failure(out).unwrap_or_default(),
            is_error: false,
        },
    }
}

/// That an agent in the background is done.
pub fn notice(agent: &AgentOut) -> String {
    let (status, severity, body) = match &agent.state {
        AgentState::Done(out) => match failure(out) {
            None => ("completed", "info", summary(out).to_owned()),
            Some(why) => ("failed", "warning", format!("{why}\n{}", summary(out))),
        },
        AgentState::Waiting | AgentState::Closed => ("killed", "info", String::new()),
    };
    let (id, task) = (agent_id(agent.id), task_id(agent.id));
    format!(
        "<notification id=\"task:{task}:{status}\" category=\"task\" type=\"task.{status}\" source_kind=\"background_task\" source_id=\"{task}\" agent_id=\"{id}\">\nTitle: Background agent {status}\nSeverity: {severity}\n{body}\n</notification>"
    )
}
