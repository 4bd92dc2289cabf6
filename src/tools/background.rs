//! Commands that go on while the model does other things.

use super::Workbench;
use super::action::{JobOut, Outcome, ShellOut, ShellStatus, ToolError};
use super::shell::{Pace, Process, Waited};
use crate::cancel::Cancel;
use crate::sandbox::End;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The most commands that run, or ended and can be looked at, at the same time.
const JOBS: usize = 64;
/// The most of those that the model has seen to their end.
const SEEN: usize = 16;

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
    /// The file that its whole output is in; `None` when none could be made.
    pub file: Option<PathBuf>,
}

/// The commands in the background by number: those that run, and of those that ended the ones
/// that the model has not seen to the end, and the latest others.
#[derive(Default)]
pub(super) struct Jobs {
    table: BTreeMap<u32, Entry>,
    last: u32,
}

struct Entry {
    process: Process,
    /// How it ended, once that is known.
    end: Option<End>,
    told: Told,
}

/// What the model knows of the end of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Nothing,
    /// That it ended.
    End,
    /// That, and what it printed last.
    Output,
}

impl Entry {
    /// Learns whether it ended.
    fn poll(&mut self) {
        if self.end.is_none() {
            self.end = self.process.poll().ok().flatten();
        }
    }

    fn runs(&self) -> bool {
        self.end.is_none()
    }

    fn running(&self, id: u32) -> ShellStatus {
        let pid = self.process.pid();
        ShellStatus::Running { id, pid }
    }

    fn row(&self, id: u32) -> JobOut {
        JobOut {
            id,
            command: self.process.command.clone(),
            status: match &self.end {
                Some(End::Exited(code)) => ShellStatus::Exited(*code),
                Some(End::Signaled(signal)) => ShellStatus::Signaled(*signal),
                Some(End::Fence(_)) => ShellStatus::Exited(1),
                None => self.running(id),
            },
            age: self.process.begun.elapsed(),
        }
    }
}

impl Jobs {
    /// An error when there is no place for another one.
    pub fn check_room(&mut self) -> Result<(), ToolError> {
        if self.table.len() >= JOBS {
            let over = self.table.iter().filter(|(_, e)| !e.runs());
            let unseen = |(_, e): &(&u32, &Entry)| e.told != Told::Output;
            let Some(id) = over.min_by_key(unseen).map(|(id, _)| *id) else {
                return Err(ToolError::Other(format!(
                    "{JOBS} commands are running already, which is the most there can be; stop one of them first"
                )));
            };
            self.table.remove(&id);
        }
        Ok(())
    }

    /// Takes a running command, gives it a number, and tells how it stands.
    pub fn add(&mut self, mut process: Process) -> ShellOut {
        self.last += 1;
        process.job = Some(self.last);
        let entry = Entry {
            process,
            end: None,
            told: Told::Nothing,
        };
        let status = entry.running(self.last);
        let out = entry.process.out(status, entry.process.begun.elapsed());
        self.table.insert(self.last, entry);
        out
    }

    /// The command of a number; with `open` only if the model has not seen it to its end.
    fn get(&mut self, id: u32, open: bool) -> Result<&mut Entry, ToolError> {
        let is_open = |e: &Entry| e.told != Told::Output;
        let others = self.table.iter().filter(|(_, e)| is_open(e));
        let running = others.map(|(id, _)| *id).collect();
        let entry = self.table.get_mut(&id).filter(|e| !open || is_open(e));
        entry.ok_or(ToolError::NoSuchCommand { id, running })
    }

    /// Notes that the model has seen a command to its end, and forgets those from long ago.
    fn seen(&mut self, id: u32) {
        if let Some(entry) = self.table.get_mut(&id) {
            entry.told = Told::Output;
        }
        let seen = |e: &Entry| e.told == Told::Output;
        let mut over = self.table.values().filter(|e| seen(e)).count();
        self.table.retain(|_, e| {
            let goes = seen(e) && over > SEEN;
            over -= usize::from(goes);
            !goes
        });
    }

    fn poll(&mut self) {
        self.table.values_mut().for_each(Entry::poll);
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
        let entry = self.jobs.get(id, true)?;
        if entry.runs() && !chars.is_empty() {
            entry.process.type_in(id, chars)?;
        }
        self.look_at(id, wait, false, cancel, progress)
    }

    /// The output of a background command, waited for until it ends.
    pub(super) fn shell_wait(
        &mut self,
        id: Option<u32>,
        wait: Duration,
        all: bool,
        cancel: &Cancel,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Outcome, ToolError> {
        if let Some(id) = id {
            return self.look_at(id, wait, all, cancel, progress);
        }
        let mut pace = Pace::new(Instant::now().checked_add(wait));
        loop {
            self.jobs.poll();
            let jobs = || self.jobs.table.iter();
            let ended = jobs().find(|(_, e)| !e.runs() && e.told == Told::Nothing);
            if let Some((id, _)) = ended {
                return self.look_at(*id, Duration::ZERO, all, cancel, progress);
            }
            if cancel.is_cancelled() {
                return Ok(Outcome::Interrupted);
            }
            let run = || jobs().filter(|(_, e)| e.runs());
            run().for_each(|(_, e)| e.process.show(progress));
            if run().next().is_none() || !pace.rest() {
                return Ok(Outcome::Jobs(run().map(|(id, e)| e.row(*id)).collect()));
            }
        }
    }

    /// One command, waited for until it ends: what it printed, and how it stands.
    fn look_at(
        &mut self,
        id: u32,
        wait: Duration,
        all: bool,
        cancel: &Cancel,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Outcome, ToolError> {
        let begun = Instant::now();
        let entry = self.jobs.get(id, false)?;
        let process = &mut entry.process;
        if entry.end.is_none() {
            match process.wait(begun.checked_add(wait), cancel, progress)? {
                Waited::Ended(end) => entry.end = Some(end),
                Waited::Limit => {}
                // The command goes on: only the wait for it was given up.
                Waited::Cancelled => return Ok(Outcome::Interrupted),
            }
        }
        let how = match &entry.end {
            Some(end) => status(end.clone()),
            None => Ok(entry.running(id)),
        };
        let outcome = how.map(|status| {
            let process = &entry.process;
            let out = match all {
                true => process.out_all(status, begun.elapsed()),
                false => process.out(status, begun.elapsed()),
            };
            process.hinted(out, self.setup.sandbox.policy())
        });
        if !entry.runs() {
            self.jobs.seen(id);
        }
        outcome
    }

    /// The commands that run, and those that ended and can still be looked at.
    pub(super) fn list_jobs(&mut self) -> Vec<JobOut> {
        self.jobs.poll();
        let rows = self.jobs.table.iter();
        rows.map(|(id, entry)| entry.row(*id)).collect()
    }

    pub(super) fn shell_stop(&mut self, id: u32) -> Result<Outcome, ToolError> {
        let begun = Instant::now();
        let entry = self.jobs.get(id, true)?;
        let end = match &entry.end {
            Some(end) => end.clone(),
            None => entry.process.stop(),
        };
        entry.end = Some(end.clone());
        let out = status(end).map(|status| entry.process.out(status, begun.elapsed()));
        self.jobs.seen(id);
        Ok(Outcome::Shell(out?))
    }

    /// The background commands that ended since the last call, and whose end no result told. Their
    /// last output stays for [`Action::ShellInput`](super::action::Action::ShellInput).
    pub fn ended_jobs(&mut self) -> Vec<JobEnd> {
        self.jobs.poll();
        let mut ended = Vec::new();
        for (id, entry) in &mut self.jobs.table {
            let Some(end) = entry.end.as_ref().filter(|_| entry.told == Told::Nothing) else {
                continue;
            };
            ended.push(JobEnd {
                id: *id,
                command: entry.process.command.clone(),
                code: match end {
                    End::Exited(code) => Some(*code),
                    End::Signaled(_) | End::Fence(_) => None,
                },
                file: entry.process.file(),
            });
            entry.told = Told::End;
        }
        ended
    }

    /// True for a read of the file that a running command prints into.
    pub fn still_grows(&self, outcome: &Outcome) -> bool {
        let Outcome::Read(read) = outcome else {
            return false;
        };
        // The folder may be spelled in another way; the name is of that command alone.
        let same = |file: PathBuf| file.file_name() == read.path.file_name();
        let mut running = self.jobs.table.values().filter(|e| e.runs());
        running.any(|e| e.process.file().is_some_and(same))
    }

    /// The commands that run in the background.
    pub fn jobs(&self) -> Vec<Job> {
        let running = self.jobs.table.iter().filter(|(_, e)| e.runs());
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

    /// Ends a background command because the person wants it; the model learns of its end.
    ///
    /// # Errors
    /// When no command of that number runs.
    pub fn stop_job(&mut self, id: u32) -> Result<(), ToolError> {
        self.jobs.poll();
        let entry = self.jobs.get(id, true)?;
        if entry.end.is_none() {
            entry.end = Some(entry.process.stop());
        }
        Ok(())
    }

    /// Ends all background commands with everything that they started.
    pub fn stop_all(&mut self) {
        for (_, mut entry) in std::mem::take(&mut self.jobs.table) {
            if entry.runs() {
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
