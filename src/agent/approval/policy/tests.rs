use super::*;
use crate::tools::action::{Escalation, PatchForm, Shell, ShellKind, WriteRule};
use std::time::Duration;

const ENFORCED: Strength = Strength::Enforced;

fn judge(approval: Approval, mode: Mode) -> Judge {
    let policy = Policy {
        mode,
        roots: vec!["/tmp/w".into(), "/more".into()],
        network: false,
        slash_tmp: true,
        tmpdir: false,
        own_homes: vec!["/home/me/.openinterpreter".into()],
        readable: Vec::new(),
    };
    Judge::new(approval, policy)
}

fn run(command: &str) -> Action {
    Action::Shell(Shell::new(command, Duration::from_secs(1)))
}

fn escalated(command: &str) -> Action {
    let mut shell = Shell::new(command, Duration::from_secs(1));
    shell.escalate = Some(Escalation {
        justification: Some("May I fetch it?".into()),
        prefix: Vec::new(),
    });
    Action::Shell(shell)
}

fn write(path: &str) -> Action {
    Action::Write {
        path: path.into(),
        content: String::new(),
        rule: WriteRule::default(),
    }
}

fn patch(paths: &[&str]) -> Action {
    let mut text = "*** Begin Patch\n".to_owned();
    for path in paths {
        text.push_str(&format!("*** Delete File: {path}\n"));
    }
    Action::Patch {
        text,
        form: PatchForm::Codex,
        dir: None,
    }
}

fn decide(judge: &Judge, action: &Action) -> Verdict {
    judge.decide(action, &ENFORCED, Path::new("/tmp/w"))
}

/// `ask`, `refuse` or `allow`, with what is lifted.
fn short(verdict: Verdict) -> (&'static str, Lift) {
    match verdict {
        Verdict::Allow(lift) => ("allow", lift),
        Verdict::Ask { lift, reason } => {
            assert!(!reason.is_empty());
            ("ask", lift)
        }
        Verdict::Refuse { reason } => {
            assert!(!reason.is_empty());
            ("refuse", Lift::Nothing)
        }
    }
}

#[test]
fn commands_by_policy() {
    use Approval::{Never, OnRequest, Untrusted};
    use Mode::{DangerFullAccess, ReadOnly, WorkspaceWrite};
    let (none, all) = (Lift::Nothing, Lift::Everything);
    for (approval, mode, action, want, lift) in [
        (Untrusted, WorkspaceWrite, run("ls | wc"), "allow", &none),
        (Untrusted, WorkspaceWrite, run("make"), "ask", &none),
        (Untrusted, WorkspaceWrite, run("ls > f"), "ask", &none),
        (Untrusted, WorkspaceWrite, run("rm -f a"), "ask", &none),
        (Untrusted, WorkspaceWrite, escalated("ls"), "ask", &all),
        (Untrusted, DangerFullAccess, run("make"), "ask", &none),
        (OnRequest, WorkspaceWrite, run("make"), "allow", &none),
        (OnRequest, ReadOnly, run("make"), "allow", &none),
        (
            OnRequest,
            WorkspaceWrite,
            run("git reset --hard"),
            "allow",
            &none,
        ),
        (OnRequest, WorkspaceWrite, run("rm -rf a"), "ask", &none),
        (OnRequest, WorkspaceWrite, escalated("curl x"), "ask", &all),
        (OnRequest, DangerFullAccess, run("make"), "allow", &none),
        (OnRequest, DangerFullAccess, run("rm -rf a"), "ask", &none),
        (
            OnRequest,
            DangerFullAccess,
            escalated("make"),
            "allow",
            &none,
        ),
        (Never, WorkspaceWrite, run("make"), "allow", &none),
        (Never, WorkspaceWrite, run("rm -rf a"), "refuse", &none),
        (Never, WorkspaceWrite, escalated("make"), "refuse", &none),
        (Never, DangerFullAccess, run("rm -rf /"), "allow", &none),
        (Never, DangerFullAccess, escalated("make"), "allow", &none),
    ] {
        let got = short(decide(&judge(approval, mode), &action));
        assert_eq!(
            got,
            (want, lift.clone()),
            "{approval:?} {mode:?} {action:?}"
        );
    }
}

#[test]
fn the_settings_of_any_repository_ask_and_its_other_files_do_not() {
    let judge = judge(Approval::OnRequest, Mode::WorkspaceWrite);
    for path in [
        "sub/.git/config",
        "a/b/.git/hooks/pre-commit",
        "a/.GIT/Hooks/x",
        "sub/.git/commondir",
        "sub/.git",
    ] {
        assert_eq!(short(decide(&judge, &write(path))), ("ask", Lift::Git));
    }
    for path in [
        "sub/.git/description",
        "config",
        "hooks/x",
        "sub/.gitignore",
    ] {
        assert_eq!(
            short(decide(&judge, &write(path))),
            ("allow", Lift::Nothing)
        );
    }
}

/// Each of these once ran without a question in a product of this kind.
#[test]
fn published_ways_around_the_question_are_asked_about() {
    let judge = judge(Approval::Untrusted, Mode::WorkspaceWrite);
    let long = format!("{}; rm x", vec!["ls"; 200].join("; "));
    for command in [
        "rg --pre sh x .",
        "rg --pre=sh x",
        "rg --hostname-bin=x y",
        "find . -exec sh x ;",
        "find . -name x -execdir sh {} +",
        "find . -fprintf /tmp/x y",
        "sed -n 'w /tmp/x' a",
        "sed -n '1e touch x' a",
        "sed 's/a/touch x/e' a",
        "git -c core.pager=x log",
        "git -c alias.status='!x' status",
        "git --exec-path=. status",
        "git log --output=/tmp/x",
        "git diff --ext-diff",
        "git branch --edit-description",
        "cat$IFS/etc/passwd",
        "cat${IFS}a",
        "ls$(touch x)",
        "echo `touch x`",
        "ls <(touch x)",
        "echo a > b",
        "ls &touch x",
        "ls |& sh",
        "ls\rtouch x",
        "base64 --decode -o x a",
        "sort -o x a",
        "xargs ls",
        "env ls",
        "man -P sh ls",
        "tee x",
        "awk BEGIN{system(\"x\")}",
        "PAGER=x git log",
        "./ls",
        "sub/git status",
        "bash -c 'ls; touch x'",
        "bash -ic ls",
        "echo {a,b}",
        "ls \u{202e}x",
        &long,
    ] {
        assert_eq!(short(decide(&judge, &run(command))).0, "ask", "{command}");
    }
    // The same words in a shell of Windows, where quotes and separators are others.
    for (program, command) in [
        ("pwsh", "git --% status"),
        ("pwsh", "echo 'a\u{2019}; rm x; \u{2019}b'"),
        ("powershell.exe", "echo $(rm x)"),
        ("pwsh", "cat a; rm x"),
        ("cmd", "dir & del x"),
        ("cmd.exe", "echo %PATH%"),
        ("cmd", "findstr x a"),
        ("C:/x/pwsh.exe", "ls"),
        ("nu", "ls"),
    ] {
        let mut shell = Shell::new(command, Duration::from_secs(1));
        shell.shell = ShellKind::Named {
            program: program.into(),
            login: false,
        };
        let verdict = decide(&judge, &Action::Shell(shell));
        assert_eq!(short(verdict).0, "ask", "{program}: {command}");
    }
}

/// A repository that starts a program for everything that git lets it.
#[cfg(unix)]
#[test]
fn a_git_command_that_is_not_asked_about_starts_nothing() {
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    let git = |args: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=t", "-c", "user.email=t@t"]);
        git.args(args).current_dir(root);
        git.output().is_ok_and(|o| o.status.success())
    };
    if !git(&["init", "-q"]) {
        return;
    }
    std::fs::write(root.join("a"), "x\n").unwrap();
    assert!(git(&["add", "."]) && git(&["commit", "-q", "-m", "m"]));
    let evil = root.join(".git/evil");
    std::fs::write(
        &evil,
        format!("#!/bin/sh\ntouch {}/started\n", root.display()),
    )
    .unwrap();
    std::fs::set_permissions(&evil, std::fs::Permissions::from_mode(0o755)).unwrap();
    for key in [
        "core.fsmonitor",
        "core.pager",
        "diff.external",
        "core.sshCommand",
        "alias.log",
        "diff.evil.textconv",
        "diff.evil.command",
    ] {
        assert!(git(&["config", key, evil.to_str().unwrap()]));
    }
    std::fs::write(root.join("a"), "y\n").unwrap();
    std::fs::write(root.join(".gitattributes"), "a diff=evil\n").unwrap();
    let started = |command: &str, judge: &Judge| {
        let marker = root.join("started");
        let _ = std::fs::remove_file(&marker);
        let action = run(command);
        let Action::Shell(shell) = judge.quieted(&action).into_owned() else {
            panic!("another action");
        };
        let mut sh = Command::new("/bin/sh");
        sh.args(["-c", &shell.command])
            .current_dir(root)
            .envs(shell.env);
        assert!(sh.output().unwrap().status.success());
        marker.exists()
    };
    let untrusted = judge(Approval::Untrusted, Mode::WorkspaceWrite);
    let asked_less = judge(Approval::OnRequest, Mode::WorkspaceWrite);
    for command in [
        "git status",
        "git diff",
        "git log",
        "git show",
        "cat a && git diff",
    ] {
        assert_eq!(
            short(decide(&untrusted, &run(command))).0,
            "allow",
            "{command}"
        );
        assert!(!started(command, &untrusted), "{command}");
    }
    // The control, and what is not known to be safe stays as it is.
    assert!(started("git diff", &asked_less));
    assert!(started("git diff --ext-diff; true", &untrusted));
    // What cannot be told to start nothing is asked about.
    assert_eq!(short(decide(&untrusted, &run("git 'diff'"))).0, "ask");
}

/// A yes to one command lifts one thing of it, and nothing of the next one.
#[test]
fn a_yes_lifts_one_thing_for_one_command() {
    let mut judge = judge(Approval::OnRequest, Mode::WorkspaceWrite);
    judge.remember(&escalated("make install"));
    assert_eq!(
        short(decide(&judge, &escalated("make install"))),
        ("allow", Lift::Everything)
    );
    for other in [
        escalated("make install "),
        escalated("make install; make"),
        escalated("make"),
    ] {
        assert_eq!(short(decide(&judge, &other)).0, "ask", "{other:?}");
    }
    assert_eq!(
        short(decide(&judge, &run("make install"))),
        ("allow", Lift::Nothing)
    );
    judge.remember(&write(".git/config"));
    assert_eq!(
        short(decide(&judge, &write(".git/config"))),
        ("allow", Lift::Git)
    );
    assert_eq!(short(decide(&judge, &write(".git/hooks/x"))).0, "ask");
    assert_eq!(short(decide(&judge, &write("/etc/x"))).0, "ask");
}

#[test]
fn a_refusal_names_the_policy_and_a_question_the_wish() {
    let never = judge(Approval::Never, Mode::WorkspaceWrite);
    for action in [run("rm -rf a"), escalated("make"), write("/etc/x")] {
        match decide(&never, &action) {
            Verdict::Refuse { reason } => assert!(reason.contains("`never`"), "{reason}"),
            other => panic!("{other:?}"),
        }
    }
    match decide(
        &judge(Approval::OnRequest, Mode::WorkspaceWrite),
        &escalated("rm -f a"),
    ) {
        Verdict::Ask { reason, .. } => {
            assert!(
                reason.contains("May I fetch it?") && reason.contains("by force"),
                "{reason}"
            );
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn without_a_fence_commands_ask_to_run_unconfined() {
    let nothing = Strength::Nothing("no Landlock".into());
    let cwd = Path::new("/tmp/w");
    for (approval, mode, want, lift) in [
        (
            Approval::Untrusted,
            Mode::WorkspaceWrite,
            "ask",
            Lift::Everything,
        ),
        (Approval::OnRequest, Mode::ReadOnly, "ask", Lift::Everything),
        (
            Approval::Never,
            Mode::WorkspaceWrite,
            "refuse",
            Lift::Nothing,
        ),
        (
            Approval::OnRequest,
            Mode::DangerFullAccess,
            "allow",
            Lift::Nothing,
        ),
        (
            Approval::Never,
            Mode::DangerFullAccess,
            "allow",
            Lift::Nothing,
        ),
    ] {
        let judge = judge(approval, mode);
        let verdict = judge.decide(&run("ls"), &nothing, cwd);
        if let Verdict::Ask { reason, .. } | Verdict::Refuse { reason } = &verdict {
            assert!(reason.contains("no Landlock"));
        }
        assert_eq!(short(verdict), (want, lift), "{approval:?} {mode:?}");
        let write = judge.decide(&write("a"), &nothing, cwd);
        assert_ne!(short(write).1, Lift::Everything, "the gate needs no fence");
    }
    let partial = Strength::Partial("no namespaces".into());
    let judge = judge(Approval::OnRequest, Mode::WorkspaceWrite);
    assert_eq!(
        judge.decide(&run("make"), &partial, cwd),
        Verdict::Allow(Lift::Nothing)
    );
}

#[test]
fn what_may_run_something_else_is_not_harmless() {
    let judge = judge(Approval::Untrusted, Mode::WorkspaceWrite);
    let mut shell = Shell::new("ls", Duration::from_secs(1));
    shell.env = vec![("LD_PRELOAD".into(), "/tmp/w/x.so".into())];
    assert_eq!(
        short(decide(&judge, &Action::Shell(shell.clone()))).0,
        "ask"
    );
    shell.env.clear();
    for (program, want) in [("bash", "allow"), ("/tmp/w/bash", "ask"), ("fish", "ask")] {
        shell.shell = ShellKind::Named {
            program: program.into(),
            login: false,
        };
        assert_eq!(
            short(decide(&judge, &Action::Shell(shell.clone()))).0,
            want,
            "{program}"
        );
    }
}

#[cfg(unix)]
#[test]
fn changes_by_policy_and_place() {
    use Approval::{Never, OnRequest, Untrusted};
    use Mode::{DangerFullAccess, ReadOnly, WorkspaceWrite};
    let folder = |p: &str| Lift::Folder(p.into());
    for (approval, mode, action, want, lift) in [
        (Untrusted, WorkspaceWrite, write("a"), "ask", Lift::Nothing),
        (Untrusted, WorkspaceWrite, patch(&[]), "ask", Lift::Nothing),
        (
            Untrusted,
            DangerFullAccess,
            write("a"),
            "ask",
            Lift::Nothing,
        ),
        (
            Untrusted,
            WorkspaceWrite,
            write("/etc/x"),
            "ask",
            folder("/etc"),
        ),
        (
            OnRequest,
            WorkspaceWrite,
            write("a"),
            "allow",
            Lift::Nothing,
        ),
        (
            OnRequest,
            WorkspaceWrite,
            write("/more/a"),
            "allow",
            Lift::Nothing,
        ),
        (
            OnRequest,
            WorkspaceWrite,
            write("/tmp/a"),
            "allow",
            Lift::Nothing,
        ),
        (
            OnRequest,
            WorkspaceWrite,
            write("sub/.git/x"),
            "allow",
            Lift::Nothing,
        ),
        (
            OnRequest,
            WorkspaceWrite,
            patch(&["a", "b/c"]),
            "allow",
            Lift::Nothing,
        ),
        (
            OnRequest,
            WorkspaceWrite,
            write("/tmpx/a"),
            "ask",
            folder("/tmpx"),
        ),
        (
            OnRequest,
            WorkspaceWrite,
            write("../../etc/x"),
            "ask",
            folder("/etc"),
        ),
        (
            OnRequest,
            WorkspaceWrite,
            patch(&["a", "/etc/x"]),
            "ask",
            folder("/etc"),
        ),
        (
            OnRequest,
            WorkspaceWrite,
            patch(&["/o/a/x", "/o/y"]),
            "ask",
            folder("/o"),
        ),
        (
            OnRequest,
            WorkspaceWrite,
            patch(&["/o/x", "/p/y"]),
            "refuse",
            Lift::Nothing,
        ),
        (
            OnRequest,
            WorkspaceWrite,
            write(".git/hooks/x"),
            "ask",
            Lift::Git,
        ),
        (
            OnRequest,
            WorkspaceWrite,
            write(".GIT/config"),
            "ask",
            Lift::Git,
        ),
        (
            OnRequest,
            WorkspaceWrite,
            write("sub/../.git"),
            "ask",
            Lift::Git,
        ),
        (
            OnRequest,
            WorkspaceWrite,
            write("/tmp/.git/x"),
            "ask",
            Lift::Git,
        ),
        (
            OnRequest,
            WorkspaceWrite,
            write(".codex/x"),
            "ask",
            folder("/tmp/w/.codex"),
        ),
        (
            OnRequest,
            WorkspaceWrite,
            patch(&[".git/x", "/etc/y"]),
            "refuse",
            Lift::Nothing,
        ),
        (
            OnRequest,
            WorkspaceWrite,
            write("/home/me/.openinterpreter/x"),
            "refuse",
            Lift::Nothing,
        ),
        (OnRequest, ReadOnly, write("b/c"), "ask", folder("/tmp/w/b")),
        (
            OnRequest,
            ReadOnly,
            patch(&["a/x", "b/x"]),
            "ask",
            folder("/tmp/w"),
        ),
        (
            OnRequest,
            DangerFullAccess,
            write("/etc/x"),
            "allow",
            Lift::Nothing,
        ),
        (
            OnRequest,
            DangerFullAccess,
            write(".git/x"),
            "allow",
            Lift::Nothing,
        ),
        (Never, WorkspaceWrite, write("a"), "allow", Lift::Nothing),
        (
            Never,
            WorkspaceWrite,
            write("/etc/x"),
            "refuse",
            Lift::Nothing,
        ),
        (
            Never,
            WorkspaceWrite,
            write(".git/x"),
            "refuse",
            Lift::Nothing,
        ),
        (Never, ReadOnly, write("a"), "refuse", Lift::Nothing),
        (
            Never,
            DangerFullAccess,
            write("/etc/x"),
            "allow",
            Lift::Nothing,
        ),
    ] {
        let got = short(decide(&judge(approval, mode), &action));
        assert_eq!(got, (want, lift), "{approval:?} {mode:?} {action:?}");
    }
}

#[test]
fn a_yes_for_the_session_holds_for_the_same_alone() {
    let mut judge = judge(Approval::OnRequest, Mode::WorkspaceWrite);
    judge.remember(&run("rm -f a"));
    assert_eq!(
        decide(&judge, &run("rm -f a")),
        Verdict::Allow(Lift::Nothing)
    );
    assert_eq!(short(decide(&judge, &run("rm -f b"))).0, "ask");
    assert_eq!(
        short(decide(&judge, &escalated("rm -f a"))),
        ("ask", Lift::Everything)
    );
    let elsewhere = judge.decide(&run("rm -f a"), &ENFORCED, Path::new("/more"));
    assert_eq!(short(elsewhere).0, "ask");
    judge.remember(&escalated("curl x"));
    assert_eq!(
        decide(&judge, &escalated("curl x")),
        Verdict::Allow(Lift::Everything)
    );
    judge.approval = Approval::Never;
    assert_eq!(short(decide(&judge, &escalated("curl x"))).0, "refuse");
}

#[cfg(unix)]
#[test]
fn a_yes_for_paths_covers_these_files_however_they_are_changed() {
    let mut judge = judge(Approval::Untrusted, Mode::WorkspaceWrite);
    judge.remember(&patch(&["a", "/etc/b"]));
    assert_eq!(
        decide(&judge, &write("./x/../a")),
        Verdict::Allow(Lift::Nothing)
    );
    assert_eq!(
        decide(&judge, &write("/etc/b")),
        Verdict::Allow(Lift::Folder("/etc".into()))
    );
    assert_eq!(short(decide(&judge, &patch(&["a", "c"]))).0, "ask");
    assert_eq!(short(decide(&judge, &patch(&[]))).0, "ask");
}

#[test]
fn input_to_running_commands_and_reading() {
    let input = |chars: &str| Action::ShellInput {
        id: 1,
        chars: chars.into(),
        wait: Duration::ZERO,
    };
    for (approval, chars, want) in [
        (Approval::Untrusted, "", "allow"),
        (Approval::Untrusted, "y\n", "ask"),
        (Approval::OnRequest, "y\n", "allow"),
        (Approval::OnRequest, "rm -rf a\n", "ask"),
        (Approval::Never, "rm -rf a\n", "refuse"),
    ] {
        let got = short(decide(
            &judge(approval, Mode::WorkspaceWrite),
            &input(chars),
        ));
        assert_eq!(got.0, want, "{approval:?} {chars:?}");
    }
    let untrusted = judge(Approval::Untrusted, Mode::ReadOnly);
    let view = Action::ViewImage {
        path: "/etc/x.png".into(),
    };
    for action in [Action::ShellStop { id: 1 }, view] {
        assert_eq!(decide(&untrusted, &action), Verdict::Allow(Lift::Nothing));
    }
}

/// A page of the web goes where commands may go; one of a server nearby is asked about anywhere,
/// but where nothing is.
#[test]
fn pages_are_judged_like_the_network() {
    let page = |url: &str| Action::Fetch(Fetch::new(url, Duration::from_secs(1)));
    let (far, near) = (
        page("https://example.org/a"),
        page("http://127.0.0.1:8080/"),
    );
    let with = |approval, mode, network| {
        let mut judge = judge(approval, mode);
        judge.policy.network = network;
        judge
    };
    use Approval::{Never, OnRequest, Untrusted};
    use Mode::{DangerFullAccess, ReadOnly, WorkspaceWrite};
    for (approval, mode, network, page, want) in [
        (OnRequest, WorkspaceWrite, false, &far, "ask"),
        (OnRequest, WorkspaceWrite, true, &far, "allow"),
        (Untrusted, WorkspaceWrite, true, &far, "ask"),
        (Never, WorkspaceWrite, false, &far, "refuse"),
        (Never, WorkspaceWrite, true, &far, "allow"),
        (Never, ReadOnly, false, &far, "refuse"),
        (OnRequest, DangerFullAccess, false, &far, "allow"),
        (OnRequest, WorkspaceWrite, true, &near, "ask"),
        (OnRequest, DangerFullAccess, false, &near, "ask"),
        (Never, WorkspaceWrite, true, &near, "refuse"),
        (Never, DangerFullAccess, false, &near, "allow"),
    ] {
        let got = short(decide(&with(approval, mode, network), page));
        assert_eq!(got.0, want, "{approval:?} {mode:?} {network} {page:?}");
    }
    // A yes for the session is one for that server, in all of its pages, and for no other.
    let mut judge = judge(OnRequest, WorkspaceWrite);
    judge.remember(&far);
    for (url, want) in [
        ("https://example.org/b?c=d", "allow"),
        ("https://EXAMPLE.org:443/", "allow"),
        ("http://example.org/a", "ask"),
        ("https://example.org.evil.example/", "ask"),
        ("https://www.example.org/", "ask"),
    ] {
        assert_eq!(short(decide(&judge, &page(url))).0, want, "{url}");
    }
}
