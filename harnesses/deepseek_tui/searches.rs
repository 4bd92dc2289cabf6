//! The results of searches: JSON over several lines.

use super::arguments;
use super::calls::FILES;
use super::opening::pretty;
use super::results::{FRAME, shown};
use crate::harnesses::Done;
use crate::harnesses::format::clip;
use crate::tools::action::{FoundOut, GrepOut, ListOut};
use globset::{GlobBuilder, GlobMatcher};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

/// The most bytes of one line of a search.
const LINE: usize = 1_000;

/// A list as JSON over several lines, with as many entries as fit, and how many those are.
fn fitting(entries: Vec<Value>, room: usize) -> (Vec<Value>, usize) {
    let all = entries.len();
    let mut used = 0;
    let kept: Vec<Value> = entries
        .into_iter()
        .take_while(|entry| {
            // Each line of an entry is indented by four more at most.
            let text = pretty(entry);
            used += text.len() + 4 * text.lines().count() + 2;
            used <= room.saturating_sub(FRAME)
        })
        .collect();
    let left_out = all - kept.len();
    (kept, left_out)
}

/// A folder.
pub fn listed(out: &ListOut, room: usize) -> String {
    let entries = out.entries.iter();
    let entries = entries.map(|entry| json!({"name": entry.name, "is_dir": entry.is_dir}));
    let (entries, left_out) = fitting(entries.collect(), room);
    let mut text = pretty(&entries.into());
    let more = left_out + out.more;
    if more > 0 {
        let _ = write!(text, "\n[{more} more entries are not shown]");
    }
    text
}

/// How well a file's name fits a query, by the scale of the original.
fn score(query: &str, path: &str, name: &str) -> f64 {
    let (query, path, name) = (
        query.to_lowercase(),
        path.to_lowercase(),
        name.to_lowercase(),
    );
    let share = |of: &str| 0.08 * query.len() as f64 / of.len().max(query.len()).max(1) as f64;
    if name == query {
        1.0
    } else if path == query {
        0.98
    } else if name.starts_with(&query) {
        0.9 + share(&name)
    } else if path.starts_with(&query) {
        0.85 + share(&path)
    } else if name.contains(&query) {
        0.75 + share(&name)
    } else {
        0.7 + share(&path)
    }
}

/// Files by name.
pub fn found(done: &Done, pattern: &str, out: &FoundOut, cwd: &str, room: usize) -> String {
    let args = arguments(done);
    let texts = |key: &str| args.as_ref().map_or_else(Vec::new, |args| args.texts(key));
    let query = args.as_ref().and_then(|args| args.filled("query"));
    let query = query.unwrap_or_else(|| pattern.to_owned());
    let exclude = globs(&texts("exclude"));
    let extensions: Vec<String> = texts("extensions")
        .iter()
        .map(|ext| ext.trim_start_matches('.').to_lowercase())
        .collect();
    let mut hits: Vec<(f64, String, String)> = out
        .paths
        .iter()
        .filter(|path| !is_excluded(&exclude, path, &out.root))
        .filter(|path| {
            let ext = path
                .extension()
                .map(|ext| ext.to_string_lossy().to_lowercase());
            extensions.is_empty() || ext.is_some_and(|ext| extensions.contains(&ext))
        })
        .map(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let path = shown(path, cwd);
            (score(query.trim(), &path, &name), path, name.into_owned())
        })
        .collect();
    hits.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let limit = args.as_ref().and_then(|args| args.size("limit"));
    hits.truncate(limit.unwrap_or(FILES.0).min(FILES.1));
    let entries = hits.into_iter().map(|(score, path, name)| {
        json!({"path": path, "name": name, "score": (score * 1000.0).round() / 1000.0})
    });
    let (entries, left_out) = fitting(entries.collect(), room);
    let mut text = pretty(&entries.into());
    if left_out > 0 {
        let _ = write!(text, "\n[{left_out} more files are not shown]");
    }
    text
}

/// Lines by content, each with `most` around it. The original also tells how many files were searched, which is not known here.
pub fn matches(done: &Done, out: &GrepOut, most: usize, cwd: &str, room: usize) -> String {
    let exclude = arguments(done).map_or_else(Vec::new, |args| globs(&args.texts("exclude")));
    let lines = &out.lines;
    // The lines before (-1) or after (1) a match, up to the next one.
    let around = |at: usize, step: isize| -> Vec<String> {
        let mut texts: Vec<String> = (1..=most)
            .map_while(|distance| {
                let offset = step * isize::try_from(distance).ok()?;
                let line = lines.get(at.checked_add_signed(offset)?)?;
                let number = lines[at].number.checked_add_signed(offset as i64)?;
                let belongs =
                    !line.is_match && line.path == lines[at].path && line.number == number;
                belongs.then(|| clip(&line.text, LINE))
            })
            .collect();
        if step < 0 {
            texts.reverse();
        }
        texts
    };
    let entries: Vec<Value> = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.is_match && !is_excluded(&exclude, &line.path, &out.root))
        .map(|(at, line)| {
            json!({
                "file": shown(&line.path, cwd),
                "line_number": line.number,
                "line": clip(&line.text, LINE),
                "context_before": around(at, -1),
                "context_after": around(at, 1),
            })
        })
        .collect();
    let total = if exclude.is_empty() {
        out.total
    } else {
        entries.len()
    };
    let (entries, left_out) = fitting(entries, room);
    pretty(&json!({
        "matches": entries,
        "total_matches": total,
        "files_searched": out.searched,
        "truncated": out.cut || left_out > 0,
    }))
}

/// Globs to leave out; one that cannot be read leaves nothing out.
fn globs(patterns: &[String]) -> Vec<GlobMatcher> {
    patterns
        .iter()
        .filter_map(|pattern| GlobBuilder::new(pattern.trim()).build().ok())
        .map(|glob| glob.compile_matcher())
        .collect()
}

fn is_excluded(globs: &[GlobMatcher], path: &Path, root: &Path) -> bool {
    let below = path.strip_prefix(root).unwrap_or(path);
    let name = path.file_name().unwrap_or_default();
    globs
        .iter()
        .any(|glob| glob.is_match(below) || glob.is_match(name))
}
