//! What a person types.

pub mod args;
pub mod attach;
pub mod attention;
pub mod commands;
pub mod completion;
pub mod editor;
pub mod exit;
pub mod first;
pub mod help;
pub mod keys;
pub mod manual;
pub mod own_command;
pub mod pager;
pub mod parts;
pub mod person;
pub mod pick;
pub mod render;
pub mod repl;
pub mod signals;
pub mod slash;
pub mod stdin;
pub mod terminal;
pub mod trust;
pub mod undo;

use args::{Command, Invocation};
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

/// The whole program: reads the command line, runs it, and gives its exit code.
pub fn main() -> ExitCode {
    crate::sandbox::helper_main();
    let invocation = match args::parse(std::env::args_os().skip(1)) {
        Ok(invocation) => invocation,
        Err(error) => {
            complain(&error.to_string());
            return ExitCode::from(exit::USAGE);
        }
    };
    let result = run(&invocation);
    let code = result.unwrap_or_else(|failure| {
        complain(&failure.message);
        failure.code
    });
    ExitCode::from(code)
}

/// Why a command ended early: one sentence, and the exit code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The sentence.
    pub message: String,
    /// The exit code.
    pub code: u8,
}

impl<E: std::fmt::Display> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure {
            message: error.to_string(),
            code: exit::FAILED,
        }
    }
}

fn run(invocation: &Invocation) -> Result<u8, Failure> {
    let options = &invocation.options;
    match &invocation.command {
        Command::Help(verb) => say(&help::help(*verb)),
        Command::Version => say(&format!("interpreter {}\n", env!("CARGO_PKG_VERSION"))),
        Command::Run(prompt) => commands::exec::run(prompt, None, false, options),
        Command::Exec(prompt) => commands::exec::run(prompt, None, true, options),
        Command::Resume {
            exec,
            fork,
            session,
            prompt,
        } => {
            let resume = commands::exec::Resume {
                which: session,
                fork: *fork,
                or_new: *exec && !fork,
            };
            commands::exec::run(prompt, Some(resume), *exec, options)
        }
        Command::Review { exec, what } => commands::exec::review(what, *exec, options),
        Command::HarnessList => commands::harness::list(options),
        Command::HarnessShow(id) => commands::harness::show(id, options),
        Command::HarnessBench => commands::bench::run(options),
        Command::Mcp(what) => commands::mcp::servers(what, options),
        Command::McpServer => commands::mcp::serve(options),
        Command::Models => commands::models::run(options),
        Command::Login(id) => commands::login::run(id, options),
        Command::LoginStatus(id) => commands::login::status(id.as_deref(), options),
        Command::Logout(id) => commands::login::logout(id.as_deref(), options),
        Command::Completion(what) => commands::completion::run(what),
        Command::Doctor => commands::doctor::run(options),
        Command::Undo(what) => commands::undo::run(what, options),
        Command::RulesCheck(command) => commands::rules::check(command, options),
        Command::Acp => commands::acp::run(options),
        Command::Sandbox(command) => commands::sandbox::run(command, options),
    }
}

/// Writes to standard output. A reader that went away is said, not a panic.
///
/// # Errors
/// When standard output is closed or full.
pub fn say(text: &str) -> Result<u8, Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|e| Failure::from(format!("standard output cannot be written: {e}")))?;
    Ok(exit::OK)
}

/// One sentence on standard error, broken between words where a person reads it.
fn complain(message: &str) {
    let mut err = std::io::stderr();
    let text = format!("interpreter: {}", render::sanitize::sanitize(message));
    let text = match err.is_terminal() {
        true => render::wrap::hanging(&text, terminal::columns()),
        false => format!("{text}\n"),
    };
    let _ = err.write_all(text.as_bytes());
}
