//! Bad luck of every kind ends with one clear sentence and its exit code, and nothing is lost.

mod support;

use std::process::{Command, Stdio};
use std::time::Duration;
use support::script::*;
use support::server::{Kind, Server};
use support::{Agent, Run};

/// No panic, no backtrace, and a last line that is a sentence.
fn expect_sentence(run: Run, code: i32, part: &str) -> Run {
    assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
    run.expect_exit(code).expect_stderr(part)
}

#[test]
fn no_server_at_all() {
    let home = tempfile::tempdir().expect("a folder");
    let server = Server::start(Kind::Plain, 8_192, vec![]);
    // Every well-known port is moved to one where nobody listens.
    let dead = "http://127.0.0.1:9/v1";
    let base = |id: &str| format!("model_providers.{id}.base_url=\"{dead}\"");
    let out = Command::new(env!("CARGO_BIN_EXE_interpreter"))
        .args([
            "--oss",
            "-c",
            &base("ollama"),
            "-c",
            &base("lmstudio"),
            "-c",
            &base("llamacpp"),
            "-c",
            &base("vllm"),
            "hi",
        ])
        .current_dir(home.path())
        .env_clear()
        .env("HOME", home.path())
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .stdin(Stdio::null())
        .output()
        .expect("the binary runs");
    let stderr = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(1), "{stderr}");
    assert!(
        stderr.contains("no local model server answers") && stderr.contains("ollama serve"),
        "{stderr}"
    );
    assert!(server.requests().is_empty());
}

#[test]
fn a_wrong_model_on_ollama() {
    let agent = Agent::new()
        .wire("ollama")
        .model(script![say("no")])
        .args(["-m", "qwen9:1b"]);
    let run = expect_sentence(agent.run("hi"), 1, "qwen9:1b");
    assert!(
        run.stderr.contains("ollama pull qwen9:1b"),
        "{}",
        run.stderr
    );
    run.expect_requests(0);
}

#[test]
fn a_model_without_tools() {
    let run = expect_sentence(
        Agent::new()
            .server_kind(Kind::OllamaWithoutTools)
            .wire_only("ollama")
            .model(script![say("fine")])
            .run("hi"),
        0,
        "mock has no tool support, says mock",
    );
    run.expect_requests(1)
        .expect_request(1, |body| body.get("tools").is_none())
        .expect_stdout("fine\n");
    // A harness without tools does not need them.
    Agent::new()
        .server_kind(Kind::OllamaWithoutTools)
        .wire_only("ollama")
        .harness("mini-swe-agent")
        .model(script![finish("mini-swe-agent", "fine")])
        .run("hi")
        .expect_exit(0);
}

#[test]
fn a_home_that_cannot_be_written_is_a_warning_and_the_task_is_done() {
    // /proc takes no new folders, whoever asks.
    let run = Agent::new()
        .model(script![say("done")])
        .env("INTERPRETER_HOME", "/proc/interpreter-home")
        .args([
            "-c",
            "model=\"mock\"",
            "-c",
            "model_provider=\"mock\"",
            "-c",
            "approval_policy=\"never\"",
        ])
        .with_provider_flags()
        .run("hi");
    expect_sentence(run, 0, "/proc/interpreter-home").expect_stdout("done\n");
}

#[test]
fn a_full_disk_under_the_answer_is_said() {
    let run = Agent::new()
        .model(script![say("done")])
        .args(["-o", "/dev/full"])
        .run("hi");
    if cfg!(target_os = "linux") {
        expect_sentence(run, 1, "/dev/full");
    }
}

#[test]
fn a_closed_standard_output_is_said() {
    for args in [
        &["exec", "--skip-git-repo-check"][..],
        &["exec", "--skip-git-repo-check", "--json"],
    ] {
        let mut running = Agent::new()
            .model(script![say("done").after(Duration::from_millis(300))])
            .start(args, Some("hi"));
        drop(running.child.stdout.take());
        let run = running.finish();
        expect_sentence(run, 1, "standard output");
    }
}

#[test]
fn an_invalid_config_names_the_line() {
    let run = Agent::new()
        .config("this is = = not toml\n")
        .model(script![say("no")])
        .run("hi");
    expect_sentence(run, 1, "config.toml").expect_requests(0);
}

#[test]
fn an_unknown_flag_names_the_nearest() {
    let run = Agent::new()
        .model(script![say("no")])
        .start(&["exec", "--sandbx", "read-only"], Some("hi"))
        .finish();
    expect_sentence(run, 2, "--sandbox").expect_requests(0);
    let run = Agent::new()
        .model(script![say("no")])
        .start(&["exec", "--sandbox", "read-onyl"], Some("hi"))
        .finish();
    expect_sentence(run, 2, "read-only").expect_requests(0);
}

#[test]
fn an_unknown_session_profile_and_harness_are_named() {
    let run = Agent::new()
        .model(script![say("no")])
        .start(
            &["exec", "--skip-git-repo-check", "resume", "0190-nothing"],
            Some("hi"),
        )
        .finish();
    expect_sentence(run, 1, "0190-nothing");
    let run = Agent::new()
        .model(script![say("no")])
        .args(["-p", "nightly"])
        .run("hi");
    expect_sentence(run, 1, "nightly");
    let run = Agent::new()
        .harness("qwen-cod")
        .model(script![say("no")])
        .run("hi");
    expect_sentence(run, 1, "qwen-code").expect_requests(0);
}

#[test]
fn a_folder_that_is_missing_is_named() {
    let run = Agent::new()
        .model(script![say("no")])
        .args(["-C", "no-such-folder"])
        .run("hi");
    expect_sentence(run, 1, "no-such-folder").expect_requests(0);
}

#[test]
fn a_refused_key_says_which() {
    let run = Agent::new()
        .model(script![fail(
            401,
            r#"{"error":{"message":"Invalid API Key"}}"#
        )])
        .run("hi");
    expect_sentence(run, 1, "key").expect_requests(1);
}

#[test]
fn a_missing_key_variable_is_named_before_any_request() {
    let run = Agent::new()
        .model(script![say("no")])
        .args(["-c", "model_providers.mock.env_key=\"ACME_KEY\""])
        .run("hi");
    expect_sentence(run, 1, "ACME_KEY").expect_requests(0);
}

#[test]
fn a_provider_that_is_unknown_is_named() {
    let run = Agent::new()
        .model(script![say("no")])
        .args(["-c", "model_provider=\"olama\""])
        .run("hi");
    expect_sentence(run, 1, "ollama").expect_requests(0);
}

#[test]
fn the_step_limit_has_its_own_code_and_asks_for_a_last_answer() {
    for harness in ["qwen-code", "minimal"] {
        let run = Agent::new()
            .harness(harness)
            .args(["--max-steps", "3"])
            .model(script![run("date +%N")])
            .run("go");
        let run = expect_sentence(run, 3, "max_steps").expect_requests(4);
        assert!(
            run.server.requests()[3].body.get("tools").is_none(),
            "the last request offers tools"
        );
    }
}

#[test]
fn a_session_file_with_torn_and_foreign_lines_resumes_with_a_warning() {
    let run = Agent::new()
        .harness("qwen-code")
        .model(script![say("one"), say("two")])
        .run("first")
        .expect_exit(0);
    let file = run.session_file();
    let mut text = std::fs::read_to_string(&file).expect("the session file");
    text.push_str("{\"type\":\"response_item\",\"payload\":{\"ty");
    text.insert_str(0, "not json at all\n");
    std::fs::write(&file, text).expect("written");
    let run = run.again(
        &["exec", "--skip-git-repo-check", "resume", "--last"],
        Some("second"),
    );
    expect_sentence(run, 0, "skipped")
        .expect_stdout("two\n")
        .expect_request(2, |b| b.to_string().contains("first"));
}

#[cfg(unix)]
#[test]
fn session_files_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let run = Agent::new()
        .model(script![say("one")])
        .run("first")
        .expect_exit(0);
    let mode =
        |p: &std::path::Path| std::fs::metadata(p).expect("there").permissions().mode() & 0o777;
    assert_eq!(mode(&run.session_file()), 0o600);
    assert_eq!(mode(run.session_file().parent().expect("a folder")), 0o700);
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_whose_name_is_not_utf8_works_and_resumes() {
    use std::os::unix::ffi::OsStrExt;
    let agent = Agent::new()
        .harness("qwen-code")
        .model(script![read("note.txt"), say("one"), say("two")])
        .args(["-C", "link"]);
    let odd = agent
        .workspace()
        .join(std::ffi::OsStr::from_bytes(b"lat\xff"));
    std::fs::create_dir(&odd).expect("a folder");
    std::os::unix::fs::symlink(&odd, agent.workspace().join("link")).expect("a link");
    std::fs::write(odd.join("note.txt"), "a line of the note\n").expect("a file");
    let run = expect_sentence(agent.run("go"), 0, "2 requests")
        .expect_stdout("one\n")
        .expect_request(2, |b| b.to_string().contains("a line of the note"));
    let last = [
        "exec",
        "--skip-git-repo-check",
        "-C",
        "link",
        "resume",
        "--last",
    ];
    run.again(&last, Some("more"))
        .expect_exit(0)
        .expect_stdout("two\n")
        .expect_request(3, |b| b.to_string().contains("a line of the note"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_device_or_pipe_in_place_of_a_users_file_is_refused_and_not_read_for_ever() {
    let pipe = tempfile::tempdir().expect("a folder");
    let pipe = pipe.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo is there").success());
    for file in ["/dev/zero", pipe.to_str().expect("UTF-8")] {
        let key = format!("model_instructions_file={file:?}");
        for args in [["-c", &key], ["--output-schema", file]] {
            let run = Agent::new().model(script![say("no")]).args(args).run("hi");
            assert!(run.took < Duration::from_secs(10), "{args:?}");
            expect_sentence(run, 1, "not a regular file").expect_requests(0);
        }
        // A picture that cannot be shown is no reason to stop.
        let run = Agent::new()
            .model(script![say("fine")])
            .args(["-i", file, "--"])
            .run("hi");
        assert!(run.took < Duration::from_secs(10), "-i {file}");
        expect_sentence(run, 0, "not a file").expect_stdout("fine\n");
    }
}

#[test]
fn lines_for_a_script_that_nobody_read_are_a_failure() {
    let mut running = Agent::new()
        .model(script![say("done").after(Duration::from_millis(300))])
        .args(["--json"])
        .start(&["exec", "--skip-git-repo-check"], Some("hi"));
    drop(running.child.stdout.take());
    expect_sentence(running.finish(), 1, "standard output cannot be written").expect_requests(1);
}

#[test]
fn an_empty_model_name_is_none() {
    Agent::new()
        .model(script![say("done")])
        .args(["-m", ""])
        .run("hi")
        .expect_exit(0)
        .expect_request(1, |b| b["model"].as_str().is_some_and(|m| !m.is_empty()));
}

#[test]
fn a_port_that_does_not_exist_is_named_as_a_wrong_address() {
    let base = "model_providers.mock.base_url=\"http://127.0.0.1:99999/v1\"";
    let run = Agent::new()
        .model(script![say("no")])
        .args(["-c", base])
        .run("hi");
    expect_sentence(run, 1, "is not a URL");
}

#[test]
fn a_reply_that_loops_inside_a_call_is_cut_and_the_model_is_told() {
    for harness in ["qwen-code", "native", "minimal"] {
        let alone = Agent::new()
            .harness(harness)
            .model(script![write("a.txt", &"x".repeat(9_000)), say("done")])
            .run("go");
        expect_sentence(alone, 0, "was cut")
            .expect_no_file("a.txt")
            .expect_request(2, |b| b.to_string().contains("repeating yourself"));
        let second = Agent::new()
            .harness(harness)
            .model(script![
                run("echo first > f").and(write("a.txt", &"x".repeat(9_000))),
                say("done")
            ])
            .run("go");
        expect_sentence(second, 0, "was cut")
            .expect_file("f", "first\n")
            .expect_no_file("a.txt")
            .expect_request(2, |b| b.to_string().contains("cut after this call"));
    }
}

#[test]
fn a_reply_with_a_thousand_calls_is_done_in_part_and_the_model_is_told() {
    let calls = (1..1_000).fold(run("echo 0 >> f"), |step, n| {
        step.and(run(&format!("echo {n} >> f")))
    });
    let run = Agent::new()
        .harness("minimal")
        .window(131_072)
        .model(script![calls, say("done")])
        .run("go");
    let run = expect_sentence(run, 0, "only the first 32 calls")
        .expect_request(2, |b| b.to_string().contains("the first 32 calls"));
    let done = std::fs::read_to_string(run.workspace().join("f")).expect("the file");
    assert_eq!(done.lines().count(), 32);
}

#[test]
fn a_short_output_is_told_whole_however_little_room_there_is() {
    for harness in ["qwen-code", "native", "minimal"] {
        let calls = (1..6).fold(run("echo small-0; exit 3"), |step, n| {
            step.and(run(&format!("echo small-{n}; exit 3")))
        });
        Agent::new()
            .harness(harness)
            .window(4_096)
            .model(script![calls, say("done")])
            .run("go")
            .expect_exit(0)
            .expect_request(2, |b| {
                let text = support::strict::all_text(b);
                // Once in the call (in qwen-code once more in the result), once as output.
                let told = |n| text.matches(&format!("small-{n}\n")).count() >= 1;
                (0..6).all(told) && !text.contains("left out") && !text.contains("too large")
            });
    }
}
