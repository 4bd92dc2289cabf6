//! A review: turns that only look, over a change or what the user names, with findings in one form.
//!
//! The change is taken from git by us and given to the model. One that is above its share of the
//! window is given file by file in the same session, and what was found is put together.

pub mod findings;
mod parts;

use super::approval::Judge;
use super::event::{Answer, EndReason, Event, Frontend, Question, TurnEnd};
use super::open::{Open, open};
use super::permissions::Permissions;
use super::session::Session;
use super::transcript::Mark;
use crate::config::Config;
use crate::harnesses::{Input, Notice};
use crate::model::Timing;
use crate::project::git;
use crate::project::git::changes::{Changes, Git};
use crate::sandbox::{Mode, Policy, Sandbox, Strength};
use crate::store::paths::Home;
use crate::tools::action::AskedQuestion;
use crate::tools::mcp::{Asked, Form};
use parts::Part;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// What is asked of a reviewer.
const GUIDE: &str = "You review a change that somebody else made. Report what its author would mend if they knew of it: faults in correctness, safety, speed or upkeep that the change brings in. Each finding is about one thing, says when it shows, and names the fewest lines that tell it. Leave out matters of taste, guesses, and what was so before. Without such a finding report none. You may read files and run commands that only read; change nothing.";

/// Bytes that a part of a change has at least, however small the window is.
const LEAST_SHARE: usize = 1_000;

/// What is reviewed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Everything since the last commit, new files included.
    Uncommitted,
    /// Everything since this work left a branch.
    Base(String),
    /// One commit.
    Commit {
        /// Its name.
        id: String,
        /// Its subject, if it was told.
        title: Option<String>,
    },
    /// What these words say.
    Words(String),
}

impl Session {
    /// Reviews, and tells what was found as the answer of one turn. `relative`: paths are shown
    /// from the working folder.
    ///
    /// # Errors
    /// One sentence when there is nothing to review. Then no request was made.
    pub fn review(
        &mut self,
        target: &Target,
        relative: bool,
        front: &mut dyn Frontend,
    ) -> Result<TurnEnd, String> {
        let began = Instant::now();
        let root = self.root();
        let (what, changes) = self.change(target, &root)?;
        let mut left_out = changes.left_out;
        let parts = match target {
            Target::Words(_) => vec![Part {
                path: None,
                text: String::new(),
            }],
            _ => {
                let frame = GUIDE.len() + findings::FORM.len() + what.len();
                let share = self.budget.task_bytes().saturating_sub(frame);
                let (parts, dropped) = parts::parts(changes.files, share.max(LEAST_SHARE));
                left_out.extend(dropped);
                parts
            }
        };
        if parts.len() > 1 {
            front.event(&Event::Note(format!(
                "the change is larger than its share of the window, so it is reviewed in {} parts",
                parts.len()
            )));
        }
        front.event(&Event::TurnStarted);
        let fence = self.only_look();
        let (text, mut end) =
            self.review_parts(&what, &parts, &mut left_out, &root, relative, front);
        self.look_and_act(fence);
        let text = with_left_out(text, &left_out);
        if !text.is_empty() {
            front.event(&Event::Text(text.clone()));
            front.event(&Event::Replied {
                text: text.clone(),
                reasoning: String::new(),
                usage: None,
                timing: Timing::default(),
            });
        }
        end.answer = text;
        end.took = began.elapsed();
        front.event(&Event::TurnDone(end.clone()));
        Ok(end)
    }

    /// The same by the model of these settings, in a session of its own that is not kept. This one is
    /// told what was found, so that it can go on with it.
    ///
    /// # Errors
    /// One sentence: that session cannot be opened, or there is nothing to review.
    pub fn review_by(
        &mut self,
        config: &Config,
        home: &Home,
        ask: &Open,
        target: &Target,
        front: &mut dyn Frontend,
    ) -> Result<TurnEnd, String> {
        // Nobody waits for a model to be loaded when there is nothing to look at.
        let root = self.root();
        let (what, _) = self.change(target, &root)?;
        let cancel = self.cancel.clone();
        let mut other = open(config, home, ask, &cancel, front).map_err(|e| e.to_string())?;
        front.event(&Event::Note(format!("{} reviews", other.info.model)));
        // What it takes belongs to this session.
        (other.usage, other.cost) = (self.usage, self.cost);
        let reviewed = other.review(target, true, front);
        other.end("other", front);
        (self.usage, self.cost) = (other.usage, other.cost);
        let end = reviewed?;
        if !end.answer.is_empty() {
            let (found, _) = self
                .fit_input(end.answer.clone())
                .map_err(|e| format!("what was found cannot be kept for the model: {e}"))?;
            let text = format!(
                "The user let the model {} review: {what}. It said:\n\n{found}\n\nThis is for you to know. Change nothing because of it before the user says so.",
                other.info.model
            );
            let items = self.harness.notice(&mut self.state, &Notice::Nudge(text));
            self.push_all(items);
        }
        self.record_state();
        Ok(end)
    }

    fn root(&self) -> PathBuf {
        let cwd = &self.info.cwd;
        git::facts(cwd).map_or_else(|| cwd.clone(), |facts| facts.root)
    }

    /// Says what is reviewed, with the change itself.
    fn change(&self, target: &Target, root: &Path) -> Result<(String, Changes), String> {
        if let Target::Words(words) = target {
            return Ok((words.clone(), Changes::default()));
        }
        if git::facts(&self.info.cwd).is_none() {
            return Err(format!(
                "{} is not inside a git repository, so there is no change to look at; say in words what to review",
                self.info.cwd.display()
            ));
        }
        let git = Git::at(root, &self.cancel).map_err(|e| e.to_string())?;
        let (what, changes) = match target {
            Target::Base(base) => {
                let (left, changes) = git.since(base).map_err(|e| e.to_string())?;
                let what = format!("the change since this work left {base} (at commit {left})");
                (what, changes)
            }
            Target::Commit { id, title } => {
                let title = title.as_deref().map(|t| format!(" ({t})"));
                let changes = git.of_commit(id).map_err(|e| e.to_string())?;
                (format!("commit {id}{}", title.unwrap_or_default()), changes)
            }
            Target::Uncommitted | Target::Words(_) => {
                let changes = git.uncommitted().map_err(|e| e.to_string())?;
                ("the change that is not committed yet".to_owned(), changes)
            }
        };
        match changes.files.is_empty() {
            false => Ok((what, changes)),
            true => Err(with_left_out(
                format!("there is nothing to review: {what} is empty"),
                &changes.left_out,
            )),
        }
    }

    /// A turn a part; ends early with one that did not end well, and the parts behind it are left
    /// out.
    fn review_parts(
        &mut self,
        what: &str,
        parts: &[Part],
        left_out: &mut Vec<(String, String)>,
        root: &Path,
        relative: bool,
        front: &mut dyn Frontend,
    ) -> (String, TurnEnd) {
        let near = relative.then(|| self.info.cwd.clone());
        let near = near.as_deref();
        let mut found = findings::Answer::default();
        let mut plain: Vec<String> = Vec::new();
        let mut requests = 0;
        let mut last = None;
        for (at, part) in parts.iter().enumerate() {
            if let Some(path) = &part.path {
                front.event(&Event::Note(format!(
                    "reviewing {path} ({} of {})",
                    at + 1,
                    parts.len()
                )));
            }
            let input = Input::text(prompt(what, part));
            let mut end = self.turn_on(&input, Mark::Given, &mut Quiet(front));
            requests += end.requests;
            end.requests = requests;
            let reason = end.reason.clone();
            match findings::read(&end.answer) {
                Some(answer) => {
                    let said = answer.explanation;
                    found.findings.extend(answer.findings);
                    if !said.is_empty() {
                        let line = match &part.path {
                            Some(path) => format!("{path}: {said}"),
                            None => said,
                        };
                        push_line(&mut found.explanation, &line);
                    }
                }
                None if end.answer.trim().is_empty() => {}
                None => plain.push(match &part.path {
                    Some(path) => format!("{path}:\n{}", end.answer.trim()),
                    None => end.answer.trim().to_owned(),
                }),
            }
            last = Some(end);
            if reason != EndReason::Done {
                let rest = parts.iter().skip(at).filter_map(|p| p.path.clone());
                for path in rest {
                    if !left_out.iter().any(|(known, _)| *known == path) {
                        left_out.push((path, "the review ended before it".into()));
                    }
                }
                break;
            }
        }
        found.findings.sort_by_key(|f| f.priority);
        let empty = found == findings::Answer::default();
        let done = last
            .as_ref()
            .is_some_and(|end| end.reason == EndReason::Done);
        // Without an answer in the form there is only the text, and without any there is nothing.
        if !empty || (plain.is_empty() && done) {
            plain.insert(0, findings::written(&found, root, near));
        }
        let end = last.unwrap_or(TurnEnd {
            reason: EndReason::NoAnswer,
            answer: String::new(),
            requests,
            usage: self.usage,
            cost: self.cost,
            took: Default::default(),
        });
        (plain.join("\n\n"), end)
    }

    /// From here on nothing is changed: what the model does is judged so, and where the system can
    /// hold it, commands run in a sandbox in which nothing can be written. Gives what was there.
    fn only_look(&mut self) -> (Policy, Option<Judge>) {
        self.read_only = true;
        let policy = self.judge.policy.clone();
        let narrow = Policy {
            mode: Mode::ReadOnly,
            network: false,
            ..policy.clone()
        };
        let held = Sandbox::new(narrow.clone()).strength();
        if policy.mode == Mode::ReadOnly || matches!(held, Strength::Nothing(_)) {
            return (policy, None);
        }
        let judge = self.fence_in(narrow, self.judge.approval);
        (policy, Some(std::mem::replace(&mut self.judge, judge)))
    }

    fn look_and_act(&mut self, (policy, judge): (Policy, Option<Judge>)) {
        self.read_only = false;
        if let Some(judge) = judge {
            self.fence_in(policy, judge.approval);
            self.judge = judge;
        }
    }
}

fn push_line(text: &mut String, line: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
}

fn prompt(what: &str, part: &Part) -> String {
    let about = match &part.path {
        Some(path) => format!("Review the part of {what} that is in {path}."),
        None if part.text.is_empty() => what.to_owned(),
        None => format!("Review {what}."),
    };
    let mut text = format!("{GUIDE}\n\n{about}\n\n");
    if !part.text.is_empty() {
        // A fence that the change cannot end.
        let longest = part.text.split(|c| c != '`').map(str::len).max();
        let fence = "`".repeat(longest.unwrap_or(0).max(2) + 1);
        text.push_str(&format!(
            "{fence}diff\n{}\n{fence}\n\n",
            part.text.trim_end()
        ));
    }
    text.push_str(findings::FORM);
    text
}

/// The text with the names of what was not looked at.
fn with_left_out(text: String, left_out: &[(String, String)]) -> String {
    if left_out.is_empty() {
        return text;
    }
    let list: Vec<String> = left_out
        .iter()
        .map(|(path, why)| format!("- {path} ({why})"))
        .collect();
    let list = format!("Not reviewed:\n{}", list.join("\n"));
    match text.is_empty() {
        true => list,
        false => format!("{text}\n\n{list}"),
    }
}

/// Shows what a review does, and keeps its words, which are for us.
struct Quiet<'a>(&'a mut dyn Frontend);

impl Frontend for Quiet<'_> {
    fn event(&mut self, event: &Event) {
        match event {
            Event::TurnStarted
            | Event::TurnDone(_)
            | Event::Text(_)
            | Event::Reasoning(_)
            | Event::Replied { .. } => {}
            other => self.0.event(other),
        }
    }

    fn ask(&mut self, question: &Question) -> Answer {
        self.0.ask(question)
    }

    fn confirm(&mut self, question: &str) -> bool {
        self.0.confirm(question)
    }

    fn questions(&mut self, questions: &[AskedQuestion]) -> Option<Vec<Vec<String>>> {
        self.0.questions(questions)
    }

    fn fill_in(&mut self, form: &Form) -> Option<Asked> {
        self.0.fill_in(form)
    }

    fn interactive(&self) -> bool {
        self.0.interactive()
    }

    fn wished(&mut self, now: &Permissions) -> Option<Permissions> {
        self.0.wished(now)
    }
}
