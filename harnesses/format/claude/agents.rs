//! Nested agents: what their calls mean, and how they are told.

use super::calls::WAIT;
use super::{Family, LOOKING, only_looks, reminder};
use crate::harnesses::format::agents::{reference, title};
use crate::harnesses::format::args::{Args, always, object};
use crate::harnesses::format::{answer, content};
use crate::harnesses::{CallError, Done, Item, State};
use crate::model::Part;
use crate::tools::action::{Action, AgentOut, AgentState, AgentWant, Delegate, DelegateOut};
use serde_json::{Value, json};
use std::fmt::Write;

/// What the ids begin with.
const WORD: &str = "agent";

/// The id of a nested agent.
fn agent_id(id: u32) -> String {
    format!("{WORD}_{id}")
}

/// The agent that an id of a background task names, if it names one.
pub(super) fn named(id: &str) -> Option<String> {
    let id = id.trim();
    id.starts_with(WORD).then(|| reference(WORD, id))
}

/// What a call about a background task wants of an agent; `None`: it is about a command.
pub(super) fn task(args: &Args, want: AgentWant) -> Option<Action> {
    let id = args.filled("task_id").or_else(|| args.filled("shell_id"))?;
    Some(Action::Agents {
        agents: vec![named(&id)?],
        want,
    })
}

impl Family {
    /// Agent.
    pub(super) fn agent(&self, args: &Args) -> Result<Action, CallError> {
        let role = args
            .filled("subagent_type")
            .unwrap_or_else(|| self.role.to_owned());
        Ok(Action::Delegate(Delegate {
            read_only: only_looks(&role),
            title: args.need_filled("description")?,
            prompt: args.need_filled("prompt")?,
            role,
            name: args.filled("name"),
            later: self.agents_later && args.flag("run_in_background") == Some(true),
            ..Delegate::default()
        }))
    }

    /// SendMessage: an agent goes on with what it knows.
    pub(super) fn send(&self, args: &Args) -> Result<Action, CallError> {
        let prompt = args.need_filled("message")?;
        Ok(Action::Delegate(Delegate {
            title: args.filled("summary").unwrap_or_else(|| title(&prompt)),
            prompt,
            agent: Some(reference(WORD, &args.need_filled("to")?)),
            ..Delegate::default()
        }))
    }

    /// The call of a part for a nested agent.
    pub(super) fn written_agent(&self, part: &Delegate) -> (&'static str, Value) {
        if let Some(agent) = &part.agent {
            let to = agent.parse().map_or_else(|_| agent.clone(), agent_id);
            let arguments = [
                ("to", always(to)),
                ("summary", always(part.title.as_str())),
                ("message", always(part.prompt.as_str())),
            ];
            return ("SendMessage", object(arguments));
        }
        // Another agent's name for such a role says nothing about what it may do.
        let role = match part.read_only && !only_looks(&part.role) {
            true => LOOKING[0],
            false => &part.role,
        };
        let arguments = [
            ("description", always(part.title.as_str())),
            ("prompt", always(part.prompt.as_str())),
            ("subagent_type", always(role)),
            (
                "run_in_background",
                (self.agents_later && part.later).then_some(true.into()),
            ),
            (
                "name",
                part.name
                    .as_deref()
                    .filter(|_| self.agents_later)
                    .map(Value::from),
            ),
        ];
        ("Agent", object(arguments))
    }

    /// The last words of a nested agent, then a block of its own about it.
    pub(super) fn delegated(&self, done: &Done, out: &DelegateOut, room: usize) -> Item {
        let mut text = words(out);
        if self.flag(done, "run_in_background") == Some(true) && !self.agents_later {
            text.push_str("\n\nNote: it did not run in the background; it is done.");
        }
        let about = format!(
            "agentId: {} (SendMessage to it, and it goes on with all that it knows)\n<usage>{}: {}\ntool_uses: {}\nduration_ms: {}</usage>",
            agent_id(out.id),
            self.tokens,
            out.tokens,
            out.actions,
            out.took.as_millis()
        );
        if about.len() + 100 > room {
            return answer(done, text, false, room);
        }
        let mut item = answer(done, text, false, room - about.len() - 1);
        if let Some(content) = content(&mut item) {
            content.push(Part::text(about));
        }
        item
    }
}

/// The call that looks after an agent in the background.
pub(super) fn written(agents: &[String], want: AgentWant) -> Option<(&'static str, Value)> {
    let first = agents.first()?;
    let id = first.parse().map_or_else(|_| first.clone(), agent_id);
    match want {
        AgentWant::Answer => Some((
            "TaskOutput",
            json!({"task_id": id, "block": true, "timeout": WAIT.0}),
        )),
        AgentWant::Close => Some(("TaskStop", json!({ "task_id": id }))),
        AgentWant::Reopen => None,
    }
}

/// What an agent said, and why it ended early.
fn words(out: &DelegateOut) -> String {
    let mut text = match out.text.trim() {
        "" => "(The agent gave no answer.)".to_owned(),
        text => text.to_owned(),
    };
    if let Some(why) = &out.failure {
        let _ = write!(text, "\n\nThe agent ended early: {why}");
    }
    text
}

/// How one stands that was begun in the background, or that is looked at.
pub(super) fn told(agent: &AgentOut, want: Option<AgentWant>) -> String {
    let id = agent_id(agent.id);
    match (&agent.state, want) {
        (_, Some(AgentWant::Close)) => json!({
            "message": format!("Stopped {id}"),
            "task_id": id,
            "task_type": "local_agent",
        })
        .to_string(),
        (AgentState::Waiting, _) => {
            let mut text = format!(
                "The agent works in the background, after your next reply.\nagentId: {id}\n"
            );
            if let Some(file) = &agent.file {
                let _ = writeln!(text, "output_file: {}", file.display());
            }
            text.push_str("You are told when it is done, with its answer.");
            text
        }
        (AgentState::Closed, _) => format!("The agent {id} was ended."),
        (AgentState::Done(out), _) => format!(
            "<retrieval_status>success</retrieval_status>\n\n<task_id>{id}</task_id>\n\n<task_type>local_agent</task_type>\n\n<status>{}</status>\n\n<output>\n{}\n</output>",
            status(out),
            words(out)
        ),
    }
}

fn status(out: &DelegateOut) -> &'static str {
    match out.failure {
        None => "completed",
        Some(_) => "failed",
    }
}

/// That an agent in the background is done.
pub(super) fn notice(state: &mut State, agent: &AgentOut) -> String {
    let id = agent_id(agent.id);
    let AgentState::Done(out) = &agent.state else {
        return reminder(&format!("The agent {id} was ended."));
    };
    let mut text = format!("<task-notification>\n<task-id>{id}</task-id>\n");
    if let Some(call) = state.notes.remove(&id) {
        let _ = writeln!(text, "<tool-use-id>{call}</tool-use-id>");
    }
    if let Some(file) = &agent.file {
        let _ = writeln!(text, "<output-file>{}</output-file>", file.display());
    }
    let _ = write!(
        text,
        "<status>{}</status>\n<summary>The agent has {}.</summary>\n<result>{}</result>\n</task-notification>",
        status(out),
        match out.failure {
            None => "answered",
            Some(_) => "ended early",
        },
        words(out)
    );
    text
}

/// Keeps the ids of the calls that began agents in the background.
pub(super) fn remember(state: &mut State, call: &str, agents: &[AgentOut]) {
    for agent in agents {
        if agent.state == AgentState::Waiting {
            state.notes.insert(agent_id(agent.id), call.to_owned());
        }
    }
}
