//! A server asks the person: what stands on the screen, and what the server gets.

use super::server;
use super::support::script::*;
use super::support::server::{Kind, Server};
use super::support::strict;
use super::support::terminal::Terminal;
use crate::script;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// A session whose model calls the tool that puts this form.
fn asked(form: &Value) -> Terminal {
    let steps = script![
        call("mcp__demo__ask", json!({"form": form})),
        say("all done")
    ];
    let model = Server::start(Kind::LlamaServer, 32_768, steps);
    let t = Terminal::on(model, &server("demo", &[], ""), Some("go"));
    t.wait_for("the MCP server demo asks:");
    t
}

/// Answers each prompt, as soon as it is there, with a line.
fn answers(t: &mut Terminal, lines: &[&str]) {
    for (at, line) in lines.iter().enumerate() {
        let end = Instant::now() + Duration::from_secs(20);
        while t.screen().matches("your answer").count() <= at && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(20));
        }
        std::thread::sleep(Duration::from_millis(100));
        t.types(line);
    }
    t.wait_for("all done");
}

/// What the server got for an answer.
fn told(t: &Terminal) -> Value {
    let requests = t.server.requests();
    let text = strict::all_text(&requests[1].body);
    let (_, answer) = text
        .split_once("answer: ")
        .expect("the answer of the person");
    let mut values = serde_json::Deserializer::from_str(answer).into_iter();
    values.next().expect("an answer").expect("JSON")
}

fn person() -> Value {
    json!({"message": "Who are you?", "requestedSchema": {"type": "object", "properties": {
        "name": {"type": "string", "title": "Name", "default": "John Doe"},
        "age": {"type": "integer", "title": "Age", "minimum": 0, "maximum": 150, "default": 30},
        "colour": {"type": "string", "oneOf": [
            {"const": "r", "title": "red"}, {"const": "g", "title": "green"}], "default": "r"},
        "news": {"type": "boolean", "title": "News", "description": "by mail"},
        "note": {"type": "string"}}, "required": ["age", "news"]}})
}

/// Enter takes the default of its own field, and what is no value is asked for again.
#[test]
fn each_field_is_asked_for_with_its_default() {
    let mut t = asked(&person());
    // A field without a default that the server needs; a word that is no number; a number of a list.
    answers(
        &mut t,
        &["\r", "old\r", "41\r", "2\r", "\r", "yes\r", "\r", "y"],
    );
    let content = json!({"name": "John Doe", "age": 41, "colour": "g", "news": true});
    assert_eq!(told(&t), json!({"action": "accept", "content": content}));
    let rows: Vec<String> = t.rows().iter().map(|r| r.trim_end().to_owned()).collect();
    let shown = rows.join("\n");
    let begin = shown.find("the MCP server demo asks:").expect("the form");
    let end = shown.find("[y] yes").expect("the last question");
    assert_eq!(
        &shown[begin..end],
        "the MCP server demo asks:
  Who are you?
  Enter alone takes what stands in brackets ( ), Ctrl+D declines.
  Name (text)
  your answer (John Doe):
  Age (a whole number 0 to 150)
  your answer (30): old
  a whole number 0 to 150, please
  your answer (30): 41
  colour (one of these)
  [1] r — red
  [2] g — green
  your answer (r): 2
  News: by mail (yes or no)
  your answer:
  This one is needed.
  your answer: yes
  note (text)
  your answer (none):
  Send this to demo?
  "
    );
}

#[test]
fn nothing_is_sent_without_a_yes() {
    let mut t = asked(&person());
    answers(&mut t, &["\r", "\r", "\r", "no\r", "\r", "\r"]);
    assert_eq!(told(&t), json!({"action": "decline"}));
    // The end of the input in the middle.
    let mut t = asked(&person());
    answers(&mut t, &["Ann\r", "\x04"]);
    assert_eq!(told(&t), json!({"action": "decline"}));
    // A page to open, and a plain question.
    let page = json!({"mode": "url", "message": "Sign in.", "elicitationId": "1",
        "url": "https://example.com/a?b"});
    let mut t = asked(&page);
    t.wait_for("https://example.com/a?b");
    answers(&mut t, &["y"]);
    assert_eq!(told(&t), json!({"action": "accept"}));
    let plain =
        json!({"message": "Go on?", "requestedSchema": {"type": "object", "properties": {}}});
    let mut t = asked(&plain);
    answers(&mut t, &["\r"]);
    assert_eq!(told(&t), json!({"action": "decline"}));
}

/// An interrupt ends the turn, not only the question.
#[test]
fn an_interrupt_in_a_form_ends_the_turn() {
    let mut t = asked(&person());
    t.wait_for("your answer (John Doe)");
    t.types("\x03");
    t.wait_for("interrupted");
    t.wait_for("\x1b[?2026h");
    assert!(t.says("/ps").contains("no command is running"));
    assert_eq!(t.server.requests().len(), 1);
}
