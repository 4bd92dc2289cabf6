//! How the content of a file is changed.

use serde::{Deserialize, Serialize};

/// How a patch is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PatchForm {
    /// That of Codex (`*** Begin Patch`).
    Codex,
    /// A unified diff, as `diff -u` and git write it.
    Unified,
}

/// What must hold before a whole file is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteRule {
    /// An existing file must have been read in this session and be unchanged since.
    pub read_first: bool,
    /// The file must not exist.
    pub must_be_new: bool,
    /// The content is added at the end of a file that exists.
    pub append: bool,
}

/// One replacement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replace {
    /// The text that stands there.
    pub old: String,
    /// The text that shall stand there.
    pub new: String,
}

/// What the second of several replacements sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Base {
    /// The file as it was before all of them.
    Original,
    /// The file as the earlier ones left it.
    Evolving,
}

/// What to do with several places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unique {
    /// An error that names each place.
    Require,
    /// Take the first.
    First,
    /// Replace all.
    All,
}

/// A way in which a text may match although it is not the same byte for byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pass {
    /// Typographic quotes, dashes and spaces count as their ASCII forms.
    Punctuation,
    /// White space at line ends does not count.
    TrailingSpace,
    /// Another indentation, if the place is unique; the new text is re-indented to fit.
    Indentation,
    /// `\n`, `\t` and `\"` written out count as the characters they name.
    Escapes,
}

impl Pass {
    /// Every way, from the closest to the widest. What a harness offers unless it knows better.
    pub const ALL: [Pass; 4] = [
        Pass::Punctuation,
        Pass::TrailingSpace,
        Pass::Indentation,
        Pass::Escapes,
    ];
}
