//! The observations; their layouts are those of the original's templates and editor.

use crate::harnesses::format::cut::{Cut, Limit, cut};
use crate::harnesses::format::{
    answer, changed_files, clip, exit_code, matched_by, not_done, numbered_wide, plain, whereabouts,
};
use crate::harnesses::{Done, Item};
use crate::tools::action::{
    Action, ChangeKind, FileChange, ListOut, Outcome, Read, ReadOut, ShellOut, ShellStatus,
    ToolError,
};
use std::fmt::Write;

/// The most characters of an observation in the presets `default` and `bash_only`.
const OUTPUT: (usize, usize) = (100_000, 10_000);
/// What the labels and the advice around an output may take.
const FRAME: usize = 700;
/// Lines shown before and after an edit.
const AROUND: usize = 4;
/// The columns of a line number.
const WIDTH: usize = 6;

/// The answer to one call.
pub fn item(done: &Done, bash_only: bool, room: usize) -> Item {
    let (action, outcome) = match &done.result {
        Ok(pair) => (&pair.0, &pair.1),
        Err(error) => return answer(done, error.to_string(), true, room),
    };
    if let Some(reason) = not_done(outcome) {
        return answer(done, reason, true, room);
    }
    let is_submit = done.call.as_ref().is_some_and(|call| call.name == "submit");
    let text = match outcome {
        Outcome::Finished => "The submission is received.".into(),
        Outcome::Shell(out) if is_submit => review(out, room),
        Outcome::Shell(out) => command(out, bash_only, room),
        Outcome::Read(out) => observed(&view(out, room), bash_only),
        Outcome::Listed(out) => observed(&folder(out), bash_only),
        Outcome::Changed(changes) => observed(&changed(action, changes, room), bash_only),
        Outcome::Failed(error) => observed(&failed(action, error), bash_only),
        _ => observed("Done.", bash_only),
    };
    // A command that fails is an ordinary observation here.
    let is_error = outcome.is_error() && !matches!(outcome, Outcome::Shell(_));
    answer(done, text, is_error, room)
}

/// A text as the template of the preset shows it.
fn observed(text: &str, bash_only: bool) -> String {
    match bash_only {
        true => format!("<observation>\n{text}</observation>"),
        false => format!("OBSERVATION:\n{text}"),
    }
}

fn command(out: &ShellOut, bash_only: bool, room: usize) -> String {
    let mut output = plain(&out.output.text);
    if let Some(fence) = &out.fence {
        if !output.is_empty() && !output.ends_with('\n') {
            output.push('\n');
        }
        let _ = writeln!(output, "{fence}");
    }
    let timeout = (out.status == ShellStatus::TimedOut).then(|| {
        let first = out.command.lines().next().unwrap_or_default();
        format!(
            "The command `{}` was stopped after {} seconds. It may have waited for input, which cannot be given; use one that ends sooner and asks nothing. Its output until then:\n",
            clip(first, 200),
            out.wall.as_secs()
        )
    });
    let head = timeout.unwrap_or_default();
    // The original hides the code, so that a failure may look like a success.
    let code = exit_code(out.status).filter(|code| *code != 0 && head.is_empty());
    if output.is_empty() && head.is_empty() {
        let text = match code {
            Some(code) => format!("The command printed nothing and ended with exit code {code}."),
            None => "The command ran and printed nothing.".into(),
        };
        return match bash_only {
            true => format!("<warning>\n{text}\n</warning>"),
            false => observed(&text, false),
        };
    }
    if let Some(code) = code {
        if !output.ends_with('\n') {
            output.push('\n');
        }
        let _ = writeln!(output, "[exit code {code}]");
    }
    let labels = head.len() + 32;
    let most = if bash_only { OUTPUT.1 } else { OUTPUT.0 };
    let cut = Limit::bytes(most, 50).output(&output, labels, room, FRAME);
    match (cut.split, bash_only) {
        (false, _) => observed(&format!("{head}{}", cut.head), bash_only),
        (true, true) => {
            let advice = format!(
                "The output was too long to show. {} Send a command that prints less.",
                whereabouts(out)
            );
            format!("{head}{}", cut.tagged("observation", &advice))
        }
        (true, false) => format!(
            "Observation: {head}{}",
            clipped(&cut, most, &whereabouts(out))
        ),
    }
}

/// Head, note and tail of an output that is too long.
fn clipped(cut: &Cut, limit: usize, advice: &str) -> String {
    format!(
        "{}<response clipped><NOTE>Observations are cut at {limit} characters, or where the window ends; {} are left out here. {advice} Use head, tail or grep to see less at once.</NOTE>\n{}{}",
        cut.head,
        cut.omitted_bytes,
        cut.errors_block(),
        cut.tail
    )
}

/// The step before a submission counts.
fn review(out: &ShellOut, room: usize) -> String {
    let diff = plain(&out.output.text);
    let cut = cut(
        &diff,
        Limit::bytes(OUTPUT.0.min(room.saturating_sub(FRAME + 200)), 60),
    );
    let mark = format!("[... {} bytes left out ...]", cut.omitted_bytes);
    let mut diff = cut.join(&mark);
    if !diff.is_empty() && !diff.ends_with('\n') {
        diff.push('\n');
    }
    format!(
        "OBSERVATION:\nThe task is not submitted yet. Look at your changes first:\n1. If the code changed after your last test, run the test again.\n2. Remove scripts that you wrote only for testing.\n3. If you changed tests that should stay, put them back, for example with `git checkout -- FILE`.\n4. Then call submit again.\n\nThe changes, and after them the new files:\n\n<diff>\n{diff}</diff>"
    )
}

fn view(out: &ReadOut, room: usize) -> String {
    let path = out.path.display();
    if out.total == 0 {
        return format!("{path} is empty.\n");
    }
    let room = room.saturating_sub(FRAME);
    let (lines, shown) = numbered_wide(&out.text, out.first, WIDTH, "\t", room);
    let mut text = format!("This is `cat -n` of {path}:\n{lines}");
    if out.cut || shown < out.lines {
        let next = out.first.saturating_add(shown.max(1)).min(out.total);
        let _ = write!(
            text,
            "<response clipped><NOTE>The file has {} lines. To see more, use view with view_range [{next}, {}], or find the place with `grep -n`.</NOTE>",
            out.total, out.total
        );
    }
    text
}

fn folder(out: &ListOut) -> String {
    let path = out.path.display();
    let mut text =
        format!("These are the files and folders in {path}, without hidden ones:\n{path}\n");
    for entry in out
        .entries
        .iter()
        .filter(|entry| !entry.name.starts_with('.'))
    {
        let _ = writeln!(text, "{}", out.path.join(&entry.name).display());
    }
    if out.more > 0 {
        let _ = writeln!(text, "[{} more are not shown]", out.more);
    }
    text
}

fn changed(action: &Action, changes: &[FileChange], room: usize) -> String {
    let Some(change) = changes.first() else {
        return "Nothing changed.\n".into();
    };
    let path = change.path.display();
    let mut text = match action {
        Action::Patch { .. } => {
            return format!(
                "The patch was applied to these files:\n{}\n",
                changed_files(changes)
            );
        }
        Action::Write { .. } => return format!("The file {path} was created.\n"),
        Action::UndoEdit { .. } if change.kind == ChangeKind::Delete => {
            return format!("The last edit of {path} had created it; the file is gone again.\n");
        }
        Action::UndoEdit { .. } => format!("The last edit of {path} was taken back."),
        _ => format!("The file {path} was edited."),
    };
    if let Some(note) = matched_by(changes) {
        let _ = write!(text, " {note}");
    }
    if let (Some(after), Some((first, last))) = (&change.after, change.lines) {
        let from = first.saturating_sub(AROUND).max(1);
        let part: Vec<&str> = after
            .lines()
            .skip(from - 1)
            .take(last.saturating_sub(from).saturating_add(AROUND + 1))
            .collect();
        let room = room.saturating_sub(FRAME);
        let (lines, _) = numbered_wide(&part.join("\n"), from, WIDTH, "\t", room);
        let _ = write!(text, " This is `cat -n` of the part around it:\n{lines}");
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str("See whether it is as you want it, and edit again if not.\n");
    text
}

fn failed(action: &Action, error: &ToolError) -> String {
    match (action, error) {
        (Action::Read(Read { first, lines, .. }), ToolError::PastEnd { path, total, .. }) => {
            let last = lines.map_or_else(
                || "-1".to_owned(),
                |lines| first.saturating_add(lines.max(1) - 1).to_string(),
            );
            format!(
                "`view_range` [{first}, {last}] does not fit: {path} has {total} lines, so both numbers must be from 1 to {total}.\n"
            )
        }
        (_, ToolError::Exists { path }) => {
            format!(
                "{path} exists already. `create` is for new files; change this one with str_replace.\n"
            )
        }
        (Action::Edit { .. }, error) => format!("Nothing was replaced: {error}.\n"),
        (_, error) => format!("{error}.\n"),
    }
}
