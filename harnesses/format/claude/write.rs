//! The inverse of the calls: from an action to the call that asks for it.

use super::calls::{MATCHES, TIMEOUT, WAIT};
use super::{Family, SkillList, agents, task_id};
use crate::harnesses::format::edit::SNAKE;
use crate::harnesses::format::{skills, surface};
use crate::tools::action::{
    Action, AskedQuestion, CellKind, CellMode, Glob, Grep, GrepWant, PlanStep, Read, Shell,
};
use serde_json::{Value, json};
use std::time::Duration;

impl Family {
    /// The name and arguments of the call that asks for this; `None`: this agent has no such tool.
    pub fn write(&self, action: &Action) -> Option<(&'static str, Value)> {
        let (name, arguments) = self.call(action)?;
        surface::has(self.tools, name).then_some((name, arguments))
    }

    fn call(&self, action: &Action) -> Option<(&'static str, Value)> {
        Some(match action {
            Action::Read(read) if !read.from_end => ("Read", self.read_call(read)),
            Action::ViewImage { path } => ("Read", json!({"file_path": path})),
            Action::Write {
                path,
                content,
                rule,
            } if !rule.append => ("Write", json!({"file_path": path, "content": content})),
            Action::Edit { .. } => ("Edit", SNAKE.write(action)?),
            Action::Glob(Glob { pattern, path, .. }) => {
                let mut call = json!({"pattern": pattern});
                put(&mut call, "path", path.clone());
                ("Glob", call)
            }
            Action::Grep(query) => ("Grep", grep(query)),
            Action::Shell(shell) => ("Bash", bash(shell)),
            Action::ShellWait {
                id: Some(id), wait, ..
            } => {
                let wait = millis(*wait);
                let timeout = if wait == 0 { WAIT.0 } else { wait };
                (
                    "TaskOutput",
                    json!({"task_id": task_id(*id), "block": wait > 0, "timeout": timeout}),
                )
            }
            Action::ShellStop { id } => ("TaskStop", json!({"task_id": task_id(*id)})),
            Action::Plan { steps, .. } => (
                "TodoWrite",
                todos(steps, |step| ("activeForm", step.text.as_str())),
            ),
            Action::PlanRead => ("TodoRead", json!({})),
            Action::Mode { planning: true, .. } => ("EnterPlanMode", json!({})),
            Action::Mode { plan, .. } => ("ExitPlanMode", json!({"plan": plan})),
            Action::Ask { questions } => (
                "AskUserQuestion",
                json!({"questions": questions.iter().map(question).collect::<Vec<_>>()}),
            ),
            Action::EditCell(edit) => {
                let mut call = json!({"notebook_path": edit.path, "new_source": edit.source});
                put(&mut call, "cell_id", edit.cell.as_deref());
                put(&mut call, "cell_type", edit.kind.map(cell_kind));
                put(&mut call, "edit_mode", cell_mode(edit.mode));
                ("NotebookEdit", call)
            }
            Action::Delegate(part) => self.written_agent(part),
            Action::Agents { agents, want } => return agents::written(agents, *want),
            Action::FindTools { query, .. } => ("ToolSearch", json!({ "query": query })),
            Action::Skill { name, args } if self.skills != SkillList::WithFiles => {
                ("Skill", skills::written("skill", name, args.as_deref()))
            }
            Action::Fetch(fetch) => {
                let mut call = json!({"url": fetch.url, "prompt": "What it says."});
                put(&mut call, "offset", (fetch.skip > 0).then_some(fetch.skip));
                ("WebFetch", call)
            }
            _ => return None,
        })
    }

    fn read_call(&self, read: &Read) -> Value {
        let mut call = json!({"file_path": read.path});
        put(&mut call, "offset", (read.first > 1).then_some(read.first));
        put(
            &mut call,
            "limit",
            read.lines.filter(|_| read.lines != self.lines),
        );
        call
    }
}

/// Arguments of a call that sets these steps; `more` is what an item has beside text and status.
pub fn todos<'a>(
    steps: &'a [PlanStep],
    more: impl Fn(&'a PlanStep) -> (&'static str, &'a str),
) -> Value {
    let todos: Vec<Value> = steps
        .iter()
        .map(|step| {
            let (key, value) = more(step);
            json!({"content": step.text, "status": step.status.name(), key: value})
        })
        .collect();
    json!({ "todos": todos })
}

fn cell_kind(kind: CellKind) -> &'static str {
    match kind {
        CellKind::Code => "code",
        CellKind::Markdown => "markdown",
    }
}

/// How a cell is changed, where it is not the usual way.
fn cell_mode(mode: CellMode) -> Option<&'static str> {
    match mode {
        CellMode::Replace => None,
        CellMode::Insert => Some("insert"),
        CellMode::Delete => Some("delete"),
    }
}

/// Adds an argument that is there.
fn put(call: &mut Value, key: &str, value: Option<impl Into<Value>>) {
    if let (Some(map), Some(value)) = (call.as_object_mut(), value) {
        map.insert(key.to_owned(), value.into());
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn bash(shell: &Shell) -> Value {
    let command = match &shell.dir {
        // The folder of such a call is its own; that of these agents is kept between calls.
        Some(dir) => format!("(cd '{}' && {})", dir.replace('\'', r"'\''"), shell.command),
        None => shell.command.clone(),
    };
    let mut call = json!({"command": command});
    let limit = shell.time_limit.map(|limit| millis(limit).min(TIMEOUT.1));
    put(&mut call, "timeout", limit.filter(|ms| *ms != TIMEOUT.0));
    if let Some(wish) = &shell.escalate {
        put(&mut call, "description", wish.justification.clone());
    }
    put(
        &mut call,
        "run_in_background",
        shell.background.then_some(true),
    );
    let outside = shell.escalate.is_some().then_some(true);
    put(&mut call, "dangerouslyDisableSandbox", outside);
    call
}

fn grep(query: &Grep) -> Value {
    let mut call = json!({"pattern": query.pattern});
    put(&mut call, "path", query.path.clone());
    put(&mut call, "glob", query.include.clone());
    let mode = match query.want {
        GrepWant::Lines => Some("content"),
        GrepWant::Counts => Some("count"),
        GrepWant::Files => None,
    };
    put(&mut call, "output_mode", mode);
    let (before, after) = query.context;
    put(&mut call, "-B", (before > 0).then_some(before));
    put(&mut call, "-A", (after > 0).then_some(after));
    put(&mut call, "-i", query.ignore_case.then_some(true));
    put(&mut call, "type", query.file_type.clone());
    let limit = match query.limit {
        limit if limit == MATCHES.0 => None,
        limit if limit >= MATCHES.1 => Some(0),
        limit => Some(limit),
    };
    put(&mut call, "head_limit", limit);
    put(&mut call, "offset", (query.skip > 0).then_some(query.skip));
    put(&mut call, "multiline", query.multiline.then_some(true));
    call
}

fn question(asked: &AskedQuestion) -> Value {
    let options: Vec<Value> = asked
        .options
        .iter()
        .map(|(label, meaning)| json!({"label": label, "description": meaning}))
        .collect();
    json!({"question": asked.question, "header": asked.header, "options": options, "multiSelect": asked.several})
}
