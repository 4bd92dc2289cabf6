//! Commands that are known to change nothing, judged by their arguments.
//!
//! Known-safe means "need not be asked"; such a command runs inside the sandbox all the same.

use super::shell::{base_name, commands};

/// Programs that only read, whatever their arguments.
const ALWAYS: [&str; 23] = [
    "cat", "cd", "cut", "echo", "expr", "false", "grep", "head", "id", "ls", "nl", "paste", "pwd",
    "rev", "seq", "stat", "tail", "tr", "true", "uname", "wc", "which", "whoami",
];
/// The same, where only some systems have the program.
const ALWAYS_LINUX: [&str; 2] = ["numfmt", "tac"];

/// Where the programs of a system are. One of the same name elsewhere, say in the workspace, may
/// be anything.
const SYSTEM_FOLDERS: [&str; 5] = [
    "/bin",
    "/usr/bin",
    "/usr/local/bin",
    "/opt/homebrew/bin",
    "/run/current-system/sw/bin",
];

/// Actions of `find` that run or write something.
const FIND_ACTIONS: [&str; 9] = [
    "-exec", "-execdir", "-ok", "-okdir", "-delete", "-fls", "-fprint", "-fprint0", "-fprintf",
];
/// Options of `git branch` that list.
const BRANCH_LISTING: [&str; 10] = [
    "--list",
    "-l",
    "--show-current",
    "-a",
    "--all",
    "-r",
    "--remotes",
    "-v",
    "-vv",
    "--verbose",
];
/// Options of `git log` and its kind that write a file or run a program, or git in a submodule, whose
/// settings nobody has looked at.
const GIT_OPTIONS: [&str; 6] = [
    "--output",
    "--ext-diff",
    "--textconv",
    "--exec",
    "--submodule",
    "--ignore-submodules",
];

/// True when every command of the script is known to change nothing.
pub fn is_known_safe(script: &str) -> bool {
    commands(script).is_some_and(|all| all.iter().all(|argv| is_safe_argv(argv)))
}

fn is_safe_argv(argv: &[String]) -> bool {
    let Some((program, args)) = argv.split_first() else {
        return false;
    };
    let in_system = match program.rsplit_once('/') {
        None => true,
        Some((folder, _)) => SYSTEM_FOLDERS.contains(&folder),
    };
    if !in_system {
        return false;
    }
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match base_name(program) {
        name if ALWAYS.contains(&name) => true,
        name if cfg!(target_os = "linux") && ALWAYS_LINUX.contains(&name) => true,
        "base64" => !args
            .iter()
            .any(|a| has_short(a, 'o') || abbreviates(a, "--output")),
        "find" => !args.iter().any(|a| FIND_ACTIONS.contains(a)),
        "rg" => !args.iter().any(|a| {
            let name = option_name(a);
            ["--pre", "--hostname-bin", "--search-zip"].contains(&name) || has_short(a, 'z')
        }),
        "sed" => is_sed_print(&args),
        "uniq" => has_one_operand(&args),
        "git" => is_safe_git(&args),
        _ => false,
    }
}

/// `sed -n 5p [file]` or `sed -n 5,9p [file]`.
fn is_sed_print(args: &[&str]) -> bool {
    let (script, file) = match args {
        ["-n", script] => (*script, None),
        ["-n", script, file] => (*script, Some(*file)),
        _ => return false,
    };
    let is_number = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    let Some(range) = script.strip_suffix('p') else {
        return false;
    };
    let (first, last) = range.split_once(',').unwrap_or((range, range));
    is_number(first) && is_number(last) && file.is_none_or(|f| !f.starts_with('-'))
}

/// `uniq` writes to its second file. A number behind an option counts as one.
fn has_one_operand(args: &[&str]) -> bool {
    let is_operand = |a: &&&str| **a == "-" || !a.starts_with('-');
    !args.contains(&"--") && args.iter().filter(is_operand).count() <= 1
}

/// A reading subcommand. Of the options before it only `--no-pager` is taken: others may name
/// another repository or configuration, and with it programs to run.
fn is_safe_git(args: &[&str]) -> bool {
    let args = args.strip_prefix(&["--no-pager"]).unwrap_or(args);
    match args.split_first() {
        Some((&("status" | "log" | "diff" | "show"), rest)) => !rest
            .iter()
            .any(|a| GIT_OPTIONS.iter().any(|o| abbreviates(a, o))),
        Some((&"branch", rest)) => rest
            .iter()
            .all(|a| BRANCH_LISTING.contains(a) || a.starts_with("--format=")),
        _ => false,
    }
}

/// The part of an option before its `=`.
fn option_name(arg: &str) -> &str {
    arg.split_once('=').map_or(arg, |(name, _)| name)
}

/// True for an option and for the shortened forms of it that programs take too.
fn abbreviates(arg: &str, option: &str) -> bool {
    let name = option_name(arg);
    name.len() > 2 && name.starts_with("--") && option.starts_with(name)
}

/// True when a word of short options has this one.
fn has_short(arg: &str, option: char) -> bool {
    arg.strip_prefix('-')
        .is_some_and(|rest| !rest.starts_with('-') && rest.contains(option))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_safe() {
        for script in [
            "cat a",
            "cd a",
            "cut -f1 a",
            "echo a",
            "expr 1 + 1",
            "false",
            "grep -r x .",
            "head a",
            "id",
            "ls -la",
            "nl a",
            "paste a b",
            "pwd",
            "rev a",
            "seq 3",
            "stat a",
            "tail -f a",
            "tr a b",
            "true",
            "uname -a",
            "uniq a",
            "uniq -c",
            "uniq --count -",
            "wc -l",
            "which ls",
            "whoami",
            "/bin/ls",
            "/usr/bin/cat a",
            "base64 a",
            "base64 -d a",
            "find . -name 'a*' -print",
            "rg --files-with-matches x",
            "rg -n --pre-glob x y",
            "sed -n 5p a",
            "sed -n 5,9p",
            "sed -n '1,200p' src/main.rs",
            "git status",
            "git log --oneline -5",
            "git diff --stat",
            "git show HEAD",
            "git log --output-indicator-new=x",
            "git --no-pager log",
            "git branch",
            "git branch -a -vv",
            "git branch --show-current",
            "git branch '--format=%(refname)'",
            "ls && pwd || id; wc | cat",
            "bash -lc 'ls | head -3'",
            "sh -c 'bash -c ls'",
            "echo 'rm -rf /'",
        ] {
            assert!(is_known_safe(script), "{script}");
        }
    }

    #[test]
    fn not_known_safe() {
        for script in [
            "rm a",
            "python a.py",
            "make",
            "ls; rm a",
            "ls && make",
            "bash a.sh",
            "bash -c 'ls; make'",
            "./cat a",
            "/tmp/ls",
            "sub/bin/ls",
            "xargs ls",
            "env ls",
            "sudo ls",
            "ls > f",
            "echo $(make)",
            "cat *",
            "A=1 ls",
            "(ls)",
            "ls &",
            "! ls",
            "base64 -o f a",
            "base64 -of",
            "base64 --output=f",
            "base64 --output f",
            "base64 --out=f",
            "base64 -do f",
            "find . -exec rm x",
            "find . -execdir a",
            "find . -ok a",
            "find . -okdir a",
            "find . -delete",
            "find . -fls f",
            "find . -fprint f",
            "find . -fprint0 f",
            "find . -fprintf f",
            "rg --pre cat x",
            "rg --pre=cat x",
            "rg --hostname-bin a x",
            "rg --hostname-bin=a x",
            "rg --search-zip x",
            "rg -z x",
            "rg -nz x",
            "sed -n 5p a b",
            "sed 5p a",
            "sed -n 's/a/b/w f' a",
            "sed -i s/a/b/ a",
            "sed -n 5,p",
            "sed -n p",
            "sed -n 1p -i",
            "sed -n -i 1p",
            "uniq a b",
            "uniq -c a b",
            "uniq - b",
            "uniq -- a -b",
            "find . -name x\u{e0}-delete",
            "git push",
            "git --no-pager push",
            "git commit -m x",
            "git checkout .",
            "git -C /x status",
            "git -c core.pager=x log",
            "git -p log",
            "git --paginate log",
            "git --config-env=a=b log",
            "git --exec-path=/x status",
            "git --git-dir=x status",
            "git --namespace=x log",
            "git --super-prefix=x log",
            "git --work-tree=x status",
            "git",
            "git diff --submodule=diff",
            "git status --ignore-submodules=none",
            "git diff --output=f",
            "git diff --output f",
            "git diff --outp=f",
            "git log --ext-diff",
            "git show --textconv",
            "git log --exec=x",
            "git branch new",
            "git branch -d a",
            "git branch -D a",
            "git branch -m a b",
            "git branch --list -d a",
        ] {
            assert!(!is_known_safe(script), "{script}");
        }
    }
}
