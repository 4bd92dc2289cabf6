//! Requests on their way: one of the other side that waits for our answer, and one of ours.

use super::message::{Fault, Id, Message, code};
use super::peer::Peer;
use crate::cancel::Cancel;
use serde_json::Value;
use std::fmt;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How often a wait looks at its cancel flag.
const LOOK: Duration = Duration::from_millis(50);

/// A request of the other side. Dropped without an answer, it is answered with an internal error,
/// since who asks may wait for ever.
#[derive(Debug)]
pub struct Call {
    /// Its name, in the other side's numbering.
    pub id: Id,
    /// What to do.
    pub method: String,
    /// With what; `null` if there are none.
    pub params: Value,
    peer: Peer,
    settled: bool,
}

impl Call {
    pub(super) fn new(peer: Peer, id: Id, method: String, params: Value) -> Self {
        Call {
            id,
            method,
            params,
            peer,
            settled: false,
        }
    }

    /// Answers it.
    pub fn answer(mut self, result: Result<Value, Fault>) {
        self.settled = true;
        self.respond(result);
    }

    /// Leaves it without an answer, as some protocols want it after a cancel.
    pub fn forget(mut self) {
        self.settled = true;
    }

    /// The connection that it came on.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    fn respond(&self, result: Result<Value, Fault>) {
        let id = self.id.clone();
        // A connection that is gone has nobody who waits for this.
        let _ = self.peer.send(&Message::Response { id, result });
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if !self.settled {
            let text = format!("{} was left without an answer", self.method);
            self.respond(Err(Fault::new(code::INTERNAL, text)));
        }
    }
}

/// Why a request of ours has no result.
#[derive(Debug, Clone, PartialEq)]
pub enum CallError {
    /// The other side answered with an error.
    Fault(Fault),
    /// No answer within this time.
    TimedOut(Duration),
    /// Our own cancel flag was set.
    Cancelled,
    /// The connection ended, and why.
    Closed(String),
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallError::Fault(fault) => write!(f, "{fault}"),
            CallError::TimedOut(limit) => {
                write!(f, "there was no answer within {} s", limit.as_secs_f32())
            }
            CallError::Cancelled => write!(f, "the request was cancelled"),
            CallError::Closed(why) => write!(f, "the connection is closed: {why}"),
        }
    }
}

impl std::error::Error for CallError {}

/// What comes of a request of ours.
pub(super) type Answer = Result<Value, CallError>;

/// A request of ours on its way. Dropped, it is no longer waited for: a late answer is ignored.
#[derive(Debug)]
pub struct Pending {
    id: u64,
    answer: Receiver<Answer>,
    peer: Peer,
}

impl Pending {
    pub(super) fn new(peer: Peer, id: u64, answer: Receiver<Answer>) -> Self {
        Pending { id, answer, peer }
    }

    /// Its number, to name it in a cancel.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The answer, if it comes within `limit`.
    pub fn poll(&self, limit: Duration) -> Option<Answer> {
        match self.answer.recv_timeout(limit) {
            Ok(answer) => Some(answer),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                Some(Err(CallError::Closed(self.peer.why_closed())))
            }
        }
    }

    /// Waits for the answer, at most `limit`.
    ///
    /// # Errors
    /// See [`CallError`].
    pub fn wait(self, limit: Duration, cancel: &Cancel) -> Answer {
        let start = Instant::now();
        loop {
            let left = limit.saturating_sub(start.elapsed());
            if let Some(answer) = self.poll(left.min(LOOK)) {
                return answer;
            }
            if cancel.is_cancelled() {
                return Err(CallError::Cancelled);
            }
            if left.is_zero() {
                return Err(CallError::TimedOut(limit));
            }
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.peer.wait_no_more(self.id);
    }
}
