//! The way back, and forth again.

use super::error::UndoError;
use super::journal::{Line, is_below};
use super::manifest::{Change, State};
use super::show::side;
use super::{Undo, restore};
use crate::project::compare::{Compared, Side};
use crate::store::rollout::Writer;

/// What an undo or redo did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// The turn's number.
    pub turn: usize,
    /// What the user had asked for.
    pub title: String,
    /// The files that were put back: the path, and true when it is gone now.
    pub files: Vec<(String, bool)>,
    /// Files that could not be put back, since their content is not kept, and why.
    pub left: Vec<(String, &'static str)>,
}

/// Which way to go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Undo,
    Redo,
}

impl Undo {
    /// Puts back what the latest turn changed, of one file or folder if one is named (as in
    /// [`Undo::path_of`]).
    ///
    /// # Errors
    /// When there is nothing, when a file is not as the turn left it, or when something cannot be
    /// read or written.
    pub fn undo(&mut self, only: Option<&str>) -> Result<Moved, UndoError> {
        let mut writer = self.ready()?;
        let at = self.journal.last(only).ok_or(UndoError::Nothing)?;
        let turn = self.journal.turns.get(at).ok_or(UndoError::Nothing)?;
        let stands = |c: &&Change| !c.is_undone && is_below(&c.path, only);
        let changes: Vec<Change> = turn.changes.iter().filter(stands).cloned().collect();
        if turn.is_torn && only.is_none() {
            let paths = changes.into_iter().map(|c| c.path).collect();
            return Err(UndoError::Torn(paths));
        }
        self.travel(at, changes, Way::Undo, &mut writer)
    }

    /// Takes the latest undo back.
    ///
    /// # Errors
    /// As [`Undo::undo`].
    pub fn redo(&mut self) -> Result<Moved, UndoError> {
        let mut writer = self.ready()?;
        let (at, paths) = self
            .journal
            .undone
            .last()
            .cloned()
            .ok_or(UndoError::Nothing)?;
        let turn = self.journal.turns.get(at).ok_or(UndoError::Nothing)?;
        let is_of = |c: &&Change| paths.contains(&c.path);
        let changes: Vec<Change> = turn.changes.iter().filter(is_of).cloned().collect();
        self.travel(at, changes, Way::Redo, &mut writer)
    }

    fn travel(
        &mut self,
        at: usize,
        changes: Vec<Change>,
        way: Way,
        writer: &mut Writer,
    ) -> Result<Moved, UndoError> {
        let ends = |c: &Change| match way {
            Way::Undo => (c.after.clone(), c.before.clone()),
            Way::Redo => (c.before.clone(), c.after.clone()),
        };
        let all = changes
            .iter()
            .flat_map(|c| [c.before.as_ref(), c.after.as_ref()]);
        let contents = restore::contents(all, &mut self.objects);
        let (mut wanted, mut files) = (Vec::new(), Vec::new());
        let (mut left, mut conflicts) = (Vec::new(), Vec::new());
        for change in &changes {
            let (from, to) = ends(change);
            // Of folders it matters only what is in them.
            let is_folder = [&from, &to]
                .iter()
                .all(|s| matches!(s, None | Some(State::Folder)));
            let path = self.root.join(&change.path);
            if let Some(State::Unkept { why, .. }) = to {
                left.push((change.path.clone(), why.words()));
            } else if restore::holds(&path, from.as_ref(), &contents)
                || restore::holds(&path, to.as_ref(), &contents)
                || is_folder && path.is_dir() && !path.is_symlink()
            {
                if !is_folder {
                    files.push((change.path.clone(), to.is_none()));
                }
                wanted.push((change.path.clone(), to));
            } else {
                conflicts.push(Compared {
                    path: change.path.clone(),
                    before: side(from.as_ref(), &contents),
                    after: Side::now(&path),
                    modes: None,
                });
            }
        }
        if !conflicts.is_empty() {
            return Err(UndoError::Changed(conflicts));
        }
        restore::put(&self.root, &wanted, &mut self.objects)?;
        let paths: Vec<String> = changes.into_iter().map(|c| c.path).collect();
        let line = match way {
            Way::Undo => Line::Undo { turn: at, paths },
            Way::Redo => Line::Redo { turn: at, paths },
        };
        self.add(writer, line)?;
        self.look_again()?;
        let turn = self.journal.turns.get(at);
        Ok(Moved {
            turn: turn.map_or(0, |t| t.number),
            title: turn.map_or(String::new(), |t| t.title.clone()),
            files,
            left,
        })
    }

    /// Gives a file of a turn the content that is left after some of its hunks were dropped.
    /// `text` shows these, for the model.
    ///
    /// # Errors
    /// As [`Undo::undo`].
    pub fn drop_part(
        &mut self,
        turn: usize,
        path: &str,
        content: Option<&[u8]>,
        text: String,
    ) -> Result<(), UndoError> {
        let mut writer = self.ready()?;
        let of_turn = self.journal.turns.iter().position(|t| t.number == turn);
        let at = of_turn.ok_or(UndoError::Nothing)?;
        let change = self.journal.turns[at]
            .changes
            .iter()
            .find(|c| c.path == path);
        let change = change.cloned().ok_or(UndoError::Nothing)?;
        let sides = [change.before.as_ref(), change.after.as_ref()];
        let contents = restore::contents(sides.into_iter(), &mut self.objects);
        let full = self.root.join(path);
        if !restore::holds(&full, change.after.as_ref(), &contents) {
            return Err(UndoError::Changed(vec![Compared {
                path: path.to_owned(),
                before: side(change.after.as_ref(), &contents),
                after: Side::now(&full),
                modes: None,
            }]));
        }
        let mode = match (&change.after, &change.before) {
            (Some(State::File { mode, .. }), _) | (_, Some(State::File { mode, .. })) => *mode,
            _ => 0o644,
        };
        let after = match content {
            None => change.before.clone(),
            Some(bytes) => Some(State::File {
                content: self.objects.put(bytes)?,
                mode,
            }),
        };
        restore::put(
            &self.root,
            &[(path.to_owned(), after.clone())],
            &mut self.objects,
        )?;
        let path = path.to_owned();
        let line = Line::Drop {
            turn: at,
            path,
            after,
            text,
        };
        self.add(&mut writer, line)?;
        self.look_again()
    }
}
