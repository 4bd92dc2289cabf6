//! The layouts in which results are told; they are those of the original.

use crate::harnesses::format::cut::Limit;
use crate::harnesses::format::{
    answer, answer_parts, changed_files, exit_code, matched_by, not_done, numbered, plain,
    whereabouts,
};
use crate::harnesses::{Done, Item};
use crate::tools::action::{
    Action, FileChange, Outcome, ReadOut, ShellOut, ShellStatus, ToolError,
};
use std::fmt::Write;

/// Most bytes of a command's output, by the original's model data.
const OUTPUT_BYTES: usize = 10_000;
/// What the lines around an output or a view may take.
const FRAME: usize = 300;
/// The longest line that says how a command ended.
const LABELS: usize = 80;

/// The answer to one call. Every failure is marked as one, a failing command included.
pub fn item(done: &Done, room: usize) -> Item {
    let (action, outcome) = match &done.result {
        Ok(pair) => (&pair.0, &pair.1),
        Err(error) => return answer(done, error.to_string(), true, room),
    };
    let text = match outcome {
        Outcome::Shell(out) => command(out, room),
        Outcome::Read(read) => view(read, room),
        Outcome::Changed(changes) => changed(action, changes),
        Outcome::Failed(error) => failed(error),
        Outcome::Image { part, .. } => return answer_parts(done, vec![part.clone()], false),
        other => not_done(other).unwrap_or_else(|| "Done.".into()),
    };
    answer(done, text, outcome.is_error(), room)
}

fn command(out: &ShellOut, room: usize) -> String {
    let output = plain(&out.output.text);
    let labels = LABELS + out.fence.as_ref().map_or(0, String::len);
    let cut = Limit::bytes(OUTPUT_BYTES, 40).output(&output, labels, room, FRAME);
    let mut text = cut.join(&format!(
        "[... {} bytes left out. {}]",
        cut.omitted_bytes,
        whereabouts(out)
    ));
    let end = match out.status {
        ShellStatus::Exited(0) if text.trim().is_empty() => {
            return "<system>Command executed successfully.</system>".into();
        }
        ShellStatus::Exited(0) => None,
        ShellStatus::TimedOut => Some(format!(
            "The command was stopped after {} seconds.",
            out.wall.as_secs()
        )),
        ShellStatus::Running { id, pid } => Some(format!(
            "The command still runs (number {id}, process {pid})."
        )),
        status => exit_code(status).map(|code| format!("Exit code: {code}")),
    };
    for line in end.iter().chain(&out.fence) {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(line);
    }
    text
}

fn view(read: &ReadOut, room: usize) -> String {
    let (mut text, shown) = numbered(&read.text, read.first, "\t", room.saturating_sub(FRAME));
    if read.total == 0 {
        return format!("{} is empty.", read.path.display());
    }
    let last = read.first + shown.max(1) - 1;
    if read.cut || shown < read.lines {
        let _ = write!(
            text,
            "[Lines {}-{last} of {}. For more, view again with view_range [{}, {}].]",
            read.first,
            read.total,
            (last + 1).min(read.total),
            read.total
        );
    }
    text
}

fn changed(action: &Action, changes: &[FileChange]) -> String {
    let path = changes
        .first()
        .map_or_else(String::new, |change| change.path.display().to_string());
    let place = changes.first().and_then(|change| change.lines).map_or_else(
        String::new,
        |(first, last)| match first == last {
            true => format!(" (line {first})"),
            false => format!(" (lines {first}-{last})"),
        },
    );
    let mut text = match action {
        Action::Write { .. } => format!("Created {path}."),
        Action::UndoEdit { .. } => format!("Took back the last change of {path}."),
        Action::Patch { .. } => {
            return format!(
                "The patch was applied to these files:\n{}",
                changed_files(changes)
            );
        }
        _ => format!("Edited {path}{place}."),
    };
    if let Some(note) = matched_by(changes) {
        let _ = write!(text, " {note}");
    }
    text
}

fn failed(error: &ToolError) -> String {
    let next = match error {
        ToolError::IsFolder { .. } => " With bash, `ls` lists it.",
        ToolError::Exists { .. } => " str_replace changes it, view shows it.",
        _ => "",
    };
    format!("Error: {error}.{next}")
}
