//! Hosted providers from outside: the table, keys, signing in, a wire that a server lacks, and one
//! conversation over several providers.

#[path = "hosted/keys.rs"]
mod keys;
#[path = "hosted/sign_in.rs"]
mod sign_in;
mod support;
#[path = "hosted/switching.rs"]
mod switching;
#[path = "hosted/table.rs"]
mod table;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs the program in this home, with these words on standard input.
fn program(
    home: &Path,
    args: &[&str],
    env: &[(&str, &str)],
    input: Option<&str>,
) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_interpreter"));
    command
        .args(args)
        .current_dir(home)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home)
        .env("INTERPRETER_HOME", home)
        .envs(env.iter().copied())
        .stdin(if input.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program");
    if let Some(text) = input {
        let mut pipe = child.stdin.take().expect("a pipe");
        // One that refuses its arguments does not read at all.
        let _ = pipe.write_all(text.as_bytes());
    }
    let output = child.wait_with_output().expect("an end");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code().unwrap_or(-1),
        text(&output.stdout),
        text(&output.stderr),
    )
}
