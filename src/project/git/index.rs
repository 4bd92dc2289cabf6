//! Git's index: which files are tracked, and how each looked when git read it last. It is read
//! and never written.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::path::Path;

/// The most bytes of an index that are read.
const MOST: u64 = 256 << 20;
/// The most bytes of the repository's config that are looked at.
const CONFIG: u64 = 256 << 10;
/// Bytes of an entry before its object id.
const STAT: usize = 40;
/// Bytes of a SHA-1.
const ID: usize = 20;

/// A tracked file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tracked {
    /// Its object, in hexadecimal.
    pub object: String,
    /// Type and permissions as git writes them, for example `0o100644`.
    pub mode: u32,
    /// The user told git that the file need not be on the disk.
    pub is_skipped: bool,
    mtime: (u32, u32),
    size: u32,
    /// It may have been written after git read it, in the same moment.
    is_racy: bool,
}

impl Tracked {
    /// True when the file on the disk is surely the one that git read. Then its content is that
    /// of the object, if the object has its size: filters of a repository may change both.
    pub fn is_untouched(&self, meta: &Metadata) -> bool {
        let is_file = self.mode & 0o170_000 == 0o100_000 && meta.is_file();
        is_file && !self.is_racy && meta.len() == u64::from(self.size) && mtime(meta) == self.mtime
    }
}

/// The tracked files by path from the top of the work tree; `None` when there is no index, or one
/// of a kind that is not read here (SHA-256, split). Paths that are not UTF-8, conflicts and other
/// repositories are left out.
pub fn read(dir: &Path) -> Option<HashMap<String, Tracked>> {
    if let Ok((config, _)) = super::read_text(&common(dir).join("config"), CONFIG)
        && config.to_lowercase().contains("objectformat")
    {
        return None;
    }
    let path = dir.join("index");
    let meta = fs::metadata(&path).ok().filter(|m| m.len() <= MOST)?;
    let bytes = fs::read(&path).ok()?;
    parse(&bytes, mtime(&meta))
}

/// The folder that a linked work tree shares with the main one.
fn common(dir: &Path) -> std::path::PathBuf {
    match super::first_line(&dir.join("commondir")) {
        Some(path) => dir.join(path),
        None => dir.to_path_buf(),
    }
}

fn parse(bytes: &[u8], written: (u32, u32)) -> Option<HashMap<String, Tracked>> {
    let number = |at: usize| -> Option<u32> {
        let four = bytes.get(at..at.checked_add(4)?)?;
        Some(u32::from_be_bytes(four.try_into().ok()?))
    };
    let version = number(4)?;
    if bytes.get(..4)? != b"DIRC" || !(2..=4).contains(&version) {
        return None;
    }
    let mut files = HashMap::new();
    let mut name: Vec<u8> = Vec::new();
    let mut at = 12;
    for _ in 0..number(8)? {
        let begin = at;
        let id = bytes.get(begin + STAT..begin + STAT + ID)?;
        let short = |at: usize| Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]));
        let flags = short(begin + STAT + ID)?;
        at = begin + STAT + ID + 2;
        let mut is_skipped = false;
        if version >= 3 && flags & 0x4000 != 0 {
            is_skipped = short(at)? & 0x4000 != 0;
            at += 2;
        }
        if version == 4 {
            // The name is that of the entry before, less so many bytes, and then this.
            let (cut, after) = varint(bytes, at)?;
            name.truncate(name.len().checked_sub(cut)?);
            at = after;
        } else {
            name.clear();
        }
        let end = at + bytes.get(at..)?.iter().position(|b| *b == 0)?;
        name.extend_from_slice(bytes.get(at..end)?);
        at = match version {
            4 => end + 1,
            // One to eight zero bytes make the length a multiple of eight.
            _ => begin + ((end - begin) / 8 + 1) * 8,
        };
        let mode = number(begin + 24)?;
        let stage = (flags >> 12) & 3;
        let Ok(text) = std::str::from_utf8(&name) else {
            continue;
        };
        if stage != 0 || !matches!(mode & 0o170_000, 0o100_000 | 0o120_000) {
            continue;
        }
        let mtime = (number(begin + 8)?, number(begin + 12)?);
        let tracked = Tracked {
            object: id.iter().map(|b| format!("{b:02x}")).collect(),
            mode,
            is_skipped,
            mtime,
            size: number(begin + 36)?,
            is_racy: mtime >= written,
        };
        files.insert(text.to_owned(), tracked);
    }
    // A split index keeps the most of it elsewhere.
    while let Some(kind) = bytes.get(at..at + 4).filter(|_| at + 8 + ID <= bytes.len()) {
        if kind == b"link" {
            return None;
        }
        at = at
            .checked_add(8)?
            .checked_add(usize::try_from(number(at + 4)?).ok()?)?;
    }
    Some(files)
}

/// A number of git's variable length, and where it ends.
fn varint(bytes: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let mut byte = *bytes.get(at)?;
    let mut value = usize::from(byte & 127);
    while byte & 128 != 0 {
        at += 1;
        byte = *bytes.get(at)?;
        value = value
            .checked_add(1)?
            .checked_mul(128)?
            .checked_add(usize::from(byte & 127))?;
    }
    Some((value, at + 1))
}

/// Seconds and nanoseconds as git keeps them: the lower 32 bits.
fn mtime(meta: &Metadata) -> (u32, u32) {
    let since = meta
        .modified()
        .ok()
        .and_then(|t| t.duration_since(std::time::UNIX_EPOCH).ok());
    since.map_or((0, 0), |d| (d.as_secs() as u32, d.subsec_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::git::run_in as git;

    #[test]
    fn every_version_names_what_git_tracks() {
        let dir = tempfile::tempdir().unwrap();
        // A machine without git has nothing to compare with.
        if git(dir.path(), &["init", "-q"]).is_none() {
            return;
        }
        for name in ["a.txt", "src/lib.rs", "src/main.rs", "src/mainframe/x"] {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("text of {name}\n")).unwrap();
        }
        git(dir.path(), &["add", "."]).unwrap();
        for version in ["2", "3", "4"] {
            git(dir.path(), &["update-index", "--index-version", version]).unwrap();
            let index = read(&dir.path().join(".git")).unwrap();
            let listed = git(dir.path(), &["ls-files", "-s"]).unwrap();
            assert_eq!(listed.lines().count(), index.len());
            for line in listed.lines() {
                let (facts, name) = line.split_once('\t').unwrap();
                let object = facts.split(' ').nth(1).unwrap();
                assert_eq!(index[name].object, object, "{name} in version {version}");
                let meta = fs::metadata(dir.path().join(name)).unwrap();
                let calm = Tracked {
                    is_racy: false,
                    ..index[name].clone()
                };
                assert!(calm.is_untouched(&meta));
            }
        }
        fs::write(dir.path().join("a.txt"), "longer than it was\n").unwrap();
        let index = read(&dir.path().join(".git")).unwrap();
        let meta = fs::metadata(dir.path().join("a.txt")).unwrap();
        assert!(!index["a.txt"].is_untouched(&meta));
    }

    #[test]
    fn no_bytes_can_make_it_panic() {
        let mut bytes = b"DIRC\0\0\0\x04\0\0\0\x02".to_vec();
        bytes.extend([0xff; 90]);
        for end in 0..bytes.len() {
            let _ = parse(&bytes[..end], (0, 0));
        }
        assert_eq!(parse(&bytes, (0, 0)), None);
    }
}
