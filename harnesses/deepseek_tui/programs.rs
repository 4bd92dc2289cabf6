//! Tools of the original that run a program: each is its command line, run and judged like any other.

use crate::harnesses::CallError;
use crate::harnesses::format::args::Args;
use crate::words::quote;

/// The command of such a tool; `None` for another tool.
///
/// # Errors
/// What is wrong with its arguments, for the model.
pub fn command(tool: &str, args: &Args) -> Result<Option<String>, CallError> {
    let text = |key: &str| args.need_filled(key).map(|value| quote(&value));
    Ok(Some(match tool {
        "run_tests" => {
            let mut command = "cargo test".to_owned();
            if args.flag("all_features").unwrap_or(false) {
                command.push_str(" --all-features");
            }
            // Written as for a shell, and judged as a command.
            if let Some(more) = args.filled("args") {
                command.push(' ');
                command.push_str(more.trim());
            }
            command
        }
        "code_execution" => format!("python3 -c {}", text("code")?),
        "js_execution" => format!("node -e {}", text("code")?),
        "image_ocr" => format!("tesseract {} stdout", text("path")?),
        "pandoc_convert" => {
            let (source, to) = (text("source_path")?, text("target_format")?);
            match args.filled("output_path") {
                Some(out) => format!("pandoc {source} --to {to} --output {}", quote(&out)),
                None => format!("pandoc {source} --to {to}"),
            }
        }
        _ => return Ok(None),
    }))
}
