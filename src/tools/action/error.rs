//! Why an action failed, told so that the model can do better.

use std::fmt;
use std::path::PathBuf;

/// Why a deed failed. `Display` is a sentence for the model: the thing, the cause, the next step.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolError {
    /// No such file or folder.
    NotFound {
        /// As written.
        path: String,
        /// A file of that name elsewhere in the workspace, if it is the only one.
        instead: Option<String>,
    },
    /// A folder where a file is wanted.
    IsFolder {
        /// As written.
        path: String,
    },
    /// A file where a folder is wanted.
    NotFolder {
        /// As written.
        path: String,
    },
    /// Not text.
    Binary {
        /// As written.
        path: String,
    },
    /// Above the size that the tool takes.
    TooLarge {
        /// As written.
        path: String,
        /// Its size.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// A line number past the end.
    PastEnd {
        /// As written.
        path: String,
        /// The line asked for.
        line: usize,
        /// How many there are.
        total: usize,
    },
    /// The file must be read first.
    NotRead {
        /// As written.
        path: String,
    },
    /// The file changed since it was read.
    ChangedSince {
        /// As written.
        path: String,
    },
    /// The text to replace is not in the file.
    NoMatch {
        /// As written.
        path: String,
        /// Which replacement, from 0.
        index: usize,
        /// The most similar lines of the file, numbered, if any are similar.
        near: Option<String>,
    },
    /// The text to replace stands in several places.
    Ambiguous {
        /// As written.
        path: String,
        /// Which replacement, from 0.
        index: usize,
        /// The first line of each place, from 1.
        lines: Vec<usize>,
    },
    /// Old and new text are the same.
    Identical {
        /// As written.
        path: String,
    },
    /// The file exists although it must not.
    Exists {
        /// As written.
        path: String,
    },
    /// Nothing to take back.
    NothingToUndo {
        /// As written.
        path: String,
    },
    /// The gate refuses the path.
    Denied {
        /// As written.
        path: String,
        /// Why.
        why: String,
    },
    /// A patch that cannot be read.
    BadPatch {
        /// Why, with the line.
        why: String,
    },
    /// A patch whose lines are not in the file.
    PatchMismatch {
        /// As written.
        path: String,
        /// The file, absolute.
        absolute: PathBuf,
        /// The lines that were looked for.
        expected: String,
        /// The most similar lines of the file, numbered, if any are similar.
        near: Option<String>,
    },
    /// A pattern that cannot be read.
    BadPattern {
        /// As written.
        pattern: String,
        /// Why.
        why: String,
    },
    /// No running command of that number.
    NoSuchCommand {
        /// The number.
        id: u32,
        /// The numbers that exist.
        running: Vec<u32>,
    },
    /// No nested agent of that number or name.
    NoSuchAgent {
        /// As written.
        name: String,
        /// Those that there are, as the model may write them.
        known: Vec<String>,
    },
    /// A nested agent that was ended.
    AgentClosed {
        /// As written.
        name: String,
    },
    /// A page that could not be got.
    NotFetched {
        /// As written.
        url: String,
        /// Why.
        why: String,
    },
    /// Anything else: what was tried, and the system's reason.
    Other(String),
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ToolError::NotFound {
                path,
                instead: Some(other),
            } => write!(f, "{path} does not exist; did you mean {other}?"),
            ToolError::NotFound {
                path,
                instead: None,
            } => write!(
                f,
                "{path} does not exist; list the folder to see what is there"
            ),
            ToolError::IsFolder { path } => write!(
                f,
                "{path} is a folder, not a file; list it, or name a file in it"
            ),
            ToolError::NotFolder { path } => write!(
                f,
                "{path} is a file, not a folder; read it, or name its folder"
            ),
            ToolError::Binary { path } => write!(
                f,
                "{path} is not a text file, so it cannot be read or edited as one"
            ),
            ToolError::TooLarge { path, bytes, limit } => {
                write!(
                    f,
                    "{path} has {bytes} bytes, more than the {limit} that this tool takes; use the shell for parts of it"
                )
            }
            ToolError::PastEnd { path, line, total } => {
                write!(f, "{path} has {total} lines, so there is no line {line}")
            }
            ToolError::NotRead { path } => write!(
                f,
                "{path} has not been read in this session; read it first, then change it"
            ),
            ToolError::ChangedSince { path } => write!(
                f,
                "{path} was changed by somebody else since you read it; read it again, then change it"
            ),
            ToolError::NoMatch { path, near, .. } => {
                write!(
                    f,
                    "the text to replace is not in {path}; copy it exactly from the file, white space included"
                )?;
                near.as_ref()
                    .map_or(Ok(()), |n| write!(f, ". The most similar lines are:\n{n}"))
            }
            ToolError::Ambiguous { path, lines, .. } => {
                let at = lines
                    .iter()
                    .map(usize::to_string)
                    .collect::<Vec<_>>()
                    .join(", ");
                write!(
                    f,
                    "the text to replace stands in {path} {} times, at lines {at}; add surrounding lines to make it unique",
                    lines.len()
                )
            }
            ToolError::Identical { path } => {
                write!(
                    f,
                    "old and new text are the same, so nothing in {path} would change; read the file again and send the text that you want there"
                )
            }
            ToolError::Exists { path } => write!(
                f,
                "{path} exists already; edit it instead, or choose another name"
            ),
            ToolError::NothingToUndo { path } => write!(
                f,
                "no change to {path} was made in this session, so there is nothing to undo"
            ),
            ToolError::Denied { path, why } => write!(f, "{path}: {why}"),
            ToolError::BadPatch { why } => write!(f, "{why}"),
            ToolError::PatchMismatch {
                path,
                expected,
                near,
                ..
            } => {
                write!(f, "these lines are not in {path}:\n{expected}")?;
                near.as_ref()
                    .map_or(Ok(()), |n| write!(f, "\nThe most similar lines are:\n{n}"))
            }
            ToolError::BadPattern { pattern, why } => {
                write!(f, "the pattern `{pattern}` cannot be read: {why}")
            }
            ToolError::NoSuchCommand { id, running } if running.is_empty() => {
                write!(f, "no command {id} is running, nor any other")
            }
            ToolError::NoSuchCommand { id, running } => {
                let ids = running
                    .iter()
                    .map(u32::to_string)
                    .collect::<Vec<_>>()
                    .join(", ");
                write!(f, "no command {id} is running; these are: {ids}")
            }
            ToolError::NoSuchAgent { name, known } if known.is_empty() => {
                write!(
                    f,
                    "there is no agent {name}, nor any other; begin one first"
                )
            }
            ToolError::NoSuchAgent { name, known } => {
                write!(
                    f,
                    "there is no agent {name}; there are: {}",
                    known.join(", ")
                )
            }
            ToolError::AgentClosed { name } => {
                write!(
                    f,
                    "the agent {name} was closed; begin a new one for what is left to do"
                )
            }
            ToolError::NotFetched { url, why } => write!(f, "{url} could not be fetched: {why}"),
            ToolError::Other(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for ToolError {}
