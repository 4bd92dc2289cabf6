//! What an editor sends as a prompt, as a message of the user.

use crate::harnesses::Input;
use crate::model::Part;
use crate::tools::image;
use serde_json::Value;

/// The most bytes of a resource that stands in a prompt; of the rest its place is told.
const EMBEDDED: usize = 8 << 20;

/// Reads the blocks of a prompt. What cannot be shown to a model is said in the text, and never a
/// reason to refuse the rest.
pub fn input(blocks: &[Value]) -> Input {
    let mut input = Input::default();
    let mut contexts = String::new();
    for block in blocks {
        let text = |key: &str| block[key].as_str().unwrap_or_default();
        match text("type") {
            "text" => input.text.push_str(text("text")),
            "resource_link" => {
                let place = place(text("uri"));
                input.text.push_str(&match text("name") {
                    "" => place,
                    name => format!("[{name}]({place})"),
                });
            }
            "image" => add_image(&mut input, text("data"), text("uri")),
            "resource" => add_resource(&mut input, &mut contexts, &block["resource"]),
            other => {
                let what = if other.is_empty() {
                    "something without a type"
                } else {
                    other
                };
                input
                    .text
                    .push_str(&format!("[{what} was sent here, which cannot be shown]"));
            }
        }
    }
    input.text.push_str(&contexts);
    input
}

/// The first words, if they are a command: its line.
pub fn command(blocks: &[Value]) -> Option<&str> {
    let text = blocks.first()?["text"].as_str()?.trim();
    (text.starts_with('/') && !text.contains('\n')).then_some(text)
}

fn add_image(input: &mut Input, data: &str, uri: &str) {
    match image::from_base64(data) {
        Ok(part) => input.images.push(part),
        Err(why) => {
            let name = if uri.is_empty() { "a picture" } else { uri };
            input
                .text
                .push_str(&format!("[{name} cannot be shown: {why}]"));
        }
    }
}

/// A text goes behind the words with its place; a picture goes to the pictures.
fn add_resource(input: &mut Input, contexts: &mut String, resource: &Value) {
    let uri = resource["uri"].as_str().unwrap_or_default();
    let place = place(uri);
    let media = resource["mimeType"].as_str().unwrap_or_default();
    match (resource["text"].as_str(), resource["blob"].as_str()) {
        (Some(text), _) if text.len() <= EMBEDDED => {
            input.text.push_str(&place);
            contexts.push_str(&format!(
                "\n\n<context ref=\"{place}\">\n{}\n</context>",
                text.trim_end_matches('\n')
            ));
        }
        (Some(_), _) => input
            .text
            .push_str(&format!("{place} (too long to stand here)")),
        (None, Some(blob)) if media.starts_with("image/") => add_image(input, blob, uri),
        (None, _) => input
            .text
            .push_str(&format!("{place} (bytes that are no text)")),
    }
}

/// A file's path, with its lines where the address names some; any other address as it is.
fn place(uri: &str) -> String {
    let Some(rest) = uri.strip_prefix("file://") else {
        return uri.to_owned();
    };
    // A host before the path is always this one.
    let path = rest.find('/').map_or(rest, |at| &rest[at..]);
    let (path, fragment) = path.split_once('#').unwrap_or((path, ""));
    let mut path = decoded(path.split('?').next().unwrap_or_default());
    // `/C:/x` is `C:/x`.
    let bytes = path.as_bytes();
    if bytes.len() > 2 && bytes[0] == b'/' && bytes[1].is_ascii_alphabetic() && bytes[2] == b':' {
        path.remove(0);
    }
    match lines(fragment) {
        Some((first, last)) if first == last => format!("{path}:{first}"),
        Some((first, last)) => format!("{path}:{first}-{last}"),
        None => path,
    }
}

/// The lines of a fragment such as `L10`, `L10:20`, `L10-20` or `L10-L20`.
fn lines(fragment: &str) -> Option<(u32, u32)> {
    let number = |text: &str| text.trim_start_matches('L').parse().ok();
    let rest = fragment.strip_prefix('L')?;
    match rest.split_once([':', '-']) {
        Some((first, last)) => Some((number(first)?, number(last)?)),
        None => number(rest).map(|n| (n, n)),
    }
}

/// Without percent signs. What they name must be UTF-8, else it stays as it is.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = after.get(..2).filter(|_| *first == b'%');
        let hex = hex.and_then(|h| std::str::from_utf8(h).ok());
        match hex.and_then(|h| u8::from_str_radix(h, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// True when there is nothing to say to a model.
pub fn is_empty(input: &Input) -> bool {
    input.text.trim().is_empty() && !input.images.iter().any(|p| matches!(p, Part::Image { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn words_links_and_resources_become_one_message() {
        let blocks = [
            json!({"type": "text", "text": "Look at "}),
            json!({"type": "resource_link", "name": "my file", "uri": "file:///w/my%20file.rs#L10:20"}),
            json!({"type": "text", "text": " and "}),
            json!({"type": "resource", "resource": {"uri": "file:///w/b.rs", "text": "fn b() {}\n", "mimeType": "text/x-rust"}}),
            json!({"type": "audio", "data": "AA==", "mimeType": "audio/wav"}),
            json!({"type": "hologram"}),
        ];
        assert_eq!(
            input(&blocks).text,
            "Look at [my file](/w/my file.rs:10-20) and /w/b.rs[audio was sent here, which cannot be shown]\
             [hologram was sent here, which cannot be shown]\n\n<context ref=\"/w/b.rs\">\nfn b() {}\n</context>"
        );
    }

    #[test]
    fn a_picture_is_shown_or_said() {
        let png = "iVBORw0KGgotb25l";
        let of =
            |data: &str| input(&[json!({"type": "image", "data": data, "mimeType": "image/png"})]);
        assert_eq!(of(png).images.len(), 1);
        assert!(!is_empty(&of(png)));
        assert!(of("AAAA").text.contains("cannot be shown"));
        assert!(of("%%").text.contains("cannot be shown"));
        let blob = json!({"type": "resource", "resource": {"uri": "file:///a.png", "blob": png, "mimeType": "image/png"}});
        assert_eq!(input(&[blob]).images.len(), 1);
        assert!(is_empty(&input(&[])));
    }

    #[test]
    fn addresses_become_paths() {
        for (uri, path) in [
            ("file:///a/b%25.txt", "/a/b%.txt"),
            ("file://localhost/a", "/a"),
            ("file:///C:/x%20y", "C:/x y"),
            ("file:///a#L3", "/a:3"),
            ("file:///a#L3-L9", "/a:3-9"),
            ("file:///a#part", "/a"),
            ("file:///a%ff", "/a%ff"),
            ("file:///a%4", "/a%4"),
            ("https://example.com/%20", "https://example.com/%20"),
        ] {
            assert_eq!(place(uri), path, "{uri}");
        }
    }

    #[test]
    fn a_command_is_one_line_that_begins_with_a_slash() {
        let of = |text: &str| command(&[json!({"type": "text", "text": text})]).map(str::to_owned);
        assert_eq!(
            of(" /review base main ").as_deref(),
            Some("/review base main")
        );
        assert_eq!(of("see /etc"), None);
        assert_eq!(of("/a\nb"), None);
        assert_eq!(command(&[]), None);
    }
}
