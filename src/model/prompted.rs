//! Tools without a server's help: described in the system prompt, called and answered as text.
//!
//! For servers and templates that take no tools. The form is Qwen3-Coder's XML, which needs no
//! escaping of code and which even small models keep to; [`dialect`](super::dialect) reads it. A
//! transcript stays neutral: each item becomes text by itself, so the prompt stays append-only.

use super::arguments::expected;
use super::{Assistant, CallKind, Item, Part, Request, ToolCall, ToolInput, ToolSpec};
use serde_json::{Map, Value};

/// The most characters of a description that are shown.
const TOOL_WORDS: usize = 400;
const ARGUMENT_WORDS: usize = 160;

/// What is asked of the model. The form is shown once, the tools follow.
const HOW: &str = "\
# Tools

To call a tool, end your reply with one block of exactly this form:

<tool_call>
<function=NAME>
<parameter=KEY>
VALUE
</parameter>
</function>
</tool_call>

Values stand as they are, over as many lines as they need, without quotes or escapes. One call in a reply, and nothing after it. Its result comes in the next message between <tool_response> and </tool_response>. When the task is done, answer in words without such a block. These tools exist, and no others:
";

/// A request with its tools and calls as text.
#[derive(Debug)]
pub struct Prompted {
    /// The system prompt with the tools.
    pub system: String,
    items: Vec<Item>,
}

impl Prompted {
    /// The text form of what a request would hold.
    pub fn new(system: &str, tools: &[ToolSpec], items: &[&Item]) -> Self {
        Prompted {
            system: system_text(system, tools),
            items: items.iter().map(|item| as_text(item)).collect(),
        }
    }

    /// Puts the text form in the place of tools and calls.
    pub fn put_into<'a>(&'a self, request: &mut Request<'a>) {
        request.tools = &[];
        request.system = &self.system;
        request.items = self.items.iter().collect();
        // A small model goes on and invents the result of its call.
        request.sampling.stop.push("<tool_response>".into());
    }
}

/// The system prompt followed by the description of the tools.
pub fn system_text(system: &str, tools: &[ToolSpec]) -> String {
    let mut out = String::from(system.trim_end());
    if !out.is_empty() {
        out.push_str("\n\n");
    }
    out.push_str(HOW);
    for tool in tools {
        out.push_str(&format!(
            "\n## {}\n{}\n",
            tool.name,
            first_words(&tool.description, TOOL_WORDS)
        ));
        let schema = match &tool.input {
            ToolInput::Function(schema) => schema.clone(),
            ToolInput::Freeform { .. } => tool.schema(),
        };
        let properties = schema.get("properties").and_then(Value::as_object);
        for (key, property) in properties.into_iter().flatten() {
            out.push_str(&parameter(key, property, &schema));
        }
    }
    out
}

/// One line about an argument.
fn parameter(key: &str, property: &Value, schema: &Value) -> String {
    let required = schema.get("required").and_then(Value::as_array);
    let must = required.is_some_and(|r| r.iter().any(|k| k == key));
    let must = if must { "" } else { ", optional" };
    let words = property.get("description").and_then(Value::as_str);
    let words = match words {
        Some(words) => format!(": {}", first_words(words, ARGUMENT_WORDS)),
        None => String::new(),
    };
    format!("- {key} ({}{must}){words}\n", expected(property))
}

/// The first paragraph on one line, cut at a word.
fn first_words(text: &str, most: usize) -> String {
    let paragraph = text.trim().split("\n\n").next().unwrap_or_default();
    let line = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(most) {
        Some((at, _)) => {
            let cut = line.get(..at).unwrap_or_default();
            format!("{} …", cut.rsplit_once(' ').map_or(cut, |(cut, _)| cut))
        }
        None => line,
    }
}

fn as_text(item: &Item) -> Item {
    match item {
        Item::Assistant(a) if !a.calls.is_empty() => {
            let mut text = a.text.trim_end().to_owned();
            for call in &a.calls {
                if !text.is_empty() {
                    text.push('\n');
                }
                text.push_str(&call_text(call));
            }
            Item::Assistant(Assistant {
                reasoning: a.reasoning.clone(),
                text,
                calls: Vec::new(),
            })
        }
        Item::ToolResult(result) => {
            let mut content = vec![Part::text("<tool_response>")];
            content.extend(result.content.iter().cloned());
            content.push(Part::text("</tool_response>"));
            Item::User { content }
        }
        other => other.clone(),
    }
}

/// A call in the form that the model was asked for.
pub fn call_text(call: &ToolCall) -> String {
    let mut out = format!("<tool_call>\n<function={}>\n", call.name);
    let arguments = match call.kind {
        CallKind::Function => serde_json::from_str(&call.arguments).unwrap_or_default(),
        CallKind::Freeform => Map::from_iter([("input".to_owned(), call.arguments.clone().into())]),
    };
    for (key, value) in &arguments {
        let value = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        out.push_str(&format!("<parameter={key}>\n{value}\n</parameter>\n"));
    }
    out.push_str("</function>\n</tool_call>");
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::arguments::tests::tools;
    use crate::model::dialect::{self, Finding, Surroundings};
    use crate::model::{Finish, Reply, Timing, ToolResult};

    fn call(name: &str, arguments: &str) -> ToolCall {
        ToolCall {
            id: "c".into(),
            name: name.into(),
            arguments: arguments.into(),
            kind: CallKind::Function,
            recovered: false,
        }
    }

    #[test]
    fn what_is_written_into_the_history_is_read_from_a_reply() {
        let arguments =
            r#"{"path":"a.rs","old":"if a < b {\n  \"x\"\n}","new":"y</parameter>\nz","all":true}"#;
        let text = call_text(&call("edit_file", arguments));
        let reply = Reply {
            assistant: Assistant {
                text,
                ..Assistant::default()
            },
            finish: Finish::Stop,
            usage: None,
            timing: Timing::default(),
        };
        let around = Surroundings {
            user_texts: &["go"],
            tool_texts: &[],
            enforced: true,
            interactive: false,
        };
        let Finding::Calls(found) = dialect::recover(&tools(), &reply, &around) else {
            panic!("the call is read");
        };
        assert_eq!(found.calls[0].arguments, arguments);
    }

    #[test]
    fn every_tool_and_argument_is_told_and_items_become_text() {
        let result = Item::ToolResult(ToolResult {
            call_id: "c".into(),
            name: "bash".into(),
            content: vec![Part::text("a.rs")],
            is_error: false,
            kind: CallKind::Function,
        });
        let assistant = Item::Assistant(Assistant {
            text: "I look.".into(),
            calls: vec![call("bash", r#"{"command":"ls"}"#)],
            ..Assistant::default()
        });
        let view = Prompted::new("Be brief.", &tools(), &[&assistant, &result]);
        assert!(view.system.starts_with("Be brief.\n\n# Tools\n"));
        for part in [
            "## read_file\n",
            "- path (string)",
            "- limit (integer, optional)",
        ] {
            assert!(view.system.contains(part), "{}", view.system);
        }
        assert_eq!(
            view.items[0].text(),
            "I look.\n<tool_call>\n<function=bash>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>"
        );
        assert!(matches!(view.items[1], Item::User { .. }));
        assert_eq!(
            view.items[1].text(),
            "<tool_response>\na.rs\n</tool_response>"
        );
    }
}
