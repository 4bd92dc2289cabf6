//! From the words of the command line to what is wanted, as plain data.

mod line;
pub mod table;
#[cfg(test)]
mod tests;

use super::render::ColorChoice;
use crate::agent::review::Target;
use crate::config::{McpServer, Overrides};
use crate::model::WireApi;
use lexopt::Parser;
use line::Line;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use table::{Subcommand, Verb};

/// A whole command line.
#[derive(Debug, Clone, PartialEq)]
pub struct Invocation {
    /// What to do.
    pub command: Command,
    /// How.
    pub options: Options,
}

/// What to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Show the help of a subcommand.
    Help(Verb),
    /// Show the version.
    Version,
    /// A session, or one task when the input is piped.
    Run(Prompt),
    /// One task without questions.
    Exec(Prompt),
    /// Go on with a session.
    Resume {
        /// Without questions.
        exec: bool,
        /// Go on with a copy.
        fork: bool,
        /// Which one.
        session: Session,
        /// The next task.
        prompt: Prompt,
    },
    /// Review something.
    Review {
        /// As `exec` does it.
        exec: bool,
        /// What.
        what: Review,
    },
    /// List the harnesses.
    HarnessList,
    /// Show a harness.
    HarnessShow(String),
    /// Measure harnesses.
    HarnessBench,
    /// List or change the MCP servers of the config.
    Mcp(Servers),
    /// Be an MCP server.
    McpServer,
    /// List models.
    Models,
    /// Keep the key of a provider.
    Login(String),
    /// Say which keys there are, or whether there is one for this provider.
    LoginStatus(Option<String>),
    /// Forget the key of a provider; `None`: of all.
    Logout(Option<String>),
    /// Check that everything works.
    Doctor,
    /// A completion script, the manual page, or candidates.
    Completion(Completion),
    /// Take back changes.
    Undo(Undoing),
    /// Tell what the rules say of a command: its words, or one command line.
    RulesCheck(Vec<OsString>),
    /// Serve an editor.
    Acp,
    /// Run a command in the sandbox: the program and its arguments.
    Sandbox(Vec<OsString>),
}

/// What to do with the MCP servers of the config.
#[derive(Debug, Clone, PartialEq)]
pub enum Servers {
    /// Show all of them.
    List,
    /// Show one.
    Get(String),
    /// Add one, or put it in the place of the one of that name.
    Add(String, Box<McpServer>),
    /// Take one away.
    Remove(String),
}

/// What helps a shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Completion {
    /// The script for the shell of this name.
    Script(String),
    /// The manual page.
    Manual,
    /// The candidates for a word, after these.
    Words {
        /// What stands at the cursor.
        current: String,
        /// The words before it.
        before: Vec<String>,
    },
}

/// What is to be taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undoing {
    /// Nothing: show what could be.
    List,
    /// So many of the last turns.
    Last(usize),
    /// So many undos.
    Redo(usize),
}

/// The task as it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prompt {
    /// Not on the command line.
    Absent,
    /// `-`: the whole of stdin.
    Stdin,
    /// These words.
    Text(String),
}

/// Which session to go on with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Session {
    /// None was named; a person can be asked.
    Unnamed,
    /// `--last`; of any folder with [`Options::all`].
    Last,
    /// An id or its beginning.
    Id(String),
}

/// What to review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Review {
    /// A change.
    Change(Target),
    /// What these words say.
    Words(Prompt),
}

/// What the flags say.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Options {
    /// What they say about the config.
    pub overrides: Overrides,
    /// `--last`.
    pub last: bool,
    /// `--all`: sessions of any folder.
    pub all: bool,
    /// `--uncommitted`.
    pub uncommitted: bool,
    /// `--base`.
    pub base: Option<String>,
    /// `--commit`.
    pub commit: Option<String>,
    /// `--title`.
    pub title: Option<String>,
    /// `--chat-completions`.
    pub chat_completions: bool,
    /// `--wire`, for `harness show`.
    pub wire: Option<WireApi>,
    /// `--runs`.
    pub runs: Option<u32>,
    /// `--task`: names.
    pub tasks: Vec<String>,
    /// `--save`.
    pub save: bool,
    /// `--export`.
    pub export: Option<PathBuf>,
    /// `--cd`.
    pub cd: Option<PathBuf>,
    /// `--skip-git-repo-check`, or `--yolo`.
    pub skip_git_repo_check: bool,
    /// `--trust`.
    pub trust: bool,
    /// `--dangerously-bypass-hook-trust`.
    pub all_hooks: bool,
    /// `--ignore-rules`.
    pub ignore_rules: bool,
    /// `--rules`.
    pub rules: Vec<PathBuf>,
    /// `--image`.
    pub images: Vec<PathBuf>,
    /// `--output-last-message`.
    pub output_last_message: Option<PathBuf>,
    /// `--output-schema`.
    pub output_schema: Option<PathBuf>,
    /// `--providers`.
    pub providers: bool,
    /// `--import`.
    pub import: Option<PathBuf>,
    /// `--with-api-key`.
    pub with_api_key: bool,
    /// `--list`.
    pub list: bool,
    /// `--redo`.
    pub redo: bool,
    /// `--file`.
    pub file: Option<String>,
    /// `--env`, for `mcp add`.
    pub mcp_env: Vec<String>,
    /// `--url`, for `mcp add`.
    pub mcp_url: Option<String>,
    /// `--bearer-token-env-var`, for `mcp add`.
    pub mcp_bearer: Option<String>,
    /// `--json`.
    pub json: bool,
    /// `--ephemeral`.
    pub ephemeral: bool,
    /// `--strict-config`.
    pub strict_config: bool,
    /// `--color`.
    pub color: ColorChoice,
    /// `--debug`.
    pub debug: bool,
}

/// A command line that means nothing. `Display` is a message for people; the exit code is 2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageError {
    /// What is wrong, and the nearest right thing.
    pub message: String,
    /// The subcommand whose help tells more.
    pub verb: Verb,
}

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let call = Subcommand::of(self.verb).call();
        let pause = if self.message.ends_with('?') {
            " See"
        } else {
            "; see"
        };
        write!(f, "{}{pause} `{call} --help`", self.message)
    }
}

impl std::error::Error for UsageError {}

/// Reads a command line, given without the program's own name.
///
/// Flags may stand before and after the subcommand. `--` ends them: every word after it belongs to
/// the prompt, or to the command of `sandbox`. Once a subcommand has got a word of its own, the
/// words after `--image FILE` are further images, so that the list may stand last.
pub fn parse<I>(args: I) -> Result<Invocation, UsageError>
where
    I: IntoIterator,
    I::Item: Into<OsString>,
{
    let mut line = Line::new(Parser::from_args(args));
    line.read()
        .and_then(|()| line.finish())
        .map_err(|message| UsageError {
            message,
            verb: line.verb().unwrap_or(Verb::Run),
        })
}
