//! The tool surface of a harness, read from its `tools.json`.
//!
//! An entry is `{"name", "description", "short"?, "from"?, "needs"?, "parameters"}`. `short` replaces
//! the description below size full; `from` is the smallest size that shows the tool (default `tiny`);
//! `needs` (`person`, `nesting`, `web`, `skills`) leaves it out where it could not work.
//! A `deferred` one is not shown, but found by the harness's search for tools, and called by its name;
//! only at size full, where that search is shown.
//! Descriptions of properties are shown from compact on; names, types and order never change.
//! An entry without `parameters` takes free text in the grammar of the harness.

use super::fill_facts;
use crate::harnesses::{CallError, Context, Size, Start};
use crate::model::arguments;
use crate::model::{ToolInput, ToolSpec};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Entry {
    name: String,
    description: String,
    short: Option<String>,
    #[serde(default = "tiny")]
    from: Size,
    needs: Option<Need>,
    #[serde(default)]
    deferred: bool,
    parameters: Option<Value>,
}

/// What must be there for a tool to work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Need {
    /// A person who can be asked.
    Person,
    /// A place for a nested agent: nested agents have none of their own.
    Nesting,
    /// A skill.
    Skills,
    /// The web: the run is not offline, and its pages are let through or somebody can be asked.
    Web,
}

impl Need {
    /// Why the tool cannot work in this session; `None`: it can.
    fn missing(self, cx: &Context) -> Option<&'static str> {
        match self {
            Need::Person if !cx.interactive => Some("nobody can be asked in this run"),
            Need::Nesting if cx.depth > 0 => Some("a nested agent starts no others"),
            Need::Skills if cx.skills.is_empty() => Some("there are no skills"),
            Need::Web if cx.offline => Some("this run is offline"),
            Need::Web if !gets_pages(cx) => {
                Some("a page of the web would have to be asked about, and nobody can be asked")
            }
            _ => None,
        }
    }
}

/// True when a page of the web is fetched without a question, or after one.
fn gets_pages(cx: &Context) -> bool {
    let asks = !cx.sandbox.network || cx.sandbox.approval == "untrusted";
    !asks || cx.interactive && cx.sandbox.approval != "never"
}

/// Why a deferred tool is not shown.
pub const DEFERRED: &str = "works, and is not shown before it is needed: the search for tools finds it, as in the original";

fn tiny() -> Size {
    Size::Tiny
}

fn entries(json: &str) -> Vec<Entry> {
    serde_json::from_str(json).expect("tools.json is part of the program and read by its tests")
}

/// The beginning of a session with the tools of that surface that work here and are shown at its
/// size; system and opening are still empty. `grammar` is that of the freeform tools; `never` are
/// the tools of the original that this program has no handler for, each with the reason.
pub fn start(json: &str, grammar: &str, never: &[(&str, &str)], cx: &Context) -> Start {
    let mut left_out: Vec<(String, String)> = never
        .iter()
        .map(|(name, why)| ((*name).to_owned(), (*why).to_owned()))
        .collect();
    let (mut tools, mut deferred) = (Vec::new(), Vec::new());
    for entry in entries(json) {
        let small = (cx.size < entry.from).then(|| format!("not shown at size {}", cx.size.name()));
        let missing = entry.needs.and_then(|need| need.missing(cx));
        match missing.map(str::to_owned).or(small) {
            Some(why) => left_out.push((entry.name, why)),
            None if entry.deferred && cx.size < Size::Full => {
                left_out.push((entry.name, format!("not found at size {}", cx.size.name())));
            }
            None if entry.deferred => {
                left_out.push((entry.name.clone(), DEFERRED.into()));
                deferred.push(spec(entry, grammar, cx));
            }
            None => tools.push(spec(entry, grammar, cx)),
        }
    }
    Start {
        tools,
        deferred,
        left_out,
        ..Start::default()
    }
}

/// Leaves only the tools of these names, in this order; the others are left out for the reason `why`.
pub fn keep_only(start: &mut Start, names: &[&str], why: &str) {
    let (mut kept, gone): (Vec<ToolSpec>, Vec<ToolSpec>) = std::mem::take(&mut start.tools)
        .into_iter()
        .partition(|tool| names.contains(&tool.name.as_str()));
    kept.sort_by_key(|tool| names.iter().position(|name| *name == tool.name));
    start.tools = kept;
    start.deferred.clear();
    let gone = gone.into_iter().map(|tool| (tool.name, why.to_owned()));
    start.left_out.extend(gone);
}

fn spec(entry: Entry, grammar: &str, cx: &Context) -> ToolSpec {
    {
        let words = entry
            .short
            .filter(|_| cx.size < Size::Full)
            .unwrap_or(entry.description);
        let input = match entry.parameters {
            Some(mut schema) => {
                if cx.size == Size::Tiny {
                    strip(&mut schema);
                }
                ToolInput::Function(schema)
            }
            None => ToolInput::Freeform {
                grammar: grammar.to_owned(),
            },
        };
        ToolSpec {
            name: entry.name,
            description: fill_facts(&words, cx, &[]),
            input,
        }
    }
}

/// Takes the descriptions out of a schema. A property that is itself named `description` stays.
fn strip(schema: &mut Value) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    object.shift_remove("description");
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        properties.values_mut().for_each(strip);
    }
    if let Some(items) = object.get_mut("items") {
        strip(items);
    }
}

/// How a call of `tool` looks: `{"path": string, "limit"?: number}`.
pub fn expected(json: &str, tool: &str) -> String {
    entries(json)
        .into_iter()
        .find(|entry| entry.name == tool)
        .and_then(|entry| entry.parameters)
        .map_or_else(|| "free text".into(), |schema| arguments::expected(&schema))
}

/// True when this surface has a tool of that name.
pub fn has(json: &str, name: &str) -> bool {
    entries(json).iter().any(|entry| entry.name == name)
}

/// The error for a tool that this surface does not have.
pub fn unknown(json: &str, name: &str) -> CallError {
    CallError::UnknownTool {
        name: name.to_owned(),
        available: entries(json).into_iter().map(|entry| entry.name).collect(),
        nearest: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn stripping_keeps_a_property_named_description() {
        let mut schema = json!({"description": "x", "properties": {
            "description": {"type": "string", "description": "y"}}});
        strip(&mut schema);
        assert_eq!(
            schema,
            json!({"properties": {"description": {"type": "string"}}})
        );
    }
}
