//! `exec review` and `review`: what is given to the model, what it may do, and what is told.

mod support;

use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;
use support::script::*;
use support::{Agent, harnesses};

/// The answer of a reviewer with one finding in that file.
fn found(title: &str, path: &str) -> String {
    json!({
        "findings": [{"title": title, "body": "It shows at once.", "confidence_score": 0.9, "priority": 1,
            "code_location": {"absolute_file_path": path, "line_range": {"start": 2, "end": 3}}}],
        "overall_correctness": "patch is incorrect",
        "overall_explanation": format!("{title} is there."), "overall_confidence_score": 0.9,
    })
    .to_string()
}

fn git(dir: &Path, args: &[&str]) {
    let out = Command::new("git")
        .args([
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@t",
            "-c",
            "commit.gpgsign=false",
        ])
        .args(args)
        .current_dir(dir)
        .output()
        .expect("git is there");
    assert!(out.status.success(), "{args:?}: {out:?}");
}

/// A workspace whose files are committed.
fn repository(agent: Agent) -> Agent {
    let ws = agent.workspace();
    git(&ws, &["init", "-q", "-b", "main"]);
    git(&ws, &["add", "."]);
    git(&ws, &["commit", "-q", "--allow-empty", "-m", "first"]);
    agent
}

fn start(agent: Agent, line: &[&str]) -> support::Run {
    agent.start(line, None).finish()
}

#[test]
fn the_findings_are_told_in_the_form_of_the_protocol() {
    let agent = Agent::new()
        .file("a.txt", "one\ntwo\n")
        .model(script![run("cat a.txt"), say(&found("A fault", "a.txt"))]);
    let agent = repository(agent)
        .file("a.txt", "one\n2\n")
        .file("new.txt", "fresh\n");
    let root = agent.workspace().canonicalize().expect("a folder");
    let run = start(agent, &["exec", "review", "--uncommitted", "--json"]).expect_exit(0);
    let lines: Vec<Value> = run
        .stdout
        .lines()
        .map(|l| serde_json::from_str(l).expect("JSON"))
        .collect();
    let of = |kind: &str| {
        lines
            .iter()
            .filter(|l| l["item"]["type"] == kind)
            .collect::<Vec<_>>()
    };
    let messages = of("agent_message");
    assert_eq!(messages.len(), 1, "{}", run.stdout);
    assert_eq!(
        messages[0]["item"]["text"],
        format!(
            "A fault is there.\n\nReview comment:\n\n- A fault — {}:2-3\n  It shows at once.",
            root.join("a.txt").display()
        )
    );
    assert_eq!(of("command_execution").len(), 2);
    let kinds: Vec<&str> = lines.iter().filter_map(|l| l["type"].as_str()).collect();
    assert_eq!(kinds[..2], ["thread.started", "turn.started"]);
    assert_eq!(kinds.last(), Some(&"turn.completed"));
    assert_eq!(kinds.iter().filter(|k| **k == "turn.started").count(), 1);
    let asked = run.request_text(1);
    for words in ["-two\n+2", "+++ b/new.txt", "+fresh", "\"findings\""] {
        assert!(asked.contains(words), "no {words} in {asked}");
    }
    run.expect_file("a.txt", "one\n2\n");
}

#[test]
fn nothing_is_changed_by_a_review_in_any_harness() {
    for harness in harnesses() {
        let agent = Agent::new()
            .harness(harness)
            .args(["--yolo"])
            .file("a.txt", "one\n")
            .model(script![
                write("a.txt", "broken\n"),
                run("touch made"),
                run("cat a.txt"),
                finish(harness, "All is well.")
            ]);
        let run = start(repository(agent), &["review", "look at a.txt"]);
        let run = run
            .expect_exit(0)
            .expect_stdout("All is well.\n")
            .expect_file("a.txt", "one\n")
            .expect_no_file("made");
        assert!(run.request_text(4).contains("one"), "{harness}");
    }
}

#[test]
fn a_branch_and_a_commit_are_reviewed() {
    let agent = |answer: &str| {
        let agent = Agent::new()
            .file("a.txt", "one\n")
            .model(script![say(answer)]);
        let agent = repository(agent);
        git(&agent.workspace(), &["checkout", "-q", "-b", "side"]);
        let agent = agent.file("b.txt", "of the branch\n");
        git(&agent.workspace(), &["add", "."]);
        git(&agent.workspace(), &["commit", "-q", "-m", "second"]);
        agent.file("a.txt", "not committed\n")
    };
    let run = start(agent("fine"), &["exec", "review", "--base", "main"]);
    let run = run.expect_exit(0).expect_stdout("fine\n");
    let asked = run.request_text(1);
    assert!(asked.contains("of the branch") && asked.contains("+not committed"));
    let run = start(
        agent("fine"),
        &["exec", "review", "--commit", "HEAD", "--title", "second"],
    );
    let asked = run.expect_exit(0).request_text(1);
    assert!(asked.contains("commit HEAD (second)") && asked.contains("of the branch"));
    assert!(!asked.contains("not committed"));
    start(agent("fine"), &["exec", "review", "--base", "nowhere"])
        .expect_exit(1)
        .expect_stderr("there is no commit or branch `nowhere` here")
        .expect_requests(0);
}

#[test]
fn what_cannot_be_reviewed_is_one_sentence() {
    let agent = || Agent::new().model(script![say("fine")]);
    start(repository(agent()), &["exec", "review", "--uncommitted"])
        .expect_exit(1)
        .expect_stderr("there is nothing to review")
        .expect_requests(0);
    start(agent(), &["exec", "review", "--uncommitted"])
        .expect_exit(1)
        .expect_stderr("is not inside a git repository")
        .expect_requests(0);
    start(agent(), &["review", "--uncommitted"])
        .expect_exit(1)
        .expect_stderr("say in words what to review")
        .expect_requests(0);
}

#[test]
fn a_large_change_is_reviewed_file_by_file_and_the_rest_is_named() {
    let text = |word: &str, lines: usize| -> String {
        (0..lines)
            .map(|n| format!("{word} number {n} of them\n"))
            .collect()
    };
    let agent = Agent::new().window(8_192).harness("minimal").model(script![
        say(&found("First fault", "a.txt")),
        say("Looks fine to me."),
        say(&found("Second fault", "c.txt"))
    ]);
    let agent = repository(agent)
        .file("a.txt", text("apple", 120))
        .file("b.txt", text("berry", 120))
        .file("c.txt", text("cherry", 120))
        .file("huge.txt", text("walnut", 4_000))
        .file("pic.bin", b"\0\0\0");
    let run = start(agent, &["review", "--uncommitted"]).expect_exit(0);
    let run = run.expect_requests(3).expect_stderr("reviewed in 3 parts");
    for (n, (has, lacks)) in [
        ("apple", "berry"),
        ("berry", "cherry"),
        ("cherry", "walnut"),
    ]
    .into_iter()
    .enumerate()
    {
        let request = &run.server.requests()[n];
        assert!(request.bytes / 4 < 8_192, "request {n}: {}", request.bytes);
        // The last message is this part alone.
        let messages = request.body["messages"].as_array().expect("messages");
        let last = messages.last().expect("a message").to_string();
        assert!(last.contains(has) && !last.contains(lacks), "{n}: {last}");
    }
    let out = &run.stdout;
    let places = [
        "a.txt: First fault is there.",
        "c.txt: Second fault is there.",
    ];
    assert!(places.iter().all(|p| out.contains(p)), "{out}");
    assert!(out.contains("Review comments:\n\n- First fault"), "{out}");
    assert!(out.contains("b.txt:\nLooks fine to me."), "{out}");
    let (_, left_out) = out.split_once("Not reviewed:\n").expect("a list");
    assert!(left_out.contains("- pic.bin (no text)"), "{out}");
    assert!(
        left_out.contains("- huge.txt (its change is larger"),
        "{out}"
    );
}

#[test]
fn a_review_goes_on_in_a_session() {
    let agent = Agent::new()
        .file("a.txt", "one\n")
        .model(script![say("It is fine."), say("As I said.")]);
    let agent = repository(agent).file("a.txt", "two\n");
    let run = start(agent, &["review", "--uncommitted"]).expect_exit(0);
    let file = fs::read_to_string(run.session_file()).expect("a session");
    assert!(file.contains("\"mark\":\"given\""), "{file}");
    let run = run.again(&["exec", "resume", "--last"], Some("really?"));
    let run = run.expect_exit(0).expect_stdout("As I said.\n");
    let text = run.request_text(2);
    assert!(text.contains("+two") && text.contains("It is fine."));
}
