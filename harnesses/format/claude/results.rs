//! How what came of a call is told.

use super::calls::READ_BYTES;
use super::{Family, agents, numbered_plan, reminder, search, shell};
use crate::harnesses::format::args::Args;
use crate::harnesses::format::skills;
use crate::harnesses::format::{
    answer, answer_parts, changed_files, clip, matched_by, not_done, numbered, page,
};
use crate::harnesses::{Done, Item};
use crate::tools::action::{
    Action, AskedQuestion, CellsOut, ChangeKind, FileChange, Glob, JobOut, Outcome, PageOut,
    ReadOut, ShellStatus, ToolError, Unique,
};
use std::fmt::Write;

/// The most bytes of a page.
const PAGE: usize = 30_000;
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
            (_, Outcome::Cells(out)) => cells(out, room),
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
            (Action::Glob(Glob { path, .. }), Outcome::Found(out)) => {
                search::globbed(path.as_deref(), out, room)
            }
            (Action::Grep(query), Outcome::Matches(out)) => {
                search::lines(query, self.flag(done, "-n") != Some(false), out, room)
            }
            (Action::Grep(query), Outcome::Counted(out)) => search::counts(query, out, room),
            (_, Outcome::Fetched(out)) => self.page(done, out, room),
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
            (action, Outcome::Agents(all)) => {
                let want = match action {
                    Action::Agents { want, .. } => Some(*want),
                    _ => None,
                };
                let all: Vec<String> = all.iter().map(|one| agents::told(one, want)).collect();
                all.join("\n")
            }
            (_, Outcome::ToolsFound(text)) => text.clone(),
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
            (_, Outcome::Skill(out)) => {
                format!("Launching skill: {}\n\n{}", out.name, skills::text(out))
            }
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

    /// The text of a page, and at its end what the model wanted to know: the original lets another
    /// model answer that from the page, and here there is none.
    fn page(&self, done: &Done, out: &PageOut, room: usize) -> String {
        if let Some(to) = &out.redirect {
            return page::elsewhere(to, "WebFetch");
        }
        let prompt = done
            .call
            .as_ref()
            .and_then(|call| Args::of(call, self.tools).ok()?.filled("prompt"));
        let prompt = clip(&prompt.unwrap_or_default(), QUOTED);
        let (text, rest) = page::text(
            out,
            PAGE.min(room.saturating_sub(PARTIAL * 5 + prompt.len())),
        );
        let rest = rest.map_or_else(String::new, |rest| format!("\n\n[{rest}]"));
        format!("{text}{rest}\n\n---\nYou wanted to know from this page: {prompt}")
    }

    /// A yes or no of the call.
    pub(super) fn flag(&self, done: &Done, key: &str) -> Option<bool> {
        let call = done.call.as_ref()?;
        Args::of(call, self.tools).ok()?.flag(key)
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

/// The most bytes of what one cell of a notebook printed.
const PRINTED: usize = 4_000;
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

/// The cells of a notebook, each with its id, its kind and what it printed, as many as fit.
fn cells(out: &CellsOut, room: usize) -> String {
    if out.cells.is_empty() {
        return reminder("Warning: the notebook has no cells.");
    }
    let room = room.min(READ_BYTES).saturating_sub(PARTIAL);
    let mut text = String::new();
    let mut shown = 0;
    for cell in &out.cells {
        let printed = match cell.printed.trim_end() {
            "" => String::new(),
            printed => format!("\n<output>\n{}\n</output>", clip(printed, PRINTED)),
        };
        let whole = format!(
            "<cell id=\"{}\" type=\"{}\">\n{}{printed}\n</cell>\n",
            cell.id,
            cell.kind,
            cell.source.trim_end_matches('\n')
        );
        if shown > 0 && text.len() + whole.len() > room {
            break;
        }
        text.push_str(&whole);
        shown += 1;
    }
    let last = (out.first + shown).saturating_sub(1);
    if last < out.total {
        let _ = write!(
            text,
            "\n[PARTIAL view: cells {}-{last} of {}. To go on: offset {}.]",
            out.first,
            out.total,
            last + 1
        );
    }
    text.trim_end().to_owned()
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
