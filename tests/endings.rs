//! A signal at every stage of a turn, to `exec` and to the agent of an editor: no process is left,
//! and the session resumes.
#![cfg(target_os = "linux")]

#[path = "acp/editor.rs"]
mod editor;
mod support;

use editor::{Editor, silent};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};
use support::script::*;
use support::{Agent, Run, Running, strict};

/// Interrupt, terminate, kill: the number of the signal and the exit code after it.
const INTERRUPT: (i32, i32) = (2, 130);
const TERMINATE: (i32, i32) = (15, 143);
const KILL: (i32, i32) = (9, 137);

/// How long the end may take.
const LIMIT: Duration = Duration::from_millis(1_500);

/// What the turn is at when the signal comes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Stage {
    /// The request is out, and nothing has come back.
    Waiting,
    /// The reply is on its way.
    Streaming,
    /// A command runs, with children of its own and one that left its session.
    Command,
    /// A command runs in the background, and the model is waited for.
    Background,
    /// A tool of an MCP server runs.
    Server,
    /// The person is asked; `exec` asks nobody.
    Asked,
    /// The model writes a summary of the conversation.
    Compacting,
    /// Steps follow one another, each of which is written to the session's file.
    Writing,
}

const ALL: [Stage; 8] = [
    Stage::Waiting,
    Stage::Streaming,
    Stage::Command,
    Stage::Background,
    Stage::Server,
    Stage::Asked,
    Stage::Compacting,
    Stage::Writing,
];

/// Words of some length, no two the same.
fn talk(step: usize) -> String {
    let point = |n: usize| format!("Point {} is about file {}. ", n * 31 + step, n * 7 + step);
    (0..60).map(point).collect()
}

impl Stage {
    /// What the model does until then.
    fn steps(self) -> Vec<Step> {
        let late = || say("late").after(Duration::from_secs(30));
        let command = "echo begun > begun.txt; (setsid sleep 97 &); sleep 98 & sleep 99";
        match self {
            Stage::Waiting => script![late()],
            Stage::Streaming => script![say(&talk(1)).paced(Duration::from_millis(300))],
            Stage::Command => script![run(command)],
            Stage::Background => script![run("(sleep 97 & sleep 98 &); sleep 0.1"), late()],
            Stage::Server => script![call("mcp__demo__slow", serde_json::json!({"seconds": 60}))],
            Stage::Asked => script![run("rm -rf gone")],
            Stage::Compacting => {
                let step = |n: usize| run(&format!("echo {n}")).with_text(&talk(n));
                let overflow = r#"{"error":{"message":"This model's maximum context length is 6000 tokens."}}"#;
                let mut steps: Vec<Step> = (0..8).map(step).collect();
                // The summary is asked for after the refusal, and once more after the resume.
                steps.extend([fail(400, overflow), late(), say("A short summary.")]);
                steps
            }
            Stage::Writing => (0..60).map(|n| run(&format!("seq {n} 200"))).collect(),
        }
    }

    /// An agent that comes to this stage, with a server that has a child.
    fn agent(self) -> Agent {
        let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/mcp_server.py");
        let config = format!(
            "[mcp_servers.demo]\ncommand = \"python3\"\nargs = [{program:?}, \"../demo.log\", \"--child\"]\nrequired = true\n"
        );
        let mut steps = self.steps();
        steps.extend((0..4).map(|_| say("two")));
        let window = if self == Stage::Compacting {
            8_192
        } else {
            32_768
        };
        Agent::new()
            .harness("native")
            .window(window)
            .config(&config)
            .model(steps)
    }

    /// Waits until the turn is there.
    fn reach(self, running: &Running) {
        let home = running.home.path();
        match self {
            Stage::Waiting => running.wait_for_requests(1),
            Stage::Streaming => {
                running.wait_for_requests(1);
                std::thread::sleep(Duration::from_millis(500));
            }
            Stage::Command => wait_until("the command", || home.join("ws/begun.txt").exists()),
            Stage::Background => running.wait_for_requests(2),
            Stage::Server => wait_until("the call", || {
                let log = fs::read_to_string(home.join("demo.log")).unwrap_or_default();
                log.contains("\"tools/call\"")
            }),
            Stage::Asked => unreachable!("the editor is asked"),
            Stage::Compacting => running.wait_for_requests(10),
            Stage::Writing => running.wait_for_requests(7),
        }
    }
}

fn wait_until(what: &str, done: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !done() {
        assert!(Instant::now() < end, "{what} did not come");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Processes that came from a run: the home is in their environment or on their command line.
fn left(home: &Path) -> Vec<String> {
    let home = home.to_string_lossy().into_owned();
    let has = |bytes: std::io::Result<Vec<u8>>| {
        bytes.is_ok_and(|b| String::from_utf8_lossy(&b).contains(&home))
    };
    let entries = fs::read_dir("/proc")
        .expect("a list")
        .flatten()
        .map(|e| e.path());
    entries
        .filter(|p| has(fs::read(p.join("environ"))) || has(fs::read(p.join("cmdline"))))
        .map(|p| {
            fs::read_to_string(p.join("cmdline"))
                .unwrap_or_default()
                .replace('\0', " ")
        })
        .collect()
}

/// Nothing lives on a second after the end.
fn expect_nothing_left(home: &Path, label: &str) {
    let end = Instant::now() + Duration::from_secs(1);
    loop {
        let left = left(home);
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < end, "{label}: still there: {left:#?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The session goes on with what was said in it.
fn expect_resumes(run: Run, id: &str, label: &str) {
    let before = run.server.requests().len();
    let resume = ["exec", "--json", "--skip-git-repo-check", "resume", id];
    let run = run.again(&resume, Some("second-words"));
    assert_eq!(run.code, 0, "{label}: {}{}", run.stdout, run.stderr);
    let requests = run.server.requests();
    let text = |n: usize| strict::all_text(&requests[n].body);
    assert!(text(before).contains("first-words"), "{label}");
    assert!(text(requests.len() - 1).contains("second-words"), "{label}");
    expect_nothing_left(run.home.path(), label);
}

fn exec(signal: i32, code: i32) {
    for stage in ALL.into_iter().filter(|s| *s != Stage::Asked) {
        let label = format!("exec, {stage:?}, signal {signal}");
        let running = stage
            .agent()
            .args(["--json"])
            .start(&["exec", "--skip-git-repo-check"], Some("first-words"));
        stage.reach(&running);
        assert!(
            !left(running.home.path()).is_empty(),
            "{label}: the check sees nothing"
        );
        let began = Instant::now();
        running.signal(signal);
        let run = running.finish();
        assert!(began.elapsed() < LIMIT, "{label}: {:?}", began.elapsed());
        let run = run.expect_exit(code);
        expect_nothing_left(run.home.path(), &label);
        // Whole lines; a kill may cut the last one.
        let lines = run
            .stdout
            .lines()
            .map_while(|l| serde_json::from_str(l).ok());
        let events: Vec<Value> = lines.collect();
        let ends = |e: &Value| e["type"] == "turn.completed" || e["type"] == "turn.failed";
        assert!(!events.iter().any(ends), "{label}: {}", run.stdout);
        let id = events[0]["thread_id"].as_str().expect("an id").to_owned();
        expect_resumes(run, &id, &label);
    }
}

fn acp(signal: i32, code: i32) {
    for stage in ALL {
        let label = format!("acp, {stage:?}, signal {signal}");
        let policy = if stage == Stage::Asked {
            "untrusted"
        } else {
            "never"
        };
        let mut editor = Editor::start(stage.agent().config_of("approval_policy", policy));
        editor.reply = silent;
        let session = editor.open();
        editor.begin(&session, "first-words");
        let told = |editor: &mut Editor, what: &str| {
            editor.until(what, |m| {
                m["method"] == what || m["params"]["update"]["sessionUpdate"] == what
            });
        };
        match stage {
            Stage::Asked => told(&mut editor, "session/request_permission"),
            Stage::Streaming => told(&mut editor, "agent_message_chunk"),
            stage => stage.reach(&editor.running),
        }
        assert!(
            !left(editor.running.home.path()).is_empty(),
            "{label}: the check sees nothing"
        );
        let Editor { running, stdin, .. } = editor;
        let began = Instant::now();
        running.signal(signal);
        let run = running.finish();
        // The editor was there until then.
        drop(stdin);
        assert!(began.elapsed() < LIMIT, "{label}: {:?}", began.elapsed());
        let run = run.expect_exit(code);
        expect_nothing_left(run.home.path(), &label);
        expect_resumes(run, &session, &label);
    }
}

#[test]
fn exec_is_interrupted() {
    exec(INTERRUPT.0, INTERRUPT.1);
}

#[test]
fn exec_is_terminated() {
    exec(TERMINATE.0, TERMINATE.1);
}

#[test]
fn exec_is_killed() {
    exec(KILL.0, KILL.1);
}

#[test]
fn the_agent_of_an_editor_is_interrupted() {
    acp(INTERRUPT.0, INTERRUPT.1);
}

#[test]
fn the_agent_of_an_editor_is_terminated() {
    acp(TERMINATE.0, TERMINATE.1);
}

#[test]
fn the_agent_of_an_editor_is_killed() {
    acp(KILL.0, KILL.1);
}
