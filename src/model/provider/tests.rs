use super::*;
use crate::config::AuthCommand;

const NO_ENV: &dyn Fn(&str) -> Option<String> = &|_| None;

fn entry(toml: &str) -> ProviderEntry {
    toml::from_str(toml).unwrap()
}

/// Resolves `id` with one config table for it.
fn with(
    id: &str,
    table: ProviderEntry,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Provider, ProviderError> {
    let entries = BTreeMap::from([(id.to_string(), Setting::default_of(table))]);
    from_entries(id, &entries, None, env, false)
}

fn bare(
    id: &str,
    env: &dyn Fn(&str) -> Option<String>,
    chat: bool,
) -> Result<Provider, ProviderError> {
    from_entries(id, &BTreeMap::new(), None, env, chat)
}

#[test]
fn ollama_host_in_all_its_forms() {
    for (given, address) in [
        ("", "http://127.0.0.1:11434"),
        ("127.0.0.1:5000", "http://127.0.0.1:5000"),
        ("box", "http://box:11434"),
        ("box:5000", "http://box:5000"),
        (":5000", "http://127.0.0.1:5000"),
        ("10.0.0.7", "http://10.0.0.7:11434"),
        ("::1", "http://[::1]:11434"),
        ("fe80::5", "http://[fe80::5]:11434"),
        ("[::1]:5000", "http://[::1]:5000"),
        ("[::1]", "http://[::1]:11434"),
        ("http://box", "http://box:80"),
        ("https://box", "https://box:443"),
        ("http://127.0.0.1:5000/", "http://127.0.0.1:5000"),
        ("https://box/llm/ollama/", "https://box:443/llm/ollama"),
        ("ollama.com", "https://ollama.com:443"),
        ("\"box:5000\"", "http://box:5000"),
        (" 'box' ", "http://box:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:5000", "http://127.0.0.1:5000"),
        ("[::]:5000", "http://[::1]:5000"),
        ("box:99999", "http://box:11434"),
        ("https://box:x", "https://box:443"),
    ] {
        assert_eq!(ollama_host(given), address, "OLLAMA_HOST={given}");
    }
}

#[test]
fn near_and_far() {
    for url in [
        "http://127.0.0.1:1/v1",
        "http://127.8.8.8",
        "http://[::1]:80/",
        "http://localhost:1",
        "http://LOCALHOST.:1",
        "http://a.localhost",
        "http://0.0.0.0:1",
        "http://[::ffff:127.0.0.1]:1",
    ] {
        assert!(is_loopback(url) && is_local(url), "{url}");
    }
    for url in [
        "http://192.168.1.5:11434",
        "http://10.1.2.3",
        "http://172.31.0.1",
        "http://100.100.0.1",
        "http://[fd00::1]:1",
        "http://[fe80::1]:1",
        "http://gpu-box:8000/v1",
        "http://mac.local:1234",
        "http://nas.lan",
    ] {
        assert!(!is_loopback(url) && is_local(url), "{url}");
    }
    for url in [
        "https://api.openai.com/v1",
        "http://8.8.8.8",
        "http://172.32.0.1",
        "http://100.128.0.1",
        "https://127.0.0.1.example.com",
        "https://localhost.example.com",
        "http://localhost@example.com/",
        "http://[2606:4700::1]",
        "nonsense",
        "",
    ] {
        assert!(!is_local(url), "{url}");
    }
}

#[test]
fn ollama_is_reached_however_it_is_named() {
    let host =
        |value: &'static str| move |name: &str| (name == "OLLAMA_HOST").then(|| value.to_string());
    let root = "http://127.0.0.1:5000";
    for env in [host("127.0.0.1:5000"), host("http://127.0.0.1:5000/")] {
        let p = bare("ollama", &env, false).unwrap();
        assert_eq!((p.base_url.as_str(), p.wire), (root, WireApi::Ollama));
    }
    for base in ["http://127.0.0.1:5000/v1", "http://127.0.0.1:5000/"] {
        let table = || entry(&format!("base_url = \"{base}\""));
        let p = with("ollama", table(), &host("elsewhere:1")).unwrap();
        assert_eq!((p.base_url.as_str(), p.wire), (root, WireApi::Ollama));
        let entries = BTreeMap::from([("ollama".into(), Setting::default_of(table()))]);
        let p = from_entries("ollama", &entries, None, NO_ENV, true).unwrap();
        assert_eq!(p.base_url, format!("{root}/v1"));
        assert_eq!(p.wire, WireApi::Chat);
    }
}

#[test]
fn base_urls_take_the_form_of_their_wire() {
    for (id, table, base) in [
        (
            "lmstudio",
            "base_url = 'http://10.0.0.2:1234/'",
            "http://10.0.0.2:1234/v1",
        ),
        (
            "own",
            "base_url = 'http://localhost:9'",
            "http://localhost:9/v1",
        ),
        (
            "own",
            "base_url = 'https://host/v1beta/openai/'",
            "https://host/v1beta/openai",
        ),
        (
            "own",
            "base_url = 'https://api.example.com'",
            "https://api.example.com",
        ),
        (
            "own",
            "base_url = 'https://host/anthropic'\nwire_api = 'messages'",
            "https://host/anthropic/v1",
        ),
        (
            "own",
            "base_url = 'https://host/v1/'\nwire_api = 'messages'",
            "https://host/v1",
        ),
        (
            "own",
            "base_url = 'http://host/pre/v1'\nwire_api = 'ollama'",
            "http://host/pre",
        ),
    ] {
        assert_eq!(
            with(id, entry(table), NO_ENV).unwrap().base_url,
            base,
            "{table}"
        );
    }
    for bad in ["127.0.0.1:8080/v1", "ftp://host", "http://", "http://a b"] {
        let table = ProviderEntry {
            base_url: Some(bad.into()),
            ..Default::default()
        };
        let error = with("own", table, NO_ENV).unwrap_err();
        assert!(
            matches!(error, ProviderError::BadUrl { .. }),
            "{bad}: {error}"
        );
    }
}

#[test]
fn errors_say_what_to_do() {
    let said = |r: Result<Provider, ProviderError>| r.unwrap_err().to_string();
    let text = said(bare("olama", NO_ENV, false));
    assert!(
        text.contains("`olama`") && text.contains("ollama, lmstudio"),
        "{text}"
    );
    assert!(text.contains("[model_providers.olama]"), "{text}");
    assert!(said(with("own", entry("name = 'x'"), NO_ENV)).contains("base_url"));
    let text = said(with(
        "own",
        entry("base_url = 'http://h/v1'\nwire_api = 'grpc'"),
        NO_ENV,
    ));
    assert!(
        text.contains("grpc") && text.contains("chat, responses, messages, ollama"),
        "{text}"
    );
    let text = said(with(
        "own",
        entry("base_url = 'https://h/v1'\nenv_key = 'OWN_KEY'\nenv_key_instructions = 'ask Ann'"),
        NO_ENV,
    ));
    assert!(
        text.contains("OWN_KEY") && text.contains("ask Ann"),
        "{text}"
    );
    assert!(said(bare("openai", NO_ENV, false)).contains("OPENAI_API_KEY"));
}

#[test]
fn keys_go_where_each_api_wants_them() {
    let env = |name: &str| match name {
        "CODEX_API_KEY" => Some("sk-codex".to_string()),
        "ANTHROPIC_API_KEY" => Some(" sk-ant\n".to_string()),
        "OWN" => Some("own".to_string()),
        _ => None,
    };
    let header = |name: &str, value: &str| vec![(name.to_string(), value.to_string())];
    let openai = bare("openai", &env, false).unwrap();
    assert_eq!(openai.headers, header("Authorization", "Bearer sk-codex"));
    assert_eq!(openai.wire, WireApi::Responses);
    assert_eq!(openai.idle_limit, Some(Duration::from_secs(300)));
    let anthropic = bare("anthropic", &env, false).unwrap();
    assert_eq!(anthropic.headers, header("x-api-key", "sk-ant"));
    let table = "base_url = 'https://h/anthropic'\nwire_api = 'messages'\nenv_key = 'OWN'";
    let own = with("own", entry(table), &env).unwrap();
    assert_eq!(own.headers, header("Authorization", "Bearer own"));
    // No local provider needs a key, and a built-in one that was moved home needs none either.
    for id in ["ollama", "lmstudio", "llamacpp", "vllm"] {
        assert_eq!(bare(id, NO_ENV, false).unwrap().headers, []);
    }
    let moved = entry("base_url = 'http://127.0.0.1:9/v1'");
    assert_eq!(with("openai", moved, NO_ENV).unwrap().headers, []);
    let split = ProviderEntry {
        base_url: Some("https://h/v1".into()),
        experimental_bearer_token: Some("a\nb".into()),
        ..Default::default()
    };
    let text = with("own", split, NO_ENV).unwrap_err().to_string();
    assert!(
        text.contains("Authorization") && !text.contains("a\nb"),
        "{text}"
    );
}

#[test]
fn headers_queries_and_limits_come_from_the_entry() {
    let env = |name: &str| (name == "TEAM").then(|| "blue".to_string());
    let table = "base_url = 'https://h/v1'
        request_max_retries = 1000
        stream_idle_timeout_ms = 20000
        query_params = { api-version = '2' }
        http_headers = { X-A = '1' }
        env_http_headers = { X-Team = 'TEAM', X-None = 'UNSET' }";
    let p = with("own", entry(table), &env).unwrap();
    let pair = |a: &str, b: &str| (a.to_string(), b.to_string());
    assert_eq!(p.headers, [pair("X-A", "1"), pair("X-Team", "blue")]);
    assert_eq!(p.query, [pair("api-version", "2")]);
    assert_eq!((p.request_retries, p.stream_retries), (100, 5));
    assert_eq!(p.idle_limit, Some(Duration::from_secs(20)));
    assert_eq!(bare("vllm", NO_ENV, false).unwrap().idle_limit, None);
    let near = entry("base_url = 'http://192.168.0.9:8000/v1'");
    assert_eq!(with("own", near, NO_ENV).unwrap().idle_limit, None);
    let near = entry("base_url = 'http://127.0.0.1:1/v1'\nstream_idle_timeout_ms = 1000");
    let limit = with("own", near, NO_ENV).unwrap().idle_limit;
    assert_eq!(limit, Some(Duration::from_secs(1)));
}

#[test]
fn debug_shows_no_secret() {
    let table = "base_url = 'https://user:hunter2@h/v1'
        experimental_bearer_token = 'hunter2'
        http_headers = { X-Secret = 'hunter2' }
        query_params = { key = 'hunter2' }";
    let text = format!("{:?}", with("own", entry(table), NO_ENV).unwrap());
    assert!(
        !text.contains("hunter2") && text.contains("X-Secret"),
        "{text}"
    );
}

#[cfg(unix)]
#[test]
fn an_auth_command_prints_the_key_within_its_time() {
    let table = |script: &str| ProviderEntry {
        base_url: Some("https://h/v1".into()),
        auth: Some(AuthCommand {
            command: "sh".into(),
            args: vec!["-c".into(), script.into()],
            timeout_ms: Some(400),
            ..Default::default()
        }),
        ..Default::default()
    };
    let p = with("own", table("echo tok-1"), NO_ENV).unwrap();
    assert_eq!(
        p.headers,
        [("Authorization".to_string(), "Bearer tok-1".to_string())]
    );
    let begin = std::time::Instant::now();
    for (script, why) in [
        ("exit 3", "exit status: 3"),
        ("true", "nothing"),
        ("sleep 30", "400 ms"),
        ("sleep 30 & echo x", "400 ms"),
    ] {
        let text = with("own", table(script), NO_ENV).unwrap_err().to_string();
        assert!(text.contains(why), "{script}: {text}");
    }
    assert!(begin.elapsed() < Duration::from_secs(10));
}
