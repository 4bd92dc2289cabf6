//! The gate against paths that try to get out.

use super::*;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use tempfile::TempDir;

struct World {
    base: TempDir,
    policy: Policy,
}

impl World {
    /// A workspace `work` with a file, an own home `home`, and a neighbour whose name begins alike.
    fn new(mode: Mode) -> Self {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().canonicalize().unwrap();
        for folder in ["work/src", "work-twin", "home/outputs", "other"] {
            fs::create_dir_all(path.join(folder)).unwrap();
        }
        fs::write(path.join("work/src/a.txt"), "old").unwrap();
        fs::write(path.join("home/auth.json"), "key").unwrap();
        fs::write(path.join("home/outputs/1.txt"), "long").unwrap();
        let policy = Policy {
            mode,
            roots: vec![path.join("work")],
            network: false,
            slash_tmp: false,
            tmpdir: false,
            own_homes: vec![path.join("home")],
            readable: vec![path.join("home/outputs")],
        };
        Self { base, policy }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.base.path().canonicalize().unwrap().join(name)
    }

    fn gate(&self) -> Gate {
        Gate::new(&self.policy, &self.path("work"))
    }
}

#[test]
fn only_what_is_really_in_the_workspace_may_be_written() {
    let world = World::new(Mode::WorkspaceWrite);
    let (work, other) = (world.path("work"), world.path("other"));
    symlink(&other, work.join("out")).unwrap();
    symlink(work.join("src"), work.join("in")).unwrap();
    symlink(other.join("missing"), work.join("dangling")).unwrap();
    symlink(other.join("f"), other.join("f2")).unwrap();
    let gate = world.gate();
    let twin = world.path("work-twin/x").display().to_string();
    for path in [
        "../x",
        "src/../../x",
        "out/x",
        "out/deep/x",
        "dangling",
        "dangling/x",
        &twin,
        "/etc/passwd",
        "~/x",
        "../home/auth.json",
        ".git/config",
        ".GIT/hooks/pre-commit",
        "src/../.agents/x",
        ".codex",
        ".openinterpreter/config.toml",
        "a\0b",
        "",
        "/dev/null",
    ] {
        assert!(gate.writable(path, &Lift::Nothing).is_err(), "{path:?}");
    }
    for (path, real) in [
        ("src/a.txt", "src/a.txt"),
        ("in/new", "src/new"),
        ("a/b/c", "a/b/c"),
        ("sub/.git/x", "sub/.git/x"),
        (".gitignore", ".gitignore"),
    ] {
        let got = gate.writable(path, &Lift::Nothing).unwrap();
        assert_eq!(got, work.join(real));
    }
}

#[test]
fn a_lift_opens_one_thing() {
    let world = World::new(Mode::WorkspaceWrite);
    let gate = world.gate();
    let other = world.path("other");
    let folder = Lift::Folder(other.clone());
    let inside = other.join("x").display().to_string();
    assert!(gate.writable(&inside, &folder).is_ok());
    assert!(gate.writable(".git/x", &folder).is_err());
    assert!(gate.writable(".git/x", &Lift::Git).is_ok());
    assert!(gate.writable(".agents/x", &Lift::Git).is_err());
    assert!(gate.writable(&inside, &Lift::Git).is_err());
    let agents = world.path("work/.agents");
    fs::create_dir(&agents).unwrap();
    assert!(gate.writable(".agents/x", &Lift::Folder(agents)).is_ok());
    // Our own home stays shut for everything but full access.
    assert!(gate.writable("../home/x", &Lift::Everything).is_err());
    assert!(gate.writable(&inside, &Lift::Everything).is_ok());
}

#[test]
fn a_read_only_mode_refuses_and_full_access_does_not() {
    let gate = World::new(Mode::ReadOnly);
    let error = gate.gate().writable("x", &Lift::Nothing).unwrap_err();
    assert!(error.to_string().starts_with("x: it cannot be written"));
    let gate = World::new(Mode::DangerFullAccess);
    assert!(gate.gate().writable("../home/x", &Lift::Nothing).is_ok());
}

#[test]
fn reading_is_everywhere_but_for_secrets_and_things_that_are_no_files() {
    let world = World::new(Mode::ReadOnly);
    let fifo = world.path("work/fifo");
    let name = std::ffi::CString::new(fifo.to_str().unwrap()).unwrap();
    // SAFETY: the name outlives the call.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    symlink(world.path("home"), world.path("work/link")).unwrap();
    let gate = world.gate();
    for path in [
        "../home/auth.json",
        "link/auth.json",
        "../home",
        "fifo",
        "/dev/zero",
        "/proc/self/environ",
        "/proc/1/mem",
        "missing",
    ] {
        assert!(gate.readable(path).is_err(), "{path}");
    }
    for path in ["src/a.txt", "src", "../home/outputs/1.txt", "/etc/passwd"] {
        assert!(gate.readable(path).is_ok(), "{path}");
    }
}

#[test]
fn reads_are_bounded_and_follow_no_link_that_came_later() {
    let world = World::new(Mode::WorkspaceWrite);
    let gate = world.gate();
    let file = gate.readable("src/a.txt").unwrap();
    assert_eq!(gate.read(&file, 3).unwrap(), b"old");
    let error = gate.read(&file, 2).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    // A running command swaps the folder for a link to our home.
    let target = world.path("work/src/auth.json");
    fs::rename(world.path("work/src"), world.path("work/gone")).unwrap();
    symlink(world.path("home"), world.path("work/src")).unwrap();
    assert!(gate.read(&target, 99).is_err());
    assert!(gate.replace(&target, b"x").is_err());
    assert!(gate.remove(&target).is_err());
    assert_eq!(fs::read(world.path("home/auth.json")).unwrap(), b"key");
}

#[test]
fn a_replaced_file_keeps_its_mode_and_no_other_link_changes() {
    let world = World::new(Mode::WorkspaceWrite);
    let gate = world.gate();
    let (file, twin) = (world.path("work/src/a.txt"), world.path("other/twin"));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o751)).unwrap();
    fs::hard_link(&file, &twin).unwrap();
    gate.replace(&file, b"new").unwrap();
    assert_eq!(fs::read(&file).unwrap(), b"new");
    assert_eq!(fs::read(&twin).unwrap(), b"old");
    assert_eq!(
        file.metadata().unwrap().permissions().mode() & 0o7777,
        0o751
    );

    let deep = world.path("work/x/y/z");
    gate.replace(&deep, b"1").unwrap();
    assert_eq!(fs::read_dir(deep.parent().unwrap()).unwrap().count(), 1);
    gate.remove(&deep).unwrap();
    assert!(!deep.exists());

    assert!(gate.replace(&world.path("work/src"), b"1").is_err());
    let left = fs::read_dir(world.path("work")).unwrap().flatten();
    let names: Vec<_> = left.map(|e| e.file_name()).collect();
    assert!(
        names.iter().all(|n| !n.to_string_lossy().contains("tmp")),
        "{names:?}"
    );
}
