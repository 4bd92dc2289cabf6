//! Looking around: list, glob and grep, with the rules of `.gitignore` and its kind.

use super::Workbench;
use super::action::{Entry, FoundOut, Grep, GrepLine, GrepOut, ListOut, Outcome, ToolError};
use super::text::LIMIT;
use super::walk::{NamePattern, Walk, split_base};
use crate::cancel::Cancel;
use crate::words::head;
use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkMatch,
};
use ignore::{DirEntry, WalkBuilder};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The most entries that one walk looks at.
const ENTRIES: usize = 200_000;
/// The longest time that one walk takes.
const TIME: Duration = Duration::from_secs(10);
/// The same for the search of a file that an error message could name.
const NAME_ENTRIES: usize = 20_000;
const NAME_TIME: Duration = Duration::from_secs(1);
/// The most bytes of one line that a grep gives back.
const LINE: usize = 4 << 10;
/// The longest line that a grep can search, in bytes.
const LINE_BUFFER: usize = 8 << 20;

impl Workbench {
    pub(super) fn list(
        &mut self,
        shown: &str,
        ignore: &[String],
        respect_ignore: bool,
        limit: usize,
        cancel: &Cancel,
    ) -> Result<Outcome, ToolError> {
        let root = self.existing(shown)?;
        if !root.is_dir() {
            return Err(ToolError::NotFolder { path: shown.into() });
        }
        let unwanted: Vec<NamePattern> = ignore
            .iter()
            .map(|p| NamePattern::new(p))
            .collect::<Result<_, _>>()?;
        let visible = |respect: bool| -> BTreeSet<OsString> {
            let mut builder = self.walker(&root, respect);
            Walk::new(builder.max_depth(Some(1)), ENTRIES, TIME, cancel)
                .filter(|e| e.depth() == 1)
                .map(|e| e.file_name().to_os_string())
                .collect()
        };
        let all = visible(false);
        let kept = if respect_ignore {
            visible(true)
        } else {
            all.clone()
        };
        let mut entries: Vec<Entry> = kept
            .iter()
            .filter(|name| !unwanted.iter().any(|p| p.matches(Path::new(name))))
            .map(|name| {
                let path = root.join(name);
                let meta = path.metadata().or_else(|_| path.symlink_metadata());
                Entry {
                    name: name.to_string_lossy().into_owned(),
                    is_dir: meta.as_ref().is_ok_and(|m| m.is_dir()),
                    size: meta.map_or(0, |m| m.len()),
                }
            })
            .collect();
        if cancel.is_cancelled() {
            return Ok(Outcome::Interrupted);
        }
        entries.sort_by(|a, b| b.is_dir.cmp(&a.is_dir).then_with(|| a.name.cmp(&b.name)));
        let more = entries.len().saturating_sub(limit);
        entries.truncate(limit);
        Ok(Outcome::Listed(ListOut {
            path: root,
            entries,
            ignored: all.len() - kept.len(),
            more,
        }))
    }

    pub(super) fn glob(
        &mut self,
        pattern: &str,
        path: Option<&str>,
        limit: usize,
        cancel: &Cancel,
    ) -> Result<Outcome, ToolError> {
        let (base, rest) = split_base(pattern);
        let root = match (base, path) {
            (Some(base), _) => self.existing(&base)?,
            (None, path) => self.existing(path.unwrap_or("."))?,
        };
        if !root.is_dir() {
            return Err(ToolError::NotFolder {
                path: path.unwrap_or(pattern).into(),
            });
        }
        let wanted = NamePattern::new(rest)?;
        let mut found = Vec::new();
        let builder = self.walker(&root, true);
        let mut walk = Walk::new(&builder, ENTRIES, TIME, cancel);
        for entry in walk.by_ref() {
            let relative = entry.path().strip_prefix(&root).unwrap_or(entry.path());
            if is_file(&entry) && wanted.matches(relative) {
                let time = entry.metadata().ok().and_then(|m| m.modified().ok());
                found.push((time, entry.into_path()));
            }
        }
        if cancel.is_cancelled() {
            return Ok(Outcome::Interrupted);
        }
        if walk.stopped && found.is_empty() {
            return Err(gave_up(&root));
        }
        found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        Ok(Outcome::Found(FoundOut {
            root,
            total: found.len(),
            paths: found
                .into_iter()
                .take(limit)
                .map(|(_, path)| path)
                .collect(),
        }))
    }

    pub(super) fn grep(&mut self, query: &Grep, cancel: &Cancel) -> Result<Outcome, ToolError> {
        let root = self.existing(query.path.as_deref().unwrap_or("."))?;
        let include = query.include.as_deref().map(NamePattern::new).transpose()?;
        let matcher = RegexMatcherBuilder::new()
            .case_insensitive(query.ignore_case)
            .crlf(true)
            .build(&query.pattern)
            .map_err(|e| ToolError::BadPattern {
                pattern: query.pattern.clone(),
                why: e.to_string(),
            })?;
        let mut searcher = SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .line_number(true)
            .before_context(query.context.0)
            .after_context(query.context.1)
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(LINE_BUFFER))
            .build();
        let mut hits = Hits {
            path: PathBuf::new(),
            lines: Vec::new(),
            total: 0,
            limit: query.limit,
            cancel,
            until: Instant::now() + TIME,
            kept: (0, 0),
        };
        let builder = self.walker(&root, true);
        let mut walk = Walk::new(&builder, ENTRIES, TIME, cancel);
        for entry in walk.by_ref() {
            let relative = entry.path().strip_prefix(&root).unwrap_or(entry.path());
            let wanted = include.as_ref().is_none_or(|p| p.matches(relative));
            let small = entry.metadata().is_ok_and(|m| m.len() <= LIMIT);
            if is_file(&entry) && (wanted || entry.depth() == 0) && small {
                hits.search(&mut searcher, &matcher, entry.into_path());
            }
        }
        if cancel.is_cancelled() {
            return Ok(Outcome::Interrupted);
        }
        let stopped = walk.stopped || Instant::now() >= hits.until;
        if stopped && hits.total == 0 {
            return Err(gave_up(&root));
        }
        Ok(Outcome::Matches(GrepOut {
            root,
            cut: stopped || hits.total > query.limit,
            total: hits.total,
            lines: hits.lines,
        }))
    }

    /// The only file of the workspace with the base name of a path that does not exist.
    pub(super) fn only_file_named(&self, path: &str) -> Option<PathBuf> {
        let name = Path::new(path).file_name()?;
        let builder = self.walker(&self.cwd, true);
        let never = Cancel::new();
        let mut walk = Walk::new(&builder, NAME_ENTRIES, NAME_TIME, &never);
        let mut found = walk
            .by_ref()
            .filter(|e| e.file_name() == name && is_file(e));
        let first = found.next()?.into_path();
        let alone = found.next().is_none();
        (alone && !walk.stopped).then_some(first)
    }

    /// A walk over a folder in the order of names. `.git` is never entered, nor what the policy
    /// keeps from the tools.
    fn walker(&self, root: &Path, respect_ignore: bool) -> WalkBuilder {
        let policy = self.setup.sandbox.policy();
        let hidden: Vec<PathBuf> = policy
            .own_homes
            .iter()
            .filter(|home| !root.starts_with(home))
            .flat_map(|home| [Some(home.clone()), home.canonicalize().ok()])
            .flatten()
            .collect();
        let mut builder = WalkBuilder::new(root);
        builder
            .standard_filters(false)
            .parents(respect_ignore)
            .ignore(respect_ignore)
            .git_ignore(respect_ignore)
            .git_global(respect_ignore)
            .git_exclude(respect_ignore)
            .require_git(false)
            .follow_links(false)
            .sort_by_file_name(|a, b| a.cmp(b))
            .filter_entry(move |entry| {
                entry.depth() == 0
                    || (entry.file_name() != ".git" && !hidden.iter().any(|h| h == entry.path()))
            });
        builder
    }
}

fn is_file(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|t| t.is_file())
}

fn gave_up(root: &Path) -> ToolError {
    ToolError::Other(format!(
        "the search of {} found nothing in {} seconds or {ENTRIES} entries and stopped; name a folder further down",
        root.display(),
        TIME.as_secs()
    ))
}

/// The lines that a grep found so far.
struct Hits<'a> {
    path: PathBuf,
    lines: Vec<GrepLine>,
    total: usize,
    limit: usize,
    cancel: &'a Cancel,
    until: Instant,
    /// How many lines and matches there were before the file at work.
    kept: (usize, usize),
}

impl Hits<'_> {
    fn search(&mut self, searcher: &mut Searcher, matcher: &RegexMatcher, path: PathBuf) {
        self.path = path;
        self.kept = (self.lines.len(), self.total);
        let file = self.path.clone();
        // A file that cannot be read, or has a line beyond the buffer, is passed over.
        let _ = searcher.search_path(matcher, file, self);
    }

    fn push(&mut self, number: Option<u64>, bytes: &[u8], is_match: bool) {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_end_matches(['\r', '\n']);
        let cut = head(text, LINE);
        let dots = if cut.len() < text.len() { "…" } else { "" };
        self.lines.push(GrepLine {
            path: self.path.clone(),
            number: number.unwrap_or(0),
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
        self.total += 1;
        if self.total <= self.limit {
            self.push(found.line_number(), found.bytes(), true);
        }
        self.go_on()
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> Result<bool, io::Error> {
        // What follows the last match that is given belongs to it; what precedes the next does not.
        let after = *context.kind() == SinkContextKind::After;
        if self.total < self.limit || (after && self.total == self.limit) {
            self.push(context.line_number(), context.bytes(), false);
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
