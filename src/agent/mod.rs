//! The loop: words → session → turn → actions, until the task is done.

pub mod approval;
pub mod event;
