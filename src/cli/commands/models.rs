//! `interpreter models`: what the local servers have.

use super::session::Setup;
use crate::agent::connect::{named_provider, resolve};
use crate::cancel::Cancel;
use crate::cli::args::Options;
use crate::cli::render::human::thousands;
use crate::cli::render::sanitize::one_line;
use crate::cli::{Failure, say};
use crate::harnesses;
use crate::model::local::{self, ModelInfo};
use crate::model::provider::{LocalServer, Provider};
use serde_json::{Value, json};

/// Lists the models of the named provider, or of every local server that answers.
///
/// # Errors
/// One sentence when no server answers.
pub fn run(options: &Options) -> Result<u8, Failure> {
    let mut setup = Setup::load(options)?;
    setup.hold_offline(None)?;
    let cancel = Cancel::new();
    let named = named_provider(&setup.config, None);
    let resolve = |id: &str| resolve(id, &setup.config, options.chat_completions);
    let providers: Vec<Provider> = match named {
        Some(id) => vec![local::recognise(resolve(&id)?, &cancel)],
        None => {
            let candidates: Vec<Provider> = LocalServer::ALL
                .iter()
                .filter_map(|s| resolve(s.id()).ok())
                .collect();
            local::detect(&candidates, &cancel)
                .iter()
                .filter_map(|f| local::adopt(&candidates, f, options.chat_completions))
                .collect()
        }
    };
    if providers.is_empty() {
        return Err("no local model server answers: not Ollama (11434), LM Studio (1234), llama-server (8080) nor vLLM (8000); start one, for example `ollama serve`".into());
    }
    let mut rows = Vec::new();
    for provider in providers {
        for model in local::models(&provider, &cancel)? {
            rows.push((provider.clone(), model));
        }
    }
    if options.json {
        let list: Vec<Value> = rows.iter().map(|(p, m)| as_json(p, m)).collect();
        return say(&format!("{}\n", json!(list)));
    }
    say(&table(&rows))
}

fn harness(provider: &Provider, model: &ModelInfo) -> &'static str {
    harnesses::for_model(&model.id, &provider.id, &provider.name, &provider.base_url)
        .unwrap_or(harnesses::GENERAL)
}

fn as_json(provider: &Provider, model: &ModelInfo) -> Value {
    json!({
        "provider": provider.id, "model": model.id, "bytes": model.bytes, "parameters": model.parameters,
        "quantization": model.quantization, "trained_window": model.trained_window, "loaded_window": model.loaded_window,
        "loaded": model.loaded, "tools": model.tools, "thinking": model.thinking, "vision": model.vision,
        "cloud": model.cloud, "generates": model.generates, "harness": harness(provider, model),
    })
}

fn table(rows: &[(Provider, ModelInfo)]) -> String {
    let known = |b: Option<bool>| b.map_or("?", |b| if b { "yes" } else { "no" }).to_owned();
    let window = |m: &ModelInfo| match (m.loaded_window, m.trained_window) {
        (Some(l), Some(t)) => format!("{} of {}", thousands(l.into()), thousands(t.into())),
        (Some(n), None) | (None, Some(n)) => thousands(n.into()),
        (None, None) => "?".into(),
    };
    let size = |m: &ModelInfo| {
        m.bytes
            .map_or_else(|| "?".into(), |b| format!("{:.1} GB", b as f64 / 1e9))
    };
    let head = [
        "MODEL", "SERVER", "SIZE", "WINDOW", "TOOLS", "STATE", "HARNESS",
    ]
    .map(String::from);
    let mut lines = vec![head];
    for (p, m) in rows.iter().filter(|(_, m)| m.generates) {
        let state = if m.cloud {
            "remote"
        } else if m.loaded {
            "loaded"
        } else {
            ""
        };
        lines.push([
            one_line(&m.id),
            p.name.clone(),
            size(m),
            window(m),
            known(m.tools),
            state.into(),
            harness(p, m).into(),
        ]);
    }
    let widths: Vec<usize> = (0..7)
        .map(|c| {
            lines
                .iter()
                .map(|l| l[c].chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    let row = |l: &[String; 7]| {
        l.iter()
            .zip(&widths)
            .map(|(t, w)| format!("{t:w$}"))
            .collect::<Vec<_>>()
            .join("  ")
    };
    lines
        .iter()
        .map(|l| format!("{}\n", row(l).trim_end()))
        .collect()
}
