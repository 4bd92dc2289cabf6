//! Ordinary work that the fence must not disturb.

use crate::world::{Form, World, fenced};
use open_interpreter::sandbox::{End, Lift, Mode, Sandbox};
use std::fs;

/// Scripts and a line that their output must have.
const WORK: [(&str, &str); 22] = [
    ("echo hi; echo there >&2", "hi\nthere\n"),
    ("echo x > src/b.txt && cat src/a.txt src/b.txt", "honest\nx"),
    ("seq 1000 | sort -n | tail -1 | tr 0 o", "1ooo"),
    (
        "git status --short && git log 2>&1 | head -1; echo git-done",
        "git-done",
    ),
    (
        "mkdir -p a/b && mv src/a.txt a/b/ && ln a/b/a.txt l && ln -s a s && cat s/b/a.txt",
        "honest",
    ),
    (
        "echo x > /tmp/honest-$VICTIM && cat /tmp/honest-$VICTIM && rm /tmp/honest-$VICTIM",
        "x",
    ),
    (
        "cat <<EOF\nfrom a here-document\nEOF",
        "from a here-document",
    ),
    (
        "mkdir sub && cd sub && git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m m && git log --oneline | wc -l",
        "1",
    ),
    (
        "chmod 755 src/a.txt && touch src/a.txt && stat -c %a src/a.txt",
        "755",
    ),
    (
        "tar cf a.tar src && mkdir t && tar xf a.tar -C t && cat t/src/a.txt",
        "honest",
    ),
    ("timeout 5 nice -n 1 sh -c 'echo timed'", "timed"),
    (
        "/usr/bin/python3 -c 'import subprocess,threading;t=threading.Thread(target=lambda:print(\"thread\"));t.start();t.join();print(subprocess.check_output([\"echo\",\"child\"]).decode())'",
        "child",
    ),
    (
        "/usr/bin/python3 -c 'import asyncio;asyncio.run(asyncio.sleep(0));print(\"loop\")'",
        "loop",
    ),
    (
        "echo x > /dev/null && head -c 4 /dev/urandom | wc -c && cat /dev/stdin < /dev/null && echo devices",
        "devices",
    ),
    (
        "cat /etc/passwd | head -1 | cut -d: -f1; cat $OWN/outputs/1.txt",
        "whole output",
    ),
    (
        "printf '#!/bin/sh\\necho ran\\n' > run.sh && chmod +x run.sh && ./run.sh",
        "ran",
    ),
    (
        "cd nested && echo x > f && git add f && git -c user.name=a -c user.email=a@b commit -q -m m && git log --oneline | wc -l",
        "1",
    ),
    (
        "mkdir a && mv nested/.git/HEAD a/ && mv a/HEAD nested/.git/ && git -C nested status --short; echo moved",
        "moved",
    ),
    (
        "git clone -q nested copy 2>&1; cd copy && git config user.name x && git config user.name",
        "x",
    ),
    ("cp -r nested n && rm -rf n && echo copied", "copied"),
    (
        "perl -e 'if(fork()){wait;print \"parent\\n\"}else{exit 0}'",
        "parent",
    ),
    ("find . -name a.txt -exec cat {} + | sed 's/h/H/'", "Honest"),
];

/// What needs namespaces of its own: shared memory, terminals, a server on the loopback.
const WORK_WITH_NAMESPACES: [(&str, &str); 4] = [
    (
        "/usr/bin/python3 -c 'import multiprocessing as m\nwith m.Pool(2) as p: print(sum(p.map(abs,[-1,-2])))'",
        "3",
    ),
    (
        "/usr/bin/python3 -c 'import os;a,b=os.openpty();os.write(a,b\"x\");print(os.ttyname(b))'",
        "/dev/pts/",
    ),
    (
        "/usr/bin/python3 -m http.server 8123 --bind 127.0.0.1 >/dev/null 2>&1 & for i in 1 2 3 4 5 6 7 8 9; do sleep 0.2; /usr/bin/python3 -c 'import urllib.request as u;print(u.urlopen(\"http://127.0.0.1:8123/src/a.txt\").read().decode())' 2>/dev/null && break; done",
        "honest",
    ),
    ("echo $$; cat /proc/self/comm", "cat"),
];

fn check(form: Form, work: &[(&str, &str)]) {
    for (script, expected) in work {
        let world = World::new();
        if world.sandbox(form).is_none() {
            return;
        }
        let (done, output) = world.by_binary(form, script);
        assert!(
            done && output.contains(expected),
            "{form:?}: {script}\n{output}"
        );
    }
}

#[test]
fn ordinary_work_goes_on_inside_the_full_fence() {
    check(Form::Auto, &WORK);
    check(Form::Auto, &WORK_WITH_NAMESPACES);
}

#[test]
fn ordinary_work_goes_on_without_namespaces() {
    check(Form::Partial, &WORK);
}

#[test]
fn ordinary_work_goes_on_without_a_fence() {
    check(Form::Control, &WORK);
    check(Form::Control, &WORK_WITH_NAMESPACES);
}

#[test]
fn read_only_reads_and_uses_devices() {
    let world = World::new();
    let Some(sandbox) = world.sandbox(Form::ReadOnly) else {
        return;
    };
    let script = "cat src/a.txt; echo x > /dev/null; git log 2>&1 | head -1; echo > f; echo > /tmp/f; echo > /dev/shm/f; echo end";
    let (end, output) = fenced(&sandbox, &world.run(script));
    assert_eq!(end, End::Exited(0));
    assert!(
        output.starts_with("honest\n") && output.ends_with("end\n"),
        "{output}"
    );
    assert_eq!(
        output.matches("Read-only file system").count(),
        3,
        "{output}"
    );
}

/// The messages that other agents in the same situation show, so that models know them.
#[test]
fn refusals_look_as_usual() {
    let world = World::new();
    let Some(sandbox) = world.sandbox(Form::Auto) else {
        return;
    };
    for (script, message) in [
        ("echo x > /var/tmp/f", "Read-only file system"),
        ("echo x > .git/f", "Read-only file system"),
        ("mkdir .codex; echo x > .codex/f", "Read-only file system"),
        ("mv .git .git2", "busy"),
        ("git add src", "Read-only file system"),
        (
            "/usr/bin/python3 -c 'import socket;socket.socket(1)'",
            "Operation not permitted",
        ),
    ] {
        let (end, output) = fenced(&sandbox, &world.run(script));
        assert!(
            end != End::Exited(0) && output.contains(message),
            "{script}: {output}"
        );
    }
    assert!(!world.path("ws/.codex").exists());
}

#[test]
fn a_lift_opens_one_thing_for_one_command() {
    for form in [Form::Auto, Form::Partial] {
        let world = World::new();
        let Some(sandbox) = world.sandbox(form) else {
            return;
        };
        let try_all = "(echo x > $OUT/new) 2>/dev/null && echo folder; (echo x > .git/new) 2>/dev/null && echo git; bash -c 'exec 3<>/dev/tcp/127.0.0.1/'$TCP 2>/dev/null && echo network; (echo x > $OWN/new) 2>/dev/null && echo own; true";
        let mut run = world.run(try_all);
        let mut with = |lift: Lift| {
            run.lift = lift;
            fenced(&sandbox, &run).1.replace('\n', " ")
        };
        assert_eq!(with(Lift::Network).trim().replace("git ", ""), "network");
        let folder = with(Lift::Folder(world.path("out")));
        assert!(
            folder.starts_with("folder") && !folder.contains("network"),
            "{folder}"
        );
        assert_eq!(with(Lift::Git).trim(), "git");
        assert_eq!(with(Lift::Everything).trim(), "folder git network own");
    }
}

#[test]
fn a_work_tree_keeps_its_repository_safe_and_git_can_be_lifted() {
    let world = World::new();
    let (made, output) = world.unfenced(
        "cd /tmp && rm -rf wt-$VICTIM && mkdir wt-$VICTIM && cd wt-$VICTIM && git init -q main && cd main \
         && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m m && git worktree add -q ../tree",
    );
    assert!(made, "{output}");
    let base = world
        .env()
        .into_iter()
        .find(|(k, _)| k == "VICTIM")
        .unwrap()
        .1;
    let base = std::path::PathBuf::from("/tmp").join(format!("wt-{}", base.display()));
    let mut policy = world.policy(Mode::WorkspaceWrite);
    policy.roots = vec![base.join("tree")];
    let sandbox = Sandbox::new(policy);
    let commit = "echo evil > ../main/.git/hooks/pre-commit; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m n && echo committed";
    let mut run = world.run(commit);
    run.dir = base.join("tree");
    let (_, output) = fenced(&sandbox, &run);
    let planted = base.join("main/.git/hooks/pre-commit").exists();
    run.lift = Lift::Git;
    run.args[1] = commit.split_once(';').unwrap().1.into();
    let (_, lifted) = fenced(&sandbox, &run);
    fs::remove_dir_all(&base).unwrap();
    assert!(!planted && !output.contains("committed"), "{output}");
    assert!(lifted.contains("committed"), "{lifted}");
}
