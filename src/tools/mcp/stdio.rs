//! A server as a child process, spoken to on its standard streams.

use super::transport::{Inbox, McpError, Transport, Waiting};
use crate::jsonrpc::{Incoming, Peer, Pending, Settings};
use crate::sandbox::{Lift, Mode, Policy, Run, Running, Sandbox};
use crate::tools::program_file;
use serde_json::Value;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::Read;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How much of its standard error is kept for messages.
const KEPT: usize = 4 << 10;
/// How many lines of noise on its standard output are kept.
const NOISE: usize = 3;
/// How long a server has to leave after its input ended.
const LEAVE: Duration = Duration::from_secs(1);
/// How long we wait for the last words of a server that failed.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// What a server sees of our environment, unless it is given more.
#[cfg(not(windows))]
const VARIABLES: &[&str] = &[
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LC_ALL", "TMPDIR", "TZ",
];
#[cfg(windows)]
const VARIABLES: &[&str] = &[
    "APPDATA",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PATH",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "USERNAME",
    "USERPROFILE",
    "PROGRAMFILES",
];

/// What to start.
pub(super) struct Program {
    pub command: String,
    pub args: Vec<String>,
    pub dir: PathBuf,
    /// Added to the variables that every server sees.
    pub env: Vec<(String, OsString)>,
}

/// A running server.
pub(super) struct Stdio {
    peer: Peer,
    running: Mutex<Option<Running>>,
    said: Arc<Mutex<Said>>,
}

/// What a server wrote that is no message.
#[derive(Default)]
struct Said {
    stderr: VecDeque<u8>,
    ended: bool,
    noise: Vec<String>,
}

impl Stdio {
    /// Starts a server, outside of the fence of commands: the user chose it, as any other program.
    /// It ends with us, whatever ends us, and so does all that it starts.
    pub fn start(name: &str, program: &Program, inbox: Arc<Inbox>) -> Result<Self, McpError> {
        let command = &program.command;
        let failed = |why: String| McpError::Closed(format!("{command} cannot be started: {why}"));
        let mut env: Vec<(OsString, OsString)> = VARIABLES
            .iter()
            .filter_map(|name| Some(((*name).into(), std::env::var_os(name)?)))
            .collect();
        for (name, value) in &program.env {
            env.retain(|(known, _)| known != name.as_str());
            env.push((name.into(), value.clone()));
        }
        let path = env.iter().find(|(name, _)| name == "PATH").map(|(_, v)| v);
        let found = program_file(command, path.map(OsString::as_os_str), &program.dir)
            .ok_or_else(|| failed("there is no such program".into()))?;
        let run = Run {
            program: found.into(),
            args: program.args.iter().map(OsString::from).collect(),
            dir: program.dir.clone(),
            env,
            lift: Lift::Nothing,
            stdin: true,
            split: true,
        };
        let mut running = unfenced().spawn(&run).map_err(|e| failed(e.to_string()))?;
        let streams = (running.output(), running.stdin(), running.errors());
        let (Some(output), Some(input), Some(stderr)) = streams else {
            return Err(failed("it has no streams".into()));
        };
        let said = Arc::new(Mutex::new(Said::default()));
        let drain = said.clone();
        // A pipe that nobody empties would hold the server up.
        thread::Builder::new()
            .name(format!("mcp {name} stderr"))
            .spawn(move || drain_stderr(stderr, &drain))
            .map_err(|e| failed(e.to_string()))?;
        let noise = said.clone();
        let settings = Settings::client(&format!("mcp {name}"));
        let peer = Peer::start(output, input, settings, move |_, incoming| match incoming {
            Incoming::Call(mut call) => {
                let params = std::mem::take(&mut call.params);
                let method = call.method.clone();
                inbox.request(&method, params, Box::new(move |result| call.answer(result)));
            }
            Incoming::Notification { method, params } => inbox.notification(&method, &params),
            Incoming::Noise(text) => {
                let mut said = noise.lock().unwrap_or_else(PoisonError::into_inner);
                if said.noise.len() < NOISE {
                    said.noise.push(text);
                }
            }
            Incoming::Closed(_) => {}
        });
        Ok(Stdio {
            peer,
            running: Mutex::new(Some(running)),
            said,
        })
    }
}

impl Transport for Stdio {
    fn ask(
        &self,
        method: &str,
        params: Value,
        _: &[(String, String)],
    ) -> Result<Box<dyn Waiting>, McpError> {
        Ok(Box::new(self.peer.ask(method, params)?))
    }

    fn notify(&self, method: &str, params: Value, _: Duration) -> Result<(), McpError> {
        Ok(self.peer.notify(method, params)?)
    }

    fn trouble(&self) -> String {
        // What it wrote as it died comes on another pipe, a moment later.
        let start = Instant::now();
        while self.peer.is_closed() && start.elapsed() < LAST_WORDS {
            if self
                .said
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .ended
            {
                break;
            }
            thread::sleep(Duration::from_millis(5));
        }
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = said.stderr.iter().copied().collect();
        let mut text = String::from_utf8_lossy(&bytes).trim().to_owned();
        if text.is_empty() && !said.noise.is_empty() {
            text = format!("(on standard output) {}", said.noise.join(" / "));
        }
        text
    }

    fn is_closed(&self) -> bool {
        self.peer.is_closed()
    }

    fn close(&self) {
        self.peer.close("it was ended", Duration::from_millis(100));
        let running = self
            .running
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Some(mut running) = running else { return };
        let start = Instant::now();
        while start.elapsed() < LEAVE {
            if !matches!(running.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        running.stop();
    }
}

impl Drop for Stdio {
    fn drop(&mut self) {
        self.close();
    }
}

impl Waiting for Pending {
    fn id(&self) -> u64 {
        Pending::id(self)
    }

    fn poll(&mut self, limit: Duration) -> Option<Result<Value, McpError>> {
        Pending::poll(self, limit).map(|answer| answer.map_err(McpError::from))
    }
}

fn unfenced() -> Sandbox {
    Sandbox::new(Policy {
        mode: Mode::DangerFullAccess,
        roots: Vec::new(),
        network: true,
        slash_tmp: true,
        tmpdir: true,
        own_homes: Vec::new(),
        readable: Vec::new(),
    })
}

fn drain_stderr(mut pipe: impl Read, said: &Mutex<Said>) {
    let mut bytes = [0; 4096];
    loop {
        match pipe.read(&mut bytes) {
            Ok(n) if n > 0 => {
                let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
                said.stderr.extend(&bytes[..n]);
                let more = said.stderr.len().saturating_sub(KEPT);
                said.stderr.drain(..more);
            }
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            _ => break,
        }
    }
    said.lock().unwrap_or_else(PoisonError::into_inner).ended = true;
}
