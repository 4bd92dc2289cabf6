//! What the README and `examples/` tell people to paste works as pasted.

use open_interpreter::config::{self, Config, Overrides};
use open_interpreter::model::WireApi;
use open_interpreter::model::provider;
use open_interpreter::sandbox::{Approval, Mode};
use std::fs;
use std::path::Path;

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
