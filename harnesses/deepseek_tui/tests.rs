//! Golden layouts of `deepseek-tui`: what the original sends. Facts: deepseek-tui.md.

mod calls;
mod opening;
mod results;

use super::*;
use crate::harnesses::tests::{
    call, calls_return, context, instructions, long_shell_out, read, reply, shell_out, tell,
};
use crate::harnesses::{CallError, Size};
use crate::tools::action::{
    ChangeKind, Entry, FileChange, FoundOut, Grep, GrepLine, GrepOut, JobOut, ListOut, PatchForm,
    Read, ReadOut, ShellStatus, StepStatus, ToolError, Unique,
};
use serde_json::json;
use std::time::Duration;

fn facts() -> Value {
    serde_json::from_str(include_str!(
        "../../tests/fixtures/harness-facts/deepseek-tui.json"
    ))
    .expect("the fixture is JSON")
}

fn action(name: &str, arguments: Value) -> Action {
    read(&DeepseekTui, call(name, arguments)).expect("a good call")
}

fn told(name: &str, arguments: Value, outcome: Outcome) -> String {
    tell(&DeepseekTui, call(name, arguments), outcome).0
}

fn run() -> ToolCall {
    call("exec_shell", json!({"command": "make"}))
}

fn change() -> FileChange {
    FileChange {
        path: "/w/a.py".into(),
        shown: "a.py".into(),
        kind: ChangeKind::Update,
        moved_to: None,
        before: Some("x\ny\n".into()),
        after: Some("x\nz\n".into()),
        places: 1,
        lines: Some((2, 2)),
        matched_by: None,
    }
}

const DIFF: &str = "--- a/w/a.py\n+++ b/w/a.py\n@@ -1,2 +1,2 @@\n x\n-y\n+z\n";
