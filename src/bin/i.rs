//! The same program under its short name.

use std::process::ExitCode;

fn main() -> ExitCode {
    open_interpreter::cli::main()
}
