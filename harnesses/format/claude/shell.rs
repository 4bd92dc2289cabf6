//! How commands are told.

use super::{Family, task_id};
use crate::harnesses::format::cut::{Limit, allowance, cut};
use crate::harnesses::format::{exit_code, plain, whereabouts};
use crate::tools::action::{Outcome, Shell, ShellOut, ShellStatus};
use crate::words::head;
use std::fmt::Write;
use std::time::Duration;

/// The largest output of a command that failed, in bytes.
const FAILURE: usize = 10_000;
/// The beginning and the end of an output that is too large to be shown, in bytes.
const PREVIEW: (usize, usize) = (2000, 1000);
/// What the line about another working folder may take.
const BACK: usize = 200;
/// What the sentences of a cut output may take.
const FRAME: usize = 400;
/// Programs whose exit code 1 is an answer, not a failure.
const ANSWERS: [&str; 8] = ["grep", "rg", "egrep", "fgrep", "find", "diff", "test", "["];
/// The same, as a word after `git`.
const GIT_ANSWERS: [&str; 2] = ["diff", "grep"];

impl Family {
    /// The result of a command, or where it goes on.
    pub(super) fn command(&self, shell: &Shell, out: &ShellOut, room: usize) -> String {
        if let ShellStatus::Running { id, pid } = out.status {
            return self.running(shell, out, id, pid, room);
        }
        let mut lines = Vec::new();
        if out.status == ShellStatus::TimedOut {
            lines.push(format!(
                "The command was stopped after {}, its time limit, with everything that it had started.",
                time(shell.time_limit.unwrap_or_default())
            ));
        } else if let Some(line) = code_line(out) {
            lines.push(line);
        }
        let around = lines.iter().map(String::len).sum::<usize>()
            + out.fence.as_ref().map_or(0, String::len)
            + out.back_in.as_ref().map_or(0, |_| BACK)
            + 2;
        let output = self.output(out, around, room);
        match output.is_empty() {
            false => lines.push(output),
            true if lines.is_empty() => lines.push("(Bash completed with no output)".into()),
            true => {}
        }
        lines.extend(out.fence.clone());
        let back = out.back_in.as_ref();
        lines.extend(back.map(|dir| format!("Shell cwd was reset to {}", dir.display())));
        lines.join("\n")
    }

    /// A command that goes on in the background.
    fn running(&self, shell: &Shell, out: &ShellOut, id: u32, pid: u32, room: usize) -> String {
        let mut text = match (shell.background, shell.time_limit) {
            (false, Some(limit)) => format!(
                "The command still ran after {} and goes on in the background with ID: {}.",
                time(limit),
                task_id(id)
            ),
            _ => format!(
                "The command runs in the background with ID: {}.",
                task_id(id)
            ),
        };
        if let Some(file) = &out.output.file {
            let _ = write!(
                text,
                " Its output goes to: {}\nRead that file to see how it stands.",
                file.display()
            );
        } else if self.has("TaskOutput") {
            text.push_str(" TaskOutput shows its output.");
        }
        text.push_str(" You are told when it ends.");
        if !self.has("TaskStop") && pid > 0 {
            let _ = write!(text, " `kill -- -{pid}` ends it.");
        }
        let printed = self.output(out, text.len() + 30, room);
        if !printed.is_empty() {
            let _ = write!(text, "\nOutput so far:\n{printed}");
        }
        text
    }

    /// The output without blank lines around it, within the limits of the original and of the
    /// session, beside `around` bytes of other text.
    fn output(&self, out: &ShellOut, around: usize, room: usize) -> String {
        let text = plain(&out.output.text);
        let text = without_blank_ends(&text);
        let inline = match out.succeeded() {
            true => self.inline,
            false => FAILURE.min(self.inline),
        };
        if text.len() <= inline && text.len() + around <= room {
            return text.to_owned();
        }
        let free = allowance(text.len(), around, room, around + FRAME);
        if out.succeeded() && text.len() > inline && free > PREVIEW.0 + PREVIEW.1 + FRAME {
            return persisted(out, text);
        }
        let cut = cut(
            text,
            Limit {
                bytes: inline.min(free),
                lines: usize::MAX,
                head_percent: 50,
            },
        );
        cut.join(&format!(
            "... [{} bytes left out. {}] ...",
            cut.omitted_bytes,
            whereabouts(out)
        ))
    }

    /// How a background command stands, and what it printed.
    pub(super) fn task(&self, id: u32, waited: bool, out: &ShellOut, room: usize) -> String {
        let (retrieval, status) = match out.status {
            ShellStatus::Running { .. } if waited => ("timeout", "running"),
            ShellStatus::Running { .. } => ("not_ready", "running"),
            ShellStatus::Exited(0) => ("success", "completed"),
            ShellStatus::Exited(_) => ("success", "failed"),
            ShellStatus::Signaled(_) | ShellStatus::TimedOut => ("success", "killed"),
        };
        let mut text = format!(
            "<retrieval_status>{retrieval}</retrieval_status>\n\n<task_id>{}</task_id>\n\n<task_type>local_bash</task_type>\n\n<status>{status}</status>\n\n<output>\n",
            task_id(id)
        );
        if let Some(line) = code_line(out) {
            text.push_str(&line);
            text.push('\n');
        }
        let around = text.len() + "\n</output>".len();
        text.push_str(&self.output(out, around, room));
        text.push_str("\n</output>");
        text
    }
}

/// A time limit: `120 s`, or `500 ms`.
fn time(limit: Duration) -> String {
    match (limit.as_secs(), limit.subsec_millis()) {
        (seconds, 0) => format!("{seconds} s"),
        _ => format!("{} ms", limit.as_millis()),
    }
}

/// `Exit code 2`, where it is not 0.
fn code_line(out: &ShellOut) -> Option<String> {
    exit_code(out.status)
        .filter(|code| *code != 0)
        .map(|code| format!("Exit code {code}"))
}

/// The end of a background command that the model asked for.
pub(super) fn stopped(id: u32, out: &ShellOut) -> String {
    let id = task_id(id);
    serde_json::json!({
        "message": format!("Stopped {id}: {}", out.command),
        "task_id": id,
        "task_type": "local_bash",
        "command": out.command,
    })
    .to_string()
}

/// An output that is too large to be shown: where it is, its beginning, and its end, where test
/// runners tell what they found.
fn persisted(out: &ShellOut, text: &str) -> String {
    let size = format!("{:.1}KB", out.output.bytes as f64 / 1024.0);
    let place = match &out.output.file {
        Some(file) => format!("Whole output saved to: {}", file.display()),
        None => whereabouts(out),
    };
    let start = head(text, PREVIEW.0);
    let start = start.rfind('\n').map_or(start, |at| &start[..at]);
    let rest = &text[start.len()..];
    let end = cut(
        rest.trim_start_matches('\n'),
        Limit {
            bytes: PREVIEW.1,
            lines: usize::MAX,
            head_percent: 0,
        },
    );
    format!(
        "<persisted-output>\nOutput too large ({size}). {place}\n\nPreview (first 2KB):\n{start}\n...\n{}The end of it:\n{}\n</persisted-output>",
        end.errors_block(),
        end.tail
    )
}

/// The text without blank lines at both ends. The indentation of its first line stays.
fn without_blank_ends(text: &str) -> &str {
    let text = text.trim_end();
    let first = text.len() - text.trim_start().len();
    let line = text[..first].rfind('\n').map_or(0, |at| at + 1);
    &text[line..]
}

/// True for an exit code 1 that only says that nothing was found, or that things differ.
pub(super) fn is_answer(outcome: &Outcome) -> bool {
    let Outcome::Shell(out) = outcome else {
        return false;
    };
    if out.status != ShellStatus::Exited(1) {
        return false;
    }
    let last = last_command(&out.command);
    let mut words = last
        .split_whitespace()
        .skip_while(|word| word.contains('=') && !word.starts_with('['));
    let program = words.next().unwrap_or_default();
    let program = program.rsplit('/').next().unwrap_or_default();
    ANSWERS.contains(&program)
        || program == "git" && words.next().is_some_and(|word| GIT_ANSWERS.contains(&word))
}

/// The last command of a line, whose exit code is that of the line.
fn last_command(line: &str) -> &str {
    let line = line.trim();
    let mut start = 0;
    let mut quote = None;
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        match quote {
            Some(open) => {
                if c == open && before != '\\' {
                    quote = None;
                }
            }
            None => match c {
                '\'' | '"' if before != '\\' => quote = Some(c),
                '|' | ';' | '\n' if before != '\\' => start = at + 1,
                // `2>&1` is no end of a command.
                '&' if before == '&' => start = at + 1,
                _ => {}
            },
        }
        before = c;
    }
    line[start..].trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_command_decides() {
        for (line, last) in [
            ("grep x f", "grep x f"),
            ("cd a && grep 'b | c; d' f 2>&1", "grep 'b | c; d' f 2>&1"),
            ("make || diff a b", "diff a b"),
            ("cat f | grep \"a|b\"", "grep \"a|b\""),
            (r"grep a\|b f", r"grep a\|b f"),
            ("ls\ntest -f x", "test -f x"),
        ] {
            assert_eq!(last_command(line), last);
        }
    }

    #[test]
    fn blank_ends_go_and_indentation_stays() {
        assert_eq!(without_blank_ends("\n \n  a\n b \n\n"), "  a\n b");
        assert_eq!(without_blank_ends(" \n"), "");
        assert_eq!(without_blank_ends("  a"), "  a");
    }
}
