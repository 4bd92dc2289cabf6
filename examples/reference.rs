//! Writes the reference pages anew from the tables of the program: `cargo run --example reference`.
//! With `--check`, it only says which of them are out of date, and exits with 1 then.

use open_interpreter::cli::manual;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let check = std::env::args().any(|arg| arg == "--check");
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join(".github/docs");
    let pages = [
        ("cli.md", manual::command_line()),
        ("config.md", manual::config()),
    ];
    let mut stale = false;
    for (name, text) in pages {
        let file = docs.join(name);
        if std::fs::read_to_string(&file).is_ok_and(|old| old == text) {
            continue;
        }
        stale = true;
        if check {
            println!("{name} is out of date: run `cargo run --example reference`");
        } else if let Err(error) =
            std::fs::create_dir_all(&docs).and_then(|()| std::fs::write(&file, text))
        {
            println!("{} cannot be written: {error}", file.display());
            return ExitCode::FAILURE;
        } else {
            println!("wrote {}", file.display());
        }
    }
    ExitCode::from(u8::from(stale && check))
}
