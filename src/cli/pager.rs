//! Long text on a terminal, page by page.

use std::io::{self, IsTerminal, Write};
use std::process::{Command, Stdio};

/// What is used without `PAGER`.
const USUAL: &str = "less";

/// Writes a text to `out`; where a person sits at it, through `PAGER`. One that cannot be started
/// is done without. Control characters are made visible before; styles of ours are in it.
pub fn show(text: &str, out: &mut (impl Write + IsTerminal)) {
    let dumb = std::env::var_os("TERM").is_none_or(|t| t == "dumb");
    let seen = io::stdin().is_terminal() && io::stdout().is_terminal() && out.is_terminal();
    if !seen || dumb || !page(text) {
        // A reader that went away is no reason to panic.
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}

/// True when a pager showed it.
fn page(text: &str) -> bool {
    let pager = std::env::var("PAGER").unwrap_or_else(|_| USUAL.into());
    if pager.trim().is_empty() || pager.trim() == "cat" {
        return false;
    }
    let (shell, flag) = if cfg!(windows) {
        ("cmd", "/C")
    } else {
        ("sh", "-c")
    };
    let mut command = Command::new(shell);
    command.arg(flag).arg(&pager).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        // Short text is printed and stays; styles are shown; nothing vanishes at the end.
        command.env("LESS", "FRX");
    }
    let Ok(mut child) = command.spawn() else {
        return false;
    };
    if let Some(mut input) = child.stdin.take() {
        // Who leaves the pager early has seen enough.
        let _ = input.write_all(text.as_bytes());
    }
    // The shell's answer for a program that is not there.
    const MISSING: i32 = 127;
    child
        .wait()
        .is_ok_and(|status| status.code() != Some(MISSING))
}
