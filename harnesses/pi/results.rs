//! The layouts in which results are told; they are those of the original.

use super::TOOLS;
use crate::harnesses::format::args::Args;
use crate::harnesses::format::cut::Limit;
use crate::harnesses::format::{
    answer, answer_parts, changed_files, clip, exit_code, matched_by, not_done, plain, whereabouts,
};
use crate::harnesses::{CallError, Done, Item};
use crate::tools::action::{
    Action, FileChange, Outcome, ReadOut, ShellOut, ShellStatus, ToolError,
};
use crate::words::head;

/// The end of an output is what stays.
const OUTPUT: Limit = Limit {
    bytes: 51_200,
    lines: 2000,
    head_percent: 0,
};
/// What the lines around an output or a file may take.
const FRAME: usize = 300;
/// The most bytes of wrong arguments that are shown again.
const ARGUMENTS: usize = 400;

/// The answer to one call. A failing command is marked as an error.
pub fn item(done: &Done, room: usize) -> Item {
    let (action, outcome) = match &done.result {
        Ok(pair) => (&pair.0, &pair.1),
        Err(error) => return answer(done, misfit(done, error), true, room),
    };
    let text = match (action, outcome) {
        (_, Outcome::Image { part, .. }) => return answer_parts(done, vec![part.clone()], false),
        (_, Outcome::Read(out)) => file(done, out, room),
        (_, Outcome::Shell(out)) => command(out, room),
        (_, Outcome::Changed(changes)) => changed(action, changes),
        (_, Outcome::Failed(error)) => failed(action, error),
        (_, other) => not_done(other).unwrap_or_else(|| "Done.".into()),
    };
    answer(done, text, outcome.is_error(), room)
}

/// A call that was not understood.
fn misfit(done: &Done, error: &CallError) -> String {
    match error {
        CallError::UnknownTool { name, .. } => format!("Tool {name} not found\n{error}"),
        CallError::BadArgument { tool, why, .. } => {
            let place = why.split('"').nth(1).unwrap_or("arguments");
            let arguments = done.call.as_ref().map_or("{}", |call| &call.arguments);
            let arguments = serde_json::from_str::<serde_json::Value>(arguments)
                .and_then(|value| serde_json::to_string_pretty(&value))
                .unwrap_or_else(|_| arguments.to_owned());
            format!(
                "Validation failed for tool \"{tool}\":\n  - {place}: {why}\n\nReceived arguments:\n{}\n\n{error}",
                clip(&arguments, ARGUMENTS)
            )
        }
        _ => error.to_string(),
    }
}

/// The text as it is; after a blank line, how it goes on.
fn file(done: &Done, out: &ReadOut, room: usize) -> String {
    let (text, shown) = whole_lines(&out.text, room.saturating_sub(FRAME));
    let (first, total) = (out.first, out.total);
    let last = (first + shown).saturating_sub(1);
    if last >= total {
        // Only a last line that was too long can be incomplete here.
        let mark = if text.len() < out.text.len() || out.cut {
            "\n\n[The rest of this line is left out.]"
        } else {
            ""
        };
        return format!("{text}{mark}");
    }
    let limited = done
        .call
        .as_ref()
        .and_then(|call| Args::of(call, TOOLS).ok())
        .is_some_and(|args| args.size("limit") == Some(shown));
    let next = last + 1;
    let footer = match limited {
        true => format!(
            "[{} more lines in file. Use offset={next} to continue.]",
            total - last
        ),
        false => {
            format!("[Showing lines {first}-{last} of {total}. Use offset={next} to continue.]")
        }
    };
    format!("{}\n\n{footer}", text.trim_end_matches('\n'))
}

/// As many whole lines as fit, and how many those are; the beginning of a first line that alone
/// is longer.
fn whole_lines(text: &str, room: usize) -> (&str, usize) {
    let (mut end, mut count) = (0, 0);
    for line in text.split_inclusive('\n') {
        if end + line.len() > room {
            break;
        }
        end += line.len();
        count += 1;
    }
    match count {
        0 if !text.is_empty() => (head(text, room), 1),
        _ => (&text[..end], count),
    }
}

fn command(out: &ShellOut, room: usize) -> String {
    let end = match out.status {
        ShellStatus::Exited(0) => None,
        ShellStatus::TimedOut => Some(format!(
            "Command timed out after {} seconds",
            out.wall.as_secs()
        )),
        ShellStatus::Running { id, pid } => {
            Some(format!("Command still runs (number {id}, process {pid})"))
        }
        status => exit_code(status).map(|code| format!("Command exited with code {code}")),
    };
    let ends: String = end
        .iter()
        .chain(&out.fence)
        .map(|line| format!("\n\n{line}"))
        .collect();
    let output = plain(&out.output.text);
    let output = output.trim_end_matches('\n');
    if output.is_empty() {
        return format!("(no output){ends}");
    }
    let cut = OUTPUT.output(output, ends.len(), room, FRAME);
    if !cut.split {
        let place = match &out.output.file {
            Some(file) if cut.omitted_bytes > 0 => format!(
                "\n\n[Showing both ends of a long line. Full output: {}]",
                file.display()
            ),
            _ => String::new(),
        };
        return format!("{}{place}{ends}", cut.head);
    }
    let shown = cut.tail.lines().count();
    let total = output.lines().count();
    let range = match out.output.bytes > out.output.text.len() as u64 {
        // Not all of it is held, so that its lines cannot be counted.
        true => format!("the last {shown} lines"),
        false => format!("lines {}-{total} of {total}", total + 1 - shown),
    };
    let place = match &out.output.file {
        Some(file) => format!("Full output: {}", file.display()),
        None => whereabouts(out),
    };
    format!(
        "{}{}\n\n[Showing {range}. {place}]{ends}",
        cut.errors_block(),
        cut.tail
    )
}

fn changed(action: &Action, changes: &[FileChange]) -> String {
    let path = changes.first().map_or("", |change| change.shown.as_str());
    let mut text = match action {
        Action::Write { content, .. } => {
            format!("Successfully wrote {} bytes to {path}", content.len())
        }
        Action::Edit { edits, .. } => {
            format!("Successfully replaced {} block(s) in {path}.", edits.len())
        }
        _ => format!(
            "The patch was applied to these files:\n{}",
            changed_files(changes)
        ),
    };
    if let Some(note) = matched_by(changes) {
        text.push(' ');
        text.push_str(note);
    }
    text
}

/// Errors of files keep the names that the original's runtime gives them.
fn failed(action: &Action, error: &ToolError) -> String {
    let edits = match action {
        Action::Edit { edits, .. } => edits.len(),
        _ => 0,
    };
    match error {
        ToolError::NotFound { path, .. } if edits > 0 => {
            format!("Could not edit {path}. Error code: ENOENT. {error}")
        }
        ToolError::NotFound { .. } => format!("ENOENT: {error}"),
        ToolError::IsFolder { .. } => format!("EISDIR: {error}; bash lists it with ls"),
        ToolError::NoMatch { index, .. } | ToolError::Ambiguous { index, .. } if edits > 1 => {
            format!("replacement {}: {error}", index + 1)
        }
        _ => error.to_string(),
    }
}
