//! Stored sessions: chosen, copied, named, and never given more than they had.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use support::script::*;
use support::{Agent, Run};

fn begun(steps: Vec<Step>, args: &[&str]) -> Run {
    let mut agent = Agent::new().model(steps);
    for arg in args {
        agent = agent.args([*arg]);
    }
    agent.run("the word is albatross").expect_exit(0)
}

/// Every session file, by name.
fn files(run: &Run) -> Vec<PathBuf> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.path() {
                path if path.is_dir() => walk(&path, found),
                path => found.push(path),
            }
        }
    }
    let mut found = Vec::new();
    walk(&run.home.path().join("home/sessions"), &mut found);
    found.sort();
    found
}

#[test]
fn a_pipe_chooses_by_number_from_a_list() {
    let run = begun(script![say("one"), say("two"), say("three")], &[]);
    let run = run
        .again(
            &["exec", "--skip-git-repo-check"],
            Some("the word is pelican"),
        )
        .expect_exit(0);
    // The latest is the first of the list.
    let run = run.again_piped(&["resume"], "2\nwhich word was it?\n");
    let run = run.expect_exit(0).expect_stdout("three\n");
    assert!(
        run.stderr.contains("1   now  the word is pelican"),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr.contains("2   now  the word is albatross"),
        "{}",
        run.stderr
    );
    let text = run.request_text(3);
    assert!(text.contains("albatross") && !text.contains("pelican"));
    assert!(text.contains("which word was it?") && !text.contains("2\nwhich"));
    // Nothing chosen is nothing done.
    let run = run.again_piped(&["resume"], "\n").expect_exit(0);
    assert_eq!(run.stdout, "");
    run.again_piped(&["resume"], "7\nhi\n").expect_requests(3);
}

#[test]
fn what_is_no_session_is_named_once_and_the_others_are_listed() {
    let run = begun(script![say("one"), say("two")], &[]);
    let file = run.session_file();
    let broken = file.with_file_name("rollout-2026-01-02T03-04-05-broken.jsonl");
    fs::write(&broken, "{\"type\":\"session_meta\",\"payload\":{}}\n").expect("a file");
    let run = run.again_piped(&["resume"], "1\nmore\n").expect_exit(0);
    let name = broken.display().to_string();
    assert_eq!(run.stderr.matches(&name).count(), 1, "{}", run.stderr);
    run.expect_stdout("two\n");
}

#[test]
fn a_fork_begins_as_a_copy_and_leaves_the_other_alone() {
    let run = begun(script![say("one"), say("two"), say("three")], &[]);
    let first = run.session_file();
    let before = fs::read(&first).expect("a session");
    let run = run.again(
        &["exec", "fork", "--last", "--skip-git-repo-check"],
        Some("and now pelican"),
    );
    let run = run.expect_exit(0).expect_stdout("two\n");
    assert_eq!(fs::read(&first).expect("a session"), before);
    let all = files(&run);
    assert_eq!(all.len(), 2);
    let copy = all.iter().find(|f| **f != first).expect("a copy");
    let id = copy.file_stem().expect("a name").to_string_lossy();
    let id = &id["rollout-YYYY-MM-DDThh-mm-ss-".len()..];
    assert!(
        run.stderr.contains(&format!("interpreter resume {id}")),
        "{}",
        run.stderr
    );
    assert!(run.request_text(2).contains("albatross"));
    let run = run.again(&["fork", "nobody", "hi"], None);
    let run = run
        .expect_exit(1)
        .expect_stderr("there is no session `nobody`");
    assert_eq!(files(&run).len(), 2);
}

#[test]
fn a_copy_that_cannot_be_gone_on_with_is_taken_away() {
    let run = begun(script![say("one")], &[]);
    let line = [
        "exec",
        "fork",
        "--last",
        "--skip-git-repo-check",
        "-c",
        "model_provider=\"none\"",
    ];
    let flagged = [&line[..], &["--local-provider", "vllm"]].concat();
    let run = run.again(&flagged, Some("hi")).expect_exit(1);
    assert_eq!(files(&run).len(), 1, "{}", run.stderr);
}

#[test]
fn a_session_gets_no_more_than_the_settings_of_now_allow() {
    let all = ["--sandbox", "danger-full-access"];
    let steps = || {
        script![
            say("one"),
            run("mkdir -p .codex; echo x > .codex/made"),
            say("two"),
            say("two")
        ]
    };
    let resume = ["exec", "resume", "--last", "--skip-git-repo-check"];
    let run = begun(steps(), &all).again(&resume, Some("write"));
    let run = run
        .expect_exit(0)
        .expect_stderr("more than your settings allow now")
        .expect_stderr("workspace-write");
    assert!(!run.workspace().join(".codex/made").exists());
    let run = begun(steps(), &all).again(&[&resume[..], &all[..]].concat(), Some("write"));
    let run = run.expect_exit(0);
    assert!(
        !run.stderr.contains("more than your settings"),
        "{}",
        run.stderr
    );
    assert!(run.workspace().join(".codex/made").exists());
}
