//! The layers and their order, and the [`Config`] made from them.

use super::file::{self, Node};
use super::values::{Layer, Values};
use super::{
    Config, ConfigError, EnvironmentPolicy, McpServer, Notifications, Overrides, ProviderEntry,
    Setting, Source, keys,
};
use crate::sandbox::{Approval, Mode};
use crate::store::StoreError;
use crate::store::belongings::Belongings;
use crate::store::paths::canonical;
use crate::store::trust::{self, Pins, Standing};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use toml::Value;

/// The most tries that a provider may be told to make.
const MAX_RETRIES: u32 = 100;

/// Reads every layer: defaults, `home/config.toml`, the files of a trusted project from its root
/// down to `cwd`, the profile, `-c` and flags.
///
/// `cwd` is the working folder of the session. Nothing is written. The first value that is wrong
/// ends it; keys that have no effect become [`Config::warnings`].
pub fn load(home: &Path, cwd: &Path, overrides: &Overrides) -> Result<Config, ConfigError> {
    let mut warnings = Vec::new();
    let user_file = home.join("config.toml");
    let user = match overrides.ignore_user_config {
        true => Node::empty(),
        false => tree(&user_file)?.unwrap_or_else(Node::empty),
    };
    let flags = overrides.layers()?;

    // What is the user's own decides which project is trusted, and so which further files count.
    let mut values = Values::defaults();
    let name = user_file.display().to_string();
    let user_layer = Layer {
        source: Source::User(user_file.clone()),
        name: &name,
        base: home,
        prefix: "",
    };
    values.add(&user_layer, &user, &mut warnings)?;
    let mut own = values.clone();
    add_flags(&mut own, &flags, cwd, &mut Vec::new())?;
    let profile = overrides.profile.clone().or(own.text("profile").value);
    let markers = own.texts("project_root_markers").value;
    let trusted = trusted_folders(&own);

    let trust = Trust::of(home, cwd, &markers, &trusted);
    if let Some(words) = trust.ignored(home) {
        warnings.push(words);
    }
    for file in trust.files() {
        let Some(project) = tree(file)? else {
            continue;
        };
        let name = file.display().to_string();
        let layer = Layer {
            source: Source::Project(file.clone()),
            name: &name,
            base: file.parent().unwrap_or(cwd),
            prefix: "",
        };
        values.add(&layer, &project, &mut warnings)?;
    }
    if let Some(name) = &profile {
        add_profile(&mut values, name, home, &user_file, &user, &mut warnings)?;
    }
    add_flags(&mut values, &flags, cwd, &mut warnings)?;

    let mut config = config(&values);
    let added = overrides.add_dirs.iter().map(|dir| cwd.join(dir));
    config.writable_roots.value.extend(added);
    if let (Some(dir), true) = (
        overrides.add_dirs.last(),
        config.writable_roots.is_default(),
    ) {
        config.writable_roots.source = Source::Flag(format!("--add-dir {}", dir.display()));
    }
    config.projects = trusted;
    config.trust = trust;
    config.user_file = (!overrides.ignore_user_config).then_some(user_file);
    config.profile = profile;
    config.home = Some(home.to_owned());
    config.warnings = warnings;
    Ok(config)
}

impl Config {
    /// The same settings with these keys set on top, as flags are. `by` says who set them.
    ///
    /// # Errors
    /// When a value is none that the key may have.
    pub fn changed(
        &self,
        changes: &[(&'static str, Value)],
        by: &str,
    ) -> Result<Config, ConfigError> {
        let mut overrides = Overrides::default();
        for (key, value) in changes {
            overrides.set(key, value.clone(), by);
        }
        let mut values = self.values.clone();
        add_flags(
            &mut values,
            &overrides.layers()?,
            Path::new(""),
            &mut Vec::new(),
        )?;
        let mut config = config(&values);
        config.writable_roots = self.writable_roots.clone();
        config.projects = self.projects.clone();
        config.trust = self.trust.clone();
        config.user_file = self.user_file.clone();
        config.profile = self.profile.clone();
        config.home = self.home.clone();
        config.warnings = self.warnings.clone();
        Ok(config)
    }
}

/// The tree of a file, if there is one.
fn tree(path: &Path) -> Result<Option<Node>, ConfigError> {
    let text = file::read(path)?;
    text.map(|t| file::parse(&t, &path.display().to_string()))
        .transpose()
}

fn add_flags(
    values: &mut Values,
    flags: &[(Source, Node)],
    cwd: &Path,
    warnings: &mut Vec<String>,
) -> Result<(), ConfigError> {
    for (source, node) in flags {
        let name = source.to_string();
        let layer = Layer {
            source: source.clone(),
            name: &name,
            base: cwd,
            prefix: "",
        };
        values.add(&layer, node, warnings)?;
    }
    Ok(())
}

/// Adds the table `[profiles.NAME]` of the user's file, and over it the file `NAME.config.toml`.
fn add_profile(
    values: &mut Values,
    name: &str,
    home: &Path,
    user_file: &Path,
    user: &Node,
    warnings: &mut Vec<String>,
) -> Result<(), ConfigError> {
    let tables = user.child("profiles");
    let table = tables.and_then(|t| t.child(name));
    // A name is never a way out of the home folder.
    let plain = !name.is_empty() && !name.contains(['/', '\\', ':']);
    let path = home.join(format!("{name}.config.toml"));
    let file = if plain { tree(&path)? } else { None };
    if table.is_none() && file.is_none() {
        return Err(ConfigError::Profile {
            name: name.to_owned(),
            known: known_profiles(home, tables),
            file: user_file.to_owned(),
        });
    }
    let source = Source::Profile(name.to_owned());
    let parts = [
        (table, user_file, format!("profiles.{name}.")),
        (file.as_ref(), path.as_path(), String::new()),
    ];
    for (node, path, prefix) in parts {
        let Some(node) = node else { continue };
        let layer = Layer {
            source: source.clone(),
            name: &path.display().to_string(),
            base: home,
            prefix: &prefix,
        };
        values.add(&layer, node, warnings)?;
    }
    Ok(())
}

/// The names of all profiles: those in the config of the home folder, and those in files of their own.
pub fn profile_names(home: &Path) -> Vec<String> {
    let user = tree(&home.join("config.toml")).ok().flatten();
    known_profiles(home, user.as_ref().and_then(|u| u.child("profiles")))
}

fn known_profiles(home: &Path, tables: Option<&Node>) -> Vec<String> {
    let inside = tables.into_iter().flat_map(|t| t.children());
    let mut known: Vec<String> = inside.map(|(name, _)| name.clone()).collect();
    known.extend(profile_files(home));
    known.sort();
    known.dedup();
    known
}

/// Names of the files `NAME.config.toml` in the home folder.
fn profile_files(home: &Path) -> Vec<String> {
    const MOST: usize = 1000;
    let entries = fs::read_dir(home)
        .into_iter()
        .flatten()
        .take(MOST)
        .flatten();
    entries
        .filter_map(|e| e.file_name().into_string().ok())
        .filter_map(|n| n.strip_suffix(".config.toml").map(str::to_owned))
        .collect()
}

/// `[projects."PATH"] trust_level` of the layers that are the user's own.
fn trusted_folders(values: &Values) -> BTreeMap<PathBuf, bool> {
    let projects = values.table(&["projects"]).value;
    projects
        .into_iter()
        .filter_map(|(path, entry)| {
            let level = entry.get("trust_level")?.as_str()?;
            Some((PathBuf::from(path), level == "trusted"))
        })
        .collect()
}

/// What the project around the working folder brings, and whether it counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trust {
    /// How the project stands.
    pub standing: Standing,
    /// What it brings.
    pub brought: Belongings,
    /// The folder that trust is given to.
    pub folder: PathBuf,
}

impl Trust {
    fn of(home: &Path, cwd: &Path, markers: &[String], trusted: &BTreeMap<PathBuf, bool>) -> Self {
        let cwd = canonical(cwd);
        let root = trust::project_root(&cwd, markers);
        let brought = Belongings::of(&root, &cwd, &canonical(home));
        let folder = trust::trust_root(&root);
        let pins = Pins::read(home);
        let standing = trust::standing(
            trust::level(trusted, &cwd, &root),
            pins.projects.get(&folder),
            brought.digests.as_ref(),
        );
        Trust {
            standing,
            brought,
            folder,
        }
    }

    /// True when what the project brings counts.
    pub fn holds(&self) -> bool {
        self.standing == Standing::Trusted
    }

    /// The config files that count, from the root of the project down.
    fn files(&self) -> &[PathBuf] {
        if self.holds() {
            &self.brought.configs
        } else {
            &[]
        }
    }

    /// Keeps for what exactly the trust is that the user's config gives.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn pin(&self, home: &Path) -> Result<(), StoreError> {
        // Nothing is kept as well: what comes later was not there.
        let (true, Some(now)) = (self.holds(), &self.brought.digests) else {
            return Ok(());
        };
        Pins::change(home, |pins| {
            let known = pins.projects.entry(self.folder.clone()).or_default();
            known.extend(now.iter().cloned());
        })
    }

    /// What is left out of a project that is not trusted, in one sentence; `None`: nothing is.
    pub fn ignored(&self, home: &Path) -> Option<String> {
        let brought = &self.brought;
        if self.holds() || brought.is_empty() {
            return None;
        }
        let mut parts: Vec<String> = Vec::new();
        let configs = brought.configs.iter().map(|file| {
            let mut keys = top_level_keys(file);
            keys.sort();
            match keys.is_empty() {
                true => brought.shown(file),
                false => format!("{} (it sets {})", brought.shown(file), keys.join(", ")),
            }
        });
        parts.extend(configs);
        let files = brought.hooks.iter().chain(&brought.rules);
        parts.extend(files.map(|file| brought.shown(file)));
        let skills = brought.skills.iter();
        parts.extend(
            skills.map(|(skill, _)| format!("the skill {} (it has scripts)", brought.shown(skill))),
        );
        const MOST: usize = 12;
        if parts.len() > MOST {
            let more = parts.split_off(MOST).len();
            parts.push(format!("{more} more"));
        }
        let list = parts.join(", ");
        let why = match self.standing {
            Standing::Changed => "was changed since it was trusted",
            Standing::TooMuch => "is not trusted, since it brings more than can be checked",
            _ => "is not trusted",
        };
        let how = match self.standing {
            Standing::TooMuch => String::new(),
            _ => format!(
                "; to trust it, answer the question at the start of a session in a terminal, or run with --trust, or add [projects.{:?}] with trust_level = \"trusted\" to {}",
                self.folder,
                home.join("config.toml").display(),
            ),
        };
        Some(format!(
            "this project {why}, so this has no effect: {list}{how}"
        ))
    }
}

/// What a file would set, for a message about it. Only plain names: the file is a stranger's.
fn top_level_keys(path: &Path) -> Vec<String> {
    let node = tree(path).ok().flatten().unwrap_or_else(Node::empty);
    let names = node.children().iter().map(|(k, _)| k.clone());
    names
        .filter(|k| k.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
        .filter(|k| k.len() <= 40)
        .take(20)
        .collect()
}

/// Typed settings from checked values.
fn config(values: &Values) -> Config {
    Config {
        model: values.text("model"),
        review_model: values.text("review_model"),
        model_provider: values.text("model_provider"),
        oss_provider: values.text("oss_provider"),
        oss: values.flag("oss").value,
        offline: values.flag("offline"),
        model_reasoning_effort: values.get("model_reasoning_effort", |v| {
            let name = v.as_str()?;
            let above = ["ultra", "persistent"].contains(&name);
            Some(if above { "max" } else { name }.to_owned())
        }),
        model_context_window: values.number("model_context_window"),
        tool_output_token_limit: values.number("tool_output_token_limit"),
        model_instructions_file: values.path("model_instructions_file"),
        developer_instructions: values.text("developer_instructions"),
        sampling: typed(values, &["sampling"]),
        harness: values.text("harness"),
        model_harness: typed(values, &["model_harness"]).value,
        harness_guidance: values.flag("harness_guidance"),
        harness_size: values.text("harness_size"),
        approval_policy: values.or_default("approval_policy", |v| Approval::from_name(v.as_str()?)),
        sandbox_mode: values.or_default("sandbox_mode", |v| Mode::from_name(v.as_str()?)),
        writable_roots: values.paths("sandbox_workspace_write.writable_roots"),
        network_access: values.flag("sandbox_workspace_write.network_access"),
        exclude_tmpdir_env_var: values.flag("sandbox_workspace_write.exclude_tmpdir_env_var"),
        exclude_slash_tmp: values.flag("sandbox_workspace_write.exclude_slash_tmp"),
        deny_read: values.paths("deny_read"),
        environment: typed::<EnvironmentPolicy>(values, &["shell_environment_policy"]),
        max_steps: values.number("max_steps"),
        project_doc_max_bytes: values.or_default("project_doc_max_bytes", |v| {
            v.as_integer().and_then(|n| n.try_into().ok())
        }),
        project_doc_fallback_filenames: values.texts("project_doc_fallback_filenames"),
        project_root_markers: values.texts("project_root_markers"),
        log_dir: values.path("log_dir"),
        history: values.or_default("history.persistence", |v| Some(v.as_str()? == "save-all")),
        skills: values.table(&["skills"]),
        hooks: values.flag("features.hooks"),
        notify: values.texts("notify"),
        hide_agent_reasoning: values.flag("hide_agent_reasoning"),
        notifications: notifications(values),
        openai_base_url: values.text("openai_base_url"),
        model_providers: providers(values),
        mcp_servers: mcp_servers(values),
        projects: BTreeMap::new(),
        user_file: None,
        trust: Trust::default(),
        profile: None,
        home: None,
        warnings: Vec::new(),
        values: values.clone(),
    }
}

/// What `[tui]` says about calling the person. A list is taken for what it names, and what is
/// neither that nor a truth value for no.
fn notifications(values: &Values) -> Notifications {
    let of = values.or_default("tui.notifications", |v| match v {
        Value::Boolean(true) => Some(Notifications::ALL.map(str::to_owned).into()),
        Value::Array(names) => Some(
            names
                .iter()
                .filter_map(|n| n.as_str().map(str::to_owned))
                .collect(),
        ),
        _ => None,
    });
    let condition = values.text("tui.notification_condition").value;
    Notifications {
        of: of.value,
        method: values
            .text("tui.notification_method")
            .value
            .unwrap_or_default(),
        always: condition.as_deref() == Some("always"),
        title: values
            .or_default("tui.terminal_title", |v| match v {
                Value::Array(parts) => Some(!parts.is_empty()),
                other => other.as_bool(),
            })
            .value,
    }
}

fn providers(values: &Values) -> BTreeMap<String, Setting<ProviderEntry>> {
    let capped = |n: Option<u32>| n.map(|n| n.min(MAX_RETRIES));
    values
        .names("model_providers")
        .into_iter()
        .map(|id| {
            let mut entry: Setting<ProviderEntry> = typed(values, &["model_providers", &id]);
            entry.value.request_max_retries = capped(entry.value.request_max_retries);
            entry.value.stream_max_retries = capped(entry.value.stream_max_retries);
            (id, entry)
        })
        .collect()
}

fn mcp_servers(values: &Values) -> BTreeMap<String, Setting<McpServer>> {
    let names = values.names("mcp_servers").into_iter();
    names
        .map(|name| {
            let entry = typed(values, &["mcp_servers", &name]);
            (name, entry)
        })
        .collect()
}

/// A struct from all keys of a table. Its fields carry the names of the keys, and the table of
/// keys has checked their types, so the default is for a mistake in this program only.
fn typed<T: DeserializeOwned + Default>(values: &Values, prefix: &[&str]) -> Setting<T> {
    debug_assert!(keys::KEYS.iter().any(|k| k.path.starts_with(prefix[0])));
    let Setting { value, source } = values.table(prefix);
    let value = Value::Table(value).try_into();
    debug_assert!(value.is_ok(), "{:?}", value.as_ref().err());
    Setting {
        value: value.unwrap_or_default(),
        source,
    }
}
