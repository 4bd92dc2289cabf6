//! What to do when a request failed.

use super::{Next, Progress};
use crate::agent::event::{EndReason, Frontend};
use crate::agent::hosted;
use crate::agent::session::Session;
use crate::model::{Item, ModelError};

impl Session {
    /// What to do when a request failed.
    pub(super) fn after_error(
        &mut self,
        error: ModelError,
        show: Vec<Item>,
        p: &mut Progress,
        front: &mut dyn Frontend,
    ) -> Next {
        let sentence = error.to_string();
        match error {
            ModelError::Interrupted => Next::End(EndReason::Interrupted, String::new()),
            // Tried once more with a shorter conversation, if there is anything to leave out.
            ModelError::Overflow { prompt, window, .. } if p.overflows == 0 => {
                p.overflows += 1;
                match self.after_overflow(&show, (prompt, window), front) {
                    Ok(true) => {
                        self.show_once = show;
                        Next::Again
                    }
                    Ok(false) => Next::End(EndReason::Failed(sentence), String::new()),
                    Err(other) => self.after_error(other, show, p, front),
                }
            }
            error if !p.without_thoughts && hosted::is_about_thoughts(&error) => {
                p.without_thoughts = true;
                match self.forget_thoughts(front) {
                    true => {
                        self.show_once = show;
                        Next::Again
                    }
                    false => Next::End(EndReason::Failed(sentence), String::new()),
                }
            }
            error if self.go_to_other_wire(&error, front) => {
                self.show_once = show;
                Next::Again
            }
            ModelError::NoTools { message } if self.go_prompted(&message, front) => Next::Again,
            error if error.is_about_schema() && self.let_go_of_shape(&error, front) => Next::Again,
            ModelError::BadCall { raw, message } => self.bad_call(raw, message, p, front),
            _ => Next::End(EndReason::Failed(sentence), String::new()),
        }
    }
}
