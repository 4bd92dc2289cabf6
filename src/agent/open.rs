//! Opening a session: from settings and a folder to something that can run a turn.

mod choice;
mod context;

pub use choice::{known_harness, usual_harness};
pub(super) use choice::{named_harness, size};
pub use context::context;
pub(super) use context::instructions_for;

use super::approval::Judge;
use super::approval::rules::Rules;
use super::connect::{ConnectError, Connection, Wish, connect};
use super::event::{Event, Frontend};
use super::hosted;
use super::mcp::McpServers;
use super::permissions::permitted;
use super::record::{self, Restored, TurnContext};
use super::schema::AnswerSchema;
use super::session::{Parts, Session};
use crate::cancel::Cancel;
use crate::config::{Config, EnvironmentPolicy, Marks, McpServer, Source, environment};
use crate::harnesses::{self, Size};
use crate::model::provider::{self, LocalServer};
use crate::model::{self, Sampling};
use crate::project::hooks::Hooks;
use crate::project::skills::Skills;
use crate::project::undo::Undo;
use crate::project::{instructions, read_whole};
use crate::sandbox::{Gate, Mode, Policy, Sandbox};
use crate::store::log::Log;
use crate::store::models::ModelFile;
use crate::store::paths::Home;
use crate::store::rollout::Writer;
use crate::tools::{Setup, Workbench};
use choice::text_models;
use context::{Facts, make_context, user_shell};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The most bytes of a `model_instructions_file`.
const MOST_INSTRUCTIONS: u64 = 1 << 20;

/// What a front end asks for beside the settings.
#[derive(Debug, Clone, Default)]
pub struct Open {
    /// The working folder, absolute.
    pub cwd: PathBuf,
    /// The working folder was named on the command line.
    pub cwd_named: bool,
    /// The file of the session to go on with.
    pub resume: Option<PathBuf>,
    /// Keep no file.
    pub ephemeral: bool,
    /// Use the `chat` wire for this run.
    pub chat_completions: bool,
    /// A schema for the answer.
    pub schema: Option<Arc<AnswerSchema>>,
    /// Read no rules about commands.
    pub ignore_rules: bool,
    /// Run hooks that nobody looked at, too.
    pub all_hooks: bool,
    /// A person can be asked later, though not while the session is opened.
    pub asks_later: bool,
    /// Log contents too.
    pub debug: bool,
    /// Further MCP servers, by name, in place of those of the config with the same name.
    pub mcp_servers: Vec<(String, McpServer)>,
    /// A text in place of the system prompt.
    pub base_instructions: Option<String>,
    /// Folders of ours beside the home that tools may neither read nor write.
    pub own_homes: Vec<PathBuf>,
}

/// Opens a session.
///
/// # Errors
/// One sentence: no server, no model, an unreadable session, a file that cannot be made.
pub fn open(
    config: &Config,
    home: &Home,
    ask: &Open,
    cancel: &Cancel,
    front: &mut dyn Frontend,
) -> Result<Session, ConnectError> {
    let fail = |text: String| ConnectError(text);
    let mut restored = match &ask.resume {
        Some(path) => Some(read_back(path, front)?),
        None => None,
    };
    let recorded = restored.as_ref().and_then(|r| r.context.clone());
    let cwd = working_folder(ask, recorded.as_ref(), front);
    let (mut policy, approval) = permitted(config, home, &cwd, recorded.as_ref(), front);
    policy.own_homes.extend(ask.own_homes.iter().cloned());
    let rules = match ask.ignore_rules {
        true => Rules::default(),
        false => {
            let (rules, warnings) = Rules::load(config, home.path()).map_err(fail)?;
            warnings
                .into_iter()
                .for_each(|w| front.event(&Event::Warning(w)));
            rules
        }
    };

    let named = named_harness(config, recorded.as_ref()).map_err(fail)?;
    let wish = Wish {
        chat_completions: ask.chat_completions,
        resumed: recorded
            .as_ref()
            .map(|r| (r.model_provider.clone(), r.model.clone())),
        without_tools: named.is_some_and(|h| h.reads_text()),
        text_models: match named {
            Some(_) => Vec::new(),
            None => text_models(config),
        },
    };
    let id = restored
        .as_ref()
        .map_or_else(|| uuid::Uuid::now_v7().to_string(), |r| r.id.clone());
    let outputs = home.outputs(&id);
    // Beside everything that takes time here.
    let mcp = McpServers::start(
        config,
        &ask.mcp_servers,
        cwd.clone(),
        outputs.clone(),
        ask.asks_later || front.interactive(),
    );
    let connection = connect(config, &wish, cancel, front)?;
    if let (Some(was), Some(restored)) = (&recorded, &mut restored) {
        let env = |name: &str| std::env::var(name).ok();
        let address = provider::address_of(&was.model_provider, config, &env);
        let was_local = address.is_ok_and(|url| provider::is_local(&url));
        let from = (was.model_provider.as_str(), was.model.as_str(), was_local);
        if let Some((transcript, lost)) =
            hosted::handed_over(&restored.transcript, from, &connection)
        {
            restored.transcript = transcript;
            if lost > 0 {
                let text = hosted::lost_thoughts(lost, &was.model, &connection.model);
                front.event(&Event::Note(text));
            }
        }
    }
    mcp.require(cancel).map_err(fail)?;
    let harness = match named {
        Some(harness) => harness,
        None => {
            let family = connection.info.family.as_deref();
            usual_harness(config, &connection.provider, &connection.model, family).map_err(fail)?
        }
    };
    let had_size = recorded
        .as_ref()
        .and_then(|r| Size::from_name(&r.harness_size));
    let kept = had_size.filter(|_| !is_flag(&config.harness_size.source));
    let size = kept.unwrap_or_else(|| size(config, connection.window.tokens));
    let mut skills = Skills::load(config, home.path(), &cwd);
    if let Some(restored) = &restored {
        skills.turn_all(restored.memory.skills.clone());
    }
    let facts = Facts {
        cwd: &cwd,
        policy: &policy,
        approval,
        size,
        recorded: recorded.as_ref(),
        interactive: ask.asks_later || front.interactive(),
        base_instructions: ask.base_instructions.clone(),
        skills: &skills,
    };
    let (context, warnings) = make_context(
        config,
        home,
        facts,
        &connection.model,
        connection.window.tokens,
    )
    .map_err(fail)?;
    warnings
        .into_iter()
        .for_each(|w| front.event(&Event::Warning(w)));
    let store = store(home, ask, &id, front)?;
    let shell_environment = ShellEnvironment::of(config);
    let variables = shell_environment.variables(&policy, &id);
    let sampling = sampling(config, &connection);
    let kept = recorded.as_ref().and_then(|r| r.effort.clone());
    let kept = kept.filter(|_| !is_flag(&config.model_reasoning_effort.source));
    let effort = kept.or_else(|| config.model_reasoning_effort.value.clone());
    let log = Log::new(
        config
            .log_dir
            .value
            .clone()
            .unwrap_or_else(|| home.log_dir()),
        ask.debug,
    );
    let workbench = Workbench::new(Setup {
        cwd: cwd.clone(),
        gate: Gate::new(&policy, &cwd),
        sandbox: Sandbox::new(policy.clone()),
        outputs,
        environment: variables,
        shell: user_shell(),
    });
    let undo = store
        .is_some()
        .then(|| Undo::open(home.undo(&id), &cwd, vec![home.path().to_owned()]));
    let hooks = Hooks::load(config, home.path(), &cwd, ask.all_hooks);
    for warning in &hooks.warnings {
        front.event(&Event::Warning(warning.clone()));
    }
    // A stored conversation stands in the calls of the harness that it had.
    let had = recorded.as_ref().map(|r| r.harness.as_str());
    let mut session = Session::new(Parts {
        id,
        connection,
        harness: had.and_then(harnesses::by_id).unwrap_or(harness),
        context,
        workbench,
        judge: Judge::new(approval, policy).with_rules(rules),
        cancel: cancel.clone(),
        store,
        learnt: ModelFile::of(home, !ask.ephemeral),
        log,
        restored,
        max_steps: *config.max_steps,
        result_limit: *config.tool_output_token_limit,
        sampling,
        may_vary: config.sampling.is_default(),
        effort,
        schema: ask.schema.clone(),
        shell_environment,
        undo,
        hooks,
        skills,
        notify: config.notify.value.clone(),
        mcp,
        doc_names: instructions::names(
            &config.project_doc_fallback_filenames,
            *config.project_doc_max_bytes,
        ),
    });
    if had.is_some_and(|id| id != harness.id()) {
        let said = format!("the harness is {} now", harness.id());
        session.go_on_in(harness, &said, front);
    } else if had_size.is_some_and(|had| had != size) {
        let said = format!("the size of the harness is {} now", size.name());
        session.go_on_in(harness, &said, front);
    }
    Ok(session)
}

/// The provider of a stored session; `None` when it cannot be read, which [`open`] will say.
pub fn recorded_provider(path: &Path) -> Option<String> {
    record::last_context(path).map(|c| c.model_provider)
}

/// What the environment of commands is made by.
#[derive(Debug, Clone)]
pub struct ShellEnvironment {
    policy: EnvironmentPolicy,
    /// Variables that hold keys.
    secrets: Vec<String>,
}

impl ShellEnvironment {
    fn of(config: &Config) -> Self {
        let entries = config.model_providers.values();
        let mut secrets: Vec<String> = entries.filter_map(|p| p.env_key.clone()).collect();
        // Some keys of hosted providers have names that do not look like secrets.
        if let Some(id) = &*config.model_provider {
            secrets.extend(provider::key_variables(id, config));
        }
        ShellEnvironment {
            policy: config.environment.value.clone(),
            secrets,
        }
    }

    /// The variables of commands under that policy.
    pub(super) fn variables(&self, policy: &Policy, session: &str) -> Vec<(OsString, OsString)> {
        let marks = Marks {
            network: has_network(policy),
            session: Some(session),
            secrets: &self.secrets,
        };
        environment(&self.policy, std::env::vars_os(), marks)
    }
}

pub(super) fn has_network(policy: &Policy) -> bool {
    policy.network || policy.mode == Mode::DangerFullAccess
}

fn read_back(path: &Path, front: &mut dyn Frontend) -> Result<Restored, ConnectError> {
    let (lines, warnings) = record::lines_to_restore(path).map_err(|e| {
        ConnectError(format!(
            "the session {} cannot be read: {e}",
            path.display()
        ))
    })?;
    warnings
        .into_iter()
        .for_each(|w| front.event(&Event::Warning(w)));
    let restored = record::restore(&lines);
    if restored.id.is_empty() {
        return Err(ConnectError(format!(
            "{} is no session file: it has no session_meta line",
            path.display()
        )));
    }
    Ok(restored)
}

/// The folder of a resumed session, unless another is named or it is gone.
fn working_folder(ask: &Open, recorded: Option<&TurnContext>, front: &mut dyn Frontend) -> PathBuf {
    match recorded {
        Some(r) if !ask.cwd_named && r.cwd.is_dir() => r.cwd.clone(),
        // Its name is not UTF-8, so it was recorded with replacements.
        Some(r) if r.cwd.as_os_str() == &*ask.cwd.to_string_lossy() => ask.cwd.clone(),
        Some(r) if !ask.cwd_named => {
            front.event(&Event::Warning(format!(
                "the session's folder {} is gone; working in {}",
                r.cwd.display(),
                ask.cwd.display()
            )));
            ask.cwd.clone()
        }
        _ => ask.cwd.clone(),
    }
}

/// The sandbox policy. A resumed session keeps its own unless a flag says otherwise.
pub fn policy(config: &Config, home: &Home, cwd: &Path, recorded: Option<&TurnContext>) -> Policy {
    let kept = recorded
        .filter(|_| !is_flag(&config.sandbox_mode.source))
        .map(|r| &r.sandbox_policy);
    let mode = kept
        .and_then(|k| Mode::from_name(&k.mode))
        .unwrap_or(*config.sandbox_mode);
    let network = kept
        .filter(|_| !is_flag(&config.network_access.source))
        .map_or(*config.network_access, |k| k.network_access);
    let mut roots = vec![cwd.to_owned()];
    match kept.filter(|_| !is_flag(&config.writable_roots.source)) {
        Some(kept) => roots.extend(kept.writable_roots.clone()),
        None => roots.extend(config.writable_roots.value.clone()),
    }
    Policy {
        mode,
        roots,
        network: network && mode == Mode::WorkspaceWrite,
        slash_tmp: !*config.exclude_slash_tmp,
        tmpdir: !*config.exclude_tmpdir_env_var,
        own_homes: own_homes(config, home),
        readable: vec![home.all_outputs(), home.path().join("skills")],
    }
}

/// Folders that nothing may look into: our home, the usual one where it was moved, and those of the
/// config.
fn own_homes(config: &Config, home: &Home) -> Vec<PathBuf> {
    let usual = std::env::home_dir().map(|h| h.join(".openinterpreter"));
    let mut all = vec![home.path().to_owned()];
    all.extend(usual.filter(|u| u.is_dir()));
    all.extend(config.deny_read.value.iter().cloned());
    all.dedup();
    all
}

pub(super) fn is_flag(source: &Source) -> bool {
    matches!(source, Source::Flag(_))
}

fn store(
    home: &Home,
    ask: &Open,
    id: &str,
    front: &mut dyn Frontend,
) -> Result<Option<Writer>, ConnectError> {
    if ask.ephemeral {
        return Ok(None);
    }
    let opened = match &ask.resume {
        Some(path) => Writer::append_to(path),
        None => Writer::create(home, id, &jiff::Zoned::now()),
    };
    match opened {
        Ok(writer) => Ok(Some(writer)),
        Err(e) if ask.resume.is_some() => Err(ConnectError(format!(
            "the session cannot be continued: {e}"
        ))),
        Err(e) => {
            front.event(&Event::Warning(format!("this session is not kept: {e}")));
            Ok(None)
        }
    }
}

fn read_override(config: &Config) -> Result<Option<String>, String> {
    let Some(path) = &*config.model_instructions_file else {
        return Ok(None);
    };
    read_whole(path, MOST_INSTRUCTIONS).map(Some).map_err(|e| {
        format!(
            "model_instructions_file {} cannot be read: {e}",
            path.display()
        )
    })
}

/// The user's sampling values; without any, those of the model's family where the server has none.
pub(super) fn sampling(config: &Config, connection: &Connection) -> Sampling {
    let listed = connection.info.listed.as_ref();
    if listed.is_some_and(|m| m.fixed_sampling) {
        return Sampling::default();
    }
    let knows_no_model = connection.provider.local == Some(LocalServer::LlamaServer);
    if config.sampling.is_default() && knows_no_model {
        return model::sampling::for_model(&connection.model);
    }
    config.sampling.value.clone()
}
