//! What is printed, and below it the line that is written over: what goes on, and what was typed.
//!
//! Text is only ever added, in whole lines, so that the status line has a place of its own and
//! nothing that a person saw vanishes.

use super::progress::Progress;
use super::sanitize::one_line;
use super::wrap::{fit_end, fit_start, width};
use crate::cli::terminal;
use nu_ansi_term::Style;
use std::io::{IsTerminal, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Goes to the start of the line and clears it.
const CLEAR: &str = "\r\x1b[K";
/// Around the text: the terminal cuts a line that is too long instead of beginning another, which
/// could not be taken away.
const NO_WRAP: (&str, &str) = ("\x1b[?7l", "\x1b[?7h");
/// The line is not written more often than this, unless a key was typed.
const PAUSE: Duration = Duration::from_millis(100);
/// Columns that what is typed gets before the status is cut for it.
const TYPED: usize = 24;

/// Where a front end prints. Clones share it.
pub struct Screen<W: Write>(Arc<Mutex<Inner<W>>>);

impl<W: Write> Clone for Screen<W> {
    fn clone(&self) -> Self {
        Screen(self.0.clone())
    }
}

struct Inner<W> {
    out: W,
    live: bool,
    dim: Style,
    columns: fn() -> usize,
    progress: Option<Progress>,
    draft: String,
    queued: usize,
    /// A question stands at the end of the text: no status line until it is answered.
    held: bool,
    shown: bool,
    written: Option<Instant>,
}

impl<W: Write + IsTerminal> Screen<W> {
    /// With a status line in `dim`, unless it is no terminal or one with `TERM=dumb`.
    pub fn new(out: W, dim: Style) -> Self {
        let live = out.is_terminal() && !terminal::is_dumb();
        Screen::with(out, live, dim, terminal::columns)
    }
}

impl<W: Write> Screen<W> {
    /// With a status line if `live`, laid out for so many columns.
    pub fn with(out: W, live: bool, dim: Style, columns: fn() -> usize) -> Self {
        Screen(Arc::new(Mutex::new(Inner {
            out,
            live,
            dim,
            columns,
            progress: None,
            draft: String::new(),
            queued: 0,
            held: false,
            shown: false,
            written: None,
        })))
    }

    /// True when there is a status line.
    pub fn is_live(&self) -> bool {
        self.lock().live
    }

    /// The columns that text is laid out for.
    pub fn columns(&self) -> usize {
        (self.lock().columns)()
    }

    /// Adds text, which ends with a line end unless a question follows. A reader that went away is
    /// no reason to stop the work.
    pub fn print(&self, text: &str) {
        if text.is_empty() {
            return;
        }
        let mut inner = self.lock();
        let mut all = inner.taken_away();
        all.push_str(text);
        if text.ends_with('\n') {
            all.push_str(&inner.bottom());
        }
        inner.write(&all);
    }

    /// Changes what is told of the work; `None` when there is none. The line follows when it is due.
    pub fn progress<T>(&self, change: impl FnOnce(&mut Option<Progress>) -> T) -> T {
        let mut inner = self.lock();
        let result = change(&mut inner.progress);
        let soon = inner.written.is_some_and(|at| at.elapsed() < PAUSE);
        if !(inner.shown && soon && inner.progress.is_some()) {
            inner.redraw();
        }
        result
    }

    /// What is being typed, and how many messages wait.
    pub fn set_draft(&self, draft: &str, queued: usize) {
        let mut inner = self.lock();
        if inner.draft == draft && inner.queued == queued {
            return;
        }
        inner.draft.clear();
        inner.draft.push_str(draft);
        inner.queued = queued;
        inner.redraw();
    }

    /// Writes the line anew: its time runs, and the window may have another size.
    pub fn refresh(&self) {
        self.lock().redraw();
    }

    /// Takes the line away until it is let go.
    pub fn hold(&self, held: bool) {
        let mut inner = self.lock();
        inner.held = held;
        inner.redraw();
    }

    fn lock(&self) -> MutexGuard<'_, Inner<W>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W: Write> Inner<W> {
    fn write(&mut self, text: &str) {
        if !text.is_empty() {
            let _ = self.out.write_all(text.as_bytes());
            let _ = self.out.flush();
        }
    }

    /// What takes the line away.
    fn taken_away(&mut self) -> String {
        match std::mem::take(&mut self.shown) {
            true => CLEAR.to_owned(),
            false => String::new(),
        }
    }

    fn redraw(&mut self) {
        let mut all = self.taken_away();
        all.push_str(&self.bottom());
        self.write(&all);
    }

    /// The line, where there is something to tell.
    fn bottom(&mut self) -> String {
        if !self.live || self.held {
            return String::new();
        }
        let text = self.line();
        if text.is_empty() {
            return String::new();
        }
        (self.shown, self.written) = (true, Some(Instant::now()));
        format!("{CLEAR}{}{text}{}", NO_WRAP.0, NO_WRAP.1)
    }

    /// Status and draft within one line. Of a long draft the end is seen, where one types.
    fn line(&self) -> String {
        let room = (self.columns)().saturating_sub(1);
        let draft = one_line(&self.draft);
        let lead = match (self.queued, draft.is_empty()) {
            (0, true) => String::new(),
            (0, false) => "› ".to_owned(),
            (n, true) => format!("{n} waiting"),
            (n, false) => format!("{n} waiting › "),
        };
        let typed = (width(&lead) + width(&draft)).min(room.max(TYPED) / 2);
        let gap = usize::from(typed > 0);
        let status_room = room.saturating_sub(typed + gap);
        let status = self.progress.as_ref().map(|p| p.line(status_room));
        let status = fit_start(&one_line(&status.unwrap_or_default()), status_room);
        let gap = if status.is_empty() { 0 } else { gap };
        let rest = room.saturating_sub(width(&status) + gap + width(&lead));
        let status = match status.is_empty() {
            true => status,
            false => self.dim.paint(status).to_string(),
        };
        let draft = fit_end(&draft, rest);
        format!("{status}{:gap$}{lead}{draft}", "")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is written to a terminal of 40 columns.
    fn written(act: impl FnOnce(&Screen<&mut Vec<u8>>)) -> String {
        let mut out = Vec::new();
        act(&Screen::with(&mut out, true, Style::new(), || 40));
        String::from_utf8(out).expect("text")
    }

    fn line(text: &str) -> String {
        format!("{CLEAR}\x1b[?7l{text}\x1b[?7h")
    }

    #[test]
    fn the_line_stays_below_the_text_and_is_taken_away() {
        let text = written(|screen| {
            screen.progress(|p| *p = Some(Progress::doing("reading\x1b[2J")));
            screen.print("one\n");
            screen.progress(|p| *p = None);
            screen.print("two\n");
        });
        let status = line("reading^[[2J · 0 s");
        assert_eq!(text, format!("{status}{CLEAR}one\n{status}{CLEAR}two\n"));
    }

    #[test]
    fn what_is_typed_is_seen_to_its_end() {
        let text = written(|screen| {
            screen.progress(|p| *p = Some(Progress::doing("running a long command line")));
            screen.set_draft("and then do this other thing", 1);
        });
        let last = text.rsplit(CLEAR).next().expect("a line");
        assert_eq!(
            last,
            "\x1b[?7lrunning a lo… · 0 s 1 waiting › … thing\x1b[?7h"
        );
        assert_eq!(
            written(|screen| screen.set_draft("日本語", 0)),
            line("› 日本語")
        );
    }

    #[test]
    fn nothing_is_written_over_a_question() {
        let text = written(|screen| {
            screen.hold(true);
            screen.set_draft("x", 0);
            screen.print("may it? ");
            screen.hold(false);
        });
        assert_eq!(text, format!("may it? {}", line("› x")));
    }

    #[test]
    fn without_a_terminal_there_is_no_line() {
        let mut out = Vec::new();
        let screen = Screen::with(&mut out, false, Style::new(), || 80);
        screen.progress(|p| *p = Some(Progress::doing("reading")));
        screen.print("one\n");
        screen.refresh();
        drop(screen);
        assert_eq!(out, b"one\n");
    }
}
