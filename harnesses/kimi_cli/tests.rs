//! Golden layouts of `kimi-cli`: what the original sends.

mod calls;
mod opening;
mod results;

use super::*;
use crate::harnesses::Size;

use crate::harnesses::tests::{call, calls_return, context, instructions, read};
use crate::model::ToolResult;
use crate::tools::action::{CountOut, FoundOut, GrepLine, GrepOut, Ignored, OnTimeout, Outcome};
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

fn make() -> Value {
    json!({"command": "make"})
}

fn edit() -> Value {
    json!({"path": "a.py", "edit": {"old": "x", "new": "y"}})
}
