//! Going through the changes of the last turn: each part is kept or dropped.

use super::person::{eprint_safe, eprintln_safe};
use super::render::approval::answers;
use super::render::sanitize::one_line;
use super::render::{Theme, changes, diff};
use super::terminal::{self, Pressed};
use crate::agent::session::Session;
use crate::cancel::Cancel;
use crate::project::compare::Compared;
use crate::project::undo::hunks::Hunks;

/// What a person says to one part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Say {
    Keep,
    Drop,
    /// Keep the rest of this file.
    NextFile,
    /// Keep all the rest.
    Enough,
}

/// Every answer with its key and its words.
const ANSWERS: [(Say, char, &str); 4] = [
    (Say::Keep, 'y', "keep"),
    (Say::Drop, 'n', "drop"),
    (Say::NextFile, 'f', "keep the rest of this file"),
    (Say::Enough, 'q', "keep all the rest"),
];

/// Asks about each part, and takes back those that are dropped, file by file. Gives what was done.
pub fn go_through(session: &mut Session, theme: &Theme) -> String {
    let cancel = session.cancel().clone();
    let Some(undo) = session.undo() else {
        return super::undo::NOTHING_KEPT.into();
    };
    let Some((turn, files)) = undo.last_turn() else {
        return "no turn changed anything yet".into();
    };
    let mut dropped = 0;
    for (at, file) in files.iter().enumerate() {
        let parts = Parts::of(file);
        eprint_safe(&changes::head(file, theme));
        let (mut gone, mut enough) = (Vec::new(), false);
        for part in 0..parts.count() {
            eprint_safe(&parts.shown(part, theme));
            let many = format!(
                "file {} of {}, part {} of {}",
                at + 1,
                files.len(),
                part + 1,
                parts.count()
            );
            match ask(&many, theme, &|| typed(&cancel)) {
                Say::Keep => {}
                Say::Drop => gone.push(part),
                Say::NextFile => break,
                Say::Enough => {
                    enough = true;
                    break;
                }
            }
        }
        if !gone.is_empty() {
            let content = parts.without(&gone);
            let text = parts.unified(&gone);
            match undo.drop_part(turn, &file.path, content.as_deref(), text) {
                Ok(()) => dropped += gone.len(),
                Err(why) => eprintln_safe(&format!(
                    "{}: {}",
                    one_line(&file.path),
                    one_line(&why.to_string())
                )),
            }
        }
        if enough {
            break;
        }
    }
    match dropped {
        0 => "everything is kept".into(),
        1 => "one part was taken back; the model is told with your next message".into(),
        n => format!("{n} parts were taken back; the model is told with your next message"),
    }
}

fn ask(many: &str, theme: &Theme, line: &dyn Fn() -> Option<String>) -> Say {
    terminal::forget_typed();
    let question = theme.warn.paint(format!("keep this? ({many})"));
    let keys = ANSWERS.iter().map(|(_, key, words)| (*key, *words));
    let keys = answers(keys, terminal::columns());
    eprint_safe(&format!("{question}\n{keys}"));
    loop {
        eprint_safe("  your answer (keep): ");
        let Some(answer) = line() else {
            eprint_safe("\n");
            return Say::Enough;
        };
        let said = read(&answer);
        if !answer.ends_with('\n') {
            let words = said.map_or("", Say::words);
            eprint_safe(&format!("{words}\n"));
        }
        if let Some(say) = said {
            return say;
        }
    }
}

/// A key where the terminal gives keys, else a line with its end. `None` at the end of the input.
fn typed(cancel: &Cancel) -> Option<String> {
    if !terminal::has_keys() {
        return terminal::line(cancel);
    }
    let bytes = match terminal::key(cancel)? {
        Pressed::Key(bytes) => bytes,
        // No answer, so that the question comes again.
        Pressed::Resumed => return Some("?".to_owned()),
    };
    Some(match bytes.as_slice() {
        b"\x04" => return None,
        b"\x1b" => "q".to_owned(),
        b"\r" | b"\n" => String::new(),
        [0x1b, ..] => "?".to_owned(),
        bytes => String::from_utf8_lossy(bytes).trim().to_owned(),
    })
}

fn read(answer: &str) -> Option<Say> {
    let answer = answer.trim();
    let is_it =
        |(_, key, words): &&(Say, char, &str)| answer == *words || answer.chars().eq([*key]);
    match ANSWERS.iter().find(is_it) {
        Some((say, ..)) => Some(*say),
        None => answer.is_empty().then_some(Say::Keep),
    }
}

impl Say {
    fn words(self) -> &'static str {
        let mut all = ANSWERS.iter();
        all.find(|(say, ..)| *say == self)
            .map_or("", |(.., words)| words)
    }
}

/// The parts of one file: the hunks of a text that was changed, else all of it.
enum Parts<'a> {
    Hunks(Hunks<'a>, &'a str),
    Whole(&'a Compared),
}

impl<'a> Parts<'a> {
    fn of(file: &'a Compared) -> Self {
        use crate::project::compare::Side;
        match (&file.before, &file.after) {
            (Side::File(_), Side::File(_)) if file.modes.is_none() => {
                match (file.before.text(), file.after.text()) {
                    (Some(before), Some(after)) => Parts::Hunks(Hunks::of(before, after), after),
                    _ => Parts::Whole(file),
                }
            }
            _ => Parts::Whole(file),
        }
    }

    fn count(&self) -> usize {
        match self {
            Parts::Hunks(hunks, _) => hunks.count(),
            Parts::Whole(_) => 1,
        }
    }

    fn shown(&self, part: usize, theme: &Theme) -> String {
        match self {
            Parts::Hunks(hunks, after) => diff::whole(&hunks.without(&[part]), after, theme),
            Parts::Whole(file) => match (file.before.text(), file.after.text()) {
                (Some(before), Some(after)) => diff::whole(before, after, theme),
                _ => String::new(),
            },
        }
    }

    /// The content without these parts; `None`: what was there before.
    fn without(&self, gone: &[usize]) -> Option<Vec<u8>> {
        match self {
            Parts::Hunks(hunks, _) if gone.len() < hunks.count() => {
                Some(hunks.without(gone).into_bytes())
            }
            _ => None,
        }
    }

    fn unified(&self, gone: &[usize]) -> String {
        match self {
            Parts::Hunks(hunks, after) => hunks.unified(gone, after),
            Parts::Whole(_) => "the whole change of this file".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn what_is_no_answer_is_asked_again_and_the_end_keeps_the_rest() {
        let asked = Cell::new(0);
        let answers = [Some("what\n"), Some("n\n")];
        let line = || {
            asked.set(asked.get() + 1);
            answers
                .get(asked.get() - 1)
                .copied()
                .flatten()
                .map(str::to_owned)
        };
        assert_eq!(ask("1 of 1", &Theme::default(), &line), Say::Drop);
        assert_eq!(ask("1 of 1", &Theme::default(), &line), Say::Enough);
        assert_eq!(read(""), Some(Say::Keep));
    }
}
