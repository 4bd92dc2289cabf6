//! The model: is it there, which window has it, does it fit, can it call tools?

use super::{Case, Finding, bounded};
use crate::agent::connect::{self, named_model};
use crate::agent::open;
use crate::agent::session::fixed_size;
use crate::agent::tokens::{Counter, Size as TextSize};
use crate::cancel::Cancel;
use crate::harnesses::{Harness, Size};
use crate::model::ModelError;
use crate::model::local::{self, Fit, ModelInfo, Window};
use crate::model::provider::{LocalServer, Provider, is_loopback};
use std::time::Duration;

/// How long a server may take to describe a model; one that still loads it is not waited for longer.
const LIMIT: Duration = Duration::from_secs(60);

/// A model that a session can begin with.
pub struct Model {
    pub name: String,
    pub info: ModelInfo,
    pub harness: &'static dyn Harness,
}

/// The model that a session would take, and what is to be said about it.
pub fn examine(case: &Case, provider: &Provider, cancel: &Cancel) -> (Option<Model>, Vec<Finding>) {
    let (chosen, late) = bounded(LIMIT, cancel, |c| choose(case, provider, c));
    let (name, info) = match chosen {
        Ok(chosen) => chosen,
        Err(_) if late => {
            let text = format!(
                "the server did not describe its model within {} s; it may still load it",
                LIMIT.as_secs()
            );
            let again = Finding::fail("model", text).fix("interpreter doctor, a little later");
            return (None, vec![again]);
        }
        Err(finding) => return (None, vec![finding]),
    };
    let harness = match harness(case, provider, &name, info.family.as_deref()) {
        Ok(harness) => harness,
        Err(why) => {
            let finding = Finding::fail("harness", why).fix("interpreter harness list");
            return (None, vec![describe(provider, &name, &info), finding]);
        }
    };
    let window = connect::expected_window(case.config, provider, &info);
    let findings = vec![
        describe(provider, &name, &info),
        window_of(provider, &name, &info, &window),
        memory(provider, &info, &window),
        tools(provider, &name, &info, harness),
        surface(case, harness, &window),
    ];
    let model = Model {
        name,
        info,
        harness,
    };
    (Some(model), findings)
}

fn harness(
    case: &Case,
    provider: &Provider,
    model: &str,
    family: Option<&str>,
) -> Result<&'static dyn Harness, String> {
    match open::named_harness(case.config, None)? {
        Some(named) => Ok(named),
        None => open::usual_harness(case.config, provider, model, family),
    }
}

fn choose(
    case: &Case,
    provider: &Provider,
    cancel: &Cancel,
) -> Result<(String, ModelInfo), Finding> {
    let failed = |e: ModelError| {
        let fix = match (&e, provider.local) {
            (ModelError::NoModel { model, .. }, Some(server)) => {
                local::install_command(server, model)
            }
            _ => "interpreter models".into(),
        };
        Finding::fail("model", e.to_string()).fix(fix)
    };
    if let Some(name) = named_model(case.config, &case.wish(), provider) {
        let info = local::describe(provider, &name, cancel).map_err(failed)?;
        return Ok((name, info));
    }
    if !provider.is_local() {
        let text = format!("no model is set for {}", provider.name);
        return Err(Finding::fail("model", text).fix("-m MODEL"));
    }
    let models = local::models(provider, cancel).map_err(failed)?;
    let chosen = local::choose(&models).map_err(|why| {
        let some = models.iter().any(|m| m.generates);
        let fix = match provider.local {
            Some(server) if !some => local::install_command(server, "MODEL"),
            _ => "-m MODEL".into(),
        };
        Finding::fail("model", why).fix(fix)
    })?;
    let info = local::describe(provider, &chosen.id, cancel).map_err(failed)?;
    Ok((chosen.id.clone(), info))
}

fn describe(provider: &Provider, name: &str, info: &ModelInfo) -> Finding {
    let size = info.bytes.map(|b| format!("{:.1} GB", b as f64 / 1e9));
    let state = match (info.cloud, info.loaded) {
        (true, _) => Some("runs elsewhere"),
        (false, true) => Some("loaded"),
        (false, false) if provider.local.is_some() => Some("not loaded yet"),
        _ => None,
    };
    let parts = [info.parameters.clone(), info.quantization.clone(), size]
        .into_iter()
        .flatten()
        .chain(state.map(str::to_owned));
    let text = std::iter::once(name.to_owned())
        .chain(parts)
        .collect::<Vec<_>>()
        .join(", ");
    let finding = match info.cloud {
        true => Finding::warn("model", text).fix("interpreter models, then -m NAME"),
        false => Finding::ok("model", text),
    };
    finding
        .fact("name", name)
        .fact("parameters", info.parameters.clone())
        .fact("quantization", info.quantization.clone())
        .fact("bytes", info.bytes)
        .fact("loaded", info.loaded)
        .fact("cloud", info.cloud)
}

/// The window in force and where the number comes from.
fn window_of(provider: &Provider, name: &str, info: &ModelInfo, window: &Window) -> Finding {
    let mut text = format!("{} tokens: {}", window.tokens, window.source);
    if let Some(n) = info.loaded_window.filter(|n| *n != window.tokens) {
        text.push_str(&format!(", loaded {n}"));
    }
    if let Some(n) = info.trained_window {
        text.push_str(&format!(", trained for {n}"));
    }
    let finding = match &window.notice {
        None => Finding::ok("window", text),
        Some(notice) => Finding::warn("window", format!("{text}. {notice}")).fix(
            match info.trained_window == Some(window.tokens) {
                true => "-m MODEL, of one that was trained for more".into(),
                false => larger(provider, name, info, window),
            },
        ),
    };
    finding
        .fact("tokens", window.tokens)
        .fact("source", window.source.clone())
        .fact("asked", window.request)
        .fact("trained", info.trained_window)
        .fact("loaded", info.loaded_window)
        .fact("configured", info.configured_window)
}

/// How the server gets the window that a session wants from its start.
fn larger(provider: &Provider, name: &str, info: &ModelInfo, window: &Window) -> String {
    const WISH: u32 = 32_768;
    let n = window.request.unwrap_or(WISH);
    let n = info.trained_window.map_or(n, |most| n.min(most));
    match provider.local {
        Some(LocalServer::Ollama) => format!("OLLAMA_CONTEXT_LENGTH={n} ollama serve"),
        Some(LocalServer::LmStudio) => format!("lms load {name} --context-length {n}"),
        Some(LocalServer::LlamaServer) => format!("llama-server --jinja -np 1 -c {n} -m FILE"),
        Some(LocalServer::Vllm) => format!("vllm serve {name} --max-model-len {n}"),
        None => "-c model_context_window=N, with the server's real number".into(),
    }
}

/// Weights and cache against what is free.
fn memory(provider: &Provider, info: &ModelInfo, window: &Window) -> Finding {
    if !is_loopback(&provider.base_url) || info.cloud {
        return Finding::ok("memory", "not this machine's");
    }
    let room = local::room();
    let gib = |bytes: u64| format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30));
    let free = [(room.graphics, "graphics"), (room.main, "main")]
        .into_iter()
        .filter_map(|(bytes, kind)| Some(format!("{} {kind}", gib(bytes?))))
        .collect::<Vec<_>>()
        .join(", ");
    let fit = local::fit(info, window.tokens, room);
    let smaller = "-m MODEL, of a smaller one, or -c model_context_window=16384";
    let finding = match (fit, info.graphics_percent) {
        (Some((_, Fit::Loaded)), Some(part @ 1..=99)) => Finding::warn(
            "memory",
            format!("loaded, {part} % of it in graphics memory: the rest is slow"),
        )
        .fix(smaller),
        (Some((_, Fit::Loaded)), _) => Finding::ok("memory", "loaded, window included"),
        (Some((need, Fit::No)), _) => Finding::warn(
            "memory",
            format!("needs {} more, free are {free}", gib(need)),
        )
        .fix(smaller),
        (Some((need, Fit::Split)), _) => Finding::warn(
            "memory",
            format!(
                "needs {}, partly in main memory: slow ({free} free)",
                gib(need)
            ),
        )
        .fix(smaller),
        (Some((need, _)), _) => {
            Finding::ok("memory", format!("needs {}, free are {free}", gib(need)))
        }
        (None, _) => Finding::ok("memory", format!("its need is not known; free are {free}")),
    };
    finding
        .fact("fits", fit.map(|(_, fit)| fit != Fit::No))
        .fact("need_bytes", fit.map(|(need, _)| need))
        .fact("free_main_bytes", room.main)
        .fact("free_graphics_bytes", room.graphics)
        .fact("cache_bytes_per_token", info.kv_bytes_per_token)
        .fact("graphics_percent", info.graphics_percent)
}

/// What the server says about tools. Whether it is true is tried later.
fn tools(
    provider: &Provider,
    name: &str,
    info: &ModelInfo,
    harness: &'static dyn Harness,
) -> Finding {
    let who = provider.local.map_or(provider.name.as_str(), |s| s.name());
    let refuses = matches!(
        provider.local,
        Some(LocalServer::Ollama | LocalServer::LlamaServer)
    );
    let finding = match info.tools {
        _ if harness.reads_text() => {
            Finding::ok("tools", format!("not needed by {}", harness.id()))
        }
        Some(true) => Finding::ok("tools", format!("yes, says {who}")),
        None => Finding::ok("tools", format!("{who} does not say; it is tried below")),
        Some(false) if refuses => {
            Finding::fail("tools", format!("{name} cannot call tools, says {who}"))
                .fix("--harness mini-swe-agent, or -m MODEL")
        }
        Some(false) => Finding::warn(
            "tools",
            format!("{name} was not made for them, says {who}; text is read"),
        )
        .fix("-m MODEL, of one that `interpreter models` shows with tools"),
    };
    finding.fact("tools", info.tools)
}

/// The harness, its size, and why.
fn surface(case: &Case, harness: &'static dyn Harness, window: &Window) -> Finding {
    let size = open::size(case.config, window.tokens);
    let by = match (&*case.config.harness, &*case.config.harness_size) {
        (Some(_), Some(_)) => "both as configured",
        (Some(_), None) => "as configured; size by window",
        (None, Some(_)) => "by model family; size as configured",
        (None, None) => "by model family and window",
    };
    let mut text = format!("{}, {}: {by}", harness.id(), size.name());
    let fixed = open::context(case.config, case.home, case.cwd, size)
        .map(|context| fixed_size(&harness.begin(&context)));
    let share = fixed.as_ref().ok().map(|fixed| {
        let tokens = Counter::new(*fixed, None).tokens(TextSize::default());
        tokens * 100 / u64::from(window.tokens.max(1))
    });
    if let Some(share) = share {
        text.push_str(&format!("; {share} % of the window"));
    }
    let finding = match (&fixed, share) {
        (Err(why), _) => Finding::fail("harness", why.clone())
            .fix(format!("edit {}", case.home.config_file().display())),
        (_, Some(26..)) if size != Size::Tiny => {
            Finding::warn("harness", text).fix("--size tiny, or --size compact")
        }
        _ => Finding::ok("harness", text),
    };
    finding
        .fact("id", harness.id())
        .fact("size", size.name())
        .fact("bytes", fixed.ok().map(|f| f.bytes))
        .fact("window_percent", share)
}
