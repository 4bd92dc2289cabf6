//! Where a program is found.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The program's file: a name is looked up in `PATH`, on Windows with its usual endings (`npx` is
/// `npx.cmd` there); a relative path counts from the folder that it runs in.
pub fn program_file(command: &str, path: Option<&OsStr>, dir: &Path) -> Option<PathBuf> {
    let endings: &[&str] = match cfg!(windows) {
        true => &["", ".exe", ".cmd", ".bat"],
        false => &[""],
    };
    let command = match command.strip_prefix("~/").zip(std::env::home_dir()) {
        Some((rest, home)) => home.join(rest),
        None => PathBuf::from(command),
    };
    let folders: Vec<PathBuf> = match command.components().count() {
        0 | 1 => std::env::split_paths(path?).collect(),
        _ => vec![dir.to_owned()],
    };
    let candidates = folders.iter().flat_map(|folder| {
        endings.iter().map(|ending| {
            let mut name = folder.join(&command).into_os_string();
            name.push(ending);
            PathBuf::from(name)
        })
    });
    candidates.into_iter().find(|p| is_program(p))
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file() && path.extension().is_some()
}
