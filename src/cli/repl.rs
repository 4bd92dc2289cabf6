//! The interactive session: read, run a turn, repeat.

use super::args::Options;
use super::commands::session::Setup;
use super::person::{AtTerminal, eprintln_safe};
use super::render::human::Human;
use super::render::status::Status;
use super::render::{Theme, changes};
use super::signals::Signals;
use super::slash::{self, Desk, Done};
use super::{pager, parts};
use crate::agent::event::{Event, Frontend};
use crate::agent::session::Session;
use crate::cancel::Cancel;
use crate::harnesses::Input;
use crate::store::history;
use rustyline::error::ReadlineError;
use rustyline::history::History;
use std::io::{self, Stderr};
use std::sync::atomic::Ordering;

/// What a repl works with.
pub struct Repl<'a> {
    /// The session.
    pub session: Session,
    /// Where it prints.
    pub front: Human<Stderr>,
    /// Signals.
    pub signals: &'a Signals,
    /// Home, settings and folder.
    pub setup: &'a Setup,
    /// The flags.
    pub options: &'a Options,
}

/// The front end of an interactive session.
pub fn front(theme: Theme, show_reasoning: bool, cancel: &Cancel) -> Human<Stderr> {
    let cancel = cancel.clone();
    Human::new(
        io::stderr(),
        theme,
        true,
        show_reasoning,
        Some(Box::new(AtTerminal::new(cancel))),
    )
    .with_status(Status::on(&io::stderr()))
}

impl Repl<'_> {
    /// Runs until the user leaves. `first` is a message to begin with. Gives the id of the session
    /// that can be resumed.
    ///
    /// # Errors
    /// When the terminal cannot be read.
    pub fn run(mut self, first: Option<Input>) -> Result<Option<String>, String> {
        self.talk(first)?;
        let info = self.session.info();
        Ok(info.file.is_some().then(|| info.id.clone()))
    }

    fn talk(&mut self, first: Option<Input>) -> Result<(), String> {
        let mut editor = rustyline::DefaultEditor::new()
            .map_err(|e| format!("the terminal cannot be read: {e}"))?;
        let keep_history = *self.setup.config.history;
        let home = &self.setup.home;
        if keep_history {
            for prompt in history::recent(home, 1_000).unwrap_or_default() {
                let _ = editor.history_mut().add_owned(prompt);
            }
        }
        let mut next = first;
        let mut interrupted = false;
        let prompt = self
            .signals
            .leave_at_prompt()
            .map_err(|e| format!("signals cannot be handled: {e}"))?;
        loop {
            if let Some(input) = next.take() {
                self.signals.cancel.reset();
                self.session.turn(&input, &mut self.front);
                if self.signals.is_terminated() {
                    return Ok(());
                }
            }
            prompt.store(true, Ordering::SeqCst);
            if self.signals.is_terminated() {
                return Ok(());
            }
            let line = editor.readline("› ");
            prompt.store(false, Ordering::SeqCst);
            match line {
                Ok(line) => {
                    interrupted = false;
                    let line = line.trim();
                    if line.is_empty() {
                        continue;
                    }
                    let _ = editor.add_history_entry(line);
                    if keep_history {
                        let _ = history::append(home, &self.session.info().id, line);
                    }
                    if line.starts_with('/') {
                        self.signals.cancel.reset();
                        let mut desk = Desk {
                            session: &mut self.session,
                            front: &mut self.front,
                            setup: self.setup,
                            options: self.options,
                        };
                        match slash::run(line, &mut desk) {
                            Done::Said(text) if text.is_empty() => {}
                            Done::Said(text) => eprintln_safe(&text),
                            Done::Show(words, files) => {
                                let theme = self.front.theme();
                                let shown = format!("{words}{}", changes::files(&files, theme));
                                pager::show(&shown, &mut io::stderr());
                            }
                            Done::Parts => {
                                let theme = *self.front.theme();
                                eprintln_safe(&parts::go_through(&mut self.session, &theme));
                            }
                            Done::Turn(input) => next = Some(input),
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
