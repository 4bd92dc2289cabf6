//! What a tool gave back, as the model reads it.

use crate::model::Part;
use crate::store::paths::private_file;
use crate::tools::action::McpOut;
use crate::words::{head, tail};
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The most bytes of a picture, in base64.
const MOST_IMAGE: usize = 7 << 20;
/// The most pictures of one result.
const MOST_IMAGES: usize = 8;
/// Types of pictures that models take.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
/// The most bytes that are kept of what a server gave back, for programs.
const MOST_KEPT: usize = 1 << 20;

/// Reads the result of a call. The text is cut to `room` bytes; the whole of a longer one goes into
/// a file in `outputs`. `vision`: the model takes pictures.
pub(super) fn read(result: &Value, room: usize, outputs: &Path, vision: bool) -> McpOut {
    let (mut texts, mut images) = (Vec::new(), Vec::new());
    let content = result.get("content").and_then(Value::as_array);
    for part in content.into_iter().flatten() {
        read_part(part, vision, &mut texts, &mut images);
    }
    let structured = result.get("structuredContent").filter(|s| !s.is_null());
    if texts.is_empty() && images.is_empty() {
        // Both would say the same twice.
        texts.push(match structured {
            Some(value) => value.to_string(),
            None => "(the tool gave back nothing)".into(),
        });
    }
    let text = fit(texts.join("\n"), room, outputs);
    let mut parts = Vec::new();
    if !text.is_empty() {
        parts.push(Part::text(text));
    }
    parts.extend(images);
    let kept = |value: Value| match value.to_string().len() <= MOST_KEPT {
        true => value,
        false => Value::Null,
    };
    let whole = kept(content.cloned().unwrap_or_default().into());
    McpOut {
        parts,
        is_error: result.get("isError") == Some(&Value::Bool(true)),
        content: match whole {
            Value::Null => json!([{"type": "text", "text": "(more than a megabyte)"}]),
            whole => whole,
        },
        structured: structured.cloned().map(kept).filter(|s| !s.is_null()),
        meta: result
            .get("_meta")
            .cloned()
            .map(kept)
            .filter(Value::is_object)
            .map(Box::new),
    }
}

fn read_part(part: &Value, vision: bool, texts: &mut Vec<String>, images: &mut Vec<Part>) {
    let text = |value: &Value, key: &str| {
        let found = value.get(key).and_then(Value::as_str);
        found.unwrap_or_default().to_owned()
    };
    let kind = text(part, "mimeType");
    match part.get("type").and_then(Value::as_str).unwrap_or_default() {
        "text" => texts.push(text(part, "text")),
        "image" => {
            let data = text(part, "data");
            let size = data.len() / 4 * 3;
            let why = if !vision {
                "this model takes no pictures"
            } else if !IMAGES.contains(&kind.as_str()) {
                "no model takes this type"
            } else if data.len() > MOST_IMAGE || images.len() == MOST_IMAGES {
                "it is too large"
            } else if data.is_empty() || !data.bytes().all(is_base64) {
                "it is damaged"
            } else {
                images.push(Part::Image {
                    media_type: kind,
                    data,
                });
                return;
            };
            texts.push(format!(
                "[a picture of type {kind}, {size} bytes, is not shown: {why}]"
            ));
        }
        "audio" => {
            let size = text(part, "data").len() / 4 * 3;
            texts.push(format!("[a sound of type {kind}, {size} bytes]"));
        }
        "resource_link" => {
            let (name, uri) = (text(part, "name"), text(part, "uri"));
            let about = match text(part, "description") {
                about if about.is_empty() => about,
                about => format!(" {about}"),
            };
            texts.push(format!("[{name}]({uri}){about}"));
        }
        "resource" => {
            let resource = part.get("resource").unwrap_or(&Value::Null);
            let uri = text(resource, "uri");
            match resource.get("text").and_then(Value::as_str) {
                Some(words) => texts.push(format!("{uri}:\n{words}")),
                None => {
                    let size = text(resource, "blob").len() / 4 * 3;
                    let kind = text(resource, "mimeType");
                    texts.push(format!("[{uri}: data of type {kind}, {size} bytes]"));
                }
            }
        }
        _ => texts.push(part.to_string()),
    }
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)
}

/// Head and tail of a text, with a line between that says where the whole is.
fn fit(text: String, room: usize, outputs: &Path) -> String {
    if text.len() <= room {
        return text;
    }
    let place = match save(&text, outputs) {
        Some(path) => format!("; the whole text is in {}", path.display()),
        None => String::new(),
    };
    let line = |left: usize| {
        format!(
            "\n[... {left} of {} bytes left out{place} ...]\n",
            text.len()
        )
    };
    let room = room.saturating_sub(line(text.len()).len());
    let (first, last) = (head(&text, room / 3 * 2), tail(&text, room / 3));
    let left = text.len() - first.len() - last.len();
    format!("{first}{}{last}", line(left))
}

fn save(text: &str, outputs: &Path) -> Option<PathBuf> {
    let mut free = (1..10_000).map(|n| outputs.join(format!("mcp-{n}.txt")));
    let path = free.find(|path| !path.exists())?;
    let mut file = private_file(&path, true).ok()?;
    file.write_all(text.as_bytes()).ok()?;
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(result: Value) -> String {
        let answer = read(&result, 10_000, Path::new("/nowhere"), false);
        crate::model::join_text(&answer.parts)
    }

    #[test]
    fn every_kind_of_content_has_its_words() {
        let result = json!({"content": [
            {"type": "text", "text": "a"}, {"type": "text", "text": "b"},
            {"type": "image", "data": "AAAA", "mimeType": "image/png"},
            {"type": "audio", "data": "AAAAAAAA", "mimeType": "audio/wav"},
            {"type": "resource_link", "uri": "file:///x", "name": "x"},
            {"type": "resource", "resource": {"uri": "demo://1", "text": "inside"}},
            {"type": "resource", "resource": {"uri": "demo://2", "blob": "AAAA", "mimeType": "x/y"}},
            {"type": "new", "k": 1}], "structuredContent": {"a": 1}});
        assert_eq!(
            text(result),
            "a\nb\n[a picture of type image/png, 3 bytes, is not shown: this model takes no pictures]\n\
            [a sound of type audio/wav, 6 bytes]\n[x](file:///x)\ndemo://1:\ninside\n\
            [demo://2: data of type x/y, 3 bytes]\n{\"type\":\"new\",\"k\":1}"
        );
        assert_eq!(text(json!({"structuredContent": {"a": 1}})), "{\"a\":1}");
        assert_eq!(text(json!({})), "(the tool gave back nothing)");
    }

    #[test]
    fn a_picture_is_shown_to_who_can_see_and_only_if_it_is_one() {
        let of = |data: &str, kind: &str| json!({"content": [{"type": "image", "data": data, "mimeType": kind}]});
        let seen = |result: &Value| read(result, 1_000, Path::new("/nowhere"), true).parts;
        let picture = Part::Image {
            media_type: "image/png".into(),
            data: "AAAA".into(),
        };
        assert_eq!(seen(&of("AAAA", "image/png")), [picture]);
        for bad in [
            of("AAAA", "image/tiff"),
            of("A\u{1b}A", "image/png"),
            of("", "image/png"),
        ] {
            assert!(
                matches!(seen(&bad).as_slice(), [Part::Text { .. }]),
                "{bad}"
            );
        }
    }

    #[test]
    fn a_long_text_is_whole_in_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let long = (0..5_000).map(|n| format!("{n} ä\n")).collect::<String>();
        let result = json!({"content": [{"type": "text", "text": long}], "isError": true});
        let answer = read(&result, 2_000, folder.path(), false);
        let shown = crate::model::join_text(&answer.parts);
        assert!(answer.is_error && shown.len() <= 2_000, "{}", shown.len());
        assert!(shown.starts_with("0 ä\n") && shown.ends_with("4999 ä\n"));
        let file = folder.path().join("mcp-1.txt");
        assert!(shown.contains(&file.display().to_string()));
        assert_eq!(std::fs::read_to_string(file).unwrap(), long);
    }
}
