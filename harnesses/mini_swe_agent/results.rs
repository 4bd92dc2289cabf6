//! The observations; their layouts are those of the original's text mode.

use super::DONE_TOKEN;
use crate::harnesses::format::cut::Limit;
use crate::harnesses::format::{answer, changed_files, clip, exit_code, not_done, plain};
use crate::harnesses::{Done, Item};
use crate::tools::action::{Action, Outcome, ShellOut, ShellStatus};
use std::fmt::Write;

/// An output of so many characters or more is shown as head and tail, half and half.
const OUTPUT: usize = 10_000;
/// What the tags and the advice around an output may take.
const FRAME: usize = 600;

/// The answer to one action: a message of the user.
pub fn item(done: &Done, room: usize) -> Item {
    let text = match &done.result {
        Err(error) => error.to_string(),
        Ok((_, Outcome::Shell(out))) => observation(out, room),
        Ok((_, Outcome::Changed(changes))) => {
            let files = changed_files(changes);
            layout(
                None,
                0,
                &format!("The patch was applied to these files:\n{files}\n"),
            )
        }
        Ok((Action::Patch { .. }, Outcome::Failed(error))) => {
            layout(None, 1, &format!("{error}\n"))
        }
        Ok((_, Outcome::Failed(error))) => layout(Some(&error.to_string()), -1, ""),
        Ok((_, other)) => not_done(other).unwrap_or_else(|| "Done.".into()),
    };
    answer(done, text, done.result.is_err(), room)
}

/// What follows the final word, when this output ends the task.
pub fn submission(done: &Done) -> Option<String> {
    let Ok((_, Outcome::Shell(out))) = &done.result else {
        return None;
    };
    if out.status != ShellStatus::Exited(0) {
        return None;
    }
    let text = out.output.text.trim_start();
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    (first.trim() == DONE_TOKEN).then(|| rest.trim().to_owned())
}

fn observation(out: &ShellOut, room: usize) -> String {
    let mut output = plain(&out.output.text);
    if let Some(fence) = &out.fence {
        if !output.is_empty() && !output.ends_with('\n') {
            output.push('\n');
        }
        let _ = writeln!(output, "{fence}");
    }
    let exception = (out.status == ShellStatus::TimedOut).then(|| {
        let first = out.command.lines().next().unwrap_or_default();
        format!(
            "The command `{}` was stopped after {} seconds.",
            clip(first, 200),
            out.wall.as_secs()
        )
    });
    let code = match out.status {
        ShellStatus::TimedOut => -1,
        status => exit_code(status).unwrap_or_default(),
    };
    let labels = layout(exception.as_deref(), code, "").len();
    let cut = Limit::bytes(OUTPUT - 1, 50).output(&output, labels, room, FRAME);
    if !cut.split {
        return layout(exception.as_deref(), code, &cut.head);
    }
    let advice = out.output.file.as_ref().map_or_else(
        || "Run it again with `| head`, `| tail` or `| grep` to see what you need.".to_owned(),
        |file| {
            let file = file.display();
            format!("All of it is in {file}; see parts with `sed -n '1,100p' {file}`.")
        },
    );
    format!(
        "{}{}",
        head(exception.as_deref(), code),
        cut.tagged(
            "output",
            &format!("The output was too long to show. {advice}")
        )
    )
}

fn head(exception: Option<&str>, code: i32) -> String {
    let exception = exception.map_or_else(String::new, |text| {
        format!("<exception>{text}</exception>\n")
    });
    format!("{exception}<returncode>{code}</returncode>\n")
}

fn layout(exception: Option<&str>, code: i32, output: &str) -> String {
    format!("{}<output>\n{output}</output>", head(exception, code))
}
