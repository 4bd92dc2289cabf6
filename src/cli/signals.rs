//! Signals set a flag and nothing else, except while a line editor waits: it looks at no flag.

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

    /// A request to end the program ends it at once, with the terminal as it was, while the
    /// returned flag is set: the session is on disk then, and background commands die with us.
    ///
    /// # Errors
    /// When the system refuses a handler or a thread.
    pub fn leave_at_prompt(&self) -> std::io::Result<Arc<AtomicBool>> {
        let at_prompt = Arc::new(AtomicBool::new(false));
        #[cfg(unix)]
        {
            let settings = super::terminal::Settings::save();
            let ending = [SIGTERM, signal_hook::consts::SIGHUP];
            let mut requests = signal_hook::iterator::Signals::new(ending)?;
            let flag = at_prompt.clone();
            let leave = move || {
                for _ in requests.forever() {
                    if flag.load(Ordering::SeqCst) {
                        if let Some(settings) = &settings {
                            settings.restore();
                        }
                        std::process::exit(super::exit::TERMINATED.into());
                    }
                }
            };
            std::thread::Builder::new()
                .name("end requests".to_owned())
                .spawn(leave)?;
        }
        Ok(at_prompt)
    }

    /// True after a request to end the program.
    pub fn is_terminated(&self) -> bool {
        self.terminated.load(Ordering::SeqCst)
    }
}
