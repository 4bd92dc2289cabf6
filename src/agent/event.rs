//! What happens, as every front end sees it.

use super::approval::amend::Rule;
use super::cost::Cost;
use super::permissions::Permissions;
use crate::harnesses::CallError;
use crate::model::{Delta, Timing, ToolCall, Usage};
use crate::sandbox::{Lift, Mode};
use crate::tools::action::{Action, AskedQuestion, Outcome, PlanStep};
use crate::tools::mcp::{Asked, Form};
use std::path::PathBuf;
use std::time::Duration;

/// One thing that happened. The order is the order of the world.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A session begins or goes on.
    Session(Box<SessionInfo>),
    /// Something the user should know; the run goes on.
    Warning(String),
    /// A fact about the run that is no warning: what was chosen, what was resumed.
    Note(String),
    /// A turn begins.
    TurnStarted,
    /// A request goes out.
    Requested {
        /// Bytes of the body.
        bytes: usize,
        /// Estimated tokens.
        tokens: u64,
        /// The window in tokens.
        window: u32,
    },
    /// What the model does now. Said when it changes, and about every second while it goes on.
    /// While a tool runs, [`Event::Started`] and [`Event::Finished`] say so.
    Phase(Phase),
    /// The server reads the prompt.
    Progress {
        /// Tokens read.
        processed: u64,
        /// Tokens in all.
        total: u64,
    },
    /// Nothing has come yet.
    Waiting(Duration),
    /// The request is sent again; what was streamed since the last reply is void.
    Retry {
        /// Which try, from 1.
        attempt: u32,
        /// How many there will be.
        of: u32,
        /// Why.
        why: String,
    },
    /// A piece of the reply's text.
    Text(String),
    /// A piece of the reply's thinking.
    Reasoning(String),
    /// A reply is complete.
    Replied {
        /// Its text as it goes into the transcript; may be empty.
        text: String,
        /// Its thinking.
        reasoning: String,
        /// Token counts.
        usage: Option<Usage>,
        /// Times.
        timing: Timing,
    },
    /// A call of the model was repaired or taken from text.
    Repaired {
        /// The kind, for counting: the form of a call in text, or what was wrong with one.
        kind: String,
        /// In words.
        text: String,
    },
    /// A call could not be understood; the model is told.
    BadCall {
        /// The call.
        call: Option<ToolCall>,
        /// Why.
        error: CallError,
    },
    /// An action begins.
    Started {
        /// Its number within the session.
        id: u64,
        /// What is done.
        action: Action,
    },
    /// Output of a running command.
    Output {
        /// The action's number.
        id: u64,
        /// The text, not yet sanitised.
        text: String,
    },
    /// An action is over.
    Finished {
        /// Its number.
        id: u64,
        /// What was done.
        action: Action,
        /// What came of it.
        outcome: Outcome,
        /// How long it took.
        took: Duration,
    },
    /// The plan changed.
    Plan(Vec<PlanStep>),
    /// Old tool results were replaced by a line each, to make room.
    Elided {
        /// How many.
        results: usize,
        /// Estimated tokens before.
        before: u64,
        /// Estimated tokens after.
        after: u64,
    },
    /// The conversation was summarised and begins anew.
    Compacted {
        /// Estimated tokens before.
        before: u64,
        /// Estimated tokens after.
        after: u64,
        /// What stands for the old conversation.
        summary: String,
        /// The model wrote it; otherwise it is a list of the last steps.
        written: bool,
    },
    /// The turn is over.
    TurnDone(TurnEnd),
}

/// What a model does with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The server puts the model into memory.
    Loading,
    /// It reads the prompt.
    Reading,
    /// It thinks.
    Thinking,
    /// It writes text or a call.
    Writing,
}

impl Phase {
    /// What a piece of the stream says about it; `None`: nothing.
    pub fn of(delta: &Delta) -> Option<Self> {
        match delta {
            Delta::Progress { .. } | Delta::Retry { .. } => Some(Phase::Reading),
            Delta::Reasoning(_) => Some(Phase::Thinking),
            Delta::Text(_) | Delta::CallStart { .. } | Delta::CallArguments { .. } => {
                Some(Phase::Writing)
            }
            Delta::Waiting(_) => None,
        }
    }

    /// In a few words, for a status line.
    pub fn words(self) -> &'static str {
        match self {
            Phase::Loading => "loading the model",
            Phase::Reading => "reading the prompt",
            Phase::Thinking => "thinking",
            Phase::Writing => "writing",
        }
    }
}

/// What a session is, for headers and status lines.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionInfo {
    /// Its id (UUID version 7).
    pub id: String,
    /// True when it goes on from a stored one.
    pub resumed: bool,
    /// The working folder.
    pub cwd: PathBuf,
    /// The provider's name and base URL.
    pub provider: (String, String),
    /// The model.
    pub model: String,
    /// The wire's name.
    pub wire: &'static str,
    /// The harness's id and size.
    pub harness: (&'static str, &'static str),
    /// The window and where the number comes from.
    pub window: (u32, String),
    /// The sandbox mode.
    pub sandbox: Mode,
    /// The approval policy's name.
    pub approval: &'static str,
    /// Commands may use the network.
    pub network: bool,
    /// The session's file, if it is kept.
    pub file: Option<PathBuf>,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnEnd {
    /// Why.
    pub reason: EndReason,
    /// The last message of the model; empty if there is none.
    pub answer: String,
    /// Requests made in the turn.
    pub requests: u32,
    /// Tokens of the session so far.
    pub usage: Usage,
    /// What it cost.
    pub cost: Cost,
    /// How long the turn took.
    pub took: Duration,
}

/// Why a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub enum EndReason {
    /// The model was done.
    Done,
    /// The model gave no answer.
    NoAnswer,
    /// An error, as a sentence.
    Failed(String),
    /// The provider withheld the answer, and why.
    Refused(String),
    /// The step limit.
    StepLimit(u32),
    /// The sandbox cannot be enforced and nobody can be asked.
    NoSandbox(String),
    /// The user stopped it.
    Interrupted,
}

impl EndReason {
    /// The sentence of a turn that did not end as it should; nothing for one that was done.
    pub fn failure(&self) -> Option<String> {
        match self {
            EndReason::Done => None,
            EndReason::Interrupted => Some("interrupted".into()),
            EndReason::NoAnswer => Some("no answer: the model gave neither text nor a call; try again, or try another model or harness".into()),
            EndReason::Failed(why) => Some(why.clone()),
            EndReason::Refused(why) => Some(format!("the provider withheld the answer: {why}")),
            EndReason::StepLimit(n) => Some(format!(
                "the limit of {n} steps was reached before the task was done; raise max_steps to go on"
            )),
            EndReason::NoSandbox(why) => Some(format!(
                "commands cannot be confined on this system ({why}) and nobody can be asked; use --sandbox danger-full-access only where that is safe"
            )),
        }
    }
}

/// A question to the person.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// What would be done.
    pub action: Action,
    /// Where.
    pub cwd: PathBuf,
    /// Why it is asked, in a sentence.
    pub reason: String,
    /// What a yes would lift.
    pub lift: Lift,
    /// True when the call was found in text.
    pub recovered: bool,
    /// The rule of an "always", where there can be one.
    pub rule: Option<Rule>,
}

/// The person's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Do it.
    Yes,
    /// Do it, and do not ask for the same again in this session.
    YesForSession,
    /// Do it, and never ask again for commands that begin so: the rule is kept.
    Always(Rule),
    /// Do not; the words, if any, go to the model.
    No(Option<String>),
    /// Do not, and end the turn.
    Stop,
}

/// Who watches and is asked.
pub trait Frontend {
    /// Something happened.
    fn event(&mut self, event: &Event);
    /// May this be done? A front end without a person answers [`Answer::No`].
    fn ask(&mut self, question: &Question) -> Answer;
    /// Puts a plain yes-or-no question to the person. Asked only where there is one.
    fn confirm(&mut self, _question: &str) -> bool {
        false
    }
    /// Puts questions of the model to the person. Gives the chosen or own words for each, or `None`
    /// where nobody answers.
    fn questions(&mut self, _questions: &[AskedQuestion]) -> Option<Vec<Vec<String>>> {
        None
    }
    /// Lets the person fill in the form of an MCP server. `None` where there are no forms.
    fn fill_in(&mut self, _form: &Form) -> Option<Asked> {
        None
    }
    /// True when a person can be asked.
    fn interactive(&self) -> bool;
    /// Other permissions that the person chose while the turn runs. Looked for before each action;
    /// each answer counts once. `now` are those in force.
    fn wished(&mut self, _now: &Permissions) -> Option<Permissions> {
        None
    }
}
