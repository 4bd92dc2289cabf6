//! `project_map`: the folder as a tree.

use super::arguments;
use super::opening::{CONFIG_FILES, pretty};
use super::results::{FRAME, shown};
use crate::harnesses::Done;
use crate::tools::action::{Action, FoundOut, Glob};
use serde_json::json;
use std::collections::BTreeSet;

/// The most files that are looked at, levels by default, and lines.
const FILES: usize = 2_000;
const DEPTH: usize = 3;
const LINES: usize = 300;

/// The search behind it.
pub fn search() -> Action {
    Action::Glob(Glob::new("**/*", FILES))
}

/// The tree, and the files that say what kind of project it is.
pub fn told(done: &Done, out: &FoundOut, cwd: &str, room: usize) -> String {
    let depth = arguments(done).and_then(|args| args.size("max_depth"));
    let depth = depth.unwrap_or(DEPTH).max(1);
    let files: Vec<String> = out.paths.iter().map(|path| shown(path, cwd)).collect();
    let mut entries = BTreeSet::new();
    for file in &files {
        let parts: Vec<&str> = file.split(['/', '\\']).collect();
        for level in 1..=parts.len().min(depth) {
            let is_dir = level < parts.len();
            entries.insert((parts[..level].join("/"), is_dir));
        }
    }
    let lines: Vec<String> = entries
        .iter()
        .map(|(path, is_dir)| {
            let level = path.matches('/').count();
            let name = path.rsplit('/').next().unwrap_or(path);
            let end = if *is_dir { "/" } else { "" };
            format!("{}{name}{end}", "  ".repeat(level))
        })
        .collect();
    let mut free = room.saturating_sub(FRAME);
    let fit = |line: &&String| {
        // An end of line is two characters of JSON.
        let fits = line.len() + 2 <= free;
        free = free.saturating_sub(line.len() + 2);
        fits
    };
    let kept: Vec<&str> = lines
        .iter()
        .take(LINES)
        .take_while(fit)
        .map(String::as_str)
        .collect();
    let is_key = |file: &&String| {
        let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
        CONFIG_FILES.contains(&name) || name.to_lowercase().starts_with("readme")
    };
    let mut key: Vec<&String> = files
        .iter()
        .filter(|file| file.matches(['/', '\\']).count() < 2)
        .filter(is_key)
        .take(20)
        .collect();
    key.sort();
    let folders = entries.iter().filter(|(_, is_dir)| *is_dir).count();
    pretty(&json!({
        "tree": kept.join("\n"),
        "summary": format!("{} files; {folders} folders in {depth} levels", out.total),
        "key_files": key,
        "tree_total_lines": lines.len(),
        "tree_truncated": kept.len() < lines.len(),
    }))
}
