//! What came of an action, in a few lines under it.

use super::phrases::{duration, shorten};
use super::sanitize::one_line;
use super::{Theme, diff};
use crate::tools::action::{Action, FileChange, Outcome, ShellStatus};
use std::time::Duration;

/// Lines of a command's output that are shown, after success and after failure.
const OUTPUT_TAIL: (usize, usize) = (3, 8);

/// The lines, each with its end; none where the action shows itself in another way.
pub fn told(action: &Action, outcome: &Outcome, took: Duration, t: &Theme) -> String {
    let line = |text: String| format!("  {text}\n");
    let detail = |text: String| line(t.dim.paint(text).to_string());
    match outcome {
        Outcome::Planned | Outcome::Plan(_) | Outcome::Finished => String::new(),
        Outcome::ModeSet => detail("done".into()),
        Outcome::Counted(c) => detail(format!("{} lines in {} files", c.total, c.total_files)),
        Outcome::Jobs(jobs) => detail(format!("{} commands", jobs.len())),
        Outcome::Answered(answers) => answers
            .iter()
            .map(|answer| detail(one_line(&answer.join(", "))))
            .collect(),
        Outcome::Delegated(part) => {
            detail(format!("{} actions, {}", part.actions, duration(part.took)))
        }
        Outcome::Read(r) => detail(format!("{} of {} lines", r.lines, r.total)),
        Outcome::Listed(l) => detail(format!("{} entries", l.entries.len() + l.more)),
        Outcome::Found(f) => detail(format!("{} files", f.total)),
        Outcome::Matches(m) => detail(format!("{} lines", m.total)),
        Outcome::Image { .. } => detail("shown to the model".into()),
        Outcome::Changed(changes) => changed(changes, t),
        Outcome::Shell(s) => {
            let state = match s.status {
                ShellStatus::Exited(0) => t.good.paint("ok").to_string(),
                ShellStatus::Exited(code) => t.bad.paint(format!("exit {code}")).to_string(),
                ShellStatus::Signaled(n) => t.bad.paint(format!("signal {n}")).to_string(),
                ShellStatus::TimedOut => t.bad.paint("timed out").to_string(),
                ShellStatus::Running { id, .. } => {
                    t.dim.paint(format!("still running as {id}")).to_string()
                }
            };
            let most = match s.succeeded() {
                true => OUTPUT_TAIL.0,
                false => OUTPUT_TAIL.1,
            };
            let tail: Vec<_> = s.output.text.lines().rev().take(most).collect();
            let mut text: String = tail
                .into_iter()
                .rev()
                .map(|output| detail(shorten(&one_line(output))))
                .collect();
            text.push_str(&line(format!("{state} {}", t.dim.paint(duration(took)))));
            text
        }
        Outcome::Failed(e) => line(t.bad.paint(shorten(&one_line(&e.to_string()))).to_string()),
        Outcome::Refused { reason } => {
            line(format!("{} {}", t.warn.paint("refused:"), one_line(reason)))
        }
        Outcome::Skipped(why) => line(format!("{} {}", t.warn.paint("skipped:"), one_line(why))),
        Outcome::Interrupted => {
            let text = format!("{} interrupted", action.verb());
            line(t.warn.paint(text).to_string())
        }
    }
}

/// The difference in each file, under its name where there are several.
fn changed(changes: &[FileChange], theme: &Theme) -> String {
    let one = |change: &FileChange| {
        let side = |text: &Option<String>| text.clone().unwrap_or_default();
        let name = match changes.len() {
            0 | 1 => String::new(),
            _ => format!("  {}\n", one_line(&change.shown)),
        };
        let diff = diff::diff(&side(&change.before), &side(&change.after), theme);
        format!("{name}{diff}")
    };
    changes.iter().map(one).collect()
}
