use super::*;
use crate::cancel::Cancel;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Cursor, PipeReader, PipeWriter, Read, Write, pipe};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const SOON: Duration = Duration::from_secs(5);

/// A peer, what it reports, and the raw ends of the other side.
struct Wired {
    peer: Peer,
    incoming: Receiver<Incoming>,
    to: PipeWriter,
    from: BufReader<PipeReader>,
}

fn wired(settings: Settings) -> Wired {
    let (read, to) = pipe().unwrap();
    let (from, write) = pipe().unwrap();
    let (sender, incoming) = channel();
    let peer = Peer::start(read, write, settings, move |_, what| {
        let _ = sender.send(what);
    });
    let from = BufReader::new(from);
    Wired {
        peer,
        incoming,
        to,
        from,
    }
}

impl Wired {
    fn say(&mut self, line: &str) {
        writeln!(self.to, "{line}").unwrap();
    }

    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn next(&self) -> Incoming {
        self.incoming.recv_timeout(SOON).unwrap()
    }

    fn noise(&self) -> String {
        match self.next() {
            Incoming::Noise(text) => text,
            other => panic!("{other:?}"),
        }
    }
}

/// The examples of section 7 of the JSON-RPC 2.0 specification.
#[test]
fn the_examples_of_the_specification_are_read() {
    let read = |text: &str| Message::read_all(text.as_bytes());
    let request = r#"{"jsonrpc": "2.0", "method": "subtract", "params": [42, 23], "id": 1}"#;
    let (id, method) = (Id::from(1), "subtract".to_owned());
    let params = json!([42, 23]);
    let expected = Message::Request { id, method, params };
    assert_eq!(read(request), Ok(vec![Ok(expected)]));
    let (method, params) = ("foobar".to_owned(), Value::Null);
    assert_eq!(
        read(r#"{"jsonrpc": "2.0", "method": "foobar"}"#),
        Ok(vec![Ok(Message::Notification { method, params })])
    );
    let response = r#"{"jsonrpc": "2.0", "error": {"code": -32601, "message": "Method not found"}, "id": "1"}"#;
    let result = Err(Fault::new(-32601, "Method not found"));
    let id = Id::Text("1".into());
    assert_eq!(
        read(response),
        Ok(vec![Ok(Message::Response { id, result })])
    );
    let broken = r#"{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]"#;
    assert_eq!(read(broken).unwrap_err().code, -32700);
    let invalid = r#"{"jsonrpc": "2.0", "method": 1, "params": "bar"}"#;
    let malformed = read(invalid).unwrap().remove(0).unwrap_err();
    assert_eq!((malformed.id, malformed.fault.code), (Id::Null, -32600));
    let batch = read("[1,2,3]").unwrap();
    assert!(
        batch
            .iter()
            .all(|m| m.as_ref().is_err_and(|e| e.fault.code == -32600))
    );
    assert_eq!(batch.len(), 3);
}

#[test]
fn ids_go_back_as_they_came() {
    for id in ["0", "7", "\"7\"", "\"a-b\"", "null", "1.5"] {
        let mut w = wired(Settings::server("t"));
        w.say(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"m","params":{{}}}}"#
        ));
        let Incoming::Call(call) = w.next() else {
            panic!()
        };
        call.answer(Ok(json!({})));
        let mut line = String::new();
        w.from.read_line(&mut line).unwrap();
        assert_eq!(
            line,
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n")
        );
    }
}

#[test]
fn both_sides_ask_at_the_same_time_and_answers_come_in_any_order() {
    let mut w = wired(Settings::client("t"));
    let first = w.peer.ask("one", json!({"a": 1})).unwrap();
    let second = w.peer.ask("two", Value::Null).unwrap();
    let heard = w.hear();
    assert_eq!(
        heard,
        json!({"jsonrpc": "2.0", "id": first.id(), "method": "one", "params": {"a": 1}})
    );
    assert!(w.hear().get("params").is_none());
    w.say(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    w.say(&format!(
        r#"{{"jsonrpc":"2.0","id":"{}","result":"second"}}"#,
        second.id()
    ));
    w.say(&format!(r#"{{"jsonrpc":"2.0","id":{}.0,"result":null,"error":{{"code":5,"message":"no","data":{{"x":1}}}}}}"#, first.id()));
    let cancel = Cancel::new();
    assert_eq!(second.wait(SOON, &cancel), Ok(json!("second")));
    let mut fault = Fault::new(5, "no");
    fault.data = Some(json!({"x": 1}));
    assert_eq!(first.wait(SOON, &cancel), Err(CallError::Fault(fault)));
    assert!(matches!(w.next(), Incoming::Call(c) if c.method == "ping"));
    // The call was dropped unanswered just now.
    assert_eq!(w.hear()["error"]["code"], -32603);
}

#[test]
fn noise_is_skipped_by_a_client_and_answered_by_a_server() {
    let mut w = wired(Settings::client("t"));
    w.say("Starting server on stdio...\r\n\r\n");
    w.say("[dotenv@17] injecting env");
    w.say("42");
    w.say(r#"[{"jsonrpc":"2.0","method":"a"},{"method":"b","id":3}]"#);
    assert_eq!(w.noise(), "Starting server on stdio...");
    assert_eq!(w.noise(), "[dotenv@17] injecting env");
    assert_eq!(w.noise(), "42");
    assert!(matches!(w.next(), Incoming::Notification { method, .. } if method == "a"));
    assert!(matches!(w.next(), Incoming::Call(c) if c.method == "b"));

    let mut w = wired(Settings::server("t"));
    w.say("hello");
    assert_eq!(w.hear()["error"]["code"], -32700);
    w.say("[]");
    assert_eq!(
        w.hear(),
        json!({"jsonrpc": "2.0", "id": null, "error": {
        "code": -32600, "message": "batches are not spoken here; send one message a line"}})
    );
    w.say(r#"{"id":9}"#);
    let heard = w.hear();
    assert_eq!(
        (&heard["id"], &heard["error"]["code"]),
        (&json!(9), &json!(-32600))
    );
}

#[test]
fn lines_have_a_limit_and_the_next_one_is_read() {
    let text = format!("{}\nshort\r\n\n{}", "x".repeat(1_000_000), "y".repeat(10));
    let mut lines = Lines::new(Cursor::new(text), 10);
    assert_eq!(
        lines.next_line().unwrap(),
        Some(Line::TooLong(vec![b'x'; 200]))
    );
    assert_eq!(
        lines.next_line().unwrap(),
        Some(Line::Whole(b"short".into()))
    );
    assert_eq!(
        lines.next_line().unwrap(),
        Some(Line::Whole(vec![b'y'; 10]))
    );
    assert_eq!(lines.next_line().unwrap(), None);
}

#[test]
fn the_end_of_the_stream_fails_all_who_wait() {
    let w = wired(Settings::client("t"));
    let pending = w.peer.ask("slow", json!({})).unwrap();
    drop(w.to);
    let answer = pending.wait(SOON, &Cancel::new());
    assert_eq!(
        answer,
        Err(CallError::Closed("the other side has left".into()))
    );
    assert!(matches!(
        w.incoming.recv_timeout(SOON),
        Ok(Incoming::Closed(_))
    ));
    assert!(w.peer.is_closed());
    assert!(matches!(
        w.peer.ask("more", json!({})),
        Err(CallError::Closed(_))
    ));
}

#[test]
fn a_wait_ends_at_its_limit_and_at_a_cancel_and_a_late_answer_is_dropped() {
    let mut w = wired(Settings::client("t"));
    let cancel = Cancel::new();
    let limit = Duration::from_millis(60);
    let error = w.peer.request("slow", json!({}), limit, &cancel);
    assert_eq!(error, Err(CallError::TimedOut(limit)));
    w.say(r#"{"jsonrpc":"2.0","id":1,"result":1}"#);
    w.say(r#"{"jsonrpc":"2.0","method":"after"}"#);
    assert!(matches!(w.next(), Incoming::Notification { .. }));

    let flag = cancel.clone();
    let start = Instant::now();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        flag.cancel();
    });
    let error = w.peer.request("slow", json!({}), SOON, &cancel);
    assert_eq!(error, Err(CallError::Cancelled));
    assert!(start.elapsed() < Duration::from_secs(1));
}

#[test]
fn a_peer_that_does_not_read_holds_nobody_up_for_ever() {
    let settings = Settings {
        most_queued: 1_000,
        send_wait: Duration::from_millis(100),
        ..Settings::client("t")
    };
    let w = wired(settings);
    let big = json!({"text": "x".repeat(200_000)});
    let sent = (0..3)
        .map(|_| w.peer.notify("big", big.clone()))
        .collect::<Vec<_>>();
    assert!(matches!(sent.last(), Some(Err(CallError::Closed(why))) if why.contains("not read")));
    assert!(!w.peer.flush(Duration::from_millis(20)));
}

#[test]
fn what_was_sent_before_the_end_is_written() {
    let mut w = wired(Settings::server("t"));
    for n in 0..500 {
        w.peer
            .notify("n", json!({"n": n, "pad": "x".repeat(500)}))
            .unwrap();
    }
    let peer = w.peer.clone();
    let closer = std::thread::spawn(move || peer.close("done", SOON));
    let mut all = String::new();
    w.from.read_to_string(&mut all).unwrap();
    assert_eq!(all.lines().count(), 500);
    closer.join().unwrap();
    assert!(w.incoming.try_recv().is_err());
}
