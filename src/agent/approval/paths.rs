//! Which files an action changes, and where they lie, judged by their names alone.
//!
//! Links are not followed here: the gate of the file tools sees where a path really leads and
//! refuses what the verdict did not lift.

use crate::sandbox::{Mode, PROTECTED, Policy};
use crate::tools::action::Action;
use crate::tools::patch_paths;
use std::path::{Component, Path, PathBuf};

/// What makes git run programs in a repository that is not the workspace's own.
const GIT_SETTINGS: [&str; 4] = ["commondir", "config", "config.worktree", "hooks"];

/// Where a path lies under a policy.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// It may be written.
    Writable,
    /// In a folder of this program, which nothing may write.
    Ours,
    /// In the `.git` of a writable folder, or the settings of another repository in it.
    Git,
    /// In another protected folder, this one.
    Protected(PathBuf),
    /// Anywhere else.
    Outside,
}

/// The folders that the policy lets tools write, with `temp` as the temporary folder.
pub(super) fn writable(policy: &Policy, temp: Option<PathBuf>) -> Vec<PathBuf> {
    if policy.mode == Mode::ReadOnly {
        return Vec::new();
    }
    let mut out = policy.roots.clone();
    if policy.slash_tmp && cfg!(unix) {
        out.push(PathBuf::from("/tmp"));
    }
    if policy.tmpdir {
        out.extend(temp);
    }
    out
}

/// Judges an absolute path. The workspace's folders are protected in every mode, also where the
/// workspace lies inside another writable folder.
pub(super) fn place(path: &Path, policy: &Policy, writable: &[PathBuf]) -> Place {
    if policy.own_homes.iter().any(|home| path.starts_with(home)) {
        return Place::Ours;
    }
    for root in policy.roots.iter().chain(writable) {
        let first = path.strip_prefix(root).ok().and_then(|p| p.iter().next());
        // File systems that ignore case make `.GIT` the same folder.
        let name = first.and_then(|f| f.to_str()).and_then(|f| {
            PROTECTED
                .into_iter()
                .find(|name| name.eq_ignore_ascii_case(f))
        });
        match name {
            Some(".git") => return Place::Git,
            Some(name) => return Place::Protected(root.join(name)),
            None => {}
        }
    }
    if !writable.iter().any(|root| path.starts_with(root)) {
        Place::Outside
    } else if is_git_setting(path) {
        Place::Git
    } else {
        Place::Writable
    }
}

/// True for the configuration and the hooks of a repository, wherever it lies.
fn is_git_setting(path: &Path) -> bool {
    let mut parts = path.iter().filter_map(|p| p.to_str());
    let is = |part: &str, name: &str| part.eq_ignore_ascii_case(name);
    while let Some(part) = parts.next() {
        if is(part, ".git") {
            let next = parts.next();
            return next.is_none_or(|n| GIT_SETTINGS.iter().any(|s| is(n, s)));
        }
    }
    false
}

/// The files that an action would change, absolute; of a patch that cannot be read none, as it will
/// change none.
pub fn touched(action: &Action, cwd: &Path) -> Vec<PathBuf> {
    match action {
        Action::Write { path, .. }
        | Action::Edit { path, .. }
        | Action::Insert { path, .. }
        | Action::UndoEdit { path } => vec![resolve(path, cwd)],
        Action::EditCell(edit) => vec![resolve(&edit.path, cwd)],
        Action::Patch { text, form, dir } => {
            let base = resolve(dir.as_deref().unwrap_or("."), cwd);
            let paths = patch_paths(text, *form).unwrap_or_default();
            paths.iter().map(|path| resolve(path, &base)).collect()
        }
        _ => Vec::new(),
    }
}

/// `path` seen from `cwd`, with `.` and `..` taken away.
pub fn resolve(path: &str, cwd: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in cwd.join(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}

/// One folder that holds all of these: one of them, or a folder inside the workspace.
pub(super) fn common(folders: &[PathBuf], roots: &[PathBuf]) -> Option<PathBuf> {
    let (first, rest) = folders.split_first()?;
    let holds = |folder: &&Path| rest.iter().all(|other| other.starts_with(folder));
    let folder = first.ancestors().find(holds)?;
    let is_narrow =
        folders.iter().any(|f| f == folder) || roots.iter().any(|root| folder.starts_with(root));
    is_narrow.then(|| folder.to_owned())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::tools::action::PatchForm;

    #[test]
    fn paths_are_resolved_by_name() {
        let at = |p: &str| resolve(p, Path::new("/w/sub"));
        assert_eq!(at("a/./b/../c"), Path::new("/w/sub/a/c"));
        assert_eq!(at("../../x"), Path::new("/x"));
        assert_eq!(at("../../../../x"), Path::new("/x"));
        assert_eq!(at("/etc/../a"), Path::new("/a"));
    }

    #[test]
    fn a_patch_touches_what_its_headers_name() {
        let paths = |text: &str, form| {
            let action = Action::Patch {
                text: text.into(),
                form,
                dir: Some("sub".into()),
            };
            touched(&action, Path::new("/w"))
        };
        let codex = "*** Begin Patch\n*** Add File: a\n+*** Add File: no\n*** Update File: ../b\n*** Move to: /c/d\n@@\n-x\n*** Delete File:  e \n*** End Patch";
        let want = ["/w/sub/a", "/w/b", "/c/d", "/w/sub/e"].map(PathBuf::from);
        assert_eq!(paths(codex, PatchForm::Codex), want);
        let unified = "--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+--- a/no\ndiff --git a/../b b/../d\nrename from ../b\nrename to /c/d\ndiff --git a/e b/e\n--- a/e\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n";
        assert_eq!(paths(unified, PatchForm::Unified), want);
        // Whichever form the harness takes, the text decides, here as in the tool.
        assert_eq!(paths(unified, PatchForm::Codex), want);
        assert_eq!(paths(codex, PatchForm::Unified), want);
        let broken = "*** Begin Patch\n*** Add File: a\nno sign\n*** End Patch";
        assert_eq!(paths(broken, PatchForm::Codex), Vec::<PathBuf>::new());
    }

    #[test]
    fn common_folders_stay_narrow() {
        let roots = [PathBuf::from("/w")];
        let common = |all: &[&str]| {
            let folders: Vec<PathBuf> = all.iter().map(PathBuf::from).collect();
            super::common(&folders, &roots)
        };
        assert_eq!(common(&[]), None);
        assert_eq!(common(&["/a/b"]), Some("/a/b".into()));
        assert_eq!(common(&["/a/b/c", "/a/b"]), Some("/a/b".into()));
        assert_eq!(common(&["/a/b", "/a/c"]), None);
        assert_eq!(common(&["/w/b", "/w/c/d"]), Some("/w".into()));
    }
}
