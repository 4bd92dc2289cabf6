//! Addresses of requests: put together for the server, cut down for errors.

use crate::model::provider::with_query;

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
}
