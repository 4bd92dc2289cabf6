use super::*;

fn at(status: u16, body: &str) -> ModelError {
    classify("http://h/v1", status, body, None, "m")
}

fn message(error: &ModelError) -> (u16, &str) {
    match error {
        ModelError::Status {
            status, message, ..
        } => (*status, message),
        other => panic!("{other:?}"),
    }
}

#[test]
fn overflow_with_the_numbers_of_every_server() {
    let inner = r#"{"error":{"code":400,"message":"request (9030 tokens) exceeds the available context size (8192 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9030,"n_ctx":8192}}"#;
    let ollama = serde_json::json!({ "error": inner }).to_string();
    let cases = [
        (400, inner, Some(9030), Some(8192)),
        (400, ollama.as_str(), Some(9030), Some(8192)),
        (
            500,
            r#"{"error":"the input length exceeds the context length"}"#,
            None,
            None,
        ),
        (
            400,
            r#"{"error":"Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough."}"#,
            Some(5000),
            Some(4096),
        ),
        (
            400,
            r#"{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the messages, 1000 in the completion). Please reduce the length.","code":400}"#,
            Some(4000),
            Some(4096),
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
            Some(210_000),
            Some(200_000),
        ),
        (413, "", None, None),
    ];
    for (status, body, prompt, window) in cases {
        match at(status, body) {
            ModelError::Overflow {
                prompt: p,
                window: w,
                ..
            } => {
                assert_eq!((p, w), (prompt, window), "{body}");
            }
            other => panic!("{body}: {other:?}"),
        }
    }
}

#[test]
fn models_tools_and_broken_calls() {
    for (status, body) in [
        (404, r#"{"error":"model 'x' not found"}"#),
        (
            404,
            r#"{"error":{"message":"The model `x` does not exist.","type":"NotFoundError","code":404}}"#,
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"model 'x' not found","type":"invalid_request_error"}}"#,
        ),
    ] {
        assert!(matches!(at(status, body), ModelError::NoModel { model, .. } if model == "m"));
    }
    for body in [
        r#"{"error":"registry.ollama.ai/library/gemma:2b does not support tools"}"#,
        r#"{"error":{"message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"}}"#,
    ] {
        assert!(matches!(at(400, body), ModelError::NoTools { .. }));
    }
    let raw =
        r#"{"error":"error parsing tool call: raw='{\"a\": ', err=unexpected end of JSON input"}"#;
    assert!(matches!(at(500, raw), ModelError::BadCall { raw: Some(r), .. } if r == "{\"a\": "));
    let groq = r#"{"error":{"message":"Failed to call a function.","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"<function=x>"}}"#;
    assert!(
        matches!(at(400, groq), ModelError::BadCall { raw: Some(r), .. } if r == "<function=x>")
    );
    assert!(matches!(
        at(500, r#"{"error":"tool 'x' not found"}"#),
        ModelError::BadCall { .. }
    ));
    // Our own history was bad: nothing that the model could mend.
    assert_eq!(
        message(&at(
            400,
            r#"{"error":{"message":"invalid tool call arguments"}}"#
        ))
        .0,
        400
    );
}

#[test]
fn every_shape_gives_the_servers_words_in_one_line() {
    for (body, words) in [
        (
            r#"{"error":{"message":"bad\nkey","code":"invalid_api_key"}}"#,
            "bad key (invalid_api_key)",
        ),
        (r#"{"error":"plain"}"#, "plain"),
        (r#"{"message":"m"}"#, "m"),
        (r#"{"detail":"Not allowed"}"#, "Not allowed"),
        (
            r#"{"detail":[{"loc":["body"],"msg":"field required","type":"missing"}]}"#,
            "field required (missing)",
        ),
        (r#"[{"error":{"message":"g","status":"INVALID"}}]"#, "g"),
        (
            "<html><head><title>502 Bad Gateway</title></head></html>",
            "502 Bad Gateway",
        ),
        ("upstream\u{1b}[31m died", "upstream [31m died"),
        ("", "no reason given (status 418)"),
    ] {
        assert_eq!(message(&at(418, body)), (418, words));
    }
    let long = "x".repeat(600);
    assert_eq!(message(&at(418, &long)).1.chars().count(), 501);
}

#[test]
fn an_error_inside_a_stream_gets_its_status_from_its_words() {
    for (body, status) in [
        (
            r#"{"error":{"code":500,"message":"The model produced output that does not match the expected hermes format"}}"#,
            500,
        ),
        (
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            529,
        ),
        (
            r#"{"error":"model runner has unexpectedly stopped, this may be due to resource limitations"}"#,
            500,
        ),
        (
            r#"{"error":"Unexpected endpoint or method. (GET /x)"}"#,
            200,
        ),
    ] {
        assert_eq!(message(&at(200, body)).0, status, "{body}");
    }
}

#[test]
fn waits_come_from_words_too_and_are_capped() {
    let wait = |body: &str, header| match classify("u", 429, body, header, "m") {
        ModelError::Status { retry_after, .. } => retry_after,
        other => panic!("{other:?}"),
    };
    let words = r#"{"error":{"message":"Rate limit reached. Please try again in 11.054s."}}"#;
    assert_eq!(wait(words, None), Some(Duration::from_millis(11_054)));
    assert_eq!(
        wait("try again in 250ms", None),
        Some(Duration::from_millis(250))
    );
    assert_eq!(wait("", Some(Duration::from_secs(3600))), Some(MAX_WAIT));
    assert_eq!(wait("", None), None);
}

#[test]
fn an_event_without_an_error_is_none() {
    use serde_json::json;
    assert_eq!(in_event(&json!({"type": "ping"})), None);
    assert_eq!(in_event(&json!({"type": "x", "error": null})), None);
}

#[test]
fn names_and_numbers_in_a_stream_say_whether_to_try_again() {
    use serde_json::json;
    let of = |event: serde_json::Value| {
        let error = in_event(&event).unwrap();
        (message(&error).0, error.is_transient())
    };
    let busy = json!({"error": {"code": "rate_limit_exceeded", "message": "Please try again in 11.054s."}});
    assert_eq!(of(busy), (429, true));
    let slow = json!({"type": "error", "code": "slow_down", "message": "try again in 250ms"});
    assert_eq!(of(slow), (503, true));
    let policy = json!({"error": {"code": "cyber_policy", "message": "x"}});
    assert_eq!(of(policy), (200, false));
    assert_eq!(of(json!({"error": "it broke"})), (200, false));
    let llama = json!({"error": {"code": 500, "message": "x", "type": "server_error"}});
    assert_eq!(of(llama), (500, true));
    let number = json!({"error": {"code": "503", "message": "x"}});
    assert_eq!(of(number), (503, true));
}

/// No wait brings a quota back, whatever else the server calls the error.
#[test]
fn a_used_up_quota_is_never_tried_again() {
    for (status, body) in [
        (
            200,
            r#"{"error":{"type":"rate_limit_error","message":"x","details":{"error_code":"enforced_spend_limit_reached"}}}"#,
        ),
        (
            200,
            r#"{"error":{"code":"insufficient_quota","message":"x"}}"#,
        ),
        (
            429,
            r#"{"error":{"type":"insufficient_quota","code":"rate_limit_exceeded","message":"x"}}"#,
        ),
        (
            429,
            r#"{"error":{"code":"usage_not_included","message":"x"}}"#,
        ),
    ] {
        let error = at(status, body);
        assert!(!error.is_transient(), "{error}");
    }
}

#[test]
fn an_overflow_in_a_stream_is_no_rate_limit() {
    let openai = r#"{"error":{"code":"context_length_exceeded","message":"Too long."}}"#;
    assert!(matches!(at(200, openai), ModelError::Overflow { .. }));
}

/// The sentence is cut at numbers, and may hold any character beside them.
#[test]
fn other_characters_beside_a_number_do_no_harm() {
    for (text, tokens) in [
        (
            "maximum context length is 8é, ü4000 in the messages",
            Some(4000),
        ),
        ("maximum context length; é in the messages", None),
    ] {
        match at(400, text) {
            ModelError::Overflow { prompt, .. } => assert_eq!(prompt, tokens),
            other => panic!("{other:?}"),
        }
    }
}
