//! The arguments of a call from its action: the inverse of [`calls`](super::calls).

use super::calls::{HITS, READ};
use super::status_name;
use crate::harnesses::format::args::{always, object, unless};
use crate::tools::action::{AskedQuestion, Grep, GrepWant, Ignored, PlanStep, Read, WriteRule};
use serde_json::{Value, json};

/// Of Read and ReadFile.
pub fn read(read: &Read) -> Value {
    let first = i64::try_from(read.first).unwrap_or(i64::MAX);
    let offset = if read.from_end { -first } else { first };
    object([
        ("path", always(read.path.as_str())),
        ("line_offset", unless(1, offset)),
        ("n_lines", read.lines.and_then(|n| unless(READ.0, n))),
    ])
}

/// Of Write and WriteFile.
pub fn write(path: &str, content: &str, rule: WriteRule) -> Value {
    object([
        ("path", always(path)),
        ("content", always(content)),
        ("mode", rule.append.then(|| "append".into())),
    ])
}

/// Of Grep.
pub fn grep(grep: &Grep) -> Value {
    let mode = match grep.want {
        GrepWant::Lines => Some("content"),
        GrepWant::Files => None,
        GrepWant::Counts => Some("count_matches"),
    };
    let (before, after) = grep.context;
    object([
        ("pattern", always(grep.pattern.as_str())),
        ("path", grep.path.as_deref().map(Value::from)),
        ("glob", grep.include.as_deref().map(Value::from)),
        ("type", grep.file_type.as_deref().map(Value::from)),
        ("output_mode", mode.map(Value::from)),
        ("-i", unless(false, grep.ignore_case)),
        ("-B", unless(0, before)),
        ("-A", unless(0, after)),
        ("head_limit", unless(HITS.0, grep.limit)),
        ("offset", unless(0, grep.skip)),
        ("multiline", unless(false, grep.multiline)),
        (
            "include_ignored",
            unless(false, grep.ignored == Ignored::Included),
        ),
    ])
}

/// Of TodoList and SetTodoList.
pub fn todos(steps: &[PlanStep]) -> Value {
    let todos: Vec<Value> = steps
        .iter()
        .map(|step| json!({"title": step.text, "status": status_name(step.status)}))
        .collect();
    json!({"todos": todos})
}

/// Of AskUserQuestion.
pub fn questions(questions: &[AskedQuestion]) -> Value {
    let questions: Vec<Value> = questions
        .iter()
        .map(|asked| {
            let options: Vec<Value> = asked
                .options
                .iter()
                .map(|(label, what)| json!({"label": label, "description": what}))
                .collect();
            json!({
                "question": asked.question,
                "header": asked.header,
                "options": options,
                "multi_select": asked.several,
            })
        })
        .collect();
    json!({"questions": questions})
}
