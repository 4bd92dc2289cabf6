//! Fresh folders for every try, which disappear again.

use std::cell::Cell;
use std::fs::{self, DirBuilder};
use std::io;
use std::path::{Path, PathBuf};

/// How many names are tried for the folder of a run before it gives up.
const NAMES: u32 = 100;

/// A private folder of this run, removed at its end.
pub struct Place {
    folder: PathBuf,
    given: Cell<u32>,
}

impl Place {
    /// Makes it in the system's folder for temporary files. Its name is short, because some
    /// harnesses make a model write it again and again.
    ///
    /// # Errors
    /// A sentence when no folder can be made there.
    pub fn new() -> Result<Self, String> {
        let temp = std::env::temp_dir();
        let fail = |e: io::Error| format!("no folder can be made in {}: {e}", temp.display());
        // Links are resolved, so that the names in prompts are the ones that commands print.
        let above = temp.canonicalize().map_err(fail)?;
        let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
        for n in 0..NAMES {
            let folder = above.join(format!("bench-{}-{n}", std::process::id()));
            match private(&folder) {
                Ok(()) => {
                    let given = Cell::new(0);
                    return Ok(Place { folder, given });
                }
                Err(e) => last = e,
            }
        }
        Err(fail(last))
    }

    /// A new folder in it.
    ///
    /// # Errors
    /// A sentence when it cannot be made.
    pub fn fresh(&self) -> Result<Fresh, String> {
        self.given.set(self.given.get() + 1);
        let folder = self.folder.join(self.given.get().to_string());
        private(&folder)
            .map_err(|e| format!("the folder {} cannot be made: {e}", folder.display()))?;
        Ok(Fresh {
            folder,
            keep: false,
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Not with everything in it: a folder of a try may have been kept.
        let _ = fs::remove_dir(&self.folder);
    }
}

/// The folder of one try, removed at its end unless it is to be kept.
pub struct Fresh {
    folder: PathBuf,
    /// Leave it there.
    pub keep: bool,
}

impl Fresh {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// Makes a folder in it.
    ///
    /// # Errors
    /// A sentence when it cannot be made.
    pub fn folder(&self, name: &str) -> Result<PathBuf, String> {
        let folder = self.folder.join(name);
        private(&folder)
            .map_err(|e| format!("the folder {} cannot be made: {e}", folder.display()))?;
        Ok(folder)
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        if !self.keep {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

/// Makes a folder for the user's eyes only; one that exists is an error.
fn private(folder: &Path) -> io::Result<()> {
    #[cfg_attr(not(unix), allow(unused_mut))]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
