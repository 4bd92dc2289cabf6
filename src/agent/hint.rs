//! The next step for a model that goes in circles or stops too early. Small models repeat a call
//! that failed, and never look into the file that the task is about, or give advice instead of making
//! the change. Shown the file and told the very tool, many go on.

pub(super) mod command;

use super::guard::CheckGuard;
use super::session::Session;
use super::transcript::Mark;
use crate::sandbox::Lift;
use crate::tools::action::{Action, Base, Outcome, Pass, Read, Replace, Shell, Unique};
use std::path::Path;
use std::time::Duration;

/// Words of a task that are looked at, and the longest that can be a path.
const WORDS: usize = 400;
const PATH: usize = 200;
/// The most bytes of a file that is shown to a model unasked.
const SHOWN: usize = 6_000;
/// How long such a file may take to be printed.
const CAT: Duration = Duration::from_secs(10);
/// Words of a task that ask for a change.
const CHANGES: [&str; 16] = [
    "fix",
    "repair",
    "correct",
    "change",
    "add",
    "rename",
    "replace",
    "remove",
    "delete",
    "update",
    "implement",
    "write",
    "create",
    "make",
    "refactor",
    "convert",
];

/// Words of a task after which a file is run and not changed.
const RUNS: [&str; 14] = [
    "run", "python", "python3", "node", "bash", "sh", "ruby", "perl", "php", "go", "lua", "cargo",
    "pytest", "execute",
];

/// What the model did with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    Not,
    Read,
    Changed,
}

impl Session {
    /// What to do with the first file that the task names and does not only run: look at it, change it,
    /// or repair what was changed wrongly; those that are unchanged come first. A small file that was not looked into
    /// is shown at once. `None` where a model is left alone: on hosted servers, without
    /// `harness_guidance`, and when the task names no such file.
    pub(super) fn next_step(&mut self, check: &CheckGuard) -> Option<String> {
        if !self.provider.is_local() || !self.context.guidance {
            return None;
        }
        let (files, to_change) = self.files_of_the_task(check);
        let mut wanted = files.iter().take(to_change.max(1));
        let unchanged = wanted.find(|(_, seen)| *seen != Seen::Changed);
        let (file, seen) = unchanged.or(files.first())?.clone();
        match seen {
            Seen::Changed if check.has_failed() && !check.did_not_start() => Some(format!(
                "Your change of {file} does not work yet: read the error, and write {file} right, with all of its imports and names."
            )),
            Seen::Changed => None,
            Seen::Read if self.wants_a_change() => Some(format!(
                "{file} is still as it was: {}",
                self.change_of(&file)
            )),
            Seen::Read => None,
            Seen::Not => {
                let unseen = files
                    .iter()
                    .filter(|(name, seen)| *name != file && *seen == Seen::Not);
                let others: Vec<String> = unseen.map(|(name, _)| name.clone()).collect();
                Some(self.look_into(&file, &others))
            }
        }
    }

    /// The words that show the files of the task, those that were not looked into, or that ask for
    /// the first where it is too large for that.
    fn look_into(&mut self, file: &str, others: &[String]) -> String {
        let mut left = SHOWN;
        let Some(first) = self.shown(file, &mut left) else {
            let read = Action::Read(Read::new(file, None, usize::MAX));
            let cat = Action::Shell(Shell::new(format!("cat {file}"), CAT));
            return match self.call_of(&read).or_else(|| self.call_of(&cat)) {
                Some((name, arguments)) => {
                    format!("Look into {file} now: call {name} with {arguments}.")
                }
                None => format!("Look into {file} now: run `cat {file}`."),
            };
        };
        let rest: String = others
            .iter()
            .filter_map(|other| self.shown(other, &mut left))
            .collect();
        let then = match self.wants_a_change() {
            true => format!("Now {}", self.change_of(file)),
            false => "Now answer from it.".into(),
        };
        format!("{first}{rest}{then}")
    }

    /// A file with its name, if it fits into what is left.
    fn shown(&mut self, file: &str, left: &mut usize) -> Option<String> {
        let size = self.workbench.cwd().join(file).metadata().ok()?.len();
        let room = self.budget.result_bytes(self.rest(&[]), 1).min(*left);
        if size > room as u64 {
            return None;
        }
        let read = Action::Read(Read::new(file, None, room));
        let cancel = self.cancel.clone();
        let outcome = self
            .workbench
            .run(&read, &Lift::Nothing, room, &cancel, &mut |_| {});
        let Outcome::Read(out) = outcome else {
            return None;
        };
        *left -= out.text.len().min(*left);
        Some(format!("This is {file}:\n\n{}\n", out.text))
    }

    /// What to do to a file that is wrong.
    fn change_of(&self, file: &str) -> String {
        let edit = Action::Edit {
            path: file.to_owned(),
            edits: vec![Replace {
                old: String::new(),
                new: String::new(),
            }],
            base: Base::Original,
            unique: Unique::Require,
            passes: Pass::ALL.to_vec(),
            read_first: false,
            may_create: false,
        };
        match self.call_of(&edit) {
            Some((name, _)) => format!("change what is wrong in {file}, with {name}."),
            None => format!("write {file} anew, whole, without the fault."),
        }
    }

    /// The call for an action, if its tool is offered.
    fn call_of(&self, action: &Action) -> Option<(&'static str, serde_json::Value)> {
        let (name, arguments) = self.harness.write(action)?;
        let is_offered = self.start.tools.iter().any(|tool| tool.name == name);
        is_offered.then_some((name, arguments))
    }

    /// What a model hears beside a command that did not start.
    pub(super) fn remark_on_command(&self, outcome: &Outcome) -> Option<String> {
        let Outcome::Shell(out) = outcome else {
            return None;
        };
        if !self.provider.is_local() || !self.context.guidance {
            return None;
        }
        let path = std::env::var_os("PATH");
        command::remark(out, &self.start.tools, path.as_deref())
    }

    /// The words of the running task.
    pub(super) fn task(&self) -> String {
        let task = self
            .transcript
            .entries()
            .filter(|(_, mark, _)| *mark == Mark::Task);
        let text: String = task.map(|(item, ..)| item.text()).collect();
        self.harness.spoken(&self.start, &text).to_owned()
    }

    /// The task asks for something to be changed, as far as its words tell.
    pub(super) fn wants_a_change(&self) -> bool {
        let task = self.task().to_lowercase();
        task.split(|c: char| !c.is_alphabetic())
            .any(|word| CHANGES.contains(&word))
    }

    /// The files of the working folder that the task names, and what the model did with each: in its
    /// order, but those that are only to be run come last; and how many stand before these.
    fn files_of_the_task(&self, check: &CheckGuard) -> (Vec<(String, Seen)>, usize) {
        let cwd = self.workbench.cwd();
        let mut found: Vec<(String, Seen)> = Vec::new();
        let mut runs: Vec<String> = Vec::new();
        let mut before = String::new();
        for word in self.task().split_whitespace().take(WORDS) {
            let word_before = std::mem::replace(&mut before, word.to_lowercase());
            let name = word.trim_matches(|c: char| !c.is_alphanumeric() && !"._-/".contains(c));
            let name = name.trim_end_matches('.');
            let is_plain =
                name.len() <= PATH && name.contains('.') && !Path::new(name).is_absolute();
            if !is_plain || name.contains("..") || found.iter().any(|(known, _)| known == name) {
                continue;
            }
            let path = cwd.join(name);
            if !path.is_file() {
                continue;
            }
            let known = self
                .workbench
                .memory()
                .files()
                .find(|(file, _)| *file == path);
            let seen = match known {
                Some((_, true)) => Seen::Changed,
                Some((_, false)) => Seen::Read,
                None if check.has_shown(name) => Seen::Read,
                None => Seen::Not,
            };
            let word_before = word_before.trim_matches(|c: char| !c.is_alphanumeric());
            if RUNS.contains(&word_before) {
                runs.push(name.to_owned());
            }
            found.push((name.to_owned(), seen));
        }
        found.sort_by_key(|(name, _)| runs.contains(name));
        let to_change = found.len() - runs.len();
        (found, to_change)
    }
}
