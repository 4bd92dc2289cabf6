//! What an action does to the world. Each tool exists once, whatever a harness calls it.

pub mod action;
mod indent;
mod matching;
mod memory;
mod text;
mod undo;
