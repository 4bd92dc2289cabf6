//! The next step for a model that goes in circles or stops too early. Small models repeat a call
//! that failed, and never look into the file that the task is about; told the very call, they make
//! it.

use super::guard::CheckGuard;
use super::session::Session;
use super::transcript::Mark;
use crate::tools::action::{Action, Base, Pass, Read, Replace, Unique};
use std::path::Path;

/// Words of a task that are looked at, and the longest that can be a path.
const WORDS: usize = 400;
const PATH: usize = 200;

/// What the model did with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    Not,
    Read,
    Changed,
}

impl Session {
    /// What to do with the first file that the task names: read it, change it, or repair what was
    /// changed wrongly; those that are unchanged come first. `None` where a model is left alone: on hosted servers, without `harness_guidance`, and
    /// when the task names no such file.
    pub(super) fn next_step(&self, check: &CheckGuard) -> Option<String> {
        if !self.provider.is_local() || !self.context.guidance {
            return None;
        }
        let files = self.files_of_the_task(check);
        let unchanged = files.iter().find(|(_, seen)| *seen != Seen::Changed);
        let (file, seen) = unchanged.or(files.first())?.clone();
        let read = Action::Read(Read::new(file.clone(), None, usize::MAX));
        let edit = Action::Edit {
            path: file.clone(),
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
        let call = |action| {
            let (name, arguments) = self.harness.write(action)?;
            let is_offered = self.start.tools.iter().any(|tool| tool.name == name);
            is_offered.then_some((name, arguments))
        };
        Some(match (seen, call(&read), call(&edit)) {
            (Seen::Changed, ..) if !check.has_failed() => return None,
            (Seen::Changed, ..) => format!(
                "Your change of {file} does not work yet: read the error, and write {file} right, with all of its imports and names."
            ),
            (Seen::Not, Some((name, arguments)), _) => {
                format!("Look into {file} now: call {name} with {arguments}.")
            }
            (Seen::Not, None, _) => format!("Look into {file} now: run `cat {file}`."),
            (Seen::Read, _, Some((name, _))) => {
                format!("{file} is still as it was: change what is wrong in it, with {name}.")
            }
            (Seen::Read, _, None) => {
                format!("{file} is still as it was: write it anew without the fault.")
            }
        })
    }

    /// The task names a file that was not looked into, and nothing was changed.
    pub(super) fn has_looked_nowhere(&self, check: &CheckGuard) -> bool {
        let changed = self.workbench.memory().files().any(|(_, changed)| changed);
        let files = self.files_of_the_task(check);
        !changed && files.first().is_some_and(|(_, seen)| *seen == Seen::Not)
    }

    /// The files of the working folder that the task names, in its order, and what the model did
    /// with each.
    fn files_of_the_task(&self, check: &CheckGuard) -> Vec<(String, Seen)> {
        let cwd = self.workbench.cwd();
        let task = self
            .transcript
            .entries()
            .filter(|(_, mark, _)| *mark == Mark::Task);
        let text: String = task.map(|(item, ..)| item.text()).collect();
        let mut found: Vec<(String, Seen)> = Vec::new();
        for word in self
            .harness
            .spoken(&self.start, &text)
            .split_whitespace()
            .take(WORDS)
        {
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
            found.push((name.to_owned(), seen));
        }
        found
    }
}
