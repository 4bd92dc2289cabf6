//! The part of the helper that stays outside the fence.

use super::inside;
use super::placeholder::Placeholders;
use super::restore::Snapshot;
use super::sys::{self, Exit, pid_t};
use crate::sandbox::plan::{Plan, Tier};
use crate::sandbox::process::report;
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::os::fd::RawFd;
use std::time::{Duration, Instant};

/// The most processes that a command may have at once.
const MOST_PROCESSES: usize = 1024;
/// How often they are counted, in milliseconds.
const TICK: i32 = 100;
/// How long killing may take.
const KILLING: Duration = Duration::from_millis(900);

/// Runs a command under a plan, reports its end, and leaves.
pub fn run(plan: &Plan, command: &[OsString]) -> ! {
    if let Err(why) = supervise(plan, command) {
        sys::write(plan.status, &report::fence(&why));
    }
    std::process::exit(0)
}

fn supervise(plan: &Plan, command: &[OsString]) -> Result<(), String> {
    sys::new_session();
    // Whatever loses its parent becomes ours instead of init's, so that it can be found and killed.
    sys::prctl(libc::PR_SET_CHILD_SUBREAPER, 1).map_err(|e| failed("adopt orphans", &e))?;
    sys::keep_only(&[plan.status, plan.alive]).map_err(|e| failed("close descriptors", &e))?;
    sys::limit(libc::RLIMIT_CORE, 0);
    let signals = sys::signal_descriptor().map_err(|e| failed("watch signals", &e))?;

    let _placeholders;
    let mut snapshot = None;
    match plan.tier {
        Tier::Namespaces | Tier::UserNamespaces => {
            if !plan.watched.is_empty() {
                snapshot = Some(Snapshot::take(&plan.watched, &plan.writable)?);
            }
            _placeholders = Placeholders::make(&plan.sealed)?;
            inside::enter(plan)?;
        }
        Tier::Landlock if !plan.sealed.is_empty() => {
            let guarded = [&plan.sealed[..], &plan.watched].concat();
            snapshot = Some(Snapshot::take(&guarded, &plan.writable)?);
        }
        _ => {}
    }
    let child = match sys::fork().map_err(|e| failed("fork", &e))? {
        Some(child) => child,
        None if plan.tier.has_namespaces() => inside::first(plan, command),
        None => inside::command(plan, command),
    };
    // Nothing inside may look into this process, whose rights it does not have.
    let _ = sys::prctl(libc::PR_SET_DUMPABLE, 0);

    let mut notes = Vec::new();
    let end = watch(plan, child, signals, &mut notes);
    let end = take_down(child, end, plan.tier.has_namespaces());
    sys::write(
        plan.status,
        &match end {
            Some(Exit::Code(code)) => report::exited(code),
            Some(Exit::Signal(signal)) => report::signaled(signal),
            None => report::signaled(libc::SIGKILL),
        },
    );
    notes.extend(snapshot.map(Snapshot::put_back).unwrap_or_default());
    for note in notes {
        // The reader may be gone already, which must not keep anything from being cleaned up.
        let _ = writeln!(std::io::stderr(), "sandbox: {note}");
    }
    Ok(())
}

/// The sentence for a step that failed.
pub fn failed(step: &str, error: &std::io::Error) -> String {
    format!("the sandbox could not {step}: {error}")
}

/// Waits until the command ends, somebody wants it to end, or it has too many processes.
fn watch(plan: &Plan, child: pid_t, signals: RawFd, notes: &mut Vec<String>) -> Option<Exit> {
    let threads = threads_of_system();
    loop {
        let [signal, agent_gone] = sys::poll([signals, plan.alive], TICK);
        if agent_gone {
            return None;
        }
        if signal {
            let mut stop = false;
            while let Some(signal) = sys::next_signal(signals) {
                stop |= signal != libc::SIGCHLD;
            }
            while let Ok(Some((pid, exit))) = sys::wait(-1, false) {
                if pid == child {
                    return Some(exit);
                }
            }
            if stop {
                return None;
            }
            continue;
        }
        // Counting means reading all of /proc, so first see whether the whole system has grown.
        if threads_of_system() > threads + MOST_PROCESSES / 2 {
            let count = descendants(std::process::id() as pid_t).len();
            if count > MOST_PROCESSES {
                notes.push(format!(
                    "killed, because it had {count} processes and {MOST_PROCESSES} are allowed"
                ));
                return None;
            }
        }
    }
}

/// Kills whatever is left of the command. Gives the command's own end, if it had one.
fn take_down(child: pid_t, mut end: Option<Exit>, namespaces: bool) -> Option<Exit> {
    if namespaces && end.is_none() {
        // With pid 1 of its namespace everything in it dies.
        sys::kill(child, libc::SIGKILL);
    }
    let start = Instant::now();
    loop {
        // Every survivor is our child or has an ancestor that is.
        loop {
            match sys::wait(-1, false) {
                Ok(Some((pid, exit))) if pid == child => end = end.or(Some(exit)),
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(_) => return end,
            }
        }
        if start.elapsed() > KILLING {
            return end;
        }
        if !namespaces {
            let left = descendants(std::process::id() as pid_t);
            // A crowd that forks faster than it is killed has to stand still first.
            if left.len() > 8 {
                left.iter().for_each(|pid| sys::kill(*pid, libc::SIGSTOP));
            }
            left.iter().for_each(|pid| sys::kill(*pid, libc::SIGKILL));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// How many threads the whole system has, from `/proc/loadavg`; 0 when it does not say.
fn threads_of_system() -> usize {
    fs::read_to_string("/proc/loadavg")
        .ok()
        .and_then(|text| {
            let field = text.split_ascii_whitespace().nth(3)?;
            field.split_once('/')?.1.parse().ok()
        })
        .unwrap_or(0)
}

/// All living processes below `top`, by one pass over the parent links in `/proc`.
pub fn descendants(top: pid_t) -> Vec<pid_t> {
    let mut children: HashMap<pid_t, Vec<pid_t>> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|n| n.parse().ok()) else {
            continue;
        };
        let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else {
            continue;
        };
        // The name in brackets may hold anything; state and parent follow the last bracket.
        let mut fields = stat
            .rsplit_once(')')
            .map_or("", |(_, rest)| rest)
            .split_ascii_whitespace();
        if let (Some(state), Some(Ok(parent))) = (fields.next(), fields.next().map(str::parse))
            && state != "Z"
        {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut todo = vec![top];
    while let Some(pid) = todo.pop() {
        let below = children.remove(&pid).unwrap_or_default();
        todo.extend(&below);
        found.extend(below);
    }
    found
}
