//! The terminal that a person types in, while no line editor reads it.

use crate::cancel::Cancel;
use std::io::{self, BufRead};

/// One line, or `None` at the end of the input, when it cannot be read, or when `cancel` was set
/// while waiting.
pub fn line(cancel: &Cancel) -> Option<String> {
    if !sys::wait_for_line(cancel) {
        return None;
    }
    let mut line = String::new();
    match io::stdin().lock().read_line(&mut line) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(line),
    }
}

/// True for a terminal that can do nothing but print, and one that a screen reader follows.
pub fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|t| t == "dumb")
}

/// True where single keys can be read; elsewhere a person ends an answer with Enter.
pub fn has_keys() -> bool {
    sys::HAS_KEYS && !is_dumb()
}

/// The lines of the terminal behind standard error; 24 where there is none.
pub fn rows() -> usize {
    sys::rows().filter(|n| *n > 0).unwrap_or(24)
}

/// Settings of the terminal, until they are dropped.
pub struct Mode(Option<sys::Settings>);

impl Mode {
    /// Keys come one by one and are not shown. Ctrl+C stays a signal.
    pub fn keys() -> Self {
        Mode(sys::to_keys())
    }
}

impl Drop for Mode {
    fn drop(&mut self) {
        if let Some(found) = &self.0 {
            found.restore();
        }
    }
}

/// What the next key gives in [`Mode::keys`], or `None` at the end of the input or when `cancel` was set. A key that
/// is more than a character comes whole, as the bytes that the terminal sends.
pub fn key(cancel: &Cancel) -> Option<Vec<u8>> {
    sys::key(cancel)
}

/// Throws away what was typed so far and not read yet: it is no answer to a question that was not
/// there yet.
pub fn forget_typed() {
    sys::forget_typed();
}

/// The terminal's settings, to be put back when the program ends while a line editor has it.
pub struct Settings(sys::Settings);

impl Settings {
    /// Those of now; `None` where standard input is no terminal.
    pub fn save() -> Option<Self> {
        sys::Settings::save().map(Settings)
    }

    /// Puts them back.
    pub fn restore(&self) {
        self.0.restore();
    }
}

#[cfg(unix)]
mod sys {
    use crate::cancel::Cancel;
    use std::mem::MaybeUninit;

    /// How often the stop flag is looked at, in milliseconds.
    const TICK: i32 = 50;

    pub const HAS_KEYS: bool = true;

    pub fn rows() -> Option<usize> {
        let mut size = MaybeUninit::<libc::winsize>::uninit();
        // SAFETY: `size` has room for a winsize, which a call that succeeds fills.
        unsafe {
            let asked = libc::ioctl(libc::STDERR_FILENO, libc::TIOCGWINSZ, size.as_mut_ptr());
            (asked == 0).then(|| usize::from(size.assume_init().ws_row))
        }
    }

    pub fn key(cancel: &Cancel) -> Option<Vec<u8>> {
        let mut bytes = vec![0u8; 64];
        if !wait_for_line(cancel) {
            return None;
        }
        // SAFETY: the pointer and the length are those of `bytes`.
        let read =
            unsafe { libc::read(libc::STDIN_FILENO, bytes.as_mut_ptr().cast(), bytes.len()) };
        let read = usize::try_from(read).ok().filter(|n| *n > 0)?;
        bytes.truncate(read);
        Some(bytes)
    }

    /// Keys one by one, not shown. Gives the settings that were there.
    pub fn to_keys() -> Option<Settings> {
        let found = Settings::save()?;
        let mut keys = found.0;
        keys.c_lflag &= !(libc::ICANON | libc::ECHO);
        // SAFETY: the settings came from this very terminal.
        unsafe { libc::tcsetattr(libc::STDIN_FILENO, libc::TCSANOW, &keys) };
        Some(found)
    }

    /// True when a line, or the end of the input, can be read without waiting.
    pub fn wait_for_line(cancel: &Cancel) -> bool {
        loop {
            let mut input = libc::pollfd {
                fd: libc::STDIN_FILENO,
                events: libc::POLLIN,
                revents: 0,
            };
            // SAFETY: `input` is one valid pollfd for the time of the call.
            let ready = unsafe { libc::poll(&mut input, 1, TICK) };
            if cancel.is_cancelled() {
                return false;
            }
            // A signal ends the wait early, which is no failure; any other is the reader's to meet.
            let interrupted =
                std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted;
            if ready > 0 || ready < 0 && !interrupted {
                return true;
            }
        }
    }

    pub fn forget_typed() {
        // SAFETY: takes no pointers; on anything but a terminal it fails and does nothing.
        unsafe { libc::tcflush(libc::STDIN_FILENO, libc::TCIFLUSH) };
    }

    pub struct Settings(libc::termios);

    impl Settings {
        pub fn save() -> Option<Self> {
            let mut settings = MaybeUninit::uninit();
            // SAFETY: `settings` has room for a termios, which a call that succeeds fills.
            unsafe {
                (libc::tcgetattr(libc::STDIN_FILENO, settings.as_mut_ptr()) == 0)
                    .then(|| Settings(settings.assume_init()))
            }
        }

        pub fn restore(&self) {
            // SAFETY: the settings came from this very terminal.
            unsafe { libc::tcsetattr(libc::STDIN_FILENO, libc::TCSANOW, &self.0) };
        }
    }
}

#[cfg(not(unix))]
mod sys {
    use crate::cancel::Cancel;

    pub const HAS_KEYS: bool = false;

    pub fn rows() -> Option<usize> {
        None
    }

    pub fn key(_: &Cancel) -> Option<Vec<u8>> {
        None
    }

    pub fn to_keys() -> Option<Settings> {
        None
    }

    /// Nothing but the read itself can wait for the console here.
    pub fn wait_for_line(_: &Cancel) -> bool {
        true
    }

    pub fn forget_typed() {}

    pub struct Settings;

    impl Settings {
        pub fn save() -> Option<Self> {
            None
        }

        pub fn restore(&self) {}
    }
}
