//! The user's words: how a prompt and piped text become one message, and what happens when they
//! are more than their share of the window.

use crate::store::paths::private_file;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Of a shortened input, this share is its beginning.
const HEAD_SHARE: (usize, usize) = (3, 4);

/// Joins a prompt with piped text, the way Codex does: the pipe stands in a `<stdin>` block.
pub fn join(prompt: Option<&str>, piped: Option<&str>) -> String {
    match (prompt, piped.filter(|p| !p.is_empty())) {
        (Some(prompt), Some(piped)) => {
            let end = if piped.ends_with('\n') { "" } else { "\n" };
            format!("{prompt}\n\n<stdin>\n{piped}{end}</stdin>")
        }
        (Some(text), None) | (None, Some(text)) => text.to_owned(),
        (None, None) => String::new(),
    }
}

/// Keeps `text` when it has at most `limit` bytes. Else the whole of it goes into a new file in
/// `folder`, and its head, its tail and the file's path stand in the message.
///
/// # Errors
/// When the file cannot be written: nothing of the input may be lost silently.
pub fn fit(text: String, limit: usize, folder: &Path) -> io::Result<(String, Option<PathBuf>)> {
    if text.len() <= limit {
        return Ok((text, None));
    }
    let path = (1..10_000)
        .map(|n| folder.join(format!("input-{n}.txt")))
        .find(|p| !p.exists())
        .ok_or_else(|| io::Error::other(format!("{} holds too many inputs", folder.display())))?;
    let mut file = private_file(&path, true).map_err(io::Error::other)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    let head = text.floor_char_boundary(limit * HEAD_SHARE.0 / HEAD_SHARE.1);
    let tail = text.ceil_char_boundary(text.len() - limit / HEAD_SHARE.1);
    let head = text[..head].rfind('\n').map_or(head, |at| at + 1);
    let tail = text[tail..]
        .find('\n')
        .map_or(tail, |at| (tail + at + 1).min(text.len()));
    let message = format!(
        "{}\n[{} bytes are left out here. The whole input is in {}; read it in parts.]\n{}",
        &text[..head],
        tail.saturating_sub(head),
        path.display(),
        &text[tail.max(head)..]
    );
    Ok((message, Some(path)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn prompt_and_pipe_are_joined_as_codex_does() {
        assert_eq!(
            join(Some("sum it"), Some("a\nb")),
            "sum it\n\n<stdin>\na\nb\n</stdin>"
        );
        assert_eq!(
            join(Some("sum it"), Some("a\n")),
            "sum it\n\n<stdin>\na\n</stdin>"
        );
        assert_eq!(join(Some("sum it"), Some("")), "sum it");
        assert_eq!(join(None, Some("whole\n")), "whole\n");
    }

    #[test]
    fn a_long_input_is_kept_whole_in_a_file_and_shown_at_both_ends() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let text: String = (0..20_000).map(|n| format!("zeile {n} ä\n")).collect();
        let (message, path) =
            fit(text.clone(), 8_000, folder.path()).expect("the folder is writable");
        let path = path.expect("the text is above the limit");
        assert_eq!(fs::read_to_string(&path).expect("the file is there"), text);
        assert!(message.starts_with("zeile 0 ä\n"));
        assert!(message.ends_with("zeile 19999 ä\n"));
        assert!(message.contains(&path.display().to_string()));
        assert!(message.len() < 9_000);
        let (same, none) = fit("short".into(), 8_000, folder.path()).expect("nothing to write");
        assert_eq!((same.as_str(), none), ("short", None));
    }
}
