//! What an action is about, and what came of it, in few words.

use super::phrases::{duration, lines, shorten, thousands};
use super::sanitize::one_line;
use super::wrap::{cells, fit_start, paint, rows, width};
use super::{Theme, diff};
use crate::tools::action::{Action, AgentOut, AgentState, Outcome, ShellStatus};
use nu_ansi_term::Style;
use std::time::Duration;

/// Lines of a command's output that are shown: when it failed, and when it did not.
const OUTPUT_TAIL: usize = 8;
const OUTPUT_END: usize = 3;
/// Columns that the name of a thing keeps beside its result.
const LEAST_GIST: usize = 8;
/// What stands between words about a result.
const BETWEEN: &str = " · ";
/// A shorter time is not worth a word.
const NOTABLE: Duration = Duration::from_millis(100);

/// How an action ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Well.
    Good,
    /// Badly.
    Bad,
    /// It did not run, or not to its end.
    Not,
    /// It goes on.
    Open,
}

/// What is shown of an action that is over.
#[derive(Debug, PartialEq)]
pub struct Told {
    /// How it ended.
    pub state: State,
    /// The result in a few words; may be empty.
    pub words: String,
    /// What went wrong, as a sentence.
    pub why: Option<String>,
    /// Further lines, painted: a diff, the end of an output.
    pub lines: String,
}

impl Told {
    fn new(state: State, words: impl Into<String>) -> Self {
        Told {
            state,
            words: words.into(),
            why: None,
            lines: String::new(),
        }
    }

    fn why(state: State, words: &str, why: String) -> Self {
        Told {
            why: Some(why),
            ..Told::new(state, words)
        }
    }

    /// The sign of the state, and its style.
    fn sign(&self, theme: &Theme) -> (&'static str, Style) {
        match self.state {
            State::Good => ("✓", theme.good),
            State::Bad => ("✗", theme.bad),
            State::Not => ("!", theme.warn),
            State::Open => ("…", theme.dim),
        }
    }

    /// For a terminal: one line with everything, of at most so many columns, and what is below it.
    pub fn line(
        &self,
        (verb, gist): (&str, &str),
        took: Duration,
        theme: &Theme,
        columns: usize,
    ) -> String {
        let (sign, style) = self.sign(theme);
        let mut parts: Vec<String> = self.words.split(BETWEEN).map(str::to_owned).collect();
        parts.retain(|part| !part.is_empty());
        if took >= NOTABLE {
            parts.push(duration(took));
        }
        // The name of the thing keeps some room; the first word about it is the most important one.
        let words = |parts: &[String]| -> String {
            parts.iter().map(|p| format!("{BETWEEN}{p}")).collect()
        };
        let least = width(gist).min(LEAST_GIST);
        let room = |parts: &[String]| {
            let taken = width(sign) + width(verb) + width(&words(parts)) + 2;
            columns.saturating_sub(taken)
        };
        while parts.len() > 1 && room(&parts) < least {
            parts.pop();
        }
        let room = room(&parts).max(least);
        let words = words(&parts);
        let gist = fit_start(gist, room);
        let gap = if gist.is_empty() { "" } else { " " };
        let mut out = format!(
            "{} {}{gap}{gist}{}\n",
            style.paint(sign),
            theme.action.paint(verb),
            theme.dim.paint(words)
        );
        if let Some(why) = &self.why {
            for row in rows(&cells(why, style), columns.saturating_sub(2)) {
                out.push_str(&format!("  {}\n", paint(row)));
            }
        }
        out.push_str(&self.lines);
        out
    }

    /// For a pipe, where a line of its own has told that the action began.
    pub fn below(&self, action: &Action, took: Duration, theme: &Theme) -> String {
        let mut out = self.lines.clone();
        let (_, style) = self.sign(theme);
        let line = match (&self.why, action) {
            (Some(why), _) if self.words.is_empty() => style.paint(why).to_string(),
            (Some(why), _) => format!("{} {why}", style.paint(format!("{}:", self.words))),
            (None, Action::Shell(_)) if self.state != State::Not => format!(
                "{} {}",
                style.paint(if self.words.is_empty() {
                    "ok"
                } else {
                    &self.words
                }),
                theme.dim.paint(duration(took))
            ),
            (None, _) if self.words.is_empty() || !self.lines.is_empty() => return out,
            (None, _) if self.state == State::Not => style
                .paint(format!("{} {}", action.verb(), self.words))
                .to_string(),
            (None, _) => theme.dim.paint(&self.words).to_string(),
        };
        out.push_str(&format!("  {line}\n"));
        out
    }
}

/// What is shown of an outcome, in a terminal of so many columns; nothing where other lines show it.
pub fn told(outcome: &Outcome, theme: &Theme, columns: Option<usize>) -> Option<Told> {
    let good = |words: String| Told::new(State::Good, words);
    // A line of an output, which keeps to one row.
    let line = |text: &str| {
        let text = shorten(&one_line(text));
        let text = match columns {
            Some(columns) => fit_start(&text, columns.saturating_sub(2)),
            None => text,
        };
        format!("  {}\n", theme.dim.paint(text))
    };
    Some(match outcome {
        Outcome::Planned | Outcome::Plan(_) | Outcome::Finished => return None,
        Outcome::ModeSet => good(String::new()),
        Outcome::Skill(skill) => good(lines(skill.text.lines().count())),
        Outcome::Counted(c) => good(format!("{} lines in {} files", c.total, c.total_files)),
        Outcome::Jobs(jobs) => good(format!("{} commands", jobs.len())),
        Outcome::Answered(answers) => {
            let answers: Vec<String> = answers.iter().map(|a| one_line(&a.join(", "))).collect();
            good(shorten(&answers.join(" / ")))
        }
        Outcome::Delegated(part) => {
            good(format!("{} actions, {}", part.actions, duration(part.took)))
        }
        Outcome::Agents(agents) => {
            let one = |agent: &AgentOut| match &agent.state {
                AgentState::Waiting => format!("agent {} begins later", agent.id),
                AgentState::Closed => format!("agent {} is closed", agent.id),
                AgentState::Done(part) => match &part.failure {
                    None => format!("agent {} has answered", agent.id),
                    Some(why) => format!("agent {}: {why}", agent.id),
                },
            };
            let all: Vec<String> = agents.iter().map(one).collect();
            good(shorten(&one_line(&all.join(", "))))
        }
        Outcome::Read(r) if r.lines == r.total => good(lines(r.total)),
        Outcome::Read(r) => good(format!("{} of {}", r.lines, lines(r.total))),
        Outcome::Cells(c) => good(format!("{} of {} cells", c.cells.len(), c.total)),
        Outcome::Listed(l) => good(format!("{} entries", l.entries.len() + l.more)),
        Outcome::Found(f) => good(format!("{} files", f.total)),
        Outcome::Matches(m) => good(lines(m.total)),
        Outcome::Fetched(page) => good(match &page.redirect {
            Some(to) => shorten(&one_line(&format!("leads to {to}"))),
            None => format!("{} bytes of text", page.output.bytes),
        }),
        Outcome::Mcp(out) => {
            let text = crate::model::join_text(&out.parts);
            let (state, words) = match out.is_error {
                true => (State::Bad, "failed"),
                false => (State::Good, ""),
            };
            Told {
                lines: text.lines().take(OUTPUT_END).map(line).collect(),
                ..Told::new(state, words)
            }
        }
        Outcome::ToolsFound(text) => {
            good(format!("{} tools", text.lines().count().saturating_sub(1)))
        }
        Outcome::Image { .. } => good("shown to the model".into()),
        Outcome::Changed(changes) => {
            let (mut added, mut gone, mut below) = (0, 0, String::new());
            for change in changes {
                let (before, after) = (
                    change.before.as_deref().unwrap_or(""),
                    change.after.as_deref().unwrap_or(""),
                );
                if changes.len() > 1 {
                    below.push_str(&format!("  {}\n", one_line(&change.shown)));
                }
                below.push_str(&diff::diff(before, after, theme));
                let (more, fewer) = diff::counts(before, after);
                (added, gone) = (added + more, gone + fewer);
            }
            Told {
                lines: below,
                ..good(format!("+{added} -{gone}"))
            }
        }
        Outcome::Shell(s) => {
            let (state, words) = match s.status {
                ShellStatus::Exited(0) => (State::Good, String::new()),
                ShellStatus::Exited(code) => (State::Bad, format!("exit {code}")),
                ShellStatus::Signaled(n) => (State::Bad, format!("signal {n}")),
                ShellStatus::TimedOut => (State::Bad, "timed out".to_owned()),
                ShellStatus::Running { id, .. } => (State::Open, format!("still running as {id}")),
            };
            let most = if s.succeeded() {
                OUTPUT_END
            } else {
                OUTPUT_TAIL
            };
            let all = s.output.text.lines().count();
            // That there is more than is shown is said, and how much.
            let size = match &s.output.file {
                _ if all <= most || columns.is_none() => None,
                None => Some(lines(all)),
                Some(_) => Some(format!("{} bytes", thousands(s.output.bytes))),
            };
            let words = Some(words).filter(|w| !w.is_empty());
            let words: Vec<String> = words.into_iter().chain(size).collect();
            let tail: Vec<_> = s.output.text.lines().rev().take(most).collect();
            Told {
                lines: tail.into_iter().rev().map(line).collect(),
                ..Told::new(state, words.join(BETWEEN))
            }
        }
        Outcome::Failed(e) => {
            // What stands below the first line is for the model to copy from.
            let text = e.to_string();
            let first = text.lines().next().unwrap_or_default();
            Told::why(State::Bad, "", shorten(&one_line(first)))
        }
        Outcome::Refused { reason } => Told::why(State::Not, "refused", one_line(reason)),
        Outcome::Skipped(why) => Told::why(State::Not, "skipped", one_line(why)),
        Outcome::Interrupted => Told::new(State::Not, "interrupted"),
    })
}
