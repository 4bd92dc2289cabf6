//! The one flag that says "stop": set by a signal, a key or a client, read by every wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A shared stop flag. Clones see the same flag.
///
/// Every loop that waits for something outside (a server, a command, a lock) looks at it at
/// least every 50 ms, so that an interrupt is felt at once.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// A flag that is not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks everything that holds a clone to stop.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Takes the request back, before a new turn.
    pub fn reset(&self) {
        self.0.store(false, Ordering::SeqCst);
    }

    /// True once somebody asked to stop.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    /// The flag itself, for `signal_hook::flag::register`.
    pub fn flag(&self) -> Arc<AtomicBool> {
        self.0.clone()
    }
}
