//! The interactive session: read, run a turn, repeat.

use super::args::Options;
use super::attach;
use super::attention::{Attention, Occasion};
use super::commands::session::Setup;
use super::editor::{Editor, PROMPT, Typed};
use super::keys::Keys;
use super::own_command;
use super::person::{AtTerminal, eprint_safe, eprintln_safe};
use super::render::human::Human;
use super::render::sanitize::sanitize;
use super::render::screen::Screen;
use super::render::wrap::hanging;
use super::render::{Theme, changes};
use super::signals::Signals;
use super::slash::{self, Desk, Done};
use super::{pager, parts, terminal};
use crate::agent::event::{Event, Frontend};
use crate::agent::session::Session;
use crate::config::Notifications;
use crate::harnesses::Input;
use std::collections::VecDeque;
use std::io::{self, Stderr};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// An interrupt at the prompt that follows one of a turn so soon leaves.
const TWICE: Duration = Duration::from_secs(2);

/// Where an interactive session prints, and whom it asks.
pub struct Console {
    /// The front end.
    pub front: Human<Stderr>,
    theme: Theme,
    keys: Keys,
    attention: Attention,
}

impl Console {
    /// The console of a session in `cwd`.
    pub fn new(
        theme: Theme,
        show_reasoning: bool,
        notifications: Notifications,
        signals: &Signals,
        cwd: &Path,
    ) -> Self {
        let screen = Screen::new(io::stderr(), theme.dim);
        let keys = Keys::new(signals, screen.clone());
        let attention = Attention::new(notifications, keys.clone(), cwd);
        let person = AtTerminal::new(signals.clone(), keys.clone(), attention.clone());
        let front = Human::new(screen, theme, true, show_reasoning, Some(Box::new(person)));
        Console {
            front,
            theme,
            keys,
            attention,
        }
    }
}

/// What a repl works with.
pub struct Repl<'a> {
    /// The session.
    pub session: Session,
    /// Where it prints.
    pub console: Console,
    /// Signals.
    pub signals: &'a Signals,
    /// Home, settings and folder.
    pub setup: &'a mut Setup,
    /// The flags.
    pub options: &'a Options,
}

/// What one message leaves to do.
enum Next {
    /// Read the next one.
    Read,
    /// Leave the session.
    Leave,
}

impl Repl<'_> {
    /// Runs until the user leaves. `first` is a message to begin with. Gives the id of the session
    /// that can be resumed.
    ///
    /// # Errors
    /// When the terminal cannot be read.
    pub fn run(mut self, first: Option<Input>) -> Result<Option<String>, String> {
        let left = self.converse(first);
        self.session
            .end("prompt_input_exit", &mut self.console.front);
        self.console.attention.end();
        left?;
        self.session.forget_unsaid();
        let info = self.session.info();
        Ok(info.file.is_some().then(|| info.id.clone()))
    }

    fn converse(&mut self, first: Option<Input>) -> Result<(), String> {
        let home = self.setup.home.clone();
        let mut editor = Editor::new(
            &home,
            &self.session.info().cwd,
            *self.setup.config.history,
            self.console.theme,
            &self.signals.cancel,
        )?;
        let prompt = self
            .signals
            .leave_at_prompt()
            .map_err(|e| format!("signals cannot be handled: {e}"))?;
        let mut own = Own::default();
        // The latest interrupt, and whether one at the prompt leaves however long ago it was.
        let mut interrupted: Option<(Instant, bool)> = None;
        self.console.attention.idle();
        if matches!(self.ask_again(), Next::Leave) {
            return Ok(());
        }
        if let Some(input) = first
            && matches!(self.turn(&input), Next::Leave)
        {
            return Ok(());
        }
        loop {
            if self.signals.cancel.is_cancelled() {
                interrupted = Some((Instant::now(), false));
                self.signals.begin();
            }
            let queued = self.console.keys.typed().queue.pop_front();
            let text = match queued {
                Some(text) => {
                    eprintln_safe(&format!("{PROMPT}{}", sanitize(&text)));
                    text
                }
                None => {
                    prompt.store(true, Ordering::SeqCst);
                    if self.signals.is_terminated() {
                        return Ok(());
                    }
                    let draft = self.console.keys.typed().recall();
                    let typed = editor.read(&draft)?;
                    prompt.store(false, Ordering::SeqCst);
                    match typed {
                        Typed::Text(text) => text,
                        Typed::End => return Ok(()),
                        // Once takes the line back, twice leaves.
                        Typed::Interrupted => {
                            self.signals.begin();
                            let again =
                                |(at, always): (Instant, bool)| always || at.elapsed() < TWICE;
                            if interrupted.is_some_and(again) {
                                return Ok(());
                            }
                            interrupted = Some((Instant::now(), true));
                            eprintln_safe("(Ctrl+C again, or Ctrl+D, leaves)");
                            continue;
                        }
                    }
                }
            };
            interrupted = None;
            if text.trim().is_empty() {
                continue;
            }
            editor.remember(&self.session.info().id, text.trim_end());
            if matches!(self.obey(text.trim(), &mut own), Next::Leave) {
                return Ok(());
            }
        }
    }

    /// Does what a message says.
    fn obey(&mut self, text: &str, own: &mut Own) -> Next {
        if text.starts_with('/') && !is_path(text) {
            self.signals.begin();
            let mut desk = Desk {
                session: &mut self.session,
                front: &mut self.console.front,
                setup: self.setup,
                options: self.options,
            };
            match slash::run(text, &mut desk) {
                Done::Said(text) if text.is_empty() => {}
                Done::Said(text) => tell(&text),
                Done::Show(words, files) => {
                    let words = hanging(&words, terminal::columns());
                    let shown = format!("{words}{}", changes::files(&files, &self.console.theme));
                    pager::show(&shown, &mut io::stderr());
                }
                Done::Parts => {
                    eprintln_safe(&parts::go_through(&mut self.session, &self.console.theme));
                }
                Done::Turn(input) => return self.turn(&input),
                Done::Work(work) => {
                    let mut said = String::new();
                    let next = self.work(|session, front| said = work(session, front));
                    if !said.is_empty() {
                        tell(&said);
                    }
                    return next;
                }
                Done::Leave => return Next::Leave,
            }
            // Another session may have come, with a question of its own.
            return self.ask_again();
        }
        if let Some(command) = text
            .strip_prefix('!')
            .map(str::trim)
            .filter(|c| !c.is_empty())
        {
            let cwd = self.session.info().cwd.clone();
            match own_command::run(command, &cwd, self.signals, &mut io::stderr()) {
                Ok(told) => own.add(told),
                Err(why) => eprintln_safe(&sanitize(&why)),
            }
            return Next::Read;
        }
        match self.input(text, own) {
            Some(input) => self.turn(&input),
            None => Next::Read,
        }
    }

    /// Goes on with what the session asked when an earlier run of the program ended.
    fn ask_again(&mut self) -> Next {
        match self.session.has_question() {
            true => self.work(|session, front| {
                session.ask_again(front);
            }),
            false => Next::Read,
        }
    }

    /// Runs a turn.
    fn turn(&mut self, input: &Input) -> Next {
        self.work(|session, front| {
            session.turn(input, front);
        })
    }

    /// Does something that takes its time, while keys are collected.
    fn work(&mut self, work: impl FnOnce(&mut Session, &mut Human<Stderr>)) -> Next {
        self.signals.begin();
        self.console.attention.working();
        let watch = self.console.keys.watch();
        work(&mut self.session, &mut self.console.front);
        drop(watch);
        if self.signals.cancel.is_cancelled() {
            // What waited was meant for another end of the turn; it goes back to the prompt.
            let mut typed = self.console.keys.typed();
            typed.draft = typed.recall();
        }
        if self.signals.is_terminated() || self.signals.wants_to_leave() {
            return Next::Leave;
        }
        match self.console.keys.typed().queue.is_empty() {
            true => self.console.attention.call(Occasion::Turn, ""),
            false => self.console.attention.idle(),
        }
        Next::Read
    }

    /// The message for the model: words, pictures that they name, and before them the commands that
    /// the person ran.
    fn input(&mut self, text: &str, own: &mut Own) -> Option<Input> {
        let (images, troubles) = attach::pictures(text, &self.session.info().cwd);
        for trouble in troubles {
            self.console.front.event(&Event::Warning(trouble));
        }
        match self.session.fit_input(own.before(text)) {
            Ok((text, _)) => {
                own.told.clear();
                Some(Input { text, images })
            }
            Err(e) => {
                self.console.front.event(&Event::Warning(format!(
                    "this input is too long for the window and cannot be put into a file: {e}"
                )));
                None
            }
        }
    }
}

/// What the person's own commands said since the last message.
#[derive(Default)]
struct Own {
    told: VecDeque<String>,
}

impl Own {
    /// The most commands that a message begins with; older ones were seen by the person alone.
    const MOST: usize = 5;

    fn add(&mut self, told: String) {
        self.told.push_back(told);
        if self.told.len() > Self::MOST {
            self.told.pop_front();
        }
    }

    fn before(&self, text: &str) -> String {
        let mut all: Vec<&str> = self.told.iter().map(String::as_str).collect();
        all.push(text);
        all.join("\n\n")
    }
}

/// Words of a command, laid out for the terminal.
fn tell(text: &str) {
    eprint_safe(&hanging(text, terminal::columns()));
}

/// A path of a dropped file, and no command: its first word goes on with another slash.
fn is_path(text: &str) -> bool {
    let word = text.split_whitespace().next().unwrap_or_default();
    word[1..].contains('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_no_command() {
        assert!(is_path("/tmp/shot.png what is this"));
        assert!(!is_path("/harness a/b") && !is_path("/help") && !is_path("/"));
    }

    #[test]
    fn own_commands_stand_before_the_words() {
        let mut own = Own::default();
        assert_eq!(own.before("fix"), "fix");
        (0..7).for_each(|n| own.add(format!("<{n}>")));
        assert_eq!(own.before("fix"), "<2>\n\n<3>\n\n<4>\n\n<5>\n\n<6>\n\nfix");
    }
}
