//! Addresses of servers: reading them, bringing them into one form, and telling near from far.

use super::LocalServer;
use crate::model::WireApi;
use std::net::{IpAddr, Ipv6Addr};
use ureq::http::Uri;

/// The address that `OLLAMA_HOST` names, read as Ollama's own client reads it: any of `host`,
/// `host:port`, `:port`, a bare IP address, `[v6]:port`, each with or without scheme and path.
/// A wildcard address, which servers are told to bind to, becomes its loopback.
pub fn ollama_host(value: &str) -> String {
    let value = value.trim().trim_matches(['"', '\'']).trim();
    let (scheme, rest, default_port) = match value.split_once("://") {
        Some(("http", rest)) => ("http", rest, 80),
        Some(("https", rest)) => ("https", rest, 443),
        Some((_, rest)) => ("http", rest, 11434),
        None if value == "ollama.com" => ("https", value, 443),
        None => ("http", value, 11434),
    };
    let (host_port, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (host, port) = split_port(host_port);
    let port = match port {
        Some(text) => text.parse::<u16>().unwrap_or(default_port),
        None => default_port,
    };
    let host = host.trim_matches(['[', ']']);
    let host = match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(v4)) if v4.is_unspecified() => "127.0.0.1".to_string(),
        Ok(IpAddr::V6(v6)) if v6.is_unspecified() => "[::1]".to_string(),
        Ok(IpAddr::V6(v6)) => format!("[{v6}]"),
        _ if host.is_empty() => "127.0.0.1".to_string(),
        _ => host.to_string(),
    };
    format!("{scheme}://{host}:{port}/{path}")
        .trim_end_matches('/')
        .to_string()
}

/// Host and port of `host:port`; an IPv6 address alone has colons of its own and no port.
fn split_port(text: &str) -> (&str, Option<&str>) {
    if text.trim_matches(['[', ']']).parse::<Ipv6Addr>().is_ok() {
        return (text, None);
    }
    match text.rsplit_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (text, None),
    }
}

/// The base URL in the form that the wire wants: without a final slash; the server's root for
/// `ollama`; ending in `/v1` for `messages`, and for `chat` and `responses` at a local server, all
/// of which have these APIs there. `None` when it is not an http or https URL.
pub(in crate::model) fn normalise(
    url: &str,
    wire: WireApi,
    local: Option<LocalServer>,
) -> Option<String> {
    let url = url.trim().trim_end_matches('/');
    let (scheme, _) = url.split_once("://")?;
    let uri = url.parse::<Uri>().ok()?;
    if !matches!(scheme, "http" | "https") || uri.host()?.is_empty() || uri.query().is_some() {
        return None;
    }
    let host_end = uri.authority()?.as_str().rsplit(['@', ']']).next()?;
    if host_end.contains(':') && uri.port().is_none() {
        return None;
    }
    let root = server_root(url);
    let bare = matches!(uri.path(), "" | "/");
    Some(match wire {
        WireApi::Ollama => root.to_string(),
        WireApi::Messages => format!("{root}/v1"),
        WireApi::Chat | WireApi::Responses
            if local == Some(LocalServer::Ollama)
                || (bare && (local.is_some() || is_local(url))) =>
        {
            format!("{root}/v1")
        }
        WireApi::Chat | WireApi::Responses => url.to_string(),
    })
}

/// The base URL without a final `/v1`: where a server's own, non-OpenAI paths begin.
pub fn server_root(base_url: &str) -> &str {
    let url = base_url.trim_end_matches('/');
    url.strip_suffix("/v1").unwrap_or(url).trim_end_matches('/')
}

/// The URL with what stands before an `@` in its authority replaced, for messages.
pub(super) fn without_user(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_string();
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    match rest.get(..end).and_then(|a| a.rfind('@')) {
        Some(at) => format!("{scheme}://…{}", rest.get(at..).unwrap_or_default()),
        None => url.to_string(),
    }
}

/// The host of the URL in lower case, for messages; the whole text when it is no URL.
pub fn host(url: &str) -> String {
    host_of(url).unwrap_or_else(|| without_user(url))
}

/// The port of the URL, written or of its scheme.
pub fn port(url: &str) -> Option<u16> {
    let uri = url.trim().parse::<Uri>().ok()?;
    let of_scheme = match uri.scheme_str()? {
        "http" => 80,
        "https" => 443,
        _ => return None,
    };
    Some(uri.port_u16().unwrap_or(of_scheme))
}

/// True when a connection to the URL's host begins with a look-up: it is a name, and not `localhost`.
pub fn needs_look_up(url: &str) -> bool {
    !is_loopback(url) && host_of(url).is_none_or(|host| ip_of(&host).is_none())
}

fn host_of(url: &str) -> Option<String> {
    let uri = url.trim().parse::<Uri>().ok()?;
    uri.scheme()?;
    let host = uri.host()?.trim_matches(['[', ']']).trim_end_matches('.');
    Some(host.to_ascii_lowercase())
}

fn ip_of(host: &str) -> Option<IpAddr> {
    let ip = host.parse::<IpAddr>().ok()?;
    Some(plain(ip))
}

/// An IPv4 address that is written as an IPv6 one, as itself.
fn plain(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V6(v6) => v6.to_ipv4_mapped().map_or(ip, IpAddr::V4),
        IpAddr::V4(_) => ip,
    }
}

/// True when the URL's host is this machine: `localhost`, a loopback address, or the wildcard
/// address, which connects to it.
pub fn is_loopback(url: &str) -> bool {
    let Some(host) = host_of(url) else {
        return false;
    };
    match ip_of(&host) {
        Some(ip) => ip.is_loopback() || ip.is_unspecified(),
        None => host == "localhost" || host.ends_with(".localhost"),
    }
}

/// True when the URL's host is this machine or in a private network: the address ranges of RFC
/// 1918, 4193 and 6598, link-local addresses, names without a dot, and the usual suffixes of home
/// networks. Judged by the text alone; nothing is looked up.
pub fn is_local(url: &str) -> bool {
    if is_loopback(url) {
        return true;
    }
    let Some(host) = host_of(url) else {
        return false;
    };
    match ip_of(&host) {
        Some(ip) => is_near(ip),
        None => {
            !host.contains('.')
                || [".local", ".lan", ".internal", ".home.arpa"]
                    .iter()
                    .any(|suffix| host.ends_with(suffix))
        }
    }
}

/// True for an address of this machine or of a private network, as [`is_local`] has them.
pub fn is_near(ip: IpAddr) -> bool {
    match plain(ip) {
        ip if ip.is_loopback() || ip.is_unspecified() => true,
        IpAddr::V4(v4) => {
            let [a, b, ..] = v4.octets();
            let shared = a == 100 && (64..128).contains(&b);
            v4.is_private() || v4.is_link_local() || shared
        }
        IpAddr::V6(v6) => v6.is_unique_local() || v6.is_unicast_link_local(),
    }
}

/// Scheme, host and port of the URL in one form, for example `https://example.org:443`.
pub fn origin(url: &str) -> Option<String> {
    let uri = url.trim().parse::<Uri>().ok()?;
    let scheme = uri.scheme_str()?.to_ascii_lowercase();
    Some(format!("{scheme}://{}:{}", host_of(url)?, port(url)?))
}

/// The address that `reference` has on the page at `base` (RFC 3986, 5.2), without its fragment.
pub fn join(base: &str, reference: &str) -> String {
    let reference = reference.split('#').next().unwrap_or_default().trim();
    let has_scheme = reference.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    });
    let base = base.split('#').next().unwrap_or_default();
    let Some((scheme, rest)) = base.split_once("://").filter(|_| !has_scheme) else {
        return reference.to_owned();
    };
    let (authority, rest) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let path = rest.split('?').next().unwrap_or_default();
    if reference.is_empty() {
        return base.to_owned();
    }
    if let Some(other) = reference.strip_prefix("//") {
        return format!("{scheme}://{other}");
    }
    if reference.starts_with('?') {
        return format!("{scheme}://{authority}{path}{reference}");
    }
    let (reference, query) = reference.split_at(reference.find('?').unwrap_or(reference.len()));
    let mut parts: Vec<&str> = match reference.starts_with('/') {
        true => Vec::new(),
        false => path.split('/').skip(1).collect(),
    };
    parts.pop();
    let steps = reference.strip_prefix('/').unwrap_or(reference);
    let mut open = false;
    for step in steps.split('/') {
        open = matches!(step, "." | "..");
        match step {
            "." => {}
            ".." => drop(parts.pop()),
            step => parts.push(step),
        }
    }
    if open {
        parts.push("");
    }
    format!("{scheme}://{authority}/{}{query}", parts.join("/"))
}

/// The URL with `query` added, each name and value percent-encoded.
pub fn with_query(url: &str, query: &[(String, String)]) -> String {
    let mut out = url.to_string();
    for (name, value) in query {
        out.push(if out.contains('?') { '&' } else { '?' });
        out.push_str(&percent_encoded(name));
        out.push('=');
        out.push_str(&percent_encoded(value));
    }
    out
}

/// Percent-encodes all but the unreserved characters of RFC 3986.
pub(in crate::model) fn percent_encoded(text: &str) -> String {
    text.bytes()
        .map(|b| match b {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                char::from(b).to_string()
            }
            _ => format!("%{b:02X}"),
        })
        .collect()
}
