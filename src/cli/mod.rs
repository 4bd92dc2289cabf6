//! What a person types.

pub mod args;
pub mod help;
