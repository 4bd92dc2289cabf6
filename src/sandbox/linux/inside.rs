//! The part of the helper that goes inside the fence.

use super::supervisor::failed;
use super::sys::{self, Exit};
use super::{caps, landlock, mounts, seccomp};
use crate::sandbox::plan::{Plan, Tier};
use crate::sandbox::process::{self, report};
use std::ffi::OsString;
use std::fs;
use std::path::Path;

/// The most process ids in a namespace, where the kernel counts them per namespace.
const MOST_IDS: &str = "2048";
/// The most processes of an ordinary user, the person's own ones included.
const MOST_OF_USER: libc::rlim_t = 4096;

/// Moves the supervisor into the new namespaces, but for that of the mounts: it needs the outside
/// view to count processes and to clean up. The next child is process 1 inside.
pub fn enter(plan: &Plan) -> Result<(), String> {
    let (uid, gid) = sys::ids();
    let mut flags = libc::CLONE_NEWPID | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS;
    if !plan.network {
        flags |= libc::CLONE_NEWNET;
    }
    if plan.tier == Tier::UserNamespaces {
        flags |= libc::CLONE_NEWUSER;
    }
    sys::unshare(flags).map_err(|e| failed("make namespaces", &e))?;
    if plan.tier == Tier::UserNamespaces {
        fs::write("/proc/self/setgroups", "deny")
            .and_then(|()| fs::write("/proc/self/uid_map", format!("{uid} {uid} 1")))
            .and_then(|()| fs::write("/proc/self/gid_map", format!("{gid} {gid} 1")))
            .map_err(|e| failed("map the user into a namespace", &e))?;
    }
    Ok(())
}

/// Process 1 of the namespaces: builds the view of the disk, starts the command, and reaps until
/// it ends. Then the kernel kills the rest.
pub fn first(plan: &Plan, command_line: &[OsString]) -> ! {
    let child = match prepare(plan) {
        Ok(Some(child)) => child,
        Ok(None) => command(plan, command_line),
        Err(why) => give_up(plan, &why),
    };
    // It has the supervisor's rights and no filter, so nothing inside may get hold of it.
    let _ = sys::prctl(libc::PR_SET_DUMPABLE, 0);
    if let Err(error) = caps::drop_all() {
        // The kernel ends the command with it.
        give_up(plan, &failed("give up capabilities", &error));
    }
    loop {
        match sys::wait(-1, true) {
            Ok(Some((pid, exit))) if pid == child => {
                sys::write(
                    plan.status,
                    &match exit {
                        Exit::Code(code) => report::exited(code),
                        Exit::Signal(signal) => report::signaled(signal),
                    },
                );
                sys::leave(0)
            }
            Ok(_) => {}
            Err(error) => give_up(plan, &failed("wait for the command", &error)),
        }
    }
}

/// Forks the command's process once everything around it stands.
fn prepare(plan: &Plan) -> Result<Option<sys::pid_t>, String> {
    sys::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong)
        .map_err(|e| failed("tie itself to its supervisor", &e))?;
    mounts::build(plan)?;
    if !plan.network {
        sys::loopback_up().map_err(|e| failed("bring up its own loopback", &e))?;
    }
    sys::fork().map_err(|e| failed("fork", &e))
}

/// Caps the process ids of this namespace. Before Linux 6.14 the setting is that of the whole
/// system and must be left alone.
pub fn limit_ids() {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split(['.', '-']).map(|n| n.trim().parse::<u32>());
    if let (Some(Ok(major)), Some(Ok(minor))) = (numbers.next(), numbers.next())
        && (major, minor) >= (6, 14)
    {
        let _ = fs::write("/proc/sys/kernel/pid_max", MOST_IDS);
    }
}

/// The command's own process: gives up its rights, then becomes the command.
pub fn command(plan: &Plan, command_line: &[OsString]) -> ! {
    if let Err(why) = confine(plan) {
        give_up(plan, &why);
    }
    sys::reset_signals();
    // SAFETY: the helper is single-threaded.
    unsafe { process::restore_environment() };
    let error = sys::exec(command_line);
    let name = command_line.first().map(Path::new);
    give_up(
        plan,
        &format!(
            "{} cannot be started: {error}",
            name.unwrap_or(Path::new("the command")).display()
        ),
    )
}

/// The steps on the command's side, in the only order that works: each needs what a later one takes.
fn confine(plan: &Plan) -> Result<(), String> {
    sys::new_session();
    if plan.tier == Tier::Open {
        return Ok(());
    }
    // The folder as it is under the new mounts; the old one is still the unprotected view.
    let dir = std::env::current_dir().map_err(|e| failed("find the working folder", &e))?;
    std::env::set_current_dir(&dir).map_err(|e| failed("enter the working folder", &e))?;
    if sys::ids().0 != 0 {
        sys::limit(libc::RLIMIT_NPROC, MOST_OF_USER);
    }
    caps::drop_for_command(plan.tier).map_err(|e| failed("give up capabilities", &e))?;
    sys::prctl(libc::PR_SET_NO_NEW_PRIVS, 1).map_err(|e| failed("forbid new privileges", &e))?;
    landlock::restrict(plan)?;
    seccomp::restrict(plan)
}

fn give_up(plan: &Plan, why: &str) -> ! {
    sys::write(plan.status, &report::fence(why));
    sys::leave(125)
}
