//! What came of an action.

use super::{Pass, PlanStep, ToolError};
use crate::model::Part;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// What came of an [`Action`].
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Of a read.
    Read(ReadOut),
    /// Of a read of a notebook by its cells.
    Cells(CellsOut),
    /// Of a write, edit, insert, patch or undo: each file that changed, in order.
    Changed(Vec<FileChange>),
    /// Of a list.
    Listed(ListOut),
    /// Of a glob.
    Found(FoundOut),
    /// Of a grep.
    Matches(GrepOut),
    /// Of a shell, shell input, shell stop, or a wait for one command.
    Shell(ShellOut),
    /// Of a grep that counts: each file, absolute, with its matching lines.
    Counted(CountOut),
    /// Of a list of background commands; of a wait for any of them when none has ended: those that
    /// run.
    Jobs(Vec<JobOut>),
    /// The plan was taken over.
    Planned,
    /// The plan as it stands.
    Plan(Vec<PlanStep>),
    /// The mode was changed as asked.
    ModeSet,
    /// Answers of the person, one list of chosen or own words for each question.
    Answered(Vec<Vec<String>>),
    /// Of a nested agent that worked.
    Delegated(DelegateOut),
    /// How nested agents stand: of a part that is done later; of a look at them; of an end, before it.
    Agents(Vec<AgentOut>),
    /// Of a skill.
    Skill(SkillOut),
    /// Of a tool of an MCP server.
    Mcp(McpOut),
    /// Tools that were found, with their schemas, as a text for the model.
    ToolsFound(String),
    /// A page.
    Fetched(PageOut),
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
            Outcome::Mcp(out) => out.is_error,
            _ => false,
        }
    }
}

/// A skill as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillOut {
    /// Its name.
    pub name: String,
    /// Its folder, absolute.
    pub folder: PathBuf,
    /// Its text behind the front matter, within what a result may have.
    pub text: String,
    /// What the call said beside the name.
    pub args: Option<String>,
}

/// What a tool of an MCP server gave back.
#[derive(Debug, Clone, PartialEq)]
pub struct McpOut {
    /// What the model reads: one text, then pictures.
    pub parts: Vec<Part>,
    /// The tool says that it failed.
    pub is_error: bool,
    /// The content as it came, for programs.
    pub content: serde_json::Value,
    /// Its structured form, as it came.
    pub structured: Option<serde_json::Value>,
    /// What the server says beside it, for programs.
    pub meta: Option<Box<serde_json::Value>>,
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

/// Cells of a notebook.
#[derive(Debug, Clone, PartialEq)]
pub struct CellsOut {
    /// The notebook, absolute.
    pub path: PathBuf,
    /// The cells that are given.
    pub cells: Vec<CellOut>,
    /// The number of the first one given, from 1.
    pub first: usize,
    /// How many cells the notebook has.
    pub total: usize,
}

impl CellsOut {
    /// What stands in the cells, with a blank line between them.
    pub fn text(&self) -> String {
        let cells = self.cells.iter().map(|cell| cell.source.trim_end());
        cells.collect::<Vec<_>>().join("\n\n")
    }
}

/// One cell of a notebook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellOut {
    /// Its id, or `cell-0` and so on where it has none.
    pub id: String,
    /// `code`, `markdown`, …
    pub kind: String,
    /// Its text.
    pub source: String,
    /// What it printed, as text; pictures by their type.
    pub printed: String,
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
    /// How many files were searched.
    pub searched: usize,
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

/// Matching lines by file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountOut {
    /// File or folder that was searched, absolute.
    pub root: PathBuf,
    /// Files with their number of matching lines, by path.
    pub files: Vec<(PathBuf, usize)>,
    /// How many files there are in all.
    pub total_files: usize,
    /// How many matching lines there are in all.
    pub total: usize,
}

/// A command in the background.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobOut {
    /// Its number.
    pub id: u32,
    /// Its command line.
    pub command: String,
    /// How it stands.
    pub status: ShellStatus,
    /// How long ago it was started.
    pub age: Duration,
}

/// The result of a nested agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DelegateOut {
    /// A number of its own within the session.
    pub id: u32,
    /// Its last answer; may be empty.
    pub text: String,
    /// Why it ended early, as a sentence; `None` when it was done.
    pub failure: Option<String>,
    /// How many actions it took.
    pub actions: u32,
    /// Tokens that it read and wrote.
    pub tokens: u64,
    /// How long it took.
    pub took: Duration,
}

/// How a nested agent stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentOut {
    /// Its number within the session.
    pub id: u32,
    /// What the model calls it, if it named it.
    pub name: Option<String>,
    /// Its role.
    pub role: String,
    /// What it was begun for.
    pub prompt: String,
    /// It began with the conversation of the main agent.
    pub forked: bool,
    /// Its conversation, where that is kept.
    pub file: Option<PathBuf>,
    /// How far it is.
    pub state: AgentState,
}

/// How far a nested agent is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentState {
    /// It has something to do, and has not begun with it.
    Waiting,
    /// It has answered.
    Done(DelegateOut),
    /// It was ended.
    Closed,
}

/// A page of the web.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PageOut {
    /// Where it was found, after the redirects that were followed.
    pub url: String,
    /// The status of the answer: 200, or of a redirect that was not followed its own.
    pub status: u16,
    /// The content type as the server named it; may be empty.
    pub kind: String,
    /// How many bytes the server sent.
    pub size: u64,
    /// The title of an HTML page.
    pub title: Option<String>,
    /// The text was taken out of HTML.
    pub extracted: bool,
    /// How many bytes of the text stand before what is given.
    pub skipped: usize,
    /// The text from there on.
    pub output: Output,
    /// The server sent only the first part of it, or more than is taken.
    pub broken_off: bool,
    /// The page is at this address, on another server, where it was not asked for.
    pub redirect: Option<String>,
}

/// A command's result.
#[derive(Debug, Clone, PartialEq)]
pub struct ShellOut {
    /// The command line.
    pub command: String,
    /// Where it ran, absolute.
    pub dir: PathBuf,
    /// Its number, if it runs or ran in the background.
    pub job: Option<u32>,
    /// Standard output and standard error as they came, valid UTF-8, escape sequences kept.
    pub output: Output,
    /// How it stands.
    pub status: ShellStatus,
    /// How long we waited for it.
    pub wall: Duration,
    /// One sentence when the sandbox is the likely cause of the failure, and what to do.
    pub fence: Option<String>,
    /// The next command starts here again, since the command ended in a folder that is outside.
    pub back_in: Option<Box<PathBuf>>,
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
    /// Where the whole of it is: when it is more than the model will be shown, and always for a
    /// command in the background, whose file grows while it runs.
    pub file: Option<PathBuf>,
}
