//! What came of an action, before one of the agents lays it out.

use super::calls::READ;
use super::{listed, tasks};
use crate::harnesses::Done;
use crate::harnesses::format::args::Args;
use crate::harnesses::format::{changed_files, clip, not_done, page, planning};
use crate::tools::action::{
    Action, AskedQuestion, CountOut, FoundOut, Grep, GrepOut, Outcome, PageOut, PlanStep, ReadOut,
    ToolError,
};
use std::fmt::Write;
use std::path::Path;

/// The most bytes of a page.
const PAGE: usize = 50_000;
/// The most bytes of one line of a file or a search.
const LINE: usize = 2000;

/// What a result says. Where the sentence stands, and how an error is marked, is the agent's own.
#[derive(Debug, Default, PartialEq)]
pub struct Told {
    /// What the model asked for; may be empty.
    pub output: String,
    /// A sentence about it, or what went wrong; may be empty.
    pub remark: String,
    /// It went wrong.
    pub is_error: bool,
}

impl Told {
    /// A result without a remark.
    pub fn output(text: impl Into<String>) -> Self {
        Told {
            output: text.into(),
            ..Told::default()
        }
    }

    /// A failure without output.
    pub fn error(text: impl Into<String>) -> Self {
        Told {
            remark: text.into(),
            is_error: true,
            ..Told::default()
        }
    }
}

/// The arguments of the call that `done` answers.
pub fn args<'a>(done: &'a Done, tools: &'static str) -> Option<Args<'a>> {
    Args::of(done.call.as_ref()?, tools).ok()
}

/// Remarks on arguments of the call that have no effect here: rows of tool, argument and what was
/// done instead.
pub fn without_effect(
    done: &Done,
    tools: &'static str,
    table: &[(&str, &str, &str)],
) -> Vec<String> {
    let Some(args) = args(done, tools).filter(|_| done.result.is_ok()) else {
        return Vec::new();
    };
    let of_call = |tool: &str| done.call.as_ref().is_some_and(|call| call.name == tool);
    table
        .iter()
        .filter(|(tool, key, _)| of_call(tool) && args.flag(key) == Some(true))
        .map(|(_, key, instead)| format!("{key} has no effect here: {instead}."))
        .collect()
}

/// Lines with their numbers, padded to `width`, and the sentence about them. `plural`: one line is
/// "lines" as well.
pub fn read(action: &Action, out: &ReadOut, width: usize, plural: bool, room: usize) -> Told {
    let asked = match action {
        Action::Read(read) => read.lines.unwrap_or(READ.0),
        _ => READ.0,
    };
    let most = READ.1.min(room);
    let mut output = String::new();
    let mut shown = 0;
    let mut clipped: Vec<String> = Vec::new();
    for (at, line) in out.text.lines().enumerate() {
        let number = out.first + at;
        let row = format!("{number:>width$}\t{}\n", clip(line, LINE));
        if shown > 0 && output.len() + row.len() > most {
            break;
        }
        if line.len() > LINE {
            clipped.push(number.to_string());
        }
        output.push_str(&row);
        shown += 1;
    }
    if shown == 0 {
        return nothing_read(out.total);
    }
    let word = if shown == 1 && !plural {
        "line"
    } else {
        "lines"
    };
    let mut remark = format!(
        "{shown} {word} read from file starting from line {}. Total lines in file: {}.",
        out.first, out.total
    );
    let next = out.first + shown;
    if next > out.total {
        if shown < asked {
            remark.push_str(" End of file reached.");
        }
    } else if shown >= READ.0 {
        let _ = write!(
            remark,
            " Max {} lines reached; go on with line_offset {next}.",
            READ.0
        );
    } else if shown < asked {
        let _ = write!(
            remark,
            " Max {most} bytes reached; go on with line_offset {next}."
        );
    }
    if !clipped.is_empty() {
        let _ = write!(remark, " Lines [{}] were truncated.", clipped.join(", "));
    }
    Told {
        output,
        remark,
        is_error: false,
    }
}

/// A read past the end, or of an empty file.
pub fn nothing_read(total: usize) -> Told {
    Told {
        remark: format!("No lines read from file. Total lines in file: {total}."),
        ..Told::default()
    }
}

/// How a search shows a path: as it was asked for, with what is below it. `dot` stands before what
/// is below the working folder. `bare`: below an absolute path, only what is below it.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    root: &'a Path,
    asked: Option<&'a str>,
    dot: &'static str,
    bare: bool,
}

impl<'a> Shown<'a> {
    /// Of a search in `root`, which the model wrote as `asked`.
    pub fn new(root: &'a Path, asked: Option<&'a str>, dot: &'static str, bare: bool) -> Self {
        Shown {
            root,
            asked: asked.filter(|path| !matches!(*path, "." | "./")),
            dot,
            bare,
        }
    }

    fn path(self, path: &Path) -> String {
        let below = path.strip_prefix(self.root).unwrap_or(path);
        match self.asked {
            Some(asked) if below.as_os_str().is_empty() => asked.to_owned(),
            Some(asked) if self.bare && Path::new(asked).is_absolute() => {
                below.display().to_string()
            }
            Some(asked) => Path::new(asked).join(below).display().to_string(),
            None => format!("{}{}", self.dot, below.display()),
        }
    }
}

/// Lines of a search and how many of them are shown.
pub struct Page {
    /// The lines, without a line end behind the last.
    pub body: String,
    shown: usize,
    skipped: usize,
    total: usize,
    more: bool,
}

impl Page {
    /// Where to go on; `None`: this is all.
    pub fn more(&self) -> Option<String> {
        let next = self.skipped + self.shown;
        (self.more || next < self.total).then(|| {
            format!(
                "Shown: {} of {} results; offset {next} shows the next ones.",
                self.shown, self.total
            )
        })
    }

    /// What a list of files says when it is not whole; `None`: it is.
    pub fn rest(&self) -> Option<String> {
        (self.more || self.shown < self.total).then(|| {
            format!(
                "Shown: {} of {} files; a narrower pattern shows others.",
                self.shown, self.total
            )
        })
    }
}

/// As many rows as fit into `room`. A row counts as a result when its flag is set.
fn page(
    rows: impl Iterator<Item = (String, bool)>,
    skipped: usize,
    total: usize,
    room: usize,
) -> Page {
    let mut page = Page {
        body: String::new(),
        shown: 0,
        skipped,
        total,
        more: false,
    };
    for (row, counts) in rows {
        if page.shown > 0 && page.body.len() + row.len() >= room {
            page.more = true;
            break;
        }
        if !page.body.is_empty() {
            page.body.push('\n');
        }
        page.body.push_str(&row);
        page.shown += usize::from(counts);
    }
    page
}

/// Grep, content: `{path}:{number}:{text}`, context lines with `-`, `--` between stretches.
pub fn lines(grep: &Grep, out: &GrepOut, shown: Shown, numbers: bool, room: usize) -> Page {
    let apart = grep.context != (0, 0);
    let mut before: Option<(&Path, u64)> = None;
    let rows = out.lines.iter().map(|line| {
        let mark = if line.is_match { ':' } else { '-' };
        let mut row = String::new();
        let here = (line.path.as_path(), line.number);
        if apart && before.is_some_and(|(path, number)| (path, number + 1) != here) {
            row.push_str("--\n");
        }
        before = Some(here);
        row.push_str(&shown.path(&line.path));
        row.push(mark);
        if numbers {
            let _ = write!(row, "{}{mark}", line.number);
        }
        row.push_str(&clip(&line.text, LINE));
        (row, line.is_match)
    });
    let mut page = page(rows, grep.skip, out.total, room);
    page.more |= out.cut;
    page
}

/// Grep, files that match, and Glob.
pub fn files(skipped: usize, out: &FoundOut, shown: Shown, room: usize) -> Page {
    let rows = out.paths.iter().map(|path| (shown.path(path), true));
    page(rows, skipped, out.total, room)
}

/// Grep, counts: `{path}:{count}`, and the sentence of the totals.
pub fn counts(skipped: usize, out: &CountOut, shown: Shown, room: usize) -> (String, Page) {
    let rows = out
        .files
        .iter()
        .map(|(path, count)| (format!("{}:{count}", shown.path(path)), true));
    let totals = format!(
        "Found {} matching lines in {} files.",
        out.total, out.total_files
    );
    (totals, page(rows, skipped, out.total_files, room))
}

/// The current todo list under its title.
pub fn todo_list(steps: &[PlanStep], before: &str) -> String {
    match steps {
        [] => "Todo list is empty.".into(),
        steps => format!("Current todo list:\n{}", listed(steps, before)),
    }
}

/// The answers of the user by question, several joined by a comma; `None`: there are none.
pub fn answers(questions: &[AskedQuestion], given: &[Vec<String>]) -> Option<serde_json::Value> {
    let answers: serde_json::Map<String, serde_json::Value> = questions
        .iter()
        .zip(given)
        .filter(|(_, chosen)| !chosen.is_empty())
        .map(|(asked, chosen)| (asked.question.clone(), chosen.join(", ").into()))
        .collect();
    (!answers.is_empty()).then(|| serde_json::json!({"answers": answers}))
}

/// The beginning or end of planning, to which the user agreed.
pub fn mode(on: bool, plan: &str) -> String {
    if on {
        return format!(
            "{}\n\n1. Look at the code that matters.\n2. Think of ways to do it, and ask where the user has to choose.\n3. Write the plan as the text of your reply: the steps, the files, how it is tested.\n4. Call ExitPlanMode at the end of that reply.",
            planning(true)
        );
    }
    format!("The user agreed to the plan. Carry it out now.\n\n## Approved Plan:\n{plan}")
}

/// FetchURL: the text, and a sentence on what it is; none for a page that is elsewhere.
pub fn web_page(out: &PageOut, room: usize) -> Told {
    if let Some(to) = &out.redirect {
        return Told::output(page::elsewhere(to, "FetchURL"));
    }
    let (text, rest) = page::text(out, PAGE.min(room));
    let mut remark = match out.extracted {
        true => "This is the main text of the page.".to_owned(),
        false => "This is the full content of the page.".to_owned(),
    };
    if let Some(rest) = rest {
        let _ = write!(remark, " {rest}");
    }
    Told {
        output: text.to_owned(),
        remark,
        is_error: false,
    }
}

/// What is told alike of everything that has no layout of its own.
pub fn other(outcome: &Outcome) -> Told {
    match (outcome, not_done(outcome)) {
        (Outcome::Failed(error), _) => Told::error(failed(error)),
        // A patch that was given to the shell.
        (Outcome::Changed(changes), _) => Told::output(format!(
            "The patch was applied to these files:\n{}",
            changed_files(changes)
        )),
        (_, Some(why)) => Told::error(why),
        _ => Told::output("Done."),
    }
}

/// A failure, in the words of these agents where they have their own.
pub fn failed(error: &ToolError) -> String {
    match error {
        ToolError::NotFound { path, instead } => match instead {
            Some(other) => format!("\"{path}\" does not exist. Did you mean \"{other}\"?"),
            None => format!("\"{path}\" does not exist. Glob shows what is there."),
        },
        ToolError::IsFolder { path } => {
            format!(
                "\"{path}\" is not a file. Glob with a pattern like {path}/* shows what is in it."
            )
        }
        ToolError::NoSuchCommand { id, running } => {
            let others: Vec<String> = running.iter().map(|id| tasks::id(*id)).collect();
            match others.as_slice() {
                [] => format!("There is no task {}, nor any other.", tasks::id(*id)),
                others => format!(
                    "There is no task {}. These are: {}.",
                    tasks::id(*id),
                    others.join(", ")
                ),
            }
        }
        other => other.to_string(),
    }
}
