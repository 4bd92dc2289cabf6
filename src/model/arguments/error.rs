//! Why a call could not be understood, told so that the model can send it right.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Why a call could not be understood. `Display` tells the model exactly what to send.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum CallError {
    /// No tool of that name.
    UnknownTool {
        /// As written.
        name: String,
        /// All tools on offer.
        available: Vec<String>,
        /// The most similar ones, at most three.
        nearest: Vec<String>,
    },
    /// The arguments are not a JSON object.
    BadJson {
        /// The tool.
        tool: String,
        /// Why.
        why: String,
        /// The arguments as written, at most 200 characters.
        raw: String,
        /// How a call looks: `{"path": string, "limit"?: number}`.
        expected: String,
    },
    /// An argument is missing or wrong.
    BadArgument {
        /// The tool.
        tool: String,
        /// What is wrong: `missing "path"`, `"limit" must be a number`.
        why: String,
        /// The keys that came.
        received: Vec<String>,
        /// How a call looks.
        expected: String,
    },
    /// The reply was cut by the token limit inside this call.
    CutOff {
        /// The tool.
        tool: String,
    },
    /// Anything else that a harness refuses, in its own words.
    Refused(String),
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallError::UnknownTool {
                name,
                available,
                nearest,
            } => {
                write!(f, "Unknown tool \"{name}\".")?;
                if !nearest.is_empty() {
                    write!(f, " Did you mean {}?", nearest.join(" or "))?;
                }
                write!(f, " Available: {}.", available.join(", "))
            }
            CallError::BadJson {
                tool,
                why,
                raw,
                expected,
            } => {
                write!(
                    f,
                    "{tool}: the arguments are not valid JSON ({why}). Received: {raw}. Expected: {expected}."
                )
            }
            CallError::BadArgument {
                tool,
                why,
                received,
                expected,
            } => {
                write!(
                    f,
                    "{tool}: {why}. Received keys: {}. Expected: {expected}.",
                    if received.is_empty() {
                        "none".into()
                    } else {
                        received.join(", ")
                    }
                )
            }
            CallError::CutOff { tool } => write!(
                f,
                "{tool}: your reply reached the output limit inside this call, so it was not run. Send it again in smaller pieces: write a part of the file first and add the rest with edits."
            ),
            CallError::Refused(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for CallError {}
