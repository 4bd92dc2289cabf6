//! Golden layouts of `kimi-code`: what the original sends.

mod calls;
mod opening;
mod results;

use super::*;
use crate::harnesses::format::kimi::tests::{changed, read_out};
use crate::harnesses::tests::{
    call, calls_return, context, instructions, long_shell_out, read, shell_out, tell, tell_action,
};
use crate::harnesses::{Size, tests::reply};
use crate::tools::action::{
    ChangeKind, CountOut, DelegateOut, FoundOut, GrepLine, GrepOut, JobOut, Outcome, Output,
    PatchForm, PlanStep, ShellOut, ShellStatus, StepStatus, ToolError, Unique,
};
use std::path::PathBuf;

const ERROR: &str = "<system>ERROR: Tool execution failed.</system>\n";

fn told(name: &str, arguments: Value, outcome: Outcome) -> String {
    tell(&KimiCode, call(name, arguments), outcome).0
}

fn failed(name: &str, arguments: Value, error: ToolError) -> String {
    let (text, is_error) = tell(&KimiCode, call(name, arguments), Outcome::Failed(error));
    assert!(is_error);
    text.strip_prefix(ERROR).expect("the mark of errors").into()
}

fn path() -> String {
    "a.py".into()
}

fn edit() -> Value {
    json!({"path": "a.py", "old_string": "x", "new_string": "y"})
}

fn make() -> Value {
    json!({"command": "make"})
}

fn running(output: &str) -> Outcome {
    Outcome::Shell(ShellOut {
        job: None,
        command: "serve".into(),
        dir: "/w".into(),
        output: Output {
            text: output.into(),
            bytes: output.len() as u64,
            file: Some("/o/2.txt".into()),
        },
        status: ShellStatus::Running { id: 2, pid: 77 },
        wall: Duration::from_millis(1500),
        fence: None,
    })
}

fn found(paths: &[&str], total: usize) -> Outcome {
    Outcome::Found(FoundOut {
        root: "/w".into(),
        paths: paths.iter().map(PathBuf::from).collect(),
        total,
    })
}

fn step(text: &str, status: StepStatus) -> PlanStep {
    PlanStep {
        text: text.into(),
        status,
        id: None,
    }
}
