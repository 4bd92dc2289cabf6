//! `interpreter doctor`: is everything in place, and what mends it.

use super::session::Setup;
use crate::agent::doctor::{self, Case, Finding, Grade, Listener};
use crate::cancel::Cancel;
use crate::cli::args::Options;
use crate::cli::render::Theme;
use crate::cli::render::sanitize::one_line;
use crate::cli::render::status::Status;
use crate::cli::signals::Signals;
use crate::cli::{Failure, exit, say};
use nu_ansi_term::Style;
use serde_json::{Map, Value, json};
use std::io;

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
    report.status.clear(&mut io::stderr());
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
    status: Status,
    json: bool,
    findings: Vec<Finding>,
    /// Standard output could not be written.
    lost: Option<Failure>,
}

impl Report {
    fn new(options: &Options) -> Self {
        Report {
            theme: Theme::new(options.color, &io::stdout()),
            status: Status::on(&io::stderr()),
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
    report.status.clear(&mut io::stderr());
}

impl Listener for Report {
    fn found(&mut self, finding: &Finding) {
        self.status.clear(&mut io::stderr());
        if !self.json
            && self.lost.is_none()
            && let Err(failure) = say(&lines(finding, &self.theme))
        {
            self.lost = Some(failure);
        }
        self.findings.push(finding.clone());
    }

    fn waiting(&mut self, what: &str) {
        self.status.show(&mut io::stderr(), what);
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
    for (at, line) in wrap(&one_line(text), WIDTH - COLUMN).iter().enumerate() {
        let head = format!("{:<COLUMN$}", if at == 0 { head } else { "" });
        out.push_str(&format!("{}{line}\n", style.paint(head)));
    }
    out
}

/// Breaks a text into lines of at most `width` characters. A longer word is cut.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split_whitespace() {
        let mut word: Vec<char> = word.chars().collect();
        if used > 0 && used + 1 + word.len() <= width {
            used += 1;
            if let Some(line) = lines.last_mut() {
                line.push(' ');
            }
        } else if used > 0 {
            lines.push(String::new());
            used = 0;
        }
        while !word.is_empty() {
            if used == width {
                lines.push(String::new());
                used = 0;
            }
            let rest = word.split_off(word.len().min(width - used));
            used += word.len();
            if let Some(line) = lines.last_mut() {
                line.extend(word);
            }
            word = rest;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_broken_between_words_and_loses_nothing() {
        assert_eq!(wrap("a bb ccc", 4), ["a bb", "ccc"]);
        assert_eq!(wrap("abcdefgh ij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrap("", 4), [""]);
        let text = "one two three four five six seven eight nine ten".repeat(9);
        let lines = wrap(&text, 64);
        assert!(lines.iter().all(|l| l.chars().count() <= 64));
        assert_eq!(lines.join(" "), text);
    }

    #[test]
    fn nothing_raw_is_printed_and_lines_fit() {
        let finding = Finding::fail("model", format!("\x1b[2J{}", "ü".repeat(200)));
        let text = lines(&finding, &Theme::default());
        assert!(!text.contains('\x1b') && text.starts_with("fail  model     ^[[2J"));
        assert!(text.lines().all(|l| l.chars().count() <= WIDTH), "{text}");
    }
}
