//! What an agent can do to the world, and what came of it.
//!
//! [`Action`] and [`Outcome`] are the only things that tools and harnesses share. A harness turns
//! its own tool calls into actions and outcomes into its own words; how agents differ in one deed
//! is data in the action, never a second tool.

use crate::model::Part;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
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

    /// True when it can change nothing.
    pub fn is_read_only(&self) -> bool {
        matches!(
            self,
            Action::Read { .. }
                | Action::List { .. }
                | Action::Glob { .. }
                | Action::Grep { .. }
                | Action::Plan { .. }
                | Action::ViewImage { .. }
                | Action::Finish { .. }
        )
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

/// What came of an [`Action`].
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Of a read.
    Read(ReadOut),
    /// Of a write, edit, insert, patch or undo: each file that changed, in order.
    Changed(Vec<FileChange>),
    /// Of a list.
    Listed(ListOut),
    /// Of a glob.
    Found(FoundOut),
    /// Of a grep.
    Matches(GrepOut),
    /// Of a shell, shell input or shell stop.
    Shell(ShellOut),
    /// The plan was taken over.
    Planned,
    /// A picture.
    Image {
        /// Its path.
        path: PathBuf,
        /// The picture itself.
        part: Part,
    },
    /// The task was declared done.
    Finished,
    /// It failed; the world is as before.
    Failed(ToolError),
    /// The user or the policy did not allow it; nothing ran.
    Refused {
        /// Why, in a sentence for the model.
        reason: String,
    },
    /// The user stopped it; what it did until then stands.
    Interrupted,
    /// It was not run again because the same call gave the same result before; a sentence for the model.
    Skipped(String),
}

impl Outcome {
    /// True when the model should see it as an error.
    pub fn is_error(&self) -> bool {
        match self {
            Outcome::Failed(_)
            | Outcome::Refused { .. }
            | Outcome::Interrupted
            | Outcome::Skipped(_) => true,
            Outcome::Shell(s) => !s.succeeded(),
            _ => false,
        }
    }
}

/// Lines of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadOut {
    /// The file, absolute.
    pub path: PathBuf,
    /// The lines, with `\n` ends, whatever the file has.
    pub text: String,
    /// The number of the first line given, from 1.
    pub first: usize,
    /// How many lines are given.
    pub lines: usize,
    /// How many lines the file has; a final line end does not start another line.
    pub total: usize,
    /// True when `max_bytes` cut it short, in the middle of a line if that line alone is longer.
    pub cut: bool,
    /// The same stretch was given before in this session, and the file has not changed since.
    pub repeated: bool,
}

/// One file that changed.
#[derive(Debug, Clone, PartialEq)]
pub struct FileChange {
    /// The file, absolute; for a move, where it was.
    pub path: PathBuf,
    /// The path as the model wrote it.
    pub shown: String,
    /// What happened to it.
    pub kind: ChangeKind,
    /// Where it is now, if it was moved: absolute, and as the model wrote it.
    pub moved_to: Option<(PathBuf, String)>,
    /// The text before, if there was any and it was text.
    pub before: Option<String>,
    /// The text after, if there is any.
    pub after: Option<String>,
    /// How many places were replaced.
    pub places: usize,
    /// The lines of the new text that changed, first and last, from 1; nothing for a deletion.
    pub lines: Option<(usize, usize)>,
    /// The way in which an inexact text matched.
    pub matched_by: Option<Pass>,
}

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// It is new.
    Add,
    /// It is gone.
    Delete,
    /// It has another content or place.
    Update,
}

/// Entries of a folder.
#[derive(Debug, Clone, PartialEq)]
pub struct ListOut {
    /// The folder, absolute.
    pub path: PathBuf,
    /// Its entries: folders first, then by name.
    pub entries: Vec<Entry>,
    /// How many were left out by ignore rules.
    pub ignored: usize,
    /// How many there are beyond the limit.
    pub more: usize,
}

/// One entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Whether it is a folder.
    pub is_dir: bool,
    /// Its size in bytes.
    pub size: u64,
}

/// Files found by name.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundOut {
    /// The folder that was searched, absolute.
    pub root: PathBuf,
    /// Absolute paths, newest first.
    pub paths: Vec<PathBuf>,
    /// How many there are in all.
    pub total: usize,
}

/// Lines found by content.
#[derive(Debug, Clone, PartialEq)]
pub struct GrepOut {
    /// File or folder that was searched, absolute.
    pub root: PathBuf,
    /// The lines, by file and number.
    pub lines: Vec<GrepLine>,
    /// How many lines match in all, as far as was counted.
    pub total: usize,
    /// True when there are more than the limit.
    pub cut: bool,
}

/// One line of a [`GrepOut`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrepLine {
    /// The file, absolute.
    pub path: PathBuf,
    /// The line's number, from 1.
    pub number: u64,
    /// Its text without the line end.
    pub text: String,
    /// False for a line of context.
    pub is_match: bool,
}

/// A command's result.
#[derive(Debug, Clone, PartialEq)]
pub struct ShellOut {
    /// The command line.
    pub command: String,
    /// Where it ran, absolute.
    pub dir: PathBuf,
    /// Standard output and standard error as they came, valid UTF-8, escape sequences kept.
    pub output: Output,
    /// How it stands.
    pub status: ShellStatus,
    /// How long we waited for it.
    pub wall: Duration,
    /// One sentence when the sandbox is the likely cause of the failure, and what to do.
    pub fence: Option<String>,
}

impl ShellOut {
    /// True for exit code 0 and for a command that still runs.
    pub fn succeeded(&self) -> bool {
        matches!(
            self.status,
            ShellStatus::Exited(0) | ShellStatus::Running { .. }
        )
    }
}

/// How a command stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ShellStatus {
    /// It ended with this code.
    Exited(i32),
    /// A signal ended it.
    Signaled(i32),
    /// It was killed at its time limit.
    TimedOut,
    /// It still runs.
    Running {
        /// The number to ask for it.
        id: u32,
        /// Its process group, 0 when unknown.
        pid: u32,
    },
}

/// Captured text of any size, of which at most one MiB is held: the first and the last half.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Output {
    /// The text, or its head and tail with a line between that says what is missing.
    pub text: String,
    /// How many bytes there were.
    pub bytes: u64,
    /// Where the whole of it is, when it is more than the model will be shown.
    pub file: Option<PathBuf>,
}

/// Why a deed failed. `Display` is a sentence for the model: the thing, the cause, the next step.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolError {
    /// No such file or folder.
    NotFound {
        /// As written.
        path: String,
        /// A file of that name elsewhere in the workspace, if it is the only one.
        instead: Option<String>,
    },
    /// A folder where a file is wanted.
    IsFolder {
        /// As written.
        path: String,
    },
    /// A file where a folder is wanted.
    NotFolder {
        /// As written.
        path: String,
    },
    /// Not text.
    Binary {
        /// As written.
        path: String,
    },
    /// Above the size that the tool takes.
    TooLarge {
        /// As written.
        path: String,
        /// Its size.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// A line number past the end.
    PastEnd {
        /// As written.
        path: String,
        /// The line asked for.
        line: usize,
        /// How many there are.
        total: usize,
    },
    /// The file must be read first.
    NotRead {
        /// As written.
        path: String,
    },
    /// The file changed since it was read.
    ChangedSince {
        /// As written.
        path: String,
    },
    /// The text to replace is not in the file.
    NoMatch {
        /// As written.
        path: String,
        /// Which replacement, from 0.
        index: usize,
        /// The most similar lines of the file, numbered, if any are similar.
        near: Option<String>,
    },
    /// The text to replace stands in several places.
    Ambiguous {
        /// As written.
        path: String,
        /// Which replacement, from 0.
        index: usize,
        /// The first line of each place, from 1.
        lines: Vec<usize>,
    },
    /// Old and new text are the same.
    Identical {
        /// As written.
        path: String,
    },
    /// The file exists although it must not.
    Exists {
        /// As written.
        path: String,
    },
    /// Nothing to take back.
    NothingToUndo {
        /// As written.
        path: String,
    },
    /// The gate refuses the path.
    Denied {
        /// As written.
        path: String,
        /// Why.
        why: String,
    },
    /// A patch that cannot be read.
    BadPatch {
        /// Why, with the line.
        why: String,
    },
    /// A patch whose lines are not in the file.
    PatchMismatch {
        /// As written.
        path: String,
        /// The file, absolute.
        absolute: PathBuf,
        /// The lines that were looked for.
        expected: String,
        /// The most similar lines of the file, numbered, if any are similar.
        near: Option<String>,
    },
    /// A pattern that cannot be read.
    BadPattern {
        /// As written.
        pattern: String,
        /// Why.
        why: String,
    },
    /// No running command of that number.
    NoSuchCommand {
        /// The number.
        id: u32,
        /// The numbers that exist.
        running: Vec<u32>,
    },
    /// Anything else: what was tried, and the system's reason.
    Other(String),
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ToolError::NotFound {
                path,
                instead: Some(other),
            } => write!(f, "{path} does not exist; did you mean {other}?"),
            ToolError::NotFound {
                path,
                instead: None,
            } => write!(
                f,
                "{path} does not exist; list the folder to see what is there"
            ),
            ToolError::IsFolder { path } => write!(
                f,
                "{path} is a folder, not a file; list it, or name a file in it"
            ),
            ToolError::NotFolder { path } => write!(
                f,
                "{path} is a file, not a folder; read it, or name its folder"
            ),
            ToolError::Binary { path } => write!(
                f,
                "{path} is not a text file, so it cannot be read or edited as one"
            ),
            ToolError::TooLarge { path, bytes, limit } => {
                write!(
                    f,
                    "{path} has {bytes} bytes, more than the {limit} that this tool takes; use the shell for parts of it"
                )
            }
            ToolError::PastEnd { path, line, total } => {
                write!(f, "{path} has {total} lines, so there is no line {line}")
            }
            ToolError::NotRead { path } => write!(
                f,
                "{path} has not been read in this session; read it first, then change it"
            ),
            ToolError::ChangedSince { path } => write!(
                f,
                "{path} was changed by somebody else since you read it; read it again, then change it"
            ),
            ToolError::NoMatch { path, near, .. } => {
                write!(
                    f,
                    "the text to replace is not in {path}; copy it exactly from the file, white space included"
                )?;
                near.as_ref()
                    .map_or(Ok(()), |n| write!(f, ". The most similar lines are:\n{n}"))
            }
            ToolError::Ambiguous { path, lines, .. } => {
                let at = lines
                    .iter()
                    .map(usize::to_string)
                    .collect::<Vec<_>>()
                    .join(", ");
                write!(
                    f,
                    "the text to replace stands in {path} {} times, at lines {at}; add surrounding lines to make it unique",
                    lines.len()
                )
            }
            ToolError::Identical { path } => {
                write!(
                    f,
                    "old and new text are the same, so nothing in {path} would change; read the file again and send the text that you want there"
                )
            }
            ToolError::Exists { path } => write!(
                f,
                "{path} exists already; edit it instead, or choose another name"
            ),
            ToolError::NothingToUndo { path } => write!(
                f,
                "no change to {path} was made in this session, so there is nothing to undo"
            ),
            ToolError::Denied { path, why } => write!(f, "{path}: {why}"),
            ToolError::BadPatch { why } => write!(f, "{why}"),
            ToolError::PatchMismatch {
                path,
                expected,
                near,
                ..
            } => {
                write!(f, "these lines are not in {path}:\n{expected}")?;
                near.as_ref()
                    .map_or(Ok(()), |n| write!(f, "\nThe most similar lines are:\n{n}"))
            }
            ToolError::BadPattern { pattern, why } => {
                write!(f, "the pattern `{pattern}` cannot be read: {why}")
            }
            ToolError::NoSuchCommand { id, running } if running.is_empty() => {
                write!(f, "no command {id} is running, nor any other")
            }
            ToolError::NoSuchCommand { id, running } => {
                let ids = running
                    .iter()
                    .map(u32::to_string)
                    .collect::<Vec<_>>()
                    .join(", ");
                write!(f, "no command {id} is running; these are: {ids}")
            }
            ToolError::Other(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for ToolError {}
