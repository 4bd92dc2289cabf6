//! The layouts in which results are told; they are those of the original: the status in a part of
//! its own, then the output.

use super::TOOLS;
use crate::harnesses::format::kimi::agents;
use crate::harnesses::format::kimi::remark;
use crate::harnesses::format::kimi::results::{self as told, Shown, Told};
use crate::harnesses::format::kimi::tasks::{self, Ended, Wanted};
use crate::harnesses::format::{answer_parts, clip, fit, matched_by};
use crate::harnesses::{CallError, Done, Item};
use crate::model::Part;
use crate::tools::action::{
    Action, ChangeKind, FileChange, Glob, Grep, Outcome, Replace, Shell, ShellOut, ShellStatus,
    ToolError, Unique,
};

/// What stands for a result without status and output.
const EMPTY: &str = "Tool output is empty.";
/// What the sentences around lines of files may take.
const FRAME: usize = 400;
/// Columns of a line's number.
const NUMBER: usize = 6;

/// The answer to one call.
pub fn item(done: &Done, room: usize) -> Item {
    let told = match &done.result {
        Ok((action, outcome)) => tell(done, action, outcome, room),
        Err(error) => Told::error(misfit(error)),
    };
    let is_error = told.is_error;
    answer_parts(done, parts(told, &done.notes, room), is_error)
}

/// Status and remarks, then the output: one part, or two.
fn parts(told: Told, notes: &[String], room: usize) -> Vec<Part> {
    let mut status = Vec::new();
    if told.is_error {
        status.push(remark(&format!(
            "ERROR: {}",
            fit(told.remark, room.saturating_sub(60))
        )));
    } else if !told.remark.is_empty() {
        status.push(remark(&told.remark));
    } else if told.output.is_empty() {
        status.push(remark(EMPTY));
    }
    status.extend(notes.iter().map(|note| remark(note)));
    let status = fit(status.join("\n"), room);
    let output = fit(told.output, room.saturating_sub(status.len() + 1));
    [status, output]
        .into_iter()
        .filter(|text| !text.is_empty())
        .map(Part::text)
        .collect()
}

/// A call that was not understood.
fn misfit(error: &CallError) -> String {
    match error {
        CallError::UnknownTool { name, .. } => format!("Tool `{name}` not found. {error}"),
        CallError::BadJson { .. } => format!("Error parsing JSON arguments: {error}"),
        CallError::BadArgument { .. } => format!("Error validating JSON arguments:\n{error}"),
        _ => error.to_string(),
    }
}

fn tell(done: &Done, action: &Action, outcome: &Outcome, room: usize) -> Told {
    match (action, outcome) {
        (_, Outcome::Read(out)) => {
            told::read(action, out, NUMBER, true, room.saturating_sub(FRAME))
        }
        (Action::Read(_), Outcome::Failed(ToolError::PastEnd { total, .. })) => {
            told::nothing_read(*total)
        }
        (Action::Write { rule, .. }, Outcome::Changed(changes)) => written(rule.append, changes),
        (Action::Edit { edits, unique, .. }, Outcome::Changed(changes)) => {
            edited(edits, *unique, changes)
        }
        (Action::Grep(grep), outcome) => search(done, grep, outcome, room),
        (Action::Glob(Glob { pattern, .. }), Outcome::Found(out)) => {
            let mut sorted = out.clone();
            sorted.paths.sort();
            let shown = Shown::new(&out.root, None, "", false);
            let page = told::files(0, &sorted, shown, room.saturating_sub(FRAME));
            let mut status = format!("Found {} matches for pattern `{pattern}`.", out.total);
            push(&mut status, page.rest());
            Told {
                output: page.body,
                remark: status,
                is_error: false,
            }
        }
        (Action::Shell(shell), Outcome::Shell(out)) => command(done, shell, out, room),
        (Action::ShellWait { id, wait, .. }, Outcome::Shell(out)) => {
            let retrieval = tasks::retrieval(out.status, !wait.is_zero());
            Told {
                output: format!(
                    "retrieval_status: {retrieval}\n{}",
                    tasks::look(*id, out, "bash", room.saturating_sub(FRAME))
                ),
                remark: "The task as it stands.".into(),
                is_error: false,
            }
        }
        (_, Outcome::Jobs(jobs)) => {
            let wanted = Wanted::of(told::args(done, TOOLS).as_ref());
            let (title, tasks) = wanted.list(jobs, "bash");
            let blocks: Vec<String> = tasks
                .iter()
                .enumerate()
                .map(|(at, task)| format!("[{}]\n{task}", at + 1))
                .collect();
            Told::output(match blocks.as_slice() {
                [] => format!("{title}\n\n[no tasks]"),
                blocks => format!("{title}\n\n{}", blocks.join("\n\n")),
            })
        }
        (Action::ShellStop { id }, Outcome::Shell(out)) => {
            let reason = told::args(done, TOOLS).and_then(|args| args.filled("reason"));
            tasks::stopped(*id, out, reason)
        }
        (Action::Plan { .. }, Outcome::Planned) => Told {
            output: "Todo list updated".into(),
            remark: "Todo list updated".into(),
            is_error: false,
        },
        (_, Outcome::Plan(steps)) => Told::output(told::todo_list(steps, "- ")),
        (Action::Mode { planning, plan }, Outcome::ModeSet) => {
            Told::output(told::mode(*planning, plan))
        }
        (Action::Ask { questions }, Outcome::Answered(given)) => {
            match told::answers(questions, given) {
                Some(answers) => Told::output(answers.to_string()),
                None => {
                    unanswered("The user did not answer. Do not ask again: decide for yourself.")
                }
            }
        }
        (Action::Ask { .. }, Outcome::Refused { reason }) => unanswered(reason),
        (_, Outcome::Fetched(out)) => told::web_page(out, room.saturating_sub(FRAME)),
        (Action::Delegate(part), Outcome::Delegated(out)) => agents::told(part, out, true),
        (action, Outcome::Agents(all)) => {
            let mut told = agents::all(action, all);
            if done
                .call
                .as_ref()
                .is_some_and(|call| call.name == "TaskOutput")
            {
                told.output.insert_str(0, "retrieval_status: success\n");
            }
            told
        }
        (_, other) => told::other(other),
    }
}

fn push(status: &mut String, sentence: Option<String>) {
    if let Some(sentence) = sentence {
        status.push(' ');
        status.push_str(&sentence);
    }
}

/// A question without an answer is no failure here.
fn unanswered(note: &str) -> Told {
    Told::output(serde_json::json!({"answers": {}, "note": note}).to_string())
}

fn written(append: bool, changes: &[FileChange]) -> Told {
    let Some(change) = changes.first() else {
        return Told::output("Nothing changed.");
    };
    let verb = match (change.kind, append) {
        (ChangeKind::Add, _) => "created",
        (_, true) => "appended to",
        (_, false) => "overwritten",
    };
    Told {
        remark: format!(
            "{} was {verb}. Current size: {} bytes.",
            change.shown,
            change.after.as_ref().map_or(0, String::len)
        ),
        ..Told::default()
    }
}

fn edited(edits: &[Replace], unique: Unique, changes: &[FileChange]) -> Told {
    let Some(change) = changes.first() else {
        return Told::output("Nothing changed.");
    };
    let mut status = format!(
        "{} was edited: {} edit(s) applied, {} total replacement(s).",
        change.shown,
        edits.len(),
        change.places
    );
    push(&mut status, matched_by(changes).map(str::to_owned));
    if unique == Unique::First {
        let before = change.before.as_deref().unwrap_or_default();
        push(
            &mut status,
            edits.iter().find_map(|edit| choice(before, &edit.old)),
        );
    }
    Told {
        remark: status,
        ..Told::default()
    }
}

/// Where the text stood of which the first place was taken; `None`: there was no choice.
fn choice(before: &str, old: &str) -> Option<String> {
    if old.is_empty() {
        return None;
    }
    let lines: Vec<String> = before
        .match_indices(old)
        .map(|(at, _)| (before[..at].matches('\n').count() + 1).to_string())
        .collect();
    (lines.len() > 1).then(|| {
        format!(
            "An old text stood at lines {}; the first of them was replaced.",
            lines.join(", ")
        )
    })
}

fn search(done: &Done, grep: &Grep, outcome: &Outcome, room: usize) -> Told {
    let room = room.saturating_sub(FRAME);
    let shown = |root| Shown::new(root, grep.path.as_deref(), "./", true);
    let (mut status, page) = match outcome {
        Outcome::Matches(out) => {
            let numbers = told::args(done, TOOLS).and_then(|args| args.flag("-n")) != Some(false);
            let page = told::lines(grep, out, shown(&out.root), numbers, room);
            (String::new(), page)
        }
        Outcome::Found(out) => {
            let page = told::files(grep.skip, out, shown(&out.root), room);
            (String::new(), page)
        }
        Outcome::Counted(out) => told::counts(grep.skip, out, shown(&out.root), room),
        other => return told::other(other),
    };
    if page.body.is_empty() {
        status = "No matches found.".into();
    } else {
        push(&mut status, page.more());
    }
    Told {
        output: page.body,
        remark: status.trim_start().to_owned(),
        is_error: false,
    }
}

fn command(done: &Done, shell: &Shell, out: &ShellOut, room: usize) -> Told {
    if let ShellStatus::Running { id, .. } = out.status {
        return background(done, out, id);
    }
    let failure = tasks::failure(out, shell.time_limit);
    let is_error = failure.is_some();
    let mut status = failure.unwrap_or_else(|| "Command executed successfully.".into());
    let (output, cut) = tasks::output(out, status.len() + 60, room);
    if cut {
        push(
            &mut status,
            Some(match &out.output.file {
                Some(file) => format!(
                    "The output was cut; all {} bytes of it are in {}.",
                    out.output.bytes,
                    file.display()
                ),
                None => format!("The output was cut. {}", tasks::saved(out)),
            }),
        );
    }
    Told {
        output,
        remark: status,
        is_error,
    }
}

/// A command that goes on by itself.
fn background(done: &Done, out: &ShellOut, id: u32) -> Told {
    let about = told::args(done, TOOLS)
        .and_then(|args| args.filled("description"))
        .unwrap_or_else(|| clip(&out.command, 80));
    let step = |words: &str| Some(words.to_owned());
    Told {
        output: tasks::keys([
            ("task_id", Some(tasks::id(id))),
            ("kind", Some("bash".into())),
            ("status", Some("running".into())),
            ("description", Some(about)),
            ("command", Some(out.command.clone())),
            ("automatic_notification", Some("true".into())),
            (
                "next_step",
                step("You are told when it ends; go on with something else meanwhile."),
            ),
            (
                "next_step",
                step("TaskOutput shows what it printed; set block only to wait."),
            ),
            ("next_step", step("TaskStop ends it.")),
            ("human_shell_hint", step("The user sees it with /ps.")),
        ]),
        remark: "The command runs in the background.".into(),
        is_error: false,
    }
}

/// The end of a command in the background.
pub fn ended(end: &Ended) -> String {
    let severity = if end.code == Some(0) {
        "success"
    } else {
        "error"
    };
    let output = end.file.map_or_else(
        || "TaskOutput shows what it printed.".to_owned(),
        |file| format!("Its output is in {}", file.display()),
    );
    let body = tasks::keys([
        ("Task ID", Some(tasks::id(end.id))),
        ("Status", Some(end.status().to_owned())),
        ("Command", Some(end.command.to_owned())),
        ("Exit code", end.code.map(|code| code.to_string())),
    ]);
    end.element(
        &format!("Background task {}", end.status()),
        severity,
        &format!("{body}\n<task-notification>\n{output}\n</task-notification>"),
    )
}
