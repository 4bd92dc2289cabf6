//! The subcommands, one file each.

pub mod bench;
pub mod choose;
pub mod doctor;
pub mod exec;
pub mod harness;
pub mod models;
pub mod sandbox;
pub mod session;
pub mod undo;
