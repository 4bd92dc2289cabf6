//! How a server is reached: addresses, proxy, limits. One agent serves one request.

use crate::model::provider::{is_local, is_loopback};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;
use ureq::Agent;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};

/// The limit of look-up, and again of connecting, to this machine.
const NEAR: Duration = Duration::from_secs(5);

/// The same for every other server.
const FAR: Duration = Duration::from_secs(10);

/// A fresh agent for `url`. It follows no redirect, asks for no compression, and uses the proxy of
/// the environment only for a server that is neither `local` nor on this machine or network.
pub(super) fn agent(url: &str, local: bool, limit: Option<Duration>) -> Agent {
    let near = if is_loopback(url) { NEAR } else { FAR };
    let near = limit.map_or(near, |limit| near.min(limit));
    let mut config = Config::builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_idle_connections(0)
        .user_agent(concat!("interpreter/", env!("CARGO_PKG_VERSION")))
        .timeout_resolve(Some(near))
        .timeout_connect(Some(near));
    if local || is_local(url) {
        config = config.proxy(None);
    }
    Agent::with_parts(
        config.build(),
        DefaultConnector::default(),
        Names::default(),
    )
}

/// The proxy of the environment that requests to `url` go through, as `host:port`; none for a
/// server on this machine or network.
pub fn proxy(url: &str, local: bool) -> Option<String> {
    let agent = agent(url, local, None);
    let proxy = agent.config().proxy()?;
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
struct Names(DefaultResolver);

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
            return self.0.resolve(uri, config, timeout);
        }
        let mut found = self.empty();
        for ip in known {
            found.push(SocketAddr::new(ip, uri.port_u16().unwrap_or(default_port)));
        }
        Ok(found)
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
    fn the_proxy_of_the_environment_is_left_out_for_near_servers() {
        assert!(
            agent("http://localhost:1/v1", false, None)
                .config()
                .proxy()
                .is_none()
        );
        assert!(
            agent("https://far.example.com/v1", true, None)
                .config()
                .proxy()
                .is_none()
        );
        let far = agent("https://far.example.com/v1", false, None);
        assert_eq!(far.config().timeouts().connect, Some(FAR));
    }
}
