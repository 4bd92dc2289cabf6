//! One reply, and the steps in which it comes.

use super::Assistant;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// One step of a streamed reply.
#[derive(Debug, Clone, PartialEq)]
pub enum Delta {
    /// More visible text.
    Text(String),
    /// More thinking.
    Reasoning(String),
    /// A call begins. `index` counts from 0 within the reply.
    CallStart {
        /// Which call.
        index: usize,
        /// The tool's name, when it is known already.
        name: String,
    },
    /// More of a call's arguments.
    CallArguments {
        /// Which call.
        index: usize,
        /// The next piece of the JSON text.
        text: String,
    },
    /// The server tells how far it has read the prompt, in tokens.
    Progress {
        /// Tokens done, cached ones included.
        processed: u64,
        /// Tokens in all.
        total: u64,
        /// Tokens taken from the cache.
        cached: u64,
    },
    /// The request is sent again: the first try broke. Everything streamed so far is void.
    Retry {
        /// Which try this is, from 1.
        attempt: u32,
        /// The most tries there will be.
        of: u32,
        /// Why, in words.
        why: String,
    },
    /// Nothing came for a while; said about every ten seconds so that a person sees life.
    Waiting(Duration),
}

/// Why a reply ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// The model was done, with or without calls.
    Stop,
    /// The token limit cut it: its last call or word may be incomplete.
    Length,
    /// The provider withheld the answer; the text says why when it is known.
    Refused(String),
    /// We cut the stream ourselves, for example because the model repeated itself.
    Cut,
}

/// Token counts of one request, as the server reported them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the whole prompt, cached ones included.
    pub input: u64,
    /// Prompt tokens that came from the cache; `None` where the server does not say.
    pub cached: Option<u64>,
    /// Prompt tokens newly written into a cache that costs money.
    pub cache_write: u64,
    /// Tokens of the reply, thinking included.
    pub output: u64,
    /// Of these, thinking.
    pub reasoning: u64,
}

/// What the server measured itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// Loading the model.
    pub load: Option<Duration>,
    /// Reading the prompt.
    pub prompt: Option<Duration>,
    /// Writing the reply.
    pub output: Option<Duration>,
    /// From sending the request to the first text, thinking or call; ours.
    pub first_token: Option<Duration>,
    /// The whole request; ours.
    pub total: Duration,
    /// The pieces of text, thinking or call that the reply came in; ours.
    pub pieces: u32,
}

/// One complete reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// What the model said.
    pub assistant: Assistant,
    /// Why it ended.
    pub finish: Finish,
    /// Token counts, where the server gave any.
    pub usage: Option<Usage>,
    /// Times.
    pub timing: Timing,
}
