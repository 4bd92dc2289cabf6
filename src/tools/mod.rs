//! What an action does to the world. Each tool exists once, whatever a harness calls it.

pub mod action;
