//! Spellings that Windows takes for another file than they seem to name.

/// Names of devices, in every folder and with any ending.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];

/// Why a name of a path cannot be judged; `None` when it can. The name is one component.
pub fn oddity(name: &str) -> Option<&'static str> {
    // `.git.` and `.git ` are `.git`.
    if name != "." && name != ".." && name.ends_with(['.', ' ']) {
        return Some("a name ends in a dot or a space, which Windows leaves out");
    }
    // `.git::$INDEX_ALLOCATION` is `.git`, and `a.txt:x` is hidden in `a.txt`.
    if name.contains(':') {
        return Some("a name has a colon, which begins a stream on Windows");
    }
    if name.contains(['<', '>', '"', '|', '?', '*']) || name.chars().any(char::is_control) {
        return Some("a name has a character that no file has on Windows");
    }
    let stem = name.split('.').next().unwrap_or(name).trim_end();
    let stem = stem.to_lowercase();
    let numbered = ["com", "lpt"].iter().any(|kind| {
        let number = stem.strip_prefix(kind).unwrap_or_default();
        matches!(number, "¹" | "²" | "³")
            || number.len() == 1 && number.bytes().all(|b| b.is_ascii_digit())
    });
    (numbered || DEVICES.contains(&stem.as_str()))
        .then_some("a name is that of a device on Windows")
}

/// Why a path of Windows cannot be judged; `None` when it can. A share of another machine counts only
/// where the workspace is: merely looking at one sends the person's credentials to it.
#[cfg(windows)]
pub fn odd_path(path: &std::path::Path, roots: &[std::path::PathBuf]) -> Option<&'static str> {
    use std::path::{Component, Path, Prefix};
    let share = |path: &Path| match path.components().next() {
        Some(Component::Prefix(p)) => match p.kind() {
            Prefix::UNC(server, share) | Prefix::VerbatimUNC(server, share) => {
                Some([server, share].map(|part| part.to_ascii_lowercase()))
            }
            _ => None,
        },
        _ => None,
    };
    path.components().find_map(|part| match part {
        Component::Prefix(p) => match p.kind() {
            Prefix::Disk(_) | Prefix::VerbatimDisk(_) => None,
            _ if share(path).is_some() && roots.iter().any(|r| share(r) == share(path)) => None,
            _ => Some("it is on another machine or a device"),
        },
        Component::Normal(name) => name.to_str().and_then(oddity),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_windows_takes_for_others() {
        for name in [
            ".git.",
            ".git ",
            ".git. .",
            ".git::$INDEX_ALLOCATION",
            "a.txt:hidden",
            "C:x",
            "NUL",
            "nul.txt",
            "con",
            "Aux.tar.gz",
            "COM1",
            "lpt9.log",
            "com²",
            "CONIN$",
            "a?b",
            "a*",
            "a\tb",
            "nul .x",
        ] {
            assert!(oddity(name).is_some(), "{name}");
        }
        for name in [
            "a.txt",
            ".git",
            "..",
            ".",
            "console",
            "com",
            "com10",
            "nullable.rs",
            "aux2",
            "a b",
            "ä",
        ] {
            assert_eq!(oddity(name), None, "{name}");
        }
    }
}
