use super::*;
use crate::model::Vendor;
use crate::model::{Delta, Finish, ModelError, Reply, Sampling, ToolCall, Usage, sse::Frame};
use std::time::Duration;

fn spec(name: &str, input: ToolInput) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: "d".into(),
        input,
    }
}

fn tools() -> Vec<ToolSpec> {
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

fn history() -> Vec<Item> {
    let thinking = Reasoning {
        text: "think".into(),
        opaque: Some(
            json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "E"}),
        ),
        wire: WireApi::Responses,
        ..Reasoning::default()
    };
    let foreign = Reasoning {
        text: "other".into(),
        signature: Some("s".into()),
        wire: WireApi::Messages,
        ..Reasoning::default()
    };
    vec![
        Item::Developer {
            text: "rules".into(),
        },
        Item::User {
            content: vec![
                Part::text(""),
                Part::text("look"),
                Part::Image {
                    media_type: "image/png".into(),
                    data: "AA==".into(),
                },
            ],
        },
        Item::Assistant(Assistant {
            reasoning: vec![thinking, foreign],
            text: "on it".into(),
            calls: vec![
                call("c.1", "read", "{\"b\":1, \"a\":2}", CallKind::Function),
                call("c.2", "apply_patch", "*** Begin Patch", CallKind::Freeform),
            ],
        }),
        Item::ToolResult(ToolResult {
            call_id: "c.1".into(),
            name: "read".into(),
            content: vec![Part::text("one"), Part::text("two")],
            is_error: false,
            kind: CallKind::Function,
        }),
        Item::ToolResult(ToolResult {
            call_id: "c.2".into(),
            name: "apply_patch".into(),
            content: vec![Part::text("done")],
            is_error: false,
            kind: CallKind::Freeform,
        }),
        Item::Assistant(Assistant::default()),
        Item::user("next"),
    ]
}

fn request<'a>(
    items: &'a [Item],
    tools: &'a [ToolSpec],
    extra: &'a serde_json::Map<String, Value>,
) -> Request<'a> {
    Request {
        model: "m",
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
    Responses.body(&request)
}

#[test]
fn a_hosted_request() {
    let got = body(&history(), false);
    let want = json!({
        "model": "m",
        "instructions": "sys",
        "tools": [
            {"type": "function", "name": "read", "description": "d", "parameters": {"type": "object"}, "strict": false},
            {"type": "custom", "name": "apply_patch", "description": "d",
             "format": {"type": "grammar", "syntax": "lark", "definition": "start: x"}},
        ],
        "tool_choice": "auto",
        "parallel_tool_calls": true,
        "input": [
            {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "rules"}]},
            {"type": "message", "role": "user", "content": [
                {"type": "input_text", "text": "look"},
                {"type": "input_image", "image_url": "data:image/png;base64,AA==", "detail": "auto"}]},
            {"type": "reasoning", "summary": [], "encrypted_content": "E"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "on it"}]},
            {"type": "function_call", "call_id": "c_1", "name": "read", "arguments": "{\"b\":1, \"a\":2}"},
            {"type": "custom_tool_call", "call_id": "c_2", "name": "apply_patch", "input": "*** Begin Patch"},
            {"type": "function_call_output", "call_id": "c_1", "output": "one\ntwo"},
            {"type": "custom_tool_call_output", "call_id": "c_2", "output": "done"},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "next"}]},
        ],
        "max_output_tokens": 500,
        "store": false,
        "stream": true,
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "key",
    });
    assert_eq!(got, want);
}

#[test]
fn a_local_request_has_functions_only_and_thinking_in_the_clear() {
    let got = body(&history(), true);
    assert_eq!(got["tools"][1]["type"], "function");
    assert_eq!(got["tools"][1]["parameters"]["required"], json!(["input"]));
    assert_eq!(
        got["input"][2],
        json!({"type": "reasoning", "summary": [],
            "content": [{"type": "reasoning_text", "text": "think\n\nother"}],
            "encrypted_content": "think\n\nother"})
    );
    assert_eq!(
        got["input"][5],
        json!({"type": "function_call", "call_id": "c_2", "name": "apply_patch",
            "arguments": "{\"input\":\"*** Begin Patch\"}"})
    );
    assert_eq!(got["input"][7]["type"], "function_call_output");
    assert!(got.get("include").is_none() && got.get("prompt_cache_key").is_none());
    assert_eq!(got["return_progress"], true);
}

#[test]
fn options_are_sent_when_given_and_extra_fields_win() {
    let schema = json!({"type": "object"});
    let extra = json!({"store": true, "x": 1});
    let items = [Item::user("a")];
    let mut r = request(&items, &[], extra.as_object().unwrap());
    r.system = "";
    r.reasoning_effort = Some("high");
    r.schema = Some(&schema);
    r.sampling.temperature = Some(0.5);
    r.sampling.top_k = Some(20);
    let got = Responses.body(&r);
    assert_eq!(got["reasoning"], json!({"effort": "high"}));
    assert_eq!(got["text"]["format"]["schema"], schema);
    assert_eq!(
        (&got["temperature"], &got["store"], &got["x"]),
        (&json!(0.5), &json!(true), &json!(1))
    );
    for absent in [
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "instructions",
        "top_k",
    ] {
        assert!(got.get(absent).is_none(), "{absent}");
    }
}

#[test]
fn a_longer_history_begins_with_the_shorter_one() {
    let items = history();
    for local in [false, true] {
        let whole = body(&items, local);
        for n in 0..items.len() {
            let part = body(&items[..n], local);
            let (part, whole) = (
                part["input"].as_array().unwrap(),
                whole["input"].as_array().unwrap(),
            );
            assert_eq!(part[..], whole[..part.len()]);
        }
    }
}

fn read(events: &[Value]) -> (Result<Reply, ModelError>, Vec<Delta>) {
    let mut reader = Responses.decoder(&tools());
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

/// The text, thinking and call arguments that the deltas make up.
fn told(deltas: &[Delta]) -> (String, String, Vec<(String, String)>) {
    let mut all = (String::new(), String::new(), Vec::<(String, String)>::new());
    for delta in deltas {
        match delta {
            Delta::Text(t) => all.0.push_str(t),
            Delta::Reasoning(t) => all.1.push_str(t),
            Delta::CallStart { index, name } => {
                assert_eq!(*index, all.2.len());
                all.2.push((name.clone(), String::new()));
            }
            Delta::CallArguments { index, text } => all.2[*index].1.push_str(text),
            _ => {}
        }
    }
    all
}

/// Thinking, a text and two calls, as OpenAI sends them.
fn openai() -> Vec<Value> {
    let reasoning = json!({"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "plan"}],
        "encrypted_content": "E"});
    let message = json!({"type": "message", "id": "msg_1", "role": "assistant",
        "content": [{"type": "output_text", "text": "Hello there", "annotations": []}]});
    let function = json!({"type": "function_call", "id": "fc_1", "call_id": "call_a", "name": "read", "arguments": "{\"path\":\"a\"}"});
    let custom = json!({"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_b", "name": "apply_patch", "input": "*** Begin"});
    vec![
        json!({"type": "response.created", "response": {"status": "in_progress"}}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "reasoning", "id": "rs_1", "summary": []}}),
        json!({"type": "response.reasoning_summary_part.added", "output_index": 0, "item_id": "rs_1"}),
        json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "item_id": "rs_1", "delta": "plan"}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": reasoning}),
        json!({"type": "response.output_item.added", "output_index": 1, "item": {"type": "message", "id": "msg_1", "content": []}}),
        json!({"type": "response.output_item.added", "output_index": 2, "item": {"type": "function_call", "id": "fc_1", "call_id": "call_a", "name": "read", "arguments": ""}}),
        json!({"type": "response.output_text.delta", "output_index": 1, "item_id": "msg_1", "delta": "Hello "}),
        json!({"type": "response.function_call_arguments.delta", "output_index": 2, "item_id": "fc_1", "delta": "{\"path\":"}),
        json!({"type": "response.output_text.delta", "output_index": 1, "item_id": "msg_1", "delta": "there"}),
        json!({"type": "response.function_call_arguments.delta", "output_index": 2, "item_id": "fc_1", "delta": "\"a\"}"}),
        json!({"type": "response.output_item.done", "output_index": 1, "item": message}),
        json!({"type": "response.output_item.done", "output_index": 2, "item": function}),
        json!({"type": "response.output_item.added", "output_index": 3, "item": {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_b", "name": "apply_patch", "input": ""}}),
        json!({"type": "response.custom_tool_call_input.delta", "output_index": 3, "item_id": "ctc_1", "delta": "*** Begin"}),
        json!({"type": "response.output_item.done", "output_index": 3, "item": custom}),
        json!({"type": "response.completed", "response": {"status": "completed", "output": [reasoning, message, function, custom],
            "usage": {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 80, "cache_write_tokens": 5},
                "output_tokens": 20, "output_tokens_details": {"reasoning_tokens": 7}}}}),
    ]
}

fn openai_calls() -> Vec<ToolCall> {
    vec![
        call("call_a", "read", "{\"path\":\"a\"}", CallKind::Function),
        call("call_b", "apply_patch", "*** Begin", CallKind::Freeform),
    ]
}

#[test]
fn the_stream_of_openai() {
    let (reply, deltas) = read(&openai());
    let reply = reply.unwrap();
    assert_eq!(reply.assistant.text, "Hello there");
    assert_eq!(reply.assistant.calls, openai_calls());
    assert_eq!(reply.assistant.reasoning[0].text, "plan");
    assert_eq!(
        reply.assistant.reasoning[0].opaque.as_ref().unwrap()["encrypted_content"],
        "E"
    );
    assert_eq!(reply.finish, Finish::Stop);
    assert_eq!(
        reply.usage,
        Some(Usage {
            input: 100,
            cached: Some(80),
            cache_write: 5,
            output: 20,
            reasoning: 7
        })
    );
    let calls = vec![
        ("read".to_owned(), "{\"path\":\"a\"}".to_owned()),
        ("apply_patch".to_owned(), "*** Begin".to_owned()),
    ];
    assert_eq!(told(&deltas), ("Hello there".into(), "plan".into(), calls));
}

#[test]
fn the_reply_is_the_same_without_deltas_without_items_and_without_both() {
    let whole = openai();
    let is = |e: &Value, word: &str| e["type"].as_str().unwrap().contains(word);
    let without = |word: &str| {
        whole
            .iter()
            .filter(|e| !is(e, word))
            .cloned()
            .collect::<Vec<_>>()
    };
    let last_only = vec![whole.last().unwrap().clone()];
    let mut no_output = without("output_item.done");
    no_output.last_mut().unwrap()["response"]["output"] = json!([]);
    let mut plain = whole.last().unwrap()["response"].clone();
    plain["object"] = "response".into();
    for events in [
        without(".delta"),
        without("output_item"),
        last_only,
        no_output,
        vec![plain],
    ] {
        let (reply, deltas) = read(&events);
        let assistant = reply.unwrap().assistant;
        assert_eq!(
            (assistant.text.as_str(), assistant.reasoning.len()),
            ("Hello there", 1)
        );
        let pairs = |c: &ToolCall| (c.name.clone(), c.arguments.clone());
        let names: Vec<_> = assistant.calls.iter().map(pairs).collect();
        let want: Vec<_> = openai_calls().iter().map(pairs).collect();
        let sorted = |mut v: Vec<(String, String)>| {
            v.sort();
            v
        };
        assert_eq!(sorted(names), sorted(want));
        assert_eq!(told(&deltas).0, "Hello there");
        assert!(assistant.calls.iter().all(|c| !c.id.is_empty()));
    }
}

/// llama.cpp sends no `output_index`, and a call's last fragments name its item.
#[test]
fn the_stream_of_llama_server() {
    let message = json!({"type": "message", "id": "msg_x", "role": "assistant", "content": [{"type": "output_text", "text": "ok"}]});
    let item = |id: &str, args: &str| json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": format!("call_{id}"), "name": "apply_patch", "arguments": args});
    let (a, b) = (
        item("A", "{\"input\":\"*** A\"}"),
        item("B", "{\"input\":\"*** B"),
    );
    let events = [
        json!({"type": "response.in_progress", "response": {}, "prompt_progress": {"total": 90, "cache": 10, "processed": 50, "time_ms": 3}}),
        json!({"type": "response.output_item.added", "item": {"type": "reasoning", "id": "rs_x", "summary": [], "content": [], "encrypted_content": ""}}),
        json!({"type": "response.reasoning_text.delta", "delta": "hm", "item_id": "rs_x"}),
        json!({"type": "response.output_item.added", "item": {"type": "message", "id": "msg_x", "content": []}}),
        json!({"type": "response.output_text.delta", "item_id": "msg_x", "delta": "ok"}),
        json!({"type": "response.output_item.added", "item": item("A", "")}),
        json!({"type": "response.function_call_arguments.delta", "item_id": "fc_A", "delta": "{\"input\":\"*** A\"}"}),
        json!({"type": "response.output_item.added", "item": item("B", "")}),
        json!({"type": "response.function_call_arguments.delta", "item_id": "fc_B", "delta": "{\"input\":\"*** B"}),
        json!({"type": "response.output_item.done", "item": {"type": "reasoning", "id": "rs_x", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}], "encrypted_content": ""}}),
        json!({"type": "response.output_item.done", "item": message}),
        json!({"type": "response.output_item.done", "item": a}),
        json!({"type": "response.output_item.done", "item": b}),
        json!({"type": "response.completed", "response": {"status": "completed", "output": [message, a, b],
            "usage": {"input_tokens": 90, "output_tokens": 4, "total_tokens": 94, "input_tokens_details": {"cached_tokens": 10}}},
            "timings": {"prompt_ms": 1500.0, "predicted_ms": 250.0}}),
    ];
    let (reply, deltas) = read(&events);
    let reply = reply.unwrap();
    assert_eq!(
        deltas[0],
        Delta::Progress {
            processed: 50,
            total: 90,
            cached: 10
        }
    );
    assert_eq!(reply.assistant.reasoning[0].text, "hm");
    assert_eq!(reply.assistant.reasoning[0].opaque, None);
    assert_eq!(
        reply.assistant.calls,
        [
            call("call_A", "apply_patch", "*** A", CallKind::Freeform),
            call(
                "call_B",
                "apply_patch",
                "{\"input\":\"*** B",
                CallKind::Freeform
            ),
        ]
    );
    assert_eq!(
        reply.finish,
        Finish::Length,
        "its last call stops in the middle"
    );
    assert_eq!(reply.timing.prompt, Some(Duration::from_millis(1500)));
    assert_eq!(reply.timing.output, Some(Duration::from_millis(250)));
}

#[test]
fn ends_that_are_no_answer() {
    let end =
        |response: Value| read(&[json!({"type": "response.incomplete", "response": response})]).0;
    let cut =
        end(json!({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}));
    assert_eq!(cut.unwrap().finish, Finish::Length);
    let filtered =
        end(json!({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}));
    assert_eq!(
        filtered.unwrap().finish,
        Finish::Refused("content_filter".into())
    );
    let failed = read(&[
        json!({"type": "response.failed", "response": {"status": "failed", "usage": null,
        "error": {"code": "context_length_exceeded", "message": "Too long."}}}),
    ]);
    assert!(matches!(failed.0, Err(ModelError::Overflow { .. })));
    let error =
        read(&[json!({"type": "error", "code": "server_error", "message": "x", "param": null})]);
    assert!(error.0.unwrap_err().is_transient());
    let refusal = read(&[
        json!({"type": "response.refusal.delta", "output_index": 0, "delta": "I cannot."}),
        json!({"type": "response.completed", "response": {"status": "completed"}}),
    ]);
    assert_eq!(
        refusal.0.unwrap().finish,
        Finish::Refused("I cannot.".into())
    );
}

#[test]
fn a_stream_without_its_last_event_is_broken_at_every_length() {
    let events = openai();
    for n in 0..events.len() {
        assert!(
            matches!(read(&events[..n]).0, Err(ModelError::Broken { .. })),
            "{n}"
        );
    }
    let mut reader = Responses.decoder(&[]);
    let done = Frame {
        event: None,
        data: "[DONE]".into(),
    };
    assert!(reader.feed(&done, &mut Vec::new()).is_ok() && !reader.is_done());
    let noise = Frame {
        event: None,
        data: "<html>".into(),
    };
    assert!(matches!(
        reader.feed(&noise, &mut Vec::new()),
        Err(ModelError::Broken { .. })
    ));
}

#[test]
fn a_stream_cut_on_purpose_keeps_whole_calls_only() {
    let events = openai();
    for (n, calls) in [(9, 0), (11, 1), (15, 1), (16, 2)] {
        let mut reader = Responses.decoder(&tools());
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
fn two_messages_are_two_paragraphs_in_text_and_deltas() {
    let message = |i: u64, text: &str| {
        json!({"type": "response.output_item.done", "output_index": i,
        "item": {"type": "message", "content": [{"type": "output_text", "text": text}]}})
    };
    let end = json!({"type": "response.completed", "response": {}});
    let (reply, deltas) = read(&[message(0, "One."), message(1, "Two."), end]);
    assert_eq!(reply.unwrap().assistant.text, "One.\n\nTwo.");
    assert_eq!(told(&deltas).0, "One.\n\nTwo.");
}
