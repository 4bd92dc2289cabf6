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
    // The shell's answer for a program that is not there.
    const MISSING: i32 = 127;
    let own = std::env::var("PAGER").ok();
    let mut command = match own.as_deref().map(str::trim) {
        Some("" | "cat") => return false,
        // It may have arguments.
        Some(own) if cfg!(unix) => {
            let mut shell = Command::new("sh");
            shell.arg("-c").arg(own);
            shell
        }
        Some(own) => Command::new(own),
        None => Command::new(USUAL),
    };
    if std::env::var_os("LESS").is_none() {
        // Short text is printed and stays; styles are shown; nothing vanishes at the end.
        command.env("LESS", "FRX");
    }
    let Ok(mut child) = command.stdin(Stdio::piped()).spawn() else {
        return false;
    };
    if let Some(mut input) = child.stdin.take() {
        // Who leaves the pager early has seen enough.
        let _ = input.write_all(text.as_bytes());
    }
    child
        .wait()
        .is_ok_and(|status| status.code() != Some(MISSING))
}
