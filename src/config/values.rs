//! Checked values of all layers in one flat map, and how they are read with their source.

use super::file::{Data, Node};
use super::keys::{self, Key, Kind, Place};
use super::{ConfigError, Row, Setting, Source};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// One layer: where its values come from and how it is called in messages.
pub(super) struct Layer<'a> {
    pub source: Source,
    /// The file's path, or the flag as typed.
    pub name: &'a str,
    /// What relative paths count from.
    pub base: &'a Path,
    /// Put before keys in messages: `profiles.NAME.` inside the user's file.
    pub prefix: &'a str,
}

/// A value of one layer.
#[derive(Debug, Clone, PartialEq)]
struct Entry {
    value: Value,
    source: Source,
    base: PathBuf,
    /// Which layer, counted in the order they were added.
    rank: usize,
}

/// Leaf values by path. A later layer replaces leaf by leaf, so that tables merge key by key.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Values {
    entries: BTreeMap<Vec<String>, Entry>,
    layers: usize,
}

impl Entry {
    /// The value for people: one that may be a secret is only said to be there.
    fn shown(&self, key: &Key) -> String {
        match &self.value {
            value
                if key.secret
                    || value
                        .as_str()
                        .is_some_and(|s| s.contains("://") && s.contains('@')) =>
            {
                "(set, not shown)".into()
            }
            Value::String(text) if key.kind == Kind::Path => {
                format!("{:?}", absolute(&self.base, text).display().to_string())
            }
            value => value.to_string(),
        }
    }
}

impl Values {
    /// The built-in values of the table of keys.
    pub fn defaults() -> Values {
        let mut values = Values::default();
        for key in keys::KEYS.iter().filter(|k| !k.default.is_empty()) {
            // A default is TOML written in this program; a test reads every one of them.
            if let Ok(mut table) = format!("v = {}", key.default).parse::<Table>()
                && let Some(value) = table.remove("v")
            {
                let entry = Entry {
                    value,
                    source: Source::Default,
                    base: PathBuf::new(),
                    rank: 0,
                };
                values
                    .entries
                    .insert(key.path.split('.').map(str::to_owned).collect(), entry);
            }
        }
        values
    }

    /// Checks a layer against the table of keys and lays it over the others. What has no effect
    /// becomes a warning.
    pub fn add(
        &mut self,
        layer: &Layer<'_>,
        root: &Node,
        warnings: &mut Vec<String>,
    ) -> Result<(), ConfigError> {
        self.layers += 1;
        self.add_table(layer, root, &mut Vec::new(), warnings)
    }

    fn add_table(
        &mut self,
        layer: &Layer<'_>,
        table: &Node,
        path: &mut Vec<String>,
        warnings: &mut Vec<String>,
    ) -> Result<(), ConfigError> {
        for (name, node) in table.children() {
            path.push(name.clone());
            match keys::place(path) {
                Place::Key(key) => self.add_key(layer, key, node, path, warnings)?,
                Place::Table if matches!(node.data, Data::Table(_)) => {
                    self.add_table(layer, node, path, warnings)?;
                }
                Place::Table => return Err(wrong(layer, path, node, "a table".into())),
                Place::Unknown => warnings.push(unknown(layer, path, node.line)),
            }
            path.pop();
        }
        Ok(())
    }

    fn add_key(
        &mut self,
        layer: &Layer<'_>,
        key: &Key,
        node: &Node,
        path: &mut Vec<String>,
        warnings: &mut Vec<String>,
    ) -> Result<(), ConfigError> {
        if !key.project && matches!(layer.source, Source::Project(_)) {
            warnings.push(format!(
                "{}: a project may not set `{}`; it has no effect here, set it in your own config",
                place(layer, node.line),
                shown(path),
            ));
            return Ok(());
        }
        match (key.kind, &node.data) {
            (Kind::Any, _) => {}
            (Kind::Tree, Data::Table(_)) => self.insert_tree(layer, node, path),
            (kind, Data::Leaf(value)) if kind.accepts(value) => self.insert(layer, path, value),
            (kind, _) => return Err(wrong(layer, path, node, kind.allowed())),
        }
        Ok(())
    }

    fn insert_tree(&mut self, layer: &Layer<'_>, node: &Node, path: &mut Vec<String>) {
        match &node.data {
            Data::Leaf(value) => self.insert(layer, path, value),
            Data::Table(children) => {
                for (name, child) in children {
                    path.push(name.clone());
                    self.insert_tree(layer, child, path);
                    path.pop();
                }
            }
        }
    }

    fn insert(&mut self, layer: &Layer<'_>, path: &[String], value: &Value) {
        // Inside a free-form tree a layer may put a table where a lower one has a value, or the
        // other way round; the higher one replaces it whole.
        self.entries
            .retain(|p, _| !(p.starts_with(path) || path.starts_with(p)));
        let entry = Entry {
            value: value.clone(),
            source: layer.source.clone(),
            base: layer.base.to_owned(),
            rank: self.layers,
        };
        self.entries.insert(path.to_owned(), entry);
    }

    fn entry(&self, path: &str) -> Option<&Entry> {
        debug_assert!(
            keys::by_path(path).is_some(),
            "{path} is not in the table of keys"
        );
        let path: Vec<String> = path.split('.').map(str::to_owned).collect();
        self.entries.get(&path)
    }

    /// A value made from the entry at `path`; `None` if nobody set it.
    pub fn get<T>(&self, path: &str, read: impl Fn(&Value) -> Option<T>) -> Setting<Option<T>> {
        match self.entry(path) {
            Some(entry) => Setting {
                value: read(&entry.value),
                source: entry.source.clone(),
            },
            None => Setting::default_of(None),
        }
    }

    pub fn text(&self, path: &str) -> Setting<Option<String>> {
        self.get(path, |v| v.as_str().map(str::to_owned))
    }

    pub fn number(&self, path: &str) -> Setting<Option<u32>> {
        self.get(path, |v| v.as_integer().and_then(|n| n.try_into().ok()))
    }

    pub fn flag(&self, path: &str) -> Setting<bool> {
        self.or_default(path, Value::as_bool)
    }

    pub fn texts(&self, path: &str) -> Setting<Vec<String>> {
        self.or_default(path, |v| Some(strings(v).map(str::to_owned).collect()))
    }

    /// Like [`Values::get`] for keys that have a built-in value in the table.
    pub fn or_default<T: Default>(
        &self,
        path: &str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Setting<T> {
        let Setting { value, source } = self.get(path, read);
        Setting {
            value: value.unwrap_or_default(),
            source,
        }
    }

    pub fn path(&self, path: &str) -> Setting<Option<PathBuf>> {
        let base = self.entry(path).map(|e| e.base.as_path());
        self.get(path, |v| Some(absolute(base?, v.as_str()?)))
    }

    pub fn paths(&self, path: &str) -> Setting<Vec<PathBuf>> {
        let base = self
            .entry(path)
            .map(|e| e.base.as_path())
            .unwrap_or(Path::new(""));
        self.or_default(path, |v| {
            Some(strings(v).map(|s| absolute(base, s)).collect())
        })
    }

    /// Everything below `prefix` as one table, with the source of its highest layer. Paths in it
    /// are made absolute.
    pub fn table(&self, prefix: &[&str]) -> Setting<Table> {
        let mut table = Table::new();
        let mut top: Option<&Entry> = None;
        for (path, entry) in &self.entries {
            if path.len() <= prefix.len() || !path.iter().zip(prefix).all(|(a, b)| a == b) {
                continue;
            }
            let mut value = entry.value.clone();
            if let Place::Key(key) = keys::place(path)
                && key.kind == Kind::Path
                && let Some(text) = value.as_str()
            {
                value = absolute(&entry.base, text)
                    .to_string_lossy()
                    .into_owned()
                    .into();
            }
            put(&mut table, &path[prefix.len()..], value);
            if top.is_none_or(|t| t.rank <= entry.rank) {
                top = Some(entry);
            }
        }
        Setting {
            value: table,
            source: top.map_or(Source::Default, |e| e.source.clone()),
        }
    }

    /// Every key that the program acts on, in the order of the table, with what stands under it:
    /// a row a value, and one for a key with a fixed path that nobody set.
    pub fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for key in keys::KEYS.iter().filter(|k| k.acts) {
            let pattern: Vec<&str> = key.path.split('.').collect();
            let is_of = |path: &[String]| {
                let long = path.len() > pattern.len() && key.kind == Kind::Tree;
                (path.len() == pattern.len() || long)
                    && pattern.iter().zip(path).all(|(p, s)| *p == "*" || p == s)
                    // The one with its own name, not the one with a star.
                    && (!key.path.contains('*') || keys::by_path(&path.join(".")).is_none())
            };
            let mut found = self.entries.iter().filter(|(p, _)| is_of(p)).peekable();
            if found.peek().is_none() && !key.path.contains('*') {
                rows.push(Row {
                    key: key.path.to_owned(),
                    value: None,
                    source: Source::Default,
                });
            }
            rows.extend(found.map(|(path, entry)| Row {
                key: shown(path),
                value: Some(entry.shown(key)),
                source: entry.source.clone(),
            }));
        }
        rows
    }

    /// The names directly below a top-level table, such as the ids of `model_providers`.
    pub fn names(&self, table: &str) -> Vec<String> {
        let mut names: Vec<String> = self
            .entries
            .keys()
            .filter(|p| p.first().is_some_and(|s| s == table))
            .filter_map(|p| p.get(1).cloned())
            .collect();
        names.dedup();
        names
    }
}

fn put(table: &mut Table, path: &[String], value: Value) {
    match path {
        [] => {}
        [last] => {
            table.insert(last.clone(), value);
        }
        [first, rest @ ..] => {
            let inner = table
                .entry(first.clone())
                .or_insert_with(|| Table::new().into());
            if let Value::Table(inner) = inner {
                put(inner, rest, value);
            }
        }
    }
}

fn strings(value: &Value) -> impl Iterator<Item = &str> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

/// `text` as an absolute path: `~/` is the user's folder, anything relative counts from `base`.
fn absolute(base: &Path, text: &str) -> PathBuf {
    match (text.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => base.join(text),
    }
}

fn place(layer: &Layer<'_>, line: usize) -> String {
    match line {
        0 => layer.name.to_owned(),
        n => format!("{}:{n}", layer.name),
    }
}

/// A path for people. Names come from files of others, so control characters are escaped.
fn shown(path: &[String]) -> String {
    let part = |p: &String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        match p.chars().all(plain) && !p.is_empty() {
            true => p.clone(),
            false => format!("{p:?}"),
        }
    };
    path.iter().map(part).collect::<Vec<_>>().join(".")
}

fn unknown(layer: &Layer<'_>, path: &[String], line: usize) -> String {
    let start = format!(
        "{}: `{}{}` is not a known key and has no effect",
        place(layer, line),
        layer.prefix,
        shown(path)
    );
    match keys::suggestion(path) {
        Some(key) if path.len() > 1 && !key.contains('.') => {
            format!("{start}; `{key}` stands at the top, before the first [table]")
        }
        Some(key) => format!("{start}; did you mean `{key}`?"),
        None => start,
    }
}

fn wrong(layer: &Layer<'_>, path: &[String], node: &Node, allowed: String) -> ConfigError {
    // The value itself is shown only when it is a short word: it may be a key or a token.
    let found = match (&node.data, keys::place(path)) {
        (Data::Table(_), _) => "a table".to_owned(),
        (Data::Leaf(Value::String(s)), Place::Key(k)) if matches!(k.kind, Kind::OneOf(_)) => {
            format!("{:?}", s.chars().take(40).collect::<String>())
        }
        (Data::Leaf(Value::Integer(n)), Place::Key(k)) if matches!(k.kind, Kind::Int(..)) => {
            n.to_string()
        }
        (Data::Leaf(value), _) => match value.type_str() {
            kind @ ("integer" | "array") => format!("an {kind}"),
            kind => format!("a {kind}"),
        },
    };
    ConfigError::Value {
        place: place(layer, node.line),
        key: format!("{}{}", layer.prefix, shown(path)),
        found,
        allowed,
    }
}
