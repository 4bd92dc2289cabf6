//! Actions and what came of them, as an editor shows a tool call.

#[cfg(test)]
mod tests;
mod text;

use crate::agent::approval::{resolve, touched};
use crate::cli::render::phrases::{duration, gist};
use crate::model::Part;
use crate::tools::action::{
    Action, AgentState, FileChange, GrepLine, GrepWant, JobOut, Outcome, PlanStep, Replace,
    ShellOut, ShellStatus,
};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use text::{list, shown, words_raw};

pub use text::{fenced, words};

/// The most bytes of a file in a comparison; a larger one is shown as its changed lines only.
const COMPARED: usize = 1 << 20;
/// The most places of one call that an editor is led to.
const PLACES: usize = 20;

/// True for an action that an editor shows as a call. A plan has a form of its own.
pub fn is_shown(action: &Action) -> bool {
    !matches!(
        action,
        Action::Plan { .. } | Action::PlanRead | Action::Finish { .. }
    )
}

/// The sort of a call, in the words of the protocol.
pub fn kind(action: &Action) -> &'static str {
    match action {
        Action::Read(_) | Action::ViewImage { .. } => "read",
        Action::Write { .. }
        | Action::Edit { .. }
        | Action::Insert { .. }
        | Action::EditCell(_)
        | Action::Patch { .. }
        | Action::UndoEdit { .. } => "edit",
        Action::Skill { .. } => "read",
        Action::List { .. } | Action::Glob(_) | Action::Grep(_) => "search",
        Action::Shell(_)
        | Action::ShellInput { .. }
        | Action::ShellWait { .. }
        | Action::ShellList
        | Action::ShellStop { .. } => "execute",
        Action::Fetch(_) => "fetch",
        Action::Mode { .. } => "switch_mode",
        Action::Delegate(_) | Action::Agents { .. } => "think",
        Action::FindTools { .. } => "search",
        Action::Mcp(_)
        | Action::Ask { .. }
        | Action::Plan { .. }
        | Action::PlanRead
        | Action::Finish { .. } => "other",
    }
}

/// What a call is called: the command itself, or the deed and what it is about.
pub fn title(action: &Action) -> String {
    let about = gist(action);
    let word = match action {
        Action::Mode {
            planning: false, ..
        } => return "Carry out the plan".into(),
        Action::Mcp(call) => return format!("{}/{}", call.server, call.tool),
        Action::Shell(_) | Action::Mode { .. } | Action::Ask { .. } => return about,
        Action::Read(_) => "Read",
        Action::Write { .. } => "Write",
        Action::Edit { .. } | Action::Insert { .. } | Action::EditCell(_) => "Edit",
        Action::Patch { .. } => "Patch",
        Action::UndoEdit { .. } => "Take back the last edit of",
        Action::List { .. } => "List",
        Action::Glob(_) => "Find files",
        Action::Grep(grep) if grep.want == GrepWant::Files => "Find files with",
        Action::Grep(_) => "Search for",
        Action::ShellInput { .. } => "Write to",
        Action::ShellWait { .. } => "Wait for",
        Action::ShellList => "List",
        Action::ShellStop { .. } => "Stop",
        Action::Fetch(_) => "Fetch",
        Action::Delegate(_) => "Agent",
        Action::Agents { .. } => "Agents",
        Action::Skill { .. } => "Skill",
        Action::FindTools { .. } => "Find tools for",
        Action::ViewImage { .. } => "Look at",
        Action::Plan { .. } | Action::PlanRead => "Plan",
        Action::Finish { .. } => "Finish",
    };
    format!("{word} {about}").trim_end().to_owned()
}

/// The files that a call is about, absolute, with the line where it begins.
pub fn locations(action: &Action, cwd: &Path) -> Vec<Value> {
    let place = |path: &str, line: Option<usize>| {
        let mut place = json!({"path": absolute(path, cwd)});
        if let Some(line) = line {
            place["line"] = json!(line);
        }
        place
    };
    match action {
        Action::Read(read) => {
            let line = Some(read.first).filter(|n| *n > 1 && !read.from_end);
            vec![place(&read.path, line)]
        }
        Action::Insert { path, after, .. } => vec![place(path, Some(after + 1))],
        Action::ViewImage { path } | Action::List { path, .. } => vec![place(path, None)],
        other => {
            let paths = touched(other, cwd);
            let paths = paths.iter().take(PLACES);
            paths
                .map(|path| json!({"path": path.to_string_lossy()}))
                .collect()
        }
    }
}

/// What a call would do, for who is asked: the change in the whole file as it is now, the command,
/// the plan.
pub fn preview(action: &Action, cwd: &Path) -> Vec<Value> {
    match action {
        Action::Write { path, content, .. } => {
            let path = absolute(path, cwd);
            vec![diff(&path, old_text(&path).as_deref(), content)]
        }
        Action::Edit { path, edits, .. } => {
            let path = absolute(path, cwd);
            let whole = old_text(&path).and_then(|old| Some((edited(&old, edits)?, old)));
            match whole {
                Some((new, old)) => vec![diff(&path, Some(&old), &new)],
                None => foreseen(action, cwd),
            }
        }
        _ => foreseen(action, cwd),
    }
}

/// A text after replacements; nothing unless each stands there once, since a tool may match more
/// loosely.
fn edited(old: &str, edits: &[Replace]) -> Option<String> {
    let mut new = old.to_owned();
    for edit in edits {
        if edit.old.is_empty() || new.matches(&edit.old).count() != 1 {
            return None;
        }
        new = new.replacen(&edit.old, &edit.new, 1);
    }
    Some(new)
}

/// The same from the call alone, whatever the file is now.
pub fn foreseen(action: &Action, cwd: &Path) -> Vec<Value> {
    match action {
        Action::Write { path, content, .. } => vec![diff(&absolute(path, cwd), None, content)],
        Action::Edit { path, edits, .. } => {
            let path = absolute(path, cwd);
            let part = |edit: &Replace| diff(&path, Some(&edit.old), &edit.new);
            edits.iter().map(part).collect()
        }
        Action::EditCell(edit) => vec![diff(&absolute(&edit.path, cwd), Some(""), &edit.source)],
        Action::Insert { path, text, .. } => vec![diff(&absolute(path, cwd), Some(""), text)],
        Action::Patch { text, .. } => vec![fenced("diff", text)],
        Action::Shell(shell) => vec![fenced("sh", &shell.command)],
        Action::Mode { plan, .. } if !plan.is_empty() => vec![words(plan)],
        Action::Delegate(part) => vec![words(&part.prompt)],
        _ => Vec::new(),
    }
}

/// How a call ended, what is shown of it, and where it led.
pub struct Ended {
    /// `completed` or `failed`.
    pub status: &'static str,
    /// What is shown; `None` leaves what is there.
    pub content: Option<Vec<Value>>,
    /// The files; `None` leaves what is there.
    pub locations: Option<Vec<Value>>,
    /// The same for programs.
    pub raw: Option<Value>,
}

/// What came of a call.
pub fn ended(outcome: &Outcome) -> Ended {
    let mut end = Ended {
        status: if outcome.is_error() {
            "failed"
        } else {
            "completed"
        },
        content: None,
        locations: None,
        raw: None,
    };
    match outcome {
        Outcome::Changed(changes) => {
            end.content = Some(changes.iter().map(changed).collect());
            end.locations = Some(changes.iter().take(PLACES).map(changed_place).collect());
        }
        Outcome::Shell(out) => {
            end.content = Some(vec![ran(out)]);
            end.raw =
                Some(json!({"exitCode": code(out.status), "output": shown(&out.output.text)}));
        }
        Outcome::Skill(out) => end.content = Some(vec![fenced("", &out.text)]),
        Outcome::Mcp(out) => {
            let text = crate::model::join_text(&out.parts);
            end.content = Some(vec![fenced("", &text)]);
            end.raw = out.structured.clone();
        }
        Outcome::ToolsFound(text) => end.content = Some(vec![fenced("", text)]),
        Outcome::Read(out) => end.content = Some(vec![fenced("", &out.text)]),
        Outcome::Cells(out) => end.content = Some(vec![fenced("", &out.text())]),
        Outcome::Fetched(page) => {
            end.content = Some(vec![match &page.redirect {
                Some(to) => words(&format!("It leads to {to}")),
                None => fenced("", &page.output.text),
            }]);
        }
        Outcome::Listed(out) => {
            let names = out.entries.iter().map(|e| match e.is_dir {
                true => format!("{}/", e.name),
                false => e.name.clone(),
            });
            end.content = Some(vec![list(names)]);
        }
        Outcome::Found(out) => {
            end.content = Some(vec![list(
                out.paths.iter().map(|p| shown_path(p, &out.root)),
            )]);
        }
        Outcome::Matches(out) => {
            let line = |l: &GrepLine| {
                format!(
                    "{}:{}: {}",
                    shown_path(&l.path, &out.root),
                    l.number,
                    l.text
                )
            };
            end.content = Some(vec![list(out.lines.iter().map(line))]);
            let places = out.lines.iter().filter(|l| l.is_match).take(PLACES);
            let place = |l: &GrepLine| json!({"path": l.path.to_string_lossy(), "line": l.number});
            end.locations = Some(places.map(place).collect());
        }
        Outcome::Counted(out) => {
            let line =
                |(path, n): &(PathBuf, usize)| format!("{}: {n}", shown_path(path, &out.root));
            end.content = Some(vec![list(out.files.iter().map(line))]);
        }
        Outcome::Jobs(jobs) => {
            let line = |j: &JobOut| format!("{}  {}  {}", j.id, duration(j.age), j.command);
            end.content = Some(vec![list(jobs.iter().map(line))]);
        }
        Outcome::Delegated(out) => {
            end.content = Some(vec![words(out.failure.as_deref().unwrap_or(&out.text))]);
            if out.failure.is_some() {
                end.status = "failed";
            }
        }
        Outcome::Agents(agents) => {
            let answers = agents.iter().filter_map(|agent| match &agent.state {
                AgentState::Done(out) => Some(out.failure.as_deref().unwrap_or(&out.text)),
                AgentState::Waiting | AgentState::Closed => None,
            });
            end.content = Some(answers.map(words).collect());
        }
        Outcome::Answered(answers) => {
            let lines = answers.iter().map(|a| a.join(", "));
            end.content = Some(vec![words(&lines.collect::<Vec<_>>().join("\n"))]);
        }
        Outcome::Image {
            part: Part::Image { media_type, data },
            ..
        } => {
            end.content = Some(vec![
                json!({"type": "content", "content": {"type": "image", "mimeType": media_type, "data": data}}),
            ]);
        }
        Outcome::Failed(why) => end.content = Some(vec![words(&why.to_string())]),
        Outcome::Refused { reason } => end.content = Some(vec![words(reason)]),
        Outcome::Skipped(why) => end.content = Some(vec![words(why)]),
        Outcome::Interrupted => end.content = Some(vec![words("stopped")]),
        Outcome::Image { .. }
        | Outcome::Planned
        | Outcome::Plan(_)
        | Outcome::ModeSet
        | Outcome::Finished => {}
    }
    end
}

/// The entries of a plan.
pub fn plan(steps: &[PlanStep]) -> Vec<Value> {
    let entry = |step: &PlanStep| json!({"content": step.text, "priority": "medium", "status": step.status.name()});
    steps.iter().map(entry).collect()
}

fn ran(out: &ShellOut) -> Value {
    let end = match out.status {
        ShellStatus::Exited(0) => String::new(),
        ShellStatus::Exited(code) => format!("exit code {code}"),
        ShellStatus::Signaled(signal) => format!("ended by signal {signal}"),
        ShellStatus::TimedOut => format!("killed after {}", duration(out.wall)),
        ShellStatus::Running { id, .. } => format!("still runs, as command {id}"),
    };
    let text = out.output.text.trim_end_matches('\n');
    let lines = [text, end.as_str()];
    let lines: Vec<&str> = lines.into_iter().filter(|l| !l.is_empty()).collect();
    match lines.is_empty() {
        true => words_raw("no output"),
        false => fenced("console", &lines.join("\n")),
    }
}

fn code(status: ShellStatus) -> Option<i32> {
    match status {
        ShellStatus::Exited(code) => Some(code),
        ShellStatus::Signaled(signal) => Some(128 + signal),
        ShellStatus::TimedOut => Some(124),
        ShellStatus::Running { .. } => None,
    }
}

fn changed(change: &FileChange) -> Value {
    let path = match &change.moved_to {
        Some((to, _)) => to,
        None => &change.path,
    };
    let path = path.to_string_lossy();
    let (before, after) = (
        change.before.as_deref(),
        change.after.as_deref().unwrap_or(""),
    );
    if before.map_or(0, str::len).max(after.len()) > COMPARED {
        return words(&format!(
            "{path} was changed; it is too large to be compared here"
        ));
    }
    diff(&path, before, after)
}

fn changed_place(change: &FileChange) -> Value {
    let path = match &change.moved_to {
        Some((to, _)) => to,
        None => &change.path,
    };
    match change.lines {
        Some((first, _)) => json!({"path": path.to_string_lossy(), "line": first}),
        None => json!({"path": path.to_string_lossy()}),
    }
}

fn diff(path: &str, old: Option<&str>, new: &str) -> Value {
    json!({"type": "diff", "path": path, "oldText": old, "newText": new})
}

/// What stands in a file now; nothing for one that is not there, no text, or too large.
fn old_text(path: &str) -> Option<String> {
    let about = std::fs::metadata(path).ok()?;
    let small = about.is_file() && about.len() <= COMPARED as u64;
    small.then(|| std::fs::read_to_string(path).ok()).flatten()
}

/// A path of the model, absolute.
fn absolute(path: &str, cwd: &Path) -> String {
    resolve(path, cwd).to_string_lossy().into_owned()
}

fn shown_path(path: &Path, root: &Path) -> String {
    let short = path.strip_prefix(root).ok();
    let short = short.filter(|p| !p.as_os_str().is_empty()).unwrap_or(path);
    short.to_string_lossy().into_owned()
}
