//! The layouts in which results are told; they are those of the original.

use super::TOOLS;
use crate::harnesses::format::kimi::agents;
use crate::harnesses::format::kimi::remark;
use crate::harnesses::format::kimi::results::{self as told, Page, Shown, Told};
use crate::harnesses::format::kimi::tasks::{self, Ended, Wanted};
use crate::harnesses::format::skills;
use crate::harnesses::format::{answer_parts, clip, fit, matched_by};
use crate::harnesses::{CallError, Done, Item};
use crate::model::Part;
use crate::tools::action::{
    Action, FileChange, Grep, Outcome, PlanStep, Shell, ShellOut, ShellStatus, ToolError,
};
use std::time::Duration;

/// The first line of every failure.
const ERROR: &str = "<system>ERROR: Tool execution failed.</system>\n";
/// What stands for an output that is empty or blank.
const EMPTY: &str = "<system>Tool output is empty.</system>";
const SUCCESS: &str = "Command executed successfully.";
/// What the sentences around lines of files may take.
const FRAME: usize = 400;

/// Arguments that have no effect, with what is done instead.
const WITHOUT_EFFECT: &[(&str, &str, &str)] =
    &[("AskUserQuestion", "background", "the user was waited for")];

/// The answer to one call.
pub fn item(done: &Done, room: usize) -> Item {
    let told = match &done.result {
        Ok((action, outcome)) => tell(done, action, outcome, room),
        Err(error) => Told::error(misfit(error)),
    };
    let mut notes = told::without_effect(done, TOOLS, WITHOUT_EFFECT);
    notes.extend(done.notes.iter().cloned());
    let is_error = told.is_error;
    answer_parts(done, vec![Part::text(layout(told, notes, room))], is_error)
}

/// The output, then the remarks; for a failure, its mark before all.
fn layout(told: Told, mut notes: Vec<String>, room: usize) -> String {
    let mut output = told.output;
    let mut head = "";
    if told.is_error {
        head = ERROR;
        output = joined(output, &told.remark);
    } else if !told.remark.is_empty() {
        notes.insert(0, told.remark);
    }
    if output.trim().is_empty() {
        output = EMPTY.into();
    }
    let tail: String = notes
        .iter()
        .map(|note| format!("\n{}", remark(note)))
        .collect();
    let output = fit(output, room.saturating_sub(head.len() + tail.len()));
    fit(format!("{head}{output}{tail}"), room)
}

/// A call that was not understood.
fn misfit(error: &CallError) -> String {
    match error {
        CallError::UnknownTool { name, .. } => format!("Tool \"{name}\" not found\n{error}"),
        CallError::BadArgument { tool, .. } => {
            format!("Invalid args for tool \"{tool}\": {error}")
        }
        _ => error.to_string(),
    }
}

fn tell(done: &Done, action: &Action, outcome: &Outcome, room: usize) -> Told {
    match (action, outcome) {
        (_, Outcome::Read(out)) => {
            let mut told = told::read(action, out, 0, false, room.saturating_sub(FRAME));
            told.output
                .truncate(told.output.trim_end_matches('\n').len());
            told
        }
        (Action::Read(_), Outcome::Failed(ToolError::PastEnd { total, .. })) => {
            told::nothing_read(*total)
        }
        (Action::Write { content, rule, .. }, Outcome::Changed(changes)) => {
            let verb = if rule.append { "Appended" } else { "Wrote" };
            let path = changes.first().map_or("the file", |change| &change.shown);
            Told::output(format!("{verb} {} bytes to {path}", content.len()))
        }
        (Action::Edit { .. }, Outcome::Changed(changes)) => replaced(changes),
        (Action::Grep(grep), outcome) => search(done, grep, outcome, room),
        (Action::Glob(_), Outcome::Found(out)) => {
            let shown = Shown::new(&out.root, None, "", false);
            let page = told::files(0, out, shown, room.saturating_sub(FRAME));
            match page.body.as_str() {
                "" => Told::output("No matches found"),
                _ => Told::output(below(page.rest(), page.body)),
            }
        }
        (Action::Shell(shell), Outcome::Shell(out)) => command(done, shell, out, room),
        (Action::ShellWait { id, wait, .. }, Outcome::Shell(out)) if wait.is_zero() => {
            Told::output(format!(
                "retrieval_status: {}\n{}",
                tasks::retrieval(out.status, false),
                tasks::look(*id, out, "process", room.saturating_sub(FRAME))
            ))
        }
        (Action::ShellWait { id, wait, .. }, Outcome::Shell(out)) => waited(*id, *wait, out, room),
        (Action::ShellWait { wait, .. }, Outcome::Jobs(jobs)) => {
            let (_, running) = Wanted::of(None).list(jobs, "process");
            Told::output(match running.as_slice() {
                [] => format!(
                    "{}\n\nNo task is running, so there is nothing to wait for.",
                    wait_keys("no_tasks", None, Duration::ZERO, *wait)
                ),
                running => format!(
                    "{}\n\n[running]\n{}",
                    wait_keys("timed_out", None, *wait, *wait),
                    running.join("\n---\n")
                ),
            })
        }
        (_, Outcome::Jobs(jobs)) => {
            let wanted = Wanted::of(told::args(done, TOOLS).as_ref());
            let (title, tasks) = wanted.list(jobs, "process");
            Told::output(format!("{title}\n{}", tasks.join("\n---\n")).trim_end())
        }
        (Action::ShellStop { id }, Outcome::Shell(out)) => {
            let reason = told::args(done, TOOLS).and_then(|args| args.filled("reason"));
            tasks::stopped(*id, out, reason)
        }
        (Action::Plan { steps, .. }, Outcome::Planned) => Told::output(planned(steps)),
        (_, Outcome::Plan(steps)) => Told::output(told::todo_list(steps, "  ")),
        (Action::Mode { planning, plan }, Outcome::ModeSet) => {
            Told::output(told::mode(*planning, plan))
        }
        (Action::Ask { questions }, Outcome::Answered(given)) => {
            match told::answers(questions, given) {
                Some(answers) => Told::output(answers.to_string()),
                None => Told::error(
                    "The user did not answer. Do not ask again: decide for yourself, or end your turn and wait.",
                ),
            }
        }
        (_, Outcome::Skill(out)) => Told::output(skills::text(out)),
        (_, Outcome::Fetched(out)) => {
            let Told { output, remark, .. } = told::web_page(out, room.saturating_sub(FRAME));
            let cite = "Name its address where you use what it says.";
            Told::output(match remark.as_str() {
                "" => output,
                note => format!("{note} {cite}\n\n{output}"),
            })
        }
        (Action::Delegate(part), Outcome::Delegated(out)) => agents::told(part, out, false),
        (action, Outcome::Agents(all)) => {
            let mut told = agents::all(action, all);
            if done
                .call
                .as_ref()
                .is_some_and(|call| call.name == "WaitFor")
            {
                told.output
                    .insert_str(0, "wait_status: completed\n\n[finished]\n");
            }
            told
        }
        (_, Outcome::Failed(error)) => Told::error(failed(error)),
        (_, other) => told::other(other),
    }
}

/// A line, if there is one, and what comes below it.
fn below(line: Option<String>, body: String) -> String {
    match line {
        Some(line) => format!("{line}\n{body}"),
        None => body,
    }
}

fn replaced(changes: &[FileChange]) -> Told {
    let places: usize = changes.iter().map(|change| change.places).sum();
    let word = if places == 1 {
        "occurrence"
    } else {
        "occurrences"
    };
    let path = changes.first().map_or("the file", |change| &change.shown);
    Told {
        output: format!("Replaced {places} {word} in {path}"),
        remark: matched_by(changes).unwrap_or_default().into(),
        is_error: false,
    }
}

fn search(done: &Done, grep: &Grep, outcome: &Outcome, room: usize) -> Told {
    let room = room.saturating_sub(FRAME);
    let shown = |root| Shown::new(root, grep.path.as_deref(), "", false);
    let page = match outcome {
        Outcome::Matches(out) => {
            let numbers = told::args(done, TOOLS).and_then(|args| args.flag("-n")) != Some(false);
            told::lines(grep, out, shown(&out.root), numbers, room)
        }
        Outcome::Found(out) => told::files(grep.skip, out, shown(&out.root), room),
        Outcome::Counted(out) => {
            let (totals, page) = told::counts(grep.skip, out, shown(&out.root), room);
            return match page.body.as_str() {
                "" => Told::output(NOTHING),
                _ => Told::output(format!("{totals}\n{}", below(page.more(), page.body))),
            };
        }
        other => return told::other(other),
    };
    Told::output(after(page))
}

const NOTHING: &str = "No non-sensitive matches found";

fn after(page: Page) -> String {
    match (page.body.as_str(), page.more()) {
        ("", _) => NOTHING.into(),
        (_, Some(more)) => format!("{}\n{more}", page.body),
        (_, None) => page.body,
    }
}

fn command(done: &Done, shell: &Shell, out: &ShellOut, room: usize) -> Told {
    if let ShellStatus::Running { id, pid } = out.status {
        return background(done, shell, out, (id, pid), room);
    }
    let failure = tasks::failure(out, shell.time_limit);
    let is_error = failure.is_some();
    let line = failure.as_deref().unwrap_or(SUCCESS);
    let (mut output, cut) = tasks::output(out, ERROR.len() + line.len() + 60, room);
    match out.status {
        ShellStatus::Exited(0) if output.trim().is_empty() => output = SUCCESS.into(),
        ShellStatus::Exited(code) if output.trim().is_empty() => {
            output = format!("Process exited with code {code}");
        }
        _ => {}
    }
    let end = match cut {
        true => format!("{line} The output was cut.\n\n{}", tasks::saved(out)),
        false => failure.unwrap_or_default(),
    };
    Told {
        output: joined(output, &end),
        remark: String::new(),
        is_error,
    }
}

/// Two texts, the second on a line of its own.
fn joined(mut text: String, end: &str) -> String {
    if !text.is_empty() && !end.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(end);
    text
}

/// A command that goes on by itself.
fn background(
    done: &Done,
    shell: &Shell,
    out: &ShellOut,
    (id, pid): (u32, u32),
    room: usize,
) -> Told {
    let about = told::args(done, TOOLS)
        .and_then(|args| args.filled("description"))
        .unwrap_or_else(|| clip(&out.command, 80));
    let mut text = tasks::keys([
        ("task_id", Some(tasks::id(id))),
        ("pid", Some(pid.to_string())),
        ("description", Some(about)),
        ("status", Some("running".into())),
        ("automatic_notification", Some("true".into())),
        (
            "next_step",
            Some("You are told when it ends; go on with something else meanwhile.".into()),
        ),
        (
            "next_step",
            Some("TaskOutput shows what it printed, TaskStop ends it.".into()),
        ),
        (
            "human_shell_hint",
            Some("The user sees it with /ps.".into()),
        ),
    ]);
    if !shell.background {
        let (seen, _) = tasks::output(out, text.len() + 30, room);
        if !seen.trim().is_empty() {
            text.push_str("\n\nforeground_output:\n");
            text.push_str(&seen);
        }
    }
    Told::output(text)
}

fn wait_keys(status: &str, id: Option<u32>, waited: Duration, limit: Duration) -> String {
    tasks::keys([
        ("wait_status", Some(status.to_owned())),
        ("task_id", id.map(tasks::id)),
        ("waited_ms", Some(waited.as_millis().to_string())),
        ("timeout_ms", Some(limit.as_millis().to_string())),
    ])
}

fn waited(id: Option<u32>, limit: Duration, out: &ShellOut, room: usize) -> Told {
    let id = id.or(out.job);
    let (status, title) = match out.status {
        ShellStatus::Running { .. } => ("timed_out", "[running]"),
        _ => ("completed", "[finished]"),
    };
    Told::output(format!(
        "{}\n\n{title}\n{}",
        wait_keys(status, id, out.wall, limit),
        tasks::look(id, out, "process", room.saturating_sub(FRAME))
    ))
}

fn planned(steps: &[PlanStep]) -> String {
    format!(
        "Todo list updated.\n{}\n\n{}",
        told::todo_list(steps, "  "),
        match steps {
            [] => "Make a new one when the work has several steps again.",
            _ => "Go on with the item in progress, and mark it done when it is.",
        }
    )
}

fn failed(error: &ToolError) -> String {
    match error {
        ToolError::NotRead { path } => format!(
            "\"{path}\" has not been read by this agent yet. Read it first, then send this call again."
        ),
        ToolError::ChangedSince { path } => format!(
            "\"{path}\" was modified on disk since you last read it. Read it again, then send the change anew."
        ),
        ToolError::NoMatch { .. } => {
            format!("{error}\nThe file may not be as you remember it: Read it again.\n")
        }
        ToolError::Ambiguous { .. } => format!("{error}, or set replace_all to true"),
        _ => told::failed(error),
    }
}

/// The end of a command in the background.
pub fn ended(end: &Ended) -> String {
    let severity = if end.code == Some(0) {
        "info"
    } else {
        "warning"
    };
    let mut inside = format!(
        "`{}` {}",
        end.command,
        end.code.map_or_else(
            || "was stopped.".to_owned(),
            |code| format!("ended with exit code {code}.")
        )
    );
    match end.file {
        Some(file) => {
            let path = file.display();
            inside.push_str(&format!(
                "\n<output-file path=\"{path}\">\nIts output is in {path}\n</output-file>"
            ));
        }
        None => inside.push_str("\nTaskOutput shows what it printed."),
    }
    end.element(
        &format!("Background process {}", end.status()),
        severity,
        &inside,
    )
}
