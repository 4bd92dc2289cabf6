//! An "always": the exact rule that would be saved, and what a person makes of it.

use super::eprint_safe;
use crate::agent::approval::amend::Rule;
use crate::cancel::Cancel;
use crate::cli::keys::Typed;
use crate::cli::keys::decode::{Decoder, Key};
use crate::cli::render::Theme;
use crate::cli::render::approval::block;
use crate::cli::render::sanitize::one_line;
use crate::cli::render::wrap::fit_end;
use crate::cli::terminal::{self, Pressed};
use crate::tools::action::Shell;
use nu_ansi_term::Style;

/// What became of a rule.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Edited {
    /// It is to be saved.
    Save(Rule),
    /// The person wants another answer.
    Back,
    /// The end of the input, or an interrupt.
    Gone,
}

/// Shows the rule and lets the person change where the commands that it allows begin.
pub(super) fn edit(rule: &Rule, shell: &Shell, theme: &Theme, cancel: &Cancel) -> Edited {
    let columns = terminal::columns();
    let keys = terminal::has_keys();
    let help = match keys {
        true => "Enter saves it, Esc goes back.",
        false => "Enter saves it; other words change where they begin; - goes back.",
    };
    let words = "Commands that begin so will run without a question, and with what a yes would give this one.";
    eprint_safe(&block(&format!("{words} {help}"), theme.dim, columns));
    match keys {
        true => with_keys(rule, shell, theme, cancel),
        false => with_lines(rule, shell, theme, cancel),
    }
}

fn with_lines(rule: &Rule, shell: &Shell, theme: &Theme, cancel: &Cancel) -> Edited {
    let mut now = rule.clone();
    loop {
        eprint_safe(&block(&now.line(), theme.action, terminal::columns()));
        eprint_safe(&format!("  begin ({}): ", one_line(&now.words())));
        let Some(line) = terminal::line(cancel) else {
            eprint_safe("\n");
            return Edited::Gone;
        };
        match line.trim() {
            "" => return Edited::Save(now),
            "-" => return Edited::Back,
            words => match now.edited(words, shell) {
                Ok(rule) => now = rule,
                Err(why) => eprint_safe(&block(&one_line(&why), theme.warn, terminal::columns())),
            },
        }
    }
}

fn with_keys(rule: &Rule, shell: &Shell, theme: &Theme, cancel: &Cancel) -> Edited {
    let mut decoder = Decoder::default();
    let mut typed = Typed {
        draft: rule.words(),
        ..Typed::default()
    };
    let mut rows = 0;
    loop {
        let now = rule.edited(&typed.draft, shell);
        let text = drawing(&now, &typed.draft, theme, terminal::columns());
        let up = match rows {
            0 => String::new(),
            n => format!("\x1b[{n}A"),
        };
        eprint_safe(&format!("{up}\r\x1b[J{text}"));
        rows = text.matches('\n').count();
        let bytes = match terminal::key(cancel) {
            None => {
                eprint_safe("\n");
                return Edited::Gone;
            }
            Some(Pressed::Resumed) => {
                rows = 0;
                continue;
            }
            Some(Pressed::Key(bytes)) => bytes,
        };
        let mut keys = decoder.push(&bytes);
        keys.extend(decoder.settle());
        for key in keys {
            match key {
                // Several keys may have come at once.
                Key::Enter => {
                    if let Ok(rule) = rule.edited(&typed.draft, shell) {
                        eprint_safe("\n");
                        return Edited::Save(rule);
                    }
                }
                Key::Escape => {
                    eprint_safe("\n");
                    return Edited::Back;
                }
                // A message of one line.
                Key::NewLine | Key::Up => {}
                Key::Paste(text) => {
                    typed.take(&Key::Paste(text.replace(['\n', '\t'], " ")));
                }
                key => {
                    typed.take(&key);
                }
            }
        }
    }
}

/// The rule, or why there is none, and below it the words that are typed.
fn drawing(now: &Result<Rule, String>, draft: &str, theme: &Theme, columns: usize) -> String {
    const LABEL: &str = "  begin: ";
    let above = match now {
        Ok(rule) => block(&one_line(&rule.line()), theme.action, columns),
        Err(why) => block(&one_line(why), theme.warn, columns),
    };
    let room = columns.saturating_sub(LABEL.len() + 1);
    let typed = fit_end(&one_line(draft), room);
    format!("{above}{}{typed}", Style::default().paint(LABEL))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_exact_rule_stands_above_its_words() {
        let shell = Shell::new("cargo test --lib", Duration::from_secs(1));
        let rule = Rule::proposed(&shell, false).expect("a rule");
        let now = rule.edited("cargo test", &shell);
        assert_eq!(
            drawing(&now, "cargo test", &Theme::default(), 80),
            "  prefix_rule(pattern=[\"cargo\", \"test\"], decision=\"allow\")\n  begin: cargo test"
        );
        let now = rule.edited("cargo b", &shell);
        let text = drawing(&now, "cargo b", &Theme::default(), 40);
        assert_eq!(text, "  the command does not begin so\n  begin: cargo b");
    }
}
