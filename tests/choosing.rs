//! What a run is given: wire, model, harness and sampling, by flag, profile and config.

mod support;

use serde_json::{Value, json};
use std::fs;
use std::process::Command;
use support::script::*;
use support::server::{Kind, Server};
use support::{Agent, Run, WIRES, strict};

/// The names of the tools that a request offers.
fn offered(run: &Run, n: usize) -> Vec<String> {
    let tools = strict::tools(&run.server.requests()[n - 1].body);
    tools.into_iter().map(|(name, _)| name).collect()
}

fn paths(run: &Run) -> Vec<String> {
    let requests = run.server.requests();
    requests.into_iter().map(|r| r.path).collect()
}

#[test]
fn chat_completions_are_for_one_run() {
    for (wire, path) in WIRES.into_iter().zip([
        "/v1/chat/completions",
        "/v1/responses",
        "/v1/messages",
        "/api/chat",
    ]) {
        let run = Agent::new()
            .wire(wire)
            .harness("minimal")
            .config("harness_guidance = false\n")
            .args(["--chat-completions"])
            .model(script![run("echo x > a.txt"), say("one"), say("two")])
            .run("go")
            .expect_exit(0)
            .expect_stdout("one\n")
            .expect_file("a.txt", "x\n");
        assert_eq!(paths(&run), ["/v1/chat/completions"; 2], "{wire}");
        let run = run
            .again(&["exec", "--skip-git-repo-check"], Some("again"))
            .expect_exit(0);
        assert_eq!(paths(&run)[2], path, "the next run of {wire}");
    }
}

/// The values of Qwen3-Coder's model card go to the server that brings none with the model.
#[test]
fn the_sampling_of_a_family_is_for_servers_that_have_none() {
    let model = "qwen3-coder:30b";
    let sampling = |body: &Value| {
        let options = &body["options"];
        ["temperature", "top_p", "top_k"].map(|key| match body.get(key) {
            Some(value) => value.clone(),
            None => options.get(key).cloned().unwrap_or_default(),
        })
    };
    let none = [Value::Null, Value::Null, Value::Null];
    let card = [json!(0.7), json!(0.8), json!(20)];
    let cold = [json!(0.1), Value::Null, Value::Null];
    let own = "sampling.temperature = 0.1\n";
    for (kind, wire, config, wanted) in [
        (Kind::LlamaServer, "chat", "", &card),
        (Kind::LlamaServer, "messages", "", &card),
        (Kind::LlamaServer, "chat", own, &cold),
        (Kind::Vllm, "chat", "", &none),
        (Kind::LmStudio, "chat", "", &none),
        (Kind::Plain, "chat", "", &none),
        (Kind::Ollama, "ollama", "", &none),
        (Kind::Ollama, "ollama", own, &cold),
    ] {
        Agent::new()
            .server_kind(kind)
            .wire_only(wire)
            .config(config)
            .named(model)
            .model(script![say("done")])
            .run("go")
            .expect_exit(0)
            .expect_request(1, |body| {
                assert_eq!(&sampling(body), wanted, "{kind:?} {wire} {config}");
                body["model"] == model
            });
    }
    // Nor to a hosted one.
    Agent::new()
        .hosted()
        .named(model)
        .model(script![say("done")])
        .run("go")
        .expect_exit(0)
        .expect_request(1, |body| sampling(body) == none);
}

/// A profile says what its table and its file say; a flag says more than both, and without its name
/// nothing of it holds.
#[test]
fn a_profile_has_its_own_model_provider_harness_and_values() {
    let other = Server::start(Kind::Ollama, 65_536, script![say("from the other")]);
    let config = format!(
        "model_reasoning_effort = \"high\"\n\
         [profiles.quick]\nmodel = \"mock\"\nmodel_provider = \"other\"\nharness = \"qwen-code\"\n\
         model_reasoning_effort = \"low\"\nsampling.temperature = 0.3\n\
         [model_providers.other]\nwire_api = \"ollama\"\nbase_url = \"http://127.0.0.1:{}\"\n",
        other.port()
    );
    let run = Agent::new()
        .harness("minimal")
        .config(&config)
        .args(["-p", "quick"])
        .model(script![say("from the usual one")])
        .run("go")
        .expect_exit(0)
        .expect_stdout("from the other\n")
        .expect_requests(0);
    let asked = other.requests()[0].clone();
    assert_eq!(asked.path, "/api/chat");
    assert_eq!(asked.body["options"]["temperature"], 0.3);
    let tools = strict::tools(&asked.body);
    assert!(
        tools.iter().any(|(name, _)| name == "run_shell_command"),
        "{tools:?}"
    );
    // Without the name, the usual things hold.
    let line = ["exec", "--skip-git-repo-check"];
    let run = run
        .again(&line, Some("go"))
        .expect_exit(0)
        .expect_stdout("from the usual one\n");
    assert!(offered(&run, 1).contains(&"bash".into()));
    assert_eq!(run.server.requests()[0].body["reasoning_effort"], "high");
    // A profile in a file of its own, named by the config; and a flag against it.
    let home = run.home.path().join("home");
    fs::write(home.join("alone.config.toml"), "harness = \"kimi-code\"\n").expect("a profile");
    let file = home.join("config.toml");
    let text = fs::read_to_string(&file).expect("the config");
    fs::write(&file, format!("profile = \"alone\"\n{text}")).expect("the config");
    let run = run.again(&line, Some("go")).expect_exit(0);
    let in_profile = offered(&run, 2);
    assert!(in_profile.contains(&"Bash".into()), "{in_profile:?}");
    let flag = [&line[..], &["--harness", "qwen-code"]].concat();
    let run = run.again(&flag, Some("go")).expect_exit(0);
    assert!(offered(&run, 3).contains(&"run_shell_command".into()));
    let run = run.again(&[&line[..], &["-p", "nobody"]].concat(), Some("go"));
    run.expect_exit(1)
        .expect_stderr("there is no profile `nobody`")
        .expect_stderr("alone");
}

/// Without a word of the user the model's name says it, then the family that the server tells, then
/// the provider; the wire only where nothing else does.
#[test]
fn a_model_is_given_the_harness_of_its_family() {
    let tool = |run: Run, tools: &[&str], case: &str| {
        let offered = offered(&run.expect_exit(0), 1);
        for (name, wanted) in tools
            .iter()
            .map(|t| (t.trim_start_matches('!'), !t.starts_with('!')))
        {
            assert_eq!(
                offered.contains(&name.to_owned()),
                wanted,
                "{case}: {offered:?}"
            );
        }
    };
    let agent = || Agent::new().wire_only("chat").model(script![say("done")]);
    const QWEN: &[&str] = &["run_shell_command"];
    const BARE: &[&str] = &["Bash", "!Write", "!Glob"];
    const CLAUDE: &[&str] = &["Bash", "Glob", "TodoWrite"];
    const KIMI: &[&str] = &["Bash", "TodoList"];
    const ZCODE: &[&str] = &["Bash", "TodoRead"];
    const NATIVE: &[&str] = &["exec_command"];
    for (model, tools) in [
        ("anthropic/Claude-Sonnet-4.5", CLAUDE),
        ("Kimi-K2-Instruct", KIMI),
        ("moonshot-v1-32k", KIMI),
        ("Qwen2.5-Coder-7B-Instruct", QWEN),
        ("qwq:32b", QWEN),
        ("deepseek-v3.1", BARE),
        ("deepseek-r1-distill-qwen-14b", BARE),
        ("glm-4.6", ZCODE),
        ("gpt-5", NATIVE),
        ("gpt-oss:20b", NATIVE),
        ("devstral:24b", QWEN),
        ("mistral-small3.2", QWEN),
        ("my-own", QWEN),
    ] {
        tool(agent().named(model).run("go"), tools, model);
    }
    let tuned = || {
        Agent::new()
            .server_kind(Kind::Ollama)
            .model(script![say("done")])
    };
    tool(
        tuned().family("gptoss").wire_only("ollama").run("go"),
        NATIVE,
        "by its base",
    );
    for (name, tools) in [("Moonshot AI", KIMI), ("Zhipu", ZCODE), ("mine", QWEN)] {
        let named = format!("model_providers.mock.name=\"{name}\"");
        tool(agent().args(["-c", &named]).run("go"), tools, name);
    }
    let messages = || {
        Agent::new()
            .wire_only("messages")
            .model(script![say("done")])
    };
    tool(messages().run("go"), CLAUDE, "by its wire");
    tool(
        messages().named("qwen3:8b").run("go"),
        QWEN,
        "not by its wire",
    );
    // The config and the flag go before all that.
    tool(
        agent().named("glm-4.6").harness("kimi-code").run("go"),
        KIMI,
        "config",
    );
    let flag = agent().named("glm-4.6").harness("kimi-code");
    tool(flag.args(["--harness", "native"]).run("go"), NATIVE, "flag");
}

#[test]
fn a_model_can_have_a_harness_and_reviews_a_model() {
    let agent = || {
        Agent::new()
            .config("review_model = \"critic\"\nmodel_harness.mock = \"qwen-code\"\n")
            .model(script![say("It is fine.")])
    };
    let run = agent().run("go").expect_exit(0);
    assert!(offered(&run, 1).contains(&"run_shell_command".into()));
    assert_eq!(run.server.requests()[0].body["model"], "mock");
    for (more, model) in [(&[][..], "critic"), (&["-m", "mock"], "mock")] {
        let agent = agent();
        let made = Command::new("git")
            .args(["init", "-q"])
            .current_dir(agent.workspace())
            .status();
        assert!(made.expect("git is there").success());
        let line = [&["review", "--uncommitted"], more].concat();
        agent
            .file("new.txt", "fresh\n")
            .start(&line, None)
            .finish()
            .expect_exit(0)
            .expect_request(1, |body| body["model"] == model);
    }
}
