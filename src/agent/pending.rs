//! A question to the person that the end of the program left open.
//!
//! The session's file says that a question is put before it is, and that it was answered before
//! anything else happens. So a session that goes on can put it again, and nothing was done without
//! the answer.

use super::approval::Verdict;
use super::event::{Answer, EndReason, Event, Frontend, Question, TurnEnd};
use super::record;
use super::session::Session;
use super::transcript::{Mark, Transcript};
use crate::harnesses::Done;
use crate::model::{Item, ToolCall};
use crate::sandbox::Strength;
use crate::tools::action::{Action, AskedQuestion, Outcome};

/// What waits for the person, with the answers that the calls of its reply have for now. They are
/// not on disk yet.
pub(super) struct Pending {
    call: ToolCall,
    action: Action,
    answers: Vec<Item>,
}

impl Pending {
    pub(super) fn new(call: ToolCall, action: Action, answers: Vec<Item>) -> Self {
        Pending {
            call,
            action,
            answers,
        }
    }
}

impl Session {
    /// Asks the person, and lets the file know until the answer is there.
    pub(super) fn put(&mut self, question: &Question, front: &mut dyn Frontend) -> Answer {
        self.asked(true, front);
        let answer = front.ask(question);
        self.asked(false, front);
        answer
    }

    /// The same for questions of the model.
    pub(super) fn put_all(
        &mut self,
        questions: &[AskedQuestion],
        front: &mut dyn Frontend,
    ) -> Option<Vec<Vec<String>>> {
        self.asked(true, front);
        let answers = front.questions(questions);
        self.asked(false, front);
        answers
    }

    fn asked(&mut self, open: bool, front: &dyn Frontend) {
        if front.interactive() && self.context.depth == 0 {
            let line = record::question_line(open.then_some(self.asks_about));
            self.record(&[line]);
        }
    }

    /// Writes down what stands for the answers that an abrupt end left open, if that was put off.
    pub(super) fn settle_pending(&mut self) {
        if let Some(pending) = self.pending.take() {
            self.write_down(pending.answers);
        }
    }

    fn write_down(&mut self, answers: Vec<Item>) {
        for item in answers {
            self.record_item(&item, Mark::Answer);
        }
    }

    /// True when a question is to be put again.
    pub fn has_question(&self) -> bool {
        self.pending.is_some()
    }

    /// Puts the question again that the session ended with, does what the answer says, and goes on
    /// with the task. `None` when there was none.
    pub fn ask_again(&mut self, front: &mut dyn Frontend) -> Option<TurnEnd> {
        let pending = self.pending.take()?;
        if !self.is_asked(&pending.action) {
            self.write_down(pending.answers);
            return None;
        }
        front.event(&Event::Note(
            "the session ended while it waited for an answer; here is the question again".into(),
        ));
        Some(self.whole_turn(front, None, |session, front| session.answer(pending, front)))
    }

    /// The person is asked about it as things are now.
    fn is_asked(&self, action: &Action) -> bool {
        match action {
            Action::Ask { .. } | Action::Mode { .. } => true,
            Action::Shell(_) => {
                let strength = self.workbench.sandbox().strength();
                self.asks(action, &strength)
            }
            _ => self.asks(action, &Strength::Enforced),
        }
    }

    fn asks(&self, action: &Action, strength: &Strength) -> bool {
        let verdict = self.judge.decide(action, strength, self.workbench.cwd());
        matches!(verdict, Verdict::Ask { .. })
    }

    fn answer(&mut self, pending: Pending, front: &mut dyn Frontend) -> (EndReason, String) {
        let Pending {
            call,
            action,
            mut answers,
        } = pending;
        self.calls.reset();
        let mut end = None;
        let room = self.budget.result_bytes(self.rest(&[]), 1);
        let outcome = self.perform(&action, call.recovered, room, &mut end, front);
        let was_stopped = matches!(outcome, Outcome::Interrupted);
        let done = Done {
            call: Some(call.clone()),
            result: Ok((action, outcome)),
            notes: Vec::new(),
        };
        let items = self.harness.results(&mut self.state, &[done], room);
        let is_its = |item: &Item| matches!(item, Item::ToolResult(r) if r.call_id == call.id);
        let (its, more): (Vec<Item>, Vec<Item>) = items.into_iter().partition(is_its);
        if let Some(result) = its.into_iter().next() {
            let put = |item: &mut Item| {
                if is_its(item) {
                    *item = result.clone();
                }
            };
            answers.iter_mut().for_each(put);
            let mut transcript = Transcript::default();
            for (item, mark, _) in self.transcript.entries() {
                let item = if is_its(item) { &result } else { item };
                transcript.push(item.clone(), mark);
            }
            self.transcript = transcript;
        }
        self.write_down(answers);
        self.push_marked(more, Mark::Answer);
        self.record_state();
        match end {
            Some((reason, answer)) => (reason, answer),
            None if was_stopped || self.cancel.is_cancelled() => {
                (EndReason::Interrupted, String::new())
            }
            None => {
                self.tell_undone();
                self.steps(front)
            }
        }
    }
}
