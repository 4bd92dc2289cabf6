//! The window: nothing above it is sent, what is left out is said, and long tasks end.

mod support;

use serde_json::Value;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;
use support::script::*;
use support::server::Kind;
use support::{Agent, HARNESSES, Run, WIRES, strict};

/// Tool turns of the long task.
const TURNS: usize = 62;

fn finish(harness: &str, text: &str) -> Step {
    match harness {
        "mini-swe-agent" => run("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT").with_text(text),
        _ => say(text),
    }
}

/// The lines of the session file, as type and payload.
fn lines(run: &Run) -> Vec<(String, Value)> {
    let text = std::fs::read_to_string(run.session_file()).expect("the session file");
    text.lines()
        .map(|l| serde_json::from_str::<Value>(l).expect("a line of JSON"))
        .map(|v| {
            (
                v["type"].as_str().unwrap_or_default().to_owned(),
                v["payload"].clone(),
            )
        })
        .collect()
}

/// For each request whether a prefix event came between it and the one before, and the numbers of
/// requests before which a summary took the place of the conversation.
fn prefix_events(run: &Run) -> (Vec<bool>, Vec<usize>) {
    let (mut broken, mut compacted) = (vec![false], Vec::new());
    for (kind, payload) in lines(run) {
        match kind.as_str() {
            "event_msg" if payload["type"] == "token_count" => broken.push(false),
            "elided" => *broken.last_mut().expect("never empty") = true,
            "compacted" => {
                *broken.last_mut().expect("never empty") = true;
                compacted.push(broken.len() - 1);
            }
            _ => {}
        }
    }
    (broken, compacted)
}

/// What must hold of every request of a run.
fn expect_sound(run: &Run, label: &str, window: u32, task: &str) {
    let requests = run.server.requests();
    let (broken, compacted) = prefix_events(run);
    for (n, request) in requests.iter().enumerate() {
        // The scripted server counts four bytes of the body as a token.
        assert!(
            request.bytes / 4 < window as usize,
            "{label}: request {n} has {} bytes",
            request.bytes
        );
        let text = strict::all_text(&request.body);
        assert!(
            text.contains(task),
            "{label}: the task is not in request {n}"
        );
        if n > 0 && !broken[n] {
            let old = strict::parts(&requests[n - 1].path, &requests[n - 1].body);
            let new = strict::parts(&request.path, &request.body);
            assert!(new.len() > old.len(), "{label}: request {n} adds nothing");
            let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
            assert_eq!(
                same,
                old.len(),
                "{label}: part {same} of request {n} changed"
            );
        }
    }
    for pair in compacted.windows(2) {
        assert!(
            pair[1] >= pair[0] + 2,
            "{label}: summaries in a row, {compacted:?}"
        );
    }
}

/// One long task: each step brings 100 KB.
fn long_task(window: u32, harness: &str, wire: &str) {
    let label = format!("{harness} on {wire} at {window}");
    let log: String = (0..2_300)
        .map(|n| format!("{n:06} worker: the request was answered in time\n"))
        .collect();
    let mut steps: Vec<Step> = (0..TURNS)
        .map(|n| run(&format!("echo step {n}; cat log.txt")).with_text(&format!("Step {n}.")))
        .collect();
    steps.push(finish(harness, "all is done"));
    let run = Agent::new()
        .harness(harness)
        .wire(wire)
        .window(window)
        .config(&format!("model_context_window = {window}\n"))
        .args(["--sandbox", "danger-full-access"])
        .file("log.txt", log)
        .summary("<state_snapshot>\nThe first steps were done without trouble.\n</state_snapshot>")
        .limit(Duration::from_secs(120))
        .model(steps)
        .run("count the albatross lines of the log");
    assert_eq!(run.code, 0, "{label}: {}", run.stderr);
    assert_eq!(run.stdout, "all is done\n", "{label}: {}", run.stderr);
    assert!(run.server.requests().len() > TURNS, "{label}");
    expect_sound(&run, &label, window, "albatross");
}

#[test]
fn a_long_task_ends_in_every_window_harness_and_wire() {
    let mut jobs = VecDeque::new();
    for window in [131_072, 32_768, 16_384, 8_192, 4_096] {
        for harness in HARNESSES {
            jobs.extend(WIRES.map(|wire| (window, harness, wire)));
        }
    }
    let jobs = Mutex::new(jobs);
    std::thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| {
                loop {
                    let Some((window, harness, wire)) =
                        jobs.lock().expect("not poisoned").pop_front()
                    else {
                        return;
                    };
                    let began = std::time::Instant::now();
                    long_task(window, harness, wire);
                    eprintln!("{window} {harness} {wire} {:?}", began.elapsed());
                }
            });
        }
    });
}
