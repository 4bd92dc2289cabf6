//! Events → terminal.

pub mod approval;
pub mod changes;
pub mod diff;
pub mod human;
pub mod markdown;
pub mod outcome;
pub mod phrases;
pub mod progress;
pub mod sanitize;
pub mod screen;
pub mod summary;
pub mod wrap;

use crate::cli::terminal;
use nu_ansi_term::{Color, Style};
use std::io::IsTerminal;

/// When to use colour.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ColorChoice {
    /// On a terminal that can show it.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl ColorChoice {
    /// All choices with the names that the flag uses.
    pub const ALL: [(ColorChoice, &'static str); 3] = [
        (ColorChoice::Always, "always"),
        (ColorChoice::Never, "never"),
        (ColorChoice::Auto, "auto"),
    ];
}

/// The styles of everything printed; all plain when colour is off.
#[derive(Debug, Clone, Copy, Default)]
pub struct Theme {
    /// Less important text.
    pub dim: Style,
    /// What a tool does.
    pub action: Style,
    /// Success.
    pub good: Style,
    /// Trouble.
    pub warn: Style,
    /// Failure, and removed lines.
    pub bad: Style,
    /// Code.
    pub code: Style,
}

impl Theme {
    /// The theme for a stream. `NO_COLOR` and `TERM=dumb` switch automatic colour off.
    pub fn new(choice: ColorChoice, stream: &impl IsTerminal) -> Self {
        let set = |name: &str| std::env::var_os(name).is_some_and(|v| !v.is_empty());
        let on = match choice {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => stream.is_terminal() && !set("NO_COLOR") && !terminal::is_dumb(),
        };
        if !on {
            return Theme::default();
        }
        Theme {
            dim: Style::new().dimmed(),
            action: Style::new().bold(),
            good: Color::Green.normal(),
            warn: Color::Yellow.normal(),
            bad: Color::Red.normal(),
            code: Color::Cyan.normal(),
        }
    }

    /// True when anything is painted.
    pub fn has_styles(&self) -> bool {
        self.action != Style::default()
    }
}
