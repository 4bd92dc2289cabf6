//! Commands: asked, allowed or refused.

use super::*;

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
