//! `harness bench`: what is measured is right, and cannot be fooled.

mod support;

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use support::script::*;
use support::server::Kind;
use support::{Agent, harnesses};

const BENCH: &[&str] = &["harness", "bench"];
const WRONG: &str = "        if previous is not None and day.day == previous.day + 1:";
const RIGHT: &str = "        if previous is not None and (day - previous).days == 1:";

fn solve_settings(harness: &str) -> Vec<Step> {
    script![
        read("settings.ini"),
        edit("settings.ini", "port = 8080", "port = 9090"),
        edit("settings.ini", "level = info", "level = debug"),
        run("cat settings.ini"),
        finish(harness, "Done."),
    ]
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}:\n{text}"))
}

#[test]
fn a_task_is_solved_in_each_harness_and_counted_right() {
    let steps = harnesses().flat_map(|harness| {
        script![
            read("habits.py").usage(9_000, 0, 20),
            edit("habits.py", WRONG, RIGHT).usage(9_100, 9_000, 30),
            run("python3 test_habits.py").usage(9_150, 9_100, 30),
            finish(harness, "Done.").usage(9_200, 9_100, 5),
        ]
    });
    let run = Agent::new()
        .model(steps.collect())
        .args(["--task", "habit-tracker", "--runs", "1", "--json"])
        .args(["--harness", "all"])
        .limit(std::time::Duration::from_secs(300))
        .start(BENCH, None)
        .finish()
        .expect_exit(0)
        .expect_requests(4 * harnesses().count())
        .expect_stderr(&format!(
            "1 tasks, {0} harnesses, 1 runs, so {0} tries",
            harnesses().count()
        ));
    let found = json(&run.stdout);
    assert_eq!(found["model"], "mock");
    assert_eq!(found["window"], 32_768);
    assert_eq!(found["complete"], true);
    let rows = found["harnesses"].as_array().expect("rows");
    assert_eq!(rows.len(), harnesses().count());
    for harness in harnesses() {
        let row = rows
            .iter()
            .find(|r| r["harness"] == harness)
            .expect("a row");
        assert_eq!(
            (&row["solved"], &row["tries"]),
            (&1.into(), &1.into()),
            "{row:#}"
        );
        assert_eq!(row["requests"], 4, "{row:#}");
        let ends_with_text = finish(harness, "").calls.is_empty();
        let steps = if ends_with_text { 3 } else { 4 };
        assert_eq!(row["steps"], steps, "{row:#}");
        assert_eq!(
            (&row["prompt_tokens"], &row["output_tokens"]),
            (&36_450.into(), &85.into())
        );
        assert_eq!(row["cached_share"].as_f64(), Some(27_200.0 / 36_450.0));
        assert_eq!(row["solved_in_a_run"]["min"], 1);
        assert_eq!(row["results"][0]["why_not"], Value::Null);
    }
    // The user's home keeps nothing of it.
    assert!(!run.home.path().join("home/sessions").exists());
    // Every harness starts in a folder of its own that is named like the task.
    assert!(run.request_text(1).contains("/habit-tracker"));
}

#[test]
fn the_table_fits_a_terminal_and_ranks_by_what_was_solved() {
    // Asked once more, since it looked at nothing.
    let steps = script![say("I cannot do that."), say("I cannot do that.")]
        .into_iter()
        .chain(solve_settings("minimal"));
    let run = Agent::new()
        .model(steps.collect())
        .args([
            "--task",
            "settings",
            "--runs",
            "1",
            "--harness",
            "qwen-code,minimal",
        ])
        .start(BENCH, None)
        .finish()
        .expect_exit(0)
        .expect_stderr("not solved: the check fails")
        .expect_stderr("solved (done; 4 steps");
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert!(
        lines.iter().all(|l| l.chars().count() <= 80),
        "{}",
        run.stdout
    );
    let cells = |n: usize| lines[n].split_whitespace().collect::<Vec<_>>();
    assert_eq!(cells(0)[..3], ["HARNESS", "SOLVED", "SPREAD"]);
    assert_eq!(cells(1)[..5], ["1", "minimal", "1/1", "1-1", "4.0"]);
    assert_eq!(cells(2)[..5], ["2", "qwen-code", "0/1", "0-0", "0.0"]);
    let task = lines
        .iter()
        .find(|l| l.starts_with("settings"))
        .expect("the task");
    assert_eq!(
        task.split_whitespace().collect::<Vec<_>>(),
        ["settings", "shell", "1", "0"]
    );
}

#[test]
fn neither_edited_tests_nor_special_cases_nor_an_early_exit_count_as_solved() {
    let special = "def longest_run(days):\n    return {0: 0, 5: 3, 4: 4}.get(len(days), 1)\n";
    let exits = "raise SystemExit(0)\n";
    let steps = script![
        read("test_habits.py"),
        write("test_habits.py", "print('3 passed, 0 failed')\n"),
        run("python3 test_habits.py"),
        say("All tests pass."),
        read("habits.py"),
        write("habits.py", special),
        run("python3 test_habits.py"),
        say("All tests pass."),
        read("habits.py"),
        write("habits.py", exits),
        run("python3 test_habits.py"),
        say("All tests pass."),
    ];
    let run = Agent::new()
        .model(steps)
        .args([
            "--task",
            "habit-tracker",
            "--harness",
            "qwen-code",
            "--json",
        ])
        .start(BENCH, None)
        .finish()
        .expect_exit(0);
    let found = json(&run.stdout);
    let row = &found["harnesses"][0];
    assert_eq!(
        (&row["solved"], &row["tries"]),
        (&0.into(), &3.into()),
        "{row:#}"
    );
    assert_eq!(found["best"], Value::Null);
    let why = |n: usize| row["results"][n]["why_not"].as_str().unwrap_or_default();
    assert_eq!(why(0), "test_habits.py was changed");
    assert!(why(1).contains("AssertionError"), "{}", why(1));
    assert_eq!(why(2), "the check fails");
}

#[cfg(unix)]
#[test]
fn a_language_that_is_not_installed_is_left_out_with_a_line() {
    let bin = tempfile::tempdir().expect("a folder");
    let path = std::env::var("PATH").expect("a path");
    for name in ["sh", "bash", "cat", "cmp"] {
        let program = path
            .split(':')
            .map(|folder| Path::new(folder).join(name))
            .find(|p| p.exists())
            .unwrap_or_else(|| panic!("there is no {name}"));
        std::os::unix::fs::symlink(program, bin.path().join(name)).expect("a link");
    }
    Agent::new()
        .model(solve_settings("qwen-code"))
        .env("PATH", bin.path().to_str().expect("a name"))
        .args([
            "--task",
            "settings,slug",
            "--runs",
            "1",
            "--harness",
            "qwen-code",
        ])
        .start(BENCH, None)
        .finish()
        .expect_exit(0)
        .expect_stderr("slug is left out: Node is not installed")
        .expect_stderr("solved (done")
        .expect_requests(5);
}

#[test]
fn save_keeps_the_users_config_and_the_next_session_obeys() {
    let steps = script![say("No."), say("No.")]
        .into_iter()
        .chain(solve_settings("minimal"))
        .chain([say("Hello.")]);
    let run = Agent::new()
        .model(steps.collect())
        .config("max_steps = 7 # enough for me\n# the end of my notes\n")
        .args([
            "--task",
            "settings",
            "--runs",
            "1",
            "--harness",
            "qwen-code,minimal",
            "--save",
        ])
        .start(BENCH, None)
        .finish()
        .expect_exit(0)
        .expect_stderr("saved: mock uses minimal");
    let text = fs::read_to_string(run.home.path().join("home/config.toml")).expect("the config");
    assert!(
        text.contains("max_steps = 7 # enough for me\n# the end of my notes\n"),
        "{text}"
    );
    assert!(
        text.ends_with("\n[model_harness]\nmock = \"minimal\"\n")
            || text.ends_with("\n[model_harness]\n\"mock\" = \"minimal\"\n"),
        "{text}"
    );
    run.again(&["exec", "--skip-git-repo-check"], Some("hi"))
        .expect_exit(0)
        .expect_request(7, |body| {
            body["tools"].to_string().contains("str_replace_editor")
        });
}

#[test]
fn a_model_without_tools_is_tried_in_harnesses_with_tools_too() {
    // The tools of the first one stand in its prompt, and this model does not use them.
    let mut steps = script![say("It cannot be done.")];
    steps.extend(solve_settings("mini-swe-agent"));
    let run = Agent::new()
        .wire("ollama")
        .server_kind(Kind::OllamaWithoutTools)
        .model(steps)
        .args(["--task", "settings", "--runs", "1", "--json"])
        .args(["--harness", "native,mini-swe-agent", "--save"])
        .start(BENCH, None)
        .finish()
        .expect_exit(0)
        .expect_request(1, |body| body["tools"].as_array().is_none_or(Vec::is_empty));
    let found = json(&run.stdout);
    assert_eq!(
        (&found["best"], &found["saved"]),
        (&"mini-swe-agent".into(), &"mini-swe-agent".into())
    );
    let native = &found["harnesses"][1];
    assert_eq!(
        (&native["harness"], &native["dropped"], &native["solved"]),
        (&"native".into(), &Value::Null, &0.into())
    );
    // Saved for a model without tools, it is enough for the next session.
    run.again(
        &["exec", "--skip-git-repo-check", "--max-steps", "1"],
        Some("hi"),
    )
    .expect_request(7, |body| body["tools"].as_array().is_none_or(Vec::is_empty));
}

#[cfg(unix)]
#[test]
fn an_interrupt_prints_what_there_is() {
    let mut steps = solve_settings("qwen-code");
    steps.push(say("late").after(Duration::from_secs(30)));
    let running = Agent::new()
        .model(steps)
        .args(["--task", "settings", "--harness", "qwen-code", "--save"])
        .start(BENCH, None);
    running.wait_for_requests(6);
    running.signal(2);
    let run = running
        .finish()
        .expect_exit(130)
        .expect_stderr("nothing is saved");
    assert!(run.took < Duration::from_secs(15));
    assert!(
        run.stdout.contains("1/1") && run.stdout.contains("Interrupted"),
        "{}",
        run.stdout
    );
}

#[test]
fn what_is_unknown_is_a_usage_error_with_a_hint() {
    for (args, hint) in [
        (["--task", "habit-traker"], "did you mean habit-tracker?"),
        (["--harness", "qwen-cod"], "did you mean qwen-code?"),
        (["--runs", "0"], "whole number from 1"),
    ] {
        Agent::new()
            .args(args)
            .start(BENCH, None)
            .finish()
            .expect_exit(2)
            .expect_stderr(hint);
    }
}

/// Each check is a right one: it fails on the files as they are, and passes on a good solution.
#[test]
fn every_check_fails_before_and_passes_after() {
    let run = Agent::new()
        .args(["--export", "tasks"])
        .start(BENCH, None)
        .finish()
        .expect_exit(0);
    let solutions = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bench/solutions");
    let mut seen = 0;
    for entry in fs::read_dir(run.workspace().join("tasks")).expect("the tasks") {
        let folder = entry.expect("an entry").path();
        let task = json(&fs::read_to_string(folder.join("task.json")).expect("task.json"));
        let name = task["name"].as_str().expect("a name");
        let sh = |dir: &Path, line: &str| {
            let mut command = Command::new("sh");
            command
                .args(["-c", line])
                .current_dir(dir)
                .output()
                .expect("sh runs")
        };
        if !sh(&folder, task["probe"].as_str().expect("a probe"))
            .status
            .success()
        {
            eprintln!("{name} is skipped: {} is not installed", task["language"]);
            continue;
        }
        for solved in [false, true] {
            let work = tempfile::tempdir().expect("a folder");
            let mut from = vec![folder.join("files"), folder.join("check")];
            if solved {
                from.push(solutions.join(name));
            }
            for file in from.iter().flat_map(|f| fs::read_dir(f).expect("files")) {
                let file = file.expect("an entry");
                fs::copy(file.path(), work.path().join(file.file_name())).expect("a copy");
            }
            let line = format!("{} WORD", task["check"].as_str().expect("a check"));
            let out = sh(work.path(), &line);
            let said = String::from_utf8_lossy(&out.stdout);
            let passed =
                out.status.success() && said.trim_end().lines().next_back() == Some("WORD");
            let why = String::from_utf8_lossy(&out.stderr);
            assert_eq!(passed, solved, "{name}: {said}{why}");
        }
        seen += 1;
    }
    assert!(seen >= 10, "only {seen} tasks could be checked");
}
