//! A change of a file as numbered, coloured lines.

use super::Theme;
use super::sanitize::{reveal, sanitize};
use similar::{ChangeTag, TextDiff};
use std::borrow::Cow;
use std::fmt::Write;

/// Lines of context around a change.
const CONTEXT: usize = 2;
/// Above this many lines in all, only the numbers are told.
const MOST_LINES: usize = 400;
/// Texts above this size are not compared line by line.
const MOST_BYTES: usize = 1 << 20;

/// The changed lines with their numbers, each line indented by two; empty for equal texts. Of a
/// long change the first lines.
pub fn diff(before: &str, after: &str, theme: &Theme) -> String {
    numbered(before, after, 0, MOST_LINES, sanitize, theme)
}

/// The same, however long it is.
pub fn whole(before: &str, after: &str, theme: &Theme) -> String {
    numbered(before, after, 0, usize::MAX, sanitize, theme)
}

/// The same without leaving out a line, and with every character visible, for a person who is to
/// agree to it. `skipped` lines stand before the two texts.
pub fn revealed(before: &str, after: &str, skipped: usize, theme: &Theme) -> String {
    numbered(before, after, skipped, usize::MAX, reveal, theme)
}

/// Lines that were added, and lines that were taken away.
pub fn counts(before: &str, after: &str) -> (usize, usize) {
    if before.len() + after.len() > MOST_BYTES {
        return (after.lines().count(), before.lines().count());
    }
    let diff = TextDiff::from_lines(before, after);
    let of = |tag| diff.iter_all_changes().filter(|c| c.tag() == tag).count();
    (of(ChangeTag::Insert), of(ChangeTag::Delete))
}

fn numbered(
    before: &str,
    after: &str,
    skipped: usize,
    most: usize,
    visible: fn(&str) -> Cow<'_, str>,
    theme: &Theme,
) -> String {
    if before.len() + after.len() > MOST_BYTES {
        return format!(
            "  {} bytes before, {} bytes after\n",
            before.len(),
            after.len()
        );
    }
    let diff = TextDiff::from_lines(before, after);
    let mut out = String::new();
    let mut lines = 0;
    for (n, group) in diff.grouped_ops(CONTEXT).iter().enumerate() {
        if n > 0 {
            let _ = writeln!(out, "  {}", theme.dim.paint("…"));
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            lines += 1;
            if lines > most {
                let _ = writeln!(out, "  {}", theme.dim.paint("… and more"));
                return out;
            }
            let text = visible(change.value().trim_end_matches('\n')).into_owned();
            let (sign, number, style) = match change.tag() {
                ChangeTag::Delete => ('-', change.old_index(), theme.bad),
                ChangeTag::Insert => ('+', change.new_index(), theme.good),
                ChangeTag::Equal => (' ', change.new_index(), theme.dim),
            };
            let number = number.map_or(0, |i| skipped + i + 1);
            let _ = writeln!(
                out,
                "  {}",
                style.paint(format!("{number:>5} {sign}{text}"))
            );
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_carry_sign_and_number() {
        let text = diff("a\nb\nc\n", "a\nB\nc\n", &Theme::default());
        assert_eq!(text, "      1  a\n      2 -b\n      2 +B\n      3  c\n");
        assert_eq!(diff("same\n", "same\n", &Theme::default()), "");
    }

    #[test]
    fn a_whole_diff_leaves_out_nothing() {
        let long = "x\u{a0}\n".repeat(MOST_LINES + 10);
        let text = revealed("", &long, 7, &Theme::default());
        assert_eq!(text.lines().count(), MOST_LINES + 10);
        assert!(text.starts_with("      8 +x<U+00A0>\n"));
        assert!(diff("", &long, &Theme::default()).ends_with("… and more\n"));
        assert_eq!(counts("a\nb\n", "a\nc\nd\n"), (2, 1));
    }

    #[test]
    fn escapes_in_a_file_stay_data() {
        assert!(!diff("", "x\x1b[31m\n", &Theme::default()).contains('\x1b'));
    }
}
