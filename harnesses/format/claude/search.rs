//! How searches are told.

use crate::harnesses::format::clip;
use crate::tools::action::{CountOut, FoundOut, Grep, GrepOut};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The most bytes of one line of a search.
const LINE: usize = 500;

/// A path as a model would write it: beside the one that it asked for, else absolute.
struct Shown<'a> {
    root: &'a Path,
    asked: Option<&'a Path>,
}

impl<'a> Shown<'a> {
    fn new(root: &'a Path, asked: Option<&'a str>) -> Self {
        Shown {
            root,
            asked: asked.map(Path::new),
        }
    }

    fn path(&self, file: &Path) -> PathBuf {
        let Ok(below) = file.strip_prefix(self.root) else {
            return file.into();
        };
        match self.asked {
            // A file that was asked for.
            Some(asked) if below.as_os_str().is_empty() => asked.into(),
            Some(asked) if asked.is_absolute() => file.into(),
            Some(asked) if asked != Path::new(".") => asked.join(below),
            _ => below.into(),
        }
    }
}

/// The files of a glob, one a line.
pub(super) fn globbed(path: Option<&str>, out: &FoundOut, room: usize) -> String {
    if out.paths.is_empty() {
        return "No files found".into();
    }
    let (mut text, shown) = rows(paths(path, out), room);
    if shown < out.total {
        let _ = write!(
            text,
            "\n(Results are truncated: {shown} of {} files. A narrower pattern or path shows the rest.)",
            out.total
        );
    }
    text
}

/// The files of a search, under a line that counts them.
pub(super) fn files(query: &Grep, out: &FoundOut, room: usize) -> String {
    if out.paths.is_empty() {
        return "No files found".into();
    }
    let (list, shown) = rows(paths(query.path.as_deref(), out), room);
    let noun = if out.total == 1 { "file" } else { "files" };
    format!(
        "Found {} {noun}\n{list}{}",
        out.total,
        pages(query, shown, out.total)
    )
}

fn paths<'a>(path: Option<&'a str>, out: &'a FoundOut) -> impl Iterator<Item = String> + 'a {
    let shown = Shown::new(&out.root, path);
    out.paths
        .iter()
        .map(move |file| shown.path(file).display().to_string())
}

/// The lines of a search: `path:number:text`, context as `path-number-text`.
pub(super) fn lines(query: &Grep, numbers: bool, out: &GrepOut, room: usize) -> String {
    if out.lines.is_empty() {
        return "No matches found".into();
    }
    let shown = Shown::new(&out.root, query.path.as_deref());
    let with_context = query.context != (0, 0);
    let mut text = String::new();
    let mut matches = 0;
    let mut before: Option<(&Path, u64)> = None;
    let mut cut = false;
    for line in &out.lines {
        let sign = if line.is_match { ':' } else { '-' };
        let mut row = shown.path(&line.path).display().to_string();
        row.push(sign);
        if numbers {
            let _ = write!(row, "{}{sign}", line.number);
        }
        row.push_str(&clip(&line.text, LINE));
        let apart = before.is_some_and(|(path, number)| {
            path != line.path || line.number > number.saturating_add(1)
        });
        if with_context && apart {
            row.insert_str(0, "--\n");
        }
        if !text.is_empty() && text.len() + row.len() + PAGES > room {
            cut = true;
            break;
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&row);
        matches += usize::from(line.is_match);
        before = Some((&line.path, line.number));
    }
    if cut || out.cut {
        let more = query.skip.saturating_add(matches).saturating_add(1);
        text.push_str(&pages(query, matches, out.total.max(more)));
    }
    text
}

/// The numbers of a search, by file, and their sum.
pub(super) fn counts(query: &Grep, out: &CountOut, room: usize) -> String {
    if out.files.is_empty() {
        return "No matches found".into();
    }
    let shown = Shown::new(&out.root, query.path.as_deref());
    let list = out
        .files
        .iter()
        .map(|(file, count)| format!("{}:{count}", shown.path(file).display()));
    let (list, listed) = rows(list, room);
    format!(
        "{list}\n\nFound {} matching lines in {} files.{}",
        out.total,
        out.total_files,
        pages(query, listed, out.total_files)
    )
}

/// What the line about further results may take.
const PAGES: usize = 160;

/// The line that says that there is more, and how to see it; empty when there is not.
fn pages(query: &Grep, shown: usize, total: usize) -> String {
    let next = query.skip.saturating_add(shown);
    if next >= total {
        return String::new();
    }
    let offset = match query.skip {
        0 => String::new(),
        skip => format!(", offset: {skip}"),
    };
    format!(
        "\n\n[Showing results with pagination = limit: {shown}{offset}. There are more: use offset {next}, or search for less.]"
    )
}

/// As many rows as fit beside the line about further results, and how many those are.
fn rows(all: impl Iterator<Item = String>, room: usize) -> (String, usize) {
    let mut text = String::new();
    let mut count = 0;
    for row in all {
        if count > 0 && text.len() + row.len() + PAGES + 60 > room {
            break;
        }
        if count > 0 {
            text.push('\n');
        }
        text.push_str(&row);
        count += 1;
    }
    (text, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_shown_beside_the_asked_one() {
        for (asked, file, expected) in [
            (None, "/w/a/b.py", "a/b.py"),
            (Some("."), "/w/a/b.py", "a/b.py"),
            (Some("src"), "/w/a.py", "src/a.py"),
            (Some("/w"), "/w/a.py", "/w/a.py"),
            (Some("x/a.py"), "/w", "x/a.py"),
            (None, "/other/a.py", "/other/a.py"),
        ] {
            let shown = Shown::new(Path::new("/w"), asked);
            assert_eq!(
                shown.path(Path::new(file)),
                Path::new(expected),
                "{asked:?}"
            );
        }
    }
}
