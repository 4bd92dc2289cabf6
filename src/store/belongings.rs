//! What a project brings that could act: its config, hooks, rules, and skills with scripts. Trust
//! is given to exactly this, so each file of it has a digest.

use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::Read;
use std::path::{Path, PathBuf};

/// The folder of a project that holds its config, hooks and rules.
pub const PROJECT_FOLDER: &str = ".openinterpreter";
/// The folders of a project that hold skills, from the strongest.
pub const SKILL_FOLDERS: [&str; 3] = [".agents/skills", ".openinterpreter/skills", ".codex/skills"];
/// The file that makes a folder a skill.
pub const SKILL_FILE: &str = "SKILL.md";

/// The most files that are looked at, and the most bytes of all of them. A project that brings more
/// cannot be trusted, since nobody could say what to.
const MOST_FILES: usize = 2_000;
const MOST_BYTES: u64 = 16 << 20;
/// How deep skills are looked for, and in how many folders of a root.
const SKILL_DEPTH: usize = 6;
const SKILL_FOLDERS_MOST: usize = 2_000;
/// Endings of files that are read and never run. What has another one counts as a script.
const PASSIVE: [&str; 14] = [
    "md", "txt", "rst", "json", "yaml", "yml", "toml", "csv", "png", "jpg", "jpeg", "gif", "pdf",
    "svg",
];

/// What the project around a folder brings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Belongings {
    /// The root of the project.
    pub root: PathBuf,
    /// Config files, from the root down.
    pub configs: Vec<PathBuf>,
    /// Files with hooks, from the root down.
    pub hooks: Vec<PathBuf>,
    /// Files with rules, from the root down.
    pub rules: Vec<PathBuf>,
    /// Skills that bring scripts: the folder, and the scripts in it.
    pub skills: Vec<(PathBuf, Vec<PathBuf>)>,
    /// Files of the project that the texts of its config and hooks name, such as a hook's script.
    pub named: Vec<PathBuf>,
    /// A digest of each file with its name; `None` when it is too much to be checked.
    pub digests: Option<BTreeSet<String>>,
}

impl Belongings {
    /// Looks at the folders from `root` down to `cwd`, both canonical. `home` is our own one, which
    /// may lie there and is no project's.
    pub fn of(root: &Path, cwd: &Path, home: &Path) -> Self {
        let mut found = Belongings {
            root: root.to_owned(),
            ..Belongings::default()
        };
        let mut folders: Vec<&Path> = cwd
            .ancestors()
            .take_while(|f| f.starts_with(root))
            .collect();
        folders.reverse();
        for folder in &folders {
            let own = folder.join(PROJECT_FOLDER);
            if super::paths::canonical(&own) != home {
                let there =
                    |name: &str| Some(own.join(name)).filter(|p| p.symlink_metadata().is_ok());
                found.configs.extend(there("config.toml"));
                found.hooks.extend(there("hooks.json"));
                found.rules.extend(rule_files(&own.join("rules")));
            }
            for name in SKILL_FOLDERS {
                let skills = folder.join(name);
                if super::paths::canonical(&skills).starts_with(home) {
                    continue;
                }
                for skill in skill_folders(&skills) {
                    let scripts = scripts(&skill);
                    if !scripts.is_empty() {
                        found.skills.push((skill, scripts));
                    }
                }
            }
        }
        found.digests = found.read(cwd);
        found
    }

    /// True when there is nothing that could act.
    pub fn is_empty(&self) -> bool {
        self.configs.is_empty()
            && self.hooks.is_empty()
            && self.rules.is_empty()
            && self.skills.is_empty()
    }

    /// A path as people see it: from the root of the project.
    pub fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.root)
            .unwrap_or(path)
            .display()
            .to_string()
    }

    /// True when a file of it is still as it was read. What was changed since the start does not
    /// count in this session.
    pub fn is_same(&self, path: &Path) -> bool {
        let now = entry(&self.root, path, small_bytes(path, MOST_BYTES).as_deref());
        self.digests.as_ref().is_some_and(|all| all.contains(&now))
    }

    /// Reads everything once, finds the files that its texts name, and gives the digests.
    fn read(&mut self, cwd: &Path) -> Option<BTreeSet<String>> {
        let mut left = MOST_BYTES;
        let mut digests = BTreeSet::new();
        let mut count = 0;
        let mut take = |path: &Path, left: &mut u64| -> Option<Vec<u8>> {
            count += 1;
            let bytes = small_bytes(path, *left);
            let length = bytes.as_ref().map_or(0, Vec::len) as u64;
            if count > MOST_FILES || length >= *left {
                *left = 0;
                return None;
            }
            *left -= length;
            digests.insert(entry(&self.root, path, bytes.as_deref()));
            bytes
        };
        let mut named = BTreeSet::new();
        for path in self.configs.iter().chain(&self.hooks) {
            let bytes = take(path, &mut left).unwrap_or_default();
            named.extend(files_named(
                &String::from_utf8_lossy(&bytes),
                cwd,
                &self.root,
            ));
        }
        for path in &self.rules {
            take(path, &mut left);
        }
        for path in self.skills.iter().flat_map(|(folder, _)| files(folder)) {
            take(&path, &mut left);
        }
        for path in &named {
            take(path, &mut left);
        }
        let known: BTreeSet<&PathBuf> = self.configs.iter().chain(&self.hooks).collect();
        self.named = named
            .iter()
            .filter(|p| !known.contains(p))
            .cloned()
            .collect();
        (left > 0).then_some(digests)
    }
}

/// The digest of a file with its name. Without `content` it is a pipe, or cannot be read: then that
/// is what it is.
fn entry(root: &Path, path: &Path, content: Option<&[u8]>) -> String {
    let name = path.strip_prefix(root).unwrap_or(path);
    let mut digest = Sha256::new();
    digest.update(name.as_os_str().as_encoded_bytes());
    digest.update([0, u8::from(content.is_some())]);
    digest.update(content.unwrap_or_default());
    hex(&digest.finalize())
}

/// The digest of one file, for a check that it is still the same; `None` when it cannot be read.
pub fn digest_of(path: &Path) -> Option<String> {
    let bytes = small_bytes(path, MOST_BYTES)?;
    Some(hex(&Sha256::digest(bytes)))
}

/// The digest of a text.
pub fn digest_of_text(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// The files `*.rules` of a folder, by name.
pub fn rule_files(folder: &Path) -> Vec<PathBuf> {
    const MOST: usize = 200;
    let entries = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .take(MOST)
        .flatten();
    let mut files: Vec<PathBuf> = entries
        .map(|e| e.path())
        .filter(|p| p.extension().is_some_and(|e| e == "rules"))
        .collect();
    files.sort();
    files
}

/// The folders below `root` that are skills, by path. Hidden folders are passed over, and nothing is
/// looked for inside a skill.
pub fn skill_folders(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut seen = 0;
    let mut todo = vec![(root.to_owned(), 0)];
    while let Some((folder, depth)) = todo.pop() {
        seen += 1;
        if seen > SKILL_FOLDERS_MOST {
            break;
        }
        if folder.join(SKILL_FILE).is_file() {
            found.push(folder);
            continue;
        }
        if depth == SKILL_DEPTH {
            continue;
        }
        let entries = fs::read_dir(&folder)
            .into_iter()
            .flatten()
            .take(SKILL_FOLDERS_MOST)
            .flatten();
        let inner = entries.filter(|e| !e.file_name().as_encoded_bytes().starts_with(b"."));
        // A link to a folder counts: skills are often kept elsewhere and linked.
        todo.extend(
            inner
                .map(|e| e.path())
                .filter(|p| p.is_dir())
                .map(|p| (p, depth + 1)),
        );
    }
    found.sort();
    found
}

/// Every file of a skill, by path; at most one more than can be checked.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut todo = vec![(folder.to_owned(), 0)];
    while let Some((folder, depth)) = todo.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            if found.len() > MOST_FILES {
                return found;
            }
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth < SKILL_DEPTH => todo.push((path, depth + 1)),
                _ => found.push(path),
            }
        }
    }
    found.sort();
    found
}

/// The files of a skill that could be run: all but those that are known to be read only.
pub fn scripts(folder: &Path) -> Vec<PathBuf> {
    let passive = |path: &PathBuf| {
        let ending = path.extension().map(|e| e.to_string_lossy().to_lowercase());
        let known = ending.is_some_and(|e| PASSIVE.contains(&e.as_str()));
        let license = path
            .file_name()
            .is_some_and(|n| n.to_string_lossy().starts_with("LICENSE"));
        (known || license) && !is_executable(path)
    };
    files(folder)
        .into_iter()
        .filter(|path| !passive(path))
        .collect()
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(_: &Path) -> bool {
    false
}

/// The files of the project that words of this text name, from `cwd` or from the root.
pub fn files_named(text: &str, cwd: &Path, root: &Path) -> Vec<PathBuf> {
    const MOST: usize = 200;
    const LONGEST: usize = 300;
    let between = |c: char| c.is_whitespace() || "\"'`=;|&()<>,[]{}".contains(c);
    let mut found = Vec::new();
    for word in text
        .split(between)
        .filter(|w| !w.is_empty() && w.len() <= LONGEST)
    {
        // `$PROJECT_DIR/hooks/x.py` is meant from the root.
        let word = match word.strip_prefix('$') {
            Some(rest) => rest.split_once('/').map_or("", |(_, path)| path),
            None => word,
        };
        let word = word.replace("\\\\", "\\");
        if word.is_empty() || found.len() >= MOST {
            continue;
        }
        let real = [cwd, root]
            .iter()
            .map(|base| base.join(&word))
            .find(|p| p.is_file())
            .and_then(|p| p.canonicalize().ok());
        if let Some(real) = real.filter(|p| p.starts_with(root) && !found.contains(p)) {
            found.push(real);
        }
    }
    found
}

/// The content of a regular file, cut behind `most` bytes. A pipe is not waited for.
fn small_bytes(path: &Path, most: u64) -> Option<Vec<u8>> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    let file = options.open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(root: &Path, files: &[(&str, &str)]) {
        for (name, text) in files {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    #[test]
    fn everything_that_could_act_is_found_and_a_change_of_any_of_it_shows() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let home = root.join("nowhere");
        put(
            &root,
            &[
                ("README.md", "x"),
                (".agents/skills/plain/SKILL.md", "---\n---\n"),
                (".agents/skills/plain/references/a.md", "x"),
            ],
        );
        let of = |cwd: &str| Belongings::of(&root, &root.join(cwd), &home);
        assert!(of("").is_empty());

        put(
            &root,
            &[
                (".openinterpreter/config.toml", "model = 'x'"),
                ("sub/.openinterpreter/config.toml", "model = 'y'"),
                (
                    ".openinterpreter/hooks.json",
                    "{\"command\": \"python3 tools/check.py --fast\"}",
                ),
                (".openinterpreter/rules/a.rules", ""),
                (".openinterpreter/rules/b.txt", ""),
                (".agents/skills/deep/er/SKILL.md", "---\n---\n"),
                (".agents/skills/deep/er/scripts/run.py", "1"),
                ("tools/check.py", "1"),
                ("tools/other.py", "1"),
            ],
        );
        let all = of("sub");
        assert_eq!(all.configs.len(), 2);
        assert_eq!(of("").configs.len(), 1);
        assert_eq!((all.hooks.len(), all.rules.len()), (1, 1));
        assert_eq!(
            all.skills[0].1,
            [root.join(".agents/skills/deep/er/scripts/run.py")]
        );
        assert_eq!(all.named, [root.join("tools/check.py")]);
        assert_eq!(all.shown(&all.rules[0]), ".openinterpreter/rules/a.rules");

        let mut before = all.digests.unwrap();
        assert_eq!(before.len(), 7);
        assert_eq!(of("sub").digests.unwrap(), before);
        assert!(of("").digests.unwrap().is_subset(&before));
        put(
            &root,
            &[
                ("tools/other.py", "2"),
                (".agents/skills/plain/SKILL.md", "y"),
            ],
        );
        assert_eq!(of("sub").digests.unwrap(), before);
        for changed in [
            ("tools/check.py", "2"),
            (".openinterpreter/rules/a.rules", "#"),
            (".openinterpreter/rules/c.rules", ""),
            (".agents/skills/deep/er/SKILL.md", "z"),
            (".agents/skills/plain/run", "z"),
        ] {
            put(&root, &[changed]);
            let now = of("sub").digests.unwrap();
            assert!(!now.is_subset(&before), "{changed:?}");
            before = now;
        }
    }

    #[test]
    fn our_own_home_is_no_project() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        put(
            &root,
            &[
                (".openinterpreter/config.toml", "x"),
                (".openinterpreter/skills/a/SKILL.md", "x"),
                (".openinterpreter/skills/a/run.sh", "x"),
            ],
        );
        assert!(Belongings::of(&root, &root, &root.join(".openinterpreter")).is_empty());
    }

    #[test]
    fn too_much_to_check_has_no_digest() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        put(&root, &[(".openinterpreter/config.toml", "")]);
        let file = fs::File::create(root.join(".openinterpreter/hooks.json")).unwrap();
        file.set_len(MOST_BYTES + 1).unwrap();
        assert_eq!(Belongings::of(&root, &root, Path::new("/h")).digests, None);
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_in_the_place_of_a_file_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir(root.join(".openinterpreter")).unwrap();
        let path = root.join(".openinterpreter/hooks.json");
        assert!(
            std::process::Command::new("mkfifo")
                .arg(&path)
                .status()
                .unwrap()
                .success()
        );
        assert!(
            Belongings::of(&root, &root, Path::new("/h"))
                .digests
                .is_some()
        );
    }
}
