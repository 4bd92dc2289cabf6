//! Which first words of a command may be allowed for good, and which are offered.

use super::super::shell::base_name;

/// Programs that run whatever they are told: allowing them alone, or with options only, allows
/// everything.
const ANYTHING: &[&str] = &[
    "bash",
    "sh",
    "zsh",
    "dash",
    "ksh",
    "fish",
    "csh",
    "tcsh",
    "pwsh",
    "powershell",
    "cmd",
    "python",
    "python2",
    "python3",
    "pypy",
    "pypy3",
    "ipython",
    "node",
    "nodejs",
    "deno",
    "bun",
    "ts-node",
    "tsx",
    "perl",
    "ruby",
    "irb",
    "php",
    "lua",
    "luajit",
    "julia",
    "R",
    "Rscript",
    "osascript",
    "awk",
    "gawk",
    "mawk",
    "sed",
    "tclsh",
    "expect",
    "guile",
    "racket",
    "sbcl",
    "ghci",
    "scala",
    "groovy",
    "java",
    "dotnet",
    "go",
    "cargo",
    "git",
    "npm",
    "npx",
    "pnpm",
    "yarn",
    "uv",
    "uvx",
    "pipx",
    "poetry",
    "docker",
    "podman",
    "kubectl",
    "ssh",
    "make",
    "just",
    "find",
    "fd",
    "rm",
    "gdb",
    "vim",
    "vi",
    "emacs",
    "tmux",
    "screen",
    "eval",
    "source",
    ".",
];
/// Programs that run the command behind them.
const BEFORE: &[&str] = &[
    "sudo", "doas", "env", "command", "builtin", "exec", "nohup", "time", "nice", "ionice",
    "timeout", "xargs", "setsid", "stdbuf", "watch", "parallel", "strace", "busybox", "chroot",
    "su",
];
/// Words that say no more than the program itself.
const EMPTY_WORDS: &[&str] = &[
    "run", "exec", "x", "dlx", "eval", "repl", "script", "shell", "/c", "/C", "/k", "tool",
];

/// True for first words that would allow anything: a shell or an interpreter with no more than
/// options, a program that runs others, a tool without its subcommand.
pub fn is_too_broad(prefix: &[String]) -> bool {
    let Some((program, rest)) = prefix.split_first() else {
        return true;
    };
    let name = base_name(program);
    let name = name.strip_suffix(".exe").unwrap_or(name);
    let says = |w: &&String| !w.starts_with('-') && !EMPTY_WORDS.contains(&w.as_str());
    if BEFORE.contains(&name) {
        let inner = rest
            .iter()
            .position(|w| !w.starts_with('-') && !w.contains('='));
        return inner.is_none_or(|at| is_too_broad(&rest[at..]));
    }
    let versioned = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let runs_text = rest.iter().any(|w| {
        matches!(
            w.as_str(),
            "-c" | "-lc"
                | "-e"
                | "-p"
                | "-E"
                | "-r"
                | "--eval"
                | "--print"
                | "-Command"
                | "-EncodedCommand"
        )
    });
    let is_anything = ANYTHING.contains(&name) || ANYTHING.contains(&versioned);
    // `python -c TEXT` with its text is one command and no more.
    is_anything && (!rest.iter().any(|w| says(&w)) || runs_text && rest.len() < 2)
}
