//! The servers of further tools, for the person.

use super::Desk;
use super::trust::waiting;
use crate::agent::brought::STARTS_SERVER;
use crate::cli::render::sanitize::one_line;
use crate::words::head;
use std::fmt::Write;

/// The most characters of what a tool does.
const GIST: usize = 100;

/// How each server stands; with `tools`, also what the model can call.
pub(super) fn mcp(desk: &Desk, words: &str) -> String {
    let status = desk.session.mcp_status();
    let waiting = waiting(desk, STARTS_SERVER);
    let width = status.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (name, state) in &status {
        let _ = writeln!(text, "{:width$}  {}", one_line(name), one_line(state));
    }
    for line in &waiting {
        let _ = writeln!(text, "{line}");
    }
    if !waiting.is_empty() {
        text.push_str("/trust shows what the project brings and lets you trust it\n");
    }
    if status.is_empty() {
        return match waiting.is_empty() {
            true => "no MCP server is configured (interpreter mcp add NAME -- COMMAND)".into(),
            false => text.trim_end().to_owned(),
        };
    }
    let tools: Vec<_> = desk.session.mcp_tools().collect();
    match (words, desk.session.mcp_is_searched()) {
        ("tools", _) => {
            for (name, about) in &tools {
                let _ = writeln!(text, "{name}: {}", head(&one_line(about), GIST));
            }
        }
        (_, true) => {
            let _ = writeln!(
                text,
                "{} tools take too much of the window to be shown to the model; it finds them by a search",
                tools.len()
            );
        }
        _ => {
            let _ = writeln!(
                text,
                "{} tools are offered since the last turn (/mcp tools lists them)",
                tools.len()
            );
        }
    }
    text.trim_end().to_owned()
}
