//! What a program speaks: thin translations of the same events.

pub mod acp;
pub mod exec_json;
pub mod mcp_server;
