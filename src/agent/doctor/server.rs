//! Is the server there, where, and what is it?

use super::{Case, Finding, bounded, set};
use crate::agent::connect::{self, choose_provider, named_provider};
use crate::agent::event::{Answer, Event, Frontend, Question};
use crate::cancel::Cancel;
use crate::model::local::{self, Found};
use crate::model::provider::{self, LocalServer, Provider, ProviderError, is_loopback};
use crate::model::{ModelError, http};
use std::net::Ipv4Addr;
use std::time::Duration;

/// How long finding out what answers may take, all tries together.
const LIMIT: Duration = Duration::from_secs(15);
/// How long a server may take for its list of models.
const REACH: Duration = Duration::from_secs(5);

/// The provider, and what is to be said about it.
pub fn examine(case: &Case, cancel: &Cancel) -> (Option<Provider>, Vec<Finding>) {
    let mut provider = match choose(case, cancel) {
        Ok(provider) => provider,
        Err(finding) => return (None, vec![finding]),
    };
    let (found, late) = bounded(LIMIT, cancel, |c| local_kind(&provider, c));
    let finding = match found {
        Some(found) => identified(&mut provider, found),
        None if late => silent(&provider, "it takes connections and says nothing"),
        None => match local::reach(&provider, REACH, cancel) {
            Ok(()) => Finding::ok("server", at(&provider, "a server")),
            Err(error) => trouble(&provider, &error, cancel),
        },
    };
    let finding = finding
        .fact("provider", provider.id.clone())
        .fact("url", provider.base_url.clone())
        .fact("wire", provider.wire.name())
        .fact("proxy", proxy(&provider));
    (Some(provider), vec![finding])
}

/// Only a server on the user's own machine or network is asked for its kind.
fn local_kind(provider: &Provider, cancel: &Cancel) -> Option<Found> {
    provider
        .is_local()
        .then(|| local::identify(provider, cancel))
        .flatten()
}

/// The provider that a session would take.
fn choose(case: &Case, cancel: &Cancel) -> Result<Provider, Finding> {
    let wish = case.wish();
    let env = |name: &str| std::env::var(name).ok();
    if let Some(id) = named_provider(case.config, None) {
        return connect::resolve(&id, case.config, case.chat_completions).map_err(|e| {
            let fix = match provider::resolve(&id, case.config, &env, case.chat_completions) {
                Ok(_) => "--oss, or no --offline".into(),
                Err(ProviderError::MissingKey { variable, .. }) => format!("export {variable}=KEY"),
                Err(ProviderError::Unknown { .. }) => "-c model_provider=NAME".into(),
                Err(_) => format!("edit {}", case.home.config_file().display()),
            };
            Finding::fail("server", e.to_string()).fix(fix)
        });
    }
    let (chosen, late) = bounded(LIMIT, cancel, |c| {
        choose_provider(case.config, &wish, c, &mut Deaf)
    });
    chosen.map_err(|e| {
        let text = match late {
            true => "the local servers take connections and say nothing".to_owned(),
            false => e.to_string(),
        };
        let finding = Finding::fail("server", text);
        let candidates = LocalServer::ALL
            .iter()
            .filter_map(|s| provider::resolve(s.id(), case.config, &env, false).ok());
        let windows = candidates
            .into_iter()
            .find_map(|p| on_windows_host(&p, cancel).map(|url| set(&p, "base_url", &url)));
        finding.fix(windows.unwrap_or_else(|| "ollama serve".into()))
    })
}

/// A server that says what it is.
fn identified(provider: &mut Provider, found: Found) -> Finding {
    let version = found.version.as_deref().unwrap_or_default();
    let name = found.server.name();
    let who = format!("{name} {version}");
    let expected = provider.local.filter(|e| *e != found.server);
    let finding = match expected {
        None => Finding::ok("server", at(provider, who.trim())),
        Some(expected) => Finding::warn(
            "server",
            format!("{}, not {}", at(provider, who.trim()), expected.name()),
        )
        .fix(format!("--local-provider {}", found.server.id())),
    };
    provider.local.get_or_insert(found.server);
    finding.fact("kind", name).fact("version", found.version)
}

fn at(provider: &Provider, who: &str) -> String {
    let through = match proxy(provider) {
        Some(proxy) => format!(" through the proxy {proxy}"),
        None => String::new(),
    };
    format!("{who} at {}{through}", provider.base_url)
}

fn proxy(provider: &Provider) -> Option<String> {
    http::proxy(&provider.base_url, provider.local.is_some())
}

/// What an answer, or none, means.
fn trouble(provider: &Provider, error: &ModelError, cancel: &Cancel) -> Finding {
    match error {
        ModelError::Status {
            status: status @ (401 | 403),
            message,
            ..
        } => Finding::fail(
            "server",
            format!("{} the key ({status}: {message})", at(provider, "refuses")),
        )
        .fix(format!(
            "export KEY_VARIABLE=KEY, and {}",
            set(provider, "env_key", "KEY_VARIABLE")
        ))
        .fact("status", *status),
        ModelError::Unreachable { why, .. } => match on_windows_host(provider, cancel) {
            Some(url) => Finding::fail(
                "server",
                format!("{} ({why}), but one at the Windows host", nobody(provider)),
            )
            .fix(set(provider, "base_url", &url))
            .fact("windows_host", url),
            None => silent(provider, why),
        },
        ModelError::Tls { why, .. } => Finding::fail(
            "server",
            format!("{} safely: {why}", at(provider, "not reached")),
        )
        .fix("export SSL_CERT_FILE=FILE.pem")
        .fact("certificate", why.clone()),
        // It answers, and that is all that is asked here.
        ModelError::Status { status, .. } => Finding::ok(
            "server",
            format!(
                "{} (its list of models: {status})",
                at(provider, "a server")
            ),
        )
        .fact("status", *status),
        ModelError::NoModel { .. } => Finding::ok("server", at(provider, "a server")),
        other => Finding::fail("server", other.to_string()).fix(start(provider)),
    }
}

fn nobody(provider: &Provider) -> String {
    at(provider, "no answer")
}

fn silent(provider: &Provider, why: &str) -> Finding {
    Finding::fail("server", format!("{} ({why})", nobody(provider))).fix(start(provider))
}

/// The command that starts a server.
fn start(provider: &Provider) -> String {
    match provider.local {
        Some(LocalServer::Ollama) => "ollama serve".into(),
        Some(LocalServer::LmStudio) => "lms server start".into(),
        Some(LocalServer::LlamaServer) => "llama-server --jinja -m FILE.gguf --port 8080".into(),
        Some(LocalServer::Vllm) => "vllm serve MODEL".into(),
        None => set(provider, "base_url", "http://HOST:PORT/v1"),
    }
}

/// Under WSL, where a server that runs on the Windows side answers: not at the loopback of Linux,
/// but at the gateway. `None` elsewhere, or when nobody answers there either.
fn on_windows_host(provider: &Provider, cancel: &Cancel) -> Option<String> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    if !is_wsl(&read("/proc/sys/kernel/osrelease")) || !is_loopback(&provider.base_url) {
        return None;
    }
    let host = gateway(&read("/proc/net/route"))?;
    let there = Provider {
        base_url: with_host(&provider.base_url, host)?,
        ..provider.clone()
    };
    local::identify(&there, cancel).map(|_| there.base_url)
}

fn is_wsl(release: &str) -> bool {
    release.to_lowercase().contains("microsoft")
}

/// The default gateway in `/proc/net/route`: numbers in hexadecimal, lowest byte first.
fn gateway(table: &str) -> Option<Ipv4Addr> {
    table.lines().skip(1).find_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        let (to, gateway) = (words.next()?, words.next()?);
        let number = u32::from_str_radix(gateway, 16).ok()?;
        (to == "00000000" && number != 0).then(|| Ipv4Addr::from(number.swap_bytes()))
    })
}

/// The same URL at another host.
fn with_host(url: &str, host: Ipv4Addr) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let port = match authority.rsplit_once(':') {
        Some((_, port)) if port.bytes().all(|b| b.is_ascii_digit()) => format!(":{port}"),
        _ => String::new(),
    };
    Some(format!("{scheme}://{host}{port}{path}"))
}

/// Hears nothing: what is chosen is a finding here.
struct Deaf;

impl Frontend for Deaf {
    fn event(&mut self, _: &Event) {}

    fn ask(&mut self, _: &Question) -> Answer {
        Answer::No(None)
    }

    fn interactive(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_windows_host_is_the_gateway_of_wsl() {
        assert!(is_wsl("5.15.167.4-microsoft-standard-WSL2\n"));
        assert!(!is_wsl("6.8.0-45-generic\n"));
        let table = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\n\
                     eth0\t00000000\t0190A0AC\t0003\t0\t0\t0\t00000000\n\
                     eth0\t0090A0AC\t00000000\t0001\t0\t0\t0\t00F0FFFF\n";
        assert_eq!(gateway(table), Some(Ipv4Addr::new(172, 160, 144, 1)));
        assert_eq!(gateway("Iface\tDestination\tGateway\n"), None);
    }

    #[test]
    fn only_the_host_of_an_address_changes() {
        let host = Ipv4Addr::new(172, 20, 0, 1);
        for (from, to) in [
            ("http://127.0.0.1:11434", "http://172.20.0.1:11434"),
            ("http://[::1]:8080/v1", "http://172.20.0.1:8080/v1"),
            ("http://localhost/v1", "http://172.20.0.1/v1"),
        ] {
            assert_eq!(with_host(from, host).as_deref(), Some(to));
        }
    }
}
