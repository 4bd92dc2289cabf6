//! Reading a config file: TOML with the line of every key.

use super::ConfigError;
use serde::Deserialize;
use std::fs;
use std::io::Read;
use std::path::Path;
use toml::de::{DeTable, DeValue, ValueDeserializer};
use toml::{Spanned, Value};

/// The most bytes of a config file that are read.
const MAX_BYTES: u64 = 1 << 20;

/// A value and the line of its key. Arrays are leaves: they replace, they do not merge.
#[derive(Debug, Clone)]
pub(super) struct Node {
    /// From 1; 0 when it comes from the command line.
    pub line: usize,
    pub data: Data,
}

#[derive(Debug, Clone)]
pub(super) enum Data {
    Table(Vec<(String, Node)>),
    Leaf(Value),
}

impl Node {
    pub fn empty() -> Node {
        Node {
            line: 0,
            data: Data::Table(Vec::new()),
        }
    }

    /// A node of the command line.
    pub fn from_value(value: Value) -> Node {
        let data = match value {
            Value::Table(table) => Data::Table(
                table
                    .into_iter()
                    .map(|(k, v)| (k, Node::from_value(v)))
                    .collect(),
            ),
            leaf => Data::Leaf(leaf),
        };
        Node { line: 0, data }
    }

    /// The names and nodes of a table; nothing for a leaf.
    pub fn children(&self) -> &[(String, Node)] {
        match &self.data {
            Data::Table(children) => children,
            Data::Leaf(_) => &[],
        }
    }

    /// What stands under that name.
    pub fn child(&self, name: &str) -> Option<&Node> {
        self.children()
            .iter()
            .find(|(k, _)| k == name)
            .map(|(_, n)| n)
    }
}

/// The text of a file; `None` if there is no such file.
pub(super) fn read(path: &Path) -> Result<Option<String>, ConfigError> {
    let failed = |why: String| ConfigError::Read {
        path: path.to_owned(),
        why,
    };
    // Looked at before it is opened: opening a named pipe would wait for a writer.
    match fs::metadata(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(failed(e.to_string())),
        Ok(meta) if !meta.is_file() => return Err(failed("it is not a file".into())),
        Ok(_) => {}
    }
    let mut bytes = Vec::new();
    fs::File::open(path)
        .and_then(|f| f.take(MAX_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|e| failed(e.to_string()))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(failed(format!("it is larger than {MAX_BYTES} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|_| failed("it is not UTF-8".into()))?;
    Ok(Some(text.trim_start_matches('\u{feff}').to_owned()))
}

/// The tree of a file's text. `name` is what errors call the file.
pub(super) fn parse(text: &str, name: &str) -> Result<Node, ConfigError> {
    let syntax = |e: toml::de::Error| ConfigError::Syntax {
        place: match e.span() {
            Some(span) => format!("{name}:{}", line_of(text, span.start)),
            None => name.to_owned(),
        },
        why: e.message().replace('\n', ", "),
    };
    let document = DeTable::parse(text).map_err(syntax)?;
    let children = table(document.get_ref(), text).map_err(syntax)?;
    Ok(Node {
        line: 1,
        data: Data::Table(children),
    })
}

fn table(table: &DeTable<'_>, text: &str) -> Result<Vec<(String, Node)>, toml::de::Error> {
    table
        .iter()
        .map(|(key, value)| {
            let line = line_of(text, key.span().start);
            Ok((key.get_ref().to_string(), node(value, line, text)?))
        })
        .collect()
}

fn node(value: &Spanned<DeValue<'_>>, line: usize, text: &str) -> Result<Node, toml::de::Error> {
    let data = match value.get_ref() {
        DeValue::Table(t) => Data::Table(table(t, text)?),
        _ => Data::Leaf(Value::deserialize(ValueDeserializer::from(value.clone()))?),
    };
    Ok(Node { line, data })
}

fn line_of(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().get(..offset).unwrap_or(text.as_bytes());
    before.iter().filter(|b| **b == b'\n').count() + 1
}
