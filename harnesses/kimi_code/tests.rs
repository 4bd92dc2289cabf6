//! Golden layouts of `kimi-code`: what the original sends.

mod calls;
mod opening;
mod results;

use super::*;
use crate::harnesses::format::kimi::tests::read_out;
use crate::harnesses::tests::{call, calls_return, context, instructions, read, tell, tell_action};
use crate::harnesses::{Size, tests::reply};
use crate::tools::action::{
    CountOut, FoundOut, GrepLine, GrepOut, Outcome, PlanStep, StepStatus, Unique,
};
use std::path::PathBuf;

fn told(name: &str, arguments: Value, outcome: Outcome) -> String {
    tell(&KimiCode, call(name, arguments), outcome).0
}

fn path() -> String {
    "a.py".into()
}

fn edit() -> Value {
    json!({"path": "a.py", "old_string": "x", "new_string": "y"})
}

fn make() -> Value {
    json!({"command": "make"})
}

fn found(paths: &[&str], total: usize) -> Outcome {
    Outcome::Found(FoundOut {
        root: "/w".into(),
        paths: paths.iter().map(PathBuf::from).collect(),
        total,
    })
}

fn step(text: &str, status: StepStatus) -> PlanStep {
    PlanStep {
        text: text.into(),
        status,
        id: None,
    }
}
