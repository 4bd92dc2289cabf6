//! Commands that are asked about under every policy: `rm` with a force flag.
//!
//! Unlike the parser of known-safe scripts this reader goes through any script, as far as it
//! understands it: control flow, subshells, substitutions, here-documents. Text that is data, such
//! as a quoted argument of another program, is not looked into.

mod reader;

use super::shell::base_name;
use super::windows;
use reader::{Reader, UNKNOWN};

/// How deep scripts within scripts are followed. What is nested deeper counts as dangerous.
const MAX_DEPTH: usize = 8;
/// The longest script that is read, in bytes. A longer one counts as dangerous.
const MAX_BYTES: usize = 1024 * 1024;

/// Shells, whose `-c` argument and here-documents are scripts.
const SHELLS: [&str; 5] = ["bash", "sh", "zsh", "dash", "ksh"];
/// Programs that run the command which their arguments are, and take no other arguments than
/// options without a value.
const PREFIXES: [&str; 5] = ["command", "builtin", "exec", "nohup", "time"];
/// Programs that run a command which stands somewhere behind them.
pub(super) const RUNNERS: [&str; 24] = [
    "xargs",
    "timeout",
    "nice",
    "ionice",
    "setsid",
    "stdbuf",
    "find",
    "fd",
    "watch",
    "parallel",
    "strace",
    "busybox",
    "chroot",
    "chrt",
    "entr",
    "flock",
    "nsenter",
    "prlimit",
    "script",
    "setarch",
    "su",
    "systemd-run",
    "taskset",
    "unshare",
];
/// How many words behind such a program are looked at for a shell.
const MOST_WORDS: usize = 64;
/// Options of `sudo` that take the next word as their value.
const SUDO_VALUES: &str = "CDghpRrTtUu";
/// The same in their long form, where the value is a word of its own.
const SUDO_LONG_VALUES: [&str; 11] = [
    "-chdir",
    "-chroot",
    "-close-from",
    "-command-timeout",
    "-group",
    "-host",
    "-other-user",
    "-prompt",
    "-role",
    "-type",
    "-user",
];

/// True for a script in which `rm` is run with a force flag, at any place.
pub fn is_dangerous(script: &str) -> bool {
    everything(script).is_none_or(|all| all.iter().any(|argv| removes_by_force(argv)))
}

/// Every simple command of a script that can be made out, wherever it stands: in control flow and
/// substitutions, behind `sudo`, `env` and their kind, in scripts within scripts. `None` when the
/// script is too long or too deep to be read.
pub fn everything(script: &str) -> Option<Vec<Vec<String>>> {
    let mut seen = Vec::new();
    (script.len() <= MAX_BYTES && !script_is(script, 0, &mut seen)).then_some(seen)
}

/// True for a word of [`everything`] of which only the shell knows what it will be: it has a variable,
/// a substitution, a pattern or alternatives in it. It may become several words, too.
pub(super) fn is_unknown(word: &str) -> bool {
    !matches!(word, "[" | "[[" | "{}") && word.contains([UNKNOWN, '*', '?', '[', '{'])
}

/// `rm` with a force flag.
fn removes_by_force(argv: &[String]) -> bool {
    argv.split_first().is_some_and(|(program, args)| {
        base_name(program).replace(UNKNOWN, "") == "rm"
            && args.iter().take_while(|a| *a != "--").any(|a| is_force(a))
    })
}

/// Adds what a script runs; true when it is nested too deep.
fn script_is(script: &str, depth: usize, seen: &mut Vec<Vec<String>>) -> bool {
    if depth > MAX_DEPTH {
        return true;
    }
    let mut reader = Reader::new(script, depth, seen);
    reader.list(None);
    reader.too_deep
}

/// Adds one simple command and what it runs in turn. `depth` is that of the script it stands in.
fn argv_is(argv: &[String], depth: usize, seen: &mut Vec<Vec<String>>) -> bool {
    if depth > MAX_DEPTH {
        return true;
    }
    // An option in front is one of `time`.
    let start = argv
        .iter()
        .position(|w| !is_assignment(w) && !w.starts_with('-'));
    let Some(argv) = start.map(|i| &argv[i..]) else {
        return false;
    };
    let Some((program, args)) = argv.split_first() else {
        return false;
    };
    seen.push(argv.to_vec());
    let mut nested = |script: &str| script_is(script, depth + 1, seen);
    match base_name(program) {
        "sudo" | "doas" => argv_is(after_sudo_options(args), depth + 1, seen),
        "env" => env_is(args, depth, seen),
        "trap" | "eval" => {
            let words: Vec<&str> = args
                .iter()
                .map(String::as_str)
                .skip_while(|a| a.starts_with('-'))
                .collect();
            // `trap` takes one script, `eval` joins its words to one.
            match base_name(program) {
                "trap" => words.first().is_some_and(|s| nested(s)),
                _ => nested(&words.join(" ")),
            }
        }
        name if SHELLS.contains(&name) => match shell_script(args) {
            Some(script) => nested(script),
            None => {
                // It reads what it runs from a pipe or a file.
                if args.iter().all(|a| a.starts_with(['-', '+'])) {
                    seen.push(vec![UNKNOWN.to_string()]);
                }
                false
            }
        },
        "exec" if args.first().is_some_and(|a| a == "-a") => {
            argv_is(args.get(2..).unwrap_or_default(), depth + 1, seen)
        }
        name if windows::family(name).is_some() => windows::is_dangerous(&argv.join(" ")),
        name if RUNNERS.contains(&name) => {
            let shells = args
                .iter()
                .take(MOST_WORDS)
                .enumerate()
                .filter(|(_, word)| {
                    // These take a script themselves: `su -c`, `script -c`.
                    SHELLS.contains(&base_name(word)) || *word == "-c"
                });
            let found: Vec<usize> = shells.map(|(at, _)| at).collect();
            found.into_iter().any(|at| {
                let rest = &args[at..];
                match rest {
                    [c, script, ..] if c == "-c" => script_is(script, depth + 1, seen),
                    _ => argv_is(rest, depth + 1, seen),
                }
            })
        }
        name if PREFIXES.contains(&name) => {
            let rest = args.iter().position(|a| !a.starts_with('-'));
            rest.is_some_and(|i| argv_is(&args[i..], depth + 1, seen))
        }
        _ => false,
    }
}

/// `-f` inside a word of short options, `--force` and its shortened forms.
fn is_force(arg: &str) -> bool {
    match arg.strip_prefix("--") {
        Some(long) => !long.is_empty() && "force".starts_with(long),
        None => arg.starts_with('-') && arg.contains('f'),
    }
}

/// `NAME=value`.
fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let name = name.strip_suffix('+').unwrap_or(name);
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

fn after_sudo_options(args: &[String]) -> &[String] {
    let mut rest = args;
    while let Some((first, more)) = rest.split_first() {
        if first == "--" {
            return more;
        }
        let Some(option) = first.strip_prefix('-') else {
            break;
        };
        let takes_next = if option.starts_with('-') {
            SUDO_LONG_VALUES.contains(&option)
        } else {
            option.ends_with(|c| SUDO_VALUES.contains(c))
        };
        rest = more.get(usize::from(takes_next)..).unwrap_or(&[]);
    }
    rest
}

fn env_is(args: &[String], depth: usize, seen: &mut Vec<Vec<String>>) -> bool {
    let mut rest = args;
    while let Some((first, more)) = rest.split_first() {
        match first.as_str() {
            "-u" | "-C" | "--unset" | "--chdir" => rest = more.get(1..).unwrap_or(&[]),
            "-S" | "--split-string" => return script_is(&more.join(" "), depth + 1, seen),
            option if option.starts_with('-') => {
                let packed = option.strip_prefix("--split-string=");
                if let Some(script) = packed.or(option.strip_prefix("-S")) {
                    return script_is(&format!("{script} {}", more.join(" ")), depth + 1, seen);
                }
                rest = more;
            }
            _ => break,
        }
    }
    argv_is(rest, depth + 1, seen)
}

/// The script of `bash -c SCRIPT`, with other options before and in one word with `c`.
fn shell_script(args: &[String]) -> Option<&str> {
    let mut has_c = false;
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let option = arg.strip_prefix(['-', '+']).filter(|o| !o.is_empty());
        match option {
            Some(long) if long.starts_with('-') => {}
            Some(short) => {
                has_c |= short.contains('c') && arg.starts_with('-');
                if short.ends_with(['o', 'O']) {
                    args.next();
                }
            }
            None => return has_c.then_some(arg),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dangerous() {
        for script in [
            "rm -f a",
            "rm -rf /",
            "rm -fr a",
            "rm -Rvf a",
            "rm --force a",
            "rm --for a",
            "rm a -f",
            "rm -r -f a",
            "/bin/rm -f a",
            "\\rm -f a",
            "r'm' -f a",
            "rm \"-f\" a",
            "rm -f",
            "A=1 rm -f a",
            "rm \\\n  -f a",
            "sudo rm -f a",
            "sudo -u root -n rm -rf a",
            "sudo -- rm -f a",
            "sudo --user root rm -f a",
            "sudo --user=root rm -f a",
            "sudo A=1 rm -f a",
            "sudo env -i A=1 rm -f a",
            "env rm -f a",
            "env -i A=1 B=2 rm -f a",
            "env -u X rm -f a",
            "env -S 'rm -f a'",
            "env -S'rm -f' a",
            "command rm -f a",
            "exec rm -f a",
            "trap 'rm -rf a' EXIT",
            "trap -- 'rm -f a' EXIT",
            "eval rm -f a",
            "eval 'rm -f a'",
            "ls; rm -f a",
            "ls && rm -f a",
            "ls || rm -f a",
            "ls | rm -f a",
            "ls & rm -f a",
            "ls\nrm -f a",
            "a=1; rm -f a",
            "bash -c 'rm -f a'",
            "sh -lc 'rm -f a'",
            "zsh -c \"rm -f a\"",
            "bash -euo pipefail -c 'rm -f a'",
            "bash --norc -c 'rm -f a'",
            "bash -c 'sh -c \"rm -f a\"'",
            "sudo bash -c 'ls; rm -f a'",
            "if true; then rm -f a; fi",
            "if rm -f a; then :; fi",
            "if a; then b; else rm -f a; fi",
            "for x in a b; do rm -f $x; done",
            "while true; do rm -f a; done",
            "case x in a) rm -f a;; esac",
            "(rm -f a)",
            "{ rm -f a; }",
            "f() { rm -f a; }",
            "! rm -f a",
            "function f { rm -f a; }",
            "time rm -f a",
            "echo $(rm -f a)",
            "echo \"$(rm -f a)\"",
            "echo `rm -f a`",
            "echo \"`rm -f a`\"",
            "echo ${x:-$(rm -f a)}",
            "x=$(rm -f a)",
            "cat <(rm -f a)",
            "echo $(echo $(rm -f a))",
            "rm -f a > /dev/null 2>&1",
            "> out rm -f a",
            "2>/dev/null rm -f a",
            "rm 2>x -f a",
            "rm$(true) -f a",
            "r``m -f a",
            "rm -f a &> x",
            "cat <<EOF\n$(rm -f a)\nEOF",
            "cat <<EOF\nhello\nEOF\nrm -f a",
            "bash <<'EOF'\nrm -f a\nEOF",
            "cat <<'EOF' | sh\nrm -f a\nEOF",
            "cat <<-EOF\n\tx\n\tEOF\nrm -f a",
            "echo a # b\nrm -f a",
            "echo 'a\nb'; rm -f a",
            "timeout 5 bash -c 'rm -f a'",
            "find . -exec sh -c 'rm -f a' \\;",
            "su -c 'rm -f a' root",
            "pwsh -Command 'Remove-Item -Force a'",
            "ls && cmd.exe /c del /f a",
        ] {
            assert!(is_dangerous(script), "{script}");
        }
    }

    #[test]
    fn not_dangerous() {
        for script in [
            "",
            "rm a",
            "rm -r a",
            "rm -- -f",
            "rm -ri a",
            "rm --recursive a",
            "rm --interactive a",
            "git reset --hard",
            "git rm -f a",
            "echo 'rm -f a'",
            "echo \"rm -f a\"",
            "echo rm -f a",
            "grep -rn 'rm -rf' .",
            "git commit -m 'rm -f a; x'",
            "git commit -m \"say rm -f\"",
            "docker run --rm -f x",
            "cp -f a b",
            "ls rm -f",
            "charm -f",
            "./arm -f a",
            "firm -f",
            "make rm",
            "cat <<'EOF'\nrm -f a\n$(rm -f a)\nEOF",
            "cat > x.sh <<EOF\nrm -f a\nEOF",
            "cat <<EOF\nit's; rm -f a\nEOF",
            "cat <<EOF\n\\$(rm -f a)\nEOF",
            "cat <<A <<B\nrm -f a\nA\nrm -f b\nB",
            "git commit -m \"$(cat <<'EOF'\nfix (rm -f a\nEOF\n)\"",
            "# rm -f a",
            "ls # rm -f a",
            "echo a#b",
            "ls > rm -f",
            "echo ${x#rm -f}",
            "echo $'it\\'s rm -f'",
            "bash a.sh -c 'rm -f a'",
            "bash -x 'rm -f a'",
            "trap 'echo bye' EXIT",
            "python3 -c 'import os; rm = 1'",
            "find . -name rm -type f",
            "sudo ls -f",
            "sudo -u rm ls -f",
            "env A=rm ls -f",
            "echo \"${a}\" 'b' \\' rm -f",
            "test -f rm && echo rm -f",
            "rm a; ls -f",
            "x='rm -f a'",
        ] {
            assert!(!is_dangerous(script), "{script}");
        }
    }

    #[test]
    fn nesting_is_followed_to_its_limit_and_then_not_trusted() {
        let nest =
            |n: usize, inner: &str| format!("{}{inner}{}", "echo $(".repeat(n), ")".repeat(n));
        assert!(is_dangerous(&nest(8, "rm -f a")));
        assert!(!is_dangerous(&nest(8, "rm a")));
        assert!(is_dangerous(&nest(9, "ls")));
        for opener in [
            "$(", "${", "\"${", "`", "(", "<(", "sudo ", "env ", "exec ", "\"$(",
        ] {
            // Only that it ends, and without using up the stack.
            let _ = is_dangerous(&opener.repeat(100_000));
        }
        assert!(is_dangerous(&"$(".repeat(100_000)));
        assert!(is_dangerous(&"${".repeat(100_000)));
        assert!(is_dangerous(&"sudo ".repeat(9)));
        assert!(is_dangerous(&"a".repeat(MAX_BYTES + 1)));
    }
}
