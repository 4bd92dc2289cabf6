//! What goes in, what is done with it, and what comes back.

use crate::script;
use crate::support::script::*;
use crate::support::{Agent, WIRES, harnesses, shell, strict, usual_wire, with_tools};
use crate::{numbers, result};
use serde_json::{Value, json};
use std::time::Duration;

#[test]
fn o08_a_patch_in_the_wrong_wrapper() {
    let patch = "*** Begin Patch\n*** Add File: a.txt\n+one\n*** End Patch";
    let wrapped = json!(["apply_patch", patch]);
    let done = |harness: &str, call: Step| {
        let steps = script![call, finish(harness, "done"), finish(harness, "done")];
        Agent::new().harness(harness).model(steps).run("go")
    };
    for harness in harnesses() {
        // A model that was trained so writes it into the shell, in whichever harness.
        let heredoc = format!("apply_patch <<'EOF'\n{patch}\nEOF");
        for command in [heredoc, format!("apply_patch '{patch}'")] {
            done(harness, run(&command))
                .expect_exit(0)
                .expect_file("a.txt", "one\n");
        }
    }
    for harness in with_tools() {
        let (shell, arguments) = shell(harness, "");
        let keys = arguments.as_object().map(|o| o.keys().cloned().collect());
        for key in keys.unwrap_or_else(Vec::new) {
            done(harness, call(&shell, json!({key: wrapped})))
                .expect_exit(0)
                .expect_file("a.txt", "one\n");
        }
        for wire in WIRES {
            let wrapped = call("apply_patch", json!({"command": wrapped}));
            let run = Agent::new()
                .harness(harness)
                .wire(wire)
                .model(script![wrapped, finish(harness, "done")])
                .run("go")
                .expect_exit(0);
            if run.workspace().join("a.txt").exists() {
                run.expect_file("a.txt", "one\n");
                continue;
            }
            // The tools are named that there are, or the keys of this one; nothing is claimed about
            // the patch itself.
            let offered = strict::tools(&run.server.requests()[0].body);
            let own = offered.iter().find(|(name, _)| name == "apply_patch");
            let own = own.and_then(|(_, schema)| schema["properties"].as_object());
            let names: Vec<&String> = match own {
                Some(properties) => properties.keys().collect(),
                None => vec![&shell],
            };
            let (before, said) = (run.request_text(1), run.request_text(2));
            for name in names {
                let more =
                    said.matches(name.as_str()).count() > before.matches(name.as_str()).count();
                assert!(more, "{harness} on {wire}: {name} is not in {said}");
            }
            let claims = |text: &str| text.to_lowercase().matches("first line").count();
            assert_eq!(claims(&said), claims(&before), "{said}");
            if own.is_none() {
                break;
            }
        }
    }
}

#[cfg(unix)]
#[test]
pub fn o18_stdin_that_never_closes() {
    let wire = usual_wire();
    // The pipe is waited for five seconds, in all harnesses together.
    std::thread::scope(|threads| {
        for harness in harnesses() {
            threads.spawn(move || o18_stdin(harness, wire));
        }
    });
}

#[cfg(unix)]
fn o18_stdin(harness: &str, wire: &str) {
    let agent = || {
        Agent::new()
            .harness(harness)
            .wire(wire)
            .model(script![finish(harness, "hello")])
    };
    let (waits, _open) = agent().open_stdin();
    let run = waits.run("hi");
    assert!(run.took < Duration::from_secs(10), "{:?}", run.took);
    run.expect_exit(0)
        .expect_stdout("hello\n")
        .expect_stderr("left unread");
    let joined = agent().stdin("ctx-4711").run("hi").expect_exit(0);
    let sent = joined.request_text(1);
    assert!(sent.contains("hi\n\n<stdin>\nctx-4711\n</stdin>"), "{sent}");
    for line in [
        &["exec", "--skip-git-repo-check", "-"][..],
        &["exec", "--skip-git-repo-check"],
    ] {
        let whole = agent().stdin("whole prompt").start(line, None).finish();
        let sent = whole.expect_exit(0).request_text(1);
        assert!(sent.contains("whole prompt"), "{line:?}: {sent}");
    }
}

#[test]
pub fn o23_failure_carries_its_text() {
    for harness in harnesses() {
        let agent = || {
            Agent::new().harness(harness).model(script![
                run("echo out; echo err >&2; exit 7"),
                // The failed command is asked about once.
                finish(harness, "done"),
                finish(harness, "done")
            ])
        };
        let run = agent().run("go").expect_exit(0).expect_stdout("done\n");
        let said = result(&run, 2);
        for line in ["out", "err"] {
            let shown = said.lines().any(|l| l.ends_with(line));
            assert!(shown, "{harness}: no `{line}` in\n{said}");
        }
        assert!(numbers(&said).contains(&7), "{harness}: {said}");
        let run = agent().args(["--json"]).run("go").expect_exit(0);
        let lines = run.stdout.lines().map(serde_json::from_str);
        let events: Vec<Value> = lines.collect::<Result<_, _>>().expect("lines of JSON");
        let code = |event: &Value| event["item"]["exit_code"] == 7;
        assert!(events.iter().any(code), "{harness}: {}", run.stdout);
        let last = events.last().expect("an event");
        assert_eq!(last["type"], "turn.completed", "{harness}");
    }
}

#[cfg(unix)]
#[test]
pub fn o33_the_shell_is_named() {
    for harness in harnesses() {
        let agent = Agent::new().harness(harness).model(script![
            // Its own name, as it was started.
            run("echo \"this is ${0##*/}\""),
            finish(harness, "done")
        ]);
        let own = agent.workspace().with_file_name("zsh");
        std::os::unix::fs::symlink("/bin/bash", &own).expect("a link");
        let run = agent
            .env("SHELL", own.to_str().expect("UTF-8"))
            .run("hi")
            .expect_exit(0);
        let (sent, said) = (run.request_text(1), result(&run, 2));
        let folder = run.workspace().canonicalize().expect("a folder");
        assert!(
            sent.contains(&*folder.to_string_lossy()),
            "{harness}: {sent}"
        );
        if cfg!(target_os = "linux") {
            assert!(sent.contains("Linux"), "{harness}: {sent}");
        }
        // Some agents run everything with `sh` or `bash`; what runs is what was named.
        let ran = said.rsplit_once("this is ").map(|(_, rest)| rest);
        let ran = ran.and_then(|rest| rest.split(|c: char| !c.is_alphanumeric()).next());
        let ran = ran.unwrap_or_else(|| panic!("{harness}: {said}"));
        assert!(sent.contains(ran), "{harness} runs {ran} and names\n{sent}");
        let named = sent.contains("zsh");
        assert_eq!(named, ran == "zsh", "{harness} runs {ran}");
    }
}
