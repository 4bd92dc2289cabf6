//! The contents of files: our own in one file that only grows, and those that git has anyway.

use crate::cancel::Cancel;
use crate::project::git;
use crate::store::StoreError;
use crate::store::paths::private_file;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

/// Bytes that are gathered before they are written.
const BUFFER: usize = 1 << 20;
/// A content in the file: its SHA-256, its length, its bytes.
const HEAD: u64 = 40;

/// The name of a content: the SHA-256 of one of ours, or the object of git that holds it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Content {
    /// In our own file.
    Own(String),
    /// In git's store.
    Git(String),
}

impl Content {
    /// The name that these bytes have in our own file.
    pub fn of(bytes: &[u8]) -> Content {
        Content::Own(hex(&Sha256::digest(bytes)))
    }
}

/// Where contents are kept.
#[derive(Debug)]
pub struct Objects {
    path: PathBuf,
    file: Option<File>,
    /// Where each of ours begins, and its length.
    places: HashMap<String, (u64, u64)>,
    end: u64,
    waiting: Vec<u8>,
    /// The folder with git's `HEAD`.
    pub git: Option<PathBuf>,
}

impl Objects {
    /// The contents in this file, which need not exist yet. A torn end is passed over.
    pub fn open(path: PathBuf, git: Option<PathBuf>) -> Self {
        let mut objects = Objects {
            path,
            file: None,
            places: HashMap::new(),
            end: 0,
            waiting: Vec::new(),
            git,
        };
        objects.reload();
        objects
    }

    /// Takes in what another process added.
    pub fn reload(&mut self) {
        self.file = None;
        self.places.clear();
        self.waiting.clear();
        self.end = 0;
        let _ = self.load();
    }

    fn load(&mut self) -> io::Result<()> {
        let file = File::open(&self.path)?;
        let length = file.metadata()?.len();
        let mut reader = BufReader::new(file);
        let mut head = [0; HEAD as usize];
        while self.end + HEAD <= length {
            reader.read_exact(&mut head)?;
            let mut size = [0; 8];
            size.copy_from_slice(&head[32..]);
            let (begin, size) = (self.end + HEAD, u64::from_le_bytes(size));
            let Some(end) = begin.checked_add(size).filter(|end| *end <= length) else {
                break;
            };
            self.places.insert(hex(&head[..32]), (begin, size));
            self.end = end;
            reader.seek_relative(i64::try_from(size).unwrap_or(i64::MAX))?;
        }
        Ok(())
    }

    /// Bytes that our own contents take.
    pub fn bytes(&self) -> u64 {
        self.end
    }

    /// Keeps a content. It is on the disk after [`Objects::flush`].
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn put(&mut self, bytes: &[u8]) -> Result<Content, StoreError> {
        let digest = Sha256::digest(bytes);
        let name = hex(&digest);
        if !self.places.contains_key(&name) {
            let size = bytes.len() as u64;
            self.waiting.extend(digest);
            self.waiting.extend(size.to_le_bytes());
            self.waiting.extend(bytes);
            self.places.insert(name.clone(), (self.end + HEAD, size));
            self.end += HEAD + size;
            if self.waiting.len() > BUFFER {
                self.flush()?;
            }
        }
        Ok(Content::Own(name))
    }

    /// Writes what waits to be written.
    ///
    /// # Errors
    /// When the file cannot be written; what waited is given up then.
    pub fn flush(&mut self) -> Result<(), StoreError> {
        let waiting = std::mem::take(&mut self.waiting);
        if waiting.is_empty() {
            return Ok(());
        }
        let begin = self.end - waiting.len() as u64;
        let written = self.append(begin, &waiting);
        if written.is_err() {
            self.places.retain(|_, (at, _)| *at < begin);
            self.end = begin;
        }
        written
    }

    fn append(&mut self, begin: u64, bytes: &[u8]) -> Result<(), StoreError> {
        let mut file = match self.file.take() {
            Some(file) => file,
            None => private_file(&self.path, false)?,
        };
        // What a write that failed, or a kill, left behind goes.
        file.set_len(begin)
            .and_then(|()| file.write_all(bytes))
            .map_err(|e| StoreError::Write {
                path: self.path.clone(),
                why: e.to_string(),
                kind: e.kind(),
            })?;
        self.file = Some(file);
        Ok(())
    }

    /// Those of the contents that are neither gone nor damaged.
    pub fn get<'a>(
        &mut self,
        wanted: impl Iterator<Item = &'a Content>,
    ) -> HashMap<Content, Vec<u8>> {
        let mut found = HashMap::new();
        let mut in_git: Vec<&str> = Vec::new();
        for content in wanted {
            match content {
                Content::Own(name) => {
                    if let Some(bytes) = self.own(name) {
                        found.insert(content.clone(), bytes);
                    }
                }
                Content::Git(name) => in_git.push(name),
            }
        }
        if let Some(dir) = self.git.as_deref()
            && !in_git.is_empty()
        {
            let contents = git::objects::contents(dir, &in_git, &Cancel::new());
            found.extend(contents.into_iter().map(|(n, c)| (Content::Git(n), c)));
        }
        found
    }

    fn own(&mut self, name: &str) -> Option<Vec<u8>> {
        self.flush().ok()?;
        let (at, size) = *self.places.get(name)?;
        let mut file = File::open(&self.path).ok()?;
        file.seek(SeekFrom::Start(at)).ok()?;
        let mut bytes = Vec::new();
        file.take(size).read_to_end(&mut bytes).ok()?;
        (Content::of(&bytes) == Content::Own(name.to_owned())).then_some(bytes)
    }

    /// Gives everything of ours up.
    pub fn clear(&mut self) {
        let _ = std::fs::remove_file(&self.path);
        self.reload();
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn get(objects: &mut Objects, content: &Content) -> Option<Vec<u8>> {
        objects.get([content].into_iter()).remove(content)
    }

    #[test]
    fn contents_survive_a_torn_end_and_damage_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("objects");
        let mut objects = Objects::open(path.clone(), None);
        let one = objects.put(b"one").unwrap();
        let two = objects.put(b"two").unwrap();
        assert_eq!(objects.put(b"one").unwrap(), one);
        assert_eq!(get(&mut objects, &two).as_deref(), Some(&b"two"[..]));
        // The digest of "one" as sha256sum prints it.
        let known = "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed";
        assert_eq!(one, Content::Own(known.into()));
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() - 1]).unwrap();
        let mut objects = Objects::open(path.clone(), None);
        assert_eq!(get(&mut objects, &one).as_deref(), Some(&b"one"[..]));
        assert_eq!(get(&mut objects, &two), None);
        objects.put(b"two").unwrap();
        objects.flush().unwrap();
        assert_eq!(fs::read(&path).unwrap(), whole);
        let mut bad = whole.clone();
        bad[40] ^= 1;
        fs::write(&path, bad).unwrap();
        let mut objects = Objects::open(path, None);
        assert_eq!(get(&mut objects, &one), None);
        assert_eq!(get(&mut objects, &two).as_deref(), Some(&b"two"[..]));
    }
}
