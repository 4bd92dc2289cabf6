//! Signing in with a code that is typed elsewhere (RFC 8628).

use crate::program;
use crate::support::script::*;
use crate::support::server::{Kind, Server};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

/// Answers posts with these bodies, in turn. Gives the address and what was asked.
fn authorisation(answers: Vec<(u16, &'static str)>) -> (String, thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let own = address.clone();
    let thread = thread::spawn(move || {
        let mut asked = Vec::new();
        for (status, body) in answers {
            let (mut stream, _) = listener.accept().expect("a client");
            let mut text = String::new();
            let mut buffer = [0; 4096];
            loop {
                let n = stream.read(&mut buffer).expect("bytes");
                text.push_str(&String::from_utf8_lossy(&buffer[..n]));
                let Some((head, form)) = text.split_once("\r\n\r\n") else {
                    continue;
                };
                let length = head.lines().find_map(|l| {
                    l.to_lowercase()
                        .strip_prefix("content-length: ")?
                        .parse::<usize>()
                        .ok()
                });
                if form.len() >= length.unwrap_or(0) {
                    let path = head.split_whitespace().nth(1).unwrap_or_default();
                    asked.push(format!("{path} {form}"));
                    break;
                }
            }
            let body = body.replace("HERE", &own);
            let answer = format!(
                "HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            stream.write_all(answer.as_bytes()).expect("room");
        }
        asked
    });
    (address, thread)
}

#[test]
fn signing_in_with_a_code_waits_as_the_server_says() {
    let (address, server) = authorisation(vec![
        (
            200,
            r#"{"device_code": "dev-1", "user_code": "WXYZ-1234", "verification_uri": "HERE/activate", "expires_in": 60, "interval": 1}"#,
        ),
        (400, r#"{"error": "authorization_pending"}"#),
        (502, "<html>a gateway</html>"),
        (
            200,
            r#"{"access_token": "at-secret", "refresh_token": "rt-secret", "expires_in": 3600}"#,
        ),
    ]);
    let home = tempfile::tempdir().expect("a home");
    let model = Server::start(Kind::Plain, 32_768, vec![say("Hello.")]);
    let config = format!(
        "model_provider = \"team\"\nmodel = \"mock\"\n[model_providers.team]\nbase_url = \"http://127.0.0.1:{}/v1\"\n\
         [model_providers.team.oauth]\ndevice_authorization_url = \"{address}/device\"\ntoken_url = \"{address}/token\"\nclient_id = \"us\"\nscope = \"models read\"\n",
        model.port()
    );
    fs::write(home.path().join("config.toml"), config).expect("a config");
    let task = ["exec", "--skip-git-repo-check", "hi"];
    let (code, _, err) = program(home.path(), &task, &[], None);
    assert!(code == 1 && err.contains("interpreter login team"), "{err}");
    let (code, out, err) = program(home.path(), &["login", "team"], &[], None);
    assert_eq!(code, 0, "{err}");
    assert!(
        err.contains("WXYZ-1234") && err.contains("/activate"),
        "{err}"
    );
    assert!(!format!("{out}{err}").contains("secret"));
    let asked = server.join().expect("the server");
    assert_eq!(asked[0], "/device client_id=us&scope=models%20read");
    let poll = "/token grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code&device_code=dev-1&client_id=us";
    assert_eq!(asked[1..], [poll, poll, poll]);
    let (code, out, err) = program(home.path(), &task, &[], None);
    assert_eq!((code, out.trim()), (0, "Hello."), "{err}");
    let sent = &model.requests()[0].headers;
    assert!(
        sent.contains(&("authorization".into(), "Bearer at-secret".into())),
        "{sent:?}"
    );
}

#[test]
fn a_sign_in_that_fails_says_why() {
    let begun = r#"{"device_code": "d", "user_code": "U", "verification_uri": "HERE/a", "expires_in": 60, "interval": 0}"#;
    let short = r#"{"device_code": "d", "user_code": "U", "verification_uri": "HERE/a", "expires_in": 1, "interval": 2}"#;
    let odd = r#"{"device_code": "d", "user_code": "U", "verification_uri": "file:///etc/passwd"}"#;
    for (answers, word) in [
        (
            vec![(200, begun), (400, r#"{"error": "access_denied"}"#)],
            "denied",
        ),
        (
            vec![(200, begun), (400, r#"{"error": "expired_token"}"#)],
            "ran out",
        ),
        (
            vec![
                (200, begun),
                (
                    400,
                    r#"{"error": "invalid_client", "error_description": "who\nare you"}"#,
                ),
            ],
            "who are you (invalid_client)",
        ),
        (vec![(200, short)], "ran out"),
        (vec![(200, odd)], "no sign-in"),
        (vec![(404, "<html>nothing</html>")], "404"),
        (
            vec![(400, r#"{"error": "unauthorized_client"}"#)],
            "unauthorized_client",
        ),
    ] {
        let (address, server) = authorisation(answers);
        let home = tempfile::tempdir().expect("a home");
        let config = format!(
            "[model_providers.team]\nbase_url = \"https://models.example/v1\"\n[model_providers.team.oauth]\n\
             device_authorization_url = \"{address}/device\"\ntoken_url = \"{address}/token\"\nclient_id = \"us\"\n"
        );
        fs::write(home.path().join("config.toml"), config).expect("a config");
        let (code, _, err) = program(home.path(), &["login", "team"], &[], None);
        assert!(code == 1 && err.contains(word), "{word}: {err}");
        assert!(!home.path().join("auth.json").exists());
        server.join().expect("the server");
    }
    let home = tempfile::tempdir().expect("a home");
    let config = "[model_providers.team]\nbase_url = \"https://m.example/v1\"\n[model_providers.team.oauth]\ndevice_authorization_url = \"http://far.example/d\"\ntoken_url = \"https://far.example/t\"\nclient_id = \"us\"\n";
    fs::write(home.path().join("config.toml"), config).expect("a config");
    let (code, _, err) = program(home.path(), &["login", "team"], &[], None);
    assert!(code == 1 && err.contains("https address"), "{err}");
}
