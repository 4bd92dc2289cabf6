//! Pictures that a model asks to see.

use super::Workbench;
use super::action::{Outcome, ToolError};
use crate::model::Part;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The largest picture, in bytes.
const LIMIT: u64 = 10 << 20;

impl Workbench {
    pub(super) fn view_image(&mut self, shown: &str) -> Result<Outcome, ToolError> {
        let path = self.existing(shown)?;
        let bytes = self
            .load(&path, shown, LIMIT)?
            .ok_or_else(|| self.missing(shown))?;
        let media_type = media_type(&bytes).ok_or_else(|| {
            ToolError::Other(format!(
                "{shown} is not a picture that can be shown; PNG, JPEG, GIF and WebP are"
            ))
        })?;
        Ok(Outcome::Image {
            path,
            part: Part::Image {
                media_type: media_type.into(),
                data: STANDARD.encode(bytes),
            },
        })
    }
}

/// A picture of the user's own, named on the command line: no gate stands before it.
///
/// # Errors
/// One sentence: unreadable, too large, not a picture.
pub fn read(path: &Path) -> Result<Part, String> {
    let failed = |e: std::io::Error| format!("{} cannot be read: {e}", path.display());
    let mut bytes = Vec::new();
    // Looked at before it is opened: opening a named pipe would wait for a writer.
    if !std::fs::metadata(path).map_err(failed)?.is_file() {
        return Err(format!("{} is not a file", path.display()));
    }
    File::open(path)
        .and_then(|f| f.take(LIMIT + 1).read_to_end(&mut bytes))
        .map_err(failed)?;
    if bytes.len() as u64 > LIMIT {
        return Err(format!(
            "{} has more than the {} MiB that a picture may have",
            path.display(),
            LIMIT >> 20
        ));
    }
    let media_type = media_type(&bytes).ok_or_else(|| {
        format!(
            "{} is not a picture that can be shown; PNG, JPEG, GIF and WebP are",
            path.display()
        )
    })?;
    Ok(Part::Image {
        media_type: media_type.into(),
        data: STANDARD.encode(bytes),
    })
}

/// A picture that a program gave as base64.
///
/// # Errors
/// A few words: not base64, too large, not a picture.
pub fn from_base64(data: &str) -> Result<Part, String> {
    if data.len() as u64 > LIMIT * 4 / 3 + 4 {
        return Err(format!("it has more than {} MiB", LIMIT >> 20));
    }
    let bytes = STANDARD
        .decode(data.trim())
        .map_err(|e| format!("it is not base64 ({e})"))?;
    match media_type(&bytes) {
        Some(media_type) => Ok(Part::Image {
            media_type: media_type.into(),
            data: data.trim().to_owned(),
        }),
        None => Err("it is not PNG, JPEG, GIF or WebP".into()),
    }
}

/// The media type by the first bytes, whatever the file is called.
fn media_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'E',
            b'B',
            b'P',
            ..,
        ] => Some("image/webp"),
        _ => None,
    }
}
