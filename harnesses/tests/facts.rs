//! The recorded facts about results, clause by clause: each is held by a golden layout or by a named
//! test, or it is said why it is not so here.
//!
//! `facts.txt` of a harness has the clauses that no block of its `golden.txt` cites, in their order:
//!
//! ```text
//! words of a clause => held by a_test, another_test
//! words of a first clause [..] words of a last one => not here: why.
//! ```

use super::golden::{Golden, goldens};
use crate::harnesses::ALL;
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
/// Stands for all between two places of the facts.
const TO: &str = " [..] ";
/// A section of `ID.md` is about results when its heading has one of these.
const HEADINGS: [&str; 10] = [
    "result",
    "per tool",
    "bad tool calls",
    "observation",
    "error",
    "finishing",
    "submission",
    "added",
    "bash",
    "editor",
];
/// So do these of an agent that reads its calls in several ways.
const PARSERS: &str = "parsers";
/// What looks like the end of a sentence.
const SHORT_FORMS: [&str; 3] = ["e.g.", "i.e.", "incl."];

struct Facts {
    /// `ID.md` with single blanks.
    text: String,
    /// `ID.json` with single blanks.
    json: String,
    /// The clauses of the sections about results.
    clauses: Vec<Clause>,
}

struct Clause {
    place: Range<usize>,
    /// False for a title and for a remark in brackets.
    counts: bool,
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn fixture(id: &str, end: &str) -> String {
    let path = format!("{ROOT}/tests/fixtures/harness-facts/{id}.{end}");
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"))
}

impl Facts {
    fn of(id: &str) -> Self {
        let (text, paragraphs) = paragraphs(&fixture(id, "md"));
        let clauses = paragraphs
            .iter()
            .flat_map(|(place, is_row)| clauses(&text, place.clone(), *is_row))
            .collect();
        Facts {
            text,
            json: words(&fixture(id, "json")),
            clauses,
        }
    }

    fn clause_at(&self, place: usize) -> Option<usize> {
        self.clauses
            .iter()
            .position(|clause| clause.place.contains(&place))
    }

    /// Where words stand from a place on, if they can inside of a clause.
    fn find(&self, words: &str, from: usize) -> Option<usize> {
        let all = || self.text.get(from..).unwrap_or("").match_indices(words);
        let places = || all().map(|(at, _)| from + at);
        places()
            .find(|place| self.clause_at(*place).is_some())
            .or_else(|| places().next())
    }

    /// The clause that a block of `golden.txt` cites; `None`: it cites other facts.
    fn cited(&self, golden: &Golden) -> Result<Option<usize>, String> {
        let fact = words(&golden.fact);
        let (before, piece) = match fact.rsplit_once(TO) {
            Some((before, piece)) => (self.find(before, 0), piece),
            None => (Some(0), fact.as_str()),
        };
        let Some(place) = before.and_then(|from| self.find(piece, from)) else {
            let known = self.json.contains(piece);
            return if known {
                Ok(None)
            } else {
                Err(format!("no such fact: {fact}"))
            };
        };
        let clause = self.clause_at(place);
        match clause.map(|at| place + piece.len() > self.clauses[at].place.end) {
            Some(true) => Err(format!("more than one clause: {fact}")),
            _ => Ok(clause),
        }
    }
}

/// The text with single blanks, and where the paragraphs of the sections about results stand in it,
/// each with whether it is the row of a table.
fn paragraphs(source: &str) -> (String, Vec<(Range<usize>, bool)>) {
    let mut text = String::new();
    let mut found = Vec::new();
    let mut open: Option<(Range<usize>, bool)> = None;
    let mut wanted = false;
    let lines: Vec<&str> = source.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        let heading = line.strip_prefix("## ");
        if let Some(heading) = heading {
            let heading = heading.to_lowercase();
            let mut marks = HEADINGS.into_iter().chain([PARSERS]);
            wanted = marks.any(|mark| heading.contains(mark));
        }
        let starts = ["- ", "|", "**", "## "];
        if line.trim().is_empty() || starts.iter().any(|start| line.starts_with(start)) {
            found.extend(open.take());
        }
        let line_words = words(line);
        if line_words.is_empty() {
            continue;
        }
        if !text.is_empty() {
            text.push(' ');
        }
        let start = text.len();
        text.push_str(&line_words);
        let is_row = line.starts_with('|');
        let is_head = is_row
            && lines
                .get(at + 1)
                .is_some_and(|next| next.starts_with("| ---"));
        let is_frame = heading.is_some() || line.starts_with("```") || line.starts_with("| ---");
        if !wanted || is_frame || is_head {
            continue;
        }
        match &mut open {
            Some((place, _)) => place.end = text.len(),
            None => open = Some((start..text.len(), is_row)),
        }
    }
    found.extend(open);
    (text, found)
}

/// The clauses of a paragraph: up to a full stop or semicolon outside of brackets and backticks; in
/// a list of errors and in the row of a table also up to a comma.
fn clauses(text: &str, paragraph: Range<usize>, is_row: bool) -> Vec<Clause> {
    let mut pieces = Vec::new();
    let (mut from, mut depth, mut code, mut errors) = (paragraph.start, 0_usize, false, false);
    for (at, c) in text[paragraph.clone()].char_indices() {
        let end = paragraph.start + at + c.len_utf8();
        match c {
            '`' => code = !code,
            '(' | '[' | '{' if !code => depth += 1,
            ')' | ']' | '}' if !code => depth = depth.saturating_sub(1),
            _ => {}
        }
        if code || depth > 0 {
            continue;
        }
        errors |= text[from..]
            .trim_start_matches(['-', ' '])
            .starts_with("Errors:");
        let before_blank = end == paragraph.end || text[end..].starts_with(' ');
        let ends = match c {
            '.' | ';' => {
                before_blank
                    && !SHORT_FORMS
                        .iter()
                        .any(|form| text[from..end].ends_with(form))
            }
            ',' => before_blank && (errors || is_row),
            '|' => is_row,
            _ => false,
        };
        if ends {
            pieces.push(from..end);
            from = end;
            errors &= c != '.';
        }
    }
    pieces.push(from..paragraph.end);
    pieces
        .into_iter()
        .filter_map(|piece| {
            let trimmed = text[piece.clone()].trim_start_matches([' ', '|']);
            let trimmed = trimmed.strip_prefix("- ").unwrap_or(trimmed);
            let shown = trimmed.trim_matches([' ', '|']);
            let count = without_brackets(shown).split_whitespace().count();
            let has_words = without_brackets(shown).contains(char::is_alphanumeric);
            has_words.then(|| Clause {
                place: piece.end - trimmed.len()..piece.end,
                counts: match is_row {
                    true => count >= 2,
                    false => shown.ends_with(['.', ';', ',']) || count > 5,
                },
            })
        })
        .collect()
}

fn without_brackets(text: &str) -> String {
    let mut inside = false;
    text.chars()
        .filter(|c| {
            let was = inside;
            inside = (inside || *c == '[') && *c != ']';
            !was && !inside
        })
        .collect()
}

/// The lines of `facts.txt`: words, and what holds them.
fn rows(id: &str) -> Vec<(String, String)> {
    let path = format!("{ROOT}/harnesses/{}/facts.txt", id.replace('-', "_"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    text.lines()
        .filter_map(|line| line.split_once(" => "))
        .map(|(fact, held)| (words(fact), held.to_owned()))
        .collect()
}

/// The names of all tests.
fn tests() -> BTreeSet<String> {
    fn look(folder: &Path, names: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                look(&path, names);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let text = std::fs::read_to_string(&path).expect("a source file");
                let after = text.split("#[test]\n").skip(1);
                let name =
                    |rest: &str| Some(rest.split_once("fn ")?.1.split_once('(')?.0.to_owned());
                names.extend(after.filter_map(name));
            }
        }
    }
    let mut names = BTreeSet::new();
    for folder in ["harnesses", "src", "tests"] {
        look(&Path::new(ROOT).join(folder), &mut names);
    }
    names
}

/// What is wrong with a reason; `None`: nothing.
fn bad_reason(held: &str, tests: &BTreeSet<String>) -> Option<String> {
    if let Some(why) = held.strip_prefix("not here: ") {
        return (!why.ends_with('.')).then(|| "a reason is a sentence".into());
    }
    let Some(names) = held.strip_prefix("held by ") else {
        return Some("neither `held by` nor `not here: `".into());
    };
    let unknown = names.split(", ").find(|name| !tests.contains(*name))?;
    Some(format!("there is no test {unknown}"))
}

#[test]
fn every_fact_about_results_is_held_or_left_for_a_reason() {
    let tests = tests();
    let mut wrong = Vec::new();
    for harness in ALL {
        let id = harness.id();
        let facts = Facts::of(id);
        assert!(!facts.clauses.is_empty(), "{id}: no facts on results");
        let mut cited = BTreeSet::new();
        for golden in goldens(id).1 {
            match facts.cited(&golden) {
                Ok(clause) => cited.extend(clause),
                Err(why) => wrong.push(format!("{id} {} · {}: {why}", golden.tool, golden.kind)),
            }
        }
        let mut held = cited.clone();
        let mut from = facts.clauses[0].place.start;
        for (row, reason) in rows(id) {
            let (first, last) = row.split_once(TO).unwrap_or((&row, ""));
            let place = facts.find(first, from);
            let first_clause = place.and_then(|place| facts.clause_at(place));
            let last_clause = match (place, last) {
                (_, "") => first_clause,
                (Some(place), last) => facts
                    .find(last, place + first.len())
                    .and_then(|place| facts.clause_at(place)),
                (None, _) => None,
            };
            let (Some(first), Some(last)) = (first_clause, last_clause) else {
                wrong.push(format!("{id}: no clause, or not in its order: {row}"));
                continue;
            };
            from = place.unwrap_or(from);
            let open = |at: &usize| facts.clauses[*at].counts && !cited.contains(at);
            if (first..=last).filter(open).count() == 0 {
                wrong.push(format!("{id}: a golden layout holds it already: {row}"));
            }
            held.extend(first..=last);
            if let Some(why) = bad_reason(&reason, &tests) {
                wrong.push(format!("{id}: {row}: {why}"));
            }
        }
        for (at, clause) in facts.clauses.iter().enumerate() {
            if clause.counts && !held.contains(&at) {
                let clause = &facts.text[clause.place.clone()];
                wrong.push(format!("{id}: nothing holds: {clause}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn facts_are_cut_into_clauses() {
    let source = "## Results\nTitle\n- One, e.g. two; `a; b` and (c. d). [docs]\n- Errors: missing, not a file;\n  bad.\n\n| a | b |\n| --- | --- |\n| view | not text; several, none |\n## Other\n- No. Result.";
    let (text, paragraphs) = paragraphs(source);
    let found: Vec<&str> = paragraphs
        .iter()
        .flat_map(|(place, is_row)| clauses(&text, place.clone(), *is_row))
        .filter(|clause| clause.counts)
        .map(|clause| &text[clause.place])
        .collect();
    assert_eq!(
        found,
        [
            "One, e.g. two;",
            "`a; b` and (c. d).",
            "Errors: missing,",
            "not a file;",
            "bad.",
            "not text;"
        ]
    );
}
