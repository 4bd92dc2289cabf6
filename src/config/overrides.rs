//! What the command line says about the config.

use super::file::Node;
use super::{ConfigError, Source};
use std::path::PathBuf;
use toml::{Table, Value};

/// The top layers, as plain data.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overrides {
    /// `-p NAME`.
    pub profile: Option<String>,
    /// The texts of `-c`, in order: `key=value`.
    pub sets: Vec<String>,
    /// Values of flags that set a key: the key, the value, and the flag as typed. They win over `-c`.
    pub flags: Vec<(&'static str, Value, String)>,
    /// `--add-dir`: more writable folders, added to those of the config.
    pub add_dirs: Vec<PathBuf>,
    /// `--oss`.
    pub oss: bool,
    /// `--local-provider`.
    pub local_provider: Option<String>,
    /// `--ignore-user-config`: the user's `config.toml` is not read.
    pub ignore_user_config: bool,
}

impl Overrides {
    /// Sets a key for a flag; `typed` is how the flag was written.
    pub fn set(&mut self, key: &'static str, value: Value, typed: &str) {
        self.flags.push((key, value, typed.to_owned()));
    }

    /// One tree per value, in rising order of rank.
    pub(super) fn layers(&self) -> Result<Vec<(Source, Node)>, ConfigError> {
        let mut layers = Vec::new();
        for text in &self.sets {
            let (key, value) = split(text)?;
            // Without the value, which may be a token, since a source is shown.
            layers.push((Source::Flag(format!("-c {key}")), nest(&key, value)));
        }
        for (key, value, typed) in &self.flags {
            layers.push((Source::Flag(typed.clone()), nest(key, value.clone())));
        }
        if let Some(id) = &self.local_provider {
            let value = Value::String(id.clone());
            let typed = format!("--local-provider {id}");
            layers.push((Source::Flag(typed), nest("oss_provider", value)));
        }
        if self.oss || self.local_provider.is_some() {
            layers.push((Source::Flag("--oss".into()), nest("oss", true.into())));
        }
        Ok(layers)
    }
}

/// `a.b=value` at the first `=`. The value is TOML, or else a raw text. Parts of the key are never
/// quoted (the SDK of Codex does not quote them either).
fn split(text: &str) -> Result<(String, Value), ConfigError> {
    let bad = || ConfigError::Override(text.to_owned());
    let (key, raw) = text.split_once('=').ok_or_else(bad)?;
    let (key, raw) = (key.trim(), raw.trim());
    if key.split('.').any(|part| part.trim().is_empty()) {
        return Err(bad());
    }
    // More than one key: a line break in a text that is no TOML value.
    let value = match format!("v = {raw}").parse::<Table>() {
        Ok(mut table) if table.len() == 1 => table.remove("v"),
        _ => None,
    };
    Ok((key.to_owned(), value.unwrap_or_else(|| raw.into())))
}

fn nest(key: &str, value: Value) -> Node {
    let nested = key.rsplit('.').fold(value, |inner, part| {
        let mut table = Table::new();
        table.insert(part.trim().to_owned(), inner);
        Value::Table(table)
    });
    Node::from_value(nested)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_splits_at_the_first_equals_sign_and_reads_toml_or_text() {
        let value = |text: &str| split(text).unwrap().1;
        assert_eq!(value("a.b=true"), Value::Boolean(true));
        assert_eq!(value("a=\"x=y\""), Value::String("x=y".into()));
        assert_eq!(value("a=x=y"), Value::String("x=y".into()));
        assert_eq!(
            value("model=qwen3-coder:30b"),
            Value::String("qwen3-coder:30b".into())
        );
        assert_eq!(value("a=[1, 2]"), Value::Array(vec![1.into(), 2.into()]));
        assert_eq!(value("a=1\nb=2"), Value::String("1\nb=2".into()));
        assert_eq!(value("a="), Value::String(String::new()));
        assert!(value("a={k = 1}").is_table());
        for bad in ["model", "=x", "a..b=x"] {
            assert_eq!(split(bad), Err(ConfigError::Override(bad.into())), "{bad}");
        }
    }
}
