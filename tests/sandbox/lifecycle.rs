//! Starting, ending, and leaving nothing behind.

use crate::world::{Form, World, fenced, finish, nobody_runs, soon};
use open_interpreter::sandbox::{End, Lift, Mode, Sandbox, SandboxError, Strength};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

const FORMS: [Form; 3] = [Form::Auto, Form::Partial, Form::Control];

fn each(test: impl Fn(&World, &Sandbox)) {
    for form in FORMS {
        let world = World::new();
        if let Some(sandbox) = world.sandbox(form) {
            test(&world, &sandbox);
        }
    }
}

/// A number that makes a `sleep` recognisable.
fn mark(world: &World) -> String {
    let env = world.env();
    let victim = env.iter().find(|(k, _)| k == "VICTIM").unwrap();
    format!("98{}", victim.1.display())
}

#[test]
fn codes_and_signals_are_told_apart() {
    each(|world, sandbox| {
        for (script, end) in [
            ("exit 0", End::Exited(0)),
            ("exit 7", End::Exited(7)),
            ("exit 125", End::Exited(125)),
            ("exit 143", End::Exited(143)),
            ("kill -TERM $$", End::Signaled(15)),
            ("kill -KILL $$", End::Signaled(9)),
        ] {
            assert_eq!(fenced(sandbox, &world.run(script)).0, end, "{script}");
        }
    });
}

#[test]
fn a_command_that_cannot_start_is_not_an_exit_code() {
    each(|world, sandbox| {
        let mut run = world.run("");
        run.program = "no-such-program".into();
        let (end, _) = fenced(sandbox, &run);
        assert!(
            matches!(&end, End::Fence(why) if why.contains("no-such-program")),
            "{end:?}"
        );
        run.dir = world.path("missing");
        let error = sandbox.spawn(&run).unwrap_err();
        assert!(matches!(&error, SandboxError::Io(why) if why.contains("no folder")));
    });
}

#[test]
fn input_environment_and_signals_are_the_given_ones() {
    each(|world, sandbox| {
        let mut run = world.run("cat; echo [$PLAIN] [$CARGO] ; trap");
        run.env.push(("PLAIN".into(), "given".into()));
        run.stdin = true;
        let mut running = sandbox.spawn(&run).unwrap();
        running.stdin().unwrap().write_all(b"typed ").unwrap();
        let (end, output) = finish(running);
        assert_eq!(
            (end, output.as_str()),
            (End::Exited(0), "typed [given] []\n")
        );
        // A broken pipe ends a writer silently only if its signal is not ignored.
        let (_, output) = fenced(sandbox, &world.run("yes | head -1"));
        assert_eq!(output, "y\n");
        let (_, output) = fenced(sandbox, &world.run("cat; tty; ls /proc/self/fd | wc -l"));
        assert_eq!(output, "not a tty\n4\n");
    });
}

/// The helper is outside the fence when it starts, so nothing that is meant for the command's
/// loader may act in it. Here it would write a trace.
#[test]
fn the_environment_does_not_act_on_the_helper() {
    let world = World::new();
    let trace = world.path("out/trace");
    let mut run = world.run("exit 0");
    run.env.push(("LD_DEBUG".into(), "libs".into()));
    run.env.push(("LD_DEBUG_OUTPUT".into(), trace.into()));
    let traces = || {
        std::fs::read_dir(world.path("out"))
            .unwrap()
            .flatten()
            .filter(|e| e.file_name().to_string_lossy().starts_with("trace"))
            .count()
    };
    if let Some(sandbox) = world.sandbox(Form::Auto) {
        fenced(&sandbox, &run);
        assert_eq!(traces(), 0);
    }
    if let Some(sandbox) = world.sandbox(Form::Control) {
        fenced(&sandbox, &run);
        assert_eq!(traces(), 1, "only that of the command itself");
    }
}

#[test]
fn no_descriptor_is_inherited() {
    let world = World::new();
    let file = std::fs::File::create(world.path("out/open")).unwrap();
    // SAFETY: no memory is involved; the descriptors are open.
    let fd = unsafe {
        let fd = libc::fcntl(file.as_raw_fd(), libc::F_DUPFD, 60);
        assert_eq!(libc::fcntl(fd, libc::F_SETFD, 0), 0);
        fd
    };
    let script = format!("echo x > /proc/self/fd/{fd}");
    assert!(world.unfenced(&script).0, "the control must get through");
    for form in FORMS {
        if let Some(sandbox) = world.sandbox(form) {
            assert_ne!(fenced(&sandbox, &world.run(&script)).0, End::Exited(0));
        }
    }
    // SAFETY: as above.
    unsafe { libc::close(fd) };
}

#[test]
fn nothing_outlives_a_command_or_holds_its_pipe() {
    each(|world, sandbox| {
        let mark = mark(world);
        let script = format!(
            "sleep {mark} & setsid sleep {mark} & (setsid sh -c 'sleep {mark} &' &) ; echo up"
        );
        let start = Instant::now();
        let (end, output) = fenced(sandbox, &world.run(&script));
        assert_eq!((end, output.as_str()), (End::Exited(0), "up\n"));
        assert!(start.elapsed() < Duration::from_secs(3));
        assert!(nobody_runs(&mark));
    });
}

#[test]
fn stopping_takes_the_whole_tree_quickly() {
    each(|world, sandbox| {
        let mark = mark(world);
        let script =
            format!("trap '' TERM INT HUP; setsid sleep {mark} & sleep {mark}; sleep {mark}");
        let mut running = sandbox.spawn(&world.run(&script)).unwrap();
        assert!(soon(|| !nobody_runs(&format!("sleep\0{mark}"))));
        let start = Instant::now();
        running.stop();
        assert!(
            start.elapsed() < Duration::from_millis(900),
            "{:?}",
            start.elapsed()
        );
        assert!(nobody_runs(&mark));
        assert_eq!(running.try_wait().unwrap(), Some(End::Signaled(9)));

        let running = sandbox.spawn(&world.run(&script)).unwrap();
        assert!(soon(|| !nobody_runs(&format!("sleep\0{mark}"))));
        drop(running);
        assert!(nobody_runs(&mark));
    });
}

#[test]
fn a_killed_agent_or_helper_takes_its_commands_along() {
    for form in [Form::Auto, Form::Partial] {
        let world = World::new();
        let Some(sandbox) = world.sandbox(form) else {
            continue;
        };
        let mark = mark(&world);
        let run = world.run(&format!("setsid sleep {mark} & sleep {mark}"));
        // What the kernel does to the agent's end of the pipe when the agent is killed.
        let agent = std::thread::spawn(move || {
            let running = sandbox.spawn(&run).unwrap();
            running.pid()
        });
        agent.join().unwrap();
        assert!(soon(|| nobody_runs(&mark)));
    }
    let world = World::new();
    let Some(sandbox) = world.sandbox(Form::Auto) else {
        return;
    };
    if sandbox.strength() != Strength::Enforced {
        return;
    }
    let mark = mark(&world);
    let run = world.run(&format!("setsid sleep {mark} & sleep {mark}"));
    let mut running = sandbox.spawn(&run).unwrap();
    assert!(soon(|| !nobody_runs(&format!("sleep\0{mark}"))));
    // SAFETY: no memory is involved; the helper is our own child.
    unsafe { libc::kill(running.pid() as i32, libc::SIGKILL) };
    assert!(soon(|| nobody_runs(&mark)));
    assert_eq!(running.try_wait().unwrap(), Some(End::Signaled(9)));
}

/// Without namespaces a command knows its helper's number, and the helper is what puts things back.
#[test]
fn a_command_cannot_stop_its_helper() {
    let world = World::new();
    let Some(sandbox) = world.sandbox(Form::Partial) else {
        return;
    };
    let script = "echo evil > .git/config; kill -STOP $PPID; kill -STOP -$PPID; kill -KILL $PPID; kill -KILL -$PPID; exit 3";
    let (end, output) = fenced(&sandbox, &world.run(script));
    assert_eq!(end, End::Exited(3), "{output}");
    assert!(!world.read("ws/.git/config").contains("evil"), "{output}");
}

#[test]
fn a_crowd_of_processes_is_stopped() {
    let world = World::new();
    let Some(sandbox) = world.sandbox(Form::Auto) else {
        return;
    };
    let mark = mark(&world);
    let bomb =
        format!("i=0; while [ $i -lt 3000 ]; do sleep {mark} & i=$((i+1)); done; echo all; wait");
    let (end, output) = fenced(&sandbox, &world.run(&bomb));
    assert!(
        end != End::Exited(0) && !output.contains("all\n"),
        "{end:?} {output}"
    );
    assert!(nobody_runs(&mark));
}

#[test]
fn commands_side_by_side_share_their_protection() {
    let world = World::new();
    let Some(sandbox) = world.sandbox(Form::Auto) else {
        return;
    };
    let plant = "mkdir -p .agents/x 2>/dev/null; (echo evil > .agents/f) 2>/dev/null; rmdir .codex 2>/dev/null; mkdir .codex/y 2>/dev/null; echo done";
    std::thread::scope(|scope| {
        for i in 0..4 {
            let (world, sandbox) = (&world, &sandbox);
            scope.spawn(move || {
                for round in 0..6 {
                    let script = format!(
                        "sleep 0.0{}; {plant}; sleep 0.0{i}; {plant}",
                        (i + round) % 7
                    );
                    let (end, output) = fenced(sandbox, &world.run(&script));
                    assert_eq!((end, output.as_str()), (End::Exited(0), "done\ndone\n"));
                }
            });
        }
    });
    for name in [".agents", ".codex", ".openinterpreter"] {
        assert!(!world.path("ws").join(name).exists(), "{name}");
    }
}

#[test]
fn what_cannot_be_enforced_is_not_run() {
    let world = World::new();
    std::os::unix::fs::symlink("elsewhere", world.path("ws/.agents")).unwrap();
    let sandbox = Sandbox::new(world.policy(Mode::WorkspaceWrite));
    let mut run = world.run("touch ran");
    let error = sandbox.spawn(&run).unwrap_err();
    assert!(matches!(error, SandboxError::Unenforceable(_)));
    assert!(matches!(sandbox.strength(), Strength::Nothing(why) if why.contains(".agents")));
    assert!(!world.path("ws/ran").exists());
    run.lift = Lift::Everything;
    assert_eq!(fenced(&sandbox, &run).0, End::Exited(0));

    // A workspace that was swapped for a link is another workspace.
    let world = World::new();
    let sandbox = Sandbox::new(world.policy(Mode::WorkspaceWrite));
    std::fs::rename(world.path("ws"), world.path("ws2")).unwrap();
    std::os::unix::fs::symlink(world.path("out"), world.path("ws")).unwrap();
    assert!(sandbox.spawn(&world.run("touch new")).is_err());

    // Without namespaces nothing can take our own home out of a writable folder.
    let world = World::new();
    let mut policy = world.policy(Mode::WorkspaceWrite);
    policy.own_homes = vec![world.path("ws/src")];
    let sandbox = Sandbox::new(policy).without_namespaces();
    assert!(sandbox.spawn(&world.run("true")).is_err());
}

#[test]
fn the_own_home_inside_the_workspace_is_hidden() {
    let world = World::new();
    let mut policy = world.policy(Mode::WorkspaceWrite);
    policy.roots = vec![world.path("")];
    let sandbox = Sandbox::new(policy);
    if sandbox.strength() != Strength::Enforced {
        return;
    }
    let script = "cat $OWN/auth.json; echo x > $OWN/x; echo x > $OWN/outputs/x; mv $OWN $OWN-2; cat $OWN/outputs/1.txt; echo x > $OUT/ok; cat $OUT/ok";
    let (_, output) = fenced(&sandbox, &world.run(script));
    assert!(
        !output.contains("key-in") && output.ends_with("whole output\nx\n"),
        "{output}"
    );
    assert_eq!(world.read("home/auth.json"), "key-in-auth-json\n");
}

/// The folder that a model names to run in is no part of the policy.
#[test]
fn the_working_folder_of_a_command_is_no_writable_root() {
    for form in [Form::Auto, Form::Partial] {
        let world = World::new();
        let Some(sandbox) = world.sandbox(form) else {
            return;
        };
        let mut run = world.run("pwd; echo x > new; mkdir .git; echo end");
        run.dir = world.path("out");
        let (_, output) = fenced(&sandbox, &run);
        assert!(
            output.starts_with(&format!("{}\n", run.dir.display())) && output.ends_with("end\n")
        );
        assert!(!world.path("out/new").exists() && !world.path("out/.git").exists());
        run.lift = Lift::Everything;
        fenced(&sandbox, &run);
        assert!(world.path("out/new").exists(), "the control");
    }
}

/// `/tmp` is writable, so a command could move a parent of the workspace away and build its own.
#[test]
fn a_workspace_below_the_temporary_folder_stays_where_it_is() {
    let world = World::new();
    let temp = tempfile::tempdir_in("/tmp").unwrap();
    let root = temp.path().join("a/b/ws");
    std::fs::create_dir_all(root.join(".git/hooks")).unwrap();
    let mut policy = world.policy(Mode::WorkspaceWrite);
    policy.roots = vec![root.clone()];
    let sandbox = Sandbox::new(policy);
    if sandbox.strength() != Strength::Enforced {
        return;
    }
    let mut run = world.run(
        "cd ../../..; mv a/b/ws w; mv a/b b; mv a c; mkdir -p a/b/ws/.git/hooks; echo evil > a/b/ws/.git/hooks/x; echo x > a/b/ws/ok; echo x > a/ok; true",
    );
    run.dir = root.clone();
    let (end, output) = fenced(&sandbox, &run);
    assert_eq!(end, End::Exited(0));
    assert!(
        root.join("ok").exists() && temp.path().join("a/ok").exists(),
        "{output}"
    );
    assert!(!root.join(".git/hooks/x").exists(), "{output}");
}

#[test]
fn the_whole_disk_can_be_the_workspace() {
    let world = World::new();
    let mut policy = world.policy(Mode::WorkspaceWrite);
    policy.roots = vec!["/".into()];
    let sandbox = Sandbox::new(policy);
    if sandbox.strength() != Strength::Enforced {
        return;
    }
    let script = "echo x > $OUT/new; cat $OUT/new; cat $OWN/auth.json; echo x > $OWN/new; echo x > /proc/sys/vm/overcommit_ratio; true";
    let (end, output) = fenced(&sandbox, &world.run(script));
    assert!(
        end == End::Exited(0) && output.starts_with("x\n"),
        "{end:?} {output}"
    );
    assert!(
        !output.contains("key-in") && !world.path("home/new").exists(),
        "{output}"
    );
}

/// Not a limit, since machines differ: the number is for the log.
#[test]
fn the_cost_of_a_command_is_measured() {
    let world = World::new();
    let run = world.run("exit 0");
    let median = |f: &dyn Fn()| {
        let mut times: Vec<_> = (0..21)
            .map(|_| {
                let start = Instant::now();
                f();
                start.elapsed()
            })
            .collect();
        times.sort();
        (times[times.len() / 2], times[0])
    };
    let bare = median(&|| {
        world.unfenced("exit 0");
    });
    for form in FORMS {
        if let Some(sandbox) = world.sandbox(form) {
            let took = median(&|| {
                let mut running = sandbox.spawn(&run).unwrap();
                let mut pipe = running.output().unwrap();
                let _ = pipe.read_to_end(&mut Vec::new());
                while running.try_wait().unwrap().is_none() {
                    std::thread::yield_now();
                }
            });
            eprintln!("{form:?}: median and least {took:?}, without: {bare:?}");
            assert!(took.0 < Duration::from_secs(2));
        }
    }
}
