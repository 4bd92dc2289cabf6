//! What the tries of a harness add up to, as a table and as JSON.

use super::Bench;
use super::trial::Trial;
use crate::cli::render::sanitize::one_line;
use crate::harnesses::Harness;
use serde_json::{Value, json};
use std::cmp::Ordering;
use std::fmt::Write;
use std::time::Duration;

/// All tries of one harness.
pub struct Score {
    /// The harness.
    pub harness: &'static dyn Harness,
    /// The tries, in order.
    pub trials: Vec<Trial>,
    /// Why it is not tried any more, if no session could be opened with it.
    pub dropped: Option<String>,
}

impl Score {
    /// A harness that was not tried yet.
    pub fn new(harness: &'static dyn Harness) -> Self {
        Score {
            harness,
            trials: Vec::new(),
            dropped: None,
        }
    }

    /// How many tries solved their task.
    pub fn solved(&self) -> usize {
        self.trials.iter().filter(|t| t.is_solved()).count()
    }

    /// The better one stands first: more solved, then less time. One that was dropped stands last.
    pub fn better(&self, other: &Score) -> Ordering {
        let tie = other.solved().cmp(&self.solved());
        (self.dropped.is_some().cmp(&other.dropped.is_some()))
            .then(tie)
            .then(self.time().cmp(&other.time()))
    }

    /// The fewest and the most solved in one run over all tasks; runs that were cut short do not count.
    fn spread(&self, tasks: usize, runs: u32) -> Option<(usize, usize)> {
        let whole = (0..runs).filter_map(|round| {
            let of_round = self.trials.iter().filter(|t| t.round == round);
            let (all, solved) = of_round.fold((0, 0), |(all, solved), t| {
                (all + 1, solved + usize::from(t.is_solved()))
            });
            (all == tasks && all > 0).then_some(solved)
        });
        let rounds: Vec<usize> = whole.collect();
        Some((*rounds.iter().min()?, *rounds.iter().max()?))
    }

    fn sum(&self, of: impl Fn(&Trial) -> u64) -> u64 {
        self.trials.iter().map(of).sum()
    }

    fn time(&self) -> Duration {
        self.trials.iter().map(|t| t.took).sum()
    }

    /// The share of prompt tokens that came from the server's cache, where the server says so.
    fn cached_share(&self) -> Option<f64> {
        let told = || self.trials.iter().filter(|t| t.usage.cached.is_some());
        let cached: u64 = told().filter_map(|t| t.usage.cached).sum();
        let prompt: u64 = told().map(|t| t.usage.input).sum();
        (prompt > 0).then(|| cached as f64 / prompt as f64)
    }
}

/// The tables for people: at most 80 columns.
pub(super) fn table(bench: &Bench) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(
        out,
        "   {:16}{:>8}{:>7}{:>6}{:>7}{:>6}{:>7}{:>7}{:>7}{:>6}",
        "HARNESS",
        "SOLVED",
        "SPREAD",
        "STEPS",
        "REPAIR",
        "FAULT",
        "PROMPT",
        "OUTPUT",
        "CACHED",
        "TIME"
    );
    for (rank, score) in bench.scores.iter().enumerate() {
        let (id, n) = (score.harness.id(), score.trials.len());
        let _ = write!(out, "{:>2} {id:16}", rank + 1);
        if n == 0 {
            let why = score.dropped.as_deref().unwrap_or("not tried");
            let _ = writeln!(out, "  {}", clip(&one_line(why), 58));
            continue;
        }
        let mean = |of: &dyn Fn(&Trial) -> u64| score.sum(of) as f64 / n as f64;
        let spread = score.spread(bench.tasks.len(), bench.runs);
        let _ = writeln!(
            out,
            "{:>8}{:>7}{:>6.1}{:>7.1}{:>6.1}{:>7}{:>7}{:>7}{:>6}",
            format!("{}/{n}", score.solved()),
            spread.map_or("-".into(), |(low, high)| format!("{low}-{high}")),
            mean(&|t| t.counts.steps),
            mean(&|t| t.counts.repairs),
            mean(&|t| t.counts.faults),
            tokens(mean(&|t| t.usage.input)),
            tokens(mean(&|t| t.usage.output)),
            score
                .cached_share()
                .map_or("?".into(), |s| format!("{:.0}%", s * 100.0)),
            clock(score.time() / u32::try_from(n).unwrap_or(u32::MAX)),
        );
    }
    out.push_str("SPREAD: fewest and most solved in a run. The columns after it: mean of a try.\n");
    let _ = write!(out, "\n{:15}{:7}", "TASK", "");
    for rank in 1..=bench.scores.len() {
        let _ = write!(out, "{rank:>4}");
    }
    out.push_str("  solved by each of these\n");
    for task in &bench.tasks {
        let _ = write!(out, "{:15}{:7}", task.name, task.language.name);
        for score in &bench.scores {
            let tried = || score.trials.iter().filter(|t| t.task == task.name);
            let _ = match tried().count() {
                0 => write!(out, "{:>4}", "-"),
                _ => write!(out, "{:>4}", tried().filter(|t| t.is_solved()).count()),
            };
        }
        out.push('\n');
    }
    for (task, why) in &bench.left_out {
        let _ = writeln!(
            out,
            "{:15}{:7}  left out: {}",
            task.name, task.language.name, why
        );
    }
    if !bench.complete {
        out.push_str("Interrupted: some tries are missing.\n");
    }
    out
}

/// Everything that was measured.
pub(super) fn json(bench: &Bench, saved: Option<&str>) -> Value {
    let harnesses: Vec<Value> = bench
        .scores
        .iter()
        .map(|score| {
            let spread = score.spread(bench.tasks.len(), bench.runs);
            json!({
                "harness": score.harness.id(), "dropped": score.dropped,
                "solved": score.solved(), "tries": score.trials.len(),
                "solved_in_a_run": spread.map(|(min, max)| json!({"min": min, "max": max})),
                "requests": score.sum(|t| t.counts.requests), "steps": score.sum(|t| t.counts.steps),
                "repairs": score.sum(|t| t.counts.repairs), "faults": score.sum(|t| t.counts.faults),
                "prompt_tokens": score.sum(|t| t.usage.input), "output_tokens": score.sum(|t| t.usage.output),
                "cached_share": score.cached_share(), "seconds": score.time().as_secs_f64(),
                "results": score.trials.iter().map(trial).collect::<Vec<_>>(),
            })
        })
        .collect();
    let left_out: Vec<Value> = bench
        .left_out
        .iter()
        .map(|(task, why)| json!({"task": task.name, "language": task.language.name, "why": why}))
        .collect();
    let c = &bench.connection;
    json!({
        "model": c.model, "provider": c.provider.id, "window": c.window.tokens, "runs": bench.runs,
        "tasks": bench.tasks.iter().map(|t| json!({"task": t.name, "language": t.language.name})).collect::<Vec<_>>(),
        "left_out": left_out, "complete": bench.complete, "harnesses": harnesses,
        "best": bench.best().map(|s| s.harness.id()), "saved": saved,
    })
}

fn trial(t: &Trial) -> Value {
    json!({
        "task": t.task, "run": t.round + 1, "solved": t.is_solved(), "why_not": t.fault, "ended": t.end,
        "requests": t.counts.requests, "steps": t.counts.steps, "repairs": t.counts.repairs, "faults": t.counts.faults,
        "prompt_tokens": t.usage.input, "cached_tokens": t.usage.cached, "output_tokens": t.usage.output,
        "seconds": t.took.as_secs_f64(),
    })
}

/// `950`, `12.3k` or `1.2M`.
fn tokens(n: f64) -> String {
    match n {
        n if n < 9_999.5 => format!("{n:.0}"),
        n if n < 999_950.0 => format!("{:.1}k", n / 1e3),
        n => format!("{:.1}M", n / 1e6),
    }
}

/// `0.4s`, `59s` or `9:59`.
fn clock(time: Duration) -> String {
    match time.as_secs() {
        0..10 => format!("{:.1}s", time.as_secs_f64()),
        s @ 10..60 => format!("{s}s"),
        s => format!("{}:{:02}", s / 60, s % 60),
    }
}

fn clip(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
