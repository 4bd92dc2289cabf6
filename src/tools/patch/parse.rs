//! The text of a patch in the Codex format (`*** Begin Patch`), read as leniently as models
//! write it.
//!
//! ```text
//! patch := "*** Begin Patch" file+ "*** End Patch"
//! file  := "*** Add File: " path  ("+" text)*
//!        | "*** Delete File: " path
//!        | "*** Update File: " path  ["*** Move to: " path]  chunk*
//! chunk := ("@@" | "@@ " context)*  (("+" | "-" | " ") text)+  ["*** End of File"]
//! ```

use crate::tools::action::ToolError;

/// The section of one file.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// The path as written.
    pub path: String,
    /// What is to be done with it.
    pub deed: Deed,
}

/// What a section does.
#[derive(Debug, Clone, PartialEq)]
pub enum Deed {
    /// Make the file with this content.
    Add(String),
    /// Remove the file.
    Delete,
    /// Change the file, and move it if a place is named.
    Update {
        /// The new path as written.
        move_to: Option<String>,
        /// The changes in the order of the file.
        chunks: Vec<Chunk>,
    },
}

/// One change within a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Chunk {
    /// Lines to look for first, one after the other; the change is after the last.
    pub contexts: Vec<String>,
    /// The lines.
    pub lines: Vec<Line>,
    /// The change is at the end of the file.
    pub at_end: bool,
    /// Some of its lines have no sign, so that others may have lost a blank of their indentation.
    pub unsigned: bool,
    /// The line at which it says that it begins, from 1.
    pub line: Option<usize>,
    /// Whether the file's last line has a line end after the change, if it says so.
    pub ends: Option<bool>,
}

/// One line of a chunk.
#[derive(Debug, Clone, PartialEq)]
pub enum Line {
    /// It stands there and stays.
    Keep(String),
    /// It stands there and goes.
    Remove(String),
    /// It comes.
    Add(String),
}

/// True for a text that has the header of a file in this format.
pub fn is_codex(text: &str) -> bool {
    let headers = ["*** Add File:", "*** Update File:", "*** Delete File:"];
    let is_header = |l: &str| headers.iter().any(|h| l.trim_start().starts_with(h));
    text.lines().any(is_header)
}

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const HEADERS: &str = "`*** Add File: PATH`, `*** Update File: PATH` or `*** Delete File: PATH`";

/// Reads a patch.
pub fn parse(text: &str) -> Result<Vec<Section>, ToolError> {
    let mut parser = Parser {
        lines: body(text),
        at: 0,
    };
    let mut sections = Vec::new();
    while let Some((_, line)) = parser.peek() {
        // The last end marker is cut off already; others stand between patches sent as one.
        if ["", BEGIN, END].contains(&line.trim()) {
            parser.at += 1;
            continue;
        }
        sections.push(parser.section()?);
    }
    if sections.is_empty() {
        return Err(ToolError::BadPatch {
            why: format!("the patch changes no file; after `{BEGIN}` there must be {HEADERS}"),
        });
    }
    Ok(sections)
}

/// The numbered lines between the markers, without the wrappings in which models send a patch:
/// the command's name, a heredoc, a code fence.
fn body(text: &str) -> Vec<(usize, &str)> {
    let lines: Vec<(usize, &str)> = text
        .lines()
        .enumerate()
        .map(|(i, line)| (i + 1, line))
        .collect();
    // The marker itself may follow the command on its line, in quotes or not.
    let begin = lines
        .iter()
        .take(5)
        .position(|(_, line)| line.trim_end_matches(['"', '\'', ' ']).ends_with(BEGIN));
    let inner = &lines[begin.map_or(0, |at| at + 1)..];
    let end = inner
        .iter()
        .rposition(|(_, line)| line.trim().trim_end_matches(['"', '\'']) == END);
    match end {
        Some(end) => inner[..end].to_vec(),
        None => {
            let mut inner = inner.to_vec();
            while inner.last().is_some_and(|(_, l)| wraps(l)) {
                inner.pop();
            }
            inner
        }
    }
}

/// True for a last line that cannot belong to a patch without its end marker.
pub(super) fn wraps(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || ["EOF", "PATCH", "```", "'", "\""].contains(&line)
}

struct Parser<'a> {
    lines: Vec<(usize, &'a str)>,
    at: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<(usize, &'a str)> {
        self.lines.get(self.at).copied()
    }

    /// The next line if it belongs to the section that is being read.
    fn inner(&self) -> Option<(usize, &'a str)> {
        self.peek()
            .filter(|(_, line)| !line.starts_with("*** ") || line.trim_end() == "*** End of File")
    }

    fn section(&mut self) -> Result<Section, ToolError> {
        let Some((number, line)) = self.peek() else {
            return Err(bad(0, "", "the patch ends too early"));
        };
        self.at += 1;
        let line = line.trim();
        let path = |prefix: &str| {
            let path = line.strip_prefix(prefix)?.trim();
            let path = path.trim_matches(['`', '"', '\'']);
            (!path.is_empty()).then(|| path.to_string())
        };
        if let Some(path) = path("*** Add File:") {
            let deed = Deed::Add(self.content()?);
            return Ok(Section { path, deed });
        }
        if let Some(path) = path("*** Delete File:") {
            // Some models repeat the file's lines; they say nothing.
            while self
                .inner()
                .is_some_and(|(_, l)| l.starts_with(['-', '@']) || l.trim().is_empty())
            {
                self.at += 1;
            }
            return Ok(Section {
                path,
                deed: Deed::Delete,
            });
        }
        if let Some(path) = path("*** Update File:") {
            return Ok(Section {
                path,
                deed: self.update(number, line)?,
            });
        }
        Err(bad(
            number,
            line,
            &format!("here must be {HEADERS}, or `{END}`"),
        ))
    }

    fn content(&mut self) -> Result<String, ToolError> {
        let mut content = String::new();
        let mut blank = 0;
        while let Some((number, line)) = self.inner() {
            self.at += 1;
            if let Some(text) = line.strip_prefix('+') {
                content.push_str(&"\n".repeat(blank));
                blank = 0;
                content.push_str(text);
                content.push('\n');
            } else if line.trim().is_empty() {
                blank += 1;
            } else {
                return Err(bad(
                    number,
                    line,
                    "each line of a new file must begin with `+`",
                ));
            }
        }
        Ok(content)
    }

    fn update(&mut self, header: usize, head: &str) -> Result<Deed, ToolError> {
        let mut move_to = None;
        if let Some((_, line)) = self.peek()
            && let Some(path) = line.trim().strip_prefix("*** Move to:")
        {
            move_to = Some(path.trim().trim_matches(['`', '"', '\'']).to_string());
            self.at += 1;
        }
        let mut chunks: Vec<Chunk> = Vec::new();
        let mut chunk = Chunk::default();
        while let Some((number, line)) = self.inner() {
            self.at += 1;
            if line.trim() == "*** End of File" {
                chunk.at_end = true;
                chunks.push(std::mem::take(&mut chunk));
            } else if let Some(context) = line.strip_prefix("@@") {
                if !chunk.lines.is_empty() {
                    chunks.push(std::mem::take(&mut chunk));
                }
                chunk.contexts.extend(context_line(context));
            } else if chunk.lines.is_empty() && is_diff_header(line) {
                // The head of a unified diff says nothing that the section does not.
            } else {
                let text = |rest: &str| rest.to_string();
                chunk.lines.push(match line.chars().next() {
                    None => Line::Keep(String::new()),
                    Some('+') => Line::Add(text(&line[1..])),
                    Some('-') => Line::Remove(text(&line[1..])),
                    Some(' ') => Line::Keep(text(&line[1..])),
                    // A tab where the blank belongs: the model forgot the blank.
                    Some('\t') => Line::Keep(text(line)),
                    Some(_) => {
                        return Err(bad(
                            number,
                            line,
                            "each line of a change must begin with ` ` (stays), `-` (goes) or `+` (comes), and a change with `@@`",
                        ));
                    }
                });
            }
        }
        // Blank lines before the next section belong to the patch, not to the file.
        while chunk.lines.last() == Some(&Line::Keep(String::new())) {
            chunk.lines.pop();
        }
        if !chunk.lines.is_empty() {
            chunks.push(chunk);
        }
        chunks.retain(|c| !c.lines.is_empty());
        if chunks.is_empty() && move_to.is_none() {
            return Err(bad(
                header,
                head,
                "the section changes nothing; lines with `-` or `+` must follow",
            ));
        }
        Ok(Deed::Update { move_to, chunks })
    }
}

/// The context that a chunk's head names. The numbers of a unified diff (`@@ -1,3 +1,4 @@`) are
/// not used: models count badly, and the lines themselves decide.
fn context_line(rest: &str) -> Option<String> {
    let rest = rest.strip_prefix(' ').unwrap_or(rest).trim_end();
    let numbers = rest.trim_start().starts_with('-') && rest.contains('+') && rest.contains("@@");
    let context = if numbers { "" } else { rest };
    let context = context.strip_suffix(" @@").unwrap_or(context);
    (!context.trim().is_empty() && context.trim() != "@@").then(|| context.to_string())
}

fn is_diff_header(line: &str) -> bool {
    ["--- a/", "+++ b/", "--- /dev/null", "diff --git ", "index "]
        .iter()
        .any(|start| line.starts_with(start))
}

pub(super) fn bad(number: usize, line: &str, why: &str) -> ToolError {
    let shown = crate::words::head(line, 120);
    ToolError::BadPatch {
        why: format!("line {number} of the patch (`{shown}`) cannot be read: {why}"),
    }
}
