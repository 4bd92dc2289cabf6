//! Keys stay where they belong: out of commands, files, logs and messages.
#![cfg(unix)]

mod support;

use std::path::{Path, PathBuf};
use support::script::*;
use support::server::{Kind, Server};
use support::terminal::Terminal;
use support::{Agent, Run, harnesses};

/// Every file of the home but the user's own config, with what is in it.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => all.extend(files(&path)),
            false if path.ends_with("home/config.toml") => {}
            false => {
                let bytes = std::fs::read(&path).unwrap();
                all.push((path, bytes));
            }
        }
    }
    all
}

fn holds(bytes: &[u8], word: &str) -> bool {
    bytes.windows(word.len()).any(|w| w == word.as_bytes())
}

fn expect_nowhere(run: &Run, word: &str) {
    let all = files(run.home.path());
    assert!(
        all.iter().any(|(p, _)| p.ends_with("home/models.json")) || all.len() > 1,
        "{all:?}"
    );
    for (path, bytes) in all {
        assert!(!holds(&bytes, word), "{word} stands in {}", path.display());
    }
    for text in [&run.stdout, &run.stderr] {
        assert!(!text.contains(word), "{text}");
    }
    for request in run.server.requests() {
        assert!(!request.body.to_string().contains(word), "{}", request.body);
    }
}

fn with_keys(agent: Agent) -> Agent {
    agent
        .args([
            "--debug",
            "-c",
            "model_providers.mock.env_key=\"CORP_LOGIN\"",
            "-c",
            "model_providers.mock.env_http_headers={x-team=\"CORP_TEAM\"}",
        ])
        .env("CORP_LOGIN", "canary-1")
        .env("CORP_TEAM", "canary-2")
        .env("GH_TOKEN", "canary-3")
}

#[test]
fn no_key_is_left_anywhere_after_a_run() {
    for harness in harnesses() {
        let look = "env; cat /proc/self/environ /proc/$PPID/environ /proc/1/environ 2>/dev/null | tr '\\0' '\\n'; true";
        let run = with_keys(Agent::new().harness(harness))
            .model(script![
                run(look),
                finish(harness, "done"),
                finish(harness, "done")
            ])
            .run("go");
        for word in ["canary-1", "canary-3"] {
            expect_nowhere(&run, word);
        }
    }
}

#[test]
fn no_key_is_in_an_error() {
    let run = with_keys(Agent::new().harness("native"))
        .model(script![fail(
            401,
            "{\"error\": {\"message\": \"who are you?\"}}"
        )])
        .run("go")
        .expect_exit(1)
        .expect_stderr("who are you?");
    expect_nowhere(&run, "canary-1");
    expect_nowhere(&run, "canary-2");
}

#[test]
fn a_session_at_the_terminal_leaves_none_either() {
    let config = "developer_instructions = \"x\"\n";
    let server = Server::start(
        Kind::LlamaServer,
        32_768,
        script![run("env"), say("all done")],
    );
    let mut t = Terminal::on(server, config, Some("go"));
    t.wait_for("all done");
    t.wait_for("› ");
    t.says("/debug-config");
    t.types("/exit\r");
    assert_eq!(t.exit_code(), Some(0));
    use std::os::unix::fs::PermissionsExt;
    for (path, _) in files(&t.home.path().join("home")) {
        let mode = path.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{} can be read by others", path.display());
    }
}

#[test]
fn a_denied_folder_is_shut_for_tools_and_commands() {
    for harness in ["claude-code", "native", "qwen-code"] {
        let agent = Agent::new().harness(harness);
        let vault = agent.workspace().join("../vault").display().to_string();
        let run = agent
            .file("../vault/key", "canary-4\n")
            .file("../open/key", "fine-5\n")
            .config(&format!("deny_read = [{vault:?}]\n"))
            .model(script![
                run("cat ../vault/key ../open/key"),
                read("../vault/key"),
                finish(harness, "ok"),
                finish(harness, "ok")
            ])
            .run("go");
        for request in [2, 3] {
            assert!(
                !run.request_text(request).contains("canary-4"),
                "{harness}: {}",
                run.request_text(request)
            );
        }
        assert!(
            run.request_text(2).contains("fine-5"),
            "{harness}: {}",
            run.request_text(2)
        );
    }
}

#[test]
fn a_project_opens_no_secret_to_commands() {
    let config = "[shell_environment_policy]\nignore_default_excludes = true\nallow = [\"GH_*\"]\n";
    let run = Agent::new()
        .harness("native")
        .git()
        .file(".openinterpreter/config.toml", config)
        .args(["--trust"])
        .env("GH_TOKEN", "canary-6")
        .model(script![run("env"), say("ok"), say("ok")])
        .run("go")
        .expect_stderr("a project may not set `shell_environment_policy.allow`");
    assert!(!run.request_text(2).contains("canary-6"));
}
