//! The main job: a task comes in, a model inspects, edits, runs, checks and stops.

mod support;

use std::time::Duration;
use support::script::*;
use support::server::Kind;
use support::{Agent, WIRES, harnesses, on_hosted_wires};

const HABITS: &str = include_str!("../examples/habit-tracker/habits.py");
const TESTS: &str = include_str!("../examples/habit-tracker/test_habits.py");
const WRONG: &str = "        if previous is not None and day.day == previous.day + 1:";
const RIGHT: &str = "        if previous is not None and (day - previous).days == 1:";

#[test]
fn the_habit_tracker_is_fixed_in_every_harness_on_every_wire() {
    for harness in harnesses() {
        for wire in WIRES {
            eprintln!("{harness} on {wire}");
            let steps = script![
                read("habits.py").with_text("I will look at the code first."),
                edit("habits.py", WRONG, RIGHT),
                run("python3 test_habits.py"),
                finish(harness, "Fixed."),
            ];
            let run = Agent::new()
                .harness(harness)
                .wire(wire)
                .model(steps)
                .file("habits.py", HABITS)
                .file("test_habits.py", TESTS)
                .run("The tests fail. Fix habits.py.")
                .expect_exit(0)
                .expect_file("habits.py", &HABITS.replace(WRONG, RIGHT))
                .expect_file("test_habits.py", TESTS)
                .expect_requests(4);
            assert!(
                run.stdout.trim_end().ends_with("Fixed."),
                "{harness} on {wire}: {}",
                run.stdout
            );
            assert!(
                run.request_text(2).contains("def longest_run"),
                "{harness} on {wire}: the file was not shown"
            );
            assert!(
                run.request_text(4).contains("3 passed, 0 failed"),
                "{harness} on {wire}: {}",
                run.request_text(4)
            );
        }
    }
}

#[test]
fn piped_text_alone_is_the_task_and_the_answer_is_alone_on_stdout() {
    Agent::new()
        .harness("qwen-code")
        .model(script![say("All is well.")])
        .stdin("Is all well?\n")
        .start(&[], None)
        .finish()
        .expect_exit(0)
        .expect_stdout("All is well.\n")
        .expect_stderr("git")
        .expect_request(1, |body| body.to_string().contains("Is all well?\\n"));
}

#[test]
fn a_pipe_that_stays_silent_is_left_unread_and_said() {
    let mut running = Agent::new()
        .harness("minimal")
        .model(script![say("hello")])
        .stdin("")
        .start(&["exec", "--skip-git-repo-check"], Some("hi"));
    // The builder closes the pipe; an empty pipe that ends at once is no case for a note.
    let _ = running.child.stdin.take();
    let run = running.finish().expect_exit(0).expect_stdout("hello\n");
    assert!(!run.stderr.contains("unread"));
}

#[test]
fn a_long_pipe_goes_into_a_file_that_the_model_can_read() {
    let text: String = (0..60_000).map(|n| format!("line {n}\n")).collect();
    let run = Agent::new()
        .harness("qwen-code")
        .window(16_384)
        .model(script![say("ok")])
        .stdin(text.clone())
        .run("sum")
        .expect_exit(0);
    let sent = run.request_text(1);
    assert!(sent.contains("line 0\n") && sent.contains("line 59999"));
    let path = sent
        .split("The whole input is in ")
        .nth(1)
        .and_then(|t| t.split(';').next())
        .expect("a path is named");
    assert!(
        std::fs::read_to_string(path)
            .expect("the file is there")
            .contains(&text)
    );
    assert!(run.server.requests()[0].bytes < 16_384 * 4);
}

#[test]
fn binary_input_is_refused_in_a_sentence() {
    Agent::new()
        .model(script![say("no")])
        .stdin(vec![0xff, 0xfe, 0])
        .start(&[], None)
        .finish()
        .expect_exit(1)
        .expect_stderr("not text");
}

#[test]
fn without_a_prompt_exec_says_so() {
    Agent::new()
        .model(script![say("no")])
        .stdin("")
        .start(&["exec", "--skip-git-repo-check"], None)
        .finish()
        .expect_exit(1)
        .expect_stderr("prompt")
        .expect_requests(0);
}

#[test]
fn exec_wants_a_repository_unless_told_otherwise() {
    Agent::new()
        .model(script![say("no")])
        .start(&["exec"], Some("hi"))
        .finish()
        .expect_exit(1)
        .expect_stderr("--skip-git-repo-check")
        .expect_requests(0);
    Agent::new()
        .git()
        .model(script![say("ok")])
        .start(&["exec"], Some("hi"))
        .finish()
        .expect_exit(0)
        .expect_stdout("ok\n");
}

#[test]
fn a_call_from_a_broken_stream_is_not_run() {
    // Most of the time is spent in waiting before the next try, so all wait together.
    std::thread::scope(|threads| {
        for harness in harnesses() {
            for wire in WIRES {
                threads.spawn(move || broken_stream(harness, wire));
            }
        }
    });
}

fn broken_stream(harness: &str, wire: &str) {
    let run = Agent::new()
        .harness(harness)
        .wire(wire)
        .model(script![run("echo x >> ran.txt").with_text("partial").cut()])
        .run("go")
        .expect_exit(1)
        .expect_stderr("http://127.0.0.1:")
        .expect_no_file("ran.txt");
    let requests = run.server.requests().len();
    assert!(
        (2..=6).contains(&requests),
        "{harness} on {wire}: {requests} requests"
    );
    assert!(run.took < Duration::from_secs(60));
}

#[test]
fn json_lines_and_nothing_else() {
    let run = Agent::new()
        .harness("qwen-code")
        .args(["--json"])
        .model(script![run("exit 7"), say("done")])
        .run("go")
        .expect_exit(0);
    let lines: Vec<serde_json::Value> = run
        .stdout
        .lines()
        .map(|l| serde_json::from_str(l).expect("each line is JSON"))
        .collect();
    let types: Vec<_> = lines
        .iter()
        .map(|l| l["type"].as_str().unwrap_or_default())
        .collect();
    assert_eq!(
        types,
        [
            "thread.started",
            "turn.started",
            "item.started",
            "item.completed",
            // The failed command is asked about once, and the model answers again.
            "item.completed",
            "item.completed",
            "turn.completed"
        ]
    );
    assert_eq!(lines[3]["item"]["exit_code"], 7);
    assert_eq!(lines[4]["item"]["text"], "done");
}

#[test]
fn one_system_message_first_and_a_person_or_tool_last() {
    for harness in harnesses() {
        let run = Agent::new()
            .harness(harness)
            .file("AGENTS.md", "Always be kind.\n")
            .model(script![
                run("true"),
                finish(harness, "one"),
                finish(harness, "two")
            ])
            .run("first")
            .expect_exit(0)
            .again(
                &["exec", "--skip-git-repo-check", "resume", "--last"],
                Some("second"),
            )
            .expect_exit(0);
        for (n, request) in run.server.requests().iter().enumerate() {
            let body = &request.body;
            let at = format!("{harness}, {} request {n}", request.path);
            let list = [&body["messages"], &body["input"]];
            let list = list.iter().find_map(|l| l.as_array()).expect("messages");
            let who = |m: &serde_json::Value| {
                let kind = m["type"].as_str().filter(|kind| *kind != "message");
                kind.or(m["role"].as_str()).unwrap_or_default().to_owned()
            };
            let roles: Vec<String> = list.iter().map(who).collect();
            let systems = roles.iter().filter(|r| *r == "system").count();
            match request.path.as_str() {
                // The system prompt is no message there.
                "/v1/responses" => {
                    assert!(systems == 0 && body["instructions"].is_string(), "{at}")
                }
                "/v1/messages" => {
                    assert!(systems == 0 && !body["system"].is_null(), "{at}");
                    assert!(!roles.contains(&"developer".into()), "{at}: {roles:?}");
                }
                _ => {
                    assert!(systems == 1 && roles[0] == "system", "{at}: {roles:?}");
                    assert!(!roles.contains(&"developer".into()), "{at}: {roles:?}");
                }
            }
            let last = roles.last().expect("not empty");
            let ends = [
                "user",
                "tool",
                "function_call_output",
                "custom_tool_call_output",
            ];
            assert!(ends.contains(&last.as_str()), "{at}: {last}");
            assert!(
                support::strict::all_text(body).contains("Always be kind."),
                "{at}: AGENTS.md is missing"
            );
        }
    }
}

#[test]
fn these_hold_on_the_wires_of_hosted_models_too() {
    on_hosted_wires(&[
        ("O10", one_system_message_first_and_a_person_or_tool_last),
        ("O24", resume_keeps_the_sandbox_unless_a_flag_widens_it),
        #[cfg(unix)]
        ("O17", an_interrupt_frees_the_server_and_the_session_goes_on),
    ]);
}

#[test]
fn resume_keeps_the_sandbox_unless_a_flag_widens_it() {
    for harness in harnesses() {
        let first = |steps| {
            Agent::new()
                .harness(harness)
                .args(["--sandbox", "read-only"])
                .model(steps)
                .run("look")
                .expect_exit(0)
        };
        let steps = || {
            script![
                finish(harness, "seen"),
                run("echo x > f.txt"),
                // A failed command is asked about once.
                finish(harness, "done"),
                finish(harness, "done")
            ]
        };
        first(steps())
            .again(
                &["exec", "--skip-git-repo-check", "resume", "--last"],
                Some("write"),
            )
            .expect_exit(0)
            .expect_stderr("read-only")
            .expect_no_file("f.txt");
        first(steps())
            .again(
                &[
                    "exec",
                    "--skip-git-repo-check",
                    "resume",
                    "--last",
                    "--sandbox",
                    "workspace-write",
                ],
                Some("write"),
            )
            .expect_exit(0)
            .expect_file("f.txt", "x\n");
    }
}

#[cfg(unix)]
#[test]
fn an_interrupt_frees_the_server_and_the_session_goes_on() {
    let signals = [(2, 130), (15, 143)];
    for (harness, (signal, code)) in harnesses().flat_map(|h| signals.map(|s| (h, s))) {
        let running = Agent::new()
            .harness(harness)
            .model(script![
                say("late").after(Duration::from_secs(30)),
                finish(harness, "again")
            ])
            .start(&["exec", "--skip-git-repo-check"], Some("go"));
        running.wait_for_requests(1);
        let sent = std::time::Instant::now();
        running.signal(signal);
        let run = running.finish().expect_exit(code);
        assert!(
            sent.elapsed() < Duration::from_secs(2),
            "{:?}",
            sent.elapsed()
        );
        std::thread::sleep(Duration::from_millis(200));
        assert_eq!(
            run.server.clients_that_left(),
            1,
            "the server still waits for us"
        );
        run.again(
            &["exec", "--skip-git-repo-check", "resume", "--last"],
            Some("go on"),
        )
        .expect_exit(0)
        .expect_stdout("again\n");
    }
}

#[cfg(unix)]
#[test]
fn a_kill_at_any_moment_leaves_a_session_that_resumes() {
    for wait in [1, 2] {
        let running = Agent::new()
            .harness("qwen-code")
            .model(script![
                run("echo one > one.txt"),
                run("python3 -c 'import time; time.sleep(4)'").after(Duration::from_millis(300)),
                say("recovered")
            ])
            .start(&["exec", "--skip-git-repo-check"], Some("the task word"));
        running.wait_for_requests(wait);
        std::thread::sleep(Duration::from_millis(if wait == 2 { 900 } else { 5 }));
        running.signal(9);
        let run = running.finish().expect_exit(137);
        let run = run.again(
            &["exec", "--skip-git-repo-check", "resume", "--last"],
            Some("go on"),
        );
        assert_eq!(run.code, 0, "{}", run.stderr);
        let last = run.server.requests().len();
        assert!(
            run.request_text(last).contains("the task word"),
            "the task is gone"
        );
    }
}

#[test]
fn the_window_is_what_the_server_uses() {
    let run = Agent::new()
        .harness("qwen-code")
        .wire("ollama")
        .window(40_960)
        .model(script![say("ok")])
        .run("hi")
        .expect_exit(0);
    let body = &run.server.requests()[0].body;
    assert_eq!(body["truncate"], false);
    assert_eq!(body["shift"], false);
    assert!(
        body["options"]["num_ctx"]
            .as_u64()
            .is_some_and(|n| n >= 16_384),
        "{}",
        body["options"]
    );
    assert!(
        body["options"]["num_predict"]
            .as_u64()
            .is_some_and(|n| n > 0),
        "{}",
        body["options"]
    );
}

#[test]
fn a_window_that_is_too_small_ends_in_a_sentence_before_the_request() {
    for harness in ["native", "qwen-code"] {
        Agent::new()
            .harness(harness)
            .server_kind(Kind::LlamaServer)
            .window(1_024)
            .file("AGENTS.md", "x ".repeat(3_000))
            .model(script![say("no")])
            .run(&"word ".repeat(400))
            .expect_exit(1)
            .expect_stderr("1024")
            .expect_requests(0);
    }
}

#[test]
fn a_server_that_is_down_is_named() {
    let agent = Agent::new().config("").args([
        "-c",
        "model_providers.mock.base_url=\"http://127.0.0.1:9/v1\"",
    ]);
    agent
        .model(script![say("no")])
        .run("hi")
        .expect_exit(1)
        .expect_stderr("http://127.0.0.1:9")
        .expect_requests(0);
}

#[test]
fn a_model_that_is_missing_is_named_with_the_command_that_mends_it() {
    Agent::new()
        .wire("ollama")
        .args(["-c", "model_provider=\"ollama\"", "-m", "qwen9:1b"])
        .env("OLLAMA_HOST", "127.0.0.1:9")
        .model(script![say("no")])
        .run("hi")
        .expect_exit(1)
        .expect_stderr("127.0.0.1:9");
}

#[test]
fn a_bad_config_ends_with_the_key_and_the_line() {
    Agent::new()
        .config("harness_guidance = 7\n")
        .model(script![say("no")])
        .run("hi")
        .expect_exit(1)
        .expect_stderr("harness_guidance")
        .expect_requests(0);
    Agent::new()
        .config("harnes = \"native\"\n")
        .model(script![say("ok")])
        .run("hi")
        .expect_exit(0)
        .expect_stderr("harness");
}

/// swe-agent: in a git work tree the first `submit` shows the changes, the second one counts; and
/// the answer is what was said last.
#[test]
fn a_submission_is_reviewed_before_it_counts() {
    let run = Agent::new()
        .harness("swe-agent")
        .git()
        .model(script![
            run("echo hi > made.txt && cat made.txt"),
            finish("swe-agent", "Made it."),
            finish("swe-agent", ""),
        ])
        .run("make a file")
        .expect_exit(0)
        .expect_stdout("Made it.\n")
        .expect_requests(3);
    let review = run.request_text(3);
    assert!(review.contains("call submit again"), "{review}");
    assert!(
        review.contains("<diff>") && review.contains("made.txt\n</diff>"),
        "{review}"
    );
}

/// deepseek-tui: a unified diff is applied, and its summary told.
#[test]
fn a_unified_diff_is_applied() {
    let diff = "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n-x = 1\n+x = 2\n print(x)\n";
    let run = Agent::new()
        .harness("deepseek-tui")
        .file("a.py", "x = 1\nprint(x)\n")
        .model(script![
            call("apply_patch", serde_json::json!({"patch": diff})),
            run("python3 a.py"),
            say("It prints 2 now."),
        ])
        .run("let it print 2")
        .expect_exit(0)
        .expect_file("a.py", "x = 2\nprint(x)\n")
        .expect_requests(3);
    let told = run.request_text(2);
    assert!(
        told.contains("Applied 1 hunk(s) to 1 file(s)\nFiles: a.py"),
        "{told}"
    );
    assert!(run.request_text(1).contains("<turn_meta>\nLocal date: "));
}
