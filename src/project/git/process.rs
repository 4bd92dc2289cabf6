//! One call of git, bounded in time and bytes, and led astray by no variable of the environment.

use crate::cancel::Cancel;
use std::ffi::OsString;
use std::fmt;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// How long one call may take.
const TIME: Duration = Duration::from_secs(60);
/// How often the stop flag is looked at.
const TICK: Duration = Duration::from_millis(20);

/// Why a change cannot be told: one sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitError {
    /// Git is not there, or did not start.
    NoGit(String),
    /// What git said.
    Said(String),
    /// It took too long, or said too much.
    Limit(String),
    /// The user stopped it.
    Interrupted,
}

impl fmt::Display for GitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GitError::NoGit(why) => write!(
                f,
                "git cannot be run ({why}); install it, or say in words what to look at"
            ),
            GitError::Said(why) => write!(f, "git says: {why}"),
            GitError::Limit(why) => write!(f, "{why}; name a smaller change"),
            GitError::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for GitError {}

/// What git is to do.
pub(super) struct Call<'a> {
    /// Where it runs.
    pub folder: &'a Path,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Settings that go before those of the repository.
    pub settings: &'a [(String, String)],
    /// What it reads.
    pub input: Vec<u8>,
    /// The most bytes that it may print.
    pub most: u64,
}

impl Call<'_> {
    /// What it prints.
    ///
    /// # Errors
    /// One sentence: git is not there, failed, took too long, said too much, or was stopped.
    pub fn output(self, cancel: &Cancel) -> Result<Vec<u8>, GitError> {
        let mut command = Command::new("git");
        command
            .args(&self.args)
            .current_dir(self.folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // What the environment says may lead elsewhere, or start something.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("GIT_") {
                command.env_remove(name);
            }
        }
        command
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_PAGER", "cat")
            .env("LC_ALL", "C")
            .env("GIT_CONFIG_COUNT", self.settings.len().to_string());
        for (at, (key, value)) in self.settings.iter().enumerate() {
            command
                .env(format!("GIT_CONFIG_KEY_{at}"), key)
                .env(format!("GIT_CONFIG_VALUE_{at}"), value);
        }
        let mut child = command
            .spawn()
            .map_err(|e| GitError::NoGit(e.to_string()))?;
        // All pipes are served at once, since any may fill.
        if let Some(mut pipe) = child.stdin.take() {
            let input = self.input;
            thread::spawn(move || pipe.write_all(&input));
        }
        let out = reader(child.stdout.take(), self.most);
        let err = reader(child.stderr.take(), self.most);
        let began = Instant::now();
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if !cancel.is_cancelled() && began.elapsed() < TIME => {
                    thread::sleep(TICK);
                }
                other => {
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(match other {
                        Err(e) => GitError::NoGit(e.to_string()),
                        Ok(_) if cancel.is_cancelled() => GitError::Interrupted,
                        Ok(_) => {
                            GitError::Limit(format!("git took longer than {} s", TIME.as_secs()))
                        }
                    });
                }
            }
        };
        let read = |read: mpsc::Receiver<Vec<u8>>| read.recv_timeout(TIME).unwrap_or_default();
        let bytes = read(out);
        if !status.success() {
            let said = String::from_utf8_lossy(&read(err)).into_owned();
            let line = said.lines().find(|l| !l.trim().is_empty());
            let line = line.unwrap_or("it failed without a word");
            return Err(GitError::Said(line.trim_start_matches("fatal: ").into()));
        }
        if bytes.len() as u64 > self.most {
            return Err(GitError::Limit(format!(
                "the change has more than {} MiB",
                self.most >> 20
            )));
        }
        Ok(bytes)
    }
}

/// Reads a pipe to its end, a little more than is allowed at most; the rest is thrown away, so that
/// the writer does not wait.
fn reader(pipe: Option<impl Read + Send + 'static>, most: u64) -> mpsc::Receiver<Vec<u8>> {
    let (send, receive) = mpsc::channel();
    if let Some(mut pipe) = pipe {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = pipe.by_ref().take(most + 1).read_to_end(&mut bytes);
            let _ = std::io::copy(&mut pipe, &mut std::io::sink());
            let _ = send.send(bytes);
        });
    }
    receive
}
