//! The layers and their order, and the [`Config`] made from them.

use super::file::{self, Node};
use super::values::{Layer, Values};
use super::{
    Config, ConfigError, EnvironmentPolicy, Overrides, ProviderEntry, Setting, Source, keys,
};
use crate::sandbox::{Approval, Mode};
use crate::store::paths::canonical;
use crate::store::trust;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use toml::Value;

/// The folder of a project that holds its config.
const PROJECT_FOLDER: &str = ".openinterpreter";

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

    for file in project_files(home, cwd, &markers, &trusted, &mut warnings)? {
        let Some(project) = tree(&file)? else {
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
    config.profile = profile;
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
        config.profile = self.profile.clone();
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
        let mut known: Vec<String> = tables
            .map(|t| t.children().iter().map(|(k, _)| k.clone()).collect())
            .unwrap_or_default();
        known.extend(profile_files(home));
        known.sort();
        known.dedup();
        return Err(ConfigError::Profile {
            name: name.to_owned(),
            known,
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

/// The config files of the project around `cwd`, from its root down; none and a warning if the
/// project is not trusted.
fn project_files(
    home: &Path,
    cwd: &Path,
    markers: &[String],
    trusted: &BTreeMap<PathBuf, bool>,
    warnings: &mut Vec<String>,
) -> Result<Vec<PathBuf>, ConfigError> {
    let cwd = canonical(cwd);
    let root = trust::project_root(&cwd, markers);
    let home = canonical(home);
    let mut folders: Vec<&Path> = cwd
        .ancestors()
        .take_while(|f| f.starts_with(&root))
        .collect();
    folders.reverse();
    let files: Vec<PathBuf> = folders
        .into_iter()
        .map(|f| f.join(PROJECT_FOLDER))
        // The user's own home may lie in a folder above or at the working folder.
        .filter(|f| canonical(f) != home)
        .map(|f| f.join("config.toml"))
        .filter(|f| f.symlink_metadata().is_ok())
        .collect();
    if files.is_empty() || trust::level(trusted, &cwd, &root) == Some(true) {
        return Ok(files);
    }
    let list = |items: Vec<String>| items.join(", ");
    let mut ignored: Vec<String> = files.iter().flat_map(|f| top_level_keys(f)).collect();
    ignored.sort();
    ignored.dedup();
    warnings.push(format!(
        "this project is not trusted, so {} has no effect{}; to trust it, add [projects.{:?}] with trust_level = \"trusted\" to {}",
        list(files.iter().map(|f| f.display().to_string()).collect()),
        match ignored.is_empty() {
            true => String::new(),
            false => format!(" (it sets {})", list(ignored)),
        },
        trust::trust_root(&root),
        home.join("config.toml").display(),
    ));
    Ok(Vec::new())
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
        model_provider: values.text("model_provider"),
        oss_provider: values.text("oss_provider"),
        oss: values.flag("oss").value,
        offline: values.flag("offline"),
        model_reasoning_effort: values.get("model_reasoning_effort", |v| {
            let name = v.as_str()?;
            let above = ["max", "ultra", "persistent"].contains(&name);
            Some(if above { "xhigh" } else { name }.to_owned())
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
        environment: typed::<EnvironmentPolicy>(values, &["shell_environment_policy"]),
        max_steps: values.number("max_steps"),
        project_doc_max_bytes: values.or_default("project_doc_max_bytes", |v| {
            v.as_integer().and_then(|n| n.try_into().ok())
        }),
        project_doc_fallback_filenames: values.texts("project_doc_fallback_filenames"),
        project_root_markers: values.texts("project_root_markers"),
        log_dir: values.path("log_dir"),
        history: values.or_default("history.persistence", |v| Some(v.as_str()? == "save-all")),
        hide_agent_reasoning: values.flag("hide_agent_reasoning"),
        openai_base_url: values.text("openai_base_url"),
        model_providers: providers(values),
        projects: BTreeMap::new(),
        profile: None,
        warnings: Vec::new(),
        values: values.clone(),
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
