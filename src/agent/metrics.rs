//! The numbers of one request: the same for people, for scripts and for the session file.

use crate::model::{Timing, Usage};
use serde::Serialize;
use std::time::Duration;

/// How much a request took of the window, and how fast it went. Its names are those of the JSON.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Metrics {
    /// Tokens of the whole prompt.
    pub prompt_tokens: u64,
    /// Of these, from the server's cache; `None` where it does not say.
    pub cached_tokens: Option<u64>,
    /// Tokens of the reply.
    pub output_tokens: u64,
    /// The window in tokens.
    pub context_window: u32,
    /// How much of it prompt and reply take.
    pub context_percent: u64,
    /// From sending the request to the first piece of the reply.
    pub seconds_to_first_token: Option<f64>,
    /// Of the reply, by the server's clock where it tells, else by ours.
    pub output_tokens_per_second: Option<f64>,
    /// Of the prompt without its cached part. By our own clock it holds the way there, too.
    pub prompt_tokens_per_second: Option<f64>,
    /// The whole request.
    pub seconds: f64,
}

impl Metrics {
    /// What usage and times come to.
    pub fn new(usage: Usage, timing: &Timing, window: u32) -> Self {
        let writing = timing.output.or_else(|| {
            let first = timing.first_token?;
            Some(timing.total.saturating_sub(first))
        });
        let read = usage.input.saturating_sub(usage.cached.unwrap_or(0));
        Metrics {
            prompt_tokens: usage.input,
            cached_tokens: usage.cached,
            output_tokens: usage.output,
            context_window: window,
            context_percent: (usage.input + usage.output) * 100 / u64::from(window.max(1)),
            seconds_to_first_token: timing.first_token.map(seconds),
            // One token, mostly the end itself, is no rate: llama-server calls it a million a second.
            output_tokens_per_second: rate(usage.output, writing).filter(|_| usage.output > 1),
            prompt_tokens_per_second: rate(read, timing.prompt.or(timing.first_token)),
            seconds: seconds(timing.total),
        }
    }

    /// The cached share of the prompt in percent.
    pub fn cached_percent(&self) -> Option<u64> {
        let cached = self.cached_tokens.filter(|_| self.prompt_tokens > 0)?;
        Some(cached * 100 / self.prompt_tokens)
    }
}

/// Tokens a second, to a tenth; `None` when there were none, or no time to speak of.
fn rate(tokens: u64, time: Option<Duration>) -> Option<f64> {
    let time = time.filter(|t| tokens > 0 && !t.is_zero())?;
    Some((tokens as f64 / time.as_secs_f64() * 10.0).round() / 10.0)
}

/// Seconds, to a thousandth.
pub fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_clock_goes_before_ours() {
        let usage = Usage {
            input: 4_000,
            cached: Some(3_000),
            output: 96,
            ..Usage::default()
        };
        let ours = Timing {
            first_token: Some(Duration::from_secs(4)),
            total: Duration::from_secs(12),
            ..Timing::default()
        };
        let m = Metrics::new(usage, &ours, 8_192);
        assert_eq!((m.context_percent, m.cached_percent()), (50, Some(75)));
        assert_eq!(m.prompt_tokens_per_second, Some(250.0));
        assert_eq!(m.output_tokens_per_second, Some(12.0));
        let told = Timing {
            prompt: Some(Duration::from_secs(2)),
            output: Some(Duration::from_secs(6)),
            ..ours
        };
        let m = Metrics::new(usage, &told, 8_192);
        assert_eq!(m.prompt_tokens_per_second, Some(500.0));
        assert_eq!(m.output_tokens_per_second, Some(16.0));
    }

    #[test]
    fn one_token_is_no_rate() {
        let usage = Usage {
            input: 100,
            output: 1,
            ..Usage::default()
        };
        let told = Timing {
            output: Some(Duration::from_micros(1)),
            ..Timing::default()
        };
        let m = Metrics::new(usage, &told, 8_192);
        assert_eq!(m.output_tokens_per_second, None);
    }

    #[test]
    fn what_nobody_measured_is_not_made_up() {
        let m = Metrics::new(Usage::default(), &Timing::default(), 0);
        assert_eq!(m.prompt_tokens_per_second, None);
        assert_eq!(m.output_tokens_per_second, None);
        assert_eq!(m.cached_percent(), None);
    }
}
