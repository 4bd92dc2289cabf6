//! Reading a stream of the Messages API.

use crate::model::{
    Assistant, Decoder, Delta, Finish, ModelError, Reasoning, Reply, Timing, ToolSpec, Usage,
    WireApi, calls, http, sse,
};
use serde_json::Value;
use std::collections::HashSet;

/// The most content blocks of one reply.
const MAX_BLOCKS: usize = 1_000;

/// One content block while it arrives.
struct Block {
    index: Option<u64>,
    /// `text`, `thinking`, `redacted_thinking`, `tool_use`, or something that we never asked for.
    kind: String,
    /// Visible text, thinking, or the JSON of a call's input as far as deltas brought it.
    text: String,
    signature: Option<String>,
    /// The block as its first event had it.
    start: Value,
    /// Which call of the reply this is.
    call: usize,
    stopped: bool,
}

/// Reads one reply.
pub(super) struct Reader {
    freeform: HashSet<String>,
    blocks: Vec<Block>,
    finish: Option<Finish>,
    done: bool,
    tokens: Tokens,
}

impl Reader {
    pub(super) fn new(tools: &[ToolSpec]) -> Self {
        Reader {
            freeform: calls::freeform_names(tools),
            blocks: Vec::new(),
            finish: None,
            done: false,
            tokens: Tokens::default(),
        }
    }

    fn start(&mut self, event: &Value, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        if self.blocks.len() >= MAX_BLOCKS {
            return Err(ModelError::broken(format!(
                "it has more than {MAX_BLOCKS} content blocks"
            )));
        }
        let start = event.get("content_block").cloned().unwrap_or(Value::Null);
        let index = event.get("index").and_then(Value::as_u64);
        // A proxy may send an event twice.
        let is_told_again = |b: &Block| {
            b.index.is_some()
                && b.index == index
                && !b.stopped
                && b.text.is_empty()
                && b.start == start
        };
        if self.blocks.last().is_some_and(is_told_again) {
            return Ok(());
        }
        let text = |key: &str| start.get(key).and_then(Value::as_str).unwrap_or("");
        let kind = text("type").to_owned();
        let call = self.blocks.iter().filter(|b| b.kind == "tool_use").count();
        if kind == "tool_use" {
            out.push(Delta::CallStart {
                index: call,
                name: text("name").to_owned(),
            });
        }
        let begun = match kind.as_str() {
            "text" => text("text").to_owned(),
            "thinking" => text("thinking").to_owned(),
            _ => String::new(),
        };
        self.blocks.push(Block {
            index,
            signature: start
                .get("signature")
                .and_then(Value::as_str)
                .map(str::to_owned),
            kind,
            text: String::new(),
            start,
            call,
            stopped: false,
        });
        self.add(self.blocks.len() - 1, &begun, out);
        Ok(())
    }

    /// The open block that an event speaks of: the one of its index, else the newest.
    fn at(&self, event: &Value) -> Option<usize> {
        let index = event.get("index").and_then(Value::as_u64);
        self.blocks
            .iter()
            .rposition(|b| b.index == index)
            .or_else(|| self.blocks.len().checked_sub(1))
    }

    /// Adds `text` to a block and tells it.
    fn add(&mut self, at: usize, text: &str, out: &mut Vec<Delta>) {
        let (earlier, rest) = self.blocks.split_at_mut(at);
        let Some(block) = rest.first_mut().filter(|_| !text.is_empty()) else {
            return;
        };
        let begins = block.text.is_empty();
        match block.kind.as_str() {
            "text" => {
                if begins && is_new_paragraph(earlier) {
                    out.push(Delta::Text("\n\n".to_owned()));
                }
                out.push(Delta::Text(text.to_owned()));
            }
            "thinking" => {
                if begins
                    && earlier
                        .iter()
                        .any(|b| b.kind == "thinking" && !b.text.is_empty())
                {
                    out.push(Delta::Reasoning("\n\n".to_owned()));
                }
                out.push(Delta::Reasoning(text.to_owned()));
            }
            "tool_use" => out.push(Delta::CallArguments {
                index: block.call,
                text: text.to_owned(),
            }),
            _ => return,
        }
        block.text.push_str(text);
    }

    fn grow(&mut self, event: &Value, out: &mut Vec<Delta>) {
        let (Some(at), Some(delta)) = (self.at(event), event.get("delta")) else {
            return;
        };
        let text = |key: &str| delta.get(key).and_then(Value::as_str).unwrap_or("");
        match text("type") {
            "text_delta" => self.add(at, text("text"), out),
            "thinking_delta" => self.add(at, text("thinking"), out),
            "input_json_delta" => self.add(at, text("partial_json"), out),
            "signature_delta" => {
                if let Some(block) = self.blocks.get_mut(at) {
                    block.signature = Some(text("signature").to_owned());
                }
            }
            _ => {}
        }
    }

    /// A server may put the whole input of a call into its first event and send no deltas.
    fn stop(&mut self, at: usize, out: &mut Vec<Delta>) {
        let Some(block) = self.blocks.get_mut(at) else {
            return;
        };
        block.stopped = true;
        if block.kind != "tool_use" || !block.text.is_empty() {
            return;
        }
        let whole = match block.start.get("input") {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Object(map)) if map.is_empty() => return,
            Some(Value::Null) | None => return,
            Some(value) => value.to_string(),
        };
        self.add(at, &whole, out);
    }

    /// A whole message: what a server sends that does not stream.
    fn message(&mut self, message: &Value, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        let content = message.get("content").and_then(Value::as_array);
        for block in content.into_iter().flatten() {
            let index = self.blocks.len();
            let event = serde_json::json!({"index": index, "content_block": block});
            self.start(&event, out)?;
            self.stop(index, out);
        }
        self.tokens.take(message.get("usage"));
        self.reason(message);
        self.done = true;
        Ok(())
    }

    /// Why it ended, from the object that has `stop_reason`.
    fn reason(&mut self, holder: &Value) {
        let reason = holder.get("stop_reason").and_then(Value::as_str);
        self.finish = match reason {
            None => return,
            Some("max_tokens" | "model_context_window_exceeded") => Some(Finish::Length),
            Some("refusal") => {
                let why = |key: &str| holder.pointer(key).and_then(Value::as_str);
                let why = why("/stop_details/explanation").or(why("/stop_details/category"));
                Some(Finish::Refused(why.unwrap_or("refusal").to_owned()))
            }
            Some(_) => Some(Finish::Stop),
        };
    }

    fn reply(self, finish: Finish, whole_calls_only: bool) -> Reply {
        let mut assistant = Assistant::default();
        for (i, block) in self.blocks.iter().enumerate() {
            match block.kind.as_str() {
                "text" if !block.text.is_empty() => {
                    if is_new_paragraph(&self.blocks[..i]) {
                        assistant.text.push_str("\n\n");
                    }
                    assistant.text.push_str(&block.text);
                }
                "thinking" if !block.text.is_empty() || block.signature.is_some() => {
                    assistant.reasoning.push(Reasoning {
                        text: block.text.clone(),
                        signature: block.signature.clone(),
                        opaque: None,
                        wire: WireApi::Messages,
                    });
                }
                "redacted_thinking" => assistant.reasoning.push(Reasoning {
                    opaque: Some(block.start.clone()),
                    wire: WireApi::Messages,
                    ..Reasoning::default()
                }),
                "tool_use" if !whole_calls_only || block.is_whole() => {
                    let field = |key: &str| {
                        let value = block.start.get(key).and_then(Value::as_str);
                        value.unwrap_or("").to_owned()
                    };
                    let text = block.text.clone();
                    let call = calls::received(field("id"), field("name"), text, &self.freeform);
                    assistant.calls.push(call);
                }
                _ => {}
            }
        }
        calls::distinct_ids(&mut assistant.calls);
        Reply {
            assistant,
            finish,
            usage: self.tokens.usage(),
            timing: Timing::default(),
        }
    }
}

impl Block {
    /// True for a call that may be run although the stream ended early.
    fn is_whole(&self) -> bool {
        if self.text.trim().is_empty() {
            self.stopped
        } else {
            calls::is_complete(&self.text)
        }
    }
}

/// Text blocks that follow each other are one text; after something else a paragraph begins.
fn is_new_paragraph(earlier: &[Block]) -> bool {
    earlier
        .iter()
        .any(|b| b.kind == "text" && !b.text.is_empty())
        && earlier.last().is_some_and(|b| b.kind != "text")
}

impl Decoder for Reader {
    fn feed(&mut self, frame: &sse::Frame, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        let data = frame.data.trim();
        if data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        let event = frame.json()?;
        if let Some(error) = http::in_event(&event) {
            return Err(error);
        }
        let name = event.get("type").and_then(Value::as_str);
        match name.or(frame.event.as_deref()).unwrap_or("") {
            "message_start" => {
                if let Some(message) = event.get("message") {
                    self.tokens.take(message.get("usage"));
                    self.reason(message);
                }
            }
            "content_block_start" => self.start(&event, out)?,
            "content_block_delta" => self.grow(&event, out),
            "content_block_stop" => {
                if let Some(at) = self.at(&event) {
                    self.stop(at, out);
                }
            }
            "message_delta" => {
                self.tokens.take(event.get("usage"));
                if let Some(delta) = event.get("delta") {
                    self.reason(delta);
                }
            }
            "message_stop" => self.done = true,
            "message" => self.message(&event, out)?,
            _ => {}
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn finish(mut self: Box<Self>) -> Result<Reply, ModelError> {
        if !self.done {
            return Err(ModelError::broken("it ended before message_stop"));
        }
        // A server that forgets `content_block_stop` may still have put an input at the start.
        for at in 0..self.blocks.len() {
            self.stop(at, &mut Vec::new());
        }
        let finish = self.finish.take().unwrap_or(Finish::Stop);
        Ok(self.reply(finish, false))
    }

    fn cut(self: Box<Self>) -> Reply {
        self.reply(Finish::Cut, true)
    }
}

/// Counts as the server last gave them. Here `input_tokens` leaves out what was read from the
/// cache or written to it.
#[derive(Default)]
struct Tokens {
    fresh: Option<u64>,
    read: Option<u64>,
    written: Option<u64>,
    output: Option<u64>,
    thinking: Option<u64>,
}

impl Tokens {
    /// Later counts are totals and replace earlier ones; fields that are absent or null say
    /// nothing, nor do input counts that are all zero.
    fn take(&mut self, usage: Option<&Value>) {
        let Some(usage) = usage else { return };
        let number = |path: &str| usage.pointer(path).and_then(Value::as_u64);
        let fresh = number("/input_tokens");
        let read = number("/cache_read_input_tokens");
        let written = number("/cache_creation_input_tokens");
        if [fresh, read, written].iter().flatten().any(|n| *n > 0) || self.fresh.is_none() {
            self.fresh = fresh.or(self.fresh);
            self.read = read.or(self.read);
            self.written = written.or(self.written);
        }
        self.output = number("/output_tokens").or(self.output);
        self.thinking = number("/output_tokens_details/thinking_tokens").or(self.thinking);
    }

    fn usage(&self) -> Option<Usage> {
        if self.fresh.is_none() && self.output.is_none() {
            return None;
        }
        let sum = [self.fresh, self.read, self.written].into_iter().flatten();
        Some(Usage {
            input: sum.fold(0, u64::saturating_add),
            cached: self.read,
            cache_write: self.written.unwrap_or(0),
            output: self.output.unwrap_or(0),
            reasoning: self.thinking.unwrap_or(0),
        })
    }
}
