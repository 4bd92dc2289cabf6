//! `interpreter sandbox -- CMD…`: any command inside the fence, to try it out and to test it.

use super::session::Setup;
use crate::agent::open;
use crate::cli::args::Options;
use crate::cli::render::phrases::strength_text;
use crate::cli::signals::Signals;
use crate::cli::{Failure, exit};
use crate::config::{Marks, environment};
use crate::sandbox::{End, Lift, Run, Sandbox, SandboxError};
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::thread;
use std::time::Duration;

/// Runs the command under the policy of config and flags; its exit code is ours.
///
/// # Errors
/// One sentence when it cannot be confined (exit code 4) or started.
pub fn run(command: &[OsString], options: &Options) -> Result<u8, Failure> {
    let Some((program, args)) = command.split_first() else {
        return Err(Failure {
            message: "name a command: interpreter sandbox -- ls".into(),
            code: exit::USAGE,
        });
    };
    let mut setup = Setup::load(options)?;
    setup.hold_offline(None)?;
    let signals = Signals::install(false).map_err(|e| format!("signals cannot be handled: {e}"))?;
    let policy = open::policy(&setup.config, &setup.home, &setup.cwd, None);
    let network = policy.network;
    let sandbox = Sandbox::new(policy);
    if options.debug {
        let _ = writeln!(
            io::stderr(),
            "{}",
            strength_text(sandbox.policy().mode, &sandbox.strength())
        );
    }
    let run = Run {
        program: program.clone(),
        args: args.to_vec(),
        dir: setup.cwd.clone(),
        env: environment(
            &setup.config.environment,
            std::env::vars_os(),
            Marks {
                network,
                ..Marks::default()
            },
        ),
        lift: Lift::Nothing,
        stdin: false,
        split: false,
    };
    let mut running = sandbox.spawn(&run).map_err(|e| match e {
        SandboxError::Unenforceable(_) => Failure {
            message: e.to_string(),
            code: exit::NO_SANDBOX,
        },
        other => Failure::from(other),
    })?;
    let output = running.output();
    let copier = thread::spawn(move || {
        let mut buffer = [0; 8192];
        let mut from = output?;
        loop {
            match from.read(&mut buffer) {
                Ok(n) if n > 0 => io::stdout().write_all(&buffer[..n]).ok()?,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                _ => return io::stdout().flush().ok(),
            }
        }
    });
    let end = loop {
        if let Some(end) = running
            .try_wait()
            .map_err(|e| format!("the command cannot be waited for: {e}"))?
        {
            break end;
        }
        if signals.cancel.is_cancelled() {
            running.stop();
            return Ok(if signals.is_terminated() {
                exit::TERMINATED
            } else {
                exit::INTERRUPTED
            });
        }
        thread::sleep(Duration::from_millis(2));
    };
    let _ = copier.join();
    match end {
        End::Exited(code) => Ok(u8::try_from(code).unwrap_or(exit::FAILED)),
        End::Signaled(signal) => Ok(128u8.saturating_add(u8::try_from(signal).unwrap_or(0))),
        End::Fence(why) => Err(Failure {
            message: why,
            code: exit::NO_SANDBOX,
        }),
    }
}
