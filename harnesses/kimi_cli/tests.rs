//! Golden layouts of `kimi-cli`: what the original sends.

mod calls;
mod opening;
mod results;

use super::*;
use crate::harnesses::Size;
use crate::harnesses::format::kimi::tests::{changed, read_out};
use crate::harnesses::tests::{
    call, calls_return, context, instructions, long_shell_out, read, shell_out, tell, tell_action,
};
use crate::model::ToolResult;
use crate::tools::action::{
    ChangeKind, CountOut, DelegateOut, FoundOut, GrepLine, GrepOut, JobOut, OnTimeout, Outcome,
    Output, PlanStep, ShellOut, ShellStatus, StepStatus, ToolError,
};
use std::path::PathBuf;

/// The parts of a result.
fn parts(name: &str, arguments: Value, outcome: Outcome) -> Vec<String> {
    let call = call(name, arguments);
    let done = Done {
        result: Ok((KimiCli.action(&call).expect("a good call"), outcome)),
        call: Some(call),
        notes: Vec::new(),
    };
    let Item::ToolResult(ToolResult { content, .. }) = KimiCli.result(&done, 30_000) else {
        panic!("not a result")
    };
    let texts = content.iter().filter_map(|part| part.as_text());
    texts.map(str::to_owned).collect()
}

fn told(name: &str, arguments: Value, outcome: Outcome) -> String {
    tell(&KimiCli, call(name, arguments), outcome).0
}

fn make() -> Value {
    json!({"command": "make"})
}

fn edit() -> Value {
    json!({"path": "a.py", "edit": {"old": "x", "new": "y"}})
}

fn running(output: &str) -> Outcome {
    Outcome::Shell(ShellOut {
        job: None,
        command: "serve".into(),
        dir: "/w".into(),
        output: Output {
            text: output.into(),
            bytes: output.len() as u64,
            file: None,
        },
        status: ShellStatus::Running { id: 2, pid: 77 },
        wall: Duration::ZERO,
        fence: None,
    })
}
