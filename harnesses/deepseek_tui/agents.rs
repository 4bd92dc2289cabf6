//! The tools for nested agents: `agent_open` and its kind, and how one is told that works later.

use super::opening::pretty;
use crate::harnesses::CallError;
use crate::harnesses::format::agents::{message, reference, title};
use crate::harnesses::format::args::{Args, always, object, unless};
use crate::harnesses::format::{job_id, job_number};
use crate::tools::action::{Action, AgentOut, AgentState, AgentWant, Delegate, DelegateOut};
use serde_json::{Value, json};

/// What the ids begin with.
const WORD: &str = "agent";

/// The roles, each with its other names, and whether it only looks.
const ROLES: &[(&str, &[&str], bool)] = &[
    (
        "general",
        &["general-purpose", "general_purpose", "worker", "default"],
        false,
    ),
    ("explore", &["exploration", "explorer"], true),
    ("plan", &["planning", "awaiter"], true),
    ("review", &["code-review", "code_review", "reviewer"], true),
    (
        "implementer",
        &["implement", "implementation", "builder"],
        false,
    ),
    (
        "verifier",
        &["verify", "verification", "validator", "tester"],
        false,
    ),
    ("custom", &[], false),
];

/// What a call asks for; `None`: it is of another tool.
///
/// # Errors
/// What is wrong with it, for the model.
pub fn action(tool: &str, args: &Args) -> Option<Result<Action, CallError>> {
    Some(match tool {
        "agent_open" => open(args, true),
        "tool_agent" => open(args, false),
        "agent_eval" => eval(args),
        "agent_close" => named(args).map(|agent| Action::Agents {
            agents: vec![agent],
            want: AgentWant::Close,
        }),
        _ => return None,
    })
}

/// A new agent. A fast helper is waited for; another one works later.
fn open(args: &Args, later: bool) -> Result<Action, CallError> {
    let Some(prompt) = message(args, &["prompt", "message", "objective"])? else {
        return Err(args.wrong("\"prompt\" is missing: what the agent shall do"));
    };
    let asked = ["type", "agent_type", "role", "agent_role"];
    let asked = asked.into_iter().find_map(|key| args.filled(key));
    let (role, read_only) = match asked {
        None => (ROLES[0].0, false),
        Some(asked) => role(&asked).ok_or_else(|| {
            let names: Vec<&str> = ROLES.iter().map(|(name, ..)| *name).collect();
            args.wrong(format!("\"type\" must be one of {}", names.join(", ")))
        })?,
    };
    let tools = args.texts("allowed_tools");
    if role == "custom" && tools.is_empty() {
        return Err(args.wrong("an agent of the type custom needs \"allowed_tools\""));
    }
    let prompt = match args.filled("resident_file") {
        Some(file) => format!("{prompt}\n\nRead {file} first."),
        None => prompt,
    };
    Ok(Action::Delegate(Delegate {
        role: role.into(),
        title: title(&prompt),
        prompt,
        read_only,
        name: args.filled("name").or_else(|| args.filled("session_name")),
        later,
        fork: args.flag("fork_context").unwrap_or(false),
        tools,
        dir: args.filled("cwd"),
        ..Delegate::default()
    }))
}

fn role(asked: &str) -> Option<(&'static str, bool)> {
    let asked = asked.trim().to_lowercase();
    let found = ROLES
        .iter()
        .find(|(name, others, _)| *name == asked || others.contains(&asked.as_str()))?;
    Some((found.0, found.2))
}

/// agent_eval: something more for an agent, or its answer.
fn eval(args: &Args) -> Result<Action, CallError> {
    let agent = named(args)?;
    Ok(match message(args, &["message", "input"])? {
        Some(prompt) => Action::Delegate(Delegate {
            title: title(&prompt),
            prompt,
            agent: Some(agent),
            later: args.flag("block") == Some(false),
            ..Delegate::default()
        }),
        None => Action::Agents {
            agents: vec![agent],
            want: AgentWant::Answer,
        },
    })
}

/// The agent that a call names, by its name or its id.
fn named(args: &Args) -> Result<String, CallError> {
    let id = ["name", "agent_id", "id"].into_iter();
    let id = id
        .filter_map(|key| args.filled(key))
        .next()
        .ok_or_else(|| args.wrong("\"name\" is missing: that of agent_open, or the agent_id"))?;
    Ok(match job_number(WORD, &id) {
        Some(number) if id.starts_with(WORD) => number.to_string(),
        _ => reference(WORD, &id),
    })
}

fn id(agent: &str) -> String {
    agent
        .parse()
        .map_or_else(|_| agent.to_owned(), |number| job_id(WORD, number))
}

/// The call of a part for an agent.
pub fn delegate(part: &Delegate) -> (&'static str, Value) {
    let prompt = always(part.prompt.as_str());
    if let Some(agent) = &part.agent {
        let block = part.later.then_some(false.into());
        let arguments = [
            ("name", always(id(agent))),
            ("message", prompt),
            ("block", block),
        ];
        return ("agent_eval", object(arguments));
    }
    let (role, _) = role(&part.role).unwrap_or(match part.read_only {
        true => ("explore", true),
        false => ("general", false),
    });
    let arguments = object([
        ("name", part.name.as_deref().map(Value::from)),
        ("prompt", prompt),
        (
            "type",
            (part.later || role != "general").then_some(role.into()),
        ),
        ("allowed_tools", unless(Vec::new(), part.tools.clone())),
        ("cwd", part.dir.as_deref().map(Value::from)),
        ("fork_context", unless(false, part.fork)),
    ]);
    // The fast helper has no role.
    match part.later || role != "general" {
        true => ("agent_open", arguments),
        false => ("tool_agent", arguments),
    }
}

/// The call that looks after an agent.
pub fn see(agents: &[String], want: AgentWant) -> Option<(&'static str, Value)> {
    let first = id(agents.first()?);
    match want {
        AgentWant::Answer => Some(("agent_eval", json!({ "name": first }))),
        AgentWant::Close => Some(("agent_close", json!({ "name": first }))),
        AgentWant::Reopen => None,
    }
}

/// How an agent stands, as JSON. The original also names a handle of its transcript, for a tool that
/// is not offered here.
pub fn stands(agent: &AgentOut) -> String {
    let agent_id = job_id(WORD, agent.id);
    let done = match &agent.state {
        AgentState::Done(out) => Some(out),
        AgentState::Waiting | AgentState::Closed => None,
    };
    let (status, in_snapshot) = status(&agent.state);
    pretty(&json!({
        "name": agent.name.as_deref().unwrap_or(&agent_id),
        "agent_id": agent_id,
        "status": status,
        "terminal": status != "running",
        "context_mode": if agent.forked { "forked" } else { "fresh" },
        "fork_context": agent.forked,
        "snapshot": {
            "agent_id": agent_id,
            "agent_type": agent.role,
            "assignment": {"objective": agent.prompt},
            "status": in_snapshot,
            "result": done.map(|out| out.text.as_str()),
            "steps_taken": done.map_or(0, |out| out.actions),
            "duration_ms": done.map_or(0, |out| out.took.as_millis() as u64),
        },
    }))
}

/// The same for an agent that was waited for at once, told by what came of it.
pub fn worked(part: &Delegate, out: &DelegateOut) -> String {
    stands(&AgentOut {
        id: out.id,
        name: part.name.clone(),
        role: part.role.clone(),
        prompt: part.prompt.clone(),
        forked: part.fork,
        file: None,
        state: AgentState::Done(out.clone()),
    })
}

/// The status as a word, and as the snapshot has it.
fn status(state: &AgentState) -> (&'static str, Value) {
    match state {
        AgentState::Waiting => ("running", "Running".into()),
        AgentState::Closed => ("cancelled", "Cancelled".into()),
        AgentState::Done(out) => match &out.failure {
            None => ("completed", "Completed".into()),
            Some(why) => ("failed", json!({ "Failed": why })),
        },
    }
}

/// That an agent has worked which nobody waited for.
pub fn notice(agent: &AgentOut) -> String {
    let agent_id = job_id(WORD, agent.id);
    let (status, _) = status(&agent.state);
    let (summary, sentinel) = match &agent.state {
        AgentState::Done(out) => match &out.failure {
            None => (
                out.text.trim().to_owned(),
                json!({"agent_id": agent_id, "agent_type": agent.role, "status": status,
                    "summary_location": "previous_line", "details": "agent_eval"}),
            ),
            Some(why) => (
                format!("{why}\n{}", out.text).trim().to_owned(),
                json!({"agent_id": agent_id, "status": status, "error_location": "previous_line"}),
            ),
        },
        AgentState::Waiting | AgentState::Closed => (
            "The agent was ended.".to_owned(),
            json!({"agent_id": agent_id, "status": status}),
        ),
    };
    format!(
        "<deepseek:runtime_event kind=\"subagent_completion\" visibility=\"internal\">\nAn agent is done. This comes from the program, not from the user.\n\n{summary}\n<deepseek:subagent.done>{sentinel}</deepseek:subagent.done>\n</deepseek:runtime_event>"
    )
}
