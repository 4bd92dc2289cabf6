//! What a wire API is: pure translation between a [`Request`], bytes and a [`Reply`].

use super::{Delta, ModelError, Reply, Request, ToolSpec, chat, messages, ollama, responses, sse};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The four wire APIs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WireApi {
    /// OpenAI Chat Completions.
    #[default]
    Chat,
    /// OpenAI Responses.
    Responses,
    /// Anthropic Messages.
    Messages,
    /// Ollama's native `/api/chat`, the only one that can set the window there.
    Ollama,
}

impl WireApi {
    /// All wires with the names that the config uses.
    pub const ALL: [(WireApi, &'static str); 4] = [
        (WireApi::Chat, "chat"),
        (WireApi::Responses, "responses"),
        (WireApi::Messages, "messages"),
        (WireApi::Ollama, "ollama"),
    ];

    /// The name in the config.
    pub fn name(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(w, _)| *w == self)
            .map_or("chat", |(_, n)| n)
    }

    /// The wire of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, n)| *n == name).map(|(w, _)| *w)
    }

    /// The code of this wire.
    pub fn wire(self) -> &'static dyn Wire {
        match self {
            WireApi::Chat => &chat::Chat,
            WireApi::Responses => &responses::Responses,
            WireApi::Messages => &messages::Messages,
            WireApi::Ollama => &ollama::Ollama,
        }
    }
}

/// How a stream is cut into frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// Server-sent events.
    Sse,
    /// One JSON object a line.
    Ndjson,
}

/// The body of a request. A conversation is most of a long one, so a wire may write it as text at
/// once: a tree of values costs several allocations an item, with each request anew.
#[derive(Debug)]
pub struct Parts {
    /// The fields. Null keeps the place of the one that is text.
    pub frame: Map<String, Value>,
    /// That field and its JSON text.
    grown: Option<(&'static str, Vec<u8>)>,
}

impl Parts {
    /// A body in one part.
    pub fn whole(frame: Map<String, Value>) -> Parts {
        Parts { frame, grown: None }
    }

    /// A body whose field `key`, which is in its place already, is this JSON text.
    pub fn with_text(frame: Map<String, Value>, key: &'static str, text: Vec<u8>) -> Parts {
        Parts {
            frame,
            grown: Some((key, text)),
        }
    }

    /// The body as it is sent.
    pub fn bytes(&self) -> Vec<u8> {
        let grown = self.grown.as_ref();
        let mut out = Vec::with_capacity(grown.map_or(0, |(_, text)| text.len()) + FRAME);
        out.push(b'{');
        for (at, (key, value)) in self.frame.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            // Writing to a Vec cannot fail.
            let _ = serde_json::to_writer(&mut out, key.as_str());
            out.push(b':');
            match grown.filter(|(name, _)| name == key) {
                Some((_, text)) => out.extend_from_slice(text),
                None => {
                    let _ = serde_json::to_writer(&mut out, value);
                }
            }
        }
        out.push(b'}');
        out
    }
}

/// What the rest of a body takes, as a first guess.
const FRAME: usize = 16 << 10;

/// One wire API: pure translation, no input or output.
pub trait Wire: Sync {
    /// Which one it is.
    fn api(&self) -> WireApi;
    /// What is appended to the provider's base URL. The base of `chat`, `responses` and
    /// `messages` ends in `/v1`; that of `ollama` is the server's root.
    fn path(&self) -> &'static str;
    /// Headers that this API always wants, for example `anthropic-version`.
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
    /// The body of a streaming request. Deterministic: equal input gives equal bytes.
    fn body(&self, request: &Request) -> Value;
    /// The same in the parts that it is written from.
    fn parts(&self, request: &Request) -> Parts {
        match self.body(request) {
            Value::Object(frame) => Parts::whole(frame),
            _ => Parts::whole(Map::new()),
        }
    }
    /// How its stream is framed.
    fn framing(&self) -> Framing;
    /// A fresh reader of one reply to a request with these tools (a freeform tool shown as a
    /// function comes back as one and is unwrapped by the reader).
    fn decoder(&self, tools: &[ToolSpec]) -> Box<dyn Decoder>;
}

/// Reads the frames of one reply.
pub trait Decoder: Send {
    /// Takes one frame (the data of one event, or one line) and pushes what it brought.
    ///
    /// # Errors
    /// When the frame carries an error of the server, or is not what the API promises.
    fn feed(&mut self, frame: &sse::Frame, out: &mut Vec<Delta>) -> Result<(), ModelError>;
    /// True once the finish marker was seen and nothing more is needed.
    fn is_done(&self) -> bool;
    /// The whole reply. `timing` fields that only the caller knows are filled in by the caller.
    ///
    /// # Errors
    /// [`ModelError::Broken`] when the stream ended without its finish marker.
    fn finish(self: Box<Self>) -> Result<Reply, ModelError>;
    /// What was read so far, for a stream that we cut on purpose ([`Finish::Cut`]). A call whose
    /// arguments are not complete JSON is left out.
    fn cut(self: Box<Self>) -> Reply;
}
