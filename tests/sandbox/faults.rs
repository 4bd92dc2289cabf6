//! Each layer missing in turn: the fence is then weaker and says so, or refuses.

use crate::world::{World, fenced};
use open_interpreter::sandbox::{End, Mode, Sandbox, SandboxError, Strength};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
use std::process::Command;

/// Names the fault in the process that has it.
const FAULT: &str = "SANDBOX_TEST_FAULT";

/// Makes system calls fail for this thread and everything it starts.
fn break_calls(calls: &[i64], errno: i32) {
    seccompiler::apply_filter(&filter(calls, errno)).unwrap();
}

/// A filter that answers these calls with an error and lets all others through.
pub fn filter(calls: &[i64], errno: i32) -> BpfProgram {
    let rules = calls.iter().map(|call| (*call, vec![])).collect();
    let filter = SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(errno as u32),
        std::env::consts::ARCH.try_into().unwrap(),
    );
    filter.unwrap().try_into().unwrap()
}

/// Runs a test of this file again, alone in a process, with the fault named in its environment.
fn in_own_process(test: &str, fault: &str) {
    let done = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(FAULT, fault)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{fault}: {text}");
}

/// What comes of a fault.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// The command runs in the whole fence.
    Enforced,
    /// It runs, and what is missing is said.
    Partial,
    /// Nothing runs in the fence.
    Refused,
    /// This command does not run, and the step that failed is named so.
    Names(&'static str),
}

/// A row: its name, the calls that fail with that error, whether only after the layers were tried,
/// and what comes of it.
type Fault = (&'static str, &'static [i64], i32, bool, Outcome);

const LANDLOCK: [i64; 2] = [
    libc::SYS_landlock_create_ruleset,
    libc::SYS_landlock_restrict_self,
];

/// The table of what holds where a layer is missing. That Landlock 1 and 2 alone are too little is
/// `the_fallback_table_fails_closed` beside the code, since no filter can forge a version.
const FAULTS: [Fault; 12] = [
    (
        "no Landlock",
        &LANDLOCK,
        libc::ENOSYS,
        false,
        Outcome::Enforced,
    ),
    (
        "no namespaces",
        &[libc::SYS_unshare],
        libc::EPERM,
        false,
        Outcome::Partial,
    ),
    (
        "no room for namespaces",
        &[libc::SYS_unshare],
        libc::ENOSPC,
        false,
        Outcome::Partial,
    ),
    (
        "no read-only mounts",
        &[libc::SYS_mount_setattr],
        libc::ENOSYS,
        false,
        Outcome::Partial,
    ),
    (
        "mounts refused",
        &[libc::SYS_mount],
        libc::EPERM,
        false,
        Outcome::Partial,
    ),
    (
        "neither",
        &[libc::SYS_unshare, LANDLOCK[0], LANDLOCK[1]],
        libc::ENOSYS,
        false,
        Outcome::Refused,
    ),
    (
        "no filter",
        &[libc::SYS_seccomp],
        libc::ENOSYS,
        false,
        Outcome::Refused,
    ),
    (
        "Landlock refuses",
        &[LANDLOCK[1]],
        libc::EPERM,
        false,
        Outcome::Names("Landlock"),
    ),
    (
        "namespaces gone",
        &[libc::SYS_unshare],
        libc::EPERM,
        true,
        Outcome::Names("namespaces"),
    ),
    (
        "mounts gone",
        &[libc::SYS_mount_setattr],
        libc::ENOSYS,
        true,
        Outcome::Names("could not hide"),
    ),
    (
        "capabilities stay",
        &[libc::SYS_capset],
        libc::EPERM,
        true,
        Outcome::Names("capabilities"),
    ),
    (
        "filter gone",
        &[libc::SYS_seccomp],
        libc::ENOSYS,
        true,
        Outcome::Names("seccomp"),
    ),
];

#[test]
fn a_missing_layer_weakens_the_fence_openly_or_refuses() {
    let Ok(name) = std::env::var(FAULT) else {
        for (name, ..) in FAULTS {
            in_own_process(
                "faults::a_missing_layer_weakens_the_fence_openly_or_refuses",
                name,
            );
        }
        return;
    };
    let (_, calls, errno, late, outcome) = FAULTS
        .into_iter()
        .find(|(known, ..)| *known == name)
        .expect("a row");
    let world = World::new();
    let sandbox = Sandbox::new(world.policy(Mode::WorkspaceWrite));
    if late {
        let _ = sandbox.strength();
    }
    // The filter of this test itself is in force before it can refuse others.
    break_calls(calls, errno);
    let run = world.run("touch ran; touch $OUT/new");
    let strength = sandbox.strength();
    let result = sandbox.spawn(&run).map(crate::world::finish);
    let ran = world.path("ws/ran").exists();
    assert!(!world.path("out/new").exists());
    match outcome {
        Outcome::Enforced => assert!(strength == Strength::Enforced && ran, "{result:?}"),
        Outcome::Partial => {
            assert!(
                matches!(strength, Strength::Partial(_)) && ran,
                "{strength:?} {result:?}"
            );
        }
        Outcome::Refused => {
            assert!(matches!(strength, Strength::Nothing(_)), "{strength:?}");
            assert!(matches!(result, Err(SandboxError::Unenforceable(_))) && !ran);
        }
        Outcome::Names(step) => {
            let named = matches!(&result, Ok((End::Fence(why), _)) if why.contains(step));
            assert!(named && !ran, "{result:?}");
        }
    }
    let mut free = run;
    free.lift = open_interpreter::sandbox::Lift::Everything;
    assert_eq!(fenced(&sandbox, &free).0, End::Exited(0));
}
