//! One conversation that goes from provider to provider, and from wire to wire.

use crate::program;
use crate::support::script::*;
use crate::support::server::{Kind, Server};
use crate::support::strict::{self, Api};
#[cfg(unix)]
use crate::support::terminal::Terminal;
use crate::support::{self, Agent, Run};
use std::fs;

#[test]
fn a_server_without_the_asked_wire_is_spoken_to_over_chat_and_remembered() {
    for wire in ["responses", "messages"] {
        let run = Agent::new()
            .wire_only(wire)
            .server_kind(Kind::ChatOnly)
            .model(vec![say("Hello."), say("Again.")])
            .run("hi")
            .expect_exit(0)
            .expect_stderr(&format!("mock has no {wire} API"));
        assert_eq!(run.stdout.trim(), "Hello.");
        assert_eq!(
            run.server
                .requests()
                .last()
                .map(|r| r.path.clone())
                .as_deref(),
            Some("/v1/chat/completions")
        );
        let asked = |run: &Run| {
            run.server
                .paths()
                .iter()
                .filter(|p| p.ends_with(wire))
                .count()
        };
        let before = asked(&run);
        let again = run
            .again(&["exec", "--skip-git-repo-check"], Some("hi again"))
            .expect_exit(0);
        assert_eq!(asked(&again), before, "the second session knows it");
    }
}

/// One stop of a session: a provider, its model, and the server that plays it.
struct Stop {
    id: &'static str,
    model: &'static str,
    host: &'static str,
    server: Server,
}

impl Stop {
    fn new(id: &'static str, model: &'static str, host: &'static str, kind: Kind) -> Self {
        let steps = vec![
            run(&format!("echo from-{id}"))
                .with_reasoning(&format!("{id} thinks"))
                .with_text(&format!("{id} looks.")),
            write(&format!("{id}.txt"), "x\n").with_reasoning(&format!("{id} thinks again")),
            say(&format!("{id} is done.")),
            say("All is done."),
        ];
        Stop {
            id,
            model,
            host,
            server: Server::start(kind, 100_000, steps),
        }
    }
}

/// Ollama, OpenAI, Anthropic, DeepSeek and Ollama again, in one session: four wires, each with the
/// rules of its maker. The servers refuse what would be refused there.
#[cfg(unix)]
fn goes_round(harness: &str) {
    let stops = [
        Stop::new("near", "mock", "127.0.0.1", Kind::Ollama),
        Stop::new("openai", "gpt-5", "api.openai.com", Kind::Plain),
        Stop::new(
            "anthropic",
            "claude-sonnet-4-5",
            "api.anthropic.com",
            Kind::Plain,
        ),
        Stop::new("deepseek", "deepseek-chat", "api.deepseek.com", Kind::Plain),
    ];
    let ports = stops.each_ref().map(|s| (s.host, s.server.port()));
    let port_of = move |name: &str| ports.iter().find(|(h, _)| *h == name).map(|(_, p)| *p);
    let (proxy, _) = support::proxy::connect_by(port_of, None);
    let mut config = "approval_policy = \"never\"\nharness_guidance = false\n".to_owned();
    for (at, stop) in stops.iter().enumerate() {
        let (address, wire) = match at {
            0 => (
                format!("127.0.0.1:{}", stop.server.port()),
                "wire_api = \"ollama\"\n",
            ),
            _ => (format!("{}/v1", stop.host), ""),
        };
        config.push_str(&format!(
            "[model_providers.{}]\nbase_url = \"http://{address}\"\nexperimental_bearer_token = \"k\"\n{wire}",
            stop.id
        ));
    }
    stops[1].server.set_hosted();
    stops[2].server.set_hosted();
    stops[3].server.set_hosted_as(Api::DeepSeek);
    let unused = Server::start(Kind::LlamaServer, 100_000, vec![say("unused")]);
    let mut t = Terminal::behind(proxy, unused, &config, None);
    t.wait_for_prompt();
    t.says(&format!("/harness {harness}"));
    let mut told: Vec<String> = Vec::new();
    for (at, stop) in stops.iter().chain([&stops[0]]).enumerate() {
        let (first, last) = if at < stops.len() { (0, 2) } else { (3, 3) };
        let shown = t.says(&format!("/model {} {}", stop.id, stop.model));
        if at > 0 {
            // What the one before thought is dropped, and that is said.
            let lost = "2 replies lose their thoughts";
            assert!(shown.contains(lost), "{harness}, {}: {shown}", stop.id);
        }
        let shown = t.says(&format!("word {at}"));
        let done = if at < stops.len() {
            format!("{} is done.", stop.id)
        } else {
            "All is done.".into()
        };
        assert!(shown.contains(&done), "{harness}, {}: {shown}", stop.id);
        let requests = stop.server.requests();
        assert_eq!(requests.len(), last + 1, "{harness}, {}", stop.id);
        let wanted = [
            "/api/chat",
            "/v1/responses",
            "/v1/messages",
            "/v1/chat/completions",
        ];
        let wanted = wanted[at % wanted.len()];
        for request in &requests[first..] {
            assert_eq!(request.path, wanted);
            // All that was said and done before, in the same order.
            let now = strict::conversation(&request.path, &request.body);
            let same = told.iter().zip(&now).take_while(|(a, b)| a == b).count();
            assert_eq!(
                same,
                told.len(),
                "{harness}, {}: {:#?}\n{:#?}",
                stop.id,
                &told[same..],
                &now[same..]
            );
            told = now;
            // No thoughts but one's own.
            let text = request.body.to_string();
            for other in stops.iter().filter(|other| other.id != stop.id) {
                let thought = format!("{} thinks", other.id);
                assert!(
                    !text.contains(&thought),
                    "{harness}, {}: {thought}",
                    stop.id
                );
            }
        }
        told.push(format!("model: {done}"));
        // One's own come back as they were made.
        let text = requests[last].body.to_string();
        let own = format!("{} thinks again", stop.id);
        let sealed = match stop.id {
            "openai" => "\"encrypted_content\":\"sealed\"",
            "anthropic" => "\"signature\":\"sig\"",
            "deepseek" => "\"reasoning_content\":\"deepseek thinks again\"",
            _ => "",
        };
        if at < stops.len() {
            assert!(
                text.contains(&own) && text.contains(sealed),
                "{harness}, {}: {text}",
                stop.id
            );
        }
    }
    for stop in &stops {
        assert!(t.home.path().join(format!("ws/{}.txt", stop.id)).exists());
        assert!(
            told.iter().any(
                |part| part.contains(&format!("from-{}", stop.id)) && part.starts_with("gets ")
            )
        );
    }
    // Two calls of each, with their results.
    let count = |of: &str| told.iter().filter(|part| part.starts_with(of)).count();
    assert_eq!((count("calls "), count("gets ")), (8, 8), "{told:#?}");
}

#[cfg(unix)]
#[test]
fn one_session_goes_round_four_providers() {
    for harness in ["native", "claude-code", "qwen-code"] {
        goes_round(harness);
    }
}

/// Another vendor's thoughts are dropped, and that is said; all else goes over.
#[test]
fn thoughts_of_a_hosted_model_stay_with_it() {
    let server = Server::start(
        Kind::Plain,
        100_000,
        vec![
            run("echo from-the-first").with_reasoning("a private thought"),
            say("It is done."),
            say("And again."),
        ],
    );
    server.set_hosted();
    let (proxy, _) = support::proxy::connect(server.port(), None);
    let home = tempfile::tempdir().expect("a home");
    let work = tempfile::tempdir().expect("a folder");
    let mut config = "model = \"mock\"\nmodel_context_window = 100000\nmodel_provider = \"one\"\nharness = \"qwen-code\"\napproval_policy = \"never\"\n".to_owned();
    for (name, wire) in [("one", "messages"), ("two", "chat")] {
        config.push_str(&format!("[model_providers.{name}]\nbase_url = \"http://{name}.example/v1\"\nwire_api = \"{wire}\"\n"));
    }
    fs::write(home.path().join("config.toml"), config).expect("a config");
    let address = format!("http://127.0.0.1:{proxy}");
    let folder = work.path().display().to_string();
    let at = |args: &[&str]| {
        let args: Vec<&str> = ["exec", "--skip-git-repo-check", "-C", &folder]
            .iter()
            .chain(args)
            .copied()
            .collect();
        program(home.path(), &args, &[("HTTP_PROXY", &address)], None)
    };
    let (code, out, err) = at(&["say from-the-first"]);
    assert_eq!((code, out.trim()), (0, "It is done."), "{err}");
    // The same provider gets its signed thought back.
    let second = server.requests()[1].body.to_string();
    assert!(
        second.contains("a private thought") && second.contains("\"sig\""),
        "{second}"
    );
    let (code, out, err) = at(&["resume", "--last", "-c", "model_provider=two", "once more"]);
    assert_eq!((code, out.trim()), (0, "And again."), "{err}");
    assert!(err.contains("1 reply loses its thoughts"), "{err}");
    let third = server.requests()[2].body.to_string();
    assert!(
        third.contains("from-the-first") && third.contains("It is done."),
        "{third}"
    );
    assert!(!third.contains("a private thought"), "{third}");
}
