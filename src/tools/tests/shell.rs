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

/// A command that is started and left alone.
fn start(b: &mut Bench, command: &str) -> u32 {
    let mut start = shell(command);
    start.background = true;
    job(&out(b, start))
}

fn wait(id: Option<u32>, wait: Duration, all: bool) -> Action {
    Action::ShellWait { id, wait, all }
}

/// A wait for one command that gives its result.
fn waited(b: &mut Bench, id: Option<u32>, time: Duration, all: bool) -> ShellOut {
    match b.run(wait(id, time, all)) {
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
        set.elapsed() < Duration::from_secs(10),
        "{:?}",
        set.elapsed()
    );
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

/// Where the harness has it so, a command that ends outside of the workspace leads back.
#[test]
fn the_folder_is_left_where_it_is_outside() {
    let mut b = Bench::new().file("sub/f", "");
    let mut stay = shell("cd sub");
    (stay.cwd_persists, stay.cwd_inside) = (true, true);
    assert_eq!(out(&mut b, stay.clone()).back_in, None);
    assert_eq!(b.bench.cwd(), b.dir.join("sub"));
    stay.command = "cd /usr && pwd".into();
    let away = out(&mut b, stay.clone());
    assert_eq!(away.output.text, "/usr\n");
    assert_eq!(away.back_in.as_deref(), Some(&b.dir));
    assert_eq!(b.bench.cwd(), b.dir);
    stay.cwd_inside = false;
    assert_eq!(out(&mut b, stay).back_in, None);
    assert_eq!(b.bench.cwd(), Path::new("/usr"));
}

/// Where the harness has it so, `cat` is a read: what it showed may be edited.
#[test]
fn a_command_that_shows_a_file_counts_as_reading_it() {
    let mut b = Bench::new()
        .file("sub/a.py", "x = 1\n")
        .file("b.py", "x = 1\n");
    let edit = |path: &str| {
        let mut action = edit(path, "x = 1", "x = 2");
        if let Action::Edit { read_first, .. } = &mut action {
            *read_first = true;
        }
        action
    };
    let mut show = shell("cat a.py");
    show.dir = Some("sub".into());
    out(&mut b, show.clone());
    assert!(matches!(
        b.error(edit("sub/a.py")),
        ToolError::NotRead { .. }
    ));
    show.may_read = true;
    show.command = "cat a.py && true".into();
    out(&mut b, show.clone());
    assert!(matches!(
        b.error(edit("sub/a.py")),
        ToolError::NotRead { .. }
    ));
    show.command = "cat a.py".into();
    out(&mut b, show);
    b.changed(edit("sub/a.py"));
    assert_eq!(b.text("sub/a.py"), "x = 2\n");
    assert!(matches!(b.error(edit("b.py")), ToolError::NotRead { .. }));
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
    let quick = start(&mut b, "echo over; exit 2");
    let slow = start(&mut b, "sleep 60");
    let until = Instant::now() + LONG;
    let mut ends = Vec::new();
    while ends.is_empty() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
        ends = b.bench.ended_jobs();
    }
    let [end] = ends.as_slice() else {
        panic!("one end, not {ends:?}");
    };
    assert_eq!(
        (end.id, end.command.as_str(), end.code),
        (quick, "echo over; exit 2", Some(2))
    );
    let kept = end.file.as_ref().expect("a file");
    assert_eq!(fs::read_to_string(kept).expect("text"), "over\n");
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
    start(&mut b, "sleep 60");
    let pid = b.bench.jobs()[0].pid.to_string();
    drop(b);
    assert!(gone(&pid), "nothing outlives the workbench");
}

#[test]
fn a_background_command_has_a_file_that_grows() {
    let mut b = Bench::new();
    let mut talk = shell("while read line; do echo got $line; done");
    (talk.stdin, talk.background) = (true, true);
    let begun = out(&mut b, talk);
    let (id, file) = (job(&begun), begun.output.file.expect("a file"));
    assert_eq!(begun.job, Some(id));
    let path = file.display().to_string();
    assert_eq!(b.read_all(&path).text, "", "it is there at once");
    assert_eq!(input(&mut b, id, "one\n", 1000).output.text, "got one\n");
    assert_eq!(b.read_all(&path).text, "got one\n");
    let heard = input(&mut b, id, "two\n", 1000);
    assert_eq!(heard.output.text, "got two\n");
    assert_eq!(heard.output.file.as_ref(), Some(&file));
    assert_eq!(b.read_all(&path).text, "got one\ngot two\n");
    // One that is left running at its limit, too; what it printed before is in the file.
    let mut late = shell("echo early; sleep 60");
    late.on_timeout = OnTimeout::Background;
    late.time_limit = Some(Duration::from_millis(500));
    let late = out(&mut b, late);
    assert_eq!(late.output.text, "early\n");
    let path = late.output.file.expect("a file").display().to_string();
    assert_eq!(b.read_all(&path).text, "early\n");
    let read = b.run(read(&path));
    assert!(b.bench.still_grows(&read));
    b.bench.stop_all();
    assert!(!b.bench.still_grows(&read));
}

#[test]
fn a_wait_gives_what_is_new_or_all() {
    let mut b = Bench::new();
    let id = start(
        &mut b,
        "echo one; while [ ! -e go ]; do sleep 0.05; done; echo two; exit 3",
    );
    let some = Some(id);
    let until = Instant::now() + LONG;
    let mut first = String::new();
    while first.is_empty() && Instant::now() < until {
        let out = waited(&mut b, some, Duration::from_millis(20), false);
        assert_eq!((job(&out), out.job), (id, some));
        first = out.output.text;
    }
    assert_eq!(first, "one\n");
    assert_eq!(
        waited(&mut b, some, Duration::ZERO, false).output.text,
        "",
        "nothing new"
    );
    let all = waited(&mut b, some, Duration::from_millis(20), true);
    assert_eq!((all.output.text.as_str(), job(&all)), ("one\n", id));
    let mut b = b.file("go", "");
    let end = waited(&mut b, some, LONG, false);
    assert_eq!(
        (end.output.text.as_str(), end.status),
        ("two\n", ShellStatus::Exited(3))
    );
    assert_eq!(b.bench.ended_jobs(), [], "its end was told");
    // What ended can be looked at again, but not typed into or stopped.
    for _ in 0..2 {
        let again = waited(&mut b, some, LONG, true);
        assert_eq!(
            (again.output.text.as_str(), again.status, again.output.bytes),
            ("one\ntwo\n", ShellStatus::Exited(3), 8)
        );
    }
    assert_eq!(waited(&mut b, some, LONG, false).output.text, "");
    let gone = ToolError::NoSuchCommand {
        id,
        running: vec![],
    };
    assert_eq!(b.error(Action::ShellStop { id }), gone);
    assert!(matches!(
        b.error(wait(Some(9), LONG, true)),
        ToolError::NoSuchCommand { id: 9, .. }
    ));
}

#[test]
fn a_wait_for_any_gives_the_first_that_ends() {
    let mut b = Bench::new();
    assert_eq!(b.run(wait(None, LONG, true)), Outcome::Jobs(vec![]));
    let slow = start(&mut b, "sleep 60");
    let quick = start(&mut b, "sleep 0.3; echo quick");
    let rows = |outcome: Outcome| match outcome {
        Outcome::Jobs(jobs) => jobs
            .into_iter()
            .map(|j| (j.id, matches!(j.status, ShellStatus::Running { .. })))
            .collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    let look = b.run(wait(None, Duration::ZERO, true));
    assert_eq!(rows(look), [(slow, true), (quick, true)]);
    let begun = Instant::now();
    let end = waited(&mut b, None, LONG, true);
    assert_eq!(
        (end.job, end.output.text.as_str(), end.status),
        (Some(quick), "quick\n", ShellStatus::Exited(0))
    );
    assert!(begun.elapsed() < Duration::from_secs(10));
    assert_eq!(b.bench.ended_jobs(), []);
    // The end of that one was told: the next wait is for the other.
    let over = b.run(wait(None, Duration::from_millis(50), true));
    assert_eq!(rows(over), [(slow, true)]);
    assert_eq!(
        rows(b.run(Action::ShellList)),
        [(slow, true), (quick, false)]
    );
    // One that ended in the meantime is given at once.
    let late = start(&mut b, "exit 4");
    let until = Instant::now() + LONG;
    while b.bench.jobs().len() > 1 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
        b.run(Action::ShellList);
    }
    let end = waited(&mut b, None, Duration::ZERO, false);
    assert_eq!((end.job, end.status), (Some(late), ShellStatus::Exited(4)));
}

#[test]
fn a_wait_ends_with_a_cancel_and_the_command_goes_on() {
    let mut b = Bench::new();
    let id = start(&mut b, "sleep 60");
    for some in [Some(id), None] {
        let cancel = Cancel::new();
        let stopper = cancel.clone();
        let begun = Instant::now();
        let late = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            stopper.cancel();
        });
        let action = wait(some, LONG, true);
        let outcome = b
            .bench
            .run(&action, &Lift::Nothing, 1000, &cancel, &mut |_| {});
        assert_eq!(outcome, Outcome::Interrupted);
        assert!(begun.elapsed() < Duration::from_secs(5));
        late.join().expect("no panic");
    }
    assert_eq!(b.bench.jobs().len(), 1);
}

#[test]
fn of_what_ended_the_latest_are_remembered() {
    let mut b = Bench::new();
    for _ in 0..20 {
        let id = start(&mut b, "echo x");
        waited(&mut b, Some(id), LONG, false);
    }
    let Outcome::Jobs(jobs) = b.run(Action::ShellList) else {
        panic!("jobs");
    };
    let ids: Vec<u32> = jobs.iter().map(|j| j.id).collect();
    assert_eq!(ids, (5..=20).collect::<Vec<_>>());
}

/// Facts of native: at most 64 live sessions.
#[test]
fn there_is_room_for_64_commands() {
    let mut b = Bench::new();
    let ids: Vec<u32> = (0..64).map(|_| start(&mut b, "sleep 99")).collect();
    let mut another = shell("true");
    another.background = true;
    let error = b.error(Action::Shell(another.clone())).to_string();
    assert!(error.contains("64 commands"), "{error}");
    b.run(Action::ShellStop { id: ids[0] });
    out(&mut b, another);
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
