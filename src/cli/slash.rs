//! Slash commands: one table of name, help and action.

use super::render::phrases::{strength_text, thousands};
use super::render::sanitize::one_line;
use super::undo;
use crate::agent::event::Frontend;
use crate::agent::session::Session;
use crate::harnesses::{self, Harness};
use crate::project::changes::FileDiff;
use crate::words::nearest;
use std::fmt::Write;

/// What a command leaves to do.
pub enum Done {
    /// Print this.
    Said(String),
    /// Print these words, and then changed files, page by page.
    Show(String, Vec<FileDiff>),
    /// Go through the changes of the last turn.
    Review,
    /// Leave the session.
    Leave,
}

/// One command.
pub struct Slash {
    /// Its name without the slash.
    pub name: &'static str,
    /// Another name.
    pub alias: Option<&'static str>,
    /// What it does, in a line.
    pub help: &'static str,
    run: fn(&mut Session, &str, &mut dyn Frontend) -> Done,
}

/// Every command.
pub const COMMANDS: &[Slash] = &[
    Slash {
        name: "help",
        alias: None,
        help: "list these commands",
        run: |_, _, _| Done::Said(help()),
    },
    Slash {
        name: "status",
        alias: None,
        help: "model, window, harness, sandbox, session file, tokens",
        run: |s, _, _| Done::Said(status(s)),
    },
    Slash {
        name: "context",
        alias: None,
        help: "what fills the window",
        run: |s, _, _| Done::Said(context(s)),
    },
    Slash {
        name: "compact",
        alias: None,
        help: "replace the conversation by a summary, to make room",
        run: |s, _, front| Done::Said(compact(s, front)),
    },
    Slash {
        name: "harness",
        alias: None,
        help: "go on in the surface of another agent: /harness ID; alone, it lists them",
        run: |s, words, front| Done::Said(harness(s, words, front)),
    },
    Slash {
        name: "diff",
        alias: None,
        help: "what is changed in the folder; --turn: by the last turn; --pick: keep or drop each part",
        run: |s, words, _| undo::diff(s, words),
    },
    Slash {
        name: "undo",
        alias: None,
        help: "take back what the last turn changed: /undo [HOW MANY TURNS | FILE]",
        run: |s, words, _| undo::undo(s, words),
    },
    Slash {
        name: "redo",
        alias: None,
        help: "put back what /undo took: /redo [HOW MANY]",
        run: |s, words, _| undo::redo(s, words),
    },
    Slash {
        name: "ps",
        alias: None,
        help: "commands that still run",
        run: |s, _, _| Done::Said(jobs(s)),
    },
    Slash {
        name: "exit",
        alias: Some("quit"),
        help: "leave; the session can be resumed",
        run: |_, _, _| Done::Leave,
    },
];

/// Runs a line that begins with a slash.
pub fn run(line: &str, session: &mut Session, front: &mut dyn Frontend) -> Done {
    let line = line.trim_start_matches('/').trim();
    let (name, words) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    match COMMANDS
        .iter()
        .find(|c| c.name == name || c.alias == Some(name))
    {
        Some(command) => (command.run)(session, words.trim(), front),
        None => {
            let near = nearest(name, COMMANDS.iter().map(|c| c.name));
            let near = near
                .map(|n| format!("; did you mean /{n}?"))
                .unwrap_or_default();
            Done::Said(format!(
                "there is no command /{}{near} (/help lists them)",
                one_line(name)
            ))
        }
    }
}

fn help() -> String {
    let width = COMMANDS.iter().map(|c| c.name.len()).max().unwrap_or(0);
    COMMANDS
        .iter()
        .map(|c| format!("/{:width$}  {}", c.name, c.help))
        .collect::<Vec<_>>()
        .join("\n")
}

fn status(session: &mut Session) -> String {
    let info = session.info().clone();
    let strength = session.workbench().sandbox().strength();
    let mut rows = vec![
        (
            "model",
            format!("{} at {} ({} wire)", info.model, info.provider.1, info.wire),
        ),
        (
            "window",
            format!(
                "{} tokens ({})",
                thousands(info.window.0.into()),
                info.window.1
            ),
        ),
        ("harness", format!("{}, {}", info.harness.0, info.harness.1)),
        ("sandbox", strength_text(info.sandbox, &strength)),
        ("asks", info.approval.to_owned()),
        ("folder", info.cwd.display().to_string()),
    ];
    if let Some(file) = &info.file {
        rows.push(("session", file.display().to_string()));
    }
    let usage = session.usage();
    rows.push((
        "tokens",
        format!(
            "{} in, {} out",
            thousands(usage.input),
            thousands(usage.output)
        ),
    ));
    let mut out = String::new();
    for (name, value) in rows {
        let _ = writeln!(out, "{name:8} {}", one_line(&value));
    }
    out.trim_end().to_owned()
}

/// A row a part: tokens and their share of the window.
fn context(session: &Session) -> String {
    let window = u64::from(session.budget().window());
    let parts = session.context();
    let used: u64 = parts.iter().map(|(_, tokens)| tokens).sum();
    let free = ("free", window.saturating_sub(used));
    let row = |(name, tokens): &(&str, u64)| {
        let percent = tokens * 100 / window.max(1);
        format!("{name:12} {:>9}  {percent:>3} %", thousands(*tokens))
    };
    let mut rows: Vec<String> = parts.iter().map(row).collect();
    rows.push(row(&free));
    rows.push(format!("{:12} {:>9}", "window", thousands(window)));
    rows.join("\n")
}

/// The sizes were shown as they changed; only a failure is left to say.
fn compact(session: &mut Session, front: &mut dyn Frontend) -> String {
    match session.compact(front) {
        Ok((before, after)) => format!("{} tokens won", thousands(before.saturating_sub(after))),
        Err(why) => one_line(&why),
    }
}

/// Changes the harness, or lists all of them.
fn harness(session: &mut Session, id: &str, front: &mut dyn Frontend) -> String {
    if !id.is_empty() {
        return match session.change_harness(id, front) {
            Ok(()) => String::new(),
            Err(why) => one_line(&why),
        };
    }
    let now = session.info().harness.0;
    let row = |harness: &&dyn Harness| {
        let mark = if harness.id() == now { "*" } else { " " };
        format!("{mark} {:17} {}", harness.id(), harness.about())
    };
    harnesses::ALL
        .iter()
        .map(row)
        .collect::<Vec<_>>()
        .join("\n")
}

fn jobs(session: &mut Session) -> String {
    let jobs = session.workbench().jobs();
    if jobs.is_empty() {
        return "no command is running".into();
    }
    jobs.iter()
        .map(|j| format!("{}  {}", j.id, one_line(&j.command)))
        .collect::<Vec<_>>()
        .join("\n")
}
