//! `/model` and `/harness`: somebody else goes on with the conversation.

use super::Desk;
use crate::agent::{connect, hosted};
use crate::cancel::Cancel;
use crate::cli::commands::models;
use crate::cli::person::eprint_safe;
use crate::cli::pick::pick;
use crate::cli::render::sanitize::one_line;
use crate::cli::terminal;
use crate::config::Config;
use crate::config::keys::EFFORTS;
use crate::harnesses::{self, Harness};
use crate::model::catalog::Catalog;
use crate::model::local;
use crate::model::provider::{self, LocalServer, Provider};

/// The word for the effort that the server has by itself.
const DEFAULT_EFFORT: &str = "default";
/// Names of effort that differ from each other; the others are read as the last one.
const SHOWN_EFFORTS: usize = 7;

const UNCHANGED: &str = "nothing was changed";

/// What the words after the command name.
#[derive(Debug, Default, PartialEq, Eq)]
struct Wanted {
    provider: Option<String>,
    model: Option<String>,
    effort: Option<String>,
}

impl Wanted {
    /// `[PROVIDER] [MODEL] [EFFORT]`.
    fn of(words: &str, is_provider: impl Fn(&str) -> bool) -> Result<Self, String> {
        let mut words: Vec<&str> = words.split_whitespace().collect();
        let mut wanted = Wanted::default();
        let is_effort = |w: &&str| EFFORTS.contains(w) || *w == DEFAULT_EFFORT;
        if words.last().is_some_and(is_effort) {
            wanted.effort = words.pop().map(str::to_owned);
        }
        if words.first().is_some_and(|w| is_provider(w)) {
            wanted.provider = Some(words.remove(0).to_owned());
        }
        match words[..] {
            [] => {}
            [model] => wanted.model = Some(model.to_owned()),
            [_, other, ..] => {
                return Err(format!(
                    "`{other}` is one word too many: /model [PROVIDER] [MODEL] [EFFORT]"
                ));
            }
        }
        Ok(wanted)
    }
}

/// What may be typed without asking a server.
pub(super) fn words() -> Vec<String> {
    let local = LocalServer::ALL.iter().map(|s| s.id().to_owned());
    let hosted = Catalog::of(None).providers().into_iter().map(|h| h.id);
    let providers = local.chain(hosted);
    let efforts = EFFORTS.iter().take(SHOWN_EFFORTS).chain([&DEFAULT_EFFORT]);
    providers.chain(efforts.map(|e| (*e).to_owned())).collect()
}

/// The harnesses by their names.
pub(super) fn harness_ids() -> Vec<String> {
    harnesses::ALL.iter().map(|h| h.id().to_owned()).collect()
}

/// Changes provider, model or effort; what is not named is chosen from what there is now.
pub(super) fn model(desk: &mut Desk, words: &str) -> String {
    let config = desk.setup.config.clone();
    let is_provider = |word: &str| provider::exists(word, &config);
    let outcome = Wanted::of(words, is_provider).and_then(|wanted| choose(desk, &config, wanted));
    match outcome.and_then(|chosen| apply(desk, &config, chosen)) {
        Ok(said) => said,
        Err(why) => one_line(&why),
    }
}

/// What was chosen; the effort is said only where it is another one.
struct Chosen {
    provider: String,
    model: String,
    effort: Option<String>,
}

fn choose(desk: &mut Desk, config: &Config, wanted: Wanted) -> Result<Chosen, String> {
    let (provider, model) = desk.session.model();
    let now = (provider.to_owned(), model.to_owned());
    let cancel = desk.session.cancel().clone();
    let names_one = wanted.model.is_some() || wanted.effort.is_some();
    let provider = match wanted.provider {
        Some(id) => id,
        None if names_one => now.0.clone(),
        None => choose_provider(desk, config, &now.0, &cancel)?,
    };
    let only_effort = wanted.effort.is_some() && wanted.model.is_none() && provider == now.0;
    let (model, thinks) = match wanted.model {
        Some(model) => (model, false),
        None if only_effort => (now.1, false),
        None => {
            let resolved = connect::resolve(&provider, config, desk.options.chat_completions)
                .map_err(|e| e.to_string())?;
            choose_model(config, &resolved, &now.1, &cancel)?
        }
    };
    let effort = match wanted.effort {
        None if thinks => choose_effort(desk.session.effort(), &cancel)?,
        effort => effort,
    };
    Ok(Chosen {
        provider,
        model,
        effort,
    })
}

/// Local servers are asked whether they are there; of hosted ones those are shown that there is a
/// key for.
fn choose_provider(
    desk: &Desk,
    config: &Config,
    now: &str,
    cancel: &Cancel,
) -> Result<String, String> {
    let resolve = |id: &str| connect::resolve(id, config, desk.options.chat_completions);
    let candidates: Vec<Provider> = LocalServer::ALL
        .iter()
        .filter_map(|server| resolve(server.id()).ok())
        .collect();
    let up = local::detect(&candidates, cancel);
    let mut rows: Vec<(String, String)> = Vec::new();
    let mut add = |id: &str, name: &str, state: String| {
        if rows.iter().all(|(known, _)| known != id) {
            rows.push((id.to_owned(), format!("{id:12}  {name:12}  {state}")));
        }
    };
    let session = desk.session.info();
    add(
        now,
        &session.provider.0,
        format!("{} (now)", session.provider.1),
    );
    for found in &up {
        add(
            found.server.id(),
            found.server.name(),
            found.base_url.clone(),
        );
    }
    for (id, entry) in &config.model_providers {
        let name = entry.name.as_deref().unwrap_or(id);
        let url = entry.base_url.clone().unwrap_or_default();
        add(id, name, url);
    }
    if !*config.offline {
        let env = |name: &str| std::env::var(name).ok();
        for hosted in provider::with_key(config, &env) {
            add(&hosted.id, &hosted.name, hosted.base_url.clone());
        }
    }
    if rows.len() == 1 {
        return Ok(now.to_owned());
    }
    let lines: Vec<String> = rows.iter().map(|(_, line)| line.clone()).collect();
    let at = pick("Which provider?", &lines, 0, cancel).ok_or(UNCHANGED)?;
    rows.into_iter()
        .nth(at)
        .map(|(id, _)| id)
        .ok_or_else(|| UNCHANGED.into())
}

/// A model of the provider's list, and whether it can think.
///
/// # Errors
/// A sentence: there is no list, or nothing was chosen of it.
pub(in crate::cli) fn choose_model(
    config: &Config,
    provider: &Provider,
    now: &str,
    cancel: &Cancel,
) -> Result<(String, bool), String> {
    let provider = local::recognise(provider.clone(), cancel);
    let listed = match hosted::models(&provider, config) {
        models if models.is_empty() => local::models(&provider, cancel),
        models => Ok(models),
    };
    let (head, rows) = match listed {
        Ok(models) => models::choices(config, &provider, models),
        // A hosted provider may have no list.
        Err(why) if provider.is_local() => return Err(why.to_string()),
        Err(_) => Default::default(),
    };
    if rows.is_empty() {
        eprint_safe(&format!(
            "{} lists no models; the name of one: ",
            one_line(&provider.name)
        ));
        let name = terminal::line(cancel).unwrap_or_default();
        let name = name.trim();
        return match name.is_empty() {
            true => Err(UNCHANGED.into()),
            false => Ok((name.to_owned(), true)),
        };
    }
    let lines: Vec<String> = rows.iter().map(|(_, line)| line.clone()).collect();
    let first = rows.iter().position(|(m, _)| m.id == now).unwrap_or(0);
    // The head stands above the rows, behind their mark and number.
    let title = format!("Which model?\n      {head}");
    let at = pick(&title, &lines, first, cancel).ok_or(UNCHANGED)?;
    let (info, _) = rows.into_iter().nth(at).ok_or(UNCHANGED)?;
    Ok((info.id, info.thinking != Some(false)))
}

fn choose_effort(now: Option<&str>, cancel: &Cancel) -> Result<Option<String>, String> {
    let shown = EFFORTS.iter().take(SHOWN_EFFORTS);
    let names: Vec<&str> = std::iter::once(DEFAULT_EFFORT)
        .chain(shown.copied())
        .collect();
    let rows: Vec<String> = names
        .iter()
        .map(|name| match *name {
            DEFAULT_EFFORT => format!("{name}  (as the server has it)"),
            name => name.to_owned(),
        })
        .collect();
    let first = names.iter().position(|n| Some(*n) == now).unwrap_or(0);
    let at = pick("How long may it think?", &rows, first, cancel).ok_or(UNCHANGED)?;
    Ok(names.get(at).map(|n| (*n).to_owned()))
}

fn apply(desk: &mut Desk, config: &Config, chosen: Chosen) -> Result<String, String> {
    let effort = match chosen.effort.as_deref() {
        None => desk.session.effort().map(str::to_owned),
        Some(DEFAULT_EFFORT) => None,
        Some(name) => Some(name.to_owned()),
    };
    let told = |effort: Option<&str>| match effort {
        Some(name) => format!("the reasoning effort is {name}"),
        None => "the reasoning effort is the server's own".to_owned(),
    };
    if desk.session.model() == (chosen.provider.as_str(), chosen.model.as_str()) {
        if effort.as_deref() == desk.session.effort() {
            return Ok(format!("{} is the model already", one_line(&chosen.model)));
        }
        let said = told(effort.as_deref());
        desk.session.set_effort(effort);
        return Ok(said);
    }
    let mut changes = vec![
        ("model", chosen.model.as_str().into()),
        ("model_provider", chosen.provider.as_str().into()),
        ("oss", false.into()),
    ];
    if let Some(name) = &effort {
        changes.push(("model_reasoning_effort", name.as_str().into()));
    }
    let mut changed = config
        .changed(&changes, "/model")
        .map_err(|e| e.to_string())?;
    if effort.is_none() {
        changed.model_reasoning_effort.value = None;
    }
    let had_effort = desk.session.effort().map(str::to_owned);
    desk.session.change_model(
        &changed,
        &desk.setup.home,
        desk.options.chat_completions,
        desk.front,
    )?;
    let mut said = Vec::new();
    let now = desk.session.effort().map(str::to_owned);
    if now != had_effort {
        said.push(told(now.as_deref()));
    }
    said.extend(other_harness(desk, &changed));
    Ok(said.join("\n"))
}

/// The harness that this model would get in a new session, where it is another one.
fn other_harness(desk: &Desk, config: &Config) -> Option<String> {
    let (id, model) = desk.session.model();
    let provider = connect::resolve(id, config, desk.options.chat_completions).ok()?;
    let usual = crate::agent::open::usual_harness(config, &provider, model, None).ok()?;
    (usual.id() != desk.session.info().harness.0 && config.harness.is_none()).then(|| {
        format!(
            "models of this family know the harness {0}: /harness {0} changes to it",
            usual.id()
        )
    })
}

/// Changes the harness, or lists all of them.
pub(super) fn harness(desk: &mut Desk, id: &str) -> String {
    if !id.is_empty() {
        return match desk.session.change_harness(id, desk.front) {
            Ok(()) => String::new(),
            Err(why) => one_line(&why),
        };
    }
    let now = desk.session.info().harness.0;
    let row = |harness: &&dyn Harness| {
        let mark = if harness.id() == now { "*" } else { " " };
        format!("{mark} {:17} {}", harness.id(), harness.about())
    };
    harnesses::ALL
        .iter()
        .map(row)
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_name_provider_model_and_effort() {
        let of = |words: &str| Wanted::of(words, |w| w == "ollama");
        let wanted = |provider: &str, model: &str, effort: &str| {
            let some = |s: &str| (!s.is_empty()).then(|| s.to_owned());
            Ok(Wanted {
                provider: some(provider),
                model: some(model),
                effort: some(effort),
            })
        };
        for (words, expected) in [
            ("", wanted("", "", "")),
            ("qwen3:30b", wanted("", "qwen3:30b", "")),
            (
                "openai/gpt-oss-20b high",
                wanted("", "openai/gpt-oss-20b", "high"),
            ),
            ("ollama", wanted("ollama", "", "")),
            ("ollama qwen3 default", wanted("ollama", "qwen3", "default")),
            ("low", wanted("", "", "low")),
        ] {
            assert_eq!(of(words), expected, "{words}");
        }
        assert!(of("a b").unwrap_err().contains("`b`"));
    }
}
