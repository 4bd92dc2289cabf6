//! Whole files: read, write, insert and undo, and what every change of a file has in common.

use super::Workbench;
use super::action::{ChangeKind, FileChange, Outcome, Pass, Read, ReadOut, ToolError, WriteRule};
use super::memory::Standing;
use super::notebook;
use super::text::{self, LIMIT, Text};
use crate::cancel::Cancel;
use crate::sandbox::Lift;
use crate::sandbox::gate::GateError;
use std::io;
use std::path::{Path, PathBuf};

/// How much of a file's new content the model gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Knows {
    /// All of it.
    All,
    /// A part. A file that was unread, or changed by somebody else, is so after the change too.
    Part,
}

/// The most entries of a folder that is read like a file, unless the model says how many.
const LISTED: usize = 1_000;

impl Workbench {
    pub(super) fn read(
        &mut self,
        read: &Read,
        room: usize,
        cancel: &Cancel,
    ) -> Result<Outcome, ToolError> {
        let shown = read.path.as_str();
        let max_bytes = read.max_bytes.min(room);
        let path = self.existing(shown)?;
        if read.or_list && path.is_dir() {
            return self.list_part(read, cancel);
        }
        let bytes = self
            .load(&path, shown, LIMIT)?
            .ok_or_else(|| self.missing(shown))?;
        let binary = || ToolError::Binary { path: shown.into() };
        if text::is_binary(&bytes) {
            return Err(binary());
        }
        if read.cells
            && let Some(cells) = notebook::cells(&bytes)
        {
            return self.read_cells(read, path, &bytes, cells);
        }
        let first = match read.from_end {
            true => lines_of(&bytes).saturating_sub(read.first.max(1)) + 1,
            false => read.first.max(1),
        };
        let window = Window::of(&bytes, first, read.lines, max_bytes);
        if window.first > window.total.max(1) {
            return Err(ToolError::PastEnd {
                path: shown.into(),
                line: window.first,
                total: window.total,
            });
        }
        let given = std::str::from_utf8(window.bytes).map_err(|_| binary())?;
        let given = text::to_lf(given.strip_prefix('\u{feff}').unwrap_or(given));
        let stretch = (!window.inside).then_some((window.first, window.lines));
        let repeated = self.memory.read(&path, &bytes, stretch);
        Ok(Outcome::Read(ReadOut {
            path,
            text: given,
            first: window.first,
            lines: window.lines,
            total: window.total,
            cut: window.cut,
            repeated,
        }))
    }

    /// A folder where a file was asked for: its entries from the first that is wanted on.
    fn list_part(&mut self, read: &Read, cancel: &Cancel) -> Result<Outcome, ToolError> {
        let skip = match read.from_end {
            true => 0,
            false => read.first.max(1) - 1,
        };
        let limit = skip.saturating_add(read.lines.unwrap_or(LISTED));
        let mut listed = self.list(&read.path, &[], false, limit, cancel)?;
        if let Outcome::Listed(out) = &mut listed {
            out.entries.drain(..skip.min(out.entries.len()));
        }
        Ok(listed)
    }

    pub(super) fn write(
        &mut self,
        shown: &str,
        content: &str,
        rule: WriteRule,
        lift: &Lift,
    ) -> Result<Outcome, ToolError> {
        let path = self.writable(shown, lift)?;
        let before = self.load(&path, shown, LIMIT)?;
        let Some(bytes) = before else {
            let after = Some(content.as_bytes().to_vec());
            let change = self.change(path, shown, None, after, Knows::All)?;
            return Ok(Outcome::Changed(vec![change]));
        };
        if rule.must_be_new {
            return Err(ToolError::Exists { path: shown.into() });
        }
        let must = rule.read_first && !bytes.is_empty();
        if rule.append {
            // What is there stays, so that it matters only to a harness with the rule.
            if must {
                self.check_seen(&path, shown, &bytes, true)?;
            }
            let mut after = bytes.clone();
            match Text::decode(&bytes) {
                Some(old) => after.extend(old.with_ends(content)),
                None => after.extend(content.as_bytes()),
            }
            let change = self.change(path, shown, Some(bytes), Some(after), Knows::Part)?;
            return Ok(Outcome::Changed(vec![change]));
        }
        self.check_seen(&path, shown, &bytes, must)?;
        let old = Text::decode(&bytes);
        let after = match &old {
            Some(old) => {
                if let Some(line) = placeholder(&old.lf, content) {
                    return Err(ToolError::Other(format!(
                        "{shown} was not written: the line `{line}` stands for text that you left out, and writing it would delete that text. Use an edit for the part that changes, or send the whole file"
                    )));
                }
                if content.contains("\r\n") {
                    content.as_bytes().to_vec()
                } else {
                    old.encode(content)
                }
            }
            None => content.as_bytes().to_vec(),
        };
        let change = self.change(path, shown, Some(bytes), Some(after), Knows::All)?;
        Ok(Outcome::Changed(vec![change]))
    }

    pub(super) fn insert(
        &mut self,
        shown: &str,
        after: usize,
        new: &str,
        lift: &Lift,
    ) -> Result<Outcome, ToolError> {
        let path = self.writable(shown, lift)?;
        let bytes = self
            .load(&path, shown, LIMIT)?
            .ok_or_else(|| self.missing(shown))?;
        // A line number says nothing about a file that has other lines by now.
        self.check_seen(&path, shown, &bytes, false)?;
        let old = Text::decode(&bytes).ok_or_else(|| ToolError::Binary { path: shown.into() })?;
        let lines: Vec<&str> = old.lf.split_inclusive('\n').collect();
        if after > lines.len() {
            return Err(ToolError::PastEnd {
                path: shown.into(),
                line: after,
                total: lines.len(),
            });
        }
        let mut head = lines[..after].concat();
        let mut new = text::to_lf(new);
        if head.is_empty() || head.ends_with('\n') {
            if !new.ends_with('\n') {
                new.push('\n');
            }
        } else {
            // The last line has no end, and the file keeps that habit.
            head.push('\n');
            if new.ends_with('\n') {
                new.pop();
            }
        }
        let text = head + &new + &lines[after..].concat();
        let encoded = old.encode(&text);
        let change = self.change(path, shown, Some(bytes), Some(encoded), Knows::Part)?;
        Ok(Outcome::Changed(vec![change]))
    }

    pub(super) fn undo_edit(&mut self, shown: &str, lift: &Lift) -> Result<Outcome, ToolError> {
        let path = self.writable(shown, lift)?;
        let nothing = || ToolError::NothingToUndo { path: shown.into() };
        let now = self.load(&path, shown, LIMIT)?;
        let last = self.undo.last(&path).ok_or_else(nothing)?;
        if !last.stands(now.as_deref()) {
            return Err(ToolError::ChangedSince { path: shown.into() });
        }
        let before = last.before.clone();
        self.put(&path, shown, now.as_deref(), before.as_deref(), Knows::Part)?;
        self.undo.pop(&path);
        Ok(Outcome::Changed(vec![describe(
            path,
            shown,
            now.as_deref(),
            before.as_deref(),
        )]))
    }

    /// Gives a file another content, or removes it, and remembers what was there.
    pub(super) fn change(
        &mut self,
        path: PathBuf,
        shown: &str,
        before: Option<Vec<u8>>,
        after: Option<Vec<u8>>,
        knows: Knows,
    ) -> Result<FileChange, ToolError> {
        self.put(&path, shown, before.as_deref(), after.as_deref(), knows)?;
        let change = describe(path.clone(), shown, before.as_deref(), after.as_deref());
        self.undo.push(&path, before, after.as_deref());
        Ok(change)
    }

    /// Writes or removes a file, and notes its new state as seen if the model can know it.
    pub(super) fn put(
        &mut self,
        path: &Path,
        shown: &str,
        before: Option<&[u8]>,
        after: Option<&[u8]>,
        knows: Knows,
    ) -> Result<(), ToolError> {
        match after {
            Some(bytes) => {
                self.save(path, bytes)
                    .map_err(|e| failed(shown, "written", &e))?;
                let knew = |b| self.memory.standing(path, b) == Standing::Unchanged;
                if knows == Knows::All || before.is_none_or(knew) {
                    self.memory.wrote(path, bytes);
                }
            }
            None => {
                let removed = self.setup.gate.remove(path);
                removed.map_err(|e| failed(shown, "removed", &e))?;
                self.memory.forget(path);
            }
        }
        Ok(())
    }

    /// Refuses to overwrite what the model has not seen: with `must` a file that it never read,
    /// and always one that somebody changed since.
    pub(super) fn check_seen(
        &self,
        path: &Path,
        shown: &str,
        content: &[u8],
        must: bool,
    ) -> Result<(), ToolError> {
        match self.memory.standing(path, content) {
            Standing::Changed => Err(ToolError::ChangedSince { path: shown.into() }),
            Standing::Unknown if must => Err(ToolError::NotRead { path: shown.into() }),
            _ => Ok(()),
        }
    }

    /// An existing path that may be read.
    pub(super) fn existing(&self, shown: &str) -> Result<PathBuf, ToolError> {
        let spelled = self.spelled(shown);
        if is_missing(&self.setup.gate.absolute(&spelled)) {
            return Err(self.missing(shown));
        }
        self.setup
            .gate
            .readable(&spelled)
            .map_err(|e| denied(shown, e))
    }

    /// A path that may be written, whether or not it exists.
    pub(super) fn writable(&self, shown: &str, lift: &Lift) -> Result<PathBuf, ToolError> {
        let spelled = self.spelled(shown);
        let gate = &self.setup.gate;
        gate.writable(&spelled, lift).map_err(|e| denied(shown, e))
    }

    /// The bytes of a file of at most `limit` bytes; `None` when there is none.
    pub(super) fn load(
        &self,
        path: &Path,
        shown: &str,
        limit: u64,
    ) -> Result<Option<Vec<u8>>, ToolError> {
        if is_missing(path) {
            return Ok(None);
        }
        let meta = path.metadata().map_err(|e| failed(shown, "read", &e))?;
        if meta.is_dir() {
            return Err(ToolError::IsFolder { path: shown.into() });
        }
        if meta.len() > limit {
            return Err(ToolError::TooLarge {
                path: shown.into(),
                bytes: meta.len(),
                limit,
            });
        }
        let bytes = self.setup.gate.read(path, limit);
        let bytes = bytes.map_err(|e| failed(shown, "read", &e))?;
        Ok(Some(self.newest(path, bytes)))
    }

    /// The error for a path that does not exist, with a file of that name elsewhere if there is
    /// just one.
    pub(super) fn missing(&self, shown: &str) -> ToolError {
        let instead = self.only_file_named(shown).map(|found| {
            let relative = found.strip_prefix(&self.cwd);
            match relative {
                Ok(relative) if !Path::new(shown).is_absolute() => relative.display().to_string(),
                _ => found.display().to_string(),
            }
        });
        ToolError::NotFound {
            path: shown.into(),
            instead,
        }
    }
}

fn is_missing(path: &Path) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound};
    path.metadata()
        .is_err_and(|e| matches!(e.kind(), NotFound | NotADirectory))
}

fn denied(shown: &str, error: GateError) -> ToolError {
    ToolError::Denied {
        path: shown.into(),
        why: error.why,
    }
}

fn failed(shown: &str, deed: &str, error: &io::Error) -> ToolError {
    ToolError::Other(format!("{shown} could not be {deed}: {error}"))
}

/// What a change of one file looks like from outside.
fn describe(path: PathBuf, shown: &str, before: Option<&[u8]>, after: Option<&[u8]>) -> FileChange {
    let lf = |bytes: Option<&[u8]>| bytes.and_then(Text::decode).map(|t| t.lf);
    let kind = match (before, after) {
        (None, _) => ChangeKind::Add,
        (_, None) => ChangeKind::Delete,
        _ => ChangeKind::Update,
    };
    changed(path, shown, kind, lf(before), lf(after), 1, None)
}

/// A [`FileChange`] whose changed lines are worked out from the two texts.
pub(super) fn changed(
    path: PathBuf,
    shown: &str,
    kind: ChangeKind,
    before: Option<String>,
    after: Option<String>,
    places: usize,
    matched_by: Option<Pass>,
) -> FileChange {
    let lines = after
        .as_deref()
        .and_then(|after| text::changed_lines(before.as_deref().unwrap_or(""), after));
    FileChange {
        path,
        shown: shown.into(),
        kind,
        moved_to: None,
        before,
        after,
        places,
        lines,
        matched_by,
    }
}

/// How many lines there are; a final line end does not start another.
fn lines_of(bytes: &[u8]) -> usize {
    bytes.split_inclusive(|b| *b == b'\n').count()
}

/// A stretch of whole lines, or the beginning of one line.
struct Window<'a> {
    bytes: &'a [u8],
    first: usize,
    lines: usize,
    total: usize,
    cut: bool,
    /// The cut is inside a line.
    inside: bool,
}

impl<'a> Window<'a> {
    fn of(bytes: &'a [u8], first: usize, lines: Option<usize>, max: usize) -> Self {
        let wanted = lines.unwrap_or(usize::MAX);
        let (mut start, mut end, mut at) = (bytes.len(), bytes.len(), 0);
        let mut window = Window {
            bytes: &[],
            first,
            lines: 0,
            total: 0,
            cut: false,
            inside: false,
        };
        for line in bytes.split_inclusive(|b| *b == b'\n') {
            window.total += 1;
            if window.total == first {
                (start, end) = (at, at);
            }
            at += line.len();
            if window.total < first || window.lines >= wanted || window.cut {
                continue;
            }
            if at - start <= max {
                end = at;
                window.lines += 1;
                continue;
            }
            window.cut = true;
            if window.lines == 0 {
                window.inside = true;
                window.lines = 1;
                end = char_start(bytes, start + max);
            }
        }
        window.bytes = &bytes[start..end.max(start)];
        window
    }
}

/// The nearest place at or before `at` where a UTF-8 character begins.
fn char_start(bytes: &[u8], mut at: usize) -> usize {
    while at > 0 && bytes.get(at).is_some_and(|b| b & 0xc0 == 0x80) {
        at -= 1;
    }
    at
}

/// A line of a shorter new text that stands for old lines left out, like `# ... rest unchanged`.
fn placeholder<'a>(old: &str, new: &'a str) -> Option<&'a str> {
    const SURE: [&str; 4] = ["rest of", "unchanged", "remain", "omitted"];
    const LIKELY: [&str; 4] = ["existing", "same as", "previous", "other code"];
    if new.len() >= old.len() {
        return None;
    }
    let dots = |text: &str| text.starts_with("...") || text.starts_with('…');
    new.lines().map(str::trim).find(|line| {
        let words = line
            .trim_start_matches(|c: char| c.is_ascii_punctuation() && c != '.' || c == ' ')
            .to_lowercase();
        let says = |list: [&str; 4]| list.iter().any(|w| words.contains(w));
        let comment = ["//", "/*", "#", "<!--"]
            .iter()
            .any(|c| line.starts_with(c));
        let trails = words.contains("...") || words.contains('…');
        let stands =
            (dots(&words) && (says(SURE) || says(LIKELY))) || (comment && trails && says(SURE));
        stands && !old.contains(*line)
    })
}
