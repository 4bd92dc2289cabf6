//! The terminal that a person types in, while no line editor reads it.
//!
//! Whoever changes its settings holds a [`Mode`], which puts back what it found. Where no guard is
//! dropped (a signal that ends the program, a panic), [`leave`] puts back what was there at first.

#[cfg(unix)]
#[path = "terminal/unix.rs"]
mod sys;
#[cfg(not(unix))]
#[path = "terminal/other.rs"]
mod sys;

use crate::cancel::Cancel;
use std::io::{self, BufRead, Write};
use std::time::{Duration, Instant};

/// Lines and columns where nobody knows better.
const ROWS: usize = 24;
const COLUMNS: usize = 80;
/// Fewer columns than this are not laid out for: the terminal breaks the lines itself.
const LEAST_COLUMNS: usize = 20;

/// Ctrl+Z, where it is a key.
const SUSPEND: u8 = 0x1a;
/// How long a stop may take to be noticed: any thread may get the signal, so that the one that asked
/// may still run for a moment. Where no shell looks after jobs, nothing stops at all.
const STOPPING: Duration = Duration::from_millis(500);

/// Pasted text comes marked, and changes of the focus are told.
const MARKS_ON: &str = "\x1b[?1004h\x1b[?2004h";
/// The opposite.
const MARKS_OFF: &str = "\x1b[?2004l\x1b[?1004l";

/// True for a terminal that can do nothing but print, and one that a screen reader follows.
pub fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|t| t == "dumb")
}

/// The columns of the terminal behind standard error, at least 20; 80 where there is none.
pub fn columns() -> usize {
    let known = sys::size().map(|(_, columns)| columns).filter(|n| *n > 0);
    known.map_or(COLUMNS, |n| n.max(LEAST_COLUMNS))
}

/// The lines of the terminal behind standard error; 24 where there is none.
pub fn rows() -> usize {
    let known = sys::size().map(|(rows, _)| rows).filter(|n| *n > 0);
    known.unwrap_or(ROWS)
}

/// One line, or `None` at the end of the input, when it cannot be read, or when `cancel` was set
/// while waiting. The terminal shows and edits it, whatever mode it is in.
pub fn line(cancel: &Cancel) -> Option<String> {
    let _mode = Mode::lines();
    read_line(cancel)
}

fn read_line(cancel: &Cancel) -> Option<String> {
    if !sys::wait_for_line(cancel) {
        return None;
    }
    let mut line = String::new();
    match io::stdin().lock().read_line(&mut line) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(line),
    }
}

/// What is typed is not shown, as for a password, until this is dropped.
pub struct Hidden(#[expect(dead_code, reason = "held for what its drop does")] Mode);

impl Hidden {
    /// From now on. It has to begin before the question is on the screen, since a key may be pasted
    /// as soon as it is. `None` where the terminal would show it.
    pub fn begin() -> Option<Self> {
        let mode = Mode::hidden();
        mode.0.is_some().then_some(Hidden(mode))
    }

    /// One line, as [`line`] gives it.
    pub fn line(&self, cancel: &Cancel) -> Option<String> {
        let line = read_line(cancel);
        if !sys::SHOWS_HIDDEN_END {
            let _ = io::stderr().write_all(b"\n");
        }
        line
    }
}

/// What came back from a wait for a key.
#[derive(Debug, PartialEq, Eq)]
pub enum Pressed {
    /// The bytes that the terminal sends. A key that is more than a character comes whole.
    Key(Vec<u8>),
    /// The program was stopped and goes on: what stood last is to be shown again.
    Resumed,
}

/// The next key, or `None` at the end of the input or when `cancel` was set. Ctrl+Z stops the program
/// here, as it does everywhere.
pub fn key(cancel: &Cancel) -> Option<Pressed> {
    let _mode = Mode::keys();
    // An earlier stop is nobody's business here.
    was_continued();
    let mut bytes = vec![0; 64];
    loop {
        match read(&mut bytes, Duration::from_millis(50)) {
            Ok(Some(0)) | Err(_) => return None,
            Ok(Some(1)) if bytes.first() == Some(&SUSPEND) => {
                suspend();
                Mode::take_up();
                return Some(Pressed::Resumed);
            }
            Ok(Some(n)) => return Some(Pressed::Key(bytes[..n].to_vec())),
            Ok(None) if cancel.is_cancelled() => return None,
            Ok(None) if was_continued() => {
                Mode::take_up();
                return Some(Pressed::Resumed);
            }
            Ok(None) => {}
        }
    }
}

/// True where single keys can be read; elsewhere a person ends an answer with Enter.
pub fn has_keys() -> bool {
    sys::HAS_KEYS && !is_dumb()
}

/// True when nothing can be typed any more: the window was closed, the connection ended.
pub fn is_gone() -> bool {
    sys::is_gone()
}

/// Bytes that were typed: `None` when none came in time, zero at the end of the input.
///
/// # Errors
/// When the terminal cannot be read.
pub fn read(buffer: &mut [u8], wait: Duration) -> io::Result<Option<usize>> {
    sys::read(buffer, wait)
}

/// Throws away what was typed so far and not read yet: it is no answer to a question that was not
/// there yet.
pub fn forget_typed() {
    sys::forget_typed();
}

/// Begins or ends the marks around pasted text and the news about the focus.
pub fn set_marks(on: bool) {
    sys::marked(on);
    let mut err = io::stderr().lock();
    let _ = err.write_all(if on { MARKS_ON } else { MARKS_OFF }.as_bytes());
    let _ = err.flush();
}

/// Settings of the terminal, until they are dropped.
pub struct Mode(Option<sys::Settings>);

impl Mode {
    /// Keys come one by one and are not shown. Ctrl+C stays a signal, Ctrl+Z becomes a key.
    pub fn keys() -> Self {
        Mode(sys::Settings::change(sys::Settings::to_keys))
    }

    /// Keys again, after the program was stopped and whoever had the terminal left it in a mode of its
    /// own. What is found is nothing to go back to: the guard that still stands knows better.
    pub fn take_up() {
        std::mem::forget(Mode::keys());
    }

    /// Lines come whole and are not shown.
    fn hidden() -> Self {
        Mode(sys::Settings::change(sys::Settings::to_hidden))
    }

    /// The terminal edits a line and gives it at Enter.
    pub fn lines() -> Self {
        Mode(sys::Settings::change(sys::Settings::to_lines))
    }
}

impl Drop for Mode {
    fn drop(&mut self) {
        if let Some(found) = &self.0 {
            found.put();
        }
    }
}

/// Remembers the settings that [`leave`] puts back, and lets it do so when a panic or `signals` end
/// the program. Handlers that are registered later run after it.
///
/// # Errors
/// When the system refuses a handler.
pub fn guard(signals: &[i32]) -> io::Result<()> {
    sys::guard(signals)?;
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        leave();
        hook(panic);
    }));
    Ok(())
}

/// Puts the terminal back as it was at [`guard`]. Safe at any time, in a signal handler too.
pub fn leave() {
    sys::leave();
}

/// Puts the terminal back as it was at first, stops this program and those it runs with, as Ctrl+Z
/// does, and returns when it goes on. The mode is the caller's to take up again.
pub fn suspend() {
    leave();
    was_continued();
    sys::suspend();
    let until = Instant::now() + STOPPING;
    while !was_continued() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// True once after the program was stopped and goes on.
pub fn was_continued() -> bool {
    sys::was_continued()
}
