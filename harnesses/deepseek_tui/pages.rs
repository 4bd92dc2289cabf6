//! Pages of the web: `fetch_url`.

use super::arguments;
use super::opening::pretty;
use super::results::FRAME;
use crate::harnesses::format::args::{Args, always, milliseconds, object, unless};
use crate::harnesses::format::page;
use crate::harnesses::{CallError, Done};
use crate::tools::action::{Action, Fetch, PageForm, PageOut};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// Milliseconds by default, and at most.
const TIMEOUT: (u64, u64) = (15_000, 60_000);
/// The most values that one path gives.
const VALUES: usize = 1_000;

/// What a call asks for.
pub fn fetch(args: &Args) -> Result<Action, CallError> {
    let form = match args.text("format").map(str::to_lowercase).as_deref() {
        None | Some("markdown" | "md") => PageForm::Markdown,
        Some("text" | "txt" | "plain") => PageForm::Text,
        Some("raw" | "html" | "bytes") => PageForm::Source,
        Some(_) => return Err(args.wrong("\"format\" must be text, markdown or raw")),
    };
    let limit = args
        .positive("timeout_ms")
        .unwrap_or(TIMEOUT.0)
        .min(TIMEOUT.1);
    Ok(Action::Fetch(Fetch {
        form,
        ..Fetch::new(args.need_filled("url")?, Duration::from_millis(limit))
    }))
}

/// The arguments of the call that asks for this.
pub fn write(fetch: &Fetch) -> Value {
    let form = match fetch.form {
        PageForm::Markdown => None,
        PageForm::Text => Some("text"),
        PageForm::Source => Some("raw"),
    };
    object([
        ("url", always(fetch.url.as_str())),
        ("format", form.map(Value::from)),
        ("timeout_ms", unless(TIMEOUT.0, milliseconds(fetch.limit))),
    ])
}

/// The page in JSON. Where paths are asked for, only what stands there is given of it.
pub fn told(done: &Done, out: &PageOut, room: usize) -> String {
    if let Some(to) = &out.redirect {
        return page::elsewhere(to, "fetch_url");
    }
    let args = arguments(done);
    let paths = args.as_ref().map(|args| args.texts("fields"));
    let most = args.as_ref().and_then(|args| args.size("max_bytes"));
    // Quotes and line ends of the text are written with a backslash each.
    let escaped = Value::from(out.output.text.as_str()).to_string().len();
    let fits = room.saturating_sub(FRAME);
    let fits = match escaped > fits {
        true => fits.saturating_mul(out.output.text.len()) / escaped.max(1),
        false => fits,
    };
    let (content, rest) = page::text(out, most.unwrap_or(usize::MAX).min(fits));
    let mut answer = json!({
        "url": out.url,
        "status": out.status,
        "content_type": out.kind,
        "content": content,
        "truncated": rest.is_some(),
    });
    let parsed = || serde_json::from_str::<Value>(&out.output.text).ok();
    if let Some((paths, json)) = paths.filter(|p| !p.is_empty()).zip(parsed()) {
        let fields: Map<String, Value> = paths
            .into_iter()
            .map(|path| {
                let values = values(&json, &path).into_iter().cloned().collect();
                (path, Value::Array(values))
            })
            .collect();
        answer["content"] = "".into();
        answer["truncated"] = false.into();
        answer["fields"] = fields.into();
        return pretty(&answer);
    }
    if let Some(rest) = rest {
        answer["note"] = rest.into();
    }
    pretty(&answer)
}

/// What stands at a path like `$.items[*]['name']`; nothing when it cannot be read.
fn values<'v>(json: &'v Value, path: &str) -> Vec<&'v Value> {
    let mut rest = path.trim().strip_prefix('$').unwrap_or(path.trim());
    let mut found = vec![json];
    while !rest.is_empty() {
        let (key, after) = match rest.strip_prefix('[') {
            Some(inside) => match inside.split_once(']') {
                Some((key, after)) => (key.trim_matches(['\'', '"']), after),
                None => return Vec::new(),
            },
            None => {
                let named = rest.strip_prefix('.').unwrap_or(rest);
                named.split_at(named.find(['.', '[']).unwrap_or(named.len()))
            }
        };
        if key.is_empty() {
            return Vec::new();
        }
        found = found
            .into_iter()
            .flat_map(|value| -> Vec<&Value> {
                match (key, value) {
                    ("*", Value::Array(list)) => list.iter().collect(),
                    ("*", Value::Object(map)) => map.values().collect(),
                    (key, Value::Array(list)) => key
                        .parse()
                        .ok()
                        .and_then(|at: usize| list.get(at))
                        .into_iter()
                        .collect(),
                    (key, value) => value.get(key).into_iter().collect(),
                }
            })
            .take(VALUES)
            .collect();
        rest = after;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_into_json() {
        let json = json!({"items": [{"name": "a", "x y": 1}, {"name": "b"}], "n": 2});
        for (path, found) in [
            ("$.n", json!([2])),
            ("$.items[*].name", json!(["a", "b"])),
            ("$['items'][0]['x y']", json!([1])),
            ("items[1]", json!([{"name": "b"}])),
            ("$", json!([json])),
            ("$.none", json!([])),
            ("$..n", json!([])),
            ("$.items[", json!([])),
        ] {
            assert_eq!(json!(values(&json, path)), found, "{path}");
        }
    }
}
