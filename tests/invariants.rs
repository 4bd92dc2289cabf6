//! What must always hold (`.github/DESIGN.md`), over all harnesses and wires.

mod support;

use support::script::*;
use support::{Agent, Run, WIRES, harnesses, strict};

/// Every request begins with the one before it.
fn expect_prefixes(run: &Run, label: &str) {
    let requests = run.server.requests();
    for pair in requests.windows(2) {
        let (old, new) = (
            strict::parts(&pair[0].path, &pair[0].body),
            strict::parts(&pair[1].path, &pair[1].body),
        );
        for (at, part) in old.iter().enumerate() {
            assert_eq!(Some(part), new.get(at), "{label}: part {at} changed");
        }
        assert!(new.len() > old.len(), "{label}: nothing was added");
    }
}

/// Invariant 2: the prompt is append-only, over a session and over its resumption.
#[test]
fn the_prompt_is_append_only() {
    for harness in harnesses() {
        for wire in WIRES {
            let label = format!("{harness} on {wire}");
            let steps = script![
                run("echo first"),
                read("a.txt")
                    .with_reasoning("let me see")
                    .with_text("Looking."),
                edit("a.txt", "one", "two"),
                run("exit 3"),
                // The failed command is asked about once.
                finish(harness, "done"),
                finish(harness, "done"),
                run("echo second"),
                finish(harness, "done again"),
            ];
            let run = Agent::new()
                .harness(harness)
                .wire(wire)
                .file("AGENTS.md", "Rules.\n")
                .file("a.txt", "one\n")
                .model(steps)
                .run("change it")
                .expect_exit(0)
                .again(
                    &["exec", "--skip-git-repo-check", "resume", "--last"],
                    Some("and again"),
                )
                .expect_exit(0)
                .expect_requests(8)
                .expect_file("a.txt", "two\n");
            expect_prefixes(&run, &label);
        }
    }
}

/// Invariants 1 and 3: nothing above the window is sent, and the task is in every request.
#[test]
fn no_request_is_above_the_window_and_the_task_is_in_each() {
    for harness in harnesses() {
        for window in [8_192, 16_384] {
            let label = format!("{harness} at {window}");
            let mut steps: Vec<Step> = (0..14).map(|n| run(&format!("seq {n} 60000"))).collect();
            steps.push(finish(harness, "done"));
            let run = Agent::new()
                .harness(harness)
                .window(window)
                .model(steps)
                .run("the word of the task is albatross");
            assert_eq!(run.code, 0, "{label}: {}", run.stderr);
            for request in run.server.requests() {
                // The scripted server counts four bytes of the body as a token.
                assert!(
                    request.bytes / 4 < window as usize,
                    "{label}: {} bytes",
                    request.bytes
                );
                assert!(
                    strict::all_text(&request.body).contains("albatross"),
                    "{label}: the task is gone"
                );
            }
        }
    }
}

/// Invariant 4: whatever a model writes is done or answered, and nothing crashes.
#[test]
fn garbled_calls_are_answered() {
    use serde_json::json;
    for harness in ["native", "qwen-code", "minimal", "opencode", "pi"] {
        let nonsense = [
            json!({}),
            json!("{\"path\": "),
            json!("[1,2"),
            json!({"command": 5, "cmd": {"a": 1}}),
            json!(""),
        ];
        let mut steps: Vec<Step> = nonsense
            .into_iter()
            .map(|arguments| call("no_such_tool", arguments))
            .collect();
        // Five in a row would end the turn.
        steps.insert(3, run("echo on"));
        steps.push(say("done"));
        let done = Agent::new()
            .harness(harness)
            .model(steps)
            .run("go")
            .expect_exit(0)
            .expect_stdout("done\n");
        let last = done.request_text(done.server.requests().len());
        assert!(last.contains("no_such_tool"), "{harness}: {last}");
    }
}

/// Invariant 5: outside the policy nothing is written, by no tool.
#[test]
fn nothing_is_written_outside() {
    for harness in harnesses() {
        let run = Agent::new()
            .harness(harness)
            // The test's folder lies in the temporary folder, which commands may write otherwise.
            .config("[sandbox_workspace_write]\nexclude_slash_tmp = true\nexclude_tmpdir_env_var = true\n")
            .model(script![
                run("echo x > ../escaped-1.txt"),
                write("../escaped-2.txt", "x\n"),
                run("mkdir -p .git && echo x > .git/escaped-3.txt"),
                // The failed command is asked about once.
                finish(harness, "done"),
                finish(harness, "done"),
            ])
            .run("go")
            .expect_exit(0)
            .expect_no_file("../escaped-1.txt")
            .expect_no_file("../escaped-2.txt")
            .expect_no_file(".git/escaped-3.txt");
        assert_eq!(run.server.requests().len(), 5, "{harness}");
    }
}

/// Invariant 7: no escape sequence of a model or a tool reaches the terminal.
#[test]
fn nothing_raw_reaches_the_terminal() {
    for harness in harnesses() {
        let run = Agent::new()
            .harness(harness)
            .model(script![
                run("printf 'a\\033]0;title\\007b\\n'; printf '\\033[2J' >&2")
                    .with_text("see \u{1b}[31mred"),
                finish(harness, "done \u{1b}[2J")
            ])
            .run("go")
            .expect_exit(0);
        assert!(
            !run.stderr.contains(['\u{1b}', '\u{7}']),
            "{harness}: {:?}",
            run.stderr
        );
    }
}
