//! The arguments that both agents read alike.

use crate::harnesses::CallError;
use crate::harnesses::format::args::{self, Args};
use crate::tools::action::{
    Action, AskedQuestion, Fetch, Grep, GrepWant, Ignored, PlanStep, Read, WriteRule,
};
use serde_json::Value;
use std::time::Duration;

/// The most lines and bytes of one read; a read from the end goes back as far.
pub const READ: (usize, usize) = (1000, 102_400);
/// The most hits of a search by default, and where the call asks for all.
pub const HITS: (usize, usize) = (250, 2000);
/// Seconds of a command by default, and at most: in the foreground, in the background.
pub const SECONDS: (u64, u64, u64) = (60, 300, 86_400);
/// How long a page may take.
const FETCH: Duration = Duration::from_secs(60);

/// Read, ReadFile. A negative `line_offset` counts from the end.
pub fn read(args: &Args) -> Result<Action, CallError> {
    let offset = args.whole("line_offset").unwrap_or(1);
    let distance = usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX);
    let lines = args.size("n_lines").map_or(READ.0, |n| n.min(READ.0));
    Ok(Action::Read(Read {
        first: match offset < 0 {
            true => distance.min(READ.0),
            false => distance.max(1),
        },
        from_end: offset < 0,
        ..Read::new(args.need_filled("path")?, Some(lines), READ.1)
    }))
}

/// Write, WriteFile.
pub fn write(args: &Args, read_first: bool) -> Result<Action, CallError> {
    let append = match args.text("mode").unwrap_or("overwrite") {
        "overwrite" => false,
        "append" => true,
        _ => return Err(args.wrong("\"mode\" must be overwrite or append")),
    };
    Ok(Action::Write {
        path: args.need_filled("path")?,
        content: args.need("content")?,
        rule: WriteRule {
            read_first,
            must_be_new: false,
            append,
        },
    })
}

/// Whether a search finds what ignore rules name.
pub fn ignored(args: &Args) -> Ignored {
    match args.flag("include_ignored") {
        Some(true) => Ignored::Included,
        _ => Ignored::LeftOut,
    }
}

/// Grep.
pub fn grep(args: &Args) -> Result<Action, CallError> {
    let want = match args.text("output_mode").unwrap_or("files_with_matches") {
        "content" => GrepWant::Lines,
        "files_with_matches" => GrepWant::Files,
        "count_matches" => GrepWant::Counts,
        _ => {
            return Err(
                args.wrong("\"output_mode\" must be content, files_with_matches or count_matches")
            );
        }
    };
    let both = args.size("-C").unwrap_or(0);
    let limit = match args.whole("head_limit") {
        None => HITS.0,
        Some(n) => usize::try_from(n)
            .ok()
            .filter(|n| *n > 0)
            .map_or(HITS.1, |n| n.min(HITS.1)),
    };
    Ok(Action::Grep(Grep {
        path: args.filled("path"),
        include: args.filled("glob"),
        file_type: args.filled("type"),
        ignore_case: args.flag("-i").unwrap_or(false),
        multiline: args.flag("multiline").unwrap_or(false),
        context: (
            args.size("-B").unwrap_or(both),
            args.size("-A").unwrap_or(both),
        ),
        want,
        skip: args.size("offset").unwrap_or(0),
        ignored: ignored(args),
        ..Grep::new(args.need_filled("pattern")?, limit)
    }))
}

/// TodoList, SetTodoList: without a list, the list is shown.
pub fn todos(args: &Args) -> Result<Action, CallError> {
    match args.value("todos") {
        None | Some(Value::Null) => return Ok(Action::PlanRead),
        Some(Value::Array(_)) => {}
        Some(_) => return Err(args.wrong("\"todos\" must be a list")),
    }
    let mut steps = Vec::new();
    for (at, entry) in args.list("todos").iter().enumerate() {
        let text = |key: &str| entry.get(key).and_then(Value::as_str);
        let Some(title) = text("title").filter(|title| !title.trim().is_empty()) else {
            return Err(args.wrong(format!("todo {} has no \"title\"", at + 1)));
        };
        let name = text("status").unwrap_or_default();
        let Some(status) = args::status(name) else {
            return Err(args.wrong(format!(
                "todo {} has the status \"{name}\"; it must be pending, in_progress or done",
                at + 1
            )));
        };
        steps.push(PlanStep {
            text: title.to_owned(),
            status,
            id: None,
        });
    }
    Ok(Action::Plan {
        steps,
        explanation: None,
    })
}

/// FetchURL.
pub fn fetch(args: &Args) -> Result<Action, CallError> {
    Ok(Action::Fetch(Fetch::new(args.need_filled("url")?, FETCH)))
}

/// AskUserQuestion.
pub fn questions(args: &Args) -> Result<Action, CallError> {
    let mut questions = Vec::new();
    for (at, entry) in args.list("questions").iter().enumerate() {
        let text = |key: &str| entry.get(key).and_then(Value::as_str);
        let Some(question) = text("question").filter(|q| !q.trim().is_empty()) else {
            return Err(args.wrong(format!("question {} has no \"question\"", at + 1)));
        };
        questions.push(AskedQuestion {
            id: None,
            header: text("header").unwrap_or_default().to_owned(),
            question: question.to_owned(),
            options: options(entry.get("options")),
            several: entry
                .get("multi_select")
                .and_then(Value::as_bool)
                .unwrap_or(false),
        });
    }
    if !(1..=4).contains(&questions.len()) {
        return Err(args.wrong("\"questions\" must be a list of 1 to 4 questions"));
    }
    Ok(Action::Ask { questions })
}

/// A list of `{label, description}`; entries without a label are left out.
fn options(list: Option<&Value>) -> Vec<(String, String)> {
    let text = |entry: &Value, key: &str| Some(entry.get(key)?.as_str()?.to_owned());
    list.and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let label = text(entry, "label").filter(|label| !label.trim().is_empty())?;
            Some((label, text(entry, "description").unwrap_or_default()))
        })
        .collect()
}

/// ExitPlanMode. The plan itself stands in the reply; the call adds the ways to choose from.
pub fn exit_plan(args: &Args) -> Action {
    let lines: Vec<String> = options(args.value("options"))
        .into_iter()
        .map(|(label, what)| match what.as_str() {
            "" => format!("- {label}"),
            what => format!("- {label}: {what}"),
        })
        .collect();
    Action::Mode {
        planning: false,
        plan: match lines.as_slice() {
            [] => String::new(),
            lines => format!("Options:\n{}", lines.join("\n")),
        },
    }
}
