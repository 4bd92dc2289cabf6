//! The fields of a form, from the schema that the server sends.

use super::{Field, Kind, MOST_TEXT};
use serde_json::Value;

/// The most fields of a form, and the most choices of a field.
const MOST_FIELDS: usize = 20;
const MOST_CHOICES: usize = 100;

/// The fields in the order of the schema.
pub(super) fn fields(schema: &Value) -> Vec<Field> {
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let properties = schema.get("properties").and_then(Value::as_object);
    let field = |(name, of): (&String, &Value)| {
        let text = |key: &str| of.get(key).and_then(Value::as_str).unwrap_or_default();
        let title = [text("title"), text("description")].join(": ");
        let title = match title.trim_matches([':', ' ']) {
            "" => name.as_str(),
            title => title,
        };
        Field {
            name: name.clone(),
            title: crate::words::head(title, MOST_TEXT).to_owned(),
            kind: kind(of),
            default: of.get("default").filter(|d| !d.is_null()).cloned(),
            required: required.contains(&name.as_str()),
        }
    };
    let all = properties.into_iter().flatten().take(MOST_FIELDS);
    all.map(field).collect()
}

fn kind(of: &Value) -> Kind {
    let name = of.get("type").and_then(Value::as_str).unwrap_or("string");
    let count = |key: &str| of.get(key).and_then(Value::as_u64);
    let number = |whole| Kind::Number {
        whole,
        least: of.get("minimum").and_then(Value::as_f64),
        most: of.get("maximum").and_then(Value::as_f64),
    };
    let choice = |choices, several| Kind::Choice {
        of: choices,
        several,
        least: count("minItems").unwrap_or(0),
        most: count("maxItems").unwrap_or(u64::MAX),
    };
    match name {
        "boolean" => Kind::Bool,
        "integer" => number(true),
        "number" => number(false),
        "array" => choice(choices(of.get("items").unwrap_or(&Value::Null)), true),
        _ => match choices(of) {
            choices if choices.is_empty() => Kind::Text {
                least: count("minLength").unwrap_or(0),
                most: count("maxLength").unwrap_or(u64::MAX),
                format: of
                    .get("format")
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned(),
            },
            choices => choice(choices, false),
        },
    }
}

/// `enum` with `enumNames`, or `oneOf`/`anyOf` of `const` with `title`.
fn choices(of: &Value) -> Vec<(String, String)> {
    let list = |key: &str| {
        of.get(key)
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default()
    };
    let names = list("enumNames");
    let text = |v: &Value| {
        let text = v.as_str().unwrap_or_default();
        crate::words::head(text, MOST_TEXT).to_owned()
    };
    let plain = list("enum").into_iter().enumerate();
    let mut all: Vec<_> = plain
        .map(|(at, value)| (text(&value), names.get(at).map(text).unwrap_or_default()))
        .collect();
    for one in list("oneOf").into_iter().chain(list("anyOf")) {
        let of = |key: &str| one.get(key).map(text).unwrap_or_default();
        all.push((of("const"), of("title")));
    }
    all.retain(|(value, _)| !value.is_empty());
    all.truncate(MOST_CHOICES);
    all
}
