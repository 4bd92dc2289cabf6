use std::fmt;
use std::path::PathBuf;

/// Why a config could not be used. `Display` is a sentence; the program ends with exit code 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigError {
    /// A file is there but cannot be read.
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason, or ours.
        why: String,
    },
    /// A file cannot be changed.
    Write {
        /// The file.
        path: PathBuf,
        /// The system's reason, or what to do by hand.
        why: String,
    },
    /// A file, or a `-c`, is not TOML.
    Syntax {
        /// `file:line`, or the flag as typed.
        place: String,
        /// The parser's reason.
        why: String,
    },
    /// A value of the wrong type, or none of the allowed ones.
    Value {
        /// `file:line`, or the flag as typed.
        place: String,
        /// The key's dotted path.
        key: String,
        /// What is there.
        found: String,
        /// What may be there.
        allowed: String,
    },
    /// A `-c` without `=`, or without a key.
    Override(String),
    /// No profile of that name.
    Profile {
        /// The name that was asked for.
        name: String,
        /// The names that exist.
        known: Vec<String>,
        /// The user's file, to say where profiles live.
        file: PathBuf,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read { path, why } => {
                write!(
                    f,
                    "the config file {} cannot be read: {why}",
                    path.display()
                )
            }
            Self::Write { path, why } => {
                write!(
                    f,
                    "the config file {} cannot be changed: {why}",
                    path.display()
                )
            }
            Self::Syntax { place, why } => write!(f, "{place}: this is not valid TOML: {why}"),
            Self::Value {
                place,
                key,
                found,
                allowed,
            } => write!(f, "{place}: `{key}` is {found}; allowed: {allowed}"),
            Self::Override(text) => {
                write!(f, "`-c {text}` sets nothing; write it as -c key=value")
            }
            Self::Profile { name, known, file } => {
                write!(f, "there is no profile `{name}`; ")?;
                if known.is_empty() {
                    write!(f, "add a table [profiles.{name}] to {}", file.display())
                } else {
                    write!(f, "known ones: {}", known.join(", "))
                }
            }
        }
    }
}

impl std::error::Error for ConfigError {}
