//! The tools for nested agents: `spawn_agent` and its kind. Their results are JSON, as in the original.

use crate::harnesses::CallError;
use crate::harnesses::format::agents::{message, reference, title};
use crate::harnesses::format::args::{Args, always, object, unless};
use crate::tools::action::{Action, AgentOut, AgentState, AgentWant, Delegate, ToolError};
use serde_json::{Value, json};

/// What the ids begin with.
const WORD: &str = "agent";

/// What a call asks for; `None`: it is of another tool.
///
/// # Errors
/// What is wrong with it, for the model.
pub fn action(tool: &str, args: &Args) -> Option<Result<Action, CallError>> {
    Some(match tool {
        "spawn_agent" => told(args).map(|prompt| {
            Action::Delegate(Delegate {
                title: title(&prompt),
                prompt,
                later: true,
                fork: args.flag("fork_context").unwrap_or(false),
                ..Delegate::default()
            })
        }),
        "send_input" => told(args).and_then(|prompt| {
            Ok(Action::Delegate(Delegate {
                title: title(&prompt),
                prompt,
                agent: Some(one(args, "target")?),
                later: true,
                ..Delegate::default()
            }))
        }),
        "wait_agent" => match args.texts("targets") {
            ids if ids.is_empty() => {
                Err(args.wrong("\"targets\" must be a list of the ids that spawn_agent gave"))
            }
            ids => Ok(Action::Agents {
                agents: ids.iter().map(|id| reference(WORD, id)).collect(),
                want: AgentWant::Answer,
            }),
        },
        "close_agent" => see_to(args, "target", AgentWant::Close),
        "resume_agent" => see_to(args, "id", AgentWant::Reopen),
        _ => return None,
    })
}

fn told(args: &Args) -> Result<String, CallError> {
    let has = |key: &str| args.value(key).is_some_and(|value| !value.is_null());
    if has("message") && has("items") {
        return Err(args.wrong("give \"message\" or \"items\", not both"));
    }
    message(args, &["message"])?
        .ok_or_else(|| args.wrong("\"message\" is missing: what the agent shall do"))
}

fn one(args: &Args, key: &str) -> Result<String, CallError> {
    Ok(reference(WORD, &args.need_filled(key)?))
}

fn see_to(args: &Args, key: &str, want: AgentWant) -> Result<Action, CallError> {
    Ok(Action::Agents {
        agents: vec![one(args, key)?],
        want,
    })
}

fn id(number: &str) -> String {
    match number.parse::<u32>() {
        Ok(number) => format!("{WORD}-{number}"),
        Err(_) => number.to_owned(),
    }
}

/// The call of a part for a nested agent.
pub fn delegate(part: &Delegate) -> (&'static str, Value) {
    let message = ("message", always(part.prompt.as_str()));
    match &part.agent {
        Some(agent) => (
            "send_input",
            object([message, ("target", always(id(agent)))]),
        ),
        None => (
            "spawn_agent",
            object([("fork_context", unless(false, part.fork)), message]),
        ),
    }
}

/// The call that looks after agents.
pub fn see(agents: &[String], want: AgentWant) -> Option<(&'static str, Value)> {
    let first = agents.first()?;
    Some(match want {
        AgentWant::Answer => {
            let ids: Vec<String> = agents.iter().map(|agent| id(agent)).collect();
            ("wait_agent", json!({ "targets": ids }))
        }
        AgentWant::Close => ("close_agent", json!({"target": id(first)})),
        AgentWant::Reopen => ("resume_agent", json!({"id": id(first)})),
    })
}

/// Why a call about an agent came to nothing; `None`: it is about something else.
pub fn failed(error: &ToolError) -> Option<String> {
    match error {
        ToolError::NoSuchAgent { name, known } => {
            let known: Vec<String> = known.iter().map(|agent| id(agent)).collect();
            let known = match known.as_slice() {
                [] => "there is none yet; spawn_agent begins one".to_owned(),
                known => format!("there are: {}", known.join(", ")),
            };
            Some(format!("agent with id {} not found; {known}", id(name)))
        }
        ToolError::AgentClosed { name } => Some(format!(
            "agent with id {} is closed; resume_agent takes it up again",
            id(name)
        )),
        _ => None,
    }
}

fn status(agent: &AgentOut) -> Value {
    match &agent.state {
        AgentState::Waiting => "pending_init".into(),
        AgentState::Closed => "shutdown".into(),
        AgentState::Done(out) => match &out.failure {
            None => json!({"completed": out.text}),
            Some(why) if out.text.trim().is_empty() => json!({"errored": why}),
            Some(why) => json!({"errored": format!("{why}\n{}", out.text)}),
        },
    }
}

/// The result of a call: `tool` is its name, `call` its id.
pub fn told_of(tool: &str, call: &str, agents: &[AgentOut]) -> String {
    let first = agents.first();
    let now = first.map_or(Value::Null, status);
    let value = match tool {
        "spawn_agent" => {
            let agent = first.map(|agent| id(&agent.id.to_string()));
            json!({"agent_id": agent, "nickname": null})
        }
        "send_input" => json!({"submission_id": call}),
        "close_agent" => json!({"previous_status": now}),
        "resume_agent" => json!({"status": now}),
        _ => {
            let all = agents
                .iter()
                .map(|agent| (id(&agent.id.to_string()), status(agent)));
            json!({"status": all.collect::<serde_json::Map<_, _>>(), "timed_out": false})
        }
    };
    value.to_string()
}

/// That an agent has worked which nobody waited for.
pub fn notice(agent: &AgentOut) -> String {
    let told = json!({"agent_path": id(&agent.id.to_string()), "status": status(agent)});
    format!("<subagent_notification>\n{told}\n</subagent_notification>")
}
