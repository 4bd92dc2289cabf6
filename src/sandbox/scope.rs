//! Where a policy allows writing, resolved against the disk once.
//!
//! The fence and the file gate both ask here, so that a command and a file tool never differ.

use super::nested::Nested;
use super::{Lift, Mode, PROTECTED, Policy};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// A policy whose folders are canonical.
#[derive(Debug, Clone)]
pub(super) struct Scope {
    pub mode: Mode,
    pub network: bool,
    /// The workspace.
    pub roots: Vec<PathBuf>,
    /// The temporary folders that are writable too.
    pub temps: Vec<PathBuf>,
    /// Our own homes.
    pub hidden: Vec<PathBuf>,
    /// What stays readable in them.
    pub shown: Vec<PathBuf>,
    /// The repositories in the workspace, once they were looked for.
    nested: Arc<OnceLock<Nested>>,
}

/// Names inside writable folders that must stay as they are.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Sealed {
    /// Read-only files and folders, whether or not they exist.
    pub paths: Vec<PathBuf>,
    /// Those names that are symbolic links. A fence would cover the target and not the link.
    pub links: Vec<PathBuf>,
    /// Names that a mount cannot keep as they are: links in nested repositories, and what does not exist
    /// where an empty stand-in would do harm.
    pub watched: Vec<PathBuf>,
}

impl Scope {
    /// Resolves the folders of a policy. Those that do not exist are left out.
    pub fn new(policy: &Policy) -> Self {
        let mut temps = Vec::new();
        if policy.slash_tmp && cfg!(unix) {
            temps.push(PathBuf::from("/tmp"));
        }
        if policy.tmpdir {
            let name = if cfg!(windows) { "TEMP" } else { "TMPDIR" };
            temps.extend(std::env::var_os(name).map(PathBuf::from));
        }
        let mut temps = folders(temps.iter());
        // A temporary folder that is the whole disk would undo the workspace.
        temps.retain(|t| t.parent().is_some());
        Self {
            mode: policy.mode,
            network: policy.network,
            roots: folders(policy.roots.iter()),
            temps,
            hidden: policy
                .own_homes
                .iter()
                .map(|h| resolve(h).unwrap_or_else(|| h.clone()))
                .collect(),
            shown: folders(policy.readable.iter()),
            nested: Arc::default(),
        }
    }

    /// The writable folders, outer ones first.
    pub fn writable(&self, lift: &Lift) -> Vec<PathBuf> {
        let mut all = Vec::new();
        if self.mode != Mode::ReadOnly {
            all.extend(self.roots.iter().chain(&self.temps).cloned());
        }
        match lift {
            Lift::Folder(folder) => all.extend(folders([folder])),
            Lift::Git => {
                for root in &self.roots {
                    let entry = root.join(".git");
                    if entry.is_dir() {
                        all.extend(folders([&entry]));
                    }
                    all.extend(git_folders(root).filter(|g| g.belongs).map(|g| g.path));
                }
            }
            Lift::Nothing | Lift::Network | Lift::Everything => {}
        }
        all.sort();
        all.dedup();
        all
    }

    /// The protected names of the writable folders.
    pub fn sealed(&self, lift: &Lift) -> Sealed {
        let mut sealed = Sealed::default();
        let lifted = match lift {
            Lift::Folder(folder) => resolve(folder),
            _ => None,
        };
        let roots = match self.mode {
            Mode::ReadOnly => &[][..],
            _ => &self.roots[..],
        };
        for root in roots.iter().chain(&lifted) {
            for name in PROTECTED {
                if name == ".git" && *lift == Lift::Git {
                    continue;
                }
                let path = root.join(name);
                if path.is_symlink() {
                    sealed.links.push(path.clone());
                }
                sealed.paths.push(path);
            }
            if *lift != Lift::Git {
                sealed.paths.extend(git_folders(root).map(|g| g.path));
            }
        }
        if self.mode != Mode::ReadOnly && *lift != Lift::Git {
            let nested = self.nested();
            sealed.paths.extend(nested.sealed.iter().cloned());
            let watched = nested.watched.iter();
            let watched = watched.filter(|p| p.is_symlink() || !p.exists());
            sealed.watched.extend(watched.cloned());
        }
        // Other people can plant names in a shared temporary folder, and tools may make their
        // own: there only what exists is protected.
        if self.mode != Mode::ReadOnly {
            for temp in self.temps.iter().filter(|t| !roots.contains(t)) {
                let names = PROTECTED.iter().map(|name| temp.join(name));
                sealed
                    .paths
                    .extend(names.filter(|p| p.exists() && !p.is_symlink()));
            }
        }
        let writable = self.writable(lift);
        sealed.paths.retain(|p| {
            lifted.as_ref() != Some(p) && writable.iter().any(|w| p != w && p.starts_with(w))
        });
        sealed.paths.sort();
        sealed.paths.dedup();
        sealed
    }

    fn nested(&self) -> &Nested {
        self.nested.get_or_init(|| {
            let mut all = Nested::default();
            for root in &self.roots {
                let found = Nested::find(root);
                all.sealed.extend(found.sealed);
                all.watched.extend(found.watched);
            }
            all
        })
    }

    /// True when the path is in one of our own homes, and not in a part that is readable.
    pub fn is_hidden(&self, path: &Path) -> bool {
        self.hidden.iter().any(|h| is_within(path, h))
            && !self.shown.iter().any(|s| path.starts_with(s))
    }
}

/// True when `path` is `folder` or below it, by components. Letter case does not count, because
/// on many disks it does not and the question is whether to refuse.
pub(super) fn is_within(path: &Path, folder: &Path) -> bool {
    let mut parts = path.components();
    folder.components().all(|want| {
        parts
            .next()
            .is_some_and(|have| have.as_os_str().eq_ignore_ascii_case(want.as_os_str()))
    })
}

/// The canonical path of something that exists.
fn resolve(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}

/// The canonical paths of those that are folders.
fn folders<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Vec<PathBuf> {
    paths
        .into_iter()
        .filter(|p| p.is_absolute())
        .filter_map(|p| resolve(p))
        .filter(|p| p.is_dir())
        .collect()
}

/// A folder of git's that a `.git` file points to, directly or through `commondir`.
pub(super) struct GitFolder {
    pub path: PathBuf,
    /// The folder points back, so that it really is the one of this work tree.
    pub belongs: bool,
}

/// The folders behind a `.git` that is a file, as in a work tree or a submodule.
pub(super) fn git_folders(root: &Path) -> impl Iterator<Item = GitFolder> {
    let entry = root.join(".git");
    let mut found = Vec::new();
    let pointer = small_text(&entry);
    if let Some(to) = pointer.as_deref().and_then(|t| t.strip_prefix("gitdir:"))
        && let Some(dir) = resolve(&root.join(to.trim()))
        && dir.join("HEAD").is_file()
    {
        // A repository can come with a pointer to any folder of the person, so an approval for
        // git follows it only where git itself made the other end.
        let back = small_text(&dir.join("gitdir")).and_then(|t| resolve(&dir.join(t.trim())));
        let module = root
            .ancestors()
            .skip(1)
            .any(|above| dir.starts_with(above.join(".git").join("modules")));
        let belongs = module || back.is_some_and(|b| resolve(&entry) == Some(b));
        let common = small_text(&dir.join("commondir")).and_then(|t| resolve(&dir.join(t.trim())));
        if let Some(common) = common.filter(|c| c.join("HEAD").is_file()) {
            found.push(GitFolder {
                belongs: belongs && dir.starts_with(&common),
                path: common,
            });
        }
        found.push(GitFolder { path: dir, belongs });
    }
    found.into_iter()
}

/// The text of a regular file of at most 4 KiB.
pub(super) fn small_text(path: &Path) -> Option<String> {
    let meta = fs::symlink_metadata(path).ok()?;
    if !meta.is_file() || meta.len() > 4096 {
        return None;
    }
    let mut text = String::new();
    let file = fs::File::open(path).ok()?;
    file.take(4096).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(root: &Path) -> Policy {
        Policy {
            mode: Mode::WorkspaceWrite,
            roots: vec![root.to_owned()],
            network: false,
            slash_tmp: false,
            tmpdir: false,
            own_homes: vec![],
            readable: vec![],
        }
    }

    #[test]
    fn protected_names_are_sealed_before_they_exist() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let scope = Scope::new(&policy(&root));
        let sealed = scope.sealed(&Lift::Nothing).paths;
        assert_eq!(sealed.len(), 4);
        assert!(sealed.contains(&root.join(".agents")));
        let sealed = scope.sealed(&Lift::Git).paths;
        assert!(!sealed.contains(&root.join(".git")));
        assert!(sealed.contains(&root.join(".codex")));
    }

    #[test]
    fn an_approval_for_git_follows_a_pointer_only_to_its_own_repository() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let (tree, store) = (base.join("tree"), base.join("main/.git/worktrees/tree"));
        fs::create_dir_all(&tree).unwrap();
        fs::create_dir_all(&store).unwrap();
        fs::write(tree.join(".git"), format!("gitdir: {}\n", store.display())).unwrap();
        fs::write(store.join("HEAD"), "ref: refs/heads/x\n").unwrap();
        fs::write(base.join("main/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(store.join("commondir"), "../..\n").unwrap();
        let scope = Scope::new(&policy(&tree));
        assert_eq!(scope.writable(&Lift::Git), std::slice::from_ref(&tree));
        fs::write(store.join("gitdir"), tree.join(".git").to_str().unwrap()).unwrap();
        assert_eq!(
            scope.writable(&Lift::Git),
            [base.join("main/.git"), store, tree]
        );
    }

    #[test]
    fn components_decide_not_prefixes() {
        assert!(is_within(Path::new("/a/b/c"), Path::new("/a/b")));
        assert!(is_within(Path::new("/a/.GIT/c"), Path::new("/a/.git")));
        assert!(!is_within(Path::new("/a/bc"), Path::new("/a/b")));
    }
}
