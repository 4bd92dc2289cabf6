//! A change as a unified diff.

use crate::words::head;
use similar::TextDiff;

/// Lines of context around a change.
const AROUND: usize = 3;
/// Texts above this size together are not compared: it would take too long.
const MOST_BYTES: usize = 1 << 20;

/// The change of one text, with three lines around each place, in about `room` bytes. Empty when
/// nothing changed.
pub fn unified(path: &str, before: &str, after: &str, room: usize) -> String {
    if before == after {
        return String::new();
    }
    if before.len() + after.len() > MOST_BYTES {
        return format!(
            "[{} bytes before, {} bytes after: too large to compare]\n",
            before.len(),
            after.len()
        );
    }
    let name = path.trim_start_matches('/');
    let diff = TextDiff::from_lines(before, after)
        .unified_diff()
        .context_radius(AROUND)
        .header(&format!("a/{name}"), &format!("b/{name}"))
        .to_string();
    if diff.len() <= room {
        return diff;
    }
    let shown = head(&diff, room);
    let shown = shown.rsplit_once('\n').map_or("", |(lines, _)| lines);
    format!(
        "{shown}\n[... {} bytes of the diff left out ...]\n",
        diff.len() - shown.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_is_as_diff_u_writes_it() {
        let before: String = (1..=9).map(|n| format!("{n}\n")).collect();
        let after = before.replace("5\n", "five\n");
        assert_eq!(
            unified("/w/a.txt", &before, &after, 1000),
            "--- a/w/a.txt\n+++ b/w/a.txt\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"
        );
        assert_eq!(unified("a", "x\n", "x\n", 1000), "");
        let long = unified("a", "", &"line\n".repeat(100), 60);
        assert!(long.starts_with("--- a/a\n+++ b/a\n@@") && long.ends_with("left out ...]\n"));
        assert!(long.len() < 120, "{long}");
    }
}
