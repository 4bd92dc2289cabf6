//! The layouts in which results are told; they are those of the original. What failed begins with
//! `Error: `.

use super::calls::READ_LINES;
use super::opening::pretty;
use super::searches::{found, listed, matches};
use super::{agents, arguments, canonical, is_call, map, pages, plan, task_id};
use crate::harnesses::format::cut::Limit;
use crate::harnesses::format::diff::unified;
use crate::harnesses::format::skills;
use crate::harnesses::format::{
    answer, answer_parts, clip, exit_code, matched_by, not_done, numbered_wide, plain, whereabouts,
};
use crate::harnesses::{Done, Item};
use crate::tools::action::{
    Action, AskedQuestion, ChangeKind, FileChange, Glob, Outcome, PlanStep, ReadOut, ShellOut,
    ShellStatus, StepStatus, ToolError,
};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

/// The most bytes of one output, and how much of it is its head, in percent.
const OUTPUT: Limit = Limit {
    bytes: 30_000,
    lines: usize::MAX,
    head_percent: 73,
};
/// What the lines around an output or a list may take.
pub const FRAME: usize = 700;
/// The most bytes of a diff in a result.
const DIFF: usize = 4_000;
/// The columns of a line number, and what follows it.
const NUMBER: (usize, &str) = (6, "│ ");

/// The answer to one call; paths below `cwd` are told from there.
pub fn item(done: &Done, cwd: &str, room: usize) -> Item {
    let (action, outcome) = match &done.result {
        Ok(pair) => (&pair.0, &pair.1),
        Err(error) => return answer(done, format!("Error: {error}"), true, room),
    };
    if let Some(reason) = not_done(outcome) {
        return answer(done, format!("Error: {reason}"), true, room);
    }
    let mut is_error = outcome.is_error();
    let mut text = match (action, outcome) {
        (_, Outcome::Read(out)) => read(done, out, cwd, room),
        (_, Outcome::Changed(changes)) => changed(action, changes, cwd),
        (_, Outcome::Listed(out)) => listed(out, room),
        (_, Outcome::Found(out)) if is_call(done, "project_map") => map::told(done, out, cwd, room),
        (Action::Glob(Glob { pattern, .. }), Outcome::Found(out)) => {
            found(done, pattern, out, cwd, room)
        }
        (Action::Grep(grep), Outcome::Matches(out)) => {
            matches(done, out, grep.context.0, cwd, room)
        }
        (Action::ShellStop { id }, Outcome::Shell(out)) => {
            // It was to end.
            is_error = false;
            format!(
                "Cancelled {} (`{}`).",
                task_id(*id),
                clip(&out.command, 200)
            )
        }
        (_, Outcome::Shell(out)) if is_call(done, "run_tests") => {
            is_error = false;
            tests(out, room)
        }
        (_, Outcome::Shell(out)) => command(done, out, room),
        (_, Outcome::Jobs(jobs)) => {
            let lines: Vec<String> = jobs
                .iter()
                .filter(|job| matches!(job.status, ShellStatus::Running { .. }))
                .map(|job| format!("{}: `{}`", task_id(job.id), clip(&job.command, 200)))
                .collect();
            match lines.is_empty() {
                true => "No background task runs.".into(),
                false => format!(
                    "These run; cancel each by its task_id:\n{}",
                    lines.join("\n")
                ),
            }
        }
        (Action::Plan { steps, explanation }, Outcome::Planned) => {
            planned(done, steps, explanation.as_deref())
        }
        (_, Outcome::Plan(steps)) => format!(
            "Todo list ({} items, {}% complete)\n{}",
            steps.len(),
            plan::percent(steps),
            pretty(&plan::checklist(steps))
        ),
        (Action::Delegate(part), Outcome::Delegated(out)) => agents::worked(part, out),
        (_, Outcome::Agents(all)) => {
            let all: Vec<String> = all.iter().map(agents::stands).collect();
            all.join("\n")
        }
        (_, Outcome::ToolsFound(text)) => text.clone(),
        (_, Outcome::Skill(out)) => format!("# Skill: {}\n{}", out.name, skills::text(out)),
        (_, Outcome::Fetched(out)) => pages::told(done, out, room),
        (Action::Ask { questions }, Outcome::Answered(answers)) => answered(questions, answers),
        (Action::Read(_), Outcome::Failed(ToolError::PastEnd { path, line, total })) => {
            is_error = false;
            format!(
                "<file path=\"{path}\" total_lines=\"{total}\" shown_lines=\"\" truncated=\"false\">\n[NO CONTENT] start_line is {line}, but the file has {total} lines.\n</file>"
            )
        }
        (_, Outcome::Failed(error)) => error.to_string(),
        (_, Outcome::Image { part, .. }) => return answer_parts(done, vec![part.clone()], false),
        _ => "Done.".into(),
    };
    if is_error {
        text.insert_str(0, "Error: ");
    }
    answer(done, text, is_error, room)
}

/// A path as it is told: below the session's folder from there, else whole.
pub fn shown(path: &Path, cwd: &str) -> String {
    match path.strip_prefix(cwd) {
        Ok(below) if !cwd.is_empty() && !below.as_os_str().is_empty() => below,
        _ => path,
    }
    .display()
    .to_string()
}

fn read(done: &Done, out: &ReadOut, cwd: &str, room: usize) -> String {
    let in_part = arguments(done).is_some_and(|args| {
        args.value("start_line").is_some() || args.value("max_lines").is_some()
    });
    if out.total == 0 {
        return "[NO CONTENT] The file is empty.".into();
    }
    let is_whole = out.first == 1 && out.lines >= out.total && !out.cut;
    if is_whole && !in_part && out.total <= READ_LINES.0 {
        return out.text.clone();
    }
    let (mut lines, count) = numbered_wide(
        &out.text,
        out.first,
        NUMBER.0,
        NUMBER.1,
        room.saturating_sub(FRAME),
    );
    let last = out.first.saturating_add(count.max(1) - 1);
    let more = last < out.total;
    let truncated = more || out.cut;
    let next = if more {
        format!(" next_start_line=\"{}\"", last + 1)
    } else {
        String::new()
    };
    if truncated {
        let _ = match more {
            true => writeln!(
                lines,
                "[TRUNCATED] {} more lines; go on with start_line={}",
                out.total - last,
                last + 1
            ),
            false => writeln!(lines, "[TRUNCATED] The last line is longer than shown."),
        };
    }
    format!(
        "<file path=\"{}\" total_lines=\"{}\" shown_lines=\"{}-{last}\" truncated=\"{truncated}\"{next}>\n{lines}</file>",
        shown(&out.path, cwd),
        out.total,
        out.first
    )
}

fn changed(action: &Action, changes: &[FileChange], cwd: &str) -> String {
    let place = |change: &FileChange| {
        let path = change.moved_to.as_ref().map_or(&change.path, |(to, _)| to);
        shown(path, cwd)
    };
    let mut text = match action {
        Action::Patch { .. } => {
            let names: Vec<String> = changes.iter().map(place).collect();
            let hunks: usize = changes.iter().map(|change| change.places).sum();
            format!(
                "Applied {hunks} hunk(s) to {} file(s)\nFiles: {}",
                changes.len(),
                names.join(", ")
            )
        }
        _ => match changes.first() {
            Some(change) => one_file(action, change, &place(change)),
            None => "(no changes)".into(),
        },
    };
    if let Some(note) = matched_by(changes) {
        let _ = write!(text, "\nNote: {note}");
    }
    text
}

/// Diff and summary of one file. A new one is not repeated: its text stands in the call.
fn one_file(action: &Action, change: &FileChange, path: &str) -> String {
    let after = change.after.as_deref().unwrap_or_default();
    if change.kind == ChangeKind::Add {
        return format!("Created {path} ({} bytes)", after.len());
    }
    let before = change.before.as_deref().unwrap_or_default();
    let mut diff = unified(path, before, after, DIFF);
    if diff.is_empty() {
        diff.push_str("(no changes)\n");
    }
    match action {
        Action::Edit { .. } => {
            let many = if change.places == 1 { "" } else { "s" };
            let warning = match change.places {
                0 | 1 => String::new(),
                n => format!(
                    "\nWarning: `search` stood at {n} places, and all were replaced. See that each was meant; with more lines in `search` it stands only once."
                ),
            };
            format!(
                "{diff}Replaced {} occurrence{many} in {path}{warning}",
                change.places
            )
        }
        _ => format!("{diff}Wrote {} bytes to {path}", after.len()),
    }
}

fn command(done: &Done, out: &ShellOut, room: usize) -> String {
    let begins = is_call(done, "exec_shell");
    if let (ShellStatus::Running { id, .. }, true) = (out.status, begins) {
        let task = task_id(id);
        let note = terminal_note(done);
        return format!(
            "Background task started: {task}\nexec_shell_wait shows its output, exec_shell_cancel ends it.{note}"
        );
    }
    let (head, end) = match out.status {
        ShellStatus::Exited(0) => (String::new(), String::new()),
        ShellStatus::Running { id, .. } => (
            String::new(),
            format!("\n\n[{} is still running]", task_id(id)),
        ),
        ShellStatus::TimedOut => {
            let ms = out.wall.as_millis();
            (
                format!(
                    "Command timed out after {ms}ms and was killed with everything that it had started. For a longer one set timeout_ms, or background and exec_shell_wait.\n\nSTDOUT:\n"
                ),
                String::new(),
            )
        }
        ShellStatus::Exited(code) => (
            format!("Command failed (exit code: Some({code}))\n\nSTDOUT:\n"),
            String::new(),
        ),
        ShellStatus::Signaled(_) => (
            "Command failed (exit code: None)\n\nSTDOUT:\n".into(),
            String::new(),
        ),
    };
    let mut end = end;
    if let Some(fence) = &out.fence {
        let _ = write!(end, "\n{fence}");
    }
    end.push_str(&terminal_note(done));
    let labels = head.len() + end.len() + 16;
    let output = plain(&out.output.text);
    let output = output.trim_end_matches('\n');
    if output.is_empty() {
        let empty = match out.status {
            ShellStatus::Running { .. } => "(no new output)",
            _ => "(no output)",
        };
        return format!("{head}{empty}{end}");
    }
    let cut = OUTPUT.output(output, labels, room, FRAME);
    let mark = format!(
        "[Output truncated: {} of {} bytes left out. {}]",
        cut.omitted_bytes,
        out.output.bytes,
        whereabouts(out)
    );
    format!("{head}{}{end}", cut.join(&mark))
}

/// The outcome of tests, as JSON. Both streams come as one here.
fn tests(out: &ShellOut, room: usize) -> String {
    let output = plain(&out.output.text);
    let cut = OUTPUT.output(&output, out.command.len(), room / 2, FRAME);
    let mark = format!(
        "[{} bytes left out. {}]",
        cut.omitted_bytes,
        whereabouts(out)
    );
    pretty(&json!({
        "success": out.status == ShellStatus::Exited(0),
        "exit_code": exit_code(out.status).unwrap_or(-1),
        "stdout": cut.join(&mark),
        "stderr": out.fence.as_deref().unwrap_or_default(),
        "command": out.command,
    }))
}

/// What became of a wish for a terminal.
fn terminal_note(done: &Done) -> String {
    let wanted = arguments(done).is_some_and(|args| {
        is_call(done, "exec_shell")
            && ["tty", "interactive"]
                .into_iter()
                .any(|key| args.flag(key) == Some(true))
    });
    match wanted {
        true => "\n[There is no terminal here; the command ran without one.]".into(),
        false => String::new(),
    }
}

fn planned(done: &Done, steps: &[PlanStep], explanation: Option<&str>) -> String {
    let percent = plan::percent(steps);
    if is_call(done, "update_plan") {
        let count = |status| plan::count(steps, status);
        let items: Vec<Value> = steps
            .iter()
            .map(|step| json!({"step": step.text, "status": step.status.name()}))
            .collect();
        return format!(
            "Plan updated: {} pending, {} in progress, {} completed ({percent}% done)\n{}",
            count(StepStatus::Pending),
            count(StepStatus::InProgress),
            count(StepStatus::Completed),
            pretty(&json!({"explanation": explanation, "items": items}))
        );
    }
    let list = pretty(&plan::checklist(steps));
    let head = match done.call.as_ref().map(|call| canonical(&call.name)) {
        Some("checklist_add") => steps
            .last()
            .map(|step| format!("Added todo #{} ({})", steps.len(), step.status.name())),
        Some("checklist_update") => arguments(done).and_then(|args| {
            let id = args.whole("id")?;
            let at = usize::try_from(id).ok()?.checked_sub(1)?;
            Some(format!(
                "Updated todo #{id} to {}",
                steps.get(at)?.status.name()
            ))
        }),
        _ => None,
    };
    let head = head.unwrap_or_else(|| {
        format!(
            "Todo list updated ({} items, {percent}% complete)",
            steps.len()
        )
    });
    format!("{head}\n{list}")
}

fn answered(questions: &[AskedQuestion], answers: &[Vec<String>]) -> String {
    let answers: Vec<Value> = questions
        .iter()
        .zip(answers)
        .map(|(asked, answer)| {
            let value = answer.join(", ");
            let is_option = asked.options.iter().any(|(label, _)| *label == value);
            let label = if is_option { value.as_str() } else { "Other" };
            json!({"id": asked.id, "label": label, "value": value})
        })
        .collect();
    pretty(&json!({"answers": answers}))
}
