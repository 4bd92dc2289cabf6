//! Signals set a flag and nothing else, except while a line editor waits: it looks at no flag.

use super::terminal;
use crate::cancel::Cancel;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// So many interrupts in one turn leave when it is over.
const LEAVE: usize = 2;

/// The flags that signals set.
#[derive(Debug, Clone)]
pub struct Signals {
    /// Stop what is running.
    pub cancel: Cancel,
    terminated: Arc<AtomicBool>,
    /// Interrupts since the turn began.
    interrupts: Arc<AtomicUsize>,
}

impl Signals {
    /// Installs the handlers. With `leave_at_second`, a second interrupt while the first is still
    /// being obeyed leaves at once; running commands die with us, since their helper sees our end.
    /// Without it the program is a session in a terminal, which is put back as it was whatever ends
    /// the program.
    ///
    /// # Errors
    /// When the system refuses a handler.
    pub fn install(leave_at_second: bool) -> std::io::Result<Self> {
        let cancel = Cancel::new();
        let terminated = Arc::new(AtomicBool::new(false));
        if !leave_at_second {
            #[cfg(unix)]
            {
                use signal_hook::consts::{SIGHUP, SIGQUIT};
                terminal::guard(&[SIGTERM, SIGHUP, SIGQUIT])?;
                let always = Arc::new(AtomicBool::new(true));
                signal_hook::flag::register_conditional_default(SIGQUIT, always)?;
            }
            #[cfg(not(unix))]
            terminal::guard(&[])?;
        } else {
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
        Ok(Signals {
            cancel,
            terminated,
            interrupts: Arc::default(),
        })
    }

    /// A request to end the program ends it at once, with the terminal as it was, while the
    /// returned flag is set: the session is on disk then, and background commands die with us.
    /// A third interrupt while a turn still obeys the first one does the same.
    ///
    /// # Errors
    /// When the system refuses a handler or a thread.
    pub fn leave_at_prompt(&self) -> std::io::Result<Arc<AtomicBool>> {
        let at_prompt = Arc::new(AtomicBool::new(false));
        #[cfg(unix)]
        {
            let wanted = [SIGTERM, signal_hook::consts::SIGHUP, SIGINT];
            let mut requests = signal_hook::iterator::Signals::new(wanted)?;
            let (flag, interrupts) = (at_prompt.clone(), self.interrupts.clone());
            let leave = move || {
                for signal in requests.forever() {
                    let code = match signal {
                        SIGINT if interrupts.fetch_add(1, Ordering::SeqCst) >= LEAVE => {
                            super::exit::INTERRUPTED
                        }
                        SIGINT => continue,
                        _ if flag.load(Ordering::SeqCst) => super::exit::TERMINATED,
                        _ => continue,
                    };
                    terminal::leave();
                    std::process::exit(code.into());
                }
            };
            std::thread::Builder::new()
                .name("end requests".to_owned())
                .spawn(leave)?;
        }
        Ok(at_prompt)
    }

    /// Ends the program, with the terminal as it was, if it was asked to end or the terminal went
    /// away. To be called while a question to the person is open: the session's file holds it then,
    /// and whoever goes on with the session is asked again.
    pub fn leave_if_terminated(&self) {
        if self.is_terminated() || terminal::is_gone() {
            terminal::leave();
            std::process::exit(super::exit::TERMINATED.into());
        }
    }

    /// Something that can be interrupted begins.
    pub fn begin(&self) {
        self.interrupts.store(0, Ordering::SeqCst);
        self.cancel.reset();
    }

    /// True when it was interrupted more than once since it began.
    pub fn wants_to_leave(&self) -> bool {
        self.interrupts.load(Ordering::SeqCst) >= LEAVE
    }

    /// True after a request to end the program.
    pub fn is_terminated(&self) -> bool {
        self.terminated.load(Ordering::SeqCst)
    }
}
