use super::super::super::{CallKind, Item, Part, Sampling, ToolCall, ToolInput, ToolResult};
use super::*;

/// A transcript with everything in it.
pub fn transcript() -> Vec<Item> {
    let call = |id: &str, name: &str, arguments: &str, kind| ToolCall {
        id: id.into(),
        name: name.into(),
        arguments: arguments.into(),
        kind,
        recovered: false,
    };
    let result = |id: &str, name: &str, content: Vec<Part>| {
        Item::ToolResult(ToolResult {
            call_id: id.into(),
            name: name.into(),
            content,
            is_error: false,
            kind: CallKind::Function,
        })
    };
    let image = || Part::Image {
        media_type: "image/png".into(),
        data: "AAAA".into(),
    };
    vec![
        Item::Developer {
            text: "rules".into(),
        },
        Item::user("fix it"),
        Item::Assistant(Assistant {
            reasoning: vec![Reasoning {
                text: "think".into(),
                ..Reasoning::default()
            }],
            text: String::new(),
            calls: vec![
                call("a.1", "view", "{ \"path\":\"x\" }", CallKind::Function),
                call("b", "patch", "*** P", CallKind::Freeform),
            ],
        }),
        result("a.1", "view", vec![Part::text("seen"), image()]),
        result("b", "patch", vec![Part::text("do\0ne")]),
        Item::user("go on"),
        Item::Assistant(Assistant::default()),
        Item::User {
            content: vec![Part::text("look"), image()],
        },
        Item::Assistant(Assistant {
            text: "Fixed.".into(),
            ..Assistant::default()
        }),
        Item::user("thanks"),
    ]
}

pub fn request<'a>(
    items: &'a [Item],
    tools: &'a [ToolSpec],
    extra: &'a Map<String, Value>,
    local: bool,
) -> Request<'a> {
    Request {
        model: "m",
        system: "sys",
        tools,
        items: items.iter().collect(),
        max_output_tokens: 100,
        window: Some(32768),
        sampling: Sampling::default(),
        reasoning_effort: None,
        one_call: false,
        raw_calls: false,
        cache_key: "k",
        schema: None,
        local,
        vendor: Vendor::of("https://far.example/v1", local),
        extra,
    }
}

pub fn tool() -> ToolSpec {
    ToolSpec {
        name: "patch".into(),
        description: "d".into(),
        input: ToolInput::Freeform {
            grammar: "g".into(),
        },
    }
}

#[test]
fn messages_as_strict_servers_want_them() {
    let (items, extra) = (transcript(), Map::new());
    let body = body(&request(&items, &[], &extra, true));
    let image = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}});
    // `a.1` has a character that some servers refuse.
    let id_of_view = "a_1";
    assert_eq!(
        body["messages"],
        json!([
            {"role": "system", "content": "sys"},
            {"role": "user", "content": "rules\n\nfix it"},
            {"role": "assistant", "content": "", "reasoning_content": "think", "tool_calls": [
                {"id": id_of_view, "type": "function", "function": {"name": "view", "arguments": "{ \"path\":\"x\" }"}},
                {"id": "b", "type": "function", "function": {"name": "patch", "arguments": "{\"input\":\"*** P\"}"}},
            ]},
            {"role": "tool", "tool_call_id": id_of_view, "content": "seen"},
            {"role": "tool", "tool_call_id": "b", "content": "done"},
            {"role": "user", "content": [
                {"type": "text", "text": "Image from the result of `view`:"},
                image,
                {"type": "text", "text": "go on\n\nlook"},
                image,
            ]},
            {"role": "assistant", "content": "Fixed."},
            {"role": "user", "content": "thanks"},
        ])
    );
}

/// Invariant: what was sent stays as it was, save that the last user message may grow.
#[test]
fn a_longer_transcript_begins_with_the_shorter_one() {
    let (items, extra) = (transcript(), Map::new());
    let messages = |n: usize| {
        let body = body(&request(&items[..n], &[], &extra, true));
        body["messages"].as_array().cloned().unwrap()
    };
    // Between two results of one reply (3 and 4) no request is ever sent.
    for (n, next) in [
        (0, 1),
        (1, 2),
        (2, 5),
        (5, 6),
        (6, 7),
        (7, 8),
        (8, 9),
        (9, 10),
    ] {
        let (short, long) = (messages(n), messages(next));
        let Some((last, same)) = short.split_last() else {
            continue;
        };
        assert_eq!(same, &long[..same.len()], "{n}");
        let grown = &long[same.len()];
        if last != grown {
            assert_eq!(
                (&last["role"], &grown["role"]),
                (&json!("user"), &json!("user")),
                "{n}"
            );
            let text = |m: &Value| match &m["content"] {
                Value::String(text) => text.clone(),
                parts => parts
                    .as_array()
                    .into_iter()
                    .flatten()
                    .map(|p| p["text"].as_str().unwrap_or("<image>").to_owned())
                    .collect(),
            };
            assert!(text(grown).starts_with(&text(last)), "{n}: {last} {grown}");
        }
    }
}

#[test]
fn a_local_server_gets_the_extra_fields_and_a_hosted_one_only_what_it_needs() {
    let (extra, tools) = (Map::new(), [tool()]);
    let keys = |local, tools| {
        let body = body(&request(&[], tools, &extra, local));
        body.as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(
        keys(true, &tools),
        "model messages tools stream stream_options max_tokens cache_prompt return_progress parallel_tool_calls"
    );
    assert_eq!(
        keys(false, &tools),
        "model messages tools stream stream_options max_completion_tokens"
    );
    assert_eq!(
        keys(false, &[]),
        "model messages stream stream_options max_completion_tokens"
    );
    let body = body(&request(&[], &tools, &extra, false));
    assert_eq!(
        body["tools"][0]["function"]["parameters"]["required"],
        json!(["input"]),
        "a freeform tool is a function with one input"
    );
}

#[test]
fn what_was_asked_for_is_sent_and_extra_fields_win() {
    let extra =
        json!({"max_tokens": 7, "stream_options": null, "seed": 2, "response_format": {"x": 1}});
    let schema = json!({"type": "object"});
    let mut request = request(&[], &[], extra.as_object().unwrap(), false);
    request.schema = Some(&schema);
    request.reasoning_effort = Some("low");
    request.sampling = Sampling {
        temperature: Some(0.5),
        seed: Some(1),
        stop: vec!["END".into()],
        ..Sampling::default()
    };
    assert_eq!(
        body(&request),
        json!({
            "model": "m",
            "messages": [{"role": "system", "content": "sys"}],
            "stream": true,
            "temperature": 0.5,
            "seed": 2,
            "stop": ["END"],
            "reasoning_effort": "low",
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "answer", "schema": schema, "strict": true},
                "x": 1,
            },
            "max_tokens": 7,
        })
    );
}

#[test]
fn calls_without_words_and_thinking_by_its_name() {
    let items = [Item::Assistant(Assistant {
        reasoning: vec![Reasoning {
            text: "t".into(),
            opaque: Some("reasoning".into()),
            ..Reasoning::default()
        }],
        calls: vec![ToolCall {
            id: "a".into(),
            name: "f".into(),
            arguments: String::new(),
            kind: CallKind::Function,
            recovered: false,
        }],
        ..Assistant::default()
    })];
    let extra = Map::new();
    let message = &body(&request(&items, &[], &extra, false))["messages"][1];
    assert_eq!(message["content"], Value::Null);
    assert_eq!(message["reasoning"], "t");
    assert_eq!(message["tool_calls"][0]["function"]["arguments"], "{}");
}
