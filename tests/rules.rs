//! Rules about commands, and what `rules check` tells of them.
#![cfg(unix)]

mod support;

use serde_json::Value;
use std::process::Command;
use support::script::*;
use support::{Agent, Run};

const RULES: &str = "\
prefix_rule(pattern=[\"touch\", \"../out.txt\"])
prefix_rule(pattern=[\"git\", \"push\"], decision=\"forbidden\", justification=\"releases are made by hand\")
prefix_rule(pattern=[\"make\"], decision=\"prompt\")
";

/// The temporary folder of a test is no place where commands may write.
const NARROW: &str =
    "[sandbox_workspace_write]\nexclude_slash_tmp = true\nexclude_tmpdir_env_var = true\n";

fn agent(harness: &str, rules: &str, commands: &[&str]) -> Agent {
    let mut steps: Vec<Step> = commands.iter().map(|c| run(c)).collect();
    steps.extend((0..3).map(|_| finish(harness, "ok")));
    Agent::new()
        .harness(harness)
        .config(NARROW)
        .file("../home/rules/default.rules", rules)
        .model(steps)
}

#[test]
fn allowed_runs_outside_the_sandbox_and_forbidden_never() {
    for harness in ["native", "claude-code", "opencode", "mini-swe-agent"] {
        let run = agent(
            harness,
            RULES,
            &[
                "touch ../out.txt",
                "touch ../other.txt",
                "git push",
                "echo $(git push)",
                "make all",
            ],
        )
        .run("go");
        let exists = |name: &str| run.workspace().join("..").join(name).exists();
        assert!(exists("out.txt"), "{harness}: {}", run.stderr);
        assert!(!exists("other.txt"), "{harness}");
        for request in [4, 5] {
            let told = run.request_text(request);
            let told = &told[told.rfind("did not run").unwrap_or(0)..];
            assert!(
                told.contains("releases are made by hand forbids it"),
                "{harness}: {told}"
            );
        }
        let told = run.request_text(6);
        assert!(
            told.contains("asks first, and under the approval policy `never`"),
            "{harness}: {told}"
        );
    }
}

#[test]
fn a_forbidden_command_does_not_run_without_a_sandbox_either() {
    let run = agent(
        "native",
        "prefix_rule(pattern=[\"touch\"], decision=\"forbidden\")\n",
        &["touch a.txt"],
    )
    .args(["--yolo"])
    .run("go")
    .expect_no_file("a.txt");
    run.again(
        &["exec", "--skip-git-repo-check", "--yolo", "--ignore-rules"],
        Some("go"),
    );
}

#[test]
fn a_file_with_a_mistake_stops_the_run_and_ignoring_it_is_said_how() {
    let run = agent(
        "native",
        "prefix_rule(pattern=[\"a\"], decision=\"deny\")\n",
        &[],
    )
    .run("go")
    .expect_exit(1)
    .expect_stderr("default.rules:1: `deny` is no decision")
    .expect_stderr("--ignore-rules")
    .expect_requests(0);
    run.again(
        &["exec", "--skip-git-repo-check", "--ignore-rules"],
        Some("go"),
    )
    .expect_exit(0);
}

#[test]
fn a_project_s_rules_hold_after_trust() {
    let start = || {
        agent("native", "", &["touch ../out.txt"]).git().file(
            ".openinterpreter/rules/p.rules",
            "prefix_rule(pattern=[\"touch\"])\n",
        )
    };
    let made = |run: &Run| run.workspace().join("../out.txt").exists();
    let run = start()
        .run("go")
        .expect_stderr(".openinterpreter/rules/p.rules");
    assert!(!made(&run));
    let run = start().args(["--trust"]).run("go");
    assert!(made(&run), "{}", run.stderr);
}

/// A review touches nothing, whatever a rule would let through.
#[test]
fn a_rule_lifts_nothing_in_a_review() {
    let agent = agent("native", "prefix_rule(pattern=[\"cat\"])\n", &["cat x"]).file("x", "y");
    let ran = agent
        .start(&["exec", "review", "--skip-git-repo-check"], Some("look"))
        .finish();
    assert!(ran.request_text(2).contains('y'), "{}", ran.stderr);
}

fn check(words: &[&str]) -> String {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("rules")).unwrap();
    std::fs::write(home.path().join("rules/default.rules"), RULES).unwrap();
    let out = Command::new(env!("CARGO_BIN_EXE_interpreter"))
        .args(["rules", "check"])
        .args(words)
        .current_dir(home.path())
        .env("INTERPRETER_HOME", home.path())
        .output()
        .unwrap();
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
    String::from_utf8(out.stdout).unwrap()
}

#[test]
fn a_verdict_is_explained() {
    let text = check(&["--", "git", "push", "origin"]);
    for part in [
        "git push origin\n",
        "forbidden: it does not run, and nobody is asked",
        "rules/default.rules:2",
        "matches `git push` of `git push origin`",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(check(&["--", "touch ../out.txt && ls"]).contains("no rule allows `ls`"));
    assert!(check(&["touch ../out.txt > x"]).contains("its words are not all known"));
    assert!(check(&["--", "ls"]).contains("no rule decides"));

    let told: Value = serde_json::from_str(&check(&["--json", "--", "git push"])).unwrap();
    assert_eq!(told["decision"], "forbidden");
    let found = &told["matchedRules"][0];
    assert_eq!(
        found["prefixRuleMatch"]["matchedPrefix"],
        serde_json::json!(["git", "push"])
    );
    assert_eq!(found["prefixRuleMatch"]["decision"], "forbidden");
    assert_eq!(found["line"], 2);
    let told: Value = serde_json::from_str(&check(&["--json", "--", "ls"])).unwrap();
    assert!(told.get("decision").is_none() && told["matchedRules"].as_array().unwrap().is_empty());
}
