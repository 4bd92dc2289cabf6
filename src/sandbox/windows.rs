//! Windows has no fence here yet: neither files nor the network can be kept from a command.

use super::plan::{Plan, Tier};
use super::process::{self, Run, Running};
use std::ffi::OsString;
use std::process::{Command, Stdio};

/// Nothing to remember: there is no helper.
pub(super) fn remember_program() {}

/// Always an error, so that every fenced mode asks or refuses.
pub(super) fn tier(_namespaces: bool) -> Result<(Tier, Option<String>), String> {
    Err("this program has no file or network fence on Windows".to_owned())
}

/// There is none.
pub(super) fn layers() -> Result<Vec<super::Layer>, String> {
    Ok(Vec::new())
}

/// Starts a command without a fence; the caller has made sure that none is wanted.
pub(super) fn start(plan: Plan, run: &Run) -> Result<Running, String> {
    if plan.tier == Tier::Open {
        process::start_plain(run)
    } else {
        Err("this program has no file or network fence on Windows".to_owned())
    }
}

/// Always an error.
pub(super) fn offline(_ports: &[u16]) -> Result<(), String> {
    Err("this program has no network fence on Windows".to_owned())
}

/// Ends a process and, by their parent links, all that it started.
pub(super) fn kill_tree(pid: u32) {
    let _ = Command::new("taskkill")
        .args(["/T", "/F", "/PID", &pid.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
}

/// There is no helper on Windows.
pub(super) fn helper(_args: Vec<OsString>) -> ! {
    eprintln!("__sandbox is not used on Windows");
    std::process::exit(2)
}
