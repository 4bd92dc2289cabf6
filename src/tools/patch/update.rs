//! The text of one file after the changes of a patch.

use super::parse::Chunk;
use super::place::{Unplaced, is_unique, place};
use crate::tools::action::{Pass, ToolError};
use crate::tools::matching;
use std::path::Path;

/// The text after all chunks, and the loosest way in which one of them matched.
///
/// Chunks that overlap or are out of order are made one after the other, if each then has just one
/// place.
pub fn update(
    text: &str,
    chunks: &[Chunk],
    shown: &str,
    absolute: &Path,
) -> Result<(String, Option<Pass>), ToolError> {
    let in_order = update_in_order(text, chunks, shown, absolute);
    if chunks.len() < 2 || !matches!(in_order, Err(ToolError::PatchMismatch { .. })) {
        return in_order;
    }
    let (mut now, mut loosest) = (text.to_owned(), None);
    for chunk in chunks {
        let lines: Vec<&str> = now.lines().collect();
        if !is_unique(chunk, &lines) {
            return in_order;
        }
        match update_in_order(&now, std::slice::from_ref(chunk), shown, absolute) {
            Ok((after, pass)) => {
                now = after;
                loosest = looser(loosest, pass);
            }
            Err(_) => return in_order,
        }
    }
    Ok((now, loosest))
}

fn update_in_order(
    text: &str,
    chunks: &[Chunk],
    shown: &str,
    absolute: &Path,
) -> Result<(String, Option<Pass>), ToolError> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let bare: Vec<&str> = lines
        .iter()
        .map(|l| l.strip_suffix('\n').unwrap_or(l))
        .collect();
    let mut out: Vec<String> = Vec::new();
    let (mut at, mut loosest) = (0, None);
    // How far the numbers of the chunks are off, and whether the last one is said to have an end.
    let (mut off, mut ends) = (0, None);
    for chunk in chunks {
        let placed = place(chunk, &bare, at, off, text).map_err(|why| match why {
            Unplaced::Missing(expected) => ToolError::PatchMismatch {
                path: shown.into(),
                absolute: absolute.to_path_buf(),
                near: matching::near(text, &expected),
                expected,
            },
            Unplaced::Several(lines) => ToolError::Ambiguous {
                path: shown.into(),
                index: 0,
                lines,
            },
        })?;
        out.extend(bare[at..placed.start].iter().map(|l| l.to_string()));
        out.extend(placed.lines);
        at = placed.end;
        loosest = looser(loosest, placed.pass);
        if let Some(line) = chunk.line {
            off = placed.start as isize - line.saturating_sub(1) as isize;
        }
        if at == bare.len() {
            ends = chunk.ends.or(ends);
        }
    }
    out.extend(bare[at..].iter().map(|l| l.to_string()));
    let mut text_after = out.join("\n");
    // A file without a last line end stays so; an empty or new one gets it.
    if !out.is_empty() && ends.unwrap_or(text.is_empty() || text.ends_with('\n')) {
        text_after.push('\n');
    }
    Ok((text_after, loosest))
}

/// The looser of two ways to match.
fn looser(a: Option<Pass>, b: Option<Pass>) -> Option<Pass> {
    if b.map(rank) > a.map(rank) { b } else { a }
}

fn rank(pass: Pass) -> usize {
    Pass::ALL.iter().position(|p| *p == pass).unwrap_or(0)
}
