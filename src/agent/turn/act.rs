//! What one reply asks for: judged, asked about, run, and answered.

use super::{Next, Progress};
use crate::agent::approval::amend::Rule;
use crate::agent::approval::{self, Verdict};
use crate::agent::event::{Answer, EndReason, Event, Frontend, Question};
use crate::agent::guard::{self, CallVerdict};
use crate::agent::mcp;
use crate::agent::session::Session;
use crate::agent::subagent::Worked;
use crate::agent::transcript::Mark;
use crate::harnesses::{CallError, Document, Done, Nested, format};
use crate::model::{Assistant, Item};
use crate::project::instructions::{self, below};
use crate::sandbox::{Lift, Strength};
use crate::tools::action::{Action, Outcome, PatchForm};
use std::time::{Duration, Instant};

/// The most bytes of one file of instructions that is told with a result.
const NESTED_INSTRUCTIONS: u64 = 8 << 10;

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
        let step = self.steps;
        let calls = assistant.calls.clone();
        self.push_reply(assistant);
        let all_broken = !faults.is_empty() && faults.iter().all(Option::is_some);
        let room = self.budget.result_bytes(self.rest(&[]), actions.len());
        self.remember_names(&mut p.whole, &p.check);
        let mut done = Vec::new();
        let (mut end, mut reminder) = (None, None);
        for (at, action) in actions.into_iter().enumerate() {
            let call = calls.get(at).cloned();
            let action = match faults.get(at).cloned().flatten() {
                Some(fault) => Err(fault),
                None => action.map(|a| self.workbench.meant(self.as_patch(a))),
            };
            // What a harness without tools takes for a command.
            let command = action.as_ref().ok().cloned();
            let mcp = command.as_ref().and_then(|a| self.as_mcp(a));
            let as_command = command.filter(|_| mcp.is_some());
            let action = mcp.map_or(action, Ok);
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
                    reminder = self.reminder(p, true);
                    if reminder.is_none() && end.is_none() {
                        end = Some((EndReason::Done, final_answer(&finish, &p.last_text)));
                    }
                    Ok((finish, Outcome::Finished))
                }
                Ok(action) => {
                    let recovered = call.as_ref().is_some_and(|c| c.recovered);
                    self.asks_about = at;
                    let outcome = match &end {
                        Some(_) => Outcome::Interrupted,
                        None => self.perform(&action, recovered, room, &mut end, front),
                    };
                    p.check.record(&action, &outcome);
                    match as_command {
                        Some(command) => {
                            let outcome = mcp::as_command(&command, outcome);
                            Ok((command, outcome))
                        }
                        None => Ok((action, outcome)),
                    }
                }
            };
            let mut notes = notes.get(at).cloned().unwrap_or_default();
            if let Ok((_, outcome)) = &result {
                notes.extend(guard::remark(outcome));
                notes.extend(self.remark_on_command(outcome));
                notes.extend(self.remark_on_loss(outcome, &mut p.whole));
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
        let mut items = self.harness.results(&mut self.state, &done, room);
        for done in &done {
            // No harness has words of its own for tools that are not its own.
            if let Some(answer) = format::further_tool(done, room) {
                let of = |item: &&mut Item| answers(item) == answers(&answer);
                if let Some(item) = items.iter_mut().find(of) {
                    *item = answer;
                }
            }
        }
        self.instruct(&done, &mut items, room);
        self.push_marked(items, Mark::Answer);
        self.hooks_tell();
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
        if end.is_none() && self.agents_work(step, front) == Worked::Stopped {
            end = Some((EndReason::Interrupted, String::new()));
        }
        match end {
            Some((reason, answer)) => Next::End(reason, answer),
            None => Next::Again,
        }
    }

    /// Tells the instructions of folders below the working folder with the first result that shows
    /// a file in them, where the harness does so.
    fn instruct(&mut self, done: &[Done], items: &mut Vec<Item>, room: usize) {
        let most = NESTED_INSTRUCTIONS.min(room as u64 / 4);
        for (at, done) in done.iter().enumerate() {
            let cwd = &self.context.cwd;
            let paths = match &done.result {
                Ok((_, Outcome::Read(read))) => vec![read.path.clone()],
                Ok((_, Outcome::Shell(out))) if self.harness.nested_by_command() => {
                    instructions::named(&out.command, &out.dir, cwd)
                }
                _ => continue,
            };
            let mut found: Vec<Document> = Vec::new();
            for path in paths {
                let mut known = self.state.instructed.clone();
                known.extend(found.iter().map(|document| document.path.clone()));
                found.extend(below(cwd, &path, &self.doc_names, &known, most));
            }
            for document in found {
                match (self.harness.nested(&document), items.get_mut(at)) {
                    (Some(Nested::InResult(words)), Some(item)) => format::append(item, &words),
                    (Some(Nested::Behind(item)), _) => items.push(item),
                    _ => continue,
                }
                self.state.instructed.push(document.path);
            }
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
    pub(in crate::agent) fn perform(
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
        // A review keeps its own fence to its end.
        if !self.read_only
            && let Some(new) = front.wished(&self.permissions())
        {
            self.permit(&new);
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
        let call = format!("call_{}", self.actions + 1);
        let instead = match self.hooks_before_tool(action, &call, front) {
            Ok(instead) => instead,
            Err(reason) => {
                let outcome = Outcome::Refused { reason };
                self.calls.record(action, &outcome);
                return outcome;
            }
        };
        // What a hook puts in its place is judged like anything else.
        let action = instead.as_ref().unwrap_or(action);
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
        let outcome = match self.converse(action, (id, room), front) {
            // Who stops at a question stops the turn.
            Some(Outcome::Interrupted) => {
                end.get_or_insert((EndReason::Interrupted, String::new()));
                Outcome::Interrupted
            }
            Some(outcome) => outcome,
            None => {
                let quieted = self.judge.quieted(action);
                self.run_tool(&quieted, id, &lift, room, front)
            }
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
        self.hooks_after_tool(action, outcome, &call, end, front)
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
            // Who only looks has no use for what a rule would lift.
            Verdict::Allow(_) if self.read_only || self.state.planning => {
                return Ok(Lift::Nothing);
            }
            Verdict::Allow(lift) => return Ok(lift),
            Verdict::Refuse { reason } => return Err(reason),
            Verdict::Ask { reason, lift } => (reason, lift),
        };
        match self.hooks_permission(action, front) {
            Some(Ok(())) => return Ok(lift),
            Some(Err(reason)) => return Err(reason),
            None => {}
        }
        let question = Question {
            action: action.clone(),
            cwd: self.workbench.cwd().to_owned(),
            reason: reason.clone(),
            lift: lift.clone(),
            recovered,
            rule: match action {
                Action::Shell(shell) => Rule::proposed(shell, lift != Lift::Everything),
                _ => None,
            },
        };
        match self.put(&question, front) {
            Answer::Yes => Ok(lift),
            Answer::YesForSession => {
                self.judge.remember(action);
                Ok(lift)
            }
            Answer::Always(rule) => {
                self.save_rule(action, &rule, front);
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

    /// Takes a rule for this session, and for later ones.
    fn save_rule(&mut self, action: &Action, rule: &Rule, front: &mut dyn Frontend) {
        let (prefix, sandboxed) = rule.parts();
        match self.judge.always(prefix, sandboxed) {
            Ok(rule) => front.event(&Event::Note(format!(
                "saved in {}: {rule}",
                rule.file.display()
            ))),
            Err(why) => {
                self.judge.remember(action);
                front.event(&Event::Warning(format!(
                    "no rule was kept ({why}); the same command is not asked about again in this session"
                )));
            }
        }
    }
}

/// The call that an item answers.
fn answers(item: &Item) -> Option<&str> {
    match item {
        Item::ToolResult(result) => Some(&result.call_id),
        _ => None,
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
