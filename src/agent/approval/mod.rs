//! May this action run? Pure decisions: nothing here reads, writes or asks.
//!
//! The fence around a command is the operating system's. What is decided here is when a person is
//! asked, what a yes would lift, and what is refused without a question. The shell parser fails
//! closed: a script that it does not understand wholly is not known to be safe.

pub mod amend;
mod dangerous;
mod drivers;
mod patch_command;
mod paths;
mod policy;
pub mod rules;
mod safe;
mod shell;
mod windows;

pub use dangerous::is_dangerous;
pub use patch_command::patch_command;
pub use paths::{resolve, touched};
pub use policy::{Judge, Verdict};
pub use safe::is_known_safe;
pub use shell::{Script, commands, parse};
