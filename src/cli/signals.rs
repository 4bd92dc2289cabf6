//! Signals set a flag and nothing else.

use crate::cancel::Cancel;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The flags that signals set.
#[derive(Debug, Clone)]
pub struct Signals {
    /// Stop what is running.
    pub cancel: Cancel,
    terminated: Arc<AtomicBool>,
}

impl Signals {
    /// Installs the handlers. A second interrupt while the first is still being obeyed leaves at
    /// once; running commands die with us, since their helper sees our end.
    ///
    /// # Errors
    /// When the system refuses a handler.
    pub fn install(leave_at_second: bool) -> std::io::Result<Self> {
        let cancel = Cancel::new();
        let terminated = Arc::new(AtomicBool::new(false));
        if leave_at_second {
            signal_hook::flag::register_conditional_shutdown(
                SIGINT,
                super::exit::INTERRUPTED.into(),
                cancel.flag(),
            )?;
        }
        signal_hook::flag::register(SIGINT, cancel.flag())?;
        let ending = [
            SIGTERM,
            #[cfg(unix)]
            signal_hook::consts::SIGHUP,
        ];
        for signal in ending {
            signal_hook::flag::register_conditional_shutdown(
                signal,
                super::exit::TERMINATED.into(),
                terminated.clone(),
            )?;
            signal_hook::flag::register(signal, terminated.clone())?;
            signal_hook::flag::register(signal, cancel.flag())?;
        }
        Ok(Signals { cancel, terminated })
    }

    /// True after a request to end the program.
    pub fn is_terminated(&self) -> bool {
        self.terminated.load(Ordering::SeqCst)
    }
}
