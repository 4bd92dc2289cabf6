//! Which failed try is repeated, how often, and after which wait.

use super::super::ModelError;
use super::super::provider::{Provider, is_loopback};
use std::time::{Duration, Instant};

/// The wait before the first retry; each further one doubles it.
const FIRST_WAIT: Duration = Duration::from_millis(200);
/// The same after "too many requests" and "overloaded", when the server names no time.
const BUSY_WAIT: Duration = Duration::from_secs(1);
/// No wait of ours grows beyond this.
const LONGEST_WAIT: Duration = Duration::from_secs(16);
/// Retries of a server on this machine where nothing listens: it is starting, or it is off.
const REFUSED_RETRIES: u32 = 2;
/// A stream that breaks off is tried at most five times in all.
const STREAM_RETRIES: u32 = 4;
/// After this time since the first loss, what cannot be reached or breaks off is given up.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a server may load its model, and how often it is asked.
const LOADING_LIMIT: Duration = Duration::from_secs(300);
const LOADING_WAIT: Duration = Duration::from_secs(1);

/// How far a try came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// It can never be sent.
    Never,
    /// Nothing listens at the address.
    Refused,
    /// No answer yet, or an answer that is an error.
    Asked,
    /// The answer is an error of which the server says that another try is worth it.
    Urged,
    /// The answer had begun.
    Streaming,
}

/// A try that failed.
#[derive(Debug)]
pub(super) struct Lost {
    pub error: ModelError,
    pub stage: Stage,
}

/// One more try.
#[derive(Debug, PartialEq)]
pub(super) struct Retry {
    /// Counted from 1.
    pub attempt: u32,
    /// The most there will be.
    pub of: u32,
    pub wait: Duration,
    /// It need not be told: the same wait was told before.
    pub quiet: bool,
}

/// The retries of one request.
pub(super) struct Retries {
    request_limit: u32,
    stream_limit: u32,
    loopback: bool,
    requests: u32,
    streams: u32,
    loads: u32,
    first_loss: Option<Instant>,
    loading_since: Option<Instant>,
}

impl Retries {
    pub fn new(provider: &Provider) -> Self {
        Retries {
            request_limit: provider.request_retries,
            stream_limit: provider.stream_retries.min(STREAM_RETRIES),
            loopback: is_loopback(&provider.base_url),
            requests: 0,
            streams: 0,
            loads: 0,
            first_loss: None,
            loading_since: None,
        }
    }

    /// The next try after `lost`, or `None` when its error stands.
    pub fn next(&mut self, lost: &Lost) -> Option<Retry> {
        if is_loading(&lost.error) {
            return self.loading();
        }
        let patience = self.first_loss.get_or_insert_with(Instant::now).elapsed() < PATIENCE;
        let (used, limit) = match (&lost.error, lost.stage) {
            (_, Stage::Never) => return None,
            (ModelError::Unreachable { .. }, Stage::Refused) if self.loopback => {
                (&mut self.requests, self.request_limit.min(REFUSED_RETRIES))
            }
            (ModelError::Unreachable { .. }, _) => (&mut self.requests, self.request_limit),
            (ModelError::Status { .. }, Stage::Urged) => (&mut self.requests, self.request_limit),
            (error, _) if !error.is_transient() => return None,
            (_, Stage::Streaming) => (&mut self.streams, self.stream_limit),
            _ => (&mut self.requests, self.request_limit),
        };
        let told_to_wait = matches!(lost.error, ModelError::Status { .. });
        if *used >= limit || (*used > 0 && !patience && !told_to_wait) {
            return None;
        }
        let wait = wait(&lost.error, *used);
        *used += 1;
        Some(Retry {
            attempt: *used,
            of: limit,
            wait,
            quiet: false,
        })
    }

    fn loading(&mut self) -> Option<Retry> {
        let since = self.loading_since.get_or_insert_with(Instant::now);
        if since.elapsed() >= LOADING_LIMIT {
            return None;
        }
        self.loads += 1;
        Some(Retry {
            attempt: self.loads,
            of: (LOADING_LIMIT.as_secs() / LOADING_WAIT.as_secs()) as u32,
            wait: LOADING_WAIT,
            quiet: self.loads > 1,
        })
    }
}

/// llama.cpp's server answers so while it reads the weights.
fn is_loading(error: &ModelError) -> bool {
    matches!(error, ModelError::Status { status: 503, message, .. }
        if message.to_lowercase().contains("loading model"))
}

fn wait(error: &ModelError, used: u32) -> Duration {
    let first = match error {
        ModelError::Status {
            retry_after: Some(wait),
            ..
        } => return *wait,
        ModelError::Status {
            status: 429 | 503 | 529,
            ..
        } => BUSY_WAIT,
        _ => FIRST_WAIT,
    };
    first.saturating_mul(1 << used.min(10)).min(LONGEST_WAIT)
}

#[cfg(test)]
mod tests {
    use super::super::classify;
    use super::super::tests::provider;
    use super::*;

    fn waits(base_url: &str, lost: &Lost) -> Vec<u128> {
        let mut retries = Retries::new(&provider(base_url));
        std::iter::from_fn(|| retries.next(lost))
            .take(20)
            .map(|r| r.wait.as_millis())
            .collect()
    }

    fn status(status: u16, body: &str, wait: Option<Duration>) -> Lost {
        Lost {
            error: classify("u", status, body, wait, "m"),
            stage: Stage::Asked,
        }
    }

    #[test]
    fn each_kind_of_loss_has_its_own_patience() {
        let (near, far) = ("http://127.0.0.1:1/v1", "https://far.example/v1");
        let unreachable = |stage| Lost {
            error: ModelError::Unreachable {
                url: String::new(),
                why: String::new(),
            },
            stage,
        };
        let broken = Lost {
            error: ModelError::Broken {
                url: String::new(),
                why: String::new(),
            },
            stage: Stage::Streaming,
        };
        assert_eq!(waits(near, &unreachable(Stage::Refused)), [200, 400]);
        assert_eq!(
            waits(far, &unreachable(Stage::Refused)),
            [200, 400, 800, 1600]
        );
        assert!(waits(far, &unreachable(Stage::Never)).is_empty());
        assert_eq!(waits(near, &broken), [200, 400, 800, 1600]);
        assert_eq!(waits(far, &status(500, "", None)), [200, 400, 800, 1600]);
        assert_eq!(waits(far, &status(429, "", None)), [1000, 2000, 4000, 8000]);
        assert_eq!(
            waits(far, &status(429, "", Some(Duration::from_secs(7)))),
            [7000; 4]
        );
        let loading =
            r#"{"error":{"message":"Loading model","type":"unavailable_error","code":503}}"#;
        assert_eq!(waits(near, &status(503, loading, None)), [1000; 20]);
    }

    #[test]
    fn what_no_retry_can_mend_is_not_retried() {
        let urged = Lost {
            stage: Stage::Urged,
            ..status(400, "bad", None)
        };
        assert_eq!(waits("http://127.0.0.1:1", &urged), [200, 400, 800, 1600]);
        let never = Lost {
            stage: Stage::Never,
            ..status(503, "busy", None)
        };
        assert!(waits("http://127.0.0.1:1", &never).is_empty());
        for (code, body) in [
            (400, "bad"),
            (401, "key"),
            (403, "no"),
            (404, r#"{"error":"model 'm' not found"}"#),
            (400, "prompt is too long: 9 tokens > 8 maximum"),
            (400, "m does not support tools"),
            (500, "error parsing tool call: raw='x', err=y"),
            (
                429,
                r#"{"error":{"message":"Pay","code":"insufficient_quota"}}"#,
            ),
        ] {
            assert!(
                waits("http://127.0.0.1:1", &status(code, body, None)).is_empty(),
                "{code} {body}"
            );
        }
    }
}
