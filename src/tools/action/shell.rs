//! A command, and how it is run.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A command and how it is run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Shell {
    /// The command line, for the shell.
    pub command: String,
    /// Where; `None`: the session's folder.
    pub dir: Option<String>,
    /// Which shell.
    pub shell: ShellKind,
    /// Kill it, or leave it running, after this time; `None`: no limit.
    pub time_limit: Option<Duration>,
    /// What happens at the limit.
    pub on_timeout: OnTimeout,
    /// Start it and return at once.
    pub background: bool,
    /// The folder that the command ends in is where the next one starts.
    pub cwd_persists: bool,
    /// Only if it is inside of the session's folder or another that may be written; else the next
    /// one starts in the session's folder again.
    #[serde(default)]
    pub cwd_inside: bool,
    /// A command that does nothing but show one file counts as reading it.
    #[serde(default)]
    pub may_read: bool,
    /// Keep its standard input open for [`Action::ShellInput`]; else it is empty.
    pub stdin: bool,
    /// Further variables.
    pub env: Vec<(String, String)>,
    /// The model asks to run it outside the sandbox.
    pub escalate: Option<Escalation>,
}

impl Shell {
    /// A plain command in the session's folder, killed after `limit`.
    pub fn new(command: impl Into<String>, limit: Duration) -> Self {
        Shell {
            command: command.into(),
            dir: None,
            shell: ShellKind::User { login: false },
            time_limit: Some(limit),
            on_timeout: OnTimeout::Kill,
            background: false,
            cwd_persists: false,
            cwd_inside: false,
            may_read: false,
            stdin: false,
            env: Vec::new(),
            escalate: None,
        }
    }
}

/// Which shell runs a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ShellKind {
    /// The user's shell if it is a POSIX one, else bash, else sh.
    User {
        /// Read the login profile first.
        login: bool,
    },
    /// `/bin/sh`.
    Sh,
    /// A named one.
    Named {
        /// Program.
        program: String,
        /// Read the login profile first.
        login: bool,
    },
}

/// What happens to a command at its time limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum OnTimeout {
    /// It is killed with everything that it started.
    Kill,
    /// It goes on, and the model gets a number to ask for it.
    Background,
}

/// A wish to leave the sandbox for one command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Escalation {
    /// The question that the model wants to have put to the user.
    pub justification: Option<String>,
    /// The beginning of the command that could be allowed for good.
    pub prefix: Vec<String>,
}
