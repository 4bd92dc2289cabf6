//! `notify`: a program of the user's that is told when a turn is over.

use super::event::{EndReason, TurnEnd};
use super::session::Session;
use serde_json::json;
use std::process::{Command, Stdio};

/// The most bytes of one message in what is told, so that it fits a command line.
const MOST_BYTES: usize = 30_000;

/// The program, and what the user said in this turn.
#[derive(Debug, Default)]
pub(super) struct Notify {
    words: Vec<String>,
    inputs: Vec<String>,
}

impl Notify {
    pub(super) fn new(words: Vec<String>) -> Self {
        Notify {
            words,
            inputs: Vec::new(),
        }
    }
}

impl Session {
    /// A turn begins, which was asked for in these words.
    pub(super) fn begin_notify(&mut self, words: &str) {
        if !self.notify.words.is_empty() {
            self.notify.inputs = vec![crate::words::head(words, MOST_BYTES).to_owned()];
        }
    }

    /// Tells of a turn that was done. The program is not waited for, and may outlive this one; the
    /// error is why it did not start.
    pub(super) fn notify(&self, turn: &str, end: &TurnEnd) -> Option<String> {
        let (program, args) = self.notify.words.split_first()?;
        if end.reason != EndReason::Done {
            return None;
        }
        let told = json!({
            "type": "agent-turn-complete",
            "thread-id": self.info.id,
            "turn-id": turn,
            "cwd": self.info.cwd.display().to_string(),
            "client": "interpreter",
            "input-messages": self.notify.inputs,
            "last-assistant-message": crate::words::head(&end.answer, MOST_BYTES),
        });
        let started = Command::new(program)
            .args(args)
            .arg(told.to_string())
            .current_dir(&self.info.cwd)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        match started {
            Ok(mut child) => {
                // Only so that no dead process is left.
                std::thread::spawn(move || child.wait());
                None
            }
            Err(e) => Some(format!("notify: {program} cannot be started: {e}")),
        }
    }
}
