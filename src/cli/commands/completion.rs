//! `interpreter completion`: scripts for shells, the manual page, and the candidates that the scripts
//! ask for.

use super::models;
use super::session::Setup;
use crate::agent::stored;
use crate::cancel::Cancel;
use crate::cli::args::{self, Completion, Options};
use crate::cli::completion::{Live, SHELLS, candidates, lines};
use crate::cli::{Failure, manual, say};
use crate::config::profile_names;
use crate::model::catalog::Catalog;
use crate::model::provider::BUILTIN;
use crate::store::paths::Home;
use std::time::Duration;

/// How long somebody who pressed a key may wait for what a server or the disk says.
const PATIENCE: Duration = Duration::from_secs(2);
/// The most sessions that are offered.
const SESSIONS: usize = 50;

/// Prints what was asked for.
///
/// # Errors
/// When standard output is closed.
pub fn run(what: &Completion) -> Result<u8, Failure> {
    match what {
        Completion::Manual => say(&manual::page()),
        Completion::Script(shell) => {
            let script = SHELLS.iter().find(|(name, _)| name == shell);
            say(script.map_or("", |(_, text)| text))
        }
        Completion::Words { current, before } => {
            let machine = Machine::new(before);
            say(&lines(&candidates(before, current, &machine)))
        }
    }
}

/// What this machine has, as the flags on the line want it looked at.
struct Machine {
    options: Options,
    cancel: Cancel,
}

impl Machine {
    fn new(before: &[String]) -> Machine {
        // A line that is not finished is often no valid one; without its flags, then.
        let options = args::parse(before).map(|line| line.options);
        let cancel = Cancel::new();
        let late = cancel.clone();
        std::thread::spawn(move || {
            std::thread::sleep(PATIENCE);
            late.cancel();
        });
        Machine {
            options: options.unwrap_or_default(),
            cancel,
        }
    }
}

impl Live for Machine {
    fn models(&self) -> Vec<(String, String)> {
        models::names(&self.options, &self.cancel)
    }

    fn sessions(&self) -> Vec<(String, String)> {
        let Ok(home) = Home::from_env() else {
            return Vec::new();
        };
        let shelf = stored::all(&home, &self.cancel);
        let newest = shelf.sessions.into_iter().take(SESSIONS);
        newest
            .map(|session| (session.id.clone(), session.name().to_owned()))
            .collect()
    }

    fn profiles(&self) -> Vec<String> {
        Home::from_env().map_or_else(|_| Vec::new(), |home| profile_names(home.path()))
    }

    fn providers(&self) -> Vec<(String, String)> {
        let home = Home::from_env().ok();
        let hosted = Catalog::of(home.as_ref().map(Home::path)).providers();
        let local = BUILTIN.iter().map(|b| (b.id.to_owned(), b.name.to_owned()));
        local
            .chain(hosted.into_iter().map(|h| (h.id, h.name)))
            .collect()
    }

    fn servers(&self) -> Vec<String> {
        let setup = Setup::load(&self.options);
        setup.map_or_else(
            |_| Vec::new(),
            |setup| setup.config.mcp_servers.keys().cloned().collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_stand_in_the_config_and_beside_it() {
        let home = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(home.path().join(name), text).unwrap();
        write("config.toml", "[profiles.slow]\nmodel = \"a\"\n");
        write("fast.config.toml", "");
        assert_eq!(profile_names(home.path()), ["fast", "slow"]);
        write("config.toml", "[[[");
        assert_eq!(profile_names(home.path()), ["fast"]);
    }
}
