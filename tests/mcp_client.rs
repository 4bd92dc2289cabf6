//! MCP servers as a source of tools: a scripted server, a scripted model, and what came of it.
#![cfg(unix)]

#[path = "mcp_client/commands.rs"]
mod commands;
#[path = "mcp_client/forms.rs"]
mod forms;
#[path = "mcp_client/http.rs"]
mod http;
#[path = "mcp_client/stdio.rs"]
mod stdio;
mod support;

use serde_json::Value;
use std::path::{Path, PathBuf};
use support::{Run, strict};

/// The program of the scripted server.
const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/mcp_server.py");

/// The table of a server in the config; its log is beside the workspace.
fn server(name: &str, options: &[&str], more: &str) -> String {
    let log = format!("../{name}.log");
    let words: Vec<&str> = [SERVER, &log]
        .into_iter()
        .chain(options.iter().copied())
        .collect();
    format!("[mcp_servers.{name}]\ncommand = \"python3\"\nargs = {words:?}\n{more}\n")
}

fn log_file(run: &Run, name: &str) -> PathBuf {
    run.workspace().join(format!("../{name}.log"))
}

/// What the server logged under a key.
fn logged(log: &Path, key: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    lines.filter_map(|line| line.get(key).cloned()).collect()
}

/// The messages of one method that the server got.
fn got(log: &Path, method: &str) -> Vec<Value> {
    let mut all = logged(log, "got");
    all.retain(|message| message["method"] == method);
    all
}

/// The names of the tools in a request, from 1.
fn tools(run: &Run, request: usize) -> Vec<String> {
    let all = strict::tools(&run.server.requests()[request - 1].body);
    all.into_iter().map(|(name, _)| name).collect()
}

/// Waits until a process is gone.
fn is_gone(pid: &str) -> bool {
    let end = std::time::Instant::now() + std::time::Duration::from_secs(5);
    while std::time::Instant::now() < end {
        let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let dead = status.is_empty() || status.contains(") Z ");
        if dead && cfg!(target_os = "linux") {
            return true;
        }
        if !cfg!(target_os = "linux") {
            let alive = std::process::Command::new("kill")
                .args(["-0", pid])
                .status();
            if !alive.is_ok_and(|s| s.success()) {
                return true;
            }
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    false
}
