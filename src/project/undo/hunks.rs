//! The parts of a change, each of which can be kept or dropped.

use similar::{DiffTag, TextDiff};

/// Changes with no more unchanged lines than this between them belong together.
const APART: usize = 4;
/// Lines around a part in its text form.
const CONTEXT: usize = 3;

/// A change of a text in its parts.
pub struct Hunks<'a> {
    diff: TextDiff<'a, 'a, str>,
    /// The part to which each changed piece of the diff belongs.
    parts: Vec<Option<usize>>,
    count: usize,
}

impl<'a> Hunks<'a> {
    /// The parts of the change from one text to the other.
    pub fn of(before: &'a str, after: &'a str) -> Self {
        let diff = TextDiff::from_lines(before, after);
        let (mut parts, mut count, mut gap) = (Vec::new(), 0, usize::MAX);
        for op in diff.ops() {
            if op.tag() == DiffTag::Equal {
                gap = gap.saturating_add(op.new_range().len());
                parts.push(None);
            } else {
                count += usize::from(gap > APART || count == 0);
                gap = 0;
                parts.push(Some(count - 1));
            }
        }
        Hunks { diff, parts, count }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The new text with these parts as they were before.
    pub fn without(&self, dropped: &[usize]) -> String {
        let mut out = String::new();
        for (op, part) in self.diff.ops().iter().zip(&self.parts) {
            match part {
                Some(part) if dropped.contains(part) => {
                    let lines = op.old_range().filter_map(|at| self.diff.old_slice(at));
                    out.extend(lines);
                }
                _ => out.extend(op.new_range().filter_map(|at| self.diff.new_slice(at))),
            }
        }
        out
    }

    /// These parts as a unified diff, from the text without them to the one with them.
    pub fn unified(&self, dropped: &[usize], after: &str) -> String {
        let without = self.without(dropped);
        let diff = TextDiff::from_lines(without.as_str(), after);
        diff.unified_diff().context_radius(CONTEXT).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_can_be_dropped_alone() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let after = "one\n2\n3\n4\n5\n6\n7\n8\nnine\nten\n";
        let hunks = Hunks::of(before, after);
        assert_eq!(hunks.count(), 2);
        assert_eq!(hunks.without(&[]), after);
        assert_eq!(hunks.without(&[0, 1]), before);
        assert_eq!(hunks.without(&[0]), "1\n2\n3\n4\n5\n6\n7\n8\nnine\nten\n");
        assert_eq!(hunks.without(&[1]), "one\n2\n3\n4\n5\n6\n7\n8\n9\n");
        let shown = hunks.unified(&[0], after);
        assert!(
            shown.contains("-1\n+one\n") && !shown.contains("nine"),
            "{shown}"
        );
        assert_eq!(Hunks::of("a\nb\nc\n", "A\nb\nC\n").count(), 1);
        assert_eq!(Hunks::of("", "new\n").count(), 1);
        assert_eq!(Hunks::of("same\n", "same\n").count(), 0);
    }
}
