//! What the world allows: the policy, the fence around commands, and the gate of the file tools.
//!
//! [`Sandbox::command`] is the only place in the program that builds a process for something a
//! model asked for. The fence is the operating system's; where it cannot hold the policy, the
//! command is not built and the caller has to ask.

pub mod gate;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(windows)]
mod windows;

use serde::{Deserialize, Serialize};
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

// A stand-in for the fence while the rooms are built side by side: it spawns without one.

pub use gate::{Gate, GateError};
use std::ffi::OsString;
use std::process::{Child, ChildStdin, Command, Stdio};

/// A program to run.
pub struct Run {
    /// The program.
    pub program: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Where it starts.
    pub dir: PathBuf,
    /// Its whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// What an approval lifts.
    pub lift: Lift,
    /// Keep a pipe to its standard input; else that is empty.
    pub stdin: bool,
}

/// The fence.
pub struct Sandbox(Policy);

impl Sandbox {
    /// A fence for a policy.
    pub fn new(policy: Policy) -> Self {
        Sandbox(policy)
    }

    /// The policy.
    pub fn policy(&self) -> &Policy {
        &self.0
    }

    /// How well it holds.
    pub fn strength(&self) -> Strength {
        Strength::Nothing("the fence is not built yet".into())
    }

    /// Starts a program.
    pub fn spawn(&self, run: &Run) -> Result<Running, SandboxError> {
        let io = |e: std::io::Error| SandboxError::Io(e.to_string());
        let (reader, writer) = std::io::pipe().map_err(io)?;
        let mut command = Command::new(&run.program);
        command
            .args(&run.args)
            .current_dir(&run.dir)
            .env_clear()
            .envs(run.env.iter().map(|(k, v)| (k, v)))
            .stdin(if run.stdin {
                Stdio::piped()
            } else {
                Stdio::null()
            })
            .stdout(writer.try_clone().map_err(io)?)
            .stderr(writer);
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn().map_err(io)?;
        Ok(Running {
            stdin: child.stdin.take(),
            output: Some(reader),
            child,
        })
    }
}

/// A program that runs.
pub struct Running {
    child: Child,
    stdin: Option<ChildStdin>,
    output: Option<std::io::PipeReader>,
}

impl Running {
    /// Its output.
    pub fn output(&mut self) -> Option<std::io::PipeReader> {
        self.output.take()
    }

    /// Its input.
    pub fn stdin(&mut self) -> Option<ChildStdin> {
        self.stdin.take()
    }

    /// Its process group.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, if it did.
    pub fn try_wait(&mut self) -> std::io::Result<Option<End>> {
        Ok(self.child.try_wait()?.map(|status| {
            #[cfg(unix)]
            if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
                return End::Signaled(signal);
            }
            End::Exited(status.code().unwrap_or(-1))
        }))
    }

    /// Ends it with all that it started.
    pub fn stop(&mut self) {
        #[cfg(unix)]
        // SAFETY: kill only takes numbers.
        unsafe {
            libc::kill(-(self.child.id() as i32), libc::SIGKILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}

/// How a program ended.
pub enum End {
    /// With a code.
    Exited(i32),
    /// By a signal.
    Signaled(i32),
    /// The fence failed and the program did not run.
    Fence(String),
}

/// Why a program was not started.
#[derive(Debug)]
pub enum SandboxError {
    /// The policy cannot be held here.
    Unenforceable(String),
    /// The system refused.
    Io(String),
}

impl std::fmt::Display for SandboxError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SandboxError::Unenforceable(why) | SandboxError::Io(why) => f.write_str(why),
        }
    }
}

/// A sentence when the fence is the likely cause of a failure.
pub fn hint(_output_tail: &str, _policy: &Policy, _lift: &Lift) -> Option<String> {
    None
}
