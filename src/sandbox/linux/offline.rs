//! Offline: TCP by port through Landlock, every other way out through the filter of system calls.

use super::{landlock, seccomp};
use ::landlock::{
    AccessNet, CompatLevel, Compatible, NetPort, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetError, RulesetStatus,
};
use std::fs;

/// The first version of Landlock that knows ports.
const PORTS: i32 = 4;

/// Restricts this process to TCP connections to `ports`. The filter comes first: it makes a name
/// server unreachable also where Landlock is too old.
pub fn restrict(ports: &[u16]) -> Result<(), String> {
    if threads() != Some(1) {
        return Err("other threads of this program run already".to_owned());
    }
    seccomp::restrict_to_tcp()?;
    let version = landlock::version();
    if version < PORTS {
        return Err(format!(
            "its Landlock has version {version}, and rules for ports came with {PORTS}"
        ));
    }
    match rules(ports) {
        Ok(RulesetStatus::FullyEnforced) => Ok(()),
        Ok(_) => Err("Landlock took only a part of its rules".to_owned()),
        Err(e) => Err(format!("Landlock refused its rules: {e}")),
    }
}

fn rules(ports: &[u16]) -> Result<RulesetStatus, RulesetError> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessNet::ConnectTcp)?
        .create()?;
    for port in ports {
        rules = rules.add_rule(NetPort::new(*port, AccessNet::ConnectTcp))?;
    }
    Ok(rules.restrict_self()?.ruleset)
}

/// How many threads this process has.
fn threads() -> Option<usize> {
    Some(fs::read_dir("/proc/self/task").ok()?.count())
}
