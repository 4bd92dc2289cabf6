use super::*;
use crate::model::Vendor;
use crate::model::{
    CallKind, Delta, Finish, ModelError, Reply, Sampling, ToolCall, ToolInput, Usage, sse::Frame,
};

fn tools() -> Vec<ToolSpec> {
    let spec = |name: &str, input| ToolSpec {
        name: name.into(),
        description: "d".into(),
        input,
    };
    vec![
        spec("read", ToolInput::Function(json!({"type": "object"}))),
        spec(
            "apply_patch",
            ToolInput::Freeform {
                grammar: "start: x".into(),
            },
        ),
    ]
}

fn call(id: &str, name: &str, arguments: &str, kind: CallKind) -> ToolCall {
    ToolCall {
        id: id.into(),
        name: name.into(),
        arguments: arguments.into(),
        kind,
        recovered: false,
    }
}

fn result(id: &str, text: &str, is_error: bool) -> Item {
    Item::ToolResult(ToolResult {
        call_id: id.into(),
        name: "read".into(),
        content: vec![Part::text(text)],
        is_error,
        kind: CallKind::Function,
    })
}

fn thought(text: &str, signature: Option<&str>) -> Reasoning {
    Reasoning {
        text: text.into(),
        signature: signature.map(str::to_owned),
        opaque: None,
        wire: WireApi::Messages,
    }
}

fn history() -> Vec<Item> {
    let redacted = Reasoning {
        opaque: Some(json!({"type": "redacted_thinking", "data": "R"})),
        ..thought("", None)
    };
    let foreign = Reasoning {
        wire: WireApi::Responses,
        ..thought("foreign", None)
    };
    vec![
        Item::Developer {
            text: "rules".into(),
        },
        Item::User {
            content: vec![
                Part::text(" \n"),
                Part::Image {
                    media_type: "image/png".into(),
                    data: "AA==".into(),
                },
                Part::text("look"),
            ],
        },
        Item::Assistant(Assistant {
            reasoning: vec![
                thought("signed", Some("S")),
                redacted,
                thought("unsigned", None),
                foreign,
            ],
            text: "\n".into(),
            calls: vec![
                call("a:0", "read", "{\"p\":1}", CallKind::Function),
                call("a:1", "apply_patch", "*** Begin", CallKind::Freeform),
            ],
        }),
        result("a:0", "no such file", true),
        result("a:1", "", true),
        Item::user("hurry"),
        Item::Assistant(Assistant {
            reasoning: vec![thought("aborted", Some("T"))],
            ..Assistant::default()
        }),
        Item::Developer {
            text: "go on".into(),
        },
        Item::Assistant(Assistant {
            text: "Done.".into(),
            ..Assistant::default()
        }),
        Item::user("thanks"),
    ]
}

fn request<'a>(
    items: &'a [Item],
    tools: &'a [ToolSpec],
    extra: &'a serde_json::Map<String, Value>,
) -> Request<'a> {
    Request {
        model: "claude-x",
        system: "sys",
        tools,
        items: items.iter().collect(),
        max_output_tokens: 500,
        window: None,
        sampling: Sampling::default(),
        reasoning_effort: None,
        one_call: false,
        raw_calls: false,
        cache_key: "key",
        schema: None,
        local: false,
        vendor: Vendor::of("https://far.example/v1", false),
        extra,
    }
}

fn body(items: &[Item], local: bool) -> Value {
    let (tools, extra) = (tools(), serde_json::Map::new());
    let mut request = request(items, &tools, &extra);
    request.local = local;
    Messages.body(&request)
}

#[test]
fn a_hosted_request() {
    let mark = json!({"type": "ephemeral"});
    let want = json!({
        "model": "claude-x",
        "max_tokens": 500,
        "system": [{"type": "text", "text": "sys", "cache_control": mark}],
        "tools": [
            {"name": "read", "description": "d", "input_schema": {"type": "object"}},
            {"name": "apply_patch", "description": "d", "input_schema": {"type": "object",
                "properties": {"input": {"type": "string"}}, "required": ["input"], "additionalProperties": false}},
        ],
        "messages": [
            {"role": "user", "content": [
                {"type": "text", "text": "rules"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}},
                {"type": "text", "text": "look"}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "signed", "signature": "S"},
                {"type": "redacted_thinking", "data": "R"},
                {"type": "tool_use", "id": "a_0", "name": "read", "input": {"p": 1}},
                {"type": "tool_use", "id": "a_1", "name": "apply_patch", "input": {"input": "*** Begin"}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a_0", "content": "no such file", "is_error": true},
                {"type": "tool_result", "tool_use_id": "a_1", "content": ""},
                {"type": "text", "text": "hurry"},
                {"type": "text", "text": "go on", "cache_control": mark}]},
            {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
            {"role": "user", "content": [{"type": "text", "text": "thanks", "cache_control": mark}]},
        ],
        "stream": true,
    });
    assert_eq!(body(&history(), false), want);
}

#[test]
fn a_local_request_keeps_unsigned_thinking_and_the_order_of_results() {
    let got = body(&history(), true);
    assert_eq!(got["system"], "sys");
    assert!(!got.to_string().contains("cache_control"));
    assert_eq!(
        got["messages"][1]["content"][2],
        json!({"type": "thinking", "thinking": "unsigned"})
    );
    let roles: Vec<_> = got["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| m["role"].as_str().unwrap())
        .collect();
    assert_eq!(
        roles,
        ["user", "assistant", "user", "user", "assistant", "user"]
    );
    assert_eq!(
        got["messages"][2]["content"].as_array().unwrap().len(),
        2,
        "results alone"
    );
    assert_eq!(
        got["messages"][3]["content"],
        json!([{"type": "text", "text": "hurry"}, {"type": "text", "text": "\ngo on"}])
    );
}

#[test]
fn a_late_result_still_stands_before_the_text() {
    let calls = vec![call("x", "read", "", CallKind::Function)];
    let items = [
        Item::user("a"),
        Item::Assistant(Assistant {
            calls,
            ..Assistant::default()
        }),
        Item::user("note"),
        result("x", "out", false),
    ];
    let got = body(&items, false);
    assert_eq!(got["messages"][1]["content"][0]["input"], json!({}));
    assert_eq!(
        got["messages"][2]["content"][0],
        json!({"type": "tool_result", "tool_use_id": "x", "content": "out"})
    );
    assert_eq!(got["messages"][2]["content"][1]["text"], "note");
}

#[test]
fn options_are_sent_when_given_and_extra_fields_win() {
    let schema = json!({"type": "object"});
    let extra = json!({"max_tokens": 7});
    let items = [Item::user("a")];
    let mut r = request(&items, &[], extra.as_object().unwrap());
    r.system = " ";
    r.reasoning_effort = Some("high");
    r.schema = Some(&schema);
    r.sampling.top_k = Some(20);
    r.sampling.stop = vec!["X".into()];
    let got = Messages.body(&r);
    assert_eq!(
        got["output_config"],
        json!({"effort": "high", "format": {"type": "json_schema", "schema": schema}})
    );
    assert_eq!((&got["max_tokens"], &got["top_k"]), (&json!(7), &json!(20)));
    assert_eq!(got["stop_sequences"], json!(["X"]));
    assert!(got.get("tools").is_none() && got.get("system").is_none());
    r.reasoning_effort = Some("none");
    assert_eq!(Messages.body(&r)["thinking"], json!({"type": "disabled"}));
}

/// The content as a sequence of parts, each with its role, without cache marks.
fn parts(body: &Value) -> Vec<(String, Value)> {
    let mut out = Vec::new();
    for message in body["messages"].as_array().unwrap() {
        for block in message["content"].as_array().unwrap() {
            let mut block = block.clone();
            block.as_object_mut().unwrap().remove("cache_control");
            out.push((message["role"].to_string(), block));
        }
    }
    out
}

#[test]
fn a_longer_history_begins_with_the_shorter_one() {
    let items = history();
    for local in [false, true] {
        let whole = parts(&body(&items, local));
        for n in 0..items.len() {
            let part = parts(&body(&items[..n], local));
            assert_eq!(part[..], whole[..part.len()]);
        }
    }
}

#[test]
fn at_most_four_cache_marks() {
    let items: Vec<Item> = (0..40)
        .flat_map(|i| {
            let id = format!("c{i}");
            let calls = vec![call(&id, "read", "{}", CallKind::Function)];
            [
                Item::Assistant(Assistant {
                    calls,
                    ..Assistant::default()
                }),
                result(&id, "x", false),
            ]
        })
        .collect();
    assert_eq!(
        body(&items, false)
            .to_string()
            .matches("cache_control")
            .count(),
        3
    );
}

fn read(events: &[Value]) -> (Result<Reply, ModelError>, Vec<Delta>) {
    let mut reader = Messages.decoder(&tools());
    let mut deltas = Vec::new();
    for event in events {
        let frame = Frame {
            event: event["type"].as_str().map(str::to_owned),
            data: event.to_string(),
        };
        if let Err(error) = reader.feed(&frame, &mut deltas) {
            return (Err(error), deltas);
        }
    }
    (reader.finish(), deltas)
}

fn claude() -> Vec<Value> {
    let delta =
        |i: u64, delta: Value| json!({"type": "content_block_delta", "index": i, "delta": delta});
    let start = |i: u64, block: Value| json!({"type": "content_block_start", "index": i, "content_block": block});
    let stop = |i: u64| json!({"type": "content_block_stop", "index": i});
    vec![
        json!({"type": "message_start", "message": {"id": "msg_1", "content": [], "stop_reason": null,
            "usage": {"input_tokens": 10, "cache_read_input_tokens": 80, "cache_creation_input_tokens": 5, "output_tokens": 1}}}),
        start(
            0,
            json!({"type": "thinking", "thinking": "", "signature": ""}),
        ),
        delta(0, json!({"type": "thinking_delta", "thinking": "let me "})),
        json!({"type": "ping"}),
        delta(0, json!({"type": "thinking_delta", "thinking": "see"})),
        delta(0, json!({"type": "signature_delta", "signature": "SIG"})),
        stop(0),
        start(1, json!({"type": "redacted_thinking", "data": "R"})),
        stop(1),
        start(2, json!({"type": "text", "text": ""})),
        delta(2, json!({"type": "text_delta", "text": "I will "})),
        delta(2, json!({"type": "text_delta", "text": "look."})),
        stop(2),
        start(
            3,
            json!({"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}}),
        ),
        delta(3, json!({"type": "input_json_delta", "partial_json": ""})),
        delta(
            3,
            json!({"type": "input_json_delta", "partial_json": "{\"path\": "}),
        ),
        delta(
            3,
            json!({"type": "input_json_delta", "partial_json": "\"a\"}"}),
        ),
        stop(3),
        start(
            4,
            json!({"type": "tool_use", "id": "toolu_2", "name": "apply_patch", "input": {"input": "*** Begin"}}),
        ),
        stop(4),
        start(
            5,
            json!({"type": "tool_use", "id": "toolu_3", "name": "read", "input": {}}),
        ),
        stop(5),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": null},
            "usage": {"input_tokens": null, "output_tokens": 42, "output_tokens_details": {"thinking_tokens": 9}}}),
        json!({"type": "message_stop"}),
    ]
}

#[test]
fn the_stream_of_claude() {
    let (reply, deltas) = read(&claude());
    let reply = reply.unwrap();
    assert_eq!(
        reply.assistant.reasoning,
        [
            thought("let me see", Some("SIG")),
            Reasoning {
                opaque: Some(json!({"type": "redacted_thinking", "data": "R"})),
                ..thought("", None)
            },
        ]
    );
    assert_eq!(reply.assistant.text, "I will look.");
    assert_eq!(
        reply.assistant.calls,
        [
            call("toolu_1", "read", "{\"path\": \"a\"}", CallKind::Function),
            call("toolu_2", "apply_patch", "*** Begin", CallKind::Freeform),
            call("toolu_3", "read", "{}", CallKind::Function),
        ]
    );
    assert_eq!(reply.finish, Finish::Stop);
    assert_eq!(
        reply.usage,
        Some(Usage {
            input: 95,
            cached: Some(80),
            cache_write: 5,
            output: 42,
            reasoning: 9
        })
    );
    let text = |t: &str| Delta::Text(t.into());
    let arguments = |index, t: &str| Delta::CallArguments {
        index,
        text: t.into(),
    };
    let begin = |index, name: &str| Delta::CallStart {
        index,
        name: name.into(),
    };
    assert_eq!(
        deltas,
        [
            Delta::Reasoning("let me ".into()),
            Delta::Reasoning("see".into()),
            text("I will "),
            text("look."),
            begin(0, "read"),
            arguments(0, "{\"path\": "),
            arguments(0, "\"a\"}"),
            begin(1, "apply_patch"),
            arguments(1, "{\"input\":\"*** Begin\"}"),
            begin(2, "read"),
        ]
    );
}

#[test]
fn what_was_read_goes_back_as_it_came() {
    let reply = read(&claude()).0.unwrap();
    let got = body(&[Item::user("a"), Item::Assistant(reply.assistant)], false);
    let content = &got["messages"][1]["content"];
    assert_eq!(
        content[0],
        json!({"type": "thinking", "thinking": "let me see", "signature": "SIG"})
    );
    assert_eq!(
        content[1],
        json!({"type": "redacted_thinking", "data": "R"})
    );
    assert_eq!(content[4]["input"], json!({"input": "*** Begin"}));
}

/// llama.cpp's blocks start without `input` and `signature`, and its last usage has the output alone.
#[test]
fn the_stream_of_llama_server() {
    let events = [
        json!({"type": "message_start", "message": {"usage": {"cache_read_input_tokens": 60, "input_tokens": 4, "output_tokens": 0}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": ""}}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "", "name": "read"}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{\"path\":\"sr"}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {"output_tokens": 8}}),
        json!({"type": "message_stop"}),
    ];
    let reply = read(&events).0.unwrap();
    assert_eq!(reply.assistant.reasoning, [thought("hm", Some(""))]);
    assert_eq!(reply.assistant.calls[0].arguments, "{\"path\":\"sr");
    assert!(reply.assistant.calls[0].id.starts_with("call_"));
    assert_eq!(reply.finish, Finish::Length);
    let usage = reply.usage.unwrap();
    assert_eq!((usage.input, usage.cached, usage.output), (64, Some(60), 8));
}

#[test]
fn ends() {
    let end = |delta: Value| {
        let events = [
            json!({"type": "message_delta", "delta": delta}),
            json!({"type": "message_stop"}),
        ];
        read(&events).0.unwrap().finish
    };
    for (reason, want) in [
        ("end_turn", Finish::Stop),
        ("stop_sequence", Finish::Stop),
        ("pause_turn", Finish::Stop),
        ("max_tokens", Finish::Length),
        ("model_context_window_exceeded", Finish::Length),
        ("refusal", Finish::Refused("refusal".into())),
    ] {
        assert_eq!(end(json!({"stop_reason": reason})), want);
    }
    let why = json!({"stop_reason": "refusal", "stop_details": {"category": "cyber", "explanation": "Not this."}});
    assert_eq!(end(why), Finish::Refused("Not this.".into()));
}

#[test]
fn counts_at_the_end_replace_those_at_the_start_unless_they_are_zero() {
    let usage = |first: Value, last: Value| {
        let events = [
            json!({"type": "message_start", "message": {"usage": first}}),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": last}),
            json!({"type": "message_stop"}),
        ];
        read(&events).0.unwrap().usage
    };
    let late = usage(
        json!({"input_tokens": 0, "output_tokens": 0}),
        json!({"input_tokens": 3, "cache_read_input_tokens": 9, "output_tokens": 2}),
    );
    assert_eq!(
        late.map(|u| (u.input, u.cached, u.output)),
        Some((12, Some(9), 2))
    );
    let early = usage(
        json!({"input_tokens": 30}),
        json!({"input_tokens": 0, "output_tokens": 2}),
    );
    assert_eq!(
        early.map(|u| (u.input, u.cached, u.output)),
        Some((30, None, 2))
    );
    assert_eq!(usage(Value::Null, Value::Null), None);
}

#[test]
fn a_stream_without_its_last_event_is_broken_at_every_length() {
    let events = claude();
    for n in 0..events.len() {
        assert!(
            matches!(read(&events[..n]).0, Err(ModelError::Broken { .. })),
            "{n}"
        );
    }
    let error =
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    assert!(
        read(&[events[0].clone(), error])
            .0
            .unwrap_err()
            .is_transient()
    );
}

#[test]
fn a_stream_cut_on_purpose_keeps_whole_calls_only() {
    let events = claude();
    for (n, calls) in [(16, 0), (17, 1), (19, 1), (20, 2), (21, 2), (22, 3)] {
        let mut reader = Messages.decoder(&tools());
        for event in &events[..n] {
            let frame = Frame {
                event: None,
                data: event.to_string(),
            };
            reader.feed(&frame, &mut Vec::new()).unwrap();
        }
        let reply = reader.cut();
        assert_eq!(
            (reply.finish, reply.assistant.calls.len()),
            (Finish::Cut, calls),
            "{n}"
        );
    }
}

#[test]
fn a_plain_answer_to_a_streaming_request() {
    let message = json!({"type": "message", "role": "assistant", "stop_reason": "tool_use",
        "content": [
            {"type": "text", "text": "One."},
            {"type": "tool_use", "id": "t", "name": "read", "input": {"path": "a"}},
            {"type": "text", "text": "Two."}],
        "usage": {"input_tokens": 5, "output_tokens": 6}});
    let (reply, deltas) = read(&[message]);
    let reply = reply.unwrap();
    assert_eq!(reply.assistant.text, "One.\n\nTwo.");
    assert_eq!(
        reply.assistant.calls,
        [call("t", "read", "{\"path\":\"a\"}", CallKind::Function)]
    );
    assert_eq!(reply.usage.unwrap().input, 5);
    let told: String = deltas
        .iter()
        .filter_map(|d| {
            if let Delta::Text(t) = d {
                Some(t.as_str())
            } else {
                None
            }
        })
        .collect();
    assert_eq!(told, "One.\n\nTwo.");
}
