//! From an action to the call that asks for it.

use super::{INTERRUPT, POLL, YIELD, agents};
use crate::harnesses::format::args::{always, milliseconds, object, unless};
use crate::harnesses::format::ask;
use crate::tools::action::{
    Action, AskedQuestion, OnTimeout, PatchForm, PlanStep, Shell, ShellKind,
};
use serde_json::Value;
use std::time::Duration;

/// The call of an action; `None`: this surface has none.
pub fn call(action: &Action) -> Option<(&'static str, Value)> {
    let written = match action {
        Action::Shell(shell) if !shell.background => ("exec_command", self::shell(shell)),
        Action::ShellInput { id, chars, wait } => {
            let usual = if chars.is_empty() { POLL.0 } else { YIELD.0 };
            let arguments = object([
                ("chars", unless(String::new(), chars.clone())),
                ("session_id", always(*id)),
                ("yield_time_ms", unless(usual, milliseconds(*wait))),
            ]);
            ("write_stdin", arguments)
        }
        Action::ShellWait {
            id: Some(id), wait, ..
        } => {
            let arguments = object([
                ("session_id", always(*id)),
                ("yield_time_ms", unless(POLL.0, milliseconds(*wait))),
            ]);
            ("write_stdin", arguments)
        }
        Action::ShellStop { id } => {
            let arguments = object([("chars", always(INTERRUPT)), ("session_id", always(*id))]);
            ("write_stdin", arguments)
        }
        Action::Plan { steps, explanation } => {
            let arguments = object([
                ("explanation", explanation.as_deref().map(Value::from)),
                ("plan", Some(steps.iter().map(step).collect())),
            ]);
            ("update_plan", arguments)
        }
        Action::Ask { questions } => {
            let questions = questions.iter().enumerate().map(question).collect();
            (
                "request_user_input",
                object([("questions", Some(questions))]),
            )
        }
        Action::Patch {
            text,
            form: PatchForm::Codex,
            dir: None,
        } => ("apply_patch", object([("input", always(text.as_str()))])),
        Action::Delegate(part) => agents::delegate(part),
        Action::Agents { agents, want } => return agents::see(agents, *want),
        Action::ViewImage { path } => ("view_image", object([("path", always(path.as_str()))])),
        _ => return None,
    };
    Some(written)
}

fn shell(shell: &Shell) -> Value {
    let mut arguments = vec![
        ("cmd", always(shell.command.as_str())),
        ("workdir", shell.dir.as_deref().map(Value::from)),
    ];
    // Only a command of this surface goes on after its time; those of others have a limit and a
    // shell that it has no words for.
    if shell.on_timeout == OnTimeout::Background {
        let (program, login) = match &shell.shell {
            ShellKind::Named { program, login } => (Some(program.as_str()), *login),
            ShellKind::User { login } => (None, *login),
            ShellKind::Sh => (Some("/bin/sh"), false),
        };
        let wait = shell.time_limit.unwrap_or(Duration::from_millis(YIELD.0));
        arguments.extend([
            ("shell", program.map(Value::from)),
            ("login", unless(true, login)),
            ("tty", unless(false, shell.stdin)),
            ("yield_time_ms", unless(YIELD.0, milliseconds(wait))),
        ]);
    }
    if let Some(escalate) = &shell.escalate {
        arguments.extend([
            ("sandbox_permissions", always("require_escalated")),
            (
                "justification",
                escalate.justification.as_deref().map(Value::from),
            ),
            ("prefix_rule", unless(Vec::new(), escalate.prefix.clone())),
        ]);
    }
    object(arguments)
}

fn step(step: &PlanStep) -> Value {
    object([
        ("status", always(step.status.name())),
        ("step", always(step.text.as_str())),
    ])
}

fn question((at, asked): (usize, &AskedQuestion)) -> Value {
    let id = asked
        .id
        .clone()
        .unwrap_or_else(|| format!("question_{}", at + 1));
    object([
        ("header", always(asked.header.as_str())),
        ("id", always(id)),
        ("options", Some(ask::options(asked))),
        ("question", always(asked.question.as_str())),
    ])
}
