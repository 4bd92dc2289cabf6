//! From an action to a call: the inverse of `calls`.

use super::calls::{ANSWER, AROUND, GLOB, MATCHES, READ_LINES, TIMEOUT, WAIT};
use super::{agents, pages, plan, task_id};
use crate::harnesses::format::args::{always, milliseconds, object, unless};
use crate::harnesses::format::ask;
use crate::harnesses::format::skills;
use crate::tools::action::{Action, Glob, Grep, GrepWant, Shell};
use serde_json::{Value, json};
use std::time::Duration;

/// The call that asks for this; `None` when no tool does.
pub fn call(action: &Action) -> Option<(&'static str, Value)> {
    Some(match action {
        Action::Read(read) if !read.from_end => (
            "read_file",
            object([
                ("path", always(read.path.as_str())),
                ("start_line", unless(1, read.first)),
                (
                    "max_lines",
                    read.lines.and_then(|lines| unless(READ_LINES.0, lines)),
                ),
            ]),
        ),
        Action::Write {
            path,
            content,
            rule,
        } if !rule.append => ("write_file", json!({"path": path, "content": content})),
        Action::Edit { path, edits, .. } => match edits.as_slice() {
            [edit] => (
                "edit_file",
                json!({"path": path, "search": edit.old, "replace": edit.new}),
            ),
            _ => return None,
        },
        Action::Patch {
            text, dir: None, ..
        } => ("apply_patch", json!({"patch": text})),
        Action::List { path, .. } => ("list_dir", object([("path", unless(".", path.as_str()))])),
        Action::Glob(Glob { pattern, path, .. }) => (
            "file_search",
            object([
                ("query", query(pattern)),
                ("path", path.clone().map(Value::from)),
            ]),
        ),
        Action::Grep(grep) => ("grep_files", search(grep)?),
        Action::Shell(shell) => ("exec_shell", command(shell)),
        Action::ShellInput { id, chars, wait } => (
            "exec_shell_interact",
            object([
                ("task_id", always(task_id(*id))),
                ("input", unless("\u{4}", chars.as_str())),
                ("timeout_ms", unless(ANSWER, milliseconds(*wait))),
                ("close_stdin", (chars == "\u{4}").then(|| true.into())),
            ]),
        ),
        Action::ShellWait {
            id: Some(id), wait, ..
        } => (
            "exec_shell_wait",
            object([
                ("task_id", always(task_id(*id))),
                (
                    "timeout_ms",
                    unless(WAIT, milliseconds(*wait)).filter(|_| *wait > Duration::ZERO),
                ),
                ("wait", (*wait == Duration::ZERO).then(|| false.into())),
            ]),
        ),
        Action::Delegate(part) => agents::delegate(part),
        Action::Agents { agents, want } => return agents::see(agents, *want),
        Action::ShellList => ("exec_shell_cancel", json!({"all": true})),
        Action::ShellStop { id } => ("exec_shell_cancel", json!({"task_id": task_id(*id)})),
        Action::Plan { steps, explanation } => plan::write(steps, explanation.as_deref()),
        Action::Fetch(fetch) => ("fetch_url", pages::write(fetch)),
        Action::PlanRead => ("checklist_list", json!({})),
        Action::Ask { questions } => {
            let list: Vec<Value> = questions
                .iter()
                .enumerate()
                .map(|(at, asked)| {
                    json!({
                        "header": asked.header,
                        "id": asked.id.clone().unwrap_or_else(|| format!("question_{}", at + 1)),
                        "question": asked.question,
                        "options": ask::options(asked),
                    })
                })
                .collect();
            ("request_user_input", json!({"questions": list}))
        }
        Action::FindTools { query, .. } => ("tool_search_tool_bm25", json!({ "query": query })),
        Action::Skill { name, .. } => ("load_skill", skills::written("name", name, None)),
        _ => return None,
    })
}

/// The part of a name in the middle of a pattern, or the pattern itself.
fn query(pattern: &str) -> Option<Value> {
    let part = pattern
        .strip_prefix("**/*")
        .and_then(|rest| rest.strip_suffix('*'))
        .filter(|part| !part.is_empty() && !part.contains(GLOB));
    always(part.unwrap_or(pattern))
}

fn search(grep: &Grep) -> Option<Value> {
    if grep.want != GrepWant::Lines || grep.multiline || grep.file_type.is_some() {
        return None;
    }
    let include = grep.include.as_ref().map(|globs| {
        let inner = globs
            .strip_prefix('{')
            .and_then(|rest| rest.strip_suffix('}'));
        match inner.filter(|inner| !inner.contains('{')) {
            Some(inner) => inner.split(',').collect::<Value>(),
            None => json!([globs]),
        }
    });
    Some(object([
        ("pattern", always(grep.pattern.as_str())),
        ("path", grep.path.clone().map(Value::from)),
        ("include", include),
        ("context_lines", unless(AROUND, grep.context.0)),
        ("case_insensitive", unless(false, grep.ignore_case)),
        ("max_results", unless(MATCHES, grep.limit)),
    ]))
}

fn command(shell: &Shell) -> Value {
    let limit = shell.time_limit.map(milliseconds);
    object([
        ("command", always(shell.command.as_str())),
        ("timeout_ms", limit.and_then(|ms| unless(TIMEOUT.0, ms))),
        ("background", unless(false, shell.background)),
        ("cwd", shell.dir.clone().map(Value::from)),
    ])
}
