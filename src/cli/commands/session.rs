//! What every command that opens a session needs: home, config, folder, front end.

use crate::agent::event::{Event, Frontend};
use crate::agent::offline;
use crate::agent::open::{Open, open, recorded_provider};
use crate::agent::schema::AnswerSchema;
use crate::agent::session::Session;
use crate::cancel::Cancel;
use crate::cli::args::Options;
use crate::cli::trust;
use crate::config::{self, Config, McpServer};
use crate::sandbox::Offline;
use crate::store::paths::Home;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Home, settings and folder of a run.
pub struct Setup {
    /// The home.
    pub home: Home,
    /// The settings.
    pub config: Config,
    /// The working folder, absolute.
    pub cwd: PathBuf,
    /// How `--offline` holds, when it was asked for.
    pub offline: Option<Offline>,
    /// A person can be asked, though not while a session is opened.
    pub asks_later: bool,
    /// Further MCP servers, by name.
    pub mcp_servers: Vec<(String, McpServer)>,
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
        let config = read(&home, &cwd, options)?;
        let mut setup = Setup {
            home,
            config,
            cwd,
            offline: None,
            asks_later: false,
            mcp_servers: Vec::new(),
        };
        if options.trust {
            trust::accept(&setup.home, &setup.config.trust, true)?;
            setup.reload(options)?;
        }
        Ok(setup)
    }

    /// Reads the settings again, after one of their files was changed.
    ///
    /// # Errors
    /// When they are wrong.
    pub fn reload(&mut self, options: &Options) -> Result<(), String> {
        self.config = read(&self.home, &self.cwd, options)?;
        Ok(())
    }

    /// Puts the kernel's rules of `--offline` on this process, where that is asked for: before any
    /// thread starts. `resume` is the session to go on with, whose provider will be used.
    ///
    /// # Errors
    /// When the provider cannot be used offline.
    pub fn hold_offline(&mut self, resume: Option<&Path>) -> Result<(), String> {
        let recorded = resume.filter(|_| *self.config.offline);
        let recorded = recorded.and_then(recorded_provider);
        self.offline =
            offline::hold(&self.config, recorded.as_deref()).map_err(|e| e.to_string())?;
        Ok(())
    }

    /// Says how `--offline` holds, where it was asked for.
    pub fn tell_offline(&self, front: &mut dyn Frontend) {
        match &self.offline {
            Some(held @ Offline::Enforced(_)) => front.event(&Event::Note(held.to_string())),
            Some(asked) => front.event(&Event::Warning(asked.to_string())),
            None => {}
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
        schema: Option<Arc<AnswerSchema>>,
        cancel: &Cancel,
        front: &mut dyn Frontend,
    ) -> Result<Session, String> {
        self.config
            .warnings
            .iter()
            .for_each(|w| front.event(&Event::Warning(w.clone())));
        self.tell_offline(front);
        if let Err(e) = self.config.trust.pin(self.home.path()) {
            front.event(&Event::Warning(format!("what is trusted is not kept: {e}")));
        }
        let ask = Open {
            schema,
            resume,
            ..self.ask(options)
        };
        let session =
            open(&self.config, &self.home, &ask, cancel, front).map_err(|e| e.to_string())?;
        session.announce(front);
        Ok(session)
    }

    /// What the flags ask of every session.
    pub fn ask(&self, options: &Options) -> Open {
        Open {
            cwd: self.cwd.clone(),
            cwd_named: options.cd.is_some(),
            ephemeral: options.ephemeral,
            asks_later: self.asks_later,
            mcp_servers: self.mcp_servers.clone(),
            chat_completions: options.chat_completions,
            debug: options.debug,
            ignore_rules: options.ignore_rules,
            all_hooks: options.all_hooks,
            ..Open::default()
        }
    }
}

fn read(home: &Home, cwd: &Path, options: &Options) -> Result<Config, String> {
    let config = config::load(home.path(), cwd, &options.overrides).map_err(|e| e.to_string())?;
    match config.warnings.first().filter(|_| options.strict_config) {
        Some(warning) => Err(format!("{warning} (--strict-config)")),
        None => Ok(config),
    }
}
