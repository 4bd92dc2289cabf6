//! Golden layouts of `deepseek-tui`: what the original sends. Facts: deepseek-tui.md.

mod calls;
mod opening;
mod results;

use super::*;
use crate::harnesses::tests::{call, calls_return, context, instructions, read, reply, tell};
use crate::harnesses::{CallError, Size};
use crate::tools::action::{
    Entry, FoundOut, Glob, Grep, GrepLine, GrepOut, ListOut, PatchForm, Read, ReadOut, StepStatus,
    Unique,
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

const DIFF: &str = "--- a/w/a.py\n+++ b/w/a.py\n@@ -1,2 +1,2 @@\n x\n-y\n+z\n";
