//! Pages of the web: got with bounds in bytes and time, and made readable.

mod entities;
mod html;
mod tags;
#[cfg(test)]
mod tests;

use super::action::{Fetch, Outcome, PageForm, PageOut, ToolError};
use super::{Workbench, output};
use crate::cancel::Cancel;
use crate::model::http::{Page, PageError, get_page};
use crate::model::provider::{host, join, origin};
use crate::words::head;
use encoding_rs::{Encoding, UTF_8};
use std::time::Instant;

/// The most bytes of a page. Scripts and styles of an HTML page count, too.
const MOST: usize = 10 << 20;
/// The most bytes of an address that is told.
const ADDRESS: usize = 2_000;
/// The most redirects that are followed.
const REDIRECTS: usize = 5;
/// Where the encoding of an HTML page is declared, in bytes from its beginning.
const DECLARED: usize = 1024;

impl Workbench {
    /// Gets a page. Redirects are followed on the same server only; one to another is told, so
    /// that it is asked for and judged like any address.
    pub(super) fn fetch(
        &self,
        fetch: &Fetch,
        room: usize,
        cancel: &Cancel,
    ) -> Result<Outcome, ToolError> {
        let failed = |why: String| ToolError::NotFetched {
            url: fetch.url.clone(),
            why,
        };
        let mut url = address(&fetch.url).map_err(failed)?;
        let until = Instant::now() + fetch.limit;
        for _ in 0..=REDIRECTS {
            let left = until.saturating_duration_since(Instant::now());
            let page = match get_page(&url, accept(fetch.form), MOST, left, cancel) {
                Ok(page) => page,
                Err(PageError::Interrupted) => return Ok(Outcome::Interrupted),
                Err(PageError::Failed(why)) => return Err(failed(why)),
            };
            let to = match &page.location {
                Some(location) if (300..400).contains(&page.status) => join(&url, location),
                _ => {
                    let read = self.page(fetch, url, page, room);
                    return read.map(Outcome::Fetched).map_err(failed);
                }
            };
            if !same_server(&url, &to) {
                return Ok(Outcome::Fetched(PageOut {
                    url,
                    status: page.status,
                    redirect: Some(without_controls(head(&to, ADDRESS))),
                    ..PageOut::default()
                }));
            }
            url = address(&to).map_err(failed)?;
        }
        Err(failed(format!("it redirects more than {REDIRECTS} times")))
    }

    /// The text of an answer, or why there is none.
    fn page(&self, fetch: &Fetch, url: String, page: Page, room: usize) -> Result<PageOut, String> {
        if !(200..300).contains(&page.status) {
            return Err(format!("the server answered with status {}", page.status));
        }
        let kind = page.content_type.unwrap_or_default();
        let is_html = kind.contains("html") || kind.is_empty() && looks_like_html(&page.body);
        if !is_text(&kind, &page.body) {
            return Err(format!(
                "it is {} ({} bytes), not text; a command such as curl can save it to a file",
                kind.split(';').next().unwrap_or_default(),
                page.body.len()
            ));
        }
        let text = decode(&page.body, &kind, is_html);
        let (text, title) = match fetch.form {
            PageForm::Source => (text, None),
            _ if !is_html => (text, None),
            form => html::readable(&text, &url, form == PageForm::Markdown),
        };
        let text = without_controls(&text);
        let skipped = text.floor_char_boundary(fetch.skip);
        let rest = &text[skipped..];
        if rest.is_empty() && skipped > 0 {
            return Err(format!(
                "its text has {} bytes, so there is nothing after {}",
                text.len(),
                fetch.skip
            ));
        }
        Ok(PageOut {
            url,
            status: page.status,
            extracted: is_html && fetch.form != PageForm::Source,
            kind,
            size: page.body.len() as u64,
            title,
            skipped,
            output: output::kept(rest, room, &self.setup.outputs),
            broken_off: page.lost.is_some(),
            redirect: None,
        })
    }
}

/// The address as it is sent: `http` or `https`, without user and fragment, and with what may not
/// stand in an address percent-encoded.
fn address(written: &str) -> Result<String, String> {
    let url = written.trim().split('#').next().unwrap_or_default();
    let Some((scheme, rest)) = url.split_once("://") else {
        return Err("an address begins with https:// or http://".into());
    };
    let scheme = scheme.to_ascii_lowercase();
    if !matches!(scheme.as_str(), "http" | "https") {
        return Err(format!("{scheme} is neither http nor https"));
    }
    let mut url = format!("{scheme}://");
    for c in rest.chars() {
        if c.is_ascii_graphic() && !"\"<>\\^`{|}".contains(c) {
            url.push(c);
        } else {
            let mut bytes = [0; 4];
            for byte in c.encode_utf8(&mut bytes).bytes() {
                url.push_str(&format!("%{byte:02X}"));
            }
        }
    }
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err("an address with a user name or a password is not fetched".into());
    }
    match origin(&url) {
        Some(_) => Ok(url),
        None => Err("it is no address of a server".into()),
    }
}

/// True when a redirect stays on the server: the same host and port, or the same host by https.
fn same_server(from: &str, to: &str) -> bool {
    let (Some(old), Some(new)) = (origin(from), origin(to)) else {
        return false;
    };
    let host = host(from);
    old == new || old == format!("http://{host}:80") && new == format!("https://{host}:443")
}

fn accept(form: PageForm) -> &'static str {
    match form {
        PageForm::Markdown => {
            "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, text/plain;q=0.8, */*;q=0.1"
        }
        PageForm::Text => "text/plain, text/html;q=0.9, */*;q=0.1",
        PageForm::Source => "text/html, */*;q=0.1",
    }
}

fn looks_like_html(body: &[u8]) -> bool {
    let start = String::from_utf8_lossy(&body[..body.len().min(DECLARED)]).to_lowercase();
    ["<!doctype html", "<html", "<body", "<head"]
        .iter()
        .any(|mark| start.contains(mark))
}

/// Text by its type; where the type says nothing, by the absence of zero bytes.
fn is_text(kind: &str, body: &[u8]) -> bool {
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let kind = kind.to_ascii_lowercase();
    match kind.as_str() {
        "" | "application/octet-stream" | "binary/octet-stream" => {
            !body[..body.len().min(8 * DECLARED)].contains(&0)
        }
        kind => {
            kind.starts_with("text/")
                || [
                    "json",
                    "xml",
                    "javascript",
                    "ecmascript",
                    "yaml",
                    "toml",
                    "sql",
                    "x-sh",
                ]
                .iter()
                .any(|word| kind.contains(word))
        }
    }
}

/// Bytes to text by the encoding that the header names, or an HTML page itself; else UTF-8.
fn decode(body: &[u8], kind: &str, is_html: bool) -> String {
    let named = |text: &str| {
        let text = text.to_ascii_lowercase();
        let label = text
            .split_once("charset")?
            .1
            .trim_start()
            .strip_prefix('=')?;
        let label = label.trim_start().trim_start_matches(['"', '\'']);
        let end = label
            .find(|c: char| !c.is_ascii_alphanumeric() && !"-_:.".contains(c))
            .unwrap_or(label.len());
        Encoding::for_label(&label.as_bytes()[..end])
    };
    let declared = || {
        let start = &body[..body.len().min(DECLARED)];
        named(&String::from_utf8_lossy(start)).filter(|_| is_html)
    };
    let encoding = named(kind).or_else(declared).unwrap_or(UTF_8);
    encoding.decode(body).0.into_owned()
}

/// Text as a model may read it: `\n` ends, and no other control characters than tabs.
fn without_controls(text: &str) -> String {
    text.replace("\r\n", "\n")
        .chars()
        .filter(|c| !c.is_control() || matches!(c, '\n' | '\t'))
        .collect()
}
