//! Running a command in the sandbox.

use super::Workbench;
use super::action::{
    OnTimeout, Outcome, Output, Shell, ShellKind, ShellOut, ShellStatus, ToolError,
};
use super::background::status;
use super::marker::Marker;
use super::output::{Capture, Stream};
use super::shell_choice;
use crate::cancel::Cancel;
use crate::sandbox::{End, Lift, Policy, Run, Running, SandboxError, hint};
use crate::words::tail;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ChildStdin;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// How long output is waited for after a command ended: something that it started may hold the
/// pipe open for ever.
const DRAIN: Duration = Duration::from_millis(200);
/// How long the end of a command is waited for after it was told to stop.
const STOP: Duration = Duration::from_millis(500);
/// The longest time between two looks at a command.
const LOOK: Duration = Duration::from_millis(20);
/// How many writes to a command may wait until it reads.
const WRITES: usize = 16;
/// How much of an output's end is looked at for signs of the sandbox, in bytes.
const HINT: usize = 4 << 10;

/// A command that was started.
pub(super) struct Process {
    pub command: String,
    pub dir: PathBuf,
    pub begun: Instant,
    /// Its number, once it runs in the background.
    pub job: Option<u32>,
    running: Running,
    stream: Stream,
    input: Option<SyncSender<Vec<u8>>>,
    lift: Lift,
}

/// The times at which something is looked at again: soon at first, then every [`LOOK`].
pub(super) struct Pace {
    until: Option<Instant>,
    pause: Duration,
}

impl Pace {
    /// Looks until then; `None`: without an end.
    pub fn new(until: Option<Instant>) -> Self {
        Pace {
            until,
            pause: Duration::from_millis(1),
        }
    }

    /// Waits for the next look; false when the time is over.
    pub fn rest(&mut self) -> bool {
        let left = self
            .until
            .map(|u| u.saturating_duration_since(Instant::now()));
        if left.is_some_and(|l| l.is_zero()) {
            return false;
        }
        std::thread::sleep(left.map_or(self.pause, |l| l.min(self.pause)));
        self.pause = (self.pause * 2).min(LOOK);
        true
    }
}

/// Why a wait ended.
pub(super) enum Waited {
    Ended(End),
    Limit,
    Cancelled,
}

impl Process {
    /// How it ended, if it did; then its output is complete, too.
    pub fn poll(&mut self) -> Result<Option<End>, ToolError> {
        let end = self.running.try_wait().map_err(|e| {
            ToolError::Other(format!("the end of the command could not be learnt: {e}"))
        })?;
        if end.is_some() {
            self.stream.drain(DRAIN);
        }
        Ok(end)
    }

    /// Waits for its end.
    pub fn wait(
        &mut self,
        until: Option<Instant>,
        cancel: &Cancel,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Waited, ToolError> {
        let mut pace = Pace::new(until);
        loop {
            let end = self.poll()?;
            self.show(progress);
            if let Some(end) = end {
                return Ok(Waited::Ended(end));
            }
            if cancel.is_cancelled() {
                return Ok(Waited::Cancelled);
            }
            if !pace.rest() {
                return Ok(Waited::Limit);
            }
        }
    }

    /// Shows a person what came since the last time.
    pub fn show(&self, progress: &mut dyn FnMut(&str)) {
        let live = self.stream.live();
        if !live.is_empty() {
            progress(&live);
        }
    }

    /// Ends it with everything that it started.
    pub fn stop(&mut self) -> End {
        self.running.stop();
        let until = Instant::now() + STOP;
        let end = loop {
            match self.running.try_wait() {
                Ok(Some(end)) => break end,
                Ok(None) if Instant::now() < until => std::thread::sleep(LOOK / 4),
                _ => break End::Signaled(9),
            }
        };
        self.stream.drain(DRAIN);
        end
    }

    /// Writes to its standard input without waiting for it to read. Control-C alone ends it,
    /// Control-D alone closes the input, as they would on a terminal.
    pub fn type_in(&mut self, id: u32, chars: &str) -> Result<(), ToolError> {
        match chars {
            "\u{3}" => self.running.stop(),
            "\u{4}" => self.input = None,
            _ => {
                let closed = || {
                    ToolError::Other(format!(
                        "command {id} takes no input: its standard input is closed"
                    ))
                };
                let input = self.input.as_ref().ok_or_else(closed)?;
                input
                    .try_send(chars.as_bytes().to_vec())
                    .map_err(|e| match e {
                        std::sync::mpsc::TrySendError::Full(_) => ToolError::Other(format!(
                            "command {id} does not read its input; nothing more was written"
                        )),
                        std::sync::mpsc::TrySendError::Disconnected(_) => closed(),
                    })?;
            }
        }
        Ok(())
    }

    /// Its process group.
    pub fn pid(&self) -> u32 {
        self.running.pid()
    }

    /// Its whole output goes to one file from now on, and all of it can be looked at again.
    pub fn keep_output(&self) {
        self.stream.keep();
    }

    /// The file that its output is kept in.
    pub fn file(&self) -> Option<PathBuf> {
        self.stream.file()
    }

    /// What it printed since the last time, and how it stands.
    pub fn out(&self, status: ShellStatus, wall: Duration) -> ShellOut {
        self.with(self.stream.take(), status, wall)
    }

    /// The same with everything that it printed, if that is kept.
    pub fn out_all(&self, status: ShellStatus, wall: Duration) -> ShellOut {
        self.with(self.stream.all(), status, wall)
    }

    fn with(&self, output: Output, status: ShellStatus, wall: Duration) -> ShellOut {
        ShellOut {
            command: self.command.clone(),
            dir: self.dir.clone(),
            job: self.job,
            output,
            status,
            wall,
            fence: None,
            back_in: None,
        }
    }

    /// The result of a command that is over, with a hint if the sandbox made it fail.
    pub fn hinted(&self, mut out: ShellOut, policy: &Policy) -> Outcome {
        if !out.succeeded() {
            let end = tail(&out.output.text, HINT);
            out.fence = hint(end, policy, &self.lift);
        }
        Outcome::Shell(out)
    }
}

impl Workbench {
    pub(super) fn shell(
        &mut self,
        shell: &Shell,
        lift: &Lift,
        room: usize,
        cancel: &Cancel,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Outcome, ToolError> {
        if shell.background || shell.on_timeout == OnTimeout::Background {
            self.jobs.check_room()?;
        }
        let mut process = match self.start(shell, lift, room) {
            Ok(process) => process,
            Err(NotStarted::Refused(reason)) => return Ok(Outcome::Refused { reason }),
            Err(NotStarted::Failed(error)) => return Err(error),
        };
        let waited = if shell.background {
            Waited::Limit
        } else {
            let until = shell.time_limit.and_then(|l| process.begun.checked_add(l));
            process.wait(until, cancel, progress)?
        };
        let stays = shell.background || shell.on_timeout == OnTimeout::Background;
        let status = match waited {
            Waited::Ended(end) => status(end)?,
            Waited::Cancelled => {
                process.stop();
                return Ok(Outcome::Interrupted);
            }
            Waited::Limit if stays => {
                process.keep_output();
                return Ok(Outcome::Shell(self.jobs.add(process)));
            }
            Waited::Limit => {
                process.stop();
                process.show(progress);
                ShellStatus::TimedOut
            }
        };
        let mut out = process.out(status, process.begun.elapsed());
        if let Some(folder) = process.stream.marked().map(PathBuf::from)
            && folder.is_absolute()
            && folder.is_dir()
        {
            self.cwd = folder;
            let roots = &self.setup.sandbox.policy().roots;
            if shell.cwd_inside && !roots.iter().any(|root| self.cwd.starts_with(root)) {
                self.cwd = self.setup.cwd.clone();
                out.back_in = Some(Box::new(self.cwd.clone()));
            }
        }
        if shell.may_read && status == ShellStatus::Exited(0) {
            self.note_shown(&shell.command, &process.dir);
        }
        Ok(process.hinted(out, self.setup.sandbox.policy()))
    }

    fn start(&mut self, shell: &Shell, lift: &Lift, room: usize) -> Result<Process, NotStarted> {
        let dir = self
            .folder(shell.dir.as_deref())
            .map_err(NotStarted::Failed)?;
        let (mut command, mut marker) = (shell.command.clone(), None);
        if shell.cwd_persists && self.is_posix_shell(&shell.shell) {
            let (new, word) = Marker::new();
            marker = Some(new);
            // A trap, because the command may end with `exit`; its exit code is kept.
            command = format!("trap 'printf \"\\036%s%s\\036\" {word} \"$(pwd)\"' EXIT\n{command}");
        }
        let (program, args) = shell_argv(&shell.shell, &self.setup.shell, &command);
        let mut env = self.setup.environment.clone();
        for (name, value) in &shell.env {
            env.retain(|(n, _)| n != name.as_str());
            env.push((name.into(), value.into()));
        }
        let run = Run {
            program,
            args,
            dir: dir.clone(),
            env,
            lift: lift.clone(),
            stdin: shell.stdin,
            split: false,
        };
        let begun = Instant::now();
        let mut running = self.setup.sandbox.spawn(&run).map_err(|e| match e {
            SandboxError::Unenforceable(_) => NotStarted::Refused(e.to_string()),
            e => NotStarted::Failed(ToolError::Other(e.to_string())),
        })?;
        let pipe = running.output().ok_or_else(|| {
            NotStarted::Failed(ToolError::Other("the command has no output to read".into()))
        })?;
        let capture = Capture::new(room, &self.setup.outputs, marker);
        Ok(Process {
            command: shell.command.clone(),
            dir,
            begun,
            job: None,
            stream: Stream::read(pipe, capture),
            input: running.stdin().map(write_to),
            running,
            lift: lift.clone(),
        })
    }

    fn is_posix_shell(&self, kind: &ShellKind) -> bool {
        let (program, _) = shell_argv(kind, &self.setup.shell, "");
        is_posix(Path::new(&program))
    }

    /// The folder that a command starts in.
    fn folder(&mut self, shown: Option<&str>) -> Result<PathBuf, ToolError> {
        let Some(shown) = shown else {
            if !self.cwd.is_dir() {
                // A command removed the folder that it ended in.
                self.cwd = self.setup.cwd.clone();
            }
            return Ok(self.cwd.clone());
        };
        let dir = self.existing(shown)?;
        if dir.is_dir() {
            Ok(dir)
        } else {
            Err(ToolError::NotFolder { path: shown.into() })
        }
    }
}

enum NotStarted {
    /// The policy cannot be held, so nothing ran.
    Refused(String),
    Failed(ToolError),
}

/// A thread that writes to a command, because one that does not read would hold up the turn.
fn write_to(mut stdin: ChildStdin) -> SyncSender<Vec<u8>> {
    let (sender, receiver) = sync_channel::<Vec<u8>>(WRITES);
    std::thread::spawn(move || {
        for bytes in receiver {
            if stdin
                .write_all(&bytes)
                .and_then(|()| stdin.flush())
                .is_err()
            {
                return;
            }
        }
    });
    sender
}

/// The shell program and its arguments for a command. `user` is the user's shell, which is taken
/// if it is there and a POSIX one: fish and nu do not understand what models write.
pub fn shell_argv(kind: &ShellKind, user: &Path, command: &str) -> (OsString, Vec<OsString>) {
    let (program, login) = match kind {
        ShellKind::Sh => (PathBuf::from("/bin/sh"), false),
        ShellKind::Named { program, login } => (PathBuf::from(program), *login),
        ShellKind::User { login } => {
            let usable = (cfg!(windows) || is_posix(user)) && user.exists();
            let program = if usable {
                user.to_path_buf()
            } else {
                default_shell()
            };
            (program, *login)
        }
    };
    let flags: &[&str] = match name(&program).as_str() {
        "cmd" => &["/d", "/s", "/c"],
        "powershell" | "pwsh" => &["-NoProfile", "-NonInteractive", "-Command"],
        _ if login => &["-lc"],
        _ => &["-c"],
    };
    let mut args: Vec<OsString> = flags.iter().map(OsString::from).collect();
    args.push(shell_choice::in_utf8(&name(&program), command).into());
    (program.into_os_string(), args)
}

fn name(program: &Path) -> String {
    let stem = program.file_stem().unwrap_or_default();
    stem.to_string_lossy().to_lowercase()
}

fn is_posix(program: &Path) -> bool {
    ["sh", "bash", "zsh", "dash", "ksh", "mksh", "ash"].contains(&name(program).as_str())
}

/// The shell when the user's own cannot be used.
fn default_shell() -> PathBuf {
    if cfg!(windows) {
        return shell_choice::on_windows(|name| std::env::var_os(name), |path| path.is_file());
    }
    [
        "/bin/bash",
        "/usr/bin/bash",
        "/usr/local/bin/bash",
        "/opt/homebrew/bin/bash",
        "/run/current-system/sw/bin/bash",
    ]
    .into_iter()
    .find(|p| Path::new(p).exists())
    .unwrap_or("/bin/sh")
    .into()
}
