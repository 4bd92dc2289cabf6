//! Commands in the background, which these agents call tasks, and what commands print.

use super::results::Told;
use crate::harnesses::CallError;
use crate::harnesses::format::args::Args;
use crate::harnesses::format::cut::Limit;
use crate::harnesses::format::{exit_code, plain, whereabouts};
use crate::tools::action::{JobOut, ShellOut, ShellStatus};
use std::fmt::Write;
use std::path::Path;

/// The most bytes of the output of a command, and of a look at a task. The original has 50,000 for
/// the first; local windows are smaller.
const OUTPUT: usize = 30_000;
const PREVIEW: usize = 32 << 10;
/// What the lines around an output may take.
const FRAME: usize = 600;
/// Where a part was left out.
const CUT: &str = "[...truncated]";

/// The id of a task.
pub fn id(number: u32) -> String {
    format!("bash-{number:08x}")
}

/// The number behind an id.
fn number(id: &str) -> Option<u32> {
    let id = id.trim();
    match id.strip_prefix("bash-") {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => id.parse().ok(),
    }
}

/// The task that a call names; `None`: it names none.
pub fn named(args: &Args) -> Result<Option<u32>, CallError> {
    let Some(id) = args.filled("task_id") else {
        return Ok(None);
    };
    let number = number(&id).ok_or_else(|| {
        args.wrong("\"task_id\" must be an id that an earlier result gave, like bash-00000001")
    })?;
    Ok(Some(number))
}

/// The task that a call must name.
pub fn need(args: &Args) -> Result<u32, CallError> {
    args.need_filled("task_id")?;
    named(args)?.ok_or_else(|| args.wrong("missing \"task_id\""))
}

/// The status of a task in one word.
pub fn status(status: ShellStatus) -> &'static str {
    match status {
        ShellStatus::Running { .. } => "running",
        ShellStatus::Exited(0) => "completed",
        ShellStatus::Signaled(_) => "killed",
        ShellStatus::Exited(_) | ShellStatus::TimedOut => "failed",
    }
}

/// `key: value` lines of the values that are there.
pub fn keys<const N: usize>(rows: [(&str, Option<String>); N]) -> String {
    let lines: Vec<String> = rows
        .into_iter()
        .filter_map(|(key, value)| Some(format!("{key}: {}", value?)))
        .collect();
    lines.join("\n")
}

/// The output of a command, cut to its limit beside `around` further bytes of the answer; and,
/// when it was cut, the whole of it.
pub fn output(out: &ShellOut, around: usize, room: usize) -> (String, bool) {
    limited(out, OUTPUT, 60, around, room)
}

/// The end of the output of a task.
pub fn preview(out: &ShellOut, around: usize, room: usize) -> (String, bool) {
    limited(out, PREVIEW, 0, around, room)
}

fn limited(
    out: &ShellOut,
    most: usize,
    head_percent: usize,
    around: usize,
    room: usize,
) -> (String, bool) {
    let output = plain(&out.output.text);
    let cut = Limit::bytes(most, head_percent).output(&output, around, room, FRAME);
    (cut.join(CUT), cut.split)
}

/// Where the whole of a cut output is.
pub fn saved(out: &ShellOut) -> String {
    let Some(file) = &out.output.file else {
        return whereabouts(out);
    };
    format!(
        "[Full output saved]\noutput_path: {}\noutput_size_bytes: {}\nnext_step: See a part of that file by line number, or search it with Grep.",
        file.display(),
        out.output.bytes
    )
}

/// What went wrong with a command; `None`: nothing.
pub fn failure(out: &ShellOut, limit: Option<std::time::Duration>) -> Option<String> {
    let mut why = match out.status {
        ShellStatus::TimedOut => format!(
            "Command killed by timeout ({}s)",
            limit.map_or(0, |limit| limit.as_secs())
        ),
        status => match exit_code(status) {
            None | Some(0) => return None,
            Some(code) => format!("Command failed with exit code: {code}."),
        },
    };
    if let Some(fence) = &out.fence {
        let _ = write!(why, "\n{fence}");
    }
    Some(why)
}

/// A task with its output, as a look at it or a wait for it shows it. `kind` is the agent's word
/// for a command.
pub fn look(id: Option<u32>, out: &ShellOut, kind: &str, room: usize) -> String {
    let file = out.output.file.as_ref();
    let rows = |cut: bool| {
        keys([
            ("task_id", id.map(self::id)),
            ("kind", Some(kind.to_owned())),
            ("status", Some(status(out.status).to_owned())),
            ("command", Some(out.command.clone())),
            (
                "timed_out",
                (out.status == ShellStatus::TimedOut).then(|| "true".into()),
            ),
            (
                "exit_code",
                exit_code(out.status).map(|code| code.to_string()),
            ),
            ("output_path", file.map(|file| file.display().to_string())),
            ("output_size_bytes", Some(out.output.bytes.to_string())),
            ("output_truncated", Some(cut.to_string())),
        ])
    };
    let (text, cut) = preview(out, rows(false).len() + 20, room);
    let text = match text.as_str() {
        "" => "(nothing yet)",
        text => text,
    };
    format!("{}\n\n[output]\n{text}", rows(cut))
}

/// How a look at a task that was, or was not, waited for turned out.
pub fn retrieval(status: ShellStatus, waited: bool) -> &'static str {
    match (status, waited) {
        (ShellStatus::Running { .. }, true) => "timeout",
        (ShellStatus::Running { .. }, false) => "not_ready",
        _ => "success",
    }
}

/// What was asked of a list of tasks.
pub struct Wanted {
    /// Only those that run.
    pub active: bool,
    /// The most of them.
    pub limit: usize,
}

impl Wanted {
    /// As the call has it.
    pub fn of(args: Option<&Args>) -> Self {
        let limit = args.and_then(|args| args.size("limit"));
        Wanted {
            active: args
                .and_then(|args| args.flag("active_only"))
                .unwrap_or(true),
            limit: limit.unwrap_or(20).min(100),
        }
    }

    /// The title of the list, and the tasks as key lines.
    pub fn list(&self, jobs: &[JobOut], kind: &str) -> (String, Vec<String>) {
        let wanted: Vec<&JobOut> = jobs
            .iter()
            .filter(|job| !self.active || matches!(job.status, ShellStatus::Running { .. }))
            .collect();
        let title = if self.active {
            "active_background_tasks"
        } else {
            "background_tasks"
        };
        let tasks = wanted.iter().take(self.limit).map(|job| {
            let pid = match job.status {
                ShellStatus::Running { pid, .. } if pid > 0 => Some(pid.to_string()),
                _ => None,
            };
            keys([
                ("task_id", Some(id(job.id))),
                ("kind", Some(kind.to_owned())),
                ("status", Some(status(job.status).to_owned())),
                ("command", Some(job.command.clone())),
                ("pid", pid),
                ("age_s", Some(job.age.as_secs().to_string())),
            ])
        });
        (format!("{title}: {}", wanted.len()), tasks.collect())
    }
}

/// A task that was stopped.
pub fn stopped(number: u32, out: &ShellOut, reason: Option<String>) -> Told {
    Told::output(keys([
        ("task_id", Some(id(number))),
        ("status", Some(status(out.status).to_owned())),
        ("command", Some(out.command.clone())),
        ("reason", reason),
    ]))
}

/// The end of a command in the background.
pub struct Ended<'a> {
    /// Its number.
    pub id: u32,
    /// Its command line.
    pub command: &'a str,
    /// Its exit code, if it was not killed.
    pub code: Option<i32>,
    /// Where its whole output is, if it is kept in a file.
    pub file: Option<&'a Path>,
}

impl Ended<'_> {
    /// The status in one word.
    pub fn status(&self) -> &'static str {
        match self.code {
            Some(0) => "completed",
            Some(_) => "failed",
            None => "killed",
        }
    }

    /// The element around `inside`.
    pub fn element(&self, title: &str, severity: &str, inside: &str) -> String {
        let (id, status) = (id(self.id), self.status());
        format!(
            "<notification id=\"task:{id}:{status}\" category=\"task\" type=\"task.{status}\" source_kind=\"background_task\" source_id=\"{id}\">\nTitle: {title}\nSeverity: {severity}\n{inside}\n</notification>"
        )
    }
}
