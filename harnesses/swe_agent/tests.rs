//! Golden layouts of `swe-agent`: what the original sends.

mod calls;
mod opening;
mod results;

use super::*;
use crate::harnesses::tests::{
    call, context, instructions, long_shell_out, read, reply, shell_out, tell,
};
use crate::tools::action::{
    ChangeKind, Entry, FileChange, ListOut, Read, ReadOut, Replace, ShellStatus, ToolError, Unique,
    WriteRule,
};

fn facts() -> Value {
    serde_json::from_str(include_str!(
        "../../tests/fixtures/harness-facts/swe-agent.json"
    ))
    .expect("the fixture is JSON")
}

fn bash(command: &str) -> ToolCall {
    call("bash", json!({"command": command}))
}

fn submit() -> ToolCall {
    call("submit", json!({}))
}

fn edit(arguments: Value) -> ToolCall {
    call("str_replace_editor", arguments)
}

fn view() -> ToolCall {
    edit(json!({"command": "view", "path": "a.py"}))
}

/// The state of a session of that size after its first message, in a git work tree.
fn state(size: Size) -> State {
    let mut state = SweAgent.begin(&context(size)).state;
    SweAgent.user(&mut state, &Input::text("Fix it."));
    state
}

/// What a reply is read as, and the items of a requery.
fn shown(state: &State, text: &str, calls: Vec<ToolCall>) -> Option<Vec<Item>> {
    match SweAgent.read(state, &reply(text, calls)) {
        Step::Requery { show, keep } => {
            assert!(keep.is_empty(), "nothing of it stays in the history");
            Some(show)
        }
        _ => None,
    }
}

fn told(state: &mut State, call: ToolCall, action: Action, outcome: Outcome) -> String {
    let done = Done {
        call: Some(call),
        result: Ok((action, outcome)),
        notes: Vec::new(),
    };
    SweAgent.results(state, &[done], 30_000)[0].text()
}
