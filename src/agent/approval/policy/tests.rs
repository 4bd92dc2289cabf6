//! The judge, held against the table of policies. What the tests share stands here.

mod changes;
mod commands;
mod git;
mod grants;
mod pages;

use super::*;
use crate::tools::action::{Escalation, PatchForm, Shell, ShellKind, WriteRule};
use std::time::Duration;

const ENFORCED: Strength = Strength::Enforced;

fn judge(approval: Approval, mode: Mode) -> Judge {
    let policy = Policy {
        mode,
        roots: vec!["/tmp/w".into(), "/more".into()],
        network: false,
        slash_tmp: true,
        tmpdir: false,
        own_homes: vec!["/home/me/.openinterpreter".into()],
        readable: Vec::new(),
    };
    Judge::new(approval, policy)
}

fn run(command: &str) -> Action {
    Action::Shell(Shell::new(command, Duration::from_secs(1)))
}

fn escalated(command: &str) -> Action {
    let mut shell = Shell::new(command, Duration::from_secs(1));
    shell.escalate = Some(Escalation {
        justification: Some("May I fetch it?".into()),
        prefix: Vec::new(),
    });
    Action::Shell(shell)
}

fn write(path: &str) -> Action {
    Action::Write {
        path: path.into(),
        content: String::new(),
        rule: WriteRule::default(),
    }
}

fn patch(paths: &[&str]) -> Action {
    let mut text = "*** Begin Patch\n".to_owned();
    for path in paths {
        text.push_str(&format!("*** Delete File: {path}\n"));
    }
    Action::Patch {
        text,
        form: PatchForm::Codex,
        dir: None,
    }
}

fn decide(judge: &Judge, action: &Action) -> Verdict {
    judge.decide(action, &ENFORCED, Path::new("/tmp/w"))
}

/// `ask`, `refuse` or `allow`, with what is lifted.
fn short(verdict: Verdict) -> (&'static str, Lift) {
    match verdict {
        Verdict::Allow(lift) => ("allow", lift),
        Verdict::Ask { lift, reason } => {
            assert!(!reason.is_empty());
            ("ask", lift)
        }
        Verdict::Refuse { reason } => {
            assert!(!reason.is_empty());
            ("refuse", Lift::Nothing)
        }
    }
}
