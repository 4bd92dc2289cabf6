//! What an action does to the world. Each tool exists once, whatever a harness calls it.
//!
//! [`Workbench::run`] is the only entry. The tools are methods of the workbench, a file per kind;
//! they give back an [`Outcome`] or a [`ToolError`](action::ToolError) and never words of a harness.

pub mod action;
mod background;
mod buffers;
mod edit;
mod files;
mod grep;
pub mod image;
mod indent;
mod marker;
mod matching;
pub mod mcp;
mod meant;
mod memory;
mod notebook;
mod output;
mod patch;
mod program;
mod search;
mod shell;
mod shell_choice;
mod shown;
mod text;
mod undo;
mod walk;
mod web;

use crate::cancel::Cancel;
use crate::sandbox::gate::Gate;
use crate::sandbox::{Lift, Sandbox};
use action::{Action, Outcome, ToolError};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub use background::{Job, JobEnd};
pub use buffers::Buffers;
pub use memory::{FileMemory, FileNews};
#[doc(hidden)]
pub use patch::apply_to as patched;
pub use patch::touched as patch_paths;
pub use program::program_file;
pub use shell::shell_argv;

/// What a workbench needs to know.
pub struct Setup {
    /// The session's folder, absolute.
    pub cwd: PathBuf,
    /// The fence around commands.
    pub sandbox: Sandbox,
    /// The gate of the file tools.
    pub gate: Gate,
    /// The folder for whole outputs; made when first needed.
    pub outputs: PathBuf,
    /// The environment of commands, already filtered.
    pub environment: Vec<(OsString, OsString)>,
    /// The user's shell.
    pub shell: PathBuf,
}

/// Where actions are done: the tools with what they remember.
pub struct Workbench {
    setup: Setup,
    cwd: PathBuf,
    memory: FileMemory,
    undo: undo::Undo,
    jobs: background::Jobs,
    /// An editor that has files open.
    buffers: Option<Box<dyn Buffers>>,
}

impl Workbench {
    /// A workbench on which nothing was done yet.
    pub fn new(setup: Setup) -> Self {
        Workbench {
            cwd: setup.cwd.clone(),
            setup,
            memory: FileMemory::default(),
            undo: undo::Undo::default(),
            jobs: background::Jobs::default(),
            buffers: None,
        }
    }

    /// Does one action.
    ///
    /// `lift` is what an approval lifts of the policy for it. `room` is how many bytes of text the
    /// model will see of it: reads are cut to that, and larger output of a command is also saved
    /// to a file. `progress` gets the output of a command while it runs.
    pub fn run(
        &mut self,
        action: &Action,
        lift: &Lift,
        room: usize,
        cancel: &Cancel,
        progress: &mut dyn FnMut(&str),
    ) -> Outcome {
        let done = match action {
            Action::Read(read) => self.read(read, room, cancel),
            Action::Write {
                path,
                content,
                rule,
            } => self.write(path, content, *rule, lift),
            Action::Edit {
                path,
                edits,
                base,
                unique,
                passes,
                read_first,
                may_create,
            } => {
                let edit = edit::Edit {
                    edits,
                    base: *base,
                    unique: *unique,
                    passes,
                    may_create: *may_create,
                };
                self.edit(path, &edit, *read_first, lift)
            }
            Action::EditCell(edit) => self.edit_cell(edit, lift),
            Action::Insert { path, after, text } => self.insert(path, *after, text, lift),
            Action::Patch { text, form, dir } => self.patch(text, *form, dir.as_deref(), lift),
            Action::UndoEdit { path } => self.undo_edit(path, lift),
            Action::List {
                path,
                ignore,
                respect_ignore,
                limit,
            } => self.list(path, ignore, *respect_ignore, *limit, cancel),
            Action::Glob(query) => self.glob(query, cancel),
            Action::Grep(query) => self.grep(query, cancel),
            Action::Shell(shell) => self.shell(shell, lift, room, cancel, progress),
            Action::ShellInput { id, chars, wait } => {
                self.shell_input(*id, chars, *wait, cancel, progress)
            }
            Action::ShellWait { id, wait, all } => {
                self.shell_wait(*id, *wait, *all, cancel, progress)
            }
            Action::ShellList => Ok(Outcome::Jobs(self.list_jobs())),
            Action::ShellStop { id } => self.shell_stop(*id),
            Action::Fetch(fetch) => self.fetch(fetch, room, cancel),
            Action::ViewImage { path } => self.view_image(path),
            Action::Plan { .. } => Ok(Outcome::Planned),
            Action::Finish { .. } => Ok(Outcome::Finished),
            Action::PlanRead
            | Action::Mode { .. }
            | Action::Ask { .. }
            | Action::Delegate(_)
            | Action::Agents { .. }
            | Action::Skill { .. }
            | Action::Mcp(_)
            | Action::FindTools { .. } => Err(ToolError::Other(
                "this needs the conversation, which a tool does not know".into(),
            )),
        };
        done.unwrap_or_else(Outcome::Failed)
    }

    /// The fence around commands.
    pub fn sandbox(&self) -> &Sandbox {
        &self.setup.sandbox
    }

    /// Another fence around commands and file tools from now on. Commands that run keep theirs.
    pub fn set_fence(&mut self, sandbox: Sandbox, gate: Gate) {
        self.setup.sandbox = sandbox;
        self.setup.gate = gate;
    }

    /// Another environment for the commands from now on.
    pub fn set_environment(&mut self, environment: Vec<(OsString, OsString)>) {
        self.setup.environment = environment;
    }

    /// The folder for whole outputs and long inputs.
    pub fn outputs(&self) -> &Path {
        &self.setup.outputs
    }

    /// What the model has read and written.
    pub fn memory(&self) -> &FileMemory {
        &self.memory
    }

    /// The same, to change it when the conversation does.
    pub fn memory_mut(&mut self) -> &mut FileMemory {
        &mut self.memory
    }

    /// The folder in which the next command starts. It differs from the session's folder after a
    /// command whose folder persists; relative paths start here too.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Sets the folder in which the next command starts.
    pub fn set_cwd(&mut self, cwd: PathBuf) {
        self.cwd = cwd;
    }

    /// A path as the gate takes it: a relative one starts in [`Workbench::cwd`].
    fn spelled(&self, path: &str) -> String {
        if self.cwd == self.setup.cwd || path.starts_with('~') || Path::new(path).is_absolute() {
            path.into()
        } else {
            self.cwd.join(path).to_string_lossy().into_owned()
        }
    }
}

#[cfg(test)]
mod tests;
