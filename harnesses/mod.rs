//! How a model sees the task.
//!
//! Each model family was trained inside one coding agent. A harness is the interface of such an
//! agent (prompt, tool names, argument schemas, result formats, message order) over our own tools.
//! It translates and nothing else: no input or output, no clock, no wire. Only this file names a
//! particular harness; adding one takes a folder and a line in [`ALL`].

mod choice;
pub mod claude_code;
pub mod claude_code_bare;
mod compact;
pub mod deepseek_tui;
pub mod format;
pub mod kimi_cli;
pub mod kimi_code;
pub mod mini_swe_agent;
pub mod minimal;
pub mod native;
pub mod opencode;
pub mod pi;
pub mod qwen_code;
pub mod swe_agent;
#[cfg(test)]
pub(crate) mod tests;
pub mod zcode;

pub use crate::model::arguments::CallError;
use crate::model::{Item, Part, Reply, ToolCall, ToolSpec};
use crate::tools::action::{Action, AgentOut, Outcome, PlanStep};
pub use choice::{Clues, GENERAL, for_model};
pub use compact::{CompactPlan, Facts};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

pub use crate::project::skills::Skill;
pub use crate::project::{Document, Instructions};

/// Every harness.
pub const ALL: &[&dyn Harness] = &[
    &native::Native,
    &claude_code::ClaudeCode,
    &claude_code_bare::ClaudeCodeBare,
    &zcode::ZCode,
    &kimi_code::KimiCode,
    &kimi_cli::KimiCli,
    &qwen_code::QwenCode,
    &deepseek_tui::DeepseekTui,
    &swe_agent::SweAgent,
    &mini_swe_agent::MiniSweAgent,
    &opencode::Opencode,
    &pi::Pi,
    &minimal::Minimal,
];

/// The harness of that id.
pub fn by_id(id: &str) -> Option<&'static dyn Harness> {
    ALL.iter().copied().find(|h| h.id() == id)
}

/// One emulated agent.
pub trait Harness: Sync {
    /// The id in config and flags.
    fn id(&self) -> &'static str;
    /// One line for `harness list`: which agent it is and for which models.
    fn about(&self) -> &'static str;
    /// True when it reads actions from the text of a reply and offers no tools, so that a model
    /// without tool calls will do.
    fn reads_text(&self) -> bool {
        false
    }
    /// What stands before the first word of the user. Made once, then frozen for the session and
    /// stored with it, so that a resumed session sends the same bytes.
    fn begin(&self, cx: &Context) -> Start;
    /// The items of one message of the user: by default one, the pictures before the words.
    fn user(&self, _state: &mut State, input: &Input) -> Vec<Item> {
        vec![Item::User {
            content: format::user_parts(input),
        }]
    }
    /// What one call asks for: valid JSON under an offered name.
    ///
    /// # Errors
    /// What is wrong with it, for the model.
    fn action(&self, call: &ToolCall) -> Result<Action, CallError>;
    /// The user's own words in the text of a message that [`Harness::user`] made.
    fn spoken<'a>(&self, _start: &'a Start, text: &'a str) -> &'a str {
        text
    }
    /// What a whole reply asks for: its calls; without any, its text is the answer.
    fn read(&self, _state: &State, reply: &Reply) -> Step {
        match reply.assistant.calls.as_slice() {
            [] => Step::Done,
            calls => Step::Act(calls.iter().map(|call| self.action(call)).collect()),
        }
    }
    /// Where the text of a reply that still comes has said all that one reply may say; what follows
    /// is not waited for. `None`: it goes on. For a harness that takes one action a reply.
    fn enough(&self, _text: &str) -> Option<usize> {
        None
    }
    /// The answer to one thing that a reply asked for, in at most `room` bytes.
    fn result(&self, done: &Done, room: usize) -> Item;
    /// The answers to everything that one reply asked for, in its order, then reminders.
    fn results(&self, _state: &mut State, done: &[Done], room: usize) -> Vec<Item> {
        done.iter().map(|done| self.result(done, room)).collect()
    }
    /// How the instructions of a folder below the working folder are told, with the first result
    /// that shows a file in it. `None`: the original does not tell them.
    fn nested(&self, _document: &Document) -> Option<Nested> {
        None
    }
    /// True when they are told with a command, too, that names a file or folder there.
    fn nested_by_command(&self) -> bool {
        false
    }
    /// The inverse of [`Harness::action`]: the name and arguments of the call that asks for this,
    /// so that a transcript can change its harness. `None`: it has no such tool. The text of a
    /// freeform tool stands under `input`; a harness that reads text gives the label of a fenced
    /// block and, under `command`, what stands in it.
    fn write(&self, _action: &Action) -> Option<(&'static str, Value)> {
        None
    }
    /// What a nested agent of that role sees. `cx.depth` is at least 1.
    fn child(&self, _role: &str, cx: &Context) -> Start {
        self.begin(cx)
    }
    /// How something that happened by itself is told to the model.
    fn notice(&self, state: &mut State, notice: &Notice) -> Vec<Item>;
    /// How it asks for a summary and lays out the conversation that takes the place of the old one.
    fn compact(&self, _cx: &Context) -> CompactPlan {
        CompactPlan::general(!self.reads_text())
    }
    /// The final answer, when the results just made have ended the turn; asked after
    /// [`Harness::results`].
    fn is_over(&self, _state: &State) -> Option<String> {
        None
    }
}

/// The counter of [`State::counters`] that the agent loop keeps for [`Harness::read`]: how many
/// requeries came directly before this reply. The loop adds one at each [`Step::Requery`] and
/// removes it at any other step.
pub const REQUERIES: &str = "requeries";

/// The frozen beginning of a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// The system prompt.
    pub system: String,
    /// The tools on offer; empty for a harness that reads actions from text.
    pub tools: Vec<ToolSpec>,
    /// Tools that are not shown for lack of room: the harness has a search for them, and takes their
    /// calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deferred: Vec<ToolSpec>,
    /// Items before the first message of the user.
    pub opening: Vec<Item>,
    /// Tools of the original agent that are not offered in this run, each with the reason.
    pub left_out: Vec<(String, String)>,
    /// The skills that it tells of; kept by the agent loop.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<Skill>,
    /// What the harness remembers before the first message of the user.
    #[serde(default)]
    pub state: State,
}

/// How much of an agent's surface is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Size {
    /// A few lines of prompt and the core tools: system and tools at most 4,000 bytes. Default below 10k.
    Tiny,
    /// System and tools at most 10,000 bytes. Default below 32k.
    Compact,
    /// Everything that works here.
    Full,
}

impl Size {
    /// All sizes with their names.
    pub const ALL: [(Size, &'static str); 3] = [
        (Size::Full, "full"),
        (Size::Compact, "compact"),
        (Size::Tiny, "tiny"),
    ];

    /// The name in config and flags.
    pub fn name(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(s, _)| *s == self)
            .map_or("full", |(_, n)| n)
    }

    /// The size of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, n)| *n == name).map(|(s, _)| *s)
    }

    /// The default for a window of so many tokens.
    pub fn for_window(tokens: u32) -> Self {
        match tokens {
            0..10_000 => Size::Tiny,
            10_000..32_000 => Size::Compact,
            _ => Size::Full,
        }
    }
}

/// What a harness may know about the world. Plain data, taken once per session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Context {
    /// The model's name.
    pub model: String,
    /// The working folder, absolute.
    pub cwd: PathBuf,
    /// The top of the git work tree, if there is one.
    pub git_root: Option<PathBuf>,
    /// The git branch, if there is one.
    pub git_branch: Option<String>,
    /// `Linux`, `macOS` or `Windows`, with its release: `Linux 6.8.0`.
    pub os: String,
    /// `x86_64`, `aarch64`, …
    pub arch: String,
    /// The shell that runs commands: `bash`, `zsh`, …
    pub shell: String,
    /// The day, `YYYY-MM-DD`.
    pub date: String,
    /// The IANA time zone.
    pub timezone: String,
    /// The first entries of the working folder: relative path, and whether it is a folder.
    pub tree: Vec<(String, bool)>,
    /// AGENTS.md and its kind.
    pub instructions: Instructions,
    /// The skills that the model is told of, cut to their share.
    #[serde(default)]
    pub skills: Vec<Skill>,
    /// `developer_instructions` of the config.
    pub developer_instructions: Option<String>,
    /// A text that replaces the harness's own system prompt (`model_instructions_file`).
    pub system_override: Option<String>,
    /// What commands may do.
    pub sandbox: SandboxFacts,
    /// How much to show.
    pub size: Size,
    /// Add the short reliability block.
    pub guidance: bool,
    /// A person can be asked.
    pub interactive: bool,
    /// Nothing but the model's server is ever connected to.
    #[serde(default)]
    pub offline: bool,
    /// 0 for the session that the person talks to, 1 for an agent that it started, and so on.
    #[serde(default)]
    pub depth: u32,
}

/// What commands may do, for prompts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SandboxFacts {
    /// `read-only`, `workspace-write` or `danger-full-access`.
    pub mode: String,
    /// Commands may use the network.
    pub network: bool,
    /// Folders that may be written.
    pub writable: Vec<PathBuf>,
    /// `untrusted`, `on-request` or `never`.
    pub approval: String,
}

/// One message of the user.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Input {
    /// The words.
    pub text: String,
    /// Pictures, as parts.
    pub images: Vec<Part>,
}

impl Input {
    /// A message of words alone.
    pub fn text(text: impl Into<String>) -> Self {
        Input {
            text: text.into(),
            images: Vec::new(),
        }
    }
}

/// What a harness remembers. Stored with the session whenever it changes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// The plan as last set; kept by the agent loop.
    pub plan: Vec<PlanStep>,
    /// Nothing may be changed until the person agreed to a plan; kept by the agent loop.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub planning: bool,
    /// Instruction files of folders below the working folder that the conversation holds; kept by
    /// the agent loop.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instructed: Vec<PathBuf>,
    /// Counters under names of the harness's own choice.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, u64>,
    /// Short texts under names of the harness's own choice.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub notes: BTreeMap<String, String>,
}

/// What a reply asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Do these, in order: one entry per call of the reply, or for a text-action harness one per
    /// action found.
    Act(Vec<Result<Action, CallError>>),
    /// The turn is over; the reply's text is the answer.
    Done,
    /// Ask again. The reply itself is dropped.
    Requery {
        /// Shown in the next request only.
        show: Vec<Item>,
        /// Kept in the transcript.
        keep: Vec<Item>,
    },
    /// End the turn as failed.
    Stop(String),
}

/// One thing that a reply asked for, and what came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Done {
    /// The call; `None` when the action stood in the text.
    pub call: Option<ToolCall>,
    /// What was done, or why the call could not be understood.
    pub result: Result<(Action, Outcome), CallError>,
    /// Remarks that the model should read after the result, for example how its call was repaired.
    pub notes: Vec<String>,
}

/// Where the instructions of a folder below the working folder are told.
#[derive(Debug, Clone, PartialEq)]
pub enum Nested {
    /// At the end of the result that shows a file in it.
    InResult(String),
    /// Behind all results of the reply.
    Behind(Item),
}

/// Something that happened without the model.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    /// A background command ended.
    JobEnded {
        /// Its number.
        id: u32,
        /// Its command line.
        command: String,
        /// Its exit code, if it was not killed.
        code: Option<i32>,
        /// Where its whole output is, if it is kept in a file.
        file: Option<PathBuf>,
    },
    /// A nested agent that was begun for later has worked.
    AgentDone(AgentOut),
    /// The person began or ended the planning mode.
    Planning(bool),
    /// A short message of the program to the model, for example the one nudge after an empty reply.
    Nudge(String),
}
