//! A session in a terminal: what a person types, and the signals that reach it.
#![cfg(unix)]

mod support;

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use support::script::*;
use support::server::{Kind, Server};

/// The binary in a pseudo-terminal.
struct Terminal {
    keys: File,
    screen: Arc<Mutex<String>>,
    child: Child,
    home: tempfile::TempDir,
    _server: Server,
}

impl Terminal {
    fn start(steps: Vec<Step>, prompt: Option<&str>) -> Self {
        let home = tempfile::tempdir().expect("a folder");
        let server = Server::start(Kind::LlamaServer, 32_768, steps);
        let config = format!(
            "model = \"mock\"\nmodel_provider = \"mock\"\napproval_policy = \"untrusted\"\nharness = \"qwen-code\"\n\
             [model_providers.mock]\nbase_url = \"http://127.0.0.1:{}/v1\"\n",
            server.port()
        );
        std::fs::create_dir(home.path().join("home")).expect("a home");
        std::fs::create_dir(home.path().join("ws")).expect("a workspace");
        std::fs::write(home.path().join("home/config.toml"), config).expect("a config");
        let (mut ours, mut theirs) = (-1, -1);
        // SAFETY: both descriptors are written by the call; name, settings and size are not given.
        let made = unsafe {
            libc::openpty(
                &mut ours,
                &mut theirs,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            )
        };
        assert_eq!(made, 0, "a pseudo-terminal");
        // SAFETY: the call above succeeded, so both are open and nobody else's.
        let (ours, theirs) = unsafe { (File::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) };
        let end = || Stdio::from(theirs.try_clone().expect("a descriptor"));
        let child = Command::new(env!("CARGO_BIN_EXE_interpreter"))
            .args(prompt)
            .current_dir(home.path().join("ws"))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home.path())
            .env("INTERPRETER_HOME", home.path().join("home"))
            .env("TERM", "xterm")
            .env("NO_COLOR", "1")
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .expect("the binary starts");
        let screen = Arc::new(Mutex::new(String::new()));
        let (mut reader, seen) = (ours.try_clone().expect("a descriptor"), screen.clone());
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(n @ 1..) = reader.read(&mut bytes) {
                let text = String::from_utf8_lossy(&bytes[..n]).into_owned();
                seen.lock().expect("the screen").push_str(&text);
            }
        });
        Terminal {
            keys: ours,
            screen,
            child,
            home,
            _server: server,
        }
    }

    fn screen(&self) -> String {
        self.screen.lock().expect("the screen").clone()
    }

    fn wait_for(&self, text: &str) {
        let end = Instant::now() + Duration::from_secs(20);
        while !self.screen().contains(text) {
            assert!(
                Instant::now() < end,
                "`{text}` is not on:\n{}",
                self.screen()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn types(&mut self, text: &str) {
        self.keys.write_all(text.as_bytes()).expect("typed");
    }

    fn signal(&self, number: i32) {
        let id = i32::try_from(self.child.id()).expect("a process id");
        // SAFETY: takes no pointers; the child is ours and was not waited for.
        assert_eq!(unsafe { libc::kill(id, number) }, 0);
    }

    fn exit_code(&mut self) -> Option<i32> {
        let end = Instant::now() + Duration::from_secs(10);
        loop {
            if let Some(status) = self.child.try_wait().expect("the child can be waited for") {
                return status.code();
            }
            if Instant::now() > end {
                let _ = self.child.kill();
                panic!("it did not end; screen:\n{}", self.screen());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn has_file(&self) -> bool {
        self.home.path().join("ws/a.txt").exists()
    }
}

const QUESTION: &str = "what to do instead: ";

fn asks() -> Vec<Step> {
    script![
        write("a.txt", "x\n").after(Duration::from_millis(700)),
        say("all done")
    ]
}

#[test]
fn yes_is_an_answer() {
    let mut t = Terminal::start(asks(), Some("go"));
    t.wait_for(QUESTION);
    t.types("y\n");
    t.wait_for("all done");
    assert!(t.has_file());
    t.wait_for("› ");
    t.types("/exit\r");
    assert_eq!(t.exit_code(), Some(0));
}

#[test]
fn what_was_typed_before_a_question_does_not_answer_it() {
    let mut t = Terminal::start(asks(), Some("go"));
    t.wait_for("harness qwen-code");
    t.types("y\n");
    t.wait_for(QUESTION);
    std::thread::sleep(Duration::from_millis(300));
    assert!(!t.screen().contains("all done") && !t.has_file());
    t.types("n\n");
    t.wait_for("all done");
    assert!(!t.has_file());
}

#[test]
fn an_interrupt_at_a_question_stops_the_turn_and_the_session_goes_on() {
    let mut t = Terminal::start(asks(), Some("go"));
    t.wait_for(QUESTION);
    t.signal(libc::SIGINT);
    t.wait_for("interrupted");
    assert!(!t.has_file());
    t.wait_for("› ");
    t.types("again\r");
    t.wait_for("all done");
    t.types("/exit\r");
    assert_eq!(t.exit_code(), Some(0));
}

#[test]
fn a_request_to_end_is_heard_at_a_question_and_at_the_prompt() {
    for signal in [libc::SIGTERM, libc::SIGHUP] {
        let mut t = Terminal::start(asks(), Some("go"));
        t.wait_for(QUESTION);
        t.signal(signal);
        assert_eq!(t.exit_code(), Some(143));
        assert!(!t.has_file());
        let mut t = Terminal::start(asks(), None);
        t.wait_for("› ");
        t.signal(signal);
        assert_eq!(t.exit_code(), Some(143));
    }
}

/// A turn that changes two parts of a file.
fn changes() -> Vec<Step> {
    script![
        run("sed -i.bak -e s/1/one/ -e s/8/eight/ a.txt && rm a.txt.bak"),
        say("all done"),
        say("understood")
    ]
}

/// A terminal with `a.txt` of eight lines in it, after the turn of [`changes`].
fn changed() -> Terminal {
    let mut t = Terminal::start(changes(), None);
    let file = t.home.path().join("ws/a.txt");
    std::fs::write(file, "1\n2\n3\n4\n5\n6\n7\n8\n").expect("a file");
    t.wait_for("› ");
    t.types("go\r");
    t.wait_for(QUESTION);
    t.types("y\n");
    t.wait_for("all done");
    t
}

impl Terminal {
    fn text(&self) -> String {
        std::fs::read_to_string(self.home.path().join("ws/a.txt")).unwrap_or_default()
    }
}

#[test]
fn undo_redo_and_diff_by_keys() {
    let mut t = changed();
    t.wait_for("› ");
    t.types("/diff --turn\r");
    t.wait_for("8 +eight");
    assert!(t.screen().contains("a.txt  +2, -2"), "{}", t.screen());
    t.types("/undo\r");
    t.wait_for("restored a.txt");
    assert!(t.text().starts_with("1\n") && t.text().ends_with("8\n"));
    t.types("/undo\r");
    t.wait_for("nothing to take back");
    t.types("/redo\r");
    t.wait_for("put back turn 1");
    assert!(t.text().starts_with("one\n"));
    std::fs::write(t.home.path().join("ws/a.txt"), "mine\n").expect("a file");
    t.types("/undo\r");
    t.wait_for("1 +mine");
    assert_eq!(t.text(), "mine\n");
    t.types("/exit\r");
    assert_eq!(t.exit_code(), Some(0));
}

#[test]
fn a_part_is_dropped_and_the_model_is_told() {
    let mut t = changed();
    t.wait_for("› ");
    t.types("/diff --pick\r");
    t.wait_for("part 1 of 2");
    t.types("y\n");
    t.wait_for("part 2 of 2");
    t.types("n\n");
    t.wait_for("one part was taken back");
    assert!(t.text().starts_with("one\n") && t.text().ends_with("\n8\n"));
    t.types("go on\r");
    t.wait_for("understood");
    let requests = t._server.requests();
    let words = support::strict::all_text(&requests[requests.len() - 1].body);
    assert!(
        words.contains("took this back") && words.contains("+eight"),
        "{words}"
    );
    t.types("/exit\r");
    assert_eq!(t.exit_code(), Some(0));
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
