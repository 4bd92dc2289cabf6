//! The interactive session: read, run a turn, repeat.

use super::render::human::{self, Human};
use super::render::status::Status;
use super::render::{Theme, diff, sanitize::sanitize};
use super::signals::Signals;
use super::slash::{self, Done};
use crate::agent::event::{Answer, Event, Frontend, Question};
use crate::agent::session::Session;
use crate::harnesses::Input;
use crate::sandbox::Lift;
use crate::store::history;
use crate::store::paths::Home;
use crate::tools::action::Action;
use rustyline::error::ReadlineError;
use rustyline::history::History;
use std::io::{self, BufRead, Stderr, Write};

/// What a repl works with.
pub struct Repl<'a> {
    /// The session.
    pub session: Session,
    /// Where it prints.
    pub front: Human<Stderr>,
    /// Signals.
    pub signals: &'a Signals,
    /// The home, for the history file.
    pub home: &'a Home,
    /// Keep the history.
    pub keep_history: bool,
}

/// The front end of an interactive session.
pub fn front(theme: Theme, show_reasoning: bool) -> Human<Stderr> {
    Human::new(
        io::stderr(),
        theme,
        true,
        show_reasoning,
        Some(Box::new(ask)),
    )
    .with_status(Status::on(&io::stderr()))
}

impl Repl<'_> {
    /// Runs until the user leaves. `first` is a message to begin with.
    ///
    /// # Errors
    /// When the terminal cannot be read.
    pub fn run(mut self, first: Option<Input>) -> Result<(), String> {
        let mut editor = rustyline::DefaultEditor::new()
            .map_err(|e| format!("the terminal cannot be read: {e}"))?;
        if self.keep_history {
            for prompt in history::recent(self.home, 1_000).unwrap_or_default() {
                let _ = editor.history_mut().add_owned(prompt);
            }
        }
        let mut next = first;
        let mut interrupted = false;
        loop {
            if let Some(input) = next.take() {
                self.signals.cancel.reset();
                self.session.turn(&input, &mut self.front);
                if self.signals.is_terminated() {
                    return Ok(());
                }
            }
            match editor.readline("› ") {
                Ok(line) => {
                    interrupted = false;
                    let line = line.trim();
                    if line.is_empty() {
                        continue;
                    }
                    let _ = editor.add_history_entry(line);
                    if self.keep_history {
                        let _ = history::append(self.home, &self.session.info().id, line);
                    }
                    if line.starts_with('/') {
                        self.signals.cancel.reset();
                        match slash::run(line, &mut self.session, &mut self.front) {
                            Done::Said(text) => eprintln_safe(&text),
                            Done::Leave => return Ok(()),
                        }
                        continue;
                    }
                    next = self.input(line.to_owned());
                }
                // Once takes the line back, twice leaves.
                Err(ReadlineError::Interrupted) if interrupted => return Ok(()),
                Err(ReadlineError::Interrupted) => {
                    interrupted = true;
                    eprintln_safe("(Ctrl+C again, or Ctrl+D, leaves)");
                }
                Err(ReadlineError::Eof) => return Ok(()),
                Err(e) => return Err(format!("the terminal cannot be read: {e}")),
            }
        }
    }

    fn input(&mut self, text: String) -> Option<Input> {
        match self.session.fit_input(text) {
            Ok((text, _)) => Some(Input::text(text)),
            Err(e) => {
                self.front.event(&Event::Warning(format!(
                    "this input is too long for the window and cannot be put into a file: {e}"
                )));
                None
            }
        }
    }
}

/// Puts a question to the person. The default is no.
fn ask(question: &Question, theme: &Theme) -> Answer {
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
        other => text.push_str(&format!("  {} {}\n", other.verb(), human::gist(other))),
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
    let mut line = String::new();
    match io::stdin().lock().read_line(&mut line) {
        Ok(0) | Err(_) => Answer::Stop,
        Ok(_) => match line.trim() {
            "y" | "yes" => Answer::Yes,
            "s" => Answer::YesForSession,
            "" | "n" | "no" => Answer::No(None),
            "x" | "stop" => Answer::Stop,
            words => Answer::No(Some(words.to_owned())),
        },
    }
}

fn eprintln_safe(text: &str) {
    eprint_safe(&format!("{text}\n"));
}

/// A terminal that went away is no reason to panic.
fn eprint_safe(text: &str) {
    let mut err = io::stderr().lock();
    let _ = err.write_all(text.as_bytes());
    let _ = err.flush();
}
