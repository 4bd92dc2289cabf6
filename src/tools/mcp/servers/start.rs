//! One server of the config, from its entry to a connection with a list of tools.

use super::super::client::{Client, Limits, Offer};
use super::super::http::Http;
use super::super::names;
use super::super::stdio::{Program, Stdio};
use super::super::transport::{Inbox, McpError, Transport};
use super::{Entry, World};
use crate::cancel::Cancel;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Instant;

/// Starts a server and lists its tools, within its limit.
pub(super) fn connect(
    entry: &Entry,
    world: &World,
    cancel: &Cancel,
    begun: impl FnOnce(Arc<dyn Transport>),
) -> Result<(Arc<Client>, Vec<Offer>), McpError> {
    let began = Instant::now();
    let limit = entry.server.startup_limit();
    let inbox = Arc::new(Inbox::new(&world.cwd));
    let transport = transport(entry, world, inbox.clone())?;
    begun(transport.clone());
    let time = limit.saturating_sub(began.elapsed());
    let client = Client::connect(transport, inbox, world.asks, Limits { time, cancel })?;
    let time = limit.saturating_sub(began.elapsed());
    let offers = client.list(Limits { time, cancel })?;
    Ok((Arc::new(client), offers))
}

fn transport(
    entry: &Entry,
    world: &World,
    inbox: Arc<Inbox>,
) -> Result<Arc<dyn Transport>, McpError> {
    let server = &entry.server;
    if names::clean(&entry.name) != entry.name || entry.name.is_empty() {
        return Err(McpError::Other(
            "a name has letters, digits, _ and - only; rename it in the config".into(),
        ));
    }
    match (&server.command, &server.url) {
        (Some(command), None) => {
            let mut env: Vec<(String, OsString)> = Vec::new();
            for name in &server.env_vars {
                env.extend(std::env::var_os(name).map(|value| (name.clone(), value)));
            }
            for (name, value) in &server.env {
                env.push((name.clone(), ours(value)?.into()));
            }
            let program = Program {
                command: command.clone(),
                args: server.args.clone(),
                dir: server.cwd.clone().unwrap_or_else(|| world.cwd.clone()),
                env,
            };
            Ok(Arc::new(Stdio::start(&entry.name, &program, inbox)?))
        }
        (None, Some(url)) => {
            let mut headers = Vec::new();
            for (name, value) in &server.http_headers {
                headers.push((name.clone(), ours(value)?));
            }
            for (name, variable) in &server.env_http_headers {
                let value = std::env::var(variable).ok().filter(|v| !v.is_empty());
                headers.extend(value.map(|value| (name.clone(), value)));
            }
            if let Some(variable) = &server.bearer_token_env_var {
                let token = ours(&format!("env:{variable}"))?;
                headers.push(("Authorization".into(), format!("Bearer {token}")));
            }
            Ok(Arc::new(Http::new(url, headers, inbox)?))
        }
        (Some(_), Some(_)) => Err(McpError::Other(
            "it has a command and a url; keep one of them".into(),
        )),
        (None, None) => Err(McpError::Other("it has neither a command nor a url".into())),
    }
}

/// A value of the config; `env:NAME` is what our variable of that name holds.
fn ours(value: &str) -> Result<String, McpError> {
    let Some(name) = value.strip_prefix("env:") else {
        return Ok(value.to_owned());
    };
    let value = std::env::var(name).ok().filter(|v| !v.is_empty());
    value.ok_or_else(|| {
        McpError::Other(format!(
            "the variable {name} is not set; set it, or change the config"
        ))
    })
}
