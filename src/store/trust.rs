//! Whether the user trusts a project. The answer stands in the user's config, as
//! `[projects."PATH"] trust_level`; nothing that a project brings can change it.

use super::StoreError;
use super::paths::{canonical, private_replace};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The most bytes of the file of what was trusted.
const MOST_PINS: u64 = 1 << 20;

/// What the user said of a project, held against what the project brings now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Standing {
    /// Trusted, and as it was then.
    Trusted,
    /// Not to be trusted.
    Untrusted,
    /// Trusted once, and changed since.
    Changed,
    /// The user has said nothing.
    #[default]
    Unknown,
    /// It brings more than can be checked.
    TooMuch,
}

/// What exactly was trusted: `trust.json` in the home. The user's config says which projects are
/// trusted, this file what they brought then.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pins {
    /// The digests of the files that a project brought, by its folder.
    pub projects: BTreeMap<PathBuf, BTreeSet<String>>,
    /// The digest of a hook, by its key.
    pub hooks: BTreeMap<String, String>,
}

impl Pins {
    fn file(home: &Path) -> PathBuf {
        home.join("trust.json")
    }

    /// Reads the file. One that is missing or broken says nothing, so that everything is asked again.
    pub fn read(home: &Path) -> Self {
        let read = || {
            let file = fs::File::open(Self::file(home)).ok()?;
            let mut text = String::new();
            file.take(MOST_PINS).read_to_string(&mut text).ok()?;
            serde_json::from_str(&text).ok()
        };
        read().unwrap_or_default()
    }

    /// Changes the file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn change(home: &Path, change: impl FnOnce(&mut Pins)) -> Result<(), StoreError> {
        let mut pins = Self::read(home);
        let before = pins.clone();
        change(&mut pins);
        if pins == before {
            return Ok(());
        }
        let text = serde_json::to_string_pretty(&pins).unwrap_or_default();
        private_replace(&Self::file(home), format!("{text}\n").as_bytes())
    }
}

/// How a project stands. `level` is what the user said, `pinned` the digests of what was trusted, and
/// `digests` those of now. Trust without any is one that was just written by hand: it is for what is
/// there now.
pub fn standing(
    level: Option<bool>,
    pinned: Option<&BTreeSet<String>>,
    digests: Option<&BTreeSet<String>>,
) -> Standing {
    match (level, digests) {
        (Some(false), _) => Standing::Untrusted,
        (None, _) => Standing::Unknown,
        (Some(true), None) => Standing::TooMuch,
        (Some(true), Some(now)) if pinned.is_none_or(|then| now.is_subset(then)) => {
            Standing::Trusted
        }
        (Some(true), Some(_)) => Standing::Changed,
    }
}

/// The root of the project around `cwd`: the nearest folder with one of the markers in it, or
/// `cwd` itself.
pub fn project_root(cwd: &Path, markers: &[String]) -> PathBuf {
    cwd.ancestors()
        .find(|folder| {
            markers
                .iter()
                .any(|m| folder.join(m).symlink_metadata().is_ok())
        })
        .unwrap_or(cwd)
        .to_owned()
}

/// The folder that trust is given to: the root, or for a linked git worktree that of the
/// main repository.
pub fn trust_root(root: &Path) -> PathBuf {
    main_repository(root).unwrap_or_else(|| root.to_owned())
}

/// What the user said about a project: `cwd` is looked up first, then its root, then the main
/// repository of a worktree. `None`: nothing was said.
pub fn level(projects: &BTreeMap<PathBuf, bool>, cwd: &Path, root: &Path) -> Option<bool> {
    [cwd.to_owned(), root.to_owned(), trust_root(root)]
        .iter()
        .find_map(|folder| {
            let folder = canonical(folder);
            projects
                .iter()
                .find(|(path, _)| canonical(path) == folder)
                .map(|(_, trusted)| *trusted)
        })
}

/// The main repository of a linked worktree. Its `.git` is a file that names a folder of the main
/// repository, which must name the file in turn: a stranger's `.git` file alone proves nothing.
fn main_repository(root: &Path) -> Option<PathBuf> {
    let pointer = root.join(".git");
    let text = small_file(&pointer)?;
    let git_dir = root.join(text.trim().strip_prefix("gitdir:")?.trim());
    let back = git_dir.join(small_file(&git_dir.join("gitdir"))?.trim());
    if canonical(&back) != canonical(&pointer) {
        return None;
    }
    let common = canonical(&git_dir.join(small_file(&git_dir.join("commondir"))?.trim()));
    // The folder must be one that git made there, not a copy elsewhere that points to it.
    if !canonical(&git_dir).starts_with(common.join("worktrees")) {
        return None;
    }
    match common.file_name() {
        Some(name) if name == ".git" => common.parent().map(Path::to_owned),
        _ => None,
    }
}

fn small_file(path: &Path) -> Option<String> {
    const MOST: u64 = 4096;
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    fs::File::open(path)
        .ok()?
        .take(MOST)
        .read_to_string(&mut text)
        .ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn projects(path: &Path, trusted: bool) -> BTreeMap<PathBuf, bool> {
        [(path.to_owned(), trusted)].into()
    }

    /// A main repository with a worktree, as `git worktree add` lays them out.
    fn worktree(dir: &Path) -> (PathBuf, PathBuf) {
        let (main, tree) = (dir.join("main"), dir.join("tree"));
        let git_dir = main.join(".git/worktrees/tree");
        fs::create_dir_all(&git_dir).unwrap();
        fs::create_dir(&tree).unwrap();
        fs::write(git_dir.join("commondir"), "../..\n").unwrap();
        fs::write(
            git_dir.join("gitdir"),
            format!("{}\n", tree.join(".git").display()),
        )
        .unwrap();
        fs::write(
            tree.join(".git"),
            format!("gitdir: {}\n", git_dir.display()),
        )
        .unwrap();
        (main, tree)
    }

    #[test]
    fn the_working_folder_comes_before_the_root() {
        let dir = tempfile::tempdir().unwrap();
        let root = canonical(dir.path());
        let cwd = root.join("a/b");
        fs::create_dir_all(&cwd).unwrap();
        fs::create_dir(root.join(".git")).unwrap();
        assert_eq!(project_root(&cwd, &[".git".into()]), root);
        assert_eq!(project_root(&cwd, &[]), cwd);
        assert_eq!(level(&projects(&root, true), &cwd, &root), Some(true));
        let mut both = projects(&root, true);
        both.insert(cwd.clone(), false);
        assert_eq!(level(&both, &cwd, &root), Some(false));
        assert_eq!(
            level(&projects(Path::new("/elsewhere"), true), &cwd, &root),
            None
        );
    }

    #[test]
    fn a_worktree_has_the_trust_of_its_main_repository() {
        let dir = tempfile::tempdir().unwrap();
        let (main, tree) = worktree(dir.path());
        assert_eq!(level(&projects(&main, true), &tree, &tree), Some(true));
    }

    #[test]
    fn a_git_file_that_only_claims_to_be_a_worktree_has_no_trust() {
        let dir = tempfile::tempdir().unwrap();
        let (main, _) = worktree(dir.path());
        let fake = dir.path().join("fake");
        fs::create_dir(&fake).unwrap();
        let claim = main.join(".git/worktrees/tree");
        fs::write(fake.join(".git"), format!("gitdir: {}", claim.display())).unwrap();
        assert_eq!(level(&projects(&main, true), &fake, &fake), None);

        // A stranger may bring the whole folder, too, with a commondir that points away.
        let brought = fake.join("g");
        fs::create_dir(&brought).unwrap();
        fs::write(fake.join(".git"), "gitdir: g").unwrap();
        fs::write(
            brought.join("gitdir"),
            fake.join(".git").display().to_string(),
        )
        .unwrap();
        fs::write(
            brought.join("commondir"),
            main.join(".git").display().to_string(),
        )
        .unwrap();
        assert_eq!(level(&projects(&main, true), &fake, &fake), None);
    }
}
