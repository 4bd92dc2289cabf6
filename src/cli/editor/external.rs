//! A draft in the editor of the person's own choice.

use crate::project::read_whole;
use crate::store::paths::private_file;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use uuid::Uuid;

/// The most bytes of a message.
const MOST: u64 = 4 << 20;

/// The text as it was left by `$VISUAL` or `$EDITOR`.
///
/// # Errors
/// One sentence: none is set, it cannot be started or failed, or the text cannot be read.
pub fn edit(draft: &str) -> Result<String, String> {
    let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty());
    let editor = set("VISUAL").or_else(|| set("EDITOR")).ok_or(
        "no editor is known; set $VISUAL or $EDITOR, for example EDITOR=nano, and start again",
    )?;
    let path = std::env::temp_dir().join(format!("interpreter-{}.md", Uuid::now_v7()));
    let text = with_file(&path, draft, &editor);
    let _ = fs::remove_file(&path);
    text
}

fn with_file(path: &Path, draft: &str, editor: &OsString) -> Result<String, String> {
    let shown = path.display();
    private_file(path, true)
        .map_err(|e| e.to_string())?
        .write_all(draft.as_bytes())
        .map_err(|e| format!("{shown} cannot be written: {e}"))?;
    let named = editor.to_string_lossy();
    let status = command(editor, path)
        .status()
        .map_err(|e| format!("the editor {named} cannot be started: {e}"))?;
    if !status.success() {
        return Err(format!(
            "the editor {named} ended with {status}, so the message stays as it was"
        ));
    }
    let text = read_whole(path, MOST).map_err(|e| format!("{shown} cannot be read: {e}"))?;
    Ok(text.trim_end_matches(['\n', '\r']).to_owned())
}

/// The variable may hold arguments, so a shell reads it, as it does for git.
#[cfg(unix)]
fn command(editor: &OsString, path: &Path) -> Command {
    let mut line = editor.clone();
    line.push(" \"$1\"");
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(line).arg("sh").arg(path);
    command
}

#[cfg(not(unix))]
fn command(editor: &OsString, path: &Path) -> Command {
    let mut command = Command::new("cmd");
    command.arg("/C").arg(editor).arg(path);
    command
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_editor_may_have_arguments_and_gets_the_draft() {
        let dir = tempfile::tempdir().expect("a folder");
        let edited = |editor: &str| {
            let path = dir.path().join("a draft.md");
            let text = with_file(&path, "fix it", &editor.into());
            let _ = fs::remove_file(&path);
            text
        };
        assert_eq!(edited("sed -i.bak s/fix/mend/").as_deref(), Ok("mend it"));
        let failed = edited("false").expect_err("it fails");
        assert!(failed.contains("stays as it was"), "{failed}");
    }
}
