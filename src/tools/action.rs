//! What an agent can do to the world, and what came of it.
//!
//! [`Action`] and [`Outcome`] are the only things that tools and harnesses share. A harness turns
//! its own tool calls into actions and outcomes into its own words; how agents differ in one deed
//! is data in the action, never a second tool.

mod error;
mod outcome;

pub use error::ToolError;
pub use outcome::*;

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// One deed. Paths are as the model wrote them; the tool resolves them against the working
/// folder and checks them at the gate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Action {
    /// Read a text file, or a stretch of its lines.
    Read {
        /// The file.
        path: String,
        /// First line, counted from 1.
        first: usize,
        /// How many lines; `None`: to the end.
        lines: Option<usize>,
        /// The most bytes of text to give back; cut at a line end, or inside a longer line.
        max_bytes: usize,
    },
    /// Write a whole file, making its parent folders.
    Write {
        /// The file.
        path: String,
        /// The new content.
        content: String,
        /// What must hold before.
        rule: WriteRule,
    },
    /// Replace text in one file.
    Edit {
        /// The file.
        path: String,
        /// The replacements, in order.
        edits: Vec<Replace>,
        /// Whether later replacements see the text before or after the earlier ones.
        base: Base,
        /// What to do when the text stands in several places.
        unique: Unique,
        /// How a text that does not match exactly may match, tried in order after the exact one.
        passes: Vec<Pass>,
        /// The file must have been read in this session and be unchanged since.
        read_first: bool,
        /// An empty `old` makes a file that does not exist.
        may_create: bool,
    },
    /// Insert whole lines.
    Insert {
        /// The file.
        path: String,
        /// After which line, counted from 1; 0: at the top.
        after: usize,
        /// The text; gets a line end if it has none.
        text: String,
    },
    /// Apply a patch in the Codex format (`*** Begin Patch`).
    Patch {
        /// The whole patch text.
        text: String,
        /// The folder that its paths are relative to, when a `cd` preceded it.
        dir: Option<String>,
    },
    /// Take back the last change that this session made to one file.
    UndoEdit {
        /// The file.
        path: String,
    },
    /// List a folder.
    List {
        /// The folder.
        path: String,
        /// Globs of names to leave out.
        ignore: Vec<String>,
        /// Leave out what `.gitignore` and its kind name.
        respect_ignore: bool,
        /// The most entries.
        limit: usize,
    },
    /// Find files by name.
    Glob {
        /// The pattern, for example `src/**/*.rs`.
        pattern: String,
        /// The folder to search; `None`: the working folder.
        path: Option<String>,
        /// The most files.
        limit: usize,
    },
    /// Find lines by a regular expression.
    Grep {
        /// The expression in Rust's syntax.
        pattern: String,
        /// File or folder; `None`: the working folder.
        path: Option<String>,
        /// Only files whose name matches this glob.
        include: Option<String>,
        /// Upper and lower case are the same.
        ignore_case: bool,
        /// Lines of context before and after a match.
        context: usize,
        /// The most matches.
        limit: usize,
    },
    /// Run a command in the sandbox.
    Shell(Shell),
    /// Write to a command that still runs, and collect its new output.
    ShellInput {
        /// The number of the running command.
        id: u32,
        /// What to write to its standard input; may be empty.
        chars: String,
        /// How long to wait for output.
        wait: Duration,
    },
    /// End a command that still runs.
    ShellStop {
        /// The number of the running command.
        id: u32,
    },
    /// Set the plan.
    Plan {
        /// All steps, in order.
        steps: Vec<PlanStep>,
        /// Why it changed.
        explanation: Option<String>,
    },
    /// Look at a picture.
    ViewImage {
        /// The file.
        path: String,
    },
    /// The model says that the task is done.
    Finish {
        /// The final answer.
        text: String,
    },
}

impl Action {
    /// The neutral name of the deed, as shown to a person.
    pub fn verb(&self) -> &'static str {
        match self {
            Action::Read { .. } => "read",
            Action::Write { .. } => "write",
            Action::Edit { .. } => "edit",
            Action::Insert { .. } => "insert",
            Action::Patch { .. } => "patch",
            Action::UndoEdit { .. } => "undo",
            Action::List { .. } => "list",
            Action::Glob { .. } => "glob",
            Action::Grep { .. } => "grep",
            Action::Shell(_) => "run",
            Action::ShellInput { .. } => "input",
            Action::ShellStop { .. } => "stop",
            Action::Plan { .. } => "plan",
            Action::ViewImage { .. } => "view",
            Action::Finish { .. } => "finish",
        }
    }
}

/// What must hold before a whole file is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteRule {
    /// An existing file must have been read in this session and be unchanged since.
    pub read_first: bool,
    /// The file must not exist.
    pub must_be_new: bool,
}

/// One replacement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replace {
    /// The text that stands there.
    pub old: String,
    /// The text that shall stand there.
    pub new: String,
}

/// What the second of several replacements sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Base {
    /// The file as it was before all of them.
    Original,
    /// The file as the earlier ones left it.
    Evolving,
}

/// What to do with several places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unique {
    /// An error that names each place.
    Require,
    /// Take the first.
    First,
    /// Replace all.
    All,
}

/// A way in which a text may match although it is not the same byte for byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pass {
    /// Typographic quotes, dashes and spaces count as their ASCII forms.
    Punctuation,
    /// White space at line ends does not count.
    TrailingSpace,
    /// Another indentation, if the place is unique; the new text is re-indented to fit.
    Indentation,
    /// `\n`, `\t` and `\"` written out count as the characters they name.
    Escapes,
}

impl Pass {
    /// Every way, from the closest to the widest. What a harness offers unless it knows better.
    pub const ALL: [Pass; 4] = [
        Pass::Punctuation,
        Pass::TrailingSpace,
        Pass::Indentation,
        Pass::Escapes,
    ];
}

/// A command and how it is run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Shell {
    /// The command line, for the shell.
    pub command: String,
    /// Where; `None`: the session's folder.
    pub dir: Option<String>,
    /// Which shell.
    pub shell: ShellKind,
    /// Kill it, or leave it running, after this time; `None`: no limit.
    pub time_limit: Option<Duration>,
    /// What happens at the limit.
    pub on_timeout: OnTimeout,
    /// Start it and return at once.
    pub background: bool,
    /// The folder that the command ends in is where the next one starts.
    pub cwd_persists: bool,
    /// Keep its standard input open for [`Action::ShellInput`]; else it is empty.
    pub stdin: bool,
    /// Further variables.
    pub env: Vec<(String, String)>,
    /// The model asks to run it outside the sandbox.
    pub escalate: Option<Escalation>,
}

impl Shell {
    /// A plain command in the session's folder, killed after `limit`.
    pub fn new(command: impl Into<String>, limit: Duration) -> Self {
        Shell {
            command: command.into(),
            dir: None,
            shell: ShellKind::User { login: false },
            time_limit: Some(limit),
            on_timeout: OnTimeout::Kill,
            background: false,
            cwd_persists: false,
            stdin: false,
            env: Vec::new(),
            escalate: None,
        }
    }
}

/// Which shell runs a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ShellKind {
    /// The user's shell if it is a POSIX one, else bash, else sh.
    User {
        /// Read the login profile first.
        login: bool,
    },
    /// `/bin/sh`.
    Sh,
    /// A named one.
    Named {
        /// Program.
        program: String,
        /// Read the login profile first.
        login: bool,
    },
}

/// What happens to a command at its time limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum OnTimeout {
    /// It is killed with everything that it started.
    Kill,
    /// It goes on, and the model gets a number to ask for it.
    Background,
}

/// A wish to leave the sandbox for one command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Escalation {
    /// The question that the model wants to have put to the user.
    pub justification: Option<String>,
    /// The beginning of the command that could be allowed for good.
    pub prefix: Vec<String>,
}

/// One line of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanStep {
    /// What is to be done.
    pub text: String,
    /// How far it is.
    pub status: StepStatus,
    /// The model's own id for it, where the harness has ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// How far a step of a plan is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// Not begun.
    Pending,
    /// At work.
    InProgress,
    /// Done.
    Completed,
}

impl StepStatus {
    /// The name that all harnesses use.
    pub fn name(self) -> &'static str {
        match self {
            StepStatus::Pending => "pending",
            StepStatus::InProgress => "in_progress",
            StepStatus::Completed => "completed",
        }
    }
}
