//! Servers of the Model Context Protocol, as a client.
//!
//! [`Servers`] are those of one session: started side by side, each on its own thread, listed,
//! called and ended. A [`client::Client`] speaks the protocol (the handshake revisions 2024-11-05
//! to 2025-11-25 and the stateless 2026-07-28) over a [`transport::Transport`]: a child process
//! ([`stdio`]) or streamable HTTP ([`http`]). What a server sends is data of a stranger: bounded,
//! cleaned for the model in [`schema`], [`names`] and [`content`], and never trusted to be well formed.

mod ask;
mod client;
mod content;
mod form;
mod http;
mod names;
mod schema;
mod servers;
mod stdio;
mod transport;

pub use ask::{Ask, Asked};
pub use client::{Client, Live, Offer};
pub use form::{Empty, Field, Form};
pub use names::shown as shown_name;
pub use servers::{Entry, Ready, Servers, Status, Tool, World};
pub use transport::McpError;
