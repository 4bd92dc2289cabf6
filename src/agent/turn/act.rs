//! What one reply asks for: judged, asked about, run, and answered.

use super::{Next, Progress};
use crate::agent::approval::{self, Verdict};
use crate::agent::event::{Answer, EndReason, Event, Frontend, Question};
use crate::agent::guard::{self, CallVerdict};
use crate::agent::session::Session;
use crate::agent::transcript::Mark;
use crate::harnesses::{CallError, Done};
use crate::model::Assistant;
use crate::sandbox::{Lift, Strength};
use crate::tools::action::{Action, Outcome, PatchForm};
use std::time::{Duration, Instant};

impl Session {
    /// Runs the actions of one reply and pushes their answers.
    pub(super) fn act(
        &mut self,
        assistant: Assistant,
        actions: Vec<Result<Action, CallError>>,
        faults: Vec<Option<CallError>>,
        notes: Vec<Vec<String>>,
        p: &mut Progress,
        front: &mut dyn Frontend,
    ) -> Next {
        p.steps += 1;
        self.steps += 1;
        let calls = assistant.calls.clone();
        self.push_reply(assistant);
        let all_broken = !faults.is_empty() && faults.iter().all(Option::is_some);
        let room = self.budget.result_bytes(self.rest(&[]), actions.len());
        let mut done = Vec::new();
        let (mut end, mut reminder) = (None, None);
        for (at, action) in actions.into_iter().enumerate() {
            let call = calls.get(at).cloned();
            let action = match faults.get(at).cloned().flatten() {
                Some(fault) => Err(fault),
                None => action.map(|a| self.workbench.meant(self.as_patch(a))),
            };
            let result = match action {
                Err(error) => {
                    self.faults += 1;
                    front.event(&Event::BadCall {
                        call: call.clone(),
                        error: error.clone(),
                    });
                    Err(error)
                }
                Ok(finish @ Action::Finish { .. }) => {
                    reminder = self.reminder(p);
                    if reminder.is_none() && end.is_none() {
                        end = Some((EndReason::Done, final_answer(&finish, &p.last_text)));
                    }
                    Ok((finish, Outcome::Finished))
                }
                Ok(action) => {
                    let recovered = call.as_ref().is_some_and(|c| c.recovered);
                    let outcome = match &end {
                        Some(_) => Outcome::Interrupted,
                        None => self.perform(&action, recovered, room, &mut end, front),
                    };
                    p.check.record(&action, &outcome);
                    Ok((action, outcome))
                }
            };
            let mut notes = notes.get(at).cloned().unwrap_or_default();
            if let Ok((_, outcome)) = &result {
                notes.extend(guard::remark(outcome));
                notes.extend(self.remark_on_repetition(outcome, p));
            }
            done.push(Done {
                call,
                result,
                notes,
            });
        }
        // Errors of all calls, or `None` when one of them was valid.
        let errors: Option<Vec<&CallError>> =
            done.iter().map(|d| d.result.as_ref().err()).collect();
        let last_error = errors.and_then(|e| e.last().copied());
        if let Some(reason) = self.count_invalid(last_error, p) {
            end.get_or_insert((reason, String::new()));
        }
        let items = self.harness.results(&mut self.state, &done, room);
        self.push_marked(items, Mark::Answer);
        if all_broken {
            self.one_more_fault(p, front);
        } else {
            p.faults = 0;
            self.may_end();
        }
        if let Some(words) = reminder {
            self.tell(&words, front);
        }
        self.record_state();
        if self.cancel.is_cancelled() {
            return Next::End(EndReason::Interrupted, String::new());
        }
        if end.is_none() {
            end = self
                .harness
                .is_over(&self.state)
                .map(|answer| (EndReason::Done, answer));
        }
        match end {
            Some((reason, answer)) => Next::End(reason, answer),
            None => Next::Again,
        }
    }

    /// What a model hears that made a call again although nothing changed in between.
    fn remark_on_repetition(&mut self, outcome: &Outcome, p: &Progress) -> Option<String> {
        let answered = matches!(outcome, Outcome::Refused { .. } | Outcome::Interrupted);
        if answered || !self.calls.has_just_repeated() {
            return None;
        }
        self.is_stuck = true;
        let next = self.next_step(&p.check)?;
        Some(format!(
            "You made this call before, and the result is the same: nothing changed in between. {next}"
        ))
    }

    /// A patch given to the shell is a patch, in every harness.
    fn as_patch(&self, action: Action) -> Action {
        if let Action::Shell(shell) = &action
            && let Some((dir, text)) = approval::patch_command(&shell.command)
        {
            return Action::Patch {
                text,
                form: PatchForm::Codex,
                dir: dir.or_else(|| shell.dir.clone()),
            };
        }
        action
    }

    /// Judges and runs one action. `end` is set when the turn must stop after it.
    fn perform(
        &mut self,
        action: &Action,
        recovered: bool,
        room: usize,
        end: &mut Option<(EndReason, String)>,
        front: &mut dyn Frontend,
    ) -> Outcome {
        if self.cancel.is_cancelled() {
            return Outcome::Interrupted;
        }
        match self.calls.judge(action) {
            CallVerdict::Run => {}
            CallVerdict::Skip(why) => {
                front.event(&Event::Repaired {
                    kind: "repeat".into(),
                    text: format!("a repeated {} was not run again", action.verb()),
                });
                self.is_stuck = true;
                let outcome = Outcome::Skipped(why);
                self.calls.record(action, &outcome);
                return outcome;
            }
            CallVerdict::GiveUp(why) => {
                *end = Some((EndReason::Failed(why.clone()), String::new()));
                return Outcome::Skipped(why);
            }
        }
        if let Some(reason) = self.refused_by_mode(action) {
            let outcome = Outcome::Refused { reason };
            self.calls.record(action, &outcome);
            self.report(action, &outcome, front);
            return outcome;
        }
        let lift = match self.approve(action, recovered, end, front) {
            Ok(lift) => lift,
            Err(reason) => {
                let outcome = Outcome::Refused { reason };
                self.calls.record(action, &outcome);
                self.report(action, &outcome, front);
                return outcome;
            }
        };
        self.before_change(action, &lift, front);
        if self.cancel.is_cancelled() {
            return Outcome::Interrupted;
        }
        self.actions += 1;
        let id = self.actions;
        let began = Instant::now();
        front.event(&Event::Started {
            id,
            action: action.clone(),
        });
        let outcome = match self.converse(action, front) {
            // Who stops at a question stops the turn.
            Some(Outcome::Interrupted) => {
                end.get_or_insert((EndReason::Interrupted, String::new()));
                Outcome::Interrupted
            }
            Some(outcome) => outcome,
            None => self.run_tool(action, id, &lift, room, front),
        };
        if let (Action::Plan { steps, .. }, Outcome::Planned) = (action, &outcome) {
            self.state.plan = steps.clone();
            front.event(&Event::Plan(steps.clone()));
        }
        self.calls.record(action, &outcome);
        if self.workbench.still_grows(&outcome) {
            self.calls.is_a_look();
        }
        front.event(&Event::Finished {
            id,
            action: action.clone(),
            outcome: outcome.clone(),
            took: began.elapsed(),
        });
        outcome
    }

    fn run_tool(
        &mut self,
        action: &Action,
        id: u64,
        lift: &Lift,
        room: usize,
        front: &mut dyn Frontend,
    ) -> Outcome {
        let cancel = self.cancel.clone();
        let mut live = |text: &str| {
            front.event(&Event::Output {
                id,
                text: text.to_owned(),
            })
        };
        self.workbench.run(action, lift, room, &cancel, &mut live)
    }

    /// An action that did not run is shown like one that did.
    fn report(&mut self, action: &Action, outcome: &Outcome, front: &mut dyn Frontend) {
        self.actions += 1;
        let id = self.actions;
        front.event(&Event::Started {
            id,
            action: action.clone(),
        });
        front.event(&Event::Finished {
            id,
            action: action.clone(),
            outcome: outcome.clone(),
            took: Duration::ZERO,
        });
    }

    /// Asks the policy, and the person where the policy says so. The error says why not.
    fn approve(
        &mut self,
        action: &Action,
        recovered: bool,
        end: &mut Option<(EndReason, String)>,
        front: &mut dyn Frontend,
    ) -> Result<Lift, String> {
        let strength = match action {
            // Only a command needs the fence, so nothing else waits for the probe.
            Action::Shell(_) => self.workbench.sandbox().strength(),
            _ => Strength::Enforced,
        };
        if let (Action::Shell(_), Strength::Nothing(why), true) =
            (action, &strength, self.is_fenced())
            && !front.interactive()
        {
            *end = Some((EndReason::NoSandbox(why.clone()), String::new()));
            return Err(format!(
                "commands cannot be confined on this system ({why}), and nobody can be asked"
            ));
        }
        let (reason, lift) = match self.judge.decide(action, &strength, self.workbench.cwd()) {
            Verdict::Allow(lift) => return Ok(lift),
            Verdict::Refuse { reason } => return Err(reason),
            Verdict::Ask { reason, lift } => (reason, lift),
        };
        let question = Question {
            action: action.clone(),
            cwd: self.workbench.cwd().to_owned(),
            reason: reason.clone(),
            lift: lift.clone(),
            recovered,
        };
        match front.ask(&question) {
            Answer::Yes => Ok(lift),
            Answer::YesForSession => {
                self.judge.remember(action);
                Ok(lift)
            }
            Answer::No(Some(words)) => Err(format!("the user said no: {words}")),
            Answer::No(None) => Err(format!(
                "not allowed: {}. Go on without it, or do it another way",
                reason.trim_end_matches('.')
            )),
            Answer::Stop => {
                *end = Some((EndReason::Interrupted, String::new()));
                Err("the user stopped the turn here".into())
            }
        }
    }
}

/// The answer of a finish: its own words, or what the reply said beside it, or before it where it
/// said nothing.
fn final_answer(finish: &Action, beside: &str) -> String {
    match finish {
        Action::Finish { text } if !text.trim().is_empty() => text.clone(),
        _ => beside.to_owned(),
    }
}
