//! Cutting a byte stream into frames: server-sent events, or one JSON object a line.

/// One frame of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frame {
    /// The event's name, if it had one.
    pub event: Option<String>,
    /// Its data.
    pub data: String,
}
