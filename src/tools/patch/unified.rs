//! The text of a patch as a unified diff (`diff -u`, git), read as leniently as models write it:
//! line counts may be wrong or missing, context lines may lack their blank, and prose or a code
//! fence may stand around it.
//!
//! ```text
//! diff  := file+
//! file  := ["diff --git " old " " new]  git-line*  ["--- " old "+++ " new]  hunk*
//! hunk  := "@@" [" -" from "," count " +" from "," count " @@"]  (("+" | "-" | " ") text)*
//! ```

use super::names::{NO_FILE, both, is_backup, name, paths};
use super::parse::{Chunk, Deed, Line, Section, bad, wraps};
use crate::tools::action::ToolError;

/// True for a text that has the headers of a unified diff.
pub fn is_unified(text: &str) -> bool {
    let lines: Vec<&str> = text.lines().collect();
    let names = |w: &[&str]| w[0].starts_with("--- ") && w[1].starts_with("+++ ");
    lines.windows(2).any(names) || lines.iter().any(|l| l.starts_with("diff --git "))
}

/// Reads a patch.
pub fn parse(text: &str) -> Result<Vec<Section>, ToolError> {
    let mut parser = Parser {
        lines: text.lines().collect(),
        at: 0,
    };
    let mut sections = Vec::new();
    let mut file: Option<File> = None;
    while let Some(line) = parser.peek() {
        if let Some(next) = parser.git_names() {
            sections.extend(file.replace(next).map(File::section));
            continue;
        }
        if let Some(next) = parser.names() {
            match &mut file {
                // The names of a file may follow its line for git.
                Some(file) if file.is_open() => file.name(next),
                file => sections.extend(file.replace(next).map(File::section)),
            }
            // A change without a head.
            let body = parser.peek().filter(|l| l.starts_with(['+', '-', ' ']));
            if let (Some(_), Some(file)) = (body, &mut file) {
                file.chunks.push(parser.hunk(None));
            }
            continue;
        }
        parser.at += 1;
        match (line.strip_prefix("@@"), &mut file) {
            (Some(rest), Some(file)) => file.chunks.push(parser.hunk(Some(rest))),
            (Some(_), None) => {
                return Err(bad(
                    parser.at,
                    line,
                    "before a change there must be `--- a/PATH` and `+++ b/PATH`",
                ));
            }
            (None, Some(file)) if file.chunks.is_empty() => file.note(line),
            // What stands around the diff.
            (None, _) => {}
        }
    }
    sections.extend(file.map(File::section));
    if sections.is_empty() {
        return Err(ToolError::BadPatch {
            why: "the patch changes no file; for each file there must be `--- a/PATH`, `+++ b/PATH` and changes that begin with `@@`".into(),
        });
    }
    sections.into_iter().collect()
}

/// What is read of one file.
#[derive(Default)]
struct File {
    /// The line that it begins with, and its number.
    at: (usize, String),
    /// The names behind `diff --git`.
    git: Option<(String, String)>,
    old: Option<String>,
    new: Option<String>,
    /// The names behind `rename from` and `rename to`.
    from: Option<String>,
    to: Option<String>,
    added: bool,
    deleted: bool,
    /// Why it cannot be done.
    trouble: Option<&'static str>,
    chunks: Vec<Chunk>,
}

impl File {
    /// True until its names or its changes come.
    fn is_open(&self) -> bool {
        self.git.is_some() && self.old.is_none() && self.new.is_none() && self.chunks.is_empty()
    }

    fn name(&mut self, names: File) {
        (self.old, self.new) = (names.old, names.new);
    }

    /// A line between the names and the changes.
    fn note(&mut self, line: &str) {
        let is = |start: &str| line.starts_with(start);
        if let Some(path) = line.strip_prefix("rename from ") {
            self.from = Some(name(path));
        } else if let Some(path) = line.strip_prefix("rename to ") {
            self.to = Some(name(path));
        } else if is("new file mode") {
            self.added = true;
        } else if is("deleted file mode") {
            self.deleted = true;
        } else if is("copy from ") {
            self.trouble = Some("a copy of a file is not made by a patch; use the shell");
        } else if is("GIT binary patch") || (is("Binary files ") && line.ends_with(" differ")) {
            self.trouble = Some("a file that is not text cannot be patched");
        } else if is("new mode ") {
            self.trouble = Some("the mode of a file is not changed by a patch; use chmod");
        }
    }

    fn section(mut self) -> Result<Section, ToolError> {
        let git = self.git.take().unzip();
        let (old, new) = (self.old.take().or(git.0), self.new.take().or(git.1));
        let (old, new) = paths(old, new);
        let (old, new) = (self.from.take().or(old), self.to.take().or(new));
        let deleted = self.deleted || new.as_deref() == Some(NO_FILE);
        let added = self.added || old.as_deref() == Some(NO_FILE);
        let file = |path: &String| path != NO_FILE && !path.is_empty();
        let (old, new) = (old.filter(file), new.filter(file));
        self.chunks.retain(|c| !c.lines.is_empty());
        let trouble = match self.trouble {
            // Beside changes of lines the mode is left as it is.
            Some(_) if !self.chunks.is_empty() => None,
            trouble => trouble,
        };
        if let Some(why) = trouble {
            return Err(self.bad(why));
        }
        if deleted && let Some(path) = &old {
            return Ok(Section {
                path: path.clone(),
                deed: Deed::Delete,
            });
        }
        if added && let Some(path) = &new {
            return Ok(Section {
                path: path.clone(),
                deed: Deed::Add(self.content()?),
            });
        }
        let (path, move_to) = match (old, new) {
            (Some(old), Some(new)) if old == new || is_backup(&old, &new) => (new, None),
            (Some(old), Some(new)) => (old, Some(new)),
            (Some(one), None) | (None, Some(one)) => (one, None),
            (None, None) => return Err(self.bad("a file needs `--- a/PATH` and `+++ b/PATH`")),
        };
        let stays = |line: &Line| matches!(line, Line::Keep(_));
        if move_to.is_none() && self.chunks.iter().flat_map(|c| &c.lines).all(stays) {
            return Err(self.bad(
                "nothing is changed in this file; lines with `-` or `+` must follow, under `@@`",
            ));
        }
        let chunks = self.chunks;
        Ok(Section {
            path,
            deed: Deed::Update { move_to, chunks },
        })
    }

    /// The lines of a new file.
    fn content(&self) -> Result<String, ToolError> {
        let mut content = String::new();
        for line in self.chunks.iter().flat_map(|c| &c.lines) {
            match line {
                Line::Add(text) | Line::Keep(text) => {
                    content.push_str(text);
                    content.push('\n');
                }
                Line::Remove(_) => {
                    return Err(self.bad("a new file cannot have lines that begin with `-`"));
                }
            }
        }
        if self.chunks.last().is_some_and(|c| c.ends == Some(false)) {
            content.pop();
        }
        Ok(content)
    }

    fn bad(&self, why: &str) -> ToolError {
        bad(self.at.0, &self.at.1, why)
    }
}

struct Parser<'a> {
    lines: Vec<&'a str>,
    at: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.ahead(0)
    }

    fn ahead(&self, by: usize) -> Option<&'a str> {
        self.lines.get(self.at + by).copied()
    }

    /// A file that begins here.
    fn begin(&self) -> File {
        File {
            at: (self.at + 1, self.peek().unwrap_or("").to_owned()),
            ..File::default()
        }
    }

    /// A `diff --git` line.
    fn git_names(&mut self) -> Option<File> {
        let names = self.peek()?.strip_prefix("diff --git ")?;
        let file = self.begin();
        self.at += 1;
        Some(File {
            git: Some(both(names)),
            ..file
        })
    }

    /// The lines with the names of a file: both, or one of them right before a change.
    fn names(&mut self) -> Option<File> {
        let old = self.peek()?.strip_prefix("--- ");
        let new = self.ahead(usize::from(old.is_some()))?;
        let new = new.strip_prefix("+++ ");
        let lines = usize::from(old.is_some()) + usize::from(new.is_some());
        let changes = || self.ahead(lines).is_some_and(|l| l.starts_with("@@"));
        if lines == 0 || (lines == 1 && !changes()) {
            return None;
        }
        let file = self.begin();
        self.at += lines;
        Some(File {
            old: old.map(name),
            new: new.map(name),
            ..file
        })
    }

    /// The lines of a change after its head, which is given without its first signs; `None`: it has
    /// no head.
    fn hunk(&mut self, head: Option<&str>) -> Chunk {
        let numbers = head.and_then(Numbers::read);
        let mut chunk = Chunk {
            line: numbers.as_ref().map(Numbers::line),
            ..Chunk::default()
        };
        if numbers.is_none() {
            chunk.contexts.extend(head.and_then(context));
        }
        let mut left = numbers.map(|n| (n.old.1, n.new.1));
        // Lines at the end that are empty, without even a blank.
        let mut empty = 0;
        while let Some(line) = self.peek() {
            let full = left == Some((0, 0));
            if self.is_end(0, full || left.is_none()) {
                break;
            }
            if line.starts_with("\\ ") {
                chunk.at_end = true;
                chunk.ends = Some(matches!(chunk.lines.last(), Some(Line::Remove(_))));
                self.at += 1;
                continue;
            }
            let next = match line.chars().next() {
                Some('+') => Line::Add(line[1..].into()),
                Some('-') if full && line.trim_end() == "--" => break,
                Some('-') => Line::Remove(line[1..].into()),
                Some(' ') => Line::Keep(line[1..].into()),
                None => Line::Keep(String::new()),
                // The change is over, or the blank was forgotten.
                Some(_) if !self.goes_on() && (full || self.is_around(line)) => break,
                Some(_) => {
                    chunk.unsigned |= !line.starts_with('\t');
                    Line::Keep(line.into())
                }
            };
            self.at += 1;
            if let Some((old, new)) = &mut left {
                *old = old.saturating_sub(usize::from(!matches!(next, Line::Add(_))));
                *new = new.saturating_sub(usize::from(!matches!(next, Line::Remove(_))));
            }
            let counted = left.is_some() && !full;
            empty = if line.is_empty() && !counted {
                empty + 1
            } else {
                0
            };
            chunk.lines.push(next);
        }
        chunk.lines.truncate(chunk.lines.len() - empty);
        chunk
    }

    /// True for a line so far ahead that cannot belong to a change. `over`: the change may be at its
    /// end, so that lines like the names of the next file are these.
    fn is_end(&self, by: usize, over: bool) -> bool {
        let starts = |by: usize, start: &str| self.ahead(by).is_some_and(|l| l.starts_with(start));
        let ends = ["@@", "diff --git ", "Index: ", "```", "*** End Patch"];
        let names = starts(by, "--- ") && starts(by + 1, "+++ ");
        ends.iter().any(|end| starts(by, end)) || (names && (over || self.is_pair(by)))
    }

    /// True for two lines so far ahead that name a file in a way in which no other lines would.
    fn is_pair(&self, by: usize) -> bool {
        let name = |by: usize, sign: &str| self.ahead(by)?.strip_prefix(sign).map(name);
        let (Some(old), Some(new)) = (name(by, "--- "), name(by + 1, "+++ ")) else {
            return false;
        };
        let is = |path: &str, prefix: &str| path == NO_FILE || path.starts_with(prefix);
        let changes = self.ahead(by + 2).is_some_and(|l| l.starts_with("@@"));
        changes && (old == new || (is(&old, "a/") && is(&new, "b/")))
    }

    /// True for a line behind the last change that belongs to what stands around the patch.
    fn is_around(&self, line: &str) -> bool {
        let before = self.at.checked_sub(1).and_then(|at| self.lines.get(at));
        before.is_some_and(|l| l.is_empty()) || wraps(line)
    }

    /// True when lines with a sign still follow in this change.
    fn goes_on(&self) -> bool {
        let rest = (1..self.lines.len() - self.at).take_while(|by| !self.is_end(*by, true));
        let mut rest = rest.filter_map(|by| self.ahead(by));
        rest.any(|l| l.starts_with(['+', '-', ' ']))
    }
}

/// The numbers in the head of a change: first line and count, of the old and the new file.
struct Numbers {
    old: (usize, usize),
    new: (usize, usize),
}

impl Numbers {
    fn read(head: &str) -> Option<Self> {
        let mut words = head.split_whitespace();
        let old = words.next()?.strip_prefix('-')?;
        let new = words.next()?.strip_prefix('+')?;
        let pair = |text: &str| {
            let (first, count) = text.split_once(',').unwrap_or((text, "1"));
            Some((first.parse().ok()?, count.parse().ok()?))
        };
        Some(Numbers {
            old: pair(old)?,
            new: pair(new)?,
        })
    }

    /// The first line that is changed, or the one before which lines come, from 1.
    fn line(&self) -> usize {
        let (first, count) = self.old;
        first.saturating_add(usize::from(count == 0)).max(1)
    }
}

/// What stands in the head of a change that has no numbers.
fn context(head: &str) -> Option<String> {
    let text = head.strip_prefix(' ').unwrap_or(head).trim_end();
    let text = text.strip_suffix("@@").unwrap_or(text).trim_end();
    let says = !["", "..."].contains(&text.trim()) && !text.starts_with(['-', '+']);
    says.then(|| text.to_owned())
}

#[cfg(test)]
mod tests;
