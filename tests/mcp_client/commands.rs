use super::support::Agent;
use super::support::script::*;
use crate::script;
use serde_json::{Value, json};

/// `mcp add`, `list`, `get` and `remove` change the config and show it, without secrets.
#[test]
fn servers_are_added_listed_shown_and_removed() {
    let run = Agent::new()
        .model(script![say("ok")])
        .run("hi")
        .expect_exit(0);
    let run = run.again(
        &[
            "mcp",
            "add",
            "--env",
            "TOKEN=secret-8",
            "docs",
            "--",
            "npx",
            "-y",
            "docs server",
        ],
        None,
    );
    let run = run.expect_exit(0);
    let run = run
        .again(
            &[
                "mcp",
                "add",
                "web",
                "--url",
                "http://127.0.0.1:1/mcp",
                "--bearer-token-env-var",
                "T",
            ],
            None,
        )
        .expect_exit(0);
    let run = run.again(&["mcp", "list", "--json"], None).expect_exit(0);
    let list: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let expected = json!({"type": "stdio", "command": "npx", "args": ["-y", "docs server"], "env": {"TOKEN": "*****"}, "env_vars": [], "cwd": null});
    assert_eq!(list[0]["transport"], expected);
    assert_eq!(
        (&list[1]["name"], &list[1]["transport"]["type"]),
        (&json!("web"), &json!("streamable_http"))
    );
    let run = run.again(&["mcp"], None).expect_exit(0);
    assert!(
        run.stdout.contains("docs  npx -y 'docs server'")
            && run.stdout.contains("web  http://127.0.0.1:1/mcp"),
        "{}",
        run.stdout
    );
    let run = run.again(&["mcp", "get", "docs"], None).expect_exit(0);
    assert!(
        run.stdout.contains("command: npx") && !run.stdout.contains("secret-8"),
        "{}",
        run.stdout
    );
    let run = run.again(&["mcp", "remove", "docs"], None).expect_exit(0);
    let run = run.again(&["mcp", "get", "docs"], None).expect_exit(1);
    assert!(
        run.stderr.contains("there is no MCP server"),
        "{}",
        run.stderr
    );
    for (words, part) in [
        (vec!["mcp", "add", "a b", "--", "x"], "letters"),
        (vec!["mcp", "add", "x"], "needs a command"),
        (
            vec!["mcp", "add", "x", "--url", "http://y", "--", "z"],
            "not both",
        ),
    ] {
        let failed = Agent::new().model(vec![]).start(&words, None).finish();
        assert!(
            failed.code != 0 && failed.stderr.contains(part),
            "{words:?}: {}",
            failed.stderr
        );
    }
}
