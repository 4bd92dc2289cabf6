//! `mini-swe-agent` in its text mode: no tools; one fenced command a reply, its output as the
//! next message of the user.

mod actions;
mod results;

use super::format::args::{always, object};
use super::format::{documents, prompt, sed_suffix, skills, told, user_parts};
use super::{
    CallError, Context, Done, Harness, Input, Item, Notice, REQUERIES, Start, State, Step,
};
use crate::model::{Finish, Part, Reply, ToolCall};
use crate::tools::action::{Action, Outcome, Shell, ShellKind};
use crate::words::quote;
use actions::Found;
use serde_json::Value;
use std::time::Duration;

/// The harness for models that cannot call tools, and for small coder models.
pub struct MiniSweAgent;

const SYSTEM: &str = include_str!("system.md");
const INSTANCE: &str = include_str!("instance.md");

/// The fence of a command, and the word whose output ends the task.
const FENCE: &str = "mswea_bash_command";
const DONE_TOKEN: &str = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT";
/// A reply without one command, so many times in a row, ends the turn.
const FORMAT_ERRORS: u64 = 3;
const TIME_LIMIT: Duration = Duration::from_secs(30);
const ENV: [(&str, &str); 5] = [
    ("PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("LESS", "-R"),
    ("PIP_PROGRESS_BAR", "off"),
    ("TQDM_DISABLE", "1"),
];

/// What follows the first task, until it was sent.
const NOTE_INSTANCE: &str = "instance";
/// Set when an output began with the word that ends the task; and what stood after it.
const COUNT_SUBMITTED: &str = "submitted";
const NOTE_SUBMISSION: &str = "submission";

impl Harness for MiniSweAgent {
    fn id(&self) -> &'static str {
        "mini-swe-agent"
    }

    fn about(&self) -> &'static str {
        "mini-SWE-agent: commands as text, for models without tool calls and small coder models"
    }

    fn reads_text(&self) -> bool {
        true
    }

    fn begin(&self, cx: &Context) -> Start {
        let mut state = State::default();
        state.notes.insert(NOTE_INSTANCE.into(), instance(cx));
        let mut system = cx
            .system_override
            .clone()
            .unwrap_or_else(|| prompt(SYSTEM, cx, &[], &[]));
        if !cx.skills.is_empty() {
            system.push_str("\n\n");
            system.push_str(&skills::block(cx, "print its file with a command"));
        }
        if let Some(words) = &cx.developer_instructions {
            system.push_str("\n\n");
            system.push_str(words);
        }
        Start {
            system,
            left_out: vec![(
                "bash".into(),
                "commands are read from the text, as in the original's text mode".into(),
            )],
            state,
            ..Start::default()
        }
    }

    fn user(&self, state: &mut State, input: &Input) -> Vec<Item> {
        state.counters.remove(COUNT_SUBMITTED);
        state.notes.remove(NOTE_SUBMISSION);
        let mut content = user_parts(input);
        if let Some(instance) = state.notes.remove(NOTE_INSTANCE) {
            content.pop();
            content.push(Part::text(format!("{}\n\n{instance}", input.text)));
        }
        vec![Item::User { content }]
    }

    fn read(&self, state: &State, reply: &Reply) -> Step {
        let cut = reply.finish == Finish::Length;
        match actions::find(&reply.assistant.text, cut) {
            Found::Command(command) => Step::Act(vec![Ok(action(&reply.assistant.text, command))]),
            Found::Number(count) => {
                let before = state.counters.get(REQUERIES).copied().unwrap_or(0);
                if before + 1 >= FORMAT_ERRORS {
                    return Step::Stop(format!(
                        "the model gave no single command in {FORMAT_ERRORS} replies in a row; try a larger model, or --harness minimal if this one can call tools"
                    ));
                }
                Step::Requery {
                    show: Vec::new(),
                    keep: vec![Item::user(format_error(count, cut))],
                }
            }
        }
    }

    fn spoken<'a>(&self, start: &'a Start, text: &'a str) -> &'a str {
        let instance = start.state.notes.get(NOTE_INSTANCE);
        let words = instance.and_then(|instance| text.strip_suffix(instance.as_str()));
        words.map_or(text, |words| words.strip_suffix("\n\n").unwrap_or(words))
    }

    /// Kinder than the original, which refuses a reply with two commands: the first one is taken
    /// where a second block begins, and the model sees its result before it goes on.
    fn enough(&self, text: &str) -> Option<usize> {
        actions::first_command_end(text)
    }

    /// Only the text of a reply is read.
    fn action(&self, call: &ToolCall) -> Result<Action, CallError> {
        Err(CallError::UnknownTool {
            name: call.name.clone(),
            available: Vec::new(),
            nearest: Vec::new(),
        })
    }

    /// A command block: its label, and the command.
    fn write(&self, action: &Action) -> Option<(&'static str, Value)> {
        let command = match action {
            Action::Shell(shell) if !shell.background => match &shell.dir {
                None => shell.command.clone(),
                Some(dir) => format!("cd {} && {}", quote(dir), shell.command),
            },
            Action::Finish { text } => actions::finish(text)?,
            _ => return None,
        };
        Some((FENCE, object([("command", always(command))])))
    }

    fn result(&self, done: &Done, room: usize) -> Item {
        results::item(done, room)
    }

    fn results(&self, state: &mut State, done: &[Done], room: usize) -> Vec<Item> {
        done.iter()
            // Nothing is left to say about the end of the task.
            .filter(|done| !matches!(done.result, Ok((_, Outcome::Finished))))
            .map(|done| {
                if let Some(submission) = results::submission(done) {
                    state.counters.insert(COUNT_SUBMITTED.into(), 1);
                    state.notes.insert(NOTE_SUBMISSION.into(), submission);
                }
                self.result(done, room)
            })
            .collect()
    }

    fn notice(&self, _: &mut State, notice: &Notice) -> Vec<Item> {
        let text = told(notice);
        vec![Item::user(text)]
    }

    fn is_over(&self, state: &State) -> Option<String> {
        state.counters.get(COUNT_SUBMITTED)?;
        Some(
            state
                .notes
                .get(NOTE_SUBMISSION)
                .cloned()
                .unwrap_or_default(),
        )
    }
}

/// What follows the task in the first message. The original has no place for AGENTS.md; here it
/// stands at the end.
fn instance(cx: &Context) -> String {
    let mut text = prompt(INSTANCE, cx, &[], &[("sed_suffix", sed_suffix(cx))]);
    for document in documents(&cx.instructions) {
        text.push_str(&format!(
            "\n\n## Instructions from {}\n\n{}",
            document.shown,
            document.text.trim_end()
        ));
    }
    text
}

/// A command as an action. One that only prints the final word ends the task at once, and what
/// the reply says beside it is the answer.
fn action(reply: &str, command: String) -> Action {
    if let Some(words) = actions::only_finishes(&command) {
        let prose = actions::prose(reply);
        let text = if prose.is_empty() { words } else { prose };
        return Action::Finish { text };
    }
    Action::Shell(Shell {
        shell: ShellKind::Sh,
        env: ENV
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        ..Shell::new(command, TIME_LIMIT)
    })
}

fn format_error(count: usize, cut: bool) -> String {
    let why = if cut {
        "Your reply reached the output limit before a command was complete. Write less: one short sentence, then one command.".to_owned()
    } else if count == 0 {
        "Your reply had no command. It must have exactly one.".to_owned()
    } else {
        format!(
            "Your reply had {count} commands. It must have exactly one. Send the first one now."
        )
    };
    format!(
        "Format error\n\n<error>\n{why}\n</error>\n\nSend the command in a block like this:\n\n```{FENCE}\nls\n```\n\nIf the task is done and checked, send:\n\n```{FENCE}\necho {DONE_TOKEN}\n```"
    )
}

#[cfg(test)]
mod tests;
