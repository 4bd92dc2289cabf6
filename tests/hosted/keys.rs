//! Keys: where they come from, where they are kept, and that nobody sees them.

use crate::program;
use std::fs;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

#[test]
fn a_key_is_kept_used_and_forgotten_and_never_shown() {
    let home = tempfile::tempdir().expect("a home");
    let at = |args: &[&str], input: Option<&str>| program(home.path(), args, &[], input);
    let (code, out, err) = at(
        &[
            "exec",
            "--provider",
            "groq",
            "-m",
            "x",
            "--skip-git-repo-check",
            "hi",
        ],
        None,
    );
    assert_eq!(code, 1, "{out}");
    for word in [
        "GROQ_API_KEY",
        "interpreter login groq",
        "https://console.groq.com/keys",
    ] {
        assert!(err.contains(word), "{word}: {err}");
    }
    let (code, out, err) = at(&["login", "groq", "--with-api-key"], Some("gsk-secret\n"));
    assert_eq!(code, 0, "{err}");
    assert!(!format!("{out}{err}").contains("gsk-secret"));
    let file = home.path().join("auth.json");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(&file).expect("the file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let (code, out, _) = at(&["login", "status"], None);
    assert!(
        code == 0
            && out.contains("groq")
            && out.contains("auth.json")
            && !out.contains("gsk-secret"),
        "{out}"
    );
    let (_, out, _) = program(
        home.path(),
        &["login", "status", "groq", "--json"],
        &[("GROQ_API_KEY", "other")],
        None,
    );
    assert!(out.contains("GROQ_API_KEY"), "{out}");
    assert_eq!(at(&["login", "status", "mistral"], None).0, 1);
    let (code, out, err) = at(&["logout", "groq"], None);
    assert!(code == 0 && out.contains("groq"), "{err}");
    assert!(
        !fs::read_to_string(&file)
            .expect("the file")
            .contains("gsk-secret")
    );
    for (args, input, word) in [
        (&["logout", "groq"][..], None, "no key of groq"),
        (
            &["login", "groq", "--with-api-key"],
            Some("  \n"),
            "no key was given",
        ),
        (
            &["login", "groq", "--with-api-key"],
            Some("two words"),
            "no key",
        ),
        (
            &["login", "ollama", "--with-api-key"],
            Some("k"),
            "local server",
        ),
        (&["login", "nobody", "--with-api-key"], Some("k"), "nobody"),
    ] {
        let (code, _, err) = at(args, input);
        assert!(code == 1 && err.contains(word), "{args:?}: {err}");
    }
    assert_eq!(at(&["login"], None).0, 2);
    assert_eq!(at(&["logout"], None).0, 2);
}

/// A key that is typed is not on the screen, and the terminal is as it was afterwards.
#[cfg(unix)]
#[test]
fn a_typed_key_is_not_shown() {
    use std::fs::File;
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
    let (mut ours, mut theirs) = (-1, -1);
    let none = std::ptr::null_mut();
    // SAFETY: both descriptors are written by the call; name, settings and size are not given.
    let made = unsafe { libc::openpty(&mut ours, &mut theirs, none, none.cast(), none.cast()) };
    assert_eq!(made, 0, "a pseudo-terminal");
    // SAFETY: the call above succeeded, so both are open and nobody else's.
    let (mut keys, theirs) = unsafe { (File::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) };
    let home = tempfile::tempdir().expect("a home");
    let end = || Stdio::from(theirs.try_clone().expect("a descriptor"));
    let mut child = Command::new(env!("CARGO_BIN_EXE_interpreter"))
        .args(["login", "groq"])
        .env_clear()
        .env("HOME", home.path())
        .env("INTERPRETER_HOME", home.path())
        .stdin(end())
        .stdout(end())
        .stderr(end())
        .spawn()
        .expect("the program");
    let mut screen = String::new();
    let mut buffer = [0; 4096];
    while !screen.contains("not shown") {
        let n = keys.read(&mut buffer).expect("the screen");
        screen.push_str(&String::from_utf8_lossy(&buffer[..n]));
    }
    assert!(screen.contains("https://console.groq.com/keys"), "{screen}");
    keys.write_all(b"gsk-typed\n").expect("typed");
    while !screen.contains("is kept in") {
        let n = keys.read(&mut buffer).expect("the screen");
        screen.push_str(&String::from_utf8_lossy(&buffer[..n]));
    }
    assert!(child.wait().expect("an end").success(), "{screen}");
    assert!(!screen.contains("gsk-typed"), "{screen}");
    let kept = fs::read_to_string(home.path().join("auth.json")).expect("the file");
    assert!(kept.contains("gsk-typed"));
    // SAFETY: `settings` has room for a termios, which a call that succeeds fills.
    let settings = unsafe {
        let mut settings = std::mem::MaybeUninit::<libc::termios>::uninit();
        assert_eq!(
            libc::tcgetattr(theirs.as_raw_fd(), settings.as_mut_ptr()),
            0
        );
        settings.assume_init()
    };
    assert_ne!(
        settings.c_lflag & libc::ECHO,
        0,
        "the terminal shows again what is typed"
    );
}
