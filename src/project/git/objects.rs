//! What git's object store holds. Only `cat-file` and `ls-tree` are run, which read objects and
//! start nothing: no hook, filter, pager or transport.

use super::changes::own_settings;
use super::process::Call;
use crate::cancel::Cancel;
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::Path;

/// The most bytes of one answer.
const MOST: u64 = 512 << 20;

/// A file of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InTree {
    /// Its object, in hexadecimal.
    pub object: String,
    /// Type and permissions, for example `0o100644`.
    pub mode: u32,
}

/// The sizes of those of the objects that are there and are files.
pub fn sizes(dir: &Path, objects: &[&str], cancel: &Cancel) -> HashMap<String, u64> {
    let answer = run(
        dir,
        &[
            "cat-file",
            "--batch-check=%(objectname) %(objecttype) %(objectsize)",
        ],
        objects,
        cancel,
    );
    let text = String::from_utf8_lossy(answer.as_deref().unwrap_or_default()).into_owned();
    let one = |line: &str| {
        let mut words = line.split(' ');
        let (name, kind, size) = (words.next()?, words.next()?, words.next()?);
        (kind == "blob").then_some((name.to_owned(), size.parse().ok()?))
    };
    text.lines().filter_map(one).collect()
}

/// The contents of those of the objects that are there and are files.
pub fn contents(dir: &Path, objects: &[&str], cancel: &Cancel) -> HashMap<String, Vec<u8>> {
    let answer = run(dir, &["cat-file", "--batch"], objects, cancel).unwrap_or_default();
    let mut found = HashMap::new();
    let mut rest = answer.as_slice();
    while let Some(end) = rest.iter().position(|b| *b == b'\n') {
        let head = String::from_utf8_lossy(&rest[..end]).into_owned();
        rest = &rest[end + 1..];
        let mut words = head.split(' ');
        let (name, kind) = (words.next().unwrap_or_default(), words.next());
        let Some(size) = words.next().and_then(|s| s.parse::<usize>().ok()) else {
            // `NAME missing` has no content behind it.
            continue;
        };
        let Some(content) = rest.get(..size) else {
            break;
        };
        if kind == Some("blob") {
            found.insert(name.to_owned(), content.to_vec());
        }
        rest = rest.get(size + 1..).unwrap_or_default();
    }
    found
}

/// The files of a commit by path from its top; `None` when it cannot be read. Paths that are not
/// UTF-8 and commits of other repositories are left out.
pub fn tree(dir: &Path, commit: &str, cancel: &Cancel) -> Option<HashMap<String, InTree>> {
    let answer = run(
        dir,
        &["ls-tree", "-r", "-z", "--full-tree", commit],
        &[],
        cancel,
    )?;
    let one = |line: &[u8]| {
        let (facts, path) = std::str::from_utf8(line).ok()?.split_once('\t')?;
        let mut words = facts.split(' ');
        let mode = u32::from_str_radix(words.next()?, 8).ok()?;
        let is_file = words.next()? == "blob";
        let object = words.next()?.to_owned();
        is_file.then_some((path.to_owned(), InTree { object, mode }))
    };
    Some(answer.split(|b| *b == 0).filter_map(one).collect())
}

/// The output of git; `None` when it is not installed, fails, takes too long or is stopped. `lines`
/// go to its standard input.
fn run(dir: &Path, args: &[&str], lines: &[&str], cancel: &Cancel) -> Option<Vec<u8>> {
    let mut all = vec![OsString::from("--git-dir"), dir.into()];
    all.extend(args.iter().map(OsString::from));
    let call = Call {
        folder: dir,
        args: all,
        settings: &own_settings(),
        input: lines
            .iter()
            .flat_map(|l| [l.as_bytes(), b"\n"])
            .flatten()
            .copied()
            .collect(),
        most: MOST,
    };
    call.output(cancel).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::git::run_in;
    use std::fs;

    #[test]
    fn objects_come_out_and_nothing_of_the_repository_runs() {
        let dir = tempfile::tempdir().unwrap();
        let git = |args: &[&str]| run_in(dir.path(), args);
        // A machine without git has nothing to read.
        if git(&["init", "-q"]).is_none() {
            return;
        }
        fs::write(dir.path().join("a b.txt"), "one\ntwo").unwrap();
        fs::write(dir.path().join("empty"), "").unwrap();
        git(&["add", "."]).unwrap();
        git(&["commit", "-qm", "x"]).unwrap();
        let trap = "touch trapped";
        for key in [
            "core.pager",
            "core.fsmonitor",
            "core.sshCommand",
            "diff.external",
        ] {
            git(&["config", key, trap]).unwrap();
        }
        let (place, cancel) = (dir.path().join(".git"), Cancel::new());
        let tree = tree(&place, "HEAD", &cancel).unwrap();
        assert_eq!(tree.len(), 2);
        let file = &tree["a b.txt"];
        assert_eq!(file.mode, 0o100_644);
        let missing = "0123456789012345678901234567890123456789";
        let asked = [file.object.as_str(), missing, tree["empty"].object.as_str()];
        let sizes = sizes(&place, &asked, &cancel);
        assert_eq!((sizes.len(), sizes[&file.object]), (2, 7));
        let contents = contents(&place, &asked, &cancel);
        assert_eq!(
            (contents.len(), &*contents[&file.object]),
            (2, &b"one\ntwo"[..])
        );
        assert!(!dir.path().join("trapped").exists() && !place.join("trapped").exists());
    }
}
