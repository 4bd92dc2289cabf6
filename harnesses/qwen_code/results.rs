//! The layouts in which results are told; they are those of the original.

use super::{TOOLS, agents, pages, reminder, task_id};
use crate::harnesses::format::args::Args;
use crate::harnesses::format::cut::Limit;
use crate::harnesses::format::skills;
use crate::harnesses::format::{
    answer, answer_parts, ask, changed_files, clip, matched_by, not_done, plain,
};
use crate::harnesses::{Done, Item};
use crate::tools::action::{
    Action, ChangeKind, FileChange, FoundOut, Glob, Grep, GrepOut, ListOut, Outcome, PlanStep,
    ReadOut, Shell, ShellOut, ShellStatus, ToolError,
};
use std::fmt::Write;

/// The most bytes and lines of one output, and how much of both is its head.
pub const OUTPUT: Limit = Limit {
    bytes: 25_000,
    lines: 1000,
    head_percent: 20,
};
/// What the lines around an output may take.
pub const FRAME: usize = 700;
/// What the labels of a command's result take beside their values.
const LABELS: usize = 110;
/// Lines shown before and after an edit.
const AROUND: usize = 4;
/// The most bytes of one line of a search.
const LINE: usize = 2000;

/// The answer to one call.
pub fn item(done: &Done, room: usize) -> Item {
    let (action, outcome) = match &done.result {
        Ok(pair) => (&pair.0, &pair.1),
        Err(error) => return answer(done, error.to_string(), true, room),
    };
    if let Outcome::Image { part, .. } = outcome {
        return answer_parts(done, vec![part.clone()], false);
    }
    // A command that fails is an ordinary result here.
    let is_error = outcome.is_error() && !matches!(outcome, Outcome::Shell(_));
    answer(done, text(done, action, outcome, room), is_error, room)
}

fn text(done: &Done, action: &Action, outcome: &Outcome, room: usize) -> String {
    match (action, outcome) {
        (_, Outcome::Read(out)) => read(done, out),
        (_, Outcome::Changed(changes)) if is_shell(done) => {
            let files = changed_files(changes);
            let output = format!("The patch was applied to these files:\n{files}");
            without_process(done, &output, "(none)", "0")
        }
        (_, Outcome::Failed(error)) if is_shell(done) => {
            let patch = matches!(action, Action::Patch { .. });
            let code = if patch { "1" } else { "(none)" };
            without_process(done, "(empty)", &error.to_string(), code)
        }
        (Action::Write { .. }, Outcome::Changed(changes)) => written(changes),
        (_, Outcome::Changed(changes)) => edited(changes),
        (_, Outcome::Listed(out)) => listed(out),
        (Action::Glob(Glob { pattern, path, .. }), Outcome::Found(out)) => {
            found(pattern, path.as_deref(), out)
        }
        (_, Outcome::Matches(out)) => matches(action, out, room),
        (Action::ShellStop { id }, Outcome::Shell(out)) => {
            format!("Stopped {} (`{}`).", task_id(*id), out.command)
        }
        (Action::Shell(shell), Outcome::Shell(out)) => command(shell, out, room),
        (Action::Plan { steps, .. }, Outcome::Planned) => planned(steps),
        (Action::Fetch(fetch), Outcome::Fetched(out)) => pages::told(done, &fetch.url, out, room),
        (_, Outcome::Delegated(out)) => agents::report(out),
        (action, Outcome::Agents(all)) => agents::stands(action, all),
        (Action::Ask { questions }, Outcome::Answered(answers)) => ask::answers(questions, answers),
        (_, Outcome::Skill(out)) => skills::text(out),
        (_, Outcome::ModeSet) => {
            "The user agreed to the plan. Begin with it; put its steps into the todo list.".into()
        }
        (_, Outcome::Failed(error)) => failed(action, error),
        (_, other) => not_done(other).unwrap_or_else(|| "Done.".into()),
    }
}

fn is_shell(done: &Done) -> bool {
    done.call
        .as_ref()
        .is_some_and(|call| call.name == "run_shell_command")
}

fn read(done: &Done, out: &ReadOut) -> String {
    let whole_asked = done
        .call
        .as_ref()
        .and_then(|call| Args::of(call, TOOLS).ok())
        .is_some_and(|args| args.value("offset").is_none() && args.value("limit").is_none());
    if out.repeated && whole_asked {
        return format!(
            "[{} has not changed since you read it, so its text is not repeated; to see it again, call read_file with offset and limit.]",
            out.path.display()
        );
    }
    let mut text = out.text.clone();
    if out.cut && !text.ends_with('\n') {
        text.push_str("... [truncated]");
    }
    if out.first == 1 && out.lines >= out.total && !out.cut {
        return text;
    }
    let last = (out.first + out.lines).saturating_sub(1);
    partial(out.first, last, out.total, &text)
}

fn partial(first: usize, last: usize, total: usize, text: &str) -> String {
    format!("Showing lines {first}-{last} of {total} total lines.\n\n---\n\n{text}")
}

fn written(changes: &[FileChange]) -> String {
    let lines: Vec<String> = changes
        .iter()
        .map(|change| {
            let path = change.path.display();
            match change.kind {
                ChangeKind::Add => format!("Created the new file {path}."),
                _ => format!("Wrote {path} anew."),
            }
        })
        .collect();
    lines.join("\n")
}

fn edited(changes: &[FileChange]) -> String {
    let Some(change) = changes.first() else {
        return "Nothing changed.".into();
    };
    if change.kind == ChangeKind::Add {
        return written(changes);
    }
    let mut text = format!("{} was updated.", change.path.display());
    if change.places > 1 {
        let _ = write!(text, " {} places were replaced.", change.places);
    }
    if let Some(note) = matched_by(changes) {
        let _ = write!(text, " {note}");
    }
    if let (Some(after), Some((first, last))) = (&change.after, change.lines) {
        let lines: Vec<&str> = after.lines().collect();
        let total = lines.len();
        let from = first.saturating_sub(AROUND).max(1);
        let to = last.saturating_add(AROUND).min(total);
        if from <= to {
            let _ = write!(
                text,
                " Showing lines {from}-{to} of {total} from the edited file:\n\n---\n\n{}",
                lines[from - 1..to].join("\n")
            );
        }
    }
    text
}

fn listed(out: &ListOut) -> String {
    let count = out.entries.len();
    let path = out.path.display();
    if count == 0 {
        return format!("The folder {path} is empty{}.", ignored(out.ignored));
    }
    let mut text = format!("Listed {count} item(s) in {path}:\n---");
    for entry in &out.entries {
        let mark = if entry.is_dir { "[DIR] " } else { "" };
        let _ = write!(text, "\n{mark}{}", entry.name);
    }
    if out.more > 0 {
        let _ = write!(text, "\n---\n[{} items truncated] ...", out.more);
    }
    if out.ignored > 0 {
        let _ = write!(text, "\n\n({} git-ignored)", out.ignored);
    }
    text
}

fn ignored(count: usize) -> String {
    match count {
        0 => String::new(),
        n => format!(" ({n} git-ignored)"),
    }
}

fn found(pattern: &str, path: Option<&str>, out: &FoundOut) -> String {
    let scope = path.map_or_else(
        || "in the workspace directory".to_owned(),
        |path| format!("in path \"{path}\""),
    );
    if out.paths.is_empty() {
        return format!("No file matches \"{pattern}\" {scope}.");
    }
    let mut text = format!(
        "Found {} file(s) matching \"{pattern}\" {scope}, sorted by modification time (newest first):\n---",
        out.total
    );
    for path in &out.paths {
        let _ = write!(text, "\n{}", path.display());
    }
    let more = out.total.saturating_sub(out.paths.len());
    if more > 0 {
        let _ = write!(text, "\n---\n[{more} files truncated] ...");
    }
    text
}

fn matches(action: &Action, out: &GrepOut, room: usize) -> String {
    let Action::Grep(Grep {
        pattern,
        path,
        include,
        ..
    }) = action
    else {
        return String::new();
    };
    let mut scope = path.as_ref().map_or_else(
        || "in the workspace directory".to_owned(),
        |path| format!("in path \"{path}\""),
    );
    if let Some(glob) = include {
        let _ = write!(scope, " (filter: \"{glob}\")");
    }
    if out.lines.is_empty() {
        return format!("No line matches the pattern \"{pattern}\" {scope}.");
    }
    let mut text = format!(
        "Found {} match{} for pattern \"{pattern}\" {scope}:\n---\n",
        out.total,
        if out.total == 1 { "" } else { "es" }
    );
    let most = OUTPUT.bytes.min(room.saturating_sub(FRAME));
    let mut shown = 0;
    for line in &out.lines {
        let row = format!(
            "{}:{}:{}\n",
            line.path.display(),
            line.number,
            clip(&line.text, LINE)
        );
        if shown > 0 && text.len() + row.len() > most {
            break;
        }
        text.push_str(&row);
        shown += 1;
    }
    let hidden = out.total.saturating_sub(shown);
    if hidden > 0 {
        let _ = write!(text, "---\n[{hidden} lines truncated] ...");
    }
    text
}

fn command(shell: &Shell, out: &ShellOut, room: usize) -> String {
    if let ShellStatus::Running { id, pid } = out.status {
        let file = out
            .output
            .file
            .as_ref()
            .map_or_else(|| "(none)".to_owned(), |file| file.display().to_string());
        return format!(
            "The command runs in the background.\nid: {}\npid: {pid}\noutput file: {file}\nRead that file for its output; task_stop with the id ends it.",
            task_id(id)
        );
    }
    let fence = out.fence.as_deref().unwrap_or("(none)");
    let labels =
        LABELS + out.command.len() + shell.dir.as_ref().map_or(0, String::len) + fence.len();
    let output = output(out, labels, room);
    if out.status == ShellStatus::TimedOut {
        let ms = shell.time_limit.map_or(0, |limit| limit.as_millis());
        return format!(
            "Command timed out after {ms}ms and was stopped with everything that it had started. Its output until then:\n{output}"
        );
    }
    let code = match out.status {
        ShellStatus::Exited(code) => code.to_string(),
        _ => "(none)".into(),
    };
    let signal = match out.status {
        ShellStatus::Signaled(signal) => signal.to_string(),
        _ => "(none)".into(),
    };
    labelled(
        &out.command,
        shell.dir.as_deref(),
        &output,
        fence,
        &code,
        &signal,
    )
}

/// The seven lines of a command's result.
fn labelled(
    command: &str,
    dir: Option<&str>,
    output: &str,
    error: &str,
    code: &str,
    signal: &str,
) -> String {
    format!(
        "Command: {command}\nDirectory: {}\nOutput: {output}\nError: {error}\nExit Code: {code}\nSignal: {signal}\nProcess Group PGID: (none)",
        dir.unwrap_or("(root)")
    )
}

/// The output within the limits of the original and of the session, beside `labels` bytes.
fn output(out: &ShellOut, labels: usize, room: usize) -> String {
    let output = plain(&out.output.text);
    let output = output.trim_end_matches('\n');
    if output.is_empty() {
        return "(empty)".into();
    }
    let cut = OUTPUT.output(output, labels, room, FRAME);
    if !cut.split {
        return cut.head;
    }
    let file = out.output.file.as_ref().map_or_else(
        || "It could not be kept in a file; run the command again with head, tail or grep to see a part.".to_owned(),
        |file| {
            format!(
                "All of it is in the file {}\nTo see a part, call read_file on that file with offset and limit.",
                file.display()
            )
        },
    );
    format!(
        "The output is too large to show ({} bytes).\n{file}\nBelow are the beginning and the end of the output; {} bytes are left out.\nTruncated part of the output:\n{}\n\n---\n... [CONTENT TRUNCATED] ...\n---\n\n{}{}",
        out.output.bytes,
        cut.omitted_bytes,
        cut.head.trim_end_matches('\n'),
        cut.errors_block(),
        cut.tail
    )
}

/// The result of a command that never became a process: it could not start, or it was a patch,
/// which the program applies itself.
fn without_process(done: &Done, output: &str, error: &str, code: &str) -> String {
    let command = done
        .call
        .as_ref()
        .and_then(|call| Args::of(call, TOOLS).ok())
        .and_then(|args| args.filled("command"))
        .unwrap_or_default();
    let first = command.lines().next().unwrap_or_default();
    labelled(first, None, output, error, code, "(none)")
}

fn planned(steps: &[PlanStep]) -> String {
    if steps.is_empty() {
        return format!(
            "The todo list was cleared.\n\n{}",
            reminder(
                "The todo list is empty. Do not mention this to the user; use todo_write again when the work has several steps."
            )
        );
    }
    let list: Vec<serde_json::Value> = steps
        .iter()
        .map(|step| {
            serde_json::json!({
                "content": step.text,
                "status": step.status.name(),
                "id": step.id.as_deref().unwrap_or_default(),
            })
        })
        .collect();
    format!(
        "The todo list was saved. Go on with the item in progress.\n\n{}",
        reminder(&format!(
            "The todo list is now this; do not mention it to the user:\n\n{}",
            serde_json::Value::Array(list)
        ))
    )
}

fn failed(action: &Action, error: &ToolError) -> String {
    match error {
        // In the original a read past the end is no error.
        ToolError::PastEnd { line, total, .. } if matches!(action, Action::Read(_)) => {
            partial(*line, *total, *total, "")
        }
        ToolError::NotFound { path, instead } => match instead {
            Some(other) => format!("File not found: {path}. Did you mean {other}?"),
            None => format!("File not found: {path}. list_directory and glob show what is there."),
        },
        ToolError::NotRead { path } => format!(
            "{path} has not been read in this session. Call read_file on it first, then send this call again."
        ),
        ToolError::ChangedSince { path } => format!(
            "{path} was changed since you read it. Call read_file on it again, then send the change anew."
        ),
        ToolError::Ambiguous { .. } => {
            format!("Edit failed: {error}, or set replace_all to true.")
        }
        ToolError::NoMatch { .. } | ToolError::Identical { .. } => format!("Edit failed: {error}"),
        _ => format!("Error: {error}"),
    }
}
