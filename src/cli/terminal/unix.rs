//! The terminal by the calls of POSIX.

use super::MARKS_OFF;
use crate::cancel::Cancel;
use std::io;
use std::mem::MaybeUninit;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often the stop flag is looked at.
const TICK: Duration = Duration::from_millis(50);

pub const HAS_KEYS: bool = true;

/// The end of a line that is not shown is shown.
pub const SHOWS_HIDDEN_END: bool = true;

/// What was there at first.
static FIRST: OnceLock<Settings> = OnceLock::new();
/// Pasted text is marked.
static MARKED: AtomicBool = AtomicBool::new(false);
/// The program was stopped and goes on.
static CONTINUED: AtomicBool = AtomicBool::new(false);

/// Rows and columns.
pub fn size() -> Option<(usize, usize)> {
    let mut size = MaybeUninit::<libc::winsize>::uninit();
    // SAFETY: `size` has room for a winsize, which a call that succeeds fills.
    unsafe {
        let asked = libc::ioctl(libc::STDERR_FILENO, libc::TIOCGWINSZ, size.as_mut_ptr());
        (asked == 0).then(|| {
            let size = size.assume_init();
            (usize::from(size.ws_row), usize::from(size.ws_col))
        })
    }
}

/// True when input, or its end, can be read without waiting, as soon as that is so.
fn wait(limit: Duration) -> bool {
    let mut input = libc::pollfd {
        fd: libc::STDIN_FILENO,
        events: libc::POLLIN,
        revents: 0,
    };
    let limit = i32::try_from(limit.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: `input` is one valid pollfd for the time of the call.
    let ready = unsafe { libc::poll(&mut input, 1, limit) };
    // A signal ends the wait early, which is no failure; any other is the reader's to meet.
    ready > 0 || ready < 0 && io::Error::last_os_error().kind() != io::ErrorKind::Interrupted
}

pub fn is_gone() -> bool {
    let mut input = libc::pollfd {
        fd: libc::STDIN_FILENO,
        events: 0,
        revents: 0,
    };
    // SAFETY: `input` is one valid pollfd for the time of the call.
    let told = unsafe { libc::poll(&mut input, 1, 0) };
    told > 0 && input.revents & (libc::POLLHUP | libc::POLLERR | libc::POLLNVAL) != 0
}

/// True when a line, or the end of the input, can be read without waiting.
pub fn wait_for_line(cancel: &Cancel) -> bool {
    loop {
        let ready = wait(TICK);
        if cancel.is_cancelled() {
            return false;
        }
        if ready {
            return true;
        }
    }
}

pub fn read(buffer: &mut [u8], limit: Duration) -> io::Result<Option<usize>> {
    if !wait(limit) {
        return Ok(None);
    }
    // SAFETY: the pointer and the length are those of `buffer`.
    let read = unsafe { libc::read(libc::STDIN_FILENO, buffer.as_mut_ptr().cast(), buffer.len()) };
    match usize::try_from(read) {
        Ok(n) => Ok(Some(n)),
        Err(_) => match io::Error::last_os_error() {
            e if e.kind() == io::ErrorKind::Interrupted => Ok(None),
            e => Err(e),
        },
    }
}

pub fn forget_typed() {
    // SAFETY: takes no pointers; on anything but a terminal it fails and does nothing.
    unsafe { libc::tcflush(libc::STDIN_FILENO, libc::TCIFLUSH) };
}

pub fn marked(on: bool) {
    MARKED.store(on, Ordering::SeqCst);
}

pub struct Settings(libc::termios);

impl Settings {
    /// Those of now; `None` where standard input is no terminal.
    fn now() -> Option<Self> {
        let mut settings = MaybeUninit::uninit();
        // SAFETY: `settings` has room for a termios, which a call that succeeds fills.
        unsafe {
            (libc::tcgetattr(libc::STDIN_FILENO, settings.as_mut_ptr()) == 0)
                .then(|| Settings(settings.assume_init()))
        }
    }

    /// Changes them and gives those that were found.
    pub fn change(change: fn(&mut libc::termios)) -> Option<Self> {
        let found = Settings::now()?;
        let mut wanted = found.0;
        change(&mut wanted);
        Settings(wanted).put();
        Some(found)
    }

    pub fn to_keys(settings: &mut libc::termios) {
        settings.c_lflag &= !(libc::ICANON | libc::ECHO);
        settings.c_lflag |= libc::ISIG;
        settings.c_cc[libc::VMIN] = 1;
        settings.c_cc[libc::VTIME] = 0;
        settings.c_cc[libc::VSUSP] = libc::_POSIX_VDISABLE;
    }

    pub fn to_hidden(settings: &mut libc::termios) {
        Settings::to_lines(settings);
        settings.c_lflag &= !libc::ECHO;
        settings.c_lflag |= libc::ECHONL;
    }

    pub fn to_lines(settings: &mut libc::termios) {
        // A mode of keys has overwritten what lines need, so they come from the first settings.
        if let Some(first) = FIRST.get() {
            *settings = first.0;
        }
        settings.c_lflag |= libc::ICANON | libc::ECHO | libc::ISIG;
    }

    pub fn put(&self) {
        // SAFETY: the settings came from this very terminal.
        unsafe { libc::tcsetattr(libc::STDIN_FILENO, libc::TCSANOW, &self.0) };
    }
}

pub fn guard(signals: &[i32]) -> io::Result<()> {
    if let Some(settings) = Settings::now() {
        let _ = FIRST.set(settings);
    }
    for signal in signals {
        // SAFETY: `leave` does nothing but what is allowed in a signal handler.
        unsafe { signal_hook::low_level::register(*signal, leave) }?;
    }
    let goes_on = || CONTINUED.store(true, Ordering::SeqCst);
    // SAFETY: a store to an atomic is allowed in a signal handler.
    unsafe { signal_hook::low_level::register(libc::SIGCONT, goes_on) }?;
    Ok(())
}

pub fn was_continued() -> bool {
    CONTINUED.swap(false, Ordering::SeqCst)
}

/// Nothing here may take a lock or memory: it runs in signal handlers.
pub fn leave() {
    if let Some(first) = FIRST.get() {
        first.put();
    }
    if MARKED.swap(false, Ordering::SeqCst) {
        // SAFETY: the pointer and the length are those of a constant.
        unsafe {
            libc::write(
                libc::STDERR_FILENO,
                MARKS_OFF.as_ptr().cast(),
                MARKS_OFF.len(),
            )
        };
    }
}

pub fn suspend() {
    // SAFETY: takes no pointers; 0 is the group of this process.
    unsafe { libc::kill(0, libc::SIGTSTP) };
}
