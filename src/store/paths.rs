//! Where our files are.

use super::StoreError;
use jiff::Zoned;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The home folder: config, sessions, logs, outputs. Nothing is created before it is written to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home(PathBuf);

impl Home {
    /// `INTERPRETER_HOME` (a relative one counts from the working folder), or `~/.openinterpreter`.
    pub fn from_env() -> Result<Home, StoreError> {
        let moved = std::env::var_os("INTERPRETER_HOME").filter(|v| !v.is_empty());
        let path = match moved {
            Some(path) => PathBuf::from(path),
            None => std::env::home_dir()
                .filter(|h| !h.as_os_str().is_empty())
                .ok_or(StoreError::NoHome)?
                .join(".openinterpreter"),
        };
        let path = std::path::absolute(&path).map_err(|e| StoreError::read(&path, &e))?;
        Ok(Home(path))
    }

    /// The home at this absolute path.
    pub fn at(path: impl Into<PathBuf>) -> Home {
        Home(path.into())
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The user's config.
    pub fn config_file(&self) -> PathBuf {
        self.0.join("config.toml")
    }

    /// The folder of all sessions.
    pub fn sessions(&self) -> PathBuf {
        self.0.join("sessions")
    }

    /// The file of a session that begins at `time`; folder and name carry the local time.
    pub fn rollout(&self, id: &str, time: &Zoned) -> PathBuf {
        let name = format!("rollout-{}-{id}.jsonl", time.strftime("%Y-%m-%dT%H-%M-%S"));
        self.sessions()
            .join(time.strftime("%Y").to_string())
            .join(time.strftime("%m").to_string())
            .join(time.strftime("%d").to_string())
            .join(name)
    }

    /// The folder of whole outputs and piped inputs of all sessions; the model may read it.
    pub fn all_outputs(&self) -> PathBuf {
        self.0.join("outputs")
    }

    /// The same of one session.
    pub fn outputs(&self, session: &str) -> PathBuf {
        self.all_outputs().join(session)
    }

    /// The folder of what the changes of all sessions replaced.
    pub fn all_undo(&self) -> PathBuf {
        self.0.join("undo")
    }

    /// The same of one session.
    pub fn undo(&self, session: &str) -> PathBuf {
        self.all_undo().join(session)
    }

    /// The folder of logs, unless the config names another.
    pub fn log_dir(&self) -> PathBuf {
        self.0.join("log")
    }

    /// The prompts that were typed.
    pub fn history_file(&self) -> PathBuf {
        self.0.join("history.jsonl")
    }
}

/// Makes a folder and those above it, for the user's eyes only. One that exists stays as it is.
pub fn private_dir(path: &Path) -> Result<(), StoreError> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
        .create(path)
        .map_err(|e| StoreError::write(path, &e))
}

/// Opens a file to append to, for the user's eyes only; its folder is made if need be.
/// With `new`, it must not exist.
pub fn private_file(path: &Path, new: bool) -> Result<File, StoreError> {
    if let Some(folder) = path.parent() {
        private_dir(folder)?;
    }
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(!new).create_new(new);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(|e| StoreError::write(path, &e))
}

/// Gives a file of ours another content, for the user's eyes only. A reader never sees half of it.
pub fn private_replace(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let fresh = path.with_extension(format!("{}.tmp", std::process::id()));
    let _ = fs::remove_file(&fresh);
    let written = private_file(&fresh, true).and_then(|mut file| {
        file.write_all(bytes)
            .and_then(|()| fs::rename(&fresh, path))
            .map_err(|e| StoreError::write(path, &e))
    });
    if written.is_err() {
        let _ = fs::remove_file(&fresh);
    }
    written
}

/// The path without links and dots, or as it is when it does not exist.
pub fn canonical(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rollout_path_carries_the_local_time() {
        let time: Zoned = "2026-03-04T05:06:07+09:00[Asia/Tokyo]".parse().unwrap();
        assert_eq!(
            Home::at("/h").rollout("0199-abc", &time),
            Path::new("/h/sessions/2026/03/04/rollout-2026-03-04T05-06-07-0199-abc.jsonl")
        );
    }

    #[cfg(unix)]
    #[test]
    fn files_and_folders_are_private() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        let file = home.join("a/b.jsonl");
        private_file(&file, true).unwrap();
        let mode = |p: &Path| fs::metadata(p).unwrap().permissions().mode() & 0o777;
        assert_eq!(
            (mode(&home), mode(&home.join("a")), mode(&file)),
            (0o700, 0o700, 0o600)
        );
        assert!(private_file(&file, true).is_err());
    }

    #[test]
    fn a_home_that_cannot_be_made_is_one_sentence() {
        let dir = tempfile::tempdir().unwrap();
        let blocked = dir.path().join("file");
        fs::write(&blocked, "").unwrap();
        let error = private_dir(&blocked.join("sessions"))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("cannot be written") && error.contains("INTERPRETER_HOME"),
            "{error}"
        );
        assert!(!error.contains('\n'));
    }
}
