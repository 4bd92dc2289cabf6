//! How bytes reach a model, in neutral terms.
//!
//! Everything above this floor speaks [`Request`], [`Item`] and [`Reply`]; the four wires
//! ([`chat`], [`responses`], [`messages`], [`ollama`]) turn those into the JSON of one API and
//! back. A wire knows no harness and a harness knows no wire.

pub mod arguments;
mod calls;
pub mod catalog;
pub mod chat;
pub mod constrained;
pub mod dialect;
pub mod error;
pub mod http;
mod item;
pub mod local;
pub mod login;
mod measured;
pub mod messages;
pub mod ollama;
pub mod prompted;
pub mod provider;
mod reply;
mod request;
pub mod responses;
pub mod sampling;
pub mod sse;
mod tool;
pub mod vendor;
mod wire;

pub use crate::config::Sampling;
pub use error::ModelError;
pub use item::{Assistant, CallKind, Item, Part, Reasoning, ToolCall, ToolResult, join_text};
pub use reply::{Delta, Finish, Reply, Timing, Usage};
pub use request::Request;
pub use tool::{ToolInput, ToolSpec};
pub use vendor::Vendor;
pub use wire::{Decoder, Framing, Wire, WireApi};
