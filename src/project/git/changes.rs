//! What was changed in a work tree, as text, from git itself.
//!
//! A repository's settings can make git start programs: hooks, a file watcher, filters, drivers of
//! diffs, pagers, transports. All of them are switched off here, whatever the repository says.

use crate::cancel::Cancel;
use crate::project::read_text;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::process::Call;
pub use super::process::GitError;

/// The most bytes of one answer.
const MOST: u64 = 64 << 20;
/// The most bytes of a file that git does not track.
const MOST_NEW: u64 = 1 << 20;
/// A file with a zero byte among the first so many is no text, as git judges it.
const LOOKED_AT: usize = 8_000;

/// Settings that start something, and values that do not. An empty program is none.
const HARMLESS: [(&str, &str); 16] = [
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("core.quotePath", "false"),
    ("diff.external", ""),
    ("core.sshCommand", "false"),
    ("core.askPass", "false"),
    ("protocol.allow", "never"),
    ("diff.submodule", "short"),
    ("status.submoduleSummary", "false"),
    ("log.showSignature", "false"),
    ("gpg.program", "false"),
    ("gpg.openpgp.program", "false"),
    ("gpg.x509.program", "false"),
    ("gpg.ssh.program", "false"),
    ("gpg.ssh.defaultKeyCommand", "false"),
];

/// What switches off the filters that the settings of a repository name, given the keys that
/// `git config --null --name-only --list` prints.
fn filters_off(keys: &str) -> Vec<(String, String)> {
    let mut names: Vec<&str> = keys
        .split('\0')
        .filter_map(|key| key.strip_prefix("filter.")?.rsplit_once('.'))
        .map(|(name, _)| name)
        .collect();
    names.sort_unstable();
    names.dedup();
    let off = [
        ("clean", ""),
        ("smudge", ""),
        ("process", ""),
        ("required", "false"),
    ];
    let each =
        |name: &str| off.map(|(part, value)| (format!("filter.{name}.{part}"), value.into()));
    names.into_iter().flat_map(each).collect()
}

/// Settings under which a git that only reads starts nothing in any of these folders, whatever the
/// repositories there say. Where git cannot be asked, nothing is known of filters.
pub fn harmless(folders: &[PathBuf], cancel: &Cancel) -> Vec<(String, String)> {
    let mut settings = own_settings();
    for folder in folders {
        let call = Call {
            folder,
            args: ["config", "--null", "--name-only", "--list"]
                .map(OsString::from)
                .into(),
            settings: &own_settings(),
            input: Vec::new(),
            most: MOST,
        };
        let keys = call.output(cancel).unwrap_or_default();
        settings.extend(filters_off(&String::from_utf8_lossy(&keys)));
    }
    settings.sort();
    settings.dedup();
    settings
}

/// The same as texts.
pub(super) fn own_settings() -> Vec<(String, String)> {
    HARMLESS
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into()
}

/// A change of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDiff {
    /// The file, from the top of the work tree.
    pub path: String,
    /// Its diff, header included.
    pub text: String,
}

/// A change of a work tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// The files, in git's order, new ones last.
    pub files: Vec<FileDiff>,
    /// Files whose change cannot be shown, and why.
    pub left_out: Vec<(String, String)>,
}

/// Git in one work tree.
pub struct Git<'a> {
    root: &'a Path,
    cancel: &'a Cancel,
    settings: Vec<(String, String)>,
}

impl<'a> Git<'a> {
    /// Git in the work tree whose top folder is `root`.
    ///
    /// # Errors
    /// When git cannot be run there.
    pub fn at(root: &'a Path, cancel: &'a Cancel) -> Result<Self, GitError> {
        let mut git = Git {
            root,
            cancel,
            settings: own_settings(),
        };
        // Filters have names of the repository's choice. Looking at settings starts nothing.
        let keys = git.run(&["config", "--null", "--name-only", "--list"])?;
        git.settings.extend(filters_off(&keys));
        Ok(git)
    }

    /// Everything since the last commit: staged or not, and files that git does not track yet.
    ///
    /// # Errors
    /// One sentence.
    pub fn uncommitted(&self) -> Result<Changes, GitError> {
        let from = match self.commit("HEAD") {
            Ok(head) => head,
            // Before the first commit.
            Err(GitError::Said(_)) => self.empty_tree()?,
            Err(other) => return Err(other),
        };
        let mut changes = self.diff(&[&from])?;
        let new = self.run(&["ls-files", "--others", "--exclude-standard", "-z"])?;
        for path in new.split('\0').filter(|p| !p.is_empty()) {
            match self.new_file(path) {
                Ok(text) => changes.files.push(FileDiff {
                    path: path.to_owned(),
                    text,
                }),
                Err(why) => changes.left_out.push((path.to_owned(), why)),
            }
        }
        Ok(changes)
    }

    /// Everything since this work left `base`, what is not committed included. Gives the commit at
    /// which it left, too.
    ///
    /// # Errors
    /// One sentence: there is no such branch, or it has nothing in common.
    pub fn since(&self, base: &str) -> Result<(String, Changes), GitError> {
        let base = self.commit(base)?;
        let left = self.run(&["merge-base", "HEAD", &base])?;
        let left = left.trim().to_owned();
        let changes = self.diff(&[&left])?;
        Ok((left, changes))
    }

    /// What one commit changed; of a merge, against its first parent.
    ///
    /// # Errors
    /// One sentence: there is no such commit.
    pub fn of_commit(&self, name: &str) -> Result<Changes, GitError> {
        let id = self.commit(name)?;
        let parent = match self.commit(&format!("{id}^")) {
            Ok(parent) => parent,
            Err(GitError::Said(_)) => self.empty_tree()?,
            Err(other) => return Err(other),
        };
        self.diff(&[&parent, &id])
    }

    /// The id of a commit. A name is never taken for a flag.
    fn commit(&self, name: &str) -> Result<String, GitError> {
        let wanted = format!("{name}^{{commit}}");
        let words = ["rev-parse", "--verify", "--quiet", "--end-of-options"];
        match self.run(&[&words[..], &[&wanted]].concat()) {
            Ok(id) => Ok(id.trim().to_owned()),
            Err(GitError::Said(_)) => Err(GitError::Said(format!(
                "there is no commit or branch `{name}` here"
            ))),
            Err(other) => Err(other),
        }
    }

    fn empty_tree(&self) -> Result<String, GitError> {
        let id = self.run(&["hash-object", "-t", "tree", "--stdin"])?;
        Ok(id.trim().to_owned())
    }

    fn diff(&self, between: &[&str]) -> Result<Changes, GitError> {
        let mut args = vec![
            "diff",
            "--no-ext-diff",
            "--no-textconv",
            "--no-color",
            "--ignore-submodules=dirty",
            "--submodule=short",
            "--src-prefix=a/",
            "--dst-prefix=b/",
            "--find-renames",
        ];
        args.extend(between);
        args.push("--");
        Ok(split(&self.run(&args)?))
    }

    /// A file that git does not track, as the diff that would add it.
    fn new_file(&self, path: &str) -> Result<String, String> {
        let full = self.root.join(path);
        let meta = full.symlink_metadata().map_err(|e| e.to_string())?;
        if meta.is_symlink() {
            return Err("a symbolic link".into());
        }
        if meta.len() > MOST_NEW {
            return Err(format!("larger than {} MiB", MOST_NEW >> 20));
        }
        let (text, _) = read_text(&full, MOST_NEW).map_err(|e| e.to_string())?;
        if text.as_bytes().iter().take(LOOKED_AT).any(|b| *b == 0) {
            return Err("no text".into());
        }
        let count = text.lines().count();
        let mut out = format!(
            "diff --git a/{path} b/{path}\nnew file\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{count} @@\n"
        );
        for line in text.lines() {
            out.push('+');
            out.push_str(line);
            out.push('\n');
        }
        Ok(out)
    }

    /// What a call of git prints.
    fn run(&self, args: &[&str]) -> Result<String, GitError> {
        let mut all = vec![OsString::from("--no-pager"), work_tree(self.root)];
        all.extend(args.iter().map(OsString::from));
        let call = Call {
            folder: self.root,
            args: all,
            settings: &self.settings,
            input: Vec::new(),
            most: MOST,
        };
        let bytes = call.output(self.cancel)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// The work tree is that folder, whatever the repository's settings name.
fn work_tree(root: &Path) -> OsString {
    let mut flag = OsString::from("--work-tree=");
    flag.push(root);
    flag
}

/// The files of a diff. Those without text are left out.
fn split(diff: &str) -> Changes {
    let mut changes = Changes::default();
    let marks = diff.match_indices("\ndiff --git ").map(|(at, _)| at + 1);
    let first = diff.starts_with("diff --git ").then_some(0);
    let starts: Vec<usize> = first.into_iter().chain(marks).collect();
    let ends = starts.iter().skip(1).copied().chain([diff.len()]);
    for (start, end) in starts.iter().zip(ends) {
        let text = diff.get(*start..end).unwrap_or_default();
        let path = path_of(text);
        let is_binary = |l: &str| l.starts_with("Binary files ") || l == "GIT binary patch";
        if !text.contains("\n@@ ") && text.lines().any(is_binary) {
            changes.left_out.push((path, "no text".into()));
        } else {
            changes.files.push(FileDiff {
                path,
                text: text.to_owned(),
            });
        }
    }
    changes
}

/// The name that the file has after the change, or had before it was deleted.
fn path_of(diff: &str) -> String {
    let mut old = None;
    for line in diff.lines().take_while(|l| !l.starts_with("@@ ")) {
        let name = |prefix: &str| line.strip_prefix(prefix).map(unquoted);
        let new = name("+++ b/").or_else(|| name("+++ \"b/"));
        if let Some(path) = new.or_else(|| name("rename to ")) {
            return path;
        }
        old = old.or_else(|| name("--- a/")).or_else(|| name("--- \"a/"));
    }
    if let Some(old) = old {
        return old;
    }
    // A mode alone, or no text: both names are the same, so each is half of the rest.
    let names = diff.lines().next().unwrap_or_default();
    let names = names.strip_prefix("diff --git ").unwrap_or(names);
    let half = names.get(names.len().div_ceil(2)..).unwrap_or(names);
    unquoted(half.trim_start_matches("\"b/").trim_start_matches("b/"))
}

/// A name as git writes it, without the quote or the tab at the end that odd ones have.
fn unquoted(name: &str) -> String {
    name.trim_end_matches(['\t', '"']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::git::run_in as git;
    use std::fs;

    /// A repository with one commit; `None` on a machine without git.
    fn repository() -> Option<tempfile::TempDir> {
        let dir = tempfile::tempdir().unwrap();
        git(dir.path(), &["init", "-q", "-b", "main"])?;
        fs::write(dir.path().join("a b.txt"), "one\ntwo\n").unwrap();
        fs::write(dir.path().join("gone.txt"), "x\n").unwrap();
        git(dir.path(), &["add", "."])?;
        git(dir.path(), &["commit", "-q", "-m", "first"])?;
        Some(dir)
    }

    fn paths(changes: &Changes) -> Vec<&str> {
        changes.files.iter().map(|f| f.path.as_str()).collect()
    }

    #[test]
    fn what_is_uncommitted_is_told_file_by_file() {
        let Some(dir) = repository() else { return };
        let (root, cancel) = (dir.path(), Cancel::new());
        fs::write(root.join("a b.txt"), "one\n2\n").unwrap();
        fs::remove_file(root.join("gone.txt")).unwrap();
        fs::write(root.join("new ü.txt"), "n\n").unwrap();
        fs::write(root.join("pic.bin"), b"\0\x01").unwrap();
        fs::write(root.join(".gitignore"), "out\n").unwrap();
        fs::write(root.join("out"), "ignored\n").unwrap();
        let changes = Git::at(root, &cancel).unwrap().uncommitted().unwrap();
        assert_eq!(
            paths(&changes),
            ["a b.txt", "gone.txt", ".gitignore", "new ü.txt"]
        );
        assert!(changes.files[0].text.contains("-two\n+2\n"));
        assert!(changes.files[3].text.ends_with("@@ -0,0 +1,1 @@\n+n\n"));
        assert_eq!(changes.left_out, [("pic.bin".into(), "no text".into())]);
    }

    #[test]
    fn a_branch_and_a_commit_are_told() {
        let Some(dir) = repository() else { return };
        let (root, cancel) = (dir.path(), Cancel::new());
        git(root, &["checkout", "-q", "-b", "side"]).unwrap();
        fs::write(root.join("b.txt"), "b\n").unwrap();
        git(root, &["add", "."]).unwrap();
        git(root, &["commit", "-q", "-m", "second"]).unwrap();
        fs::write(root.join("b.txt"), "bb\n").unwrap();
        let it = Git::at(root, &cancel).unwrap();
        let (left, changes) = it.since("main").unwrap();
        assert_eq!(left.len(), 40);
        assert!(changes.files[0].text.contains("+bb"));
        assert!(it.of_commit("HEAD").unwrap().files[0].text.contains("+b\n"));
        assert_eq!(paths(&it.of_commit("main").unwrap()).len(), 2);
        for bad in ["nowhere", "--output=x", "HEAD:b.txt"] {
            let why = it.of_commit(bad).unwrap_err().to_string();
            assert!(why.contains(bad), "{why}");
        }
        assert!(!root.join("x").exists());
    }

    #[test]
    fn before_the_first_commit_everything_is_new() {
        let dir = tempfile::tempdir().unwrap();
        if git(dir.path(), &["init", "-q"]).is_none() {
            return;
        }
        fs::write(dir.path().join("a"), "x\n").unwrap();
        git(dir.path(), &["add", "a"]).unwrap();
        let cancel = Cancel::new();
        let changes = Git::at(dir.path(), &cancel).unwrap().uncommitted().unwrap();
        assert_eq!(paths(&changes), ["a"]);
    }

    /// Each of these would leave a file behind if git started it.
    #[cfg(unix)]
    #[test]
    fn nothing_that_a_repository_names_is_started() {
        use std::os::unix::fs::PermissionsExt;
        let Some(dir) = repository() else { return };
        let root = dir.path();
        let (marker, script) = (root.join(".git/started"), root.join(".git/evil"));
        let text = format!("#!/bin/sh\necho $0 >> {}\ncat\n", marker.display());
        fs::write(&script, text).unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        let evil = script.to_str().unwrap();
        for key in [
            "core.fsmonitor",
            "core.pager",
            "diff.external",
            "diff.evil.command",
            "diff.evil.textconv",
            "filter.e=v.il.clean",
            "filter.e=v.il.process",
            "filter.plain.clean",
        ] {
            git(root, &["config", key, evil]).unwrap();
        }
        git(root, &["config", "filter.plain.required", "true"]).unwrap();
        git(root, &["config", "core.worktree", "/"]).unwrap();
        fs::write(
            root.join(".gitattributes"),
            "a* diff=evil filter=plain\ngone.txt filter=e=v.il\n",
        )
        .unwrap();
        fs::write(root.join("a b.txt"), "one\n2\n").unwrap();
        fs::write(root.join("gone.txt"), "y\n").unwrap();
        let _ = fs::remove_file(&marker);
        let cancel = Cancel::new();
        let changes = Git::at(root, &cancel).unwrap().uncommitted().unwrap();
        assert_eq!(paths(&changes), ["a b.txt", "gone.txt", ".gitattributes"]);
        assert!(!marker.exists(), "{}", fs::read_to_string(&marker).unwrap());
    }
}
