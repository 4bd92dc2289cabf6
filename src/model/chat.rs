//! OpenAI Chat Completions, as local and hosted servers really speak it.
//!
//! Every server has its own dialect of this API. What is sent is the part that all of them take;
//! what is read is everything that was seen from any of them.

mod decode;
pub(super) mod encode;
pub(super) mod turns;

use super::wire::Parts;
use super::{Decoder, Framing, Request, ToolSpec, Wire, WireApi};
use serde_json::Value;

/// The `chat` wire.
pub struct Chat;

impl Wire for Chat {
    fn api(&self) -> WireApi {
        WireApi::Chat
    }

    fn path(&self) -> &'static str {
        "/chat/completions"
    }

    fn body(&self, request: &Request) -> Value {
        encode::body(request)
    }

    fn parts(&self, request: &Request) -> Parts {
        encode::parts(request)
    }

    fn framing(&self) -> Framing {
        Framing::Sse
    }

    fn decoder(&self, tools: &[ToolSpec]) -> Box<dyn Decoder> {
        Box::new(decode::Reader::new(tools))
    }
}

/// What tests of other wires share with the tests here.
#[cfg(test)]
pub(super) mod testing {
    pub use super::decode::tests::read;
    pub use super::encode::tests::{request, tool, transcript};
}
