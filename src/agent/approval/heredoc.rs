//! A patch written as a shell command, which is a patch and no command to us.

use super::shell::{Script, parse};

/// A patch given to `apply_patch` as a here-document, optionally after `cd DIR &&`: the folder and
/// the patch text, which ends in a line end. The text is taken as it stands, whether or not the
/// delimiter is quoted.
pub fn patch_heredoc(command: &str) -> Option<(Option<String>, String)> {
    let (first, body) = command.trim_start().split_once('\n')?;
    let (before, redirect) = first.split_once("<<")?;
    let (dir, program) = match before.split_once("&&") {
        None => (None, before),
        Some((cd, program)) => match parse(cd) {
            Script::Plain(parts) => match parts.as_slice() {
                [argv] => match argv.as_slice() {
                    [cd, dir] if cd == "cd" => (Some(dir.clone()), program),
                    _ => return None,
                },
                _ => return None,
            },
            Script::Opaque => return None,
        },
    };
    if !["apply_patch", "applypatch"].contains(&program.trim()) {
        return None;
    }
    let redirect = redirect.trim();
    let delimiter = ['\'', '"']
        .into_iter()
        .find_map(|q| redirect.strip_prefix(q)?.strip_suffix(q))
        .unwrap_or(redirect);
    if delimiter.is_empty()
        || !delimiter
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_')
    {
        return None;
    }
    let mut patch = String::new();
    let mut lines = body.lines();
    for line in lines.by_ref() {
        if line == delimiter {
            break;
        }
        patch.push_str(line);
        patch.push('\n');
    }
    // Something after the here-document would be lost. A missing end is forgiven, as in a shell.
    lines.all(|l| l.trim().is_empty()).then_some((dir, patch))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heredoc_patches() {
        let patch = "*** Begin Patch\n*** Delete File: $a\n*** End Patch\n";
        for (command, dir) in [
            (format!("apply_patch <<'EOF'\n{patch}EOF"), None),
            (format!("apply_patch <<\"EOF\"\n{patch}EOF\n"), None),
            (format!("  applypatch <<  PATCH\n{patch}PATCH\n\n"), None),
            (format!("apply_patch <<'EOF'\n{patch}"), None),
            (
                format!("cd sub/dir && apply_patch <<'EOF'\n{patch}EOF"),
                Some("sub/dir"),
            ),
            (
                format!("cd 'a b' && apply_patch <<'EOF'\n{patch}EOF"),
                Some("a b"),
            ),
        ] {
            assert_eq!(
                patch_heredoc(&command),
                Some((dir.map(str::to_owned), patch.to_owned())),
                "{command}"
            );
        }
        for command in [
            "apply_patch",
            "apply_patch '*** Begin Patch'",
            "cat <<'EOF'\nx\nEOF",
            "echo apply_patch <<'EOF'\nx\nEOF",
            "apply_patch <<'EOF' | cat\nx\nEOF",
            "apply_patch <<'EOF'\nx\nEOF\nrm x",
            "cd a b && apply_patch <<'EOF'\nx\nEOF",
            "cd $a && apply_patch <<'EOF'\nx\nEOF",
            "rm x; cd a && apply_patch <<'EOF'\nx\nEOF",
            "ls && apply_patch <<'EOF'\nx\nEOF",
        ] {
            assert_eq!(patch_heredoc(command), None, "{command}");
        }
    }
}
