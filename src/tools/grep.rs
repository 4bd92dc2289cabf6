//! Finding lines by a regular expression, or the files that hold them.

use super::Workbench;
use super::action::{CountOut, Grep, GrepLine, GrepOut, GrepWant, Ignored, Outcome, ToolError};
use super::search::{ENTRIES, TIME, changed, gave_up, is_file, newest_first};
use super::text::LIMIT;
use super::walk::{NamePattern, Walk};
use crate::cancel::Cancel;
use crate::words::head;
use grep_matcher::{LineTerminator, Matcher};
use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkMatch,
};
use ignore::types::{FileTypeDef, Types, TypesBuilder};
use std::io;
use std::path::PathBuf;
use std::time::{Instant, SystemTime};

/// The most bytes of one line that a grep gives back, and of all of them.
const LINE: usize = 4 << 10;
const LINES: usize = 16 << 20;
/// The longest line that a grep can search, in bytes.
const LINE_BUFFER: usize = 8 << 20;
/// How many names of file types an error shows, and how similar they are at least.
const NEAR: (usize, f64) = (5, 0.85);

/// Names that ripgrep has not, and its names for the same.
const OTHER_NAMES: [(&str, &str); 5] = [
    ("bash", "sh"),
    ("c++", "cpp"),
    ("golang", "go"),
    ("javascript", "js"),
    ("shell", "sh"),
];

impl Workbench {
    pub(super) fn grep(&mut self, query: &Grep, cancel: &Cancel) -> Result<Outcome, ToolError> {
        let root = self.existing(query.path.as_deref().unwrap_or("."))?;
        let include = query.include.as_deref().map(NamePattern::new).transpose()?;
        let (matcher, across) = matcher(query)?;
        let mut searcher = searcher(query, across);
        let mut builder = self.walker(&root, query.ignored != Ignored::Included);
        if let Some(name) = query.file_type.as_deref().filter(|n| !n.trim().is_empty()) {
            builder.types(file_type(name)?);
        }
        let mut hits = Hits::new(query, &matcher, across, cancel);
        let mut walk = Walk::new(&builder, ENTRIES, TIME, cancel);
        let mut searched = 0;
        for entry in walk.by_ref() {
            let relative = entry.path().strip_prefix(&root).unwrap_or(entry.path());
            let wanted = include.as_ref().is_none_or(|p| p.matches(relative));
            let small = entry.metadata().is_ok_and(|m| m.len() <= LIMIT);
            if is_file(&entry) && (wanted || entry.depth() == 0) && small {
                let time = changed(&entry);
                searched += 1;
                hits.search(&mut searcher, entry.into_path(), time);
            }
        }
        if cancel.is_cancelled() {
            return Ok(Outcome::Interrupted);
        }
        let stopped = walk.stopped || Instant::now() >= hits.until;
        if stopped && hits.total == 0 {
            return Err(gave_up(&root));
        }
        let (skip, limit) = (query.skip, query.limit);
        Ok(match query.want {
            GrepWant::Lines => Outcome::Matches(GrepOut {
                root,
                cut: stopped || hits.full || hits.total > skip.saturating_add(limit),
                total: hits.total,
                lines: hits.lines,
                searched,
            }),
            GrepWant::Files => {
                let files = hits.files.into_iter().map(|f| (f.time, f.path));
                Outcome::Found(newest_first(root, files.collect(), skip, limit))
            }
            GrepWant::Counts => {
                hits.files.sort_by(|a, b| a.path.cmp(&b.path));
                let files = hits.files.iter().skip(skip).take(limit);
                Outcome::Counted(CountOut {
                    root,
                    files: files.map(|f| (f.path.clone(), f.count)).collect(),
                    total_files: hits.files.len(),
                    total: hits.total,
                })
            }
        })
    }
}

/// The expression, and whether it is searched for across lines: also when it holds a line end,
/// without which it could not match.
fn matcher(query: &Grep) -> Result<(RegexMatcher, bool), ToolError> {
    let build = |across: bool| {
        let mut builder = RegexMatcherBuilder::new();
        builder.case_insensitive(query.ignore_case).crlf(true);
        if across {
            builder
                .line_terminator(None)
                .multi_line(true)
                .dot_matches_new_line(query.multiline);
        }
        builder
            .build(&query.pattern)
            .map(|matcher| (matcher, across))
    };
    let built = build(query.multiline).or_else(|e| match e.kind() {
        ErrorKind::NotAllowed(_) => build(true),
        _ => Err(e),
    });
    built.map_err(|e| ToolError::BadPattern {
        pattern: query.pattern.clone(),
        why: e.to_string(),
    })
}

fn searcher(query: &Grep, across: bool) -> Searcher {
    // Across lines the whole file has to be in memory.
    let most = if across { LIMIT as usize } else { LINE_BUFFER };
    let context = match query.want {
        GrepWant::Lines => query.context,
        _ => (0, 0),
    };
    SearcherBuilder::new()
        .line_terminator(LineTerminator::crlf())
        .line_number(true)
        .multi_line(across)
        .before_context(context.0)
        .after_context(context.1)
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(most))
        .build()
}

/// The files of one kind, by ripgrep's name for it.
fn file_type(name: &str) -> Result<Types, ToolError> {
    let mut builder = TypesBuilder::new();
    builder.add_defaults();
    let bare = name.trim().trim_start_matches("*.").trim_start_matches('.');
    let bare = bare.to_lowercase();
    let other = OTHER_NAMES.iter().find(|(other, _)| *other == bare);
    let types = builder
        .select(other.map_or(&bare, |(_, known)| known))
        .build();
    types.map_err(|_| ToolError::BadPattern {
        pattern: name.into(),
        why: format!(
            "no type of files has this name; near ones are {}",
            near_types(&bare, &builder.definitions()).join(", ")
        ),
    })
}

/// Names of file types for a name that is none: of files that end like it, then similar ones.
fn near_types(name: &str, known: &[FileTypeDef]) -> Vec<String> {
    let ending = format!("*.{name}");
    let score = |def: &FileTypeDef| match def.globs().contains(&ending) {
        true => 2.0,
        false => strsim::jaro_winkler(def.name(), name),
    };
    let mut near: Vec<(f64, &str)> = known.iter().map(|d| (score(d), d.name())).collect();
    near.retain(|(score, _)| *score >= NEAR.1);
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    if near.is_empty() {
        return ["c", "cpp", "go", "java", "js", "py", "rust", "ts"]
            .map(String::from)
            .to_vec();
    }
    near.into_iter()
        .take(NEAR.0)
        .map(|(_, name)| name.to_string())
        .collect()
}

/// What a grep found so far.
struct Hits<'a> {
    query: &'a Grep,
    matcher: &'a RegexMatcher,
    /// A match may go over several lines.
    across: bool,
    cancel: &'a Cancel,
    until: Instant,
    /// The file at work.
    path: PathBuf,
    lines: Vec<GrepLine>,
    /// Bytes of the lines.
    bytes: usize,
    /// There was no room for another line.
    full: bool,
    /// For each file with a match.
    files: Vec<Hit>,
    /// Matching lines.
    total: usize,
    /// How many lines and matching lines there were before the file at work.
    kept: (usize, usize),
}

struct Hit {
    path: PathBuf,
    time: Option<SystemTime>,
    count: usize,
}

impl<'a> Hits<'a> {
    fn new(query: &'a Grep, matcher: &'a RegexMatcher, across: bool, cancel: &'a Cancel) -> Self {
        Hits {
            query,
            matcher,
            across,
            cancel,
            until: Instant::now() + TIME,
            path: PathBuf::new(),
            lines: Vec::new(),
            bytes: 0,
            full: false,
            files: Vec::new(),
            total: 0,
            kept: (0, 0),
        }
    }

    fn search(&mut self, searcher: &mut Searcher, path: PathBuf, time: Option<SystemTime>) {
        self.path = path;
        self.kept = (self.lines.len(), self.total);
        let (matcher, file) = (self.matcher, self.path.clone());
        // A file that cannot be read, or has a line beyond the buffer, is passed over.
        let _ = searcher.search_path(matcher, file, &mut *self);
        let count = self.total - self.kept.1;
        if count > 0 && self.query.want != GrepWant::Lines {
            let path = std::mem::take(&mut self.path);
            self.files.push(Hit { path, time, count });
        }
    }

    /// True when the matching line after so many others is to be given.
    fn wants(&self, before: usize) -> bool {
        let (skip, limit) = (self.query.skip, self.query.limit);
        before >= skip && before - skip < limit
    }

    fn push(&mut self, number: u64, bytes: &[u8], is_match: bool) {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_end_matches(['\r', '\n']);
        let cut = head(text, LINE);
        self.bytes += cut.len();
        if self.bytes > LINES {
            self.full = true;
            return;
        }
        let dots = if cut.len() < text.len() { "…" } else { "" };
        self.lines.push(GrepLine {
            path: self.path.clone(),
            number,
            text: format!("{cut}{dots}"),
            is_match,
        });
    }

    fn go_on(&self) -> Result<bool, io::Error> {
        Ok(!self.cancel.is_cancelled() && Instant::now() < self.until)
    }
}

impl Sink for &mut Hits<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        match self.query.want {
            // A match across lines is given as its lines.
            GrepWant::Lines => {
                let first = found.line_number().unwrap_or(0);
                for (number, line) in (first..).zip(found.lines()) {
                    if self.wants(self.total) {
                        self.push(number, line, true);
                    }
                    self.total += 1;
                }
            }
            GrepWant::Files => {
                self.total += 1;
                return Ok(false);
            }
            GrepWant::Counts if self.across => {
                let matcher = self.matcher;
                let _ = matcher.find_iter(found.bytes(), |_| {
                    self.total += 1;
                    true
                });
            }
            GrepWant::Counts => self.total += 1,
        }
        self.go_on()
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> Result<bool, io::Error> {
        // What follows the last match that is given belongs to it; what precedes the next does not.
        let of = match context.kind() {
            SinkContextKind::After => self.total.checked_sub(1),
            _ => Some(self.total),
        };
        if of.is_some_and(|before| self.wants(before)) {
            let number = context.line_number().unwrap_or(0);
            self.push(number, context.bytes(), false);
        }
        self.go_on()
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> Result<bool, io::Error> {
        // Lines before the first zero byte were taken for text by mistake.
        self.lines.truncate(self.kept.0);
        self.total = self.kept.1;
        Ok(false)
    }
}
