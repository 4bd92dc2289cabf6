//! Files as an editor has them: unsaved text counts before the disk, and a change goes through the
//! editor, so that what it shows is what there is.
//!
//! The gate has judged a path before the editor is asked for it. While a command of the model runs
//! in the background, the disk alone is used: the command could put a link in the place of a judged
//! path, which the gate does not follow and an editor does.

use super::Workbench;
use super::text::{self, Text};
use std::io;
use std::path::Path;

/// The largest text that goes to an editor or comes from it, in bytes.
const MOST: usize = 8 << 20;

/// An editor that has files open. Paths are ones that the gate let through.
pub trait Buffers: Send {
    /// The whole text of a file as the editor has it; `None` when it does not say.
    fn read(&self, path: &Path) -> Option<String>;
    /// Gives a file this text and saves it. False when the editor did not.
    fn write(&self, path: &Path, text: &str) -> bool;
}

impl Workbench {
    /// An editor whose unsaved text counts from now on.
    pub fn set_buffers(&mut self, buffers: Box<dyn Buffers>) {
        self.buffers = Some(buffers);
    }

    fn editor(&self) -> Option<&dyn Buffers> {
        let editor = self.buffers.as_deref()?;
        self.jobs().is_empty().then_some(editor)
    }

    /// The bytes of a file, from what the disk has: with the editor's text, in the form of the file.
    pub(super) fn newest(&self, path: &Path, disk: Vec<u8>) -> Vec<u8> {
        let form = self.editor().zip(Text::decode(&disk));
        let Some((editor, old)) = form.filter(|_| disk.len() <= MOST) else {
            return disk;
        };
        // Editors keep `\n` in memory, whatever they save.
        let text = editor.read(path).filter(|text| text.len() <= MOST);
        match text.map(|text| text::to_lf(text.strip_prefix('\u{feff}').unwrap_or(&text))) {
            Some(text) if text != old.lf => old.encode(&text),
            _ => disk,
        }
    }

    /// Gives a file this content, through the editor where that can be. What it has then may be
    /// something else: editors format what they save.
    pub(super) fn save(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let gate = &self.setup.gate;
        let text = std::str::from_utf8(bytes).ok();
        let text = text.filter(|t| t.len() <= MOST && !t.starts_with('\u{feff}'));
        if let Some((editor, text)) = self.editor().zip(text) {
            let disk = || gate.read(path, text::LIMIT).ok();
            let before = disk();
            if editor.write(path, text) && disk() != before {
                return Ok(());
            }
            // It did not, or keeps it in memory, where no command would see it.
        }
        gate.replace(path, bytes)
    }
}
