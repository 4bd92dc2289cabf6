//! Capabilities: what remains of root inside the fence.

use super::sys;
use crate::sandbox::plan::Tier;
use std::io;

const CHOWN: u64 = 1 << 0;
const DAC_OVERRIDE: u64 = 1 << 1;
const FOWNER: u64 = 1 << 3;
const FSETID: u64 = 1 << 4;
const SETGID: u64 = 1 << 6;
const SETUID: u64 = 1 << 7;

/// Drops all but what makes root the owner of every file, which unpacking an archive or building
/// in a folder of another user needs. An ordinary user keeps nothing.
///
/// Without namespaces nothing fences owner and mode of files outside, so these rights go as well.
pub fn drop_for_command(tier: Tier) -> io::Result<()> {
    let keep = match (sys::ids().0, tier) {
        (0, Tier::Landlock) => DAC_OVERRIDE | FSETID | SETGID | SETUID,
        (0, _) => CHOWN | DAC_OVERRIDE | FOWNER | FSETID | SETGID | SETUID,
        _ => 0,
    };
    keep_only(keep)
}

/// Drops all.
pub fn drop_all() -> io::Result<()> {
    keep_only(0)
}

fn keep_only(keep: u64) -> io::Result<()> {
    for capability in 0..64u64 {
        if keep >> capability & 1 == 0 {
            // Fails for numbers that the kernel does not know, and for users who have none to drop.
            let _ = sys::prctl(libc::PR_CAPBSET_DROP, capability as libc::c_ulong);
        }
    }
    let clear = libc::PR_CAP_AMBIENT_CLEAR_ALL as libc::c_ulong;
    let _ = sys::prctl(libc::PR_CAP_AMBIENT, clear);
    sys::intersect_capabilities(keep)
}
