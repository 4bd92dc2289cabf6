//! The way to a server that is far: certificates, proxies, redirects. The server is on this machine
//! and has certificates of the tests' own; a proxy makes it `far.example`.

mod support;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use support::proxy::{Heads, connect as proxy, join, request, seen, serve};

const KEY: &str = "sk-far-secret";

/// An authority of the tests' own.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let pem = params.self_signed(&key).expect("a certificate").pem();
        let issuer = Issuer::new(params, key);
        Authority { issuer, pem }
    }

    /// What a server with this name shows; valid until the end of `year`.
    fn server(&self, name: &str, year: i32) -> Arc<ServerConfig> {
        let mut params = CertificateParams::new(vec![name.to_owned()]).expect("parameters");
        params.not_before = date_time_ymd(2015, 1, 1);
        params.not_after = date_time_ymd(year, 12, 31);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .expect("a configuration");
        Arc::new(config)
    }
}

fn reply() -> String {
    let chunk = |delta: &str, finish: &str| {
        format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{finish}}}]}}\n\n"
        )
    };
    let body = chunk("{\"content\":\"Hello from afar\"}", "null")
        + &chunk("{}", "\"stop\"")
        + "data: [DONE]\n\n";
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// A server over TLS that gives this answer to every request. Gives its port, its requests, and how
/// many connections there were.
fn tls_server(config: Arc<ServerConfig>, answer: String) -> (u16, Heads, Arc<Mutex<usize>>) {
    let (heads, connections) = (Heads::default(), Arc::new(Mutex::new(0)));
    let (all, count) = (heads.clone(), connections.clone());
    let port = serve(move |stream| {
        *count.lock().expect("not poisoned") += 1;
        let connection = ServerConnection::new(config.clone()).expect("a connection");
        let mut stream = StreamOwned::new(connection, stream);
        while let Some(head) = request(&mut stream) {
            all.lock().expect("not poisoned").push(head);
            let sent = stream.write_all(answer.as_bytes());
            if sent.and_then(|()| stream.flush()).is_err() {
                return;
            }
        }
    });
    (port, heads, connections)
}

/// A SOCKS5 proxy without a password, in front of `port`. Gives the names that it was asked for.
fn socks(port: u16) -> (u16, Heads) {
    let heads = Heads::default();
    let all = heads.clone();
    let way = move |mut client: TcpStream| -> Option<()> {
        let mut hello = [0; 2];
        client.read_exact(&mut hello).ok()?;
        let mut methods = vec![0; usize::from(hello[1])];
        client.read_exact(&mut methods).ok()?;
        client.write_all(&[5, 0]).ok()?;
        let mut ask = [0; 5];
        client.read_exact(&mut ask).ok()?;
        assert_eq!(ask[3], 3, "a name, so that nothing is looked up here");
        let mut name = vec![0; usize::from(ask[4]) + 2];
        client.read_exact(&mut name).ok()?;
        let name = String::from_utf8_lossy(&name[..name.len() - 2]).into_owned();
        all.lock().expect("not poisoned").push(name);
        let server = TcpStream::connect(("127.0.0.1", port)).ok()?;
        client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).ok()?;
        join(client, server)
    };
    let own = serve(move |client| {
        let _ = way(client);
    });
    (own, heads)
}

/// What came of one command.
struct Done {
    code: i32,
    out: String,
    err: String,
}

/// Runs the program in a home with a provider `far` at this address.
fn run(base_url: &str, entry: &str, env: &[(&str, &str)], args: &[&str]) -> Done {
    let config = format!(
        "model_provider = \"far\"\nmodel = \"m\"\nmodel_context_window = 32768\n\n[model_providers.far]\nbase_url = \"{base_url}\"\nexperimental_bearer_token = \"{KEY}\"\nrequest_max_retries = 0\nstream_max_retries = 0\n{entry}\n"
    );
    start(&config, env, args)
}

/// Runs the program in a home with this config.
fn start(config: &str, env: &[(&str, &str)], args: &[&str]) -> Done {
    let folder = tempfile::tempdir().expect("a folder");
    let home = folder.path().join("home");
    fs::create_dir_all(&home).expect("a home");
    fs::write(home.join("config.toml"), config).expect("a config");
    let mut command = Command::new(env!("CARGO_BIN_EXE_interpreter"));
    command
        .args(args)
        .current_dir(folder.path())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", folder.path())
        .env("INTERPRETER_HOME", &home)
        .stdin(Stdio::null());
    for (name, value) in env {
        command.env(name, value);
    }
    let output = command.output().expect("the program");
    Done {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

const TASK: [&str; 3] = ["exec", "--skip-git-repo-check", "hi"];

fn kept(folder: &Path, pem: &str) -> String {
    let file = folder.join("ca.pem");
    fs::write(&file, pem).expect("a file");
    file.display().to_string()
}

#[test]
fn an_own_authority_is_trusted_where_it_is_named() {
    let authority = Authority::new();
    let folder = tempfile::tempdir().expect("a folder");
    let file = kept(folder.path(), &authority.pem);
    let (port, heads, connections) = tls_server(authority.server("localhost", 2099), reply());
    let url = format!("https://localhost:{port}/v1");

    let without = run(&url, "", &[], &TASK);
    assert_eq!(without.code, 1, "{}", without.err);
    for word in ["certificate", "not trusted", "SSL_CERT_FILE", "ca_file"] {
        assert!(without.err.contains(word), "{word}: {}", without.err);
    }
    assert_eq!(
        seen(&heads),
        [""; 0],
        "nothing is sent before the certificate is checked"
    );

    let by_variable = run(&url, "", &[("SSL_CERT_FILE", &file)], &TASK);
    assert_eq!(
        (by_variable.code, by_variable.out.trim()),
        (0, "Hello from afar"),
        "{}",
        by_variable.err
    );
    let entry = format!("ca_file = {file:?}");
    // The entry wins over the variable.
    let other = kept(
        &tempfile::tempdir().expect("a folder").keep(),
        &Authority::new().pem,
    );
    let before = *connections.lock().expect("not poisoned");
    let asked = seen(&heads).len();
    let by_entry = run(&url, &entry, &[("SSL_CERT_FILE", &other)], &TASK);
    assert_eq!(
        (by_entry.code, by_entry.out.trim()),
        (0, "Hello from afar"),
        "{}",
        by_entry.err
    );
    let (requests, opened) = (
        seen(&heads).len() - asked,
        *connections.lock().expect("not poisoned") - before,
    );
    assert!(
        requests > 1 && opened < requests,
        "{requests} requests over {opened} connections"
    );

    let doctor = run(&url, "", &[], &["doctor"]);
    assert!(
        doctor.out.contains("certificate") && doctor.out.contains("SSL_CERT_FILE"),
        "{}",
        doctor.out
    );
}

#[test]
fn wrong_certificates_are_told_apart() {
    let authority = Authority::new();
    let folder = tempfile::tempdir().expect("a folder");
    let file = kept(folder.path(), &authority.pem);
    let env = [("SSL_CERT_FILE", file.as_str())];
    for (name, year, word) in [
        ("localhost", 2020, "expired"),
        ("other.example", 2099, "another name"),
    ] {
        let (port, heads, _) = tls_server(authority.server(name, year), reply());
        let done = run(&format!("https://localhost:{port}/v1"), "", &env, &TASK);
        assert_eq!(done.code, 1);
        assert!(
            done.err.contains("certificate") && done.err.contains(word),
            "{}",
            done.err
        );
        assert_eq!(seen(&heads), [""; 0]);
    }
    // A server that speaks no TLS at all.
    let port = serve(|mut stream| {
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
    });
    let done = run(&format!("https://localhost:{port}/v1"), "", &env, &TASK);
    assert!(
        done.err.contains("certificate") && done.err.contains("http://"),
        "{}",
        done.err
    );
    let missing = run(
        "https://localhost:1/v1",
        "",
        &[("SSL_CERT_FILE", "/no/such.pem")],
        &TASK,
    );
    assert!(
        missing.err.contains("SSL_CERT_FILE") && missing.err.contains("/no/such.pem"),
        "{}",
        missing.err
    );
}

#[test]
fn a_far_server_is_reached_through_a_proxy_that_wants_a_password() {
    let authority = Authority::new();
    let folder = tempfile::tempdir().expect("a folder");
    let file = kept(folder.path(), &authority.pem);
    let (port, heads, _) = tls_server(authority.server("far.example", 2099), reply());
    // `us:pa ss` in base64.
    let (proxy_port, asked) = proxy(port, Some("dXM6cGEgc3M="));
    let address = format!("http://us:pa%20ss@127.0.0.1:{proxy_port}");
    let ca = ("SSL_CERT_FILE", file.as_str());
    let done = run(
        "https://far.example/v1",
        "",
        &[ca, ("HTTPS_PROXY", &address)],
        &TASK,
    );
    assert_eq!(
        (done.code, done.out.trim()),
        (0, "Hello from afar"),
        "{}",
        done.err
    );
    assert!(
        seen(&asked)
            .iter()
            .all(|h| h.starts_with("CONNECT far.example:443 ")),
        "{asked:?}"
    );
    assert!(
        seen(&asked).iter().all(|h| !h.contains(KEY)),
        "the key is inside the tunnel"
    );
    assert!(
        seen(&heads)
            .iter()
            .all(|h| h.contains(&format!("Bearer {KEY}"))
                || h.to_lowercase().contains(&format!("bearer {KEY}")))
    );

    let nobody = format!("http://127.0.0.1:{proxy_port}");
    let refused = run(
        "https://far.example/v1",
        "",
        &[ca, ("https_proxy", &nobody)],
        &TASK,
    );
    assert_eq!(refused.code, 1);
    assert!(
        refused.err.contains("407") && refused.err.contains("HTTPS_PROXY"),
        "{}",
        refused.err
    );

    // Whoever is named in NO_PROXY is not asked for there; the name itself does not exist.
    let before = seen(&asked).len();
    let straight = run(
        "https://far.example/v1",
        "",
        &[
            ca,
            ("HTTPS_PROXY", &address),
            ("NO_PROXY", "10.0.0.0/8,.example"),
        ],
        &TASK,
    );
    assert_eq!(
        (straight.code, seen(&asked).len()),
        (1, before),
        "{}",
        straight.err
    );
    let wrong = run(
        "https://far.example/v1",
        "",
        &[("HTTPS_PROXY", "ftp://x")],
        &TASK,
    );
    assert!(wrong.err.contains("HTTPS_PROXY"), "{}", wrong.err);
    let doctor = run(
        "https://far.example/v1",
        "",
        &[ca, ("HTTPS_PROXY", &address)],
        &["doctor"],
    );
    // The lines are laid out for a terminal.
    let told = doctor.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        told.contains(&format!("proxy 127.0.0.1:{proxy_port}")) && !told.contains("pa ss"),
        "{told}"
    );
}

#[test]
fn a_socks_proxy_looks_the_name_up() {
    let authority = Authority::new();
    let folder = tempfile::tempdir().expect("a folder");
    let file = kept(folder.path(), &authority.pem);
    let (port, _, _) = tls_server(authority.server("far.example", 2099), reply());
    let (proxy_port, names) = socks(port);
    let address = format!("socks5h://127.0.0.1:{proxy_port}");
    let done = run(
        "https://far.example/v1",
        "",
        &[("SSL_CERT_FILE", &file), ("ALL_PROXY", &address)],
        &TASK,
    );
    assert_eq!(
        (done.code, done.out.trim()),
        (0, "Hello from afar"),
        "{}",
        done.err
    );
    assert!(seen(&names).iter().all(|n| n == "far.example"), "{names:?}");
}

#[test]
fn a_redirect_carries_no_key_to_another_host() {
    let authority = Authority::new();
    let folder = tempfile::tempdir().expect("a folder");
    let file = kept(folder.path(), &authority.pem);
    let to = |location: &str| {
        format!(
            "HTTP/1.1 307 Temporary Redirect\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n"
        )
    };
    for location in [
        "https://evil.example/v1/chat/completions",
        "http://far.example/v1",
        "//evil.example/x",
    ] {
        let (port, _, _) = tls_server(authority.server("far.example", 2099), to(location));
        let (proxy_port, asked) = proxy(port, None);
        let address = format!("http://127.0.0.1:{proxy_port}");
        let env = [
            ("SSL_CERT_FILE", file.as_str()),
            ("HTTPS_PROXY", &address),
            ("HTTP_PROXY", &address),
        ];
        let done = run("https://far.example/v1", "", &env, &TASK);
        assert_eq!(done.code, 1);
        assert!(done.err.contains("redirects to"), "{}", done.err);
        let hosts = seen(&asked);
        assert!(
            hosts
                .iter()
                .all(|h| h.starts_with("CONNECT far.example:443 ")),
            "{location}: {hosts:?}"
        );
    }
}

#[test]
fn a_redirect_within_the_origin_is_followed_with_the_same_request() {
    // In the clear and on this machine: what is followed is the same.
    let heads = Heads::default();
    let all = heads.clone();
    let port = serve(move |mut stream| {
        let Some(head) = request(&mut stream) else {
            return;
        };
        let answer = match head.split_whitespace().nth(1) {
            Some("/v1/chat/completions") => "HTTP/1.1 307 X\r\nlocation: /v2/chat\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_owned(),
            Some("/v2/chat") => reply(),
            _ => "HTTP/1.1 404 X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_owned(),
        };
        all.lock().expect("not poisoned").push(head);
        let _ = stream.write_all(answer.as_bytes());
    });
    let done = run(&format!("http://127.0.0.1:{port}/v1"), "", &[], &TASK);
    assert_eq!(
        (done.code, done.out.trim()),
        (0, "Hello from afar"),
        "{}",
        done.err
    );
    let second = seen(&heads)
        .into_iter()
        .find(|h| h.starts_with("POST /v2/chat"));
    assert!(second.is_some_and(|h| h.contains(KEY)));
}

/// Prices of Claude Sonnet 4.5 as Anthropic lists them: 3 and 15 dollars a million, 0.30 from the cache.
#[test]
fn a_request_to_a_provider_of_the_table_has_its_address_its_headers_and_its_price() {
    let authority = Authority::new();
    let folder = tempfile::tempdir().expect("a folder");
    let file = kept(folder.path(), &authority.pem);
    let events = [
        r#"{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"usage":{"input_tokens":1000,"cache_read_input_tokens":2000,"output_tokens":1}}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello."}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":100}}"#,
        r#"{"type":"message_stop"}"#,
    ];
    let body: String = events.iter().map(|e| format!("data: {e}\n\n")).collect();
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let (port, heads, _) = tls_server(authority.server("api.anthropic.com", 2099), answer);
    let (proxy_port, _) = proxy(port, None);
    let address = format!("http://127.0.0.1:{proxy_port}");
    let env = [
        ("SSL_CERT_FILE", file.as_str()),
        ("HTTPS_PROXY", &address),
        ("ANTHROPIC_API_KEY", "sk-ant-test"),
    ];
    let config = "model_provider = \"anthropic\"\nmodel = \"claude-sonnet-4-5\"\n";
    let done = start(
        config,
        &env,
        &["exec", "--skip-git-repo-check", "--json", "hi"],
    );
    assert_eq!(done.code, 0, "{}", done.err);
    let last = done
        .out
        .lines()
        .find(|l| l.contains("turn.completed"))
        .expect("the end");
    let last: serde_json::Value = serde_json::from_str(last).expect("JSON");
    assert_eq!(last["cost"]["turn_usd"], 0.0051, "{last}");
    let head = seen(&heads)[0].to_lowercase();
    assert!(head.starts_with("post /v1/messages "), "{head}");
    for header in [
        "x-api-key: sk-ant-test",
        "anthropic-version: 2023-06-01",
        "host: api.anthropic.com",
    ] {
        assert!(head.contains(header), "{header}: {head}");
    }
    assert!(!head.contains("authorization"), "{head}");
    let done = start(config, &env, &TASK);
    assert!(done.err.contains("$0.00510"), "{}", done.err);
    // The window is that of the table, so nothing is said about an assumed one.
    assert!(!done.err.contains("assumed"), "{}", done.err);
}
