//! Against a server of a few lines that answers each connection as a test wants it.

use super::super::chat::testing::request;
use super::super::{Finish, WireApi};
use super::*;
use serde_json::{Map, json};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver};
use std::thread;

pub(super) fn provider(base_url: &str) -> Provider {
    Provider {
        id: "test".to_owned(),
        name: "Test".to_owned(),
        base_url: base_url.to_owned(),
        wire: WireApi::Chat,
        local: None,
        headers: vec![("authorization".to_owned(), "Bearer key".to_owned())],
        request_retries: 4,
        stream_retries: 5,
        ..Provider::default()
    }
}

/// Writes an answer; the connection closes when it returns.
type Answer = Box<dyn FnOnce(&mut TcpStream) + Send>;

/// A server with one answer a connection. Gives its address, and each request as it came.
fn serve(answers: Vec<Answer>) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let (sender, requests) = mpsc::channel();
    thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            sender.send(read_request(&mut stream)).ok();
            answer(&mut stream);
        }
    });
    (url, requests)
}

fn read_request(stream: &mut TcpStream) -> String {
    let (mut seen, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let n = stream.read(&mut buffer).unwrap();
        seen.extend_from_slice(&buffer[..n]);
        let text = String::from_utf8_lossy(&seen).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head.lines().find_map(|l| {
            l.to_lowercase()
                .strip_prefix("content-length: ")?
                .parse()
                .ok()
        });
        if n == 0 || body.len() >= length.unwrap_or(0) {
            return text;
        }
    }
}

fn answer(status: &'static str, headers: &'static str, body: impl Into<String>) -> Answer {
    let body = body.into();
    Box::new(move |stream| {
        let head = format!("HTTP/1.1 {status}\r\nconnection: close\r\n{headers}\r\n{body}");
        stream.write_all(head.as_bytes()).ok();
    })
}

fn sse(body: &str) -> Answer {
    answer("200 OK", "content-type: text/event-stream\r\n", body)
}

/// Sends `before`, then nothing, and reports when the client has left.
fn hang(before: &'static str, left: mpsc::Sender<Instant>) -> Answer {
    Box::new(move |stream| {
        stream.write_all(before.as_bytes()).unwrap();
        assert!(
            !matches!(stream.read(&mut [0]), Ok(1)),
            "the client only leaves"
        );
        left.send(Instant::now()).ok();
    })
}

const HEAD: &str =
    "HTTP/1.1 200 OK\r\n\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n";
const HI: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
const HALF: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n";

/// Runs a request to the end and gives what was streamed beside the result.
fn run(provider: &Provider, cancel: &Cancel) -> (Vec<Delta>, Result<Reply, ModelError>) {
    let (extra, mut deltas) = (Map::new(), Vec::new());
    let reply = stream(
        provider,
        &request(&[], &[], &extra, true),
        cancel,
        &mut |delta| {
            deltas.push(delta);
            Flow::Go
        },
    );
    (deltas, reply)
}

fn retries(deltas: &[Delta]) -> usize {
    deltas
        .iter()
        .filter(|d| matches!(d, Delta::Retry { .. }))
        .count()
}

#[test]
fn a_request_and_its_reply() {
    let (url, requests) = serve(vec![sse(HI)]);
    let mut provider = provider(&url);
    provider.query.push(("v".into(), "1".into()));
    let (deltas, reply) = run(&provider, &Cancel::new());
    let reply = reply.unwrap();
    assert_eq!(deltas, [Delta::Text("Hi".into())]);
    assert_eq!(reply.assistant.text, "Hi");
    assert!(
        reply
            .timing
            .first_token
            .is_some_and(|first| first <= reply.timing.total)
    );
    let sent = requests.recv().unwrap();
    let (head, body) = sent.split_once("\r\n\r\n").unwrap();
    let head = head.to_lowercase();
    assert!(
        head.starts_with("post /v1/chat/completions?v=1 http/1.1"),
        "{head}"
    );
    for header in [
        "authorization: bearer key",
        "content-type: application/json",
        "accept: text/event-stream",
    ] {
        assert_eq!(head.matches(header).count(), 1, "{head}");
    }
    assert!(!head.contains("accept-encoding"), "{head}");
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(body).unwrap()["model"],
        "m"
    );
}

#[test]
fn a_cancel_closes_the_connection_at_once() {
    for before in ["", HEAD] {
        let (sender, left) = mpsc::channel();
        let (url, requests) = serve(vec![hang(before, sender)]);
        let cancel = Cancel::new();
        let other = cancel.clone();
        let stopper = thread::spawn(move || {
            requests.recv().unwrap();
            thread::sleep(Duration::from_millis(100));
            other.cancel();
            Instant::now()
        });
        let (_, reply) = run(&provider(&url), &cancel);
        let back = Instant::now();
        assert_eq!(reply, Err(ModelError::Interrupted));
        let cancelled = stopper.join().unwrap();
        let limit = Duration::from_millis(200);
        assert!(
            back - cancelled < limit,
            "back after {:?}",
            back - cancelled
        );
        let left = left.recv_timeout(Duration::from_secs(5)).unwrap();
        assert!(
            left - cancelled < limit,
            "left after {:?}",
            left - cancelled
        );
    }
}

#[test]
fn a_cut_ends_the_stream_and_keeps_what_came() {
    let (sender, left) = mpsc::channel();
    let (url, _requests) = serve(vec![hang(HEAD, sender)]);
    let extra = Map::new();
    let request = request(&[], &[], &extra, true);
    let reply = stream(&provider(&url), &request, &Cancel::new(), &mut |_| {
        Flow::Cut
    })
    .unwrap();
    assert_eq!(
        (reply.finish, reply.assistant.text.as_str()),
        (Finish::Cut, "Hi")
    );
    assert!(left.recv_timeout(Duration::from_millis(200)).is_ok());
}

#[test]
fn what_may_pass_is_tried_again() {
    let busy = answer("429 Too Many", "retry-after-ms: 30\r\n", "{}");
    let (url, requests) = serve(vec![answer("500 Oops", "", "{}"), busy, sse(HALF), sse(HI)]);
    let (deltas, reply) = run(&provider(&url), &Cancel::new());
    assert_eq!(reply.unwrap().assistant.text, "Hi");
    assert_eq!(requests.iter().take(4).count(), 4);
    assert_eq!(retries(&deltas), 3);
    let first = Delta::Retry {
        attempt: 1,
        of: 4,
        why: format!("{url}/chat/completions answered 500: no reason given (status 500)"),
    };
    assert_eq!(deltas[0], first);
}

#[test]
fn a_chunked_body_that_breaks_inside_a_chunk_is_broken_unless_the_reply_was_complete() {
    let chunked = |body: &str| {
        let body = format!("{:x}\r\n{body}\r\n1f\r\nda", body.len());
        answer("200 OK", "transfer-encoding: chunked\r\n", body)
    };
    let finished = HI.replace("data: [DONE]\n\n", "");
    let (url, requests) = serve(vec![chunked(HALF), chunked(&finished)]);
    let (deltas, reply) = run(&provider(&url), &Cancel::new());
    assert_eq!(reply.unwrap().assistant.text, "Hi");
    assert_eq!((requests.iter().count(), retries(&deltas)), (2, 1));
}

#[test]
fn a_stream_that_always_breaks_is_given_up() {
    let (url, requests) = serve((0..2).map(|_| sse(HALF)).collect());
    let mut provider = provider(&url);
    provider.stream_retries = 1;
    let (deltas, reply) = run(&provider, &Cancel::new());
    let error = reply.unwrap_err();
    assert!(matches!(error, ModelError::Broken { .. }), "{error:?}");
    assert!(error.to_string().contains(&url), "{error}");
    assert_eq!((requests.iter().count(), retries(&deltas)), (2, 1));
}

#[test]
fn a_server_that_loads_its_model_is_waited_for() {
    let body = r#"{"error":{"message":"Loading model","type":"unavailable_error","code":503}}"#;
    let loading = || answer("503 Service Unavailable", "", body);
    let (url, _requests) = serve(vec![loading(), loading(), sse(HI)]);
    let mut provider = provider(&url);
    provider.request_retries = 0;
    let (deltas, reply) = run(&provider, &Cancel::new());
    assert_eq!(reply.unwrap().assistant.text, "Hi");
    assert_eq!(retries(&deltas), 1, "said once");
}

#[test]
fn silence_beyond_the_idle_limit_is_an_error() {
    for before in ["", HEAD] {
        let (sender, _left) = mpsc::channel();
        let (url, requests) = serve(vec![hang(before, sender)]);
        let mut provider = provider(&url);
        provider.idle_limit = Some(Duration::from_millis(150));
        let (_, reply) = run(&provider, &Cancel::new());
        let error = reply.unwrap_err();
        assert!(matches!(error, ModelError::Idle { .. }), "{error:?}");
        assert!(error.to_string().contains("stream_idle_timeout_ms"));
        assert_eq!(requests.iter().count(), 1, "not tried again");
    }
}

#[test]
fn nothing_listens_there() {
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    for host in ["127.0.0.1", "localhost"] {
        let url = format!("http://{host}:{port}/v1");
        let started = Instant::now();
        let (deltas, reply) = run(&provider(&url), &Cancel::new());
        let error = reply.unwrap_err();
        assert!(matches!(error, ModelError::Unreachable { .. }), "{error:?}");
        assert!(error.to_string().contains(&url), "{error}");
        assert_eq!(retries(&deltas), 2);
        assert!(started.elapsed() < Duration::from_secs(5));
    }
}

#[test]
fn an_error_is_an_error_whatever_its_status() {
    let stream_error = "data: {\"error\":{\"message\":\"No\",\"code\":\"insufficient_quota\"}}\n\n";
    let cases: Vec<(Answer, &str)> = vec![
        (
            answer("401 Unauthorized", "", r#"{"error":{"message":"Bad key"}}"#),
            "refused the key: Bad key",
        ),
        (
            answer("307 Moved", "location: https://x.example/y?key=z\r\n", ""),
            "https://x.example/y;",
        ),
        (
            answer("200 OK", "content-encoding: gzip\r\n", "\u{1f}\u{8b}"),
            "packed with gzip although nothing",
        ),
        (
            answer("200 OK", "", r#"{"error":"Unexpected endpoint"}"#),
            "Unexpected endpoint",
        ),
        (
            answer("200 OK", "", "<html><title>Log in</title></html>"),
            "Log in",
        ),
        (sse(stream_error), "No (insufficient_quota)"),
        (
            answer("404 Not Found", "", r#"{"error":"model 'm' not found"}"#),
            "has no model `m`",
        ),
    ];
    for (answer, words) in cases {
        let (url, requests) = serve(vec![answer]);
        let error = run(&provider(&url), &Cancel::new())
            .1
            .unwrap_err()
            .to_string();
        assert!(error.contains(words), "{error}");
        assert_eq!(requests.iter().count(), 1, "{error}");
    }
}

#[test]
fn side_requests_are_bounded_in_time_and_size() {
    let cancel = Cancel::new();
    let limit = Duration::from_secs(5);
    let get = |answer: Answer, limit| {
        let (url, _requests) = serve(vec![answer]);
        get_json(&url, &[], None, limit, &cancel)
    };
    assert_eq!(
        get(answer("200 OK", "", r#"{"a":1,"error":null}"#), limit),
        Ok(json!({"a": 1, "error": null}))
    );
    for (answer, status) in [
        (answer("404 Not Found", "", "no"), 404),
        (answer("200 OK", "", r#"{"error":"no"}"#), 200),
        (answer("200 OK", "", "Ollama is running"), 200),
    ] {
        let error = get(answer, limit).unwrap_err();
        assert!(
            matches!(error, ModelError::Status { status: s, .. } if s == status),
            "{error:?}"
        );
    }
    let (sender, _left) = mpsc::channel();
    let slow = get(
        hang("HTTP/1.1 200 OK\r\n\r\n{", sender),
        Duration::from_millis(150),
    );
    assert!(
        matches!(slow, Err(ModelError::Unreachable { .. })),
        "{slow:?}"
    );
    let large = get(answer("200 OK", "", " ".repeat((16 << 20) + 1)), limit);
    assert!(
        matches!(&large, Err(ModelError::Unreachable { why, .. }) if why.contains("larger")),
        "{large:?}"
    );

    let (url, requests) = serve(vec![answer("200 OK", "", "[]")]);
    let headers = [("x-api-key".to_owned(), "k".to_owned())];
    assert_eq!(
        post_json(&url, &headers, &json!({"b": 2}), None, limit, &cancel),
        Ok(json!([]))
    );
    let sent = requests.recv().unwrap().to_lowercase();
    assert!(
        sent.starts_with("post /v1 ") && sent.ends_with(r#"{"b":2}"#),
        "{sent}"
    );
    assert!(sent.contains("x-api-key: k"), "{sent}");
    cancel.cancel();
    assert_eq!(
        get_json(&url, &[], None, limit, &cancel),
        Err(ModelError::Interrupted)
    );
}

#[test]
fn silence_is_told_every_ten_seconds_and_counts_from_the_last_news() {
    let mut told = Vec::new();
    let mut on = |delta| {
        told.push(delta);
        Flow::Go
    };
    let mut listener = Listener::new(&mut on);
    let past = |seconds| {
        Instant::now()
            .checked_sub(Duration::from_secs(seconds))
            .unwrap()
    };
    (listener.heard, listener.told) = (past(31), past(11));
    assert_eq!((listener.tick(), listener.tick()), (Flow::Go, Flow::Go));
    listener.tell(Delta::Text("x".into()));
    assert!(listener.heard.elapsed() < Duration::from_secs(5));
    assert!(
        matches!(told[..], [Delta::Waiting(w), Delta::Text(_)] if w.as_secs() == 31),
        "{told:?}"
    );
}
