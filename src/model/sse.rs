//! Cutting a byte stream into frames: server-sent events, or one JSON object a line.

use super::{Framing, ModelError};
use serde_json::Value;

/// The most bytes of one frame; no server sends an event of this size in earnest.
pub const MAX_FRAME: usize = 64 << 20;

/// One frame of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frame {
    /// The event's name, if it had one.
    pub event: Option<String>,
    /// Its data.
    pub data: String,
}

impl Frame {
    /// The data as JSON. Half a surrogate pair, which a model may write, is read as U+FFFD.
    ///
    /// # Errors
    /// [`ModelError::Broken`], without the address, when it is no JSON.
    pub fn json(&self) -> Result<Value, ModelError> {
        serde_json::from_str(&self.data)
            .or_else(|error| serde_json::from_str(&mend(&self.data)).map_err(|_| error))
            .map_err(|error| {
                ModelError::broken(format!("a piece of the stream is not JSON ({error})"))
            })
    }
}

/// Replaces the escapes of lone surrogates in JSON text.
fn mend(json: &str) -> String {
    // The code of the escape that `text` begins with.
    let code = |text: &str| {
        let hex = text.strip_prefix("\\u")?.get(..4)?;
        u16::from_str_radix(hex, 16).ok()
    };
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let high = code(rest);
        let low = rest.get(6..).and_then(code);
        let (mended, length) = match (high, low) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => (None, 12),
            (Some(0xD800..=0xDFFF), _) => (Some("\\ufffd"), 6),
            (Some(_), _) => (None, 6),
            // The escaped character goes with its backslash.
            (None, _) => (None, 1 + rest[1..].chars().next().map_or(0, char::len_utf8)),
        };
        let (escape, after) = rest.split_at(length);
        out.push_str(mended.unwrap_or(escape));
        rest = after;
    }
    out.push_str(rest);
    out
}

/// A frame grew beyond [`MAX_FRAME`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong;

/// What the body turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Only blanks so far.
    Unknown,
    /// Lines, as the API promises.
    Lines,
    /// One document: a server that did not stream, or an error page. It becomes one frame at the end.
    Document,
}

/// An incremental reader of frames. It gives the same frames however the bytes are cut.
///
/// Server-sent events are read as the standard says (CR, LF or CRLF; a BOM; comments; `data:` with
/// or without a space; several data lines), and a last event without its blank line counts too.
#[derive(Debug)]
pub struct Frames {
    framing: Framing,
    shape: Shape,
    /// The line that is not complete yet.
    line: Vec<u8>,
    /// The last byte was a CR, so that an LF now belongs to it.
    after_cr: bool,
    event: Option<String>,
    data: Option<String>,
}

impl Frames {
    /// A reader at the start of a body.
    pub fn new(framing: Framing) -> Self {
        Frames {
            framing,
            shape: match framing {
                Framing::Sse => Shape::Unknown,
                Framing::Ndjson => Shape::Lines,
            },
            line: Vec::new(),
            after_cr: false,
            event: None,
            data: None,
        }
    }

    /// Takes the next bytes and pushes the frames that they complete.
    ///
    /// # Errors
    /// [`TooLong`] when a frame passes [`MAX_FRAME`].
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<Frame>) -> Result<(), TooLong> {
        if self.shape == Shape::Unknown {
            self.sniff(bytes);
            if self.shape == Shape::Lines {
                let blanks = std::mem::take(&mut self.line);
                self.lines(&blanks, out)?;
            }
        }
        match self.shape {
            // What they are the beginning of is told by what follows.
            Shape::Unknown | Shape::Document => self.extend(bytes),
            Shape::Lines => self.lines(bytes, out),
        }
    }

    fn lines(&mut self, mut bytes: &[u8], out: &mut Vec<Frame>) -> Result<(), TooLong> {
        while let Some(&first) = bytes.first() {
            if std::mem::take(&mut self.after_cr) && first == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            match bytes.iter().position(|b| matches!(b, b'\r' | b'\n')) {
                None => {
                    self.extend(bytes)?;
                    break;
                }
                Some(end) => {
                    self.extend(&bytes[..end])?;
                    self.after_cr = bytes[end] == b'\r';
                    bytes = &bytes[end + 1..];
                    self.end_line(out)?;
                }
            }
        }
        Ok(())
    }

    /// The body is over: pushes what is left, with or without a final line end.
    ///
    /// # Errors
    /// [`TooLong`] when the last frame passes [`MAX_FRAME`].
    pub fn end(&mut self, out: &mut Vec<Frame>) -> Result<(), TooLong> {
        if self.shape == Shape::Document {
            let is_blank = |c: char| c.is_whitespace() || c == '\u{feff}';
            let data = self.take_line().trim_matches(is_blank).to_owned();
            out.push(Frame { event: None, data });
            return Ok(());
        }
        if !self.line.is_empty() {
            self.end_line(out)?;
        }
        self.dispatch(out);
        Ok(())
    }

    /// Looks at the first byte that is neither blank nor part of a BOM. No line of an event stream
    /// begins with one of these.
    fn sniff(&mut self, bytes: &[u8]) {
        let first = bytes
            .iter()
            .find(|b| !b.is_ascii_whitespace() && !matches!(b, 0xEF | 0xBB | 0xBF));
        self.shape = match first {
            None => Shape::Unknown,
            Some(b'{' | b'[' | b'<') => Shape::Document,
            Some(_) => Shape::Lines,
        };
    }

    fn extend(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        let held = self.data.as_ref().map_or(0, String::len);
        if self.line.len() + held + bytes.len() > MAX_FRAME {
            return Err(TooLong);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn take_line(&mut self) -> String {
        let line = std::mem::take(&mut self.line);
        let text = String::from_utf8(line)
            .unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned());
        match text.strip_prefix('\u{feff}') {
            Some(rest) => rest.to_owned(),
            None => text,
        }
    }

    fn end_line(&mut self, out: &mut Vec<Frame>) -> Result<(), TooLong> {
        let line = self.take_line();
        if self.framing == Framing::Ndjson {
            let data = line.trim();
            if !data.is_empty() {
                let data = data.to_owned();
                out.push(Frame { event: None, data });
            }
            return Ok(());
        }
        if line.is_empty() {
            self.dispatch(out);
            return Ok(());
        }
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.event = Some(value.to_owned()),
            "data" => match &mut self.data {
                None => self.data = Some(value.to_owned()),
                Some(data) if data.len() + value.len() >= MAX_FRAME => return Err(TooLong),
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
            },
            // A comment (nothing before the colon), `id`, `retry`, or a field that nobody knows.
            _ => {}
        }
        Ok(())
    }

    fn dispatch(&mut self, out: &mut Vec<Frame>) {
        let event = self.event.take();
        if let Some(data) = self.data.take().filter(|d| !d.is_empty()) {
            out.push(Frame { event, data });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(event: Option<&str>, data: &str) -> Frame {
        Frame {
            event: event.map(str::to_owned),
            data: data.to_owned(),
        }
    }

    /// Reads `bytes` whole and cut in two at every place; all must agree.
    fn read(framing: Framing, bytes: &[u8]) -> Vec<Frame> {
        let cut = |at: usize| {
            let (mut frames, mut out) = (Frames::new(framing), Vec::new());
            frames.push(&bytes[..at], &mut out).unwrap();
            frames.push(&bytes[at..], &mut out).unwrap();
            frames.end(&mut out).unwrap();
            out
        };
        let whole = cut(0);
        for at in 1..bytes.len() {
            assert_eq!(cut(at), whole, "cut at byte {at}");
        }
        let (mut frames, mut out) = (Frames::new(framing), Vec::new());
        for byte in bytes {
            frames.push(&[*byte], &mut out).unwrap();
        }
        frames.end(&mut out).unwrap();
        assert_eq!(out, whole, "byte by byte");
        whole
    }

    #[test]
    fn every_line_end_comments_bom_and_multi_line_data() {
        let text = "\u{feff}: ping\r\n\r\nevent: a\r\ndata: 1\r\ndata:2\r\n\r\n\
                    data: {\"é\": \"日\"}\n\nid: 7\rdata:  x\r\rdata\n\nevent: only\n\ndata: last";
        let expected = vec![
            frame(Some("a"), "1\n2"),
            frame(None, "{\"é\": \"日\"}"),
            frame(None, " x"),
            frame(None, "last"),
        ];
        assert_eq!(read(Framing::Sse, text.as_bytes()), expected);
    }

    #[test]
    fn a_document_instead_of_a_stream_is_one_frame() {
        let text = "\n\n{\n \"choices\": []\n}\n";
        assert_eq!(
            read(Framing::Sse, text.as_bytes()),
            [frame(None, "{\n \"choices\": []\n}")]
        );
        // However late the BOM comes.
        let text = "  \u{feff}\n[[";
        assert_eq!(read(Framing::Sse, text.as_bytes()), [frame(None, "[[")]);
    }

    #[test]
    fn lines_of_json_with_and_without_a_last_line_end() {
        let expected = vec![frame(None, "{\"a\":1}"), frame(None, "{\"b\":2}")];
        assert_eq!(read(Framing::Ndjson, b"{\"a\":1}\r\n\n{\"b\":2}"), expected);
        assert_eq!(read(Framing::Ndjson, b"{\"a\":1}\n{\"b\":2}\n"), expected);
    }

    #[test]
    fn half_a_surrogate_pair_does_not_break_the_stream() {
        let json = |data: &str| frame(None, data).json();
        assert_eq!(
            json(r#"["\ud83d", "\\ud83d\n\ud83d\ude00"]"#).unwrap(),
            serde_json::json!(["\u{fffd}", "\\ud83d\n😀"])
        );
        assert!(matches!(json("{\"a\": \\"), Err(ModelError::Broken { .. })));
    }

    #[test]
    fn a_frame_without_end_is_an_error() {
        let mut frames = Frames::new(Framing::Sse);
        let mut out = Vec::new();
        frames.push(b"data: ", &mut out).unwrap();
        let piece = vec![b'x'; 1 << 20];
        let refused = (0..65).find(|_| frames.push(&piece, &mut out).is_err());
        assert_eq!(refused, Some(63));
        assert!(out.is_empty());
    }
}
