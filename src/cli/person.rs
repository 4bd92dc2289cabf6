//! The person at the terminal: what is put to them, and what they answer.

mod form;
mod rule;

use super::attention::{Attention, Occasion};
use super::keys::Keys;
use super::render::Theme;
use super::render::approval::{self, Choice};
use super::render::sanitize::{one_line, sanitize};
use super::render::wrap::{cells, hanging, headed, paint, rows, width};
use super::signals::Signals;
use super::terminal::{self, Pressed};
use crate::agent::event::{Answer, Question};
use crate::cancel::Cancel;
use crate::tools::action::{Action, AskedQuestion};
use crate::tools::mcp::{Asked, Form};
use nu_ansi_term::Style;
use rule::Edited;
use std::io::{self, Write};

/// Somebody who can be asked.
pub trait Person {
    /// May this be done?
    fn ask(&mut self, question: &Question, theme: &Theme) -> Answer;
    /// A plain question; anything but a yes is a no.
    fn confirm(&mut self, question: &str, theme: &Theme) -> bool;
    /// Questions of the model; `None` when the person does not want to answer.
    fn questions(&mut self, questions: &[AskedQuestion], theme: &Theme)
    -> Option<Vec<Vec<String>>>;
    /// The form of an MCP server.
    fn fill_in(&mut self, form: &Form, theme: &Theme) -> Asked;
}

/// The person who typed the task.
pub struct AtTerminal {
    signals: Signals,
    keys: Keys,
    attention: Attention,
}

impl AtTerminal {
    /// `signals` end a question without an answer; `keys` leaves the terminal to it; `attention`
    /// tells the person that it waits.
    pub fn new(signals: Signals, keys: Keys, attention: Attention) -> Self {
        AtTerminal {
            signals,
            keys,
            attention,
        }
    }

    /// Puts something to the person. Who closes the terminal instead of answering is asked again by
    /// the next run, so that nothing may happen between here and the end of the program.
    fn put<T>(
        &self,
        what: &str,
        shown: &str,
        answer: impl FnOnce(&Cancel) -> Option<T>,
    ) -> Option<T> {
        let _pause = self.keys.pause();
        terminal::forget_typed();
        eprint_safe(shown);
        self.attention.call(Occasion::Approval, what);
        let answer = answer(&self.signals.cancel);
        if answer.is_none() {
            self.signals.leave_if_terminated();
        }
        self.attention.working();
        answer
    }
}

impl Person for AtTerminal {
    fn ask(&mut self, question: &Question, theme: &Theme) -> Answer {
        let shown = approval::text(question, theme, terminal::columns());
        self.put(question.action.verb(), &shown, |cancel| {
            answer(question, &shown, theme, cancel)
        })
        .unwrap_or(Answer::Stop)
    }

    fn confirm(&mut self, question: &str, theme: &Theme) -> bool {
        let shown = confirmation(question, theme, terminal::columns());
        let chosen = self.put("a question", &shown, |cancel| {
            choice(&shown, &[Choice::Yes, Choice::No], cancel)
        });
        chosen == Some(Chosen::One(Choice::Yes))
    }

    fn questions(
        &mut self,
        questions: &[AskedQuestion],
        theme: &Theme,
    ) -> Option<Vec<Vec<String>>> {
        self.put("a question", "", |cancel| {
            let answer = |question| answer_to(question, theme, cancel);
            questions.iter().map(answer).collect()
        })
    }

    fn fill_in(&mut self, form: &Form, theme: &Theme) -> Asked {
        let shown = form::text(form, theme, terminal::columns());
        let what = format!("a question of {}", form.server);
        let asked = self.put(&what, &shown, |cancel| form::fill_in(form, theme, cancel));
        asked.unwrap_or(match self.signals.cancel.is_cancelled() {
            true => Asked::Cancelled,
            false => Asked::Declined,
        })
    }
}

/// A question with its answers behind it, or below it where the row is too short.
fn confirmation(question: &str, theme: &Theme, columns: usize) -> String {
    const ANSWERS: &str = "[y] yes  [n] no: ";
    const LEAD: usize = 2;
    let question = sanitize(question);
    let mark = theme.warn.paint("?");
    if LEAD + width(&question) + 1 + width(ANSWERS) < columns {
        return format!("{mark} {question} {ANSWERS}");
    }
    let text = cells(&question, Style::default());
    let rows = rows(&text, columns.saturating_sub(LEAD));
    let rows: Vec<String> = rows.into_iter().map(paint).collect();
    format!("{mark} {}\n  {ANSWERS}", rows.join("\n  "))
}

/// The columns before an answer.
const BEFORE: usize = 20;

/// What a person chose.
#[derive(Debug, PartialEq, Eq)]
enum Chosen {
    One(Choice),
    /// Own words, where the answer is a line.
    Words(String),
}

/// Reads a choice: one key where the terminal gives keys, else a line. Enter alone is a no. Esc
/// stops, as it does everywhere in a turn. `None` at the end of the input and after an interrupt.
/// `shown` is the question, for one who comes back to it.
fn choice(shown: &str, offered: &[Choice], cancel: &Cancel) -> Option<Chosen> {
    let keys = terminal::has_keys();
    let chosen = loop {
        if !keys {
            break terminal::line(cancel).map(|line| match (Choice::of(&line), line.trim()) {
                (Some(choice), _) => Chosen::One(choice),
                (None, "") => Chosen::One(Choice::No),
                (None, words) => Chosen::Words(words.to_owned()),
            });
        }
        let typed = match terminal::key(cancel) {
            None => break None,
            Some(Pressed::Resumed) => {
                eprint_safe(shown);
                continue;
            }
            Some(Pressed::Key(typed)) => typed,
        };
        match typed.as_slice() {
            [0x04] => break None,
            [0x1b] => break Some(Chosen::One(Choice::Stop)),
            [b'\r' | b'\n', ..] => break Some(Chosen::One(Choice::No)),
            typed => {
                let known = std::str::from_utf8(typed).ok().and_then(Choice::of);
                if let Some(choice) = known.filter(|c| offered.contains(c)) {
                    break Some(Chosen::One(choice));
                }
            }
        }
    };
    match &chosen {
        Some(Chosen::One(choice)) if keys => {
            let words = choice.words();
            let fits = width(words) + BEFORE < terminal::columns();
            let gap = if fits { "" } else { "\n  " };
            eprint_safe(&format!("{gap}{words}\n"));
        }
        Some(_) if !keys => {}
        _ => eprint_safe("\n"),
    }
    chosen
}

/// The answer to a question of the judge. The default is no.
fn answer(question: &Question, shown: &str, theme: &Theme, cancel: &Cancel) -> Option<Answer> {
    let offered: Vec<Choice> = approval::choices(question).map(|(c, ..)| c).collect();
    loop {
        let chosen = choice(shown, &offered, cancel)?;
        if let Some(answer) = answer_of(chosen, question, theme, cancel)? {
            return Some(answer);
        }
        eprint_safe("  your answer (no): ");
    }
}

/// `None` inside: the person wants to answer something else.
fn answer_of(
    chosen: Chosen,
    question: &Question,
    theme: &Theme,
    cancel: &Cancel,
) -> Option<Option<Answer>> {
    Some(Some(match chosen {
        Chosen::One(Choice::Stop) => Answer::Stop,
        Chosen::One(Choice::Yes) => Answer::Yes,
        Chosen::One(Choice::Session) => Answer::YesForSession,
        Chosen::One(Choice::Always) => match (&question.action, &question.rule) {
            (Action::Shell(shell), Some(found)) => match rule::edit(found, shell, theme, cancel) {
                Edited::Save(rule) => Answer::Always(rule),
                Edited::Back => return Some(None),
                Edited::Gone => return None,
            },
            _ => return Some(None),
        },
        Chosen::One(Choice::No) => Answer::No(None),
        Chosen::Words(words) => Answer::No(Some(words)),
        Chosen::One(Choice::Tell) => {
            eprint_safe("  what to do instead: ");
            let Some(line) = terminal::line(cancel) else {
                eprint_safe("\n");
                return None;
            };
            let words = line.trim();
            Answer::No((!words.is_empty()).then(|| words.to_owned()))
        }
    }))
}

/// Shows one question of the model and reads the answer: numbers of its options, or own words.
fn answer_to(question: &AskedQuestion, theme: &Theme, cancel: &Cancel) -> Option<Vec<String>> {
    let columns = terminal::columns();
    let words = sanitize(&question.question);
    let mut text = headed("the model asks:", theme.warn, &words, columns);
    for (at, (label, meaning)) in question.options.iter().enumerate() {
        let meaning = match meaning.as_str() {
            "" => String::new(),
            words => format!(" — {}", one_line(words)),
        };
        let row = format!("  [{}] {}{meaning}", at + 1, one_line(label));
        text.push_str(&hanging(&row, columns));
    }
    text.push_str(match (question.options.is_empty(), question.several) {
        (true, _) => "  your answer: ",
        (false, true) => "  numbers, or your own words: ",
        (false, false) => "  a number, or your own words: ",
    });
    eprint_safe(&text);
    let Some(line) = terminal::line(cancel) else {
        eprint_safe("\n");
        return None;
    };
    let line = line.trim();
    (!line.is_empty()).then(|| chosen(line, question))
}

/// The options that the numbers of a line name; a line that is anything else is an own answer.
fn chosen(line: &str, question: &AskedQuestion) -> Vec<String> {
    let words: Vec<&str> = line
        .split([',', ' '])
        .filter(|word| !word.is_empty())
        .collect();
    let named = |word: &&str| {
        let at = word.parse::<usize>().ok()?.checked_sub(1)?;
        Some(question.options.get(at)?.0.clone())
    };
    match words.iter().map(named).collect::<Option<Vec<String>>>() {
        Some(names) if names.len() == 1 || question.several => names,
        _ => vec![line.to_owned()],
    }
}

/// A line for the person.
pub fn eprintln_safe(text: &str) {
    eprint_safe(&format!("{text}\n"));
}

/// A terminal that went away is no reason to panic.
pub fn eprint_safe(text: &str) {
    let mut err = io::stderr().lock();
    let _ = err.write_all(text.as_bytes());
    let _ = err.flush();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_fits_its_window() {
        let theme = Theme::default();
        assert_eq!(
            confirmation("Write it?", &theme, 40),
            "? Write it? [y] yes  [n] no: "
        );
        assert_eq!(
            confirmation(
                "from here on commands may use the network. Shall it be so?",
                &theme,
                40
            ),
            "? from here on commands may use the\n  network. Shall it be so?\n  [y] yes  [n] no: "
        );
    }

    #[test]
    fn numbers_choose_and_words_are_own_answers() {
        let question = |several| AskedQuestion {
            id: None,
            header: String::new(),
            question: "Which?".into(),
            options: ["red", "green"].map(|o| (o.into(), String::new())).into(),
            several,
        };
        assert_eq!(chosen("2", &question(false)), ["green"]);
        assert_eq!(chosen("1, 2", &question(true)), ["red", "green"]);
        assert_eq!(chosen("1 2", &question(false)), ["1 2"]);
        assert_eq!(chosen("3", &question(false)), ["3"]);
        assert_eq!(chosen("0", &question(true)), ["0"]);
        assert_eq!(chosen("neither, blue", &question(true)), ["neither, blue"]);
    }
}
