use super::*;
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(20);

fn shell(command: &str) -> Shell {
    Shell {
        shell: ShellKind::Sh,
        ..Shell::new(command, LONG)
    }
}

fn out(b: &mut Bench, shell: Shell) -> ShellOut {
    match b.run(Action::Shell(shell)) {
        Outcome::Shell(out) => out,
        other => panic!("{other:?}"),
    }
}

fn input(b: &mut Bench, id: u32, chars: &str, wait: u64) -> ShellOut {
    match b.run(Action::ShellInput {
        id,
        chars: chars.into(),
        wait: Duration::from_millis(wait),
    }) {
        Outcome::Shell(out) => out,
        other => panic!("{other:?}"),
    }
}

fn job(out: &ShellOut) -> u32 {
    match out.status {
        ShellStatus::Running { id, .. } => id,
        other => panic!("it runs, not {other:?}"),
    }
}

fn gone(pid: &str) -> bool {
    let until = Instant::now() + Duration::from_secs(2);
    let stat = || fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // A killed process may wait for whoever reaps it.
    while !stat().is_empty() && !stat().contains(") Z ") && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    stat().is_empty() || stat().contains(") Z ")
}

#[test]
fn a_command_tells_its_output_and_how_it_ended() {
    let mut b = Bench::new().file("sub/x", "");
    for (command, output, status) in [
        (
            "echo out; echo err >&2; exit 7",
            "out\nerr\n",
            ShellStatus::Exited(7),
        ),
        ("kill -KILL $$", "", ShellStatus::Signaled(9)),
        ("cat; echo end", "end\n", ShellStatus::Exited(0)),
        ("printf 'a\\377b'", "a\u{fffd}b", ShellStatus::Exited(0)),
        ("no-such-program 2>/dev/null", "", ShellStatus::Exited(127)),
    ] {
        let out = out(&mut b, shell(command));
        assert_eq!((out.output.text.as_str(), out.status), (output, status));
        assert_eq!(out.output.file, None);
    }
    let mut there = shell("pwd; echo $X");
    there.dir = Some("sub".into());
    there.env = vec![("X".into(), "y".into())];
    let got = out(&mut b, there.clone());
    assert_eq!(
        got.output.text,
        format!("{}\ny\n", b.dir.join("sub").display())
    );
    assert_eq!(got.dir, b.dir.join("sub"));
    there.dir = Some("nowhere".into());
    assert!(matches!(
        b.error(Action::Shell(there)),
        ToolError::NotFound { .. }
    ));
}

#[test]
fn a_large_output_lies_in_a_file_that_can_be_read() {
    let mut b = Bench::new();
    let command = "head -c 300000 /dev/zero | tr '\\0' x; echo; seq 1 20000; echo LAST; exit 3";
    let out = out(&mut b, shell(command));
    assert_eq!(out.status, ShellStatus::Exited(3));
    assert_eq!(out.output.bytes, 300_001 + 108_894 + 5);
    let file = out.output.file.expect("a file").display().to_string();
    let part = b.run(Action::Read(Read {
        first: 20_000,
        ..Read::new(file, Some(3), 100)
    }));
    assert!(matches!(part, Outcome::Read(p) if p.text == "19999\n20000\nLAST\n"));
}

#[test]
fn the_time_limit_kills_the_whole_tree() {
    let mut b = Bench::new();
    let mut slow = shell("sleep 60 & echo $!; echo begun; sleep 60; echo never");
    slow.time_limit = Some(Duration::from_secs(1));
    let begun = Instant::now();
    let out = out(&mut b, slow);
    assert_eq!(out.status, ShellStatus::TimedOut);
    let (pid, rest) = out.output.text.split_once('\n').expect("a line");
    assert_eq!(rest, "begun\n");
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert!(gone(pid));
}

#[test]
fn a_child_that_keeps_the_pipe_open_does_not_hang_us() {
    let mut b = Bench::new();
    let begun = Instant::now();
    let out = out(&mut b, shell("sleep 30 & echo done"));
    assert_eq!(
        (out.output.text.as_str(), out.status),
        ("done\n", ShellStatus::Exited(0))
    );
    assert!(begun.elapsed() < Duration::from_secs(2));
}

#[test]
fn a_cancel_is_felt_at_once() {
    let mut b = Bench::new();
    let cancel = Cancel::new();
    let stopper = cancel.clone();
    let begun = Instant::now();
    let (sent, set) = std::sync::mpsc::channel();
    let mut seen = String::new();
    let outcome = b.bench.run(
        &Action::Shell(shell("echo $$; sleep 60")),
        &Lift::Nothing,
        1000,
        &cancel,
        &mut |text| {
            seen.push_str(text);
            stopper.cancel();
            let _ = sent.send(Instant::now());
        },
    );
    assert_eq!(outcome, Outcome::Interrupted);
    let set: Instant = set.recv().expect("output came");
    assert!(
        set.elapsed() < Duration::from_millis(500),
        "{:?}",
        set.elapsed()
    );
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert!(gone(seen.trim()));
}

#[test]
fn the_folder_persists_and_nobody_sees_how() {
    let mut b = Bench::new().file("sub/f", "here\n");
    let mut stay = shell("cd sub; echo in; exit 4");
    stay.cwd_persists = true;
    let first = out(&mut b, stay.clone());
    assert_eq!(
        (first.output.text.as_str(), first.status),
        ("in\n", ShellStatus::Exited(4))
    );
    assert_eq!(first.command, "cd sub; echo in; exit 4");
    assert_eq!(b.bench.cwd(), b.dir.join("sub"));
    assert_eq!(b.read_all("f").text, "here\n");
    stay.command = "cat f; cd ..; rm -r sub; false".into();
    let second = out(&mut b, stay.clone());
    assert_eq!(
        (second.output.text.as_str(), second.status),
        ("here\n", ShellStatus::Exited(1))
    );
    assert_eq!(b.bench.cwd(), b.dir);
    stay.command = "mkdir t; cd t; rmdir ../t".into();
    out(&mut b, stay);
    let back = out(&mut b, shell("pwd"));
    assert_eq!(back.output.text, format!("{}\n", b.dir.display()));
}

#[test]
fn a_command_goes_on_in_the_background() {
    let mut b = Bench::new();
    let mut talk = shell("echo ready; while read line; do echo got $line; done; echo bye; exit 5");
    talk.stdin = true;
    talk.on_timeout = OnTimeout::Background;
    talk.time_limit = Some(Duration::from_secs(1));
    let begun = out(&mut b, talk);
    assert_eq!(begun.output.text, "ready\n");
    let id = job(&begun);
    assert_eq!(
        b.bench.jobs().iter().map(|j| j.id).collect::<Vec<_>>(),
        [id]
    );
    let heard = input(&mut b, id, "one\n", 1000);
    assert_eq!((heard.output.text.as_str(), job(&heard)), ("got one\n", id));
    assert_eq!(input(&mut b, id, "", 10).output.text, "");
    let last = input(&mut b, id, "\u{4}", 5000);
    assert_eq!(
        (last.output.text.as_str(), last.status),
        ("bye\n", ShellStatus::Exited(5))
    );
    let over = b.error(Action::ShellStop { id });
    assert_eq!(
        over,
        ToolError::NoSuchCommand {
            id,
            running: vec![]
        }
    );
    assert_eq!(b.bench.ended_jobs(), [], "its end was told");
}

#[test]
fn the_end_of_a_background_command_is_told_once() {
    let mut b = Bench::new();
    let start = |command: &str| {
        let mut start = shell(command);
        start.background = true;
        start
    };
    let quick = job(&out(&mut b, start("echo over; exit 2")));
    let slow = job(&out(&mut b, start("sleep 60")));
    let until = Instant::now() + LONG;
    let mut ends = Vec::new();
    while ends.is_empty() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
        ends = b.bench.ended_jobs();
    }
    let end = JobEnd {
        file: None,
        id: quick,
        command: "echo over; exit 2".into(),
        code: Some(2),
    };
    assert_eq!(ends, [end]);
    assert_eq!(b.bench.ended_jobs(), []);
    let last = input(&mut b, quick, "", 0);
    assert_eq!(
        (last.output.text.as_str(), last.status),
        ("over\n", ShellStatus::Exited(2))
    );
    let refused = b.error(Action::ShellInput {
        id: slow,
        chars: "x".into(),
        wait: Duration::ZERO,
    });
    assert!(refused.to_string().contains("closed"), "{refused}");
    let pid = b.bench.jobs()[0].pid.to_string();
    let stopped = b.run(Action::ShellStop { id: slow });
    // 9, or 15 when its helper was still starting.
    assert!(matches!(stopped, Outcome::Shell(o) if matches!(o.status, ShellStatus::Signaled(_))));
    assert!(gone(&pid));
    let third = out(&mut b, start("sleep 60"));
    let ShellStatus::Running { pid, .. } = third.status else {
        panic!("it runs");
    };
    drop(b);
    assert!(gone(&pid.to_string()), "nothing outlives the workbench");
}

#[test]
fn the_shell_is_a_posix_one() {
    let argv = |kind: ShellKind, user: &str| {
        let (program, args) = shell_argv(&kind, Path::new(user), "x");
        let flag = args[0].to_string_lossy().into_owned();
        assert_eq!(args[1..], ["x"]);
        (program.to_string_lossy().into_owned(), flag)
    };
    let user = |login| ShellKind::User { login };
    assert_eq!(
        argv(user(false), "/bin/sh"),
        ("/bin/sh".into(), "-c".into())
    );
    assert_eq!(
        argv(user(true), "/bin/sh"),
        ("/bin/sh".into(), "-lc".into())
    );
    for other in ["/usr/bin/fish", "/usr/bin/nu", "/nonexistent/zsh", ""] {
        let program = argv(user(false), other).0;
        assert!(
            program.ends_with("/bash") || program == "/bin/sh",
            "{other}: {program}"
        );
    }
    let named = ShellKind::Named {
        program: "fish".into(),
        login: true,
    };
    assert_eq!(argv(named, "/bin/sh"), ("fish".into(), "-lc".into()));
    assert_eq!(
        argv(ShellKind::Sh, "/bin/zsh"),
        ("/bin/sh".into(), "-c".into())
    );
}
