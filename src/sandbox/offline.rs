//! Offline, held by the kernel: rules on this process itself, which every command inherits.
//!
//! What they leave is TCP to the given ports. The kernel's rules know ports and no addresses, so
//! another machine could be reached at such a port; that the program names none is its own duty.

use super::platform;
use std::fmt;

/// How well `--offline` holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Offline {
    /// The kernel refuses everything but TCP connections to these ports.
    Enforced(Vec<u16>),
    /// It does not, and why. The program keeps to it by itself; commands have their sandbox.
    Asked(String),
}

impl Offline {
    /// Puts the rules on this process, for good. Only its own thread and what comes from it are
    /// bound, so this is called before any other thread starts; later it is not [`Enforced`].
    ///
    /// [`Enforced`]: Offline::Enforced
    pub fn hold(ports: &[u16]) -> Self {
        match platform::offline(ports) {
            Ok(()) => Offline::Enforced(ports.to_vec()),
            Err(why) => Offline::Asked(why),
        }
    }
}

/// For the note at the start of a run.
impl fmt::Display for Offline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Offline::Enforced(ports) => {
                let ports: Vec<_> = ports.iter().map(u16::to_string).collect();
                let (word, ports) = (if ports.len() == 1 { "" } else { "s" }, ports.join(", "));
                write!(
                    f,
                    "offline (enforced): connections to port{word} {ports} only"
                )
            }
            Offline::Asked(why) => {
                let system = if cfg!(target_os = "linux") {
                    "kernel"
                } else {
                    "system"
                };
                write!(
                    f,
                    "offline (asked for, but this {system} cannot hold it: {why})"
                )
            }
        }
    }
}
