//! What a session does so that its turns can be undone: a look at the folder before the first
//! change of a turn and after its end, and a word to the model about what was taken back.

use super::approval::{is_known_safe, touched};
use super::event::{Event, Frontend};
use super::session::Session;
use crate::harnesses::Notice;
use crate::project::undo::{News, Undo, UndoError};
use crate::sandbox::{Lift, Mode};
use crate::tools::action::Action;
use crate::words::head;

/// The most bytes of what was asked for in a list of turns.
const TITLE: usize = 100;
/// The most files that the model is told of by name.
const NAMED: usize = 30;
/// The most bytes of dropped changes that the model is shown.
const DROPPED: usize = 4_000;

/// True for an action that may change files.
pub(super) fn may_change(action: &Action) -> bool {
    match action {
        Action::Write { .. }
        | Action::Edit { .. }
        | Action::Insert { .. }
        | Action::EditCell(_)
        | Action::Patch { .. }
        | Action::UndoEdit { .. } => true,
        Action::Shell(shell) => !is_known_safe(&shell.command),
        Action::ShellInput { chars, .. } => !chars.is_empty(),
        Action::Mcp(call) => !call.read_only,
        _ => false,
    }
}

/// The undo of a session, and what was said of it.
#[derive(Debug, Default)]
pub(super) struct Keeper {
    /// `None` for a session that keeps nothing.
    pub undo: Option<Undo>,
    /// What the running turn was asked for.
    pub title: String,
    /// What is not covered was said.
    told: bool,
    /// A trouble was said.
    failed: bool,
}

impl Keeper {
    pub(super) fn new(undo: Option<Undo>) -> Self {
        Keeper {
            undo,
            ..Keeper::default()
        }
    }
}

impl Session {
    /// What the turns changed; `None` for a session that keeps nothing.
    pub fn undo(&mut self) -> Option<&mut Undo> {
        let undo = self.keeper.undo.as_mut()?;
        undo.refresh();
        Some(undo)
    }

    /// A turn begins, which was asked for in these words.
    pub(super) fn begin_undo(&mut self, words: &str) {
        let line = words.lines().find(|l| !l.trim().is_empty());
        self.keeper.title = head(line.unwrap_or_default().trim(), TITLE).to_owned();
    }

    /// Keeps what an action may change. A trouble is said once, and no reason not to act.
    pub(super) fn before_change(&mut self, action: &Action, lift: &Lift, front: &mut dyn Frontend) {
        let policy = self.workbench.sandbox().policy();
        let is_command = matches!(action, Action::Shell(_) | Action::ShellInput { .. });
        // A command in this fence can write nothing.
        let is_fenced = is_command && policy.mode == Mode::ReadOnly && *lift == Lift::Nothing;
        if is_fenced || !may_change(action) {
            return;
        }
        let elsewhere = policy.mode == Mode::DangerFullAccess || policy.roots.len() > 1;
        let paths = touched(action, self.workbench.cwd());
        let cancel = self.cancel.clone();
        let Some(undo) = &mut self.keeper.undo else {
            return;
        };
        let begun = undo.begin(&self.keeper.title, &cancel);
        let kept = begun.and_then(|uncovered| undo.keep(&paths).map(|()| uncovered));
        match kept {
            Ok(mut uncovered) if !self.keeper.told => {
                if elsewhere {
                    uncovered.push("what commands change in other folders".into());
                }
                self.keeper.told = true;
                if !uncovered.is_empty() {
                    let text = format!("undo does not cover: {}", uncovered.join("; "));
                    front.event(&Event::Note(text));
                }
            }
            Ok(_) => {}
            Err(error) => self.undo_failed(&error, front),
        }
    }

    /// Notes what the turn changed.
    pub(super) fn end_undo(&mut self, front: &mut dyn Frontend) {
        if let Some(undo) = &mut self.keeper.undo
            && let Err(error) = undo.end()
        {
            self.undo_failed(&error, front);
        }
    }

    fn undo_failed(&mut self, error: &UndoError, front: &mut dyn Frontend) {
        self.log.error(&format!("undo: {error}"));
        if !std::mem::replace(&mut self.keeper.failed, true) {
            front.event(&Event::Warning(format!(
                "changes cannot be undone: {error}"
            )));
        }
    }

    /// Tells the model what was taken back since its last turn, here or by another process. What it
    /// knew of these files is forgotten.
    pub(super) fn tell_undone(&mut self) {
        let Some(undo) = self.undo() else { return };
        let (news, root) = (undo.news().to_vec(), undo.root().to_owned());
        if news.is_empty() || undo.told().is_err() {
            return;
        }
        for path in news.iter().flat_map(paths) {
            self.workbench.memory_mut().forget(&root.join(path));
        }
        let words: Vec<String> = news.iter().map(words).collect();
        let notice = Notice::Nudge(format!(
            "{}\nThis is what the user wants. Read these files again before you go on with them.",
            words.join("\n")
        ));
        let items = self.harness.notice(&mut self.state, &notice);
        self.push_all(items);
    }
}

fn paths(news: &News) -> &[String] {
    match news {
        News::Undone(paths) | News::Redone(paths) => paths,
        News::Dropped(path, _) => std::slice::from_ref(path),
    }
}

fn words(news: &News) -> String {
    match news {
        News::Undone(paths) => format!(
            "The user took back changes of yours. These files are as they were before: {}.",
            named(paths)
        ),
        News::Redone(paths) => format!(
            "The user put changes of yours in place again that were taken back: {}.",
            named(paths)
        ),
        News::Dropped(path, text) => format!(
            "The user looked over your change of {path}, kept a part of it and took this back:\n{}",
            head(text, DROPPED).trim_end()
        ),
    }
}

fn named(paths: &[String]) -> String {
    match paths.len() {
        n if n > NAMED => format!("{} and {} more", paths[..NAMED].join(", "), n - NAMED),
        _ => paths.join(", "),
    }
}
