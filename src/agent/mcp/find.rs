//! Tools that would take more than their share of the window: two functions stand for all those of
//! MCP servers, one that finds and one that calls. Those of a harness have its own search.

use super::{CALL, FIND, is_mcp};
use crate::agent::session::Session;
use crate::model::{ToolInput, ToolSpec};
use crate::tools::action::Outcome;
use crate::words::{head, likeness};
use serde_json::{Value, json};

/// The most tools that a search gives back, and how many it does unless asked.
pub(super) const MOST_FOUND: usize = 20;
pub(super) const FOUND: usize = 5;

impl Session {
    /// The two functions that stand for tools which are not shown.
    pub(super) fn stand_ins(&self) -> Vec<ToolSpec> {
        let mut counts: Vec<(&str, usize)> = Vec::new();
        for tool in &self.mcp.tools {
            match counts.iter_mut().find(|(name, _)| *name == tool.server) {
                Some((_, count)) => *count += 1,
                None => counts.push((&tool.server, 1)),
            }
        }
        let servers: Vec<String> = counts
            .iter()
            .map(|(name, n)| format!("{name} ({n} tools)"))
            .collect();
        let function = |name: &str, description: String, schema: Value| ToolSpec {
            name: name.into(),
            description,
            input: ToolInput::Function(schema),
        };
        vec![
            function(
                FIND,
                format!(
                    "Finds further tools, with how they are called. They come from the MCP servers {}. Look here before you say that something cannot be done.",
                    servers.join(", ")
                ),
                json!({"type": "object", "properties": {
                    "query": {"type": "string", "description": "What the tool shall do, in a few words, or its name"},
                    "limit": {"type": "integer", "description": "The most tools to give back (default 5)"},
                }, "required": ["query"]}),
            ),
            function(
                CALL,
                format!("Calls a tool that {FIND} has found."),
                json!({"type": "object", "properties": {
                    "name": {"type": "string", "description": "The name of the tool as it was found"},
                    "arguments": {"type": "object", "description": "Its arguments"},
                }, "required": ["name", "arguments"]}),
            ),
        ]
    }

    /// Finds tools that are not shown.
    pub(in crate::agent) fn find_tools(&self, query: &str, limit: usize, room: usize) -> Outcome {
        let words: Vec<String> = query
            .to_lowercase()
            .split(|c: char| !c.is_alphanumeric())
            .filter(|w| w.len() > 1)
            .map(str::to_owned)
            .collect();
        let score = |spec: &ToolSpec, short: &str| {
            let (name, about) = (spec.name.to_lowercase(), spec.description.to_lowercase());
            let one =
                |word: &String| match (name.contains(word.as_str()), about.contains(word.as_str()))
                {
                    (true, _) => 3.0,
                    (false, true) => 1.0,
                    (false, false) => 0.0,
                };
            words.iter().map(one).sum::<f64>() + likeness(query, short)
        };
        let own = self.start.deferred.iter().map(|t| (t, t.name.as_str()));
        let hidden = self.mcp.tools.iter().map(|t| (&t.spec, t.tool.as_str()));
        let all: Vec<(&ToolSpec, &str)> = own.chain(hidden).collect();
        let mut found: Vec<(f64, &ToolSpec)> = all
            .iter()
            .map(|(spec, short)| (score(spec, short), *spec))
            .collect();
        found.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut text = String::new();
        let mut is_hidden = false;
        for (_, spec) in found
            .into_iter()
            .filter(|(score, _)| *score > 0.5)
            .take(limit)
        {
            let part = json!({"name": spec.name, "description": spec.description, "arguments": spec.schema()});
            let part = format!("{part}\n");
            if text.len() + part.len() > room {
                break;
            }
            text.push_str(&part);
            is_hidden |= is_mcp(&spec.name) && self.mcp.are_hidden;
        }
        if text.is_empty() {
            let names: Vec<&str> = all.iter().map(|(spec, _)| spec.name.as_str()).collect();
            let names = names.join(", ");
            text = format!("No tool fits. There are: {}", head(&names, room.min(4_000)));
        } else if is_hidden {
            text.push_str(&format!("Call one of them with {CALL}."));
        } else {
            text.push_str("Call one of them by its name.");
        }
        Outcome::ToolsFound(text)
    }
}
