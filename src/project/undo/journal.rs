//! The turns that changed something, and what was taken back of them: lines that are only added.

use super::manifest::{Change, State};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A turn that changed something.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// Its number in the session, from 1.
    pub number: usize,
    /// When it ended: UTC, as the line has it.
    pub time: String,
    /// What the user asked for, in a line.
    pub title: String,
    /// It was cut off, so that changes by others are among its own.
    pub is_torn: bool,
    /// What it changed.
    pub changes: Vec<Change>,
}

/// What a model has not been told yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum News {
    /// Files are as they were before a turn.
    Undone(Vec<String>),
    /// Files are as a turn had left them.
    Redone(Vec<String>),
    /// Parts of changes were taken back: the file, and these as a diff.
    Dropped(String, String),
}

/// Everything that the lines say.
#[derive(Debug, Default)]
pub struct Journal {
    /// The folder.
    pub root: PathBuf,
    /// Its turns, oldest first.
    pub turns: Vec<Turn>,
    /// What was undone and may be redone: the turn's place in the list, and the paths.
    pub undone: Vec<(usize, Vec<String>)>,
    /// What the model was not told yet.
    pub news: Vec<News>,
    /// The turn that is under way or was cut off: its title.
    pub open: Option<String>,
    /// Turns that ended, also those that changed nothing.
    ended: usize,
}

/// The payload of a line, by its type.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "lowercase")]
pub enum Line {
    /// The first: the folder.
    Root { root: PathBuf },
    /// A turn is about to change something.
    Begin { title: String },
    /// It ended, with all that it changed.
    End { torn: bool, changes: Vec<Change> },
    /// Files of a turn were put back.
    Undo { turn: usize, paths: Vec<String> },
    /// The latest undo was taken back.
    Redo { turn: usize, paths: Vec<String> },
    /// A part of a change was taken back.
    Drop {
        turn: usize,
        path: String,
        after: Option<State>,
        text: String,
    },
    /// The model was told everything.
    Told,
    /// Everything before was given up, to make room.
    Forget,
}

impl Line {
    /// As a line of the file.
    pub fn record(&self) -> Value {
        crate::store::rollout::record("undo", json!(self))
    }
}

impl Journal {
    /// Reads the lines. What is not understood is passed over.
    pub fn read(lines: &[Value]) -> Journal {
        let mut journal = Journal::default();
        for line in lines {
            if let Ok(known) = Line::deserialize(&line["payload"]) {
                journal.apply(known, line["timestamp"].as_str().unwrap_or_default());
            }
        }
        journal
    }

    /// Takes one line in.
    pub fn apply(&mut self, line: Line, time: &str) {
        match line {
            Line::Root { root } => self.root = root,
            Line::Begin { title } => self.open = Some(title),
            Line::End { torn, changes } => {
                self.ended += 1;
                let title = self.open.take().unwrap_or_default();
                if !changes.is_empty() {
                    self.undone.clear();
                    self.turns.push(Turn {
                        number: self.ended,
                        time: time.to_owned(),
                        title,
                        is_torn: torn,
                        changes,
                    });
                }
            }
            Line::Undo { turn, paths } => {
                self.mark(turn, &paths, true);
                self.news.push(News::Undone(paths.clone()));
                self.undone.push((turn, paths));
            }
            Line::Redo { turn, paths } => {
                self.mark(turn, &paths, false);
                self.undone.pop();
                self.news.push(News::Redone(paths));
            }
            Line::Drop {
                turn,
                path,
                after,
                text,
            } => {
                if let Some(turn) = self.turns.get_mut(turn) {
                    for change in turn.changes.iter_mut().filter(|c| c.path == path) {
                        change.after = after.clone();
                    }
                    turn.changes.retain(|c| c.before != c.after);
                }
                self.news.push(News::Dropped(path, text));
            }
            Line::Told => self.news.clear(),
            Line::Forget => {
                self.turns.clear();
                self.undone.clear();
            }
        }
    }

    fn mark(&mut self, turn: usize, paths: &[String], is_undone: bool) {
        let changes = self.turns.get_mut(turn).map(|t| &mut t.changes);
        for change in changes.into_iter().flatten() {
            if paths.contains(&change.path) {
                change.is_undone = is_undone;
            }
        }
    }

    /// The latest turn with a change that stands, of this file or folder if one is named.
    pub fn last(&self, only: Option<&str>) -> Option<usize> {
        let stands = |c: &Change| !c.is_undone && is_below(&c.path, only);
        self.turns
            .iter()
            .rposition(|t| t.changes.iter().any(stands))
    }
}

/// True for a path that is `only` or lies in it; without it, for all.
pub fn is_below(path: &str, only: Option<&str>) -> bool {
    only.is_none_or(|only| Path::new(path).starts_with(only))
}
