//! A form of flat fields, as `elicitation/create` has it: what a server wants to know of the person.

mod schema;

use crate::tools::action::AskedQuestion;
use serde_json::{Map, Value};
use std::fmt;

/// The most bytes of a text in a form.
const MOST_TEXT: usize = 2_000;

/// What a server asks the person for.
#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    /// The name of the server.
    pub server: String,
    /// What it says.
    pub message: String,
    /// A page that the person is to open; the form has no fields then.
    pub url: Option<String>,
    /// The fields of the answer, in order. Without any, a yes is asked for.
    pub fields: Vec<Field>,
}

/// One field of a form.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    name: String,
    title: String,
    kind: Kind,
    default: Option<Value>,
    required: bool,
}

/// What a field holds.
#[derive(Debug, Clone, PartialEq)]
enum Kind {
    /// A text with so many characters, of a format that JSON Schema names.
    Text {
        least: u64,
        most: u64,
        format: String,
    },
    Number {
        whole: bool,
        least: Option<f64>,
        most: Option<f64>,
    },
    Bool,
    /// Values with their titles; several may be chosen, so many of them.
    Choice {
        of: Vec<(String, String)>,
        several: bool,
        least: u64,
        most: u64,
    },
}

/// What an empty answer to a field comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Empty {
    /// This default, in words.
    Default(String),
    /// The field is left out.
    LeftOut,
    /// Nothing: the server needs an answer.
    Needed,
}

impl Form {
    /// The form in the parameters of a request of that server.
    pub(super) fn read(server: &str, params: &Value) -> Self {
        let text = |key: &str| {
            let text = params.get(key).and_then(Value::as_str).unwrap_or_default();
            crate::words::head(text, MOST_TEXT).to_owned()
        };
        let url = (params.get("mode").and_then(Value::as_str) == Some("url")).then(|| text("url"));
        let fields = match url {
            Some(_) => Vec::new(),
            None => schema::fields(params.get("requestedSchema").unwrap_or(&Value::Null)),
        };
        Form {
            server: server.to_owned(),
            message: text("message"),
            url,
            fields,
        }
    }

    /// The form as questions, for those who can only put such. A form without fields, or with a page
    /// to open, is one question for a yes.
    pub fn questions(&self) -> Vec<AskedQuestion> {
        let question = |text: String, options: Vec<(String, String)>, several| AskedQuestion {
            id: None,
            header: String::new(),
            question: format!("(MCP server {}) {text}", self.server),
            options,
            several,
        };
        let yes_or_no = || {
            ["yes", "no"]
                .map(|w| (w.to_owned(), String::new()))
                .to_vec()
        };
        if self.fields.is_empty() {
            let text = match &self.url {
                Some(url) => format!("{}\nOpen {url} and say yes when it is done.", self.message),
                None => self.message.clone(),
            };
            return vec![question(text, yes_or_no(), false)];
        }
        let ask = |field: &Field| {
            let optional = if field.required { "" } else { " (optional)" };
            let text = format!("{}\n{}{optional}", self.message, field.title);
            let mut options = match &field.kind {
                Kind::Bool => yes_or_no(),
                Kind::Choice { of, .. } => of.clone(),
                Kind::Text { .. } | Kind::Number { .. } => Vec::new(),
            };
            if let Some(default) = &field.default {
                let word = shown(default);
                match options.iter_mut().find(|(value, _)| *value == word) {
                    Some((_, meaning)) => *meaning = "the default".into(),
                    None => options.push((word, "the default".into())),
                }
            }
            question(text, options, field.is_several())
        };
        self.fields.iter().map(ask).collect()
    }

    /// The content of an answer: a value for each field, or its default. `None` when a field that the
    /// server needs has neither.
    pub(super) fn content(&self, values: impl IntoIterator<Item = Option<Value>>) -> Option<Value> {
        let mut content = Map::new();
        let mut values = values.into_iter();
        for field in &self.fields {
            let value = values.next().flatten();
            match value.or_else(|| field.default.clone()) {
                Some(value) => {
                    content.insert(field.name.clone(), value);
                }
                None if field.required => return None,
                None => {}
            }
        }
        Some(content.into())
    }
}

impl Field {
    /// What it is called and what it is for.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Values to choose from with their titles, which may be empty.
    pub fn choices(&self) -> &[(String, String)] {
        match &self.kind {
            Kind::Choice { of, .. } => of,
            _ => &[],
        }
    }

    /// Several values may be chosen.
    pub fn is_several(&self) -> bool {
        matches!(self.kind, Kind::Choice { several: true, .. })
    }

    /// What Enter alone comes to.
    pub fn empty(&self) -> Empty {
        match &self.default {
            Some(default) => Empty::Default(shown(default)),
            None if self.required => Empty::Needed,
            None => Empty::LeftOut,
        }
    }

    /// What a line says in this field: numbers and values of its choices, or the value itself.
    ///
    /// # Errors
    /// Why it is no value of this field, in words for the person.
    pub fn parse(&self, line: &str) -> Result<Value, String> {
        let line = line.trim();
        match &self.kind {
            Kind::Text {
                least,
                most,
                format,
            } => {
                let long = line.chars().count() as u64;
                match (long < *least || long > *most, fits(line, format)) {
                    (true, _) => Err(format!("{}, please", self.kind)),
                    (_, Err(why)) => Err(why),
                    _ => Ok(line.into()),
                }
            }
            Kind::Bool => match (is_yes(line), is_no(line)) {
                (true, _) => Ok(true.into()),
                (_, true) => Ok(false.into()),
                _ => Err("yes or no, please".into()),
            },
            Kind::Number { whole, least, most } => {
                let number = match whole {
                    true => line.parse::<i64>().ok().map(Value::from),
                    false => line.parse::<f64>().ok().map(Value::from),
                };
                let fits = |value: &Value| {
                    let number = value.as_f64().unwrap_or(f64::NAN);
                    least.is_none_or(|l| number >= l) && most.is_none_or(|m| number <= m)
                };
                let number = number.filter(|value| !value.is_null() && fits(value));
                number.ok_or_else(|| format!("{}, please", self.kind))
            }
            Kind::Choice {
                of, several: false, ..
            } => match chosen(line, of) {
                Some(value) => Ok(value.into()),
                None => Err("a number or a word of the list, please".into()),
            },
            Kind::Choice {
                of, least, most, ..
            } => {
                let words = line.split([',', ' ']).filter(|w| !w.is_empty());
                // A title may hold blanks.
                let all = match chosen(line, of) {
                    Some(value) => Some(vec![value]),
                    None => words.map(|word| chosen(word, of)).collect(),
                };
                let Some(all) = all else {
                    return Err("numbers or words of the list, please".into());
                };
                let count = all.len() as u64;
                match count < *least || count > *most {
                    true => Err(format!("{}, please", self.kind)),
                    false => Ok(all.into()),
                }
            }
        }
    }

    /// The same for words that somebody chose, and not to be asked for again.
    pub(super) fn value(&self, words: &[String]) -> Option<Value> {
        let line = words.join(", ");
        match line.trim().is_empty() {
            true => None,
            false => self.parse(&line).ok(),
        }
    }
}

/// What is to be written into a field: `a whole number from 1 to 9`.
impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let range = |least: Option<String>, most: Option<String>| match (least, most) {
            (Some(least), Some(most)) if least == most => format!(" {least}"),
            (Some(least), Some(most)) => format!(" {least} to {most}"),
            (Some(least), None) => format!(" at least {least}"),
            (None, Some(most)) => format!(" at most {most}"),
            (None, None) => String::new(),
        };
        let count = |least: u64, most: u64| {
            let least = (least > 0).then(|| least.to_string());
            range(least, (most < u64::MAX).then(|| most.to_string()))
        };
        match self {
            Kind::Text {
                least,
                most,
                format,
            } => {
                let what = FORMATS.iter().find(|(name, ..)| name == format);
                let what = what.map_or("text", |(_, words, _)| words);
                let count = count(*least, *most);
                let characters = if count.is_empty() { "" } else { " characters" };
                write!(
                    f,
                    "{what}{}{count}{characters}",
                    if count.is_empty() { "" } else { " of" }
                )
            }
            Kind::Number { whole, least, most } => {
                let what = if *whole { "a whole number" } else { "a number" };
                let words = |n: &Option<f64>| n.map(|n| n.to_string());
                write!(f, "{what}{}", range(words(least), words(most)))
            }
            Kind::Bool => f.write_str("yes or no"),
            Kind::Choice { several: false, .. } => f.write_str("one of these"),
            Kind::Choice { least, most, .. } => {
                let count = count(*least, *most);
                match count.is_empty() {
                    true => f.write_str("any of these"),
                    false => write!(f, "{} of these", count.trim_start()),
                }
            }
        }
    }
}

/// A format that a text may have: its name, in words, and what a text of it looks like at the least.
type Format = (&'static str, &'static str, fn(&str) -> bool);

const FORMATS: &[Format] = &[
    ("email", "an e-mail address", |t| {
        t.split_once('@')
            .is_some_and(|(a, b)| !a.is_empty() && !b.is_empty())
            && !t.contains(' ')
    }),
    ("uri", "an address with its scheme", |t| {
        t.split_once(':')
            .is_some_and(|(a, b)| !a.is_empty() && !b.is_empty())
            && !t.contains(' ')
    }),
    ("date", "a date such as 2026-01-31", is_date),
    ("date-time", "a time such as 2026-01-31T12:00:00Z", |t| {
        t.split_once(['T', 't'])
            .is_some_and(|(date, time)| is_date(date) && time.contains(':'))
    }),
];

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let lengths: Vec<usize> = parts.iter().map(|p| p.len()).collect();
    lengths == [4, 2, 2] && parts.iter().all(|p| p.chars().all(|c| c.is_ascii_digit()))
}

fn fits(text: &str, format: &str) -> Result<(), String> {
    match FORMATS.iter().find(|(name, ..)| *name == format) {
        Some((_, words, is)) if !is(text) => Err(format!("{words}, please")),
        _ => Ok(()),
    }
}

/// The value that a number counts to, or that a word is or is called.
fn chosen(word: &str, of: &[(String, String)]) -> Option<String> {
    let word = word.trim();
    let named = of
        .iter()
        .find(|(value, title)| value == word || title == word);
    let counted = || of.get(word.parse::<usize>().ok()?.checked_sub(1)?);
    named.or_else(counted).map(|(value, _)| value.clone())
}

pub(super) fn is_yes(word: &str) -> bool {
    ["yes", "y", "true", "1", "ok"].contains(&word.trim().to_lowercase().as_str())
}

fn is_no(word: &str) -> bool {
    ["no", "n", "false", "0"].contains(&word.trim().to_lowercase().as_str())
}

fn shown(value: &Value) -> String {
    match value {
        Value::Bool(true) => "yes".into(),
        Value::Bool(false) => "no".into(),
        Value::String(text) => text.clone(),
        Value::Array(list) => list.iter().map(shown).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn field(schema: Value) -> Field {
        let params = json!({"message": "m", "requestedSchema": {"properties": {"f": schema}}});
        Form::read("it", &params).fields.remove(0)
    }

    /// The kinds of fields that the specification of MCP 2025-11-25 allows.
    #[test]
    fn a_line_is_a_value_of_its_field_or_said_to_be_none() {
        let age = field(json!({"type": "integer", "minimum": 0, "maximum": 150}));
        assert_eq!(age.to_string(), "a whole number 0 to 150");
        assert_eq!(age.parse(" 30 "), Ok(json!(30)));
        for bad in ["x", "1.5", "-1", "151", ""] {
            assert!(age.parse(bad).is_err(), "{bad}");
        }
        let score = field(json!({"type": "number"}));
        assert_eq!(score.parse("1.5"), Ok(json!(1.5)));
        assert!(score.parse("inf").is_err());
        let sure = field(json!({"type": "boolean"}));
        assert_eq!(
            (sure.parse("YES"), sure.parse("n")),
            (Ok(json!(true)), Ok(json!(false)))
        );
        assert!(sure.parse("perhaps").is_err());
        let mail = field(json!({"type": "string", "format": "email"}));
        assert_eq!(mail.parse("a@b.org"), Ok(json!("a@b.org")));
        assert!(mail.parse("ab.org").is_err());
        let day = field(json!({"type": "string", "format": "date"}));
        assert!(day.parse("2026-01-31").is_ok() && day.parse("31.1.26").is_err());
        let short = field(json!({"type": "string", "minLength": 2, "maxLength": 3}));
        assert_eq!(short.to_string(), "text of 2 to 3 characters");
        assert!(short.parse("äöü").is_ok() && short.parse("ä").is_err());
    }

    #[test]
    fn choices_are_taken_by_number_value_or_title() {
        let one = field(json!({"type": "string", "oneOf": [
            {"const": "#F00", "title": "deep red"}, {"const": "#0F0", "title": "green"}]}));
        for word in ["1", "#F00", "deep red"] {
            assert_eq!(one.parse(word), Ok(json!("#F00")), "{word}");
        }
        assert!(one.parse("3").is_err() && one.parse("blue").is_err());
        let several = field(
            json!({"type": "array", "minItems": 1, "maxItems": 2, "items":
            {"type": "string", "enum": ["a", "b", "c"]}}),
        );
        assert_eq!(several.to_string(), "1 to 2 of these");
        assert_eq!(several.parse("1, c"), Ok(json!(["a", "c"])));
        assert!(several.parse("1 2 3").is_err() && several.parse("1 x").is_err());
    }

    #[test]
    fn what_enter_comes_to_is_known_of_each_field() {
        let schema = json!({"properties": {
            "a": {"type": "array", "items": {"enum": ["x", "y"]}, "default": ["x", "y"]},
            "b": {"type": "string"}, "c": {"type": "boolean"}}, "required": ["c"]});
        let form = Form::read("it", &json!({"message": "m", "requestedSchema": schema}));
        let empty: Vec<Empty> = form.fields.iter().map(Field::empty).collect();
        let all = [Empty::Default("x, y".into()), Empty::LeftOut, Empty::Needed];
        assert_eq!(empty, all);
        assert_eq!(form.content([]), None);
        let content = form.content([None, None, Some(json!(true))]);
        assert_eq!(content, Some(json!({"a": ["x", "y"], "c": true})));
    }
}
