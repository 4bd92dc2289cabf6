//! The one table of config keys: what each is called, holds, means, and who may set it.

use crate::words::nearest;
use Kind::*;
use toml::Value;

/// A key of `config.toml`.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Dotted path; `*` stands for a name of the user's choice.
    pub path: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// The built-in value as TOML; empty: none.
    pub default: &'static str,
    /// One line for people.
    pub doc: &'static str,
    /// A trusted project's file may set it.
    pub project: bool,
    /// The program acts on it. Otherwise it is accepted, so that a Codex config loads unchanged.
    pub acts: bool,
    /// Its value may be a key or a token and is never shown.
    pub secret: bool,
}

/// What a key holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// `true` or `false`.
    Bool,
    /// A whole number between the two, both included.
    Int(i64, i64),
    /// A number between the two, both included.
    Float(f64, f64),
    /// A text.
    Text,
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// A path; a relative one counts from the folder of the file, or from the working folder in a flag.
    Path,
    /// A list of texts.
    Texts,
    /// A list of paths.
    Paths,
    /// A table of anything, merged key by key.
    Tree,
    /// Anything at all, not looked into.
    Any,
}

impl Kind {
    /// True when `value` is of this kind.
    pub fn accepts(self, value: &Value) -> bool {
        let texts = |v: &Value| matches!(v, Value::Array(items) if items.iter().all(Value::is_str));
        match self {
            Bool => value.is_bool(),
            Int(low, high) => value
                .as_integer()
                .is_some_and(|n| (low..=high).contains(&n)),
            Float(low, high) => value
                .as_float()
                .or_else(|| value.as_integer().map(|n| n as f64))
                .is_some_and(|n| (low..=high).contains(&n)),
            Text | Path => value.is_str(),
            OneOf(names) => value.as_str().is_some_and(|s| names.contains(&s)),
            Texts | Paths => texts(value),
            Tree => value.is_table(),
            Any => true,
        }
    }

    /// What is allowed, to end a sentence with.
    pub fn allowed(self) -> String {
        match self {
            Bool => "true or false".into(),
            Int(low, i64::MAX) => format!("a whole number from {low}"),
            Int(low, high) => format!("a whole number from {low} to {high}"),
            Float(low, high) => format!("a number from {low} to {high}"),
            Text => "a text in quotes".into(),
            OneOf(names) => names.join(", "),
            Path => "a path in quotes".into(),
            Texts => "a list of texts, as in [\"a\", \"b\"]".into(),
            Paths => "a list of paths, as in [\"/a\", \"/b\"]".into(),
            Tree => "a table".into(),
            Any => "anything".into(),
        }
    }
}

const fn key(path: &'static str, kind: Kind, default: &'static str, doc: &'static str) -> Key {
    Key {
        path,
        kind,
        default,
        doc,
        project: true,
        acts: true,
        secret: false,
    }
}

const fn compat(path: &'static str, doc: &'static str) -> Key {
    Key {
        acts: false,
        ..key(path, Any, "", doc)
    }
}

impl Key {
    /// Not to be set by a project: it decides where data goes, what runs, or what is trusted.
    const fn not_in_projects(self) -> Key {
        Key {
            project: false,
            ..self
        }
    }

    /// Its value is never shown.
    const fn secret(self) -> Key {
        Key {
            secret: true,
            ..self
        }
    }
}

/// A number of tokens, bytes or steps that fits 32 bits.
const COUNT: Kind = Int(1, u32::MAX as i64);
const MILLISECONDS: Kind = Int(0, i64::MAX);

/// Names of reasoning effort, from none to the most. The last two are read as `max`.
pub const EFFORTS: &[&str] = &[
    "none",
    "minimal",
    "low",
    "medium",
    "high",
    "xhigh",
    "max",
    "ultra",
    "persistent",
];
/// Ids of the local providers that `--oss` can choose.
pub const LOCAL_PROVIDERS: &[&str] = &["ollama", "lmstudio", "llamacpp", "vllm"];
/// When the tools of an MCP server ask.
pub const TOOL_APPROVALS: &[&str] = &["auto", "prompt", "writes", "approve"];
/// Names of the wires.
pub const WIRES: &[&str] = &["chat", "responses", "messages", "ollama"];

/// Every key.
#[rustfmt::skip]
pub const KEYS: &[Key] = &[
    // Model
    key("model", Text, "", "The model; unset: the one that the server has loaded, or its only one."),
    key("review_model", Text, "", "The model of `review` and `/review`; unset: the usual one."),
    key("model_provider", Text, "", "The provider's id.").not_in_projects(),
    key("oss", Bool, "false", "Use a local server, as --oss does.").not_in_projects(),
    key("oss_provider", OneOf(LOCAL_PROVIDERS), "", "The local server of --oss; unset: whichever answers."),
    key("model_reasoning_effort", OneOf(EFFORTS), "", "How long the model may think."),
    key("model_context_window", COUNT, "", "The window in tokens, when the server cannot be asked or should be overruled."),
    key("tool_output_token_limit", COUNT, "", "The most tokens that one tool result may take."),
    key("model_instructions_file", Path, "", "A file that replaces the system prompt."),
    key("developer_instructions", Text, "", "Your own text for the start of every session."),
    key("sampling.temperature", Float(0.0, 2.0), "", "Sent with every request when set."),
    key("sampling.top_p", Float(0.0, 1.0), "", "Sent with every request when set."),
    key("sampling.top_k", Int(0, u32::MAX as i64), "", "Sent with every request when set."),
    key("sampling.seed", Int(0, i64::MAX), "", "Makes a run repeatable on servers that know it."),
    key("sampling.stop", Texts, "", "Texts that end a reply."),
    key("offline", Bool, "false", "Local servers only, held by the kernel where it can, as --offline does.").not_in_projects(),
    key("openai_base_url", Text, "", "Moves the built-in openai provider.").not_in_projects(),

    // Harness
    key("harness", Text, "", "How the model sees the task; unset: by model family; \"\": native."),
    key("model_harness.*", Text, "", "The harness of one model, by its name; `harness` wins over it."),
    key("harness_guidance", Bool, "true", "Add a short reliability block to the prompt."),
    key("harness_size", OneOf(&["full", "compact", "tiny"]), "", "Size of the prompt and tools; unset: by the window."),

    // Providers
    key("model_providers.*.name", Text, "", "Its name for people.").not_in_projects(),
    key("model_providers.*.base_url", Text, "", "Where it is; mostly ends in /v1.").not_in_projects(),
    key("model_providers.*.wire_api", OneOf(WIRES), "", "What it speaks; unset: chat.").not_in_projects(),
    key("model_providers.*.env_key", Text, "", "The variable that holds the key.").not_in_projects(),
    key("model_providers.*.env_key_instructions", Text, "", "Where to get a key.").not_in_projects(),
    key("model_providers.*.experimental_bearer_token", Text, "", "The key itself.").not_in_projects().secret(),
    key("model_providers.*.auth.command", Text, "", "A program that prints the key.").not_in_projects(),
    key("model_providers.*.auth.args", Texts, "", "Its arguments.").not_in_projects().secret(),
    key("model_providers.*.auth.timeout_ms", MILLISECONDS, "", "How long it may take.").not_in_projects(),
    key("model_providers.*.auth.refresh_interval_ms", MILLISECONDS, "", "When it is run again.").not_in_projects(),
    key("model_providers.*.auth.cwd", Path, "", "Where it runs.").not_in_projects(),
    key("model_providers.*.oauth.device_authorization_url", Text, "", "Where a code to sign in with is asked for.").not_in_projects(),
    key("model_providers.*.oauth.token_url", Text, "", "Where its tokens are asked for.").not_in_projects(),
    key("model_providers.*.oauth.client_id", Text, "", "The client id of this program there.").not_in_projects(),
    key("model_providers.*.oauth.scope", Text, "", "What the tokens shall be good for.").not_in_projects(),
    key("model_providers.*.ca_file", Path, "", "PEM certificates of the authorities to trust, in place of the built-in ones.").not_in_projects(),
    key("model_providers.*.query_params.*", Text, "", "Added to every URL.").not_in_projects().secret(),
    key("model_providers.*.http_headers.*", Text, "", "Added to every request.").not_in_projects().secret(),
    key("model_providers.*.env_http_headers.*", Text, "", "The same, from a variable of that name.").not_in_projects(),
    key("model_providers.*.request_max_retries", Int(0, u32::MAX as i64), "", "Tries of a request; at most 100.").not_in_projects(),
    key("model_providers.*.stream_max_retries", Int(0, u32::MAX as i64), "", "Tries of a broken stream; at most 100.").not_in_projects(),
    key("model_providers.*.stream_idle_timeout_ms", MILLISECONDS, "", "Silence after which a stream is dead.").not_in_projects(),
    key("model_providers.*.extra_body", Tree, "", "Further fields of every request.").not_in_projects().secret(),
    Key { acts: false, ..key("model_providers.*.requires_openai_auth", Bool, "", "OpenAI sign-in.").not_in_projects() },
    Key { acts: false, ..key("model_providers.*.supports_websockets", Bool, "", "Web sockets.").not_in_projects() },
    Key { acts: false, ..key("model_providers.*.websocket_connect_timeout_ms", MILLISECONDS, "", "Web sockets.").not_in_projects() },

    // MCP servers
    key("mcp_servers.*.command", Text, "", "A program that is an MCP server on its standard streams."),
    key("mcp_servers.*.args", Texts, "", "Its arguments.").secret(),
    key("mcp_servers.*.env.*", Text, "", "Its variables; \"env:NAME\" takes the value of NAME.").secret(),
    key("mcp_servers.*.env_vars", Texts, "", "Names of variables that it gets from here."),
    key("mcp_servers.*.cwd", Path, "", "Where it runs; unset: the working folder."),
    key("mcp_servers.*.url", Text, "", "The address of an MCP server that speaks streamable HTTP."),
    key("mcp_servers.*.bearer_token_env_var", Text, "", "The variable that holds its token."),
    key("mcp_servers.*.http_headers.*", Text, "", "Added to every request; \"env:NAME\" takes the value of NAME.").secret(),
    key("mcp_servers.*.env_http_headers.*", Text, "", "The same, from a variable of that name."),
    key("mcp_servers.*.enabled", Bool, "", "False: it is not started."),
    key("mcp_servers.*.required", Bool, "", "True: no session without it."),
    key("mcp_servers.*.startup_timeout_sec", Float(0.0, 86_400.0), "", "Seconds until it must be ready; unset: 30."),
    key("mcp_servers.*.startup_timeout_ms", MILLISECONDS, "", "The same in milliseconds."),
    key("mcp_servers.*.tool_timeout_sec", Float(0.0, 86_400.0), "", "Seconds that a call may take without a sign of life; unset: 300."),
    key("mcp_servers.*.enabled_tools", Texts, "", "Only these of its tools."),
    key("mcp_servers.*.disabled_tools", Texts, "", "Not these of its tools."),
    key("mcp_servers.*.default_tools_approval_mode", OneOf(TOOL_APPROVALS), "", "When its tools ask: auto (unless they only read), writes (the same), prompt (always), approve (never).").not_in_projects(),
    key("mcp_servers.*.tools.*.approval_mode", OneOf(TOOL_APPROVALS), "", "The same for one tool.").not_in_projects(),
    compat("mcp_servers.*.supports_parallel_tool_calls", "Parallel calls."),
    compat("mcp_servers.*.scopes", "MCP sign-in."),
    compat("mcp_servers.*.oauth", "MCP sign-in."),
    compat("mcp_servers.*.oauth_resource", "MCP sign-in."),
    compat("mcp_servers.*.environment_id", "Remote environments."),
    compat("mcp_servers.*.name", "A name for people."),

    // Approvals and sandbox
    key("approval_policy", OneOf(&["untrusted", "on-request", "never", "on-failure"]), "\"on-request\"", "When to ask; on-failure is read as on-request."),
    key("sandbox_mode", OneOf(&["read-only", "workspace-write", "danger-full-access"]), "\"workspace-write\"", "What commands may do."),
    key("sandbox_workspace_write.writable_roots", Paths, "[]", "More folders that commands may write in."),
    key("sandbox_workspace_write.network_access", Bool, "false", "Commands may use the network."),
    key("sandbox_workspace_write.exclude_tmpdir_env_var", Bool, "false", "$TMPDIR is not writable."),
    key("sandbox_workspace_write.exclude_slash_tmp", Bool, "false", "/tmp is not writable."),
    key("deny_read", Paths, "[]", "Folders that no tool and no command may read or write; this program's own always are.").not_in_projects(),
    key("shell_environment_policy.inherit", OneOf(&["all", "core", "none"]), "\"all\"", "Which variables commands start from."),
    key("shell_environment_policy.ignore_default_excludes", Bool, "false", "Keep variables that look like secrets.").not_in_projects(),
    key("shell_environment_policy.exclude", Texts, "", "Globs of names to remove."),
    key("shell_environment_policy.allow", Texts, "", "Globs of names to keep although they look like secrets.").not_in_projects(),
    key("shell_environment_policy.set.*", Text, "", "Variables to set.").secret(),
    key("shell_environment_policy.include_only", Texts, "", "When set, only names that match these globs stay."),
    key("projects.*.trust_level", OneOf(&["trusted", "untrusted"]), "", "Whether that folder's own config takes effect.").not_in_projects(),

    // Run, documents, files
    key("max_steps", COUNT, "", "The most replies with tool calls in one turn; unset: no limit."),
    key("project_doc_max_bytes", Int(0, i64::MAX), "32768", "Budget of AGENTS.md files in bytes; 0 turns them off."),
    key("project_doc_fallback_filenames", Texts, "[]", "Other names to read where there is no AGENTS.md."),
    key("project_root_markers", Texts, "[\".git\"]", "What marks the root of a project; []: only the working folder."),
    key("skills", Tree, "", "Skills: [[skills.config]] with a path or name and enabled; include_instructions."),
    key("hooks", Tree, "", "Programs that run at moments of a session, each after a look of yours."),
    key("features.hooks", Bool, "true", "Run hooks.").not_in_projects(),
    key("notify", Texts, "[]", "A program to call after a turn, with a JSON text as its last argument.").not_in_projects(),
    key("log_dir", Path, "", "Where logs go; unset: log/ in the home folder.").not_in_projects(),
    key("history.persistence", OneOf(&["save-all", "none"]), "\"save-all\"", "Keep prompts in history.jsonl."),
    key("hide_agent_reasoning", Bool, "false", "Do not show thinking, but how long it took."),
    key("tui.notifications", Any, "true", "Tell when it waits for you: true, false, or a list of agent-turn-complete and approval-requested."),
    key("tui.notification_method", OneOf(&["auto", "osc9", "bel"]), "\"auto\"", "How: a bell, or a notification of the terminal."),
    key("tui.notification_condition", OneOf(&["unfocused", "always"]), "\"unfocused\"", "When: only while another window is in use, or always."),
    key("tui.terminal_title", Any, "true", "Show folder and state in the window's title; false or [] leaves it alone."),
    key("profile", Text, "", "The profile to use when -p is not given.").not_in_projects(),
    compat("profiles", "Named groups of keys, each like a config of its own.").not_in_projects(),

    // Keys of Codex that have no effect here
    compat("agents", "Sub-agents."),
    compat("allow_login_shell", "Login shells."),
    compat("analytics", "There is no telemetry."),
    compat("approvals_reviewer", "Who reviews approvals."),
    compat("background_terminal_max_timeout", "Limit of background commands."),
    compat("chatgpt_base_url", "ChatGPT sign-in.").not_in_projects(),
    compat("check_for_update_on_startup", "There is no update check."),
    compat("compact_prompt", "Prompt of compaction."),
    compat("default_permissions", "Named permission sets."),
    compat("disable_paste_burst", "Terminal interface."),
    compat("experimental_compact_prompt_file", "Prompt of compaction."),
    compat("features.respect_system_proxy", "Proxy choice.").not_in_projects(),
    compat("features.*", "Feature switches."),
    compat("feedback", "There is no telemetry."),
    compat("file_opener", "Links to files."),
    compat("history.max_bytes", "Size of the prompt history."),
    compat("include_apps_instructions", "Parts of the prompt."),
    compat("include_collaboration_mode_instructions", "Parts of the prompt."),
    compat("include_environment_context", "Parts of the prompt."),
    compat("include_permissions_instructions", "Parts of the prompt."),
    compat("instructions", "Reserved."),
    compat("mcp_oauth_callback_port", "MCP sign-in."),
    compat("mcp_oauth_callback_url", "MCP sign-in."),
    compat("mcp_oauth_credentials_store", "MCP sign-in."),
    compat("model_auto_compact_token_limit", "When compaction begins."),
    compat("model_catalog_json", "Metadata of models."),
    compat("model_reasoning_summary", "Summaries of thinking."),
    compat("model_supports_reasoning_summaries", "Summaries of thinking."),
    compat("model_verbosity", "Length of answers."),
    compat("otel", "There is no telemetry.").not_in_projects(),
    compat("permissions", "Named permission sets."),
    compat("personality", "Tone of answers."),
    compat("plugins", "Plugins."),
    compat("responses_api_metadata", "Metadata of requests.").not_in_projects(),
    compat("service_tier", "Service tier of requests."),
    compat("shell_environment_policy.experimental_use_profile", "Shell profile."),
    compat("show_raw_agent_reasoning", "Raw thinking."),
    compat("sqlite_home", "Where Codex keeps its index."),
    compat("suppress_unstable_features_warning", "Feature switches."),
    compat("tools", "Tool switches."),
    compat("tui.*", "Terminal interface."),
    compat("web_search", "Web search."),
];

/// What a path is to the table.
#[derive(Debug, Clone, Copy)]
pub enum Place {
    /// A key.
    Key(&'static Key),
    /// A table with keys in it.
    Table,
    /// Nothing.
    Unknown,
}

/// The key of that dotted path, `*` included.
pub fn by_path(path: &str) -> Option<&'static Key> {
    KEYS.iter().find(|k| k.path == path)
}

/// What stands at this path.
pub fn place(path: &[String]) -> Place {
    let mut table = false;
    for key in KEYS {
        let mut pattern = key.path.split('.');
        let fits = path
            .iter()
            .all(|s| pattern.next().is_some_and(|p| p == "*" || p == s));
        match (fits, pattern.next()) {
            (true, None) => return Place::Key(key),
            (true, Some(_)) => table = true,
            (false, _) => {}
        }
    }
    if table { Place::Table } else { Place::Unknown }
}

/// The known key that was most likely meant by an unknown path, as it should be written.
pub fn suggestion(path: &[String]) -> Option<String> {
    let (last, above) = path.split_last()?;
    // The right word in the wrong place: mostly a top-level key below some [table] header.
    let elsewhere = |key: &&Key| key.acts && key.path.rsplit('.').next() == Some(last);
    if let Some(key) = KEYS.iter().find(elsewhere) {
        return Some(key.path.replace('*', "NAME"));
    }
    let siblings = KEYS.iter().filter_map(|key| {
        let mut pattern = key.path.split('.');
        let fits = above
            .iter()
            .all(|s| pattern.next().is_some_and(|p| p == "*" || p == s));
        pattern.next().filter(|p| fits && *p != "*")
    });
    let word = nearest(last, siblings)?;
    Some(
        above
            .iter()
            .map(String::as_str)
            .chain([word])
            .collect::<Vec<_>>()
            .join("."),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> Vec<String> {
        text.split('.').map(str::to_owned).collect()
    }

    #[test]
    fn every_path_stands_once_and_every_default_is_of_its_kind() {
        for (i, key) in KEYS.iter().enumerate() {
            assert!(
                KEYS[..i].iter().all(|k| k.path != key.path),
                "{} twice",
                key.path
            );
            assert!(!key.doc.is_empty());
            if !key.default.is_empty() {
                let value: toml::Table = toml::from_str(&format!("v = {}", key.default)).unwrap();
                assert!(key.kind.accepts(&value["v"]), "{}", key.path);
            }
        }
    }

    #[test]
    fn what_a_project_may_not_set() {
        for name in [
            "openai_base_url",
            "chatgpt_base_url",
            "model_provider",
            "model_providers.x.base_url",
            "notify",
            "profile",
            "profiles",
            "otel",
            "responses_api_metadata",
            "features.respect_system_proxy",
            "projects./p.trust_level",
        ] {
            let parts: Vec<String> = match name {
                "projects./p.trust_level" => {
                    vec!["projects".into(), "/p".into(), "trust_level".into()]
                }
                _ => path(name),
            };
            assert!(
                matches!(place(&parts), Place::Key(k) if !k.project),
                "{name}"
            );
        }
        assert!(matches!(place(&path("features.goals")), Place::Key(k) if k.project));
    }

    #[test]
    fn suggestions_name_the_key_that_was_meant() {
        let meant = |p: &str| suggestion(&path(p));
        assert_eq!(meant("modle").as_deref(), Some("model"));
        assert_eq!(
            meant("network_access").as_deref(),
            Some("sandbox_workspace_write.network_access")
        );
        assert_eq!(meant("model_providers.x.model").as_deref(), Some("model"));
        assert_eq!(
            meant("model_providers.x.baseurl").as_deref(),
            Some("model_providers.x.base_url")
        );
        assert_eq!(
            meant("sandbox_workspce_write").as_deref(),
            Some("sandbox_workspace_write")
        );
        assert_eq!(meant("zzzz"), None);
    }
}
