//! Where a text that a model copied stands in a file, although it may not be the same byte for
//! byte.

use super::action::Pass;
use super::indent::Indentation;
use super::text::line_of;
use crate::words::head;
use std::ops::Range;

/// Where a text stands, and what is to stand there.
#[derive(Debug, Clone, PartialEq)]
pub struct Matches {
    /// Byte ranges in the file's text, in order, not overlapping.
    pub places: Vec<Range<usize>>,
    /// The new text, fitted to the place.
    pub new: String,
    /// How it matched; `None`: exactly.
    pub pass: Option<Pass>,
}

impl Matches {
    /// True when the way of matching is too loose to choose between several places.
    pub fn must_be_unique(&self) -> bool {
        matches!(self.pass, Some(Pass::Indentation | Pass::Escapes))
    }

    /// The line in which each place begins, from 1.
    pub fn lines(&self, text: &str) -> Vec<usize> {
        self.places.iter().map(|p| line_of(text, p.start)).collect()
    }
}

/// Finds `old` in `text`: exactly, then in each of the ways of `passes`, then all again without
/// the line numbers that a model copied from a listing. No places: it is not there. All texts
/// have `\n` line ends.
pub fn find(text: &str, old: &str, new: &str, passes: &[Pass]) -> Matches {
    let found = find_as_written(text, old, new, passes);
    if !found.places.is_empty() {
        return found;
    }
    if let Some(old) = without_line_numbers(old) {
        let new = without_line_numbers(new).unwrap_or_else(|| new.into());
        let bare = find_as_written(text, &old, &new, passes);
        if !bare.places.is_empty() {
            return bare;
        }
    }
    found
}

fn find_as_written(text: &str, old: &str, new: &str, passes: &[Pass]) -> Matches {
    let exact = Matches {
        places: exact(text, old),
        new: new.into(),
        pass: None,
    };
    if !exact.places.is_empty() || old.trim().is_empty() {
        return exact;
    }
    let ascii = passes.contains(&Pass::Punctuation);
    for pass in passes {
        let found = match pass {
            Pass::Punctuation => (punctuation(text, old), new.to_string()),
            Pass::TrailingSpace => trailing_space(text, old, new, ascii),
            Pass::Indentation => indentation(text, old, new, ascii),
            Pass::Escapes => escapes(text, old, new),
        };
        if !found.0.is_empty() {
            return Matches {
                places: found.0,
                new: found.1,
                pass: Some(*pass),
            };
        }
    }
    exact
}

fn exact(text: &str, old: &str) -> Vec<Range<usize>> {
    if old.is_empty() {
        return Vec::new();
    }
    text.match_indices(old)
        .map(|(at, found)| at..at + found.len())
        .collect()
}

/// The ASCII form of a typographic quote, dash or space; one character for one.
pub fn ascii(c: char) -> char {
    match c {
        '\u{2018}' | '\u{2019}' | '\u{201a}' | '\u{201b}' => '\'',
        '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{201f}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        _ => c,
    }
}

fn punctuation(text: &str, old: &str) -> Vec<Range<usize>> {
    let plain: String = text.chars().map(ascii).collect();
    let old: String = old.chars().map(ascii).collect();
    // The places are in order, so one walk over the text turns all plain offsets into true ones.
    let mut chars = text.chars();
    let (mut at, mut true_at) = (0, 0);
    let mut locate = |offset: usize| {
        while at < offset {
            let Some(c) = chars.next() else { break };
            at += ascii(c).len_utf8();
            true_at += c.len_utf8();
        }
        true_at
    };
    exact(&plain, &old)
        .into_iter()
        .map(|p| locate(p.start)..locate(p.end))
        .collect()
}

/// The lines of a text as ranges without their line ends.
fn line_ranges(text: &str) -> Vec<Range<usize>> {
    let mut start = 0;
    text.split_inclusive('\n')
        .map(|line| {
            let from = start;
            start += line.len();
            from..from + line.strip_suffix('\n').unwrap_or(line).len()
        })
        .collect()
}

/// Whole lines of a text that equal the lines of `old` in some sense.
struct Block<'a> {
    text: &'a str,
    lines: Vec<Range<usize>>,
    old: Vec<&'a str>,
    new: &'a str,
    /// `old` ends with a line end and `new` does not, so that the line end goes too.
    takes_end: bool,
}

impl<'a> Block<'a> {
    fn new(text: &'a str, old: &'a str, new: &'a str) -> Self {
        let (old, new, takes_end) = match (old.strip_suffix('\n'), new.strip_suffix('\n')) {
            (Some(old), Some(new)) => (old, new, false),
            (Some(old), None) => (old, new, true),
            (None, _) => (old, new, false),
        };
        Block {
            text,
            lines: line_ranges(text),
            old: old.split('\n').collect(),
            new,
            takes_end,
        }
    }

    fn window(&self, start: usize) -> impl Iterator<Item = &'a str> + '_ {
        self.lines[start..start + self.old.len()]
            .iter()
            .map(|r| &self.text[r.clone()])
    }

    /// First lines (from 0) of the places where every line is the same, not overlapping.
    fn find(&self, same: impl Fn(&str, &str) -> bool) -> Vec<usize> {
        let mut starts = Vec::new();
        let mut start = 0;
        while start + self.old.len() <= self.lines.len() {
            if self.window(start).zip(&self.old).all(|(a, b)| same(a, b)) {
                starts.push(start);
                start += self.old.len();
            } else {
                start += 1;
            }
        }
        starts
    }

    fn range(&self, start: usize) -> Range<usize> {
        let last = self.lines[start + self.old.len() - 1].end;
        let end = if self.takes_end {
            (last + 1).min(self.text.len())
        } else {
            last
        };
        self.lines[start].start..end
    }
}

/// True when two lines are the same after `cut`, and after [`ascii`] if `plain`.
pub fn same_line<'a>(a: &'a str, b: &'a str, plain: bool, cut: fn(&'a str) -> &'a str) -> bool {
    let (a, b) = (cut(a), cut(b));
    a == b || (plain && a.chars().map(ascii).eq(b.chars().map(ascii)))
}

fn trailing_space(text: &str, old: &str, new: &str, plain: bool) -> (Vec<Range<usize>>, String) {
    let block = Block::new(text, old, new);
    let starts = block.find(|a, b| same_line(a, b, plain, str::trim_end));
    (
        starts.into_iter().map(|s| block.range(s)).collect(),
        block.new.into(),
    )
}

fn indentation(text: &str, old: &str, new: &str, plain: bool) -> (Vec<Range<usize>>, String) {
    let block = Block::new(text, old, new);
    let mut places = Vec::new();
    let mut fitted = String::new();
    for start in block.find(|a, b| same_line(a, b, plain, str::trim)) {
        let there: Vec<&str> = block.window(start).collect();
        if let Some(map) = Indentation::between(&block.old, &there) {
            fitted = map.apply(block.new, text);
            places.push(block.range(start));
        }
    }
    (places, fitted)
}

/// A text with one level of backslash escapes taken off: of quotes alone, or of all.
fn unescape(text: &str, quotes_only: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let next = if c == '\\' {
            chars.clone().next()
        } else {
            None
        };
        let plain = match next {
            Some(q @ ('"' | '\'')) => Some(q),
            Some('n') if !quotes_only => Some('\n'),
            Some('t') if !quotes_only => Some('\t'),
            Some('r') if !quotes_only => Some('\r'),
            Some('\\') if !quotes_only => Some('\\'),
            _ => None,
        };
        if plain.is_some() {
            chars.next();
        }
        out.push(plain.unwrap_or(c));
    }
    out
}

fn escapes(text: &str, old: &str, new: &str) -> (Vec<Range<usize>>, String) {
    for quotes_only in [true, false] {
        let plain = unescape(old, quotes_only).replace("\r\n", "\n");
        let places = if plain == old {
            Vec::new()
        } else {
            exact(text, &plain)
        };
        if !places.is_empty() {
            return (places, unescape(new, quotes_only).replace("\r\n", "\n"));
        }
    }
    (Vec::new(), String::new())
}

/// The text without the line numbers of a listing (`  12| x`, `12→x`, `12<TAB>x`), if every line
/// has one and they count up by one.
fn without_line_numbers(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut expected: Option<u64> = None;
    for line in text.split_inclusive('\n') {
        let rest = line.trim_start_matches(' ');
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let number: u64 = rest[..digits].parse().ok()?;
        if expected.is_some_and(|e| e != number) {
            return None;
        }
        expected = number.checked_add(1);
        let rest = &rest[digits..];
        let body = rest
            .strip_prefix("| ")
            .or_else(|| rest.strip_prefix('|'))
            .or_else(|| rest.strip_prefix('→'))
            .or_else(|| rest.strip_prefix('\t'))?;
        out.push_str(body);
    }
    expected.map(|_| out)
}

/// Bytes of text that the search for similar lines compares at most.
const NEAR_WORK: usize = 2 << 20;
/// The most lines that it shows, and the most bytes of one.
const NEAR_LINES: usize = 12;
const NEAR_WIDTH: usize = 200;

/// The lines of a file that are most similar to `old`, numbered, if any are similar.
pub fn near(text: &str, old: &str) -> Option<String> {
    let sample: Vec<(usize, &str)> = old
        .lines()
        .map(str::trim)
        .enumerate()
        .filter(|(_, line)| !line.is_empty())
        .take((NEAR_WORK / text.len().max(1)).clamp(1, 6))
        .collect();
    let lines: Vec<&str> = text.lines().collect();
    let alike = |at: usize, want: &str| {
        lines.get(at).map_or(0.0, |line| {
            strsim::sorensen_dice(head(line.trim(), NEAR_WIDTH), head(want, NEAR_WIDTH))
        })
    };
    let mut work = 0;
    let mut best = (0, 0.0);
    for (start, line) in lines.iter().enumerate() {
        let sum: f64 = sample.iter().map(|(i, want)| alike(start + i, want)).sum();
        let score = sum / sample.len().max(1) as f64;
        if score > best.1 {
            best = (start, score);
        }
        work += line.len().min(NEAR_WIDTH) * sample.len();
        if work > NEAR_WORK {
            break;
        }
    }
    (best.1 >= 0.5).then(|| {
        let count = old.lines().count().clamp(1, NEAR_LINES);
        numbered(&lines, best.0, count)
    })
}

fn numbered(lines: &[&str], start: usize, count: usize) -> String {
    lines
        .iter()
        .enumerate()
        .skip(start)
        .take(count)
        .map(|(i, line)| format!("{}| {}", i + 1, head(line, NEAR_WIDTH)))
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests;
