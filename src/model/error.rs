//! What can go wrong between us and a model, as sentences.

use std::fmt;
use std::time::Duration;

/// An error of a model server or of the way to it.
///
/// `Display` is one sentence for a person: the thing, the cause, and what to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelError {
    /// No connection: refused, unknown host, TLS, time-out while connecting.
    Unreachable {
        /// The URL that was tried.
        url: String,
        /// The system's reason.
        why: String,
    },
    /// The server's certificate, or something else of TLS, is wrong.
    Tls {
        /// The URL.
        url: String,
        /// What, why, and what to do.
        why: String,
    },
    /// The server answered with an error status, or with an error inside a stream.
    Status {
        /// The URL.
        url: String,
        /// HTTP status; 200 when the error came in mid-stream.
        status: u16,
        /// The server's own words, one line, cut to 500 characters.
        message: String,
        /// How long the server asks us to wait.
        retry_after: Option<Duration>,
    },
    /// The prompt would not fit the server's window, so it was not sent.
    NoRoom {
        /// The sizes, and what to do.
        message: String,
    },
    /// The server refused the prompt as too long.
    Overflow {
        /// Tokens of the prompt, when the server said.
        prompt: Option<u64>,
        /// Tokens of the window, when the server said.
        window: Option<u64>,
        /// The server's own words.
        message: String,
    },
    /// The server read only a part of the prompt and said nothing.
    CutPrompt {
        /// Tokens that it read.
        read: u64,
        /// Tokens that were sent, about.
        sent: u64,
    },
    /// The server does not have this model.
    NoModel {
        /// The name that was asked for.
        model: String,
        /// The server's own words.
        message: String,
    },
    /// The key grew old and no fresh one is to be had.
    NoKey {
        /// Why, and what to do.
        message: String,
    },
    /// The server refuses tools for this model.
    NoTools {
        /// The server's own words.
        message: String,
    },
    /// The server could not parse what its own model wrote.
    BadCall {
        /// What the model wrote, when the server quotes it.
        raw: Option<String>,
        /// The server's own words.
        message: String,
    },
    /// The stream ended without its finish marker.
    Broken {
        /// The URL.
        url: String,
        /// What was missing or wrong.
        why: String,
    },
    /// Nothing arrived for longer than the idle limit.
    Idle {
        /// The URL.
        url: String,
        /// The limit.
        limit: Duration,
    },
    /// The user stopped it.
    Interrupted,
}

impl ModelError {
    /// A stream that is not what the API promises. [`ModelError::locate`] adds the address.
    pub(super) fn broken(why: impl Into<String>) -> Self {
        ModelError::Broken {
            url: String::new(),
            why: why.into(),
        }
    }

    /// True when the same request may succeed if it is sent again.
    pub fn is_transient(&self) -> bool {
        match self {
            ModelError::Status {
                status, message, ..
            } => {
                matches!(status, 408 | 409 | 425 | 429 | 498 | 499 | 500..=599)
                    && !is_hopeless(message)
            }
            ModelError::Broken { .. } => true,
            _ => false,
        }
    }

    /// True when a server that was asked to hold the answer in the shape of a JSON Schema refuses
    /// just that. The status does not tell: llama.cpp answers 400 or 500, Ollama 200 with an error
    /// in the stream.
    pub fn is_about_schema(&self) -> bool {
        const WORDS: &[&str] = &[
            "grammar",
            "schema",
            "response_format",
            "required for format",
            "invalid format",
        ];
        let ModelError::Status {
            status: 200 | 400 | 422 | 500 | 501,
            message,
            ..
        } = self
        else {
            return false;
        };
        let lower = message.to_lowercase();
        WORDS.iter().any(|word| lower.contains(word))
    }

    /// The same error with the server's address and the model's name filled in, for errors made
    /// where neither is known: a decoder sees only the stream.
    pub fn locate(mut self, at: &str, asked: &str) -> Self {
        match &mut self {
            ModelError::Unreachable { url, .. }
            | ModelError::Tls { url, .. }
            | ModelError::Status { url, .. }
            | ModelError::Broken { url, .. }
            | ModelError::Idle { url, .. }
                if url.is_empty() =>
            {
                url.push_str(at);
            }
            ModelError::NoModel { model, .. } if model.is_empty() => model.push_str(asked),
            _ => {}
        }
        self
    }
}

/// A used-up quota comes as 429, and some refusals of llama.cpp as 500, but no wait mends them.
pub(super) fn is_hopeless(message: &str) -> bool {
    const WORDS: &[&str] = &[
        "insufficient_quota",
        "credit_balance_exhausted",
        "exceeded_current_quota_error",
        "usage_not_included",
        "spend_limit_reached",
        "image input is not supported",
        "failed to parse tool call arguments",
        "no user query found in messages",
    ];
    let lower = message.to_lowercase();
    WORDS.iter().any(|word| lower.contains(word))
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ModelError::Tls { url, why } => write!(f, "no safe connection to {url}: {why}"),
            ModelError::Unreachable { url, why } if !super::provider::is_local(url) => write!(
                f,
                "{url} is not reached ({why}); check the network, the proxy and base_url"
            ),
            ModelError::Unreachable { url, why } => {
                write!(
                    f,
                    "no model server answers at {url} ({why}); start it, or name another with --local-provider or base_url"
                )
            }
            ModelError::Status {
                url,
                status: 401 | 403,
                message,
                ..
            } => {
                write!(
                    f,
                    "{url} refused the key: {message}; set the provider's key variable, or env_key in its config entry"
                )
            }
            ModelError::Status {
                url,
                status,
                message,
                ..
            } => write!(f, "{url} answered {status}: {message}"),
            ModelError::NoRoom { message } => {
                write!(f, "the prompt does not fit the server's window: {message}")
            }
            ModelError::Overflow {
                prompt,
                window,
                message,
            } => match (prompt, window) {
                (Some(p), Some(w)) => {
                    write!(
                        f,
                        "the prompt has {p} tokens but the server's window holds {w}; load the model with a larger window, or start a shorter task"
                    )
                }
                _ => write!(f, "the prompt does not fit the server's window: {message}"),
            },
            ModelError::CutPrompt { read, sent } => write!(
                f,
                "the server read only {read} of about {sent} tokens: it cut the prompt without saying so, and the model did not see all of it; load the model with a larger window, or set model_context_window to the real one"
            ),
            ModelError::NoModel { model, message } => {
                write!(f, "the server has no model `{model}`: {message}")
            }
            ModelError::NoKey { message } => f.write_str(message),
            ModelError::NoTools { message } => {
                write!(
                    f,
                    "this model cannot call tools: {message}; choose another with -m, or use --harness mini-swe-agent, which needs none"
                )
            }
            ModelError::BadCall { message, .. } => write!(
                f,
                "the model wrote a broken tool call that its server could not read: {message}"
            ),
            ModelError::Broken { url, why } => write!(f, "the answer from {url} broke off: {why}"),
            ModelError::Idle { url, limit } => {
                write!(
                    f,
                    "{url} sent nothing for {} s; raise stream_idle_timeout_ms if the model needs longer",
                    limit.as_secs()
                )
            }
            ModelError::Interrupted => write!(f, "interrupted"),
        }
    }
}

impl std::error::Error for ModelError {}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words are those of llama.cpp, Ollama, vLLM and llama-cpp-python.
    #[test]
    fn a_refusal_of_a_schema_is_known_by_its_words() {
        for (status, message, is) in [
            (
                400,
                "Failed to initialize samplers: failed to parse grammar",
                true,
            ),
            (
                400,
                "JSON schema conversion failed:\nUnrecognized schema",
                true,
            ),
            (500, "Cannot use both json_schema and grammar", true),
            (
                200,
                "failed to load model vocabulary required for format",
                true,
            ),
            (
                500,
                "invalid format: expected \"json\" or a JSON schema",
                true,
            ),
            (400, "response_format type must be one of \"text\"", true),
            (400, "messages: unknown role", false),
            (500, "CUDA error: out of memory", false),
            (503, "the grammar service is not up", false),
        ] {
            let error = ModelError::Status {
                url: String::new(),
                status,
                message: message.into(),
                retry_after: None,
            };
            assert_eq!(error.is_about_schema(), is, "{status} {message}");
        }
        assert!(!ModelError::broken("the schema").is_about_schema());
    }
}
