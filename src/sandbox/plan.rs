//! What the helper is told: the policy and the lift of one command, as plain lists.

use super::scope::Scope;
use super::{Lift, Mode};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The means of a fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Tier {
    /// None: the command runs free, but is still watched and taken down as a whole.
    Open,
    /// Linux: Landlock and a system call filter.
    Landlock,
    /// Linux: namespaces made by root, and all of the above that the kernel has.
    Namespaces,
    /// Linux: the same inside a user namespace.
    UserNamespaces,
    /// macOS: a seatbelt profile.
    Seatbelt,
}

/// The task of one helper.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Plan {
    pub tier: Tier,
    /// True when nothing but devices may be written, apart from `writable`.
    pub read_only: bool,
    /// Existing canonical folders, outer ones first.
    pub writable: Vec<PathBuf>,
    /// Paths in them that stay read-only, existing or not.
    pub sealed: Vec<PathBuf>,
    /// Paths in them that no mount can keep as they are: links, and names that do not exist and that
    /// nothing can stand in for. What becomes of them is undone.
    pub watched: Vec<PathBuf>,
    /// Folders that nobody inside may look into.
    pub hidden: Vec<PathBuf>,
    /// Parts of them that may be read.
    pub shown: Vec<PathBuf>,
    pub network: bool,
    /// The descriptor on which the helper reports how it ended.
    pub status: i32,
    /// The descriptor whose end of file means that the agent is gone.
    pub alive: i32,
}

impl Plan {
    /// Nothing is fenced.
    pub fn unfenced() -> Self {
        Self {
            tier: Tier::Open,
            read_only: false,
            writable: vec![],
            sealed: vec![],
            watched: vec![],
            hidden: vec![],
            shown: vec![],
            network: true,
            status: -1,
            alive: -1,
        }
    }

    /// The fence of a scope with one thing lifted. The error is a sentence: why this tier cannot
    /// hold it.
    pub fn new(scope: &Scope, lift: &Lift, tier: Tier) -> Result<Self, String> {
        // What was resolved at the start must still be the same place.
        let moved = |folder: &&PathBuf| folder.canonicalize().ok().as_ref() != Some(folder);
        if let Some(root) = scope.roots.iter().find(moved) {
            return Err(format!(
                "{} was moved or replaced since the session began; start a new session there",
                root.display()
            ));
        }
        let mut writable = scope.writable(lift);
        writable.retain(|w| !(scope.temps.contains(w) && moved(&w)));
        if let Some(root) = scope.roots.iter().find(|r| scope.is_hidden(r)) {
            return Err(format!(
                "the workspace {} is in this program's own home, which commands may not touch; work in another folder",
                root.display()
            ));
        }
        if let Some(file) = scope.hidden.iter().find(|h| h.is_file()) {
            return Err(format!(
                "{} is a file, and only folders can be kept from being read; name its folder in deny_read",
                file.display()
            ));
        }
        let mut sealed = scope.sealed(lift);
        if let Some(link) = sealed.links.first() {
            return Err(format!(
                "{} is a symbolic link, which cannot be protected; replace it by what it points to",
                link.display()
            ));
        }
        for home in &scope.hidden {
            let open = writable.iter().find(|w| home.starts_with(w));
            if let (Tier::Landlock, Some(folder)) = (tier, open) {
                return Err(format!(
                    "without namespaces this program's own home {} cannot be protected inside the writable folder {}; work in another folder, or move the home with INTERPRETER_HOME",
                    home.display(),
                    folder.display()
                ));
            }
            if open.is_some() && !home.exists() {
                sealed.paths.push(home.clone());
            }
        }
        Ok(Self {
            tier,
            read_only: scope.mode == Mode::ReadOnly,
            writable,
            sealed: sealed.paths,
            watched: sealed.watched,
            hidden: scope
                .hidden
                .iter()
                .filter(|h| h.is_dir())
                .cloned()
                .collect(),
            shown: scope.shown.clone(),
            network: scope.network || *lift == Lift::Network,
            status: -1,
            alive: -1,
        })
    }
}
