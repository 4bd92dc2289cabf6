//! AGENTS.md: the user's own in the home folder, and the project's from its root down to the
//! working folder, within a budget of bytes.

use super::{Document, Instructions, open_regular, read_text};
use std::fs;
use std::path::{Path, PathBuf};

/// The names in the order in which a folder is searched; the first that exists is taken.
const NAMES: [&str; 2] = ["AGENTS.override.md", "AGENTS.md"];
/// The user's own file is outside the budget; this keeps it from filling a window by mistake.
const GLOBAL_MAX: u64 = 64 * 1024;

/// The instruction files for a session in `cwd`, and sentences about what was cut or left out.
///
/// `home` is our own home folder. The project's root is the nearest folder from `cwd` upwards that
/// has one of `root_markers`; without one only `cwd` is read. `fallback_names` are further file
/// names, tried after AGENTS.md. `max_bytes` is the budget of all project files together, spent
/// from the root down; 0 turns them off. The line that marks a cut is not counted. `global_bytes` is
/// what the user's own file may have.
pub fn load(
    cwd: &Path,
    home: &Path,
    root_markers: &[String],
    fallback_names: &[String],
    max_bytes: u64,
    global_bytes: u64,
) -> (Instructions, Vec<String>) {
    let cwd = std::path::absolute(cwd).unwrap_or_else(|_| cwd.to_path_buf());
    let mut warnings = Vec::new();
    let mut found = Instructions {
        global: global(home, &cwd, global_bytes.min(GLOBAL_MAX), &mut warnings),
        project: Vec::new(),
    };
    let mut left = max_bytes;
    if max_bytes == 0 {
        return (found, warnings);
    }
    let names: Vec<&str> = NAMES
        .into_iter()
        .chain(fallback_names.iter().map(String::as_str))
        .collect();
    for folder in folders(&cwd, root_markers) {
        let Some(path) = names.iter().map(|n| folder.join(n)).find(|p| exists(p)) else {
            continue;
        };
        if left == 0 {
            warnings.push(format!(
                "{} is left out: the files above it use up project_doc_max_bytes ({max_bytes})",
                path.display()
            ));
            continue;
        }
        let Some(read) = read(&path, left, &mut warnings) else {
            continue;
        };
        left = match read.cut_from {
            Some(size) => {
                warnings.push(format!(
                    "{} has {size} bytes, of which {} are used: raise project_doc_max_bytes ({max_bytes}) or shorten the file",
                    path.display(),
                    read.used
                ));
                0
            }
            None => left - read.used.min(left),
        };
        found.project.push(Document {
            shown: shown(&path, &cwd),
            path,
            text: read.text,
        });
    }
    (found, warnings)
}

/// The names by which a folder's instructions are found; none when they are turned off.
pub fn names(fallback_names: &[String], max_bytes: u64) -> Vec<String> {
    let ours = NAMES.iter().map(|name| (*name).to_owned());
    match max_bytes {
        0 => Vec::new(),
        _ => ours.chain(fallback_names.iter().cloned()).collect(),
    }
}

/// The most words of a command that are looked at.
const MOST_WORDS: usize = 100;

/// The instruction files of the folders below `cwd` that hold `file`, from above, but for those in
/// `known`; each cut to `max_bytes`.
pub fn below(
    cwd: &Path,
    file: &Path,
    names: &[String],
    known: &[PathBuf],
    max_bytes: u64,
) -> Vec<Document> {
    let Some(inner) = file.parent().and_then(|p| p.strip_prefix(cwd).ok()) else {
        return Vec::new();
    };
    let mut folder = cwd.to_owned();
    let mut found = Vec::new();
    for part in inner {
        folder.push(part);
        let Some(path) = names.iter().map(|n| folder.join(n)).find(|p| exists(p)) else {
            continue;
        };
        if path == file || known.contains(&path) {
            continue;
        }
        found.extend(
            read(&path, max_bytes, &mut Vec::new()).map(|read| Document {
                shown: shown(&path, cwd),
                path,
                text: read.text,
            }),
        );
    }
    found
}

/// Files below `cwd` that a command which ran in `dir` names: of each folder that it names, a file in
/// it that need not be there.
pub fn named(command: &str, dir: &Path, cwd: &Path) -> Vec<PathBuf> {
    let Ok(root) = cwd.canonicalize() else {
        return Vec::new();
    };
    let ends = |c: char| c.is_whitespace() || "|&;<>()'\"`".contains(c);
    command
        .split(ends)
        .filter(|word| !word.is_empty() && !word.starts_with('-'))
        .take(MOST_WORDS)
        .filter_map(|word| dir.join(word).canonicalize().ok())
        .filter_map(|path| {
            let inner = cwd.join(path.strip_prefix(&root).ok()?);
            Some(match path.is_dir() {
                true => inner.join("*"),
                false => inner,
            })
        })
        .collect()
}

/// The first file in the home folder that is not empty, trimmed.
fn global(home: &Path, cwd: &Path, most: u64, warnings: &mut Vec<String>) -> Option<Document> {
    NAMES
        .iter()
        .map(|name| home.join(name))
        .filter(|path| exists(path))
        .find_map(|path| {
            let read = read(&path, most, warnings)?;
            if let Some(size) = read.cut_from {
                warnings.push(format!(
                    "{} has {size} bytes, of which {} are used: shorten it",
                    path.display(),
                    read.used
                ));
            }
            Some(Document {
                shown: shown(&path, cwd),
                text: read.text.trim().to_string(),
                path,
            })
        })
}

/// The folders from the project's root down to `cwd`.
fn folders(cwd: &Path, root_markers: &[String]) -> Vec<PathBuf> {
    let has_marker = |folder: &Path| {
        root_markers
            .iter()
            .any(|m| !m.is_empty() && fs::symlink_metadata(folder.join(m)).is_ok())
    };
    let depth = cwd.ancestors().position(has_marker).unwrap_or(0);
    let mut folders: Vec<PathBuf> = cwd
        .ancestors()
        .take(depth + 1)
        .map(Path::to_path_buf)
        .collect();
    folders.reverse();
    folders
}

/// True for a regular file, also one at the end of a symbolic link; pipes, devices and folders do
/// not count.
fn exists(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|m| m.is_file())
}

struct Text {
    text: String,
    /// Bytes of the file that are in `text`.
    used: u64,
    /// The size of the file, when it was cut.
    cut_from: Option<u64>,
}

/// The file within `most` bytes, cut at a line end. `None` when it is empty or cannot be read.
fn read(path: &Path, most: u64, warnings: &mut Vec<String>) -> Option<Text> {
    let (text, whole) = match read_text(path, most) {
        Ok(read) => read,
        Err(e) => {
            warnings.push(format!(
                "{} cannot be read and is left out: {e}",
                path.display()
            ));
            return None;
        }
    };
    let bom = '\u{feff}';
    if text.trim_start_matches(bom).trim().is_empty() {
        return None;
    }
    if whole {
        return Some(Text {
            used: text.len() as u64,
            text: text.trim_start_matches(bom).to_string(),
            cut_from: None,
        });
    }
    let size = open_regular(path)
        .and_then(|f| f.metadata())
        .map_or(most, |m| m.len());
    // A first line longer than the budget has no line end to cut at.
    let end = text.rfind('\n').map_or(text.len(), |at| at + 1);
    let kept = text.get(..end).unwrap_or_default();
    let line_end = if kept.ends_with('\n') { "" } else { "\n" };
    Some(Text {
        text: format!(
            "{}{line_end}[cut: {end} of {size} bytes are shown; the rest is in {}]\n",
            kept.trim_start_matches(bom),
            path.display()
        ),
        used: end as u64,
        cut_from: Some(size),
    })
}

/// The path relative to `cwd`, where that is shorter than the absolute one.
fn shown(path: &Path, cwd: &Path) -> String {
    let absolute = path.display().to_string();
    let relative = cwd.ancestors().enumerate().find_map(|(up, folder)| {
        let rest = path.strip_prefix(folder).ok()?;
        let mut relative = PathBuf::new();
        (0..up).for_each(|_| relative.push(".."));
        Some(relative.join(rest).display().to_string())
    });
    match relative {
        Some(relative) if relative.len() < absolute.len() => relative,
        _ => absolute,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_instructions_of_folders_below() {
        let place = Place::new(&[
            ("repo/AGENTS.md", "root"),
            ("repo/a/AGENTS.md", "of a"),
            ("repo/a/b/NOTES.md", "of b, and longer"),
            ("repo/a/b/x.py", ""),
        ]);
        let repo = place.dir.path().join("repo");
        let texts = |file: &str, known: &[PathBuf], max| {
            let names = names(&["NOTES.md".into()], 1);
            let found = below(&repo, &repo.join(file), &names, known, max);
            found.into_iter().map(|d| d.text).collect::<Vec<_>>()
        };
        assert_eq!(texts("a/b/x.py", &[], 99), ["of a", "of b, and longer"]);
        assert_eq!(texts("a/b/x.py", &[repo.join("a/AGENTS.md")], 99).len(), 1);
        assert!(texts("a/b/x.py", &[], 5)[1].contains("[cut: 5 of 16 bytes"));
        // What is read itself, what is not below, and what has none.
        assert!(texts("a/AGENTS.md", &[], 99).is_empty());
        assert!(texts("../x.py", &[], 99).is_empty() && texts("x.py", &[], 99).is_empty());
        assert!(names(&["NOTES.md".into()], 0).is_empty());
        // What a command names: files and folders below, and nothing else.
        let command = "cat -n 'a/b/x.py' ../repo/a | grep a/none /etc";
        assert_eq!(
            named(command, &repo, &repo),
            [repo.join("a/b/x.py"), repo.join("a/*")]
        );
        assert_eq!(named("ls .", &repo.join("a"), &repo), [repo.join("a/*")]);
    }

    struct Place {
        dir: tempfile::TempDir,
    }

    impl Place {
        /// A folder with `home`, and `repo/a/b` whose root has a `.git`.
        fn new(files: &[(&str, &str)]) -> Self {
            let dir = tempfile::tempdir().unwrap();
            for folder in ["home", "repo/.git", "repo/a/b"] {
                fs::create_dir_all(dir.path().join(folder)).unwrap();
            }
            for (path, text) in files {
                fs::write(dir.path().join(path), text).unwrap();
            }
            Place { dir }
        }

        fn load(&self, markers: &[&str], max: u64) -> (Instructions, Vec<String>) {
            let markers: Vec<String> = markers.iter().map(|m| m.to_string()).collect();
            let fallback = ["NOTES.md".to_string()];
            load(
                &self.dir.path().join("repo/a/b"),
                &self.dir.path().join("home"),
                &markers,
                &fallback,
                max,
                u64::MAX,
            )
        }
    }

    fn texts(i: &Instructions) -> Vec<&str> {
        i.project.iter().map(|d| d.text.as_str()).collect()
    }

    #[test]
    fn one_file_a_folder_from_the_root_down() {
        let place = Place::new(&[
            ("AGENTS.md", "above the root"),
            ("home/AGENTS.override.md", " \n"),
            ("home/AGENTS.md", "\n mine \n"),
            ("repo/AGENTS.md", "root\n"),
            ("repo/AGENTS.override.md", "root, override\n"),
            ("repo/a/NOTES.md", "notes"),
            ("repo/a/b/AGENTS.md", "deep\n\n"),
        ]);
        let (found, warnings) = place.load(&[".git"], 32_768);
        assert_eq!(warnings, Vec::<String>::new());
        assert_eq!(found.global.as_ref().unwrap().text, "mine");
        assert_eq!(texts(&found), ["root, override\n", "notes", "deep\n\n"]);
        let shown: Vec<&str> = found.project.iter().map(|d| d.shown.as_str()).collect();
        let up = |parts: &[&str]| parts.iter().collect::<PathBuf>().display().to_string();
        assert_eq!(
            shown,
            [
                up(&["..", "..", "AGENTS.override.md"]),
                up(&["..", "NOTES.md"]),
                "AGENTS.md".to_string()
            ]
        );
        // Without a marker only the working folder counts.
        assert_eq!(texts(&place.load(&[], 32_768).0), ["deep\n\n"]);
        assert_eq!(texts(&place.load(&[".none"], 32_768).0), ["deep\n\n"]);
    }

    #[test]
    fn the_budget_cuts_at_a_line_end_and_says_so() {
        let place = Place::new(&[
            ("repo/AGENTS.md", "line one\nline zwei ü\nline three\n"),
            ("repo/a/AGENTS.md", "never"),
            ("home/AGENTS.md", "mine"),
        ]);
        // 20 bytes end inside the ü of the second line.
        let (found, warnings) = place.load(&[".git"], 20);
        let [root] = found.project.as_slice() else {
            panic!("{found:?}")
        };
        let mut lines = root.text.lines();
        assert_eq!(lines.next(), Some("line one"));
        assert!(
            lines
                .next()
                .unwrap()
                .starts_with("[cut: 9 of 33 bytes are shown")
        );
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        assert!(warnings[0].contains("33 bytes") && warnings[0].contains("project_doc_max_bytes"));
        assert!(warnings[1].contains("left out"));
        // Exactly enough is not cut, but nothing is left for the next file.
        let (found, warnings) = place.load(&[".git"], 33);
        assert_eq!(texts(&found), ["line one\nline zwei ü\nline three\n"]);
        assert_eq!(warnings.len(), 1);
        // Zero turns the project's files off, and only these.
        let (found, warnings) = place.load(&[".git"], 0);
        assert!(found.project.is_empty() && found.global.is_some() && warnings.is_empty());
    }

    #[test]
    fn one_long_line_is_cut_between_characters() {
        let place = Place::new(&[("repo/AGENTS.md", &"ü".repeat(50))]);
        let (found, _) = place.load(&[".git"], 7);
        assert!(
            found.project[0]
                .text
                .starts_with("üüü\n[cut: 6 of 100 bytes")
        );
    }

    #[cfg(unix)]
    #[test]
    fn links_lead_to_files_and_pipes_are_not_waited_for() {
        let place = Place::new(&[("real.md", "linked")]);
        let root = place.dir.path();
        std::os::unix::fs::symlink(root.join("real.md"), root.join("repo/AGENTS.md")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", root.join("repo/a/AGENTS.md")).unwrap();
        let pipe = root.join("repo/a/b/AGENTS.md");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let (found, _) = place.load(&[".git"], 1000);
        assert_eq!(texts(&found), ["linked"]);
        assert!(open_regular(&pipe).is_err());
    }
}
