//! The loop: words → session → turn → actions, until the task is done.

pub mod approval;
pub mod budget;
pub mod compact;
pub mod connect;
pub mod context;
mod convert;
pub mod doctor;
pub mod event;
pub mod guard;
mod hint;
pub mod input;
pub mod metrics;
pub mod offline;
pub mod open;
pub mod record;
mod repair;
pub mod reports;
pub mod session;
mod subagent;
pub mod tokens;
pub mod transcript;
pub mod turn;
mod undo;
