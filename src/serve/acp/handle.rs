//! What the reader of requests knows of a session, and reaches while its thread is at work: a stop
//! and another mode must not wait for a running turn.

use super::code;
use super::options::{self, Choice, Choices};
use crate::agent::permissions::Permissions;
use crate::cancel::Cancel;
use crate::jsonrpc::{Call, Fault, Id};
use crate::sandbox::Mode;
use serde_json::Value;
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Something to do for a session.
pub enum Job {
    /// A turn.
    Prompt(Call, Vec<Value>),
    /// Another model, harness or effort.
    Set(Call, Choice, String),
    /// Show the conversation again.
    Replay(Call),
    /// Let it go.
    Close(Call),
    /// Let it go, and remove what is stored of it.
    Delete(Call),
    /// The program ends.
    End,
}

/// A session as the reader of requests knows it.
pub struct Handle {
    /// Stops its turn.
    pub cancel: Cancel,
    /// What the settings let it do.
    usual: Permissions,
    state: Mutex<State>,
    jobs: Sender<Job>,
}

struct State {
    /// The request of the running turn.
    running: Option<Id>,
    /// A mode that is chosen and not in force yet.
    wish: Option<Mode>,
    choices: Choices,
}

impl Handle {
    /// Of a session whose settings let it do `usual`.
    pub fn new(cancel: Cancel, usual: Permissions, choices: Choices, jobs: Sender<Job>) -> Self {
        Handle {
            cancel,
            usual,
            state: Mutex::new(State {
                running: None,
                wish: None,
                choices,
            }),
            jobs,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is chosen.
    pub fn choices(&self) -> Choices {
        self.lock().choices.clone()
    }

    /// Changes what is chosen.
    pub fn settle(&self, change: impl FnOnce(&mut Choices)) {
        change(&mut self.lock().choices);
    }

    /// The turn is over; the next prompt may come.
    pub fn ended(&self) {
        self.lock().running = None;
    }

    /// Begins a turn, if none runs; else the request is answered with that.
    pub fn prompt(&self, call: Call, blocks: Vec<Value>) {
        {
            let mut state = self.lock();
            if state.running.is_some() {
                drop(state);
                let why = "this session works on another prompt; wait for its end, or cancel it";
                return call.answer(Err(Fault::new(code::INVALID_REQUEST, why)));
            }
            state.running = Some(call.id.clone());
            self.cancel.reset();
        }
        self.add(Job::Prompt(call, blocks));
    }

    /// Adds a job behind those that wait.
    pub fn add(&self, job: Job) {
        if let Err(mpsc::SendError(job)) = self.jobs.send(job) {
            let (Job::Prompt(call, _)
            | Job::Set(call, ..)
            | Job::Replay(call)
            | Job::Close(call)
            | Job::Delete(call)) = job
            else {
                return;
            };
            call.answer(Err(Fault::new(code::NOT_FOUND, "this session is closed")));
        }
    }

    /// Stops the running turn; of an idle session nothing.
    pub fn stop(&self) {
        if self.lock().running.is_some() {
            self.cancel.cancel();
        }
    }

    /// The running turn is that of this request.
    pub fn runs(&self, id: &Id) -> bool {
        self.lock().running.as_ref() == Some(id)
    }

    /// Chooses a mode. It is in force from the next call of the model on.
    pub fn choose_mode(&self, mode: Mode) -> Choices {
        let mut state = self.lock();
        state.wish = Some(mode);
        state.choices.mode = mode;
        state.choices.clone()
    }

    /// The permissions of a mode that was chosen meanwhile.
    pub fn wished(&self, now: &Permissions) -> Option<Permissions> {
        let mode = self.lock().wish.take()?;
        let usual = Permissions {
            roots: now.roots.clone(),
            ..self.usual.clone()
        };
        Some(options::permitted(mode, &usual)).filter(|new| new != now)
    }
}
