//! `interpreter undo`: takes back what the turns of past sessions changed in this folder.

use super::session::Setup;
use crate::cli::args::{Options, Undoing};
use crate::cli::render::{Theme, changes};
use crate::cli::undo::{in_words, list, repeated};
use crate::cli::{Failure, exit, pager, say};
use crate::project::undo::{Moved, Undo, UndoError};
use serde_json::{Value, json};
use std::io;

/// Lists the turns of this folder, or takes back the last ones.
///
/// # Errors
/// One sentence: nothing to take back, or why it could not be.
pub fn run(what: &Undoing, options: &Options) -> Result<u8, Failure> {
    let setup = Setup::load(options)?;
    let mut all = Undo::of_folder(&setup.home, &setup.cwd);
    match what {
        Undoing::List => show_list(&all, options),
        Undoing::Last(times) => {
            let file = options.file.as_deref();
            let mut take = || {
                undo_latest(&mut all, |undo| {
                    let only = file.map(|f| undo.path_of(&setup.cwd, f));
                    undo.undo(only.as_deref())
                })
            };
            report(repeated(*times, &mut take), "took back", options)
        }
        Undoing::Redo(times) => {
            let mut put = || undo_latest(&mut all, Undo::redo);
            report(repeated(*times, &mut put), "put back", options)
        }
    }
}

/// Does it in the latest session that has something to do.
fn undo_latest(
    all: &mut [Undo],
    mut step: impl FnMut(&mut Undo) -> Result<Moved, UndoError>,
) -> Result<Moved, UndoError> {
    for undo in all {
        match step(undo) {
            Err(UndoError::Nothing) => {}
            done => return done,
        }
    }
    Err(UndoError::Nothing)
}

fn show_list(all: &[Undo], options: &Options) -> Result<u8, Failure> {
    if options.json {
        let turns = all.iter().flat_map(|undo| {
            undo.turns().iter().rev().map(|turn| {
                let files: Vec<Value> = turn.changes.iter().map(|c| {
                    let kind = match (&c.before, &c.after) {
                        (None, _) => "added",
                        (_, None) => "deleted",
                        _ => "changed",
                    };
                    json!({"path": c.path, "change": kind, "undone": c.is_undone})
                }).collect();
                json!({"session": undo.session(), "turn": turn.number, "time": turn.time, "prompt": turn.title, "cut_off": turn.is_torn, "files": files})
            })
        });
        let turns: Vec<Value> = turns.collect();
        return say(&format!("{}\n", json!({ "turns": turns })));
    }
    let (mut text, mut first) = (String::new(), 1);
    for undo in all {
        let rows = list(undo, first);
        if !rows.is_empty() {
            text.push_str(&format!("session {}\n{rows}", undo.session()));
            first += undo
                .turns()
                .iter()
                .filter(|t| t.changes.iter().any(|c| !c.is_undone))
                .count();
        }
    }
    if text.is_empty() {
        return say("no turn changed anything in this folder\n");
    }
    say(&text)
}

fn report(
    (moved, error): (Vec<Moved>, Option<UndoError>),
    verb: &str,
    options: &Options,
) -> Result<u8, Failure> {
    if options.json {
        let turns: Vec<Value> = moved
            .iter()
            .map(|m| {
                let files: Vec<Value> = m
                    .files
                    .iter()
                    .map(|(path, gone)| json!({"path": path, "exists": !gone}))
                    .collect();
                let left: Vec<Value> = m
                    .left
                    .iter()
                    .map(|(path, why)| json!({"path": path, "why": why}))
                    .collect();
                json!({"turn": m.turn, "prompt": m.title, "files": files, "not_restored": left})
            })
            .collect();
        let mut answer = json!({ "turns": turns });
        if let Some(error) = &error {
            answer["error"] = json!(error.to_string());
        }
        if let Some(UndoError::Changed(files)) = &error {
            answer["changed_since"] = files.iter().map(|f| f.path.as_str()).collect();
        }
        say(&format!("{answer}\n"))?;
        return Ok(if error.is_some() {
            exit::FAILED
        } else {
            exit::OK
        });
    }
    let text: String = moved.iter().map(|m| in_words(m, verb)).collect();
    say(&text)?;
    match error {
        None => Ok(exit::OK),
        Some(error) => {
            if let UndoError::Changed(files) = &error {
                let theme = Theme::new(options.color, &io::stdout());
                pager::show(&changes::files(files, &theme), &mut io::stdout());
            }
            Err(error.into())
        }
    }
}
