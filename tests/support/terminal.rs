//! The binary in a pseudo-terminal, and a person who types.

use super::script::Step;
use super::server::{Kind, Server};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The binary in a pseudo-terminal.
pub struct Terminal {
    keys: File,
    screen: Arc<Mutex<String>>,
    child: Child,
    pub home: tempfile::TempDir,
    pub server: Server,
}

impl Terminal {
    /// A session that asks before everything.
    pub fn start(steps: Vec<Step>, prompt: Option<&str>) -> Self {
        let server = Server::start(Kind::LlamaServer, 32_768, steps);
        Self::on(server, "approval_policy = \"untrusted\"\n", prompt)
    }

    /// A session with that server and these lines of config.
    pub fn on(server: Server, config: &str, prompt: Option<&str>) -> Self {
        let home = tempfile::tempdir().expect("a folder");
        let config = format!(
            "model = \"mock\"\nmodel_provider = \"mock\"\nharness = \"qwen-code\"\n{config}\
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
            server,
        }
    }

    pub fn screen(&self) -> String {
        self.screen.lock().expect("the screen").clone()
    }

    pub fn wait_for(&self, text: &str) {
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

    /// Waits for the prompt of the line editor.
    pub fn wait_for_prompt(&self) {
        self.wait_for("› ");
    }

    /// Types a line at the prompt, and gives what is shown until the next prompt.
    pub fn says(&mut self, line: &str) -> String {
        // Pasting is taken as such from the first key of a line to its end.
        const READS: (&str, &str) = ("\u{1b}[?2004h", "\u{1b}[?2004l");
        let from = self.screen().len();
        self.types(&format!("{line}\r"));
        let end = Instant::now() + Duration::from_secs(30);
        loop {
            let screen = self.screen();
            let shown = screen[from..].split_once(READS.1);
            if let Some((shown, _)) = shown.and_then(|(_, rest)| rest.split_once(READS.0)) {
                return shown.replace('\r', "");
            }
            assert!(Instant::now() < end, "`{line}` had no end:\n{screen}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn types(&mut self, text: &str) {
        self.keys.write_all(text.as_bytes()).expect("typed");
    }

    pub fn signal(&self, number: i32) {
        let id = i32::try_from(self.child.id()).expect("a process id");
        // SAFETY: takes no pointers; the child is ours and was not waited for.
        assert_eq!(unsafe { libc::kill(id, number) }, 0);
    }

    pub fn exit_code(&mut self) -> Option<i32> {
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

    pub fn has_file(&self) -> bool {
        self.home.path().join("ws/a.txt").exists()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
