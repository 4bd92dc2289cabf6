//! `interpreter`: a coding agent for models that run on the user's own machine.
//!
//! The floors of the house, from the top. An import never points up.
//!
//! | floor | what is there |
//! |---|---|
//! | [`cli`], [`serve`] | what a person types, what a program speaks |
//! | [`agent`] | the loop: session, turn, transcript, budget, approvals |
//! | [`harnesses`] | how a model sees the task |
//! | [`tools`], [`model`], [`project`] | what an action does, how bytes reach a model, what a repository brings |
//! | [`config`] | typed settings, each knowing where it came from |
//! | [`sandbox`], [`store`], [`jsonrpc`], [`cancel`], [`words`] | what the world allows, what is on disk, messages between programs, the stop flag, cutting and comparing words |
//!
//! A program that embeds this library calls [`sandbox::helper_main`] before anything else, since
//! the sandbox helper is the program itself, run again.

#![warn(missing_docs)]

pub mod agent;
pub mod cancel;
pub mod cli;
pub mod config;
#[path = "../harnesses/mod.rs"]
pub mod harnesses;
pub mod jsonrpc;
pub mod model;
pub mod project;
pub mod sandbox;
pub mod serve;
pub mod store;
pub mod tools;
pub mod words;
