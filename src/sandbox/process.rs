//! One running command, as its starter sees it.

use super::Lift;
use std::ffi::OsString;
use std::io::{self, PipeReader, PipeWriter, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How long a command tree has to go after it was asked to, before it is killed from outside.
const GRACE: Duration = Duration::from_secs(1);

/// What stands before the name of each variable on the way to the helper.
///
/// The helper starts outside the fence. A `LD_PRELOAD` or `LD_LIBRARY_PATH` that is meant for the
/// command, and may point into the workspace, must not load anything into it.
#[cfg(unix)]
const DISGUISE: &str = "COMMAND_";

/// Gives the variables their own names, as the command is to see them.
///
/// # Safety
/// No other thread may run.
#[cfg(unix)]
pub(super) unsafe fn restore_environment() {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let all: Vec<_> = std::env::vars_os().collect();
    for (disguised, _) in &all {
        // SAFETY: the caller says that no other thread can read the environment.
        unsafe { std::env::remove_var(disguised) };
    }
    for (disguised, value) in all {
        let name = disguised.as_bytes().strip_prefix(DISGUISE.as_bytes());
        if let Some(name) = name.filter(|n| !n.is_empty()) {
            // SAFETY: as above.
            unsafe { std::env::set_var(OsString::from_vec(name.to_vec()), value) };
        }
    }
}

/// What to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// The program; looked up in the `PATH` of `env` if it has no slash.
    pub program: OsString,
    /// Its arguments, without its own name.
    pub args: Vec<OsString>,
    /// The folder to run in.
    pub dir: PathBuf,
    /// The whole environment; nothing is inherited.
    pub env: Vec<(OsString, OsString)>,
    /// What an approval lifts for this command.
    pub lift: Lift,
    /// Keep a pipe to its standard input open, which [`Running::stdin`] hands out. Otherwise it
    /// reads an end of file.
    pub stdin: bool,
    /// Standard error has a pipe of its own, which [`Running::errors`] hands out.
    pub split: bool,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// With this exit code.
    Exited(i32),
    /// By this signal.
    Signaled(i32),
    /// The fence itself failed, and why: the command did not run.
    Fence(String),
}

/// A command that was started. Dropping it stops it, with everything that it started.
#[derive(Debug)]
pub struct Running {
    child: Child,
    output: Option<PipeReader>,
    errors: Option<PipeReader>,
    /// The helper's report; `None` where there is no helper.
    status: Option<PipeReader>,
    /// Held open as long as the command may live; the helper reads its end of file.
    alive: Option<PipeWriter>,
    /// Closing it ends the command and all that it started.
    #[cfg(windows)]
    job: Option<super::platform::Job>,
    end: Option<End>,
}

impl Running {
    /// Standard output and standard error on one pipe, in the order in which they were written.
    /// `Some` once.
    pub fn output(&mut self) -> Option<PipeReader> {
        self.output.take()
    }

    /// Standard error, if [`Run::split`] asked for it. `Some` once.
    pub fn errors(&mut self) -> Option<PipeReader> {
        self.errors.take()
    }

    /// The pipe to standard input, if [`Run::stdin`] asked for it. `Some` once; dropping it is an
    /// end of file.
    pub fn stdin(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// The process id of the helper, which leads a session of its own. The command is below it.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How the command ended, or `None` while it runs. Nothing that it started is left then.
    ///
    /// # Errors
    /// When the system cannot tell.
    pub fn try_wait(&mut self) -> io::Result<Option<End>> {
        if self.end.is_none()
            && let Some(status) = self.child.try_wait()?
        {
            let report = self.status.take().map(read_report);
            self.end = Some(match report {
                Some(text) => parse_report(&text).unwrap_or_else(|| unreported(status)),
                None => plain_end(status),
            });
            self.alive = None;
            #[cfg(windows)]
            drop(self.job.take());
        }
        Ok(self.end.clone())
    }

    /// Ends the command and everything that it started: asks the helper, and after a second kills.
    /// Returns when it is gone, at the latest after two seconds.
    pub fn stop(&mut self) {
        self.alive = None;
        if self.gone_within(Duration::ZERO) {
            return;
        }
        #[cfg(unix)]
        {
            // SAFETY: a plain system call; the child has not been waited for, so its id is still its own.
            unsafe { libc::kill(self.child.id() as libc::pid_t, libc::SIGTERM) };
            if self.gone_within(GRACE) {
                return;
            }
        }
        #[cfg(windows)]
        drop(self.job.take());
        super::platform::kill_tree(self.child.id());
        let _ = self.child.kill();
        self.gone_within(GRACE);
    }

    fn gone_within(&mut self, limit: Duration) -> bool {
        let start = Instant::now();
        loop {
            match self.try_wait() {
                Ok(Some(_)) | Err(_) => return true,
                Ok(None) if start.elapsed() >= limit => return false,
                Ok(None) => std::thread::sleep(Duration::from_millis(2)),
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A command with its streams and folder, and the readers of its output and of its errors.
fn with_streams(
    mut command: Command,
    run: &Run,
) -> io::Result<(Command, PipeReader, Option<PipeReader>)> {
    let (reader, writer) = io::pipe()?;
    let (errors, error_writer) = match run.split {
        true => io::pipe().map(|(r, w)| (Some(r), w))?,
        false => (None, writer.try_clone()?),
    };
    command
        .current_dir(&run.dir)
        .stdin(if run.stdin {
            Stdio::piped()
        } else {
            Stdio::null()
        })
        .stdout(writer)
        .stderr(error_writer);
    Ok((command, reader, errors))
}

fn start_failed(run: &Run, error: &io::Error) -> String {
    if run.dir.is_dir() {
        format!("the process could not be started: {error}")
    } else {
        format!("there is no folder {} to run it in", run.dir.display())
    }
}

/// Starts the helper `program` for a command. The error is a sentence.
#[cfg(unix)]
pub(super) fn start_helper(
    program: &std::path::Path,
    mut plan: super::plan::Plan,
    run: &Run,
) -> Result<Running, String> {
    use std::os::fd::AsRawFd;
    use std::os::unix::process::CommandExt;

    let pipes = || -> io::Result<_> { Ok((io::pipe()?, io::pipe()?)) };
    let ((status, report), (alive_reader, alive)) =
        pipes().map_err(|e| format!("no pipe could be made: {e}"))?;
    (plan.status, plan.alive) = (report.as_raw_fd(), alive_reader.as_raw_fd());
    let inherited = [plan.status, plan.alive];
    let plan = serde_json::to_string(&plan).map_err(|e| {
        format!("the policy has a path that is not UTF-8 ({e}); rename that folder")
    })?;

    let mut command = Command::new(program);
    command
        .arg0("interpreter")
        .arg(super::HELPER)
        .arg(plan)
        .arg(&run.program)
        .args(&run.args)
        .env_clear()
        .envs(run.env.iter().map(|(name, value)| {
            let mut disguised = OsString::from(DISGUISE);
            disguised.push(name);
            (disguised, value)
        }));
    let (mut command, output, errors) =
        with_streams(command, run).map_err(|e| format!("no pipe could be made: {e}"))?;
    let keep_open = move || {
        for fd in inherited {
            // SAFETY: `fcntl` is async-signal-safe; the descriptors are open in the forked child.
            if unsafe { libc::fcntl(fd, libc::F_SETFD, 0) } < 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    };
    // SAFETY: the closure calls nothing but `fcntl`, which is allowed between fork and exec.
    unsafe { command.pre_exec(keep_open) };
    // SAFETY: a plain system call on a descriptor that is owned here. Reading must never block.
    unsafe { libc::fcntl(status.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
    let child = command.spawn().map_err(|e| start_failed(run, &e))?;
    Ok(Running {
        child,
        output: Some(output),
        errors,
        status: Some(status),
        alive: Some(alive),
        end: None,
    })
}

/// Starts a command without a helper, in a job. The error is a sentence.
#[cfg(windows)]
pub(super) fn start_in_job(run: &Run) -> Result<Running, String> {
    use std::os::windows::process::CommandExt;

    let mut command = Command::new(&run.program);
    let is_cmd = std::path::Path::new(&run.program)
        .file_stem()
        .is_some_and(|stem| stem.eq_ignore_ascii_case("cmd"));
    let is_flag = |arg: &OsString| arg.as_encoded_bytes().starts_with(b"/");
    match run.args.split_last() {
        // It takes the rest of its command line as it stands, and knows no backslash before a quote.
        // Words that somebody divided already are none of its lines.
        Some((line, flags)) if is_cmd && flags.iter().all(is_flag) => {
            let mut quoted = OsString::from("\"");
            quoted.push(line);
            quoted.push("\"");
            command.args(flags).raw_arg(quoted);
        }
        _ => {
            command.args(&run.args);
        }
    }
    command
        .env_clear()
        .envs(run.env.iter().map(|(name, value)| (name, value)));
    let (mut command, output, errors) =
        with_streams(command, run).map_err(|e| format!("no pipe could be made: {e}"))?;
    let (child, job) =
        super::platform::Job::start(&mut command).map_err(|e| start_failed(run, &e))?;
    Ok(Running {
        child,
        output: Some(output),
        errors,
        status: None,
        alive: None,
        job: Some(job),
        end: None,
    })
}

/// What the helper says about an end, one line each; the first one counts.
#[cfg(unix)]
pub(super) mod report {
    /// The command exited with this code.
    pub fn exited(code: i32) -> String {
        format!("exited {code}\n")
    }

    /// A signal ended the command.
    pub fn signaled(signal: i32) -> String {
        format!("signaled {signal}\n")
    }

    /// The fence failed.
    pub fn fence(why: &str) -> String {
        format!("fence {}\n", why.replace('\n', " "))
    }
}

/// All that the helper said, at most 4 KiB. The helper is gone, so nothing more will come.
fn read_report(mut pipe: PipeReader) -> String {
    let mut bytes = [0; 4096];
    let mut len = 0;
    while let Some(room) = bytes.get_mut(len..).filter(|r| !r.is_empty()) {
        match pipe.read(room) {
            Ok(0) | Err(_) => break,
            Ok(n) => len += n,
        }
    }
    String::from_utf8_lossy(bytes.get(..len).unwrap_or_default()).into_owned()
}

fn parse_report(text: &str) -> Option<End> {
    let (kind, rest) = text.lines().next()?.split_once(' ')?;
    match kind {
        "exited" => rest.parse().ok().map(End::Exited),
        "signaled" => rest.parse().ok().map(End::Signaled),
        "fence" => Some(End::Fence(rest.to_owned())),
        _ => None,
    }
}

/// The end when the helper died before it could report.
fn unreported(status: ExitStatus) -> End {
    match plain_end(status) {
        End::Exited(code) => End::Fence(format!(
            "the sandbox helper left with code {code} and no report"
        )),
        other => other,
    }
}

fn plain_end(status: ExitStatus) -> End {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return End::Signaled(signal);
    }
    End::Exited(status.code().unwrap_or(-1))
}
