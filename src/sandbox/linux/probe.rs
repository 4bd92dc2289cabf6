//! What this system has: found by trying it in a helper, once per process.

use super::{inside, landlock, mounts, program, seccomp, sys};
use crate::sandbox::plan::{Plan, Tier};
use crate::sandbox::{HELPER, Layer};
use serde::{Deserialize, Serialize};
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// What stands in place of a plan to ask the helper for its answer.
pub const ARGUMENT: &str = "probe";
/// How long the answer may take.
const LIMIT: Duration = Duration::from_secs(5);

/// The helper's answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Found {
    /// The first tier with namespaces that works, if any.
    namespaces: Option<Tier>,
    /// The version of Landlock, 0 without.
    landlock: i32,
    /// Filters of system calls work.
    seccomp: bool,
}

/// The best tier of this system and what it leaves open, in words. The error says why there is none.
pub fn tier(namespaces: bool) -> Result<(Tier, Option<String>), String> {
    verdict(found()?, namespaces)
}

/// Every mechanism, and whether it works here.
pub fn layers() -> Result<Vec<Layer>, String> {
    let found = found()?;
    let layer = |name, works| Layer {
        name,
        works,
        version: None,
    };
    Ok(vec![
        layer("namespaces", found.namespaces.is_some()),
        Layer {
            version: Some(found.landlock).filter(|v| *v > 0),
            ..layer("Landlock", found.landlock > 0)
        },
        layer("seccomp", found.seccomp),
    ])
}

/// The helper's answer, asked for once.
fn found() -> Result<&'static Found, String> {
    static FOUND: OnceLock<Result<Found, String>> = OnceLock::new();
    FOUND.get_or_init(ask).as_ref().map_err(Clone::clone)
}

fn verdict(found: &Found, namespaces: bool) -> Result<(Tier, Option<String>), String> {
    if !found.seccomp {
        return Err("the kernel takes no system call filter (seccomp)".to_owned());
    }
    if let Some(tier) = found.namespaces.filter(|_| namespaces) {
        return Ok((tier, None));
    }
    if found.landlock < landlock::ALONE {
        return Err(format!(
            "namespaces are not available, and Landlock has version {} where {} is needed",
            found.landlock,
            landlock::ALONE
        ));
    }
    let mut open = "no namespaces: owner, mode and times of files outside are not protected, and the protected folders are put back only after a command".to_owned();
    if found.landlock < 6 {
        open.push_str("; signals to other processes are not fenced");
    }
    Ok((Tier::Landlock, Some(open)))
}

/// Runs the helper and reads its answer.
fn ask() -> Result<Found, String> {
    let failed = |e: &dyn std::fmt::Display| format!("the sandbox helper does not answer: {e}");
    let mut child = Command::new(program()?)
        .args([HELPER, ARGUMENT])
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| failed(&e))?;
    let start = Instant::now();
    while child.try_wait().map_err(|e| failed(&e))?.is_none() {
        if start.elapsed() > LIMIT {
            let _ = child.kill();
            let _ = child.wait();
            return Err(failed(&"it took more than five seconds"));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut text = String::new();
    if let Some(pipe) = child.stdout.take() {
        let _ = pipe.take(4096).read_to_string(&mut text);
    }
    serde_json::from_str(&text).map_err(|e| failed(&e))
}

/// The helper's side: tries each layer in a process of its own and prints what worked.
pub fn answer() -> ! {
    let root = sys::ids().0 == 0;
    let candidates = [Tier::Namespaces, Tier::UserNamespaces];
    let found = Found {
        // Root needs no user namespace, but in a container may only be able with one.
        namespaces: candidates
            .into_iter()
            .filter(|tier| root || *tier == Tier::UserNamespaces)
            .find(|tier| works(|| build(*tier))),
        landlock: landlock::version(),
        seccomp: works(|| {
            sys::prctl(libc::PR_SET_NO_NEW_PRIVS, 1).map_err(|e| e.to_string())?;
            seccomp::restrict(&Plan::unfenced())
        }),
    };
    println!("{}", serde_json::to_string(&found).unwrap_or_default());
    std::process::exit(0)
}

/// Some systems let namespaces be made and refuse the mounts in them, so both are tried.
fn build(tier: Tier) -> Result<(), String> {
    let plan = Plan {
        tier,
        network: false,
        ..Plan::unfenced()
    };
    inside::enter(&plan)?;
    match sys::fork().map_err(|e| e.to_string())? {
        None => {
            let built = mounts::build(&plan).is_ok() && sys::loopback_up().is_ok();
            sys::leave(i32::from(!built))
        }
        Some(child) => match sys::wait(child, true) {
            Ok(Some((_, sys::Exit::Code(0)))) => Ok(()),
            _ => Err("the mounts failed".to_owned()),
        },
    }
}

/// True when a step succeeds in a throw-away child.
fn works(step: impl FnOnce() -> Result<(), String>) -> bool {
    match sys::fork() {
        Ok(None) => sys::leave(i32::from(step().is_err())),
        Ok(Some(child)) => matches!(sys::wait(child, true), Ok(Some((_, sys::Exit::Code(0))))),
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fallback_table_fails_closed() {
        let found = |namespaces, landlock, seccomp| Found {
            namespaces,
            landlock,
            seccomp,
        };
        let user = Some(Tier::UserNamespaces);
        assert_eq!(
            verdict(&found(user, 0, true), true),
            Ok((Tier::UserNamespaces, None))
        );
        let partial = verdict(&found(None, 3, true), true).unwrap();
        assert!(partial.0 == Tier::Landlock && partial.1.unwrap().contains("signals"));
        assert!(verdict(&found(None, 2, true), true).is_err());
        assert!(verdict(&found(None, 0, true), true).is_err());
        assert!(verdict(&found(user, 7, false), true).is_err());
    }
}
