//! Which proxy a request goes through, by the variables of the environment.
//!
//! `HTTPS_PROXY` for https, `HTTP_PROXY` for http, then `ALL_PROXY`, each also in small letters;
//! `NO_PROXY` lists what is reached without one.

use crate::model::provider::{is_local, port};
use std::net::IpAddr;
use ureq::Proxy;
use ureq::http::Uri;

/// The proxy for `url`; none for a server on this machine or network, whatever the variables say.
///
/// # Errors
/// A sentence when the variable holds no address of a proxy. Its value is not shown: it may hold a
/// password.
pub(super) fn for_url(
    url: &str,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<Proxy>, String> {
    if is_local(url) {
        return Ok(None);
    }
    let env = |name: &'static str| {
        let value = env(name).or_else(|| env(&name.to_lowercase()))?;
        let value = value.trim().to_owned();
        (!value.is_empty()).then_some((name, value))
    };
    let of_scheme = match url.starts_with("https:") {
        true => "HTTPS_PROXY",
        false => "HTTP_PROXY",
    };
    let Some((name, address)) = env(of_scheme).or_else(|| env("ALL_PROXY")) else {
        return Ok(None);
    };
    if env("NO_PROXY").is_some_and(|(_, list)| is_exempt(url, &list)) {
        return Ok(None);
    }
    // `Proxy` takes a bare host for one, but not the wrong scheme.
    Proxy::new(&address).map(Some).map_err(|_| {
        format!("{name} holds no address of a proxy; write it as http://HOST:PORT or socks5h://HOST:PORT")
    })
}

/// True when an entry of `NO_PROXY` covers the URL: `*`; a host or a domain, which covers what is
/// below it, with or without a dot or `*.` before it; an IP address or a range like `10.0.0.0/8`;
/// each also with a port.
fn is_exempt(url: &str, list: &str) -> bool {
    let Ok(uri) = url.parse::<Uri>() else {
        return false;
    };
    let host = uri.host().unwrap_or_default();
    let host = host.trim_matches(['[', ']']).trim_end_matches('.');
    let host = host.to_ascii_lowercase();
    let port = port(url);
    let entries = list.split(|c: char| c == ',' || c.is_whitespace());
    entries
        .filter(|entry| !entry.is_empty())
        .any(|entry| covers(&entry.to_ascii_lowercase(), &host, port))
}

fn covers(entry: &str, host: &str, port: Option<u16>) -> bool {
    if entry == "*" {
        return true;
    }
    let (name, wanted) = split_port(entry);
    if wanted.is_some() && wanted != port {
        return false;
    }
    if let Ok(ip) = host.parse::<IpAddr>() {
        return match name.split_once('/') {
            Some((network, bits)) => in_range(ip, network, bits),
            None => name.parse() == Ok(ip),
        };
    }
    let domain = name.trim_start_matches("*.").trim_matches('.');
    let above = host.strip_suffix(domain);
    !domain.is_empty() && above.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// The port of `host:port` and `[v6]:port`; an IPv6 address alone has none.
fn split_port(entry: &str) -> (&str, Option<u16>) {
    let bare = entry.trim_matches(['[', ']']);
    if bare
        .split('/')
        .next()
        .is_some_and(|a| a.parse::<IpAddr>().is_ok())
    {
        return (bare, None);
    }
    match entry.rsplit_once(':') {
        Some((name, port)) => match port.parse() {
            Ok(port) => (name.trim_matches(['[', ']']), Some(port)),
            Err(_) => (entry, None),
        },
        None => (entry, None),
    }
}

fn in_range(ip: IpAddr, network: &str, bits: &str) -> bool {
    let (Ok(network), Ok(bits)) = (network.parse::<IpAddr>(), bits.parse::<u32>()) else {
        return false;
    };
    match (ip, network) {
        (IpAddr::V4(ip), IpAddr::V4(net)) if bits <= 32 => {
            let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
            ip.to_bits() & mask == net.to_bits() & mask
        }
        (IpAddr::V6(ip), IpAddr::V6(net)) if bits <= 128 => {
            let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
            ip.to_bits() & mask == net.to_bits() & mask
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(url: &str, variables: &[(&str, &str)]) -> Result<Option<String>, String> {
        let env = |name: &str| {
            let found = variables.iter().find(|(n, _)| *n == name);
            found.map(|(_, v)| (*v).to_owned())
        };
        for_url(url, &env).map(|p| p.map(|p| format!("{}:{}", p.host(), p.port())))
    }

    #[test]
    fn each_scheme_has_its_own_proxy_and_near_servers_none() {
        let all = [
            ("HTTPS_PROXY", "http://secure:3128"),
            ("http_proxy", "plain:8080"),
            ("ALL_PROXY", "socks5h://rest:1080"),
        ];
        let is = |proxy: &str| Ok(Some(proxy.to_owned()));
        assert_eq!(chosen("https://far.example/v1", &all), is("secure:3128"));
        assert_eq!(chosen("http://far.example/v1", &all), is("plain:8080"));
        assert_eq!(chosen("https://far.example", &all[2..]), is("rest:1080"));
        for near in [
            "http://localhost:1",
            "http://127.0.0.1:1",
            "http://[::1]:1",
            "http://192.168.1.2",
        ] {
            assert_eq!(chosen(near, &all), Ok(None), "{near}");
        }
        assert_eq!(
            chosen("https://far.example", &[("HTTPS_PROXY", " ")]),
            Ok(None)
        );
        let why = chosen(
            "https://far.example",
            &[("HTTPS_PROXY", "ftp://u:hunter2@p:1")],
        )
        .unwrap_err();
        assert!(
            why.contains("HTTPS_PROXY") && !why.contains("hunter2"),
            "{why}"
        );
    }

    #[test]
    fn what_no_proxy_lists_goes_straight() {
        for (url, list, exempt) in [
            ("https://api.example.com/v1", "example.com", true),
            ("https://api.example.com/v1", ".example.com", true),
            ("https://example.com", ".example.com", true),
            ("https://api.example.com", "*.example.com", true),
            ("https://badexample.com", "example.com", false),
            ("https://API.Example.COM.", "example.com", true),
            ("https://a.example", "*", true),
            ("https://a.example:8443", "a.example:8443", true),
            ("https://a.example", "a.example:8443", false),
            ("https://a.example", "a.example:443", true),
            ("https://a.example", "b.example, a.example", true),
            ("https://a.example", "b.example a.example", true),
            ("http://8.8.4.4:9", "8.8.0.0/16", true),
            ("http://8.9.4.4:9", "8.8.0.0/16", false),
            ("http://8.8.4.4", "8.8.4.4", true),
            ("http://8.8.4.4:9", "8.8.4.4:9", true),
            ("http://8.8.4.4:8", "8.8.4.4:9", false),
            ("http://[2001:db8::5]:9", "2001:db8::/32", true),
            ("http://[2001:db9::5]:9", "2001:db8::/32", false),
            ("http://[2001:db8::5]:9", "[2001:db8::5]:9", true),
            ("http://[2001:db8::5]", "2001:db8::5", true),
            ("http://8.8.4.4", "0.0.0.0/0", true),
            ("http://8.8.4.4", "8.8.4.4/99", false),
            ("https://a.example", "", false),
            ("https://a.example", ".", false),
        ] {
            assert_eq!(is_exempt(url, list), exempt, "{url} with NO_PROXY={list}");
        }
    }
}
