//! The loop: words → session → turn → actions, until the task is done.

pub mod event;
