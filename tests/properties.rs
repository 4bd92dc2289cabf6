//! What must hold for any rules, commands and paths, tried over many that are made by chance.

#[path = "support/numbers.rs"]
mod numbers;

use numbers::Numbers;
use open_interpreter::agent::approval::rules::{Decision, Rules};
use open_interpreter::agent::approval::{Judge, Verdict};
use open_interpreter::sandbox::{Approval, Gate, Lift, Mode, Policy, Strength};
use open_interpreter::tools::action::{Action, Escalation, Shell, WriteRule};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Commands as words. The first is the one that is forbidden.
const COMMANDS: [&[&str]; 8] = [
    &["git", "push", "--force", "origin", "main"],
    &["git", "push", "origin"],
    &["git", "status"],
    &["npm", "run", "deploy"],
    &["ls", "-l", "src"],
    &["cargo", "build"],
    &["rm", "a.txt"],
    &["echo", "git push --force"],
];

/// Ways to write a command that runs it all the same; `{}` is where it stands.
const WAYS: [&str; 28] = [
    "{}",
    "ls && {}",
    "ls; {}",
    "false || {}",
    "ls | {}",
    "ls\n{}",
    "{} > out.txt",
    "{} 2>&1",
    "{} &",
    "({})",
    "{ {}; }",
    "if true; then {}; fi",
    "for x in 1 2; do {}; done",
    "echo \"$({})\"",
    "echo `{}`",
    "! {}",
    "env {}",
    "env -i A=1 {}",
    "A=1 {}",
    "sudo {}",
    "timeout 5 {}",
    "nice -n 3 {}",
    "xargs {}",
    "bash -c '{}'",
    "sh -lc \"{}\"",
    "bash -c 'cd src && bash -c \"{}\"'",
    "find . -name x -exec {} +",
    "ls # and\n{}",
];

fn one<'a, T: ?Sized>(numbers: &mut Numbers, of: &[&'a T]) -> &'a T {
    of[numbers.below(of.len())]
}

/// The lines of a rule about the first words of a command.
fn rule(words: &[&str], decision: &str) -> String {
    let words: Vec<String> = words.iter().map(|w| format!("{w:?}")).collect();
    format!(
        "prefix_rule(pattern=[{}], decision={decision:?})\n",
        words.join(", ")
    )
}

/// Rules of several files, in any order: those of a project, of a person, and what was said yes to.
fn rules(numbers: &mut Numbers, folder: &Path, lines: &[String]) -> Rules {
    let mut files = ["project.rules", "own.rules", "default.rules"].map(|name| folder.join(name));
    for file in &files {
        fs::write(file, "").expect("a file");
    }
    for line in lines {
        let file = &files[numbers.below(files.len())];
        let text = fs::read_to_string(file).expect("a file");
        let text = match numbers.below(2) {
            0 => text + line,
            _ => line.clone() + &text,
        };
        fs::write(file, text).expect("a file");
    }
    files.rotate_left(numbers.below(3));
    Rules::of_files(&files).expect("rules")
}

fn policy(mode: Mode, root: &Path) -> Policy {
    Policy {
        mode,
        roots: vec![root.to_owned()],
        network: false,
        slash_tmp: false,
        tmpdir: false,
        own_homes: vec![root.with_file_name("home")],
        readable: Vec::new(),
    }
}

fn shell(line: &str, escalated: bool) -> Action {
    let mut shell = Shell::new(line, Duration::from_secs(1));
    shell.escalate = escalated.then(|| Escalation {
        justification: Some("please".into()),
        prefix: Vec::new(),
    });
    Action::Shell(shell)
}

/// What is forbidden stays so, whatever else allows it: a rule of any file, before or after, longer
/// or shorter; a yes for the session; an escalation; any policy and mode.
#[test]
fn no_allow_beats_a_deny() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("work");
    let mut numbers = Numbers(11);
    let mut bare_ones = 0;
    for round in 0..3_000 {
        let denied = COMMANDS[0];
        let mut lines = vec![rule(&denied[..1 + numbers.below(3)], "forbidden")];
        for _ in 0..numbers.below(6) {
            let words = one(&mut numbers, &COMMANDS);
            let count = 1 + numbers.below(words.len());
            lines.push(rule(
                &words[..count],
                one(&mut numbers, &["allow", "allow", "prompt"]),
            ));
        }
        // What allows exactly this is always among them.
        lines.push(rule(denied, "allow"));
        let rules = rules(&mut numbers, folder.path(), &lines);
        let way = one(&mut numbers, &WAYS);
        let mut line = way.replace("{}", &denied.join(" "));
        // Beside others that are allowed.
        if numbers.below(3) == 0 {
            let other = one(&mut numbers, &COMMANDS[4..6]).join(" ");
            line = match numbers.below(2) {
                0 => format!("{line}\n{other}"),
                _ => format!("{other}; {line}"),
            };
        }
        let approval =
            [Approval::Untrusted, Approval::OnRequest, Approval::Never][numbers.below(3)];
        let mode = [Mode::ReadOnly, Mode::WorkspaceWrite, Mode::DangerFullAccess][numbers.below(3)];
        let mut judge = Judge::new(approval, policy(mode, &root)).with_rules(rules);
        let action = shell(&line, numbers.below(2) == 0);
        if numbers.below(2) == 0 {
            judge.remember(&action);
        }
        let verdict = judge.decide(&action, &Strength::Enforced, &root);
        let is_refused =
            matches!(&verdict, Verdict::Refuse { reason } if reason.contains("forbids"));
        assert!(
            is_refused,
            "round {round}: {line:?} under {lines:#?} is {verdict:?}"
        );
        bare_ones += usize::from(*way == *"{}");
    }
    assert!(bare_ones > 20);
}

/// A rule that allows takes nothing back of what others say, for scripts of any form.
#[test]
fn an_allow_only_adds() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut numbers = Numbers(12);
    let mut strict_ones = 0;
    for _ in 0..1_500 {
        let lines: Vec<String> = (0..1 + numbers.below(5))
            .map(|_| {
                let words = one(&mut numbers, &COMMANDS);
                let count = 1 + numbers.below(words.len());
                rule(
                    &words[..count],
                    one(&mut numbers, &["allow", "prompt", "forbidden"]),
                )
            })
            .collect();
        let before = rules(&mut numbers, folder.path(), &lines);
        let more: Vec<String> = COMMANDS.iter().map(|words| rule(words, "allow")).collect();
        let all = [lines.clone(), more].concat();
        let after = rules(&mut numbers, folder.path(), &all);
        for _ in 0..4 {
            let words = one(&mut numbers, &COMMANDS).join(" ");
            let mut line = one(&mut numbers, &WAYS).replace("{}", &words);
            // Torn and mixed with what no parser likes.
            for _ in 0..numbers.below(3) {
                let at = (0..=numbers.below(line.len() + 1))
                    .rev()
                    .find(|n| line.is_char_boundary(*n));
                line.insert_str(
                    at.unwrap_or(0),
                    one(
                        &mut numbers,
                        &["'", "\"", "\\", "$X", ")", "\n", "<<E", " "],
                    ),
                );
            }
            let (old, new) = (before.judge(&line).decision, after.judge(&line).decision);
            if old >= Some(Decision::Prompt) {
                strict_ones += 1;
                assert!(
                    new >= old,
                    "{line:?} under {lines:#?}: {old:?}, then {new:?}"
                );
            }
        }
    }
    assert!(strict_ones > 500, "{strict_ones}");
}

/// A path in other spellings: all of them lead to the same place by name.
fn spelled(numbers: &mut Numbers, base: &Path, path: &str) -> String {
    let mut parts: Vec<String> = path.split('/').map(str::to_owned).collect();
    for _ in 0..numbers.below(5) {
        let at = numbers.below(parts.len());
        let detour = one(
            numbers,
            &[
                ".",
                "",
                "src/..",
                "missing/..",
                "a/b/../..",
                "./.",
                "src/./..",
            ],
        );
        // An empty part at the front would be the root of the disk.
        let at = if detour.is_empty() {
            at.max(1).min(parts.len())
        } else {
            at
        };
        parts.insert(at, detour.to_owned());
    }
    let mut out = parts.join("/");
    if numbers.below(2) == 0 {
        let work = base.join("work");
        let work = work.to_str().expect("UTF-8");
        let slashes = one(numbers, &["/", "//", "/./", "/src/../"]);
        out = format!("{work}{slashes}{out}");
    }
    if numbers.below(4) == 0 && !out.starts_with('/') {
        out = format!("../work/{out}");
    }
    out
}

/// However a path is spelled, the gate gives one verdict and one place for it, and so does the
/// judge.
#[cfg(unix)]
#[test]
fn all_spellings_of_a_path_have_one_verdict() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().expect("a folder");
    let base = folder.path().canonicalize().expect("a path");
    for below in [
        "work/src",
        "work/.git",
        "work/sub/.git/hooks",
        "other",
        "home",
        "work-twin",
    ] {
        fs::create_dir_all(base.join(below)).expect("folders");
    }
    for (file, text) in [
        ("work/src/a.txt", "x"),
        ("other/b.txt", "x"),
        ("home/auth.json", "key"),
        ("work/.git/config", ""),
        ("work/sub/.git/HEAD", "ref: refs/heads/main\n"),
        ("work/sub/.git/config", ""),
    ] {
        fs::write(base.join(file), text).expect("a file");
    }
    symlink("src", base.join("work/inner")).expect("a link");
    symlink("../other", base.join("work/outer")).expect("a link");
    symlink(".git", base.join("work/door")).expect("a link");
    symlink("../home", base.join("work/house")).expect("a link");
    symlink("../missing", base.join("work/nowhere")).expect("a link");
    let work = base.join("work");
    let gate = Gate::new(&policy(Mode::WorkspaceWrite, &work), &work);
    let judge = Judge::new(Approval::OnRequest, policy(Mode::WorkspaceWrite, &work));
    let mut numbers = Numbers(13);
    // The path, where it may be written to, and whether it can be read.
    for (path, writes, reads) in [
        ("src/a.txt", Some("work/src/a.txt"), true),
        ("src/new.txt", Some("work/src/new.txt"), false),
        ("new/deep/er.txt", Some("work/new/deep/er.txt"), false),
        ("inner/a.txt", Some("work/src/a.txt"), true),
        ("inner/new.txt", Some("work/src/new.txt"), false),
        (
            "sub/.git/description",
            Some("work/sub/.git/description"),
            false,
        ),
        ("outer/b.txt", None, true),
        ("outer/new.txt", None, false),
        (".git/config", None, true),
        (".git/hooks/pre-commit", None, false),
        (".GIT/config", None, false),
        ("door/config", None, true),
        ("sub/.git/config", None, true),
        ("sub/.git/hooks/x", None, false),
        (".openinterpreter/config.toml", None, false),
        (".agents/skills/x/SKILL.md", None, false),
        (".codex/config.toml", None, false),
        ("../other/b.txt", None, true),
        ("../work-twin/x", None, false),
        ("../home/auth.json", None, false),
        ("house/auth.json", None, false),
        ("nowhere", None, false),
        ("nowhere/x", None, false),
    ] {
        let usual = judge.decide(&write(path), &Strength::Enforced, &work);
        for _ in 0..300 {
            let spelling = spelled(&mut numbers, &base, path);
            let got = gate.writable(&spelling, &Lift::Nothing).ok();
            let wanted: Option<PathBuf> = writes.map(|w| base.join(w));
            assert_eq!(got, wanted, "{spelling:?} is {path}");
            assert_eq!(
                gate.readable(&spelling).is_ok(),
                reads,
                "{spelling:?} is {path}"
            );
            let verdict = judge.decide(&write(&spelling), &Strength::Enforced, &work);
            assert_eq!(verdict, usual, "{spelling:?} is {path}");
        }
    }
}

fn write(path: &str) -> Action {
    Action::Write {
        path: path.into(),
        content: String::new(),
        rule: WriteRule::default(),
    }
}
