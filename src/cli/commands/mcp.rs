//! `mcp`: the servers of the config, and the agent as a server itself.

use super::session::Setup;
use crate::agent::open::{Open, open};
use crate::agent::stored;
use crate::cli::args::{Options, Servers};
use crate::cli::render::sanitize::sanitize;
use crate::cli::signals::Signals;
use crate::cli::{Failure, exit, say};
use crate::config::{self, McpServer, edit};
use crate::serve::mcp_server::{self, Wanted};
use serde_json::{Value, json};
use std::fmt::Write;

/// Lists, shows, adds or removes servers.
///
/// # Errors
/// One sentence.
pub fn servers(what: &Servers, options: &Options) -> Result<u8, Failure> {
    let setup = Setup::load(options)?;
    let file = setup.home.config_file();
    let known = || setup.config.mcp_servers.iter().map(|(n, s)| (n, &s.value));
    match what {
        Servers::List if options.json => {
            let all: Vec<Value> = known().map(|(name, server)| listed(name, server)).collect();
            say(&format!("{:#}\n", Value::from(all)))
        }
        Servers::List => {
            let mut text = String::new();
            for (name, server) in known() {
                let state = if server.is_enabled() {
                    ""
                } else {
                    "  (disabled)"
                };
                let _ = writeln!(text, "{name}  {}{state}", summary(server));
            }
            match text.as_str() {
                "" => say("no MCP server is configured (interpreter mcp add NAME -- COMMAND)\n"),
                text => say(&sanitize(text)),
            }
        }
        Servers::Get(name) => {
            let server = known().find(|(known, _)| *known == name).map(|(_, s)| s);
            let server = server.ok_or_else(|| unknown(name))?;
            match options.json {
                true => say(&format!("{:#}\n", shown(name, server))),
                false => say(&sanitize(&described(name, server))),
            }
        }
        Servers::Add(name, server) => {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            if name.is_empty() || !name.chars().all(plain) {
                return Err(format!(
                    "{name:?} is no name for a server; use letters, digits, _ and -"
                )
                .into());
            }
            edit::put_server(&file, name, server)?;
            say(&format!(
                "added the MCP server {name} to {}\n",
                file.display()
            ))
        }
        Servers::Remove(name) => match edit::remove_server(&file, name)? {
            true => say(&format!(
                "removed the MCP server {name} from {}\n",
                file.display()
            )),
            false => Err(unknown(name).into()),
        },
    }
}

fn unknown(name: &str) -> String {
    format!("there is no MCP server {name:?}; `interpreter mcp list` has them")
}

/// Is one, until the client leaves.
///
/// # Errors
/// One sentence.
pub fn serve(options: &Options) -> Result<u8, Failure> {
    let signals = Signals::install(false).map_err(|e| format!("signals cannot be handled: {e}"))?;
    let mut setup = Setup::load(options)?;
    setup.hold_offline(None)?;
    let base = options.clone();
    let opener = move |wanted: &Wanted,
                       cancel: &crate::cancel::Cancel,
                       front: &mut dyn crate::agent::event::Frontend| {
        let mut options = base.clone();
        let more = wanted.overrides.clone();
        options.overrides.sets.extend(more.sets);
        options.overrides.flags.extend(more.flags);
        options.overrides.profile = more.profile.or(options.overrides.profile);
        if let Some(cwd) = &wanted.cwd {
            options.cd = Some(match &options.cd {
                Some(folder) => folder.join(cwd),
                None => cwd.clone(),
            });
        }
        let setup = Setup::load(&options)?;
        let resume = wanted.resume.as_deref();
        let resume =
            resume.map(|id| stored::find(&setup.home, id, cancel).map_err(|e| e.to_string()));
        for warning in &setup.config.warnings {
            front.event(&crate::agent::event::Event::Warning(warning.clone()));
        }
        let ask = Open {
            resume: resume.transpose()?,
            base_instructions: wanted.base_instructions.clone(),
            ..setup.ask(&options)
        };
        open(&setup.config, &setup.home, &ask, cancel, front).map_err(|e| e.to_string())
    };
    mcp_server::serve(
        std::io::stdin(),
        std::io::stdout(),
        Box::new(opener),
        &signals.cancel,
    );
    Ok(match signals.is_terminated() {
        true => exit::TERMINATED,
        false => exit::OK,
    })
}

/// A server in a line.
fn summary(server: &McpServer) -> String {
    match (&server.command, &server.url) {
        (Some(command), _) => {
            let words = std::iter::once(command).chain(&server.args);
            words
                .map(|w| crate::words::quote(w))
                .collect::<Vec<_>>()
                .join(" ")
        }
        (None, Some(url)) => url.clone(),
        (None, None) => "(neither command nor url)".into(),
    }
}

/// A value that may be a secret; one that only names a variable is none.
fn masked(value: &str) -> String {
    match value.strip_prefix("env:") {
        Some(_) => value.to_owned(),
        None => "*****".into(),
    }
}

fn masked_map(map: &std::collections::BTreeMap<String, String>) -> Value {
    match map.is_empty() {
        true => Value::Null,
        false => map
            .iter()
            .map(|(k, v)| (k.clone(), Value::from(masked(v))))
            .collect::<serde_json::Map<_, _>>()
            .into(),
    }
}

fn transport(server: &McpServer) -> Value {
    match &server.url {
        Some(url) => json!({"type": "streamable_http", "url": url,
        "bearer_token_env_var": server.bearer_token_env_var,
        "http_headers": masked_map(&server.http_headers),
        "env_http_headers": match server.env_http_headers.is_empty() {
            true => Value::Null,
            false => json!(server.env_http_headers),
        }}),
        None => json!({"type": "stdio", "command": server.command, "args": server.args,
            "env": masked_map(&server.env), "env_vars": server.env_vars, "cwd": server.cwd}),
    }
}

/// A row of `mcp list --json`.
fn listed(name: &str, server: &McpServer) -> Value {
    let auth = match (&server.url, &server.bearer_token_env_var) {
        (None, _) => "unsupported",
        (Some(_), Some(_)) => "bearer_token",
        (Some(_), None) => "not_logged_in",
    };
    json!({"name": name, "enabled": server.is_enabled(), "disabled_reason": null,
        "transport": transport(server), "startup_timeout_sec": server.startup_timeout_sec,
        "tool_timeout_sec": server.tool_timeout_sec, "auth_status": auth})
}

/// `mcp get --json`.
fn shown(name: &str, server: &McpServer) -> Value {
    json!({"name": name, "enabled": server.is_enabled(), "disabled_reason": null,
        "transport": transport(server), "enabled_tools": server.enabled_tools,
        "disabled_tools": match server.disabled_tools.is_empty() {
            true => Value::Null,
            false => json!(server.disabled_tools),
        },
        "startup_timeout_sec": server.startup_timeout_sec, "tool_timeout_sec": server.tool_timeout_sec})
}

fn described(name: &str, server: &McpServer) -> String {
    let mut text = format!("{name}\n  enabled: {}\n", server.is_enabled());
    if let Value::Object(map) = transport(server) {
        for (key, value) in map {
            let value = match value {
                Value::Null => continue,
                Value::String(text) => text,
                Value::Array(list) if list.is_empty() => continue,
                other => other.to_string(),
            };
            let _ = writeln!(text, "  {key}: {value}");
        }
    }
    for (key, value) in [
        ("startup_timeout_sec", server.startup_timeout_sec),
        ("tool_timeout_sec", server.tool_timeout_sec),
    ] {
        if let Some(value) = value {
            let _ = writeln!(text, "  {key}: {value}");
        }
    }
    let _ = writeln!(text, "  remove: interpreter mcp remove {name}");
    text
}

/// A server from the words of `mcp add`.
///
/// # Errors
/// What is wrong with them.
pub fn from_words(
    command: &[String],
    env: &[String],
    url: Option<&str>,
    bearer: Option<&str>,
) -> Result<McpServer, String> {
    let mut server = config::McpServer::default();
    match (command.split_first(), url) {
        (Some((program, args)), None) => {
            if bearer.is_some() {
                return Err("--bearer-token-env-var belongs to --url".into());
            }
            server.command = Some(program.clone());
            server.args = args.to_vec();
            for pair in env {
                let (name, value) = pair
                    .split_once('=')
                    .filter(|(n, _)| !n.is_empty())
                    .ok_or_else(|| format!("--env: `{pair}` is not NAME=VALUE"))?;
                server.env.insert(name.to_owned(), value.to_owned());
            }
        }
        (None, Some(url)) => {
            if !env.is_empty() {
                return Err("--env belongs to a command, not to --url".into());
            }
            server.url = Some(url.to_owned());
            server.bearer_token_env_var = bearer.map(str::to_owned);
        }
        (Some(_), Some(_)) => return Err("a server has a command or a --url, not both".into()),
        (None, None) => return Err("a server needs a command after --, or --url URL".into()),
    }
    Ok(server)
}
