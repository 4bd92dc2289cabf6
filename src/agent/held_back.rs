//! llama-server reads calls by a grammar of the model's template. What a small model writes in
//! another form it holds back to the end of the reply, which may be thousands of tokens and minutes
//! away, and then drops. So the stream is cut, and the calls are read here from then on.

use super::event::{Event, Frontend};
use super::record::ToolMode;
use super::session::Session;
use super::turn::Next;
use crate::model::provider::LocalServer;
use crate::model::{Reply, WireApi, local};

/// Tokens generated of which nothing came: more than any honest piece of a call holds.
const HELD_BACK: u64 = 400;
/// Tokens of a reply that brought neither text nor a call: a call was swallowed.
const SWALLOWED: u64 = 24;

impl Session {
    /// The server may hold a call back, and can be told to pass on what the model writes.
    pub(super) fn may_be_held_back(&self) -> bool {
        self.provider.local == Some(LocalServer::LlamaServer)
            && self.provider.wire == WireApi::Chat
            && self.tool_mode == ToolMode::Native
            && !self.raw_calls
            && !self.start.tools.is_empty()
    }

    /// The server generates and passes nothing on.
    pub(super) fn is_holding_back(&self) -> bool {
        local::generated(&self.provider, &self.cancel).is_some_and(|n| n >= HELD_BACK)
    }

    /// A reply without text, thoughts and calls that was no silence.
    pub(super) fn was_swallowed(&self, reply: &Reply) -> bool {
        let said = &reply.assistant;
        self.may_be_held_back()
            && said.text.trim().is_empty()
            && said.calls.is_empty()
            && said.reasoning.is_empty()
            && reply.usage.is_some_and(|usage| usage.output >= SWALLOWED)
    }

    /// Asks once more, and from here on for the words of the model.
    pub(super) fn read_calls_here(&mut self, front: &mut dyn Frontend) -> Next {
        self.raw_calls = true;
        self.record_state();
        front.event(&Event::Warning(
            "the server cannot read the calls that this model writes and holds them back; from here on they are read here".into(),
        ));
        Next::Again
    }
}
