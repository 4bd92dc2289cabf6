//! Addresses of requests: put together for the server, cut down for errors.

use crate::model::provider::{port, with_query};
use ureq::http::Uri;

/// Base URL, path and query in one. A query of the base URL itself is kept.
pub(super) fn address(base: &str, path: &str, query: &[(String, String)]) -> String {
    let (base, own) = base.split_once('?').unwrap_or((base, ""));
    let mut url = format!("{}{path}", base.trim_end_matches('/'));
    if !own.is_empty() {
        url.push('?');
        url.push_str(own);
    }
    with_query(&url, query)
}

/// The address as errors show it: a query or a user part may hold a key.
pub(super) fn shown(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or(url);
    match url.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let host = authority.rsplit('@').next().unwrap_or(authority);
            format!("{scheme}://{host}{path}")
        }
        None => url.to_owned(),
    }
}

/// The address that `location` means at `url`, where scheme, host and port stay the same.
pub(super) fn within_origin(url: &str, location: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let origin = format!("{scheme}://{authority}");
    if location.starts_with('/') && !location.starts_with("//") {
        return Some(format!("{origin}{location}"));
    }
    // With another user part it would be another credential.
    let parsed = location.parse::<Uri>().ok()?;
    let ours = url.parse::<Uri>().ok()?;
    let host = |uri: &Uri| uri.host().map(str::to_ascii_lowercase);
    let same = parsed.scheme() == ours.scheme()
        && host(&parsed) == host(&ours)
        && port(location) == port(url)
        && !parsed.authority()?.as_str().contains('@');
    let path = parsed.path_and_query()?;
    same.then(|| format!("{origin}{path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_is_added_encoded_and_never_shown() {
        let query = [("api-version".to_owned(), "2024 a&b".to_owned())];
        let url = address("https://u:p@h.example/v1/?x=1", "/chat/completions", &query);
        assert_eq!(
            url,
            "https://u:p@h.example/v1/chat/completions?x=1&api-version=2024%20a%26b"
        );
        assert_eq!(shown(&url), "https://h.example/v1/chat/completions");
        assert_eq!(address("http://h:1/v1", "/m", &[]), "http://h:1/v1/m");
    }

    #[test]
    fn a_redirect_stays_within_its_origin() {
        let from = "https://u:p@h.example/v1/chat?x=1";
        for (location, to) in [
            ("/v2/chat?y=2", Some("https://u:p@h.example/v2/chat?y=2")),
            ("https://h.example/b", Some("https://u:p@h.example/b")),
            ("https://H.Example:443/b", Some("https://u:p@h.example/b")),
            ("https://h.example:8443/b", None),
            ("http://h.example/b", None),
            ("https://other.example/b", None),
            ("https://h.example.evil/b", None),
            ("//other.example/b", None),
            ("https://x@h.example/b", None),
            ("https://h.example@evil.example/b", None),
            ("nonsense", None),
            ("", None),
        ] {
            assert_eq!(within_origin(from, location).as_deref(), to, "{location}");
        }
    }
}
