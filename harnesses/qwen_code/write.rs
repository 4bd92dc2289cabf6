//! From an action to the call that asks for it.

use super::{MATCHES, READ_LINES, TIMEOUT, agents, pages, task_id};
use crate::harnesses::format::args::{always, milliseconds, object, timeout, unless};
use crate::harnesses::format::ask;
use crate::harnesses::format::edit::SNAKE;
use crate::harnesses::format::skills;
use crate::tools::action::{Action, AskedQuestion, Glob, Grep, GrepWant, PlanStep, Shell};
use serde_json::Value;

/// The call of an action; `None`: this surface has none.
pub fn call(action: &Action) -> Option<(&'static str, Value)> {
    let written = match action {
        Action::Read(read) if !read.from_end => {
            let arguments = object([
                ("file_path", always(read.path.as_str())),
                ("offset", unless(0, read.first.saturating_sub(1))),
                (
                    "limit",
                    read.lines.and_then(|lines| unless(READ_LINES, lines)),
                ),
            ]);
            ("read_file", arguments)
        }
        Action::List {
            path,
            ignore,
            respect_ignore,
            ..
        } => {
            let all = object([("respect_git_ignore", always(false))]);
            let arguments = object([
                ("path", always(path.as_str())),
                ("ignore", unless(Vec::new(), ignore.clone())),
                ("file_filtering_options", (!respect_ignore).then_some(all)),
            ]);
            ("list_directory", arguments)
        }
        Action::Glob(Glob { pattern, path, .. }) => {
            let arguments = object([
                ("pattern", always(pattern.as_str())),
                ("path", path.as_deref().map(Value::from)),
            ]);
            ("glob", arguments)
        }
        Action::Grep(grep) => ("grep_search", self::grep(grep)?),
        Action::Edit { .. } => ("edit", SNAKE.write(action)?),
        Action::Write {
            path,
            content,
            rule,
        } if !rule.append => {
            let arguments = object([
                ("file_path", always(path.as_str())),
                ("content", always(content.as_str())),
            ]);
            ("write_file", arguments)
        }
        Action::Shell(shell) => ("run_shell_command", self::shell(shell)),
        Action::ShellStop { id } => ("task_stop", object([("task_id", always(task_id(*id)))])),
        Action::Plan { steps, .. } => {
            let todos = steps.iter().enumerate().map(todo).collect();
            ("todo_write", object([("todos", Some(todos))]))
        }
        Action::Mode {
            planning: false,
            plan,
        } => ("exit_plan_mode", object([("plan", always(plan.as_str()))])),
        Action::Ask { questions } => {
            let questions = questions.iter().map(question).collect();
            (
                "ask_user_question",
                object([("questions", Some(questions))]),
            )
        }
        Action::Skill { name, .. } => ("skill", skills::written("skill", name, None)),
        Action::Fetch(fetch) => ("web_fetch", pages::write(fetch)),
        Action::Delegate(part) => agents::write(part),
        Action::Agents { agents, want } => return agents::write_stop(agents, *want),
        _ => return None,
    };
    Some(written)
}

/// A search for lines. Case does not count in this one, unless the expression says that it does.
fn grep(grep: &Grep) -> Option<Value> {
    if grep.want != GrepWant::Lines || grep.multiline || grep.file_type.is_some() {
        return None;
    }
    let case = if grep.ignore_case { "" } else { "(?-i)" };
    Some(object([
        ("pattern", always(format!("{case}{}", grep.pattern))),
        ("glob", grep.include.as_deref().map(Value::from)),
        ("path", grep.path.as_deref().map(Value::from)),
        ("limit", unless(MATCHES, grep.limit)),
    ]))
}

fn shell(shell: &Shell) -> Value {
    object([
        ("command", always(shell.command.as_str())),
        ("is_background", unless(false, shell.background)),
        (
            "timeout",
            timeout(shell).and_then(|limit| unless(TIMEOUT.0, milliseconds(limit))),
        ),
        ("directory", shell.dir.as_deref().map(Value::from)),
    ])
}

fn todo((at, step): (usize, &PlanStep)) -> Value {
    let id = step.id.clone().unwrap_or_else(|| (at + 1).to_string());
    object([
        ("content", always(step.text.as_str())),
        ("status", always(step.status.name())),
        ("id", always(id)),
    ])
}

fn question(asked: &AskedQuestion) -> Value {
    object([
        ("question", always(asked.question.as_str())),
        ("header", always(asked.header.as_str())),
        ("options", Some(ask::options(asked))),
        ("multiSelect", unless(false, asked.several)),
    ])
}
