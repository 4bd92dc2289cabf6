//! Exit codes, each with its meaning; the one list of them.

use crate::agent::event::EndReason;

/// Done.
pub const OK: u8 = 0;
/// Failed, or no answer.
pub const FAILED: u8 = 1;
/// The command line is wrong.
pub const USAGE: u8 = 2;
/// The step limit was reached.
pub const STEP_LIMIT: u8 = 3;
/// The sandbox cannot be enforced and nobody can be asked.
pub const NO_SANDBOX: u8 = 4;
/// Interrupted.
pub const INTERRUPTED: u8 = 130;
/// Terminated.
pub const TERMINATED: u8 = 143;

/// Every code with its meaning in words.
pub const CODES: [(u8, &str); 7] = [
    (OK, "done"),
    (FAILED, "failed or no answer"),
    (USAGE, "usage"),
    (STEP_LIMIT, "step limit"),
    (NO_SANDBOX, "no sandbox"),
    (INTERRUPTED, "interrupted"),
    (TERMINATED, "terminated"),
];

/// The code of a turn's end.
pub fn code(reason: &EndReason, terminated: bool) -> u8 {
    match reason {
        EndReason::Done => OK,
        EndReason::NoAnswer | EndReason::Failed(_) | EndReason::Refused(_) => FAILED,
        EndReason::StepLimit(_) => STEP_LIMIT,
        EndReason::NoSandbox(_) => NO_SANDBOX,
        EndReason::Interrupted if terminated => TERMINATED,
        EndReason::Interrupted => INTERRUPTED,
    }
}
