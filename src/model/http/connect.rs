//! How a server is reached: addresses, proxy, limits. One agent serves one request.

use super::exchange::Order;
use super::tls;
use crate::model::provider::{is_loopback, is_near};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::tls::TlsConfig;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use ureq::{Agent, Proxy};

/// The limit of look-up, and again of connecting, to this machine.
const NEAR: Duration = Duration::from_secs(5);

/// The same for every other server.
const FAR: Duration = Duration::from_secs(10);

/// A fresh agent for an order. It follows no redirect, asks for no compression, and uses the proxy
/// of the environment only for a server that is neither local nor on this machine or network.
///
/// # Errors
/// A sentence when the proxy or the certificates that are named are none.
pub(super) fn agent(order: &Order) -> Result<Agent, String> {
    let names = Names {
        far: order.far.then(|| host(&order.url)),
        ..Names::default()
    };
    let roots = order.ca_file.as_deref();
    with(&order.url, order.local, order.limit, roots, names)
}

/// The same for requests to `url` that are sent without an order of this module. `limit` is that of
/// look-up and connecting.
///
/// # Errors
/// As for an order.
pub fn agent_for(url: &str, local: bool, limit: Option<Duration>) -> Result<Agent, String> {
    with(url, local, limit, None, Names::default())
}

fn with(
    url: &str,
    local: bool,
    limit: Option<Duration>,
    ca_file: Option<&Path>,
    names: Names,
) -> Result<Agent, String> {
    let near = if is_loopback(url) { NEAR } else { FAR };
    let near = limit.map_or(near, |limit| near.min(limit));
    let mut config = Config::builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_idle_connections(1)
        .max_idle_connections_per_host(1)
        .user_agent(concat!("interpreter/", env!("CARGO_PKG_VERSION")))
        .timeout_resolve(Some(near))
        .timeout_connect(Some(near))
        .proxy(way(url, local)?);
    if is_tls(url) {
        let roots = tls::roots(ca_file)?;
        config = config.tls_config(TlsConfig::builder().root_certs(roots).build());
    }
    let config = config.build();
    Ok(Agent::with_parts(
        config,
        DefaultConnector::default(),
        names,
    ))
}

pub(super) fn is_tls(url: &str) -> bool {
    url.starts_with("https://")
}

fn way(url: &str, local: bool) -> Result<Option<Proxy>, String> {
    match local {
        true => Ok(None),
        false => super::proxy::for_url(url, &|name| std::env::var(name).ok()),
    }
}

/// The proxy of the environment that requests to `url` go through, as `host:port`; none for a
/// server on this machine or network.
pub fn proxy(url: &str, local: bool) -> Option<String> {
    let proxy = way(url, local).ok()??;
    Some(format!("{}:{}", proxy.host(), proxy.port()))
}

/// The host of `url` in lower case, without the brackets of an IPv6 address; empty when `url` is none.
fn host(url: &str) -> String {
    let uri = url.parse::<Uri>().ok();
    let host = uri.as_ref().and_then(Uri::host).unwrap_or_default();
    host.trim_matches(['[', ']']).to_ascii_lowercase()
}

/// The addresses that need no look-up: an IP address itself, or both loopbacks for `localhost`.
fn addresses(url: &str) -> Vec<IpAddr> {
    let host = host(url);
    if host == "localhost" || host.ends_with(".localhost") {
        return vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    }
    host.parse().ok().into_iter().collect()
}

/// Looks names up, but neither IP addresses nor `localhost`: a run against a local server must
/// not ask a name server for anything.
#[derive(Debug, Default)]
struct Names {
    dns: DefaultResolver,
    /// The host that must not be nearby, whatever its name leads to.
    far: Option<String>,
}

impl Resolver for Names {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let default_port = if uri.scheme_str() == Some("https") {
            443
        } else {
            80
        };
        let known = addresses(&uri.to_string());
        // A proxy's own address comes here too, with its own schemes: those have other ports.
        if known.is_empty() || (uri.port_u16().is_none() && !is_web(uri)) {
            let found = self.dns.resolve(uri, config, timeout)?;
            return self.far_only(uri, found);
        }
        let mut found = self.empty();
        for ip in known {
            found.push(SocketAddr::new(ip, uri.port_u16().unwrap_or(default_port)));
        }
        Ok(found)
    }
}

impl Names {
    /// The addresses, without those nearby where they are not wanted.
    fn far_only(
        &self,
        uri: &Uri,
        found: ResolvedSocketAddrs,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        // The address of a proxy is looked up here, too.
        if self.far.as_ref() != Some(&host(&uri.to_string())) {
            return Ok(found);
        }
        let mut far = self.empty();
        found
            .iter()
            .filter(|address| !is_near(address.ip()))
            .for_each(|address| far.push(*address));
        match far.is_empty() {
            true => Err(ureq::Error::Io(std::io::Error::other(
                "its name leads to an address on this machine or in its own network",
            ))),
            false => Ok(far),
        }
    }
}

fn is_web(uri: &Uri) -> bool {
    matches!(uri.scheme_str(), Some("http" | "https"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_no_look_up() {
        for url in [
            "http://127.0.0.1:11434/api",
            "http://localhost:1234/v1",
            "http://[::1]:8080/v1",
            "http://box.localhost/v1",
        ] {
            assert!(addresses(url).iter().any(IpAddr::is_loopback), "{url}");
        }
        assert_eq!(addresses("https://1.2.3.4/v1").len(), 1);
        for url in [
            "http://gpu:8000/v1",
            "http://localhost.example.com",
            "no url",
        ] {
            assert!(addresses(url).is_empty(), "{url}");
        }
    }

    #[test]
    fn a_name_that_leads_nearby_is_no_far_server() {
        let found = |ips: &[&str]| {
            let names = Names {
                far: Some("rebound.example.com".into()),
                ..Names::default()
            };
            let mut found = names.empty();
            for ip in ips {
                found.push(SocketAddr::new(ip.parse().unwrap(), 80));
            }
            let uri = "http://rebound.example.com/".parse().unwrap();
            names.far_only(&uri, found).map(|far| far.len()).ok()
        };
        assert_eq!(found(&["127.0.0.1", "169.254.169.254", "fd00::1"]), None);
        assert_eq!(found(&["192.168.0.1", "93.184.216.34"]), Some(1));
    }

    #[test]
    fn the_proxy_of_the_environment_is_left_out_for_near_servers() {
        let to = |url: &str, local| {
            let order = Order {
                url: url.to_owned(),
                headers: Vec::new(),
                body: None,
                local,
                ca_file: None,
                limit: None,
                far: false,
            };
            agent(&order).unwrap()
        };
        assert!(
            to("http://localhost:1/v1", false)
                .config()
                .proxy()
                .is_none()
        );
        assert!(
            to("https://far.example.com/v1", true)
                .config()
                .proxy()
                .is_none()
        );
        let far = to("https://far.example.com/v1", false);
        assert_eq!(far.config().timeouts().connect, Some(FAR));
    }
}
