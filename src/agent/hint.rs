//! The next step for a model that goes in circles or stops too early. Small models repeat a call
//! that failed, and never look into the file that the task is about, or give advice instead of making
//! the change. Shown the file and told the very tool, many go on.

pub(super) mod command;
mod lost;

use super::guard::CheckGuard;
use super::session::Session;
use super::transcript::Mark;
use crate::sandbox::Lift;
use crate::tools::action::{Action, Base, Outcome, Pass, Read, Replace, Shell, Unique, WriteRule};
use lost::Names;
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

/// Words of a task that ask for a file that is not there.
const MAKES: [&str; 4] = ["create", "write", "make", "add"];
/// Words of a task by which what it names may go.
const PARTS: [&str; 6] = ["rename", "remove", "delete", "move", "replace", "split"];
/// Endings of names that are files and no expressions.
const ENDINGS: [&str; 34] = [
    "py", "js", "mjs", "ts", "tsx", "jsx", "rs", "go", "c", "h", "cc", "cpp", "hpp", "java", "kt",
    "rb", "php", "pl", "lua", "sh", "bash", "ps1", "sql", "html", "css", "json", "yaml", "yml",
    "toml", "ini", "md", "txt", "csv", "xml",
];
/// The most files of a task whose names are remembered, and the most bytes of each.
const REMEMBERED: usize = 8;
const MOST_BYTES: u64 = 64 << 10;

/// The names in the files of a task as it began, by file, and what of them was told to be gone.
#[derive(Debug, Default)]
pub(super) struct Whole {
    files: Option<Vec<(String, Names, Option<String>)>>,
}

/// What the model did with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    Not,
    Read,
    Changed,
}

/// The files of the working folder that a task names.
struct Named {
    /// What the model did with each, in the order of the task; those that are only to be run come last.
    there: Vec<(String, Seen)>,
    /// How many stand before these.
    to_change: usize,
    /// Those that are not there, or empty, when the task asks to make something.
    missing: Vec<String>,
}

impl Session {
    /// A model hears hints on a local server, where a request costs nothing and models are small, and
    /// only with `harness_guidance`.
    pub(super) fn guides(&self) -> bool {
        self.provider.is_local() && self.context.guidance
    }

    /// What to do with the first file that the task names and does not only run: look at it, change it,
    /// or repair what was changed wrongly; those that are unchanged come first. A small file that was not looked into
    /// is shown at once. `None` where a model is left alone: on hosted servers, without
    /// `harness_guidance`, and when the task names no such file.
    pub(super) fn next_step(&mut self, check: &CheckGuard) -> Option<String> {
        if !self.guides() {
            return None;
        }
        let named = self.files_of_the_task(check);
        if let Some(file) = self.first_to_make(&named) {
            return Some(self.making_of(file));
        }
        let files = named.there;
        let mut wanted = files.iter().take(named.to_change.max(1));
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

    /// What to do about a file that is not there.
    fn making_of(&self, file: &str) -> String {
        let write = Action::Write {
            path: file.to_owned(),
            content: String::new(),
            rule: WriteRule::default(),
        };
        let lack = match self.workbench.cwd().join(file).exists() {
            true => "is empty",
            false => "does not exist yet",
        };
        match self.call_of(&write) {
            Some((name, _)) => format!(
                "{file} {lack}. Write it now: call {name} with its path and all of its lines."
            ),
            None => format!(
                "{file} {lack}. Write it now, with one command: cat > {file} <<'EOF', then all of its lines, then EOF."
            ),
        }
    }

    /// The task asks for a file that is not there, or empty.
    pub(super) fn lacks_a_file(&self, check: &CheckGuard) -> bool {
        self.first_to_make(&self.files_of_the_task(check)).is_some()
    }

    /// The first of them that has to be made. A name that a file elsewhere in the project has is that
    /// file, told by a short name.
    fn first_to_make<'a>(&self, named: &'a Named) -> Option<&'a String> {
        let cwd = self.workbench.cwd();
        let is_new =
            |name: &&String| cwd.join(name).exists() || !self.workbench.has_file_named(name);
        named.missing.iter().find(is_new)
    }

    /// Remembers what the files of the task define, once a turn, before something is done.
    pub(super) fn remember_names(&self, whole: &mut Whole, check: &CheckGuard) {
        if whole.files.is_some() || !self.guides() {
            return;
        }
        let files = self.files_of_the_task(check).there.into_iter();
        let files = files.take(REMEMBERED).filter_map(|(file, _)| {
            let text = self.text_of(&file)?;
            let names = Names::of(Path::new(&file), &text);
            Some((file, names, None))
        });
        whole.files = Some(files.collect());
    }

    /// What a model hears whose change left out what the files of the task had before.
    pub(super) fn remark_on_loss(&self, outcome: &Outcome, whole: &mut Whole) -> Option<String> {
        if !matches!(outcome, Outcome::Changed(_) | Outcome::Shell(_)) {
            return None;
        }
        let files = whole.files.as_mut().filter(|files| !files.is_empty())?;
        let task = self.task();
        let words: Vec<&str> = task
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .collect();
        let parts = asks_for(&task, &PARTS);
        let spared = |name: &str| parts && words.contains(&name);
        for (file, names, told) in files {
            let Some(text) = self.text_of(file) else {
                continue;
            };
            let gone = names.gone(&Names::of(Path::new(file), &text), &text, spared);
            if gone.is_some() && gone != *told {
                told.clone_from(&gone);
                return gone.map(|gone| format!(
                    "Gone from {file}: {gone}. Unless the task wants that, put it back now: nothing else of {file} may be lost."
                ));
            }
            *told = gone;
        }
        None
    }

    /// A small text file of the working folder.
    fn text_of(&self, file: &str) -> Option<String> {
        let path = self.workbench.cwd().join(file);
        let is_small = path
            .metadata()
            .is_ok_and(|m| m.is_file() && m.len() <= MOST_BYTES);
        is_small.then(|| std::fs::read_to_string(path).ok())?
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
        if !self.guides() {
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
        let texts: Vec<String> = task.map(|(item, ..)| item.text()).collect();
        self.harness
            .spoken(&self.start, &texts.join("\n"))
            .to_owned()
    }

    /// The task asks for something to be changed, as far as its words tell.
    pub(super) fn wants_a_change(&self) -> bool {
        asks_for(&self.task(), &CHANGES)
    }

    /// The files of the working folder that the task names.
    fn files_of_the_task(&self, check: &CheckGuard) -> Named {
        let cwd = self.workbench.cwd();
        let mut found: Vec<(String, Seen)> = Vec::new();
        let mut missing: Vec<String> = Vec::new();
        let mut runs: Vec<String> = Vec::new();
        let mut before = String::new();
        let task = self.task();
        let makes = asks_for(&task, &MAKES);
        for word in task.split_whitespace().take(WORDS) {
            let word_before = std::mem::replace(&mut before, word.to_lowercase());
            let name = word.trim_matches(|c: char| !c.is_alphanumeric() && !"._-/".contains(c));
            let name = name.trim_end_matches('.');
            let is_plain =
                name.len() <= PATH && name.contains('.') && !Path::new(name).is_absolute();
            let known = found.iter().map(|(known, _)| known).chain(&missing);
            if !is_plain || name.contains("..") || known.into_iter().any(|known| known == name) {
                continue;
            }
            let path = cwd.join(name);
            let meta = path.metadata();
            let ending = Path::new(name).extension().and_then(|e| e.to_str());
            let is_lacking = match &meta {
                Ok(meta) => meta.is_file() && meta.len() == 0,
                Err(_) => ending.is_some_and(|e| ENDINGS.contains(&e)),
            };
            if makes && is_lacking {
                missing.push(name.to_owned());
                continue;
            }
            if !meta.is_ok_and(|meta| meta.is_file()) {
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
        Named {
            to_change: found.len() - runs.len(),
            there: found,
            missing,
        }
    }
}

/// One of the words stands in the task.
fn asks_for(task: &str, words: &[&str]) -> bool {
    let task = task.to_lowercase();
    task.split(|c: char| !c.is_alphabetic())
        .any(|word| words.contains(&word))
}
