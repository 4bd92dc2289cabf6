//! What a program speaks: thin translations of the same events.

pub mod exec_json;
