//! May this action run? Pure decisions: nothing here reads, writes or asks.
//!
//! The fence around a command is the operating system's. What is decided here is when a person is
//! asked, what a yes would lift, and what is refused without a question. The shell parser fails
//! closed: a script that it does not understand wholly is not known to be safe.

mod dangerous;
mod patch_command;
mod paths;
mod policy;
mod safe;
mod shell;

pub use dangerous::is_dangerous;
pub use patch_command::patch_command;
pub use paths::touched;
pub use policy::{Judge, Verdict};
pub use safe::is_known_safe;
pub use shell::{Script, commands, parse};
