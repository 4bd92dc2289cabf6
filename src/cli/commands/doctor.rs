//! `interpreter doctor`: is everything in place, and what mends it.

use super::session::Setup;
use crate::agent::doctor::{self, Case, Finding, Grade, Listener};
use crate::cancel::Cancel;
use crate::cli::args::Options;
use crate::cli::render::Theme;
use crate::cli::render::progress::Progress;
use crate::cli::render::sanitize::one_line;
use crate::cli::render::screen::Screen;
use crate::cli::render::wrap::break_lines;
use crate::cli::signals::Signals;
use crate::cli::{Failure, exit, say};
use nu_ansi_term::Style;
use serde_json::{Map, Value, json};
use std::io::{self, Stderr};

/// Columns of a line.
const WIDTH: usize = 80;
/// The column where the answers begin.
const COLUMN: usize = 16;

/// Prints one finding a line, or all as one object. The exit code is 1 when one of them failed.
///
/// # Errors
/// When signals cannot be handled, or standard output is gone.
pub fn run(options: &Options) -> Result<u8, Failure> {
    // The rules of --offline bind what starts after them.
    let setup = Setup::load(options)
        .map_err(|why| ("config", why))
        .and_then(|mut setup| {
            let held = setup.hold_offline(None);
            held.map(|()| setup).map_err(|why| ("offline", why))
        });
    let signals = Signals::install(true).map_err(|e| format!("signals cannot be handled: {e}"))?;
    let mut report = Report::new(options);
    match setup {
        Err((check, why)) => report.found(&Finding::fail(check, why)),
        Ok(setup) => {
            let case = Case {
                config: &setup.config,
                home: &setup.home,
                cwd: &setup.cwd,
                chat_completions: options.chat_completions,
                offline: setup.offline.as_ref(),
            };
            doctor::examine(&case, &signals.cancel, &mut report);
        }
    }
    report.status.progress(|p| *p = None);
    let failed = report.findings.iter().any(|f| f.grade == Grade::Fail);
    if let Some(failure) = report.lost {
        return Err(failure);
    }
    if options.json {
        let list: Vec<Value> = report.findings.iter().map(as_json).collect();
        let version = env!("CARGO_PKG_VERSION");
        say(&format!(
            "{}\n",
            json!({"ok": !failed, "version": version, "findings": list})
        ))?;
    }
    Ok(match (signals.cancel.is_cancelled(), failed) {
        (true, _) if signals.is_terminated() => exit::TERMINATED,
        (true, _) => exit::INTERRUPTED,
        (false, true) => exit::FAILED,
        (false, false) => exit::OK,
    })
}

/// What was found so far, and how it is shown.
struct Report {
    theme: Theme,
    status: Screen<Stderr>,
    json: bool,
    findings: Vec<Finding>,
    /// Standard output could not be written.
    lost: Option<Failure>,
}

impl Report {
    fn new(options: &Options) -> Self {
        Report {
            theme: Theme::new(options.color, &io::stdout()),
            status: Screen::new(io::stderr(), Style::new()),
            json: options.json,
            findings: Vec::new(),
            lost: None,
        }
    }
}

/// Prints the findings about these settings, for a session that goes on.
pub fn look(case: &Case, options: &Options, cancel: &Cancel) {
    let mut report = Report::new(options);
    doctor::examine(case, cancel, &mut report);
    report.status.progress(|p| *p = None);
}

impl Listener for Report {
    fn found(&mut self, finding: &Finding) {
        self.status.progress(|p| *p = None);
        if !self.json
            && self.lost.is_none()
            && let Err(failure) = say(&lines(finding, &self.theme))
        {
            self.lost = Some(failure);
        }
        self.findings.push(finding.clone());
    }

    fn waiting(&mut self, what: &str) {
        self.status.progress(|p| Progress::go_on(p, what));
    }
}

fn as_json(finding: &Finding) -> Value {
    let facts: Map<String, Value> = finding
        .facts
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone()))
        .collect();
    json!({
        "check": finding.check, "grade": finding.grade.name(), "text": finding.text,
        "fix": finding.fix, "facts": facts,
    })
}

/// A finding as lines of at most [`WIDTH`] columns: grade, question, answer; below it the fix.
fn lines(finding: &Finding, theme: &Theme) -> String {
    let style = match finding.grade {
        Grade::Ok => theme.good,
        Grade::Warn => theme.warn,
        Grade::Fail => theme.bad,
    };
    let head = format!("{:<5} {:<10}", finding.grade.name(), finding.check);
    let mut out = paragraph(&head, style, &finding.text);
    if let Some(fix) = &finding.fix {
        out.push_str(&paragraph("      fix:", theme.dim, fix));
    }
    out
}

/// Text beside a head, broken between words.
fn paragraph(head: &str, style: Style, text: &str) -> String {
    let mut out = String::new();
    for (at, line) in break_lines(&one_line(text), WIDTH - COLUMN)
        .iter()
        .enumerate()
    {
        let head = format!("{:<COLUMN$}", if at == 0 { head } else { "" });
        out.push_str(&format!("{}{line}\n", style.paint(head)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_raw_is_printed_and_lines_fit() {
        let finding = Finding::fail("model", format!("\x1b[2J{}", "ü".repeat(200)));
        let text = lines(&finding, &Theme::default());
        assert!(!text.contains('\x1b') && text.starts_with("fail  model     ^[[2J"));
        assert!(text.lines().all(|l| l.chars().count() <= WIDTH), "{text}");
    }
}
