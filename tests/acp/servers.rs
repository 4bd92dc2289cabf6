//! MCP servers that the editor brings.

use super::*;

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/mcp_server.py");

/// Names are free text there, and one bad server holds nothing up.
#[test]
fn servers_of_the_editor_are_connected() {
    let program = |name: &str, log: &str| json!({"name": name, "command": "python3", "args": [SERVER, log], "env": [{"name": "FROM", "value": "editor-9"}]});
    let scratch = tempfile::tempdir().expect("a folder");
    let port_file = scratch.path().join("port");
    let mut remote = std::process::Command::new("python3")
        .args([SERVER.as_ref(), scratch.path().join("log").as_os_str()])
        .arg("--http")
        .arg(&port_file)
        .args(["--token", "sesame"])
        .spawn()
        .expect("python3");
    let began = Instant::now();
    while !port_file.exists() {
        assert!(began.elapsed() < Duration::from_secs(20), "no server");
        std::thread::sleep(Duration::from_millis(10));
    }
    let port = std::fs::read_to_string(&port_file).expect("a port");
    let servers = json!([
        program("my tools", "../a.log"),
        program("my/tools", "../b.log"),
        {"type": "http", "name": "far", "url": format!("http://127.0.0.1:{port}/mcp"),
         "headers": [{"name": "Authorization", "value": "Bearer sesame"}]},
        {"name": "broken", "command": "no-such-program-9", "args": [], "env": []},
        {"name": "slow", "command": "sleep", "args": ["60"], "env": []},
    ]);
    let steps = script![
        call("mcp__my_tools__environment", json!({})),
        call("mcp__my_tools_2__ping", json!({})),
        call("mcp__far__add", json!({"a": 40, "b": 2})),
        say("done")
    ];
    let mut editor = Editor::start(agent(steps));
    let cwd = editor.running.home.path().join("ws");
    let began = Instant::now();
    let answer = editor.ask("session/new", json!({"cwd": cwd, "mcpServers": servers}));
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "{:?}",
        began.elapsed()
    );
    let session = answer["result"]["sessionId"]
        .as_str()
        .expect("an id")
        .to_owned();
    assert_eq!(stop(&editor.prompt(&session, "go")), "end_turn");
    let requests = editor.running.server.requests();
    let text = support::strict::all_text(&requests.last().expect("requests").body);
    for part in ["editor-9", "pong", "the sum is 42"] {
        assert!(text.contains(part), "no {part} in {text}");
    }
    let titles: Vec<String> = calls(&editor.updates(&session, 0))
        .into_iter()
        .map(|c| c.0)
        .collect();
    assert_eq!(
        titles,
        ["my_tools/environment", "my_tools_2/ping", "far/add"]
    );
    assert_eq!(editor.leave().0, 0);
    let _ = remote.kill();
    let _ = remote.wait();
}
