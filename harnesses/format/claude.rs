//! What the agents of the Claude Code family share: what their calls mean, the layouts of their
//! results, their reminders, and the prompt of a nested agent.

mod agents;
mod calls;
mod opening;
mod results;
mod search;
mod shell;
mod steps;
mod write;

pub use opening::{context, git_state};
pub use steps::{REMIND_AFTER, folder, step, todo_words};
pub use write::todos;

use crate::harnesses::CompactPlan;
use crate::tools::action::{OnTimeout, PlanStep};
use std::fmt::Write;

/// What distinguishes one agent of the family within what they share.
#[derive(Debug)]
pub struct Family {
    /// Its `tools.json`.
    pub tools: &'static str,
    /// Tools of the original that this program has no handler for, each with the reason.
    pub left_out: &'static [(&'static str, &'static str)],
    /// What happens to a command at its time limit.
    pub on_timeout: OnTimeout,
    /// The lines of one read, unless the call says how many.
    pub lines: Option<usize>,
    /// The largest output of a successful command that is shown whole, in bytes.
    pub inline: usize,
    /// The role of a nested agent when the call names none.
    pub role: &'static str,
    /// What a model is told in plan mode, where its tools are on offer.
    pub planning: &'static str,
    /// A nested agent may work in the background, so that it is told of later.
    pub agents_later: bool,
    /// What the tokens of a nested agent are called in its result.
    pub tokens: &'static str,
    /// Where the list of skills stands.
    pub skills: SkillList,
    /// A command that shows one file is a read of it.
    pub shows_count: bool,
}

/// Where the list of skills stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkillList {
    /// In a reminder before everything else.
    First,
    /// The same, with the files, since there is no tool for them.
    WithFiles,
    /// Behind the first message of the user.
    AfterPrompt,
}

/// The note with the list that goes behind the first message of the user.
pub const NOTE_SKILLS: &str = "skills";

/// The role of a nested agent that may change things.
pub const GENERAL: &str = "general-purpose";

/// The roles of nested agents that only look.
const LOOKING: [&str; 2] = ["Explore", "Plan"];

/// True for a nested agent that changes nothing.
fn only_looks(role: &str) -> bool {
    LOOKING.iter().any(|known| known.eq_ignore_ascii_case(role))
}

/// Words of the program to the model.
pub fn reminder(text: &str) -> String {
    format!("<system-reminder>\n{text}\n</system-reminder>")
}

/// The id of a background command, and the number behind it.
fn task_id(id: u32) -> String {
    format!("bash_{id}")
}

fn task_number(id: &str) -> Option<u32> {
    let id = id.trim();
    id.strip_prefix("bash_").unwrap_or(id).parse().ok()
}

/// The plan as numbered lines: `1. [in_progress] Run the tests`.
fn numbered_plan(plan: &[PlanStep]) -> String {
    let mut text = String::new();
    for (at, step) in plan.iter().enumerate() {
        let _ = write!(text, "\n{}. [{}] {}", at + 1, step.status.name(), step.text);
    }
    text
}

/// What a model is asked before its conversation is cut. The parts are those of the original.
const SUMMARY: &str = "The conversation is about to be cut, and only what you write now stays of it. Do not call a tool. Think in <analysis>, briefly; then write <summary>, at most {words} words, facts and no prose. Its parts:
1. What the user wants
2. Techniques and names that matter
3. Files that were read, changed or made, and what matters in them
4. Errors, and how they were mended
5. Problems solved, and open ones
6. What the user said, message by message; keep limits that they set word for word
7. What is still to do
8. What you were doing just now
9. The next step";

/// How the family summarises a conversation.
pub fn compact_plan() -> CompactPlan {
    CompactPlan {
        ask: SUMMARY.into(),
        element: Some("summary"),
        lead: "This conversation goes on from one that ran out of room. Go on from where it stopped, without asking and without telling this again. What happened in it:",
        acknowledge: None,
        go_on: None,
        keeps_words: false,
    }
}
