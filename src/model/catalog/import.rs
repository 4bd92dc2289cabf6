//! A newer table from a file: our own form, or the JSON of the models.dev project.

use super::{Catalog, HOSTED, MOST_BYTES, WireApi, imported_file, model, provider, short};
use crate::store::StoreError;
use crate::store::paths::private_replace;
use serde_json::Value;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Why a file was not taken, as a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImportError {
    /// It cannot be read.
    Read(PathBuf, String),
    /// It is packed, by this program's name.
    Packed(PathBuf, &'static str),
    /// It is no table of models.
    Shape(PathBuf, String),
    /// It cannot be kept.
    Store(StoreError),
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ImportError::Read(path, why) => write!(f, "{} cannot be read: {why}", path.display()),
            ImportError::Packed(path, tool) => write!(
                f,
                "{} is packed; unpack it with `{tool}` and import the file that is in it",
                path.display()
            ),
            ImportError::Shape(path, why) => write!(
                f,
                "{} is no table of models: {why}; give the JSON of https://models.dev/api.json, or a table made by .ci/catalog.py",
                path.display()
            ),
            ImportError::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ImportError {}

/// Puts the table of `file` into the home, in front of the built-in one. Gives the numbers of its
/// providers and models.
///
/// Where the built-in table knows a provider, its address, wire and key variables stay as they are:
/// a list of models does not move where prompts go.
///
/// # Errors
/// When the file cannot be read, holds no table, or the home cannot be written.
pub fn import(file: &Path, home: &Path) -> Result<(usize, usize), ImportError> {
    let text = read(file)?;
    let shape = |why: String| ImportError::Shape(file.to_owned(), why);
    let table = if text.trim_start().starts_with('{') {
        let data = serde_json::from_str::<Value>(&text).map_err(|e| shape(e.to_string()))?;
        from_json(&data).map_err(shape)?
    } else {
        checked(&text).map_err(shape)?
    };
    let providers = table.lines().filter(|l| l.starts_with('>')).count();
    let models = table.lines().count() - providers;
    private_replace(&imported_file(home), table.as_bytes()).map_err(ImportError::Store)?;
    Ok((providers, models))
}

fn read(file: &Path) -> Result<String, ImportError> {
    let failed = |why: String| ImportError::Read(file.to_owned(), why);
    let mut bytes = Vec::new();
    // The JSON is about ten times as large as the table.
    let most = MOST_BYTES * 8;
    File::open(file)
        .and_then(|f| f.take(most + 1).read_to_end(&mut bytes))
        .map_err(|e| failed(e.to_string()))?;
    if bytes.len() as u64 > most {
        return Err(failed(format!("it is larger than {} MB", most >> 20)));
    }
    if bytes.starts_with(&[0x1f, 0x8b]) {
        return Err(ImportError::Packed(file.to_owned(), "gunzip"));
    }
    if bytes.starts_with(b"PK") {
        return Err(ImportError::Packed(file.to_owned(), "unzip"));
    }
    String::from_utf8(bytes).map_err(|_| failed("it is not UTF-8".into()))
}

/// The line of a provider as the built-in table has it.
fn known(id: &str) -> Option<&'static str> {
    super::block(HOSTED, id)?.lines().next()
}

/// A table in our own form, line by line.
fn checked(text: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut any = false;
    for (number, line) in text.lines().enumerate() {
        let line = line.trim_end();
        if line.is_empty() {
            continue;
        }
        let wrong = || format!("line {} means nothing", number + 1);
        if line.starts_with('>') {
            let read = provider(line).filter(|p| is_address(&p.base_url));
            let read = read.ok_or_else(wrong)?;
            out.push_str(known(&read.id).unwrap_or(line));
        } else if any {
            model(line).filter(|m| plain(&m.id)).ok_or_else(wrong)?;
            out.push_str(line);
        } else {
            return Err(wrong());
        }
        any = true;
        out.push('\n');
    }
    match any {
        true => Ok(out),
        false => Err("it is empty".into()),
    }
}

fn is_address(url: &str) -> bool {
    url.starts_with("https://") && plain(url)
}

fn plain(text: &str) -> bool {
    !text.is_empty() && !text.chars().any(|c| c.is_whitespace() || c.is_control())
}

/// The table that the JSON of models.dev comes to: a map of providers, each with a map of models.
fn from_json(data: &Value) -> Result<String, String> {
    let providers = data.as_object().ok_or("it is no JSON object")?;
    let mut ids: Vec<&String> = providers.keys().collect();
    ids.sort();
    let builtin = Catalog { imported: None };
    let mut out = String::new();
    for id in ids {
        let Some(entry) = providers.get(id).filter(|_| plain(id)) else {
            continue;
        };
        let Some(head) = known(id).map(str::to_owned).or_else(|| head(id, entry)) else {
            continue;
        };
        let wire = provider(&head).map_or(WireApi::Chat, |p| p.wire);
        let models = entry.get("models").and_then(Value::as_object);
        let mut rows: Vec<String> = models
            .into_iter()
            .flat_map(|m| m.values())
            .filter_map(|m| {
                // The built-in table knows which wire it is where the provider has several.
                let known = m.get("id").and_then(Value::as_str);
                let known = known.and_then(|m| builtin.model(id, m)?.wire);
                row(m, known.filter(|k| *k != wire))
            })
            .collect();
        rows.sort();
        if !rows.is_empty() {
            out.push_str(&head);
            out.push('\n');
            rows.iter().for_each(|row| {
                out.push_str(row);
                out.push('\n');
            });
        }
    }
    match out.is_empty() {
        true => Err("it has no provider with models that call tools".into()),
        false => Ok(out),
    }
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str().filter(|t| !t.is_empty())
}

/// One column: no tabs, no line ends.
fn column(text: &str) -> String {
    text.split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|w| !w.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// The line of a provider that the built-in table does not know; `None` without an address.
fn head(id: &str, entry: &Value) -> Option<String> {
    let url = text(entry, "api")?.trim_end_matches('/');
    let url = url.strip_suffix("/chat/completions").unwrap_or(url);
    let wire = match text(entry, "npm") {
        Some("@ai-sdk/anthropic") => WireApi::Messages,
        Some("@ai-sdk/openai") => WireApi::Responses,
        _ => WireApi::Chat,
    };
    let keys = entry.get("env").and_then(Value::as_array);
    let keys = keys.into_iter().flatten().filter_map(Value::as_str);
    let keys: Vec<String> = keys.map(column).collect();
    let columns = [
        format!(">{id}"),
        column(text(entry, "name").unwrap_or(id)),
        wire.name().into(),
        url.into(),
        keys.join(","),
        column(text(entry, "doc").unwrap_or_default()),
    ];
    is_address(url).then(|| columns.join("\t"))
}

/// The line of a model; `None` for one that calls no tools or writes no text.
fn row(entry: &Value, wire: Option<WireApi>) -> Option<String> {
    let id = text(entry, "id").filter(|id| plain(id) && !id.starts_with('>'))?;
    let is = |key: &str| entry.get(key).and_then(Value::as_bool);
    let lists = |path: &str, word: &str| {
        let list = entry.pointer(path).and_then(Value::as_array);
        list.map(|l| l.iter().any(|v| v.as_str() == Some(word)))
    };
    if is("tool_call") != Some(true) || lists("/modalities/output", "text") == Some(false) {
        return None;
    }
    let count = |path: &str| {
        let n = entry.pointer(path).and_then(Value::as_u64);
        short(n.unwrap_or(0))
    };
    let flags: String = [
        ('r', is("reasoning") == Some(true)),
        ('i', lists("/modalities/input", "image") == Some(true)),
        ('t', is("temperature") == Some(false)),
        ('s', is("structured_output") == Some(true)),
        ('d', text(entry, "status") == Some("deprecated")),
        ('C', wire == Some(WireApi::Chat)),
        ('R', wire == Some(WireApi::Responses)),
        ('M', wire == Some(WireApi::Messages)),
    ]
    .iter()
    .filter_map(|(flag, holds)| holds.then_some(*flag))
    .collect();
    let prices = ["input", "output", "cache_read", "cache_write"].map(|key| {
        let price = entry.pointer(&format!("/cost/{key}"));
        price
            .and_then(Value::as_f64)
            .map_or_else(String::new, |p| p.to_string())
    });
    let columns = [
        id.to_owned(),
        count("/limit/context").into(),
        count("/limit/output").into(),
        flags,
        prices.join("/").trim_end_matches('/').into(),
        column(text(entry, "name").unwrap_or_default()),
    ];
    Some(columns.join("\t").trim_end().to_owned())
}
