//! Actions that need the conversation and not the world: the plan, the planning mode, questions to
//! the person.

use crate::agent::event::{Answer, Event, Frontend, Question};
use crate::agent::session::Session;
use crate::agent::undo::may_change;
use crate::harnesses::Notice;
use crate::model::Item;
use crate::project::skills::Skill;
use crate::sandbox::Lift;
use crate::tools::action::{Action, Outcome, SkillOut, ToolError};
use crate::words::head;

/// What a model is told that wants to change something while it plans.
const PLANNING: &str = "Nothing may be changed while you plan. Look around with tools and commands that only read, then present the plan.";

/// The same in a review, or by a nested agent that only looks.
const READ_ONLY: &str =
    "Nothing may be changed here. Look around with tools and commands that only read, then answer.";

/// What a model is told that wants a page in an offline run.
const OFFLINE: &str =
    "This run is offline, so no page is fetched. Go on without it, with what is on this machine.";

impl Session {
    /// Answers an action that is about the conversation, or that may ask the person on its way;
    /// `None` for one that a tool does. `id` is its number, `room` the bytes of its answer.
    pub(super) fn converse(
        &mut self,
        action: &Action,
        (id, room): (u64, usize),
        front: &mut dyn Frontend,
    ) -> Option<Outcome> {
        match action {
            Action::PlanRead => Some(Outcome::Plan(self.state.plan.clone())),
            Action::Mode { planning, .. } => Some(self.change_mode(*planning, action, front)),
            Action::Ask { questions } => Some(match self.put_all(questions, front) {
                Some(answers) => Outcome::Answered(answers),
                None => Outcome::Refused {
                    reason: "Nobody answers questions now. Decide by yourself, and say in your answer what you took for granted.".into(),
                },
            }),
            Action::Skill { name, args } => Some(self.read_skill(name, args.as_deref())),
            Action::Delegate(part) => Some(self.delegate(part, front)),
            Action::Agents { agents, want } => Some(self.see_to_agents(agents, *want, front)),
            Action::Mcp(call) => Some(self.call_mcp(call, (id, room), front)),
            Action::FindTools { query, limit } => Some(self.find_tools(query, *limit, room)),
            _ => None,
        }
    }

    /// The text of a skill, within what a result may have.
    fn read_skill(&self, name: &str, args: Option<&str>) -> Outcome {
        let Some(skill) = self.skills.get(name) else {
            let known = self.skills.all.iter().filter(|s| s.enabled);
            let known: Vec<&str> = known.map(|s| s.name.as_str()).collect();
            return Outcome::Failed(ToolError::Other(match known.is_empty() {
                true => format!("there is no skill `{name}`, and no other one"),
                false => format!(
                    "there is no skill `{name}`; there are: {}",
                    known.join(", ")
                ),
            }));
        };
        match skill.text() {
            Err(why) => Outcome::Failed(ToolError::Other(why)),
            Ok(text) => Outcome::Skill(SkillOut {
                name: skill.name.clone(),
                folder: skill.folder().to_owned(),
                text: self.fit_skill(skill, Skill::body(&text)),
                args: args.map(str::to_owned),
            }),
        }
    }

    /// A skill's text within what a result may have; where it is cut, it says where the rest is.
    fn fit_skill(&self, skill: &Skill, text: &str) -> String {
        let room = self.budget.result_bytes(self.rest(&[]), 1);
        match text.len() > room {
            false => text.to_owned(),
            true => format!(
                "{}\n[cut here; the rest is in {}]",
                head(text, room),
                skill.path.display()
            ),
        }
    }

    /// The skills that the user named as `$name`, each as a message of its own, whole.
    pub(super) fn skills_named(&self, text: &str) -> Vec<Item> {
        let named = self.skills.mentioned(text).into_iter();
        let item = |skill: &Skill| {
            let text = skill.text().ok()?;
            Some(Item::user(format!(
                "<skill>\n<name>{}</name>\n<path>{}</path>\n{}\n</skill>",
                skill.name,
                skill.path.display(),
                self.fit_skill(skill, text.trim_end())
            )))
        };
        named.filter_map(item).collect()
    }

    /// Begins or ends the planning mode. Its end needs the person's yes to the plan.
    fn change_mode(
        &mut self,
        planning: bool,
        action: &Action,
        front: &mut dyn Frontend,
    ) -> Outcome {
        if planning == self.state.planning {
            let state = if planning { "on already" } else { "not on" };
            return Outcome::Failed(ToolError::Other(format!("the planning mode is {state}")));
        }
        if planning {
            self.state.planning = true;
            return Outcome::ModeSet;
        }
        let question = Question {
            action: action.clone(),
            cwd: self.workbench.cwd().to_owned(),
            reason: "The plan is ready. Shall it be carried out?".into(),
            lift: Lift::Nothing,
            recovered: false,
            rule: None,
        };
        match self.put(&question, front) {
            Answer::Yes | Answer::YesForSession | Answer::Always(_) => {
                self.state.planning = false;
                Outcome::ModeSet
            }
            Answer::No(Some(words)) => Outcome::Refused {
                reason: format!("The user does not agree with the plan yet: {words}"),
            },
            Answer::No(None) => Outcome::Refused {
                reason: "The user does not agree with the plan yet. Ask what should be different, or change it.".into(),
            },
            Answer::Stop => Outcome::Interrupted,
        }
    }

    /// Why an action may not be done offline, while the model plans, or only looks.
    pub(super) fn refused_by_mode(&self, action: &Action) -> Option<String> {
        if self.context.offline && matches!(action, Action::Fetch(_)) {
            return Some(OFFLINE.into());
        }
        let why = match (self.read_only, self.state.planning) {
            (true, _) => READ_ONLY,
            (false, true) => PLANNING,
            (false, false) => return None,
        };
        let leaves =
            matches!(action, Action::Shell(shell) if self.read_only && shell.escalate.is_some());
        (leaves || may_change(action)).then(|| why.into())
    }

    /// True while nothing may be changed until the person agreed to a plan.
    pub fn is_planning(&self) -> bool {
        self.state.planning
    }

    /// Begins or ends the planning mode because the person wants it; the model is told.
    pub fn set_planning(&mut self, planning: bool, front: &mut dyn Frontend) {
        if planning == self.state.planning {
            return;
        }
        self.state.planning = planning;
        let items = self
            .harness
            .notice(&mut self.state, &Notice::Planning(planning));
        self.push_all(items);
        self.record_state();
        let state = if planning {
            "on: nothing is changed until you agree to a plan"
        } else {
            "off"
        };
        front.event(&Event::Note(format!("planning is {state}")));
    }
}
