//! JSON-RPC 2.0 over any pair of byte streams, one message a line: what editors (ACP) and MCP
//! servers and clients speak.
//!
//! [`Message`] is one message, read tolerantly and written strictly; [`Peer`] is a connection on
//! which both sides ask and answer at the same time. Nothing here knows a method.

mod call;
mod lines;
mod message;
mod peer;
#[cfg(test)]
mod tests;

pub use call::{Call, CallError, Pending};
pub use lines::{Line, Lines};
pub use message::{Fault, Id, Malformed, Message, Parsed, code};
pub use peer::{Incoming, Peer, Settings};
