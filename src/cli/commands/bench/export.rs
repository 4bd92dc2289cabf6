//! The tasks and their checks as files, so that another agent can be measured on the same ones.

use super::tasks::{File, Task};
use crate::cli::{Failure, say};
use serde_json::json;
use std::fs;
use std::io;
use std::path::Path;

/// Writes `FOLDER/TASK/{task.json, files/, check/}` for every task.
///
/// `files/` is where an agent begins. Afterwards the files of `check/` are put beside them and the
/// command line `check` is run with one more word: the task is solved when it ends with 0 and its
/// last line is that word, and the files named in `kept` are as they were.
///
/// # Errors
/// When a folder of a task exists already, or cannot be written.
pub fn write(folder: &Path, tasks: &[&'static Task]) -> Result<u8, Failure> {
    for task in tasks {
        let own = folder.join(task.name);
        one(&own, task).map_err(|e| match e.kind() {
            io::ErrorKind::AlreadyExists => {
                format!("{} exists already; name a new folder", own.display())
            }
            _ => format!("{} cannot be written: {e}", own.display()),
        })?;
    }
    say(&format!(
        "{} tasks are in {}\n",
        tasks.len(),
        folder.display()
    ))
}

fn one(folder: &Path, task: &Task) -> io::Result<()> {
    if let Some(above) = folder.parent() {
        fs::create_dir_all(above)?;
    }
    fs::create_dir(folder)?;
    for (name, files) in [("files", task.files), ("check", task.hidden)] {
        fs::create_dir(folder.join(name))?;
        put(&folder.join(name), files)?;
    }
    let about = json!({
        "name": task.name, "language": task.language.name, "probe": task.language.probe,
        "prompt": task.prompt, "kept": task.kept, "check": task.check,
    });
    fs::write(folder.join("task.json"), format!("{about:#}\n"))
}

fn put(folder: &Path, files: &[File]) -> io::Result<()> {
    files
        .iter()
        .try_for_each(|(name, text)| fs::write(folder.join(name), text))
}
