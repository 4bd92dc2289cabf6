//! `interpreter login` and `logout`: keys of hosted providers, kept in the home.

use super::session::Setup;
use crate::cancel::Cancel;
use crate::cli::args::Options;
use crate::cli::person::{eprint_safe, eprintln_safe};
use crate::cli::signals::Signals;
use crate::cli::terminal;
use crate::cli::{Failure, exit, say, stdin};
use crate::config::{Config, DeviceLogin};
use crate::model::catalog::{Catalog, Hosted};
use crate::model::login::{self, LoginError};
use crate::model::provider::{self, LocalServer};
use crate::store::auth::{AuthFile, Credential};
use serde_json::{Value, json};
use std::io::{self, IsTerminal};

/// The longest key that is taken, in bytes.
const LONGEST_KEY: usize = 64 * 1024;

/// Keeps the key of a provider, or signs in there where its entry says how.
///
/// # Errors
/// An unknown or local provider, no key, a sign-in that failed, a home that cannot be written.
pub fn run(id: &str, options: &Options) -> Result<u8, Failure> {
    let setup = Setup::load(options)?;
    let config = &setup.config;
    known(id, config)?;
    if *config.offline {
        return Err("offline: signing in needs the provider; leave out --offline".into());
    }
    let signals = Signals::install(true).map_err(|e| format!("signals cannot be watched: {e}"))?;
    let entry = config.model_providers.get(id);
    let oauth = entry.and_then(|e| e.oauth.clone());
    let file = AuthFile::of(setup.home.path());
    let (credential, what) = match oauth {
        Some(oauth) if !options.with_api_key => (
            Credential::Tokens(sign_in(&oauth, &signals.cancel)?),
            "tokens",
        ),
        _ => {
            let hosted = Catalog::of(config.home.as_deref()).provider(id);
            let key = read_key(id, hosted.as_ref(), options.with_api_key, &signals.cancel)?;
            (Credential::ApiKey { key }, "key")
        }
    };
    file.put(id, &credential)?;
    say(&format!(
        "the {what} of {id} is kept in {}; `interpreter logout {id}` removes it\n",
        file.path().display()
    ))?;
    if let Some(variable) = variable_in_use(id, config) {
        eprintln_safe(&format!(
            "interpreter: {variable} is set and is used before what is kept; unset it to use this one"
        ));
    }
    Ok(exit::OK)
}

/// Only hosted providers, and those of the config, have keys.
fn known(id: &str, config: &Config) -> Result<(), Failure> {
    let env = |name: &str| std::env::var(name).ok();
    let has_entry = config.model_providers.contains_key(id);
    if !has_entry && LocalServer::ALL.iter().any(|s| s.id() == id) {
        return Err(format!("{id} is a local server and needs no key").into());
    }
    match provider::address_of(id, config, &env) {
        Err(error @ provider::ProviderError::Unknown { .. }) => Err(error.into()),
        _ => Ok(()),
    }
}

/// The variable with a key that stands before what is kept.
fn variable_in_use(id: &str, config: &Config) -> Option<String> {
    let is_set = |name: &String| std::env::var(name).is_ok_and(|v| !v.trim().is_empty());
    provider::key_variables(id, config).into_iter().find(is_set)
}

/// The key, from a pipe or typed without being shown.
fn read_key(
    id: &str,
    hosted: Option<&Hosted>,
    piped: bool,
    cancel: &Cancel,
) -> Result<String, Failure> {
    let text = if piped || !io::stdin().is_terminal() {
        stdin::read(false, cancel)?.text.unwrap_or_default()
    } else {
        let hidden = terminal::Hidden::begin();
        let seen = match hidden {
            Some(_) => "it is not shown",
            None => "this terminal will show it",
        };
        if let Some(hosted) = hosted.filter(|h| !h.help.is_empty()) {
            eprintln_safe(&format!("keys of {}: {}", hosted.name, hosted.help));
        }
        eprint_safe(&format!("the key of {id} ({seen}): "));
        let line = match hidden {
            Some(hidden) => hidden.line(cancel),
            None => terminal::line(cancel),
        };
        if cancel.is_cancelled() {
            eprint_safe("\n");
            return Err(Failure {
                message: "interrupted".into(),
                code: exit::INTERRUPTED,
            });
        }
        line.unwrap_or_default()
    };
    let key = text.trim();
    let is_plain = |c: char| c.is_ascii_graphic();
    if key.is_empty() {
        return Err("no key was given; nothing is kept".into());
    }
    if key.len() > LONGEST_KEY || !key.chars().all(is_plain) {
        return Err(
            "that is no key: one word of plain characters is expected; nothing is kept".into(),
        );
    }
    Ok(key.to_owned())
}

/// Shows the code and waits until it was used.
fn sign_in(oauth: &DeviceLogin, cancel: &Cancel) -> Result<crate::store::auth::Tokens, Failure> {
    let failed = |error: LoginError| match error {
        LoginError::Interrupted => Failure {
            message: "interrupted".into(),
            code: exit::INTERRUPTED,
        },
        error => error.into(),
    };
    let code = login::begin(oauth, cancel).map_err(failed)?;
    eprintln_safe(&format!(
        "open {} and enter the code {}",
        code.uri, code.user_code
    ));
    if let Some(uri) = &code.uri_complete {
        eprintln_safe(&format!("or open {uri}"));
    }
    eprintln_safe("waiting until it is used (Ctrl+C stops)");
    login::wait(oauth, &code, cancel).map_err(failed)
}

/// One provider with a key, for [`status`].
struct Row {
    id: String,
    source: String,
    kind: &'static str,
}

/// Says where each key comes from. For one provider, the exit code is 1 when there is none.
///
/// # Errors
/// When the file of keys cannot be read.
pub fn status(id: Option<&str>, options: &Options) -> Result<u8, Failure> {
    let setup = Setup::load(options)?;
    let config = &setup.config;
    if let Some(id) = id {
        known(id, config)?;
    }
    let file = AuthFile::of(setup.home.path());
    let stored = file.all()?;
    let mut ids: Vec<String> = stored.keys().cloned().collect();
    ids.extend(config.model_providers.keys().cloned());
    let env = |name: &str| std::env::var(name).ok();
    ids.extend(provider::with_key(config, &env).into_iter().map(|h| h.id));
    ids.sort();
    ids.dedup();
    let rows: Vec<Row> = ids
        .into_iter()
        .filter(|i| id.is_none_or(|wanted| wanted == i))
        .filter_map(|id| row(id, config, &stored, &file))
        .collect();
    if file.is_open_to_others() {
        eprintln_safe(&format!(
            "interpreter: others can read {0}; run `chmod 600 {0}`",
            file.path().display()
        ));
    }
    if options.json {
        let list: Vec<Value> = rows
            .iter()
            .map(|r| json!({"provider": r.id, "kind": r.kind, "source": r.source}))
            .collect();
        say(&format!("{}\n", json!({"providers": list})))?;
    } else if rows.is_empty() {
        let whom = id.map_or_else(|| "any provider".to_owned(), |id| format!("provider {id}"));
        say(&format!(
            "there is no key for {whom}; `interpreter login PROVIDER` keeps one\n"
        ))?;
    } else {
        let lines = rows
            .iter()
            .map(|r| format!("{:24} {} from {}\n", r.id, r.kind, r.source));
        say(&lines.collect::<String>())?;
    }
    Ok(match rows.is_empty() && id.is_some() {
        true => exit::FAILED,
        false => exit::OK,
    })
}

/// Where the key of a provider comes from, in the order in which it is looked for.
fn row(
    id: String,
    config: &Config,
    stored: &std::collections::BTreeMap<String, Credential>,
    file: &AuthFile,
) -> Option<Row> {
    let entry = config.model_providers.get(&id).map(|e| &e.value);
    let in_config = config.home.as_ref().map_or_else(
        || "the config".into(),
        |h| h.join("config.toml").display().to_string(),
    );
    let (kind, source) = if let Some(auth) = entry.and_then(|e| e.auth.as_ref()) {
        ("key", format!("the command {}", auth.command))
    } else if let Some(variable) = variable_in_use(&id, config) {
        ("key", variable)
    } else if entry.is_some_and(|e| e.experimental_bearer_token.is_some()) {
        ("key", in_config)
    } else {
        let path = file.path().display().to_string();
        match stored.get(&id)? {
            Credential::ApiKey { .. } => ("key", path),
            Credential::Tokens(_) => ("sign-in", path),
        }
    };
    Some(Row { id, source, kind })
}

/// Forgets the key of a provider, or all.
///
/// # Errors
/// When there is none, or the home cannot be written.
pub fn logout(id: Option<&str>, options: &Options) -> Result<u8, Failure> {
    let setup = Setup::load(options)?;
    let file = AuthFile::of(setup.home.path());
    let ids = match id {
        Some(id) => vec![id.to_owned()],
        None => file.all()?.into_keys().collect(),
    };
    let mut gone = Vec::new();
    for id in ids {
        if file.remove(&id)? {
            gone.push(id);
        }
    }
    if gone.is_empty() {
        return Err(match id {
            Some(id) => format!("no key of {id} is kept in {}", file.path().display()),
            None => format!("no key is kept in {}", file.path().display()),
        }
        .into());
    }
    say(&format!("forgotten: {}\n", gone.join(", ")))?;
    for id in &gone {
        if let Some(variable) = variable_in_use(id, &setup.config) {
            eprintln_safe(&format!(
                "interpreter: {variable} is still set and is still used for {id}"
            ));
        }
    }
    Ok(exit::OK)
}
