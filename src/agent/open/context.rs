//! What a harness knows of the place it works in: folder, system, git, instructions, skills.

use super::{policy, read_override};
use crate::agent::budget::Budget;
use crate::agent::permissions::{self};
use crate::agent::record::TurnContext;
use crate::config::Config;
use crate::harnesses::{Context, Size};
use crate::project::skills::Skills;
use crate::project::{Instructions, git, instructions, tree};
use crate::sandbox::{Approval, Policy};
use crate::store::paths::Home;
use std::path::{Path, PathBuf};

/// What a harness would know in this folder, without a model: for `harness show`.
///
/// # Errors
/// When `model_instructions_file` cannot be read.
pub fn context(config: &Config, home: &Home, cwd: &Path, size: Size) -> Result<Context, String> {
    let policy = policy(config, home, cwd, None);
    let skills = Skills::load(config, home.path(), cwd);
    let facts = Facts {
        cwd,
        policy: &policy,
        approval: *config.approval_policy,
        size,
        recorded: None,
        interactive: true,
        base_instructions: None,
        skills: &skills,
    };
    let model = config.model.value.clone().unwrap_or_default();
    let window = config.model_context_window.unwrap_or(32_768);
    make_context(config, home, facts, &model, window).map(|(context, _)| context)
}

/// What a context is made from beside settings and project.
pub(super) struct Facts<'a> {
    pub cwd: &'a Path,
    pub policy: &'a Policy,
    pub approval: Approval,
    pub size: Size,
    pub recorded: Option<&'a TurnContext>,
    pub interactive: bool,
    pub base_instructions: Option<String>,
    pub skills: &'a Skills,
}

/// The context, and warnings about what the project brings.
pub(super) fn make_context(
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
        base_instructions,
        skills,
    } = facts;
    let git = git::facts(cwd);
    let (instructions, mut warnings) = instructions_for(config, home, cwd, window);
    warnings.extend(skills.warnings.iter().cloned());
    let (listed, cut) = skills.listing(Budget::new(window, None).skill_bytes());
    warnings.extend(cut);
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
        skills: listed,
        developer_instructions: config.developer_instructions.value.clone(),
        system_override: match base_instructions {
            Some(text) => Some(text),
            None => read_override(config)?,
        },
        sandbox: permissions::facts(policy, approval),
        size,
        guidance: *config.harness_guidance,
        interactive,
        offline: *config.offline,
        depth: 0,
    };
    Ok((context, warnings))
}

/// AGENTS.md and its kind, within their share of the window, and warnings about them.
pub(in crate::agent) fn instructions_for(
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

/// The user's shell, or what this system has.
pub(super) fn user_shell() -> PathBuf {
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
