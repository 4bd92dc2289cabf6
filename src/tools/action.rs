//! What an agent can do to the world, and what came of it.
//!
//! [`Action`] and [`Outcome`] are the only things that tools and harnesses share. A harness turns
//! its own tool calls into actions and outcomes into its own words; how agents differ in one deed
//! is data in the action, never a second tool.

mod change;
mod error;
mod look;
mod outcome;
mod shell;

pub use change::{Base, Pass, PatchForm, Replace, Unique, WriteRule};
pub use error::ToolError;
pub use look::{Glob, Grep, GrepWant, Ignored, Read};
pub use outcome::*;
pub use shell::{Escalation, OnTimeout, Shell, ShellKind};

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
    /// Change one cell of a notebook.
    EditCell(CellEdit),
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
    Glob(Glob),
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
    /// See to nested agents that were begun before.
    Agents {
        /// Each by its number or its name.
        agents: Vec<String>,
        /// What is done with them.
        want: AgentWant,
    },
    /// Read a skill.
    Skill {
        /// Its name.
        name: String,
        /// What the model says beside it.
        args: Option<String>,
    },
    /// Call a tool of an MCP server.
    Mcp(Mcp),
    /// Find tools that are not on offer for lack of room.
    FindTools {
        /// What they shall do, in a few words; or a name.
        query: String,
        /// The most tools.
        limit: usize,
    },
    /// Get a page of the web, or of a server nearby.
    Fetch(Fetch),
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
            Action::EditCell(_) => "edit",
            Action::Patch { .. } => "patch",
            Action::UndoEdit { .. } => "undo",
            Action::List { .. } => "list",
            Action::Glob(_) => "glob",
            Action::Grep(_) => "grep",
            Action::Shell(_) => "run",
            Action::ShellInput { .. } => "input",
            Action::ShellWait { .. } => "wait",
            Action::ShellList => "jobs",
            Action::ShellStop { .. } => "stop",
            Action::Plan { .. } | Action::PlanRead => "plan",
            Action::Mode { .. } => "planning",
            Action::Ask { .. } => "ask",
            Action::Delegate(_) => "delegate",
            Action::Agents { .. } => "agents",
            Action::Skill { .. } => "skill",
            Action::Mcp(_) => "call",
            Action::FindTools { .. } => "find tools",
            Action::Fetch(_) => "fetch",
            Action::ViewImage { .. } => "view",
            Action::Finish { .. } => "finish",
        }
    }
}

/// A change of one cell of a notebook, which must have been read and be unchanged since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellEdit {
    /// The notebook.
    pub path: String,
    /// The cell, by its id or as `cell-0`; to insert, the one before, and `None` for the beginning.
    pub cell: Option<String>,
    /// Its new text.
    pub source: String,
    /// What it is then; `None`: as before, and code if it is new.
    pub kind: Option<CellKind>,
    /// What is done.
    pub mode: CellMode,
}

/// What a cell of a notebook is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CellKind {
    /// Code, with what it printed.
    Code,
    /// Text.
    Markdown,
}

/// What is done with a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CellMode {
    /// It gets another text, and loses what it printed.
    Replace,
    /// A new one comes behind it.
    Insert,
    /// It goes.
    Delete,
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
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Delegate {
    /// The role as the harness names it; decides prompt and tools of the nested agent.
    pub role: String,
    /// A few words for the person.
    pub title: String,
    /// What it shall do: all that it is told.
    pub prompt: String,
    /// It may only look.
    pub read_only: bool,
    /// The agent that goes on in its own conversation, by its number or name; `None`: a new one.
    pub agent: Option<String>,
    /// What a new one is called beside its number.
    pub name: Option<String>,
    /// It works when somebody waits for it, and at the latest after the calls of the next reply. Else
    /// it works at once.
    pub later: bool,
    /// A new one begins with the conversation as it is, instead of an empty one.
    pub fork: bool,
    /// The tools that a new one has, by name; empty: all of its role.
    pub tools: Vec<String>,
    /// The folder that a new one starts in; `None`: where the next command would.
    pub dir: Option<String>,
}

/// What is done with nested agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentWant {
    /// Their answers; those that have not worked yet do so now.
    Answer,
    /// To end them. They can be taken up again.
    Close,
    /// To take them up again.
    Reopen,
}

/// A call of a tool of an MCP server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mcp {
    /// The server's name in the config.
    pub server: String,
    /// The tool's name on that server.
    pub tool: String,
    /// Its arguments, a JSON object.
    pub arguments: serde_json::Value,
    /// The server says that it changes nothing.
    pub read_only: bool,
    /// When it asks, as the user configured it.
    pub approval: ToolApproval,
}

/// When a tool of an MCP server asks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolApproval {
    /// Unless the server says that it changes nothing.
    #[default]
    Auto,
    /// The same.
    Writes,
    /// Always.
    Prompt,
    /// Never.
    Approve,
}

impl ToolApproval {
    /// The one of that name in the config.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "auto" => ToolApproval::Auto,
            "writes" => ToolApproval::Writes,
            "prompt" => ToolApproval::Prompt,
            "approve" => ToolApproval::Approve,
            _ => return None,
        })
    }
}

/// A page to be got, and in which form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fetch {
    /// Its address, `http` or `https`.
    pub url: String,
    /// How HTML is given back.
    pub form: PageForm,
    /// How many bytes of the text are left out at the beginning, to go on with a long page.
    pub skip: usize,
    /// How long it may take in all.
    pub limit: Duration,
}

impl Fetch {
    /// A page from its beginning, as Markdown.
    pub fn new(url: impl Into<String>, limit: Duration) -> Self {
        Fetch {
            url: url.into(),
            form: PageForm::Markdown,
            skip: 0,
            limit,
        }
    }
}

/// How the HTML of a page is given back; other text is given back as it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PageForm {
    /// Its text, with headings, lists, code and links marked.
    #[default]
    Markdown,
    /// Its text alone.
    Text,
    /// As the server sent it.
    Source,
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
