//! Where a chunk of a patch belongs, and the lines that then stand there.

use super::parse::{Chunk, Line};
use crate::tools::action::Pass;
use crate::tools::indent::Indentation;
use crate::tools::matching::same_line;

/// The lines `start..end` of a file, to be replaced by `lines`.
#[derive(Debug, PartialEq)]
pub struct Placed {
    pub start: usize,
    pub end: usize,
    pub lines: Vec<String>,
    pub pass: Option<Pass>,
}

/// Why a chunk has no place.
#[derive(Debug, PartialEq)]
pub enum Unplaced {
    /// These lines are not in the file.
    Missing(String),
    /// They are in several places (line numbers from 1), and only but for their indentation.
    Several(Vec<usize>),
}

/// How lines may be the same, from the closest way to the widest.
const WAYS: [Option<Pass>; 4] = [
    None,
    Some(Pass::TrailingSpace),
    Some(Pass::Punctuation),
    Some(Pass::Indentation),
];

/// Finds the place of a chunk in the lines from `from` on. `off` is how far the line numbers of the
/// patch are off here, `text` the whole file.
pub fn place(
    chunk: &Chunk,
    file: &[&str],
    from: usize,
    off: isize,
    text: &str,
) -> Result<Placed, Unplaced> {
    let mut lines: &[Line] = &chunk.lines;
    let anchor = after_contexts(chunk, file, from);
    let said = chunk
        .line
        .map(|line| line.saturating_sub(1).saturating_add_signed(off));
    loop {
        let old: Vec<&str> = lines.iter().filter_map(Line::standing).collect();
        if old.is_empty() && !chunk.lines.iter().any(|l| l.standing().is_some()) {
            let at = match (anchor, chunk.contexts.last(), said) {
                (Some(at), Some(_), _) if !chunk.at_end => at,
                (None, Some(context), _) => return Err(Unplaced::Missing(context.clone())),
                (_, None, Some(said)) => said.max(from).min(file.len()),
                _ => file.len(),
            };
            return Ok(fill(lines, file, at, None, text));
        }
        if !old.is_empty() {
            let anchored = anchor.is_some() && !chunk.contexts.is_empty();
            let choice = match (chunk.at_end, said) {
                (true, said) => Choice::Last(said.unwrap_or(0)),
                (_, Some(said)) => Choice::Nearest(said),
                _ if anchored => Choice::First,
                _ => Choice::Only,
            };
            if let Some(found) = search(&old, file, anchor.unwrap_or(from), choice)? {
                return Ok(fill(lines, file, found.0, found.1, text));
            }
            // A context that is wrong, or that the chunk repeats, need not matter.
            if !chunk.contexts.is_empty() {
                let found = places(&old, file, from);
                if let (Some(pass), [only]) = (found.0, found.1.as_slice()) {
                    return Ok(fill(lines, file, *only, pass, text));
                }
            }
        }
        // A blank line at the end is often the patch's, not the file's.
        match lines.split_last() {
            Some((Line::Keep(last), rest)) if last.trim().is_empty() => lines = rest,
            _ => break,
        }
    }
    let expected: Vec<&str> = chunk.lines.iter().filter_map(Line::standing).collect();
    let missing = Unplaced::Missing(expected.join("\n"));
    if !chunk.unsigned {
        return Err(missing);
    }
    let mut signed = chunk.clone();
    signed.unsigned = false;
    for line in &mut signed.lines {
        if let Line::Keep(text) = line
            && text.starts_with(' ')
        {
            text.insert(0, ' ');
        }
    }
    place(&signed, file, from, off, text).map_err(|_| missing)
}

/// True when the lines that a chunk wants to find stand in just one place.
pub fn is_unique(chunk: &Chunk, file: &[&str]) -> bool {
    let old: Vec<&str> = chunk.lines.iter().filter_map(Line::standing).collect();
    places(&old, file, 0).1.len() == 1
}

impl Line {
    /// The text of a line that stands in the file before the change.
    fn standing(&self) -> Option<&str> {
        match self {
            Line::Keep(text) | Line::Remove(text) => Some(text),
            Line::Add(_) => None,
        }
    }
}

/// The line after the last of the chunk's contexts; `None` when one of them is not there.
fn after_contexts(chunk: &Chunk, file: &[&str], from: usize) -> Option<usize> {
    chunk.contexts.iter().try_fold(from, |at, context| {
        let (_, found) = places(&[context.as_str()], file, at);
        found.first().map(|at| at + 1)
    })
}

/// All places of some lines in the closest way in which there are any.
fn places(old: &[&str], file: &[&str], from: usize) -> (Option<Option<Pass>>, Vec<usize>) {
    for way in WAYS {
        let same = |a: &str, b: &str| match way {
            None => a == b,
            Some(Pass::TrailingSpace) => same_line(a, b, false, str::trim_end),
            Some(Pass::Punctuation) => same_line(a, b, true, str::trim_end),
            _ => same_line(a, b, true, str::trim),
        };
        let starts: Vec<usize> = (from..(file.len() + 1).saturating_sub(old.len()))
            .filter(|start| {
                let there = &file[*start..start + old.len()];
                there.iter().zip(old).all(|(a, b)| same(a, b))
                    && (way != Some(Pass::Indentation)
                        || Indentation::between(old, there).is_some()
                        || old.iter().all(|l| l.trim().is_empty()))
            })
            .collect();
        if !starts.is_empty() {
            return (Some(way), starts);
        }
    }
    (None, Vec::new())
}

/// Which of several places is meant.
#[derive(Clone, Copy)]
enum Choice {
    /// Nothing says it: the first, unless they are the same only but for their indentation, which
    /// is too loose to choose by.
    Only,
    /// The first after a context.
    First,
    /// The one at the end of the file, if there is one, else the nearest to this line, from 0.
    Last(usize),
    /// The one nearest to this line, from 0; it has to be there where only the indentation differs.
    Nearest(usize),
}

/// The place to take, and the way in which it is the same.
fn search(
    old: &[&str],
    file: &[&str],
    from: usize,
    choice: Choice,
) -> Result<Option<(usize, Option<Pass>)>, Unplaced> {
    let (Some(way), starts) = places(old, file, from) else {
        return Ok(None);
    };
    let chosen = match choice {
        Choice::Only => false,
        Choice::First | Choice::Last(_) => true,
        Choice::Nearest(line) => starts.contains(&line),
    };
    if way == Some(Pass::Indentation) && starts.len() > 1 && !chosen {
        return Err(Unplaced::Several(starts.iter().map(|s| s + 1).collect()));
    }
    let nearest = |line: usize| starts.iter().min_by_key(|start| start.abs_diff(line));
    let start = match choice {
        Choice::Only | Choice::First => starts.first(),
        Choice::Last(line) => {
            let last = starts.last().filter(|s| *s + old.len() == file.len());
            last.or(nearest(line))
        }
        Choice::Nearest(line) => nearest(line),
    };
    Ok(start.map(|start| (*start, way)))
}

/// The lines after the change. What stays keeps the file's own form; what comes is re-indented
/// if the rest had another indentation.
fn fill(lines: &[Line], file: &[&str], start: usize, pass: Option<Pass>, text: &str) -> Placed {
    let old: Vec<&str> = lines.iter().filter_map(Line::standing).collect();
    let there = &file[start..start + old.len()];
    let mut coming: Vec<String> = lines
        .iter()
        .filter_map(|line| match line {
            Line::Add(text) => Some(text.clone()),
            _ => None,
        })
        .collect();
    if pass == Some(Pass::Indentation)
        && !coming.is_empty()
        && let Some(map) = Indentation::between(&old, there)
    {
        coming = map
            .apply(&coming.join("\n"), text)
            .split('\n')
            .map(String::from)
            .collect();
    }
    let (mut there, mut coming) = (there.iter(), coming.into_iter());
    let mut out = Vec::new();
    for line in lines {
        match line {
            Line::Keep(_) => out.extend(there.next().map(|l| l.to_string())),
            Line::Remove(_) => drop(there.next()),
            Line::Add(_) => out.extend(coming.next()),
        }
    }
    Placed {
        start,
        end: start + old.len(),
        lines: out,
        pass,
    }
}
