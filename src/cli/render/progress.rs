//! What a person is told of a request that is under way, and of the numbers when it is over.

use super::phrases::thousands;
use crate::agent::event::Phase;
use crate::agent::metrics::Metrics;
use std::time::{Duration, Instant};

/// In a pipe: at most one line of progress in this time, and in this many percent.
const PAUSE: Duration = Duration::from_secs(10);
const STEP: u64 = 10;

/// A request under way.
#[derive(Debug, Clone)]
pub struct Progress {
    phase: Phase,
    /// When the phase began.
    since: Instant,
    /// Estimated tokens of the prompt, and the window.
    used: (u64, u32),
    /// Tokens of the prompt that were read, and all of them, where the server tells.
    read: Option<(u64, u64)>,
    /// When a line was last printed, and its percent.
    told: (Instant, u64),
}

impl Progress {
    /// A request of about so many tokens goes out.
    pub fn new(tokens: u64, window: u32) -> Self {
        let now = Instant::now();
        Progress {
            phase: Phase::Reading,
            since: now,
            used: (tokens, window),
            read: None,
            told: (now, 0),
        }
    }

    /// The model does this now.
    pub fn enter(&mut self, phase: Phase) {
        if phase != self.phase {
            (self.phase, self.since) = (phase, Instant::now());
        }
    }

    /// The server has read so much of the prompt. Gives a line for a pipe when one is due.
    pub fn read(&mut self, processed: u64, total: u64) -> Option<String> {
        self.read = Some((processed, total));
        let percent = processed * 100 / total.max(1);
        let (at, last) = self.told;
        if percent >= 100 || percent < last + STEP || at.elapsed() < PAUSE {
            return None;
        }
        self.told = (Instant::now(), percent);
        Some(format!(
            "{}: {}",
            self.phase.words(),
            share(processed, total)
        ))
    }

    /// The status line of a terminal.
    pub fn line(&self) -> String {
        let mut parts = vec![self.phase.words().to_owned()];
        match self.read.filter(|_| self.phase == Phase::Reading) {
            Some((processed, total)) => parts.push(share(processed, total)),
            None => {
                let (tokens, window) = self.used;
                parts.push(format!(
                    "about {} of {} tokens",
                    thousands(tokens),
                    thousands(window.into())
                ));
            }
        }
        parts.push(format!("{} s", self.since.elapsed().as_secs()));
        parts.join(" · ")
    }
}

fn share(processed: u64, total: u64) -> String {
    let percent = processed * 100 / total.max(1);
    format!("{percent} % of {} tokens", thousands(total))
}

/// The numbers of the latest request in a line.
pub fn numbers(m: &Metrics) -> String {
    let used = m.prompt_tokens + m.output_tokens;
    let mut parts = vec![format!(
        "window {} of {} ({} %)",
        thousands(used),
        thousands(m.context_window.into()),
        m.context_percent
    )];
    if let Some(rate) = m.prompt_tokens_per_second {
        parts.push(format!("reading {rate}/s"));
    }
    if let Some(rate) = m.output_tokens_per_second {
        parts.push(format!("writing {rate}/s"));
    }
    if let Some(first) = m.seconds_to_first_token {
        parts.push(format!("first token after {first:.1} s"));
    }
    parts.join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_gets_one_line_in_ten_seconds_and_ten_percent() {
        let mut progress = Progress::new(4_000, 8_192);
        assert_eq!(progress.read(2_000, 4_000), None);
        progress.told.0 -= PAUSE;
        let line = progress.read(2_000, 4_000);
        assert_eq!(
            line.as_deref(),
            Some("reading the prompt: 50 % of 4,000 tokens")
        );
        assert_eq!(progress.read(3_000, 4_000), None);
        progress.told.0 -= PAUSE;
        assert_eq!(progress.read(2_200, 4_000), None);
        assert!(progress.read(2_400, 4_000).is_some());
    }

    #[test]
    fn the_status_names_the_phase_and_the_window() {
        let mut progress = Progress::new(4_000, 8_192);
        progress.enter(Phase::Loading);
        assert_eq!(
            progress.line(),
            "loading the model · about 4,000 of 8,192 tokens · 0 s"
        );
        progress.enter(Phase::Reading);
        progress.read(1_000, 4_000);
        assert_eq!(
            progress.line(),
            "reading the prompt · 25 % of 4,000 tokens · 0 s"
        );
    }
}
