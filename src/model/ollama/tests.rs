use super::super::chat::testing::{read, request, tool, transcript};
use super::*;

#[test]
fn a_request_sets_the_window_and_forbids_silent_truncation() {
    let extra = json!({"keep_alive": "10m", "options": {"num_batch": 256}});
    let tools = [tool()];
    let mut request = request(&[], &tools, extra.as_object().unwrap(), true);
    let schema = json!({"type": "object"});
    request.schema = Some(&schema);
    request.sampling.temperature = Some(0.2);
    let body = Ollama.body(&request);
    assert_eq!(
        body["options"],
        json!({"num_ctx": 32768, "num_predict": 100, "temperature": 0.2, "num_batch": 256})
    );
    assert_eq!(
        (&body["truncate"], &body["shift"], &body["stream"]),
        (&json!(false), &json!(false), &json!(true))
    );
    assert_eq!(body["keep_alive"], "10m");
    assert_eq!(body["format"], schema);
    assert_eq!(body["tools"][0]["function"]["name"], "patch");
    assert!(body.get("think").is_none());
    for (model, effort, sent) in [
        ("qwen3:8b", "none", json!(false)),
        ("qwen3:8b", "high", json!(true)),
        ("gpt-oss:20b", "minimal", json!("low")),
        ("gpt-oss:20b", "medium", json!("medium")),
        ("gpt-oss:20b", "xhigh", json!("high")),
    ] {
        assert_eq!(think(model, effort), sent, "{model} {effort}");
    }
}

#[test]
fn messages_have_string_contents_object_arguments_and_bare_images() {
    let (items, extra) = (transcript(), Map::new());
    let body = Ollama.body(&request(&items, &[], &extra, true));
    let id = body["messages"][2]["tool_calls"][0]["id"].clone();
    assert_eq!(
        body["messages"],
        json!([
            {"role": "system", "content": "sys"},
            {"role": "user", "content": "rules\n\nfix it"},
            {"role": "assistant", "content": "", "thinking": "think", "tool_calls": [
                {"id": id, "function": {"name": "view", "arguments": {"path": "x"}}},
                {"id": "b", "function": {"name": "patch", "arguments": {"input": "*** P"}}},
            ]},
            {"role": "tool", "content": "seen", "tool_name": "view", "tool_call_id": id},
            {"role": "tool", "content": "done", "tool_name": "patch", "tool_call_id": "b"},
            {"role": "user", "content": "Image from the result of `view`:\n\ngo on\n\nlook", "images": ["AAAA", "AAAA"]},
            {"role": "assistant", "content": "Fixed."},
            {"role": "user", "content": "thanks"},
        ])
    );
}

#[test]
fn a_stream_with_calls_in_the_last_line_too() {
    let body = concat!(
        r#"{"model":"m","message":{"role":"assistant","content":"","thinking":"Hm"},"done":false}"#,
        "\n",
        r#"{"model":"m","message":{"role":"assistant","content":"I réad"},"done":false}"#,
        "\n",
        r#"{"model":"m","message":{"role":"assistant","content":"","tool_calls":[{"id":"call_1","function":{"index":0,"name":"f","arguments":{"b":1,"a":"x"}}}]},"done":false}"#,
        "\n",
        r#"{"model":"m","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"patch","arguments":{"input":"*** P"}}}]},"done":true,"done_reason":"stop","total_duration":9,"load_duration":1000,"prompt_eval_count":240,"prompt_eval_duration":2000,"eval_count":20,"eval_duration":3000}"#,
    );
    let (deltas, reply) = read(&Ollama, &[tool()], body);
    let reply = reply.unwrap();
    assert_eq!(deltas.len(), 6);
    assert_eq!(
        deltas[2],
        Delta::CallStart {
            index: 0,
            name: "f".into()
        }
    );
    assert_eq!(reply.assistant.reasoning[0].text, "Hm");
    assert_eq!(reply.assistant.text, "I réad");
    let calls: Vec<_> = reply
        .assistant
        .calls
        .iter()
        .map(|c| (c.id.as_str(), c.arguments.as_str()))
        .collect();
    assert_eq!(
        calls,
        [("call_1", r#"{"b":1,"a":"x"}"#), ("made up", "*** P")]
    );
    assert_eq!(
        reply.usage,
        Some(Usage {
            input: 240,
            output: 20,
            ..Usage::default()
        })
    );
    assert_eq!(reply.timing.load, Some(Duration::from_nanos(1000)));
    assert_eq!(reply.timing.prompt, Some(Duration::from_nanos(2000)));
    assert_eq!(reply.timing.output, Some(Duration::from_nanos(3000)));
    assert_eq!(reply.finish, Finish::Stop);
}

#[test]
fn how_a_stream_ends() {
    let text = r#"{"message":{"role":"assistant","content":"x"},"done":false}"#;
    let end = |last: &str| read(&Ollama, &[], &format!("{text}\n{last}\n")).1;
    let length = end(r#"{"message":{"content":""},"done":true,"done_reason":"length"}"#).unwrap();
    assert_eq!((length.finish, length.usage), (Finish::Length, None));
    assert!(matches!(end(""), Err(ModelError::Broken { .. })));
    let stopped = r#"{"error":"model runner has unexpectedly stopped, this may be due to resource limitations"}"#;
    assert!(matches!(
        end(stopped),
        Err(ModelError::Status { status: 500, .. })
    ));
    let parser = r#"{"error":"XML syntax error on line 3: unexpected EOF"}"#;
    assert!(matches!(end(parser), Err(ModelError::BadCall { .. })));
}
