//! Pages of the web, as several agents tell them.

use crate::model::provider::is_local;
use crate::tools::action::PageOut;
use crate::words::head;

/// The address by https, where it names neither a server nearby nor a port.
pub fn by_https(url: &str) -> String {
    let Some(rest) = url.trim().strip_prefix("http://") else {
        return url.trim().to_owned();
    };
    let server = rest.split(['/', '?', '#']).next().unwrap_or_default();
    match server.contains(':') || is_local(url) {
        true => url.trim().to_owned(),
        false => format!("https://{rest}"),
    }
}

/// The text of a page within `most` bytes, and, when that is not all of it, where the rest is.
pub fn text(out: &PageOut, most: usize) -> (&str, Option<String>) {
    let all = out.output.text.trim_end();
    let mut shown = head(all, most);
    if shown.len() < all.len()
        && let Some(line) = shown.rfind('\n').filter(|at| *at > most / 2)
    {
        shown = &shown[..line];
    }
    let total = out.skipped as u64 + out.output.bytes;
    let mut rest = Vec::new();
    if shown.len() < all.len() || (all.len() as u64) < out.output.bytes.saturating_sub(2) {
        let last = out.skipped + shown.len();
        rest.push(format!(
            "Shown are the bytes {} to {last} of {total} of its text.",
            out.skipped
        ));
        rest.push(match &out.output.file {
            Some(file) => format!("The whole of it is in the file {}.", file.display()),
            None => "The rest could not be kept in a file.".to_owned(),
        });
    }
    if out.broken_off {
        rest.push("The server did not send all of the page.".to_owned());
    }
    (shown, (!rest.is_empty()).then(|| rest.join(" ")))
}

/// That a page is on another server, and how it is got with `tool`.
pub fn elsewhere(to: &str, tool: &str) -> String {
    format!(
        "This address leads to another server, which was not asked: {to}\nTo get the page from there, call {tool} with that url."
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::action::Output;

    #[test]
    fn https_takes_the_place_of_http_on_the_web_only() {
        for (url, by) in [
            ("http://example.org/a:b", "https://example.org/a:b"),
            ("http://example.org:8080/", "http://example.org:8080/"),
            ("http://localhost/x", "http://localhost/x"),
            ("http://192.168.0.1/", "http://192.168.0.1/"),
            (" https://example.org ", "https://example.org"),
        ] {
            assert_eq!(by_https(url), by);
        }
    }

    #[test]
    fn a_long_page_says_where_its_rest_is() {
        let mut page = PageOut {
            output: Output {
                text: "first line\nsecond line\n".into(),
                bytes: 23,
                file: Some("/o/1.txt".into()),
            },
            ..PageOut::default()
        };
        assert_eq!(text(&page, 100), ("first line\nsecond line", None));
        let (shown, rest) = text(&page, 15);
        assert_eq!(shown, "first line");
        let rest = rest.expect("a sentence");
        assert!(
            rest.contains("0 to 10 of 23") && rest.contains("/o/1.txt"),
            "{rest}"
        );
        page.broken_off = true;
        assert!(text(&page, 100).1.is_some());
    }
}
