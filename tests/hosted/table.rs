//! The table of hosted providers and their models.

use crate::program;
use serde_json::Value;
use std::fs;

#[test]
fn the_table_is_shown_without_a_key_and_without_the_network() {
    let home = tempfile::tempdir().expect("a home");
    let (code, out, err) = program(home.path(), &["models", "--providers"], &[], None);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.lines().count() > 90, "{out}");
    let groq = out.lines().find(|l| l.starts_with("groq ")).expect("groq");
    assert!(
        groq.contains("GROQ_API_KEY") && !groq.contains("has a key"),
        "{groq}"
    );
    let (_, out, _) = program(
        home.path(),
        &["models", "--providers"],
        &[("GROQ_API_KEY", "k")],
        None,
    );
    let groq = out.lines().find(|l| l.starts_with("groq ")).expect("groq");
    assert!(groq.contains("has a key"), "{groq}");

    let (code, out, err) = program(
        home.path(),
        &["models", "--provider", "anthropic", "--json"],
        &[],
        None,
    );
    assert_eq!(code, 0, "{err}");
    let list: Value = serde_json::from_str(&out).expect("JSON");
    let models = list["models"].as_array().expect("a list");
    let sonnet = models
        .iter()
        .find(|m| m["model"] == "claude-sonnet-4-5")
        .expect("the model");
    assert_eq!(
        (&sonnet["max_output"], &sonnet["harness"]),
        (&64_000.into(), &"claude-code".into())
    );
    assert_eq!(sonnet["prices"]["input"], 3.0);
    for (provider, model, harness) in [
        ("moonshotai", "kimi-k2.6", "kimi-code"),
        ("zai-coding-plan", "glm-5.1", "zcode"),
        ("deepseek", "deepseek-chat", "claude-code-bare"),
        ("openai", "gpt-5", "native"),
        ("alibaba", "qwen3-coder-plus", "qwen-code"),
        ("groq", "openai/gpt-oss-120b", "native"),
    ] {
        let (_, out, err) = program(home.path(), &["models", "--provider", provider], &[], None);
        let row = out
            .lines()
            .find(|l| l.split_whitespace().next() == Some(model));
        let row = row.unwrap_or_else(|| panic!("{provider} has no {model}\n{out}{err}"));
        assert!(row.ends_with(harness), "{row}");
    }
    let (code, _, err) = program(
        home.path(),
        &["models", "--provider", "ollama-cloud", "--offline"],
        &[],
        None,
    );
    assert!(
        code == 1 && err.contains("offline") && err.contains("ollama.com"),
        "{err}"
    );
    let (code, _, err) = program(
        home.path(),
        &["models", "--provider", "anthropc"],
        &[],
        None,
    );
    assert!(
        code == 1 && err.contains("did you mean anthropic?"),
        "{err}"
    );
}

#[test]
fn a_newer_table_is_imported_from_a_file() {
    let home = tempfile::tempdir().expect("a home");
    let file = home.path().join("api.json");
    let data = serde_json::json!({"groq": {"models": {"new-model": {"id": "new-model", "name": "New", "tool_call": true,
        "limit": {"context": 64_000, "output": 8_000}, "cost": {"input": 1, "output": 2}}}}});
    fs::write(&file, data.to_string()).expect("a file");
    let path = file.display().to_string();
    let (code, out, err) = program(home.path(), &["models", "--import", &path], &[], None);
    assert!(
        code == 0 && out.contains("1 models of 1 providers"),
        "{out}{err}"
    );
    let (_, out, _) = program(home.path(), &["models", "--provider", "groq"], &[], None);
    assert!(out.contains("new-model") && out.contains("64,000"), "{out}");
    let (code, _, err) = program(
        home.path(),
        &["models", "--import", "/no/such/file"],
        &[],
        None,
    );
    assert!(code == 1 && err.contains("/no/such/file"), "{err}");
}
