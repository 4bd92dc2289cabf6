//! Putting files back: all that is to be read is read, and checked, before the first is written.

use super::UndoError;
use super::manifest::{Stamp, State};
use super::objects::{Content, Objects};
use super::scan::state_of;
use crate::sandbox::{Gate, Mode, Policy};
use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A path, and what shall stand there.
pub type Wanted = (String, Option<State>);

/// True when a path holds this now. `contents` has those of git.
pub fn holds(path: &Path, state: Option<&State>, contents: &HashMap<Content, Vec<u8>>) -> bool {
    let now = state_of(path);
    match (state, &now) {
        (Some(State::Unkept { stamp, .. }), Some(_)) => {
            let meta = path.symlink_metadata();
            meta.is_ok_and(|m| m.is_file() && Stamp::of(&m) == *stamp)
        }
        (
            Some(State::File { content, mode }),
            Some(State::File {
                content: has,
                mode: is,
            }),
        ) => {
            let own = match contents.get(content) {
                Some(bytes) => Content::of(bytes),
                None => content.clone(),
            };
            own == *has && mode == is
        }
        _ => state == now.as_ref(),
    }
}

/// The contents that states name.
pub fn contents<'a>(
    states: impl Iterator<Item = Option<&'a State>>,
    objects: &mut Objects,
) -> HashMap<Content, Vec<u8>> {
    let named = states.filter_map(|state| match state {
        Some(State::File { content, .. }) => Some(content),
        _ => None,
    });
    objects.get(named)
}

/// Makes each path hold what is wanted. The first trouble ends it; what was written then is whole,
/// file by file.
///
/// # Errors
/// A content that is gone, before anything is written; else what the system says.
pub fn put(root: &Path, wanted: &[Wanted], objects: &mut Objects) -> Result<(), UndoError> {
    let contents = contents(wanted.iter().map(|(_, state)| state.as_ref()), objects);
    for (path, state) in wanted {
        if let Some(State::File { content, .. }) = state
            && !contents.contains_key(content)
        {
            return Err(UndoError::Gone(path.clone()));
        }
    }
    let hand = Hand {
        root,
        gate: Gate::new(&everything(root), root),
    };
    // What is in a folder goes before it, and a folder comes before what is in it.
    let mut order: Vec<&Wanted> = wanted.iter().collect();
    order.sort_by(|a, b| a.0.cmp(&b.0));
    for (path, state) in order.iter().rev() {
        hand.clear(path, state.as_ref())
            .map_err(|e| UndoError::file(path, &e))?;
    }
    for (path, state) in &order {
        let done = match state {
            Some(State::Folder) => hand.make_folder(path),
            Some(State::Link(to)) => hand.link(path, to),
            Some(State::File { content, mode }) => match contents.get(content) {
                Some(bytes) => hand.write(path, bytes, *mode),
                None => Ok(()),
            },
            Some(State::Unkept { .. }) | None => Ok(()),
        };
        done.map_err(|e| UndoError::file(path, &e))?;
    }
    Ok(())
}

/// The person takes back what was done, so nothing is forbidden; the gate follows no link all the
/// same.
fn everything(root: &Path) -> Policy {
    Policy {
        mode: Mode::DangerFullAccess,
        roots: vec![root.to_owned()],
        network: false,
        slash_tmp: false,
        tmpdir: false,
        own_homes: Vec::new(),
        readable: Vec::new(),
    }
}

struct Hand<'a> {
    root: &'a Path,
    gate: Gate,
}

impl Hand<'_> {
    fn at(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Takes away what must not stand at a path: everything, or what is of another kind.
    fn clear(&self, path: &str, state: Option<&State>) -> io::Result<()> {
        let at = self.at(path);
        let Ok(meta) = at.symlink_metadata() else {
            return Ok(());
        };
        let stays = match state {
            Some(State::File { .. } | State::Unkept { .. }) => meta.is_file(),
            Some(State::Folder) => meta.is_dir(),
            Some(State::Link(_)) | None => false,
        };
        match (stays, meta.is_dir()) {
            (true, _) => Ok(()),
            (false, false) => self.gate.remove(&at),
            // A folder in which something else lies by now stays.
            (false, true) => match fs::remove_dir(&at) {
                Err(e) if e.kind() == io::ErrorKind::DirectoryNotEmpty && state.is_none() => Ok(()),
                done => done,
            },
        }
    }

    /// A folder and those above it. They are real ones, not links that lead elsewhere.
    fn make_folder(&self, path: &str) -> io::Result<()> {
        let at = self.at(path);
        let linked = at
            .ancestors()
            .any(|above| above != self.root && above.starts_with(self.root) && above.is_symlink());
        if linked {
            return Err(io::Error::other("a folder on the way is a link now"));
        }
        fs::create_dir_all(at)
    }

    fn link(&self, path: &str, to: &str) -> io::Result<()> {
        let at = self.at(path);
        if let Some(above) = Path::new(path).parent().and_then(Path::to_str) {
            self.make_folder(above)?;
        }
        #[cfg(unix)]
        return std::os::unix::fs::symlink(to, at);
        #[cfg(windows)]
        return std::os::windows::fs::symlink_file(to, at);
    }

    fn write(&self, path: &str, bytes: &[u8], mode: u32) -> io::Result<()> {
        let at = self.at(path);
        self.gate.replace(&at, bytes)?;
        let mut permissions = fs::metadata(&at)?.permissions();
        #[cfg(unix)]
        std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, mode);
        #[cfg(not(unix))]
        permissions.set_readonly(mode & 0o200 == 0);
        fs::set_permissions(&at, permissions)
    }
}
