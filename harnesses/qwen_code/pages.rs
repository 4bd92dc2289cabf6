//! Pages of the web: `web_fetch`.

use super::TOOLS;
use super::results::{FRAME, OUTPUT};
use crate::harnesses::format::args::{Args, always, object};
use crate::harnesses::format::{clip, page};
use crate::harnesses::{CallError, Done};
use crate::tools::action::{Action, Fetch, PageForm, PageOut};
use serde_json::Value;
use std::time::Duration;

/// How long a page may take.
const FETCH: Duration = Duration::from_secs(60);
/// The most bytes of a question that are told again.
const ASKED: usize = 500;

/// The form decides only what the server is asked for; HTML is given as text in any case.
pub fn fetch(args: &Args) -> Result<Action, CallError> {
    args.need_filled("prompt")?;
    let form = match args.text("format") {
        None | Some("auto" | "markdown" | "html") => PageForm::Markdown,
        Some("text") => PageForm::Text,
        Some(_) => return Err(args.wrong("\"format\" must be auto, markdown, html or text")),
    };
    Ok(Action::Fetch(Fetch {
        form,
        ..Fetch::new(page::by_https(&args.need_filled("url")?), FETCH)
    }))
}

/// The arguments of the call that asks for this.
pub fn write(fetch: &Fetch) -> Value {
    object([
        ("url", always(fetch.url.as_str())),
        ("prompt", always("What it says.")),
        (
            "format",
            (fetch.form == PageForm::Text).then(|| "text".into()),
        ),
    ])
}

/// A page below two lines about it, or where it is. The original lets the model answer the prompt
/// from the page in a request of its own; here the model has the page, and is told its question.
pub fn told(done: &Done, url: &str, out: &PageOut, room: usize) -> String {
    let prompt = done
        .call
        .as_ref()
        .and_then(|call| Args::of(call, TOOLS).ok()?.filled("prompt"));
    let prompt = clip(&prompt.unwrap_or_default(), ASKED);
    if let Some(to) = &out.redirect {
        return format!(
            "REDIRECT DETECTED: this address leads to another server, which was not asked.\n\nOriginal URL: {url}\nRedirect URL: {to}\nStatus: {}\n\nTo get the page from there, call web_fetch with that url.",
            out.status
        );
    }
    let place = match out.url == url {
        true => String::new(),
        false => format!(" (final: {})", out.url),
    };
    let kind = match out.kind.as_str() {
        "" => "unknown",
        kind => kind,
    };
    let (text, rest) = page::text(
        out,
        OUTPUT.bytes.min(room.saturating_sub(FRAME + prompt.len())),
    );
    let rest = rest.map_or_else(String::new, |rest| format!("\n\n[{rest}]"));
    format!(
        "URL: {url}{place}\nStatus: {} OK | Content-Type: {kind} | Size: {} bytes\n\n{text}{rest}\n\nYou wanted to know: {prompt}",
        out.status, out.size
    )
}
