//! Commands that go on while the model does other things.

use super::Workbench;
use super::action::{JobOut, Outcome, ShellStatus, ToolError};
use super::shell::{Process, Waited};
use crate::cancel::Cancel;
use crate::sandbox::End;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The most commands that run, or ended and were not asked for, at the same time.
const JOBS: usize = 64;

/// A command that runs in the background.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// The number to ask for it.
    pub id: u32,
    /// Its command line.
    pub command: String,
    /// Where it was started.
    pub dir: PathBuf,
    /// Its process group.
    pub pid: u32,
    /// How long it has been running.
    pub age: Duration,
}

/// The end of a command in the background.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobEnd {
    /// Its number; its last output can still be asked for under it.
    pub id: u32,
    /// Its command line.
    pub command: String,
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// Where its whole output is, if it is kept in a file.
    pub file: Option<PathBuf>,
}

/// The commands in the background by number.
#[derive(Default)]
pub(super) struct Jobs {
    table: BTreeMap<u32, Entry>,
    last: u32,
}

struct Entry {
    process: Process,
    /// How it ended, once that was told.
    end: Option<End>,
}

impl Jobs {
    /// An error when there is no place for another one.
    pub fn check_room(&mut self) -> Result<(), ToolError> {
        if self.table.len() >= JOBS {
            let ended = self.table.iter().find(|(_, e)| e.end.is_some());
            let Some(id) = ended.map(|(id, _)| *id) else {
                return Err(ToolError::Other(format!(
                    "{JOBS} commands are running already, which is the most there can be; stop one of them first"
                )));
            };
            self.table.remove(&id);
        }
        Ok(())
    }

    /// Takes a running command and gives it a number.
    pub fn add(&mut self, process: Process) -> u32 {
        self.last += 1;
        let entry = Entry { process, end: None };
        self.table.insert(self.last, entry);
        self.last
    }

    fn take(&mut self, id: u32) -> Result<Entry, ToolError> {
        let entry = self.table.remove(&id);
        entry.ok_or_else(|| ToolError::NoSuchCommand {
            id,
            running: self.table.keys().copied().collect(),
        })
    }
}

impl Workbench {
    pub(super) fn shell_input(
        &mut self,
        id: u32,
        chars: &str,
        wait: Duration,
        cancel: &Cancel,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Outcome, ToolError> {
        let begun = Instant::now();
        let Entry { mut process, end } = self.jobs.take(id)?;
        if let Some(end) = end {
            return Ok(self.shell_outcome(&process, status(end)?, begun.elapsed()));
        }
        let typed = match chars {
            "" => Ok(()),
            chars => process.type_in(id, chars),
        };
        let waited = match typed {
            Ok(()) => process.wait(begun.checked_add(wait), cancel, progress),
            Err(error) => Err(error),
        };
        let outcome = match waited {
            Ok(Waited::Ended(end)) => {
                return Ok(self.shell_outcome(&process, status(end)?, begun.elapsed()));
            }
            Ok(Waited::Limit) => {
                let pid = process.pid();
                let status = ShellStatus::Running { id, pid };
                Ok(Outcome::Shell(process.out(status, begun.elapsed())))
            }
            // The command goes on: only the wait for it was given up.
            Ok(Waited::Cancelled) => Ok(Outcome::Interrupted),
            Err(error) => Err(error),
        };
        self.jobs.table.insert(id, Entry { process, end: None });
        outcome
    }

    /// The output of a background command, waited for until it ends.
    pub(super) fn shell_wait(
        &mut self,
        id: Option<u32>,
        wait: Duration,
        _all: bool,
        cancel: &Cancel,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Outcome, ToolError> {
        let first = || self.jobs.table.keys().next().copied();
        let Some(id) = id.or_else(first) else {
            return Ok(Outcome::Jobs(Vec::new()));
        };
        self.shell_input(id, "", wait, cancel, progress)
    }

    /// The commands that run, and those that ended and were not asked for yet.
    pub(super) fn list_jobs(&self) -> Vec<JobOut> {
        let rows = self.jobs.table.iter();
        rows.map(|(id, entry)| JobOut {
            id: *id,
            command: entry.process.command.clone(),
            status: match &entry.end {
                Some(End::Exited(code)) => ShellStatus::Exited(*code),
                Some(End::Signaled(signal)) => ShellStatus::Signaled(*signal),
                Some(End::Fence(_)) => ShellStatus::Exited(1),
                None => ShellStatus::Running {
                    id: *id,
                    pid: entry.process.pid(),
                },
            },
            age: entry.process.begun.elapsed(),
        })
        .collect()
    }

    pub(super) fn shell_stop(&mut self, id: u32) -> Result<Outcome, ToolError> {
        let begun = Instant::now();
        let Entry { mut process, end } = self.jobs.take(id)?;
        let end = match end {
            Some(end) => end,
            None => process.stop(),
        };
        Ok(Outcome::Shell(process.out(status(end)?, begun.elapsed())))
    }

    /// The background commands that ended since the last call. Their last output stays for
    /// [`Action::ShellInput`](super::action::Action::ShellInput).
    pub fn ended_jobs(&mut self) -> Vec<JobEnd> {
        let mut ended = Vec::new();
        for (id, entry) in &mut self.jobs.table {
            if entry.end.is_some() {
                continue;
            }
            if let Ok(Some(end)) = entry.process.poll() {
                ended.push(JobEnd {
                    id: *id,
                    command: entry.process.command.clone(),
                    code: match &end {
                        End::Exited(code) => Some(*code),
                        End::Signaled(_) | End::Fence(_) => None,
                    },
                    file: None,
                });
                entry.end = Some(end);
            }
        }
        ended
    }

    /// The commands that run in the background.
    pub fn jobs(&self) -> Vec<Job> {
        let running = self.jobs.table.iter().filter(|(_, e)| e.end.is_none());
        running
            .map(|(id, entry)| Job {
                id: *id,
                command: entry.process.command.clone(),
                dir: entry.process.dir.clone(),
                pid: entry.process.pid(),
                age: entry.process.begun.elapsed(),
            })
            .collect()
    }

    /// Ends all background commands with everything that they started.
    pub fn stop_all(&mut self) {
        for (_, mut entry) in std::mem::take(&mut self.jobs.table) {
            if entry.end.is_none() {
                entry.process.stop();
            }
        }
    }
}

impl Drop for Workbench {
    fn drop(&mut self) {
        self.stop_all();
    }
}

/// How a command stands that ended by itself.
pub(super) fn status(end: End) -> Result<ShellStatus, ToolError> {
    match end {
        End::Exited(code) => Ok(ShellStatus::Exited(code)),
        End::Signaled(signal) => Ok(ShellStatus::Signaled(signal)),
        End::Fence(why) => Err(ToolError::Other(format!(
            "the command did not run, because its sandbox failed: {why}"
        ))),
    }
}
