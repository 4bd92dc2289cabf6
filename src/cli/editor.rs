//! The prompt: one message, which may have many lines.

mod complete;
mod external;

use super::render::Theme;
use super::terminal;
use crate::cancel::Cancel;
use crate::store::history;
use crate::store::paths::Home;
use complete::Completion;
use rustyline::completion::{Completer, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::{DefaultHistory, History};
use rustyline::validate::Validator;
use rustyline::{
    Cmd, ColorMode, CompletionType, ConditionalEventHandler, Context, Event, EventContext,
    EventHandler, Helper, KeyCode, KeyEvent, Modifiers, RepeatCount,
};
use std::borrow::Cow;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What stands before a message.
pub const PROMPT: &str = "› ";
/// Messages of earlier sessions that can be called back.
const REMEMBERED: usize = 1_000;

/// The keys of the prompt that are not those of every line editor, for `/help`.
pub const KEYS: &[(&str, &str)] = &[
    ("Alt+Enter, \\ Enter", "a new line in the same message"),
    ("Ctrl+G", "write in $VISUAL or $EDITOR"),
    ("Ctrl+R", "search the history"),
    ("Tab", "complete a /command or an @file"),
    (
        "!command",
        "run a command of your own; the model sees its output",
    ),
    ("@picture.png", "show a picture to the model"),
    (
        "Esc, Ctrl+C",
        "while it works: interrupt; Ctrl+C twice leaves",
    ),
];

/// What came from the prompt.
#[derive(Debug, PartialEq, Eq)]
pub enum Typed {
    /// A message, as typed.
    Text(String),
    /// Ctrl+C: the message is taken back.
    Interrupted,
    /// Ctrl+D, or the end of the input.
    End,
}

/// The editor of the prompt.
pub struct Editor<'a> {
    /// `None` for a terminal that can do nothing but print.
    rich: Option<rustyline::Editor<Prompt, DefaultHistory>>,
    enter: Enter,
    /// Ctrl+G was pressed.
    wants_external: Arc<AtomicBool>,
    home: &'a Home,
    keep_history: bool,
    cancel: Cancel,
}

impl<'a> Editor<'a> {
    /// An editor for a session in `cwd`. With `keep_history`, messages are kept in the home and
    /// called back in later sessions.
    ///
    /// # Errors
    /// When the terminal cannot be used.
    pub fn new(
        home: &'a Home,
        cwd: &Path,
        keep_history: bool,
        theme: Theme,
        cancel: &Cancel,
    ) -> Result<Self, String> {
        let wants_external = Arc::new(AtomicBool::new(false));
        let enter = Enter::default();
        let rich = match terminal::is_dumb() {
            true => None,
            false => Some(rich(cwd, theme, &enter, &wants_external).map_err(unreadable)?),
        };
        let mut editor = Editor {
            rich,
            enter,
            wants_external,
            home,
            keep_history,
            cancel: cancel.clone(),
        };
        if keep_history && let Some(rich) = &mut editor.rich {
            for prompt in history::recent(home, REMEMBERED).unwrap_or_default() {
                let _ = rich.history_mut().add_owned(prompt);
            }
        }
        Ok(editor)
    }

    /// Reads a message, beginning with `draft`.
    ///
    /// # Errors
    /// When the terminal cannot be read.
    pub fn read(&mut self, draft: &str) -> Result<Typed, String> {
        let Some(rich) = &mut self.rich else {
            return Ok(plain_line(draft, &self.cancel));
        };
        let mut draft = draft.to_owned();
        loop {
            self.enter.before().clear();
            let line = rich.readline_with_initial(PROMPT, (&draft, ""));
            match line.map(|text| self.enter.joined(text)) {
                Ok(text) if self.wants_external.swap(false, Ordering::SeqCst) => {
                    draft = external::edit(&text).unwrap_or_else(|why| {
                        super::person::eprintln_safe(&why);
                        text
                    });
                }
                Ok(text) => return Ok(Typed::Text(text)),
                Err(ReadlineError::Interrupted) => return Ok(Typed::Interrupted),
                Err(ReadlineError::Eof) => return Ok(Typed::End),
                // Bytes that are no text: the line is lost, the session is not.
                Err(ReadlineError::Io(e)) if e.kind() == ErrorKind::InvalidData => {
                    draft.clear();
                }
                Err(e) => return Err(unreadable(e)),
            }
        }
    }

    /// Keeps a message for later; one that begins with a space is forgotten, as in a shell.
    pub fn remember(&mut self, session: &str, text: &str) {
        if text.starts_with(' ') {
            return;
        }
        if let Some(rich) = &mut self.rich {
            let _ = rich.add_history_entry(text);
        }
        if self.keep_history {
            let _ = history::append(self.home, session, text);
        }
    }
}

fn unreadable(e: ReadlineError) -> String {
    format!("the terminal cannot be read: {e}")
}

/// A line of a terminal that edits it itself.
fn plain_line(draft: &str, cancel: &Cancel) -> Typed {
    super::person::eprint_safe(PROMPT);
    cancel.reset();
    match terminal::line(cancel) {
        Some(line) => Typed::Text(format!("{draft}{}", line.trim_end_matches(['\n', '\r']))),
        None => {
            super::person::eprint_safe("\n");
            match cancel.is_cancelled() {
                true => Typed::Interrupted,
                false => Typed::End,
            }
        }
    }
}

fn rich(
    cwd: &Path,
    theme: Theme,
    enter: &Enter,
    wants_external: &Arc<AtomicBool>,
) -> rustyline::Result<rustyline::Editor<Prompt, DefaultHistory>> {
    let color = match theme.has_styles() {
        true => ColorMode::Enabled,
        false => ColorMode::Disabled,
    };
    let config = rustyline::Config::builder()
        .max_history_size(REMEMBERED)?
        .auto_add_history(false)
        // The best match comes first, so it is taken at once; Tab goes on to the next.
        .completion_type(CompletionType::Circular)
        .color_mode(color)
        .build();
    let mut editor = rustyline::Editor::with_config(config)?;
    editor.set_helper(Some(Prompt {
        completion: Completion::new(cwd),
        theme,
    }));
    editor.bind_sequence(KeyEvent(KeyCode::Enter, Modifiers::ALT), Cmd::Newline);
    let enter = EventHandler::Conditional(Box::new(enter.clone()));
    editor.bind_sequence(KeyEvent(KeyCode::Enter, Modifiers::NONE), enter);
    let external = External(wants_external.clone());
    let external = EventHandler::Conditional(Box::new(external));
    editor.bind_sequence(KeyEvent::ctrl('G'), external);
    Ok(editor)
}

/// A backslash before Enter makes a new line, for terminals that keep Alt+Enter for themselves.
/// The backslash is seen until the message is sent. Holds what stood before each of them.
#[derive(Clone, Default)]
struct Enter(Arc<Mutex<Vec<String>>>);

impl Enter {
    fn before(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The message without those backslashes; others, in a pasted command for example, stay.
    fn joined(&self, mut text: String) -> String {
        for before in self.before().drain(..).rev() {
            let rest = text.strip_prefix(&before);
            if rest.is_some_and(|rest| rest.starts_with("\\\n")) {
                text.remove(before.len());
            }
        }
        text
    }
}

impl ConditionalEventHandler for Enter {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, at: &EventContext) -> Option<Cmd> {
        let before = at.line().get(..at.pos())?.strip_suffix('\\')?;
        self.before().push(before.to_owned());
        Some(Cmd::Newline)
    }
}

/// Ends the line, and says that it goes on in another editor.
struct External(Arc<AtomicBool>);

impl ConditionalEventHandler for External {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, _: &EventContext) -> Option<Cmd> {
        self.0.store(true, Ordering::SeqCst);
        Some(Cmd::AcceptLine)
    }
}

/// What the line editor asks while one types.
struct Prompt {
    completion: Completion,
    theme: Theme,
}

impl Helper for Prompt {}
impl Validator for Prompt {}

impl Completer for Prompt {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        pos: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let (start, words) = self.completion.of(line.get(..pos).unwrap_or_default());
        let pair = |word: String| Pair {
            display: word.clone(),
            replacement: word,
        };
        Ok((start, words.into_iter().map(pair).collect()))
    }
}

impl Hinter for Prompt {
    type Hint = String;

    /// The rest of a command's name and what it does. Without styles it would look like typed text.
    fn hint(&self, line: &str, pos: usize, _: &Context<'_>) -> Option<String> {
        if !self.theme.has_styles() || pos != line.len() {
            return None;
        }
        let columns = terminal::columns().saturating_sub(PROMPT.len() + line.len());
        self.completion.hint(line, columns)
    }
}

impl Highlighter for Prompt {
    fn highlight_hint<'h>(&self, hint: &'h str) -> Cow<'h, str> {
        Cow::Owned(self.theme.dim.paint(hint).to_string())
    }

    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(&'s self, prompt: &'p str, _: bool) -> Cow<'b, str> {
        Cow::Owned(self.theme.action.paint(prompt).to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_backslashes_that_made_a_line_go() {
        let enter = Enter::default();
        enter.before().push("one".into());
        enter.before().push("one\\\ntwo".into());
        enter.before().push("what was changed since".into());
        let text = "one\\\ntwo\\\nmake \\\n  all";
        assert_eq!(enter.joined(text.into()), "one\ntwo\nmake \\\n  all");
        assert_eq!(enter.joined(text.into()), text);
    }
}
