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
    Read(Read),
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
    /// Apply a patch to one or several files.
    Patch {
        /// The whole patch text.
        text: String,
        /// How it is written.
        form: PatchForm,
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
    /// Find lines, or the files that hold them, by a regular expression.
    Grep(Grep),
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
    /// Wait for a command that runs in the background, and see what it has printed.
    ShellWait {
        /// The number of the command; `None`: whichever ends first.
        id: Option<u32>,
        /// How long at most; zero only looks.
        wait: Duration,
        /// All of its output that is held, not only what is new since the last look.
        all: bool,
    },
    /// List the commands in the background.
    ShellList,
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
    /// Show the plan as it stands.
    PlanRead,
    /// Begin or end the planning mode, in which nothing may be changed. The person agrees to its end.
    Mode {
        /// True at its beginning, false at its end.
        planning: bool,
        /// What is planned, for the person to agree to; empty at the beginning.
        plan: String,
    },
    /// Put questions to the person.
    Ask {
        /// One to four of them.
        questions: Vec<AskedQuestion>,
    },
    /// Let a nested agent do a part of the task.
    Delegate(Delegate),
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
            Action::Read(_) => "read",
            Action::Write { .. } => "write",
            Action::Edit { .. } => "edit",
            Action::Insert { .. } => "insert",
            Action::Patch { .. } => "patch",
            Action::UndoEdit { .. } => "undo",
            Action::List { .. } => "list",
            Action::Glob { .. } => "glob",
            Action::Grep(_) => "grep",
            Action::Shell(_) => "run",
            Action::ShellInput { .. } => "input",
            Action::ShellWait { .. } => "wait",
            Action::ShellList => "jobs",
            Action::ShellStop { .. } => "stop",
            Action::Plan { .. } | Action::PlanRead => "plan",
            Action::Mode { .. } => "mode",
            Action::Ask { .. } => "ask",
            Action::Delegate(_) => "delegate",
            Action::ViewImage { .. } => "view",
            Action::Finish { .. } => "finish",
        }
    }
}

/// A text file, or a stretch of its lines, to be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Read {
    /// The file.
    pub path: String,
    /// First line, counted from 1; of a folder the first entry.
    pub first: usize,
    /// `first` counts from the end: 1 is the last line. Beyond the beginning it is the beginning.
    pub from_end: bool,
    /// How many lines; `None`: to the end. Of a folder as many entries, or 1,000.
    pub lines: Option<usize>,
    /// The most bytes of text to give back; cut at a line end, or inside a longer line.
    pub max_bytes: usize,
    /// A folder is listed, with everything in it, instead of being an error.
    pub or_list: bool,
}

impl Read {
    /// A file from its beginning.
    pub fn new(path: impl Into<String>, lines: Option<usize>, max_bytes: usize) -> Self {
        Read {
            path: path.into(),
            first: 1,
            from_end: false,
            lines,
            max_bytes,
            or_list: false,
        }
    }
}

/// What a search looks for, where, and what it gives back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grep {
    /// The expression in Rust's syntax.
    pub pattern: String,
    /// File or folder; `None`: the working folder.
    pub path: Option<String>,
    /// Only files whose name matches this glob.
    pub include: Option<String>,
    /// Only files of this kind, by ripgrep's names: `rust`, `py`, … A file that is named itself is
    /// searched in any case.
    pub file_type: Option<String>,
    /// Upper and lower case are the same.
    pub ignore_case: bool,
    /// The expression may match across lines, and `.` matches a line end.
    pub multiline: bool,
    /// Lines of context before and after a match.
    pub context: (usize, usize),
    /// What is given back.
    pub want: GrepWant,
    /// How many matches, files or counts are left out at the beginning.
    pub skip: usize,
    /// The most matches, files or counts.
    pub limit: usize,
}

impl Grep {
    /// Lines of all files below the working folder.
    pub fn new(pattern: impl Into<String>, limit: usize) -> Self {
        Grep {
            pattern: pattern.into(),
            path: None,
            include: None,
            file_type: None,
            ignore_case: false,
            multiline: false,
            context: (0, 0),
            want: GrepWant::Lines,
            skip: 0,
            limit,
        }
    }
}

/// What a search gives back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum GrepWant {
    /// The lines, of a match across lines each: [`Outcome::Matches`].
    Lines,
    /// The files that have a match, newest first: [`Outcome::Found`].
    Files,
    /// How many matching lines each file has, or matches where one may go over several lines, by
    /// path: [`Outcome::Counted`].
    Counts,
}

/// How a patch is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PatchForm {
    /// That of Codex (`*** Begin Patch`).
    Codex,
    /// A unified diff, as `diff -u` and git write it.
    Unified,
}

/// A question of the model to the person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedQuestion {
    /// The model's own id for it, where the harness has ids.
    pub id: Option<String>,
    /// A word or two that stand above it; may be empty.
    pub header: String,
    /// The question.
    pub question: String,
    /// Answers to choose from, each with what it means; the person may always give another.
    pub options: Vec<(String, String)>,
    /// Several may be chosen.
    pub several: bool,
}

/// A part of the task for a nested agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delegate {
    /// The role as the harness names it; decides prompt and tools of the nested agent.
    pub role: String,
    /// A few words for the person.
    pub title: String,
    /// What it shall do: all that it is told.
    pub prompt: String,
    /// It may only look.
    pub read_only: bool,
}

/// What must hold before a whole file is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteRule {
    /// An existing file must have been read in this session and be unchanged since.
    pub read_first: bool,
    /// The file must not exist.
    pub must_be_new: bool,
    /// The content is added at the end of a file that exists.
    pub append: bool,
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
