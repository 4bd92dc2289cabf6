//! The first start: there is no config, so the person chooses a model, and says whether the choice
//! is to be kept.

use super::args::Options;
use super::commands::models::{self, Found};
use super::commands::session::Setup;
use super::person::eprint_safe;
use super::pick::pick;
use super::render::sanitize::{one_line, sanitize};
use super::render::wrap::hanging;
use super::slash::choose_model;
use super::terminal;
use crate::agent::connect;
use crate::agent::event::Frontend;
use crate::cancel::Cancel;
use crate::model::catalog::{Catalog, Hosted};
use crate::project::read_whole;
use crate::store::paths::private_replace;
use std::io;
use toml::{Table, Value};

/// The most bytes of a config that is looked into.
const MOST_CONFIG: u64 = 1 << 20;
/// Who set what was chosen.
const BY: &str = "the first start";

/// Hosted providers that are offered without a key; of the others, those whose key is there.
const KNOWN: [&str; 10] = [
    "anthropic",
    "openai",
    "google",
    "deepseek",
    "moonshotai",
    "zai",
    "alibaba",
    "mistral",
    "groq",
    "openrouter",
];

/// What there is to do without a local server.
const NO_SERVER: &str = "No local server with a model that calls tools answers at its usual address. Start Ollama, LM Studio, llama-server or vLLM (Esc leaves this list), say where one is (for example -c model_providers.llamacpp.base_url=http://127.0.0.1:9000/v1 --local-provider llamacpp), or take a hosted provider.";

/// What can be chosen.
enum Offer {
    Local(Box<Found>),
    Hosted(Hosted),
}

/// True when nothing says yet which model is meant.
pub fn is_first(setup: &Setup) -> bool {
    let config = &setup.config;
    own_text(setup).is_ok_and(|text| is_unset(&text))
        && config.model.is_none()
        && connect::named_provider(config, None).is_none()
}

/// The text of the user's config; empty where there is none.
fn own_text(setup: &Setup) -> io::Result<String> {
    match read_whole(&setup.home.config_file(), MOST_CONFIG) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        read => read,
    }
}

/// A config that says nothing but which projects are trusted, which may have been asked before.
fn is_unset(text: &str) -> bool {
    let table = text.parse::<Table>();
    table.is_ok_and(|table| table.keys().all(|key| key == "projects"))
}

/// Lets the person choose, changes the settings to what was chosen, and writes them down after a
/// yes. Who chooses nothing gets what can be used now, as every later start without a config.
///
/// # Errors
/// When the config cannot be written.
pub fn choose(
    setup: &mut Setup,
    options: &Options,
    cancel: &Cancel,
    front: &mut dyn Frontend,
) -> Result<(), String> {
    let begins = "This is the first start. Looking for models on this machine …";
    eprint_safe(&hanging(begins, terminal::columns()));
    let (found, troubles) = models::found(&setup.config, options.chat_completions, cancel);
    for trouble in troubles {
        let trouble = format!("  {}", sanitize(&trouble));
        eprint_safe(&hanging(&trouble, terminal::columns()));
    }
    let (rows, offers) = offers(found, setup, options);
    let title = match offers.first() {
        Some(Offer::Local(_)) => "Which model?",
        _ => {
            eprint_safe(&hanging(NO_SERVER, terminal::columns()));
            "Which hosted provider?"
        }
    };
    loop {
        let chosen = pick(title, &rows, 0, cancel).and_then(|at| offers.get(at));
        let (provider, model) = match chosen {
            None => return Ok(()),
            Some(Offer::Local(found)) => (found.provider.id.clone(), found.info.id.clone()),
            Some(Offer::Hosted(hosted)) => match hosted_model(hosted, setup, options, cancel) {
                Ok(model) => (hosted.id.clone(), model),
                Err(why) => {
                    eprint_safe(&hanging(&sanitize(&why), terminal::columns()));
                    continue;
                }
            },
        };
        return keep(setup, &provider, &model, front);
    }
}

fn offers(found: Vec<Found>, setup: &Setup, options: &Options) -> (Vec<String>, Vec<Offer>) {
    let has_key =
        |h: &Hosted| connect::resolve(&h.id, &setup.config, options.chat_completions).is_ok();
    let mut hosted: Vec<(Hosted, bool)> = Vec::new();
    if !*setup.config.offline {
        let all = Catalog::of(Some(setup.home.path())).providers().into_iter();
        let all = all.map(|h| (has_key(&h), h)).map(|(has, h)| (h, has));
        hosted.extend(all.filter(|(h, has)| *has || KNOWN.contains(&h.id.as_str())));
        hosted.sort_by_key(|(_, has)| !has);
    }
    let wide = hosted.iter().map(|(h, _)| h.name.chars().count()).max();
    let wide = wide.unwrap_or_default();
    let rows = hosted.iter().map(|(h, has)| {
        let state = match has {
            true => "hosted, has its key".to_owned(),
            false => format!("hosted, needs {}", h.env_keys.join(" or ")),
        };
        format!("{:wide$}  {state}", h.name)
    });
    let rows = found.iter().map(|f| f.line.clone()).chain(rows).collect();
    let found = found.into_iter().map(|f| Offer::Local(Box::new(f)));
    let hosted = hosted.into_iter().map(|(h, _)| Offer::Hosted(h));
    (rows, found.chain(hosted).collect())
}

/// A model of a hosted provider, if it can be used.
fn hosted_model(
    hosted: &Hosted,
    setup: &Setup,
    options: &Options,
    cancel: &Cancel,
) -> Result<String, String> {
    let provider = connect::resolve(&hosted.id, &setup.config, options.chat_completions)
        .map_err(|e| e.to_string())?;
    choose_model(&setup.config, &provider, "", cancel).map(|(model, _)| model)
}

/// Takes the choice for this session, and for later ones after a yes.
fn keep(
    setup: &mut Setup,
    provider: &str,
    model: &str,
    front: &mut dyn Frontend,
) -> Result<(), String> {
    let changes = [("model", model.into()), ("model_provider", provider.into())];
    setup.config = setup
        .config
        .changed(&changes, BY)
        .map_err(|e| e.to_string())?;
    let file = setup.home.config_file();
    let text = format!(
        "model = {}\nmodel_provider = {}\n",
        Value::from(model),
        Value::from(provider)
    );
    let lines: String = text
        .lines()
        .map(|l| format!("  {}\n", one_line(l)))
        .collect();
    let shown = one_line(&file.display().to_string());
    let head = format!("For later starts, this would be written into {shown}:");
    eprint_safe(&format!("{}{lines}", hanging(&head, terminal::columns())));
    if front.confirm("Write it?") {
        // What stands there are tables, which end the keys of the top.
        let rest = own_text(setup).map_err(|e| format!("{shown} cannot be read: {e}"))?;
        let gap = if rest.is_empty() { "" } else { "\n" };
        private_replace(&file, format!("{text}{gap}{rest}").as_bytes())
            .map_err(|e| e.to_string())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_config_that_only_trusts_is_unset() {
        assert!(is_unset(""));
        assert!(is_unset("[projects.\"/w\"]\ntrust_level = \"trusted\"\n"));
        assert!(!is_unset("sandbox_mode = \"read-only\"\n"));
        assert!(!is_unset("not = = toml"));
    }
}
