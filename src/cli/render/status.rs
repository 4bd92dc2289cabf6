//! The line at the bottom of a terminal that is written over and taken away again.

use super::sanitize::one_line;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Goes to the start of the line and clears it.
const CLEAR: &str = "\r\x1b[K";
/// Around the text: the terminal cuts a line that is too long instead of beginning another, which
/// could not be taken away.
const NO_WRAP: (&str, &str) = ("\x1b[?7l", "\x1b[?7h");
/// The line is not written more often than this.
const PAUSE: Duration = Duration::from_millis(100);
/// Characters of a line.
const LONGEST: usize = 200;

/// A status line, or none where it cannot be rewritten.
#[derive(Debug, Default)]
pub struct Status {
    on: bool,
    shown: bool,
    written: Option<Instant>,
}

impl Status {
    /// A status line on a terminal; none in a pipe or with `TERM=dumb`.
    pub fn on(stream: &impl IsTerminal) -> Self {
        let dumb = std::env::var_os("TERM").is_some_and(|t| t == "dumb");
        Status {
            on: stream.is_terminal() && !dumb,
            ..Status::default()
        }
    }

    /// True when there is one.
    pub fn is_on(&self) -> bool {
        self.on
    }

    /// Writes `text` over what stood there. A text that follows too quickly is left out.
    pub fn show(&mut self, out: &mut impl Write, text: &str) {
        let soon = self.written.is_some_and(|at| at.elapsed() < PAUSE);
        if !self.on || (self.shown && soon) {
            return;
        }
        let text: String = one_line(text).chars().take(LONGEST).collect();
        let _ = write!(out, "{CLEAR}{}{text}{}", NO_WRAP.0, NO_WRAP.1);
        let _ = out.flush();
        (self.shown, self.written) = (true, Some(Instant::now()));
    }

    /// Takes the line away, before anything else is printed.
    pub fn clear(&mut self, out: &mut impl Write) {
        if std::mem::take(&mut self.shown) {
            let _ = write!(out, "{CLEAR}");
            let _ = out.flush();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on() -> Status {
        Status {
            on: true,
            ..Status::default()
        }
    }

    #[test]
    fn the_line_is_rewritten_and_taken_away() {
        let (mut out, mut status) = (Vec::new(), on());
        status.show(&mut out, "reading\x1b[2J");
        status.show(&mut out, "too soon");
        status.clear(&mut out);
        status.clear(&mut out);
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "\r\x1b[K\x1b[?7lreading^[[2J\x1b[?7h\r\x1b[K");
    }

    #[test]
    fn without_a_terminal_nothing_is_written() {
        let (mut out, mut status) = (Vec::new(), Status::default());
        status.show(&mut out, "reading");
        status.clear(&mut out);
        assert!(out.is_empty());
    }
}
