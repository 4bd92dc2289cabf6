//! A stand-in for the path gate while the rooms are built side by side.

use super::{Lift, Policy};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The gate.
pub struct Gate {
    policy: Policy,
    cwd: PathBuf,
}

/// A refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateError {
    /// As written.
    pub path: String,
    /// Why.
    pub why: String,
}

impl Gate {
    /// A gate for a policy.
    pub fn new(policy: &Policy, cwd: &Path) -> Self {
        Gate {
            policy: policy.clone(),
            cwd: cwd.to_path_buf(),
        }
    }

    /// The absolute path, lexically.
    pub fn absolute(&self, path: &str) -> PathBuf {
        let mut out = PathBuf::new();
        for part in self.cwd.join(path).components() {
            match part {
                std::path::Component::ParentDir => {
                    out.pop();
                }
                std::path::Component::CurDir => {}
                part => out.push(part),
            }
        }
        out
    }

    /// An existing path that may be read.
    pub fn readable(&self, path: &str) -> Result<PathBuf, GateError> {
        let refuse = |why: String| GateError {
            path: path.into(),
            why,
        };
        let real = self
            .absolute(path)
            .canonicalize()
            .map_err(|e| refuse(e.to_string()))?;
        let meta = real.metadata().map_err(|e| refuse(e.to_string()))?;
        if meta.is_file() || meta.is_dir() {
            Ok(real)
        } else {
            Err(refuse("it is a pipe or a device".into()))
        }
    }

    /// A path that may be written.
    pub fn writable(&self, path: &str, lift: &Lift) -> Result<PathBuf, GateError> {
        let absolute = self.absolute(path);
        let there = absolute
            .ancestors()
            .find(|a| a.exists())
            .unwrap_or(Path::new("/"));
        let refuse = |why: String| GateError {
            path: path.into(),
            why,
        };
        let real = there.canonicalize().map_err(|e| refuse(e.to_string()))?;
        let real = match absolute.strip_prefix(there) {
            Ok(rest) if !rest.as_os_str().is_empty() => real.join(rest),
            _ => real,
        };
        let inside = self.policy.roots.iter().any(|r| real.starts_with(r));
        if inside || *lift == Lift::Everything {
            Ok(real)
        } else {
            Err(refuse("it is outside of the workspace".into()))
        }
    }

    /// The bytes of a file.
    pub fn read(&self, path: &Path, limit: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        std::fs::File::open(path)?
            .take(limit)
            .read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Writes a file at once.
    pub fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, bytes)
    }

    /// Removes a file.
    pub fn remove(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }
}
