//! What the server has, and how long it takes.

use crate::script;
use crate::support::script::*;
use crate::support::server::Kind;
use crate::support::{Agent, harnesses, usual_wire};
use serde_json::Value;
use std::time::Duration;

#[test]
fn o02_which_window_wins() {
    for harness in harnesses() {
        let agent = || {
            Agent::new()
                .harness(harness)
                .wire("ollama")
                .server_kind(Kind::OllamaWithSeveral)
                .args(["-m", "coder:7b"])
                .model(script![finish(harness, "done")])
        };
        let own = "num_ctx of the model itself";
        agent()
            .run("say done")
            .expect_exit(0)
            .expect_stdout("done\n")
            .expect_stderr(&format!("window 32,768 ({own})"))
            .expect_request(1, |b| b["options"]["num_ctx"] == 32_768);
        let doctor = agent().start(&["doctor"], None).finish().stdout;
        assert!(doctor.contains(&format!("32768 tokens: {own}")), "{doctor}");
        let set = ["-c", "model_context_window=16384"];
        let own = "model_context_window in the config";
        agent()
            .args(set)
            .run("say done")
            .expect_exit(0)
            .expect_stderr(&format!("window 16,384 ({own})"))
            .expect_request(1, |b| b["options"]["num_ctx"] == 16_384);
        let doctor = agent().args(set).start(&["doctor"], None).finish().stdout;
        assert!(doctor.contains(&format!("16384 tokens: {own}")), "{doctor}");
    }
}

#[test]
pub fn o16_a_slow_first_token() {
    let late = || say("late").after(Duration::from_secs(22));
    let wire = usual_wire();
    std::thread::scope(|threads| {
        for harness in harnesses() {
            threads.spawn(move || {
                let steps = script![finish(harness, "late").after(Duration::from_secs(22))];
                let agent = Agent::new().harness(harness).wire(wire);
                let run = agent.model(steps).run("go");
                let run = run
                    .expect_exit(0)
                    .expect_stdout("late\n")
                    .expect_requests(1);
                let lines = run.stderr.matches("waiting for the model").count();
                assert!(lines >= 2, "{harness}: {}", run.stderr);
            });
            threads.spawn(move || {
                let run = Agent::new()
                    .harness(harness)
                    .wire(wire)
                    .model(script![late()])
                    .args([
                        "-c",
                        "model_providers.mock.stream_idle_timeout_ms=2000",
                        "-c",
                        "model_providers.mock.stream_max_retries=0",
                    ])
                    .run("go");
                assert!(run.took < Duration::from_secs(10), "{:?}", run.took);
                run.expect_exit(1).expect_stderr("stream_idle_timeout_ms");
            });
        }
    });
}

#[test]
fn o27_a_remote_or_moved_ollama() {
    for harness in harnesses() {
        for way in ["host", "url", "entry with /v1", "entry"] {
            let agent = Agent::new()
                .harness(harness)
                .wire("ollama")
                .args(["-c", "model_provider=\"ollama\""])
                .model(script![finish(harness, "done")]);
            let (agent, port) = agent.listening();
            let entry = |path: &str| {
                format!("[model_providers.ollama]\nbase_url = \"http://127.0.0.1:{port}{path}\"\n")
            };
            // The entry wins over the variable, behind which nobody listens.
            let (config, host) = match way {
                "host" => (String::new(), format!("127.0.0.1:{port}")),
                "url" => (String::new(), format!("http://127.0.0.1:{port}/")),
                "entry" => (entry(""), "127.0.0.1:9".into()),
                _ => (entry("/v1"), "127.0.0.1:9".into()),
            };
            let run = agent
                .config(&config)
                .env("OLLAMA_HOST", &host)
                .run("hi")
                .expect_exit(0)
                .expect_stdout("done\n")
                .expect_stderr(&format!("at http://127.0.0.1:{port}"))
                .expect_requests(1);
            assert_eq!(
                run.server.requests()[0].path,
                "/api/chat",
                "{harness} {way}"
            );
        }
    }
}

#[test]
fn o29_models_from_the_server() {
    for harness in harnesses() {
        for (kind, wire, name) in [
            (Kind::Ollama, "ollama", "Ollama"),
            (Kind::LlamaServer, "chat", "llama-server"),
            (Kind::LmStudio, "chat", "LM Studio"),
            (Kind::Vllm, "chat", "vLLM"),
            (Kind::Plain, "chat", "mock"),
            (Kind::Plain, "responses", "mock"),
            (Kind::LlamaServer, "messages", "llama-server"),
        ] {
            let agent = || {
                Agent::new()
                    .harness(harness)
                    .wire(wire)
                    .server_kind(kind)
                    .without_model()
                    .model(script![finish(harness, "done")])
            };
            agent()
                .run("hi")
                .expect_exit(0)
                .expect_stdout("done\n")
                .expect_stderr("model: mock (the one that")
                .expect_request(1, |b| b["model"] == "mock");
            let listed = agent().start(&["models", "--json"], None).finish();
            let listed: Value = serde_json::from_str(&listed.stdout).expect("JSON");
            let models = listed["models"].as_array().expect("a list");
            let names: Vec<_> = models.iter().filter_map(|m| m["model"].as_str()).collect();
            assert_eq!(names, ["mock"], "{name}: {listed:#}");
        }
    }
}
