//! `/diff`, `/undo` and `/redo`, and the words for what they did.

use super::render::sanitize::one_line;
use super::slash::Done;
use crate::agent::session::Session;
use crate::project::compare::{self, Compared};
use crate::project::undo::{Moved, Undo, UndoError, is_below};
use std::fmt::Write;

/// A session that is not kept.
pub const NOTHING_KEPT: &str =
    "this session is not kept (--ephemeral), so nothing of it can be taken back";
/// The most turns that are taken back at once.
pub const MOST_TURNS: usize = 1_000;
/// The most files that are named after an undo.
const NAMED: usize = 20;

/// What changed: in the work tree, by the last turn, or part by part.
pub fn diff(session: &mut Session, words: &str) -> Done {
    let (flags, paths): (Vec<&str>, Vec<&str>) =
        words.split_whitespace().partition(|w| w.starts_with("--"));
    let shown = match flags.as_slice() {
        [] => of_folder(session),
        ["--turn"] => of_turn(session),
        ["--pick"] => return Done::Parts,
        _ => Err("/diff takes --turn or --pick, or paths".into()),
    };
    match shown {
        Err(why) => Done::Said(why),
        Ok((words, mut files)) => {
            let wanted = |f: &Compared| {
                let is_it = |p: &&str| is_below(&f.path, Some(p.trim_start_matches("./")));
                paths.is_empty() || paths.iter().any(|p| *p == "." || is_it(p))
            };
            files.retain(wanted);
            match files.is_empty() {
                true => Done::Said("nothing is changed".into()),
                false => Done::Show(words, files),
            }
        }
    }
}

type Shown = Result<(String, Vec<Compared>), String>;

fn of_folder(session: &mut Session) -> Shown {
    let cancel = session.cancel().clone();
    let cwd = session.info().cwd.clone();
    if let Some((files, left_out)) = compare::work_tree(&cwd, &cancel) {
        let words = match left_out {
            0 => String::new(),
            n => format!("{n} more files are changed and not shown\n"),
        };
        return Ok((words, files));
    }
    let undo = session.undo().ok_or(NOTHING_KEPT)?;
    let words = "no git repository: this is what this session's turns changed\n";
    Ok((words.into(), undo.since_the_beginning()))
}

fn of_turn(session: &mut Session) -> Shown {
    let undo = session.undo().ok_or(NOTHING_KEPT)?;
    let (number, files) = undo.last_turn().ok_or("no turn changed anything yet")?;
    Ok((format!("turn {number}\n"), files))
}

/// Takes back so many turns, or what the last one did to a file.
pub fn undo(session: &mut Session, words: &str) -> Done {
    let cwd = session.info().cwd.clone();
    let Some(undo) = session.undo() else {
        return Done::Said(NOTHING_KEPT.into());
    };
    let words = words.trim_start_matches("--file").trim();
    let (times, only) = match (words, words.parse::<usize>()) {
        ("", _) => (1, None),
        (_, Ok(n)) if (1..=MOST_TURNS).contains(&n) => (n, None),
        _ => (1, Some(undo.path_of(&cwd, words))),
    };
    told(repeated(times, || undo.undo(only.as_deref())), "took back")
}

/// Takes back so many undos.
pub fn redo(session: &mut Session, words: &str) -> Done {
    let Some(undo) = session.undo() else {
        return Done::Said(NOTHING_KEPT.into());
    };
    let times = match (words, words.parse::<usize>()) {
        ("", _) => 1,
        (_, Ok(n)) if (1..=MOST_TURNS).contains(&n) => n,
        _ => return Done::Said("/redo takes a number".into()),
    };
    told(repeated(times, || undo.redo()), "put back")
}

/// Does it so many times, or until it fails. That there is nothing more is a failure only at first.
pub fn repeated(
    times: usize,
    mut step: impl FnMut() -> Result<Moved, UndoError>,
) -> (Vec<Moved>, Option<UndoError>) {
    let mut done = Vec::new();
    for _ in 0..times {
        match step() {
            Ok(moved) => done.push(moved),
            Err(UndoError::Nothing) if !done.is_empty() => break,
            Err(error) => return (done, Some(error)),
        }
    }
    (done, None)
}

fn told((moved, error): (Vec<Moved>, Option<UndoError>), verb: &str) -> Done {
    let mut text: String = moved.iter().map(|m| in_words(m, verb)).collect();
    match error {
        None => Done::Said(text.trim_end().to_owned()),
        Some(error) => {
            let _ = writeln!(text, "{}", one_line(&error.to_string()));
            match error {
                UndoError::Changed(files) => Done::Show(text, files),
                _ => Done::Said(text.trim_end().to_owned()),
            }
        }
    }
}

/// What was taken or put back: a line for the turn, and one a file.
pub fn in_words(moved: &Moved, verb: &str) -> String {
    let mut text = format!("{verb} turn {}{}\n", moved.turn, quoted(&moved.title));
    for (path, is_gone) in moved.files.iter().take(NAMED) {
        let deed = if *is_gone { "removed" } else { "restored" };
        let _ = writeln!(text, "  {deed} {}", one_line(path));
    }
    if moved.files.len() > NAMED {
        let _ = writeln!(text, "  and {} more files", moved.files.len() - NAMED);
    }
    for (path, why) in &moved.left {
        let _ = writeln!(
            text,
            "  not restored: {} ({why}, so it was not kept)",
            one_line(path)
        );
    }
    text
}

/// The turns of a session, the latest first, each with its files. `first` is the number of the
/// first row: as many turns as it says are taken back to get before it.
pub fn list(undo: &Undo, first: usize) -> String {
    let mut text = String::new();
    let standing = undo
        .turns()
        .iter()
        .rev()
        .filter(|t| t.changes.iter().any(|c| !c.is_undone));
    for (at, turn) in standing.enumerate() {
        let time = turn.time.get(..16).unwrap_or_default().replace('T', " ");
        let _ = writeln!(text, "{:>3}  {time}{}", first + at, quoted(&turn.title));
        for change in turn.changes.iter().filter(|c| !c.is_undone).take(NAMED) {
            let sign = match (&change.before, &change.after) {
                (None, _) => '+',
                (_, None) => '-',
                _ => '~',
            };
            let _ = writeln!(text, "       {sign} {}", one_line(&change.path));
        }
        if turn.changes.len() > NAMED {
            let _ = writeln!(text, "       and {} more", turn.changes.len() - NAMED);
        }
    }
    text
}

fn quoted(title: &str) -> String {
    match title {
        "" => String::new(),
        title => format!(": {}", one_line(title)),
    }
}
