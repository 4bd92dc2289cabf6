//! A conversation as Markdown, for people.

use super::record::{self, TurnContext};
use super::session::Session;
use super::transcript::Transcript;
use crate::harnesses::{self, Harness, Start};
use crate::model::{Item, Part, ToolCall};
use crate::store::rollout;
use serde::Deserialize;
use serde_json::Value;

impl Session {
    /// The model's latest words.
    pub fn last_answer(&self) -> Option<&str> {
        let items = self.transcript.items().iter().rev();
        items
            .filter_map(|item| match item {
                Item::Assistant(reply) => Some(reply.text.trim()),
                _ => None,
            })
            .find(|text| !text.is_empty())
    }

    /// The whole conversation as Markdown: what was said, each call with its result. What a
    /// compaction took out of the prompt stands in the session's file, and so it is here.
    ///
    /// # Errors
    /// When the session's file cannot be read.
    pub fn markdown(&self) -> Result<String, String> {
        let mut out = format!(
            "# {}\n\n{} · {} · harness {} · {}\n",
            self.title.as_deref().unwrap_or("Conversation"),
            self.context.date,
            self.info.model,
            self.info.harness.0,
            self.info.cwd.display()
        );
        match &self.info.file {
            Some(file) => {
                let (records, _) = rollout::read(file).map_err(|e| e.to_string())?;
                tell_records(&records, &mut out);
            }
            None => tell(&self.transcript, self.harness, &self.start, &mut out),
        }
        Ok(out)
    }
}

/// The conversation of a session's file. Each stretch is told by the harness that it had: a new
/// beginning starts the next one.
fn tell_records(records: &[Value], out: &mut String) {
    let stays = |r: &&Value| !matches!(r["type"].as_str(), Some("compacted" | "elided"));
    let records: Vec<Value> = records.iter().filter(stays).cloned().collect();
    let mut start = Start::default();
    let mut harness = harnesses::ALL.first().copied();
    for stretch in records.chunk_by(|_, next| next["type"] != "start") {
        let contexts = stretch.iter().filter(|r| r["type"] == "turn_context");
        let mut contexts = contexts.filter_map(|r| TurnContext::deserialize(&r["payload"]).ok());
        harness = contexts
            .next()
            .and_then(|c| harnesses::by_id(&c.harness))
            .or(harness);
        let restored = record::restore(stretch);
        start = restored.start.unwrap_or(start);
        if let Some(harness) = harness {
            tell(&restored.transcript, harness, &start, out);
        }
    }
}

fn tell(transcript: &Transcript, harness: &dyn Harness, start: &Start, out: &mut String) {
    for (item, mark, _) in transcript.entries() {
        match item {
            Item::User { content } if mark.is_said() => {
                out.push_str("\n## User\n\n");
                for part in content {
                    match part {
                        Part::Text { text } => push(out, harness.spoken(start, text)),
                        Part::Image { .. } => push(out, "*(a picture)*"),
                    }
                }
            }
            Item::User { .. } => fenced(out, &item.text()),
            Item::Assistant(reply) => {
                out.push_str("\n## Assistant\n\n");
                push(out, &reply.text);
                reply.calls.iter().for_each(|call| tell_call(call, out));
            }
            Item::ToolResult(_) => fenced(out, &item.text()),
            Item::Developer { .. } => {}
        }
    }
}

fn tell_call(call: &ToolCall, out: &mut String) {
    let arguments = match serde_json::from_str::<Value>(&call.arguments) {
        Ok(Value::Object(fields)) if !fields.is_empty() => {
            let line = |(name, value): (&String, &Value)| match value.as_str() {
                Some(text) => format!("{name}: {text}"),
                None => format!("{name}: {value}"),
            };
            fields.iter().map(line).collect::<Vec<_>>().join("\n")
        }
        _ => call.arguments.clone(),
    };
    push(out, &format!("**{}**", call.name));
    fenced(out, &arguments);
}

/// A paragraph, if there is anything in it.
fn push(out: &mut String, text: &str) {
    let text = text.trim();
    if !text.is_empty() {
        out.push_str(text);
        out.push_str("\n\n");
    }
}

/// A block that its own text cannot end.
fn fenced(out: &mut String, text: &str) {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    out.push_str(&format!("{fence}\n{}\n{fence}\n\n", text.trim_end()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::transcript::Mark;
    use crate::model::{Assistant, CallKind, ToolResult};
    use serde_json::json;

    #[test]
    fn all_that_was_said_and_done_is_told_and_no_fence_is_broken() {
        let call = ToolCall {
            id: "c1".into(),
            name: "read".into(),
            arguments: json!({"path": "a.md", "lines": 3}).to_string(),
            kind: CallKind::Function,
            recovered: false,
        };
        let items = [
            (Item::user("look"), Mark::Task),
            (
                Item::Assistant(Assistant {
                    text: "I look.".into(),
                    calls: vec![call],
                    ..Assistant::default()
                }),
                Mark::Plain,
            ),
            (
                Item::ToolResult(ToolResult {
                    call_id: "c1".into(),
                    name: "read".into(),
                    content: vec![Part::text("```sh\nls\n```")],
                    is_error: false,
                    kind: CallKind::Function,
                }),
                Mark::Answer,
            ),
        ];
        let mut lines = vec![record::line("session_meta", json!({"id": "x"}))];
        for (item, mark) in &items {
            lines.extend(record::item_lines(item, 0, *mark));
        }
        // What a compaction leaves is no second telling.
        lines.push(record::compacted_line("sum", &Transcript::default(), 1));
        lines.extend(record::item_lines(&Item::user("more"), 1, Mark::Task));
        let mut out = String::new();
        tell_records(&lines, &mut out);
        assert_eq!(
            out,
            "\n## User\n\nlook\n\n\n## Assistant\n\nI look.\n\n**read**\n\n```\npath: a.md\nlines: 3\n```\n\n\
             ````\n```sh\nls\n```\n````\n\n\n## User\n\nmore\n\n"
        );
    }
}
