//! What the world allows: the policy, the fence around commands, and the gate of the file tools.
//!
//! [`Sandbox::spawn`] is the only place in the program that starts a process for something a
//! model asked for. The fence is the operating system's; where it cannot hold the policy, the
//! command is not started and the caller has to ask.
//!
//! A command never starts as a direct child. The program runs itself again as a small helper
//! with one thread, which puts up the fence, starts the command inside it, stays outside to watch
//! it, and takes down the whole process tree at the end. Only that way can the fence be built
//! with ordinary code: between fork and exec of a program with threads, hardly anything is allowed.

pub mod gate;
mod hint;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
mod nested;
mod offline;
mod plan;
mod process;
mod scope;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
use linux as platform;
#[cfg(target_os = "macos")]
use macos as platform;
#[cfg(windows)]
use windows as platform;

pub use gate::{Gate, GateError};
pub use hint::hint;
pub use offline::Offline;
pub use process::{End, Run, Running};

use plan::Plan;
use scope::Scope;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// What commands and file tools may touch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Read everything, write nothing, no network.
    ReadOnly,
    /// Also write in the workspace and the temporary folders.
    #[default]
    WorkspaceWrite,
    /// No limits.
    DangerFullAccess,
}

impl Mode {
    /// All modes with the names of config and flags, from narrow to wide.
    pub const ALL: [(Mode, &'static str); 3] = [
        (Mode::ReadOnly, "read-only"),
        (Mode::WorkspaceWrite, "workspace-write"),
        (Mode::DangerFullAccess, "danger-full-access"),
    ];

    /// The name in config and flags.
    pub fn name(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(m, _)| *m == self)
            .map_or("read-only", |(_, n)| n)
    }

    /// The mode of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, n)| *n == name).map(|(m, _)| *m)
    }
}

/// When the user is asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Approval {
    /// Everything that is not known to be harmless asks.
    Untrusted,
    /// Only what leaves the policy asks.
    #[default]
    OnRequest,
    /// Nothing asks; what would ask is refused.
    Never,
}

impl Approval {
    /// All policies with the names of config and flags. `on-failure` is read as `on-request`.
    pub const ALL: [(Approval, &'static str); 4] = [
        (Approval::Untrusted, "untrusted"),
        (Approval::OnRequest, "on-request"),
        (Approval::Never, "never"),
        (Approval::OnRequest, "on-failure"),
    ];

    /// The name in config and flags.
    pub fn name(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(a, _)| *a == self)
            .map_or("never", |(_, n)| n)
    }

    /// The policy of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, n)| *n == name).map(|(a, _)| *a)
    }
}

/// Names that are read-only at the top of every writable root, whether or not they exist: what is
/// in them can make later programs run code.
pub const PROTECTED: [&str; 4] = [".git", ".openinterpreter", ".agents", ".codex"];

/// One policy, fixed at the start of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// The mode.
    pub mode: Mode,
    /// The workspace: the working folder first, then `--add-dir` and `writable_roots`. Absolute.
    pub roots: Vec<PathBuf>,
    /// Commands may use the network.
    pub network: bool,
    /// `/tmp` is writable in workspace-write.
    pub slash_tmp: bool,
    /// `$TMPDIR` is writable in workspace-write.
    pub tmpdir: bool,
    /// Folders that nothing may write in any mode but danger-full-access, and that tools may not
    /// read: our own home with its keys and sessions. The folder of whole outputs in it is readable.
    pub own_homes: Vec<PathBuf>,
    /// The folder for whole outputs and piped inputs, which tools may read.
    pub readable: Vec<PathBuf>,
}

/// How well this system can hold a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Strength {
    /// Everything the policy says.
    Enforced,
    /// Writes and the network are fenced, but something named here is not.
    Partial(String),
    /// Not at all, and why.
    Nothing(String),
}

/// What an approval lifts for one command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Lift {
    /// Nothing.
    #[default]
    Nothing,
    /// The network fence.
    Network,
    /// The protection of `.git`.
    Git,
    /// One more writable folder.
    Folder(PathBuf),
    /// The whole fence.
    Everything,
}

/// Why a command was not started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SandboxError {
    /// This system cannot hold the policy, and why. Asking for [`Lift::Everything`] is a way out.
    Unenforceable(String),
    /// The helper could not be started, and why.
    Io(String),
}

impl fmt::Display for SandboxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SandboxError::Unenforceable(why) => write!(
                f,
                "the command did not run, because the sandbox cannot be enforced here: {why}"
            ),
            SandboxError::Io(why) => write!(f, "the command did not run: {why}"),
        }
    }
}

impl std::error::Error for SandboxError {}

/// One mechanism of the operating system that the fence is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// What the system calls it.
    pub name: &'static str,
    /// It works here.
    pub works: bool,
    /// Its version, where that matters.
    pub version: Option<i32>,
}

/// The mechanisms of this system, found by trying them in a helper; empty where there is none.
///
/// # Errors
/// Why they cannot be tried.
pub fn layers() -> Result<Vec<Layer>, String> {
    platform::layers()
}

/// The first argument that turns this program into the helper.
const HELPER: &str = "__sandbox";

/// Becomes the sandbox helper if this process was started as one, and then never returns.
///
/// Call it first in `main`, before any thread starts and before arguments are read. It also
/// remembers which program this is, so that a later update of the file on disk changes nothing.
pub fn helper_main() {
    let mut args = std::env::args_os().skip(1);
    if args.next().is_some_and(|first| first == HELPER) {
        platform::helper(args.collect());
    }
    platform::remember_program();
}

/// Starts commands under one [`Policy`].
#[derive(Debug, Clone)]
pub struct Sandbox {
    policy: Policy,
    scope: Scope,
    namespaces: bool,
}

impl Sandbox {
    /// A sandbox for this policy. Folders are resolved now, once: what a command later puts in
    /// their place is not followed.
    pub fn new(policy: Policy) -> Self {
        let scope = Scope::new(&policy);
        Self {
            policy,
            scope,
            namespaces: true,
        }
    }

    /// The same sandbox as it would be on a system without namespaces, for tests.
    #[doc(hidden)]
    pub fn without_namespaces(mut self) -> Self {
        self.namespaces = false;
        self
    }

    /// The policy.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// How well this system holds the policy. The first call in a process tries it in a helper,
    /// which takes a few milliseconds; later calls look at the disk only.
    pub fn strength(&self) -> Strength {
        if self.policy.mode == Mode::DangerFullAccess {
            return Strength::Enforced;
        }
        match self.plan(&Lift::Nothing) {
            Ok((_, None)) => Strength::Enforced,
            Ok((_, Some(missing))) => Strength::Partial(missing),
            Err(why) => Strength::Nothing(why),
        }
    }

    /// Starts a command inside the fence that the policy and `run.lift` name.
    ///
    /// # Errors
    /// [`SandboxError::Unenforceable`] when this system cannot hold the policy. What fails after
    /// the helper has started is told by [`End::Fence`].
    pub fn spawn(&self, run: &Run) -> Result<Running, SandboxError> {
        let plan = if self.policy.mode == Mode::DangerFullAccess || run.lift == Lift::Everything {
            Plan::unfenced()
        } else {
            self.plan(&run.lift).map_err(SandboxError::Unenforceable)?.0
        };
        platform::start(plan, run).map_err(SandboxError::Io)
    }

    /// What the helper has to do, and what it will leave open. The error is why the policy cannot be held.
    fn plan(&self, lift: &Lift) -> Result<(Plan, Option<String>), String> {
        let (tier, missing) = platform::tier(self.namespaces)?;
        let plan = Plan::new(&self.scope, lift, tier)?;
        Ok((plan, missing))
    }
}

/// Starts a program of the user's own, such as a hook: without a fence, and watched like a command of
/// a model, so that nothing of it is left when it ends or is dropped. Never for what a model asked for.
///
/// # Errors
/// When it cannot be started.
pub fn spawn_open(run: &Run) -> Result<Running, SandboxError> {
    platform::start(Plan::unfenced(), run).map_err(SandboxError::Io)
}

/// Makes the unit tests of this library, whose `main` is the test harness's, call [`helper_main`] first.
#[cfg(all(test, target_os = "linux"))]
#[used]
#[unsafe(link_section = ".init_array")]
static BECOME_HELPER: extern "C" fn() = {
    extern "C" fn first() {
        helper_main();
    }
    first
};
