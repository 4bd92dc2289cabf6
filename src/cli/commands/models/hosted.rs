//! What the tables know of hosted providers: no key is needed and nobody is asked.

use super::aligned;
use crate::agent::{offline, open};
use crate::cli::args::Options;
use crate::cli::render::phrases::thousands;
use crate::cli::render::sanitize::one_line;
use crate::cli::{Failure, say};
use crate::config::Config;
use crate::harnesses;
use crate::model::catalog::{Catalog, Hosted, Listed, Prices, import};
use crate::model::provider::{self, Provider};
use crate::store::paths::Home;
use serde_json::{Value, json};
use std::path::Path;

/// Takes a newer table.
///
/// # Errors
/// Why it was not taken, as a sentence.
pub fn take(file: &Path, home: &Home) -> Result<u8, Failure> {
    let (providers, models) = import(file, home.path())?;
    say(&format!(
        "{models} models of {providers} providers are kept in {}; remove it to have the built-in table back\n",
        crate::model::catalog::imported_file(home.path()).display()
    ))
}

/// Lists the providers.
///
/// # Errors
/// When standard output is closed.
pub fn providers(config: &Config, options: &Options) -> Result<u8, Failure> {
    let catalog = Catalog::of(config.home.as_deref());
    let env = |name: &str| std::env::var(name).ok();
    let with_key = provider::with_key(config, &env);
    let all = catalog.providers();
    let has_key = |hosted: &Hosted| with_key.iter().any(|h| h.id == hosted.id);
    if options.json {
        let list: Vec<Value> = all
            .iter()
            .map(|h| {
                json!({"provider": h.id, "name": h.name, "wire": h.wire.name(), "url": h.base_url,
                    "wires": h.others.iter().map(|(w, _)| w.name()).chain([h.wire.name()]).collect::<Vec<_>>(),
                    "env_keys": h.env_keys, "help": h.help, "has_key": has_key(h), "models": catalog.models(&h.id).len()})
            })
            .collect();
        return say(&format!("{}\n", json!({"providers": list})));
    }
    let head = ["PROVIDER", "NAME", "WIRE", "MODELS", "KEY", ""].map(String::from);
    let rows = all.iter().map(|h| {
        [
            one_line(&h.id),
            one_line(&h.name),
            h.wire.name().into(),
            catalog.models(&h.id).len().to_string(),
            one_line(h.env_keys.first().map_or("", String::as_str)),
            if has_key(h) { "has a key" } else { "" }.into(),
        ]
    });
    let lines: Vec<[String; 6]> = std::iter::once(head).chain(rows).collect();
    say(&aligned(&lines).map(|line| line + "\n").collect::<String>())
}

/// Lists the models of a provider of the tables; `None` when it is none of them, or only its server
/// knows what it has.
///
/// # Errors
/// When it may not be used offline.
pub fn models(id: &str, config: &Config, options: &Options) -> Result<Option<u8>, Failure> {
    let catalog = Catalog::of(config.home.as_deref());
    let Some(hosted) = catalog.provider(id) else {
        return Ok(None);
    };
    let env = |name: &str| std::env::var(name).ok();
    // One that was moved, to a gateway or to this machine, has what its server says.
    let moved = config
        .model_providers
        .get(id)
        .is_some_and(|e| e.base_url.is_some());
    if moved || (id == "openai" && config.openai_base_url.is_some()) {
        return Ok(None);
    }
    if *config.offline
        && let Ok(url) = provider::address_of(id, config, &env)
        && let Some(why) = offline::refusal(id, &url)
    {
        return Err(why.into());
    }
    let models = catalog.models(id);
    if options.json {
        let list: Vec<Value> = models.iter().map(|m| as_json(config, &hosted, m)).collect();
        return say(&format!("{}\n", json!({"models": list, "failures": []}))).map(Some);
    }
    let head = [
        "MODEL", "NAME", "WINDOW", "REPLY", "THINKS", "IMAGES", "$/M IN", "OUT", "HARNESS",
    ];
    let yes = |b: bool| if b { "yes" } else { "" }.to_owned();
    let count = |n: Option<u32>| n.map_or_else(|| "?".into(), |n| thousands(n.into()));
    let rows = models.iter().map(|m| {
        [
            one_line(&m.id),
            one_line(&m.name),
            count(m.window),
            count(m.output),
            yes(m.thinks),
            yes(m.sees),
            m.prices.input.map_or_else(|| "?".into(), |p| p.to_string()),
            m.prices
                .output
                .map_or_else(|| "?".into(), |p| p.to_string()),
            harness(config, &hosted, m).into(),
        ]
    });
    let lines: Vec<[String; 9]> = std::iter::once(head.map(String::from))
        .chain(rows)
        .collect();
    say(&aligned(&lines).map(|line| line + "\n").collect::<String>()).map(Some)
}

/// The harness of a model of the tables.
fn harness(config: &Config, hosted: &Hosted, model: &Listed) -> &'static str {
    let provider = Provider {
        id: hosted.id.clone(),
        name: hosted.name.clone(),
        base_url: hosted.base_url.clone(),
        wire: model.wire.unwrap_or(hosted.wire),
        ..Provider::default()
    };
    let harness = open::usual_harness(config, &provider, &model.id, None);
    harness.map_or(harnesses::GENERAL, |h| h.id())
}

fn as_json(config: &Config, hosted: &Hosted, m: &Listed) -> Value {
    json!({
        "provider": hosted.id, "server": hosted.name, "url": hosted.base_url, "model": m.id, "name": m.name,
        "wire": m.wire.unwrap_or(hosted.wire).name(), "window": m.window, "max_output": m.output, "tools": true,
        "thinking": m.thinks, "vision": m.sees, "structured_output": m.schema, "deprecated": m.deprecated,
        "cloud": true, "generates": true, "prices": prices(&m.prices), "harness": harness(config, hosted, m),
    })
}

/// US dollars per million tokens.
fn prices(p: &Prices) -> Value {
    json!({"input": p.input, "output": p.output, "cached": p.cached, "cache_write": p.cache_write})
}
