//! The person at the terminal: what is put to them, and what they answer.

use super::render::phrases;
use super::render::sanitize::{one_line, sanitize};
use super::render::{Theme, diff};
use super::terminal;
use crate::agent::event::{Answer, Question};
use crate::cancel::Cancel;
use crate::sandbox::Lift;
use crate::tools::action::{Action, AskedQuestion};
use std::io::{self, Write};

/// Somebody who can be asked.
pub trait Person {
    /// May this be done?
    fn ask(&mut self, question: &Question, theme: &Theme) -> Answer;
    /// A question of the program, to be answered with yes or no.
    fn confirm(&mut self, question: &str, theme: &Theme) -> bool;
    /// Questions of the model; `None` when the person does not want to answer.
    fn questions(&mut self, questions: &[AskedQuestion], theme: &Theme)
    -> Option<Vec<Vec<String>>>;
}

/// The person who typed the task.
pub struct AtTerminal {
    cancel: Cancel,
}

impl AtTerminal {
    /// `cancel` ends a question without an answer.
    pub fn new(cancel: Cancel) -> Self {
        AtTerminal { cancel }
    }
}

impl Person for AtTerminal {
    fn ask(&mut self, question: &Question, theme: &Theme) -> Answer {
        ask(question, theme, &self.cancel)
    }

    fn confirm(&mut self, question: &str, theme: &Theme) -> bool {
        terminal::forget_typed();
        eprint_safe(&format!(
            "{} {} [y/n] ",
            theme.warn.paint("?"),
            sanitize(question)
        ));
        match terminal::line(&self.cancel) {
            Some(line) => matches!(line.trim(), "y" | "yes"),
            None => {
                eprint_safe("\n");
                false
            }
        }
    }

    fn questions(
        &mut self,
        questions: &[AskedQuestion],
        theme: &Theme,
    ) -> Option<Vec<Vec<String>>> {
        terminal::forget_typed();
        let answer = |question| answer_to(question, theme, &self.cancel);
        questions.iter().map(answer).collect()
    }
}

/// Shows one question of the model and reads the answer: numbers of its options, or own words.
fn answer_to(question: &AskedQuestion, theme: &Theme, cancel: &Cancel) -> Option<Vec<String>> {
    let mut text = format!(
        "{} {}\n",
        theme.warn.paint("the model asks:"),
        sanitize(&question.question)
    );
    for (at, (label, meaning)) in question.options.iter().enumerate() {
        let meaning = match meaning.as_str() {
            "" => String::new(),
            words => format!(" — {}", one_line(words)),
        };
        text.push_str(&format!("  [{}] {}{meaning}\n", at + 1, one_line(label)));
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

/// Puts a question to the person. The default is no.
fn ask(question: &Question, theme: &Theme, cancel: &Cancel) -> Answer {
    terminal::forget_typed();
    let mut text = String::new();
    let found = if question.recovered {
        " (found in the text of the reply)"
    } else {
        ""
    };
    text.push_str(&format!(
        "{} {}{found}\n",
        theme.warn.paint("may this be done?"),
        sanitize(&question.reason)
    ));
    match &question.action {
        Action::Shell(shell) => sanitize(&shell.command)
            .lines()
            .for_each(|l| text.push_str(&format!("  {l}\n"))),
        Action::Mode { plan, .. } => sanitize(plan)
            .lines()
            .for_each(|l| text.push_str(&format!("  {l}\n"))),
        Action::Patch { text: patch, .. } => sanitize(patch)
            .lines()
            .for_each(|l| text.push_str(&format!("  {l}\n"))),
        Action::Write { path, content, .. } => text.push_str(&format!(
            "  {}\n{}",
            sanitize(path),
            diff::diff("", content, theme)
        )),
        Action::Edit { path, edits, .. } => {
            text.push_str(&format!("  {}\n", sanitize(path)));
            edits
                .iter()
                .for_each(|e| text.push_str(&diff::diff(&e.old, &e.new, theme)));
        }
        other => text.push_str(&format!("  {} {}\n", other.verb(), phrases::gist(other))),
    }
    let lift = match &question.lift {
        Lift::Nothing => String::new(),
        Lift::Network => "; yes lets it use the network".into(),
        Lift::Git => "; yes lets it write .git".into(),
        Lift::Folder(path) => format!(
            "; yes lets it write in {}",
            sanitize(&path.display().to_string())
        ),
        Lift::Everything => "; yes runs it without the sandbox".into(),
    };
    text.push_str(&format!(
        "  in {}{lift}\n",
        sanitize(&question.cwd.display().to_string())
    ));
    eprint_safe(&text);
    eprint_safe(
        "  [y] yes  [s] yes for this session  [n] no  [x] stop  — or say what to do instead: ",
    );
    let Some(line) = terminal::line(cancel) else {
        eprint_safe("\n");
        return Answer::Stop;
    };
    match line.trim() {
        "y" | "yes" => Answer::Yes,
        "s" => Answer::YesForSession,
        "" | "n" | "no" => Answer::No(None),
        "x" | "stop" => Answer::Stop,
        words => Answer::No(Some(words.to_owned())),
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
