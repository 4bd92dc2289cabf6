//! The git tools as commands that only read.

use crate::harnesses::CallError;
use crate::harnesses::format::args::Args;
use crate::words::quote;

/// The command of a git tool; `None` for another tool.
///
/// # Errors
/// What is wrong with its arguments, for the model.
pub fn command(tool: &str, args: &Args) -> Result<Option<String>, CallError> {
    let mut words: Vec<String> = vec!["git".into(), "--no-pager".into()];
    let mut add = |word: &str| words.push(quote(word));
    let flag = |key: &str, default: bool| args.flag(key).unwrap_or(default);
    let number = |key: &str, most: u64, default: u64| {
        let number = args.whole(key).and_then(|n| u64::try_from(n).ok());
        number.unwrap_or(default).min(most)
    };
    match tool {
        "git_status" => {
            add("status");
            add("--short");
            add("--branch");
        }
        "git_diff" => {
            add("diff");
            add(&format!("--unified={}", number("unified", 50, 3)));
            if flag("cached", false) {
                add("--cached");
            }
        }
        "git_log" => {
            add("log");
            add(&format!(
                "--max-count={}",
                number("max_count", 200, 20).max(1)
            ));
            add("--date=short");
            add("--format=%h %ad %an: %s");
            for key in ["author", "since", "until"] {
                if let Some(value) = args.filled(key) {
                    add(&format!("--{key}={value}"));
                }
            }
        }
        "git_blame" => {
            add("blame");
            let first = number("start_line", u64::MAX, 1).max(1);
            let lines = number("max_lines", 2000, 200).max(1);
            add(&format!("-L{first},+{lines}"));
            if flag("porcelain", false) {
                add("--porcelain");
            }
            if let Some(rev) = args.filled("rev") {
                add(&revision(args, rev)?);
            }
            args.need_filled("path")?;
        }
        "git_show" => {
            add("show");
            let shows: &[&str] = match (flag("stat", true), flag("patch", true)) {
                (true, true) => &["--stat", "--patch"],
                (true, false) => &["--stat"],
                (false, true) => &["--patch"],
                (false, false) => &["--no-patch"],
            };
            shows.iter().for_each(|word| add(word));
            add(&format!("--unified={}", number("unified", 50, 3)));
            add(&revision(args, args.need_filled("rev")?)?);
        }
        _ => return Ok(None),
    }
    if let Some(path) = args.filled("path") {
        words.push("--".into());
        words.push(quote(&path));
    }
    Ok(Some(words.join(" ")))
}

/// A revision; git would take one that begins with a dash for an option.
fn revision(args: &Args, rev: String) -> Result<String, CallError> {
    match rev.trim_start().starts_with('-') {
        true => Err(args.wrong("\"rev\" must be a revision, like HEAD or a commit's hash")),
        false => Ok(rev),
    }
}
