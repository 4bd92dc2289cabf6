//! The schema of a tool on its way to the model.
//!
//! The server keeps judging arguments by its own schema. The model's copy is cut down to what
//! every API and every grammar maker takes, since one tool with an odd schema fails the whole
//! request: with references put in place, without unions at the top, without types that are lists.

use super::client::Offer;
use crate::jsonrpc::Fault;
use base64::Engine;
use serde_json::{Map, Value, json};

/// How deep references are followed, and how many nodes a schema may have.
const DEEPEST: usize = 16;
const DEEPEST_REFERENCE: usize = 5;
const MOST_NODES: usize = 2_000;
/// The most bytes of one description in a schema.
const MOST_WORDS: usize = 1_000;
/// The longest name of a property.
const LONGEST_NAME: usize = 64;

/// A copy of a schema that every wire takes. `local`: also without what the grammars of local
/// servers trip over (patterns, formats, lengths).
///
/// # Errors
/// Why the tool cannot be offered.
pub(super) fn clean(raw: &Value, local: bool) -> Result<Value, String> {
    let mut cleaner = Cleaner {
        root: raw,
        local,
        nodes: 0,
        bad_name: None,
    };
    let mut top = raw.as_object().cloned().unwrap_or_default();
    cleaner.flatten(&mut top);
    top.insert("type".into(), "object".into());
    let mut clean = cleaner.node(&Value::Object(top), 0, 0);
    if let Some(name) = cleaner.bad_name {
        return Err(format!(
            "it has a parameter with the name {:?}, which not every server takes",
            crate::words::head(&name, 80)
        ));
    }
    if let Some(map) = clean.as_object_mut() {
        map.entry("properties").or_insert_with(|| json!({}));
        map.shift_remove("description");
        map.shift_remove("default");
    }
    Ok(clean)
}

struct Cleaner<'a> {
    root: &'a Value,
    local: bool,
    nodes: usize,
    bad_name: Option<String>,
}

impl Cleaner<'_> {
    /// Puts the properties of all variants of the top level side by side: no API takes a union there.
    fn flatten(&self, top: &mut Map<String, Value>) {
        let mut variants = Vec::new();
        for key in ["anyOf", "oneOf", "allOf"] {
            let all = key == "allOf";
            let list = top.shift_remove(key);
            for variant in list
                .as_ref()
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
            {
                variants.push((self.resolved(variant), all));
            }
        }
        if let Some(reference) = top.shift_remove("$ref") {
            variants.push((self.resolved(&json!({ "$ref": reference })), true));
        }
        for (variant, all) in variants {
            for (name, schema) in variant
                .get("properties")
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
            {
                let own = top.entry("properties").or_insert_with(|| json!({}));
                if let Some(own) = own.as_object_mut() {
                    own.entry(name.clone()).or_insert_with(|| schema.clone());
                }
            }
            // What one variant needs, another may not have.
            for name in variant
                .get("required")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
            {
                let list = top.entry("required").or_insert_with(|| json!([]));
                if let (Some(list), true) = (list.as_array_mut(), all) {
                    list.push(name.clone());
                }
            }
        }
        for key in ["not", "enum", "const"] {
            top.shift_remove(key);
        }
    }

    /// What a local reference stands for; anything else as it is. Nothing is ever fetched.
    fn resolved(&self, schema: &Value) -> Value {
        let target = |schema: &Value| {
            let path = schema.get("$ref")?.as_str()?.strip_prefix('#')?.to_owned();
            self.root.pointer(&path).cloned()
        };
        let mut found = schema.clone();
        for _ in 0..DEEPEST_REFERENCE {
            match target(&found) {
                Some(next) => found = next,
                None => break,
            }
        }
        found
    }

    fn node(&mut self, schema: &Value, depth: usize, references: usize) -> Value {
        self.nodes += 1;
        if depth > DEEPEST || references > DEEPEST_REFERENCE || self.nodes > MOST_NODES {
            return json!({"type": "object"});
        }
        let Some(map) = schema.as_object() else {
            return json!({"type": "string"});
        };
        if map.contains_key("$ref") {
            let target = map
                .get("$ref")
                .and_then(Value::as_str)
                .and_then(|r| r.strip_prefix('#'));
            let Some(target) = target.and_then(|path| self.root.pointer(path)) else {
                return self.described(json!({"type": "object"}), map);
            };
            let target = target.clone();
            let node = self.node(&target, depth + 1, references + 1);
            return self.described(node, map);
        }
        let mut merged = map.clone();
        for part in map
            .get("allOf")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            for (key, value) in self.resolved(part).as_object().into_iter().flatten() {
                match (merged.get_mut(key), value) {
                    (Some(Value::Object(old)), Value::Object(new)) => {
                        for (name, value) in new {
                            old.entry(name.clone()).or_insert_with(|| value.clone());
                        }
                    }
                    (Some(Value::Array(old)), Value::Array(new)) if key == "required" => {
                        old.extend(new.iter().cloned());
                    }
                    (Some(_), _) => {}
                    (None, _) => {
                        merged.insert(key.clone(), value.clone());
                    }
                }
            }
        }
        let map = &merged;
        let variants = ["anyOf", "oneOf"]
            .iter()
            .filter_map(|key| map.get(*key)?.as_array());
        let is_null = |v: &Value| {
            v.get("type") == Some(&json!("null")) || v.get("const") == Some(&Value::Null)
        };
        let variants: Vec<Value> = variants
            .flatten()
            .filter(|v| !is_null(v))
            .cloned()
            .collect();
        match variants.as_slice() {
            [] => self.plain(map, depth, references),
            [one] => {
                let node = self.node(one, depth + 1, references);
                self.described(node, map)
            }
            several => {
                let all: Vec<Value> = several
                    .iter()
                    .map(|v| self.node(v, depth + 1, references))
                    .collect();
                self.described(json!({ "anyOf": all }), map)
            }
        }
    }

    /// A node with the description of where it stands.
    fn described(&self, mut node: Value, from: &Map<String, Value>) -> Value {
        if let (Some(map), Some(text)) = (node.as_object_mut(), words(from)) {
            map.insert("description".into(), text.into());
        }
        node
    }

    fn plain(&mut self, map: &Map<String, Value>, depth: usize, references: usize) -> Value {
        let mut out = Map::new();
        let values = match (map.get("enum").and_then(Value::as_array), map.get("const")) {
            (Some(values), _) => values.iter().filter(|v| !v.is_null()).cloned().collect(),
            (None, Some(one)) if !one.is_null() => vec![one.clone()],
            (None, _) => Vec::new(),
        };
        let kind = kind(map, &values);
        out.insert("type".into(), kind.into());
        if let Some(text) = words(map) {
            out.insert("description".into(), text.into());
        }
        if !values.is_empty() {
            out.insert("enum".into(), values.into());
        }
        match kind {
            "object" => self.object(map, &mut out, depth, references),
            "array" => {
                let items = map.get("items").filter(|i| i.is_object());
                let items = match items {
                    Some(items) => self.node(&items.clone(), depth + 1, references),
                    None => json!({"type": "string"}),
                };
                out.insert("items".into(), items);
            }
            _ => {}
        }
        for key in ["minimum", "maximum"] {
            if let (Some(limit), "integer" | "number") =
                (map.get(key).filter(|v| v.is_number()), kind)
            {
                out.insert(key.into(), limit.clone());
            }
        }
        for key in [
            "pattern",
            "format",
            "minLength",
            "maxLength",
            "minItems",
            "maxItems",
        ] {
            if let (Some(value), false) = (map.get(key), self.local) {
                out.insert(key.into(), value.clone());
            }
        }
        let fits = |value: &Value| match kind {
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            _ => false,
        };
        if let Some(default) = map.get("default").filter(|d| fits(d)) {
            out.insert("default".into(), default.clone());
        }
        out.into()
    }

    fn object(
        &mut self,
        map: &Map<String, Value>,
        out: &mut Map<String, Value>,
        depth: usize,
        references: usize,
    ) {
        let mut properties = Map::new();
        for (name, schema) in map
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let fits = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
            if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(fits) {
                self.bad_name.get_or_insert_with(|| name.clone());
                continue;
            }
            properties.insert(name.clone(), self.node(schema, depth + 1, references));
        }
        let mut required: Vec<Value> = Vec::new();
        for name in map
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let known = name.as_str().is_some_and(|n| properties.contains_key(n));
            if known && !required.contains(name) {
                required.push(name.clone());
            }
        }
        if !properties.is_empty() {
            out.insert("properties".into(), properties.into());
        }
        if !required.is_empty() {
            out.insert("required".into(), required.into());
        }
        if let Some(Value::Bool(false)) = map.get("additionalProperties") {
            out.insert("additionalProperties".into(), false.into());
        }
    }
}

/// The one type of a node: a list of types counts as its first that is not null.
fn kind(map: &Map<String, Value>, values: &[Value]) -> &'static str {
    const KNOWN: [&str; 6] = ["string", "number", "integer", "boolean", "array", "object"];
    let named = match map.get("type") {
        Some(Value::String(name)) => Some(name.as_str()),
        Some(Value::Array(names)) => names
            .iter()
            .filter_map(Value::as_str)
            .find(|n| *n != "null"),
        _ => None,
    };
    if let Some(known) = named.and_then(|name| KNOWN.into_iter().find(|k| *k == name)) {
        return known;
    }
    match values.first() {
        Some(Value::Number(n)) if n.is_f64() => return "number",
        Some(Value::Number(_)) => return "integer",
        Some(Value::Bool(_)) => return "boolean",
        _ => {}
    }
    if map.contains_key("properties")
        || map
            .get("additionalProperties")
            .is_some_and(Value::is_object)
    {
        "object"
    } else if map.contains_key("items") {
        "array"
    } else {
        "string"
    }
}

fn words(map: &Map<String, Value>) -> Option<String> {
    let text = map
        .get("description")
        .or_else(|| map.get("title"))?
        .as_str()?;
    let text = crate::words::head(text.trim(), MOST_WORDS);
    (!text.is_empty()).then(|| text.to_owned())
}

/// The arguments that a stateless server wants in headers too, besides the tool's name.
pub(super) fn headers(tool: &Offer, arguments: &Map<String, Value>) -> Vec<(String, String)> {
    let mut headers = vec![("Mcp-Name".to_owned(), header(&tool.name))];
    let properties = tool.schema.get("properties").and_then(Value::as_object);
    for (name, schema) in properties.into_iter().flatten() {
        let mark = schema.get("x-mcp-header").and_then(Value::as_str);
        let value = match arguments.get(name) {
            Some(Value::String(text)) => text.clone(),
            Some(value @ (Value::Number(_) | Value::Bool(_))) => value.to_string(),
            _ => continue,
        };
        if let Some(mark) = mark.filter(|m| is_token(m)) {
            headers.push((format!("Mcp-Param-{mark}"), header(&value)));
        }
    }
    headers
}

fn is_token(word: &str) -> bool {
    !word.is_empty()
        && word
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

/// A value as a header can carry it.
fn header(value: &str) -> String {
    let plain = value.bytes().all(|b| (0x20..0x7f).contains(&b)) && value.trim() == value;
    match plain {
        true => value.to_owned(),
        false => {
            let coded = base64::engine::general_purpose::STANDARD.encode(value);
            format!("=?base64?{coded}?=")
        }
    }
}

/// Arguments of a model as the server takes them: an object, also when it comes as JSON text.
///
/// # Errors
/// What the model is told.
pub(super) fn arguments(value: &Value) -> Result<Map<String, Value>, Fault> {
    let value = match value {
        Value::String(text) if text.trim().is_empty() => Value::Null,
        Value::String(text) => serde_json::from_str(text).unwrap_or_else(|_| value.clone()),
        other => other.clone(),
    };
    match value {
        Value::Null => Ok(Map::new()),
        Value::Object(map) => Ok(map),
        _ => Err(Fault::bad_params(
            "the arguments of a tool are a JSON object",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cleaned(schema: Value) -> Value {
        clean(&schema, true).unwrap()
    }

    #[test]
    fn what_a_wire_refuses_is_rewritten() {
        for (raw, expected) in [
            (json!(null), json!({"type": "object", "properties": {}})),
            (
                json!({"type": "object", "$schema": "x"}),
                json!({"type": "object", "properties": {}}),
            ),
            (
                json!({"anyOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}, {"properties": {"b": {"const": 3}}}]}),
                json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer", "enum": [3]}}}),
            ),
            (
                json!({"type": "object", "properties": {"p": {"$ref": "#/$defs/P", "description": "who"}}, "required": ["p", "gone"],
                    "$defs": {"P": {"type": "object", "properties": {"n": {"type": ["string", "null"], "pattern": "(?=x)", "maxLength": 9}}}}}),
                json!({"type": "object", "properties": {"p": {"type": "object", "properties": {"n": {"type": "string"}}, "description": "who"}}, "required": ["p"]}),
            ),
            (
                json!({"type": "object", "properties": {"l": {"type": "array"}, "t": true, "o": {"anyOf": [{"type": "integer"}, {"type": "null"}], "description": "d"},
                    "f": {"type": "string", "default": 3, "format": "uri"}, "r": {"$ref": "https://example.com/x.json"}}}),
                json!({"type": "object", "properties": {"l": {"type": "array", "items": {"type": "string"}}, "t": {"type": "string"},
                    "o": {"type": "integer", "description": "d"}, "f": {"type": "string"}, "r": {"type": "object"}}}),
            ),
        ] {
            assert_eq!(cleaned(raw.clone()), expected, "{raw}");
        }
    }

    #[test]
    fn circles_and_bombs_end() {
        let circle = json!({"type": "object", "properties": {"c": {"$ref": "#/$defs/C"}},
            "$defs": {"C": {"type": "object", "properties": {"c": {"$ref": "#/$defs/C"}}}, "L": {"$ref": "#/$defs/L"}}});
        assert!(cleaned(circle).to_string().len() < 1_000);
        let mut defs = Map::new();
        for n in 0..30 {
            let next = format!("#/$defs/d{}", n + 1);
            let all: Map<String, Value> = (0..10)
                .map(|k| (format!("k{k}"), json!({"$ref": next})))
                .collect();
            defs.insert(
                format!("d{n}"),
                json!({"type": "object", "properties": all}),
            );
        }
        let bomb =
            json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": defs});
        assert!(cleaned(bomb).to_string().len() < 200_000);
    }

    #[test]
    fn a_hosted_server_keeps_the_limits_and_a_bad_name_loses_the_tool() {
        let schema =
            json!({"type": "object", "properties": {"a": {"type": "string", "pattern": "^x$"}}});
        assert_eq!(
            clean(&schema, false).unwrap()["properties"]["a"]["pattern"],
            "^x$"
        );
        assert!(clean(&json!({"properties": {"a b": {}}}), true).is_err());
    }

    #[test]
    fn a_stateless_server_gets_its_headers() {
        let tool = Offer {
            name: "wetter ü".into(),
            description: String::new(),
            schema: json!({"properties": {"region": {"type": "string", "x-mcp-header": "Region"}, "n": {"x-mcp-header": "a b"}}}),
            read_only: false,
        };
        let arguments = json!({"region": "us", "n": 1});
        let headers = headers(&tool, arguments.as_object().unwrap());
        assert_eq!(
            headers[0],
            ("Mcp-Name".into(), "=?base64?d2V0dGVyIMO8?=".into())
        );
        assert_eq!(headers[1], ("Mcp-Param-Region".into(), "us".into()));
        assert_eq!(headers.len(), 2);
    }
}
