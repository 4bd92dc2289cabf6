//! Golden layouts of `qwen-code`: what the original sends.

mod calls;
mod opening;
mod results;

use super::opening::Notation;
use super::*;
use crate::harnesses::tests::{call, calls_return, context, instructions, read, tell};
use crate::harnesses::{Instructions, Size};
use crate::tools::action::{AskedQuestion, DelegateOut, Glob, Grep, Outcome, Read, Unique};
use serde_json::json;

fn told(call: ToolCall, outcome: Outcome) -> String {
    tell(&QwenCode, call, outcome).0
}

fn run(arguments: serde_json::Value) -> ToolCall {
    call("run_shell_command", arguments)
}

fn edit() -> ToolCall {
    let arguments = json!({"file_path": "a.py", "old_string": "x", "new_string": "y"});
    call("edit", arguments)
}

fn question() -> ToolCall {
    call(
        "ask_user_question",
        json!({"questions": [{"question": "Which one?", "header": "Database",
            "options": [{"label": "SQLite", "description": "a file"},
                {"label": "Postgres", "description": "a server"}], "multiSelect": true}]}),
    )
}
