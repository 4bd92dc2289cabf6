//! How what came of a call is told.

use super::{Family, numbered_plan, reminder, search, shell};
use crate::harnesses::format::args::Args;
use crate::harnesses::format::{
    answer, answer_parts, changed_files, clip, matched_by, not_done, numbered,
};
use crate::harnesses::{Done, Item};
use crate::model::{Part, ToolResult};
use crate::tools::action::{
    Action, AskedQuestion, ChangeKind, DelegateOut, FileChange, JobOut, Outcome, ReadOut,
    ShellStatus, ToolError, Unique,
};
use std::fmt::Write;

/// The most bytes of a text that an error quotes.
const QUOTED: usize = 300;

impl Family {
    /// The answer to one call. `cwd` is the working folder, named where a path was wrong.
    pub fn item(&self, done: &Done, cwd: Option<&str>, room: usize) -> Item {
        let (action, outcome) = match &done.result {
            Ok(pair) => (&pair.0, &pair.1),
            Err(error) => return answer(done, failure(&error.to_string()), true, room),
        };
        match outcome {
            Outcome::Image { part, .. } => answer_parts(done, vec![part.clone()], false),
            Outcome::Delegated(out) => self.delegated(done, out, room),
            Outcome::Failed(error) if !is_notice(action, error) => {
                answer(done, failed(action, error, cwd), true, room)
            }
            outcome => {
                let is_error = outcome.is_error()
                    && !matches!(outcome, Outcome::Failed(_))
                    && !shell::is_answer(outcome);
                answer(done, self.text(done, action, outcome, room), is_error, room)
            }
        }
    }

    fn text(&self, done: &Done, action: &Action, outcome: &Outcome, room: usize) -> String {
        match (action, outcome) {
            (_, Outcome::Read(out)) => read(out, self.given(done, "limit"), room),
            (Action::Read(_), Outcome::Failed(error)) => {
                reminder(&format!("Warning: {error}. Choose a smaller offset."))
            }
            (Action::Patch { .. }, Outcome::Changed(changes)) => format!(
                "The patch was applied to these files:\n{}",
                changed_files(changes)
            ),
            (Action::Write { .. }, Outcome::Changed(changes)) => written(changes),
            (_, Outcome::Changed(changes)) => edited(action, changes),
            (Action::Grep(query), Outcome::Found(out)) => search::files(query, out, room),
            (Action::Glob { path, .. }, Outcome::Found(out)) => {
                search::globbed(path.as_deref(), out, room)
            }
            (Action::Grep(query), Outcome::Matches(out)) => {
                search::lines(query, self.flag(done, "-n") != Some(false), out, room)
            }
            (Action::Grep(query), Outcome::Counted(out)) => search::counts(query, out, room),
            (_, Outcome::Listed(out)) => out
                .entries
                .iter()
                .map(|entry| format!("{}{}", entry.name, if entry.is_dir { "/" } else { "" }))
                .collect::<Vec<_>>()
                .join("\n"),
            (Action::Shell(command), Outcome::Shell(out)) => self.command(command, out, room),
            (Action::ShellStop { id }, Outcome::Shell(out)) => shell::stopped(*id, out),
            (
                Action::ShellWait {
                    id: Some(id), wait, ..
                },
                Outcome::Shell(out),
            ) => self.task(*id, !wait.is_zero(), out, room),
            (_, Outcome::Jobs(jobs)) => running(jobs),
            (_, Outcome::Planned) => {
                "The todo list was saved. Keep it current, and go on with the item in progress."
                    .into()
            }
            (_, Outcome::Plan(steps)) => numbered_plan(steps),
            (Action::Mode { planning: true, .. }, Outcome::ModeSet) => self.planning.into(),
            (Action::Mode { .. }, Outcome::ModeSet) => {
                "The user agreed to the plan. Plan mode is over: begin with the work now.".into()
            }
            (Action::Ask { questions }, Outcome::Answered(answers)) => answered(questions, answers),
            (_, other) => not_done(other).unwrap_or_else(|| "Done.".into()),
        }
    }

    /// True when the call has this argument.
    pub fn given(&self, done: &Done, key: &str) -> bool {
        let args = done
            .call
            .as_ref()
            .and_then(|call| Args::of(call, self.tools).ok());
        args.is_some_and(|args| args.value(key).is_some())
    }

    /// A yes or no of the call.
    fn flag(&self, done: &Done, key: &str) -> Option<bool> {
        let call = done.call.as_ref()?;
        Args::of(call, self.tools).ok()?.flag(key)
    }

    /// The last words of a nested agent, then a block of its own about it.
    fn delegated(&self, done: &Done, out: &DelegateOut, room: usize) -> Item {
        let mut text = match out.text.trim() {
            "" => "(The agent gave no answer.)".to_owned(),
            text => text.to_owned(),
        };
        if let Some(why) = &out.failure {
            let _ = write!(text, "\n\nThe agent ended early: {why}");
        }
        if self.flag(done, "run_in_background") == Some(true) {
            text.push_str("\n\nNote: it did not run in the background; it is done.");
        }
        let about = format!(
            "agentId: agent_{} (it has ended; for more, start another one)\n<usage>{}: {}\ntool_uses: {}\nduration_ms: {}</usage>",
            out.id,
            self.tokens,
            out.tokens,
            out.actions,
            out.took.as_millis()
        );
        if about.len() + 100 > room {
            return answer(done, text, false, room);
        }
        let mut item = answer(done, text, false, room - about.len() - 1);
        if let Some(content) = content(&mut item) {
            content.push(Part::text(about));
        }
        item
    }
}

/// The parts of an answer.
fn content(item: &mut Item) -> Option<&mut Vec<Part>> {
    match item {
        Item::ToolResult(ToolResult { content, .. }) | Item::User { content } => Some(content),
        _ => None,
    }
}

/// Puts words of the program at the end of an answer: after its text, or after its picture.
pub(super) fn append(item: &mut Item, words: &str) {
    let Some(content) = content(item) else {
        return;
    };
    match content.last_mut() {
        Some(Part::Text { text }) => {
            text.push_str("\n\n");
            text.push_str(words);
        }
        _ => content.push(Part::text(words)),
    }
}

/// An error as the agents of this family mark it.
fn failure(text: &str) -> String {
    format!("<tool_use_error>{text}</tool_use_error>")
}

/// Errors that are notices in the original.
fn is_notice(action: &Action, error: &ToolError) -> bool {
    matches!(
        (action, error),
        (Action::Read(_), ToolError::PastEnd { .. })
    )
}

/// What the line about further lines may take.
const PARTIAL: usize = 100;

/// The lines with their numbers. When not all are there, although the call did not say how many, a
/// line that tells so.
fn read(out: &ReadOut, limited: bool, room: usize) -> String {
    if out.total == 0 {
        return reminder("Warning: the file exists but is empty.");
    }
    let (text, count) = numbered(&out.text, out.first, "\t", room.saturating_sub(PARTIAL));
    let text = text.trim_end_matches('\n');
    let last = (out.first + count).saturating_sub(1);
    let cut = out.cut || count < out.lines;
    if cut || !limited && last < out.total {
        let next = last.saturating_add(1).min(out.total);
        return format!(
            "{text}\n\n[PARTIAL view: lines {}-{last} of {}. To go on: offset {next}.]",
            out.first, out.total
        );
    }
    text.to_owned()
}

/// What keeps a model from reading a file again that it just changed.
const CURRENT: &str = "(Its state is known; no need to read it again.)";

fn written(changes: &[FileChange]) -> String {
    changes
        .iter()
        .map(|change| {
            let path = change.path.display();
            match change.kind {
                ChangeKind::Add => format!("File created at: {path} {CURRENT}"),
                _ => format!("The file {path} was written anew. {CURRENT}"),
            }
        })
        .collect::<Vec<_>>()
        .join("\n")
}

fn edited(action: &Action, changes: &[FileChange]) -> String {
    let Some(change) = changes.first() else {
        return "Nothing changed.".into();
    };
    if change.kind == ChangeKind::Add {
        return written(changes);
    }
    let path = change.path.display();
    let all = matches!(
        action,
        Action::Edit {
            unique: Unique::All,
            ..
        }
    );
    let mut text = match all {
        true => format!(
            "The file {path} was updated. All occurrences were replaced ({}).",
            change.places
        ),
        false => format!("The file {path} was updated."),
    };
    if let Some(note) = matched_by(changes) {
        let _ = write!(text, " {note}");
    }
    let _ = write!(text, " {CURRENT}");
    text
}

fn running(jobs: &[JobOut]) -> String {
    if jobs.is_empty() {
        return "No command runs in the background.".into();
    }
    jobs.iter()
        .map(|job| {
            let status = match job.status {
                ShellStatus::Running { .. } => "running",
                _ => "ended",
            };
            format!("{} [{status}] {}", super::task_id(job.id), job.command)
        })
        .collect::<Vec<_>>()
        .join("\n")
}

fn answered(questions: &[AskedQuestion], answers: &[Vec<String>]) -> String {
    let pairs: Vec<String> = questions
        .iter()
        .zip(answers)
        .map(|(asked, answer)| match answer.is_empty() {
            true => format!("\"{}\"=(no answer)", asked.question),
            false => format!("\"{}\"=\"{}\"", asked.question, answer.join(", ")),
        })
        .collect();
    format!(
        "The user answered: {}. Go on with that in mind.",
        pairs.join(", ")
    )
}

fn failed(action: &Action, error: &ToolError, cwd: Option<&str>) -> String {
    let text = match error {
        ToolError::NotFound { .. } | ToolError::NotFolder { .. } => match cwd {
            Some(cwd) => format!("{error}. The working folder is {cwd}."),
            None => format!("{error}."),
        },
        ToolError::NotRead { path } => {
            format!("{path} has not been read yet. Read it first, then send this call again.")
        }
        ToolError::ChangedSince { path } => format!(
            "{path} was changed since it was read, by the user or a program. Read it again, then send the change anew."
        ),
        ToolError::Ambiguous { index, .. } => {
            format!(
                "{error}, or set replace_all to true.{}",
                quoted(action, *index)
            )
        }
        ToolError::NoMatch { index, .. } => format!("{error}{}", quoted(action, *index)),
        _ => error.to_string(),
    };
    // A command that could not start, or a patch in the shell.
    match action {
        Action::Patch { .. } => format!("Exit code 1\n{text}"),
        _ => failure(&text),
    }
}

/// The text that an edit looked for.
fn quoted(action: &Action, index: usize) -> String {
    match action {
        Action::Edit { edits, .. } => edits.get(index).map_or_else(String::new, |edit| {
            format!("\nString: {}", clip(&edit.old, QUOTED))
        }),
        _ => String::new(),
    }
}
