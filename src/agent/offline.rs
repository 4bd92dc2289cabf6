//! `--offline`: only a server on the user's own machine or network, and the kernel's rules for it.

use super::connect::{ConnectError, named_provider};
use crate::config::Config;
use crate::model::provider::{self, LocalServer};
use crate::sandbox::Offline;

/// Puts the kernel's rules on this process if the settings ask for it; `None` if they do not.
///
/// Called once settings are read and before the first thread starts. Nothing is connected to: the
/// rules allow the port of the provider that will be used, or those of the well-known local
/// servers when whichever answers is taken, and those of MCP servers at near addresses. `resumed`
/// is the provider of a resumed session.
///
/// # Errors
/// One sentence when the provider cannot be used offline or has no address.
pub fn hold(config: &Config, resumed: Option<&str>) -> Result<Option<Offline>, ConnectError> {
    if !*config.offline {
        return Ok(None);
    }
    let env = |name: &str| std::env::var(name).ok();
    let address = |id: &str| -> Result<String, ConnectError> {
        let url =
            provider::address_of(id, config, &env).map_err(|e| ConnectError(e.to_string()))?;
        refusal(id, &url).map_or(Ok(url), |why| Err(ConnectError(why)))
    };
    let addresses = match named_provider(config, resumed) {
        Some(id) => vec![address(&id)?],
        None => {
            let servers = LocalServer::ALL.iter();
            servers.filter_map(|s| address(s.id()).ok()).collect()
        }
    };
    let mut ports: Vec<u16> = addresses.iter().filter_map(|a| provider::port(a)).collect();
    ports.extend(mcp_ports(config));
    ports.sort_unstable();
    ports.dedup();
    Ok(Some(Offline::hold(&ports)))
}

/// The ports of the configured MCP servers that are used offline.
fn mcp_ports(config: &Config) -> impl Iterator<Item = u16> {
    let servers = config.mcp_servers.values().map(|server| &server.value);
    let urls = servers
        .filter(|s| s.is_enabled())
        .filter_map(|s| s.url.as_deref());
    urls.filter(|url| distance(url).is_none())
        .filter_map(provider::port)
}

/// Why an address is out of reach offline.
enum Distance {
    Far,
    NeedsLookUp,
}

fn distance(url: &str) -> Option<Distance> {
    match (provider::is_local(url), provider::needs_look_up(url)) {
        (false, _) => Some(Distance::Far),
        (true, true) => Some(Distance::NeedsLookUp),
        (true, false) => None,
    }
}

/// Why a provider at this address is not used offline; `None` when it may be.
pub fn refusal(id: &str, base_url: &str) -> Option<String> {
    let host = provider::host(base_url);
    Some(match distance(base_url)? {
        Distance::Far => format!(
            "offline: provider {id} is at {host}, which is neither this machine nor its own network; use a local server, for example with --oss, or leave out --offline"
        ),
        Distance::NeedsLookUp => format!(
            "offline: the address of provider {id} has the name {host}, which would have to be looked up; write its IP address into base_url"
        ),
    })
}

/// Why an MCP server at this address is not used offline; `None` when it may be. One that the
/// config does not name, such as an editor's, comes after the kernel's rules were made.
pub fn mcp_refusal(config: &Config, url: &str) -> Option<String> {
    let host = provider::host(url);
    Some(match distance(url) {
        Some(Distance::Far) => format!(
            "offline: it is at {host}, which is neither this machine nor its own network; leave out --offline to use it"
        ),
        Some(Distance::NeedsLookUp) => format!(
            "offline: its address has the name {host}, which would have to be looked up; write its IP address into url"
        ),
        None => {
            let port = provider::port(url);
            if port.is_none_or(|port| mcp_ports(config).any(|known| known == port)) {
                return None;
            }
            format!(
                "offline: connections are held to the addresses of the config, and {url} is none of them; put this server into the config (`interpreter mcp add`)"
            )
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_near_addresses_that_need_no_look_up_are_used() {
        for near in [
            "http://127.0.0.1:11434",
            "http://localhost:1234/v1",
            "http://[::1]:8080/v1",
            "http://192.168.1.5:8000/v1",
        ] {
            assert_eq!(refusal("x", near), None, "{near}");
        }
        for (far, word) in [
            ("https://api.openai.com/v1", "api.openai.com"),
            ("http://8.8.8.8:11434", "8.8.8.8"),
            ("http://gpu.local:8000/v1", "looked up"),
            ("http://gpu:8000/v1", "looked up"),
        ] {
            let why = refusal("x", far).unwrap_or_default();
            assert!(why.contains(word), "{far}: {why}");
        }
    }
}
