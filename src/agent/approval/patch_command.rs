//! A patch written as a shell command, which is a patch and no command to us.

use super::shell::{Script, parse};

/// The names under which models know the program that they were trained with.
const PROGRAMS: [&str; 2] = ["apply_patch", "applypatch"];

/// A patch given to `apply_patch` as a here-document, optionally after `cd DIR &&`, or as its one
/// quoted argument: the folder and the patch text, which ends in a line end. The text is taken as it
/// stands, whatever the kind of quotes.
pub fn patch_command(command: &str) -> Option<(Option<String>, String)> {
    match argument(command.trim()) {
        Some(patch) => Some((None, patch)),
        None => heredoc(command),
    }
}

/// The patch in `apply_patch 'PATCH'`.
fn argument(command: &str) -> Option<String> {
    let word = PROGRAMS.iter().find_map(|p| command.strip_prefix(p))?;
    let word = word.strip_prefix([' ', '\t'])?.trim_start();
    // How each kind of quote is written inside its own.
    let single = [("'\\''", "'"), ("'\"'\"'", "'")];
    let double = [("\\\"", "\""), ("\\$", "$"), ("\\`", "`"), ("\\\\", "\\")];
    let patch = match word.chars().next()? {
        '\'' => unquoted(word, '\'', &single),
        '"' => unquoted(word, '"', &double),
        _ => None,
    }?;
    (patch.trim_start().starts_with("*** Begin Patch"))
        .then(|| format!("{}\n", patch.trim_end_matches('\n')))
}

/// What stands in one quoted word that is the whole text.
fn unquoted(word: &str, quote: char, escapes: &[(&str, &str)]) -> Option<String> {
    let mut rest = word.strip_prefix(quote)?.strip_suffix(quote)?;
    let mut out = String::new();
    while let Some(c) = rest.chars().next() {
        let escape = escapes
            .iter()
            .find(|(written, _)| rest.starts_with(written));
        match escape {
            Some((written, meant)) => {
                out.push_str(meant);
                rest = rest.strip_prefix(written)?;
            }
            None if c == quote => return None,
            None => {
                out.push(c);
                rest = rest.strip_prefix(c)?;
            }
        }
    }
    Some(out)
}

fn heredoc(command: &str) -> Option<(Option<String>, String)> {
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
    if !PROGRAMS.contains(&program.trim()) {
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
    fn patches_as_an_argument() {
        let patch = "*** Begin Patch\n*** Add File: a\n+it's \"$x\"\n*** End Patch\n";
        for word in [
            "'*** Begin Patch\n*** Add File: a\n+it'\\''s \"$x\"\n*** End Patch'",
            "'*** Begin Patch\n*** Add File: a\n+it'\"'\"'s \"$x\"\n*** End Patch\n'",
            "\"*** Begin Patch\n*** Add File: a\n+it's \\\"$x\\\"\n*** End Patch\"",
            "\"*** Begin Patch\n*** Add File: a\n+it's \\\"\\$x\\\"\n*** End Patch\"",
        ] {
            let command = format!("apply_patch {word}");
            assert_eq!(
                patch_command(&command),
                Some((None, patch.to_owned())),
                "{command}"
            );
        }
    }

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
                patch_command(&command),
                Some((dir.map(str::to_owned), patch.to_owned())),
                "{command}"
            );
        }
        for command in [
            "apply_patch",
            "apply_patch 'a patch'",
            "apply_patch *** Begin Patch",
            "apply_patch '*** Begin Patch' && rm 'x'",
            "apply_patch '*** Begin Patch'; rm 'x'",
            "apply_patcher '*** Begin Patch'",
            "cat <<'EOF'\nx\nEOF",
            "echo apply_patch <<'EOF'\nx\nEOF",
            "apply_patch <<'EOF' | cat\nx\nEOF",
            "apply_patch <<'EOF'\nx\nEOF\nrm x",
            "cd a b && apply_patch <<'EOF'\nx\nEOF",
            "cd $a && apply_patch <<'EOF'\nx\nEOF",
            "rm x; cd a && apply_patch <<'EOF'\nx\nEOF",
            "ls && apply_patch <<'EOF'\nx\nEOF",
        ] {
            assert_eq!(patch_command(command), None, "{command}");
        }
    }
}
