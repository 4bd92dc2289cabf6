//! What a person is told of the work that is under way, and of the numbers when it is over.

use super::phrases::thousands;
use super::sanitize::one_line;
use super::wrap::{fit_start, width};
use crate::agent::event::Phase;
use crate::agent::metrics::Metrics;
use std::time::{Duration, Instant};

/// In a pipe: at most one line of progress in this time, and in this many percent.
const PAUSE: Duration = Duration::from_secs(10);
const STEP: u64 = 10;
/// A speed is told when it was measured for so long.
const MEASURED: Duration = Duration::from_secs(1);
/// What a line of output has at least of the status line, beside a long command.
const OUTPUT_SHARE: (usize, usize) = (1, 2);
/// Bytes of a token, for a speed that nobody counts yet.
const TOKEN: u64 = 4;

/// A request under way, or a tool.
#[derive(Debug, Clone)]
pub struct Progress {
    doing: Doing,
    /// When that began.
    since: Instant,
    /// Estimated tokens of the prompt, and the window.
    used: (u64, u32),
    /// How much of the latest prompt came from the server's cache, in percent.
    cached: Option<u64>,
    /// Tokens of the prompt that were read, and all of them, where the server tells.
    read: Option<(u64, u64)>,
    /// Bytes that were streamed, since when.
    streamed: Option<(u64, Instant)>,
    /// When a line was last printed, and its percent.
    told: (Instant, u64),
}

#[derive(Debug, Clone, PartialEq)]
enum Doing {
    Request(Phase),
    /// In words, and the latest line of its output.
    Tool(String, String),
}

impl Progress {
    /// A request of about so many tokens goes out.
    pub fn new(tokens: u64, window: u32, cached: Option<u64>) -> Self {
        Progress {
            used: (tokens, window),
            cached,
            ..Progress::of(Doing::Request(Phase::Reading))
        }
    }

    /// Something else is done.
    pub fn doing(what: &str) -> Self {
        Progress::of(Doing::Tool(what.to_owned(), String::new()))
    }

    /// The same, but where it was done before, its time runs on.
    pub fn go_on(progress: &mut Option<Self>, what: &str) {
        let same = |p: &Self| matches!(&p.doing, Doing::Tool(words, _) if words == what);
        if !progress.as_ref().is_some_and(same) {
            *progress = Some(Progress::doing(what));
        }
    }

    fn of(doing: Doing) -> Self {
        let now = Instant::now();
        Progress {
            doing,
            since: now,
            used: (0, 0),
            cached: None,
            read: None,
            streamed: None,
            told: (now, 0),
        }
    }

    /// The model does this now.
    pub fn enter(&mut self, phase: Phase) {
        let doing = Doing::Request(phase);
        if doing != self.doing {
            (self.doing, self.since) = (doing, Instant::now());
        }
    }

    /// So many bytes of a reply came.
    pub fn streams(&mut self, bytes: usize) {
        let (sum, _) = self.streamed.get_or_insert((0, Instant::now()));
        *sum += bytes as u64;
    }

    /// Output of a tool came; its last line is shown.
    pub fn prints(&mut self, output: &str) {
        if let Doing::Tool(_, last) = &mut self.doing
            && let Some(line) = output.lines().rev().find(|l| !l.trim().is_empty())
        {
            *last = one_line(line.trim());
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
            Phase::Reading.words(),
            share(processed, total)
        ))
    }

    /// The status line of a terminal, in at most so many columns: the less important parts go
    /// first.
    pub fn line(&self, columns: usize) -> String {
        let mut parts = Vec::new();
        let seconds = format!("{} s", self.since.elapsed().as_secs());
        match &self.doing {
            Doing::Tool(what, last) => return tool_line(what, &seconds, last, columns),
            Doing::Request(phase) => parts.extend([phase.words().to_owned(), seconds]),
        }
        match self
            .read
            .filter(|_| self.doing == Doing::Request(Phase::Reading))
        {
            Some((processed, total)) => parts.push(share(processed, total)),
            None => {
                parts.extend(self.speed().map(|n| format!("about {n}/s")));
                let (tokens, window) = self.used;
                parts.push(format!(
                    "about {} of {} tokens",
                    thousands(tokens),
                    thousands(window.into())
                ));
                parts.extend(self.cached.map(|n| format!("{n} % cached")));
            }
        }
        while parts.len() > 1 && width(&parts.join(" · ")) > columns {
            parts.pop();
        }
        parts.join(" · ")
    }

    /// Tokens a second, about.
    fn speed(&self) -> Option<u64> {
        let (bytes, since) = self.streamed?;
        let time = since.elapsed();
        (time >= MEASURED)
            .then(|| (bytes as f64 / TOKEN as f64 / time.as_secs_f64()).round() as u64)
    }
}

/// What runs, since when, and the latest line of its output, which has a part of the line however
/// long the rest is.
fn tool_line(what: &str, seconds: &str, last: &str, columns: usize) -> String {
    const GAP: &str = " · ";
    let fixed = width(seconds) + width(GAP);
    if last.is_empty() {
        let room = columns.saturating_sub(fixed);
        return [&fit_start(what, room), seconds].join(GAP);
    }
    let room = columns.saturating_sub(fixed + width(GAP));
    let least = width(last).min(room * OUTPUT_SHARE.0 / OUTPUT_SHARE.1);
    let what = fit_start(what, room.saturating_sub(least));
    let last = fit_start(last, room.saturating_sub(width(&what)));
    [&what, seconds, &last].join(GAP)
}

fn share(processed: u64, total: u64) -> String {
    let percent = processed * 100 / total.max(1);
    format!("{percent} % of {} tokens", thousands(total))
}

/// How full the window is after a request.
pub fn window(m: &Metrics) -> String {
    let used = m.prompt_tokens + m.output_tokens;
    format!(
        "window {} of {} ({} %)",
        thousands(used),
        thousands(m.context_window.into()),
        m.context_percent
    )
}

/// The numbers of the latest request in a line.
pub fn numbers(m: &Metrics) -> String {
    let mut parts = vec![window(m)];
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
        let mut progress = Progress::new(4_000, 8_192, Some(92));
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
    fn the_status_names_what_fits() {
        let mut progress = Progress::new(4_000, 8_192, Some(92));
        progress.enter(Phase::Loading);
        assert_eq!(
            progress.line(79),
            "loading the model · 0 s · about 4,000 of 8,192 tokens · 92 % cached"
        );
        assert_eq!(progress.line(39), "loading the model · 0 s");
        progress.enter(Phase::Reading);
        progress.read(1_000, 4_000);
        assert_eq!(
            progress.line(79),
            "reading the prompt · 0 s · 25 % of 4,000 tokens"
        );
        progress.enter(Phase::Writing);
        progress.streams(800);
        progress.streamed = progress.streamed.map(|(n, at)| (n, at - 10 * MEASURED));
        assert_eq!(progress.line(30), "writing · 0 s · about 20/s");
    }

    #[test]
    fn a_tool_shows_the_last_line_of_its_output() {
        let mut progress = Progress::doing("run make");
        progress.prints("cc a.c\nld\x1b[2J a.o\n\n");
        assert_eq!(progress.line(79), "run make · 0 s · ld^[[2J a.o");
        // Neither the time nor the output is pushed out by a long command.
        let mut progress = Progress::doing("run python3 -m pytest -x --tb=short tests/unit");
        assert_eq!(progress.line(30), "run python3 -m pytest -… · 0 s");
        progress.prints("tests/unit/test_a.py ......F.......\n");
        assert_eq!(
            progress.line(40),
            "run python3 -m … · 0 s · tests/unit/tes…"
        );
        progress.prints("ok\n");
        assert_eq!(
            progress.line(40),
            "run python3 -m pytest -x --t… · 0 s · ok"
        );
    }
}
