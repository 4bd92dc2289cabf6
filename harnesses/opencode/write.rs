//! From an action to the call that asks for it.

use super::{EDIT, EXPLORE, FETCH, GENERAL, READ_LINES, TIMEOUT};
use crate::harnesses::format::args::{always, milliseconds, object, timeout, unless};
use crate::harnesses::format::skills;
use crate::tools::action::{
    Action, Glob, Grep, GrepWant, PageForm, PatchForm, PlanStep, Read, Shell,
};
use serde_json::Value;

/// The call of an action; `None`: this surface has none.
pub fn call(action: &Action) -> Option<(&'static str, Value)> {
    match action {
        Action::Read(read) => self::read(read),
        Action::ViewImage { path } | Action::List { path, .. } => {
            Some(("read", object([("filePath", always(path.as_str()))])))
        }
        Action::Write {
            path,
            content,
            rule,
        } if !rule.append => Some((
            "write",
            object([
                ("content", always(content.as_str())),
                ("filePath", always(path.as_str())),
            ]),
        )),
        Action::Edit { .. } => Some(("edit", EDIT.write(action)?)),
        Action::Patch {
            text,
            form: PatchForm::Codex,
            dir: None,
        } => Some((
            "apply_patch",
            object([("patchText", always(text.as_str()))]),
        )),
        Action::Glob(Glob { pattern, path, .. }) => Some((
            "glob",
            object([
                ("pattern", always(pattern.as_str())),
                ("path", path.as_deref().map(Value::from)),
            ]),
        )),
        Action::Grep(grep) => self::grep(grep),
        Action::Shell(shell) => self::shell(shell),
        Action::Plan { steps, .. } => Some((
            "todowrite",
            object([("todos", Some(steps.iter().map(todo).collect()))]),
        )),
        Action::Skill { name, .. } => Some(("skill", skills::written("name", name, None))),
        Action::Fetch(fetch) => {
            let form = match fetch.form {
                PageForm::Markdown => None,
                PageForm::Text => Some("text"),
                PageForm::Source => Some("html"),
            };
            let arguments = object([
                ("url", always(fetch.url.as_str())),
                ("format", form.map(Value::from)),
                ("timeout", unless(FETCH.0, fetch.limit.as_secs())),
            ]);
            Some(("webfetch", arguments))
        }
        Action::Delegate(part) => {
            let role = match (part.role.as_str(), part.read_only) {
                (GENERAL, _) | (_, false) => GENERAL,
                _ => EXPLORE,
            };
            let arguments = object([
                ("description", always(part.title.as_str())),
                ("prompt", always(part.prompt.as_str())),
                ("subagent_type", always(role)),
                (
                    "task_id",
                    part.agent.as_ref().map(|id| format!("ses_{id}").into()),
                ),
            ]);
            Some(("task", arguments))
        }
        _ => None,
    }
}

fn read(read: &Read) -> Option<(&'static str, Value)> {
    if read.from_end {
        return None;
    }
    let arguments = object([
        ("filePath", always(read.path.as_str())),
        ("offset", unless(1, read.first)),
        (
            "limit",
            read.lines.and_then(|lines| unless(READ_LINES, lines)),
        ),
    ]);
    Some(("read", arguments))
}

/// A search for lines; the expression itself can say that case does not count.
fn grep(grep: &Grep) -> Option<(&'static str, Value)> {
    if grep.want != GrepWant::Lines || grep.multiline || grep.file_type.is_some() {
        return None;
    }
    let case = if grep.ignore_case { "(?i)" } else { "" };
    let arguments = object([
        ("pattern", always(format!("{case}{}", grep.pattern))),
        ("path", grep.path.as_deref().map(Value::from)),
        ("include", grep.include.as_deref().map(Value::from)),
    ]);
    Some(("grep", arguments))
}

fn shell(shell: &Shell) -> Option<(&'static str, Value)> {
    if shell.background {
        return None;
    }
    let arguments = object([
        ("command", always(shell.command.as_str())),
        (
            "timeout",
            timeout(shell).and_then(|limit| unless(milliseconds(TIMEOUT), milliseconds(limit))),
        ),
        ("workdir", shell.dir.as_deref().map(Value::from)),
    ]);
    Some(("bash", arguments))
}

/// The priority is required, and no other agent has one.
fn todo(step: &PlanStep) -> Value {
    object([
        ("content", always(step.text.as_str())),
        ("status", always(step.status.name())),
        ("priority", always("medium")),
    ])
}
