//! `doctor` and `models` against servers of every kind, and the numbers of a run.

mod support;

use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use support::script::*;
use support::server::{Kind, Server};
use support::{Agent, Run, harnesses, on_hosted_wires};

/// The word that the trial's file holds, out of the result in the request.
fn word(body: &Value) -> String {
    let text = support::strict::all_text(body);
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    let found = words
        .filter(|w| w.len() == 7 && w.starts_with('w'))
        .rfind(|w| w[1..].chars().all(|c| c.is_ascii_hexdigit()));
    format!("The word is {}.", found.unwrap_or("missing"))
}

/// A model that does the trial as it should.
fn able() -> Vec<Step> {
    script![
        read("word.txt").usage(4_000, 0, 20),
        answer(word).usage(4_050, 4_000, 12)
    ]
}

fn doctor(agent: Agent) -> Run {
    agent.start(&["doctor"], None).finish()
}

fn doctor_json(agent: Agent) -> (Run, Value) {
    let run = agent.args(["--json"]).start(&["doctor"], None).finish();
    let report = serde_json::from_str(&run.stdout)
        .unwrap_or_else(|e| panic!("{e}:\n{}\n{}", run.stdout, run.stderr));
    (run, report)
}

fn finding<'a>(report: &'a Value, check: &str) -> &'a Value {
    let list = report["findings"].as_array().expect("findings");
    list.iter()
        .find(|f| f["check"] == check)
        .unwrap_or_else(|| panic!("no finding `{check}` in {report:#}"))
}

fn expect_grade(report: &Value, check: &str, grade: &str) {
    let found = finding(report, check);
    assert_eq!(found["grade"], grade, "{found:#}");
    if grade != "ok" {
        assert!(found["fix"].is_string(), "{found:#}");
    }
}

/// `interpreter ARGS` with these lines of config, without a server of its own.
fn bare(args: &[&str], config: &str, env: &[(&str, &str)]) -> (i32, String, String, Duration) {
    let home = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(home.path().join("ws")).expect("a workspace");
    std::fs::create_dir(home.path().join("home")).expect("a home");
    std::fs::write(home.path().join("home/config.toml"), config).expect("a config");
    let began = Instant::now();
    let out = Command::new(env!("CARGO_BIN_EXE_interpreter"))
        .args(args)
        .current_dir(home.path().join("ws"))
        .env_clear()
        .env("HOME", home.path())
        .env("INTERPRETER_HOME", home.path().join("home"))
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .envs(env.iter().copied())
        .stdin(Stdio::null())
        .output()
        .expect("the binary runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let code = out.status.code().unwrap_or(-1);
    (code, text(&out.stdout), text(&out.stderr), began.elapsed())
}

/// A server that gives this answer, status line and body, to each path; nothing: it keeps silent.
fn stubborn(answer: fn(&str) -> Option<(&'static str, &'static str)>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        for mut stream in listener.incoming().flatten() {
            let mut bytes = [0; 4096];
            let n = stream.read(&mut bytes).unwrap_or(0);
            let request = String::from_utf8_lossy(&bytes[..n]).into_owned();
            let path = request.split_whitespace().nth(1).unwrap_or_default();
            match answer(path) {
                None => kept.push(stream),
                Some((status, body)) => {
                    let _ = write!(
                        stream,
                        "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                        body.len()
                    );
                }
            }
        }
    });
    port
}

fn ollama_at(port: u16) -> String {
    format!(
        "model = \"mock\"\nmodel_provider = \"ollama\"\n[model_providers.ollama]\nbase_url = \"http://127.0.0.1:{port}\"\n"
    )
}

#[test]
fn a_llama_server_in_order() {
    let run = doctor(Agent::new().git().model(able())).expect_exit(0);
    for part in [
        "llama-server b1-mock at http://127.0.0.1:",
        "32768 tokens: reported by llama-server, trained for 131072",
        "as a structured call, in 2 requests",
        "100 % of the first request was reused",
        "qwen-code, full",
        "branch main",
        "nothing but this server is contacted",
    ] {
        assert!(run.stdout.contains(part), "`{part}` in\n{}", run.stdout);
    }
    for line in run.stdout.lines() {
        assert!(line.chars().count() <= 80, "{line}");
        let grade = line.split_whitespace().next().unwrap_or_default();
        let head = line.chars().take(16).collect::<String>();
        let starts = ["ok", "warn", "fail", "fix:"].contains(&grade);
        assert!(starts || head.trim().is_empty(), "{line}");
    }
    assert!(!run.stdout.contains("fail"), "{}", run.stdout);
    assert_eq!(run.stderr, "");
    // The folder of the trial is gone, and no session was kept.
    assert!(!run.home.path().join("home/sessions").exists());
}

#[test]
fn every_harness_does_the_trial_on_every_wire() {
    for harness in harnesses() {
        for wire in support::WIRES {
            let mut steps = able();
            if harness == "mini-swe-agent" {
                steps.push(run(
                    "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && cat word.txt",
                ));
            }
            let agent = Agent::new().harness(harness).wire(wire).model(steps);
            let (run, report) = doctor_json(agent);
            let call = finding(&report, "call");
            assert_ne!(call["grade"], "fail", "{harness} {wire}: {call:#}");
            assert_eq!(run.code, 0, "{report:#}");
            assert_eq!(finding(&report, "harness")["facts"]["id"], harness);
            assert_eq!(report["ok"], true);
        }
    }
}

#[test]
fn an_ollama_with_its_default_of_4096() {
    let agent = Agent::new().wire("ollama").window(4_096).model(able());
    let (run, report) = doctor_json(agent);
    expect_grade(&report, "window", "warn");
    let window = finding(&report, "window");
    assert_eq!(window["facts"]["tokens"], 32_768);
    assert_eq!(window["facts"]["loaded"], 4_096);
    assert_eq!(window["facts"]["trained"], 131_072);
    assert_eq!(window["facts"]["source"], "asked of Ollama");
    assert_eq!(window["fix"], "OLLAMA_CONTEXT_LENGTH=32768 ollama serve");
    assert_eq!(finding(&report, "server")["facts"]["version"], "0.33.0");
    run.expect_exit(0)
        .expect_request(1, |body| body["options"]["num_ctx"] == 32_768);
}

#[test]
fn which_window_wins() {
    // O02: trained for 262144, num_ctx 32768 in the Modelfile.
    let several = || {
        Agent::new()
            .wire("ollama")
            .server_kind(Kind::OllamaWithSeveral)
            .args(["-m", "coder:7b"])
            .model(able())
    };
    let (_, report) = doctor_json(several());
    let window = finding(&report, "window");
    assert_eq!(window["facts"]["tokens"], 32_768);
    assert_eq!(window["facts"]["source"], "num_ctx of the model itself");
    let text = window["text"].as_str().expect("a text");
    assert!(text.starts_with("32768 tokens"), "{text}");
    // 60 of 100 bytes are in graphics memory.
    expect_grade(&report, "memory", "warn");
    let (_, report) = doctor_json(several().args(["-c", "model_context_window=16384"]));
    let window = finding(&report, "window");
    assert_eq!(window["facts"]["tokens"], 16_384);
    assert_eq!(
        window["facts"]["source"],
        "model_context_window in the config"
    );
}

#[test]
fn no_server_at_all() {
    let port = {
        let free = TcpListener::bind("127.0.0.1:0").expect("a port");
        free.local_addr().expect("an address").port()
    };
    let (code, out, err, took) = bare(&["doctor"], &ollama_at(port), &[]);
    assert_eq!((code, err.as_str()), (1, ""), "{out}");
    assert!(
        out.contains("fail  server    no answer at http://127.0.0.1:"),
        "{out}"
    );
    assert!(out.contains("      fix:      ollama serve"), "{out}");
    assert!(took < Duration::from_secs(20), "{took:?}");
    // Without a provider, all well-known ports are tried.
    let dead: String = ["ollama", "lmstudio", "llamacpp", "vllm"]
        .iter()
        .map(|id| format!("[model_providers.{id}]\nbase_url = \"http://127.0.0.1:{port}/v1\"\n"))
        .collect();
    let (code, out, ..) = bare(&["doctor", "--json"], &dead, &[]);
    let report: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(code, 1);
    assert_eq!(report["ok"], false);
    expect_grade(&report, "server", "fail");
    assert_eq!(finding(&report, "server")["fix"], "ollama serve");
}

#[test]
fn a_wrong_key() {
    let port = stubborn(|_| {
        Some((
            "401 Unauthorized",
            r#"{"error":{"message":"Invalid API Key","code":401}}"#,
        ))
    });
    let config = format!(
        "model = \"m\"\nmodel_provider = \"p\"\n[model_providers.p]\nbase_url = \"http://127.0.0.1:{port}/v1\"\n"
    );
    let (code, out, ..) = bare(&["doctor", "--json"], &config, &[]);
    assert_eq!(code, 1, "{out}");
    let report: Value = serde_json::from_str(&out).expect("JSON");
    expect_grade(&report, "server", "fail");
    let server = finding(&report, "server");
    assert_eq!(server["facts"]["status"], 401, "{server:#}");
    assert!(
        server["fix"].as_str().expect("a fix").contains("env_key"),
        "{server:#}"
    );
    // A key that is not set at all.
    let (code, out, ..) = bare(
        &["doctor", "-c", "model_provider=openai", "-m", "x"],
        "",
        &[],
    );
    assert_eq!(code, 1);
    assert!(out.contains("export OPENAI_API_KEY=KEY"), "{out}");
}

#[test]
fn a_model_without_tools() {
    let without = |harness: Option<&str>, steps| {
        let agent = Agent::new()
            .wire("ollama")
            .server_kind(Kind::OllamaWithoutTools)
            .model(steps);
        doctor_json(harness.into_iter().fold(agent, Agent::harness))
    };
    let (run, report) = without(None, script![say("no")]);
    expect_grade(&report, "tools", "fail");
    assert!(
        finding(&report, "tools")["fix"]
            .as_str()
            .is_some_and(|f| f.contains("mini-swe-agent"))
    );
    run.expect_exit(1).expect_requests(0);
    let mut steps = able();
    steps.push(run_to_end());
    let (run, report) = without(Some("mini-swe-agent"), steps);
    expect_grade(&report, "tools", "ok");
    run.expect_exit(0);
}

fn run_to_end() -> Step {
    run("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && cat word.txt")
}

#[test]
fn a_model_that_is_not_there() {
    let agent = Agent::new().wire("ollama").args(["-m", "qwen9:1b"]);
    let (run, report) = doctor_json(agent.model(able()));
    expect_grade(&report, "model", "fail");
    assert_eq!(finding(&report, "model")["fix"], "ollama pull qwen9:1b");
    run.expect_exit(1).expect_requests(0);
}

#[test]
fn a_reply_that_breaks_off() {
    let agent = Agent::new().model(script![say("I will read the file now").cut()]);
    let (run, report) = doctor_json(agent);
    expect_grade(&report, "call", "fail");
    let text = finding(&report, "call")["text"].as_str().expect("a text");
    assert!(text.contains("broke off"), "{text}");
    // It is shown, not tried again and again.
    run.expect_exit(1).expect_requests(1);
}

#[test]
fn a_server_that_says_nothing() {
    let port = stubborn(|_| None);
    let (code, out, _, took) = bare(&["doctor"], &ollama_at(port), &[]);
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("fail  server    no answer at"), "{out}");
    assert!(took < Duration::from_secs(30), "{took:?}");
}

#[test]
fn a_server_that_hangs_while_it_answers() {
    let agent = Agent::new()
        .model(script![say("late").after(Duration::from_secs(40))])
        .args(["-c", "model_providers.mock.stream_idle_timeout_ms=1500"]);
    let (run, report) = doctor_json(agent);
    expect_grade(&report, "call", "fail");
    assert!(run.took < Duration::from_secs(20), "{:?}", run.took);
    run.expect_exit(1);
}

#[test]
fn a_model_that_does_not_do_it() {
    let (run, report) = doctor_json(Agent::new().model(script![say("I cannot \x1b[2J read.")]));
    expect_grade(&report, "call", "fail");
    assert!(
        finding(&report, "call")["text"]
            .as_str()
            .is_some_and(|t| t.contains("made no call"))
    );
    run.expect_exit(1);
    let run = doctor(Agent::new().model(script![say("I cannot \x1b[2J read.")]));
    assert!(!run.stdout.contains('\x1b'), "{:?}", run.stdout);
    // A right call and a wrong answer.
    let wrong = script![read("word.txt"), say("The word is w000000x.")];
    let (_, report) = doctor_json(Agent::new().model(wrong));
    expect_grade(&report, "call", "fail");
}

#[test]
fn calls_as_text_and_thinking_are_named() {
    let steps =
        script![
        say("```json\n{\"name\": \"read_file\", \"arguments\": {\"file_path\": \"word.txt\"}}\n```")
            .with_reasoning("I should read it."),
        answer(word)
    ];
    let agent = Agent::new().harness("qwen-code").model(steps);
    let (run, report) = doctor_json(agent);
    expect_grade(&report, "call", "warn");
    let form = &finding(&report, "call")["facts"]["form"];
    assert!(
        form.as_str().is_some_and(|f| f.starts_with("as text (")),
        "{form}"
    );
    assert_eq!(finding(&report, "thinking")["facts"]["format"], "field");
    run.expect_exit(0);
}

#[test]
fn the_address_of_ollama_in_all_four_ways() {
    // O27: where it is, is shown and used.
    for way in ["host", "url", "entry with /v1", "entry"] {
        let server = Server::start(Kind::Ollama, 32_768, able());
        let port = server.port();
        let entry = |path: &str| {
            format!("[model_providers.ollama]\nbase_url = \"http://127.0.0.1:{port}{path}\"\n")
        };
        let (config, host) = match way {
            "host" => (String::new(), format!("127.0.0.1:{port}")),
            "url" => (String::new(), format!("http://127.0.0.1:{port}/")),
            // The entry wins over the variable.
            "entry" => (entry(""), "127.0.0.1:9".into()),
            _ => (entry("/v1"), "127.0.0.1:9".into()),
        };
        let config = format!("model = \"mock\"\nmodel_provider = \"ollama\"\n{config}");
        let (code, out, err, _) = bare(&["doctor"], &config, &[("OLLAMA_HOST", &host)]);
        assert_eq!(code, 0, "{way}:\n{out}{err}");
        let shown = format!("Ollama 0.33.0 at http://127.0.0.1:{port}\n");
        assert!(out.contains(&shown), "{way}:\n{out}");
        assert_eq!(server.requests().len(), 2, "{way}");
        assert_eq!(server.requests()[0].path, "/api/chat");
    }
}

#[test]
fn the_tier_is_named_and_small() {
    // O32: in bytes, a quarter of the window is as much as its number of tokens.
    for harness in harnesses() {
        for (window, size) in [(8_192, "tiny"), (16_384, "compact"), (32_768, "full")] {
            let agent = || Agent::new().harness(harness).window(window);
            let (_, report) = doctor_json(agent().model(script![say("done")]));
            let facts = &finding(&report, "harness")["facts"];
            assert_eq!(facts["size"], size, "{harness} at {window}");
            let run = agent().model(script![finish(harness, "done")]).run("hi");
            let bytes = run.server.requests()[0].bytes;
            assert!(bytes <= window as usize, "{harness} at {window}: {bytes}");
            run.expect_exit(0).expect_stdout("done\n");
        }
    }
}

#[test]
fn a_prompt_is_small_on_the_wires_of_hosted_models_too() {
    on_hosted_wires(&[("O32", the_tier_is_named_and_small)]);
}

#[test]
fn a_config_with_mistakes() {
    let (run, report) = doctor_json(Agent::new().config("modle = \"x\"\n").model(able()));
    expect_grade(&report, "config", "warn");
    run.expect_exit(0);
    let (code, out, ..) = bare(&["doctor", "--json"], "this is = = not toml\n", &[]);
    let report: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((code, &report["ok"]), (1, &Value::Bool(false)));
    assert_eq!(finding(&report, "config")["grade"], "fail");
}

#[test]
fn the_models_of_a_server() {
    let list = |args: &[&str]| {
        let agent = Agent::new()
            .wire("ollama")
            .server_kind(Kind::OllamaWithSeveral)
            .model(script![say("no")]);
        let words: Vec<&str> = std::iter::once("models")
            .chain(args.iter().copied())
            .collect();
        agent.start(&words, None).finish().expect_exit(0)
    };
    let listed: Value = serde_json::from_str(&list(&["--json"]).stdout).expect("JSON");
    let models = listed["models"].as_array().expect("a list");
    let names: Vec<_> = models.iter().filter_map(|m| m["model"].as_str()).collect();
    assert_eq!(
        names,
        [
            "coder:7b",
            "huge:1t",
            "plain:1b",
            "far:480b-cloud",
            "embed:1b"
        ]
    );
    let of = |name: &str| models.iter().find(|m| m["model"] == name).expect("a row");
    let coder = of("coder:7b");
    assert_eq!(coder["window"], 32_768);
    assert_eq!(coder["quantization"], "Q4_K_M");
    assert_eq!(
        (&coder["loaded"], &coder["fits"]),
        (&true.into(), &true.into())
    );
    assert_eq!(of("far:480b-cloud")["cloud"], true);
    assert_eq!(of("plain:1b")["tools"], false);
    if cfg!(target_os = "linux") {
        assert_eq!(of("huge:1t")["fits"], false);
    }
    let text = list(&[]).stdout;
    let cloud = text.lines().find(|l| l.starts_with("far:480b-cloud"));
    assert!(cloud.is_some_and(|l| l.contains("remote")), "{text}");
    assert!(!text.contains("embed:1b"), "{text}");
}

#[test]
fn a_server_that_fails_does_not_hide_the_others() {
    let good = Server::start(Kind::LlamaServer, 8_192, vec![]);
    // It says that it is an Ollama, and has no list.
    let bad = stubborn(|path| {
        Some(match path {
            "/api/version" => ("200 OK", r#"{"version":"0.1.0"}"#),
            _ => ("500 Broken", r#"{"error":"no disk"}"#),
        })
    });
    let dead = 9;
    let config: String = [
        ("ollama", bad),
        ("lmstudio", dead),
        ("llamacpp", good.port()),
        ("vllm", dead),
    ]
    .iter()
    .map(|(id, port)| {
        format!("[model_providers.{id}]\nbase_url = \"http://127.0.0.1:{port}/v1\"\n")
    })
    .collect();
    let (code, out, err, _) = bare(&["models", "--json"], &config, &[]);
    assert_eq!(code, 0, "{out}{err}");
    let listed: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(listed["models"][0]["provider"], "llamacpp", "{listed:#}");
    assert_eq!(listed["models"][0]["loaded_window"], 8_192);
    assert_eq!(listed["failures"][0]["provider"], "ollama", "{listed:#}");
    assert!(err.contains("no disk"), "{err}");
}

#[test]
fn the_only_model_is_chosen_and_named_and_several_are_listed() {
    // O29: no model in the config.
    let server = Server::start(Kind::Ollama, 32_768, script![say("done")]);
    let config = |port: u16| {
        format!(
            "model_provider = \"ollama\"\n[model_providers.ollama]\nbase_url = \"http://127.0.0.1:{port}\"\n"
        )
    };
    let exec = ["exec", "--skip-git-repo-check", "hi"];
    let (code, out, err, _) = bare(&exec, &config(server.port()), &[]);
    assert_eq!((code, out.as_str()), (0, "done\n"), "{err}");
    assert!(
        err.contains("model: mock (the one that Ollama has"),
        "{err}"
    );
    let several = Server::start(Kind::OllamaWithSeveral, 32_768, able());
    let (_, out, ..) = bare(&["doctor"], &config(several.port()), &[]);
    // The loaded one; the remote one would not be taken.
    assert!(out.contains("ok    model     coder:7b"), "{out}");
}

#[test]
fn the_numbers_of_a_run_agree_with_the_server() {
    // O31, and the same in the session file.
    for (harness, wire) in harnesses().flat_map(|h| support::WIRES.map(|w| (h, w))) {
        let label = format!("{harness} on {wire}");
        let steps = script![
            run("true")
                .usage(4_000, 0, 30)
                .after(Duration::from_millis(120)),
            finish(harness, "done").usage(4_200, 3_900, 40)
        ];
        let run = Agent::new()
            .harness(harness)
            .wire(wire)
            .model(steps)
            .args(["--json"])
            .run("hi")
            .expect_exit(0);
        let lines: Vec<Value> = run
            .stdout
            .lines()
            .map(|l| serde_json::from_str(l).expect("JSON"))
            .collect();
        let metrics: Vec<&Value> = lines
            .iter()
            .map(|l| &l["item"]["metrics"])
            .filter(|m| m.is_object())
            .collect();
        let [first, second] = metrics.as_slice() else {
            panic!("{label}: {}", run.stdout)
        };
        assert_eq!(
            (&first["prompt_tokens"], &first["output_tokens"]),
            (&4_000.into(), &30.into())
        );
        assert_eq!(second["prompt_tokens"], 4_200);
        assert_eq!(second["output_tokens"], 40);
        assert_eq!(second["context_window"], 32_768);
        assert_eq!(second["context_percent"], 4_240 * 100 / 32_768);
        let waited = first["seconds_to_first_token"].as_f64().expect("a time");
        assert!((0.12..5.0).contains(&waited), "{label}: {waited}");
        assert!(
            second["output_tokens_per_second"]
                .as_f64()
                .is_some_and(|r| r > 0.0)
        );
        let last = lines.last().expect("a line");
        assert_eq!(&last["metrics"], *second);
        let kept = std::fs::read_to_string(run.session_file()).expect("a session");
        let counts: Vec<Value> = kept
            .lines()
            .filter_map(|l| serde_json::from_str::<Value>(l).ok())
            .filter(|l| l["payload"]["type"] == "token_count")
            .map(|l| l["payload"]["info"]["metrics"].clone())
            .collect();
        assert_eq!(counts.len(), 2);
        assert_eq!(&counts[1], *second, "{label}");
    }
}

#[test]
fn a_pipe_gets_the_numbers_and_no_status_line() {
    let progress = |processed: u32| {
        format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"role\":\"assistant\"}}}}],\"prompt_progress\":{{\"total\":4000,\"cache\":0,\"processed\":{processed},\"time_ms\":10}}}}\n\n"
        )
    };
    let mut stream: Vec<String> = (1..=40).map(|n| progress(n * 100)).collect();
    stream.push("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"done\"},\"finish_reason\":\"stop\"}]}\n\n".into());
    stream.push("data: {\"choices\":[],\"usage\":{\"prompt_tokens\":4000,\"completion_tokens\":10}}\n\ndata: [DONE]\n\n".into());
    let parts: Vec<&str> = stream.iter().map(String::as_str).collect();
    let run = Agent::new().model(script![raw(&parts)]).run("hi");
    let run = run.expect_exit(0).expect_stdout("done\n");
    assert!(!run.stderr.contains(['\r', '\x1b']), "{:?}", run.stderr);
    // Quick progress is not worth a line.
    assert!(!run.stderr.contains("reading the prompt"), "{}", run.stderr);
    assert!(
        run.stderr.contains("window 4,010 of 32,768 (12 %)"),
        "{}",
        run.stderr
    );
}
