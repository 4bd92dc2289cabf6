//! Running hooks: all of one moment at the same time, each with its own limit.

use super::Hook;
use crate::cancel::Cancel;
use crate::sandbox::{self, End, Lift, Run, Running};
use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

/// The most bytes that are kept of what a hook prints, on each of its outputs.
const MOST_OUTPUT: u64 = 1 << 20;
/// How often the stop flag is looked at.
const TICK: Duration = Duration::from_millis(10);

/// What a hook said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Its exit code.
    pub code: i32,
    /// Its standard output.
    pub out: String,
    /// Its standard error.
    pub err: String,
}

/// Runs these hooks with this text as their input, in this folder, each in a process of its own; the
/// answers are in their order. One that does not start, ends by a signal, or takes too long has an
/// error in its place, and so has each that `cancel` cut off. One that is asynchronous is not waited
/// for.
pub fn run(
    hooks: &[&Hook],
    input: &str,
    cwd: &Path,
    cancel: &Cancel,
) -> Vec<Option<Result<Answer, String>>> {
    let started: Vec<_> = hooks.iter().map(|hook| start(hook, input, cwd)).collect();
    let began = Instant::now();
    hooks
        .iter()
        .zip(started)
        .map(|(hook, started)| match started {
            Err(why) => Some(Err(why)),
            Ok(started) if hook.is_async => {
                let (limit, cancel) = (hook.timeout, cancel.clone());
                thread::spawn(move || started.wait(began, limit, &cancel));
                None
            }
            Ok(started) => Some(started.wait(began, hook.timeout, cancel)),
        })
        .collect()
}

/// A hook that runs.
struct Started {
    running: Running,
    out: Receiver<Vec<u8>>,
    err: Receiver<Vec<u8>>,
}

fn start(hook: &Hook, input: &str, cwd: &Path) -> Result<Started, String> {
    if let Some(file) = hook.changed_file() {
        return Err(format!(
            "it did not run, because {} was changed since the session began",
            file.display()
        ));
    }
    let (program, args): (&str, [&str; 2]) = match cfg!(windows) {
        true => ("cmd.exe", ["/C", &hook.command]),
        false => ("/bin/sh", ["-c", &hook.command]),
    };
    let run = Run {
        program: program.into(),
        args: args.map(OsString::from).to_vec(),
        dir: cwd.to_owned(),
        env: std::env::vars_os().collect(),
        lift: Lift::Everything,
        stdin: true,
        split: true,
    };
    let mut running = sandbox::spawn_open(&run).map_err(|e| e.to_string())?;
    if let Some(mut pipe) = running.stdin() {
        let input = input.as_bytes().to_vec();
        // A hook need not read it.
        thread::spawn(move || pipe.write_all(&input));
    }
    Ok(Started {
        out: reader(running.output()),
        err: reader(running.errors()),
        running,
    })
}

impl Started {
    fn wait(mut self, began: Instant, limit: Duration, cancel: &Cancel) -> Result<Answer, String> {
        let end = loop {
            match self.running.try_wait() {
                Ok(Some(end)) => break end,
                Err(e) => return Err(format!("it cannot be waited for: {e}")),
                Ok(None) if cancel.is_cancelled() => return Err("interrupted".into()),
                Ok(None) if began.elapsed() >= limit => {
                    return Err(format!("it took longer than {} s", limit.as_secs_f64()));
                }
                Ok(None) => thread::sleep(TICK),
            }
        };
        let text = |from: Receiver<Vec<u8>>| {
            let bytes = from
                .recv_timeout(Duration::from_secs(1))
                .unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        match end {
            End::Exited(code) => Ok(Answer {
                code,
                out: text(self.out),
                err: text(self.err),
            }),
            End::Signaled(signal) => Err(format!("it was ended by signal {signal}")),
            End::Fence(why) => Err(why),
        }
    }
}

/// Reads a pipe to its end; what is too much is thrown away, so that the writer does not wait.
fn reader(pipe: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (send, receive) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.by_ref().take(MOST_OUTPUT).read_to_end(&mut bytes);
            let _ = std::io::copy(&mut pipe, &mut std::io::sink());
        }
        let _ = send.send(bytes);
    });
    receive
}
