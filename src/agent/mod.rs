//! The loop: words → session → turn → actions, until the task is done.

pub mod approval;
pub mod budget;
pub mod connect;
pub mod event;
pub mod guard;
pub mod input;
pub mod offline;
pub mod open;
pub mod record;
mod repair;
pub mod session;
pub mod transcript;
pub mod turn;
