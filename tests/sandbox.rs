//! The sandbox from outside: attacks must fail, honest work must not, and nothing may be left.
//!
//! Every attack also runs without a sandbox, where it has to succeed; an attack that does not
//! work proves nothing. Started as root, the whole suite runs once more as an ordinary user.
#![cfg(target_os = "linux")]

#[path = "sandbox/attacks.rs"]
mod attacks;
#[path = "sandbox/faults.rs"]
mod faults;
#[path = "sandbox/honest.rs"]
mod honest;
#[path = "sandbox/lifecycle.rs"]
mod lifecycle;
#[path = "sandbox/world.rs"]
mod world;

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The test harness has its own `main`, so the helper is entered before it.
#[used]
#[unsafe(link_section = ".init_array")]
static BECOME_HELPER: extern "C" fn() = {
    extern "C" fn first() {
        open_interpreter::sandbox::helper_main();
    }
    first
};

const NOBODY: u32 = 65534;

#[test]
fn the_suite_as_an_ordinary_user() {
    if !world::is_root() {
        return;
    }
    // The build folder may be closed to others.
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let program = folder.path().join("suite");
    let binary = folder.path().join("interpreter");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    std::fs::copy(world::binary(), &binary).unwrap();
    let done = Command::new(program)
        .uid(NOBODY)
        .gid(NOBODY)
        .env("HOME", "/nonexistent")
        .env("SANDBOX_TEST_BINARY", binary)
        .env_remove("TMPDIR")
        .current_dir("/")
        .output()
        .unwrap();
    assert!(
        done.status.success(),
        "{}{}",
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr)
    );
}
