//! Offline means offline: one peer, no look-up, and a kernel that holds it.
//!
//! Where the world is looked at from outside, the test runs again in a network of its own, in
//! which nothing but loopback is up, and the binary runs under a trace of its system calls. What
//! cannot be tried here is skipped with a line that begins with `SKIPPED`; `.ci/run` fails on it.
#![cfg(target_os = "linux")]

mod support;

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use support::script::*;
use support::{Agent, Run, harnesses};

/// Set in the run inside.
const INSIDE: &str = "OFFLINE_TEST_INSIDE";

/// Brings loopback up with nothing but Python's own library.
const LOOPBACK_UP: &str = "
import fcntl, socket, struct
s = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
fcntl.ioctl(s, 0x8914, struct.pack('16sH14x', b'lo', 0x41))
";

fn works(program: &str, args: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|s| s.success())
}

/// Runs `body` in a network of its own; `test` is the name of the test that calls this.
fn alone(test: &str, body: fn()) {
    if std::env::var_os(INSIDE).is_some() {
        assert!(
            works("python3", &["-c", LOOPBACK_UP]),
            "loopback stays down"
        );
        return body();
    }
    let skip = |why: &str| println!("SKIPPED {test}: {why}");
    // Root may do it at once; everybody else becomes root of a user namespace first.
    let Some(how) = ["-n", "-rn"]
        .into_iter()
        .find(|how| works("unshare", &[how, "true"]))
    else {
        return skip("no network namespace can be made with `unshare`");
    };
    if !works("strace", &["-f", "-o", "/dev/null", "true"]) {
        return skip("`strace` is missing or may not trace");
    }
    if !works("python3", &["--version"]) {
        return skip("python3 is missing");
    }
    let out = Command::new("unshare")
        .arg(how)
        .arg(std::env::current_exe().expect("this program"))
        .args(["--exact", test, "--nocapture"])
        .env(INSIDE, "1")
        .output()
        .expect("unshare starts");
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let errors = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{text}{errors}");
    assert!(
        text.contains("1 passed"),
        "the test inside did not run:\n{text}"
    );
}

/// An agent whose network calls, and those of all that it starts, go into a file.
fn traced(agent: Agent) -> (Agent, std::path::PathBuf) {
    let file = agent.workspace().with_file_name("trace");
    let path = file.to_str().expect("UTF-8").to_owned();
    let agent = agent.under(["strace", "-f", "-e", "trace=network", "-o", &path]);
    (agent, file)
}

/// Every `ADDRESS:PORT` that a trace connects or sends to. A look-up in any form fails the test.
fn peers(trace: &Path) -> BTreeSet<String> {
    let text = std::fs::read_to_string(trace).expect("the trace");
    assert!(text.contains("connect("), "the trace is empty:\n{text}");
    let mut peers = BTreeSet::new();
    for line in text.lines() {
        assert!(
            !line.contains("listen("),
            "somebody could connect to it: {line}"
        );
        let datagram = line.contains("SOCK_DGRAM") || line.contains("SOCK_RAW");
        assert!(!(line.contains("socket(AF_INET") && datagram), "{line}");
        // A daemon behind a named socket could look a name up for us.
        assert!(
            !line.contains("connect(") || !line.contains("AF_UNIX"),
            "{line}"
        );
        let part = |before: &str| {
            let (_, rest) = line.split_once(before)?;
            Some(rest.split([')', '"']).next().unwrap_or_default().to_owned())
        };
        if let Some(port) = part("sin_port=htons(").or_else(|| part("sin6_port=htons("))
            && (line.contains("connect(") || line.contains("sendto(") || line.contains("sendm"))
        {
            let host = part("inet_addr(\"").or_else(|| part("AF_INET6, \""));
            peers.insert(format!("{}:{port}", host.unwrap_or_default()));
        }
    }
    peers
}

fn one_peer(port: u16) -> BTreeSet<String> {
    BTreeSet::from([format!("127.0.0.1:{port}")])
}

#[test]
fn a_session_has_one_peer_and_looks_nothing_up() {
    alone("a_session_has_one_peer_and_looks_nothing_up", || {
        let runs = [
            (None, "chat"),
            (None, "ollama"),
            (None, "responses"),
            (None, "messages"),
            (Some("--offline"), "chat"),
            (Some("--offline"), "ollama"),
        ];
        for (harness, (flag, wire)) in harnesses().flat_map(|h| runs.map(|r| (h, r))) {
            let agent = Agent::new()
                .harness(harness)
                .wire(wire)
                .model(script![run("echo hello"), finish(harness, "done")])
                .env("OPENAI_API_KEY", "sk-test")
                .env("HTTP_PROXY", "http://proxy.example.com:3128");
            let (agent, trace) = traced(agent);
            let mut line = vec!["exec", "--skip-git-repo-check"];
            line.extend(flag);
            let run = agent.start(&line, Some("hi")).finish();
            let run = run
                .expect_exit(0)
                .expect_stdout("done\n")
                .expect_requests(2);
            assert!(
                run.request_text(2).contains("hello"),
                "the command did not run"
            );
            assert_eq!(
                peers(&trace),
                one_peer(run.server.port()),
                "{harness} {flag:?} {wire}"
            );
        }
    });
}

#[test]
fn a_dead_server_is_named_and_no_other_is_tried() {
    alone("a_dead_server_is_named_and_no_other_is_tried", || {
        let dead = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = dead.local_addr().expect("an address").port();
        drop(dead);
        let address = format!("http://127.0.0.1:{port}/v1");
        let base = format!("model_providers.mock.base_url={address:?}");
        let (agent, trace) = traced(Agent::new().env("OPENAI_API_KEY", "sk-test"));
        let flags = [
            "-c",
            &base,
            "-c",
            "model_provider=\"mock\"",
            "exec",
            "--skip-git-repo-check",
        ];
        let run = agent.start(&flags, Some("hi")).finish();
        assert!(run.took < Duration::from_secs(30), "{:?}", run.took);
        assert_eq!(peers(&trace), one_peer(port));
        run.expect_exit(1)
            .expect_stderr(&address)
            .expect_requests(0);
    });
}

/// The best of some tries: a busy machine is no fault, a wait in the program is.
#[test]
fn nothing_is_waited_for_before_the_first_request() {
    for harness in harnesses() {
        let go = || {
            Agent::new()
                .harness(harness)
                .model(script![finish(harness, "done")])
                .run("hi")
                .expect_exit(0)
                .took
        };
        let mut tries = (0..8).map(|_| go());
        assert!(tries.any(|took| took < Duration::from_secs(1)), "{harness}");
    }
}

/// Tries every way out and prints the ones that are open.
const WAYS_OUT: &str = "
import socket, sys
other = int(sys.argv[1])
def stream():
    s = socket.socket()
    s.settimeout(2)
    return s
def way(name, go):
    try:
        go()
        print('open:' + name)
    except BlockingIOError:
        print('open:' + name)
    except OSError:
        pass
way('tcp', lambda: stream().connect(('127.0.0.1', other)))
way('fast', lambda: stream().sendto(b'x', 0x20000000, ('127.0.0.1', other)))
way('udp', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(('127.0.0.1', other)))
way('mptcp', lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262))
";

#[test]
fn the_kernel_holds_it_for_commands_too() {
    let open = |flag: Option<&str>| -> (Run, String) {
        let other = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = other.local_addr().expect("an address").port();
        let mut line = vec!["exec", "--skip-git-repo-check", "--yolo"];
        line.extend(flag);
        let run = Agent::new()
            .model(script![
                run(&format!("python3 out.py {port}; echo end")),
                say("done")
            ])
            .file("out.py", WAYS_OUT)
            .start(&line, Some("hi"))
            .finish()
            .expect_exit(0);
        let said = run.request_text(2);
        assert!(said.contains("end"), "{said}");
        (run, said)
    };
    let (_, without) = open(None);
    assert!(
        without.contains("open:tcp") && without.contains("open:udp"),
        "{without}"
    );
    let (run, held) = open(Some("--offline"));
    if run.stderr.contains("cannot hold it") {
        println!(
            "SKIPPED the_kernel_holds_it_for_commands_too: {}",
            run.stderr
        );
        return;
    }
    let note = format!(
        "offline (enforced): connections to port {} only",
        run.server.port()
    );
    let run = run.expect_stderr(&note);
    assert!(!held.contains("open:"), "{held}");
    // A session goes on offline with the provider that it had.
    run.again(
        &[
            "exec",
            "resume",
            "--skip-git-repo-check",
            "--last",
            "--offline",
        ],
        Some("more"),
    )
    .expect_exit(0)
    .expect_stderr(&note);
}

#[test]
fn what_is_far_away_is_refused() {
    let refused = |agent: Agent, words: [&str; 2]| {
        let run = agent
            .args(["--offline"])
            .run("hi")
            .expect_exit(1)
            .expect_requests(0);
        words
            .iter()
            .for_each(|w| assert!(run.stderr.contains(w), "{w}: {}", run.stderr));
    };
    refused(
        Agent::new().args(["-c", "model_provider=\"openai\""]),
        ["api.openai.com", "--oss"],
    );
    refused(
        Agent::new().args([
            "-c",
            "model_providers.mock.base_url=\"http://gpu.local:1/v1\"",
        ]),
        ["gpu.local", "IP address"],
    );
    refused(
        Agent::new().wire("ollama").args(["-m", "mock:cloud"]),
        ["mock:cloud", "remote"],
    );
    // The key in the config does the same; without either, a remote model is only warned about.
    refused(
        Agent::new()
            .config("offline = true\n")
            .args(["-c", "model_provider=\"anthropic\""]),
        ["api.anthropic.com", "--offline"],
    );
    let run = Agent::new()
        .wire("ollama")
        .model(script![say("done")])
        .args(["-m", "mock:cloud"]);
    run.run("hi").expect_exit(0).expect_stderr("remote server");
}
