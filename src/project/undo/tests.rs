//! Turns as a folder sees them: files before, files after, and the way back.

use super::manifest::State;
use super::objects::Content;
use super::*;
use crate::project::git::run_in;

/// A folder and a home.
struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new(files: &[(&str, &str)]) -> Self {
        let place = Place {
            dir: tempfile::tempdir().unwrap(),
        };
        fs::create_dir(place.root()).unwrap();
        files
            .iter()
            .for_each(|(path, text)| place.write(path, text));
        place
    }

    fn root(&self) -> PathBuf {
        self.dir.path().join("ws")
    }

    fn home(&self) -> Home {
        Home::at(self.dir.path().join("home"))
    }

    fn undo(&self) -> Undo {
        Undo::open(self.home().undo("s"), &self.root(), Vec::new())
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn remove(&self, path: &str) {
        fs::remove_file(self.root().join(path)).unwrap();
    }

    fn text(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root().join(path)).ok()
    }

    fn git(&self, args: &[&str]) -> bool {
        run_in(&self.root(), args).is_some()
    }
}

/// One turn that does this.
fn turn(undo: &mut Undo, title: &str, deed: impl FnOnce()) {
    undo.begin(title, &Cancel::new()).unwrap();
    deed();
    undo.end().unwrap();
}

fn names(moved: &Moved) -> Vec<(&str, bool)> {
    moved
        .files
        .iter()
        .map(|(p, gone)| (p.as_str(), *gone))
        .collect()
}

#[test]
fn a_turn_goes_away_and_comes_back() {
    let p = Place::new(&[
        ("a.txt", "one\n"),
        ("src/gone.txt", "gone\n"),
        ("same", "same\n"),
    ]);
    let mut undo = p.undo();
    turn(&mut undo, "do it", || {
        p.write("a.txt", "two\n");
        p.remove("src/gone.txt");
        fs::remove_dir(p.root().join("src")).unwrap();
        p.write("deep/er/new.txt", "new\n");
    });
    assert_eq!(undo.turns().len(), 1);
    let moved = undo.undo(None).unwrap();
    assert_eq!((moved.turn, moved.title.as_str()), (1, "do it"));
    assert_eq!(
        names(&moved),
        [
            ("a.txt", false),
            ("deep/er/new.txt", true),
            ("src/gone.txt", false)
        ]
    );
    assert_eq!(p.text("a.txt").as_deref(), Some("one\n"));
    assert_eq!(p.text("src/gone.txt").as_deref(), Some("gone\n"));
    assert!(!p.root().join("deep").exists());
    assert!(matches!(undo.undo(None), Err(UndoError::Nothing)));
    // Another process has the same to say.
    let mut other = p.undo();
    assert_eq!(other.redo().unwrap().files.len(), 3);
    assert_eq!(p.text("a.txt").as_deref(), Some("two\n"));
    assert_eq!(p.text("deep/er/new.txt").as_deref(), Some("new\n"));
    assert!(!p.root().join("src").exists());
    undo.refresh();
    assert_eq!(undo.news().len(), 2);
    undo.told().unwrap();
    assert!(p.undo().news().is_empty());
}

#[test]
fn what_the_user_changed_since_is_not_overwritten() {
    let p = Place::new(&[("a.txt", "one\n"), ("b.txt", "one\n")]);
    let mut undo = p.undo();
    turn(&mut undo, "", || {
        p.write("a.txt", "two\n");
        p.write("b.txt", "two\n");
        p.write("c.txt", "two\n");
    });
    p.write("a.txt", "mine\n");
    p.remove("c.txt");
    let Err(UndoError::Changed(files)) = undo.undo(None) else {
        panic!("it was overwritten");
    };
    // What is gone is where it was before, so it is no conflict.
    assert_eq!(files.len(), 1);
    assert_eq!(files[0].path, "a.txt");
    assert_eq!(
        (files[0].before.text(), files[0].after.text()),
        (Some("two\n"), Some("mine\n"))
    );
    assert_eq!(
        p.text("b.txt").as_deref(),
        Some("two\n"),
        "nothing was put back"
    );
    let one = undo.path_of(&p.root().join("sub"), "../b.txt");
    assert_eq!(names(&undo.undo(Some(&one)).unwrap()), [("b.txt", false)]);
    assert_eq!(p.text("b.txt").as_deref(), Some("one\n"));
    assert_eq!(p.text("a.txt").as_deref(), Some("mine\n"));
    p.write("a.txt", "two\n");
    assert_eq!(undo.undo(None).unwrap().files.len(), 2);
    assert_eq!(p.text("a.txt").as_deref(), Some("one\n"));
}

#[test]
fn turns_go_away_one_after_the_other() {
    let p = Place::new(&[("a.txt", "0\n")]);
    let mut undo = p.undo();
    for n in 1..=3 {
        turn(&mut undo, &format!("turn {n}"), || {
            p.write("a.txt", &format!("{n}\n"))
        });
    }
    turn(&mut undo, "looks only", || {});
    assert_eq!(undo.turns().len(), 3);
    assert_eq!(undo.undo(None).unwrap().turn, 3);
    assert_eq!(undo.undo(None).unwrap().turn, 2);
    assert_eq!(p.text("a.txt").as_deref(), Some("1\n"));
    assert_eq!(undo.redo().unwrap().turn, 2);
    // A new change ends what could be redone.
    turn(&mut undo, "turn 5", || p.write("a.txt", "5\n"));
    assert!(matches!(undo.redo(), Err(UndoError::Nothing)));
    assert_eq!(undo.undo(None).unwrap().turn, 5);
    assert_eq!(p.text("a.txt").as_deref(), Some("2\n"));
}

#[test]
fn ignored_files_are_covered_where_our_own_tools_change_them() {
    let p = Place::new(&[
        (".gitignore", "*.log\nbuild/\n"),
        ("a.log", "old\n"),
        ("build/x", "x\n"),
    ]);
    let elsewhere = p.dir.path().join("elsewhere.txt");
    let mut undo = p.undo();
    undo.begin("", &Cancel::new()).unwrap();
    undo.keep(&[
        p.root().join("a.log"),
        p.root().join("new.log"),
        elsewhere.clone(),
    ])
    .unwrap();
    p.write("a.log", "new\n");
    p.write("new.log", "new\n");
    p.write("unseen.log", "new\n");
    fs::write(&elsewhere, "x").unwrap();
    // What was ignored and is not any more was there before, and is not taken for new.
    p.write(".gitignore", "*.log\n");
    undo.end().unwrap();
    let moved = undo.undo(None).unwrap();
    let moved: Vec<&str> = moved.files.iter().map(|f| f.0.as_str()).collect();
    let outside = fs::canonicalize(p.dir.path())
        .unwrap()
        .join("elsewhere.txt");
    assert_eq!(
        moved,
        [".gitignore", outside.to_str().unwrap(), "a.log", "new.log"]
    );
    assert_eq!(p.text("a.log").as_deref(), Some("old\n"));
    assert_eq!((p.text("new.log"), elsewhere.exists()), (None, false));
    assert!(p.text("unseen.log").is_some() && p.text("build/x").is_some());
}

#[test]
fn a_file_that_becomes_ignored_is_not_deleted() {
    let p = Place::new(&[("a.txt", "a\n"), ("b.txt", "b\n")]);
    let mut undo = p.undo();
    turn(&mut undo, "", || {
        p.write(".gitignore", "a.txt\n");
        p.write("a.txt", "changed\n");
    });
    let paths: Vec<&str> = undo.turns()[0]
        .changes
        .iter()
        .map(|c| c.path.as_str())
        .collect();
    assert_eq!(paths, [".gitignore", "a.txt"]);
    undo.undo(None).unwrap();
    assert_eq!(p.text("a.txt").as_deref(), Some("a\n"));
}

#[test]
fn what_is_too_large_is_said_and_left() {
    let p = Place::new(&[("small", "x")]);
    let large = "x".repeat(usize::try_from(scan::MOST_FILE).unwrap() + 1);
    p.write("large.bin", &large);
    let mut undo = p.undo();
    let told = undo.begin("", &Cancel::new()).unwrap();
    assert_eq!(told, ["1 file above 1 MiB (large.bin)"]);
    p.write("large.bin", "short now");
    p.write("other.bin", &large);
    p.write("small", "y");
    undo.end().unwrap();
    let moved = undo.undo(None).unwrap();
    assert_eq!(names(&moved), [("other.bin", true), ("small", false)]);
    assert_eq!(moved.left, [("large.bin".to_owned(), "above 1 MiB")]);
    assert_eq!(p.text("large.bin").as_deref(), Some("short now"));
}

#[test]
fn a_turn_that_was_cut_off_is_undone_file_by_file() {
    let p = Place::new(&[("a.txt", "one\n"), ("b.txt", "one\n")]);
    let mut undo = p.undo();
    undo.begin("cut", &Cancel::new()).unwrap();
    p.write("a.txt", "two\n");
    drop(undo);
    p.write("b.txt", "mine\n");
    let mut undo = p.undo();
    let Err(UndoError::Torn(paths)) = undo.undo(None) else {
        panic!("it was undone");
    };
    assert_eq!(paths, ["a.txt", "b.txt"]);
    undo.undo(Some("a.txt")).unwrap();
    assert_eq!(p.text("a.txt").as_deref(), Some("one\n"));
    assert_eq!(p.text("b.txt").as_deref(), Some("mine\n"));
}

#[test]
fn a_turn_under_way_keeps_others_out() {
    let p = Place::new(&[("a.txt", "one\n")]);
    let mut undo = p.undo();
    turn(&mut undo, "", || p.write("a.txt", "two\n"));
    undo.begin("", &Cancel::new()).unwrap();
    let error = p.undo().undo(None).unwrap_err();
    assert!(error.to_string().contains("under way"), "{error}");
}

#[test]
fn parts_of_a_change_are_dropped_and_the_rest_can_still_be_undone() {
    let p = Place::new(&[("a.txt", "1\n2\n3\n4\n5\n6\n7\n8\n")]);
    let mut undo = p.undo();
    turn(&mut undo, "", || {
        p.write("a.txt", "one\n2\n3\n4\n5\n6\n7\neight\n")
    });
    let (number, files) = undo.last_turn().unwrap();
    let (before, after) = (
        files[0].before.text().unwrap(),
        files[0].after.text().unwrap(),
    );
    let rest = hunks::Hunks::of(before, after).without(&[0]);
    undo.drop_part(number, "a.txt", Some(rest.as_bytes()), "-1\n+one\n".into())
        .unwrap();
    assert_eq!(
        p.text("a.txt").as_deref(),
        Some("1\n2\n3\n4\n5\n6\n7\neight\n")
    );
    assert_eq!(
        undo.news(),
        [News::Dropped("a.txt".into(), "-1\n+one\n".into())]
    );
    undo.undo(None).unwrap();
    assert_eq!(p.text("a.txt").as_deref(), Some("1\n2\n3\n4\n5\n6\n7\n8\n"));
}

#[test]
fn git_keeps_what_it_has_and_its_index_is_not_touched() {
    let p = Place::new(&[
        ("a.txt", "one\n"),
        ("crlf.txt", "a\r\n"),
        ("b/c.txt", "c\n"),
        (".gitignore", "f\n"),
    ]);
    // A machine without git has nothing to leave to it.
    if !p.git(&["init", "-q"]) {
        return;
    }
    p.write("f", "forced\n");
    p.git(&["config", "core.autocrlf", "input"]);
    p.git(&["add", "-f", "."]);
    p.git(&["commit", "-qm", "x"]);
    let old = SystemTime::now() - Duration::from_secs(60);
    for name in ["a.txt", "crlf.txt", "b/c.txt", "f", ".gitignore"] {
        let file = fs::File::options()
            .write(true)
            .open(p.root().join(name))
            .unwrap();
        file.set_modified(old).unwrap();
    }
    p.git(&["update-index", "--refresh", "-q"]);
    let index = fs::read(p.root().join(".git/index")).unwrap();
    let mut undo = p.undo();
    undo.begin("", &Cancel::new()).unwrap();
    let manifest = undo.manifest.as_ref().unwrap();
    let in_git = |path: &str| {
        matches!(
            manifest.state(path),
            Some(State::File {
                content: Content::Git(_),
                ..
            })
        )
    };
    assert!(in_git("a.txt") && in_git("b/c.txt") && in_git("f"));
    assert!(!in_git("crlf.txt"), "what git keeps has other line ends");
    p.write("a.txt", "two\n");
    p.write("f", "changed\n");
    p.write("crlf.txt", "b\r\n");
    // Only touched: no change.
    p.write("b/c.txt", "c\n");
    undo.end().unwrap();
    let paths: Vec<&str> = undo.turns()[0]
        .changes
        .iter()
        .map(|c| c.path.as_str())
        .collect();
    assert_eq!(paths, ["a.txt", "crlf.txt", "f"]);
    undo.undo(None).unwrap();
    assert_eq!(p.text("a.txt").as_deref(), Some("one\n"));
    assert_eq!(p.text("crlf.txt").as_deref(), Some("a\r\n"));
    assert_eq!(fs::read(p.root().join(".git/index")).unwrap(), index);
}

#[cfg(unix)]
#[test]
fn modes_and_links_come_back_and_a_link_leads_nowhere_else() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let p = Place::new(&[("run.sh", "#!\n"), ("d/x", "x\n")]);
    let path = p.root().join("run.sh");
    let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    symlink("run.sh", p.root().join("link")).unwrap();
    let outside = p.dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    let mut undo = p.undo();
    turn(&mut undo, "", || {
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        p.remove("link");
        p.write("link", "a file now\n");
    });
    undo.undo(None).unwrap();
    assert_eq!(mode(), 0o755);
    assert_eq!(
        fs::read_link(p.root().join("link")).unwrap(),
        Path::new("run.sh")
    );
    turn(&mut undo, "", || {
        p.remove("d/x");
        fs::remove_dir(p.root().join("d")).unwrap();
    });
    symlink(&outside, p.root().join("d")).unwrap();
    assert!(undo.undo(None).is_err());
    assert!(!outside.join("x").exists());
    // What is kept is for the user alone.
    let dir = p.home().undo("s");
    for entry in [
        dir.clone(),
        dir.join(JOURNAL),
        dir.join(OBJECTS),
        dir.join(MANIFEST),
    ] {
        let mode = fs::metadata(&entry).unwrap().permissions().mode() & 0o077;
        assert_eq!(mode, 0, "{}", entry.display());
    }
}

#[test]
fn old_sessions_are_removed() {
    let p = Place::new(&[("a", "1")]);
    let old = Undo::open(p.home().undo("old"), &p.root(), Vec::new());
    let mut old = old;
    turn(&mut old, "", || p.write("a", "2"));
    drop(old);
    let journal = p.home().undo("old").join(JOURNAL);
    let file = fs::File::options().write(true).open(&journal).unwrap();
    file.set_modified(SystemTime::now() - AGE - Duration::from_secs(60))
        .unwrap();
    drop(file);
    assert_eq!(Undo::of_folder(&p.home(), &p.root()).len(), 1);
    let mut undo = p.undo();
    turn(&mut undo, "", || p.write("a", "3"));
    let left = Undo::of_folder(&p.home(), &p.root());
    assert_eq!(left.iter().map(Undo::session).collect::<Vec<_>>(), ["s"]);
}

/// `cargo test --lib undo::tests::what_it_costs -- --ignored --nocapture`
#[test]
#[ignore = "a measurement"]
fn what_it_costs() {
    for tracked in [false, true] {
        let p = Place::new(&[]);
        for n in 0..20_000 {
            p.write(
                &format!("d{}/f{n}.txt", n / 100),
                &format!("{n}\n").repeat(600),
            );
        }
        if tracked {
            p.git(&["init", "-q"]);
            p.git(&["add", "."]);
            p.git(&["commit", "-qm", "x"]);
            std::thread::sleep(Duration::from_secs(2));
            p.git(&["update-index", "--refresh", "-q"]);
        } else {
            std::thread::sleep(Duration::from_secs(3));
        }
        let mut undo = p.undo();
        for n in 0..3 {
            let began = Instant::now();
            undo.begin("", &Cancel::new()).unwrap();
            let begun = began.elapsed();
            p.write("d0/f0.txt", &format!("{n} changed"));
            let ended = Instant::now();
            undo.end().unwrap();
            let bytes = undo.objects.bytes() >> 20;
            println!(
                "git {tracked}: begin {begun:?}, end {:?}, {bytes} MiB",
                ended.elapsed()
            );
        }
    }
}

#[test]
fn a_look_that_was_stopped_says_nothing_of_the_folder() {
    let place = Place::new(&[("a.txt", "a")]);
    let stopped = Cancel::new();
    stopped.cancel();
    let told = place.undo().begin("", &stopped).unwrap();
    assert_eq!(told, Vec::<String>::new());
}
