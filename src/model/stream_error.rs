//! What an error object inside a stream means, on the `responses` and `messages` wires.

use super::ModelError;
use super::http::{is_bad_call, quoted_raw};
use serde_json::Value;
use std::time::Duration;

/// The most characters of the server's own words that are kept.
const MAX_MESSAGE: usize = 500;

/// Names of errors (`code` or `type`) and the HTTP status that says the same.
const NAMES: &[(&str, u16)] = &[
    ("rate_limit_exceeded", 429),
    ("rate_limit_error", 429),
    ("slow_down", 503),
    ("server_is_overloaded", 503),
    ("unavailable_error", 503),
    ("overloaded_error", 529),
    ("server_error", 500),
    ("api_error", 500),
    ("internal_error", 500),
    ("timeout_error", 504),
    ("authentication_error", 401),
    ("invalid_api_key", 401),
    ("permission_error", 403),
    ("not_found_error", 404),
    ("request_too_large", 413),
    ("billing_error", 402),
    ("insufficient_quota", 402),
    ("usage_not_included", 402),
    ("credit_balance_exhausted", 402),
    ("enforced_spend_limit_reached", 402),
    ("contract_spend_limit_reached", 402),
    ("invalid_request_error", 400),
];

/// Words by which servers say that a prompt is too long.
const OVERFLOW: &[&str] = &[
    "context_length_exceeded",
    "exceed_context_size_error",
    "prompt is too long",
    "exceeds the context window",
    "exceeds the available context size",
    "maximum context length",
    "maximum prompt length is",
    "reduce the length of the messages",
    "exceeded model token limit",
    "context window exceeds limit",
    "exceeds the context length",
    "longer than the context length",
];

/// The error that `event` carries, if it carries one: `{"error": …}` with text or an object, or
/// the fields themselves in an event of the type `error`.
pub(super) fn in_event(event: &Value) -> Option<ModelError> {
    match event.get("error") {
        Some(Value::Null) | None => {
            (event.get("type")?.as_str()? == "error").then(|| meaning(event))
        }
        Some(error) => Some(meaning(error)),
    }
}

/// What an error object or text means. The caller adds the URL.
pub(super) fn meaning(error: &Value) -> ModelError {
    let text = |key: &str| error.get(key).and_then(Value::as_str);
    let message = error
        .as_str()
        .or_else(|| text("message"))
        .map_or_else(|| error.to_string(), str::to_owned);
    let raw = quoted_raw(&message);
    let message = one_line(&message);
    let detail = error.pointer("/details/error_code").and_then(Value::as_str);
    let names = [detail, text("code"), text("type")];
    let lower = message.to_lowercase();
    if OVERFLOW
        .iter()
        .any(|w| lower.contains(w) || names.contains(&Some(*w)))
    {
        let number = |key: &str| error.get(key).and_then(Value::as_u64);
        return ModelError::Overflow {
            prompt: number("n_prompt_tokens").or_else(|| before(&lower, " tokens >")),
            window: number("n_ctx").or_else(|| before(&lower, " maximum")),
            message,
        };
    }
    if is_bad_call(&lower) {
        return ModelError::BadCall { raw, message };
    }
    let by_name = names
        .into_iter()
        .flatten()
        .find_map(|n| NAMES.iter().find(|(name, _)| *name == n).map(|(_, s)| *s));
    let by_number = error
        .get("code")
        .and_then(|c| c.as_u64().or_else(|| c.as_str()?.parse().ok()))
        .and_then(|c| u16::try_from(c).ok())
        .filter(|c| (400..600).contains(c));
    ModelError::Status {
        url: String::new(),
        status: by_number.or(by_name).unwrap_or(200),
        retry_after: wait_in(&lower),
        message,
    }
}

/// White space and control characters become single spaces; the length is bounded.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|w| !w.is_empty())
        .collect();
    words.join(" ").chars().take(MAX_MESSAGE).collect()
}

/// The number right before `mark`.
fn before(text: &str, mark: &str) -> Option<u64> {
    let head = &text[..text.find(mark)?];
    head[head
        .rfind(|c: char| !c.is_ascii_digit())
        .map_or(0, |i| i + 1)..]
        .parse()
        .ok()
}

/// The time in `try again in 11.054s` or `… in 250ms`, as OpenAI writes it into its messages.
fn wait_in(lower: &str) -> Option<Duration> {
    let tail = lower.split_once("try again in ")?.1;
    let end = tail.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let number: f64 = tail[..end].parse().ok()?;
    let unit = tail[end..].trim_start();
    let seconds = if unit.starts_with("ms") {
        number / 1000.0
    } else if unit.starts_with('s') {
        number
    } else {
        return None;
    };
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn status(event: Value) -> (u16, bool, Option<Duration>) {
        match in_event(&event) {
            Some(
                ref e @ ModelError::Status {
                    status,
                    retry_after,
                    ..
                },
            ) => (status, e.is_transient(), retry_after),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn events_without_an_error_are_none() {
        assert_eq!(in_event(&json!({"type": "ping"})), None);
        assert_eq!(in_event(&json!({"type": "x", "error": null})), None);
    }

    #[test]
    fn names_and_numbers_say_whether_to_try_again() {
        let limit = json!({"error": {"code": "rate_limit_exceeded", "message": "Please try again in 11.054s."}});
        assert_eq!(
            status(limit),
            (429, true, Some(Duration::from_millis(11_054)))
        );
        let millis = json!({"type": "error", "code": "slow_down", "message": "try again in 250ms"});
        assert_eq!(
            status(millis),
            (503, true, Some(Duration::from_millis(250)))
        );
        let anthropic = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
        assert_eq!(status(anthropic), (529, true, None));
        let spent = json!({"error": {"type": "rate_limit_error", "message": "x",
            "details": {"error_code": "enforced_spend_limit_reached"}}});
        assert_eq!(status(spent), (402, false, None));
        let quota = json!({"error": {"code": "insufficient_quota", "message": "x"}});
        assert_eq!(status(quota), (402, false, None));
        let policy = json!({"error": {"code": "cyber_policy", "message": "x"}});
        assert_eq!(status(policy), (200, false, None));
        assert_eq!(status(json!({"error": "it broke"})), (200, false, None));
        let llama = json!({"error": {"code": 500, "message": "x", "type": "server_error"}});
        assert_eq!(status(llama), (500, true, None));
    }

    #[test]
    fn what_the_server_could_not_read_is_quoted() {
        let gpt = json!({"error": {"code": 500, "message": "error parsing tool call: raw='{\"command\":\n\"ls\"}]', err=invalid character ']'"}});
        let Some(ModelError::BadCall { raw, .. }) = in_event(&gpt) else {
            panic!("a broken call");
        };
        assert_eq!(raw.as_deref(), Some("{\"command\":\n\"ls\"}]"));
    }

    #[test]
    fn an_overflow_is_no_rate_limit() {
        let llama = json!({"error": {"code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": 9030, "n_ctx": 8192,
            "message": "request (9030 tokens) exceeds the available context size (8192 tokens), try increasing it"}});
        let claude = json!({"type": "error", "error": {"type": "invalid_request_error",
            "message": "prompt is too long: 210000 tokens > 200000 maximum"}});
        let openai = json!({"error": {"code": "context_length_exceeded", "message": "Too long."}});
        for (event, prompt, window) in [
            (llama, Some(9030), Some(8192)),
            (claude, Some(210_000), Some(200_000)),
            (openai, None, None),
        ] {
            match in_event(&event) {
                Some(ModelError::Overflow {
                    prompt: p,
                    window: w,
                    ..
                }) => assert_eq!((p, w), (prompt, window)),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn messages_are_one_bounded_line() {
        let long = json!({"error": {"message": format!("a\n\n\u{1b}[31mb {}", "x".repeat(900))}});
        let Some(ModelError::Status { message, .. }) = in_event(&long) else {
            panic!()
        };
        assert!(message.starts_with("a [31mb x") && message.chars().count() == 500);
    }
}
