//! Changed files for people: a line a file, and below it what changed.

use super::sanitize::one_line;
use super::{Theme, diff};
use crate::project::compare::{Compared, Side};
use similar::{ChangeTag, TextDiff};
use std::fmt::Write;

/// Texts above this size are not counted line by line.
const MOST_COUNTED: usize = 1 << 20;

/// The changes of all files; empty when there are none.
pub fn files(files: &[Compared], theme: &Theme) -> String {
    let mut out = String::new();
    for file in files {
        out.push_str(&head(file, theme));
        if let (Some(before), Some(after)) = (file.before.text(), file.after.text()) {
            out.push_str(&diff::whole(before, after, theme));
        }
    }
    out
}

/// The line of a file: its path, what became of it, and how many lines came and went.
pub fn head(file: &Compared, theme: &Theme) -> String {
    let mut facts = Vec::new();
    match (&file.before, &file.after) {
        (Side::Nothing, _) => facts.push("new".to_owned()),
        (_, Side::Nothing) => facts.push("deleted".to_owned()),
        _ => {}
    }
    if let Some((was, is)) = file.modes {
        facts.push(format!("mode {was:o} → {is:o}"));
    }
    let (before, after) = (&file.before, &file.after);
    match (before.text(), after.text()) {
        (Some(before), Some(after)) if before.len() + after.len() <= MOST_COUNTED => {
            let diff = TextDiff::from_lines(before, after);
            let count = |tag| diff.iter_all_changes().filter(|c| c.tag() == tag).count();
            let counts = [(ChangeTag::Insert, '+'), (ChangeTag::Delete, '-')];
            let counts = counts.map(|(tag, sign)| (count(tag), sign));
            let shown = counts.iter().filter(|(n, _)| *n > 0);
            facts.extend(shown.map(|(n, sign)| format!("{sign}{n}")));
        }
        (Some(_), Some(_)) => {}
        _ => facts.extend([before, after].into_iter().filter_map(kind)),
    }
    let mut line = format!("{}", theme.action.paint(one_line(&file.path)));
    if !facts.is_empty() {
        let _ = write!(line, "  {}", theme.dim.paint(facts.join(", ")));
    }
    line.push('\n');
    line
}

/// What is no text.
fn kind(side: &Side) -> Option<String> {
    match side {
        Side::File(bytes) if side.text().is_none() => {
            Some(format!("binary, {} bytes", bytes.len()))
        }
        Side::Link(to) => Some(format!("a link to {}", one_line(to))),
        Side::Folder => Some("a folder".to_owned()),
        Side::Unknown(why) => Some((*why).to_owned()),
        Side::File(_) | Side::Nothing => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_a_file_and_what_changed() {
        let file = |path: &str, before, after| Compared {
            path: path.into(),
            before,
            after,
            modes: None,
        };
        let text = |t: &str| Side::File(t.into());
        let shown = files(
            &[
                file("a\x1b[2J.txt", text("one\n"), text("two\nthree\n")),
                file("b.bin", Side::Nothing, Side::File(vec![0, 1, 2])),
                Compared {
                    modes: Some((0o644, 0o755)),
                    ..file("run.sh", text("x\n"), text("x\n"))
                },
                file("gone", text("x\n"), Side::Nothing),
            ],
            &Theme::default(),
        );
        assert_eq!(
            shown,
            "a^[[2J.txt  +2, -1\n      1 -one\n      1 +two\n      2 +three\n\
             b.bin  new, binary, 3 bytes\n\
             run.sh  mode 644 → 755\n\
             gone  deleted, -1\n      1 -x\n"
        );
    }
}
