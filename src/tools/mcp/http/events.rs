//! The events of one stream, from bytes that may be cut anywhere.

use super::MOST_BYTES;
use std::time::Duration;

/// Where a stream stands, for taking it up again.
#[derive(Debug, Default)]
pub(super) struct Place {
    /// The id of the last event.
    pub id: Option<String>,
    /// The wait that the server asked for.
    pub retry: Option<Duration>,
}

/// Cuts a stream into the data of its events. Unlike the reader of the model's streams it keeps
/// ids and waits, and passes over events without data, which only carry those.
#[derive(Debug, Default)]
pub(super) struct Events {
    line: Vec<u8>,
    after_cr: bool,
    data: String,
}

impl Events {
    /// The data of the events that these bytes complete; `None` when one grew too long.
    pub fn push(&mut self, bytes: &[u8], place: &mut Place) -> Option<Vec<String>> {
        let mut found = Vec::new();
        for &byte in bytes {
            if std::mem::take(&mut self.after_cr) && byte == b'\n' {
                continue;
            }
            if !matches!(byte, b'\r' | b'\n') {
                self.line.push(byte);
                if self.line.len() + self.data.len() > MOST_BYTES {
                    return None;
                }
                continue;
            }
            self.after_cr = byte == b'\r';
            let line = std::mem::take(&mut self.line);
            let line = String::from_utf8_lossy(&line);
            let line = line.strip_prefix('\u{feff}').unwrap_or(&line);
            if line.is_empty() {
                let data = std::mem::take(&mut self.data);
                if !data.trim().is_empty() {
                    found.push(data);
                }
                continue;
            }
            let (name, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match name {
                "data" => {
                    if !self.data.is_empty() {
                        self.data.push('\n');
                    }
                    self.data.push_str(value);
                }
                "id" if !value.contains('\0') => place.id = Some(value.to_owned()),
                "retry" => {
                    let wait = value.parse().ok().map(Duration::from_millis);
                    place.retry = wait.or(place.retry);
                }
                _ => {}
            }
        }
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_the_same_however_the_bytes_are_cut() {
        let text = ": hi\r\nid: 7\nretry: 1500\ndata:\n\nevent: message\ndata: {\"a\":\rdata: \"ü\"}\r\n\r\ndata: [1]\n\n";
        for size in 1..text.len() {
            let (mut events, mut place, mut found) = (Events::default(), Place::default(), vec![]);
            for piece in text.as_bytes().chunks(size) {
                found.extend(events.push(piece, &mut place).unwrap());
            }
            assert_eq!(found, ["{\"a\":\n\"ü\"}", "[1]"], "pieces of {size}");
            assert_eq!(place.id.as_deref(), Some("7"));
            assert_eq!(place.retry, Some(Duration::from_millis(1500)));
        }
    }
}
