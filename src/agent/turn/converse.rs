//! Actions that need the conversation and not the world: the plan, the planning mode, questions to
//! the person.

use crate::agent::event::{Answer, Event, Frontend, Question};
use crate::agent::session::Session;
use crate::agent::undo::may_change;
use crate::harnesses::Notice;
use crate::sandbox::Lift;
use crate::tools::action::{Action, Outcome, ToolError};

/// What a model is told that wants to change something while it plans.
const PLANNING: &str = "Nothing may be changed while you plan. Look around with tools and commands that only read, then present the plan.";

/// The same in a review, or by a nested agent that only looks.
const READ_ONLY: &str =
    "Nothing may be changed here. Look around with tools and commands that only read, then answer.";

impl Session {
    /// Answers an action that is about the conversation; `None` for one that a tool does.
    pub(super) fn converse(
        &mut self,
        action: &Action,
        front: &mut dyn Frontend,
    ) -> Option<Outcome> {
        match action {
            Action::PlanRead => Some(Outcome::Plan(self.state.plan.clone())),
            Action::Mode { planning, .. } => Some(self.change_mode(*planning, action, front)),
            Action::Ask { questions } => Some(match front.questions(questions) {
                Some(answers) => Outcome::Answered(answers),
                None => Outcome::Refused {
                    reason: "Nobody answers questions now. Decide by yourself, and say in your answer what you took for granted.".into(),
                },
            }),
            Action::Delegate(part) => Some(self.delegate(part, front)),
            _ => None,
        }
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
        };
        match front.ask(&question) {
            Answer::Yes | Answer::YesForSession => {
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

    /// Why an action may not be done while the model plans, or only looks.
    pub(super) fn refused_by_mode(&self, action: &Action) -> Option<String> {
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
