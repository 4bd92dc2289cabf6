//! The fence on Linux: namespaces, Landlock and a system call filter, put up by a helper process.
//!
//! | process | where it is | what it does |
//! |---|---|---|
//! | the agent | outside | starts the helper, reads its report |
//! | `supervisor` | outside | waits, counts, kills, cleans up |
//! | `inside::first` | pid 1 of the namespaces | lays out the mounts, reaps |
//! | `inside::command` | inside | gives up its rights step by step, then becomes the command |
//!
//! Without namespaces the third one is missing, and the supervisor does what it can.

mod caps;
mod inside;
mod landlock;
mod mounts;
mod offline;
mod placeholder;
mod probe;
mod restore;
mod seccomp;
mod supervisor;
mod sys;

use super::plan::{Plan, Tier};
use super::process::{self, Run, Running};
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::OnceLock;

pub(super) use offline::restrict as offline;
pub(super) use probe::{layers, tier};

/// This program, opened at its start.
static PROGRAM: OnceLock<File> = OnceLock::new();

/// Opens this program's file, so that the helper is the same program even after an update.
pub(super) fn remember_program() {
    use std::os::unix::fs::OpenOptionsExt;
    let file = File::options()
        .read(true)
        .custom_flags(libc::O_PATH)
        .open("/proc/self/exe");
    if let Ok(file) = file {
        let _ = PROGRAM.set(file);
    }
}

/// The path under which the helper can be started.
fn program() -> Result<PathBuf, String> {
    PROGRAM
        .get()
        .map(|f| PathBuf::from(format!("/proc/self/fd/{}", f.as_raw_fd())))
        .ok_or_else(|| {
            "the sandbox helper is missing: /proc is not mounted, or this program does not call sandbox::helper_main() first"
                .to_owned()
        })
}

/// Starts the helper for a command.
pub(super) fn start(plan: Plan, run: &Run) -> Result<Running, String> {
    process::start_helper(&program()?, plan, run)
}

/// Kills every process below this one; the last resort when the helper does not answer.
pub(super) fn kill_tree(pid: u32) {
    let Ok(pid) = libc::pid_t::try_from(pid) else {
        return;
    };
    for child in supervisor::descendants(pid) {
        sys::kill(child, libc::SIGKILL);
    }
}

/// The helper: `[plan, program, arguments…]`, or `[probe]`.
pub(super) fn helper(args: Vec<OsString>) -> ! {
    match args.split_first() {
        Some((first, [])) if first == probe::ARGUMENT => probe::answer(),
        Some((plan, command)) if !command.is_empty() => {
            let plan = plan.to_str().and_then(|p| serde_json::from_str(p).ok());
            match plan {
                Some(plan) => supervisor::run(&plan, command),
                None => usage(),
            }
        }
        _ => usage(),
    }
}

fn usage() -> ! {
    eprintln!(
        "__sandbox is for this program's own use; run `interpreter sandbox -- COMMAND` instead"
    );
    std::process::exit(2)
}

impl Tier {
    /// True when the command gets namespaces.
    fn has_namespaces(self) -> bool {
        matches!(self, Tier::Namespaces | Tier::UserNamespaces)
    }
}
