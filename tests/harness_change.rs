//! Another harness in the middle of a session: the same conversation, told in other calls.

mod support;

use open_interpreter::harnesses::{self, Harness};
use open_interpreter::tools::action::{Action, Shell};
use serde_json::Value;
use std::time::Duration;
use support::script::*;
use support::{Agent, Run, WIRES, harnesses, strict, takes_two};

fn harness(id: &str) -> &'static dyn Harness {
    harnesses::by_id(id).expect("a known harness")
}

fn resume<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let line = ["exec", "--skip-git-repo-check", "resume", "--last"];
    line.iter().chain(more).copied().collect()
}

/// The names of the tools that a request offers.
fn offered(body: &Value) -> Vec<String> {
    strict::tools(body).into_iter().map(|(n, _)| n).collect()
}

/// The names of the calls in a conversation, in their order, on whichever wire.
fn called(body: &Value) -> Vec<String> {
    let name = |v: &Value| v["name"].as_str().map(str::to_owned);
    let list = [&body["messages"], &body["input"]];
    let mut out = Vec::new();
    for message in list.iter().filter_map(|l| l.as_array()).flatten() {
        if message["type"] == "function_call" {
            out.extend(name(message));
        }
        let calls = message["tool_calls"].as_array().into_iter().flatten();
        out.extend(calls.filter_map(|call| name(&call["function"])));
        let blocks = message["content"].as_array().into_iter().flatten();
        out.extend(blocks.filter(|b| b["type"] == "tool_use").filter_map(name));
    }
    out
}

/// A first turn in one harness, with every kind of step, and what its requests came to.
fn begun(from: &str, to: &str, wire: &str) -> Run {
    let both = |step: Step, other: Step| match takes_two(from) {
        true => step.and(other),
        false => step,
    };
    let steps = script![
        read("a.txt")
            .with_reasoning("let me see")
            .with_text("Looking."),
        edit("a.txt", "one", "two"),
        both(run("echo first-output"), run("echo second-output")),
        finish(from, "It is done."),
        run("echo third-output").with_text("Again."),
        finish(to, "Done in another way."),
        run("echo fourth-output"),
        finish(to, "Done once more."),
    ];
    Agent::new()
        .harness(from)
        .wire(wire)
        .file("AGENTS.md", "Always be kind.\n")
        .file("a.txt", "one\n")
        .model(steps)
        .run("the word of the task is albatross")
        .expect_exit(0)
        .expect_requests(4)
        .expect_file("a.txt", "two\n")
}

/// Goes on in another harness, then once more without saying which.
fn changed(from: &str, to: &str, wire: &str) {
    let label = format!("{from} to {to} on {wire}");
    // The server is as strict as real ones: a call without its result, or in another order, ends
    // the run.
    let run = begun(from, to, wire)
        .again(&resume(&["--harness", to]), Some("now the word is pelican"))
        .expect_exit(0)
        .expect_stdout("Done in another way.\n")
        .expect_stderr(&format!("the harness is {to} now"))
        .expect_requests(6)
        .again(&resume(&[]), Some("and now it is heron"))
        .expect_exit(0)
        .expect_stdout("Done once more.\n")
        .expect_requests(8);
    assert!(
        !run.stderr.contains("the harness is"),
        "{label}: {}",
        run.stderr
    );
    let requests = run.server.requests();
    let fresh = Agent::new()
        .harness(to)
        .wire(wire)
        .model(script![finish(to, "ok")])
        .run("hi");
    let fresh = &fresh.server.requests()[0].body;
    for (at, request) in requests.iter().enumerate().skip(4) {
        let body = &request.body;
        assert_eq!(offered(body), offered(fresh), "{label}, request {at}");
        let strange: Vec<_> = called(body)
            .into_iter()
            .filter(|name| !offered(body).contains(name))
            .collect();
        assert!(
            strange.is_empty(),
            "{label}, request {at} has calls of {strange:?}"
        );
        let text = strict::all_text(body);
        let mut words = vec!["albatross", "pelican", "Looking.", "first-output"];
        words.extend(["It is done.", "Always be kind."]);
        for word in words {
            assert!(text.contains(word), "{label}, request {at}: no {word}");
        }
        // Said once: what frames the words in one harness does not go along into the next.
        for word in ["is albatross", "Always be kind."] {
            assert_eq!(text.matches(word).count(), 1, "{label}, request {at}");
        }
    }
    // From the change on the prompt only grows, over the second resume too.
    for pair in requests[4..].windows(2) {
        let old = strict::parts(&pair[0].path, &pair[0].body);
        let new = strict::parts(&pair[1].path, &pair[1].body);
        let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
        assert_eq!(same, old.len(), "{label}: part {same} changed");
        assert!(new.len() > old.len(), "{label}: nothing was added");
    }
    // A command stands in the new calls, where they can say it; else it is told.
    let shell = Action::Shell(Shell::new("echo first-output", Duration::from_secs(20)));
    let (Some((old, _)), false) = (harness(from).write(&shell), harness(from).reads_text()) else {
        return;
    };
    let first = &requests[4].body;
    let told = strict::all_text(first);
    let told = told.contains(&format!("[I called {old} with"));
    match harness(to).write(&shell) {
        Some((new, _)) if !harness(to).reads_text() => {
            let calls = called(first);
            let count = calls.iter().filter(|name| *name == new).count();
            let made = if takes_two(from) { 2 } else { 1 };
            assert!(count >= made && !told, "{label}: {calls:?}");
        }
        // Two commands of one reply are too many for a harness that takes one.
        _ => assert_eq!(told, takes_two(from), "{label}"),
    }
}

#[test]
fn any_harness_goes_on_in_any_other() {
    // Each wire has its turn with each harness.
    std::thread::scope(|threads| {
        for (a, from) in harnesses().enumerate() {
            threads.spawn(move || {
                for (b, to) in harnesses().enumerate().filter(|(b, _)| *b != a) {
                    changed(from, to, WIRES[(a + b) % WIRES.len()]);
                }
            });
        }
    });
}

#[test]
fn a_change_holds_on_every_wire() {
    for (from, to) in [("qwen-code", "native"), ("native", "minimal")] {
        for wire in WIRES {
            changed(from, to, wire);
        }
    }
}

/// `--size` of a resumed session is another prompt for the same conversation, and said.
#[test]
fn a_resumed_session_takes_another_size() {
    let run = Agent::new()
        .harness("qwen-code")
        .model(script![
            run("echo first-output"),
            say("one"),
            say("two"),
            say("three")
        ])
        .run("the word is albatross")
        .expect_exit(0);
    let run = run
        .again(&resume(&["--size", "tiny"]), Some("and?"))
        .expect_exit(0)
        .expect_stderr("the size of the harness is tiny now");
    let requests = run.server.requests();
    let prompt = |at: usize| offered(&requests[at].body).len();
    assert!(prompt(2) < prompt(0), "{} {}", prompt(2), prompt(0));
    let text = strict::all_text(&requests[2].body);
    assert!(
        text.contains("albatross") && text.contains("first-output"),
        "{text}"
    );
    // It is kept, and said no more.
    let run = run.again(&resume(&[]), Some("and?")).expect_exit(0);
    assert!(
        !run.stderr.contains("the size of the harness"),
        "{}",
        run.stderr
    );
    assert_eq!(offered(&run.server.requests()[3].body).len(), prompt(2));
}
