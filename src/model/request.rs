//! One request, in neutral terms.

use super::{Item, Sampling, ToolSpec, Vendor};
use serde_json::{Map, Value};

/// Everything that is sent in one request, in neutral terms. The transcript is borrowed, so that
/// making a request copies nothing but the bytes that go out.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// The model's name at this provider.
    pub model: &'a str,
    /// The system prompt, frozen for the session; may be empty.
    pub system: &'a str,
    /// The tools on offer, frozen for the session; empty for text-action harnesses.
    pub tools: &'a [ToolSpec],
    /// Opening items, transcript and what is shown once, in order.
    pub items: Vec<&'a Item>,
    /// The most tokens that the reply may have.
    pub max_output_tokens: u32,
    /// The window that the server shall use, where the wire can set it (Ollama's `num_ctx`).
    pub window: Option<u32>,
    /// Sampling that the user asked for. Absent values are left to the server.
    pub sampling: Sampling,
    /// `minimal`, `low`, `medium`, `high`, …; absent: the server's default.
    pub reasoning_effort: Option<&'a str>,
    /// A key that is the same for a whole session, for servers that route by it.
    pub cache_key: &'a str,
    /// A JSON Schema that the answer must follow.
    pub schema: Option<&'a Value>,
    /// A reply is to hold one call at most.
    pub one_call: bool,
    /// Calls are to come as the text that the model writes: its server cannot read them.
    pub raw_calls: bool,
    /// True when the server is on the user's own machine or network and takes the extra fields
    /// of llama.cpp, vLLM and LM Studio; a hosted server refuses unknown fields.
    pub local: bool,
    /// How the provider differs from the API that it speaks.
    pub vendor: &'static Vendor,
    /// Further top-level fields of the body, from the provider's entry in the config.
    pub extra: &'a Map<String, Value>,
}

impl Request<'_> {
    /// Lays the fields that the user configured over a body of ours: an object is merged into an
    /// object, null takes a field away, and anything else replaces it.
    pub(super) fn add_extra(&self, body: &mut Map<String, Value>) {
        merge(body, self.extra);
    }
}

fn merge(body: &mut Map<String, Value>, extra: &Map<String, Value>) {
    for (key, value) in extra {
        match (body.get_mut(key), value) {
            (_, Value::Null) => {
                body.shift_remove(key);
            }
            (Some(Value::Object(ours)), Value::Object(theirs)) => merge(ours, theirs),
            (_, value) => {
                body.insert(key.clone(), value.clone());
            }
        }
    }
}
