//! Hosted providers and their models: a table that `.ci/catalog.py` makes, and what the user
//! imported in its place.
//!
//! The table is text of one line a provider or model and stands in the program as it is. It is
//! searched when a hosted provider is asked for and not before, so that a run against a local
//! server never reads it. Its columns are described in `.ci/catalog.py`.

mod import;
#[cfg(test)]
mod tests;

pub use import::{ImportError, import};

use super::{Usage, WireApi};
use std::borrow::Cow;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The generated table.
const HOSTED: &str = include_str!("catalog/hosted.tsv");

/// The most bytes of an imported table.
const MOST_BYTES: u64 = 8 << 20;

/// A hosted provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hosted {
    /// Its id, as in `-c model_provider=ID`.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// The wire that suits most of its models.
    pub wire: WireApi,
    /// Where it is; may hold `${NAME}`, a variable of the environment.
    pub base_url: String,
    /// Variables that may hold its key, in order.
    pub env_keys: Vec<String>,
    /// Where a key, or word of one, is to be had.
    pub help: String,
    /// Its other wires, each with its address.
    pub others: Vec<(WireApi, String)>,
}

impl Hosted {
    /// The address of a wire; `None` when it does not speak it.
    pub fn address(&self, wire: WireApi) -> Option<&str> {
        if wire == self.wire {
            return Some(&self.base_url);
        }
        let other = self.others.iter().find(|(w, _)| *w == wire);
        other.map(|(_, url)| url.as_str())
    }
}

/// A model of a hosted provider. All of them call tools.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Listed {
    /// The name to ask for.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// Tokens of prompt and reply together.
    pub window: Option<u32>,
    /// The most tokens of a reply.
    pub output: Option<u32>,
    /// It thinks before it answers.
    pub thinks: bool,
    /// It sees pictures.
    pub sees: bool,
    /// It refuses a temperature.
    pub fixed_sampling: bool,
    /// It can be held to a JSON Schema.
    pub schema: bool,
    /// Its provider is going to remove it.
    pub deprecated: bool,
    /// The wire it wants, where that is not its provider's.
    pub wire: Option<WireApi>,
    /// What it costs.
    pub prices: Prices,
}

/// US dollars per million tokens; `None`: not known.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Prices {
    /// Of the prompt.
    pub input: Option<f64>,
    /// Of the reply, thinking included.
    pub output: Option<f64>,
    /// Of prompt tokens that came from the cache; unset: as [`Prices::input`].
    pub cached: Option<f64>,
    /// Of prompt tokens that were written into the cache; unset: as [`Prices::input`].
    pub cache_write: Option<f64>,
}

impl Prices {
    /// What tokens cost, in US dollars; `None` where the table has no price.
    pub fn cost(&self, usage: &Usage) -> Option<f64> {
        let (input, output) = (self.input?, self.output?);
        let cached = usage.cached.unwrap_or(0).min(usage.input);
        let written = usage.cache_write.min(usage.input - cached);
        let plain = usage.input - cached - written;
        let of = |tokens: u64, price: f64| tokens as f64 * price / 1e6;
        Some(
            of(plain, input)
                + of(cached, self.cached.unwrap_or(input))
                + of(written, self.cache_write.unwrap_or(input))
                + of(usage.output, output),
        )
    }
}

/// The tables in force: what the user imported, then the built-in one.
#[derive(Debug, Clone)]
pub struct Catalog {
    imported: Option<String>,
}

/// The file of an imported table.
pub fn imported_file(home: &Path) -> PathBuf {
    home.join("catalog.tsv")
}

impl Catalog {
    /// The tables of a home. A file that cannot be read is passed over.
    pub fn of(home: Option<&Path>) -> Self {
        let read = |home: &Path| {
            let mut text = String::new();
            let file = File::open(imported_file(home)).ok()?;
            file.take(MOST_BYTES).read_to_string(&mut text).ok()?;
            Some(text)
        };
        Catalog {
            imported: home.and_then(read),
        }
    }

    fn tables(&self) -> impl Iterator<Item = &str> {
        self.imported.as_deref().into_iter().chain([HOSTED])
    }

    /// The provider of that id.
    pub fn provider(&self, id: &str) -> Option<Hosted> {
        self.tables().find_map(|table| {
            let block = block(table, id)?;
            provider(block.lines().next()?)
        })
    }

    /// All providers, by id.
    pub fn providers(&self) -> Vec<Hosted> {
        let lines = self.tables().flat_map(str::lines);
        let mut all: Vec<Hosted> = lines.filter_map(provider).collect();
        // Stable: what was imported stays before what is built in.
        all.sort_by(|a, b| a.id.cmp(&b.id));
        all.dedup_by(|b, a| a.id == b.id);
        all
    }

    /// The models of a provider.
    pub fn models(&self, provider: &str) -> Vec<Listed> {
        let block = self.tables().find_map(|table| block(table, provider));
        let lines = block.unwrap_or_default().lines().skip(1);
        lines.filter_map(model).collect()
    }

    /// The smallest window of all models of that name, whoever has them.
    pub fn smallest_window(&self, name: &str) -> Option<u32> {
        let last = |id: &str| id.rsplit('/').next().unwrap_or(id).to_lowercase();
        let wanted = last(name);
        let lines = self.tables().flat_map(str::lines);
        let lines = lines.filter(|line| !line.starts_with('>'));
        let alike =
            lines.filter(|line| line.split('\t').next().is_some_and(|id| last(id) == wanted));
        alike.filter_map(|line| model(line)?.window).min()
    }

    /// One model of a provider.
    pub fn model(&self, provider: &str, id: &str) -> Option<Listed> {
        let block = self.tables().find_map(|table| block(table, provider))?;
        let mut lines = block.lines().skip(1);
        let line = lines.find(|line| line.split('\t').next() == Some(id))?;
        model(line)
    }
}

/// The lines of one provider, the line of the provider itself first.
fn block<'a>(table: &'a str, id: &str) -> Option<&'a str> {
    let head = format!(">{id}\t");
    let start = match table.starts_with(&head) {
        true => 0,
        false => table.find(&format!("\n{head}"))? + 1,
    };
    let rest = table.get(start..)?;
    Some(rest.find("\n>").map_or(rest, |end| &rest[..end]))
}

/// Reads the line of a provider.
fn provider(line: &str) -> Option<Hosted> {
    let mut columns = line.strip_prefix('>')?.split('\t');
    let mut next = || columns.next().unwrap_or_default();
    let (id, name, wire, base_url) = (next(), next(), next(), next());
    let (keys, help, others) = (next(), next(), next());
    let other = |word: &str| {
        let (wire, url) = word.split_once('=').unwrap_or((word, base_url));
        Some((WireApi::from_name(wire)?, url.to_owned()))
    };
    Some(Hosted {
        id: id.into(),
        name: name.into(),
        wire: WireApi::from_name(wire)?,
        base_url: base_url.into(),
        env_keys: keys
            .split(',')
            .filter(|k| !k.is_empty())
            .map(Into::into)
            .collect(),
        help: help.into(),
        others: others.split_whitespace().filter_map(other).collect(),
    })
}

/// Reads the line of a model.
fn model(line: &str) -> Option<Listed> {
    let mut columns = line.split('\t');
    let id = columns.next().filter(|id| !id.is_empty())?;
    let mut next = || columns.next().unwrap_or_default();
    let (window, output, flags) = (next(), next(), next());
    let (prices, name) = (next(), next());
    let has = |flag: char| flags.contains(flag);
    let last = id.rsplit('/').next().unwrap_or(id);
    let wire = match flags.chars().find(char::is_ascii_uppercase) {
        Some('C') => Some(WireApi::Chat),
        Some('R') => Some(WireApi::Responses),
        Some('M') => Some(WireApi::Messages),
        _ => None,
    };
    let mut price = prices.split('/').map(|p| p.parse::<f64>().ok());
    let mut price = || price.next().flatten();
    Some(Listed {
        id: id.into(),
        name: if name.is_empty() { last } else { name }.into(),
        window: tokens(window),
        output: tokens(output),
        thinks: has('r'),
        sees: has('i'),
        fixed_sampling: has('t'),
        schema: has('s'),
        deprecated: has('d'),
        wire,
        prices: Prices {
            input: price(),
            output: price(),
            cached: price(),
            cache_write: price(),
        },
    })
}

/// A number of tokens: `k` is 1000, `K` 1024 and `m` a million.
fn tokens(text: &str) -> Option<u32> {
    let (digits, unit) = match text.chars().last()? {
        'k' => (&text[..text.len() - 1], 1000),
        'K' => (&text[..text.len() - 1], 1024),
        'm' => (&text[..text.len() - 1], 1_000_000),
        _ => (text, 1),
    };
    let count = digits.parse::<u32>().ok()?.checked_mul(unit)?;
    (count > 0).then_some(count)
}

/// A number of tokens in few characters, as [`tokens`] reads it.
fn short(count: u64) -> Cow<'static, str> {
    for (unit, size) in [("m", 1_000_000), ("k", 1000), ("K", 1024)] {
        if count > 0 && count.is_multiple_of(size) {
            return format!("{}{unit}", count / size).into();
        }
    }
    match count {
        0 => "".into(),
        count => count.to_string().into(),
    }
}
