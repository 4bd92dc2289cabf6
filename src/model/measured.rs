//! What llama.cpp's server tells about itself inside the streams of other APIs.

use super::{Delta, Timing};
use serde_json::Value;
use std::time::Duration;

/// How far it has read the prompt, from an event's `prompt_progress`.
pub(super) fn progress(event: &Value) -> Option<Delta> {
    let progress = event.get("prompt_progress")?;
    let number = |key: &str| progress.get(key).and_then(Value::as_u64);
    Some(Delta::Progress {
        processed: number("processed")?,
        total: number("total")?,
        cached: number("cache").unwrap_or(0),
    })
}

/// Puts an event's `timings` into `timing`. Gives the tokens that came from the cache, where it
/// tells them.
pub(super) fn timings(event: &Value, timing: &mut Timing) -> Option<u64> {
    let timings = event.get("timings")?;
    let time = |key: &str| {
        let ms = timings.get(key).and_then(Value::as_f64)?;
        Duration::try_from_secs_f64(ms / 1000.0).ok()
    };
    timing.prompt = time("prompt_ms").or(timing.prompt);
    timing.output = time("predicted_ms").or(timing.output);
    timings.get("cache_n").and_then(Value::as_u64)
}
