//! The tools that a server offers.

use super::super::transport::McpError;
use super::{Client, Limits};
use crate::jsonrpc::code;
use serde_json::{Value, json};
use std::time::Instant;

/// The most pages of a list, and the most tools of a server.
const MOST_PAGES: usize = 50;
const MOST_TOOLS: usize = 1_000;

/// A tool as its server offers it.
#[derive(Debug, Clone, PartialEq)]
pub struct Offer {
    /// Its name on that server.
    pub name: String,
    /// What it does; may be empty.
    pub description: String,
    /// The JSON Schema of its arguments, as it came.
    pub schema: Value,
    /// The server says that it changes nothing.
    pub read_only: bool,
}

impl Client {
    /// The tools, on as many pages as they have. One that is malformed is left out.
    pub(in crate::tools::mcp) fn list(&self, limits: Limits) -> Result<Vec<Offer>, McpError> {
        let began = Instant::now();
        let (mut offers, mut cursor, mut seen) = (Vec::new(), None::<String>, Vec::new());
        for _ in 0..MOST_PAGES {
            let params = match &cursor {
                Some(cursor) => json!({ "cursor": cursor }),
                None => json!({}),
            };
            let time = limits.time.saturating_sub(began.elapsed());
            let page = match self.request("tools/list", params, Limits { time, ..limits }) {
                // It has none and says so in this way.
                Err(McpError::Fault(f))
                    if f.code == code::METHOD_NOT_FOUND && offers.is_empty() =>
                {
                    return Ok(offers);
                }
                page => page.map_err(|e| self.explained(e))?,
            };
            let tools = page.get("tools").and_then(Value::as_array);
            offers.extend(tools.into_iter().flatten().filter_map(offer));
            offers.truncate(MOST_TOOLS);
            let next = page.get("nextCursor").and_then(Value::as_str);
            let Some(next) = next.filter(|c| !c.is_empty()).map(str::to_owned) else {
                break;
            };
            // The same place twice is a circle.
            if seen.contains(&next) || offers.len() == MOST_TOOLS {
                break;
            }
            seen.push(next.clone());
            cursor = Some(next);
        }
        Ok(offers)
    }
}

/// A tool, if it is one that can be called.
fn offer(tool: &Value) -> Option<Offer> {
    let text = |value: Option<&Value>| {
        value
            .and_then(Value::as_str)
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    let name = tool
        .get("name")
        .and_then(Value::as_str)
        .filter(|n| !n.is_empty())?;
    let hints = tool.get("annotations");
    // It can be called as a task only, which we do not speak.
    if tool
        .pointer("/execution/taskSupport")
        .and_then(Value::as_str)
        == Some("required")
    {
        return None;
    }
    let title = [
        text(tool.get("description")),
        text(tool.get("title")),
        text(hints.and_then(|h| h.get("title"))),
    ];
    Some(Offer {
        name: name.to_owned(),
        description: title
            .into_iter()
            .find(|t| !t.is_empty())
            .unwrap_or_default(),
        schema: tool.get("inputSchema").cloned().unwrap_or_default(),
        read_only: hints.and_then(|h| h.get("readOnlyHint")) == Some(&Value::Bool(true)),
    })
}
