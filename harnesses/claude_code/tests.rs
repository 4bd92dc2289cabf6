//! Golden layouts of `claude-code`, and what the whole family shares: what the original sends, by
//! tests/fixtures/harness-facts/claude-code.json and the notes on it.

mod calls;
mod opening;
mod results;

use super::*;
use crate::harnesses::tests::{
    call, context, instructions, long_shell_out, read, reply, shell_out, tell, tell_action,
};
use crate::harnesses::{Input, Size};
use crate::tools::action::{
    AskedQuestion, Base, ChangeKind, Delegate, Escalation, Fetch, FileChange, Glob, Grep, GrepWant,
    Ignored, Outcome, Output, Pass, PlanStep, Read, Replace, Shell, ShellOut, ShellStatus,
    StepStatus, Unique, WriteRule,
};
use serde_json::json;
use std::time::Duration;

fn told(call: ToolCall, outcome: Outcome) -> String {
    tell(&ClaudeCode, call, outcome).0
}

fn bash(arguments: Value) -> ToolCall {
    call("Bash", arguments)
}

fn make() -> ToolCall {
    bash(json!({"command": "make"}))
}

fn person() -> Context {
    Context {
        interactive: true,
        ..context(Size::Full)
    }
}

pub fn change(kind: ChangeKind) -> FileChange {
    FileChange {
        path: "/w/a.py".into(),
        shown: "a.py".into(),
        kind,
        moved_to: None,
        before: None,
        after: Some("y\n".into()),
        places: 1,
        lines: Some((1, 1)),
        matched_by: None,
    }
}

fn running(output: &str, file: Option<&str>) -> Outcome {
    Outcome::Shell(ShellOut {
        job: None,
        command: "serve".into(),
        dir: "/w".into(),
        output: Output {
            text: output.into(),
            bytes: output.len() as u64,
            file: file.map(Into::into),
        },
        status: ShellStatus::Running { id: 2, pid: 77 },
        wall: Duration::ZERO,
        fence: None,
        back_in: None,
    })
}

fn todos(status: &str) -> ToolCall {
    let todo = json!({"content": "Look", "status": status, "activeForm": "Looking"});
    call("TodoWrite", json!({"todos": [todo]}))
}

/// One action for each tool of the family, as its calls ask for it.
pub fn actions() -> Vec<Action> {
    let shell = Shell {
        on_timeout: OnTimeout::Background,
        cwd_persists: true,
        cwd_inside: true,
        may_read: true,
        ..Shell::new("make", Duration::from_secs(300))
    };
    let edit = |unique| Action::Edit {
        path: "a".into(),
        edits: vec![Replace {
            old: "x".into(),
            new: "y".into(),
        }],
        base: Base::Original,
        unique,
        passes: Pass::ALL.to_vec(),
        read_first: true,
        may_create: true,
    };
    vec![
        Action::Read(Read {
            first: 7,
            ..Read::new("a", Some(20), 75_000)
        }),
        Action::ViewImage {
            path: "a.png".into(),
        },
        Action::Write {
            path: "a".into(),
            content: "x".into(),
            rule: WriteRule {
                read_first: true,
                ..WriteRule::default()
            },
        },
        edit(Unique::Require),
        edit(Unique::All),
        Action::Fetch(Fetch::new("https://example.org/a", Duration::from_secs(60))),
        Action::Glob(Glob {
            path: Some("src".into()),
            ignored: Ignored::IfNothingElse,
            ..Glob::new("*.py", 100)
        }),
        Action::Grep(Grep {
            want: GrepWant::Files,
            ..Grep::new("x", 250)
        }),
        Action::Grep(Grep {
            path: Some("src".into()),
            include: Some("*.py".into()),
            file_type: Some("py".into()),
            ignore_case: true,
            multiline: true,
            context: (1, 2),
            skip: 3,
            ..Grep::new("x", 20_000)
        }),
        Action::Grep(Grep {
            want: GrepWant::Counts,
            ..Grep::new("x", 9)
        }),
        Action::Shell(shell.clone()),
        Action::Shell(Shell {
            escalate: Some(Escalation {
                justification: Some("May I?".into()),
                prefix: Vec::new(),
            }),
            ..shell.clone()
        }),
        Action::Shell(Shell {
            time_limit: None,
            background: true,
            cwd_persists: false,
            cwd_inside: false,
            may_read: false,
            ..shell
        }),
        Action::ShellWait {
            id: Some(2),
            wait: Duration::from_secs(5),
            all: true,
        },
        Action::ShellWait {
            id: Some(2),
            wait: Duration::ZERO,
            all: true,
        },
        Action::ShellStop { id: 2 },
        Action::Plan {
            steps: vec![PlanStep {
                text: "Look".into(),
                status: StepStatus::InProgress,
                id: None,
            }],
            explanation: None,
        },
        Action::Mode {
            planning: true,
            plan: String::new(),
        },
        Action::Mode {
            planning: false,
            plan: "Do it.".into(),
        },
        Action::Ask {
            questions: vec![AskedQuestion {
                id: None,
                header: "Which".into(),
                question: "A or B?".into(),
                options: vec![("A".into(), "a".into()), ("B".into(), "b".into())],
                several: false,
            }],
        },
        Action::Delegate(Delegate {
            role: "Explore".into(),
            title: "find it".into(),
            prompt: "Find x.".into(),
            read_only: true,
            ..Delegate::default()
        }),
    ]
}
