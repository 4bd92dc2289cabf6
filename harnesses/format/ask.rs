//! Questions to the person, in the shape that most agents give them: a list `questions`, each with
//! `header`, `question` and `options` of `label` and `description`.

use super::args::{Args, always, object};
use crate::harnesses::CallError;
use crate::tools::action::{Action, AskedQuestion};
use serde_json::Value;

/// The questions of one call.
///
/// # Errors
/// [`CallError::BadArgument`] when there is none, or one without its words.
pub fn read(args: &Args) -> Result<Action, CallError> {
    let mut questions = Vec::new();
    for (at, entry) in args.list("questions").iter().enumerate() {
        let text = |value: &Value, key: &str| {
            let text = value.get(key).and_then(Value::as_str).unwrap_or_default();
            text.trim().to_owned()
        };
        let question = text(entry, "question");
        if question.is_empty() {
            return Err(args.wrong(format!("question {} has no \"question\"", at + 1)));
        }
        let options = entry.get("options").and_then(Value::as_array);
        questions.push(AskedQuestion {
            id: Some(text(entry, "id")).filter(|id| !id.is_empty()),
            header: text(entry, "header"),
            question,
            options: options
                .into_iter()
                .flatten()
                .map(|option| (text(option, "label"), text(option, "description")))
                .filter(|(label, _)| !label.is_empty())
                .collect(),
            several: entry.get("multiSelect").and_then(Value::as_bool) == Some(true),
        });
    }
    if questions.is_empty() {
        return Err(args.wrong("\"questions\" must be a list with a question"));
    }
    Ok(Action::Ask { questions })
}

/// The options of a question as a call has them.
pub fn options(question: &AskedQuestion) -> Value {
    question
        .options
        .iter()
        .map(|(label, meaning)| {
            object([
                ("label", always(label.as_str())),
                ("description", always(meaning.as_str())),
            ])
        })
        .collect()
}

/// What the person answered, a line for each question under its header.
pub fn answers(questions: &[AskedQuestion], answers: &[Vec<String>]) -> String {
    let lines: Vec<String> = questions
        .iter()
        .zip(answers)
        .map(|(asked, answer)| {
            let title = match asked.header.is_empty() {
                true => &asked.question,
                false => &asked.header,
            };
            format!("**{title}**: {}", answer.join(", "))
        })
        .collect();
    format!("The user answered:\n\n{}", lines.join("\n"))
}
