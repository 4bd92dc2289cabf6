//! `interpreter models`: what the local servers have, and what is known of hosted providers.

mod hosted;

use super::session::Setup;
use crate::agent::{connect, open};
use crate::cancel::Cancel;
use crate::cli::args::Options;
use crate::cli::render::phrases::thousands;
use crate::cli::render::sanitize::{one_line, sanitize};
use crate::cli::{Failure, exit, say};
use crate::config::Config;
use crate::harnesses;
use crate::model::local::{self, Fit, ModelInfo, Room, Window};
use crate::model::provider::{LocalServer, Provider, is_loopback};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::io::{self, Write};
use std::thread;

/// A model with what a session would make of it.
struct Row {
    provider: Provider,
    info: ModelInfo,
    window: Window,
    fit: Option<(u64, Fit)>,
    harness: &'static str,
}

/// Lists the models of the named provider, or of every local server that answers. A server that
/// fails is said on standard error and does not hide the others.
///
/// # Errors
/// One sentence when no server answers, or none of them has a list.
pub fn run(options: &Options) -> Result<u8, Failure> {
    let mut setup = Setup::load(options)?;
    if let Some(file) = &options.import {
        return hosted::take(&setup.cwd.join(file), &setup.home);
    }
    if options.providers {
        return hosted::providers(&setup.config, options);
    }
    if let Some(id) = connect::named_provider(&setup.config, None)
        && let Some(done) = hosted::models(&id, &setup.config, options)?
    {
        return Ok(done);
    }
    setup.hold_offline(None)?;
    let cancel = Cancel::new();
    let providers = providers(&setup.config, options.chat_completions, &cancel)?;
    if providers.is_empty() {
        return Err("no local model server answers: not Ollama (11434), LM Studio (1234), llama-server (8080) nor vLLM (8000); start one, for example `ollama serve`".into());
    }
    let lists = all(&providers, &cancel);
    let room = local::room();
    let (mut rows, mut failures) = (Vec::new(), Vec::new());
    for (provider, list) in providers.into_iter().zip(lists) {
        match list {
            Ok(models) => rows.extend(
                models
                    .into_iter()
                    .map(|info| Row::new(&setup.config, &provider, info, room)),
            ),
            Err(why) => failures.push((provider, why)),
        }
    }
    sort(&mut rows);
    for (provider, why) in &failures {
        let line = format!("interpreter: {}: {why}", provider.name);
        let _ = writeln!(io::stderr(), "{}", sanitize(&line));
    }
    if options.json {
        let models: Vec<Value> = rows.iter().map(Row::as_json).collect();
        let failed: Vec<Value> = failures
            .iter()
            .map(|(p, why)| json!({"provider": p.id, "url": p.base_url, "error": why}))
            .collect();
        say(&format!(
            "{}\n",
            json!({"models": models, "failures": failed})
        ))?;
    } else if !rows.is_empty() {
        say(&table(&rows))?;
    }
    Ok(match rows.is_empty() && !failures.is_empty() {
        true => exit::FAILED,
        false => exit::OK,
    })
}

/// The names of all models, each with where it is; none where that cannot be told.
pub fn names(options: &Options, cancel: &Cancel) -> Vec<(String, String)> {
    let Ok(setup) = Setup::load(options) else {
        return Vec::new();
    };
    let providers = providers(&setup.config, options.chat_completions, cancel);
    let providers = providers.unwrap_or_default();
    let lists = all(&providers, cancel);
    let named = |(provider, list): (&Provider, Result<Vec<ModelInfo>, String>)| {
        let name = provider.name.clone();
        let models = list.unwrap_or_default().into_iter();
        models.map(move |model| (model.id, name.clone()))
    };
    providers.iter().zip(lists).flat_map(named).collect()
}

/// The named provider, or every local server that answers.
fn providers(
    config: &Config,
    chat_completions: bool,
    cancel: &Cancel,
) -> Result<Vec<Provider>, Failure> {
    if let Some(id) = connect::named_provider(config, None) {
        let named = connect::resolve(&id, config, chat_completions)?;
        return Ok(vec![local::recognise(named, cancel)]);
    }
    Ok(local_providers(config, chat_completions, cancel))
}

/// Every local server that answers.
fn local_providers(config: &Config, chat_completions: bool, cancel: &Cancel) -> Vec<Provider> {
    let resolve = |id: &str| connect::resolve(id, config, chat_completions);
    let candidates: Vec<Provider> = LocalServer::ALL
        .iter()
        .filter_map(|s| resolve(s.id()).ok())
        .collect();
    local::detect(&candidates, cancel)
        .iter()
        .filter_map(|f| local::adopt(&candidates, f, chat_completions))
        .collect()
}

/// The lists of all servers, asked at the same time.
fn all(providers: &[Provider], cancel: &Cancel) -> Vec<Result<Vec<ModelInfo>, String>> {
    thread::scope(|s| {
        let threads: Vec<_> = providers
            .iter()
            .map(|p| s.spawn(move || local::models(p, cancel).map_err(|e| e.to_string())))
            .collect();
        threads
            .into_iter()
            .map(|t| {
                t.join()
                    .unwrap_or_else(|_| Err("its list cannot be read".into()))
            })
            .collect()
    })
}

/// What can be used now comes first: loaded, then those that call tools and fit, then by name;
/// remote ones last.
fn sort(rows: &mut [Row]) {
    rows.sort_by_key(|row| {
        let info = &row.info;
        let fits = !matches!(row.fit, Some((_, Fit::No)));
        let merit = Reverse((
            info.generates,
            !info.cloud,
            info.loaded,
            info.tools == Some(true),
            fits,
        ));
        (merit, info.id.to_lowercase())
    });
}

impl Row {
    fn new(config: &Config, provider: &Provider, info: ModelInfo, room: Room) -> Self {
        let window = connect::expected_window(config, provider, &info);
        let harness = open::usual_harness(config, provider, &info.id, info.family.as_deref());
        let here = is_loopback(&provider.base_url) && !info.cloud;
        Row {
            fit: here
                .then(|| local::fit(&info, window.tokens, room))
                .flatten(),
            provider: provider.clone(),
            harness: harness.map_or(harnesses::GENERAL, |h| h.id()),
            window,
            info,
        }
    }

    fn as_json(&self) -> Value {
        let m = &self.info;
        json!({
            "provider": self.provider.id, "server": self.provider.name, "url": self.provider.base_url,
            "model": m.id, "bytes": m.bytes, "parameters": m.parameters, "quantization": m.quantization,
            "trained_window": m.trained_window, "configured_window": m.configured_window,
            "loaded_window": m.loaded_window, "window": self.window.tokens, "window_source": self.window.source,
            "loaded": m.loaded, "tools": m.tools, "thinking": m.thinking, "vision": m.vision,
            "cloud": m.cloud, "generates": m.generates,
            "fits": self.fit.map(|(_, fit)| fit != Fit::No), "fits_in": self.fit.map(|(_, fit)| fit.words()),
            "need_bytes": self.fit.map(|(need, _)| need), "harness": self.harness,
        })
    }

    /// The columns of the table, in the order of [`HEAD`].
    fn cells(&self) -> [String; 9] {
        let m = &self.info;
        let unknown = || "?".to_owned();
        let known = |b: Option<bool>| b.map_or("?", |b| if b { "yes" } else { "no" }).to_owned();
        let window = match (m.loaded_window, m.trained_window) {
            (Some(l), Some(t)) => format!("{} of {}", thousands(l.into()), thousands(t.into())),
            (Some(n), None) | (None, Some(n)) => thousands(n.into()),
            (None, None) => unknown(),
        };
        let state = match (m.cloud, m.loaded) {
            (true, _) => "remote",
            (false, true) => "loaded",
            (false, false) => "",
        };
        [
            one_line(&m.id),
            one_line(&self.provider.name),
            m.bytes
                .map_or_else(unknown, |b| format!("{:.1} GB", b as f64 / 1e9)),
            m.quantization.as_deref().map_or_else(unknown, one_line),
            window,
            known(m.tools),
            self.fit
                .map_or_else(unknown, |(_, fit)| fit.words().to_owned()),
            state.into(),
            self.harness.into(),
        ]
    }
}

const HEAD: [&str; 9] = [
    "MODEL", "SERVER", "SIZE", "QUANT", "WINDOW", "TOOLS", "FITS", "STATE", "HARNESS",
];

/// The models of one provider that write text, what can be used now first: the line above them,
/// and each with its line.
pub fn choices(
    config: &Config,
    provider: &Provider,
    models: Vec<ModelInfo>,
) -> (String, Vec<(ModelInfo, String)>) {
    let room = local::room();
    let models = models.into_iter().filter(|m| m.generates);
    let mut rows: Vec<Row> = models
        .map(|info| Row::new(config, provider, info, room))
        .collect();
    sort(&mut rows);
    let text = table(&rows);
    let mut lines = text.lines().map(str::to_owned);
    let head = lines.next().unwrap_or_default();
    let infos = rows.into_iter().map(|row| row.info);
    (head, infos.zip(lines).collect())
}

fn table(rows: &[Row]) -> String {
    let models = rows.iter().filter(|r| r.info.generates).map(Row::cells);
    let lines: Vec<[String; 9]> = std::iter::once(HEAD.map(String::from))
        .chain(models)
        .collect();
    aligned(&lines).map(|line| line + "\n").collect()
}

/// Lines whose columns stand below each other.
fn aligned<const N: usize>(lines: &[[String; N]]) -> impl Iterator<Item = String> {
    let width = |column: usize| {
        let cells = lines.iter().map(|l| l[column].chars().count());
        cells.max().unwrap_or(0)
    };
    let widths: [usize; N] = std::array::from_fn(width);
    lines.iter().map(move |line| {
        let cells = line.iter().zip(&widths);
        let cells: Vec<String> = cells.map(|(text, w)| format!("{text:w$}")).collect();
        cells.join("  ").trim_end().to_owned()
    })
}

/// A model that can be worked with, and its line in a list to choose from.
pub struct Found {
    /// Whose it is.
    pub provider: Provider,
    /// What its server says of it.
    pub info: ModelInfo,
    /// Name, size, the window of a session, where it fits, and the server.
    pub line: String,
}

/// The models of all local servers that answer which write text and are not known to be without
/// tools, what can be used now first; and a line for each server whose list cannot be read.
pub fn found(
    config: &Config,
    chat_completions: bool,
    cancel: &Cancel,
) -> (Vec<Found>, Vec<String>) {
    let providers = local_providers(config, chat_completions, cancel);
    let lists = all(&providers, cancel);
    let room = local::room();
    let (mut rows, mut troubles) = (Vec::new(), Vec::new());
    for (provider, list) in providers.iter().zip(lists) {
        match list {
            Ok(models) => {
                let works = |m: &ModelInfo| m.generates && m.tools != Some(false);
                let models = models.into_iter().filter(works);
                rows.extend(models.map(|info| Row::new(config, provider, info, room)));
            }
            Err(why) => troubles.push(format!("{}: {why}", provider.name)),
        }
    }
    sort(&mut rows);
    let cells: Vec<[String; 5]> = rows
        .iter()
        .map(|row| {
            let size = row.info.bytes.map(|b| format!("{:.1} GB", b as f64 / 1e9));
            let fit = row.fit.map(|(_, fit)| match fit {
                Fit::Loaded => "loaded",
                Fit::Graphics => "fits in graphics memory",
                Fit::Main => "fits in memory",
                Fit::Split => "fits in both memories",
                Fit::No => "does not fit",
            });
            [
                one_line(&row.info.id),
                size.unwrap_or_default(),
                format!("window {}", thousands(row.window.tokens.into())),
                fit.unwrap_or_default().to_owned(),
                one_line(&row.provider.name),
            ]
        })
        .collect();
    let lines: Vec<String> = aligned(&cells).collect();
    let found = rows.into_iter().zip(lines).map(|(row, line)| Found {
        provider: row.provider,
        info: row.info,
        line,
    });
    (found.collect(), troubles)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::WireApi;

    fn row(id: &str, change: impl FnOnce(&mut ModelInfo)) -> Row {
        let mut info = ModelInfo {
            id: id.into(),
            generates: true,
            tools: Some(true),
            ..Default::default()
        };
        change(&mut info);
        Row {
            provider: Provider {
                id: "ollama".into(),
                name: "Ollama".into(),
                base_url: "http://127.0.0.1:11434".into(),
                wire: WireApi::Ollama,
                local: Some(LocalServer::Ollama),
                ..Provider::default()
            },
            window: Window {
                tokens: 32_768,
                source: String::new(),
                request: None,
                notice: None,
            },
            fit: None,
            harness: harnesses::GENERAL,
            info,
        }
    }

    #[test]
    fn what_can_be_used_now_comes_first() {
        let mut rows = [
            row("z-cloud", |m| m.cloud = true),
            row("b", |_| ()),
            row("a-without", |m| m.tools = Some(false)),
            row("y", |m| m.loaded = true),
            row("A", |_| ()),
            row("embed", |m| m.generates = false),
        ];
        sort(&mut rows);
        let ids: Vec<_> = rows.iter().map(|r| r.info.id.as_str()).collect();
        assert_eq!(ids, ["y", "A", "b", "a-without", "z-cloud", "embed"]);
        let text = table(&rows);
        assert!(
            text.lines()
                .any(|l| l.contains("z-cloud") && l.contains("remote"))
        );
        assert!(!text.contains("embed"), "{text}");
    }

    #[test]
    fn names_of_a_server_are_data() {
        let text = table(&[row("\x1b[31mred", |m| m.quantization = Some("\x07".into()))]);
        assert!(!text.contains(['\x1b', '\x07']), "{text}");
    }
}
