//! The subcommands, one file each.

pub mod acp;
pub mod bench;
pub mod choose;
pub mod completion;
pub mod doctor;
pub mod exec;
pub mod harness;
pub mod login;
pub mod mcp;
pub mod models;
pub mod rules;
pub mod sandbox;
pub mod session;
pub mod undo;
