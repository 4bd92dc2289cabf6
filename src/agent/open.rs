//! Opening a session: from settings and a folder to something that can run a turn.

use super::approval::Judge;
use super::budget::Budget;
use super::connect::{ConnectError, Connection, Wish, connect};
use super::event::{Event, Frontend};
use super::permissions::{self, permitted};
use super::record::{self, Restored, TurnContext};
use super::session::{Parts, Session};
use crate::cancel::Cancel;
use crate::config::{Config, Marks, Source, environment};
use crate::harnesses::{self, Clues, Context, Harness, Size};
use crate::model::provider::{LocalServer, Provider};
use crate::model::{self, Sampling, WireApi};
use crate::project::undo::Undo;
use crate::project::{Instructions, git, instructions, read_whole, tree};
use crate::sandbox::{Approval, Gate, Mode, Policy, Sandbox};
use crate::store::log::Log;
use crate::store::models::ModelFile;
use crate::store::paths::Home;
use crate::store::rollout::{self, Writer};
use crate::tools::{Setup, Workbench};
use crate::words::nearest;
use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

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
    pub schema: Option<Value>,
    /// Log contents too.
    pub debug: bool,
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
    let restored = match &ask.resume {
        Some(path) => Some(read_back(path, front)?),
        None => None,
    };
    let recorded = restored.as_ref().and_then(|r| r.context.clone());
    let cwd = working_folder(ask, recorded.as_ref(), front);
    let (mut policy, approval) = permitted(config, home, &cwd, recorded.as_ref(), front);
    policy.own_homes.extend(ask.own_homes.iter().cloned());

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
    let connection = connect(config, &wish, cancel, front)?;
    let harness = match named {
        Some(harness) => harness,
        None => {
            let family = connection.info.family.as_deref();
            usual_harness(config, &connection.provider, &connection.model, family).map_err(fail)?
        }
    };
    let size = recorded
        .as_ref()
        .and_then(|r| Size::from_name(&r.harness_size))
        .unwrap_or_else(|| size(config, connection.window.tokens));
    let facts = Facts {
        cwd: &cwd,
        policy: &policy,
        approval,
        size,
        recorded: recorded.as_ref(),
        interactive: front.interactive(),
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
    let id = restored
        .as_ref()
        .map_or_else(|| uuid::Uuid::now_v7().to_string(), |r| r.id.clone());
    let outputs = home.outputs(&id);
    let store = store(home, ask, &id, front)?;
    let variables = variables(config, &policy, &id);
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
    // A stored conversation stands in the calls of the harness that it had.
    let had = recorded.as_ref().map(|r| r.harness.as_str());
    let mut session = Session::new(Parts {
        id,
        connection,
        harness: had.and_then(harnesses::by_id).unwrap_or(harness),
        context,
        workbench,
        judge: Judge::new(approval, policy),
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
        undo,
    });
    if had.is_some_and(|id| id != harness.id()) {
        session.go_on_in(harness, front);
    }
    Ok(session)
}

/// The provider of a stored session; `None` when it cannot be read, which [`open`] will say.
pub fn recorded_provider(path: &Path) -> Option<String> {
    let (lines, _) = rollout::read(path).ok()?;
    record::restore(&lines).context.map(|c| c.model_provider)
}

/// What a harness would know in this folder, without a model: for `harness show`.
///
/// # Errors
/// When `model_instructions_file` cannot be read.
pub fn context(config: &Config, home: &Home, cwd: &Path, size: Size) -> Result<Context, String> {
    let policy = policy(config, home, cwd, None);
    let facts = Facts {
        cwd,
        policy: &policy,
        approval: *config.approval_policy,
        size,
        recorded: None,
        interactive: true,
    };
    let model = config.model.value.clone().unwrap_or_default();
    let window = config.model_context_window.unwrap_or(32_768);
    make_context(config, home, facts, &model, window).map(|(context, _)| context)
}

/// What a context is made from beside settings and project.
struct Facts<'a> {
    cwd: &'a Path,
    policy: &'a Policy,
    approval: Approval,
    size: Size,
    recorded: Option<&'a TurnContext>,
    interactive: bool,
}

/// The context, and warnings about what the project brings.
fn make_context(
    config: &Config,
    home: &Home,
    facts: Facts,
    model: &str,
    window: u32,
) -> Result<(Context, Vec<String>), String> {
    let Facts {
        cwd,
        policy,
        approval,
        size,
        recorded,
        interactive,
    } = facts;
    let git = git::facts(cwd);
    let (instructions, warnings) = instructions_for(config, home, cwd, window);
    let context = Context {
        model: model.to_owned(),
        cwd: cwd.to_owned(),
        git_root: git.as_ref().map(|g| g.root.clone()),
        git_branch: git.as_ref().and_then(|g| g.branch.clone()),
        os: os_name(),
        arch: std::env::consts::ARCH.into(),
        shell: shell_name(&user_shell()),
        date: recorded.map_or_else(today, |r| r.current_date.clone()),
        timezone: recorded.map_or_else(timezone, |r| r.timezone.clone()),
        tree: tree::entries(cwd),
        instructions,
        developer_instructions: config.developer_instructions.value.clone(),
        system_override: read_override(config)?,
        sandbox: permissions::facts(policy, approval),
        size,
        guidance: *config.harness_guidance,
        interactive,
        depth: 0,
    };
    Ok((context, warnings))
}

/// AGENTS.md and its kind, within their share of the window, and warnings about them.
pub(super) fn instructions_for(
    config: &Config,
    home: &Home,
    cwd: &Path,
    window: u32,
) -> (Instructions, Vec<String>) {
    let most = Budget::new(window, None).instruction_bytes() as u64;
    instructions::load(
        cwd,
        home.path(),
        &config.project_root_markers,
        &config.project_doc_fallback_filenames,
        (*config.project_doc_max_bytes).min(most),
        most,
    )
}

/// The environment of commands under that policy.
pub(super) fn variables(
    config: &Config,
    policy: &Policy,
    session: &str,
) -> Vec<(OsString, OsString)> {
    let entries = config.model_providers.values();
    let secrets: Vec<String> = entries.filter_map(|p| p.env_key.clone()).collect();
    let marks = Marks {
        network: has_network(policy),
        session: Some(session),
        secrets: &secrets,
    };
    environment(&config.environment, std::env::vars_os(), marks)
}

pub(super) fn has_network(policy: &Policy) -> bool {
    policy.network || policy.mode == Mode::DangerFullAccess
}

fn read_back(path: &Path, front: &mut dyn Frontend) -> Result<Restored, ConnectError> {
    let (lines, warnings) = rollout::read(path).map_err(|e| {
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
        own_homes: vec![home.path().to_owned()],
        readable: vec![home.all_outputs()],
    }
}

pub(super) fn is_flag(source: &Source) -> bool {
    matches!(source, Source::Flag(_))
}

/// The harness that was named, on the command line, in the session or in the config.
pub(super) fn named_harness(
    config: &Config,
    recorded: Option<&TurnContext>,
) -> Result<Option<&'static dyn Harness>, String> {
    let recorded = recorded
        .filter(|_| !is_flag(&config.harness.source))
        .map(|r| r.harness.clone());
    let Some(id) = recorded.or_else(|| config.harness.value.clone()) else {
        return Ok(None);
    };
    // An empty name pins the native harness, as users of the original know it.
    let id = if id.is_empty() { "native" } else { id.as_str() };
    known_harness(id).map(Some)
}

/// The harness that the config has for this model.
fn own_harness(config: &Config, model: &str) -> Result<Option<&'static dyn Harness>, String> {
    let id = config.model_harness.get(model);
    id.map(|id| known_harness(id).map_err(|e| format!("model_harness of {model}: {e}")))
        .transpose()
}

/// Models for which the config has a harness that needs no tool calls.
fn text_models(config: &Config) -> Vec<String> {
    let reads_text = |id: &str| harnesses::by_id(id).is_some_and(|h| h.reads_text());
    let rows = config.model_harness.iter();
    rows.filter(|(_, id)| reads_text(id))
        .map(|(model, _)| model.clone())
        .collect()
}

/// The harness of that id.
///
/// # Errors
/// A sentence that names the known ones.
pub fn known_harness(id: &str) -> Result<&'static dyn Harness, String> {
    harnesses::by_id(id).ok_or_else(|| {
        let known: Vec<_> = harnesses::ALL.iter().map(|h| h.id()).collect();
        let near = nearest(id, known.iter().copied())
            .map(|n| format!("did you mean {n}? "))
            .unwrap_or_default();
        format!(
            "there is no harness `{id}`; {near}known are {}",
            known.join(", ")
        )
    })
}

/// The harness for a model when none was named: what the config has for it, else that of its
/// family. `family` is what the server says.
///
/// # Errors
/// When the config names one that does not exist.
pub fn usual_harness(
    config: &Config,
    provider: &Provider,
    model: &str,
    family: Option<&str>,
) -> Result<&'static dyn Harness, String> {
    if let Some(own) = own_harness(config, model)? {
        return Ok(own);
    }
    let id = harnesses::for_model(Clues {
        model,
        family,
        provider_id: &provider.id,
        provider_name: &provider.name,
        base_url: &provider.base_url,
        messages: provider.wire == WireApi::Messages,
    });
    known_harness(id.unwrap_or(harnesses::GENERAL))
}

/// The size of a harness in a new session with so large a window.
pub(super) fn size(config: &Config, window: u32) -> Size {
    let named = config.harness_size.as_deref().and_then(Size::from_name);
    named.unwrap_or_else(|| Size::for_window(window))
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
    let knows_no_model = connection.provider.local == Some(LocalServer::LlamaServer);
    if config.sampling.is_default() && knows_no_model {
        return model::sampling::for_model(&connection.model);
    }
    config.sampling.value.clone()
}

/// The user's shell, or what this system has.
fn user_shell() -> PathBuf {
    std::env::var_os("SHELL")
        .filter(|s| !s.is_empty())
        .map_or_else(|| PathBuf::from("/bin/sh"), PathBuf::from)
}

/// The name of the shell that really runs commands.
fn shell_name(user: &Path) -> String {
    let kind = crate::tools::action::ShellKind::User { login: false };
    let (program, _) = crate::tools::shell_argv(&kind, user, "");
    Path::new(&program)
        .file_name()
        .map_or_else(|| "sh".into(), |n| n.to_string_lossy().into_owned())
}

/// For example `Linux 6.8.0`.
fn os_name() -> String {
    let name = match std::env::consts::OS {
        "linux" => "Linux",
        "macos" => "macOS",
        "windows" => "Windows",
        other => other,
    };
    match std::fs::read_to_string("/proc/sys/kernel/osrelease") {
        Ok(release) => format!("{name} {}", release.trim()),
        Err(_) => name.to_owned(),
    }
}

fn today() -> String {
    jiff::Zoned::now().strftime("%Y-%m-%d").to_string()
}

fn timezone() -> String {
    jiff::tz::TimeZone::system()
        .iana_name()
        .unwrap_or("UTC")
        .to_owned()
}
