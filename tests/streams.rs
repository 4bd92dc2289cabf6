//! Streams as they come in the field: odd line ends, comments, events twice, out of order or never,
//! on each wire. What is right is read right; what is broken is asked for again, and nothing of it is
//! doubled.

mod support;

use serde_json::{Value, json};
use std::time::Duration;
use support::script::*;
use support::{Agent, WIRES, strict};

/// Checks every wire, all at once.
fn each_wire(check: impl Fn(&'static str) + Sync) {
    std::thread::scope(|threads| {
        for wire in WIRES {
            let check = &check;
            threads.spawn(move || check(wire));
        }
    });
}

fn agent(wire: &str) -> Agent {
    Agent::new()
        .harness("minimal")
        .wire(wire)
        .config("harness_guidance = false\n")
}

fn is_ndjson(path: &str) -> bool {
    path == "/api/chat"
}

/// The JSON of one piece of a stream.
fn json_of(piece: &str) -> Option<Value> {
    let data = piece.split_once("data: ").map_or(piece, |(_, data)| data);
    serde_json::from_str(data.trim()).ok()
}

/// True for a piece that brings no words of its own, so that a proxy may send it twice without harm.
fn is_frame(piece: &str) -> bool {
    let Some(event) = json_of(piece) else {
        return true;
    };
    let kind = event["type"].as_str().unwrap_or_default();
    let delta = &event["choices"][0]["delta"];
    let words = ["content", "reasoning_content", "tool_calls"];
    let brings = words
        .iter()
        .any(|w| delta.get(w).is_some_and(|v| !v.is_null()));
    !kind.ends_with("delta") && !brings && event["done"] != false
}

/// Streams that are right, however odd, with what makes them so.
const RIGHT: [(&str, Bend); 13] = [
    ("as it is", |_, pieces| pieces),
    ("lines that end in CRLF", |_, pieces| {
        pieces.iter().map(|p| p.replace('\n', "\r\n")).collect()
    }),
    ("lines that end in CR", |_, pieces| {
        pieces.iter().map(|p| p.replace('\n', "\r")).collect()
    }),
    ("a byte order mark", |_, mut pieces| {
        pieces.insert(0, "\u{feff}".into());
        pieces
    }),
    ("comments that keep it alive", |path, pieces| {
        let nothing = match is_ndjson(path) {
            true => "\n",
            false => ": keep-alive\n\n: PROCESSING\n\n",
        };
        let all = pieces.into_iter();
        all.flat_map(|p| [nothing.to_owned(), p]).collect()
    }),
    ("no space behind the field's name", |_, pieces| {
        pieces
            .iter()
            .map(|p| p.replacen("data: ", "data:", 1))
            .collect()
    }),
    ("fields and events that nobody knows", |path, pieces| {
        let odd = match is_ndjson(path) {
            true => "{\"model\":\"mock\",\"queue\":3}\n",
            false => {
                "id: 7\nretry: 10\nevent: queue\ndata: {\"type\":\"queue\",\"object\":\"queue\",\"position\":3}\n\n"
            }
        };
        let all = pieces.into_iter();
        all.flat_map(|p| [odd.to_owned(), p]).collect()
    }),
    ("a line of two megabytes", |_, mut pieces| {
        // Padding against listeners, as OpenAI sends it, or the whole context, as Ollama does.
        let padding = format!("{{\"obfuscation\":\"{}\",", "x".repeat(2 << 20));
        let last = pieces
            .iter()
            .rposition(|p| p.contains('{'))
            .expect("an event");
        for at in [0, last] {
            pieces[at] = pieces[at].replacen('{', &padding, 1);
        }
        pieces
    }),
    ("one character at a time", |_, pieces| {
        pieces.concat().chars().map(String::from).collect()
    }),
    ("all at once", |_, pieces| vec![pieces.concat()]),
    ("events twice", |_, pieces| {
        let all = pieces.into_iter();
        all.flat_map(|p| {
            let times = if is_frame(&p) { 2 } else { 1 };
            vec![p; times]
        })
        .collect()
    }),
    ("no mark behind the end", |_, mut pieces| {
        pieces.retain(|p| !p.contains("[DONE]"));
        pieces
    }),
    ("no blank line behind the last event", |_, mut pieces| {
        if let Some(last) = pieces.last_mut() {
            last.truncate(last.trim_end().len());
        }
        pieces
    }),
];

#[test]
fn a_stream_is_read_however_it_comes() {
    each_wire(|wire| {
        for (name, bend) in RIGHT {
            println!("{wire}: {name}");
            let run = agent(wire)
                .model(script![
                    run("echo x >> a.txt")
                        .with_reasoning("hmm")
                        .with_text("Ich prüfe.")
                        .bent(bend),
                    say("Fertig: ✓").bent(bend),
                ])
                .run("go")
                .expect_exit(0)
                .expect_stdout("Fertig: ✓\n")
                .expect_file("a.txt", "x\n")
                .expect_requests(2);
            expect_one_call(&run, wire);
        }
    });
}

/// The last request has one call, once with its words and its result.
fn expect_one_call(run: &support::Run, wire: &str) {
    let requests = run.server.requests();
    let last = requests.last().expect("a request");
    let told = strict::conversation(&last.path, &last.body);
    let count = |of: &str| told.iter().filter(|part| part.starts_with(of)).count();
    let words = ["person: ", "model: Ich prüfe.", "calls ", "gets "].map(count);
    assert_eq!(words, [1; 4], "{wire}: {told:#?}");
}

/// Streams that break, and how: from the pieces of a right one.
const BROKEN: [(&str, Bend); 4] = [
    ("before the end", |path, mut pieces| {
        // The chat wire has three pieces of end: the reason, the counts, the mark.
        let end = if path == "/v1/chat/completions" { 3 } else { 1 };
        pieces.truncate(pieces.len() - end);
        pieces
    }),
    ("inside a line", |path, mut pieces| {
        let end = if path == "/v1/chat/completions" { 3 } else { 1 };
        pieces.truncate(pieces.len() - end + 1);
        if let Some(last) = pieces.last_mut() {
            last.truncate(last.len() / 2);
        }
        pieces
    }),
    ("before anything came", |_, _| Vec::new()),
    ("with an error in place of the end", |path, mut pieces| {
        let end = if path == "/v1/chat/completions" { 3 } else { 1 };
        pieces.truncate(pieces.len() - end);
        pieces.push(match path {
            "/api/chat" => "{\"error\":\"server busy, please try again\"}\n".into(),
            "/v1/messages" => "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n".into(),
            "/v1/responses" => "event: error\ndata: {\"type\":\"error\",\"code\":\"server_is_overloaded\",\"message\":\"Overloaded\"}\n\n".into(),
            _ => "data: {\"error\":{\"code\":503,\"message\":\"server busy\"}}\n\n".into(),
        });
        pieces
    }),
];

#[test]
fn a_stream_that_breaks_is_asked_for_again_and_nothing_is_doubled() {
    each_wire(|wire| {
        for (name, bend) in BROKEN {
            println!("{wire}: {name}");
            let step = || {
                run("echo x >> a.txt")
                    .with_reasoning("hmm")
                    .with_text("Ich prüfe.")
            };
            let run = agent(wire)
                .model(script![step().bent(bend), step(), say("done")])
                .run("go")
                .expect_exit(0)
                .expect_stdout("done\n")
                .expect_file("a.txt", "x\n")
                .expect_requests(3);
            let requests = run.server.requests();
            assert_eq!(requests[0].body, requests[1].body, "{wire}: {name}");
            expect_one_call(&run, wire);
        }
    });
}

#[test]
fn a_packed_answer_is_refused_in_a_sentence() {
    for wire in WIRES {
        agent(wire)
            .model(script![say("done").header("content-encoding: gzip")])
            .run("go")
            .expect_exit(1)
            .expect_stdout("")
            .expect_stderr("packed with gzip although nothing packed was asked for")
            .expect_requests(1);
    }
}

/// A slow stream is none that stands still: each piece, and each comment, is a sign of life.
#[test]
fn a_slow_stream_is_waited_for() {
    std::thread::scope(|threads| {
        for wire in WIRES {
            for bend in [RIGHT[0].1, RIGHT[4].1] {
                threads.spawn(move || {
                    let step = run("echo x >> a.txt").with_text("Ich prüfe.").bent(bend);
                    let run = agent(wire)
                        .args(["-c", "model_providers.mock.stream_idle_timeout_ms=1500"])
                        .model(script![step.paced(Duration::from_millis(400)), say("done")])
                        .run("go")
                        .expect_exit(0)
                        .expect_stdout("done\n")
                        .expect_file("a.txt", "x\n")
                        .expect_requests(2);
                    assert!(run.took > Duration::from_millis(1500), "{:?}", run.took);
                    expect_one_call(&run, wire);
                });
            }
        }
    });
}

/// Two calls whose pieces come in turns, the second one's first, and the words at the end.
fn in_turns(wire: &str) -> Vec<String> {
    let sse = |event: Value| format!("data: {event}\n\n");
    let arguments = |n: usize| {
        let text = json!({"command": format!("echo {n} > {n}.txt")}).to_string();
        let (head, tail) = text.split_at(13);
        [head.to_owned(), tail.to_owned()]
    };
    let [one, two] = [arguments(1), arguments(2)];
    match wire {
        "chat" => {
            let chunk = |delta: Value| {
                sse(json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]}))
            };
            let begin = |n: usize| {
                chunk(
                    json!({"tool_calls": [{"index": n, "id": format!("call_{n}"), "type": "function", "function": {"name": "bash", "arguments": ""}}]}),
                )
            };
            let more = |n: usize, text: &str| {
                chunk(json!({"tool_calls": [{"index": n, "function": {"arguments": text}}]}))
            };
            vec![
                // The counts before all else, as Azure's first chunk without choices.
                sse(json!({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 9}})),
                begin(1),
                begin(0),
                more(1, &two[0]),
                more(0, &one[0]),
                more(0, &one[1]),
                more(1, &two[1]),
                chunk(json!({"content": "Beides."})),
                sse(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})),
                "data: [DONE]\n\n".into(),
            ]
        }
        "responses" => {
            let item = |n: usize, arguments: &str| json!({"type": "function_call", "id": format!("fc_{n}"), "call_id": format!("call_{n}"), "name": "bash", "arguments": arguments});
            let added = |n: usize| {
                sse(
                    json!({"type": "response.output_item.added", "output_index": n, "item": item(n, "")}),
                )
            };
            let more = |n: usize, text: &str| {
                sse(
                    json!({"type": "response.function_call_arguments.delta", "output_index": n, "item_id": format!("fc_{n}"), "delta": text}),
                )
            };
            let done = |n: usize, all: &[String; 2]| {
                sse(
                    json!({"type": "response.output_item.done", "output_index": n, "item": item(n, &all.concat())}),
                )
            };
            let message = json!({"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "Beides."}]});
            vec![
                added(1),
                added(0),
                more(1, &two[0]),
                more(0, &one[0]),
                more(1, &two[1]),
                done(1, &two),
                more(0, &one[1]),
                sse(
                    json!({"type": "response.output_item.done", "output_index": 2, "item": message}),
                ),
                done(0, &one),
                sse(
                    json!({"type": "response.completed", "response": {"id": "r", "status": "completed", "output": []}}),
                ),
            ]
        }
        "messages" => {
            let start = |n: usize| json!({"type": "content_block_start", "index": n, "content_block": {"type": "tool_use", "id": format!("toolu_{n}"), "name": "bash", "input": {}}});
            let more = |n: usize, text: &str| json!({"type": "content_block_delta", "index": n, "delta": {"type": "input_json_delta", "partial_json": text}});
            let stop = |n: usize| json!({"type": "content_block_stop", "index": n});
            [
                json!({"type": "ping"}),
                json!({"type": "message_start", "message": {"id": "m", "role": "assistant", "content": [], "usage": {"input_tokens": 1, "output_tokens": 1}}}),
                start(1),
                start(0),
                more(1, &two[0]),
                more(0, &one[0]),
                json!({"type": "ping"}),
                more(1, &two[1]),
                stop(1),
                more(0, &one[1]),
                json!({"type": "content_block_start", "index": 2, "content_block": {"type": "text", "text": ""}}),
                json!({"type": "content_block_delta", "index": 2, "delta": {"type": "text_delta", "text": "Beides."}}),
                stop(2),
                stop(0),
                json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 5}}),
                json!({"type": "message_stop"}),
            ]
            .map(sse)
            .into()
        }
        _ => {
            // Whole calls are all that this API has; they may come before the words.
            let row = |message: Value, done: bool| {
                format!("{}\n", json!({"message": message, "done": done}))
            };
            let call = |n: usize| json!({"function": {"index": n, "name": "bash", "arguments": {"command": format!("echo {n} > {n}.txt")}}});
            vec![
                row(
                    json!({"role": "assistant", "content": "", "tool_calls": [call(2)]}),
                    false,
                ),
                row(
                    json!({"role": "assistant", "content": "Beides.", "thinking": "both"}),
                    false,
                ),
                row(
                    json!({"role": "assistant", "content": "", "tool_calls": [call(1)]}),
                    false,
                ),
                row(json!({"role": "assistant", "content": ""}), true),
            ]
        }
    }
}

#[test]
fn pieces_out_of_order_find_their_place() {
    for wire in WIRES {
        let stream = in_turns(wire);
        let run = agent(wire)
            .model(script![
                Step {
                    raw: Some(stream),
                    ..Step::default()
                },
                say("done")
            ])
            .run("go")
            .expect_exit(0)
            .expect_stdout("done\n")
            .expect_file("1.txt", "1\n")
            .expect_file("2.txt", "2\n")
            .expect_requests(2);
        let requests = run.server.requests();
        let told = strict::conversation(&requests[1].path, &requests[1].body);
        let count = |of: &str| told.iter().filter(|part| part.starts_with(of)).count();
        assert_eq!(
            (count("model: Beides."), count("calls "), count("gets ")),
            (1, 2, 2),
            "{wire}: {told:#?}"
        );
    }
}
