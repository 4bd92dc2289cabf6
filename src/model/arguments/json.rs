//! Reading JSON as models write it.
//!
//! Strict JSON is always tried first. What fails is read once more by [`Reader`], which forgives
//! what can only mean one thing: raw line ends and wrong escapes in strings, trailing commas,
//! comments, Python words, single or typographic quotes, bare keys, a surplus or missing closer at
//! the end. It knows where strings begin and end, so file content is never touched. What has two
//! readings (a quote inside a string, a missing comma, a string without end) stays an error.

use serde_json::{Map, Number, Value};

/// The deepest nesting that is read.
const DEPTH: usize = 64;

/// How often arguments that are a JSON string with JSON inside are unpacked.
const UNPACKED: usize = 3;

/// One value at the start of a text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Read {
    pub value: Value,
    /// Where the value ends, in bytes.
    pub end: usize,
}

/// Reads the value at the start of `text`; more may follow. With `complete`, closers that are
/// missing at the very end are added, provided that the last value is whole.
pub(crate) fn read(text: &str, complete: bool) -> Option<Read> {
    let mut strict = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    if let Some(Ok(value)) = strict.next() {
        return Some(Read {
            value,
            end: strict.byte_offset(),
        });
    }
    let mut reader = Reader {
        text,
        at: 0,
        complete,
        double: false,
        single: false,
    };
    let value = reader.value(0)?;
    // Single quotes are only unambiguous where they are the only ones.
    (!(reader.single && reader.double)).then_some(Read {
        value,
        end: reader.at,
    })
}

/// The arguments of one call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Objects {
    /// One object as a rule; several when the model wrote them one after another.
    pub objects: Vec<Map<String, Value>>,
    /// The text was not just one JSON object.
    pub repaired: bool,
}

/// Reads the arguments of a call. Nothing, `null`, `""` and `[]` are no arguments; a string that
/// holds JSON is unpacked.
///
/// # Errors
/// Why it is not an object, in a few words.
pub(crate) fn arguments(text: &str, complete: bool) -> Result<Objects, String> {
    if let Ok(object) = serde_json::from_str(text) {
        return Ok(Objects {
            objects: vec![object],
            repaired: false,
        });
    }
    let mut text = text.to_owned();
    for _ in 0..=UNPACKED {
        let mut values = values(&text, complete)?;
        match values.as_mut_slice() {
            [Value::Null] => values.clear(),
            [Value::Array(items)] if items.len() <= 1 => values = std::mem::take(items),
            [Value::String(inner)] => {
                text = std::mem::take(inner);
                continue;
            }
            _ => {}
        }
        if values.is_empty() {
            values.push(Value::Object(Map::new()));
        }
        let objects = values
            .into_iter()
            .map(|value| match value {
                Value::Object(object) => Ok(object),
                other => Err(format!("{}, not an object", kind(&other))),
            })
            .collect::<Result<_, _>>()?;
        return Ok(Objects {
            objects,
            repaired: true,
        });
    }
    Err("a string inside a string, not an object".into())
}

/// What kind of value it is, with its article.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// All values of a text that holds nothing else but a fence, separators, leftover closers and a
/// few words around.
fn values(text: &str, complete: bool) -> Result<Vec<Value>, String> {
    let mut rest = text.trim().trim_start_matches('\u{feff}');
    if let Some(inner) = rest.strip_prefix("```") {
        rest = inner.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
    }
    if rest.starts_with(char::is_alphabetic)
        && let Some(at) = rest.find('{')
    {
        rest = rest.get(at..).unwrap_or_default();
    }
    let mut values = Vec::new();
    let mut surplus = 0;
    loop {
        rest = rest.trim_start();
        if rest.is_empty() || !values.is_empty() && !rest.contains(['{', '}', '[', ']', '"', ':']) {
            return Ok(values);
        }
        if !values.is_empty() {
            let closes = rest.starts_with(['}', ']']);
            surplus += usize::from(closes);
            let skipped = match rest.strip_prefix("```") {
                Some(after) => Some(after),
                None if closes && surplus == 1 || rest.starts_with([';', ',']) => rest.get(1..),
                None => None,
            };
            if let Some(after) = skipped {
                rest = after;
                continue;
            }
        }
        let Some(read) = read(rest, complete) else {
            return Err(cause(rest));
        };
        rest = rest.get(read.end..).unwrap_or_default();
        values.push(read.value);
    }
}

/// What the strict parser has against a text.
fn cause(text: &str) -> String {
    match serde_json::from_str::<Value>(text) {
        Err(error) => error.to_string(),
        Ok(_) => "several values".into(),
    }
}

/// A forgiving reader of one value.
struct Reader<'a> {
    text: &'a str,
    at: usize,
    complete: bool,
    /// A double-quoted string was seen.
    double: bool,
    /// A single-quoted string was seen.
    single: bool,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn eat(&mut self, token: &str) -> bool {
        let hit = self.rest().starts_with(token);
        if hit {
            self.at += token.len();
        }
        hit
    }

    /// Skips white space and comments.
    fn skip(&mut self) {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start().len();
            let rest = rest.trim_start();
            let comment = if rest.starts_with("//") || rest.starts_with('#') {
                rest.find('\n').unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                rest.find("*/").map_or(rest.len(), |end| end + 2)
            } else {
                0
            };
            self.at += blank + comment;
            if comment == 0 {
                return;
            }
        }
    }

    /// True when the text ends here and the missing closers may be added.
    fn may_close(&self) -> bool {
        self.complete && self.rest().is_empty()
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > DEPTH {
            return None;
        }
        self.skip();
        match self.peek()? {
            '{' => self.object(depth),
            '[' => self.array(depth),
            c if is_quote(c) => self.string().map(Value::String),
            c if c.is_ascii_digit() || c == '-' => self.number(),
            c if c.is_ascii_alphabetic() => self.word(),
            _ => None,
        }
    }

    fn object(&mut self, depth: usize) -> Option<Value> {
        self.eat("{");
        self.skip();
        if depth == 0 && self.peek() == Some('{') {
            return self.doubled();
        }
        let mut object = Map::new();
        loop {
            self.skip();
            if self.eat("}") {
                break;
            }
            let key = match self.peek()? {
                c if is_quote(c) => self.string()?,
                _ => self.bare_key()?,
            };
            self.skip();
            if !self.eat(":") {
                return None;
            }
            let value = self.value(depth + 1)?;
            object.insert(key, value);
            self.skip();
            if self.eat(",") {
                continue;
            }
            if self.eat("}") || self.may_close() {
                break;
            }
            return None;
        }
        Some(Value::Object(object))
    }

    /// `{{…}}`, copied from a template that doubles its braces: one pair is taken off.
    fn doubled(&mut self) -> Option<Value> {
        let inner = self.object(1)?;
        self.skip();
        self.eat("}");
        Some(inner)
    }

    fn array(&mut self, depth: usize) -> Option<Value> {
        self.eat("[");
        let mut items = Vec::new();
        loop {
            self.skip();
            if self.eat("]") {
                break;
            }
            items.push(self.value(depth + 1)?);
            self.skip();
            if self.eat(",") {
                continue;
            }
            if self.eat("]") || self.may_close() {
                break;
            }
            return None;
        }
        Some(Value::Array(items))
    }

    fn bare_key(&mut self) -> Option<String> {
        let rest = self.rest();
        let end = rest
            .find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '-' | '$'))
            .unwrap_or(rest.len());
        let key = rest.get(..end).filter(|key| !key.is_empty())?.to_owned();
        self.at += end;
        Some(key)
    }

    fn word(&mut self) -> Option<Value> {
        let value = match self.bare_key()?.as_str() {
            "true" | "True" => Value::Bool(true),
            "false" | "False" => Value::Bool(false),
            "null" | "None" | "NaN" => Value::Null,
            _ => return None,
        };
        Some(value)
    }

    fn number(&mut self) -> Option<Value> {
        let rest = self.rest();
        let end = rest
            .find(|c: char| !c.is_ascii_digit() && !matches!(c, '-' | '+' | '.' | 'e' | 'E'))
            .unwrap_or(rest.len());
        let number: Number = serde_json::from_str(rest.get(..end)?).ok()?;
        self.at += end;
        Some(Value::Number(number))
    }

    fn string(&mut self) -> Option<String> {
        for triple in ["\"\"\"", "'''"] {
            if self.eat(triple) {
                self.double = true;
                return self.until(triple);
            }
        }
        match self.next()? {
            '\'' => {
                self.single = true;
                self.until("'")
            }
            '`' => self.until("`"),
            '“' => self.until("”"),
            _ => {
                self.double = true;
                self.until("\"")
            }
        }
    }

    /// The rest of a string up to its closing quote.
    fn until(&mut self, quote: &str) -> Option<String> {
        let mut out = String::new();
        while !self.eat(quote) {
            match self.next()? {
                '\\' => self.escape(&mut out)?,
                c => out.push(c),
            }
        }
        Some(out)
    }

    /// What follows a backslash. One that begins no JSON escape stands for itself, as in `\d`.
    fn escape(&mut self, out: &mut String) -> Option<()> {
        match self.next()? {
            c @ ('"' | '\\' | '/') => out.push(c),
            'n' => out.push('\n'),
            't' => out.push('\t'),
            'r' => out.push('\r'),
            'b' => out.push('\u{8}'),
            'f' => out.push('\u{c}'),
            'u' => match self.unicode() {
                Some(c) => out.push(c),
                None => out.push_str("\\u"),
            },
            c => {
                out.push('\\');
                out.push(c);
            }
        }
        Some(())
    }

    /// The character of `\uXXXX`, or of a surrogate pair; `None`: the digits are missing.
    fn unicode(&mut self) -> Option<char> {
        let high = self.hex(0)?;
        let pair = (0xD800..0xDC00).contains(&high)
            && self.text.get(self.at + 4..self.at + 6) == Some("\\u");
        let low = pair.then(|| self.hex(6)).flatten();
        if let Some(low) = low.filter(|low| (0xDC00..0xE000).contains(low)) {
            self.at += 10;
            return char::from_u32(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00));
        }
        self.at += 4;
        Some(char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hex(&self, ahead: usize) -> Option<u32> {
        let digits = self.text.get(self.at + ahead..self.at + ahead + 4)?;
        let all_hex = digits.bytes().all(|b| b.is_ascii_hexdigit());
        all_hex.then(|| u32::from_str_radix(digits, 16).ok())?
    }
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '`' | '“')
}
