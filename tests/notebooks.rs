//! Cells of Jupyter notebooks, changed by the tool of `claude-code` that its search finds.
#![cfg(unix)]

mod support;

use serde_json::{Value, json};
use support::Agent;
use support::script::*;

const NOTEBOOK: &str = r##"{
 "cells": [
  {
   "cell_type": "code",
   "execution_count": 1,
   "id": "sum",
   "metadata": {},
   "outputs": [],
   "source": [
    "1 + 1"
   ]
  }
 ],
 "metadata": {},
 "nbformat": 4,
 "nbformat_minor": 5
}
"##;

fn agent() -> Agent {
    Agent::new()
        .harness("claude-code")
        .config("harness_guidance = false\n")
        .file("a.ipynb", NOTEBOOK)
}

fn edit(arguments: Value) -> Step {
    let mut call_arguments = json!({"notebook_path": "a.ipynb", "new_source": "2 + 2\n3"});
    for (key, value) in arguments.as_object().expect("an object") {
        call_arguments[key] = value.clone();
    }
    call("NotebookEdit", call_arguments)
}

fn look() -> Step {
    call("Read", json!({"file_path": "a.ipynb"}))
}

#[test]
fn a_cell_is_changed_after_the_tool_was_found() {
    let run = agent()
        .model(script![
            call("ToolSearch", json!({"query": "notebook cell"})),
            look(),
            edit(json!({"cell_id": "sum"})),
            say("Done."),
        ])
        .run("Let it be 2 + 2.")
        .expect_exit(0);
    assert!(run.request_text(2).contains("NotebookEdit"));
    let shown = run.request_text(3);
    assert!(
        shown.contains("<cell id=\"sum\" type=\"code\">\n1 + 1\n</cell>"),
        "{shown}"
    );
    let changed = NOTEBOOK
        .replace("\"1 + 1\"", "\"2 + 2\\n\",\n    \"3\"")
        .replace("\"execution_count\": 1", "\"execution_count\": null");
    run.expect_file("a.ipynb", &changed);
}

/// Like any change: only what was read, only where may be written, and never while only looking.
#[test]
fn a_cell_is_changed_like_any_file() {
    let run = agent()
        .model(script![edit(json!({"cell_id": "sum"})), say("Done.")])
        .run("Let it be 2 + 2.")
        .expect_exit(0)
        .expect_file("a.ipynb", NOTEBOOK);
    assert!(run.request_text(2).contains("not been read"));
    let run = agent()
        .file("../home/b.ipynb", NOTEBOOK)
        .model(script![
            call("Read", json!({"file_path": "../home/b.ipynb"})),
            edit(json!({"notebook_path": "../home/b.ipynb", "cell_id": "sum"})),
            say("Done."),
        ])
        .run("Let it be 2 + 2.")
        .expect_exit(0)
        .expect_file("../home/b.ipynb", NOTEBOOK);
    assert!(!run.request_text(3).contains("was updated"));
    agent()
        .args(["--sandbox", "read-only"])
        .model(script![
            look(),
            edit(json!({"cell_id": "sum"})),
            say("Done.")
        ])
        .run("Let it be 2 + 2.")
        .expect_exit(0)
        .expect_file("a.ipynb", NOTEBOOK);
}
