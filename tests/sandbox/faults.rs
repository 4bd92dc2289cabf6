//! Each layer missing in turn: the fence is then weaker and says so, or refuses.

use crate::world::{World, fenced};
use open_interpreter::sandbox::{End, Mode, Sandbox, SandboxError, Strength};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
use std::process::Command;

/// Names the fault in the process that has it.
const FAULT: &str = "SANDBOX_TEST_FAULT";

/// Makes system calls fail for this thread and everything it starts.
fn break_calls(calls: &[i64], errno: i32) {
    let rules = calls.iter().map(|call| (*call, vec![])).collect();
    let filter = SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(errno as u32),
        std::env::consts::ARCH.try_into().unwrap(),
    );
    let program: BpfProgram = filter.unwrap().try_into().unwrap();
    seccompiler::apply_filter(&program).unwrap();
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

#[test]
fn a_missing_layer_weakens_the_fence_openly_or_refuses() {
    let landlock = [
        libc::SYS_landlock_create_ruleset,
        libc::SYS_landlock_restrict_self,
    ];
    let Ok(fault) = std::env::var(FAULT) else {
        for fault in [
            "landlock",
            "unshare",
            "mount_setattr",
            "both",
            "restrict",
            "seccomp",
        ] {
            in_own_process(
                "faults::a_missing_layer_weakens_the_fence_openly_or_refuses",
                fault,
            );
        }
        return;
    };
    let world = World::new();
    let sandbox = Sandbox::new(world.policy(Mode::WorkspaceWrite));
    match fault.as_str() {
        "landlock" => break_calls(&landlock, libc::ENOSYS),
        "unshare" => break_calls(&[libc::SYS_unshare], libc::EPERM),
        "mount_setattr" => break_calls(&[libc::SYS_mount_setattr], libc::ENOSYS),
        "both" => {
            break_calls(&landlock, libc::ENOSYS);
            break_calls(&[libc::SYS_unshare], libc::EPERM);
        }
        "restrict" => break_calls(&[libc::SYS_landlock_restrict_self], libc::EPERM),
        // The filter of this test itself is in force before it can refuse others.
        "seccomp" => break_calls(&[libc::SYS_seccomp], libc::ENOSYS),
        other => panic!("no fault is called {other}"),
    }
    let run = world.run("touch ran; touch $OUT/new");
    let strength = sandbox.strength();
    let result = sandbox.spawn(&run).map(crate::world::finish);
    let ran = world.path("ws/ran").exists();
    assert!(!world.path("out/new").exists());
    match fault.as_str() {
        "landlock" => assert!(strength == Strength::Enforced && ran),
        "unshare" | "mount_setattr" => assert!(matches!(strength, Strength::Partial(_)) && ran),
        "both" | "seccomp" => {
            assert!(matches!(strength, Strength::Nothing(_)), "{strength:?}");
            assert!(matches!(result, Err(SandboxError::Unenforceable(_))) && !ran);
        }
        _ => assert!(
            matches!(result, Ok((End::Fence(_), _))) && !ran,
            "{result:?}"
        ),
    }
    let mut free = run;
    free.lift = open_interpreter::sandbox::Lift::Everything;
    assert_eq!(fenced(&sandbox, &free).0, End::Exited(0));
}
