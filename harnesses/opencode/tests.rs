//! Golden layouts of `opencode`; the facts are those of `opencode.md` and `opencode.json`.

mod calls;
mod opening;
mod results;

use super::*;
use crate::harnesses::Size;
use crate::harnesses::tests::{call, calls_return, context, instructions, read, tell};
use crate::tools::action::{Entry, ListOut, Outcome, ReadOut, StepStatus, Unique};
use serde_json::json;

const GPT: &str = "gpt-5.5";

fn told(call: ToolCall, outcome: Outcome) -> String {
    tell(&Opencode, call, outcome).0
}

fn edit() -> ToolCall {
    let arguments = json!({"filePath": "a.py", "oldString": "x", "newString": "y"});
    call("edit", arguments)
}

fn file() -> ToolCall {
    call("read", json!({"filePath": "a.py"}))
}

fn bash() -> ToolCall {
    call("bash", json!({"command": "make"}))
}

fn out() -> ReadOut {
    ReadOut {
        path: "/w/a.py".into(),
        text: "x\n\ty\n".into(),
        first: 9,
        lines: 2,
        total: 30,
        cut: false,
        repeated: false,
    }
}
