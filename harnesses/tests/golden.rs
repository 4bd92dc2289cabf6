//! Golden layouts: what each tool's results and errors look like, by the recorded facts.
//!
//! `golden.txt` of a harness begins with a line for each tool, `Read: success, missing, …`: the kinds
//! of results that its facts tell of. Then comes a block for each:
//!
//! ```text
//! === Read · success
//! fact: words of one clause of tests/fixtures/harness-facts/ID.md, or of ID.json
//! call: {"file_path": "a.py"}
//! outcome: read
//! size: compact
//! ---
//! the result, made from the fact; `…` stands for words of our own
//! ```
//!
//! The tool `any` is for what holds for all: there the call names its tool first. A call without an
//! outcome is one that is not understood. Without a size it is `full`. A fact that stands in several
//! places is found behind other words: `Errors: [..] identical;`. With `again: yes` a command was
//! run before. A failure is marked as one, and nothing else, unless `error: no` or `error: yes` says
//! otherwise.

use super::outcomes::{outcome, steps};
use super::{context, reply};
use crate::harnesses::*;
use crate::tools::action::Shell;
use std::collections::BTreeSet;
use std::time::Duration;

pub(super) struct Golden {
    pub tool: String,
    pub kind: String,
    pub fact: String,
    call: String,
    outcome: Option<String>,
    size: Size,
    /// A command was run before.
    again: bool,
    /// Marked as a failure or not, other than usual.
    error: Option<bool>,
    told: String,
}

/// The table of a harness, and its blocks.
pub(super) fn goldens(id: &str) -> (Vec<(String, Vec<String>)>, Vec<Golden>) {
    let folder = id.replace('-', "_");
    let root = env!("CARGO_MANIFEST_DIR");
    let path = format!("{root}/harnesses/{folder}/golden.txt");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    let mut blocks = text.split("\n=== ");
    let table = blocks
        .next()
        .unwrap_or_default()
        .lines()
        .filter_map(|line| line.split_once(": "))
        .map(|(tool, kinds)| {
            let kinds = kinds.split(", ").map(str::to_owned).collect();
            (tool.to_owned(), kinds)
        })
        .collect();
    let golden = |block: &str| {
        let (head, told) = block.split_once("\n---\n").expect("a result below ---");
        let mut lines = head.lines();
        let title = lines.next().unwrap_or_default();
        let (tool, kind) = title.split_once(" · ").expect("tool · kind");
        let rows: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once(": ")).collect();
        let row = |key: &str| {
            let found = rows.iter().find(|(k, _)| *k == key);
            found.map(|(_, value)| (*value).to_owned())
        };
        Golden {
            tool: tool.to_owned(),
            kind: kind.to_owned(),
            fact: row("fact").unwrap_or_else(|| panic!("{id} {title}: no fact")),
            call: row("call").unwrap_or_else(|| panic!("{id} {title}: no call")),
            outcome: row("outcome"),
            size: row("size").map_or(Size::Full, |name| Size::from_name(&name).expect("a size")),
            again: row("again").is_some(),
            error: row("error").map(|word| word == "yes"),
            told: told.trim_end().to_owned(),
        }
    };
    (table, blocks.map(golden).collect())
}

/// What the harness answers, and whether that is marked as it should be.
fn told(harness: &dyn Harness, golden: &Golden) -> (String, bool) {
    let cx = Context {
        size: golden.size,
        ..everything(harness.id())
    };
    let mut state = State {
        plan: steps(),
        ..harness.begin(&cx).state
    };
    if golden.again {
        let make = Done {
            call: Some(super::call("bash", Value::Null)),
            result: Ok((
                Action::Shell(Shell::new("make", Duration::ZERO)),
                outcome("ok"),
            )),
            notes: Vec::new(),
        };
        harness.results(&mut state, &[make], 30_000);
    }
    let title = format!("{} {} · {}", harness.id(), golden.tool, golden.kind);
    let (name, arguments) = match golden.tool.as_str() {
        "any" => golden.call.split_once(' ').expect("a name"),
        tool => (tool, golden.call.as_str()),
    };
    let mut call = super::call(name, Value::Null);
    call.arguments = arguments.to_owned();
    let reply = match harness.reads_text() {
        true => reply(
            &serde_json::from_str::<String>(&golden.call).expect("text"),
            vec![],
        ),
        false => reply("The plan.", vec![call.clone()]),
    };
    let read = match harness.read(&state, &reply) {
        Step::Act(mut actions) => actions.pop().expect("one"),
        Step::Requery { show, keep } => {
            return (show.iter().chain(&keep).map(Item::text).collect(), true);
        }
        other => panic!("{title}: {other:?}"),
    };
    let result = match (&golden.outcome, read) {
        (Some(name), Ok(action)) => Ok((action, outcome(name))),
        (None, Err(error)) => Err(error),
        (_, read) => panic!("{title}: {read:?}"),
    };
    let fails = match &result {
        Ok((_, outcome)) => outcome.is_error(),
        Err(_) => true,
    };
    let fails = golden.error.unwrap_or(fails);
    let done = Done {
        call: (!harness.reads_text()).then_some(call),
        result,
        notes: Vec::new(),
    };
    let item = harness.results(&mut state, &[done], 30_000).swap_remove(0);
    match &item {
        Item::ToolResult(result) if matches!(result.content.as_slice(), [Part::Image { .. }]) => {
            ("[picture]".into(), !result.is_error)
        }
        Item::ToolResult(result) => (item.text(), result.is_error == fails),
        item => (item.text(), true),
    }
}

/// True when `text` is `pattern`, in which each `…` stands for some words, or none.
fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('…');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.len() >= last.len() && rest.ends_with(last)
}

#[test]
fn every_result_has_the_layout_of_the_original() {
    let mut wrong = Vec::new();
    for harness in ALL {
        let id = harness.id();
        for golden in &goldens(id).1 {
            let title = format!("{id} {} · {}", golden.tool, golden.kind);
            let (told, is_marked) = told(*harness, golden);
            let told = told.trim_end();
            if !is_marked {
                wrong.push(format!("{title}: wrongly marked as a failure, or as none"));
            }
            if !fits(&golden.told, told) {
                wrong.push(format!(
                    "{title}\n<<< wanted\n{}\n>>> got\n{told}",
                    golden.told
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// A session in which every tool is offered. Some models get a patch tool.
fn everything(id: &str) -> Context {
    let mut cx = Context {
        interactive: true,
        ..context(Size::Full)
    };
    cx.sandbox.network = true;
    cx.skills = vec![Skill {
        name: "pdf".into(),
        description: "Fills forms.".into(),
        path: "/home/ada/x/skills/pdf/SKILL.md".into(),
        scope: crate::project::skills::Scope::User,
        implicit: true,
        enabled: true,
    }];
    if id == "native" {
        cx.model = "gpt-5".into();
    }
    cx
}

/// Each tool on offer is in the table, with its success and the errors that the facts tell of; and
/// for each of these there is a block.
#[test]
fn every_tool_has_a_golden_for_each_kind_of_result() {
    for harness in ALL {
        let id = harness.id();
        let (table, goldens) = goldens(id);
        let mut offered: BTreeSet<String> = BTreeSet::new();
        for model in ["qwen3-coder:30b", "gpt-5"] {
            let cx = Context {
                model: model.into(),
                ..everything(id)
            };
            let start = harness.begin(&cx);
            let tools = start.tools.into_iter().chain(start.deferred);
            offered.extend(tools.map(|tool| tool.name));
        }
        let listed: BTreeSet<String> = table.iter().map(|(tool, _)| tool.clone()).collect();
        for tool in &offered {
            assert!(listed.contains(tool), "{id}: {tool} is not in the table");
        }
        assert!(
            listed.contains("any"),
            "{id}: no row for calls that are not understood"
        );
        for (tool, kinds) in &table {
            let known = offered.contains(tool) || tool == "any" || harness.reads_text();
            assert!(known, "{id} has no {tool}");
            assert!(
                tool == "any" || kinds[0] == "success",
                "{id} {tool}: success comes first"
            );
            for kind in kinds {
                let count = goldens
                    .iter()
                    .filter(|g| g.tool == *tool && g.kind == *kind)
                    .count();
                assert_eq!(count, 1, "{id}: goldens of {tool} · {kind}");
            }
        }
        for golden in &goldens {
            let is_listed = table
                .iter()
                .any(|(tool, kinds)| *tool == golden.tool && kinds.contains(&golden.kind));
            assert!(
                is_listed,
                "{id}: {} · {} is not in the table",
                golden.tool, golden.kind
            );
        }
    }
}

#[test]
fn a_pattern_leaves_room_for_words_only_where_it_says_so() {
    assert!(fits("a: … b", "a: some words b") && fits("a: …b", "a: b"));
    assert!(fits("…", "") && fits("a…", "ab") && fits("a…b…c", "a1b2c"));
    for (pattern, text) in [
        ("a: … b", "a:  c"),
        ("a", "ab"),
        ("a…b…c", "acb"),
        ("a…", "b"),
        ("a…a", "a"),
    ] {
        assert!(!fits(pattern, text), "{pattern} {text}");
    }
}
