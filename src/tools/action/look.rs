//! What is looked at: files, and what is found in folders.

use serde::{Deserialize, Serialize};

/// A text file, or a stretch of its lines, to be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Read {
    /// The file.
    pub path: String,
    /// First line, counted from 1; of a folder the first entry.
    pub first: usize,
    /// `first` counts from the end: 1 is the last line. Beyond the beginning it is the beginning.
    pub from_end: bool,
    /// How many lines; `None`: to the end. Of a folder as many entries, or 1,000.
    pub lines: Option<usize>,
    /// The most bytes of text to give back; cut at a line end, or inside a longer line.
    pub max_bytes: usize,
    /// A folder is listed, with everything in it, instead of being an error.
    pub or_list: bool,
    /// A notebook is given by its cells, which `first` and `lines` count then.
    #[serde(default)]
    pub cells: bool,
}

impl Read {
    /// A file from its beginning.
    pub fn new(path: impl Into<String>, lines: Option<usize>, max_bytes: usize) -> Self {
        Read {
            path: path.into(),
            first: 1,
            from_end: false,
            lines,
            max_bytes,
            or_list: false,
            cells: false,
        }
    }
}

/// Files that are searched for by their names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Glob {
    /// The pattern, for example `src/**/*.rs`.
    pub pattern: String,
    /// The folder to search; `None`: the working folder.
    pub path: Option<String>,
    /// The most files.
    pub limit: usize,
    /// Files that ignore rules name.
    #[serde(default)]
    pub ignored: Ignored,
    /// Folders are found, too.
    #[serde(default)]
    pub folders: bool,
}

impl Glob {
    /// Files below the working folder.
    pub fn new(pattern: impl Into<String>, limit: usize) -> Self {
        Glob {
            pattern: pattern.into(),
            path: None,
            limit,
            ignored: Ignored::LeftOut,
            folders: false,
        }
    }
}

/// What a search looks for, where, and what it gives back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grep {
    /// The expression in Rust's syntax.
    pub pattern: String,
    /// File or folder; `None`: the working folder.
    pub path: Option<String>,
    /// Only files whose name matches this glob.
    pub include: Option<String>,
    /// Only files of this kind, by ripgrep's names: `rust`, `py`, … A file that is named itself is
    /// searched in any case.
    pub file_type: Option<String>,
    /// Upper and lower case are the same.
    pub ignore_case: bool,
    /// The expression may match across lines, and `.` matches a line end.
    pub multiline: bool,
    /// Lines of context before and after a match.
    pub context: (usize, usize),
    /// What is given back.
    pub want: GrepWant,
    /// How many matches, files or counts are left out at the beginning.
    pub skip: usize,
    /// The most matches, files or counts.
    pub limit: usize,
    /// Files that ignore rules name.
    #[serde(default)]
    pub ignored: Ignored,
}

/// What a search does with files that `.gitignore` and its kind name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ignored {
    /// They are left out.
    #[default]
    LeftOut,
    /// They are left out unless nothing else is found.
    IfNothingElse,
    /// They are found like any other.
    Included,
}

impl Grep {
    /// Lines of all files below the working folder.
    pub fn new(pattern: impl Into<String>, limit: usize) -> Self {
        Grep {
            pattern: pattern.into(),
            path: None,
            include: None,
            file_type: None,
            ignore_case: false,
            multiline: false,
            context: (0, 0),
            want: GrepWant::Lines,
            skip: 0,
            limit,
            ignored: Ignored::LeftOut,
        }
    }
}

/// What a search gives back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum GrepWant {
    /// The lines, of a match across lines each: [`Outcome::Matches`](super::Outcome::Matches).
    Lines,
    /// The files that have a match, newest first: [`Outcome::Found`](super::Outcome::Found).
    Files,
    /// How many matching lines each file has, or matches where one may go over several lines, by
    /// path: [`Outcome::Counted`](super::Outcome::Counted).
    Counts,
}
