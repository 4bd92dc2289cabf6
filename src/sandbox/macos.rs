//! The fence on macOS: a seatbelt profile, put on by the system's own `sandbox-exec`.
//!
//! The system gives no way to find every process of a tree. The helper kills the command's process
//! group; a daemon that leaves it survives, but stays inside the fence.

use super::plan::{Plan, Tier};
use super::process::{self, Run, Running, report};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::FromRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// By its full path, since the one in `PATH` may be anything.
const SANDBOX_EXEC: &str = "/usr/bin/sandbox-exec";
/// How long the trial may take.
const LIMIT: Duration = Duration::from_secs(5);

/// This program's file.
static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Remembers where this program is.
pub(super) fn remember_program() {
    if let Ok(path) = std::env::current_exe() {
        let _ = PROGRAM.set(path);
    }
}

/// The seatbelt, if a trial shows that it holds.
pub(super) fn tier(_namespaces: bool) -> Result<(Tier, Option<String>), String> {
    static FOUND: OnceLock<Result<(), String>> = OnceLock::new();
    FOUND.get_or_init(trial).clone()?;
    Ok((Tier::Seatbelt, None))
}

/// The one mechanism of macOS.
pub(super) fn layers() -> Result<Vec<super::Layer>, String> {
    Ok(vec![super::Layer {
        name: "Seatbelt",
        works: tier(true).is_ok(),
        version: None,
    }])
}

/// Starts the helper for a command.
pub(super) fn start(plan: Plan, run: &Run) -> Result<Running, String> {
    let program = PROGRAM.get().ok_or(
        "the sandbox helper is missing: this program does not call sandbox::helper_main() first",
    )?;
    process::start_helper(program, plan, run)
}

/// Always an error: the rules of a seatbelt are for a command that is started, not for this program.
pub(super) fn offline(_ports: &[u16]) -> Result<(), String> {
    Err("on macOS this program can fence its commands, but not itself".to_owned())
}

/// Kills the session that the helper leads.
pub(super) fn kill_tree(pid: u32) {
    if let Ok(pid) = libc::pid_t::try_from(pid) {
        // SAFETY: no memory is involved.
        unsafe { libc::killpg(pid, libc::SIGKILL) };
    }
}

/// Reading must work and writing must fail.
fn trial() -> Result<(), String> {
    let plan = Plan {
        tier: Tier::Seatbelt,
        read_only: true,
        network: false,
        ..Plan::unfenced()
    };
    let target = std::env::temp_dir().join(format!("interpreter-trial-{}", std::process::id()));
    let touched = tried(&plan, "/usr/bin/touch", &target)? || target.exists();
    let _ = std::fs::remove_file(&target);
    if touched {
        return Err("sandbox-exec let a command write that should not".to_owned());
    }
    if !tried(&plan, "/bin/ls", Path::new("/"))? {
        return Err("sandbox-exec does not run a command with this program's profile".to_owned());
    }
    Ok(())
}

/// True when a program under the profile succeeds on a path.
fn tried(plan: &Plan, program: &str, on: &Path) -> Result<bool, String> {
    let failed = |e: std::io::Error| format!("{SANDBOX_EXEC} does not run: {e}");
    let mut child = Command::new(SANDBOX_EXEC)
        .args(seatbelt(plan)?)
        .arg(program)
        .arg(on)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(failed)?;
    let start = Instant::now();
    while start.elapsed() < LIMIT {
        if let Some(status) = child.try_wait().map_err(failed)? {
            return Ok(status.success());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let _ = child.kill();
    let _ = child.wait();
    Err(format!("{SANDBOX_EXEC} took more than five seconds"))
}

/// The helper: `[plan, program, arguments…]`.
pub(super) fn helper(args: Vec<OsString>) -> ! {
    let plan = args
        .first()
        .and_then(|plan| plan.to_str())
        .and_then(|plan| serde_json::from_str::<Plan>(plan).ok());
    let (Some(plan), Some(command)) = (plan, args.get(1..).filter(|c| !c.is_empty())) else {
        eprintln!("__sandbox is for this program's own use");
        std::process::exit(2)
    };
    let said = supervise(&plan, command).unwrap_or_else(|why| report::fence(&why));
    // SAFETY: the descriptor was left open for this by the starter, and nothing else owns it.
    let mut status = unsafe { File::from_raw_fd(plan.status) };
    let _ = status.write_all(said.as_bytes());
    std::process::exit(0)
}

fn supervise(plan: &Plan, command: &[OsString]) -> Result<String, String> {
    // SAFETY: the helper has one thread; no memory is involved.
    unsafe {
        libc::setsid();
        close_all_but(&[plan.status, plan.alive]);
        process::restore_environment();
    }
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
        signal_hook::flag::register(signal, stop.clone())
            .map_err(|e| format!("the sandbox could not watch signals: {e}"))?;
    }
    let line = command_line(plan, command)?;
    let (program, args) = line.split_first().ok_or("there is no command")?;
    let mut child = Command::new(program)
        .args(args)
        .process_group(0)
        .spawn()
        .map_err(|e| format!("{} cannot be started: {e}", Path::new(program).display()))?;
    let group = libc::pid_t::try_from(child.id()).map_err(|e| e.to_string())?;
    let mut status = None;
    while status.is_none() && !stop.load(Ordering::SeqCst) && !agent_is_gone(plan.alive) {
        status = child
            .try_wait()
            .map_err(|e| format!("the command cannot be waited for: {e}"))?;
    }
    // SAFETY: no memory is involved. The group is the command's; what is gone is no error.
    unsafe { libc::killpg(group, libc::SIGKILL) };
    let status = match status {
        Some(status) => status,
        None => child
            .wait()
            .map_err(|e| format!("the command cannot be waited for: {e}"))?,
    };
    Ok(match status.signal() {
        Some(signal) => report::signaled(signal),
        None => report::exited(status.code().unwrap_or(-1)),
    })
}

/// Waits up to 10 ms for the end of file that the agent's end of the pipe leaves.
fn agent_is_gone(alive: i32) -> bool {
    let mut entry = libc::pollfd {
        fd: alive,
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: the structure outlives the call, which is told that it is one.
    unsafe { libc::poll(&mut entry, 1, 10) > 0 && entry.revents != 0 }
}

/// Closes inherited descriptors, and makes these two close in the command.
///
/// # Safety
/// Nothing may own a descriptor above 2 but these.
unsafe fn close_all_but(keep: &[i32]) {
    // SAFETY: the caller's promise; no memory is involved.
    unsafe {
        for fd in 3..libc::getdtablesize().min(10_240) {
            if keep.contains(&fd) {
                libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC);
            } else {
                libc::close(fd);
            }
        }
    }
}

fn command_line(plan: &Plan, command: &[OsString]) -> Result<Vec<OsString>, String> {
    let mut line = Vec::new();
    if plan.tier == Tier::Seatbelt {
        line.push(SANDBOX_EXEC.into());
        line.extend(seatbelt(plan)?);
    }
    line.extend(command.iter().cloned());
    Ok(line)
}

/// What every command may do.
const BASE: &str = r#"(version 1)
(deny default)
(allow process-fork)
(allow process-exec)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
(allow file-read*)
(allow sysctl-read)
(allow user-preference-read)
(allow pseudo-tty)
(allow file-read* file-write* file-ioctl (regex #"^/dev/tty") (literal "/dev/ptmx"))
(allow file-write-data file-ioctl (literal "/dev/null") (literal "/dev/zero"))
(allow ipc-posix-sem)
(allow mach-lookup
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.logger")
  (global-name "com.apple.cfprefsd.daemon"))
"#;

/// What the network needs: sockets, and the check of certificates.
const NETWORK: &str = r#"(allow network-outbound)
(allow network-inbound)
(allow system-socket)
(allow mach-lookup
  (global-name "com.apple.trustd.agent")
  (global-name "com.apple.SecurityServer")
  (global-name "com.apple.SystemConfiguration.configd"))
"#;

/// The arguments of `sandbox-exec`: the profile and the paths that it names. A later rule wins, so
/// each exception follows what it is from.
fn seatbelt(plan: &Plan) -> Result<Vec<OsString>, String> {
    let mut profile = BASE.to_owned();
    let (mut parameters, mut pinned) = (Vec::new(), Vec::new());
    let mut rules = |allow: &str, paths: &[PathBuf], prefix: char, profile: &mut String| {
        for (number, path) in paths.iter().enumerate() {
            let _ = writeln!(profile, "({allow} (subpath (param \"{prefix}{number}\")))");
            let mut parameter = OsString::from(format!("{prefix}{number}="));
            parameter.push(path);
            parameters.push(parameter);
        }
    };
    if !plan.read_only {
        profile.push_str("(allow ipc-posix-shm*)\n");
    }
    rules("allow file-write*", &plan.writable, 'W', &mut profile);
    for path in plan.sealed.iter().chain(&plan.watched) {
        let _ = writeln!(
            profile,
            "(deny file-write* (regex #\"{}\"))",
            any_case(path)?
        );
    }
    // Rules name paths, so nothing above a protected name may be moved away, changed there, and
    // moved back.
    let is_writable = |p: &Path| plan.writable.iter().any(|w| p.starts_with(w));
    let above: BTreeSet<&Path> = plan
        .sealed
        .iter()
        .chain(&plan.watched)
        .chain(&plan.hidden)
        .flat_map(|path| path.ancestors().skip(1).take_while(|a| is_writable(a)))
        .collect();
    for (number, path) in above.into_iter().enumerate() {
        let _ = writeln!(
            profile,
            "(deny file-write-unlink (literal (param \"A{number}\")))"
        );
        let mut parameter = OsString::from(format!("A{number}="));
        parameter.push(path);
        pinned.push(parameter);
    }
    // An approved folder inside a protected one.
    let lifted: Vec<_> = plan
        .writable
        .iter()
        .filter(|w| plan.sealed.iter().any(|s| w.starts_with(s)))
        .cloned()
        .collect();
    rules("allow file-write*", &lifted, 'L', &mut profile);
    rules(
        "deny file-read* file-write*",
        &plan.hidden,
        'H',
        &mut profile,
    );
    rules("allow file-read*", &plan.shown, 'R', &mut profile);
    if plan.network {
        profile.push_str(NETWORK);
    }
    let mut args: Vec<OsString> = vec!["-p".into(), profile.into()];
    for parameter in parameters.into_iter().chain(pinned) {
        args.push("-D".into());
        args.push(parameter);
    }
    args.push("--".into());
    Ok(args)
}

/// An expression for a path and all below it, whose last name matches in upper and lower case: the
/// usual disk ignores it.
fn any_case(path: &Path) -> Result<String, String> {
    let text = path
        .to_str()
        .filter(|t| !t.contains(['"', '\n']))
        .ok_or_else(|| {
            format!(
                "{} has a name that cannot be put in a rule; rename it",
                path.display()
            )
        })?;
    let last = text.rfind('/').map_or(0, |at| at + 1);
    let mut expression = "^".to_owned();
    for (at, c) in text.char_indices() {
        if at >= last && c.is_ascii_alphabetic() {
            let (upper, lower) = (c.to_ascii_uppercase(), c.to_ascii_lowercase());
            let _ = write!(expression, "[{lower}{upper}]");
        } else if c.is_alphanumeric() || "/_- ".contains(c) {
            expression.push(c);
        } else {
            expression.push('\\');
            expression.push(c);
        }
    }
    expression.push_str("(/|$)");
    Ok(expression)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_protected_name_matches_in_any_case_and_its_folder_exactly() {
        assert_eq!(
            any_case(Path::new("/Users/a.b/w/.git")).unwrap(),
            r"^/Users/a\.b/w/\.[gG][iI][tT](/|$)"
        );
        assert!(any_case(Path::new("/a\"b/.git")).is_err());
    }

    #[test]
    fn exceptions_follow_what_they_are_from() {
        let plan = Plan {
            tier: Tier::Seatbelt,
            writable: vec!["/w".into()],
            sealed: vec!["/w/.git".into()],
            hidden: vec!["/h".into()],
            shown: vec!["/h/outputs".into()],
            network: false,
            ..Plan::unfenced()
        };
        let args = seatbelt(&plan).unwrap();
        let profile = args[1].to_str().unwrap();
        let at = |text: &str| profile.find(text).unwrap();
        assert!(at("(deny default)") < at("(param \"W0\")"));
        assert!(at("(param \"W0\")") < at("[gG][iI][tT]"));
        assert!(at("(param \"H0\")") < at("(param \"R0\")"));
        assert!(!profile.contains("network"));
        assert_eq!(args[2..6], ["-D", "W0=/w", "-D", "H0=/h"]);
        // The workspace cannot be moved away and back with another `.git` in it.
        assert!(at("(param \"W0\")") < at("(deny file-write-unlink (literal (param \"A0\")))"));
        assert!(args.contains(&"A0=/w".into()));
    }
}
