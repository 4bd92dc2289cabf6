//! Another harness in the middle of a session: the same conversation, told in other calls.

use super::event::{Event, Frontend};
use super::mcp::is_mcp;
use super::open::known_harness;
use super::record;
use super::session::{Session, begin, fixed_size};
use super::transcript::{Mark, Transcript};
use crate::harnesses::{Harness, Start, State};
use crate::model::{Assistant, CallKind, Item, Part, ToolCall, ToolInput, ToolResult, ToolSpec};
use crate::tools::action::Action;
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
        self.go_on_in(new, &format!("the harness is {} now", new.id()), front);
        Ok(())
    }

    /// The prompt and tools of that harness from now on, and everything that was done so far in its
    /// own calls. A call that it has no tool for becomes a line of text. The server's cache is lost
    /// once. `said` tells the person what is new.
    pub(super) fn go_on_in(
        &mut self,
        new: &'static dyn Harness,
        said: &str,
        front: &mut dyn Frontend,
    ) {
        let told = match self.begin_again(new) {
            0 => String::new(),
            n => format!("; {n} earlier calls have no counterpart in it and are told as text"),
        };
        front.event(&Event::Note(format!("{said}{told}")));
    }

    /// The beginning of that harness in the context of now, and the conversation in its calls.
    /// Gives the number of calls that became text.
    pub(super) fn begin_again(&mut self, new: &'static dyn Harness) -> usize {
        self.agents.end_all();
        self.context.skills = self.skills.listing(self.budget.skill_bytes()).0;
        let mut start = begin(new, &self.context);
        let harness = std::mem::replace(&mut self.harness, new);
        self.add_mcp(&mut start);
        self.harness = harness;
        let (transcript, told) =
            converted(&self.transcript, (self.harness, &self.start), (new, &start));
        self.state = State {
            plan: std::mem::take(&mut self.state.plan),
            planning: self.state.planning,
            ..start.state.clone()
        };
        self.harness = new;
        self.info.harness = (new.id(), self.context.size.name());
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
        told
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
    let mut ended: Vec<String> = Vec::new();
    // Results must follow their calls at once, so those that became text wait for the others.
    let mut behind: Vec<(Item, Mark)> = Vec::new();
    let mut names: Vec<(String, String)> = Vec::new();
    let mut count = 0;
    for (item, mark, _) in old.entries() {
        if let Item::ToolResult(result) = item {
            if ended.contains(&result.call_id) {
                // That the task was over is said by the answer.
            } else if told.contains(&result.call_id) {
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
                ended.clear();
                names.clear();
                let mut reply = reply.clone();
                let calls = std::mem::take(&mut reply.calls);
                let alone = calls.len() == 1;
                for call in calls {
                    if let Some(new) = rewritten(&call, from, (to, start)) {
                        names.push((call.id, new.name.clone()));
                        reply.calls.push(new);
                        continue;
                    }
                    // A harness that acts by text takes one block a reply.
                    match block(&call, from, to).filter(|_| alone) {
                        Some(block) => add(&mut reply, &block),
                        // Where an answer ends a task by itself, its words are all that counts.
                        None if ends(&call, from) => {
                            ended.push(call.id);
                            continue;
                        }
                        None => {
                            count += 1;
                            let arguments = head(&call.arguments, TOLD);
                            add(
                                &mut reply,
                                &format!("[I called {} with {arguments}]", call.name),
                            );
                        }
                    }
                    told.push(call.id);
                }
                if reply.text.trim().is_empty() && reply.calls.is_empty() && !ended.is_empty() {
                    reply.text = "Done.".into();
                }
                out.push(Item::Assistant(reply), mark);
            }
            Item::User { content } if mark.is_said() => {
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
    // For another model it may be the same tool.
    let same = |t: &ToolSpec| t.name == call.name && t.kind() == call.kind;
    if (from.id() == to.id() || is_mcp(&call.name)) && start.tools.iter().any(same) {
        return Some(call.clone());
    }
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

/// True for a call that only says that the task is over.
fn ends(call: &ToolCall, from: &dyn Harness) -> bool {
    matches!(from.action(call), Ok(Action::Finish { .. }))
}

fn renamed(result: &ToolResult, names: &[(String, String)]) -> ToolResult {
    let mut result = result.clone();
    if let Some((_, name)) = names.iter().find(|(id, _)| *id == result.call_id) {
        result.name.clone_from(name);
    }
    result
}

/// The same as a block of the reply's text, for a harness that acts by text.
fn block(call: &ToolCall, from: &dyn Harness, to: &dyn Harness) -> Option<String> {
    let action = from.action(call).ok().filter(|_| to.reads_text())?;
    let (label, arguments) = to.write(&action)?;
    let command = arguments.get("command")?.as_str()?;
    Some(format!("```{label}\n{command}\n```"))
}

fn add(reply: &mut Assistant, line: &str) {
    if !reply.text.is_empty() {
        reply.text.push('\n');
    }
    reply.text.push_str(line);
}

fn result_as_text(result: &ToolResult) -> Item {
    let mut content = vec![Part::text(format!("Result of {}:", result.name))];
    content.extend(result.content.iter().cloned());
    Item::User { content }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harnesses::tests::{call, context};
    use crate::harnesses::{Size, by_id};
    use serde_json::json;

    /// The reply that holds `calls`, told in another harness, and how many of them became text.
    fn told(from: &str, to: &str, calls: Vec<ToolCall>) -> (Assistant, usize) {
        let (from, to) = (by_id(from).unwrap(), by_id(to).unwrap());
        let cx = context(Size::Full);
        let (began, start) = (from.begin(&cx), to.begin(&cx));
        let mut old = Transcript::default();
        let reply = Assistant {
            text: "I look.".into(),
            calls,
            ..Assistant::default()
        };
        old.push(Item::Assistant(reply), Mark::Plain);
        let (new, count) = converted(&old, (from, &began), (to, &start));
        match new.items().first() {
            Some(Item::Assistant(reply)) => (reply.clone(), count),
            other => panic!("{other:?}"),
        }
    }

    fn make() -> ToolCall {
        call("run_shell_command", json!({"command": "make"}))
    }

    #[test]
    fn a_call_becomes_the_other_harness_s_own() {
        let (reply, count) = told("qwen-code", "native", vec![make()]);
        assert_eq!((reply.text.as_str(), count), ("I look.", 0));
        assert_eq!(reply.calls[0].name, "exec_command");
        assert_eq!(reply.calls[0].arguments, "{\"cmd\":\"make\"}");
        // A tool that this model does not have there is told as text.
        let patch = ToolCall {
            kind: CallKind::Freeform,
            arguments: "*** Begin Patch".into(),
            ..call("apply_patch", json!(null))
        };
        let (reply, count) = told("native", "opencode", vec![patch]);
        assert!(reply.calls.is_empty() && count == 1);
        assert!(
            reply
                .text
                .ends_with("[I called apply_patch with *** Begin Patch]")
        );
    }

    #[test]
    fn a_harness_that_acts_by_text_gets_a_block() {
        let (reply, count) = told("qwen-code", "mini-swe-agent", vec![make()]);
        assert_eq!(reply.text, "I look.\n```mswea_bash_command\nmake\n```");
        assert_eq!(count, 0);
        let (reply, count) = told("qwen-code", "mini-swe-agent", vec![make(), make()]);
        assert!(!reply.text.contains("```") && count == 2);
    }

    #[test]
    fn a_call_that_ends_the_task_goes() {
        let end = || vec![call("submit", json!({}))];
        let (reply, count) = told("swe-agent", "qwen-code", end());
        assert_eq!(
            (reply.text.as_str(), reply.calls.len(), count),
            ("I look.", 0, 0)
        );
        let (reply, _) = told("swe-agent", "mini-swe-agent", end());
        assert!(
            reply
                .text
                .starts_with("I look.\n```mswea_bash_command\necho COMPLETE_TASK")
        );
    }
}
