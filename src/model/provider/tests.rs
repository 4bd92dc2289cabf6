use super::*;
use crate::config::{self, AuthCommand, Overrides, Setting};
use crate::store::auth::{Credential, Tokens};
use std::io::{Read, Write};

const NO_ENV: &dyn Fn(&str) -> Option<String> = &|_| None;

fn entry(toml: &str) -> ProviderEntry {
    toml::from_str(toml).unwrap()
}

/// A config with these tables, and nothing in its home.
fn config(tables: &[(&str, ProviderEntry)]) -> Config {
    let home = tempfile::tempdir().unwrap();
    let mut config = config::load(home.path(), home.path(), &Overrides::default()).unwrap();
    for (id, table) in tables {
        let setting = Setting::default_of(table.clone());
        config.model_providers.insert((*id).to_string(), setting);
    }
    config
}

/// Resolves `id` with one config table for it.
fn with(
    id: &str,
    table: ProviderEntry,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Provider, ProviderError> {
    resolve(id, &config(&[(id, table)]), env, false)
}

fn bare(
    id: &str,
    env: &dyn Fn(&str) -> Option<String>,
    chat: bool,
) -> Result<Provider, ProviderError> {
    resolve(id, &config(&[]), env, chat)
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
        let p = resolve("ollama", &config(&[("ollama", table())]), NO_ENV, true).unwrap();
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
        text.contains("`olama`") && text.contains("did you mean ollama?"),
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
    let text = said(bare("openai", NO_ENV, false));
    for word in [
        "OPENAI_API_KEY",
        "interpreter login openai",
        "https://platform.openai.com/api-keys",
    ] {
        assert!(text.contains(word), "{text}");
    }
    let text = said(bare("azure", NO_ENV, false));
    assert!(text.contains("AZURE_RESOURCE_NAME"), "{text}");
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

#[test]
fn hosted_providers_come_from_the_table_each_wire_at_its_address() {
    let env = |name: &str| match name {
        "DEEPSEEK_API_KEY" | "AZURE_API_KEY" => Some("k".to_string()),
        "AZURE_RESOURCE_NAME" => Some("mine".to_string()),
        _ => None,
    };
    let none = config(&[]);
    let p = resolve("deepseek", &none, &env, false).unwrap();
    assert_eq!(
        (p.base_url.as_str(), p.wire),
        ("https://api.deepseek.com", WireApi::Chat)
    );
    let p = resolve_on("deepseek", &none, &env, Some(WireApi::Messages)).unwrap();
    assert_eq!(p.base_url, "https://api.deepseek.com/anthropic/v1");
    let table = entry("wire_api = 'messages'");
    assert_eq!(with("deepseek", table, &env).unwrap().base_url, p.base_url);
    let p = resolve("azure", &none, &env, false).unwrap();
    assert_eq!(p.base_url, "https://mine.openai.azure.com/openai/v1");
    assert_eq!(p.headers, [("api-key".to_string(), "k".to_string())]);
    let address = address_of("azure", &none, &env).unwrap();
    assert_eq!(address, "https://mine.openai.azure.com/openai/v1");
    assert!(exists("groq", &none) && !exists("groqq", &none));
}

#[test]
fn a_kept_key_is_used_when_no_variable_has_one() {
    let home = tempfile::tempdir().unwrap();
    let kept = Credential::ApiKey { key: "kept".into() };
    AuthFile::of(home.path()).put("groq", &kept).unwrap();
    let mut config = config(&[("own", entry("base_url = 'https://h/v1'\nenv_key = 'OWN'"))]);
    config.home = Some(home.path().to_owned());
    let key = |id: &str, env: &dyn Fn(&str) -> Option<String>| {
        let p = resolve(id, &config, env, false)?;
        Ok::<_, ProviderError>(p.headers[0].1.clone())
    };
    assert_eq!(key("groq", NO_ENV), Ok("Bearer kept".into()));
    let env = |name: &str| (name == "GROQ_API_KEY").then(|| "set".to_string());
    assert_eq!(key("groq", &env), Ok("Bearer set".into()));
    assert!(key("own", NO_ENV).is_err());
    AuthFile::of(home.path()).put("own", &kept).unwrap();
    assert_eq!(key("own", NO_ENV), Ok("Bearer kept".into()));
    let ids: Vec<String> = with_key(&config, NO_ENV)
        .into_iter()
        .map(|h| h.id)
        .collect();
    assert_eq!(ids, ["groq"]);
    assert_eq!(key_variables("own", &config), ["OWN"]);
}

/// Answers one request after the other with these bodies; gives what was asked.
fn authorisation_server(
    bodies: Vec<(u16, String)>,
) -> (String, std::thread::JoinHandle<Vec<String>>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let thread = std::thread::spawn(move || {
        let mut asked = Vec::new();
        for (status, body) in bodies {
            let (mut stream, _) = listener.accept().unwrap();
            let mut bytes = Vec::new();
            let mut buffer = [0; 4096];
            // Forms are short: head and body come within a few reads.
            loop {
                let n = stream.read(&mut buffer).unwrap();
                bytes.extend_from_slice(&buffer[..n]);
                let text = String::from_utf8_lossy(&bytes).into_owned();
                if let Some((head, form)) = text.split_once("\r\n\r\n") {
                    let length = head.lines().find_map(|l| {
                        l.to_lowercase()
                            .strip_prefix("content-length: ")?
                            .parse::<usize>()
                            .ok()
                    });
                    if form.len() >= length.unwrap_or(0) {
                        asked.push(form.to_owned());
                        break;
                    }
                }
            }
            let answer = format!(
                "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            stream.write_all(answer.as_bytes()).unwrap();
        }
        asked
    });
    (address, thread)
}

#[test]
fn tokens_are_renewed_when_they_are_old_and_kept_again() {
    let (address, server) = authorisation_server(vec![
        (503, "{\"error\": \"temporarily_unavailable\"}".into()),
        (
            200,
            r#"{"access_token": "fresh", "refresh_token": "next", "expires_in": 3600}"#.into(),
        ),
        (400, r#"{"error": "invalid_grant"}"#.into()),
    ]);
    let home = tempfile::tempdir().unwrap();
    let file = AuthFile::of(home.path());
    let old = Tokens {
        access_token: "old".into(),
        refresh_token: Some("first".into()),
        issued_at: 0,
        expires_at: Some(10),
        token_url: format!("{address}/token"),
        client_id: "us".into(),
    };
    file.put("own", &Credential::Tokens(old)).unwrap();
    let mut config = config(&[("own", entry("base_url = 'https://h/v1'"))]);
    config.home = Some(home.path().to_owned());
    let mut p = resolve("own", &config, NO_ENV, false).unwrap();
    assert_eq!(p.headers[0].1, "Bearer fresh");
    let Some(Credential::Tokens(kept)) = file.get("own").unwrap() else {
        panic!("no tokens are kept");
    };
    assert_eq!(
        (kept.access_token.as_str(), kept.refresh_token.as_deref()),
        ("fresh", Some("next"))
    );
    // The server takes the token no longer, and the refresh token neither.
    let renewal = p.renewal.clone().unwrap();
    assert_eq!(renewal.apply(&mut p.headers, false), Ok(()));
    let why = renewal.apply(&mut p.headers, true).unwrap_err();
    assert!(why.contains("interpreter login own"), "{why}");
    let asked = server.join().unwrap();
    assert!(
        asked[1].contains("grant_type=refresh_token&refresh_token=first&client_id=us"),
        "{asked:?}"
    );
    assert!(asked[2].contains("refresh_token=next"), "{asked:?}");
}

#[cfg(unix)]
#[test]
fn a_key_of_a_command_is_had_again_after_its_interval() {
    let dir = tempfile::tempdir().unwrap();
    let count = dir.path().join("count");
    let script = format!(
        "echo x >> {0}; echo tok-$(wc -l < {0} | tr -d ' ')",
        count.display()
    );
    let table = ProviderEntry {
        base_url: Some("https://h/v1".into()),
        auth: Some(AuthCommand {
            command: "sh".into(),
            args: vec!["-c".into(), script],
            refresh_interval_ms: Some(50),
            ..Default::default()
        }),
        ..Default::default()
    };
    let mut p = with("own", table, NO_ENV).unwrap();
    assert_eq!(p.headers[0].1, "Bearer tok-1");
    let renewal = p.renewal.clone().unwrap();
    renewal.apply(&mut p.headers, true).unwrap();
    assert_eq!(p.headers[0].1, "Bearer tok-2");
    std::thread::sleep(Duration::from_millis(60));
    renewal.apply(&mut p.headers, false).unwrap();
    assert_eq!(p.headers[0].1, "Bearer tok-3");
}

#[test]
fn an_sdk_names_itself_and_its_key_wins() {
    let env = |name: &str| match name {
        "OPENAI_API_KEY" => Some("of-the-shell".to_owned()),
        "CODEX_API_KEY" => Some("of-the-sdk".to_owned()),
        "CODEX_INTERNAL_ORIGINATOR_OVERRIDE" => Some("codex_sdk_ts".to_owned()),
        _ => None,
    };
    let provider = bare("openai", &env, false).unwrap();
    let header = |name: &str| {
        let found = provider.headers.iter().find(|(n, _)| n == name);
        found.map(|(_, value)| value.as_str()).unwrap_or_default()
    };
    assert_eq!(header("Authorization"), "Bearer of-the-sdk");
    assert_eq!(header("originator"), "codex_sdk_ts");
    assert!(header("user-agent").starts_with("codex_sdk_ts/"));
    let alone = bare(
        "openai",
        &|name| (name == "OPENAI_API_KEY").then(|| "k".into()),
        false,
    );
    assert_eq!(alone.unwrap().headers.len(), 1);
}
