//! The inside of tags: attributes, and elements that hold no markup.

use super::entities::decode;

/// The attributes of a tag, by their names in lower case, and what comes after it.
pub fn attributes(tag: &str) -> (Vec<(String, String)>, &str) {
    let mut found = Vec::new();
    let mut rest = tag;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        if rest.is_empty() {
            return (found, rest);
        }
        if let Some(after) = rest.strip_prefix('>') {
            return (found, after);
        }
        let stops = |c: char| c.is_ascii_whitespace() || matches!(c, '=' | '>' | '/');
        // A name has at least one character, so that this goes on.
        let first = rest.chars().next().map_or(0, char::len_utf8);
        let end = rest[first..]
            .find(stops)
            .map_or(rest.len(), |at| at + first);
        let name = rest[..end].to_ascii_lowercase();
        rest = rest[end..].trim_start();
        let Some(value) = rest.strip_prefix('=') else {
            found.push((name, String::new()));
            continue;
        };
        let value = value.trim_start();
        let (value, after) = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => {
                let inside = &value[1..];
                let end = inside.find(quote).unwrap_or(inside.len());
                (&inside[..end], inside.get(end + 1..).unwrap_or_default())
            }
            _ => {
                let end = value
                    .find(|c: char| c.is_ascii_whitespace() || c == '>')
                    .unwrap_or(value.len());
                value.split_at(end)
            }
        };
        found.push((name, decode(value)));
        rest = after;
    }
}

/// The inside of a raw element, and what comes after its end.
pub fn raw<'t>(name: &str, html: &'t str) -> (&'t str, &'t str) {
    let mut from = 0;
    while let Some(at) = html[from..].find("</").map(|at| at + from) {
        let named = html.get(at + 2..at + 2 + name.len()).unwrap_or_default();
        if named.eq_ignore_ascii_case(name) {
            let rest = &html[at..];
            return (
                &html[..at],
                rest.find('>').map_or("", |end| &rest[end + 1..]),
            );
        }
        from = at + 2;
    }
    (html, "")
}
