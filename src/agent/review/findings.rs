//! What a review found: read from the model's answer, and written for people.

use serde_json::Value;
use std::path::Path;

/// The form that a model is asked to answer in.
pub const FORM: &str = r#"Answer with one JSON object and nothing else:
{"findings": [{"title": "what is wrong, in at most 80 characters", "body": "why, and when it shows", "confidence_score": 0.9, "priority": 1, "code_location": {"absolute_file_path": "the file", "line_range": {"start": 10, "end": 12}}}], "overall_correctness": "patch is correct", "overall_explanation": "one to three sentences", "overall_confidence_score": 0.9}
`priority` is 0 for what must be mended at once, 1 for urgent, 2 for normal, 3 for small. Lines are those of the file after the change. `findings` is [] when there is nothing to report; `overall_correctness` is "patch is correct" or "patch is incorrect"."#;

/// One thing to mend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What, in a line.
    pub title: String,
    /// Why.
    pub body: String,
    /// The file as the model wrote it.
    pub path: String,
    /// First and last line; `None` where none was told.
    pub lines: Option<(u64, u64)>,
    /// 0 is the most urgent.
    pub priority: u64,
}

/// An answer in the form that was asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// What was found.
    pub findings: Vec<Finding>,
    /// The judgement over all.
    pub explanation: String,
}

/// Reads an answer; `None` when it is not in the form, so that its text is all there is.
pub fn read(text: &str) -> Option<Answer> {
    let whole = serde_json::from_str::<Value>(text.trim()).ok();
    let value = whole.or_else(|| {
        let (from, to) = (text.find('{')?, text.rfind('}')?);
        serde_json::from_str(text.get(from..=to)?).ok()
    })?;
    let list = value.get("findings").and_then(Value::as_array);
    let explanation = value.get("overall_explanation").and_then(Value::as_str);
    if list.is_none() && explanation.is_none() {
        return None;
    }
    Some(Answer {
        findings: list.into_iter().flatten().filter_map(finding).collect(),
        explanation: explanation.unwrap_or_default().trim().to_owned(),
    })
}

fn finding(value: &Value) -> Option<Finding> {
    let text = |key: &str| {
        let text = value.get(key).and_then(Value::as_str).unwrap_or_default();
        text.trim().to_owned()
    };
    let place = value.get("code_location").unwrap_or(&Value::Null);
    // Small models leave out a level, or write a number as text.
    let range = place.get("line_range").unwrap_or(place);
    let number = |v: &Value| v.as_u64().or_else(|| v.as_str()?.trim().parse().ok());
    let start = range.get("start").and_then(number);
    let end = range.get("end").and_then(number).or(start);
    let names = ["absolute_file_path", "file_path", "path", "file"];
    let path = names.iter().find_map(|n| place.get(n)?.as_str());
    let (title, body) = (text("title"), text("body"));
    if title.is_empty() && body.is_empty() {
        return None;
    }
    let first = body.lines().next().unwrap_or_default().to_owned();
    Some(Finding {
        title: if title.is_empty() { first } else { title },
        body,
        path: path.unwrap_or_default().to_owned(),
        lines: start.zip(end).map(|(a, b)| (a, b.max(a))),
        priority: value.get("priority").and_then(number).unwrap_or(2),
    })
}

impl Finding {
    /// `path:start-end`. A relative path is one below `root`; what lies below `near` is shown from
    /// there.
    fn place(&self, root: &Path, near: Option<&Path>) -> String {
        let full = root.join(self.path.trim_start_matches("./"));
        let shown = near.and_then(|near| full.strip_prefix(near).ok());
        let path = match self.path.is_empty() {
            true => "(no file named)".into(),
            false => shown.unwrap_or(&full).display().to_string(),
        };
        match self.lines {
            Some((start, end)) => format!("{path}:{start}-{end}"),
            None => path,
        }
    }
}

/// The text of a review: the judgement, then each finding with its place and reason.
pub fn written(answer: &Answer, root: &Path, near: Option<&Path>) -> String {
    let mut parts = Vec::new();
    if !answer.explanation.is_empty() {
        parts.push(answer.explanation.clone());
    }
    if !answer.findings.is_empty() {
        let one = answer.findings.len() == 1;
        let head = if one {
            "Review comment:"
        } else {
            "Review comments:"
        };
        parts.push(head.into());
    }
    for finding in &answer.findings {
        let mut text = format!("- {} — {}", finding.title, finding.place(root, near));
        for line in finding.body.lines() {
            text.push_str("\n  ");
            text.push_str(line);
        }
        parts.push(text);
    }
    if parts.is_empty() {
        parts.push("Nothing to report.".into());
    }
    parts.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = r#"{"findings":[{"title":"Off by one","body":"The loop\nends early.","confidence_score":0.8,"priority":1,"code_location":{"absolute_file_path":"/w/src/a.rs","line_range":{"start":3,"end":4}}}],"overall_correctness":"patch is incorrect","overall_explanation":" Almost right. ","overall_confidence_score":0.7}"#;

    #[test]
    fn one_finding_is_written_as_the_protocol_has_it() {
        let answer = read(ONE).unwrap();
        let root = Path::new("/w");
        assert_eq!(
            written(&answer, root, None),
            "Almost right.\n\nReview comment:\n\n- Off by one — /w/src/a.rs:3-4\n  The loop\n  ends early."
        );
        let near = written(&answer, root, Some(root));
        assert!(near.contains("— src/a.rs:3-4"), "{near}");
    }

    #[test]
    fn an_answer_is_found_in_a_fence_and_with_less_than_was_asked_for() {
        let fenced = format!("Here it is:\n```json\n{ONE}\n```\nDone.");
        assert_eq!(read(&fenced), read(ONE));
        let sparse = r#"{"findings":[{"title":"T","code_location":{"path":"b.rs","start":"7"}},{"title":"U"}, {}, 3]}"#;
        let answer = read(sparse).unwrap();
        assert_eq!(
            written(&answer, Path::new("/w"), None),
            "Review comments:\n\n- T — /w/b.rs:7-7\n\n- U — (no file named)"
        );
        let none = read(r#"{"findings":[],"overall_explanation":""}"#).unwrap();
        assert_eq!(written(&none, Path::new("/"), None), "Nothing to report.");
    }

    #[test]
    fn other_text_is_no_answer() {
        for text in [
            "",
            "All is well.",
            "{\"a\": 1}",
            "} {",
            "{\"findings\": 3}",
            "[]",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
