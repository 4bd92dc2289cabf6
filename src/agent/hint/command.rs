//! Why a command did not even start, said with the way that works: small models answer "Permission
//! denied" by rewriting the file, and look for a program that has another name here.

use crate::model::ToolSpec;
use crate::tools::action::{ShellOut, ShellStatus};
use crate::tools::program_file;
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::path::Path;

/// Exit codes of a shell for a file that may not be executed, and for one that is not there.
const NOT_EXECUTABLE: i32 = 126;
const NOT_FOUND: i32 = 127;
/// Programs by the ending of what they run.
const RUNNERS: [(&str, &str); 10] = [
    ("py", "python3"),
    ("sh", "sh"),
    ("bash", "bash"),
    ("js", "node"),
    ("mjs", "node"),
    ("ts", "node"),
    ("rb", "ruby"),
    ("pl", "perl"),
    ("php", "php"),
    ("lua", "lua"),
];
/// Other names of programs.
const ALIASES: [(&str, &str); 4] = [
    ("python", "python3"),
    ("python3", "python"),
    ("pip", "python3 -m pip"),
    ("pytest", "python3 -m pytest"),
];

/// The command failed before the program began.
pub fn did_not_start(out: &ShellOut) -> bool {
    matches!(out.status, ShellStatus::Exited(NOT_EXECUTABLE | NOT_FOUND))
}

/// What to do about a command that did not start; nothing where that is not known.
pub fn remark(out: &ShellOut, tools: &[ToolSpec], path: Option<&OsStr>) -> Option<String> {
    match out.status {
        ShellStatus::Exited(NOT_EXECUTABLE) => {
            let name = before(&out.output.text, ": Permission denied")?;
            let runner = runner(&out.dir.join(name), path)?;
            Some(format!(
                "{name} is right as it is, but it is not an executable. Run it with `{runner} {name}`."
            ))
        }
        ShellStatus::Exited(NOT_FOUND) => {
            let text = &out.output.text;
            let name =
                before(text, ": command not found").or_else(|| before(text, ": not found"))?;
            if tools.iter().any(|tool| tool.name == name) {
                return Some(format!(
                    "{name} is one of your tools and no command. Call the tool {name} itself."
                ));
            }
            if !name.contains('/') && out.dir.join(name).is_file() {
                return Some(match runner(&out.dir.join(name), path) {
                    Some(runner) => format!("Run that file with `{runner} {name}`."),
                    None => format!("Run that file with `./{name}`."),
                });
            }
            let (_, other) = ALIASES.iter().find(|(alias, _)| *alias == name)?;
            let program = other.split(' ').next()?;
            program_file(program, path, &out.dir)?;
            Some(format!("Here it is called `{other}`."))
        }
        _ => None,
    }
}

/// The last word before those words, in the line that holds them.
fn before<'a>(text: &'a str, words: &str) -> Option<&'a str> {
    let line = text.lines().rev().find(|line| line.contains(words))?;
    let (head, _) = line.split_once(words)?;
    let name = head.rsplit(": ").next()?.trim();
    (!name.is_empty() && !name.contains(['`', '\n'])).then_some(name)
}

/// The program that runs a text file, if it is here.
fn runner(file: &Path, path: Option<&OsStr>) -> Option<&'static str> {
    let ending = file.extension()?.to_str()?;
    let (_, program) = RUNNERS.iter().find(|(known, _)| *known == ending)?;
    let mut start = [0; 4];
    let mut opened = fs::File::open(file).ok()?;
    let read = opened.read(&mut start).ok()?;
    let is_binary = start[..read].contains(&0);
    let is_there = || program_file(program, path, Path::new("")).is_some();
    (!is_binary && is_there()).then_some(program)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::guard::tests::ended;
    use crate::model::arguments::tests::tools;
    use crate::tools::action::Outcome;

    fn failed(dir: &Path, text: &str, code: i32) -> ShellOut {
        let Outcome::Shell(out) = ended(text, code) else {
            panic!("a command");
        };
        ShellOut {
            dir: dir.to_owned(),
            ..out
        }
    }

    /// A program of that name, in the folder.
    fn program(dir: &Path, name: &str) {
        let file = dir
            .join(name)
            .with_extension(std::env::consts::EXE_EXTENSION);
        fs::write(&file, "").expect("a program");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(&file, mode).expect("executable");
        }
    }

    #[test]
    fn what_did_not_start_is_told_the_way_that_works() {
        let dir = tempfile::tempdir().expect("a folder");
        let bin = dir.path().join("bin");
        fs::create_dir(&bin).expect("a folder");
        program(&bin, "python3");
        fs::write(dir.path().join("hello.py"), "print('hello')").expect("a file");
        let path = Some(bin.as_os_str());
        let said = |text: &str, code| remark(&failed(dir.path(), text, code), &tools(), path);
        let words = said("/bin/bash: line 1: ./hello.py: Permission denied\n", 126);
        assert!(words.expect("words").contains("`python3 ./hello.py`"));
        let words = said("bash: line 1: python: command not found", 127);
        assert_eq!(words.as_deref(), Some("Here it is called `python3`."));
        let words = said("sh: 1: python: not found", 127);
        assert_eq!(words.as_deref(), Some("Here it is called `python3`."));
        let words = said("bash: line 1: read_file: command not found", 127);
        assert!(words.expect("words").contains("Call the tool read_file"));
        let words = said("bash: line 1: hello.py: command not found", 127);
        assert!(words.expect("words").contains("`python3 hello.py`"));
        // Nothing is made up.
        assert_eq!(
            said("bash: line 1: ./gone.py: Permission denied", 126),
            None
        );
        assert_eq!(said("bash: line 1: cobc: command not found", 127), None);
        assert_eq!(said("bash: line 1: pip: command not found", 1), None);
    }
}
