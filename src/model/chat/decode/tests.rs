use super::super::super::sse::Frames;
use super::super::super::{CallKind, ToolInput, Wire};
use super::super::Chat;
use super::*;
use std::time::Duration;

/// Reads a whole body with `wire`: in one piece, and cut in two at every byte. All must agree,
/// save for the ids that are made up.
pub fn read(
    wire: &dyn Wire,
    tools: &[ToolSpec],
    body: &str,
) -> (Vec<Delta>, Result<Reply, ModelError>) {
    let mut results = (0..body.len()).map(|at| {
        let (mut frames, mut ready, mut deltas) =
            (Frames::new(wire.framing()), Vec::new(), Vec::new());
        let mut decoder = wire.decoder(tools);
        frames.push(&body.as_bytes()[..at], &mut ready).unwrap();
        frames.push(&body.as_bytes()[at..], &mut ready).unwrap();
        frames.end(&mut ready).unwrap();
        for frame in &ready {
            if let Err(error) = decoder.feed(frame, &mut deltas) {
                return (deltas, Err(error));
            }
        }
        let mut reply = decoder.finish();
        for call in reply.iter_mut().flat_map(|r| &mut r.assistant.calls) {
            if call.id.len() == "call_".len() + 32 {
                call.id = "made up".to_owned();
            }
        }
        (deltas, reply)
    });
    let whole = results.next().unwrap();
    for (at, cut) in results.enumerate() {
        assert_eq!(cut, whole, "cut at byte {}", at + 1);
    }
    whole
}

/// The body of a stream with these chunks, closed by `[DONE]` if `done`.
fn sse(chunks: &[&str], done: bool) -> String {
    let mut body: String = chunks
        .iter()
        .map(|chunk| format!("data: {chunk}\n\n"))
        .collect();
    if done {
        body.push_str("data: [DONE]\n\n");
    }
    body
}

fn reply(chunks: &[&str]) -> Reply {
    read(&Chat, &[], &sse(chunks, true)).1.unwrap()
}

/// The calls of a stream of deltas as `(id, name, arguments)`.
fn calls(deltas: &[&str]) -> Vec<(String, String, String)> {
    let chunks: Vec<String> = deltas
        .iter()
        .map(|calls| format!(r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":{calls}}}}}]}}"#))
        .chain([r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#.to_owned()])
        .collect();
    let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
    let calls = reply(&chunks).assistant.calls.into_iter();
    calls.map(|c| (c.id, c.name, c.arguments)).collect()
}

fn call(id: &str, name: &str, arguments: &str) -> (String, String, String) {
    (id.to_owned(), name.to_owned(), arguments.to_owned())
}

#[test]
fn a_stream_of_llama_server() {
    let body = sse(
        &[
            r#"{"choices":[{"index":0,"finish_reason":null,"delta":{"role":"assistant","content":null}}]}"#,
            r#"{"choices":[],"prompt_progress":{"total":240,"cache":144,"processed":200,"time_ms":12}}"#,
            r#"{"choices":[{"index":0,"finish_reason":null,"delta":{"reasoning_content":"Hm."}}]}"#,
            r#"{"choices":[{"index":0,"finish_reason":null,"delta":{"content":"I read "}}]}"#,
            r#"{"choices":[{"index":0,"finish_reason":null,"delta":{"content":"it."}}]}"#,
            r#"{"choices":[{"index":0,"finish_reason":null,"delta":{"tool_calls":[{"index":0,"id":"Fl2","type":"function","function":{"name":"read_file","arguments":"{"}}]}}]}"#,
            r#"{"choices":[{"index":0,"finish_reason":null,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"path\":\"é\"}"}}]}}]}"#,
            r#"{"choices":[{"index":0,"finish_reason":"tool_calls","delta":{}}]}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":240,"completion_tokens":20,"prompt_tokens_details":{"cached_tokens":144}},"timings":{"cache_n":144,"prompt_n":96,"prompt_ms":960.0,"predicted_n":20,"predicted_ms":1500.5}}"#,
        ],
        true,
    );
    let (deltas, reply) = read(&Chat, &[], &format!(": ping\n\n{body}"));
    let reply = reply.unwrap();
    assert_eq!(
        deltas,
        [
            Delta::Progress {
                processed: 200,
                total: 240,
                cached: 144
            },
            Delta::Reasoning("Hm.".into()),
            Delta::Text("I read ".into()),
            Delta::Text("it.".into()),
            Delta::CallStart {
                index: 0,
                name: "read_file".into()
            },
            Delta::CallArguments {
                index: 0,
                text: "{".into()
            },
            Delta::CallArguments {
                index: 0,
                text: "\"path\":\"é\"}".into()
            },
        ]
    );
    assert_eq!(reply.assistant.text, "I read it.");
    assert_eq!(reply.assistant.reasoning[0].text, "Hm.");
    assert_eq!(reply.assistant.calls[0].id, "Fl2");
    assert_eq!(reply.assistant.calls[0].arguments, r#"{"path":"é"}"#);
    assert_eq!(reply.finish, Finish::Stop);
    let usage = Usage {
        input: 240,
        cached: Some(144),
        cache_write: 0,
        output: 20,
        reasoning: 0,
    };
    assert_eq!(reply.usage, Some(usage));
    assert_eq!(reply.timing.prompt, Some(Duration::from_millis(960)));
    assert_eq!(reply.timing.output, Some(Duration::from_micros(1_500_500)));
}

#[test]
fn every_way_to_send_calls() {
    let whole = |index: &str, id: &str, name: &str, arguments: &str| {
        format!(r#"{{{index}{id}"function":{{"name":"{name}","arguments":{arguments}}}}}"#)
    };
    // No index, a new id begins a new call; later fragments have neither.
    assert_eq!(
        calls(&[
            r#"[{"id":"a","function":{"name":"f","arguments":"{\"x\""}}]"#,
            r#"[{"function":{"arguments":":1}"}}]"#,
            r#"[{"id":"b","function":{"name":"g","arguments":"{}"}}]"#,
        ]),
        [call("a", "f", r#"{"x":1}"#), call("b", "g", "{}")]
    );
    // The same index with a new id is a new call (index always 0).
    assert_eq!(
        calls(&[
            r#"[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]"#,
            r#"[{"index":0,"id":"b","function":{"name":"f","arguments":"{\"y\":2}"}}]"#,
        ]),
        [call("a", "f", "{}"), call("b", "f", r#"{"y":2}"#)]
    );
    // Id and name repeated, then empty; two calls interleaved.
    assert_eq!(
        calls(&[
            r#"[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}]"#,
            r#"[{"index":1,"id":"b","function":{"name":"g","arguments":"{"}}]"#,
            r#"[{"index":0,"id":"a","function":{"name":"f","arguments":"}"}}]"#,
            r#"[{"index":1,"id":"","function":{"name":"","arguments":"}"}}]"#,
        ]),
        [call("a", "f", "{}"), call("b", "g", "{}")]
    );
    // A name in two deltas, and no id at all.
    assert_eq!(
        calls(&[
            r#"[{"index":0,"function":{"name":"read_"}}]"#,
            r#"[{"index":0,"function":{"name":"file","arguments":""}}]"#,
            r#"[{"index":0,"function":{"arguments":"{}"}}]"#,
        ]),
        [call("made up", "read_file", "{}")]
    );
    // Whole calls in one list without index and id; arguments as an object, keys in their order.
    let (one, two) = (
        whole("", "", "f", r#"{"b":1,"a":2}"#),
        whole("", "", "f", r#""{}""#),
    );
    assert_eq!(
        calls(&[&format!("[{one},{two}]")]),
        [
            call("made up", "f", r#"{"b":1,"a":2}"#),
            call("made up", "f", "{}")
        ]
    );
    // Whole calls one after the other, all with index 0 and no id.
    assert_eq!(
        calls(&[
            &format!("[{}]", whole(r#""index":0,"#, "", "f", r#""{\"a\":1}""#)),
            &format!("[{}]", whole(r#""index":0,"#, "", "f", r#""{\"a\":2}""#)),
        ]),
        [
            call("made up", "f", r#"{"a":1}"#),
            call("made up", "f", r#"{"a":2}"#)
        ]
    );
    // One id for two calls: the second gets another.
    assert_eq!(
        calls(&[
            r#"[{"index":0,"id":"x","function":{"name":"f","arguments":"{}"}}]"#,
            r#"[{"index":1,"id":"x","function":{"name":"g","arguments":"{}"}}]"#,
        ]),
        [call("x", "f", "{}"), call("made up", "g", "{}")]
    );
}

/// OpenRouter's details come in pieces and go back whole; Gemini's signatures stand beside the call.
#[test]
fn what_a_provider_wants_back_is_kept_as_it_came() {
    let chunk =
        |delta: &str| format!(r#"{{"choices":[{{"delta":{delta},"finish_reason":null}}]}}"#);
    let got = reply(&[
        &chunk(
            r#"{"reasoning":"I ","reasoning_details":[{"type":"reasoning.text","text":"I ","index":0,"format":"x"}]}"#,
        ),
        &chunk(
            r#"{"reasoning":"see","reasoning_details":[{"type":"reasoning.text","text":"see","index":0}]}"#,
        ),
        &chunk(r#"{"reasoning_details":[{"type":"reasoning.text","signature":"SIG","index":0}]}"#),
        &chunk(r#"{"reasoning_details":[{"type":"reasoning.encrypted","data":"AA","index":1}]}"#),
        &chunk(
            r#"{"tool_calls":[{"index":0,"id":"c1","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"T"}}}]}"#,
        ),
        r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#,
    ]);
    let thoughts = &got.assistant.reasoning;
    assert_eq!(thoughts[0].text, "I see");
    assert_eq!(
        thoughts[0].opaque.as_ref().unwrap()["reasoning_details"],
        serde_json::json!([
            {"type": "reasoning.text", "text": "I see", "index": 0, "format": "x", "signature": "SIG"},
            {"type": "reasoning.encrypted", "data": "AA", "index": 1},
        ])
    );
    // And back it goes.
    let items = [
        super::super::super::Item::user("x"),
        super::super::super::Item::Assistant(got.assistant.clone()),
    ];
    let (tools, extra) = (vec![], serde_json::Map::new());
    let request = super::super::encode::tests::request(&items, &tools, &extra, false);
    let body = super::super::encode::body(&request);
    let sent = &body["messages"][2];
    assert_eq!(
        sent["reasoning_details"],
        thoughts[0].opaque.as_ref().unwrap()["reasoning_details"]
    );
    assert_eq!(
        sent["tool_calls"][0]["extra_content"]["google"]["thought_signature"],
        "T"
    );
    assert_eq!(sent.get("reasoning_content"), None);
}

#[test]
fn thinking_has_many_names_but_is_read_once() {
    for (delta, named) in [
        (r#"{"reasoning_content":"why"}"#, None),
        (r#"{"reasoning":"why"}"#, Some("reasoning")),
        (r#"{"reasoning":"why","reasoning_content":"why"}"#, None),
        (
            r#"{"reasoning":"why","reasoning_details":[{"type":"reasoning.text","text":"why"}]}"#,
            Some(r#"{"reasoning_details":[{"type":"reasoning.text","text":"why"}]}"#),
        ),
        (
            r#"{"reasoning_details":[{"type":"reasoning.summary","summary":"why"}]}"#,
            Some(r#"{"reasoning_details":[{"type":"reasoning.summary","summary":"why"}]}"#),
        ),
        (
            r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"why"}]}]}"#,
            None,
        ),
    ] {
        let chunk = format!(r#"{{"choices":[{{"delta":{delta},"finish_reason":"stop"}}]}}"#);
        let reasoning = &reply(&[&chunk]).assistant.reasoning;
        assert_eq!(reasoning.len(), 1, "{delta}");
        assert_eq!(reasoning[0].text, "why", "{delta}");
        let opaque = reasoning[0].opaque.as_ref();
        let opaque = opaque.map(|o| o.as_str().map_or_else(|| o.to_string(), str::to_owned));
        assert_eq!(opaque.as_deref(), named, "{delta}");
    }
    let parts = r#"{"choices":[{"delta":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},"finish_reason":"stop"}]}"#;
    assert_eq!(reply(&[parts]).assistant.text, "ab");
}

#[test]
fn usage_may_come_anywhere() {
    let end = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
    let input = |chunks: &[&str]| reply(chunks).usage.map(|u| (u.input, u.cached, u.output));
    assert_eq!(
        input(&[
            r#"{"choices":[{"delta":{"content":"x"},"usage":{"prompt_tokens":9,"completion_tokens":1,"cached_tokens":4}}]}"#,
            end
        ]),
        Some((9, Some(4), 1))
    );
    assert_eq!(
        input(&[
            r#"{"choices":[{"delta":{"content":"x"}}],"usage":{"prompt_tokens":9,"completion_tokens":1}}"#,
            end,
            r#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3,"prompt_cache_hit_tokens":8,"prompt_cache_miss_tokens":1}}"#,
        ]),
        Some((9, Some(8), 3))
    );
    assert_eq!(input(&[r#"{"choices":[],"usage":null}"#, end]), None);
}

#[test]
fn what_ends_a_reply_and_what_breaks_it() {
    let text = r#"{"choices":[{"delta":{"content":"x"},"finish_reason":null}]}"#;
    let end = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
    let usage = r#"{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}"#;
    let ok = |chunks: &[&str], done| read(&Chat, &[], &sse(chunks, done)).1.map(|r| r.finish);
    assert_eq!(ok(&[text, end], false), Ok(Finish::Stop));
    assert_eq!(ok(&[text], true), Ok(Finish::Stop));
    assert_eq!(ok(&[text, usage], false), Ok(Finish::Stop));
    for (chunks, done) in [
        (&[text][..], false),
        (&[usage], true),
        (&[], true),
        (
            &[
                text,
                r#"{"choices":[{"delta":{},"finish_reason":"error"}]}"#,
            ],
            true,
        ),
        (&[text, "not json"], true),
    ] {
        assert!(
            matches!(ok(chunks, done), Err(ModelError::Broken { .. })),
            "{chunks:?}"
        );
    }
    for (reason, finish) in [
        ("length", Finish::Length),
        ("tool_calls", Finish::Stop),
        ("end", Finish::Stop),
        ("content_filter", Finish::Refused("content_filter".into())),
    ] {
        let chunk = format!(r#"{{"choices":[{{"delta":{{}},"finish_reason":"{reason}"}}]}}"#);
        assert_eq!(ok(&[text, &chunk], true), Ok(finish));
    }
    let refusal = r#"{"choices":[{"delta":{"refusal":"I will not."},"finish_reason":"stop"}]}"#;
    assert_eq!(
        ok(&[refusal], true),
        Ok(Finish::Refused("I will not.".into()))
    );
    let error = r#"{"error":{"code":500,"message":"The model produced output that does not match the expected x format"}}"#;
    assert!(matches!(
        ok(&[text, error], false),
        Err(ModelError::BadCall { raw: None, .. })
    ));
}

#[test]
fn an_answer_that_is_not_a_stream() {
    let body = r#"{"error":null,"choices":[{"index":0,"message":{"role":"assistant","content":"Hi","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":2}}"#;
    let reply = read(&Chat, &[], body).1.unwrap();
    assert_eq!(reply.assistant.text, "Hi");
    assert_eq!(reply.assistant.calls[0].name, "f");
    assert_eq!(reply.usage.map(|u| u.input), Some(5));
}

#[test]
fn freeform_calls_are_unwrapped_and_cut_calls_left_out() {
    let tool = ToolSpec {
        name: "patch".into(),
        description: String::new(),
        input: ToolInput::Freeform {
            grammar: String::new(),
        },
    };
    let chunk = r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"patch","arguments":"{\"input\":\"*** x\"}"}}]},"finish_reason":"tool_calls"}]}"#;
    let reply = read(&Chat, std::slice::from_ref(&tool), &sse(&[chunk], true))
        .1
        .unwrap();
    assert_eq!(reply.assistant.calls[0].arguments, "*** x");
    assert_eq!(reply.assistant.calls[0].kind, CallKind::Freeform);

    let mut reader = Box::new(Reader::new(&[]));
    let half = r#"{"choices":[{"delta":{"content":"so","tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}},{"index":1,"id":"b","function":{"name":"g","arguments":"{\"x"}}]}}]}"#;
    let frame = Frame {
        event: None,
        data: half.to_owned(),
    };
    reader.feed(&frame, &mut Vec::new()).unwrap();
    let cut = reader.cut();
    assert_eq!(cut.finish, Finish::Cut);
    assert_eq!(cut.assistant.text, "so");
    assert_eq!(cut.assistant.calls.len(), 1);
}
