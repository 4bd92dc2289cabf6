//! From the indentation that a model wrote to the one that a file has.

/// How the indentations of a block as written stand to those of the same block in the file.
#[derive(Debug, Clone, PartialEq)]
pub struct Indentation {
    /// (as written, in the file), from the shallowest to the deepest.
    known: Vec<(String, String)>,
}

/// The columns of a tab, where tabs and spaces have to be compared.
const TAB: usize = 4;

impl Indentation {
    /// Compares two blocks whose lines are the same but for their indentation. `None` when no
    /// consistent rule leads from one to the other: then they are not the same code.
    pub fn between(written: &[&str], file: &[&str]) -> Option<Self> {
        let mut known: Vec<(String, String)> = Vec::new();
        for (w, f) in written.iter().zip(file) {
            if w.trim().is_empty() {
                continue;
            }
            let pair = (indent(w).to_string(), indent(f).to_string());
            match known.iter().find(|(k, _)| *k == pair.0) {
                Some(k) if k.1 != pair.1 => return None,
                Some(_) => {}
                None => known.push(pair),
            }
        }
        known.sort_by_key(|(w, _)| width(w));
        let deeper = |p: &[(String, String)]| width(&p[0].1) < width(&p[1].1);
        (!known.is_empty() && known.windows(2).all(deeper)).then_some(Indentation { known })
    }

    /// Re-indents a new text by this rule. `file` is the whole file, whose habit decides the
    /// indentation of levels that the block does not show.
    pub fn apply(&self, new: &str, file: &str) -> String {
        let step = self.written_step(new);
        let unit = self.file_unit(step, file);
        new.split_inclusive('\n')
            .map(|line| {
                if line.trim().is_empty() {
                    return line.trim_start_matches([' ', '\t']).to_string();
                }
                let old = indent(line);
                self.level(old, step, &unit) + &line[old.len()..]
            })
            .collect()
    }

    /// The columns of one level as written.
    fn written_step(&self, new: &str) -> usize {
        let mut widths: Vec<usize> = self.known.iter().map(|(w, _)| width(w)).collect();
        widths.extend(indents(new).map(width));
        widths.sort_unstable();
        widths
            .windows(2)
            .map(|p| p[1] - p[0])
            .filter(|d| *d > 0)
            .min()
            .unwrap_or(TAB)
    }

    /// One level in the file.
    fn file_unit(&self, step: usize, file: &str) -> String {
        let shown = self.known.windows(2).find_map(|p| {
            let one = width(&p[1].0) - width(&p[0].0) == step;
            one.then(|| p[1].1.strip_prefix(p[0].1.as_str()))?
        });
        if let Some(unit) = shown {
            return unit.to_string();
        }
        let tabs = indents(file).filter(|i| i.starts_with('\t')).count();
        let spaces = indents(file).filter(|i| i.starts_with(' ')).count();
        let own_tabs = self.known.iter().any(|(_, f)| f.contains('\t'));
        let own_spaces = self.known.iter().any(|(_, f)| f.starts_with(' '));
        if own_tabs || (!own_spaces && tabs > spaces) {
            return "\t".into();
        }
        let widths: Vec<usize> = indents(file).map(width).collect();
        let habit = widths
            .windows(2)
            .map(|p| p[1].saturating_sub(p[0]))
            .filter(|d| *d > 1)
            .min();
        " ".repeat(habit.unwrap_or(step))
    }

    /// The file's indentation for one as written.
    fn level(&self, written: &str, step: usize, unit: &str) -> String {
        let columns = width(written);
        let mut base = None;
        for pair in &self.known {
            if pair.0 == written {
                return pair.1.clone();
            }
            if base.is_none() || width(&pair.0) <= columns {
                base = Some(pair);
            }
        }
        let Some((from, to)) = base else {
            return written.into();
        };
        if columns >= width(from) {
            let more = columns - width(from);
            return to.clone() + &unit.repeat(more / step) + &" ".repeat(more % step);
        }
        let less = (width(from) - columns).div_ceil(step);
        (0..less)
            .try_fold(to.as_str(), |left, _| left.strip_suffix(unit))
            .unwrap_or("")
            .into()
    }
}

fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

fn width(indent: &str) -> usize {
    indent
        .chars()
        .map(|c| if c == '\t' { TAB } else { 1 })
        .sum()
}

/// The indentations of the lines that are not blank.
fn indents(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|l| !l.trim().is_empty()).map(indent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(written: &str, file: &str, new: &str) -> Option<String> {
        let (w, f): (Vec<&str>, Vec<&str>) = (written.lines().collect(), file.lines().collect());
        Indentation::between(&w, &f).map(|map| map.apply(new, file))
    }

    #[test]
    fn the_new_text_takes_the_indentation_of_the_file() {
        for (written, file, new, want) in [
            // Spaces as written, tabs in the file; a level that the block does not show.
            (
                "    if x:\n        y",
                "\tif x:\n\t\ty",
                "    if x:\n        if z:\n            y\n",
                "\tif x:\n\t\tif z:\n\t\t\ty\n",
            ),
            // Tabs as written, two spaces in the file.
            ("\ta\n\t\tb", "  a\n    b", "\ta\n\t\t\tc", "  a\n      c"),
            // The common indentation was left out.
            (
                "a:\n    b",
                "        a:\n            b",
                "a:\n    c\n\nd",
                "        a:\n            c\n\n        d",
            ),
            // Four as written, two in the file, one level shown.
            ("    a", "x\n  a", "    a\n    b", "  a\n  b"),
            // One level further out than anything shown.
            ("        a", "\t\ta", "    b\n        a", "\tb\n\t\ta"),
        ] {
            let shown = file.lines().count() - written.lines().count();
            let place: Vec<&str> = file.lines().skip(shown).collect();
            let w: Vec<&str> = written.lines().collect();
            let map = Indentation::between(&w, &place).expect("the same code");
            assert_eq!(map.apply(new, file), want, "{written:?}");
        }
    }

    #[test]
    fn another_structure_is_other_code() {
        assert_eq!(apply("a\n  b\n", "a\nb\n", "x"), None);
        assert_eq!(apply("a\nb\n", "a\n  b\n", "x"), None);
        assert_eq!(apply("\n", "\n", "x"), None);
    }
}
