//! The window: nothing above it is sent, what is left out is said, and long tasks end.

mod support;

use serde_json::Value;
use std::time::Duration;
use support::script::*;
use support::server::Kind;

use support::{Agent, Run, WIRES, harnesses, on_hosted_wires, strict};

/// Tool turns of the long task.
const TURNS: usize = 62;

/// Words of a model that says much, but not the same again and again.
fn talk(step: usize, sentences: usize) -> String {
    const WORDS: [&str; 7] = ["parser", "test", "file", "error", "loop", "branch", "table"];
    (0..sentences)
        .map(|n| {
            let word = |k: usize| WORDS[(n * k + step) % WORDS.len()];
            format!(
                "Point {} is about the {} of the {}. ",
                n * 31 + step,
                word(3),
                word(5)
            )
        })
        .collect()
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

/// What must hold of every request of a run. Gives the number of summaries.
fn expect_sound(run: &Run, label: &str, window: u32, task: &str) -> usize {
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
    compacted.len()
}

/// One long task: every fourth step brings 100 KB.
fn long_task(window: u32, harness: &str, wire: &str) {
    let label = format!("{harness} on {wire} at {window}");
    let log: String = (0..2_300)
        .map(|n| format!("{n:06} worker: the request was answered in time\n"))
        .collect();
    let mut steps: Vec<Step> = (0..TURNS)
        .map(|n| {
            let command = if n % 4 == 0 {
                format!("echo step {n}; cat log.txt")
            } else {
                format!("echo step {n}; printf 'a line of output %s\\n' {{1..60}}")
            };
            run(&command).with_text(&format!("Step {n}."))
        })
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
    let summaries = expect_sound(&run, &label, window, "albatross");
    // Calls alone fill the smallest window, so that lines for results are not enough.
    assert!(window > 4_096 || summaries > 0, "{label}: no summary");
}

/// Each harness in that window, on the wires in turn; on every wire where `INTERPRETER_TESTS` is
/// `all`, as `.ci/long` sets it, since that takes a quarter of an hour.
fn long_tasks(window: u32) {
    let all = std::env::var("INTERPRETER_TESTS").is_ok_and(|word| word == "all");
    let turn = window.trailing_zeros() as usize;
    for (at, harness) in harnesses().enumerate() {
        for (number, wire) in WIRES.into_iter().enumerate() {
            if all || number == (at + turn) % WIRES.len() {
                long_task(window, harness, wire);
            }
        }
    }
}

#[test]
fn a_long_task_in_128k() {
    long_tasks(131_072);
}

#[test]
fn a_long_task_in_32k() {
    long_tasks(32_768);
}

#[test]
fn a_long_task_in_16k() {
    long_tasks(16_384);
}

#[test]
fn a_long_task_in_8k() {
    long_tasks(8_192);
}

#[test]
fn a_long_task_in_4k() {
    long_tasks(4_096);
}

/// O01: what Ollama is asked for holds prompt and reply, whatever it has loaded, in every request.
#[test]
fn ollama_gets_the_window_that_the_session_needs() {
    for harness in harnesses() {
        let run = Agent::new()
            .harness(harness)
            .wire("ollama")
            .window(4_096)
            .model(script![run("echo hi"), finish(harness, "done")])
            .run("say done")
            .expect_exit(0)
            .expect_stdout("done\n")
            .expect_stderr("window of 4096");
        for request in run.server.requests() {
            assert_eq!(request.path, "/api/chat");
            let options = &request.body["options"];
            let asked = options["num_ctx"].as_u64().unwrap_or(0);
            let reply = options["num_predict"].as_u64().unwrap_or(0);
            assert!(
                asked >= request.bytes as u64 / 4 + reply,
                "{harness}: {options}"
            );
            assert_eq!(asked, 32_768, "{harness}: not the same in every request");
        }
    }
}

/// O03: a server that cut the prompt stops the turn, and one that agrees within a quarter does not.
#[test]
fn a_prompt_that_the_server_cut_is_noticed() {
    let task = "a line of input\n".repeat(2_500);
    let answer = |tokens| script![say("done").usage(tokens, 0, 1)];
    for harness in harnesses() {
        let run = Agent::new()
            .harness(harness)
            .server_kind(Kind::Plain)
            .config("model_context_window = 32768\n")
            .model(answer(2_047))
            .run(&task);
        let sentence = "read only 2047 of about ";
        let run = run
            .expect_exit(1)
            .expect_stderr(sentence)
            .expect_requests(1);
        let (_, rest) = run.stderr.split_once(sentence).expect("just seen");
        let sent: u64 = rest
            .split(' ')
            .next()
            .and_then(|n| n.parse().ok())
            .expect("a number");
        assert!(sent > 9_000, "{harness}: {sent}");
        assert!(!run.stdout.contains("done"), "{harness}");
        // The estimate, a quarter less, and a quarter more.
        for tokens in [sent, sent * 3 / 4 + 1, sent * 5 / 4] {
            Agent::new()
                .harness(harness)
                .server_kind(Kind::Plain)
                .config("model_context_window = 32768\n")
                .model(script![finish(harness, "done").usage(tokens, 0, 1)])
                .run(&task)
                .expect_exit(0)
                .expect_stdout("done\n");
        }
        let run = Agent::new()
            .harness(harness)
            .server_kind(Kind::Plain)
            .config("model_context_window = 32768\n")
            .args(["--json"])
            .model(answer(2_047))
            .run(&task)
            .expect_exit(1);
        let mut lines = run.stdout.lines();
        let failed = lines.any(|l| l.contains("turn.failed") && l.contains("2047"));
        assert!(failed, "{harness}: {}", run.stdout);
    }
}

#[test]
fn a_cut_prompt_is_noticed_on_the_wires_of_hosted_models_too() {
    on_hosted_wires(&[("O03", a_prompt_that_the_server_cut_is_noticed)]);
}

/// O14: an overflow is not sent twice, and both numbers are told.
#[test]
fn a_hopeless_request_is_not_repeated() {
    let body = r#"{"error":{"code":400,"message":"request (9999 tokens) exceeds the available context size (4096 tokens)","type":"exceed_context_size_error","n_prompt_tokens":9999,"n_ctx":4096}}"#;
    for harness in harnesses() {
        for wire in WIRES {
            let run = Agent::new()
                .harness(harness)
                .wire(wire)
                .model(script![fail(400, body)])
                .run("go")
                .expect_exit(1)
                .expect_stderr("9999")
                .expect_stderr("4096");
            assert!(run.took < Duration::from_secs(10), "{:?}", run.took);
            let bodies: Vec<String> = run
                .server
                .requests()
                .iter()
                .map(|r| r.body.to_string())
                .collect();
            assert!(
                bodies.len() <= 2,
                "{harness} on {wire}: {} requests",
                bodies.len()
            );
            assert!(
                bodies.windows(2).all(|w| w[0] != w[1]),
                "{harness} on {wire}"
            );
        }
    }
}

/// A server whose window is smaller than it said: one summary, one retry, and the task goes on.
#[test]
fn an_overflow_in_mid_task_leads_to_one_compaction_and_success() {
    let body = r#"{"error":{"message":"This model's maximum context length is 6000 tokens. Please reduce the length of the messages."}}"#;
    for harness in harnesses() {
        let mut steps: Vec<Step> = (0..8)
            .map(|n| run(&format!("echo {n}")).with_text(&format!("Step {n}: {}", talk(n, 30))))
            .collect();
        steps.push(fail(400, body));
        steps.push(finish(harness, "done"));
        let run = Agent::new()
            .harness(harness)
            .window(8_192)
            .summary("<state_snapshot>eight steps were done</state_snapshot>")
            .model(steps)
            .run("the word is albatross")
            .expect_exit(0)
            .expect_stdout("done\n")
            .expect_stderr("its window holds 6000 tokens, not 8192")
            .expect_stderr("summarised by the model");
        // Eight steps, the refused one, the summary, and the retry.
        let run = run.expect_requests(11);
        let last = run.request_text(11);
        assert!(
            last.contains("albatross") && last.contains("eight steps were done"),
            "{harness}: {last}"
        );
        assert!(
            last.contains("Step 7") && !last.contains("Step 0:"),
            "{harness}: {last}"
        );
    }
}

/// A compacted session goes on after a resume, from the new conversation.
#[test]
fn a_compacted_session_resumes() {
    for harness in harnesses() {
        let mut steps: Vec<Step> = (0..30)
            .map(|n| run(&format!("echo {n}; head -n 80 log.txt")).with_text(&talk(n, 40)))
            .collect();
        steps.push(finish(harness, "done"));
        steps.push(finish(harness, "done again"));
        let log: String = (0..80)
            .map(|n| format!("{n:03} the request was answered\n"))
            .collect();
        let run = Agent::new()
            .harness(harness)
            .window(8_192)
            .file("log.txt", log)
            .summary("<state_snapshot>the log was read</state_snapshot>")
            .model(steps)
            .run("the word is albatross")
            .expect_exit(0)
            .expect_stderr("summarised by the model")
            .again(
                &["exec", "--skip-git-repo-check", "resume", "--last"],
                Some("and again"),
            )
            .expect_exit(0)
            .expect_stdout("done again\n");
        let requests = run.server.requests();
        let [.., before, after] = &requests[..] else {
            panic!("{harness}: too few requests")
        };
        let (old, new) = (
            strict::parts(&before.path, &before.body),
            strict::parts(&after.path, &after.body),
        );
        assert!(
            new.len() > old.len() && old.iter().zip(&new).all(|(a, b)| a == b),
            "{harness}"
        );
        assert!(
            strict::all_text(&after.body).contains("the log was read"),
            "{harness}"
        );
    }
}

/// A call in the place of a summary is not run; the last steps stand in for it.
#[test]
fn a_call_in_a_summary_is_not_run() {
    let body = r#"{"error":{"message":"prompt is too long: 7000 tokens > 6000 maximum"}}"#;
    for harness in harnesses() {
        let mut steps: Vec<Step> = (0..6)
            .map(|n| run(&format!("echo {n}")).with_text(&talk(n, 70)))
            .collect();
        steps.push(fail(400, body));
        steps.push(run("touch made-by-summary"));
        steps.push(finish(harness, "done"));
        let run = Agent::new()
            .harness(harness)
            .window(8_192)
            .model(steps)
            .run("go")
            .expect_exit(0)
            .expect_no_file("made-by-summary");
        // Tools stay as they are, so that the cache of the prompt is used.
        let requests = run.server.requests();
        let asked = requests
            .iter()
            .position(|r| strict::asks_for_summary(&r.path, &r.body));
        let asked = asked.expect("a request for a summary");
        assert_eq!(
            requests[asked].body["tools"], requests[0].body["tools"],
            "{harness}"
        );
    }
}

/// LM Studio is made to load a larger window only when its own is too small for the session.
#[test]
fn lm_studio_loads_what_the_session_needs() {
    let run = |window: u32| {
        Agent::new()
            .server_kind(Kind::LmStudio)
            .window(window)
            .model(script![say("done")])
            .run("say done")
            .expect_exit(0)
    };
    let loads = |run: &Run| {
        run.server
            .paths()
            .iter()
            .filter(|p| p.ends_with("/load"))
            .count()
    };
    let small = run(4_096).expect_stderr("window of 4096 tokens; loading it with");
    assert_eq!(loads(&small), 1);
    assert_eq!(loads(&run(16_384)), 0);
}

/// What was learnt about a model's tokens is kept for its next session.
#[test]
fn the_next_session_knows_the_model() {
    let run = Agent::new()
        .model(script![say("done"), say("done")])
        .run("go")
        .expect_exit(0);
    let file = run.home.path().join("home/models.json");
    let text = std::fs::read_to_string(file).expect("models.json");
    let learnt: Value = serde_json::from_str(&text).expect("JSON");
    assert!(
        learnt["mock"]["fixed"].as_f64().is_some_and(|r| r > 0.2),
        "{text}"
    );
}

/// A cache that is suddenly not used is said once, with the likely causes; a prefix event is none.
#[test]
fn a_cold_prefix_is_explained_once() {
    let cold = || run("date +%N").usage(5_000, 10, 10);
    let warm = || run("date +%N").usage(5_000, 4_900, 10);
    let run = Agent::new()
        .harness("qwen-code")
        .model(script![
            warm(),
            warm(),
            cold(),
            cold(),
            say("done").usage(5_000, 4_900, 10)
        ])
        .run("go")
        .expect_exit(0);
    assert_eq!(
        run.stderr.matches("read the whole prompt anew").count(),
        1,
        "{}",
        run.stderr
    );
}
