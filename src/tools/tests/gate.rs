//! Every file tool against paths that lead elsewhere.

use super::*;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;

/// A workspace with links out of it, and a neighbour with a file that must stay as it is.
fn world() -> Bench {
    let bench = Bench::new()
        .file("src/a.txt", "inside\n")
        .file("home/auth.json", "key\n")
        .file("nested/.git/HEAD", "ref: refs/heads/main\n")
        .file("nested/.git/config", "[core]\n");
    let top = bench.dir.parent().expect("a parent").to_owned();
    for folder in ["other", "work-twin"] {
        fs::create_dir_all(top.join(folder)).expect("a folder");
        fs::write(top.join(folder).join("victim"), "precious\n").expect("a file");
    }
    for (target, link) in [
        ("../other", "out"),
        ("../other/victim", "file"),
        ("../other/new", "dangling"),
        ("..", "up"),
        ("out", "twice"),
        ("home", "ours"),
        ("loop", "loop"),
    ] {
        symlink(target, bench.dir.join(link)).expect("a link");
    }
    let fifo = std::ffi::CString::new(bench.dir.join("fifo").to_str().expect("text")).expect("C");
    // SAFETY: the name outlives the call.
    assert_eq!(unsafe { libc::mkfifo(fifo.as_ptr(), 0o600) }, 0);
    bench
}

/// Spellings of places that no tool may write.
fn bad(dir: &Path) -> Vec<String> {
    let top = dir.parent().expect("a parent").display();
    let mut all: Vec<String> = [
        "../other/victim",
        "src/../../other/victim",
        "./././../other/victim",
        "out/victim",
        "out/deep/new",
        "file",
        "dangling",
        "up/other/victim",
        "twice/victim",
        "up/work/out/victim",
        "../work-twin/victim",
        "loop",
        "loop/x",
        ".git/config",
        ".GIT/config",
        ".git",
        "src/../.git/hooks/x",
        ".agents/x",
        ".Codex/config.toml",
        ".openinterpreter/config.toml",
        "nested/.git/config",
        "nested/.git/hooks/x",
        "nested/.git/commondir",
        "home/auth.json",
        "home/new",
        "ours/auth.json",
        "src/a\0.txt",
        "",
        "fifo",
        "/dev/null",
        "/dev/stdout",
        "/proc/self/environ",
        "/proc/self/root/etc/x",
        "/proc/self/cwd/../../etc/x",
        "/etc/passwd",
        "~/x",
    ]
    .map(str::to_owned)
    .into();
    all.push(format!("{top}/other/victim"));
    all.push(format!("{top}/work/../other/victim"));
    all.push(format!("{top}//other/./victim"));
    all
}

fn untouched(bench: &Bench) {
    let top = bench.dir.parent().expect("a parent");
    for file in ["other/victim", "work-twin/victim"] {
        assert_eq!(
            fs::read_to_string(top.join(file)).expect(file),
            "precious\n"
        );
    }
    let left = |folder: &str| fs::read_dir(top.join(folder)).expect("there").count();
    assert_eq!((left("other"), left("work-twin")), (1, 1));
    assert_eq!(bench.text("home/auth.json"), "key\n");
    assert_eq!(bench.text("nested/.git/config"), "[core]\n");
    for name in [".git", ".agents", ".Codex", ".openinterpreter", "home/new"] {
        assert!(!bench.dir.join(name).exists(), "{name}");
    }
}

#[test]
fn no_tool_that_writes_leaves_the_workspace() {
    let mut bench = world();
    for path in bad(&bench.dir) {
        let tools = [
            write(&path, "evil\n", false),
            edit(&path, "precious", "evil"),
            edits(&path, &[("key", "evil")], Base::Original, Unique::Require),
            Action::Insert {
                path: path.clone(),
                after: 0,
                text: "evil\n".into(),
            },
            Action::UndoEdit { path: path.clone() },
            patch(&format!("*** Add File: {path}\n+evil")),
            patch(&format!("*** Update File: {path}\n@@\n-precious\n+evil")),
            patch(&format!("*** Delete File: {path}")),
            patch(&format!(
                "*** Update File: src/a.txt\n*** Move to: {path}\n@@\n-inside\n+evil"
            )),
        ];
        for action in tools {
            let shown = format!("{action:?}");
            match bench.run(action) {
                Outcome::Failed(_) => {}
                other => panic!("{shown}: {other:?}"),
            }
            untouched(&bench);
            assert_eq!(bench.text("src/a.txt"), "inside\n", "{shown}");
        }
    }
    // The control: the same tools inside do their work.
    bench.changed(edit("src/a.txt", "inside", "changed"));
    bench.changed(write("src/new", "x\n", false));
    bench.changed(patch("*** Delete File: src/new"));
}

#[test]
fn no_tool_that_reads_shows_secrets_or_waits_for_ever() {
    let mut bench = world();
    for path in [
        "home/auth.json",
        "ours/auth.json",
        "home",
        "fifo",
        "/dev/zero",
        "/dev/random",
        "/dev/stdin",
        "/proc/self/environ",
        "/proc/self/mem",
        "/proc/1/environ",
        "/proc/self/task/self/environ",
        "/proc/kcore",
        "loop",
        "a\0b",
        "",
    ] {
        let mut grep = Grep::new(".", 10);
        grep.path = Some(path.into());
        for action in [
            read(path),
            Action::Grep(grep),
            Action::ViewImage { path: path.into() },
            Action::List {
                path: path.into(),
                ignore: vec![],
                respect_ignore: true,
                limit: 10,
            },
            Action::Glob(Glob {
                path: Some(path.into()),
                ..Glob::new("*", 10)
            }),
        ] {
            let shown = format!("{action:?}");
            let began = std::time::Instant::now();
            let outcome = format!("{:?}", bench.run(action));
            assert!(outcome.starts_with("Failed"), "{shown}: {outcome}");
            assert!(!outcome.contains("key\\n"), "{shown}: {outcome}");
            assert!(began.elapsed().as_secs() < 8, "{shown}");
        }
    }
    // What walks through folders passes them over.
    let found = format!("{:?}", bench.run(Action::Grep(Grep::new("key|inside", 10))));
    assert!(
        found.contains("inside") && !found.contains("auth.json"),
        "{found}"
    );
}

#[test]
fn a_huge_file_is_refused_before_it_is_read() {
    let mut bench = world();
    let huge = fs::File::create(bench.dir.join("huge")).expect("a file");
    huge.set_len(1 << 40).expect("a hole");
    let began = std::time::Instant::now();
    for action in [
        edit("huge", "a", "b"),
        patch("*** Update File: huge\n@@\n-a\n+b"),
        Action::ViewImage {
            path: "huge".into(),
        },
    ] {
        let shown = format!("{action:?}");
        let outcome = bench.run(action);
        assert!(
            matches!(outcome, Outcome::Failed(_)),
            "{shown}: {outcome:?}"
        );
    }
    assert!(began.elapsed().as_secs() < 8);
}

#[test]
fn a_hard_link_to_a_file_outside_is_cut_and_not_written_through() {
    let mut bench = world();
    let victim = bench.dir.with_file_name("other").join("victim");
    let link = bench.dir.join("link");
    fs::hard_link(&victim, &link).expect("a link");
    bench.changed(edit("link", "precious", "evil"));
    assert_eq!(fs::read_to_string(&victim).expect("there"), "precious\n");
    assert_eq!(fs::read_to_string(&link).expect("there"), "evil\n");
    let number = |p: &Path| p.metadata().expect("there").ino();
    assert_ne!(number(&victim), number(&link));
}

/// Another process swaps a folder for a link again and again, while a tool writes into it.
#[test]
fn a_race_for_a_folder_is_never_won() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let mut bench = world();
    let (dir, other) = (bench.dir.clone(), bench.dir.with_file_name("other"));
    fs::create_dir(dir.join("race")).expect("a folder");
    symlink(&other, dir.join("swap")).expect("a link");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let _ = fs::rename(dir.join("race"), dir.join("real"));
                let _ = fs::rename(dir.join("swap"), dir.join("race"));
                let _ = fs::rename(dir.join("race"), dir.join("swap"));
                let _ = fs::rename(dir.join("real"), dir.join("race"));
            }
        });
        let began = std::time::Instant::now();
        let mut written = 0;
        while began.elapsed().as_millis() < 700 {
            for action in [
                write("race/new", "evil\n", false),
                edit("race/victim", "precious", "evil"),
                patch("*** Delete File: race/victim"),
            ] {
                written += usize::from(matches!(bench.run(action), Outcome::Changed(_)));
            }
        }
        stop.store(true, Ordering::Relaxed);
        assert!(written > 0, "the tools never got through");
    });
    assert!(!other.join("new").exists());
    let kept = fs::read_to_string(other.join("victim")).expect("there");
    assert_eq!(kept, "precious\n");
}
