//! Nested agents: a part of the task, done in a conversation of its own.
//!
//! One has the tools, the sandbox, the approvals and the server of the session, and runs after what
//! the main agent does, never beside it: a local server has one model and one cache. What it
//! thinks and reads stays in its own transcript; only its answer comes back.
//!
//! Some agents were trained to begin nested ones and to look at them later. Such a one works when it
//! is looked at, and at the latest after the calls of the next reply or before the turn ends; then
//! its answer comes as a notice. Each goes on in its own conversation when it is written to again.

mod conversation;

use super::event::{Answer, EndReason, Event, Frontend, Question};
use super::permissions::Permissions;
use super::session::Session;
use super::transcript::Mark;
use crate::harnesses::{Input, Notice};
use crate::tools::action::{
    Action, AgentOut, AgentState, AgentWant, Delegate, DelegateOut, Outcome, ToolError,
};
use conversation::Conversation;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The most conversations that are kept to go on with; the oldest give way.
const KEPT: usize = 20;

/// The nested agents of a session.
#[derive(Default)]
pub(super) struct NestedAgents {
    all: Vec<NestedAgent>,
}

/// What came of it to let agents work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Worked {
    /// There was nothing to do.
    None,
    /// They have done it.
    Done,
    /// The person stopped one of them.
    Stopped,
}

/// Where the conversation of an agent is written down.
fn file(outputs: &Path, id: u32) -> PathBuf {
    outputs.join(format!("agent-{id}.jsonl"))
}

/// One nested agent.
struct NestedAgent {
    id: u32,
    name: Option<String>,
    role: String,
    /// What it was begun for.
    prompt: String,
    read_only: bool,
    forked: bool,
    /// Its conversation, while it can go on.
    conversation: Option<Box<Conversation>>,
    /// What it has been told and not done yet.
    waiting: Vec<String>,
    /// The step of the session at which it was told so.
    told_at: u64,
    /// What came of its last work.
    last: Option<DelegateOut>,
    closed: bool,
}

impl NestedAgent {
    fn out(&self, outputs: &Path) -> AgentOut {
        let file = file(outputs, self.id);
        AgentOut {
            id: self.id,
            name: self.name.clone(),
            role: self.role.clone(),
            prompt: self.prompt.clone(),
            forked: self.forked,
            file: file.exists().then_some(file),
            state: match &self.last {
                _ if self.closed => AgentState::Closed,
                Some(last) if self.waiting.is_empty() => AgentState::Done(last.clone()),
                _ => AgentState::Waiting,
            },
        }
    }
}

impl NestedAgents {
    /// The place of an agent by its number, or by the name that was given last.
    fn find(&self, name: &str) -> Result<usize, ToolError> {
        let name = name.trim();
        let known = |agent: &NestedAgent| agent.name.clone().unwrap_or(agent.id.to_string());
        let named = |agent: &NestedAgent| agent.name.as_deref() == Some(name);
        let numbered = |agent: &NestedAgent| name.parse() == Ok(agent.id);
        self.all
            .iter()
            .rposition(named)
            .or_else(|| self.all.iter().position(numbered))
            .ok_or_else(|| ToolError::NoSuchAgent {
                name: name.to_owned(),
                known: self.all.iter().filter(|a| !a.closed).map(known).collect(),
            })
    }

    /// No agent goes on from here: its conversation is in the tools of another harness.
    pub(super) fn end_all(&mut self) {
        for agent in &mut self.all {
            agent.end();
        }
    }
}

impl NestedAgent {
    fn end(&mut self) {
        self.closed = true;
        self.conversation = None;
        self.waiting.clear();
    }
}

impl Session {
    /// Lets a nested agent do a part of the task, now or later.
    pub(super) fn delegate(&mut self, part: &Delegate, front: &mut dyn Frontend) -> Outcome {
        if self.context.depth > 0 {
            return Outcome::Refused {
                reason: "A nested agent cannot start another one; do this part yourself.".into(),
            };
        }
        let told = match &part.agent {
            Some(name) => self.tell_agent(name, part),
            None => self.begin_agent(part),
        };
        let at = match told {
            Ok(at) => at,
            Err(why) => return Outcome::Failed(why),
        };
        if part.later {
            return Outcome::Agents(vec![self.agents.all[at].out(self.workbench.outputs())]);
        }
        match (self.let_work(at, front), &self.agents.all[at].last) {
            (true, Some(out)) => Outcome::Delegated(out.clone()),
            _ => Outcome::Interrupted,
        }
    }

    /// Something more for an agent that was begun before: its place.
    fn tell_agent(&mut self, name: &str, part: &Delegate) -> Result<usize, ToolError> {
        let at = self.agents.find(name)?;
        let agent = &mut self.agents.all[at];
        if agent.closed {
            return Err(ToolError::AgentClosed { name: name.into() });
        }
        agent.waiting.push(part.prompt.clone());
        agent.told_at = self.steps;
        Ok(at)
    }

    /// A new agent, which has not worked yet: its place.
    fn begin_agent(&mut self, part: &Delegate) -> Result<usize, ToolError> {
        let folder = part
            .dir
            .as_deref()
            .map(|dir| self.inside(dir))
            .transpose()?;
        let last = self.agents.all.last().map_or(0, |agent| agent.id);
        // Those of an earlier run of the session have their files still.
        let outputs = self.workbench.outputs().to_owned();
        let is_free = |id: &u32| !file(&outputs, *id).exists();
        let id = (last + 1..).take(1_000).find(is_free).unwrap_or(last + 1);
        let mut agent = NestedAgent {
            id,
            name: part.name.clone().filter(|name| !name.trim().is_empty()),
            role: part.role.clone(),
            prompt: part.prompt.clone(),
            read_only: part.read_only,
            forked: part.fork,
            conversation: None,
            waiting: vec![part.prompt.clone()],
            told_at: self.steps,
            last: None,
            closed: false,
        };
        let mut conversation = self.conversation(&agent, &part.tools);
        if let Some(folder) = folder {
            conversation.cwd = folder;
        }
        agent.conversation = Some(Box::new(conversation));
        self.agents.all.push(agent);
        let idle = |agent: &&mut NestedAgent| agent.waiting.is_empty() && !agent.closed;
        let open = self.agents.all.iter().filter(|a| !a.closed).count();
        let oldest = self.agents.all.iter_mut().filter(idle);
        oldest
            .take(open.saturating_sub(KEPT))
            .for_each(NestedAgent::end);
        Ok(self.agents.all.len() - 1)
    }

    /// A folder of the session for an agent to start in.
    fn inside(&self, dir: &str) -> Result<PathBuf, ToolError> {
        let folder = self.workbench.cwd().join(dir);
        let real = |path: &Path| path.canonicalize().ok();
        let (Some(folder), Some(root)) = (real(&folder), real(&self.info.cwd)) else {
            return Err(ToolError::NotFound {
                path: dir.into(),
                instead: None,
            });
        };
        match (folder.is_dir(), folder.starts_with(&root)) {
            (true, true) => Ok(folder),
            (false, _) => Err(ToolError::NotFolder { path: dir.into() }),
            (true, false) => Err(ToolError::Denied {
                path: dir.into(),
                why: "a nested agent starts in the session's folder, or below it".into(),
            }),
        }
    }

    /// Looks after agents that were begun before.
    pub(super) fn see_to_agents(
        &mut self,
        names: &[String],
        want: AgentWant,
        front: &mut dyn Frontend,
    ) -> Outcome {
        let mut all = Vec::new();
        for name in names {
            let at = match self.agents.find(name) {
                Ok(at) => at,
                Err(why) => return Outcome::Failed(why),
            };
            if want == AgentWant::Answer && !self.let_work(at, front) {
                return Outcome::Interrupted;
            }
            let agent = &mut self.agents.all[at];
            let outputs = self.workbench.outputs();
            match want {
                AgentWant::Answer => all.push(agent.out(outputs)),
                AgentWant::Close => {
                    all.push(agent.out(outputs));
                    agent.closed = true;
                    agent.waiting.clear();
                }
                AgentWant::Reopen => {
                    agent.closed = agent.conversation.is_none();
                    all.push(agent.out(outputs));
                }
            }
        }
        Outcome::Agents(all)
    }

    /// Agents that were told something before that step of the session work now, and the model is
    /// told what came of it.
    pub(super) fn agents_work(&mut self, before: u64, front: &mut dyn Frontend) -> Worked {
        let mut worked = Worked::None;
        for at in 0..self.agents.all.len() {
            let Some(agent) = self.agents.all.get(at) else {
                break;
            };
            if agent.waiting.is_empty() || agent.closed || agent.told_at >= before {
                continue;
            }
            let began = Instant::now();
            let action = Action::Agents {
                agents: vec![agent.id.to_string()],
                want: AgentWant::Answer,
            };
            self.actions += 1;
            let id = self.actions;
            front.event(&Event::Started {
                id,
                action: action.clone(),
            });
            let is_done = self.let_work(at, front);
            let out = self.agents.all[at].out(self.workbench.outputs());
            let outcome = match is_done {
                true => Outcome::Agents(vec![out.clone()]),
                false => Outcome::Interrupted,
            };
            front.event(&Event::Finished {
                id,
                action,
                outcome,
                took: began.elapsed(),
            });
            let items = self
                .harness
                .notice(&mut self.state, &Notice::AgentDone(out));
            self.push_all(items);
            if !is_done {
                return Worked::Stopped;
            }
            worked = Worked::Done;
        }
        worked
    }

    /// The agent at that place does what it was told, if anything is left to do. False when the
    /// person stopped it.
    fn let_work(&mut self, at: usize, front: &mut dyn Frontend) -> bool {
        let agent = &mut self.agents.all[at];
        if agent.waiting.is_empty() {
            return true;
        }
        let prompt = std::mem::take(&mut agent.waiting).join("\n\n");
        let (id, role, read_only) = (agent.id, agent.role.clone(), agent.read_only);
        let Some(mut other) = agent.conversation.take() else {
            return true;
        };
        let began = Instant::now();
        let before = (self.usage.input + self.usage.output, self.steps);
        let mode = self.tool_mode;
        // What the person allows may have changed since it worked last.
        other.context.sandbox = self.context.sandbox.clone();
        // It cannot end a planning that it did not begin.
        other.read_only = read_only || self.read_only || self.state.planning;
        let is_new = std::mem::replace(&mut other.is_new, false);
        self.exchange(&mut other);
        if is_new {
            self.set_tool_mode(mode);
            self.record_beginning();
        }
        self.hooked.agent = Some((id.to_string(), role));
        let (reason, answer) = self.work(&Input::text(prompt), Mark::Task, &mut Nested(front));
        self.hooked.agent = None;
        self.record_state();
        self.exchange(&mut other);
        // Or meanwhile.
        self.context.sandbox = other.context.sandbox.clone();
        // The nested agent's prompts took the place of this one's in the server's cache.
        self.reports.prefix_event();
        let out = DelegateOut {
            id,
            text: answer,
            failure: reason.failure(),
            actions: u32::try_from(self.steps - before.1).unwrap_or(u32::MAX),
            tokens: self.usage.input + self.usage.output - before.0,
            took: began.elapsed(),
        };
        let agent = &mut self.agents.all[at];
        agent.conversation = Some(other);
        agent.last = Some(out);
        // A stop of the person, at a question of the nested agent too, is one of the whole turn.
        reason != EndReason::Interrupted
    }
}

/// Shows the deeds of a nested agent, and keeps its words to itself.
struct Nested<'a>(&'a mut dyn Frontend);

impl Frontend for Nested<'_> {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Session(_)
            | Event::TurnStarted
            | Event::TurnDone(_)
            | Event::Text(_)
            | Event::Reasoning(_)
            | Event::Replied { .. }
            | Event::Plan(_) => {}
            other => self.0.event(other),
        }
    }

    fn ask(&mut self, question: &Question) -> Answer {
        self.0.ask(question)
    }

    fn confirm(&mut self, question: &str) -> bool {
        self.0.confirm(question)
    }

    fn interactive(&self) -> bool {
        self.0.interactive()
    }

    fn wished(&mut self, now: &Permissions) -> Option<Permissions> {
        self.0.wished(now)
    }
}
