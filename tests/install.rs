//! `install.sh` from a local archive, in an empty home: install, upgrade, refuse, uninstall.
#![cfg(unix)]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use support::script::say;
use support::server::{Kind, Server};

/// An empty home, and an archive of the built program as a release has it.
struct Room {
    dir: tempfile::TempDir,
    archive: PathBuf,
}

impl Room {
    /// With a script that tells its version in the place of the program, which takes long to pack.
    fn new() -> Room {
        let version = env!("CARGO_PKG_VERSION");
        let program = format!("#!/bin/sh\necho interpreter {version}\n");
        Room::with(|file| fs::write(file, program).expect("the program"))
    }

    fn with(program: impl FnOnce(&Path)) -> Room {
        let dir = tempfile::tempdir().expect("a folder");
        let version = env!("CARGO_PKG_VERSION");
        // As in a release: one folder, named like the archive.
        let name = format!("interpreter-{version}-test");
        let inside = dir.path().join("release").join(&name);
        fs::create_dir_all(&inside).expect("a folder");
        program(&inside.join("interpreter"));
        let archive = dir.path().join("release").join(format!("{name}.tar.gz"));
        let mut tar = Command::new("tar");
        tar.arg("-C").arg(dir.path().join("release"));
        tar.arg("-czf").arg(&archive).arg(&name);
        assert!(tar.status().expect("tar").success());
        let room = Room { dir, archive };
        room.sum(&room.archive);
        fs::create_dir(room.home()).expect("a home");
        room
    }

    fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    fn bin(&self, name: &str) -> PathBuf {
        self.home().join(".local/bin").join(name)
    }

    /// Writes the checksum file beside a file.
    fn sum(&self, file: &Path) {
        use sha2::{Digest, Sha256};
        let digest: String = Sha256::digest(fs::read(file).expect("the file"))
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let name = file.file_name().and_then(|n| n.to_str()).expect("a name");
        fs::write(
            file.with_file_name(format!("{name}.sha256")),
            format!("{digest}  {name}\n"),
        )
        .expect("the checksum");
    }

    fn run(&self, args: &[&str]) -> Output {
        self.run_with(args, &[])
    }

    fn run_with(&self, args: &[&str], env: &[(&str, &str)]) -> Output {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("install.sh");
        Command::new("sh")
            .arg(script)
            .args(args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").expect("a PATH"))
            .env("HOME", self.home())
            .envs(env.iter().copied())
            .output()
            .expect("sh")
    }

    fn install(&self) -> Output {
        self.run(&["--from", self.archive.to_str().expect("a path")])
    }

    /// A task with the installed program, as its user would run it.
    fn works(&self) {
        let server = Server::start(Kind::LlamaServer, 32_768, vec![say("It is done.")]);
        let url = format!(
            "model_providers.llamacpp.base_url=http://127.0.0.1:{}/v1",
            server.port()
        );
        let done = Command::new(self.bin("i"))
            .args(["exec", "--skip-git-repo-check", "-m", "mock"])
            .args(["-c", "model_provider=llamacpp", "-c", &url, "do it"])
            .current_dir(self.dir.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").expect("a PATH"))
            .env("HOME", self.home())
            .stdin(Stdio::null())
            .output()
            .expect("the program");
        let said = text(&done, true);
        assert!(said.contains("It is done."), "{said}");
    }

    /// Every file below the home.
    fn left(&self) -> Vec<PathBuf> {
        fn walk(dir: &Path, found: &mut Vec<PathBuf>) {
            for entry in fs::read_dir(dir).expect("a folder").flatten() {
                match entry.file_type().expect("a type").is_dir() {
                    true => walk(&entry.path(), found),
                    false => found.push(entry.path()),
                }
            }
        }
        let mut found = Vec::new();
        walk(&self.home(), &mut found);
        found
    }
}

#[track_caller]
fn text(done: &Output, good: bool) -> String {
    let text = [&done.stdout[..], &done.stderr[..]]
        .map(String::from_utf8_lossy)
        .concat();
    assert_eq!(done.status.success(), good, "{text}");
    text
}

#[test]
fn it_installs_upgrades_and_leaves_nothing() {
    let built = env!("CARGO_BIN_EXE_interpreter");
    let room = Room::with(|file| {
        fs::copy(built, file).expect("the program");
    });
    let said = text(&room.install(), true);
    assert!(
        said.contains("(and i)") && said.contains("is not on your PATH"),
        "{said}"
    );
    for name in ["interpreter", "i"] {
        let told = Command::new(room.bin(name))
            .arg("--version")
            .output()
            .expect("the program");
        assert!(text(&told, true).contains(env!("CARGO_PKG_VERSION")));
    }
    room.works();
    let data = room.home().join(".openinterpreter");
    assert!(data.join("sessions").is_dir());
    let with_data = room.left().len();
    // Over an older program: the same call again.
    fs::write(room.bin("interpreter"), "old").expect("an older program");
    text(&room.install(), true);
    let told = Command::new(room.bin("interpreter"))
        .arg("--version")
        .output()
        .expect("the program");
    text(&told, true);
    assert_eq!(room.left().len(), with_data, "{:?}", room.left());

    let said = text(&room.run(&["--uninstall"]), true);
    assert!(said.contains("config and sessions stay"), "{said}");
    assert!(room.left().iter().all(|file| file.starts_with(&data)));
    assert_eq!(room.left().len(), with_data - 2, "{:?}", room.left());
    text(&room.run(&["--uninstall", "--purge"]), true);
    assert!(room.left().is_empty(), "{:?}", room.left());
}

#[test]
fn a_damaged_archive_installs_nothing() {
    let room = Room::new();
    let mut bytes = fs::read(&room.archive).expect("the archive");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&room.archive, bytes).expect("the archive");
    let said = text(&room.install(), false);
    assert!(
        said.contains("checksum") && said.contains("nothing was installed"),
        "{said}"
    );
    fs::remove_file(format!("{}.sha256", room.archive.display())).expect("the checksum");
    assert!(text(&room.install(), false).contains("cannot be checked"));
    assert!(room.left().is_empty(), "{:?}", room.left());
}

#[test]
fn another_program_called_i_stays() {
    let room = Room::new();
    fs::create_dir_all(room.bin("")).expect("a folder");
    fs::write(room.bin("i"), "mine").expect("a file");
    let said = text(&room.install(), true);
    assert!(said.contains("is another program"), "{said}");
    text(&room.run(&["--uninstall"]), true);
    assert_eq!(fs::read(room.bin("i")).expect("the file"), b"mine");
}

#[test]
fn another_version_than_the_asked_one_is_refused() {
    let room = Room::new();
    let archive = room.archive.to_str().expect("a path");
    let said = text(
        &room.run(&["--from", archive, "--version", "99.0.0"]),
        false,
    );
    assert!(said.contains("not version 99.0.0"), "{said}");
    assert!(room.left().is_empty());
}

/// Downloads the newest release and a named one, from a folder in the place of the server.
#[test]
fn it_downloads_what_fits_this_machine() {
    let room = Room::new();
    let version = env!("CARGO_PKG_VERSION");
    let machine = if cfg!(target_arch = "aarch64") {
        "aarch64"
    } else {
        "x86_64"
    };
    let system = if cfg!(target_os = "macos") {
        "apple-darwin"
    } else {
        "unknown-linux-musl"
    };
    let server = room.dir.path().join("server");
    let place = server.join(format!("download/v{version}"));
    fs::create_dir_all(&place).expect("a folder");
    fs::create_dir_all(server.join("latest/download")).expect("a folder");
    fs::write(
        server.join("latest/download/VERSION"),
        format!("{version}\n"),
    )
    .expect("a file");
    let archive = place.join(format!("interpreter-{version}-{machine}-{system}.tar.gz"));
    fs::copy(&room.archive, &archive).expect("the archive");
    room.sum(&archive);
    let from = format!("file://{}", server.display());
    let env = [("INTERPRETER_RELEASES", from.as_str())];
    text(&room.run_with(&[], &env), true);
    assert!(room.bin("interpreter").is_file());
    text(&room.run_with(&["--version", version], &env), true);
    let said = text(&room.run_with(&["--version", "9.9.9"], &env), false);
    assert!(said.contains("could not download"), "{said}");
    let plain = [("INTERPRETER_RELEASES", "http://example.invalid/releases")];
    assert!(text(&room.run_with(&[], &plain), false).contains("is not https"));
}
