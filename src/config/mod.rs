//! Typed settings, each knowing where it came from.
//!
//! Layers, from low to high: built-in defaults, the user's `config.toml`, a trusted project's
//! `.openinterpreter/config.toml`, a profile, `-c` and flags.

pub mod edit;
mod environment;
mod error;
mod file;
pub mod keys;
mod layers;
mod overrides;
#[cfg(test)]
mod tests;
mod values;

pub use environment::{Marks, environment};
pub use error::ConfigError;
pub use layers::{Trust, load, profile_names};
pub use overrides::Overrides;

use crate::sandbox::{Approval, Mode};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::path::PathBuf;
use std::time::Duration;
use values::Values;

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Built in.
    Default,
    /// The user's file.
    User(PathBuf),
    /// A trusted project's file.
    Project(PathBuf),
    /// A profile of that name.
    Profile(String),
    /// A flag or `-c`, as typed.
    Flag(String),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Default => f.write_str("default"),
            Source::User(p) | Source::Project(p) => write!(f, "{}", p.display()),
            Source::Profile(n) => write!(f, "profile {n}"),
            Source::Flag(t) => f.write_str(t),
        }
    }
}

/// A value with its source. Reads like the value itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting<T> {
    /// The value in force.
    pub value: T,
    /// Who set it.
    pub source: Source,
}

impl<T> Setting<T> {
    /// A built-in value.
    pub fn default_of(value: T) -> Self {
        Setting {
            value,
            source: Source::Default,
        }
    }

    /// True when nobody set it.
    pub fn is_default(&self) -> bool {
        self.source == Source::Default
    }
}

impl<T> Deref for Setting<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

/// Every setting that the program acts on.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The model; `None`: the one that the provider has loaded, or its only one.
    pub model: Setting<Option<String>>,
    /// The model of `review`; `None`: the usual one.
    pub review_model: Setting<Option<String>>,
    /// The provider's id.
    pub model_provider: Setting<Option<String>>,
    /// The provider of `--oss`; `None`: whichever answers.
    pub oss_provider: Setting<Option<String>>,
    /// `--oss` was given (or `-p` names a profile that does).
    pub oss: bool,
    /// Use no server but one on the user's own machine or network, and let the kernel hold it.
    pub offline: Setting<bool>,
    /// `none`, `minimal`, `low`, `medium`, `high`, `xhigh`, `max`.
    pub model_reasoning_effort: Setting<Option<String>>,
    /// The window in tokens.
    pub model_context_window: Setting<Option<u32>>,
    /// The most tokens that one tool result may take.
    pub tool_output_token_limit: Setting<Option<u32>>,
    /// A file that replaces the system prompt.
    pub model_instructions_file: Setting<Option<PathBuf>>,
    /// A text of the user for the start of every session.
    pub developer_instructions: Setting<Option<String>>,
    /// Sampling values to send.
    pub sampling: Setting<Sampling>,
    /// The harness; `None`: chosen by model family; `""`: native.
    pub harness: Setting<Option<String>>,
    /// `[model_harness]`: the harness of a model, by the model's name. [`Config::harness`] wins.
    pub model_harness: BTreeMap<String, String>,
    /// Add the short reliability block.
    pub harness_guidance: Setting<bool>,
    /// `full`, `compact` or `tiny`; `None`: chosen by the window.
    pub harness_size: Setting<Option<String>>,
    /// When to ask.
    pub approval_policy: Setting<Approval>,
    /// What commands may do.
    pub sandbox_mode: Setting<Mode>,
    /// `[sandbox_workspace_write] writable_roots`, and `--add-dir`.
    pub writable_roots: Setting<Vec<PathBuf>>,
    /// `[sandbox_workspace_write] network_access`.
    pub network_access: Setting<bool>,
    /// `[sandbox_workspace_write] exclude_tmpdir_env_var`.
    pub exclude_tmpdir_env_var: Setting<bool>,
    /// `[sandbox_workspace_write] exclude_slash_tmp`.
    pub exclude_slash_tmp: Setting<bool>,
    /// Folders that no tool and no command may read or write, beside our own.
    pub deny_read: Setting<Vec<PathBuf>>,
    /// `[shell_environment_policy]`.
    pub environment: Setting<EnvironmentPolicy>,
    /// The most steps (replies with tool calls) of one turn; `None`: no limit.
    pub max_steps: Setting<Option<u32>>,
    /// Budget for AGENTS.md files in bytes; 0 turns them off.
    pub project_doc_max_bytes: Setting<u64>,
    /// Other names to read when there is no AGENTS.md.
    pub project_doc_fallback_filenames: Setting<Vec<String>>,
    /// What marks the root of a project.
    pub project_root_markers: Setting<Vec<String>>,
    /// Where logs go; `None`: `log/` in the home.
    pub log_dir: Setting<Option<PathBuf>>,
    /// Keep prompts in the history file.
    pub history: Setting<bool>,
    /// `[skills]`.
    pub skills: Setting<toml::Table>,
    /// Run hooks.
    pub hooks: Setting<bool>,
    /// A program to call after a turn: the words of its command line.
    pub notify: Setting<Vec<String>>,
    /// Do not show thinking.
    pub hide_agent_reasoning: Setting<bool>,
    /// `[tui]`: how the person is told that it waits.
    pub notifications: Notifications,
    /// Base URL of the built-in `openai` provider.
    pub openai_base_url: Setting<Option<String>>,
    /// `[model_providers.*]`, by id.
    pub model_providers: BTreeMap<String, Setting<ProviderEntry>>,
    /// `[mcp_servers.*]`, by name.
    pub mcp_servers: BTreeMap<String, Setting<McpServer>>,
    /// `[projects."PATH"] trust_level`: true is trusted.
    pub projects: BTreeMap<PathBuf, bool>,
    /// The user's file, if it counts; it may not exist.
    pub user_file: Option<PathBuf>,
    /// What the project brings, and whether it counts.
    pub trust: Trust,
    /// The profile in force.
    pub profile: Option<String>,
    /// The home that the user's file stands in; credentials and an imported table of models are
    /// there, too.
    pub home: Option<PathBuf>,
    /// Sentences about keys that had no effect, each with file, line and the nearest key.
    pub warnings: Vec<String>,
    /// The checked values that all of this was made from.
    values: Values,
}

/// A key with the value in force, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Its dotted path.
    pub key: String,
    /// The value as TOML; `None`: not set. One that may be a secret is not shown.
    pub value: Option<String>,
    /// Who set it.
    pub source: Source,
}

impl Config {
    /// Every setting that the program acts on, in the order of the table of keys.
    pub fn rows(&self) -> Vec<Row> {
        let mut rows = self.values.rows();
        // `--add-dir` adds to a list that the layers know without it.
        let roots = rows
            .iter_mut()
            .find(|r| r.key == "sandbox_workspace_write.writable_roots");
        if let Some(row) = roots {
            let list = self.writable_roots.iter().map(|p| p.display().to_string());
            row.value = Some(format!("{:?}", list.collect::<Vec<_>>()));
            row.source = self.writable_roots.source.clone();
        }
        rows
    }
}

/// How a person who looks elsewhere is told that the program waits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Notifications {
    /// The occasions, by the names of [`Notifications::ALL`].
    pub of: Vec<String>,
    /// `auto`, `osc9` or `bel`.
    pub method: String,
    /// Also while the window is in use.
    pub always: bool,
    /// The title of the window is set.
    pub title: bool,
}

impl Notifications {
    /// A turn is over.
    pub const TURN: &'static str = "agent-turn-complete";
    /// Something is asked.
    pub const APPROVAL: &'static str = "approval-requested";
    /// The names of all occasions.
    pub const ALL: [&'static str; 2] = [Self::TURN, Self::APPROVAL];
}

/// Sampling values; what is `None` is not sent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Sampling {
    /// 0 to 2.
    pub temperature: Option<f64>,
    /// 0 to 1.
    pub top_p: Option<f64>,
    /// Number of candidates.
    pub top_k: Option<u32>,
    /// Makes a run repeatable on servers that know it.
    pub seed: Option<u64>,
    /// Texts that end the reply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
}

/// A provider's table in the config. For a built-in id it overrides single keys.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProviderEntry {
    /// Its name for people.
    pub name: Option<String>,
    /// Ends in `/v1` for most servers; the path of the wire is appended.
    pub base_url: Option<String>,
    /// `chat`, `responses`, `messages` or `ollama`; default `chat`.
    pub wire_api: Option<String>,
    /// The variable that holds the key.
    pub env_key: Option<String>,
    /// Where to get a key; shown when the variable is missing.
    pub env_key_instructions: Option<String>,
    /// A key written in the config.
    pub experimental_bearer_token: Option<String>,
    /// A command that prints the key.
    pub auth: Option<AuthCommand>,
    /// Signing in with a code on another device.
    pub oauth: Option<DeviceLogin>,
    /// Certificates in PEM of the authorities to trust, in place of the built-in ones.
    pub ca_file: Option<PathBuf>,
    /// Added to every URL.
    pub query_params: BTreeMap<String, String>,
    /// Added to every request.
    pub http_headers: BTreeMap<String, String>,
    /// The same, the values being names of variables; an unset one is left out.
    pub env_http_headers: BTreeMap<String, String>,
    /// Tries of a request that fails before it begins to answer. Default 4, at most 100.
    pub request_max_retries: Option<u32>,
    /// Tries of a stream that breaks off. Default 5, at most 100.
    pub stream_max_retries: Option<u32>,
    /// Milliseconds without a byte before a stream counts as dead. Default 300,000; none on a local server.
    pub stream_idle_timeout_ms: Option<u64>,
    /// Accepted for compatibility; has no effect.
    pub requires_openai_auth: Option<bool>,
    /// Accepted for compatibility; has no effect.
    pub supports_websockets: Option<bool>,
    /// Accepted for compatibility; has no effect.
    pub websocket_connect_timeout_ms: Option<u64>,
    /// Further top-level fields of every request body.
    pub extra_body: serde_json::Map<String, serde_json::Value>,
}

/// An MCP server's table in the config.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct McpServer {
    /// The program of a server on standard streams.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Its arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Its variables. A value `env:NAME` is that of our variable.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Names of our variables that it gets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env_vars: Vec<String>,
    /// Where it runs; `None`: the session's folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// The address of a server that speaks streamable HTTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The variable that holds its token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bearer_token_env_var: Option<String>,
    /// Added to every request. A value `env:NAME` is that of our variable.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub http_headers: BTreeMap<String, String>,
    /// The same, the values being names of variables; an unset one is left out.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env_http_headers: BTreeMap<String, String>,
    /// `Some(false)`: it is not started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// A session does not begin without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
    /// Seconds until it must be ready. Default 30.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub startup_timeout_sec: Option<f64>,
    /// The same in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub startup_timeout_ms: Option<u64>,
    /// Seconds that a call may take. Default 300.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_timeout_sec: Option<f64>,
    /// Only these tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled_tools: Option<Vec<String>>,
    /// Not these tools.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disabled_tools: Vec<String>,
    /// When its tools ask.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_tools_approval_mode: Option<String>,
    /// The same for single tools, by their name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, McpTool>,
}

/// The table of one tool of an MCP server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct McpTool {
    /// When it asks.
    pub approval_mode: Option<String>,
}

impl McpServer {
    /// It is to be started.
    pub fn is_enabled(&self) -> bool {
        self.enabled != Some(false)
    }

    /// How long it may take to be ready.
    pub fn startup_limit(&self) -> Duration {
        const USUAL: f64 = 30.0;
        let given = self.startup_timeout_ms.map(|ms| ms as f64 / 1000.0);
        seconds(self.startup_timeout_sec.or(given).unwrap_or(USUAL))
    }

    /// How long a call may take without a sign of life.
    pub fn tool_limit(&self) -> Duration {
        const USUAL: f64 = 300.0;
        seconds(self.tool_timeout_sec.unwrap_or(USUAL))
    }

    /// When a tool asks, as configured.
    pub fn approval_of(&self, tool: &str) -> Option<&str> {
        let own = self
            .tools
            .get(tool)
            .and_then(|t| t.approval_mode.as_deref());
        own.or(self.default_tools_approval_mode.as_deref())
    }

    /// The tool is to be offered.
    pub fn offers(&self, tool: &str) -> bool {
        let named = |list: &[String]| list.iter().any(|name| name == tool);
        self.enabled_tools.as_deref().is_none_or(named) && !named(&self.disabled_tools)
    }
}

fn seconds(number: f64) -> Duration {
    Duration::try_from_secs_f64(number).unwrap_or(Duration::MAX)
}

/// A command whose output is a key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AuthCommand {
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Milliseconds it may take. Default 5,000.
    pub timeout_ms: Option<u64>,
    /// Milliseconds after which it is run again. Default 300,000.
    pub refresh_interval_ms: Option<u64>,
    /// Where it runs.
    pub cwd: Option<PathBuf>,
}

/// Where a person signs in with a code on another device (RFC 8628).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DeviceLogin {
    /// Where a code is asked for.
    pub device_authorization_url: String,
    /// Where the tokens are asked for.
    pub token_url: String,
    /// The client id that is meant for this program.
    pub client_id: String,
    /// What the tokens shall be good for.
    pub scope: Option<String>,
}

/// Which variables a command sees.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EnvironmentPolicy {
    /// Where it starts from.
    pub inherit: Inherit,
    /// Keep variables whose name looks like a secret. Default false: they are removed.
    pub ignore_default_excludes: bool,
    /// Globs of names to remove.
    pub exclude: Vec<String>,
    /// Globs of names that stay although they look like a secret.
    pub allow: Vec<String>,
    /// Variables to set.
    pub set: BTreeMap<String, String>,
    /// When not empty, only names that match stay.
    pub include_only: Vec<String>,
}

/// The variables that a command's environment starts from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Inherit {
    /// Ours.
    #[default]
    All,
    /// PATH, HOME, LANG and their kind.
    Core,
    /// None.
    None,
}
