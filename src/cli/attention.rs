//! Telling a person who looks elsewhere that the program waits: the title of the window, and a
//! bell or a notification.

use super::keys::Keys;
use super::render::sanitize::one_line;
use super::render::wrap::fit_start;
use super::terminal;
use crate::config::Notifications;
use std::io::{IsTerminal, Write};
use std::path::Path;

/// The title is put aside and brought back, by terminals that can.
const KEEP_TITLE: &str = "\x1b[22;2t";
const OLD_TITLE: &str = "\x1b[23;2t";
/// Columns of a title or a notification.
const LONGEST: usize = 60;
/// Terminals that show a notification for OSC 9, by `TERM_PROGRAM`.
const WITH_OSC9: &[&str] = &["iTerm.app", "WezTerm", "ghostty", "WarpTerminal"];

/// Why it waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occasion {
    /// A turn is over.
    Turn,
    /// Something is asked.
    Approval,
}

impl Occasion {
    /// The name that `tui.notifications` has for it.
    pub fn name(self) -> &'static str {
        match self {
            Occasion::Turn => Notifications::TURN,
            Occasion::Approval => Notifications::APPROVAL,
        }
    }
}

/// How the person is called.
#[derive(Clone)]
pub struct Attention {
    wish: Notifications,
    keys: Keys,
    /// The last part of the working folder.
    place: String,
    on: bool,
}

impl Attention {
    /// For the terminal of a session in `folder`.
    pub fn new(wish: Notifications, keys: Keys, folder: &Path) -> Self {
        let place = folder.file_name().map_or_else(
            || folder.display().to_string(),
            |name| name.to_string_lossy().into_owned(),
        );
        let it = Attention {
            wish,
            keys,
            place: one_line(&place),
            on: std::io::stderr().is_terminal() && !terminal::is_dumb(),
        };
        if it.wish.title {
            it.write(KEEP_TITLE);
        }
        it
    }

    /// A turn goes on.
    pub fn working(&self) {
        self.title("working");
    }

    /// The program waits for the person, who is told unless the window is in use.
    pub fn call(&self, occasion: Occasion, about: &str) {
        self.title(match occasion {
            Occasion::Turn => "",
            Occasion::Approval => "asks",
        });
        let wanted = self.wish.of.iter().any(|name| name == occasion.name());
        if wanted && (self.wish.always || self.keys.is_away()) {
            let text = match occasion {
                Occasion::Turn => format!("{}: the turn is over", self.place),
                Occasion::Approval => format!("{}: asks about {about}", self.place),
            };
            self.write(&notification(&text, self.by_osc9()));
        }
    }

    /// It waits at the prompt, and nobody has to be called.
    pub fn idle(&self) {
        self.title("");
    }

    /// The title goes back to what it was.
    pub fn end(&self) {
        if self.wish.title {
            self.write(OLD_TITLE);
        }
    }

    fn title(&self, state: &str) {
        if self.wish.title {
            self.write(&title(state, &self.place));
        }
    }

    fn by_osc9(&self) -> bool {
        match self.wish.method.as_str() {
            "osc9" => true,
            "bel" => false,
            _ => std::env::var("TERM_PROGRAM").is_ok_and(|t| WITH_OSC9.contains(&t.as_str())),
        }
    }

    fn write(&self, text: &str) {
        if self.on {
            let mut err = std::io::stderr().lock();
            let _ = err.write_all(text.as_bytes());
            let _ = err.flush();
        }
    }
}

fn title(state: &str, place: &str) -> String {
    let state = match state {
        "" => String::new(),
        words => format!("{words} · "),
    };
    let text = fit_start(&one_line(&format!("{state}{place} · interpreter")), LONGEST);
    format!("\x1b]2;{text}\x07")
}

fn notification(text: &str, by_osc9: bool) -> String {
    match by_osc9 {
        true => format!("\x1b]9;{}\x07", fit_start(&one_line(text), LONGEST)),
        false => "\x07".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_end_the_sequence_it_stands_in() {
        assert_eq!(
            title("working", "evil\x07\x1b]0;x"),
            "\x1b]2;working · evil^G^[]0;x · interpreter\x07"
        );
        assert_eq!(notification("a\x07b", true), "\x1b]9;a^Gb\x07");
        assert_eq!(notification("a", false), "\x07");
    }
}
