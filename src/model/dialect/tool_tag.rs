//! `<read_file><path>a.rs</path></read_file>`: the tool's name is the tag and each argument a tag
//! inside it (Cline and its relatives), and their `<use_mcp_tool>`.
//!
//! Any XML has this shape, so the tag must be an offered tool, every inner tag one of its
//! arguments, and the call the last thing in the message.

use super::parts::{eat, trim_line_ends};
use super::{Cx, Form, Piece, Written, after, before, position};
use crate::model::ToolSpec;
use serde_json::{Map, Value};

pub(super) const FORM: Form = Form {
    name: "tool-tag",
    openers: &[],
    ends: &[],
    find,
};

const MCP: &str = "use_mcp_tool";
const MCP_KEYS: [&str; 3] = ["server_name", "tool_name", "arguments"];

/// The most calls in a row.
const MOST_CALLS: usize = 32;

fn find(text: &str, from: usize, cx: &Cx) -> Option<Piece> {
    let tags = cx.tools.iter().map(|tool| format!("<{}>", tool.name));
    let tags = tags.chain([format!("<{MCP}>")]).collect::<Vec<_>>();
    let tags = tags.iter().map(String::as_str).collect::<Vec<_>>();
    let spot = position::tag(text, from, &tags)?;
    let mut calls = Vec::new();
    let mut end = spot.end - spot.opener.len();
    while let Some((call, next)) = call(text, end, cx).filter(|_| calls.len() < MOST_CALLS) {
        calls.push(call);
        end = next;
    }
    let end = position::skip_noise(text, end, spot.fenced);
    let last = after(text, end).trim().is_empty();
    (last && !calls.is_empty()).then_some(Piece {
        span: spot.start..end,
        calls,
        trouble: None,
        tagged: true,
    })
}

/// The call at `at`, and where it ends.
fn call(text: &str, at: usize, cx: &Cx) -> Option<(Written, usize)> {
    let of_tool = |tool: &ToolSpec| {
        let schema = tool.schema();
        let properties = schema.get("properties").and_then(Value::as_object);
        let keys = properties.into_iter().flat_map(|p| p.keys());
        let keys = keys.map(String::as_str).collect::<Vec<_>>();
        let (arguments, end) = block(text, at, &tool.name, &keys)?;
        let needs = schema.get("required").and_then(Value::as_array);
        let idle = arguments.is_empty() && needs.is_some_and(|n| !n.is_empty());
        let arguments = Value::Object(arguments).to_string();
        (!idle).then(|| (tool.name.clone(), arguments, end))
    };
    let of_mcp = || {
        let (mut arguments, end) = block(text, at, MCP, &MCP_KEYS)?;
        let mut part = |key: &str| Some(arguments.remove(key)?.as_str()?.trim().to_owned());
        let name = format!("mcp__{}__{}", part("server_name")?, part("tool_name")?);
        let arguments = part("arguments").unwrap_or_else(|| "{}".into());
        Some((name, arguments, end))
    };
    let (name, arguments, end) = cx.tools.iter().find_map(of_tool).or_else(of_mcp)?;
    let raw = after(before(text, end), at);
    Some((Written::tagged(&name, arguments, raw), end))
}

/// The values in the tag at `at` when its inner tags are all among `keys`, and where it ends.
fn block(text: &str, at: usize, tag: &str, keys: &[&str]) -> Option<(Map<String, Value>, usize)> {
    let close = format!("</{tag}>");
    let mut arguments = Map::new();
    let mut at = eat(text, at, &format!("<{tag}>"))?;
    loop {
        if let Some(end) = eat(text, at, &close) {
            return Some((arguments, end));
        }
        let (key, start) = keys
            .iter()
            .find_map(|key| Some((*key, eat(text, at, &format!("<{key}>"))?)))?;
        let end_tag = format!("</{key}>");
        let goes_on = |end: usize| {
            let next = |key: &&str| eat(text, end, &format!("<{key}>")).is_some();
            eat(text, end, &close).is_some() || keys.iter().any(next)
        };
        let (length, end) = after(text, start)
            .match_indices(&end_tag)
            .map(|(length, _)| (length, start + length + end_tag.len()))
            .find(|(_, end)| goes_on(*end))?;
        let value = trim_line_ends(before(after(text, start), length));
        arguments.insert(key.to_owned(), value.into());
        at = end;
    }
}
