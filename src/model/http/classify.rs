//! What a server's error means: from a body of any shape to the [`ModelError`] of the right kind.

use super::super::ModelError;
use super::super::error::is_hopeless;
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
    "exceeds the context length",
    "longer than the context length",
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
    "does not match the expected",
];

/// Errors that servers send without a status once the stream has begun, with the status that they
/// stand for. The first row that fits counts; a used-up quota is known by [`is_hopeless`].
const STATUS_OF: &[(&str, u16)] = &[
    ("rate_limit", 429),
    ("slow_down", 503),
    ("overloaded_error", 529),
    ("overloaded", 503),
    ("server busy", 503),
    ("unavailable_error", 503),
    ("timeout_error", 504),
    ("server_error", 500),
    ("api_error", 500),
    ("unexpectedly stopped", 500),
    ("internal_error", 500),
    ("authentication_error", 401),
    ("invalid_api_key", 401),
    ("permission_error", 403),
    ("billing_error", 402),
    ("not_found_error", 404),
    ("request_too_large", 413),
    ("invalid_request_error", 400),
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
    Told::read(body).meaning(url, status, retry_after, model)
}

/// The error that an event of a stream carries, if it carries one: under `error`, or in its own
/// fields when it is of the type `error`. Its address and model are filled in by the caller.
pub fn in_event(event: &Value) -> Option<ModelError> {
    match event.get("error") {
        Some(Value::Null) | None => {
            (event.get("type")?.as_str()? == "error").then(|| in_stream(event))
        }
        Some(error) => Some(in_stream(error)),
    }
}

/// What an error object or text inside a stream means.
pub fn in_stream(error: &Value) -> ModelError {
    let mut told = Told::default();
    told.take(error, 0);
    told.meaning("", 200, None, "")
}

/// What a body says, whatever its shape.
#[derive(Debug, Default)]
struct Told {
    message: String,
    /// What the server calls it, the most telling name first.
    names: Vec<String>,
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
                let detail = value.pointer("/details/error_code").and_then(Value::as_str);
                let names = [detail.map(str::to_owned), text("code"), text("type")];
                let names = names.into_iter().flatten().filter(|name| name != "error");
                self.names.splice(0..0, names);
                // Providers call a used-up quota a rate limit as well.
                self.names.sort_by_key(|name| !is_hopeless(name));
                let number = map
                    .get("code")
                    .and_then(|c| c.as_u64().or_else(|| c.as_str()?.parse().ok()));
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

    /// The error that it means.
    fn meaning(
        self,
        url: &str,
        status: u16,
        retry_after: Option<Duration>,
        model: &str,
    ) -> ModelError {
        let message = self.sentence(status);
        let lower = format!("{message} {}", self.names.join(" ")).to_lowercase();
        let says = |phrases: &[&str]| phrases.iter().any(|p| lower.contains(p));

        if !matches!(status, 401 | 403 | 429)
            && (status == 413 || self.n_ctx.is_some() || overflows(&lower))
        {
            return ModelError::Overflow {
                prompt: self.n_prompt.or_else(|| prompt_tokens(&lower)),
                window: self.n_ctx.or_else(|| window_tokens(&lower)),
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
        let quoted = self.failed_generation.is_some();
        if quoted || (status != 400 && (says(BAD_CALL) || invented_tool(&lower))) {
            return ModelError::BadCall {
                raw: self.failed_generation.or_else(|| quoted_raw(&self.message)),
                message,
            };
        }
        ModelError::Status {
            url: url.to_owned(),
            status: if status == 200 {
                self.status(&lower)
            } else {
                status
            },
            retry_after: retry_after
                .or_else(|| wait_in_words(&lower))
                .map(|w| w.min(MAX_WAIT)),
            message,
        }
    }

    /// One line: the server's words, and its code when the words do not hold it.
    fn sentence(&self, status: u16) -> String {
        let mut text = one_line(&self.message);
        if text.is_empty() {
            text = format!("no reason given (status {status})");
        }
        match self.names.first() {
            Some(name) if !text.contains(name.as_str()) => format!("{text} ({})", one_line(name)),
            _ => text,
        }
    }

    /// The status that an error without one stands for.
    fn status(&self, lower: &str) -> u16 {
        let by_word = |text: &str| {
            let row = STATUS_OF.iter().find(|(word, _)| text.contains(word));
            row.map(|(_, status)| *status)
        };
        self.number
            .filter(|n| (400..600).contains(n))
            .or_else(|| self.names.iter().find_map(|name| by_word(name)))
            .or_else(|| by_word(lower))
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
    let mut parts = before.rsplit(|c: char| !c.is_ascii_digit() && c != ',');
    parts.next()?.replace(',', "").parse().ok()
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
pub(in crate::model) fn one_line(text: &str) -> String {
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
mod tests;
