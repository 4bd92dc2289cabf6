//! Landlock: the kernel's own list of what may be opened for what.
//!
//! It follows the real file, whatever the path that led to it, and it binds root. It knows no
//! exceptions inside what is granted, and nothing of owner, mode and times of a file.

use super::mounts::DEVICES;
use super::sys;
use crate::sandbox::plan::{Plan, Tier};
use ::landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use std::fs;
use std::path::{Path, PathBuf};

/// The highest version whose rights the crate knows.
const KNOWN: i32 = 7;
/// The lowest version that can stand alone: earlier ones let `truncate` through, or refuse every
/// rename from folder to folder.
pub const ALONE: i32 = 3;

/// The version of the running kernel; 0 without Landlock.
pub fn version() -> i32 {
    sys::landlock_version()
}

/// Restricts this process and all that come from it. Without Landlock it does nothing, which only
/// a tier with namespaces may accept.
pub fn restrict(plan: &Plan) -> Result<(), String> {
    let version = version().min(KNOWN);
    if version == 0 && plan.tier.has_namespaces() {
        return Ok(());
    }
    if version < ALONE && !plan.tier.has_namespaces() {
        return Err(format!(
            "the kernel's Landlock has version {version}, and without namespaces {ALONE} is needed"
        ));
    }
    let status = rules(plan, version).map_err(|e| format!("Landlock refused its rules: {e}"))?;
    if status == RulesetStatus::FullyEnforced {
        Ok(())
    } else {
        Err("Landlock took only a part of its rules".to_owned())
    }
}

fn rules(plan: &Plan, version: i32) -> Result<RulesetStatus, RulesetError> {
    let abi = ABI::from(version);
    let all = AccessFs::from_all(abi);
    let read = AccessFs::from_read(abi);
    let write = all & !(AccessFs::MakeBlock | AccessFs::MakeChar | AccessFs::IoctlDev);
    let device = (all & AccessFs::from_file(abi)) & !AccessFs::Execute;

    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(all)?;
    if version >= 6 {
        rules = rules.scope(Scope::AbstractUnixSocket | Scope::Signal)?;
    }
    let mut rules = rules.create()?;
    if plan.tier == Tier::Landlock && !plan.hidden.is_empty() {
        rules = allow_around(rules, plan, read)?;
    } else {
        rules = allow(rules, Path::new("/"), read)?;
    }
    for folder in &plan.writable {
        rules = allow(rules, folder, write)?;
    }
    for file in DEVICES {
        rules = allow(rules, Path::new(file), device)?;
    }
    // Only namespaces make these the command's own.
    if plan.tier.has_namespaces() {
        rules = allow(rules, Path::new("/dev/pts"), device | AccessFs::ReadDir)?;
        if !plan.read_only {
            rules = allow(rules, Path::new("/dev/shm"), write)?;
        }
    }
    Ok(rules.restrict_self()?.ruleset)
}

/// Grants rights on a path and all below it; what cannot be opened is not granted.
fn allow(
    rules: RulesetCreated,
    path: &Path,
    rights: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    match PathFd::new(path) {
        Ok(file) => {
            let rights = if path.is_dir() {
                rights
            } else {
                rights & AccessFs::from_file(ABI::from(KNOWN))
            };
            rules.add_rule(PathBeneath::new(file, rights))
        }
        Err(_) => Ok(rules),
    }
}

/// Grants reading of everything but the hidden folders. Since Landlock has no exceptions, their
/// neighbours are granted one by one on every level; what is new there later can be seen but not
/// read until the next command.
fn allow_around(
    rules: RulesetCreated,
    plan: &Plan,
    read: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    let mut rules = allow(rules, Path::new("/"), AccessFs::ReadDir.into())?;
    let mut todo = vec![PathBuf::from("/")];
    while let Some(folder) = todo.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if plan.hidden.contains(&path) {
                continue;
            }
            // A link would grant its target, which is granted or not at its own place.
            if entry.file_type().is_ok_and(|t| t.is_symlink()) {
                continue;
            }
            if plan.hidden.iter().any(|h| h.starts_with(&path)) {
                todo.push(path);
            } else {
                rules = allow(rules, &path, read)?;
            }
        }
    }
    for folder in &plan.shown {
        rules = allow(rules, folder, read)?;
    }
    Ok(rules)
}
