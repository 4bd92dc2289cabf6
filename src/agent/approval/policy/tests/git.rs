//! What git could start, and what leads it there.

use super::*;
#[cfg(unix)]
use crate::{cancel::Cancel, project::git::harmless};

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
        "pager.log",
        "diff.external",
        "core.sshCommand",
        "alias.log",
        "diff.evil.textconv",
        "diff.evil.command",
        "filter.evil.clean",
        "gpg.program",
    ] {
        assert!(git(&["config", key, evil.to_str().unwrap()]));
    }
    assert!(git(&["config", "log.showSignature", "true"]));
    std::fs::write(root.join("a"), "y\n").unwrap();
    std::fs::write(root.join(".gitattributes"), "a diff=evil filter=evil\n").unwrap();
    sign_last_commit(root);
    let submodule = root.join("sub");
    assert!(git(&["init", "-q", "sub"]));
    std::fs::write(submodule.join("b"), "x\n").unwrap();
    std::fs::write(submodule.join(".gitattributes"), "b filter=other\n").unwrap();
    let own = evil.to_str().unwrap();
    for step in [
        &["-C", "sub", "add", "."][..],
        &["-C", "sub", "commit", "-q", "-m", "m"],
        &[
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "add",
            "-q",
            "./sub",
        ],
        &["-C", "sub", "config", "filter.other.clean", own],
    ] {
        assert!(git(step), "{step:?}");
    }
    std::fs::write(submodule.join("b"), "y\n").unwrap();
    let started = |command: &str, judge: &Judge| {
        let marker = root.join("started");
        let _ = std::fs::remove_file(&marker);
        let action = run(command);
        let cancel = Cancel::default();
        let quieted = judge.quieted(&action, root, |folders| harmless(folders, &cancel));
        let Action::Shell(shell) = quieted.into_owned() else {
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
        "git log -1 '--format=%G?'",
        "git show",
        "git branch -vv",
        "cat a && git diff",
        "cd .git/.. && cd . && git diff",
        "bash -c 'git diff'",
    ] {
        assert_eq!(
            short(decide(&untrusted, &run(command))).0,
            "allow",
            "{command}"
        );
        assert!(!started(command, &untrusted), "{command}");
    }
    // The control, and what is not known to be safe stays as it is.
    for command in [
        "git diff",
        "git diff --no-ext-diff --no-textconv",
        "git log",
        // In the submodule.
        "git -c core.fsmonitor=false -c filter.evil.clean=cat status",
    ] {
        assert!(started(command, &asked_less), "{command}");
    }
    assert!(started("git diff --ext-diff; true", &untrusted));
    // What cannot be told to start nothing is asked about.
    assert_eq!(short(decide(&untrusted, &run("git 'diff'"))).0, "ask");
}

/// Gives the last commit a signature, so that git would have it checked.
#[cfg(unix)]
fn sign_last_commit(root: &Path) {
    use std::process::Command;
    let script = "set -e
        commit=$(git cat-file commit HEAD)
        head=$(printf '%s\n' \"$commit\" | sed '/^$/,$d')
        printf '%s\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ\n -----END PGP SIGNATURE-----\n\nm\n' \"$head\" > .git/signed
        git update-ref HEAD $(git hash-object -t commit -w .git/signed)";
    let done = Command::new("/bin/sh")
        .args(["-c", script])
        .current_dir(root)
        .output();
    assert!(done.unwrap().status.success());
}
