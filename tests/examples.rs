//! What the README and `examples/` tell people to paste works as pasted.

mod support;

use open_interpreter::cli::args::{self, Command};
use open_interpreter::config::{self, Config, Overrides};
use open_interpreter::model::WireApi;
use open_interpreter::model::catalog::Catalog;
use open_interpreter::model::provider;
use open_interpreter::sandbox::{Approval, Mode};
use std::fs;
use std::path::Path;
use support::Agent;
use support::script::*;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The config of a home that holds this text; a warning is a failure.
fn load(name: &str, text: &str, profile: Option<&str>) -> Config {
    let home = tempfile::tempdir().expect("a temporary folder");
    fs::write(home.path().join("config.toml"), text).expect("a config");
    let overrides = Overrides {
        profile: profile.map(str::to_owned),
        ..Overrides::default()
    };
    let config = config::load(home.path(), home.path(), &overrides)
        .unwrap_or_else(|e| panic!("{name}: {e}"));
    assert_eq!(config.warnings, [""; 0], "{name}");
    config
}

/// The provider that a config names resolves when its key is set.
fn resolve(name: &str, config: &Config) -> provider::Provider {
    let id = config
        .model_provider
        .value
        .as_deref()
        .unwrap_or_else(|| panic!("{name} names no provider"));
    let key = |variable: &str| variable.ends_with("_API_KEY").then(|| "a-key".to_owned());
    provider::resolve(id, config, &key, false).unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn example(name: &str) -> String {
    fs::read_to_string(Path::new(ROOT).join("examples/configs").join(name))
        .unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// The servers of the example are read as they are meant.
#[test]
fn the_mcp_servers_load() {
    let path = Path::new(ROOT).join("examples/mcp/config.toml");
    let config = load("mcp", &fs::read_to_string(path).expect("it"), None);
    let enabled = config.mcp_servers.iter().filter(|(_, s)| s.is_enabled());
    let names: Vec<&String> = enabled.map(|(name, _)| name).collect();
    assert_eq!(names, ["everything"]);
    let tickets = &config.mcp_servers["tickets"];
    assert_eq!(tickets.approval_of("comment"), Some("approve"));
    assert_eq!(tickets.approval_of("search"), None);
    assert!(tickets.offers("read") && !tickets.offers("delete"));
}

#[test]
fn every_example_loads_without_a_warning_and_its_provider_resolves() {
    let mut seen = Vec::new();
    for entry in fs::read_dir(Path::new(ROOT).join("examples/configs")).expect("the folder") {
        let name = entry
            .expect("an entry")
            .file_name()
            .into_string()
            .expect("a name");
        let text = example(&name);
        resolve(&name, &load(&name, &text, None));
        let table: toml::Table = text.parse().expect("TOML");
        for profile in table
            .get("profiles")
            .and_then(|p| p.as_table())
            .into_iter()
            .flat_map(|p| p.keys())
        {
            resolve(&name, &load(&name, &text, Some(profile)));
        }
        seen.push(name);
    }
    seen.sort();
    let known = [
        "anthropic",
        "custom-provider",
        "llamacpp",
        "lmstudio",
        "ollama",
        "openai",
        "profiles",
        "strict",
        "vllm",
    ];
    assert_eq!(seen, known.map(|n| format!("{n}.toml")));
}

/// The pages of `examples/providers`: each has one config, which works as pasted, names a model that
/// the tables know where the provider is a hosted one, and says where one's code goes.
#[test]
fn every_guide_has_a_config_that_works_as_pasted() {
    let folder = Path::new(ROOT).join("examples/providers");
    let mut seen = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder") {
        let entry = entry.expect("an entry");
        let name = entry.file_name().into_string().expect("a name");
        let text = fs::read_to_string(entry.path()).expect("a page");
        assert!(text.contains("**Where your code goes:** "), "{name}");
        let blocks: Vec<&str> = text.split("```toml\n").skip(1).collect();
        let [block] = blocks[..] else {
            panic!("{name} has {} configs", blocks.len());
        };
        let block = block.split("```").next().expect("an end");
        let config = load(&name, block, None);
        let provider = resolve(&name, &config);
        if !provider.is_local() {
            let model = config.model.value.as_deref().unwrap_or_default();
            let listed = Catalog::of(None).model(&provider.id, model);
            assert!(listed.is_some(), "{name}: {model}");
            assert!(
                text.contains(&format!("interpreter login {}", provider.id)),
                "{name}"
            );
        }
        seen.push(name);
    }
    seen.sort();
    let known = [
        "anthropic",
        "deepseek",
        "glm",
        "kimi",
        "llama-cpp",
        "lm-studio",
        "ollama",
        "openai",
        "openrouter",
        "vllm",
    ];
    assert_eq!(seen, known.map(|n| format!("{n}.md")));
}

#[test]
fn an_example_means_what_it_says() {
    let of = |name: &str, profile: Option<&str>| load(name, &example(name), profile);

    let team = of("custom-provider.toml", None);
    let provider = resolve("custom-provider.toml", &team);
    assert_eq!(
        (provider.base_url.as_str(), provider.wire),
        ("https://models.example.com/v1", WireApi::Chat)
    );
    for (header, value) in [("authorization", "Bearer a-key"), ("x-team", "search")] {
        assert!(
            provider
                .headers
                .iter()
                .any(|(n, v)| n.eq_ignore_ascii_case(header) && v == value),
            "{header}"
        );
    }
    assert_eq!(provider.extra_body["cache_prompt"], true);

    let strict = of("strict.toml", None);
    assert_eq!(
        (*strict.sandbox_mode, *strict.approval_policy),
        (Mode::ReadOnly, Approval::Untrusted)
    );
    assert!(!*strict.history);

    let review = of("profiles.toml", Some("review"));
    assert_eq!(
        (*review.sandbox_mode, *review.approval_policy),
        (Mode::ReadOnly, Approval::Never)
    );
    assert_eq!(
        of("profiles.toml", None).model.value.as_deref(),
        Some("qwen3-coder:30b")
    );

    assert_eq!(
        resolve("anthropic.toml", &of("anthropic.toml", None)).wire,
        WireApi::Messages
    );
    assert_eq!(
        resolve("openai.toml", &of("openai.toml", None)).wire,
        WireApi::Responses
    );
    assert_eq!(
        resolve("ollama.toml", &of("ollama.toml", None)).wire,
        WireApi::Ollama
    );
}

/// The arguments of an editor's entry start the agent as it can be started.
fn serves(name: &str, entry: &serde_json::Value) {
    assert_eq!(entry["command"], "interpreter", "{name}");
    let words = entry["args"].as_array().expect("arguments").iter();
    let words: Vec<&str> = words.filter_map(|w| w.as_str()).collect();
    let parsed = args::parse(words).unwrap_or_else(|e| panic!("{name}: {e}"));
    assert_eq!(parsed.command, Command::Acp, "{name}");
}

#[test]
fn the_editors_start_the_agent_as_it_can_be_started() {
    let text = |name: &str| {
        let path = Path::new(ROOT).join("examples/editors").join(name);
        fs::read_to_string(path).unwrap_or_else(|e| panic!("{name}: {e}"))
    };
    for (name, place) in [
        ("zed.json", "agent_servers"),
        ("jetbrains.json", "agent_servers"),
        ("vscode.json", "acp.agents"),
    ] {
        let value: serde_json::Value = serde_json::from_str(&text(name)).expect("JSON");
        serves(name, &value[place]["Interpreter"]);
    }
    let lua = text("neovim.lua");
    let words = lua.split_once("default = {").expect("a command").1;
    let words = words.split_once('}').expect("its end").0.replace(' ', "");
    let list: serde_json::Value = serde_json::from_str(&format!("[{words}]")).expect("words");
    let rest = list.as_array().map(|l| l[1..].to_vec());
    serves(
        "neovim.lua",
        &serde_json::json!({"command": list[0], "args": rest}),
    );
}

#[test]
fn the_review_job_calls_what_there_is() {
    let path = Path::new(ROOT).join("examples/github/review.yml");
    let text = fs::read_to_string(path).expect("the job");
    let call = text.split_once("interpreter exec").expect("a call").1;
    let call = call.split_once("- name:").expect("the next step").0;
    let words = call.split_whitespace().map(|w| w.trim_matches(['"', '\'']));
    let line = ["exec"].into_iter().chain(words);
    let parsed = args::parse(line).unwrap_or_else(|e| panic!("{e}"));
    assert!(matches!(parsed.command, Command::Review { exec: true, .. }));
    assert_eq!(
        parsed.options.output_last_message.as_deref(),
        Some(Path::new("review.md"))
    );
    assert!(parsed.options.ephemeral);
    for line in text.lines() {
        assert!(!line.contains('\t'), "YAML takes no tabs: {line}");
    }
}

/// The step that reviews, as GitHub's shell runs it, with the hosted provider that it names.
#[cfg(unix)]
#[test]
fn the_review_job_reviews_a_branch() {
    let path = Path::new(ROOT).join("examples/github/review.yml");
    let text = fs::read_to_string(path).expect("the job");
    let (_, step) = text.split_once("        run: >\n").expect("a folded text");
    let line: Vec<&str> = step
        .lines()
        .take_while(|l| l.starts_with("          "))
        .map(str::trim)
        .collect();
    // The words that the shell makes of it, each on a line.
    let program = format!(
        "interpreter() {{ printf '%s\\n' \"$@\"; }}\n{}",
        line.join(" ")
    );
    let shell = |dir: &Path, program: &str| {
        let mut command = std::process::Command::new("bash");
        command
            .args(["-e", "-c", program])
            .current_dir(dir)
            .env("BASE", "main");
        let out = command.output().expect("bash");
        assert!(out.status.success(), "{program}: {out:?}");
        String::from_utf8_lossy(&out.stdout).into_owned()
    };
    let findings = serde_json::json!({"findings": [], "overall_correctness": "patch is correct",
        "overall_explanation": "All is well.", "overall_confidence_score": 0.9});
    let agent = Agent::new()
        .wire_only("responses")
        .model(script![run("git diff main"), say(&findings.to_string())]);
    let (agent, port) = agent.env("OPENAI_API_KEY", "a-key").listening();
    let agent = agent
        .config(&format!(
            "openai_base_url = \"http://127.0.0.1:{port}/v1\"\n"
        ))
        .file("a.txt", "one\n");
    let folder = agent.workspace();
    let git = "git -c user.name=t -c user.email=t@t -c commit.gpgsign=false";
    shell(
        &folder,
        &format!(
            "git init -q -b main; git add .; {git} commit -qm first; git checkout -qb work; echo two >> a.txt; {git} commit -qam second"
        ),
    );
    let words = shell(&folder, &program);
    let words: Vec<&str> = words.lines().collect();
    let run = agent.start(&words, None).finish().expect_exit(0);
    run.expect_file("review.md", "All is well.")
        .expect_request(1, |body| body["model"] == "gpt-5")
        .expect_request(2, |body| support::strict::all_text(body).contains("+two"));
}

/// The table that other programs are given to start the agent as an MCP server.
#[test]
fn the_agent_as_an_mcp_server_starts_as_pasted() {
    let path = Path::new(ROOT).join("examples/mcp/README.md");
    let text = fs::read_to_string(path).expect("the page");
    let block = text
        .split("```json\n")
        .nth(1)
        .and_then(|b| b.split("```").next());
    let value: serde_json::Value = serde_json::from_str(block.expect("a block")).expect("JSON");
    let entry = &value["mcpServers"]["interpreter"];
    assert_eq!(entry["command"], "interpreter");
    let words = entry["args"].as_array().expect("arguments").iter();
    let parsed = args::parse(words.filter_map(|w| w.as_str())).expect("a line");
    assert!(
        matches!(parsed.command, Command::McpServer),
        "{:?}",
        parsed.command
    );
}

/// Every ```toml block of the README is a whole config file.
#[test]
fn the_configs_in_the_readme_load() {
    let readme = fs::read_to_string(Path::new(ROOT).join("README.md")).expect("the README");
    let blocks: Vec<_> = readme
        .split("```toml\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    assert!(!blocks.is_empty());
    for block in blocks {
        resolve("README.md", &load("README.md", block, None));
    }
}

/// An agent whose home holds everything of a folder of the examples, below that name.
#[cfg(unix)]
fn with_example(mut agent: Agent, folder: &str, at: &str) -> Agent {
    let mut todo = vec![(Path::new(ROOT).join("examples").join(folder), at.to_owned())];
    while let Some((folder, at)) = todo.pop() {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            let name = format!("{at}/{}", entry.file_name().to_string_lossy());
            match entry.path().is_dir() {
                true => todo.push((entry.path(), name)),
                false => agent = agent.file(&name, fs::read(entry.path()).expect("a file")),
            }
        }
    }
    agent
}

#[cfg(unix)]
#[test]
fn the_hooks_block_a_forced_push_and_run_the_tests_first() {
    let hooks = fs::read(Path::new(ROOT).join("examples/hooks/hooks.json")).expect("the hooks");
    let agent = with_example(Agent::new().harness("native"), "hooks", "../home/hooks")
        .file("../home/hooks.json", hooks)
        .file(
            "test.sh",
            "#!/bin/sh\ntest -e mended || { echo not-mended-yet; exit 1; }\n",
        );
    fs::set_permissions(
        agent.workspace().join("test.sh"),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .expect("permissions");
    let run = agent
        .args(["--trust-hooks"])
        .model(script![
            run("git push --force origin main"),
            say("done"),
            run("touch mended"),
            say("mended"),
            say("mended")
        ])
        .run("go")
        .expect_exit(0)
        .expect_file("mended", "");
    let told = run.request_text(2);
    assert!(told.contains("pushing by force is not allowed"), "{told}");
    let all: String = (1..=run.server.requests().len())
        .map(|n| run.request_text(n))
        .collect();
    assert!(all.contains("./test.sh fails:\nnot-mended-yet"), "{all}");
}

#[cfg(unix)]
#[test]
fn the_skill_is_found_and_its_script_runs() {
    let agent = with_example(
        Agent::new().harness("claude-code"),
        "skills",
        "../home/skills",
    );
    let script = agent
        .workspace()
        .with_file_name("home")
        .join("skills/changelog/scripts/changes.sh");
    let run = agent
        .model(script![
            call("Skill", serde_json::json!({"skill": "changelog"})),
            run(&format!(
                "git init -q . 2>/dev/null; sh {}; echo ran-it",
                script.display()
            )),
            say("done"),
            say("done")
        ])
        .run("what is new?")
        .expect_exit(0);
    assert!(
        run.request_text(1)
            .contains("Write the changes since the last tag")
    );
    assert!(run.request_text(2).contains("Launching skill: changelog"));
    assert!(run.request_text(3).contains("ran-it"));
}
