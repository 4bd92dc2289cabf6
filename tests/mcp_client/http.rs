use super::support::script::*;
use super::support::{Agent, Run};
use super::{SERVER, got, logged};
use crate::script;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// The scripted server on a port of its own. Dropped, it ends.
struct Remote {
    child: Child,
    folder: tempfile::TempDir,
    port: u16,
}

impl Remote {
    fn start(options: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let port_file = folder.path().join("port");
        let child = Command::new("python3")
            .arg(SERVER)
            .arg(folder.path().join("log"))
            .arg("--http")
            .arg(&port_file)
            .args(options)
            .spawn()
            .expect("python3");
        let end = Instant::now() + Duration::from_secs(20);
        let port = loop {
            if let Ok(text) = std::fs::read_to_string(&port_file) {
                break text.parse().expect("a port");
            }
            assert!(Instant::now() < end, "the server did not start");
            std::thread::sleep(Duration::from_millis(10));
        };
        Remote {
            child,
            folder,
            port,
        }
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// The headers of all requests with that HTTP method.
    fn headers(&self, method: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.log()).unwrap_or_default();
        let lines = text
            .lines()
            .map(|l| serde_json::from_str::<Value>(l).expect("JSON"));
        lines
            .filter(|l| l["http"] == method)
            .map(|l| l["headers"].clone())
            .collect()
    }

    fn run(&self, steps: Vec<Step>, more: &str, env: &[(&str, &str)]) -> Run {
        let config = format!(
            "[mcp_servers.demo]\nurl = \"http://127.0.0.1:{}/mcp\"\n{more}\n",
            self.port
        );
        let mut agent = Agent::new().config(&config).model(steps);
        for (name, value) in env {
            agent = agent.env(name, value);
        }
        agent.run("hi").expect_exit(0)
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn ping() -> Vec<Step> {
    script![call("mcp__demo__ping", json!({})), say("done")]
}

#[test]
fn a_server_at_an_address_is_used_and_left() {
    let remote = Remote::start(&[]);
    let run = remote.run(ping(), "", &[]);
    assert!(run.request_text(2).contains("pong"));
    let posts = remote.headers("POST");
    assert!(
        posts
            .iter()
            .all(|h| h["accept"] == "application/json, text/event-stream")
    );
    assert!(
        posts[0].get("mcp-session-id").is_none() && posts[0].get("mcp-protocol-version").is_none()
    );
    for later in &posts[1..] {
        assert_eq!(later["mcp-session-id"], "session-0");
        assert_eq!(later["mcp-protocol-version"], "2025-11-25");
    }
    assert_eq!(remote.headers("DELETE")[0]["mcp-session-id"], "session-0");
}

#[test]
fn a_stream_is_read_to_the_answer_with_questions_between() {
    let remote = Remote::start(&["--sse"]);
    let steps = script![
        call("mcp__demo__slow", json!({"seconds": 0.5})),
        call("mcp__demo__ask", json!({})),
        call("mcp__demo__change", json!({})),
        call("mcp__demo__added", json!({})),
        say("done")
    ];
    let run = remote.run(steps, "", &[]);
    assert!(run.request_text(2).contains("slow but done"));
    // Nobody can be asked here.
    assert!(run.request_text(3).contains("decline"));
    assert!(run.request_text(5).contains("this is added"));
}

#[test]
fn a_stream_that_ends_early_is_taken_up_after_the_wait_that_was_asked_for() {
    let remote = Remote::start(&["--sse", "--breaks"]);
    let run = remote.run(ping(), "", &[]);
    assert!(run.request_text(2).contains("pong"));
    let mut gets = remote.headers("GET");
    // The other one asks for a standing stream.
    gets.retain(|headers| headers.get("last-event-id").is_some());
    assert_eq!(gets.len(), 1);
    assert_eq!(gets[0]["last-event-id"], "7");
    assert_eq!(gets[0]["mcp-session-id"], "session-0");
    assert_eq!(got(&remote.log(), "tools/call").len(), 1);
}

/// A server may ask on a stream of its own, which stands beside the calls.
#[test]
fn a_server_is_heard_on_its_standing_stream() {
    let remote = Remote::start(&["--standing"]);
    let run = remote.run(
        script![
            call("mcp__demo__change", json!({})),
            run("sleep 1"),
            call("mcp__demo__added", json!({})),
            say("done")
        ],
        "",
        &[],
    );
    assert!(
        run.request_text(4).contains("this is added"),
        "{}",
        run.request_text(4)
    );
    assert_eq!(remote.headers("GET")[0]["mcp-session-id"], "session-0");
}

#[test]
fn a_session_that_is_gone_begins_anew_and_the_call_is_repeated() {
    let remote = Remote::start(&["--forgets"]);
    let steps = script![
        call("mcp__demo__ping", json!({})),
        call("mcp__demo__add", json!({"a": 1, "b": 2})),
        say("done")
    ];
    let run = remote.run(steps, "", &[]);
    assert!(
        run.request_text(3).contains("the sum is 3"),
        "{}",
        run.request_text(3)
    );
    assert_eq!(got(&remote.log(), "initialize").len(), 2);
    assert_eq!(got(&remote.log(), "notifications/initialized").len(), 2);
}

#[test]
fn tokens_and_headers_come_from_variables() {
    let remote = Remote::start(&["--token", "sesame"]);
    let more = "bearer_token_env_var = \"TOKEN\"\nhttp_headers = { X-A = \"1\", X-B = \"env:B\" }\nenv_http_headers = { X-C = \"C\", X-D = \"D\" }\n";
    let run = remote.run(
        ping(),
        more,
        &[("TOKEN", "sesame"), ("B", "bee"), ("C", "sea")],
    );
    assert!(run.request_text(2).contains("pong"));
    let headers = &remote.headers("POST")[0];
    assert_eq!(
        (&headers["x-a"], &headers["x-b"], &headers["x-c"]),
        (&json!("1"), &json!("bee"), &json!("sea"))
    );
    assert!(headers.get("x-d").is_none());

    let run = remote.run(script![say("done")], "", &[]);
    assert!(run.stderr.contains("wants a login"), "{}", run.stderr);
    assert!(
        run.stderr.contains("--bearer-token-env-var"),
        "{}",
        run.stderr
    );
    let more = "bearer_token_env_var = \"TOKEN\"\n";
    let run = remote.run(script![say("done")], more, &[("TOKEN", "stale-5")]);
    for part in [
        "refuses the token",
        "The token has expired",
        "bearer_token_env_var",
    ] {
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
    }
    assert!(!run.stderr.contains("stale-5"), "{}", run.stderr);
    let run = remote.run(
        script![say("done")],
        "bearer_token_env_var = \"TOKEN\"\n",
        &[],
    );
    assert!(run.stderr.contains("TOKEN"), "{}", run.stderr);
}

#[test]
fn a_stateless_server_gets_the_headers_of_its_revision() {
    let remote = Remote::start(&["--stateless"]);
    let run = remote.run(ping(), "", &[]);
    assert!(run.request_text(2).contains("pong"));
    let call = remote.headers("POST").pop().expect("a call");
    assert_eq!(
        (&call["mcp-method"], &call["mcp-name"]),
        (&json!("tools/call"), &json!("ping"))
    );
    assert_eq!(call["mcp-protocol-version"], "2026-07-28");
    assert!(call.get("mcp-session-id").is_none());
    assert!(remote.headers("DELETE").is_empty() && logged(&remote.log(), "got").len() >= 4);
}

#[test]
fn a_server_that_is_not_there_is_told() {
    let config = "[mcp_servers.demo]\nurl = \"http://127.0.0.1:9/mcp\"\n[mcp_servers.bad]\nurl = \"ftp://x\"\n";
    let run = Agent::new()
        .config(config)
        .model(script![say("done")])
        .run("hi")
        .expect_exit(0);
    assert!(
        run.stderr
            .contains("MCP server demo cannot be used: it cannot be reached"),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr.contains("no http or https address"),
        "{}",
        run.stderr
    );
    assert!(run.took < Duration::from_secs(8), "{:?}", run.took);
}

/// A near server is used offline, also where the kernel holds it; a far one is not even tried.
#[test]
fn offline_only_near_servers_are_used() {
    let remote = Remote::start(&[]);
    let far = "[mcp_servers.far]\nurl = \"https://mcp.example.com/mcp\"\n[mcp_servers.by_name]\nurl = \"http://tools.lan:9/mcp\"\n\
        [mcp_servers.by_number]\nurl = \"http://203.0.113.7/mcp\"\n";
    let run = remote.run(ping(), &format!("{far}\n[features]\n"), &[]);
    // Not offline they are tried.
    assert!(!run.stderr.contains("offline"), "{}", run.stderr);
    let config = format!(
        "[mcp_servers.demo]\nurl = \"http://127.0.0.1:{}/mcp\"\n{far}",
        remote.port
    );
    let run = Agent::new()
        .config(&config)
        .args(["--offline"])
        .model(ping())
        .run("hi")
        .expect_exit(0);
    assert!(run.request_text(2).contains("pong"), "{}", run.stderr);
    for (name, part) in [
        (
            "far",
            "it is at mcp.example.com, which is neither this machine nor its own network",
        ),
        ("by_number", "it is at 203.0.113.7, which"),
        (
            "by_name",
            "tools.lan, which would have to be looked up; write its IP address into url",
        ),
    ] {
        let line = format!("MCP server {name} cannot be used: offline: ");
        let said = run.stderr.lines().find(|l| l.contains(&line));
        assert!(
            said.is_some_and(|l| l.contains(part)),
            "{name}: {}",
            run.stderr
        );
    }
}
