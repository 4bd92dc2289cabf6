//! Another harness in the middle of a session: the same conversation, told in other calls.

use super::event::{Event, Frontend};
use super::open::known_harness;
use super::record;
use super::session::{Session, fixed_size};
use super::transcript::{Mark, Transcript};
use crate::harnesses::{Harness, Start, State};
use crate::model::{Assistant, CallKind, Item, Part, ToolCall, ToolInput, ToolResult};
use crate::words::head;

/// Bytes of a call's arguments in the line of text that stands for it.
const TOLD: usize = 400;

impl Session {
    /// Goes on with another harness.
    ///
    /// # Errors
    /// A sentence: there is no such harness, or it is in use already.
    pub fn change_harness(&mut self, id: &str, front: &mut dyn Frontend) -> Result<(), String> {
        let new = known_harness(id)?;
        if new.id() == self.harness.id() {
            return Err(format!("the harness is {id} already"));
        }
        self.go_on_in(new, front);
        Ok(())
    }

    /// The prompt and tools of that harness from now on, and everything that was done so far in its
    /// own calls. A call that it has no tool for becomes a line of text. The server's cache is lost
    /// once.
    pub(super) fn go_on_in(&mut self, new: &'static dyn Harness, front: &mut dyn Frontend) {
        let start = new.begin(&self.context);
        let (transcript, told) =
            converted(&self.transcript, (self.harness, &self.start), (new, &start));
        self.state = State {
            plan: std::mem::take(&mut self.state.plan),
            planning: self.state.planning,
            ..start.state.clone()
        };
        self.harness = new;
        self.info.harness.0 = new.id();
        self.transcript = transcript;
        self.start = start;
        self.text_form = None;
        self.budget.begin_with(fixed_size(&self.start));
        self.set_tool_mode(self.tool_mode);
        self.prefix_event();
        self.record_turn_context();
        self.record(&[
            record::line("start", &self.start),
            record::compacted_line("", &self.transcript, self.next_reply),
        ]);
        self.next_reply += self.transcript.steps().len() as u64;
        self.record_state();
        let told = match told {
            0 => String::new(),
            n => format!("; {n} earlier calls have no counterpart in it and are told as text"),
        };
        front.event(&Event::Note(format!(
            "the harness is {} now{told}",
            new.id()
        )));
    }
}

/// The conversation in the calls of another harness, and how many calls became text.
fn converted(
    old: &Transcript,
    (from, began): (&dyn Harness, &Start),
    (to, start): (&dyn Harness, &Start),
) -> (Transcript, usize) {
    let mut out = Transcript::default();
    let mut told: Vec<String> = Vec::new();
    // Results must follow their calls at once, so those that became text wait for the others.
    let mut behind: Vec<(Item, Mark)> = Vec::new();
    let mut names: Vec<(String, String)> = Vec::new();
    let mut count = 0;
    for (item, mark, _) in old.entries() {
        if let Item::ToolResult(result) = item {
            if told.contains(&result.call_id) {
                behind.push((result_as_text(result), Mark::Answer));
            } else {
                out.push(Item::ToolResult(renamed(result, &names)), mark);
            }
            continue;
        }
        for (item, mark) in behind.drain(..) {
            out.push(item, mark);
        }
        match item {
            Item::Assistant(reply) => {
                told.clear();
                names.clear();
                let mut reply = reply.clone();
                let calls = std::mem::take(&mut reply.calls);
                for call in calls {
                    match rewritten(&call, from, (to, start)) {
                        Some(new) => {
                            names.push((call.id, new.name.clone()));
                            reply.calls.push(new);
                        }
                        None => {
                            count += 1;
                            add_line(&mut reply, &call);
                            told.push(call.id);
                        }
                    }
                }
                out.push(Item::Assistant(reply), mark);
            }
            Item::User { content } if matches!(mark, Mark::Words | Mark::Task) => {
                let mut content = content.clone();
                if let Some(Part::Text { text }) = content.last_mut() {
                    *text = from.spoken(began, text).to_owned();
                }
                out.push(Item::User { content }, mark);
            }
            other => out.push(other.clone(), mark),
        }
    }
    for (item, mark) in behind {
        out.push(item, mark);
    }
    (out, count)
}

/// The call of the other harness that asks for the same, if its surface shows the tool.
fn rewritten(
    call: &ToolCall,
    from: &dyn Harness,
    (to, start): (&dyn Harness, &Start),
) -> Option<ToolCall> {
    let action = from.action(call).ok()?;
    let (name, arguments) = to.write(&action)?;
    let tool = start.tools.iter().find(|tool| tool.name == name)?;
    let (kind, arguments) = match &tool.input {
        ToolInput::Function(_) => (CallKind::Function, arguments.to_string()),
        ToolInput::Freeform { .. } => {
            let text = arguments.get("input")?.as_str()?;
            (CallKind::Freeform, text.to_owned())
        }
    };
    Some(ToolCall {
        id: call.id.clone(),
        name: name.to_owned(),
        arguments,
        kind,
        recovered: false,
    })
}

fn renamed(result: &ToolResult, names: &[(String, String)]) -> ToolResult {
    let mut result = result.clone();
    if let Some((_, name)) = names.iter().find(|(id, _)| *id == result.call_id) {
        result.name.clone_from(name);
    }
    result
}

fn add_line(reply: &mut Assistant, call: &ToolCall) {
    if !reply.text.is_empty() {
        reply.text.push('\n');
    }
    let arguments = head(&call.arguments, TOLD);
    reply
        .text
        .push_str(&format!("[I called {} with {arguments}]", call.name));
}

fn result_as_text(result: &ToolResult) -> Item {
    let mut content = vec![Part::text(format!("Result of {}:", result.name))];
    content.extend(result.content.iter().cloned());
    Item::User { content }
}
