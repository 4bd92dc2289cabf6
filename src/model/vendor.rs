//! How hosted providers differ from the API that they speak: one row each, from their documents.
//!
//! What no row knows is learnt: a server that names an optional field as wrong gets the request
//! once more without it ([`super::http`]).

use super::provider::host;
use serde_json::{Map, Value, json};

/// The differences of one provider.
#[derive(Debug)]
pub struct Vendor {
    /// Parts of host names; the first row with one that ends the host is taken.
    hosts: &'static [&'static str],
    /// The token limit of a reply is called `max_tokens` on the chat wire.
    pub max_tokens: bool,
    /// It sends token counts without being asked, and refuses to be asked.
    pub counts_unasked: bool,
    /// Ids of calls have exactly nine letters and digits.
    pub nine_character_ids: bool,
    /// A user message may not follow a tool result.
    pub needs_word_after_results: bool,
    /// What it takes back of a reply's thinking.
    pub thinking: Thinking,
    /// How the reasoning effort is written on the chat wire.
    pub effort: Effort,
    /// What it understands of JSON Schema in tools.
    pub schema: SchemaForm,
    /// It takes `prompt_cache_key` on the chat wire.
    pub cache_key: bool,
    /// It takes a JSON Schema for the answer.
    pub answers_in_schema: bool,
    /// Arguments of calls are streamed only when asked for.
    pub tool_stream: bool,
}

/// What a provider takes back of the thinking of earlier replies on the chat wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thinking {
    /// The field that it came in.
    Field,
    /// The field that it came in, and beside calls also an empty one.
    FieldBesideCalls,
    /// Typed parts of the content.
    Parts,
    /// Nothing.
    Nothing,
}

/// How the reasoning effort is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// `reasoning_effort`, one of these, from low to high.
    Level(&'static [&'static str]),
    /// `thinking: {type: enabled | disabled}`, and `reasoning_effort` with one of these.
    Switch(&'static [&'static str]),
    /// `enable_thinking: true | false`.
    Flag,
    /// `reasoning: {effort}`.
    Object,
    /// It has none.
    Nothing,
}

/// What is understood of JSON Schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaForm {
    /// All that we send.
    Full,
    /// No `$schema`, references, `additionalProperties`, `const` or exclusive limits; lists have
    /// `items`.
    Plain,
    /// Each property has a `type`.
    Typed,
}

/// OpenAI's levels.
const OPENAI: &[&str] = &["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/// A provider that follows OpenAI's API to the letter.
const STANDARD: Vendor = Vendor {
    hosts: &[],
    max_tokens: false,
    counts_unasked: false,
    nine_character_ids: false,
    needs_word_after_results: false,
    thinking: Thinking::Field,
    effort: Effort::Level(OPENAI),
    schema: SchemaForm::Full,
    cache_key: false,
    answers_in_schema: true,
    tool_stream: false,
};

/// Every row.
static VENDORS: [Vendor; 12] = [
    Vendor {
        hosts: &["api.openai.com", "openai.azure.com"],
        cache_key: true,
        ..STANDARD
    },
    Vendor {
        hosts: &["api.deepseek.com"],
        max_tokens: true,
        thinking: Thinking::FieldBesideCalls,
        effort: Effort::Switch(&["low", "high", "max"]),
        answers_in_schema: false,
        ..STANDARD
    },
    Vendor {
        hosts: &[
            "api.moonshot.ai",
            "api.moonshot.cn",
            "api.kimi.com",
            "api.kimi.ai",
        ],
        thinking: Thinking::FieldBesideCalls,
        effort: Effort::Switch(&["low", "high", "max"]),
        schema: SchemaForm::Typed,
        cache_key: true,
        ..STANDARD
    },
    Vendor {
        hosts: &["api.z.ai", "open.bigmodel.cn"],
        max_tokens: true,
        effort: Effort::Switch(&["low", "high", "max"]),
        answers_in_schema: false,
        tool_stream: true,
        ..STANDARD
    },
    Vendor {
        hosts: &["aliyuncs.com"],
        max_tokens: true,
        effort: Effort::Flag,
        ..STANDARD
    },
    Vendor {
        hosts: &["openrouter.ai"],
        max_tokens: true,
        effort: Effort::Object,
        ..STANDARD
    },
    Vendor {
        hosts: &["generativelanguage.googleapis.com"],
        max_tokens: true,
        thinking: Thinking::Nothing,
        effort: Effort::Level(&["none", "low", "medium", "high"]),
        schema: SchemaForm::Plain,
        ..STANDARD
    },
    Vendor {
        hosts: &["api.groq.com"],
        thinking: Thinking::Nothing,
        effort: Effort::Level(&["none", "low", "medium", "high"]),
        ..STANDARD
    },
    Vendor {
        hosts: &["api.mistral.ai"],
        max_tokens: true,
        counts_unasked: true,
        nine_character_ids: true,
        needs_word_after_results: true,
        thinking: Thinking::Parts,
        effort: Effort::Nothing,
        ..STANDARD
    },
    Vendor {
        hosts: &["api.x.ai"],
        effort: Effort::Level(&["none", "low", "medium", "high"]),
        cache_key: true,
        ..STANDARD
    },
    Vendor {
        hosts: &["api.minimax.io", "api.minimaxi.com"],
        effort: Effort::Nothing,
        ..STANDARD
    },
    Vendor {
        hosts: &[
            "fireworks.ai",
            "together.xyz",
            "chutes.ai",
            "cerebras.ai",
            "ollama.com",
        ],
        max_tokens: true,
        effort: Effort::Level(&["none", "low", "medium", "high"]),
        ..STANDARD
    },
];

/// A local server: the old name of the limit, and the levels that its templates know.
static LOCAL: Vendor = Vendor {
    max_tokens: true,
    effort: Effort::Level(&["none", "low", "medium", "high"]),
    ..STANDARD
};

static OTHER: Vendor = STANDARD;

impl Vendor {
    /// The row of a provider's address; a local server has one of its own.
    pub fn of(base_url: &str, local: bool) -> &'static Vendor {
        if local {
            return &LOCAL;
        }
        let host = host(base_url);
        let is_at = |domain: &&'static str| {
            let above = host.strip_suffix(*domain);
            above.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        let found = VENDORS.iter().find(|v| v.hosts.iter().any(is_at));
        found.unwrap_or(&OTHER)
    }

    /// Puts the reasoning effort into a body of the chat wire, as this provider writes it.
    pub fn put_effort(&self, asked: &str, model: &str, body: &mut Map<String, Value>) {
        let mut put = |key: &str, value: Value| drop(body.insert(key.to_owned(), value));
        match self.effort {
            Effort::Nothing => {}
            Effort::Level(levels) => put("reasoning_effort", nearest(asked, levels).into()),
            Effort::Object => put("reasoning", json!({"effort": nearest(asked, OPENAI)})),
            Effort::Flag => put("enable_thinking", (asked != "none").into()),
            Effort::Switch(_) if asked == "none" => put("thinking", json!({"type": "disabled"})),
            Effort::Switch(levels) => {
                put("thinking", json!({"type": "enabled"}));
                if takes_level(model) {
                    put("reasoning_effort", nearest(asked, levels).into());
                }
            }
        }
    }

    /// A tool's schema in the form that this provider understands.
    pub fn schema(&self, schema: Value) -> Value {
        match self.schema {
            SchemaForm::Full => schema,
            SchemaForm::Plain => plain(schema, 0),
            SchemaForm::Typed => typed(schema, 0),
        }
    }
}

/// Older models of Moonshot and Z.AI only switch thinking on and off.
fn takes_level(model: &str) -> bool {
    let name = model.to_lowercase();
    let old = ["kimi-k2", "glm-4", "glm-5.0", "glm-5-", "moonshot-v1"];
    !old.iter().any(|part| name.contains(part)) && name != "glm-5"
}

/// The level nearest to the asked one: the same, else the next one above, else the highest.
pub(super) fn nearest<'a>(asked: &str, levels: &[&'a str]) -> &'a str {
    let rank = |level: &str| OPENAI.iter().position(|l| *l == level);
    // Nothing lies between no thinking and the least of it.
    let wanted = rank(asked).unwrap_or(OPENAI.len());
    let fits = |level: &&&str| rank(level).is_some_and(|r| r >= wanted);
    let found = levels.iter().find(fits).or(levels.last());
    found.copied().unwrap_or("medium")
}

/// The deepest schema that is looked into; what lies deeper is left as it is.
const DEPTH: u8 = 24;

fn plain(schema: Value, depth: u8) -> Value {
    const REFUSED: [&str; 7] = [
        "$schema",
        "$defs",
        "$ref",
        "additionalProperties",
        "const",
        "exclusiveMinimum",
        "exclusiveMaximum",
    ];
    match schema {
        Value::Object(map) if depth < DEPTH => {
            let constant = map.get("const").cloned();
            let is_list = map.get("type").and_then(Value::as_str) == Some("array");
            // The names under `properties` are no keywords.
            let mut out: Map<String, Value> = map
                .into_iter()
                .filter(|(key, _)| !REFUSED.contains(&key.as_str()))
                .map(|(key, value)| {
                    let value = match (key.as_str(), value) {
                        ("properties", Value::Object(fields)) => fields
                            .into_iter()
                            .map(|(name, field)| (name, plain(field, depth + 1)))
                            .collect(),
                        (_, value) => plain(value, depth + 1),
                    };
                    (key, value)
                })
                .collect();
            if let Some(Value::String(text)) = constant {
                out.insert("enum".to_owned(), json!([text]));
            }
            if is_list && !out.contains_key("items") {
                out.insert("items".to_owned(), json!({"type": "string"}));
            }
            out.into()
        }
        Value::Array(list) => list.into_iter().map(|v| plain(v, depth + 1)).collect(),
        other => other,
    }
}

fn typed(schema: Value, depth: u8) -> Value {
    let Value::Object(mut map) = schema else {
        return schema;
    };
    if depth >= DEPTH {
        return map.into();
    }
    let says = ["type", "anyOf", "oneOf", "allOf", "$ref"];
    if !says.iter().any(|key| map.contains_key(*key)) {
        let kind = match (map.get("properties"), map.get("items"), map.get("enum")) {
            (Some(_), ..) => "object",
            (_, Some(_), _) => "array",
            _ => "string",
        };
        map.insert("type".to_owned(), kind.into());
    }
    if let Some(Value::Object(fields)) = map.get_mut("properties") {
        for field in fields.values_mut() {
            *field = typed(field.take(), depth + 1);
        }
    }
    if let Some(items) = map.get_mut("items") {
        *items = typed(items.take(), depth + 1);
    }
    map.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effort(url: &str, model: &str, asked: &str) -> Value {
        let mut body = Map::new();
        Vendor::of(url, false).put_effort(asked, model, &mut body);
        body.into()
    }

    /// From the documents of each provider.
    #[test]
    fn effort_is_written_as_each_provider_reads_it() {
        let deepseek = "https://api.deepseek.com";
        let on = |level: &str| json!({"thinking": {"type": "enabled"}, "reasoning_effort": level});
        assert_eq!(effort(deepseek, "deepseek-v4", "medium"), on("high"));
        assert_eq!(effort(deepseek, "deepseek-v4", "low"), on("low"));
        assert_eq!(effort(deepseek, "deepseek-v4", "xhigh"), on("max"));
        let off = json!({"thinking": {"type": "disabled"}});
        assert_eq!(effort(deepseek, "deepseek-v4", "none"), off);
        let kimi = effort("https://api.moonshot.ai/v1", "kimi-k2.6", "high");
        assert_eq!(kimi, json!({"thinking": {"type": "enabled"}}));
        assert_eq!(
            effort("https://api.moonshot.ai/v1", "kimi-k3", "high"),
            on("high")
        );
        let qwen = effort(
            "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
            "qwen3",
            "none",
        );
        assert_eq!(qwen, json!({"enable_thinking": false}));
        let router = effort("https://openrouter.ai/api/v1", "x/y", "high");
        assert_eq!(router, json!({"reasoning": {"effort": "high"}}));
        let groq = effort(
            "https://api.groq.com/openai/v1",
            "openai/gpt-oss-20b",
            "xhigh",
        );
        assert_eq!(groq, json!({"reasoning_effort": "high"}));
        assert_eq!(
            effort("https://api.mistral.ai/v1", "devstral", "high"),
            json!({})
        );
        let openai = effort("https://api.openai.com/v1", "gpt-5.4", "minimal");
        assert_eq!(openai, json!({"reasoning_effort": "minimal"}));
        assert_eq!(nearest("minimal", &["low", "high"]), "low");
    }

    #[test]
    fn a_row_is_found_by_the_whole_domain() {
        assert!(Vendor::of("https://api.mistral.ai/v1", false).nine_character_ids);
        assert!(Vendor::of("https://mine.openai.azure.com/openai/v1", false).cache_key);
        assert!(!Vendor::of("https://notapi.mistral.ai.evil.example", false).nine_character_ids);
        assert!(Vendor::of("http://127.0.0.1:1", true).max_tokens);
        assert!(!Vendor::of("https://gateway.example", false).max_tokens);
    }

    #[test]
    fn schemas_are_cut_to_what_is_understood() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "additionalProperties": false,
            "properties": {
                "const": {"type": "string", "const": "x"},
                "list": {"type": "array"},
                "n": {"type": "integer", "exclusiveMinimum": 0, "minimum": 1}},
            "required": ["const"]});
        let google = Vendor::of(
            "https://generativelanguage.googleapis.com/v1beta/openai",
            false,
        );
        assert_eq!(
            google.schema(schema.clone()),
            json!({"type": "object", "properties": {
                "const": {"type": "string", "enum": ["x"]},
                "list": {"type": "array", "items": {"type": "string"}},
                "n": {"type": "integer", "minimum": 1}},
            "required": ["const"]})
        );
        let kimi = Vendor::of("https://api.moonshot.ai/v1", false);
        let bare = json!({"type": "object", "properties": {"a": {"enum": ["x"]}, "b": {"anyOf": [{"type": "string"}]}}});
        assert_eq!(
            kimi.schema(bare),
            json!({"type": "object", "properties": {"a": {"enum": ["x"], "type": "string"}, "b": {"anyOf": [{"type": "string"}]}}})
        );
        assert_eq!(OTHER.schema(schema.clone()), schema);
    }
}
