//! Fitting arguments to a tool's JSON Schema: other names, other types for the same value.
//!
//! Only changes with one possible meaning are made. A missing value is never made up.

use super::names;
use super::schema::{choices, has_property, is_required, required, types};
use super::{json, keys};
use crate::words::quote;
use serde_json::{Map, Number, Value};

/// Arguments that satisfy the schema.
pub(super) struct Fitted {
    pub object: Map<String, Value>,
    /// Something differs from what was written.
    pub changed: bool,
    /// Lines for the model about changes of meaning.
    pub notes: Vec<String>,
}

/// Fits the arguments of one call of `tool`.
///
/// # Errors
/// What is wrong, naming the argument: `missing "path"`, `"limit" must be a number`.
pub(super) fn fit(
    tool: &str,
    schema: &Value,
    object: Map<String, Value>,
) -> Result<Fitted, String> {
    let mut fitter = Fitter {
        tool,
        changed: false,
        notes: Vec::new(),
    };
    let object = match keys::unwrap(schema, &object) {
        Some(inner) => {
            fitter.changed = true;
            inner
        }
        None => object,
    };
    let object = fitter.rename(schema, object);
    let object = fitter.gather(schema, object);
    let object = fitter.object(schema, object, "")?;
    Ok(Fitted {
        object,
        changed: fitter.changed,
        notes: fitter.notes,
    })
}

struct Fitter<'a> {
    tool: &'a str,
    changed: bool,
    notes: Vec<String>,
}

impl Fitter<'_> {
    fn note(&mut self, text: String) {
        self.notes.push(format!("note: {text}"));
    }

    /// Puts synonyms of absent arguments under the names of the schema. An argument that is given
    /// under its own name wins over its synonyms.
    fn rename(&mut self, schema: &Value, mut object: Map<String, Value>) -> Map<String, Value> {
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
            return object;
        };
        for wanted in properties.keys() {
            let Some((key, other_word)) = keys::stand_in(self.tool, schema, &object, wanted) else {
                continue;
            };
            let Some(value) = object.shift_remove(&key) else {
                continue;
            };
            self.changed = true;
            if object.contains_key(wanted) {
                continue;
            }
            object.insert(wanted.clone(), value);
            if other_word {
                self.note(format!("\"{key}\" was read as \"{wanted}\""));
            }
        }
        object
    }

    /// Puts the fields of a list's only element, written in the place of the list, into it:
    /// `{"path", "old", "new"}` becomes `{"path", "edits": [{"old", "new"}]}`.
    fn gather(&mut self, schema: &Value, object: Map<String, Value>) -> Map<String, Value> {
        let properties = schema.get("properties").and_then(Value::as_object);
        let mut missing = properties.into_iter().flatten().filter(|(key, property)| {
            is_required(schema, key) && !object.contains_key(*key) && types(property) == ["array"]
        });
        let (Some((list, property)), None) = (missing.next(), missing.next()) else {
            return object;
        };
        let Some(items) = property.get("items") else {
            return object;
        };
        let (mut own, fields): (Map<_, _>, Map<_, _>) = object
            .clone()
            .into_iter()
            .partition(|(key, _)| has_property(schema, key));
        let before = self.notes.len();
        let element = self.rename(items, fields);
        let mut needed = required(items).peekable();
        if needed.peek().is_none() || !needed.all(|key| element.contains_key(key)) {
            self.notes.truncate(before);
            return object;
        }
        self.changed = true;
        own.insert(list.clone(), Value::Array(vec![Value::Object(element)]));
        own
    }

    /// Fits every value of an object. `at` is where it stands, for messages; empty at the top.
    fn object(
        &mut self,
        schema: &Value,
        object: Map<String, Value>,
        at: &str,
    ) -> Result<Map<String, Value>, String> {
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
            return Ok(object);
        };
        let open = schema
            .get("additionalProperties")
            .is_some_and(|more| more != &Value::Bool(false));
        let reads = names::reads_only(self.tool);
        let mut out = Map::new();
        for (key, value) in object {
            let place = join(at, &key);
            match properties.get(&key) {
                Some(property) => {
                    let must = is_required(schema, &key);
                    match self.value(property, value, &place, must)? {
                        Some(value) => {
                            out.insert(key, value);
                        }
                        None => self.changed = true,
                    }
                }
                None if open => {
                    out.insert(key, value);
                }
                None if reads || keys::is_harmless(&key, &value) => self.changed = true,
                None => {
                    return Err(format!(
                        "unknown argument \"{}\"",
                        super::harmless(&place, 64)
                    ));
                }
            }
        }
        for key in required(schema) {
            if !out.contains_key(key) && has_property(schema, key) {
                return Err(format!("missing \"{}\"", join(at, key)));
            }
        }
        Ok(out)
    }

    /// Fits one value; `None` leaves it out, which only an optional one may be.
    fn value(
        &mut self,
        schema: &Value,
        value: Value,
        at: &str,
        must: bool,
    ) -> Result<Option<Value>, String> {
        let kinds = types(schema);
        if !kinds.is_empty() && !has_type(&kinds, &value) {
            let unset =
                value.is_null() || !kinds.contains(&"string") && (value == "" || value == "null");
            if unset && !must {
                return Ok(None);
            }
            let wrong = || format!("\"{at}\" must be {}", article(&kinds));
            let value = self.convert(schema, &kinds, value, at).ok_or_else(wrong)?;
            self.changed = true;
            return self.inside(schema, value, at).map(Some);
        }
        self.inside(schema, value, at).map(Some)
    }

    /// A value of another type as one of the wanted type, where that has one meaning.
    fn convert(&mut self, schema: &Value, kinds: &[&str], value: Value, at: &str) -> Option<Value> {
        let want = |kind: &str| kinds.contains(&kind);
        match value {
            Value::String(text) => {
                let trimmed = text.trim();
                if want("boolean") && trimmed.eq_ignore_ascii_case("true") {
                    return Some(Value::Bool(true));
                }
                if want("boolean") && trimmed.eq_ignore_ascii_case("false") {
                    return Some(Value::Bool(false));
                }
                if want("integer") || want("number") {
                    let number = serde_json::from_str::<Number>(trimmed).ok();
                    if let Some(number) = number.and_then(|n| whole_if(n, !want("number"))) {
                        return Some(Value::Number(number));
                    }
                }
                if want("array") && trimmed.starts_with('[')
                    || want("object") && trimmed.starts_with('{')
                {
                    let read = json::read(trimmed, false)?;
                    let whole = read.end == trimmed.len() && has_type(kinds, &read.value);
                    return whole.then_some(read.value);
                }
                let items = schema.get("items").map(types).unwrap_or_default();
                (want("array") && items == ["string"]).then(|| {
                    let lines = text.lines().filter(|line| !line.trim().is_empty());
                    Value::Array(lines.map(Value::from).collect())
                })
            }
            Value::Number(number) if want("string") => Some(number.to_string().into()),
            Value::Bool(flag) if want("string") => Some(flag.to_string().into()),
            Value::Number(number) if want("integer") => whole_if(number, true).map(Value::Number),
            Value::Array(items) if want("string") => self.join_items(items, at),
            Value::Object(_) if want("string") => self.pretty(&value, at),
            Value::Object(_) if want("array") => Some(Value::Array(vec![value])),
            _ => None,
        }
    }

    /// An array where a text is wanted: a command line, the only element, or a JSON file.
    fn join_items(&mut self, mut items: Vec<Value>, at: &str) -> Option<Value> {
        if keys::is_command(self.tool, at) {
            let words = items
                .iter()
                .map(Value::as_str)
                .collect::<Option<Vec<_>>>()?;
            return command_line(&words).map(Value::String);
        }
        match items.as_slice() {
            [Value::String(_)] => items.pop(),
            _ => self.pretty(&Value::Array(items), at),
        }
    }

    /// JSON where a text is wanted, as when a model writes a `.json` file.
    fn pretty(&mut self, value: &Value, at: &str) -> Option<Value> {
        let text = serde_json::to_string_pretty(value).ok()?;
        self.note(format!(
            "\"{at}\" came as JSON and was taken as its text, indented by 2 spaces"
        ));
        Some(Value::String(text))
    }

    /// Checks what is inside a value of the right type.
    fn inside(&mut self, schema: &Value, value: Value, at: &str) -> Result<Value, String> {
        let fitting = |choice: &&Value| has_type(&types(choice), &value);
        let schema = choices(schema).iter().find(fitting).unwrap_or(schema);
        if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
            return self.choice(choices, value, at);
        }
        match value {
            Value::Array(items) => {
                let Some(schema) = schema.get("items") else {
                    return Ok(Value::Array(items));
                };
                let mut out = Vec::with_capacity(items.len());
                for (index, item) in items.into_iter().enumerate() {
                    let place = format!("{at}[{index}]");
                    let item = match item {
                        Value::Object(element) => Value::Object(self.rename(schema, element)),
                        other => other,
                    };
                    out.extend(self.value(schema, item, &place, true)?);
                }
                Ok(Value::Array(out))
            }
            Value::Object(object) => self.object(schema, object, at).map(Value::Object),
            Value::String(text) => {
                let clean = self.clean(&text, at);
                self.changed |= clean != text;
                Ok(Value::String(clean.to_owned()))
            }
            other => Ok(other),
        }
    }

    /// One of an enum's values, without regard to case and separators.
    fn choice(&mut self, choices: &[Value], value: Value, at: &str) -> Result<Value, String> {
        if choices.contains(&value) {
            return Ok(value);
        }
        let written = value.as_str().map(names::normal);
        let hit = choices
            .iter()
            .find(|c| written.is_some() && c.as_str().map(names::normal) == written);
        match hit {
            Some(choice) => {
                self.changed = true;
                Ok(choice.clone())
            }
            None => {
                let all = choices.iter().map(Value::to_string).collect::<Vec<_>>();
                Err(format!("\"{at}\" must be one of {}", all.join(", ")))
            }
        }
    }

    /// A path without quotes around it, a command without `$ ` or one fence around it.
    fn clean<'t>(&self, text: &'t str, at: &str) -> &'t str {
        if keys::is_command(self.tool, at) {
            return command_text(text);
        }
        if !keys::is_path(at) {
            return text;
        }
        let text = text.trim();
        let text = ['"', '\'', '`']
            .iter()
            .find_map(|q| text.strip_prefix(*q)?.strip_suffix(*q))
            .unwrap_or(text);
        text.strip_prefix("file://").unwrap_or(text)
    }
}

fn join(at: &str, key: &str) -> String {
    if at.is_empty() {
        key.to_owned()
    } else {
        format!("{at}.{key}")
    }
}

fn has_type(kinds: &[&str], value: &Value) -> bool {
    kinds.iter().any(|kind| match *kind {
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => true,
    })
}

fn article(kinds: &[&str]) -> String {
    let words = kinds.iter().map(|kind| match *kind {
        "integer" => "a whole number".to_owned(),
        "array" | "object" => format!("an {kind}"),
        kind => format!("a {kind}"),
    });
    words.collect::<Vec<_>>().join(" or ")
}

/// The number itself, or for `whole` its form without a fraction, if it has none: 20.0 is 20.
fn whole_if(number: Number, whole: bool) -> Option<Number> {
    if !whole || number.is_i64() || number.is_u64() {
        return Some(number);
    }
    let float = number.as_f64()?;
    (float.fract() == 0.0 && float.abs() < 9e15).then(|| Number::from(float as i64))
}

/// One command line from its words: `["bash", "-lc", "ls"]` is `ls`, others are quoted and joined.
fn command_line(words: &[&str]) -> Option<String> {
    match words {
        [] => None,
        [one] => Some((*one).to_owned()),
        [shell, flag, script] if shell.ends_with("sh") && matches!(*flag, "-c" | "-lc") => {
            Some((*script).to_owned())
        }
        words => Some(words.iter().map(|w| quote(w)).collect::<Vec<_>>().join(" ")),
    }
}

fn command_text(text: &str) -> &str {
    let fenced = text
        .trim()
        .strip_prefix("```")
        .and_then(|t| t.strip_suffix("```"))
        .and_then(|t| t.split_once('\n'))
        .map(|(_, body)| body.trim_end())
        .filter(|body| !body.contains("```"));
    let text = fenced.unwrap_or(text);
    text.strip_prefix("$ ").unwrap_or(text)
}
