//! What every command that opens a session needs: home, config, folder, front end.

use crate::agent::event::{Event, Frontend};
use crate::agent::open::{Open, open};
use crate::agent::session::Session;
use crate::cancel::Cancel;
use crate::cli::args::{self, Options};
use crate::config::{self, Config};
use crate::store::paths::Home;
use crate::store::rollout;
use std::path::PathBuf;

/// Home, settings and folder of a run.
pub struct Setup {
    /// The home.
    pub home: Home,
    /// The settings.
    pub config: Config,
    /// The working folder, absolute.
    pub cwd: PathBuf,
}

impl Setup {
    /// Reads them.
    ///
    /// # Errors
    /// One sentence: no home, a folder that is missing, a config that is wrong.
    pub fn load(options: &Options) -> Result<Self, String> {
        let home = Home::from_env().map_err(|e| e.to_string())?;
        let here = std::env::current_dir()
            .map_err(|e| format!("the working folder cannot be read: {e}"))?;
        let cwd = match &options.cd {
            Some(folder) => here.join(folder),
            None => here,
        };
        let cwd = cwd
            .canonicalize()
            .map_err(|e| format!("the folder {} cannot be entered: {e}", cwd.display()))?;
        if !cwd.is_dir() {
            return Err(format!("{} is no folder", cwd.display()));
        }
        let config =
            config::load(home.path(), &cwd, &options.overrides).map_err(|e| e.to_string())?;
        Ok(Setup { home, config, cwd })
    }

    /// The file of the session to go on with.
    ///
    /// # Errors
    /// When there is none.
    pub fn stored(&self, session: &args::Session, all: bool) -> Result<PathBuf, String> {
        match session {
            args::Session::Id(id) => rollout::find(&self.home, id)
                .map(|s| s.path)
                .map_err(|e| e.to_string()),
            args::Session::Last | args::Session::Unnamed => {
                let folder = (!all).then_some(self.cwd.as_path());
                rollout::last(&self.home, folder)
                    .map(|s| s.path)
                    .ok_or_else(|| match all {
                        true => "there is no session yet".to_owned(),
                        false => format!(
                            "there is no session of {} yet; --all looks in every folder",
                            self.cwd.display()
                        ),
                    })
            }
        }
    }

    /// Opens the session, warnings of the config first.
    ///
    /// # Errors
    /// One sentence.
    pub fn open(
        &self,
        options: &Options,
        resume: Option<PathBuf>,
        schema: Option<serde_json::Value>,
        cancel: &Cancel,
        front: &mut dyn Frontend,
    ) -> Result<Session, String> {
        self.config
            .warnings
            .iter()
            .for_each(|w| front.event(&Event::Warning(w.clone())));
        let ask = Open {
            cwd: self.cwd.clone(),
            cwd_named: options.cd.is_some(),
            resume,
            ephemeral: options.ephemeral,
            chat_completions: options.chat_completions,
            schema,
            debug: options.debug,
        };
        let session =
            open(&self.config, &self.home, &ask, cancel, front).map_err(|e| e.to_string())?;
        session.announce(front);
        Ok(session)
    }
}
