use super::*;
use serde_json::json;

fn builtin() -> Catalog {
    Catalog::of(None)
}

#[test]
fn the_table_is_small_and_holds_what_people_ask_for() {
    assert!(HOSTED.len() < 250_000, "{}", HOSTED.len());
    let all = builtin().providers();
    assert!(all.len() >= 90, "{}", all.len());
    for id in [
        "anthropic",
        "openai",
        "deepseek",
        "moonshotai",
        "kimi-for-coding",
        "zai",
        "zhipuai",
        "openrouter",
        "groq",
        "google",
        "mistral",
        "alibaba",
        "ollama-cloud",
        "zai-coding-plan",
        "zhipuai-coding-plan",
        "alibaba-coding-plan",
        "minimax-coding-plan",
    ] {
        assert!(all.iter().any(|p| p.id == id), "{id}");
    }
    for p in &all {
        assert!(p.base_url.starts_with("https://"), "{}", p.base_url);
        assert!(!p.env_keys.is_empty(), "{} has no key variable", p.id);
        assert!(!p.name.is_empty() && !p.help.is_empty(), "{}", p.id);
        let models = builtin().models(&p.id);
        assert!(!models.is_empty(), "{}", p.id);
        for m in models {
            let wire = m.wire.unwrap_or(p.wire);
            assert!(p.address(wire).is_some(), "{} {}", p.id, m.id);
        }
    }
}

/// Every line is one of the two kinds, so that nothing of the file is passed over in silence.
#[test]
fn every_line_is_read() {
    for line in HOSTED.lines() {
        let read = match line.starts_with('>') {
            true => provider(line).is_some(),
            false => model(line).is_some_and(|m| plain_id(&m.id)),
        };
        assert!(read, "{line}");
    }
}

fn plain_id(id: &str) -> bool {
    !id.is_empty() && !id.contains(char::is_whitespace)
}

/// From the vendors' own pages.
#[test]
fn facts_of_well_known_models() {
    let all = builtin();
    let sonnet = all.model("anthropic", "claude-sonnet-4-5").unwrap();
    assert_eq!(sonnet.output, Some(64_000));
    assert!(sonnet.thinks && sonnet.sees);
    let p = sonnet.prices;
    assert_eq!((p.input, p.output), (Some(3.0), Some(15.0)));
    assert_eq!((p.cached, p.cache_write), (Some(0.3), Some(3.75)));
    let gpt = all.model("openai", "gpt-5").unwrap();
    assert_eq!((gpt.window, gpt.output), (Some(400_000), Some(128_000)));
    assert!(gpt.fixed_sampling);
    let anthropic = all.provider("anthropic").unwrap();
    assert_eq!(anthropic.wire, WireApi::Messages);
    assert_eq!(anthropic.env_keys, ["ANTHROPIC_API_KEY"]);
    let deepseek = all.provider("deepseek").unwrap();
    let url = deepseek.address(WireApi::Messages);
    assert_eq!(url, Some("https://api.deepseek.com/anthropic"));
    // One provider, three wires.
    let zen = |id: &str| all.model("opencode", id).unwrap().wire;
    assert_eq!(zen("claude-haiku-4-5"), Some(WireApi::Messages));
    assert_eq!(all.provider("nobody"), None);
    assert_eq!(all.model("groq", "nothing"), None);
    assert_eq!(all.models("nobody"), []);
}

#[test]
fn numbers_are_read_and_written_alike() {
    for (text, count) in [
        ("128k", 128_000),
        ("128K", 131_072),
        ("1m", 1_000_000),
        ("1047576", 1_047_576),
    ] {
        assert_eq!(tokens(text), Some(count), "{text}");
        assert_eq!(tokens(&short(count.into())), Some(count), "{text}");
    }
    for text in ["", "0", "k", "-1", "9999999999", "5000m", "ä"] {
        assert_eq!(tokens(text), None, "{text}");
    }
}

#[test]
fn a_request_costs_what_its_tokens_cost() {
    let prices = Prices {
        input: Some(3.0),
        output: Some(15.0),
        cached: Some(0.3),
        cache_write: Some(3.75),
    };
    let usage = Usage {
        input: 1_000_000,
        cached: Some(600_000),
        cache_write: 200_000,
        output: 100_000,
        reasoning: 50_000,
    };
    // 200k plain, 600k cached, 200k written, 100k out.
    let cost = prices.cost(&usage).unwrap();
    assert!((cost - (0.6 + 0.18 + 0.75 + 1.5)).abs() < 1e-9, "{cost}");
    let plain = Prices {
        cached: None,
        cache_write: None,
        ..prices
    };
    let cost = plain.cost(&usage).unwrap();
    assert!((cost - 4.5).abs() < 1e-9, "{cost}");
    assert_eq!(Prices::default().cost(&usage), None);
}

#[test]
fn an_imported_list_comes_first_and_moves_no_address() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("api.json");
    let tool = |id: &str| {
        json!({"id": id, "name": "A  Name\there", "tool_call": true, "reasoning": true,
            "limit": {"context": 200_000, "output": 32_768}, "modalities": {"input": ["text", "image"], "output": ["text"]},
            "cost": {"input": 0.25, "output": 2, "cache_read": 0.025}})
    };
    let data = json!({
        "openai": {"name": "Else", "api": "https://evil.example/v1", "env": ["OTHER"], "models": {
            "gpt-9": tool("gpt-9"), "tts": {"id": "tts", "tool_call": false}}},
        "fresh": {"name": "Fresh", "api": "https://fresh.example/v1/", "npm": "@ai-sdk/anthropic", "env": ["FRESH_KEY"],
            "doc": "https://fresh.example/docs", "models": {"one": tool("one")}},
        "plain-http": {"api": "http://x.example/v1", "models": {"one": tool("one")}},
        "nameless": {"models": {"one": tool("one")}},
    });
    std::fs::write(&file, data.to_string()).unwrap();
    assert_eq!(import(&file, home.path()), Ok((2, 2)));
    let all = Catalog::of(Some(home.path()));
    let openai = all.provider("openai").unwrap();
    assert_eq!(openai.base_url, "https://api.openai.com/v1");
    assert_eq!(openai.env_keys[0], "OPENAI_API_KEY");
    let new = all.model("openai", "gpt-9").unwrap();
    assert_eq!((new.window, new.output), (Some(200_000), Some(32_768)));
    assert_eq!(new.name, "A Name here");
    assert_eq!(
        (new.prices.input, new.prices.cached),
        (Some(0.25), Some(0.025))
    );
    assert!(new.thinks && new.sees);
    assert_eq!(all.models("openai").len(), 1);
    let fresh = all.provider("fresh").unwrap();
    assert_eq!(
        (fresh.wire, fresh.base_url.as_str()),
        (WireApi::Messages, "https://fresh.example/v1")
    );
    assert_eq!(all.provider("plain-http"), None);
    // What was not imported stays.
    assert!(all.model("groq", "openai/gpt-oss-120b").is_some());
    assert_eq!(all.providers().len(), builtin().providers().len() + 1);
}

#[test]
fn our_own_form_can_be_imported_and_nonsense_not() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("t.tsv");
    let try_text = |text: &[u8]| {
        std::fs::write(&file, text).unwrap();
        import(&file, home.path()).map_err(|e| e.to_string())
    };
    assert_eq!(
        try_text(HOSTED.as_bytes()).map(|n| n.0),
        Ok(builtin().providers().len())
    );
    let own = ">mine\tMine\tchat\thttps://m.example/v1\tMINE\nbig\t64k\t8k\tr\t1/2\n";
    assert_eq!(try_text(own.as_bytes()), Ok((1, 1)));
    assert_eq!(
        Catalog::of(Some(home.path()))
            .model("mine", "big")
            .unwrap()
            .window,
        Some(64_000)
    );
    for (bytes, word) in [
        (&b"\x1f\x8b\x08rest"[..], "gunzip"),
        (b"PK\x03\x04", "unzip"),
        (b"", "empty"),
        (b"hello\tworld", "line 1"),
        (b">x\tX\tgrpc\thttps://x\n", "line 1"),
        (b">x\tX\tchat\tftp://x\n", "line 1"),
        (b"{\"a\": ", "models.dev"),
        (b"{}", "no provider"),
        (b"\xff\xfe", "UTF-8"),
    ] {
        let why = try_text(bytes).unwrap_err();
        assert!(why.contains(word), "{why}");
    }
    // A file that was refused has changed nothing.
    assert!(Catalog::of(Some(home.path())).provider("mine").is_some());
    assert!(import(&home.path().join("none"), home.path()).is_err());
}
