//! The program under its full name.

use std::process::ExitCode;

fn main() -> ExitCode {
    open_interpreter::cli::main()
}
