//! How a session and a turn are told in a line: at the beginning, and at the end.

use super::phrases::{duration, thousands};
use super::progress::{numbers, window};
use super::sanitize::one_line;
use super::wrap::width;
use crate::agent::event::{SessionInfo, TurnEnd};
use crate::agent::metrics::Metrics;

/// What begins, and which model at which address.
pub fn opening(info: &SessionInfo) -> (&'static str, String) {
    let verb = if info.resumed {
        "resumed"
    } else {
        "interpreter"
    };
    let place = format!(
        "{} at {}",
        one_line(&info.model),
        one_line(&info.provider.1)
    );
    (verb, place)
}

/// Harness, window and fence.
pub fn terms(info: &SessionInfo) -> String {
    let (harness, size) = info.harness;
    let size = if size == "full" {
        String::new()
    } else {
        format!(" ({size})")
    };
    format!(
        "harness {harness}{size} · window {} ({}) · {}",
        thousands(info.window.0.into()),
        info.window.1,
        fence(info)
    )
}

/// The lines at the end of a turn. In a terminal of so many columns it is one, and what does not
/// fit goes, the less important first.
pub fn closing(end: &TurnEnd, metrics: Option<&Metrics>, columns: Option<usize>) -> Vec<String> {
    let u = end.usage;
    let cached = u
        .cached
        .filter(|_| u.input > 0)
        .map(|c| format!(" ({} % cached)", c * 100 / u.input.max(1)))
        .unwrap_or_default();
    let requests = if end.requests == 1 {
        "1 request".into()
    } else {
        format!("{} requests", end.requests)
    };
    let tokens = format!(
        "{} tokens in{cached}, {} out",
        thousands(u.input),
        thousands(u.output)
    );
    let mut text = duration(end.took);
    let Some(columns) = columns else {
        let cost = end.cost.words().map(|c| format!(" · {c}"));
        let cost = cost.unwrap_or_default();
        let first = format!("{text} · {requests} · {tokens}{cost}");
        return [first].into_iter().chain(metrics.map(numbers)).collect();
    };
    let speed = metrics.and_then(|m| m.output_tokens_per_second);
    // Some servers count nothing.
    let counted = u.input > 0 || u.output > 0;
    let parts = [
        Some(requests),
        metrics.map(window),
        speed.map(|rate| format!("{rate}/s")),
        end.cost.words(),
        counted.then_some(tokens),
    ];
    for part in parts.into_iter().flatten() {
        let longer = format!("{text} · {part}");
        if width(&longer) <= columns {
            text = longer;
        }
    }
    vec![text]
}

/// The mode line: what really holds.
fn fence(info: &SessionInfo) -> String {
    let network = if info.network { ", network on" } else { "" };
    format!("{}{network} · asks: {}", info.sandbox.name(), info.approval)
}
