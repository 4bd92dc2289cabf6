//! What a server's error means: from a body of any shape to the [`ModelError`] of the right kind.

use super::super::ModelError;
use serde_json::Value;
use std::time::Duration;

/// The most characters of a server's words that an error keeps.
const MAX_MESSAGE: usize = 500;

/// The longest wait that a server may ask for.
pub(super) const MAX_WAIT: Duration = Duration::from_secs(60);

/// Sentences of servers that say "too long", in lower case, from llama.cpp, Ollama, LM Studio,
/// vLLM and the hosted providers.
const OVERFLOW: &[&str] = &[
    "exceed_context_size_error",
    "exceeds the available context size",
    "context size has been exceeded",
    "input length exceeds the context length",
    "prompt is longer than the context length",
    "context the overflows",
    "maximum context length",
    "prompt is too long",
    "the prompt (total length",
    "exceeds the context window",
    "context_length_exceeded",
    "maximum prompt length is",
    "reduce the length of the messages",
    "exceeded model token limit",
    "context window exceeds limit",
    "too large for model with",
];

/// Sentences that say "no tools here", in lower case.
const NO_TOOLS: &[&str] = &[
    "does not support tools",
    "--enable-auto-tool-choice",
    "tools param requires --jinja",
    "support tool use",
];

/// Sentences of a server that could not read what its own model wrote, in lower case.
const BAD_CALL: &[&str] = &[
    "error parsing tool call",
    "invalid tool call arguments",
    "xml syntax error",
    "tool_use_failed",
];

/// Errors that servers send without a status once the stream has begun, with the status that they
/// stand for.
const STATUS_OF: &[(&str, u16)] = &[
    ("rate_limit", 429),
    ("slow_down", 429),
    ("overloaded", 503),
    ("server busy", 503),
    ("unavailable_error", 503),
    ("timeout_error", 504),
    ("server_error", 500),
    ("api_error", 500),
    ("unexpectedly stopped", 500),
    ("does not match the expected", 500),
    ("authentication_error", 401),
    ("permission_error", 403),
];

/// Turns the body of an error into the error that it means.
///
/// `status` is 200 for an error inside a stream or inside a body that said it was fine. `model` is
/// the name that was asked for.
pub fn classify(
    url: &str,
    status: u16,
    body: &str,
    retry_after: Option<Duration>,
    model: &str,
) -> ModelError {
    let told = Told::read(body);
    let message = told.sentence(status);
    let lower = message.to_lowercase();
    let says = |phrases: &[&str]| phrases.iter().any(|p| lower.contains(p));

    if !matches!(status, 401 | 403 | 429)
        && (status == 413 || told.n_ctx.is_some() || overflows(&lower))
    {
        return ModelError::Overflow {
            prompt: told.n_prompt.or_else(|| prompt_tokens(&lower)),
            window: told.n_ctx.or_else(|| window_tokens(&lower)),
            message,
        };
    }
    if says(NO_TOOLS) {
        return ModelError::NoTools { message };
    }
    if lower.contains("model") && names_missing_model(status, &lower) {
        let model = model.to_owned();
        return ModelError::NoModel { model, message };
    }
    // With 400 the server complains about the history that we sent, not about its model.
    let quoted = told.failed_generation.is_some();
    if quoted || (status != 400 && (says(BAD_CALL) || invented_tool(&lower))) {
        return ModelError::BadCall {
            raw: told.failed_generation.or_else(|| quoted_raw(&told.message)),
            message,
        };
    }
    ModelError::Status {
        url: url.to_owned(),
        status: if status == 200 {
            told.status(&lower)
        } else {
            status
        },
        retry_after: retry_after
            .or_else(|| wait_in_words(&lower))
            .map(|w| w.min(MAX_WAIT)),
        message,
    }
}

/// What a body says, whatever its shape.
#[derive(Debug, Default)]
struct Told {
    message: String,
    code: Option<String>,
    number: Option<u16>,
    n_prompt: Option<u64>,
    n_ctx: Option<u64>,
    failed_generation: Option<String>,
}

impl Told {
    fn read(body: &str) -> Told {
        let mut told = Told::default();
        match serde_json::from_str::<Value>(body.trim()) {
            Ok(value) => told.take(&value, 0),
            Err(_) => told.message = html_title(body).unwrap_or_else(|| body.to_owned()),
        }
        told
    }

    /// `{error: {message, type, code}}`, `{error: "text"}`, `{message}`, `{detail}`, an array of
    /// these, and a string that holds JSON again (Ollama passes on its inner server's body so).
    fn take(&mut self, value: &Value, depth: u8) {
        if depth > 4 {
            return;
        }
        match value {
            Value::String(text) => match serde_json::from_str::<Value>(text) {
                Ok(inner @ Value::Object(_)) => self.take(&inner, depth + 1),
                _ => self.message = text.clone(),
            },
            Value::Array(list) => {
                if let Some(first) = list.first() {
                    self.take(first, depth + 1);
                }
            }
            Value::Object(map) => {
                let text = |key: &str| map.get(key).and_then(Value::as_str).map(str::to_owned);
                self.code = text("code").or_else(|| text("type")).or(self.code.take());
                if let Some(code) = map.get("details").and_then(|d| d.get("error_code")) {
                    self.code = code.as_str().map(str::to_owned);
                }
                let number = map.get("code").and_then(Value::as_u64);
                self.number = number.and_then(|n| u16::try_from(n).ok()).or(self.number);
                self.n_prompt = map
                    .get("n_prompt_tokens")
                    .and_then(Value::as_u64)
                    .or(self.n_prompt);
                self.n_ctx = map.get("n_ctx").and_then(Value::as_u64).or(self.n_ctx);
                self.failed_generation =
                    text("failed_generation").or(self.failed_generation.take());
                let inner = ["error", "message", "detail", "msg"]
                    .iter()
                    .find_map(|key| map.get(*key).filter(|v| !v.is_null()));
                if let Some(inner) = inner {
                    self.take(inner, depth + 1);
                }
            }
            _ => {}
        }
    }

    /// One line: the server's words, and its code when the words do not hold it.
    fn sentence(&self, status: u16) -> String {
        let mut text = one_line(&self.message);
        if text.is_empty() {
            text = format!("no reason given (status {status})");
        }
        match &self.code {
            Some(code) if code != "error" && !text.contains(code.as_str()) => {
                format!("{text} ({})", one_line(code))
            }
            _ => text,
        }
    }

    /// The status that an error without one stands for.
    fn status(&self, lower: &str) -> u16 {
        let by_word = || STATUS_OF.iter().find(|(word, _)| lower.contains(word));
        self.number
            .filter(|n| (400..600).contains(n))
            .or_else(|| by_word().map(|(_, status)| *status))
            .unwrap_or(200)
    }
}

fn overflows(lower: &str) -> bool {
    OVERFLOW.iter().any(|p| lower.contains(p))
        || (lower.contains("input token count") && lower.contains("exceeds the maximum"))
}

fn names_missing_model(status: u16, lower: &str) -> bool {
    let missing = [
        "not found",
        "not_found",
        "does not exist",
        "no models loaded",
        "unknown model",
    ];
    matches!(status, 200 | 400 | 404) && missing.iter().any(|p| lower.contains(p))
}

/// `tool 'x' not found`: the model called what nobody offered, and the server's parser gave up.
fn invented_tool(lower: &str) -> bool {
    lower.contains("tool '") && lower.contains("not found")
}

/// The model's own text in `error parsing tool call: raw='…', err=…`.
fn quoted_raw(message: &str) -> Option<String> {
    let (_, rest) = message.split_once("raw='")?;
    let raw = rest.rsplit_once("', err=").map_or(rest, |(raw, _)| raw);
    Some(raw.to_owned())
}

fn prompt_tokens(lower: &str) -> Option<u64> {
    number_before(lower, " in the messages")
        .or_else(|| number_after(lower, "request ("))
        .or_else(|| number_after(lower, "prompt is too long: "))
        .or_else(|| number_after(lower, "resulted in "))
        .or_else(|| number_after(lower, "total length "))
        .or_else(|| number_after(lower, "keep the first "))
        .or_else(|| number_after(lower, "you requested "))
}

fn window_tokens(lower: &str) -> Option<u64> {
    number_after(lower, "available context size (")
        .or_else(|| number_after(lower, "maximum context length is "))
        .or_else(|| number_after(lower, "context length of only "))
        .or_else(|| number_after(lower, "tokens > "))
        .or_else(|| number_after(lower, "maximum prompt length is "))
}

fn number_after(text: &str, words: &str) -> Option<u64> {
    let (_, rest) = text.split_once(words)?;
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != ',');
    rest[..end.unwrap_or(rest.len())]
        .replace(',', "")
        .parse()
        .ok()
}

fn number_before(text: &str, words: &str) -> Option<u64> {
    let (before, _) = text.split_once(words)?;
    let start = before.rfind(|c: char| !c.is_ascii_digit() && c != ',');
    before[start.map_or(0, |s| s + 1)..]
        .replace(',', "")
        .parse()
        .ok()
}

/// OpenAI tells some waits in words only: `try again in 11.054s`, or `ms`.
fn wait_in_words(lower: &str) -> Option<Duration> {
    let (_, rest) = lower.split_once("try again in ")?;
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let number: f64 = rest[..end].parse().ok()?;
    let seconds = match &rest[end..] {
        unit if unit.starts_with("ms") => number / 1000.0,
        unit if unit.trim_start().starts_with('s') => number,
        _ => return None,
    };
    Duration::try_from_secs_f64(seconds).ok()
}

/// The title of an HTML page, which is what proxies and wrong addresses answer.
fn html_title(body: &str) -> Option<String> {
    let lower = body.to_ascii_lowercase();
    if !lower.trim_start().starts_with('<') {
        return None;
    }
    let title = lower.find("<title").and_then(|at| {
        let start = at + lower[at..].find('>')? + 1;
        let end = start + lower[start..].find('<')?;
        Some(body[start..end].trim().to_owned())
    });
    let title = title.filter(|t| !t.is_empty());
    Some(title.unwrap_or_else(|| "a web page instead of an answer".to_owned()))
}

/// Without control characters and line ends, at most [`MAX_MESSAGE`] characters.
pub(super) fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    let line = words
        .filter(|w| !w.is_empty())
        .collect::<Vec<_>>()
        .join(" ");
    match line.char_indices().nth(MAX_MESSAGE) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
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
        let raw = r#"{"error":"error parsing tool call: raw='{\"a\": ', err=unexpected end of JSON input"}"#;
        assert!(
            matches!(at(500, raw), ModelError::BadCall { raw: Some(r), .. } if r == "{\"a\": ")
        );
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
                503,
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
}
