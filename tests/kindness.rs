//! Where every harness is kinder than its original, on purpose: relative paths, another indentation,
//! the lines of an ambiguous text, and what is right in place of an unknown tool or a bad argument.

mod support;

use open_interpreter::harnesses::{self, Harness};
use open_interpreter::tools::action::{Action, Base, Pass, Read, Replace, Unique};
use serde_json::json;
use support::Agent;
use support::script::*;

const DEEP: &str = "def total(items):\n    if items:\n        a = 1\n        return a\n";
const TWICE: &str = "def one():\n    return 1\n\n\ndef two():\n    return 1\n";

fn harness(id: &str) -> &'static dyn Harness {
    harnesses::by_id(id).expect("a known harness")
}

fn agent(id: &str) -> Agent {
    Agent::new()
        .harness(id)
        .config("harness_guidance = false\n")
        .file("src/deep.py", DEEP)
        .file("src/twice.py", TWICE)
}

/// Those with a tool that replaces text, and with what follows from their own rule for several places.
fn editing() -> impl Iterator<Item = (&'static str, Unique)> {
    support::with_tools().filter_map(|id| match edit_of(id, "a", "b") {
        Some(Action::Edit { unique, .. }) => Some((id, unique)),
        _ => None,
    })
}

/// The harness's own call for a replacement, as it reads it back.
fn edit_of(id: &str, old: &str, new: &str) -> Option<Action> {
    let (name, arguments) = harness(id).write(&replacement("src/deep.py", old, new))?;
    let call = open_interpreter::model::ToolCall {
        id: "call_1".into(),
        name: name.into(),
        arguments: arguments.to_string(),
        kind: Default::default(),
        recovered: false,
    };
    harness(id).action(&call).ok()
}

fn replacement(path: &str, old: &str, new: &str) -> Action {
    Action::Edit {
        path: path.into(),
        edits: vec![Replace {
            old: old.into(),
            new: new.into(),
        }],
        base: Base::Evolving,
        unique: Unique::Require,
        passes: Pass::ALL.to_vec(),
        read_first: false,
        may_create: false,
    }
}

/// A call of this harness for an action.
fn written(id: &str, action: &Action) -> Step {
    let (name, arguments) = harness(id).write(action).expect("a tool for it");
    call(name, arguments)
}

fn look(id: &str, path: &str) -> Step {
    match harness(id).write(&Action::Read(Read::new(path, None, 20_000))) {
        Some((name, arguments)) => call(name, arguments),
        None => run(&format!("cat {path}")),
    }
}

#[test]
fn a_text_under_another_indentation_is_found_and_fitted() {
    let mut tried = 0;
    for (id, _) in editing() {
        tried += 1;
        let edit = replacement(
            "src/deep.py",
            "    a = 1\n    return a",
            "    a = 2\n    return a",
        );
        agent(id)
            .model(script![
                look(id, "src/deep.py"),
                written(id, &edit),
                finish(id, "ok")
            ])
            .run("Let a be 2.")
            .expect_exit(0)
            .expect_file("src/deep.py", &DEEP.replace("a = 1", "a = 2"));
    }
    assert!(tried >= 8, "only {tried} harnesses edit");
}

#[test]
fn every_place_of_an_ambiguous_text_is_named_with_its_line() {
    for (id, unique) in editing().filter(|(_, unique)| *unique == Unique::Require) {
        let edit = replacement("src/twice.py", "    return 1", "    return 2");
        let told = agent(id)
            .model(script![
                look(id, "src/twice.py"),
                written(id, &edit),
                finish(id, "ok")
            ])
            .run("Return 2.")
            .expect_exit(0)
            .expect_file("src/twice.py", TWICE)
            .request_text(3);
        let told = &told[told.rfind("return 2").unwrap_or_default()..];
        assert!(told.contains("2, 6"), "{id} {unique:?}: {told}");
    }
}

#[test]
fn a_wrong_call_is_answered_with_what_is_right() {
    for id in support::with_tools() {
        let (name, arguments) = match harness(id).write(&Action::Read(Read::new("a", None, 9))) {
            Some((name, arguments)) => (name.to_owned(), arguments),
            None => support::shell(id, "ls"),
        };
        let required = arguments
            .as_object()
            .and_then(|map| map.keys().next().cloned());
        let required = required.expect("an argument");
        let run = agent(id)
            .model(script![
                call("levitate", json!({"height": 3})),
                call(&name, json!({"colour": "green"})),
                finish(id, "ok")
            ])
            .run("Do it.")
            .expect_exit(0);
        let unknown = run.request_text(2);
        assert!(
            unknown.contains("levitate") && unknown.matches(name.as_str()).count() > 0,
            "{id}: {unknown}"
        );
        let bad = run.request_text(3);
        assert!(bad.contains(&required), "{id}: {required} in {bad}");
    }
}

/// Facts of claude-code: `cat` of one file is a read of it; a command that ends outside leads back.
#[test]
fn commands_of_claude_code_read_files_and_come_back() {
    for harness in ["claude-code", "claude-code-bare"] {
        let bash = |command: &str| call("Bash", json!({"command": command}));
        let edit = json!({"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2"});
        let run = Agent::new()
            .harness(harness)
            .config("harness_guidance = false\n")
            .file("a.py", "x = 1\n")
            .model(script![
                bash("cat a.py"),
                bash("cd /usr"),
                call("Edit", edit),
                say("Done."),
            ])
            .run("Let x be 2.")
            .expect_exit(0)
            .expect_file("a.py", "x = 2\n");
        let told = run.request_text(3);
        let back = format!("Shell cwd was reset to {}", run.workspace().display());
        assert!(told.contains(&back), "{harness}: {told}");
    }
}

/// A relative path is one from the session's folder, also where the original wants absolute ones.
#[test]
fn relative_paths_resolve() {
    for id in support::with_tools() {
        let told = agent(id)
            .model(script![look(id, "src/deep.py"), finish(id, "ok")])
            .run("Read it.")
            .expect_exit(0)
            .request_text(2);
        assert!(told.contains("def total(items)"), "{id}: {told}");
    }
}
