//! Facts about the git work tree, read from its files. Git itself is not run for them: it need not
//! be installed, and a repository's own settings can make it start other programs. [`changes`] and
//! [`objects`] run it, with those settings taken away.

pub mod changes;
pub mod index;
pub mod objects;
mod process;

pub use changes::harmless;

use super::read_text;
use std::path::{Path, PathBuf};

/// The most bytes of `HEAD`, a ref or a `.git` file that are read.
const SMALL: u64 = 4096;
/// The most bytes of `packed-refs`.
const PACKED: u64 = 16 << 20;
/// How many symbolic refs may lead to one another.
const DEPTH: usize = 5;

/// What is known about a work tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitFacts {
    /// Its top folder.
    pub root: PathBuf,
    /// The branch; `None` with a detached `HEAD`.
    pub branch: Option<String>,
    /// The commit in hexadecimal; `None` before the first one.
    pub commit: Option<String>,
}

/// The facts of the work tree that holds `cwd`; `None` outside of one. A folder or file `.git`
/// without a `HEAD` behind it is passed over, as git does.
pub fn facts(cwd: &Path) -> Option<GitFacts> {
    each_tree(cwd, |root, dir, head| {
        let (branch, commit) = match head.strip_prefix("ref:") {
            Some(name) => {
                let name = ref_name(name)?;
                // Repositories with the reftable format keep this as a place-holder.
                let branch = name
                    .strip_prefix("refs/heads/")
                    .filter(|b| *b != ".invalid");
                (branch.map(str::to_string), resolve(dir, name))
            }
            None => (None, Some(commit_id(head)?)),
        };
        Some(GitFacts {
            root: root.to_path_buf(),
            branch,
            commit,
        })
    })
}

/// The top folder of the work tree that holds `cwd`, and the folder with its `HEAD` and index;
/// `None` outside of one.
pub fn folders(cwd: &Path) -> Option<(PathBuf, PathBuf)> {
    each_tree(cwd, |root, dir, _| {
        Some((root.to_path_buf(), dir.to_path_buf()))
    })
}

/// The first answer for a folder with a `.git`, from `cwd` upwards: asked with that folder, the
/// folder that holds `HEAD`, and its first line.
fn each_tree<T>(cwd: &Path, ask: impl Fn(&Path, &Path, &str) -> Option<T>) -> Option<T> {
    let cwd = std::path::absolute(cwd).ok()?;
    cwd.ancestors().find_map(|root| {
        let dir = git_dir(root)?;
        let head = first_line(&dir.join("HEAD"))?;
        ask(root, &dir, &head)
    })
}

/// The folder with `HEAD`: `.git` itself, or where a `.git` file points (work trees, submodules).
fn git_dir(root: &Path) -> Option<PathBuf> {
    let dot = root.join(".git");
    if dot.is_dir() {
        return Some(dot);
    }
    let line = first_line(&dot)?;
    let target = line.strip_prefix("gitdir:")?.trim();
    (!target.is_empty()).then(|| root.join(target))
}

/// The commit that a ref stands for: from its own file, else from `packed-refs`. A linked work
/// tree shares both with the main one.
fn resolve(dir: &Path, name: &str) -> Option<String> {
    let common = match first_line(&dir.join("commondir")) {
        Some(path) => dir.join(path),
        None => dir.to_path_buf(),
    };
    let mut name = name.to_string();
    for _ in 0..DEPTH {
        let line = [dir, &common]
            .iter()
            .find_map(|d| first_line(&d.join(&name)));
        match line {
            Some(line) => match line.strip_prefix("ref:") {
                Some(next) => name = ref_name(next)?.to_string(),
                None => return commit_id(&line),
            },
            None => return packed(&common, &name),
        }
    }
    None
}

fn packed(common: &Path, name: &str) -> Option<String> {
    let (text, _) = read_text(&common.join("packed-refs"), PACKED).ok()?;
    text.lines().find_map(|line| {
        let (id, of) = line.split_once(' ')?;
        (of.trim_end() == name).then(|| commit_id(id))?
    })
}

/// A ref's name, if it is one that git would take: it stays inside `refs/` and has no characters
/// that would spoil a prompt or a terminal.
fn ref_name(name: &str) -> Option<&str> {
    let name = name.trim();
    let good = name.starts_with("refs/")
        && !name.contains("..")
        && !name.contains(|c: char| c.is_control() || c == '\\' || c == ' ')
        && name.len() <= 255;
    good.then_some(name)
}

/// An object's name: 40 digits for SHA-1, 64 for SHA-256.
fn commit_id(text: &str) -> Option<String> {
    let text = text.trim();
    let good = matches!(text.len(), 40 | 64) && text.bytes().all(|b| b.is_ascii_hexdigit());
    good.then(|| text.to_lowercase())
}

fn first_line(path: &Path) -> Option<String> {
    let (text, _) = read_text(path, SMALL).ok()?;
    let line = text.lines().next()?.trim();
    (!line.is_empty()).then(|| line.to_string())
}

/// Runs git for the set-up of a test, under a made-up name and with no more than its output; `None`
/// when it fails or is missing.
#[cfg(test)]
pub(in crate::project) fn run_in(dir: &Path, args: &[&str]) -> Option<String> {
    let out = std::process::Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@t"])
        .args(["-c", "commit.gpgsign=false"])
        .args(args)
        .current_dir(dir)
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    out.status.success().then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const A: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    const B: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

    fn place(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        dir
    }

    fn told(
        dir: &tempfile::TempDir,
        cwd: &str,
    ) -> Option<(String, Option<String>, Option<String>)> {
        let cwd = dir.path().join(cwd);
        fs::create_dir_all(&cwd).unwrap();
        let f = facts(&cwd)?;
        let root = f
            .root
            .strip_prefix(dir.path())
            .unwrap()
            .display()
            .to_string();
        Some((root, f.branch, f.commit))
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_string())
    }

    #[test]
    fn branch_and_commit_from_loose_and_packed_refs() {
        let dir = place(&[
            ("r/.git/HEAD", "ref: refs/heads/feature/x\n"),
            ("r/.git/refs/heads/feature/x", &format!("{A}\n")),
            (
                "r/.git/packed-refs",
                &format!("# pack-refs with: peeled\n{B} refs/heads/feature/x\n"),
            ),
        ]);
        assert_eq!(
            told(&dir, "r/src/deep"),
            Some(("r".into(), some("feature/x"), some(A)))
        );
        fs::remove_file(dir.path().join("r/.git/refs/heads/feature/x")).unwrap();
        assert_eq!(
            told(&dir, "r"),
            Some(("r".into(), some("feature/x"), some(B)))
        );
        fs::remove_file(dir.path().join("r/.git/packed-refs")).unwrap();
        assert_eq!(told(&dir, "r"), Some(("r".into(), some("feature/x"), None)));
        fs::write(dir.path().join("r/.git/HEAD"), format!("{A}\n")).unwrap();
        assert_eq!(told(&dir, "r"), Some(("r".into(), None, some(A))));
    }

    #[test]
    fn a_linked_work_tree_shares_its_refs() {
        let dir = place(&[
            ("main/.git/HEAD", "ref: refs/heads/main\n"),
            ("main/.git/refs/heads/side", A),
            ("main/.git/worktrees/w/HEAD", "ref: refs/heads/side\n"),
            ("main/.git/worktrees/w/commondir", "../..\n"),
            ("w/.git", "gitdir: ../main/.git/worktrees/w\n"),
        ]);
        assert_eq!(told(&dir, "w"), Some(("w".into(), some("side"), some(A))));
    }

    #[test]
    fn what_is_no_repository_is_passed_over() {
        let dir = place(&[
            ("r/.git/HEAD", "ref: refs/heads/main\n"),
            ("r/a/.git/config", ""),
            ("r/b/.git", "gitdir: nowhere\n"),
        ]);
        for cwd in ["r/a", "r/b"] {
            assert_eq!(
                told(&dir, cwd),
                Some(("r".into(), some("main"), None)),
                "{cwd}"
            );
        }
    }

    #[test]
    fn a_hostile_head_says_nothing() {
        for head in [
            "ref: refs/../../secret",
            "ref: refs/heads/a\u{1b}[31m",
            "ref: /etc/passwd",
            "no hash at all",
        ] {
            let dir = place(&[("r/.git/HEAD", head), (".git/HEAD", A)]);
            assert_eq!(
                told(&dir, "r"),
                Some((String::new(), None, some(A))),
                "{head:?}"
            );
        }
        // Refs that name one another come to an end.
        let dir = place(&[
            ("r/.git/HEAD", "ref: refs/heads/a"),
            ("r/.git/refs/heads/a", "ref: refs/heads/a"),
        ]);
        assert_eq!(told(&dir, "r"), Some(("r".into(), some("a"), None)));
    }

    #[test]
    fn agrees_with_git() {
        let dir = tempfile::tempdir().unwrap();
        let git = |args: &[&str]| run_in(dir.path(), args);
        // A machine without git has nothing to compare with.
        if git(&["init", "-q", "-b", "trunk"]).is_none() {
            return;
        }
        git(&["commit", "-q", "--allow-empty", "-m", "x"]).unwrap();
        git(&["pack-refs", "--all"]).unwrap();
        let id = git(&["rev-parse", "HEAD"]).unwrap();
        let id = id.trim().to_string();
        assert_eq!(
            told(&dir, "sub"),
            Some((String::new(), some("trunk"), Some(id)))
        );
    }
}
